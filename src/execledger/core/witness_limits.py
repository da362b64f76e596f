"""The limits of the witness, each with what happens beyond it.

What a look does not reach within them is unknown: the state view then uses the words of the counters. No limit refuses
or delays anything of the agent's.
"""

from __future__ import annotations

from msgspec import Struct


class TreeLimits(Struct, frozen=True):
    """What one look at the working tree may cost; beyond them its digest is unknown, and nothing is said of it."""

    entries: int = 40_000
    """Files and folders: large repositories have fewer, and the time is enough for as many."""
    bytes: int = 8_000_000
    """Bytes of the files that were changed since the first look, which every look reads: about 10 ms."""
    seconds: float = 0.25
    """Seconds: as much as a look at the files of a state view may take."""


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
    tree: TreeLimits = TreeLimits()
    """What a look at the working tree may cost, beside all that."""


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
TREE_WINDOW = 3
"""Seconds before the first look at a working tree within which a file counts as changed since: the clocks of file
systems have ticks of up to 2 s."""
MAX_TREE_FAILURES = 3
"""Looks at the working tree in a row without a digest, after which a run has none any more: a tree does not shrink."""
TREE_PROBE_SECONDS = 1
"""The time limit of the working tree within a probe, whose other answers must not be lost. Beyond it, its digest is
unknown."""
MAX_PROBED_SIZES = 10_000
"""Characters of the sizes of all files that were changed since the first look: a probe's shell adds them up at once.
With more, the digest of the working tree is unknown."""
MAX_TREE_LOOKS = 64
"""Looks at the working tree that are kept: more than there are calls between two commands that are compared."""
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
