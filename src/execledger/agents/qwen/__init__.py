"""Qwen Code: its tools and its recorded sessions."""

from execledger.agents.places import RunPlace
from execledger.agents.registry import Agent

AGENT = Agent(
    folder=__name__,
    name="Qwen Code",
    programs=("qwen",),
    use="read",
    install="npm install -g @qwen-code/qwen-code",
    formats=".recorded:FORMATS",
    places=(RunPlace(".qwen", "projects", (("QWEN_RUNTIME_DIR", ""), ("QWEN_HOME", ""))),),
    actions=".tools:action_of",
)
"""Qwen Code in the registry."""
