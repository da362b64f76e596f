"""The limits of the witness, each with what happens beyond it.

What a look does not reach within them is unknown: the state view then uses the words of the counters. No limit refuses
or delays anything of the agent's.
"""

from __future__ import annotations

from msgspec import Struct


class LookLimits(Struct, frozen=True):
    """What one look at files of this machine may cost; a file beyond them is unknown."""

    files: int = 40
    """Files: as many as a state view considers."""
    file_bytes: int = 1_000_000
    """Bytes of one file: source files are smaller, and a larger one delays the request by milliseconds."""
    bytes: int = 8_000_000
    """Bytes of all files: about 10 ms to read and to split."""
    seconds: float = 0.25
    """Seconds after which no further file is read, and one that does not answer is not waited for any more; and as many
    after which no further one is compared. A model call takes ten times as long and more."""


PROBE_SECONDS = 2
"""The time limit of one probe: an exec into a container takes 0.1 to 0.2 s. Beyond it, the probe has failed."""
MAX_PROBE_FAILURES = 3
"""Probes without a usable answer, after which a run has none any more."""
MAX_PROBED_RANGES = 48
"""Ranges of one probe: each takes the container some milliseconds. The files of further ones are unknown."""
MAX_PROBED_BYTES = 1_000_000
"""Bytes of a file that is probed; a larger one is unknown."""
MAX_PROBE_COMMAND = 60_000
"""Bytes of the command of a probe: systems take 128 kB in one argument. Further files are unknown."""
MAX_ALIGNED_LINES = 2_000
"""Lines between the first and the last difference of two texts, of both together: the work of an alignment grows with
their square, 0.1 s for these. Of more, a line that is not at its place is unknown."""
MAX_EQUAL_PAIRS = 20_000
"""Pairs of equal lines between the first and the last difference: the work of an alignment grows with them too."""
MAX_FOLLOWED = 256
"""Ranges of one file that are followed from look to look: more than a state view lists. The oldest are unknown."""
MAX_REPORTED_PIECES = 32
"""Pieces that are reported for the lines of one result; the rest of its lines is unknown."""
MAX_LISTED_PIECES = 4
"""Pieces of one range that the state view lists one by one; of more, it says that the range has changed in part."""
