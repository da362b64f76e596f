"""Claude Code: its tools and its recorded transcripts."""

from execledger.agents.registry import Agent

AGENT = Agent(
    folder=__name__,
    name="Claude Code",
    programs=("claude",),
    use="read",
    formats=".recorded:FORMATS",
    actions=".tools:action_of",
)
"""Claude Code in the registry."""
