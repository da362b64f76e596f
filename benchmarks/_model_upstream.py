"""The scripted model behind every stack, as a process: it prints its address, and answers until it is ended.

    python -m benchmarks._model_upstream LINES FRESH EVENTS STEP...

It speaks every dialect, by the path of a request, and answers up to the last of the given steps and a few more. As a
model would, it takes its time between the events of an answer to one of these; all others it sends as fast as it can.
"""

from __future__ import annotations

import asyncio
import sys

from aiohttp import web

from benchmarks._client_sessions import Plan
from benchmarks._wires import LONG, WIRES, Wire

PAUSE = 0.005
"""Seconds between two events of a paced answer: less than any model takes."""
MORE = 20
"""How many steps more are answered."""
MAX_BODY = 64_000_000
HOST = "127.0.0.1"


class Model:
    """Answers with the next command by how many results a request holds, or in words; no request is decoded."""

    def __init__(self, plan: Plan, events: int, paced: list[int]) -> None:
        """A model that follows ``plan``, in ``events`` pieces where it answers in words."""
        self._paced = frozenset(paced)
        self._words = {wire.name: wire.words(events) for wire in WIRES.values()}
        self._calls = {
            wire.name: [wire.events(plan.command("repo", step), step) for step in range(max(paced) + MORE)]
            for wire in WIRES.values()
        }

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Stream the answer to a request."""
        data = await request.read()
        wire = _wire_of(request.path)
        step = data.count(wire.result_mark)
        words = LONG.encode() in data[-6000:]
        pause = PAUSE if step in self._paced and not words else 0.0
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for event in self._words[wire.name] if words else self._calls[wire.name][step]:
            await response.write(event)
            if pause:
                await asyncio.sleep(pause)
        await response.write_eof()
        return response


def _wire_of(path: str) -> Wire:
    """The dialect of a request."""
    return next(wire for wire in WIRES.values() if path.endswith(wire.path.partition("?")[0]))


async def serve(model: Model) -> None:
    """Print the address and serve until a signal ends the process."""
    app = web.Application(client_max_size=MAX_BODY)
    app.router.add_post("/{path:.*}", model.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, HOST, 0, backlog=1024).start()
    print(f"http://{HOST}:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


def main() -> int:
    """Serve until a signal ends it."""
    lines, fresh, events, *paced = map(int, sys.argv[1:])
    asyncio.run(serve(Model(Plan(lines, fresh), events, paced)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
