"""Gemini CLI: its tools and its recorded sessions."""

from execledger.agents.places import RunPlace
from execledger.agents.registry import Agent

AGENT = Agent(
    folder=__name__,
    name="Gemini CLI",
    programs=("gemini",),
    use="read",
    install="npm install -g @google/gemini-cli",
    formats=".recorded:FORMATS",
    places=(RunPlace("", ".gemini/tmp/*/chats", (("GEMINI_CLI_HOME", ""),)),),
    actions=".tools:action_of",
)
"""Gemini CLI in the registry."""
