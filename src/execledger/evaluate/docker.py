"""What Docker says when it can't do what it is asked for."""

from __future__ import annotations

import subprocess


def complaint(errors: str) -> str:
    """The reason in what Docker printed; the advice to read its help at the end is left out."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    reasons = [line for line in lines if "--help" not in line]
    return (reasons or lines or ["it says nothing"])[-1]


def unanswered(program: str) -> str:
    """Why Docker does not answer, in words; "" if it does."""
    asked = subprocess.run([program, "version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return f"{program} does not answer: {complaint(asked.stderr)}" if asked.returncode else ""
