"""The scripted model behind every stack, as a process: it prints its address, and answers until it is ended.

    python -m benchmarks._codex_upstream LINES FRESH EVENTS STEP...

It answers up to the last of the given steps and a few more. As a model would, it takes its time between the events of
an answer to one of these; all others it sends as fast as it can.
"""

from __future__ import annotations

import signal
import sys

from benchmarks._codex_sessions import LONG, MODEL, Plan, proposal
from tests.support.servers.responses import PIECE, Answer, Request, ResponsesServer, Script, always, say

PAUSE = 0.005
"""Seconds between two events of a paced answer: less than any model takes."""
MORE = 20
"""How many steps more are answered."""


def script(plan: Plan, events: int, paced: list[int]) -> Script:
    """The next call by how many results a request holds, or many words where it asks for them; nothing is decoded."""
    words = always(say(("A line of the answer, as it comes." * events)[: PIECE * events]), model=MODEL)
    calls = [
        always(*proposal(plan.command("repo", step), step), model=MODEL, delay=PAUSE if step in paced else 0.0)
        for step in range(max(paced) + MORE)
    ]

    def answer(request: Request) -> Answer:
        if LONG.encode() in request.plain[-6000:]:
            return words(request)
        return calls[request.plain.count(b'"function_call_output"')](request)

    return answer


def main() -> int:
    """Serve until a signal ends it."""
    lines, fresh, events, *paced = map(int, sys.argv[1:])
    with ResponsesServer(script(Plan(lines, fresh), events, paced), record=False) as server:
        print(server.url, flush=True)
        signal.sigwait({signal.SIGTERM, signal.SIGINT})
    return 0


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    sys.exit(main())
