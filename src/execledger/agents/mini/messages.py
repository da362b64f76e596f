"""mini-swe-agent's messages: what a rendered result shows, what Ledger notes beside it, and the request that is sent.

The agent's templates put an output between marks, as tags or as a JSON object. Less than 10,000 characters are shown
whole; of more than that only a head and a tail. The rendered text is the truth: an output recorded beside it counts
only as far as that text holds it.

``extra`` is stripped before every model call and kept in the trajectory, so ``extra.ledger`` is where decisions are
noted: with them the messages alone rebuild the ledger. What was elided after running is recorded whole beside its
reference. The output of a suppressed call is unknown: its observation is marked as truncated, in an unknown place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from execledger.core.fingerprint import fingerprint
from execledger.core.policy import Policy
from execledger.journal.events import known_policy
from execledger.journal.migrate import Fields, NewerVersion, pending
from execledger.runs.recording import Governed
from execledger.runs.usage import ModelCall, model_call
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Decision, Reuse, Shown, Step

_RETURNCODE = re.compile(r"\s*(?:<exception>.*?</exception>\s*)?<returncode>(-?\d{1,9})</returncode>", re.DOTALL)
_TIMED_OUT = re.compile(r"(?:The last (?:action|command))? timed out and has been killed\.")
_ELIDED = re.compile(
    r"<output_head>\n(.*?)\n</output_head>\s*"
    r"<elided_chars>\s*\d+ characters elided\s*</elided_chars>\s*"
    r"<output_tail>\n(.*)\n</output_tail>",
    re.DOTALL,
)
_OPEN, _CLOSE = "<output>\n", "</output>"


class RenderedOutput(NamedTuple):
    """The part of an output that the model was shown."""

    output: str
    """The whole, or head and tail one after the other; all that was rendered, if the marks are not known."""
    cut: int | None = None
    """The length of the head, if the middle was left out."""
    truncated: bool = False
    """Something was left out, or what was left out is not known."""


def rendered_output(rendered: str, raw: str | None = None) -> RenderedOutput:
    """What ``rendered`` shows of an output; ``raw`` is the whole output, where that was recorded."""
    if raw is not None and raw in rendered:
        return RenderedOutput(raw)
    marked = _from_json(rendered) if rendered.lstrip().startswith("{") else _from_tags(rendered)
    if marked is None or (raw is not None and not _stands_in(marked, raw)):
        return RenderedOutput(rendered, truncated=True)
    return marked


def observed(rendered: str, command: str) -> Observation | None:
    """The result of ``command``, from its rendered text alone; None if the text is not a result."""
    if answer := _RETURNCODE.match(rendered):
        status = int(answer[1])
        return Observation(
            exit_status=status, failed=status == -1, **rendered_output(rendered[answer.end() :])._asdict()
        )
    fields = _json(rendered) or {}
    if isinstance(code := fields.get("returncode"), int):
        error = str(fields.get("exception_info") or "")
        timed_out = code == -1 and "timed out" in error
        part = rendered_output(rendered)
        return Observation(
            notice=error, exit_status=code, failed=code == -1 and not timed_out, timed_out=timed_out, **part._asdict()
        )
    # The command is quoted in front, and it may hold anything, marks included.
    rest = rendered.removeprefix(f"The last command <command>{command}</command>")
    if answer := _TIMED_OUT.match(rest):
        part = rendered_output(rest[answer.end() :])
        # This template puts a line break of its own behind a whole output.
        output = part.output.removesuffix("\n") if not part.truncated else part.output
        return Observation(timed_out=True, **part._replace(output=output)._asdict())
    return None


def _from_tags(rendered: str) -> RenderedOutput | None:
    """The output between tags. It may hold such tags itself, so the outermost ones count."""
    whole, head = rendered.find(_OPEN), rendered.find("<output_head>\n")
    if whole >= 0 and (head < 0 or whole < head):
        start, end = whole + len(_OPEN), rendered.rfind(_CLOSE)
        return RenderedOutput(rendered[start:end]) if end >= start else None
    if pieces := _ELIDED.search(rendered):
        return RenderedOutput(pieces[1] + pieces[2], len(pieces[1]), truncated=True)
    return None


def _from_json(rendered: str) -> RenderedOutput | None:
    """The output in a JSON object; text may follow the object."""
    fields = _json(rendered) or {}
    output, head, tail = (fields.get(key) for key in ("output", "output_head", "output_tail"))
    if isinstance(output, str):
        return RenderedOutput(output)
    if isinstance(head, str) and isinstance(tail, str):
        return RenderedOutput(head + tail, len(head), truncated=True)
    return None


def _json(rendered: str) -> dict[str, Any] | None:
    """The JSON object that a text begins with; None if it begins with anything else."""
    if not rendered.lstrip().startswith("{"):
        return None
    try:
        fields, _ = json.JSONDecoder().raw_decode(rendered.lstrip())
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _stands_in(marked: RenderedOutput, raw: str) -> bool:
    """The marked text is what the recorded output says: the whole of it, or its beginning and its end."""
    if marked.cut is None:
        return marked.output == raw
    return raw.startswith(marked.output[: marked.cut]) and raw.endswith(marked.output[marked.cut :])


def _write_version(note: Fields) -> Fields:
    """Version 1: each note names its version."""
    return {**note, "version": 1}


def _allow_partial(note: Fields) -> Fields:
    """Version 2: results may be shown in part, a kind that earlier versions do not know."""
    return {**note, "version": 2}


MIGRATIONS: tuple[Callable[[Fields], Fields], ...] = (_write_version, _allow_partial)
"""The migrations of the notes beside observations, ``extra.ledger``."""


class Answer(Struct, frozen=True):
    """What is noted beside an observation: with the message it makes a step."""

    step: int
    """Which step of the run it is."""
    decision: Decision
    """What was decided."""
    shown: Shown
    """How the result was shown."""
    cwd: str | None = None
    """Where the command ran, as far as we knew."""
    sealed: bool = False
    """Nothing but the agent's own commands could write when it was decided, as far as we knew."""
    version: int = len(MIGRATIONS)
    """The version of this format."""

    def bare(self, text: str) -> str:
        """What the model reads in the observation, without our remark."""
        return text.removesuffix(self.shown.text).removesuffix("\n") if self.shown.kind == "remark" else text

    def completed(self, action: Action, observation: Observation) -> Step:
        """The step that ``action`` and its result, as the message shows it, make."""
        if self.shown.kind == "reference":
            observation = Observation(self.shown.text, exit_status=observation.exit_status)
        return Step(action, self.decision, observation, self.shown)

    def result(self, observation: Observation, raw: str | None) -> Observation:
        """What is known of the true result; ``raw`` is the output that was recorded."""
        if not self.shown.refers:
            return observation
        mark, status = self.shown.result, observation.exit_status
        if raw is not None and mark is not None and not isinstance(self.decision, Reuse):
            whole = Observation(raw, exit_status=status)
            if fingerprint(whole, steady=False).digest == mark.digest:
                return whole
        return Observation(exit_status=status, truncated=True)

    def governed(self, action: Action, observation: Observation, index: int) -> Governed | None:
        """What Ledger made of the call; None if it counted otherwise than the reader, whose ``index`` this is."""
        # The adapter leaves what the agent says about a failure to the agent.
        step = self.completed(action, replace(observation, notice=""))
        return Governed(step, self.sealed, 0, None) if self.step == index and step.valid_at(index) else None


def answer_of(note: object) -> Answer | None:
    """The note beside an observation; None if there is none, or none that is readable: raises nothing in a run."""
    try:
        return read_answer(note)
    except NewerVersion:
        return None


def read_answer(note: object) -> Answer | None:
    """The note beside an observation, None if there is none; raises ``NewerVersion``."""
    if not isinstance(note, dict):
        return None
    found = note.get("version", 0)
    if not isinstance(found, int) or found < 0:
        return None
    for migration in pending("Ledger's notes", found, MIGRATIONS):
        note = migration(note)
    try:
        return convert(note, Answer)
    except ValidationError:
        return None


def policy_of(note: object) -> Policy | None:
    """The policy that Ledger followed, by ``info.ledger``; None if that does not hold it."""
    try:
        return known_policy(note["policy"]) if isinstance(note, dict) and isinstance(note.get("policy"), dict) else None
    except ValidationError:
        return None


Message: TypeAlias = dict[str, Any]

UNGOVERNED = Allow("not-governed")
"""The decision about a command that did not come from the model."""
NOT_EXECUTED = {"output": "", "returncode": -1, "exception_info": "action was not executed"}
"""The agent's own words for an action without a result: it did not run, or was interrupted, or ended the run."""
REJECTED, NEW_TASK, SUBMITTED = "UserRejection", "UserNewTask", "Submitted"
"""How the agent calls the ends of a step that were no interruption of a command: nothing ran, or the last one ended."""


def text_of(message: Message) -> str:
    """The text that the model reads in a message."""
    content = message.get("output", message.get("content"))
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def append_text(message: Message, text: str) -> None:
    """Put ``text`` behind what the model reads in a message."""
    key = "output" if "output" in message else "content"
    content = message.get(key)
    if isinstance(content, list) and content and isinstance(content[-1], dict) and "text" in content[-1]:
        content[-1]["text"] += text
    elif isinstance(content, str):
        message[key] = content + text


def content_of(message: Message) -> object:
    """What the model is shown in a message, in its own shape."""
    return message.get("output", message.get("content"))


def with_output(message: Message, shown: str, output: str) -> object:
    """The content of a result with ``output`` in the only place where it shows ``shown``; None if there is none.

    Templates put an output between tags as it is, or into a JSON object.
    """
    content = content_of(message)
    if isinstance(content, str):
        return _replaced(content, shown, output)
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") if isinstance(part, dict) else None for part in parts]
    done = [_replaced(text, shown, output) if isinstance(text, str) else None for text in texts]
    if sum(text is not None for text in done) != 1:
        return None
    return [part if text is None else {**part, "text": text} for part, text in zip(parts, done, strict=True)]


def _replaced(text: str, old: str, new: str) -> str | None:
    """The text with ``new`` in the only place of ``old``; None if there is no such place."""
    if text.lstrip().startswith("{"):
        old, new = _in_json(old), _in_json(new)
    return text.replace(old, new) if old and text.count(old) == 1 else None


def _in_json(text: str) -> str:
    """The text between the quotes of a JSON string, as the templates' filter ``tojson`` writes it."""
    return re.sub("[<>&']", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text)[1:-1])


def put_content(message: Message, content: object) -> None:
    """Put other content into a result, in the shape that its own had."""
    key = "output" if "output" in message else "content"
    listed = isinstance(message.get(key), list) and isinstance(content, str)
    message[key] = [{"type": "text", "text": content}] if listed else content


def call_of(message: Message) -> str | None:
    """The call that a result answers; None where the format has no names for calls."""
    return message.get("tool_call_id") or message.get("call_id")


def is_from_model(message: Message) -> bool:
    """The model has said it."""
    return message.get("role") == "assistant" or message.get("object") == "response"


def is_observation(message: Message) -> bool:
    """It is the result of an action."""
    return "returncode" in (message.get("extra") or {})


def is_padding(message: Message) -> bool:
    """Whether it takes the place of a result, for an action that has none."""
    extra = message["extra"]
    return all(extra.get(key) == NOT_EXECUTED[key] for key in ("returncode", "exception_info"))


def observation_of(message: Message) -> Observation:
    """What the model was shown, from the rendered message."""
    extra = message["extra"]
    part = rendered_output(text_of(message), shown_output(message))
    status = extra.get("returncode")
    timed_out = extra.get("exception_type") == "TimeoutExpired" or "timed out" in str(extra.get("exception_info") or "")
    return Observation(
        output=part.output,
        exit_status=status if isinstance(status, int) else None,
        failed=status == -1 and not timed_out,
        cut=part.cut,
        truncated=part.truncated,
        timed_out=timed_out,
    )


def shown_output(message: Message) -> str | None:
    """The output that a message should show, by what is recorded beside it; None if it is not recorded."""
    raw = message["extra"].get("raw_output")
    if not isinstance(raw, str):
        return None
    partly = partly_shown(message)
    return raw if partly is None else partly


def partly_shown(message: Message) -> str | None:
    """The output with references in place of some lines; None if there are none, or they were made for another text."""
    raw, status = message["extra"].get("raw_output"), message["extra"].get("returncode")
    answer = answer_of(message["extra"].get("ledger"))
    if not isinstance(raw, str) or answer is None or answer.shown.kind != "partial" or answer.shown.result is None:
        return None
    found = fingerprint(Observation(raw, exit_status=status if isinstance(status, int) else None), steady=False)
    return answer.shown.applied(raw) if found.digest == answer.shown.result.digest else None


def noted(message: Message, answer: Answer) -> None:
    """Write ``answer`` beside an observation."""
    message.setdefault("extra", {})["ledger"] = msgspec.to_builtins(answer)


def acts(message: Message) -> bool:
    """Commands are proposed in it."""
    return bool((message.get("extra") or {}).get("actions"))


def marked(messages: list[Message], cache: str | None) -> list[Message]:
    """The messages with the cache marker where the agent would have put it: on the last one that stays."""
    if not cache or not messages:
        return messages
    from minisweagent.models.utils.cache_control import set_cache_control

    bare = [{key: value for key, value in one.items() if key != "extra"} for one in messages]
    done: list[Message] = set_cache_control(bare, mode=cache)
    return done


def inside(messages: list[Message], placement: str, model: Any) -> bool:
    """The view goes into the last message: asked for, or two user turns in a row would not do."""
    if placement != "auto" or not messages:
        return placement == "inside" and bool(messages)
    settings = getattr(getattr(model, "config", None), "model_kwargs", None)
    thinks = isinstance(settings, dict) and "thinking" in settings
    textual = "textbased" in type(model).__name__.lower()
    return (thinks or textual) and len(messages) > 2


def with_view_inside(messages: list[Message], text: str, cache: str | None) -> list[Message]:
    """The messages with the view in a copy of the last one."""
    if cache and messages[-1].get("role") == "tool":
        # The marker of a tool's message covers all of it, and nothing may be cached that holds the view.
        return [*marked(messages[:-1], cache), _with_text(messages[-1], text)]
    prefix = marked(messages, cache)
    return [*prefix[:-1], _with_text(prefix[-1], text)]


def _with_text(message: Message, text: str) -> Message:
    """A copy of ``message`` with ``text`` behind its own."""
    copy = {key: value for key, value in message.items() if key != "extra"}
    content = copy.get("content")
    if isinstance(content, list):
        copy["content"] = [*content, {"type": "text", "text": text}]
    else:
        append_text(copy, "\n\n" + text)
    return copy


def usage_of(message: Message) -> ModelCall:
    """What the provider reports of the call that gave a message: tokens, and dollars."""
    extra = message.get("extra") or {}
    usage = message.get("usage") or (extra.get("response") or {}).get("usage")
    return model_call(usage, extra.get("cost"))
