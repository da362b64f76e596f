"""Digests of results: exact ones for claims, steady ones for noticing repeats."""

from __future__ import annotations

import hashlib
import re

from execledger.core.actions import Observation
from execledger.core.decisions import Fingerprint

VOLATILE = re.compile(
    # The look ahead turns most characters away before any alternative is tried.
    r"(?=[\d/p=\-_*])(?:"
    r"(?<![\w.])\d+(?:\.\d+)?(?:\s?(?:s|ms|us|ns|sec|secs|seconds?|minutes?)\b|:\d\d(?::\d\d)?(?:\.\d+)?\b)"
    r"|0x[0-9a-fA-F]{4,}|(?<!\w)\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?)?"
    r"|/tmp/[\w./-]+|\bpid[ =:]?\d+|pytest-\d+|[=\-_*]{5,})"
)
"""What differs between two runs of one test: durations, times, addresses, dates, temporary names, and rules drawn to
the width of the text in them."""


def digest(*texts: str) -> str:
    """A short digest of ``texts``, each told apart from the next."""
    lengths = ",".join([str(len(text)) for text in texts])
    return _digest(f"{lengths}:{''.join(texts)}".encode("utf-8", "surrogatepass"))


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def fingerprint(observation: Observation, *, steady: bool) -> Fingerprint:
    """What the ledger keeps of a result; the steady digest costs a pass of its own, so it is made on demand."""
    output = observation.output
    rest = (
        f"{observation.exit_status} {observation.failed} {observation.timed_out} {observation.cut} "
        f"{len(observation.stderr)} {observation.stderr}{observation.notice}"
    )
    data = output.encode("utf-8", "surrogatepass")
    exact = _digest(b"%d:%b%b" % (len(data), data, rest.encode("utf-8", "surrogatepass")))
    return Fingerprint(
        digest=exact,
        steady=digest(VOLATILE.sub("#", output), rest) if steady else exact,
        size=len(data),
        lines=output.count("\n") + (1 if output and not output.endswith("\n") else 0),
    )
