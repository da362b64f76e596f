"""What the tests of all real clients share: folders of a user, Ledger around a client, and checks of what was sent.

A leaf is a text, a call or a result of a request, with the role of its message, and without what clients move from one
request to the next: cache breakpoints and signatures.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pytest

from execledger.core.policy import Policy
from execledger.demo.repository import make_repository
from execledger.proxy.book import Rules
from execledger.proxy.serve import Proxy, ProxySettings
from execledger.session.adapter import Adapter
from tests.support.agents.codex import PASSED_ON
from tests.support.agents.npm import NotInstalled, required
from tests.support.servers.scripted import Request
from tests.support.servers.tap import Tap

Json: TypeAlias = dict[str, Any]
Installed = TypeVar("Installed")
VIEW = "<execution_state>"
"""How a state view begins."""
OMITTED = "[Ledger: output omitted."
"""How a reference begins that takes the place of a whole output."""
MOVED = ("cache_control", "thoughtSignature")
"""Fields that clients move from one request to the next."""


class AgentHome:
    """A user's folders, and a small repository to work in, with a file that is long enough to be worth a reference."""

    def __init__(self, folder: Path) -> None:
        """Make the folders below one that is there."""
        self.user = folder / "user"
        """The user's home folder."""
        self.repository = folder / "repository"
        """The repository to work in."""
        self.journals = folder / "journals"
        """Where Ledger's journals go."""
        self.user.mkdir(exist_ok=True)
        if not self.repository.exists():
            make_repository(self.repository)
        self.big = self.repository / "big.py"
        """A file of 120 lines: ``value_N = N``, from 0 on."""
        self.huge = self.repository / "huge.py"
        """A file that is too long for one result."""
        self.rewrite()

    def rewrite(self) -> None:
        """Undo what a client has edited."""
        text = "".join(f"value_{at} = {at}  # a line of some length, as files have them\n" for at in range(120))
        self.big.write_text(text)
        self.huge.write_text(text * 30)

    def variables(self) -> dict[str, str]:
        """The environment that every client gets."""
        passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        return {**passed, "HOME": str(self.user)}


@pytest.fixture
def agent_home(tmp_path: Path) -> AgentHome:
    """Folders of a new user."""
    return AgentHome(tmp_path)


def or_skip(install: Callable[[], Installed]) -> Installed:
    """The program of a client, or another thing; where it can't be had and need not be, the test is skipped."""
    try:
        return install()
    except NotInstalled as error:
        if required():
            raise
        pytest.skip(str(error))


def ledger(journals: Path, *options: str) -> list[str]:
    """The launcher, as a user types it."""
    return [sys.executable, "-m", "execledger", "run", "--journal", str(journals), *options, "--"]


def steps(journals: Path) -> list[Json]:
    """The steps of all journals in a folder, in their order."""
    lines = [line for path in sorted(journals.glob("*.jsonl")) for line in path.read_text().splitlines()]
    return [event["step"] for event in map(json.loads, lines) if event["event"] == "step"]


@contextmanager
def shadowed(adapter: Adapter, upstream: str, journals: Path, prefix: str = "") -> Iterator[Tap]:
    """A hop before a proxy in shadow mode before ``upstream``: what the client sends is in its ``bodies``."""
    with ExitStack() as stack:
        rules = Rules(policy=Policy(shadow=True), journals=journals)
        settings = ProxySettings(adapter=adapter, upstream=upstream, prefix=prefix, rules=rules)
        yield stack.enter_context(Tap(stack.enter_context(Proxy(settings)).url))


# What a request holds


def leaves(request: Request) -> list[Json]:
    """The leaves of a request in their order, without the state view."""
    found = [_unmarked(leaf) for leaf in _all_leaves(request)]
    return found[:-1] if _is_view(found[-1]) else found


def views(request: Request) -> list[Json]:
    """The state views of a request; more than one, or one before its end, is a mistake."""
    return [leaf for leaf in _all_leaves(request) if _is_view(leaf)]


def breakpoints(request: Request) -> list[int]:
    """Which of the leaves have a cache breakpoint."""
    return [at for at, leaf in enumerate(_all_leaves(request)) if "cache_control" in leaf]


def marked_places(request: Request) -> list[tuple[str, str]]:
    """Where the whole request has cache breakpoints, and what each of them says."""
    return [*_marked_places(request.body, "")]


def _marked_places(value: object, place: str) -> Iterator[tuple[str, str]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        if name == "cache_control":
            yield place, json.dumps(one)
        yield from _marked_places(one, f"{place}.{name}")


def results(request: Request) -> dict[str, str]:
    """The text of each result, by the id of its call."""
    return {name: text for leaf in leaves(request) for name, text in _result(leaf).items()}


def calls(request: Request) -> list[tuple[str, Json]]:
    """Each call: the tool and its arguments."""
    return [call for leaf in leaves(request) for call in _call(leaf)]


def references(request: Request) -> list[str]:
    """The ids of the calls whose whole output is omitted."""
    return [name for name, text in results(request).items() if OMITTED in text]


def view_of(request: Request) -> str:
    """The text of the state view; "" if there is none."""
    return next((str(leaf.get("text") or leaf["content"][0]["text"]) for leaf in views(request)), "")


def check_compaction(requests: Sequence[Request], summaries: Sequence[Request], read: str) -> None:
    """What holds for the turns of a session that was compacted, with a state view in each of them.

    The requests for ``summaries`` have no view. ``read`` is the name of a file that was read once before, and once
    behind the summary: it is listed as no longer in context until it is read again, and no result refers to text that
    is gone. The first request behind the summary is the first that does not repeat the one before it.
    """
    assert summaries and not any(VIEW.encode() in request.raw for request in summaries)
    cuts = [at for at, (one, two) in enumerate(pairwise(requests), 1) if leaves(two)[: len(leaves(one))] != leaves(one)]
    (cut,) = cuts
    check_prefixes(requests[:cut])
    check_prefixes(requests[cut:])
    assert "no longer in context" not in "".join(map(view_of, requests[:cut]))
    first = requests[cut]
    assert f"{read}: " in view_of(first).partition("Seen, no longer in context:\n")[2]
    assert not references(first)
    shown = [name for name in results(requests[-1]) if name not in results(first)]
    assert shown and OMITTED not in results(requests[-1])[shown[0]]
    # The second read behind the summary is of text that is visible again.
    assert shown[1] in references(requests[-1])
    assert "no longer in context" not in view_of(requests[-1])
    assert [request for request in requests if not view_of(request)] == []
    tasks = {view_of(request).splitlines()[1] for request in requests}
    assert tasks == {"Task: Mend it."}


def check_prefixes(requests: Sequence[Request]) -> None:
    """What the model was shown once stays, and the view is at the end, behind every breakpoint."""
    for before, after in pairwise(map(leaves, requests)):
        assert after[: len(before)] == before
    for request in requests:
        assert len(views(request)) <= 1 and not any(map(_is_view, leaves(request)))
        assert all(at < len(leaves(request)) for at in breakpoints(request))


def _all_leaves(request: Request) -> list[Json]:
    """The leaves of a request, the view included, with their breakpoints."""
    if request.dialect == "responses":
        return list(request.items)
    if request.dialect == "gemini":
        return [{"role": item.get("role"), **part} for item in request.items for part in item["parts"]]
    return [leaf for message in request.items for leaf in _of_message(message)]


def _of_message(message: Mapping[str, Any]) -> Iterator[Json]:
    """The leaves of a message: its texts and blocks, then its calls; a result of the chat dialect is one leaf."""
    content, role = message.get("content"), message["role"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    if role == "tool":
        marked = {key: value for block in blocks for key, value in block.items() if key in MOVED}
        yield {**message, "content": "\n".join(block["text"] for block in blocks), **marked}
        return
    yield from ({"role": role, **block} for block in blocks)
    yield from ({"role": role, **call} for call in message.get("tool_calls") or ())


def _unmarked(leaf: Json) -> Json:
    return {name: value for name, value in leaf.items() if name not in MOVED}


def _is_view(leaf: Json) -> bool:
    content = leaf.get("content")
    inner = content[0].get("text", "") if isinstance(content, list) and content else content
    text = leaf.get("text") or (inner if leaf.get("type") == "message" else "")
    return isinstance(text, str) and text.startswith(VIEW)


def _result(leaf: Json) -> dict[str, str]:
    """The text of a leaf that is a result, by the id of its call."""
    if leaf.get("role") == "tool":
        return {leaf["tool_call_id"]: leaf["content"]}
    if leaf.get("type") == "function_call_output":
        return {leaf["call_id"]: _text(leaf["output"])}
    if leaf.get("type") == "tool_result":
        return {leaf["tool_use_id"]: _text(leaf["content"])}
    if "functionResponse" in leaf:
        said = leaf["functionResponse"]
        return {said.get("id", ""): str(said["response"].get("output") or said["response"].get("error"))}
    return {}


def _call(leaf: Json) -> list[tuple[str, Json]]:
    """The tool and the arguments of a leaf that is a call."""
    if leaf.get("type") == "tool_use":
        return [(leaf["name"], leaf["input"])]
    if leaf.get("type") == "function_call":
        return [(leaf["name"], json.loads(leaf["arguments"]))]
    if "functionCall" in leaf:
        return [(leaf["functionCall"]["name"], leaf["functionCall"]["args"])]
    if leaf.get("type") == "function":
        return [(leaf["function"]["name"], json.loads(leaf["function"]["arguments"]))]
    return []


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)
