"""Qwen Code: its tools with the adapter for the proxy, its launcher, and its recorded sessions."""

from execledger.agents.places import RunPlace
from execledger.agents.plan_keys import REPOS, TASK_PROMPT
from execledger.agents.registry import PROXY_OPTIONS, Agent
from execledger.session.adapter import Signs

AGENT = Agent(
    folder=__name__,
    name="Qwen Code",
    programs=("qwen",),
    names=("qwen-code", "qwen-coder"),
    use="run",
    extra="proxy",
    install="npm install -g @qwen-code/qwen-code",
    oldest=(0, 21, 2),
    newer_need="newer versions need Node.js 22",
    tested=("0.21.2", "0.24.4"),
    options=PROXY_OPTIONS,
    launcher=".launch:start",
    adapter=".tools:ADAPTER",
    dialects=("chat", "messages", "responses", "gemini"),
    signs=Signs(headers={"user-agent": r"(?:QwenCode|.*\bQwenCode)/"}),
    formats=".recorded:FORMATS",
    places=(RunPlace(".qwen", "projects", (("QWEN_RUNTIME_DIR", ""), ("QWEN_HOME", ""))),),
    offers=frozenset({"run_shell_command", "read_file", "edit"}),
    batch=".batch:RUNNER",
    batch_program="qwen",
    plan_keys=(TASK_PROMPT, REPOS),
)
"""Qwen Code in the registry."""
