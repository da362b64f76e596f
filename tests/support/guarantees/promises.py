"""The rows of docs/guarantees.md: what Ledger promises, and what other tools got wrong.

A test names the rows that it attacks with ``@pytest.mark.guarantee("row", ...)``.
"""

from __future__ import annotations

import msgspec


class Promise(msgspec.Struct, frozen=True):
    """One row: what must never happen, and what keeps it from happening."""

    row: str
    """The name that tests use."""
    text: str
    """What is promised, in one sentence."""
    kept_by: str
    """How it is enforced."""


PROMISES = (
    Promise(
        "false-reuse",
        "A result is never replaced by one that differs from it.",
        "Before running: only in a sealed environment in which nothing that may write has run since. "
        "Otherwise the command runs, and its bytes are compared.",
    ),
    Promise(
        "visibility",
        "A reference points only at text that stands, unmodified, in the request being answered.",
        "Visibility is read off each request; results that were cut, blanked or belong to another thread do not count.",
    ),
    Promise(
        "append-only",
        "What the model was shown once is shown the same way for ever after, byte for byte, "
        "as long as the agent itself leaves its history alone.",
        "Edits are stored and applied again; the state view stands behind the history and is never kept in it.",
    ),
    Promise(
        "fail-open",
        "No fault of ours, and no input, ends or changes the agent's run.",
        "A fault costs one decision, which is an allow; edits that stand are applied again; after many Ledger is off.",
    ),
    Promise(
        "step-in-flight",
        "A crash loses at most the step in flight.",
        "A journal gets one locked append per event; a torn last line is named and set aside by every reader.",
    ),
    Promise(
        "no-secrets",
        "Keys and authorisation headers do not come to rest in journals or logs.",
        "Headers are never written; texts are redacted by pattern; files are private (0600).",
    ),
    Promise(
        "loopback-only",
        "Nothing of Ledger can be reached from another machine, and it calls nobody but the model's own address.",
        "Proxy and viewer bind 127.0.0.1 and refuse foreign Host and Origin headers; nothing else opens a socket.",
    ),
    Promise(
        "bounded",
        "Memory and time per step do not grow with the run.",
        "Bounded indexes and searches; stated limits, beyond which requests pass through unread.",
    ),
)
