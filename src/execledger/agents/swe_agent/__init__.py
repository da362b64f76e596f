"""SWE-agent: its recorded trajectories."""

from execledger.agents.registry import Agent

AGENT = Agent(
    folder=__name__,
    name="SWE-agent",
    programs=("sweagent",),
    names=("swe-agent",),
    use="read",
    package="sweagent",
    formats=".recorded:FORMATS",
)
"""SWE-agent in the registry."""
