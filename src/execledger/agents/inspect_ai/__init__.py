"""Inspect: its own tools, and its logs."""

from execledger.agents.registry import Agent

AGENT = Agent(
    folder=__name__,
    name="Inspect",
    programs=("inspect",),
    use="load",
    package="inspect-ai",
    extra="inspect",
    modules=("inspect_ai",),
    oldest=(0, 3, 285),
    tested=("0.3.285",),
    formats=".recorded:FORMATS",
    kept=".recorded:KEPT",
    journal_names=".recorded:journal_names",
    calls=".tools:ADAPTER",
)
"""Inspect in the registry."""
