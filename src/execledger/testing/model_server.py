"""A model server on loopback that answers from a script, so that real agents run without a model.

It keeps no place in the script: the turn is found by counting the model's turns in the request itself, so retries,
several conversations at once and resumed runs all get the right one.
What a scripted model can't show is whether a model would have acted differently.
"""

from __future__ import annotations

import functools
import itertools
import json
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias

from execledger.testing.model_dialects import DIALECTS, Dialect, Item, Json, Reply, Usage
from execledger.testing.prefix_cache import PrefixCache

Turn: TypeAlias = str | list[str] | tuple[str, ...]
"""What the model does at one go: a text is said as it stands, commands are called."""
Script: TypeAlias = Sequence[Turn]
"""The turns of a conversation."""

COMPLAINTS = ("Tool call error:", "Format error:", "Please always provide EXACTLY ONE action")
"""How mini-swe-agent begins to reject an answer that it leaves out of the history: such a message counts as a turn."""
SECRET_HEADERS = frozenset({"authorization", "x-api-key", "api-key", "cookie"})
"""Headers that are never recorded."""
BYTES_PER_TOKEN = 4
"""How tokens are estimated."""


class Request(NamedTuple):
    """One request, as it came."""

    path: str
    """Where it was sent to."""
    headers: dict[str, str]
    """Its headers by lower-case name, those with secrets left out."""
    body: Json
    """Its body."""
    items: tuple[Item, ...]
    """What the body says, in the same shape for every format."""
    turn: int
    """How many turns the model had had."""
    usage: Usage
    """What it was told to have cost."""

    @property
    def opening(self) -> str:
        """The first words of the user, which tell conversations apart."""
        return next((item.text for item in self.items if item.speaker == "user"), "")


class OffScript(Exception):
    """A request that the script has no answer for."""


def turns_taken(items: Sequence[Item]) -> int:
    """How many turns the model has had: runs of its own items, and complaints about answers that were dropped."""
    speakers = [speaker for speaker, _ in itertools.groupby(item.speaker for item in items)]
    rejected = sum(item.speaker == "user" and item.text.lstrip().startswith(COMPLAINTS) for item in items)
    return speakers.count("model") + rejected


def fenced(command: str, prompt: str) -> str:
    """A command as the prompt of a text-based agent wants it written."""
    if "<mswea_bash_command>" in prompt:
        return f"<mswea_bash_command>{command}</mswea_bash_command>"
    language = "mswea_bash_command" if "```mswea_bash_command" in prompt else "bash"
    return f"```{language}\n{command}\n```"


def one_by_one(script: Script) -> list[Turn]:
    """The same script for an agent that takes one command at a time."""
    return [part for turn in script for part in ([turn] if isinstance(turn, str) else [[command] for command in turn])]


def scripted_reply(script: Script, items: Sequence[Item], *, tools: bool) -> Reply:
    """What the script says next in a conversation; without tools, commands are written into the text, one at a time."""
    number = turns_taken(items)
    turns = script if tools else one_by_one(script)
    if number >= len(turns):
        raise OffScript(f"the script has {len(turns)} turns, and turn {number + 1} was asked for")
    turn = turns[number]
    if isinstance(turn, str):
        return Reply(number, turn)
    thought = f"THOUGHT: this is turn {number + 1} of {len(turns)}."
    if tools:
        return Reply(number, thought, tuple(turn))
    prompt = "\n".join(item.text for item in items if item.speaker in ("system", "user"))
    return Reply(number, f"{thought}\n\n{fenced(turn[0], prompt)}")


def prompt_parts(body: Json, items: Sequence[Item]) -> list[bytes]:
    """A request as a cache sees it: tools, then items; markers are no part of it."""
    said = [(item.speaker, item.call, item.text) for item in items]
    return [json.dumps(part, sort_keys=True).encode() for part in (body.get("tools"), *said)]


class ModelServer:
    """Serves a script, or one script for each task text, and records what it is asked."""

    def __init__(self, script: Script | Mapping[str, Script]) -> None:
        """A mapping gives, for a text that stands in the opening of a conversation, the script of that conversation."""
        self.requests: list[Request] = []
        """Every request that was answered, in order."""
        self.faults: list[str] = []
        """Why requests were turned away."""
        self._script = script
        self._caches: dict[tuple[str, str, str], PrefixCache] = {}
        # Guards the lists and the caches: requests are answered by a thread each.
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Exchange, self))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """Where the server listens, without the ``/v1`` that OpenAI clients want at its end."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> ModelServer:
        """Start to serve."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop serving."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def conversation(self, text: str) -> list[Request]:
        """The requests of the conversations that have this text in their opening."""
        return [request for request in self.requests if text in request.opening]

    def respond(self, path: str, headers: Mapping[str, str], raw: bytes) -> tuple[int, Json]:
        """Status and body of the answer to a request."""
        try:
            return 200, self._answer(path, headers, raw)
        # A status that clients do not try again, so that a fault of the script ends the run at once.
        except (OffScript, KeyError, TypeError, ValueError) as error:
            fault = f"{path}: {type(error).__name__}: {error}"
            with self._lock:
                self.faults.append(fault)
            return 404, {"type": "error", "error": {"type": "not_found_error", "message": fault}}

    def _answer(self, path: str, headers: Mapping[str, str], raw: bytes) -> Json:
        dialect, body = DIALECTS[path], json.loads(raw)
        if body.get("stream"):
            raise OffScript("this server does not stream")
        items = tuple(dialect.items(body))
        shown = {name.lower(): value for name, value in headers.items() if name.lower() not in SECRET_HEADERS}
        request = Request(path, shown, body, items, turns_taken(items), Usage(0, 0, 0, 0))
        reply = scripted_reply(self._script_for(request), items, tools=bool(body.get("tools")))
        with self._lock:
            usage = self._usage(request, reply, dialect)
            self.requests.append(request._replace(usage=usage))
        return dialect.answer(body, reply, usage)

    def _script_for(self, request: Request) -> Script:
        """The script of a conversation; of several texts that stand in its opening, the longest decides."""
        if not isinstance(self._script, Mapping):
            return self._script
        keys = [key for key in self._script if key in request.opening]
        if not keys:
            raise OffScript(f"no script for a conversation that opens with {request.opening[:80]!r}")
        return self._script[max(keys, key=len)]

    def _usage(self, request: Request, reply: Reply, dialect: Dialect) -> Usage:
        parts, cache = prompt_parts(request.body, request.items), self._cache_for(request)
        if dialect.explicit_cache:
            cached, written = cache.marked(parts, [False, *(item.marked for item in request.items)])
        else:
            cached, written = cache.shared(parts), 0
        said = len(reply.text.encode()) + sum(len(arguments) for _, arguments in reply.calls)
        counts = (sum(map(len, parts)), cached, written, said)
        return Usage(*(count // BYTES_PER_TOKEN for count in counts))

    def _cache_for(self, request: Request) -> PrefixCache:
        """The cache of a model, shared by all conversations; where a request has a cache key, by those of that key."""
        shared = (request.path, str(request.body.get("model")), str(request.body.get("prompt_cache_key") or ""))
        return self._caches.setdefault(shared, PrefixCache())


class _Exchange(BaseHTTPRequestHandler):
    """One connection; it closes after its answer, so that none is left open when the server stops."""

    def __init__(self, owner: ModelServer, *arguments: Any) -> None:
        self.owner = owner
        super().__init__(*arguments)

    def do_POST(self) -> None:
        """Answer from the script."""
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        status, answer = self.owner.respond(self.path.partition("?")[0], dict(self.headers.items()), raw)
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""
