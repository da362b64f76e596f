"""Ledger under mini-swe-agent v2: a model that wraps the agent's own model.

Name it in the configuration as ``model.model_class``, by which every runner accepts a class of a third party:

    mini -c mini.yaml -c model.model_class=execledger.agents.mini_swe_agent.LedgerModel

``query`` informs (a tail on a copy of the messages) and governs (suppressed actions never reach the environment);
``format_observation_messages`` gives back references, compares, and appends remarks.
"""

from __future__ import annotations

import copy
import logging
import os
import sys
import time
import weakref
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec

from execledger.agents.mini.config import LedgerOptions, agent_version, options_of, sealed
from execledger.agents.mini.follower import Follower
from execledger.agents.mini.messages import (
    NOT_EXECUTED,
    Answer,
    Message,
    acts,
    append_text,
    content_of,
    inside,
    marked,
    noted,
    observation_of,
    text_of,
    usage_of,
    with_view_inside,
)
from execledger.agents.mini.witness import noted_environment, witness_of
from execledger.core.references import NOT_ANSWERED
from execledger.core.wording import printable
from execledger.journal.events import Counts, Started, policy_fields
from execledger.off import is_off
from execledger.runs.account import Account
from execledger.runs.providers import for_model
from execledger.session.chronicle import Chronicle
from execledger.session.session import Session, error_text
from execledger.session.witness import Witness
from execledger.version import __version__
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Decision, Step

logger = logging.getLogger("minisweagent.ledger")

RUNS: list[Account] = []
"""The summaries of this process's runs, for the launcher."""
_FORKS: list[None] = []
"""One entry for every time that this process was forked."""
_OF_A_RUN = frozenset(
    "_begun _summary _end _follower _messages _variables _cache _turn _visible _since _note _before _process"
    " _forks _environment _witness".split()
)
"""What belongs to one run, and is no part of a copy."""
os.register_at_fork(before=partial(_FORKS.append, None), after_in_child=RUNS.clear)


class LedgerModel:
    """A mini-swe-agent model that keeps an execution ledger around another one.

    Whatever the agent calls here catches, in its own frame, what our code raises. A fault while deciding costs that
    decision; after one while steps are taken in, or after many, Ledger is off, and the inner model does everything.
    Nothing of ours is called before the first request.

    A run belongs to one object in one process: a model that was copied, unpickled or forked goes on as a run of its
    own, with a journal of its own, and takes in the history that it is sent.
    """

    # Configurations and trajectories name the class by this module.
    __module__ = "execledger.agents.mini_swe_agent"
    _on = True
    """Not switched off from outside, or by faults."""
    _begun: Session | None = None
    """The run that goes on."""
    _summary: Account | None = None
    """What the run comes to; after a fault there is one even if no run could begin."""
    _end: weakref.finalize[Any, Any] | None = None
    _follower: Follower
    _messages: list[Message]
    _variables: Mapping[str, Any] = MappingProxyType({})
    _cache: str | None = None
    _turn = -1
    _visible: frozenset[int] = frozenset()
    """Steps whose results are part of the last request."""
    _since = 0
    """The first of them."""
    _note: Message | None = None
    """What was proposed last and decided about it, until it is answered."""
    _unseen = False
    """Something may have written that this run has not seen: before it began, or still at work."""
    _before: tuple[Message, ...] = ()
    """What was noted beside the commands that a person ran before the first request."""
    _environment: weakref.ref[Any] | None = None
    """The environment that the model's user has named."""
    _witness: Witness | None = None
    """Looks at the files of the run; None where they can't be reached."""
    _process = 0
    """The process in which the run began."""
    _forks = 0
    """How often that process had been forked by then."""

    def __init__(self, *, ledger: dict[str, Any] | None = None, **model_config: Any) -> None:
        """Wrap the model that ``model_config`` describes; ``ledger`` holds the options."""
        from minisweagent.models import get_model

        try:
            self._options = msgspec.convert({} if ledger is None else ledger, LedgerOptions, strict=False)
        except msgspec.ValidationError:
            # In the ordinary course nothing of ours is called that could fail; here it says what is wrong.
            self._options = options_of(ledger)
        inner = get_model(config={**model_config, "model_class": self._options.inner_model_class})
        # Of two Ledgers one is enough: the outer one, since its options are what the user wrote last.
        self.inner: Any = inner.inner if isinstance(inner, LedgerModel) else inner

    @classmethod
    def wrap(cls, model: Any, *, env: Any = None, **ledger: Any) -> LedgerModel:
        """Wrap a model object: ``agent.model = LedgerModel.wrap(agent.model, env=agent.env)``.

        ``env`` is the agent's environment: with it, the state view says what its files hold now.
        """
        wrapped = cls.__new__(cls)
        wrapped._options = msgspec.convert(ledger, LedgerOptions, strict=False)
        wrapped.inner = model.inner if isinstance(model, LedgerModel) else model
        with suppress(TypeError):
            # Objects of some classes can't be referred to; there, nothing is looked at.
            wrapped._environment = None if env is None else weakref.ref(env)
        return wrapped

    # Copies

    def __getstate__(self) -> dict[str, Any]:
        """What a copy has: the inner model, the options, and nothing of the run.

        Both may write to the same files from now on, each without the other's knowing.
        """
        self._unseen = True
        return {name: value for name, value in self.__dict__.items() if name not in _OF_A_RUN}

    def __copy__(self) -> LedgerModel:
        """A copy around a copy of the inner model."""
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__getstate__(), inner=copy.copy(self.inner))
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> LedgerModel:
        """A deep copy around a deep copy of the inner model."""
        copied = memo[id(self)] = type(self).__new__(type(self))
        copied.__dict__.update(copy.deepcopy(self.__getstate__(), memo))
        return copied

    def _leave_to_parent(self) -> None:
        """In a forked child, the run that was under way is the parent's."""
        if self._process != os.getpid():
            if self._end is not None:
                self._end.detach()
            self.__dict__ = {**self.__getstate__(), "_variables": self._variables}

    def _begin(self, task: str) -> None:
        """Start a run; the one before it, if any, has ended."""
        self._unseen = self._unseen or self._leaves()
        self._begun, self._note, self._turn, self._visible, self._since = None, None, -1, frozenset(), 0
        if self._end is not None:
            self._end()
        self._process, self._forks = os.getpid(), len(_FORKS)
        name = f"mini-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        chronicle = Chronicle(self._options.folder(), name, logger.warning)
        config = getattr(self.inner, "config", None)
        model = str(getattr(config, "model_name", ""))
        policy = for_model(self._options.policy(), model)
        self._begun = session = Session(policy, task, chronicle, logger.warning)
        self._summary = chronicle.summary
        RUNS.append(chronicle.summary)
        self._end = weakref.finalize(self, chronicle.end)
        self._follower = Follower(self._recorded, lambda: len(session.ledger), lambda: self._cwd)
        chronicle.note(
            Started(
                software=__version__,
                run=name,
                agent=f"mini-swe-agent {agent_version()}",
                model=model,
                task=task,
                policy=policy_fields(session.policy),
            )
        )
        self._witness = session.faults.guarded("witness", self._find_witness, None)
        cache = getattr(config, "set_cache_control", None)
        self._cache = cache if isinstance(cache, str) else None
        logger.info("Ledger %s is active (preset %s)", __version__, session.policy.preset.value)

    def _find_witness(self) -> Witness | None:
        """A witness for the files of the environment that the user or the launcher has named."""
        if not self._session.policy.looks:
            return None
        if self._environment is not None:
            return witness_of(self._environment(), named=True)
        return witness_of(noted_environment())

    def _leaves(self) -> bool:
        """The run that has ended may have left something running; its ledger is not asked again."""
        if self._begun is None:
            return False
        if self._note is not None and not self._follower.ended:
            # It has not ended: another agent has the same model.
            return True
        for step in self._follower.left():
            self._session.ledger.record(step)
        return bool(self._session.ledger.unsealed)

    @property
    def _session(self) -> Session:
        assert self._begun is not None, "no run has begun"
        return self._begun

    def _recorded(self, step: Step) -> None:
        self._session.record(step, max(self._turn, 0), self._sealed, self._since)

    def _fault(self, where: str, error: BaseException, *, ends: bool = True) -> None:
        """Count a fault of ours; unless it only cost a decision, leave the rest of the run to the inner model."""
        try:
            self._on = self._on and not ends
            (self._session.faults.end if ends else self._session.faults.note)(where, error)
        except Exception:
            # There is no run to tell, or not even that is possible.
            self._on = False
            logger.warning(f"Ledger is off, after a fault of its own in {where}: {error_text(error)}")
            self._summary = Account(counts=Counts(faults=1))
            RUNS.append(self._summary)
        if not isinstance(error, Exception):
            # An interruption is the agent's to deal with; the work that it broke off is not to be trusted any more.
            raise error

    # What the agent asks of a model

    def query(self, messages: list[Message], **kwargs: Any) -> Message:
        """Inform, ask the inner model, govern what it proposes."""
        request, cache = messages, None
        if self._on:
            try:
                self._followed(messages)
            except BaseException as error:
                self._fault("follow", error)
        if self._on:
            try:
                informed = self._informed(messages)
                if self._cache is not None and informed is not messages:
                    # The request has the marker already, on the last message before the view.
                    self.inner.config.set_cache_control, cache = None, self._cache
                request = informed
            except Exception as error:
                self._fault("inform", error, ends=False)
        try:
            message: Message = self.inner.query(request, **kwargs)
        finally:
            if cache is not None:
                self.inner.config.set_cache_control = cache
        if self._on:
            try:
                return self._governed(message)
            except Exception as error:
                self._fault("govern", error, ends=False)
        return message

    def format_observation_messages(
        self, message: Message, outputs: list[Message], template_vars: dict[str, Any] | None = None
    ) -> list[Message]:
        """Render the outputs: references for suppressed actions, compared results for the others."""
        self._variables = template_vars or self._variables
        if self._on:
            try:
                return self._answered(message, outputs, template_vars)
            except BaseException as error:
                self._fault("compare", error)
        note = (message.get("extra") or {}).get("ledger")
        if isinstance(note, dict) and "proposed" in note:
            return self._unanswered(message, note, outputs, template_vars)
        rendered: list[Message] = self.inner.format_observation_messages(message, outputs, template_vars)
        return rendered

    def format_message(self, **kwargs: Any) -> Message:
        """As the inner model does."""
        message: Message = self.inner.format_message(**kwargs)
        return message

    def get_template_vars(self, **kwargs: Any) -> dict[str, Any]:
        """As the inner model does."""
        variables: dict[str, Any] = self.inner.get_template_vars(**kwargs)
        return variables

    def serialize(self) -> dict[str, Any]:
        """The inner model's data, with what Ledger did under ``info.ledger``."""
        data: dict[str, Any] = self.inner.serialize()
        told: dict[str, Any] = {}
        if self._begun is not None:
            try:
                told = self._told()
            except BaseException as error:
                if self._on or not isinstance(error, Exception):
                    self._fault("serialize", error)
        if self._summary is None:
            return data
        ledger = {**told, "active": self._on, "counts": msgspec.to_builtins(self._summary.counts)}
        return {**data, "info": {**data.get("info", {}), "ledger": ledger}}

    def _told(self) -> dict[str, Any]:
        """What a run is known by."""
        self._leave_to_parent()
        session = self._begun
        if session is None:
            return {}
        if self._on:
            # The end of a run, or a person's own command, may be in the messages without another call of the model.
            self._follower.follow(self._messages)
            self._on = session.active
        return {
            "version": __version__,
            "policy": policy_fields(session.policy),
            "preset": session.policy.preset.value,
            "state": session.ledger.digest,
            "journal": session.chronicle.journal,
        }

    def __getattr__(self, name: str) -> Any:
        """Whatever else the inner model has."""
        if name == "inner" or (name.startswith("__") and name.endswith("__")):
            # What Python asks of any object is answered by this one: a copy of the inner model is no copy of it.
            raise AttributeError(name)
        return getattr(self.inner, name)

    # Inform

    def _followed(self, messages: list[Message]) -> None:
        """Take in what is new in a request, and find out which results it contains."""
        if self._begun is not None:
            self._leave_to_parent()
        if self._begun is None or not self._follower.continues(messages):
            if is_off():
                self._on = False
                return
            task = next((text_of(one) for one in messages if one.get("role") == "user"), "")
            self._begin(task or "(no task)")
            # Steps before the start of this run prove nothing: others between them are unknown.
            self._unseen = self._unseen or any(acts(one) and not self._saw(one) for one in messages)
        self._turn += 1
        self._messages = messages
        self._follower.follow(messages)
        self._visible = self._follower.standing.visible(messages)
        self._since = min(self._visible, default=len(self._session.ledger))
        self._on = self._session.active

    def _informed(self, messages: list[Message]) -> list[Message]:
        """The request with the state view at its end; the agent's own list is not changed."""
        if self._witness is not None:
            # A probe looks at the working tree in the same execution.
            self._session.look(
                self._witness,
                unrecorded_writes=self._own_writers or not (self._witness.cheap or self._sealed),
                folders=() if self._witness.cheap else self._tree,
            )
        text = self._session.view(self._sealed, self._visible)
        if not text:
            return marked(messages, self._cache)
        if inside(messages, self._options.placement, self.inner):
            return with_view_inside(messages, text, self._cache)
        return [*marked(messages, self._cache), self.inner.format_message(role="user", content=text)]

    # Govern

    def _governed(self, message: Message) -> Message:
        """A copy of the model's message with suppressed actions taken out, and our decisions beside."""
        self._session.chronicle.add_call(usage_of(message))
        extra = message.get("extra") or {}
        proposed = extra.get("actions") or []
        if not proposed:
            return message
        actions = [Action(str(one.get("command", "")), self._cwd) for one in proposed]
        judged = self._session.propose(actions, self._sealed, self._visible)
        kept = [one for one, proposal in zip(proposed, judged, strict=True) if not proposal.suppressed]
        note = {"proposed": proposed, "decisions": [msgspec.to_builtins(proposal.decision) for proposal in judged]}
        self._note = dict(note)
        return {**message, "extra": {**extra, "actions": kept, "ledger": note}}

    # Compare

    def _placed(self, message: Message) -> Message:
        """Write beside proposed commands, a person's own included, where they run: their results may never tell."""
        extra = message.get("extra") or {}
        if extra.get("actions") or "ledger" in extra:
            extra.setdefault("ledger", {})["cwd"] = self._cwd
        note: Message = extra.get("ledger") or {}
        if self._begun is None:
            self._before = (*self._before, note)
        return note

    def _saw(self, message: Message) -> bool:
        """The commands in a message ran before our eyes: the note beside them is the very one that we wrote."""
        note = (message.get("extra") or {}).get("ledger")
        return any(note is one for one in self._before)

    def _answered(
        self, message: Message, outputs: list[Message], template_vars: dict[str, Any] | None
    ) -> list[Message]:
        """Every proposed action's observation, in order."""
        if self._begun is not None:
            self._leave_to_parent()
        note = self._placed(message)
        if "proposed" not in note:
            plain: list[Message] = self.inner.format_observation_messages(message, outputs, template_vars)
            return plain
        asked, self._note = self._note, None
        if asked is None or any(note[key] != asked[key] for key in asked):
            # Another run was under way meanwhile, or it was answered before: nothing here is about this ledger.
            self._unseen = True
            return self._unanswered(message, note, outputs, template_vars)
        decisions = [msgspec.convert(one, Decision) for one in note["decisions"]]
        actions = [Action(str(one.get("command", "")), self._cwd) for one in note["proposed"]]
        message["extra"]["actions"] = note["proposed"]
        merged, suppressed = self._merged(actions, decisions, outputs)
        whole: list[Message] = self.inner.format_observation_messages(message, merged, template_vars)
        rendered = whole
        ran = {
            at: observation_of(rendered[at])
            for at in range(min(len(merged), len(rendered)))
            if at not in suppressed and merged[at] is not NOT_EXECUTED
        }
        looking = partial(self._look_at_tree, actions, decisions, suppressed, ran)
        self._session.faults.guarded("witness", looking, None)
        steps: list[Step | None] = []
        for at, (action, decision) in enumerate(zip(actions, decisions, strict=True)):
            if at in ran:
                steps.append(self._session.complete(action, decision, ran[at], self._visible))
            else:
                steps.append(suppressed.get(at))
        elided = {at: step for at, step in enumerate(steps) if step and step.shown.refers and at not in suppressed}
        if elided:
            replaced = [
                {**one, "output": elided[at].observation.output} if at in elided else one
                for at, one in enumerate(merged)
            ]
            rendered = self.inner.format_observation_messages(message, replaced, template_vars)
        self._noted(rendered, steps, merged, {at: content_of(whole[at]) for at in elided})
        return rendered

    def _look_at_tree(
        self,
        actions: list[Action],
        decisions: list[Decision],
        suppressed: dict[int, Step],
        ran: dict[int, Observation],
    ) -> None:
        """Look at the working tree behind these results; by a probe only if a remark depends on it."""
        witness, session = self._witness, self._session
        if witness is None:
            return
        wanted = (session.wants_tree(actions[at], decisions[at], result) for at, result in ran.items())
        if witness.cheap or any(wanted):
            answered = [action for at, action in enumerate(actions) if at in ran or at in suppressed]
            session.look_at_tree(witness, self._tree, answered)

    def _merged(
        self, actions: list[Action], decisions: list[Decision], outputs: list[Message]
    ) -> tuple[list[Message], dict[int, Step]]:
        """The outputs in the order of the proposals, references where nothing ran; and the suppressed steps."""
        left = list(outputs)
        merged: list[Message] = []
        suppressed: dict[int, Step] = {}
        answered = 0
        for at, (action, decision) in enumerate(zip(actions, decisions, strict=True)):
            answered = at + 1 if self._session.suppresses(decision) or left else answered
            if self._session.suppresses(decision):
                step = self._session.complete(action, decision, None, self._visible)
                suppressed[at] = step
                status = step.observation.exit_status or 0
                merged.append({"output": step.shown.text, "returncode": status, "exception_info": ""})
            elif left:
                merged.append(left.pop(0))
            else:
                merged.append(NOT_EXECUTED)
        # What was not executed at the end is left to the inner model, which knows its own format.
        return merged[:answered], suppressed

    def _noted(
        self, rendered: list[Message], steps: list[Step | None], merged: list[Message], elided: dict[int, object]
    ) -> None:
        """Write beside each observation what was decided, append remarks, and record the steps."""
        standing, first = self._follower.standing, len(self._session.ledger)
        for at, (message, step) in enumerate(zip(rendered, steps, strict=False)):
            if step is None:
                continue
            index = len(self._session.ledger)
            noted(message, Answer(index, step.decision, step.shown, self._cwd, self._sealed))
            raw = str(merged[at].get("output") or "")
            if at in elided:
                message["extra"]["raw_output"] = raw
            if step.shown.kind == "remark":
                append_text(message, "\n" + step.shown.text)
            standing.showed(index, message)
            if step.shown.refers:
                standing.refers(index, step.shown.refers_to, elided.get(at, NOT_ANSWERED))
            if step.shown.refers_to and step.shown.refers and "mode" in self._variables:
                # Only the interactive agent has a mode; its user reads the screen.
                part = "a part of its output" if step.shown.kind == "partial" else "its output"
                done = f"reused {'after' if at in elided else 'before'} running, {part} is shown above"
                print(f"Ledger: {printable(step.action.command)[:80]}: {done}", file=sys.stderr)
            self._recorded(step)
        if self._witness is not None and self._witness.cheap:
            self._session.look(self._witness, since=first, unrecorded_writes=self._own_writers)

    def _unanswered(
        self, message: Message, note: Message, outputs: list[Message], template_vars: dict[str, Any] | None
    ) -> list[Message]:
        """After a fault: the true outputs, and a fixed text for what was not run."""
        left = list(outputs)
        merged: list[Message] = []
        for decision in note["decisions"]:
            if isinstance(decision, dict) and decision.get("type") == "reuse" and not self._options.shadow:
                merged.append({"output": NOT_ANSWERED, "returncode": 0, "exception_info": ""})
            else:
                merged.append(left.pop(0) if left else NOT_EXECUTED)
        while merged and merged[-1] is NOT_EXECUTED:
            merged.pop()
        message["extra"]["actions"] = note["proposed"]
        rendered: list[Message] = self.inner.format_observation_messages(message, merged, template_vars)
        return rendered

    # What the template variables tell

    @property
    def _cwd(self) -> str | None:
        """The working directory of commands; None before the first observation."""
        cwd = self._variables.get("cwd")
        if isinstance(cwd, str) and cwd:
            return cwd
        return os.getcwd() if cwd == "" and "image" not in self._variables else None

    @property
    def _own_writers(self) -> bool:
        """Something of the agent's own may write that this run does not see: a copy of the model, or a forked one."""
        return self._unseen or self._forks != len(_FORKS)

    @property
    def _tree(self) -> tuple[str, ...]:
        """The folder whose files make up the working tree, where commands run; none if it is not known who writes."""
        return (self._cwd,) if self._cwd and not self._own_writers else ()

    @property
    def _sealed(self) -> bool:
        """Nothing but the agent's own commands writes: in a container that shares no files, or as the user promised.

        False before the first observation.
        """
        promised = self._options.sealed and bool(self._variables)
        return (promised or sealed(self._variables)) and not self._own_writers


wrap = LedgerModel.wrap
