"""Text that is safe to place in a prompt or on a screen, in a bounded number of bytes."""

from __future__ import annotations


def clip(text: str, budget: int) -> str:
    """``text`` in at most ``budget`` UTF-8 bytes, cut between characters and marked where it was cut."""
    data = text.encode("utf-8", "replace")
    if len(data) <= budget:
        return data.decode("utf-8", "replace")
    return data[: max(budget - 3, 0)].decode("utf-8", "ignore").rstrip(" .") + "..." if budget > 3 else ""


def printable(text: str) -> str:
    """``text`` on one line, without characters that steer a terminal or turn the direction of writing."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(char if char.isprintable() else "?" for char in line)
