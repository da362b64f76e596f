"""pi: its tools, its launcher, and its recorded sessions. An example of how little a further agent takes."""

from execledger.agents.places import RunPlace
from execledger.agents.plan_keys import REPOS, TASK_PROMPT
from execledger.agents.registry import PROXY_OPTIONS, Agent

AGENT = Agent(
    folder=__name__,
    name="pi",
    programs=("pi",),
    use="run",
    extra="proxy",
    install="npm install -g @mariozechner/pi-coding-agent",
    oldest=(0, 60, 0),
    tested=("0.60.0", "0.73.1"),
    options=PROXY_OPTIONS,
    launcher=".launch:start",
    adapter=".tools:ADAPTER",
    dialects=("chat", "messages", "responses"),
    formats=".recorded:FORMATS",
    places=(RunPlace(".pi/agent", "sessions", (("PI_CODING_AGENT_DIR", ""),)),),
    batch=".batch:RUNNER",
    batch_program="pi",
    plan_keys=(TASK_PROMPT, REPOS),
)
"""pi in the registry."""
