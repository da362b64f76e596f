"""Tool calls as the Responses dialect writes them, in requests and in streams alike."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from execledger.session.adapter import ToolCall

ASKED = {"function_call": "arguments", "custom_tool_call": "input"}
"""The kinds of calls that can be edited, and the field that holds what is asked."""
_ABSENT = (b"", b"null")


class WireCall(Struct):
    """The fields of an item that make a call."""

    type: str = ""
    """What kind of item it is."""
    call_id: str | None = None
    """Which call it is."""
    name: str | None = None
    """The tool."""
    namespace: str | None = None
    """The group of tools that it belongs to."""
    arguments: Raw = Raw(b"")
    """What is asked of a function: JSON within a text."""
    input: Raw = Raw(b"")
    """What is asked of a custom tool: any text."""
    action: Raw = Raw(b"")
    """What is asked of the local shell tool."""
    encrypted_function_args: Raw = Raw(b"")
    """Arguments that only the provider can read: such a call is left alone."""


def call_of(item: WireCall) -> ToolCall | None:
    """The tool call that the client is to answer; of one that can't be read, only that it is one is known."""
    if not item.call_id or not item.type.endswith("_call"):
        return None
    name = ".".join(part for part in (item.namespace, item.name) if part)
    if item.type == "local_shell_call":
        return ToolCall("local_shell", bytes(item.action).decode("utf-8", "replace"))
    if editable(item):
        custom = item.type == "custom_tool_call"
        try:
            return ToolCall(name, msgspec.json.decode(item.input if custom else item.arguments, type=str), custom)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            pass
    return ToolCall(item.type.removesuffix("_call"), "")


def editable(item: WireCall) -> bool:
    """Another call can be put in its place: nothing in it is the provider's alone."""
    return item.type in ASKED and bytes(item.encrypted_function_args) in _ABSENT


def put_call(item: dict[str, Any], call: ToolCall) -> None:
    """Put another call's text into an item; a call is never edited into one of another tool."""
    item[ASKED[item["type"]]] = call.text
