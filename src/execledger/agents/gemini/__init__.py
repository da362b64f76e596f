"""Gemini CLI: its tools with the adapter for the proxy, its launcher, and its recorded sessions."""

from execledger.agents.places import RunPlace
from execledger.agents.plan_keys import REPOS, TASK_PROMPT
from execledger.agents.registry import PROXY_OPTIONS, Agent
from execledger.session.adapter import Signs

AGENT = Agent(
    folder=__name__,
    name="Gemini CLI",
    programs=("gemini",),
    names=("gemini-cli",),
    use="run",
    extra="proxy",
    install="npm install -g @google/gemini-cli",
    oldest=(0, 42, 0),
    tested=("0.42.0", "0.51.0", "0.61.0"),
    options=PROXY_OPTIONS,
    launcher=".launch:start",
    adapter=".tools:ADAPTER",
    dialects=("gemini",),
    signs=Signs(headers={"user-agent": r"GeminiCLI"}),
    formats=".recorded:FORMATS",
    places=(RunPlace("", ".gemini/tmp/*/chats", (("GEMINI_CLI_HOME", ""),)),),
    offers=frozenset({"run_shell_command", "read_file", "replace"}),
    batch=".batch:RUNNER",
    batch_program="gemini",
    plan_keys=(TASK_PROMPT, REPOS),
)
"""Gemini CLI in the registry."""
