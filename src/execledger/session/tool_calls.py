"""Tool calls and their outputs in a neutral shape, between the wire dialects and the agents' adapters."""

from __future__ import annotations

from msgspec import Struct


class ToolCall(Struct, frozen=True):
    """One call of a tool, as the model made it; its output is a tuple of the text parts that the model reads."""

    name: str
    """The tool; one outside the default namespace stands behind its namespace and a dot."""
    text: str
    """The JSON arguments of a function call, or the free text of a custom tool."""
    custom: bool = False
    """The tool takes free text."""
