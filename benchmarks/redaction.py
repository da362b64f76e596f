"""What redaction costs: time per 100 kB of ordinary and of hostile texts, and the longest step that it is done in.

    python -m benchmarks.redaction [FILE...]

Ordinary text is the files that are given, or else the package's own modules. A hostile text repeats the beginning of a
secret 200,000 characters long: were the work at one beginning not bounded, it would take hours.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import execledger
from execledger.redact import in_steps
from execledger.redact.redaction import MARKERS

SIZE = 200_000
MAX_STEP = 0.05
"""A step takes a few milliseconds; this allows for a busy machine."""
KEY = "PRIVATE KEY"
"""Apart from its dashes, so that this file holds none."""
BEGINNINGS = (
    *MARKERS,
    *("curl -u a ", "mysql -p ", "login a -p ", "password: ", 'password="', "password='", "password: |\n", "a_token:"),
    *("://a:", "authorization: bearer ", "--password ", "echo a | sudo -S ", "\x1b[31mpassword\x1b[m", "passwords=["),
    *("kind: Secret\ndata:\n", f"-----BEGIN {KEY}-----\n", "eyJabcdef.", "auth=('a',", "a:$6$", "Ab1+/z9Q"),
    *"\"'=:-\\$({[`@ \n%&;|>.,_aA1",
)


def steps_of(text: str) -> list[float]:
    """The processor time of each step in which a text is redacted."""
    steps, taken = in_steps(text), []
    while True:
        start = time.thread_time()
        more = next(steps, text)
        taken.append(time.thread_time() - start)
        if more is text:
            return taken


def main(paths: list[str]) -> int:
    """Print a line for each kind of text."""
    files = [Path(path) for path in paths] or sorted(Path(execledger.__file__).parent.rglob("*.py"))
    ordinary = "".join(path.read_text(encoding="utf-8", errors="replace") for path in files)
    texts = {"ordinary": ordinary, **{repr(piece): piece * (SIZE // len(piece)) for piece in dict.fromkeys(BEGINNINGS)}}
    costs, longest = {}, 0.0
    for name, text in texts.items():
        taken = steps_of(text)
        longest = max(longest, *taken)
        costs[name] = sum(taken) / len(text) * 1e8
    for name in sorted(costs, key=costs.__getitem__, reverse=True)[:10]:
        print(f"{name:40} {costs[name]:8.1f} ms per 100 kB")
    held = longest <= MAX_STEP
    print(
        f"redaction: {'held' if held else 'NOT held'}: {costs['ordinary']:.1f} ms per 100 kB of ordinary text,"
        f" {max(costs.values()):.0f} ms of the worst of {len(texts) - 1} hostile ones,"
        f" longest step {longest * 1e3:.1f} ms"
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
