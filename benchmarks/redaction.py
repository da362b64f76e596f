"""What redaction costs: time per 100 kB of ordinary and of hostile texts.

    python -m benchmarks.redaction [FILE...]

Ordinary text is the files that are given, or else the package's own modules. A hostile text repeats the beginning of a
secret 200,000 characters long: were the work at one beginning not bounded, it would take hours.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import execledger
from execledger.redact import redact
from execledger.redact.redaction import MARKERS

SIZE = 200_000
BOUND = 500.0
"""Milliseconds for 100 kB of the worst text: a backtracking search would take minutes."""
KEY = "PRIVATE KEY"
"""Apart from its dashes, so that this file holds none."""
BEGINNINGS = (
    *MARKERS,
    *("curl -u a ", "curl a:", "mysql -p ", "login a -p ", "password: ", 'password="', "password='", "password: |\n"),
    *("a_token:", "://a:", "authorization: bearer ", "--password ", "echo a | sudo -S ", "\x1b[31mpassword\x1b[m"),
    *("passwords=[", "kind: Secret\ndata:\n", f"-----BEGIN {KEY}-----\n", "eyJabcdef.", "auth=('a',", "a:$6$"),
    "Ab1+/z9Q",
    *"\"'=:-\\$({[`@ \n%&;|>.,_aA1",
)


def cost(text: str) -> float:
    """The processor time for redacting a text, in milliseconds per 100 kB."""
    start = time.thread_time()
    redact(text)
    return (time.thread_time() - start) / len(text) * 1e8


def main(paths: list[str]) -> int:
    """Print a line for each kind of text."""
    files = [Path(path) for path in paths] or sorted(Path(execledger.__file__).parent.rglob("*.py"))
    ordinary = "".join(path.read_text(encoding="utf-8", errors="replace") for path in files)
    texts = {"ordinary": ordinary, **{repr(piece): piece * (SIZE // len(piece)) for piece in dict.fromkeys(BEGINNINGS)}}
    costs = {name: cost(text) for name, text in texts.items()}
    for name in sorted(costs, key=costs.__getitem__, reverse=True)[:10]:
        print(f"{name:40} {costs[name]:8.1f} ms per 100 kB")
    held = max(costs.values()) <= BOUND
    print(
        f"redaction: {'held' if held else 'NOT held'}: {costs['ordinary']:.1f} ms per 100 kB of ordinary text,"
        f" {max(costs.values()):.0f} ms of the worst of {len(texts) - 1} hostile ones"
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
