"""Copilot CLI with a model of the user's own: its tools, its launcher, and its recorded sessions."""

from execledger.agents.places import RunPlace
from execledger.agents.plan_keys import REPOS, TASK_PROMPT
from execledger.agents.registry import PROXY_OPTIONS, Agent
from execledger.session.adapter import Signs

AGENT = Agent(
    folder=__name__,
    name="Copilot CLI",
    programs=("copilot",),
    names=("copilot-cli", "github-copilot"),
    use="run",
    extra="proxy",
    install="npm install -g @github/copilot",
    oldest=(1, 0, 50),
    tested=("1.0.50", "1.0.102"),
    options=PROXY_OPTIONS,
    launcher=".launch:start",
    adapter=".tools:ADAPTER",
    dialects=("chat", "responses", "messages"),
    signs=Signs(headers={"x-initiator": r"\A(?:user|agent)\Z"}),
    formats=".recorded:FORMATS",
    places=(RunPlace(".copilot", "session-state/*/events.jsonl", (("COPILOT_HOME", ""),)),),
    offers=frozenset({"bash", "view", "create"}),
    batch=".batch:RUNNER",
    batch_program="copilot",
    plan_keys=(TASK_PROMPT, REPOS),
)
"""Copilot CLI in the registry."""
