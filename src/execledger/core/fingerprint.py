"""Digests of results: exact ones for claims, steady ones, without timings, for noticing repeats."""

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
"""How long something took, as test runners print it."""
RULER = re.compile(r"[=\-_*]{5,}")
"""Rules that are drawn to the width of the text in them."""
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0}
"""Units of time, in seconds."""
JITTER = 3
"""Timings are close if they differ by this factor at most, or by this many units of their last digit."""
MAX_TIMINGS = 64
"""Timings in one output beyond which they are not told apart from other numbers."""


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
    """Two results are the same but for timings that are close: 5 ms is not 50 ms, and another date is another one."""
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
    """A timing in seconds, and the worth of its last digit."""
    found = TIMING.search(f"({timing})")
    assert found is not None, "it was found as a timing"
    if found["hours"]:
        return int(found["hours"]) * 3600.0 + int(found["minutes"]) * 60 + int(found["seconds"]), 1.0
    scale = SECONDS.get(found["unit"]) or SECONDS["min" if found["unit"].startswith("min") else "s"]
    return float(found["value"]) * scale, scale / 10 ** len(found["digits"] or "")
