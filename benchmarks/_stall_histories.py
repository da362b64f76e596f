"""Histories that are new to a proxy and take it long, and the process that sends one.

python -m benchmarks._stall_histories URL NAME
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from urllib.parse import urlsplit

import zstandard

from execledger.proxy.limits import MAX_NEW

LINES = 80
"""Lines of a result of the usual size."""


def usual(size: int) -> Iterator[tuple[str, str]]:
    """Commands and outputs as agents have them, about so many bytes of them."""
    while size > 0:
        number = size % 1_000_003
        text = "".join(f'def function_{number}_{line}(value): return "value"  # {line}\n' for line in range(LINES))
        yield f"sed -n '{number % 97},{number % 97 + LINES - 1}p' src/module_{number}.py", text
        size -= len(text) + 8 * LINES + 300


def repetitive() -> Iterator[tuple[str, str]]:
    """Long results whose lines all occur in the others, over and over."""
    chance = random.Random(7)
    for number in range(6):
        yield f"cat digits_{number % 2}.txt", "".join(chance.choice(("0\n", "1\n")) for _ in range(195_000))


def secret() -> Iterator[tuple[str, str]]:
    """Long results in which every line looks as if it held a secret."""
    for number in range(8):
        lines = (f"export API_TOKEN_{number}_{line}='{line * 7919:016x}'  # password = x\n" for line in range(3_500))
        yield f"cat config_{number}.sh", "".join(lines)


def one_line() -> Iterator[tuple[str, str]]:
    """Long results without a line break."""
    for number in range(8):
        yield f"cat bundle_{number}.js", "".join(f"function a{at}(b,c){{return b+c*{at}}};" for at in range(10_000))


def oversized() -> Iterator[tuple[str, str]]:
    """Results that are longer than any that is looked into."""
    for number in range(3):
        yield f"cat dump_{number}.sql", f"INSERT INTO t VALUES ({number}, 'x');\n" * 150_000


HISTORIES: dict[str, Callable[[], Iterator[tuple[str, str]]]] = {
    "6 MB": lambda: usual(6_000_000),
    "24 MB": lambda: usual(24_000_000),
    "24 MB, zstd": lambda: usual(24_000_000),
    "66 MB": lambda: usual(66_000_000),
    "66 MB, known": lambda: usual(66_000_000),
    "6 x 390,000 of 0/1": repetitive,
    "8 x 200,000 of secrets": secret,
    "8 x 350,000 in one line": one_line,
    "3 x 5 MB, oversized": oversized,
}
"""By name; one that is known is sent until all of it was taken in, and the next time counts."""


def body_of(steps: Iterator[tuple[str, str]]) -> bytes:
    """The request that brings these commands and outputs, as Codex writes it."""
    place = "<environment_context>\n  <cwd>/repo</cwd>\n</environment_context>"
    items: list[object] = [{"type": "message", "role": "user", "content": text} for text in (place, "Mend the parser.")]
    for number, (command, output) in enumerate(steps):
        call = {"type": "function_call", "name": "exec_command", "call_id": f"c{number}"}
        items.append({**call, "arguments": json.dumps({"cmd": command})})
        header = f"Chunk ID: {number:06x}\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n"
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": header + output})
    tools = [{"type": "local_shell"}]
    return json.dumps({"model": "m", "stream": True, "tools": tools, "input": items}, separators=(",", ":")).encode()


def post(connection: HTTPConnection, path: str, session: str, body: bytes, coding: str = "") -> None:
    """Send a request, and take the whole answer."""
    headers = {"session-id": session, "thread-id": session, "user-agent": "codex_exec/1.0"}
    connection.request("POST", path, body, {**headers, **({"content-encoding": coding} if coding else {})})
    with connection.getresponse() as answer:
        data = answer.read()
        assert answer.status == 200 and b"response.completed" in data, (answer.status, data[:200])


def main() -> int:
    """Say when the history is ready, wait for a line, send it, and say how many seconds that took."""
    url, name = urlsplit(sys.argv[1]), sys.argv[2]
    body = body_of(HISTORIES[name]())
    coding = "zstd" if name.endswith("zstd") else ""
    if coding:
        body = zstandard.compress(body)
    connection = HTTPConnection(url.hostname or "", url.port, timeout=900)
    for _ in range(len(body) // MAX_NEW + 1 if name.endswith("known") else 0):
        post(connection, f"{url.path}/responses", name, body, coding)
    print(len(body), flush=True)
    sys.stdin.readline()
    start = time.perf_counter()
    post(connection, f"{url.path}/responses", name, body, coding)
    print(time.perf_counter() - start, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
