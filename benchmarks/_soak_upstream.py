"""The scripted model of the soak, as a process: it checks whatever it is shown, and says at its end how much that was.

    python -m benchmarks._soak_upstream LINES FRESH

A request that shows anything wrong is refused with the reason.
"""

from __future__ import annotations

import re
import signal
import sys
from collections import Counter

import msgspec
from msgspec import Raw

from benchmarks._client_sessions import Plan
from benchmarks._wires import RESPONSES, Json
from execledger.core.references import MARK
from tests.support.servers.responses import Answer, Request, ResponsesServer, answer

LABEL = re.compile(r"\bs\d{5}(?!\d)")
VIEW = b"<execution_state>"
_SPLIT = msgspec.json.Decoder(dict[str, Raw])
_ITEMS = msgspec.json.Decoder(list[Raw])


class Model:
    """Every conversation's model: it remembers what it was shown, and checks that this only ever grows."""

    def __init__(self, plan: Plan) -> None:
        """Nothing was shown yet."""
        self.shown: Counter[str] = Counter()
        """How results were shown: in full, by a reference, or with a remark."""
        self._plan = plan
        self._histories: dict[str, list[bytes]] = {}
        self._steps: Counter[str] = Counter()

    def __call__(self, request: Request) -> Answer:
        """The next call of the session, if everything that the request shows is right."""
        label = f"s{int(request.headers['thread-id'][-12:]):05}"
        items: list[bytes] = [bytes(item) for item in _ITEMS.decode(_SPLIT.decode(request.plain)["input"])]
        for item in items[-1:]:
            if VIEW in item:
                _belongs(item, label)
                self.shown["views"] += 1
                items.pop()
        before = self._histories.get(label, [])
        assert items[: len(before)] == before, f"{label}: what was shown before is shown otherwise"
        for item in items[len(before) :]:
            self._check(label, msgspec.json.decode(item), item)
        self._histories[label] = items
        step = self._steps[label]
        return answer(*RESPONSES.items(self._plan.command(label, step), step))

    def _check(self, label: str, item: Json, raw: bytes) -> None:
        """A new item: it is of this session, and what this model asked for and what that printed."""
        _belongs(raw, label)
        step = self._steps[label]
        command = self._plan.command(label, step)
        if item["type"] == "function_call":
            wanted = RESPONSES.items(command, step)[1]
            assert item["arguments"] == wanted["arguments"], f"{label}: call {step} is not the model's own: {item}"
        if item["type"] == "function_call_output":
            assert item["call_id"] == f"call_{step}", f"{label}: expected the result of call {step}: {item}"
            printed = RESPONSES.output(step, self._plan.printed(label, command))
            self.shown[_manner(item["output"], printed)] += 1
            self._steps[label] += 1


def _manner(output: str, printed: str) -> str:
    """How a result is shown."""
    if output == printed:
        return "in full"
    if output.startswith(printed) and output.removeprefix(printed).lstrip().startswith(MARK):
        return "with a remark"
    assert MARK in output and len(output) < len(printed), f"a result is shown otherwise than it came: {output[:300]!r}"
    return "by a reference"


def _belongs(item: bytes, label: str) -> None:
    """Whatever names a session names this one."""
    named = set(LABEL.findall(item.decode()))
    assert named <= {label}, f"{label}: an item names {sorted(named)}: {item[:300]!r}"


def main() -> int:
    """Serve until a signal ends it, and print how results were shown."""
    model = Model(Plan(*map(int, sys.argv[1:])))
    with ResponsesServer(model, record=False) as server:
        print(server.url, flush=True)
        signal.sigwait({signal.SIGTERM, signal.SIGINT})
    print(msgspec.json.encode(model.shown).decode(), flush=True)
    return 0


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    sys.exit(main())
