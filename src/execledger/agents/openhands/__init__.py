"""OpenHands: its tools and its recorded events."""

from execledger.agents.places import RunPlace
from execledger.agents.registry import Agent

AGENT = Agent(
    folder=__name__,
    name="OpenHands",
    programs=("openhands",),
    use="read",
    package="openhands",
    formats=".recorded:FORMATS",
    kept=".kept:KEPT",
    places=(RunPlace(".openhands", "conversations", (("OPENHANDS_PERSISTENCE_DIR", ""),)),),
    actions=".tools:foreign_action_of",
)
"""OpenHands in the registry."""
