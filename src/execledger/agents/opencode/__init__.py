"""opencode: its tools, and its launcher."""

from execledger.agents.registry import PROXY_OPTIONS, Agent
from execledger.session.adapter import Signs

AGENT = Agent(
    folder=__name__,
    name="opencode",
    programs=("opencode",),
    use="run",
    extra="proxy",
    install="npm install -g opencode-ai",
    oldest=(1, 18, 0),
    tested=("1.18.33",),
    options=PROXY_OPTIONS,
    launcher=".launch:start",
    adapter=".tools:ADAPTER",
    dialects=("chat", "messages", "responses"),
    signs=Signs(headers={"user-agent": r"\Aopencode/"}),
    actions=".tools:action_of",
)
"""opencode in the registry."""
