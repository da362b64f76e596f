"""OpenHands: its tools, its adapter for the proxy, the launcher of its CLI, and its recorded events."""

from execledger.agents.places import RunPlace
from execledger.agents.plan_keys import REPOS, TASK_PROMPT
from execledger.agents.registry import PROXY_OPTIONS, Agent
from execledger.session.adapter import Signs

AGENT = Agent(
    folder=__name__,
    name="OpenHands",
    programs=("openhands",),
    names=("openhands-sdk",),
    use="run",
    package="openhands",
    extra="proxy",
    install="pip install openhands  # needs Python 3.12",
    oldest=(1, 12, 0),
    tested=("1.12.0", "1.16.0"),
    options=PROXY_OPTIONS,
    launcher=".launch:start",
    adapter=".adapter:ADAPTER",
    dialects=("chat", "messages"),
    signs=Signs(headers={"x-title": r"\AOpenHands\Z"}),
    formats=".recorded:FORMATS",
    kept=".kept:KEPT",
    places=(RunPlace(".openhands", "conversations", (("OPENHANDS_PERSISTENCE_DIR", ""),)),),
    calls=".adapter:FOREIGN",
    offers=frozenset({"terminal", "file_editor"}),
    batch=".batch:RUNNER",
    batch_program="openhands",
    plan_keys=(TASK_PROMPT, REPOS),
)
"""OpenHands in the registry."""
