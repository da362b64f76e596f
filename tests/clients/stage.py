"""The real codex behind a proxy, before a scripted model: what was asked, what ran, and what was shown."""

from __future__ import annotations

import re
import shlex
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from msgspec import Raw, Struct

from execledger.agents.codex import tools as codex
from execledger.core.policy import Cadence, Policy, Preset
from execledger.journal.reader import read_journal, rebuild
from execledger.proxy.book import Rules
from execledger.proxy.serve import Proxy, ProxySettings
from execledger.runs.account import Account
from tests.support.agents.codex import CodexHome, CodexRun, run_codex
from tests.support.servers.responses import Answer, Request, ResponsesServer, Script, call

Json = dict[str, Any]
OPENING = "<execution_state>"
SHIM = re.compile(
    r"(?:echo '|text\(\")?\[ledger:[0-9a-f]{16}\] (Instead of .*)\. Its output still stands above, unchanged\."
)
RAN = "[Ledger: output omitted. It is the same as that of "
COVERED = "[Ledger: output omitted. Lines "
NOT_RUN = "[Ledger: not run, "
REMARK = "[Ledger: the same test gave the same result "
INVENTORY, TESTS = "warehouse/inventory.py", "tests/test_inventory.py"


class _Body(Struct):
    """A request, its history split into items as they came."""

    input: list[Raw]


class Stage:
    """A scripted model and a proxy before it, for runs of one user's codex; ``check`` holds for every story."""

    def __init__(
        self,
        binary: Path,
        home: CodexHome,
        script: Script,
        preset: str = "verified",
        *,
        sealed: bool = False,
        local_files: bool = False,
    ) -> None:
        self.home = home
        self.server = ResponsesServer(self._noted)
        self.told: list[str] = []
        """What the proxy told its user."""
        self._binary, self._script = binary, script
        self._folder = home.repository.parent / "ledger"
        self._rules = Rules(
            policy=Policy(preset=Preset(preset), cadence=Cadence.EVERY),
            sealed=sealed,
            local_files=local_files,
            journals=self._folder,
            tell=self.told.append,
        )
        self._asked: set[tuple[str, str]] = set()
        self._proxies: list[Proxy] = []
        self._running = ExitStack()

    def __enter__(self) -> Stage:
        """Start the model, and a proxy."""
        self.server.__enter__()
        self.restart()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End both."""
        self._running.close()
        self.server.__exit__(kind, error, trace)

    def restart(self) -> None:
        """Put a new proxy, which knows no more than the stored edits, in the place of the last one."""
        self._running.close()
        edits = self._folder / "edits.sqlite3"
        self._proxies.append(
            Proxy(ProxySettings(adapter=codex, upstream=self.server.url, rules=self._rules, edits=edits))
        )
        self._running.enter_context(self._proxies[-1])

    @property
    def url(self) -> str:
        """Where the proxy listens."""
        return self._proxies[-1].url

    def run(self, *arguments: str, home: CodexHome | None = None, **options: Any) -> CodexRun:
        """Run ``codex exec`` through the proxy, to a good end."""
        run = run_codex(self._binary, *arguments, url=self.url, home=home or self.home, **options)
        assert (run.status, self.server.faults) == (0, []), run.errors
        return run

    def _noted(self, request: Request) -> Answer:
        """The script's answer; what it calls is kept."""
        answer = self._script(request)
        self._asked |= {(item["call_id"], asked_in(item)) for item in answer.items if item["type"].endswith("_call")}
        return answer

    # What came of it

    @property
    def requests(self) -> list[Request]:
        """What the model was asked, one request after the other."""
        return [request for request in self.server.requests if request.kind in ("turn", "compaction")]

    @property
    def summaries(self) -> list[Account]:
        """What the sessions came to, those of earlier proxies first."""
        return [summary for proxy in self._proxies for summary in proxy.summaries]

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """How many calls there were in all sessions; how many of them did not run, were elided, were nudged."""
        counts = [summary.counts for summary in self.summaries]
        names = ("proposed", "suppressed", "elided", "nudged")
        proposed, suppressed, elided, nudged = (sum(getattr(one, name) for one in counts) for name in names)
        return proposed, suppressed, elided, nudged

    def check(self, without: Request | None = None) -> None:
        """Whatever happened: histories only grew, the model saw its own calls alone, the journals hold it all.

        ``without`` is a request that did not come through the proxy.
        """
        assert (self.told, [summary.counts.faults for summary in self.summaries]) == ([], [0] * len(self.summaries))
        through = [request for request in self.requests if request is not without]
        for conversation in {request.conversation for request in through}:
            check_growth([request for request in through if request.conversation == conversation])
        for request in through:
            assert b"[ledger:" not in request.plain
            assert {(item["call_id"], asked_in(item)) for item in calls(request)} <= self._asked
        for request in self.server.requests:
            views = request.plain.count(OPENING.encode())
            assert views == bool(view(request)) <= (request.kind == "turn")
        assert not any(OPENING in path.read_text() for path in self.home.rollouts())
        self._check_journals()

    def _check_journals(self) -> None:
        """A journal folds into the ledger that there was, and no step is missing."""
        journals = [read_journal(path.name, path.read_bytes()) for path in sorted(self._folder.glob("*.jsonl"))]
        assert len(journals) == len(self.summaries)
        assert [rebuild(journal).mismatch for journal in journals] == [None] * len(journals)
        assert sum(len(journal.steps) for journal in journals) == self.counts[0]


def check_growth(requests: list[Request]) -> None:
    """Each request of a conversation, without its view, is byte for byte the beginning of the next."""
    for before, after in pairwise(requests):
        if before.kind == "turn":
            assert items(after)[: len(items(before))] == items(before)
            assert after.kind != "turn" or steady(after) == steady(before)


def steady(request: Request) -> Json:
    """All of a request that stays the same from one to the next."""
    return {key: value for key, value in request.body.items() if key not in ("input", "client_metadata")}


def items(request: Request) -> list[bytes]:
    """The history in a request as it came, without the state view."""
    found = [bytes(item) for item in msgspec.json.decode(request.plain, type=_Body).input]
    return found[:-1] if view(request) else found


def view(request: Request) -> str:
    """The state view at the end of a request; "" if there is none."""
    last = request.input[-1]
    text: str = last["content"][0]["text"] if last.get("role") == "developer" else ""
    return text if text.startswith(OPENING) else ""


def calls(request: Request) -> list[Json]:
    """The calls in a request."""
    return [item for item in request.input if item["type"].endswith("_call")]


def asked_in(item: Json) -> str:
    """What a call asks for."""
    return str(item.get("arguments") or item.get("input"))


def results(request: Request) -> list[str]:
    """The results in a request, each without its header."""
    outputs = (item["output"] for item in request.input if item["type"].endswith("_output"))
    texts = (out if isinstance(out, str) else "".join(part["text"] for part in out) for out in outputs)
    return [text.split("Output:\n", 1)[-1] for text in texts]


def ran(run: CodexRun) -> list[str]:
    """The commands that a run says it has executed, in the order of their start; a shim is told by its words."""
    # The news of an end may overtake another; the number in an id is given at the start.
    done = sorted(run.items, key=lambda item: int(item["id"].rpartition("_")[2]))
    words = (shlex.split(item["command"])[-1] for item in done if item["type"] == "command_execution")
    return [match[1] if (match := SHIM.match(text)) else text for text in words]


def shell(command: str) -> Json:
    """A call that runs a command."""
    return call("exec_command", cmd=command)


def cat(path: str) -> Json:
    """A call that reads a file."""
    return shell(f"cat {path}")


def reference(text: str) -> str:
    """The kind of reference that a result is; "" if it is none."""
    return next((kind for kind in (RAN, COVERED, NOT_RUN) if text.startswith(kind)), "")
