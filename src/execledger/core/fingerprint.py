"""Digests of results: exact ones to prove equality, and ones without timings to notice repeated tests."""

from __future__ import annotations

import hashlib
import re
from itertools import islice

from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Fingerprint

TIMING = re.compile(
    r"(?<![\w.:-])(?P<value>\d{1,9}(?:\.(?P<digits>\d{1,9}))?)\s?(?P<unit>s|ms|us|µs|ns|secs?|seconds?|mins?|minutes?)\b"
    r"|(?<=\()(?P<hours>\d{1,5}):(?P<minutes>\d\d):(?P<seconds>\d\d)(?=\))"
)
"""A duration, as test runners print it."""
RULER = re.compile(r"[=\-_*]{5,}")
"""A horizontal rule, whose length depends on the text in it."""
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0}
"""Units of time, in seconds."""
JITTER = 3
"""Timings are close if they differ by this factor at most, or by this many units of their last digit."""
MAX_TIMINGS = 64
"""Timings in one output; with more of them, timings are compared like any other text."""


def digest(*texts: str) -> str:
    """Return a short digest of ``texts``; their lengths are part of it, so that their boundaries matter."""
    lengths = ",".join([str(len(text)) for text in texts])
    return _digest(f"{lengths}:{''.join(texts)}".encode("utf-8", "surrogatepass"))


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def fingerprint(observation: Observation, *, steady: bool) -> Fingerprint:
    """Return the fingerprint of a result, without reminders of the client.

    The digest without timings takes another pass, only if ``steady``.
    """
    output = observation.output
    rest = (
        f"{observation.exit_status} {observation.failed} {observation.timed_out} {observation.cut} "
        f"{len(observation.stderr)} {observation.stderr}{observation.notice}"
    )
    data = output.encode("utf-8", "surrogatepass")
    exact = _digest(b"%d:%b%b" % (len(data), data, rest.encode("utf-8", "surrogatepass")))
    timings = tuple(islice((found[0] for found in TIMING.finditer(output)), MAX_TIMINGS + 1)) if steady else ()
    steady = steady and len(timings) <= MAX_TIMINGS
    return Fingerprint(
        digest=exact,
        steady=digest(RULER.sub("#", TIMING.sub("#", output)), rest) if steady else exact,
        size=len(data),
        lines=output.count("\n") + (1 if output and not output.endswith("\n") else 0),
        timings=timings if steady else (),
    )


def alike(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether two results are equal except for timings that are close; 5 ms and 50 ms, or two dates, are not close."""
    return (
        one.steady == other.steady
        and len(one.timings) == len(other.timings)
        and all(map(_close, one.timings, other.timings))
    )


def _close(one: str, other: str) -> bool:
    (first, unit), (second, other_unit) = _seconds(one), _seconds(other)
    low, high = sorted((first, second))
    return one == other or high <= JITTER * low or high - low <= JITTER * max(unit, other_unit) * 1.001


def _seconds(timing: str) -> tuple[float, float]:
    """Return a timing in seconds, and the unit of its last digit in seconds."""
    found = TIMING.search(f"({timing})")
    assert found is not None, "it was found as a timing"
    if found["hours"]:
        return int(found["hours"]) * 3600.0 + int(found["minutes"]) * 60 + int(found["seconds"]), 1.0
    scale = SECONDS.get(found["unit"]) or SECONDS["min" if found["unit"].startswith("min") else "s"]
    return float(found["value"]) * scale, scale / 10 ** len(found["digits"] or "")
