"""Seeded random sessions over a real folder with a real shell, and the invariants that must hold after each step.

A failing seed is a complete bug report: ``simulate(folder, seed)`` runs the same session again. ``besiege`` runs
longer ones: several threads share one ledger; turns hold several calls, run in sequence or in parallel; requests lose
steps; outputs are cut, commands are stopped; scripts start jobs that write later. In a sealed session all writers are
the agent's own commands and their jobs; otherwise other processes write as well.
"""

from __future__ import annotations

import random
import re
import subprocess
import tempfile
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.step import Proposal, propose, settle
from execledger.core.witness import PossibleWrites, ShownRange
from execledger.core.witness_limits import LookLimits
from execledger.session.chronicle import Chronicle
from execledger.session.probe import ProbeWitness
from execledger.session.session import Session as LiveSession
from execledger.session.witness import LocalWitness, LookResult, Witness
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Step
from tests.support.policies import FOCUSED_VIEWS, UNPRICED
from tests.support.recorder import LIMIT
from tests.support.simulation.checks import (
    Session,
    check_decision,
    check_looked_view,
    check_shown,
    check_view,
    lines_of,
)
from tests.support.simulation.commands import (
    FILES,
    LATER,
    MORE_FILES,
    appended,
    calm_write,
    hostile_write,
    populate,
    populate_more,
    read_command,
    restless_command,
    wild_write,
    write_command,
)
from tests.support.simulation.steady_shell import SteadyShell
from tests.support.view_reader import ViewReader

__all__ = ["TASK", "Session", "Siege", "besiege", "observe", "refold", "simulate"]

TASK = "<issue>Mend it.</issue>"
"""What every session is asked to do."""


def observe(command: str, shell: SteadyShell) -> Observation:
    """Run a command for real."""
    output, status = shell.run(command)
    if len(output) >= LIMIT:
        half = LIMIT // 2
        return Observation(output[:half] + output[-half:], exit_status=status, cut=half, truncated=True)
    return Observation(output, exit_status=status)


def simulate(
    folder: Path, seed: int, length: int = 40, *, hostile: bool = False, policy: Policy | None = None
) -> Session:
    """Run one session; with ``hostile`` another process writes between the steps, and the folder is not sealed."""
    random_ = random.Random(seed)
    populate(folder, random_)
    ledger = Ledger(TASK, policy or UNPRICED)
    session = Session(ledger)
    recent: list[str] = []
    since = 0
    with SteadyShell(folder) as shell:
        for index in range(length):
            if hostile and random_.random() < 0.3:
                hostile_write(folder, random_)
            if random_.random() < 0.03:
                since = index
            command = _propose(random_, recent)
            action = Action(command, str(folder))
            visible = range(since, index)
            proposal = propose(ledger, action, visible, sealed=not hostile)
            truth = observe(command, shell)
            check_decision(session, action, proposal.decision, truth, sealed=not hostile)
            step = settle(ledger, proposal, None if proposal.suppressed else truth)
            check_shown(session, step, truth, visible)
            session.took(step, truth)
            check_view(session, "", range(since, index + 1), folder, sealed=not hostile)
    return session


def _propose(random_: random.Random, recent: list[str]) -> str:
    """A read, a repeat of a recent command, or a write."""
    choice = random_.random()
    if recent and choice < 0.4:
        return random_.choice(recent[-6:])
    make: Callable[[random.Random], str] = write_command if choice > 0.9 else read_command
    command = make(random_)
    if make is read_command:
        recent.append(command)
    return command


def refold(session: Session, task: str = TASK) -> Ledger:
    """The ledger rebuilt from the recorded steps."""
    ledger = Ledger(task, session.ledger.policy)
    for step in session.steps:
        ledger.record(step)
    return ledger


KILLED = 137
"""The exit status of a command that was killed."""
Looks = Literal["", "local", "probe"]
"""How the files are looked at before a view: not at all, directly, or by a probe."""
THREADS = ("", "", "", "helper", "scout")
"""Who acts: the main conversation more often than those that it started."""


class NotingWitness(LocalWitness):
    """A local witness that notes at which files it looked last."""

    asked: tuple[str, ...] = ()

    def look(
        self,
        questions: Mapping[str, Sequence[ShownRange]],
        writes: PossibleWrites | None = None,
        folders: Sequence[str] = (),
    ) -> LookResult:
        """The sightings of files."""
        self.asked = tuple(questions)
        return super().look(questions, writes, folders)


class Siege:
    """One session; ``turn`` does the next turn of one of its threads."""

    def __init__(
        self, folder: Path, later: Path, shell: SteadyShell, seed: int, policy: Policy | None = None, looks: Looks = ""
    ) -> None:
        """A session in ``folder``; ``later`` is where scripts note what their jobs are to write."""
        self.random = random.Random(seed)
        self.folder = folder
        policy = policy or (FOCUSED_VIEWS if seed % 4 == 3 else UNPRICED)
        self._live = LiveSession(policy, TASK, Chronicle(None, "", lambda _: None))
        self._witness = _witness(looks)
        self._readers = {
            thread: ViewReader(by_range=looks == "probe", whole_views=not policy.focused) for thread in THREADS
        }
        self.session = Session(self._live.ledger)
        self.sealed = seed % 3 != 0
        """Nobody but the agent writes."""
        self._calm = seed % 3 == 1
        self._later = later
        self._shell = shell
        self._recent: dict[str, list[str]] = {}
        self._since: dict[str, int] = {}
        self._due: list[tuple[int, str]] = []
        self._writing: set[str] = set()
        # Readers and writers meet more often where there are few files.
        self._focus = tuple(self.random.sample(FILES[:4], 2))
        populate_more(folder, self.random)

    def turn(self) -> None:
        """One model turn: what its view says is checked, then its calls are judged, run, compared and recorded."""
        random_ = self.random
        self._others_write()
        thread = random_.choice(THREADS)
        visible = self._visible(thread)
        self._view(thread, visible)
        first = len(self.session.steps)
        calls: list[Proposal] = []
        for _ in range(random_.choice((1, 1, 1, 2, 3))):
            action = Action(self._propose(thread), str(self.folder), thread=thread)
            pending = bool(calls) and calls[-1].pending
            calls.append(propose(self.session.ledger, action, visible, self.sealed, pending))
        shown: list[tuple[str, dict[int, str]]] = []
        for proposal, truth in zip(calls, self._run(calls), strict=True):
            step = settle(self.session.ledger, proposal, None if proposal.suppressed else truth)
            check_shown(self.session, step, truth, visible)
            shown.append(self._took(step, truth))
        self._look_behind(thread, first, shown)

    def _look_behind(self, thread: str, first: int, shown: list[tuple[str, dict[int, str]]]) -> None:
        """Look at what the results of a turn have shown, before or after somebody else has written."""
        cheap = self._witness is not None and self._witness.cheap
        if cheap and not self.sealed and self.random.random() < 0.02:
            hostile_write(self.folder, self.random, self._focus)
        for path, lines in shown:
            now = lines_of(Path(path)) or [] if path else []
            found = cheap and all(now[place - 1 : place] == [text] for place, text in lines.items())
            self._readers[thread].showed(path.removeprefix(f"{self.folder}/"), lines, looked=found)
        if isinstance(self._witness, NotingWitness):
            self._witness.asked = ()
            self._live.look(self._witness, thread, first)
            # The look is at all that was shown of these files, also by earlier results.
            for path in self._witness.asked:
                self._readers[thread].looked(path.removeprefix(f"{self.folder}/"), lines_of(Path(path)))

    def _view(self, thread: str, visible: Container[int]) -> None:
        """The view of the next model call, with a look before it if there is a witness."""
        if self._witness is None:
            check_view(self.session, thread, visible, self.folder, sealed=self.sealed)
            return
        unrecorded = not (self._witness.cheap or self.sealed)
        self._live.look(self._witness, thread, unrecorded_writes=unrecorded)
        check_looked_view(self.session, self._readers[thread], thread, visible, self.folder, sealed=self.sealed)

    def _took(self, step: Step, truth: Observation) -> tuple[str, dict[int, str]]:
        """Take in a step, and let the readers of the views know what it may have written; the lines of a file."""
        command = step.action.command
        stopped = step.observation.timed_out or step.observation.exit_status == KILLED
        for one in self._readers.values():
            one.ran(unknown=command in self._writing, left_running=stopped or command.endswith("& wait"))
        return self.session.took(step, truth)

    def _run(self, calls: list[Proposal]) -> list[Observation]:
        """Run the calls of a turn, sometimes in parallel; a reuse is compared with the state before the turn."""
        truths: dict[int, Observation] = {}
        for at, proposal in enumerate(calls):
            if proposal.suppressed:
                truths[at] = observe(proposal.action.command, self._shell)
                check_decision(self.session, proposal.action, proposal.decision, truths[at], sealed=self.sealed)
        order = [at for at in range(len(calls)) if at not in truths]
        if self.random.random() < 0.3:
            self.random.shuffle(order)
        for at in order:
            truths[at] = self._hampered(observe(calls[at].action.command, self._shell))
        return [truths[at] for at in range(len(calls))]

    def _hampered(self, truth: Observation) -> Observation:
        """What came back, now and then cut off, or stopped halfway."""
        chance = self.random.random()
        if chance < 0.005:
            return replace(truth, output=truth.output[: len(truth.output) // 2], exit_status=KILLED)
        if chance < 0.01:
            return replace(truth, output=truth.output[: len(truth.output) // 2], exit_status=124, timed_out=True)
        if chance < 0.03 and not truth.truncated:
            return replace(truth, output=truth.output[: len(truth.output) // 3], truncated=True)
        return truth

    def _others_write(self) -> None:
        """Somebody else writes, and so do jobs that scripts have left behind, some steps after these have ended."""
        if not self.sealed and self.random.random() < 0.3:
            hostile_write(self.folder, self.random, self._focus)
        now = len(self.session.steps)
        for name in self._later.read_text().split():
            self._due.append((now + self.random.randint(1, 9), name))
        self._later.write_text("")
        for due, name in [*self._due]:
            path = self.folder / name
            if due <= now:
                self._due.remove((due, name))
                if path.is_file():
                    appended(path, self.random)

    def _visible(self, thread: str) -> Container[int]:
        """The steps in the request: all since the last compaction, or all but a few results that were blanked."""
        steps = len(self.session.steps)
        if self.random.random() < 0.04:
            self._since[thread] = self.random.randint(self._since.get(thread, 0), steps)
        since = self._since.get(thread, 0)
        if self.random.random() < 0.8:
            return range(since, steps)
        own = (at for at in range(since, steps) if self.session.steps[at].action.thread == thread)
        return frozenset(at for at in own if self.random.random() < 0.8)

    def _propose(self, thread: str) -> str:
        """A repeat of a recent command, a read, or a write."""
        random_ = self.random
        recent = self._recent.setdefault(thread, [])
        choice = random_.random()
        if recent and choice < 0.45:
            return random_.choice(recent[-5:])
        if choice > 0.86:
            writers = (calm_write,) if self._calm else (calm_write, calm_write, write_command, wild_write, wild_write)
            command = random_.choice(writers)(random_, self._focus if random_.random() < 0.8 else FILES)
            command = _without_races(command) if self._witness is not None else command
            self._writing.add(command)
            return command
        files = self._focus if random_.random() < 0.6 else MORE_FILES
        command = restless_command(random_) if choice > 0.82 else read_command(random_, files)
        recent.append(command)
        return command


def _without_races(command: str) -> str:
    """A command whose job writes when the session lets it: what a look finds must still be so when it is checked."""
    late = re.sub(r"bash late\.sh (\S+) \d", r"bash later.sh \1", command)
    return re.sub(r"^\(sleep 0\.05; echo late >> (\S+)\) > /dev/null 2>&1 &$", r"bash later.sh \1 & wait", late)


def _witness(looks: Looks) -> Witness | None:
    """A witness of this kind, that may take its time."""
    if looks == "local":
        return NotingWitness(limits=LookLimits(seconds=60))
    return ProbeWitness(_probe) if looks == "probe" else None


def _probe(command: str) -> str:
    """Run a probe as the agent's environment would."""
    return subprocess.run(["sh", "-c", command], cwd="/", capture_output=True, text=True, check=True).stdout


def besiege(place: Path, seed: int, length: int = 60, policy: Policy | None = None, looks: Looks = "") -> Session:
    """Run one session of at least ``length`` steps beneath ``place``; the same seed is the same session again."""
    with tempfile.TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as name:
        folder, later = Path(name, "work"), Path(name, "later")
        folder.mkdir()
        later.write_text("")
        with SteadyShell(folder, {LATER: str(later)}) as shell:
            siege = Siege(folder, later, shell, seed, policy, looks)
            while len(siege.session.steps) < length:
                siege.turn()
            return siege.session
