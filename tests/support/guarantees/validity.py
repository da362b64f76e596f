"""The validity matrix: read, change, read again, for every channel of change, every read and every preset.

Everything is real: a folder with the files of a small shop, a repository, a shell, the whole step loop.
``python -m tests.support.guarantees.validity`` prints the table. A cell is **stale** if the model was referred to a
result that the command no longer has, or if the view called a file current that had changed. Where the files are looked
at, every word of the view about a range is checked: that it is current, has moved or has changed, and by whom.
"""

from __future__ import annotations

import os
import re
import select
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from execledger.core.policy import Cadence, Policy, Preset
from execledger.core.step import take
from execledger.core.witness_limits import LookLimits
from execledger.session.chronicle import Chronicle
from execledger.session.session import Session
from execledger.session.witness import LocalWitness
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Reuse, Step
from tests.support.guarantees.channels import CHANNELS, PUBLISHED, READERS, Channel
from tests.support.recorder import LIMIT, run_command
from tests.support.simulation.checks import lines_of
from tests.support.view_reader import NOT_BY_YOU, ViewReader

TASK = "<issue>Mend the shop.</issue>"
DEADLINE = 120.0
"""Seconds after which a background job is given up: far more than it needs on the slowest machine."""


_LINES = "".join(f"value_{number} = compute(number={number})\n" for number in range(1, 61))
FILES = {
    "src/stock.py": _LINES,
    **{f"src/module_{n}.py": f'"""Module {n} of the shop."""\nvalue_{n} = {n}\n' for n in range(1, 21)},
    "spare/stock.py": _LINES.replace("value_", "value_spare_"),
    "docs/guide.md": _LINES.replace("value_", "value_guide_"),
    "docs/other.md": _LINES.replace("value_", "value_other_"),
    "docs/stamp": "",
    "build/made.txt": _LINES.replace("value_", "value_made_"),
    ".gitignore": "build/\n",
    "settings.sh": "export SHOP_FILE=src/stock.py\n" + "".join(f"export SHOP_{n}={n * 1111}\n" for n in range(30)),
    "tools/__init__.py": "",
    "tools/edit.py": ("p = 'src/stock.py'\nt = open(p).read().replace('value_2', 'edited_2')\nopen(p, 'w').write(t)\n"),
    "tools/generate.py": "p = 'build/made.txt'\nt = open(p).read().upper()\nopen(p, 'w').write(t)\n",
    "tools/shelve.sh": "git stash -q\n",
    "tools/format": "#!/bin/sh\nsed -i 's/value_2[0-9] = /other_x = /' \"$1\"/*.py\n",
    "tests/__init__.py": "",
    "tests/test_stock.py": (
        "import unittest\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        import tools.edit\n"
    ),
}
"""What the shop is made of."""
LINKS = {"linked.py": "src/stock.py", "linked": "src", "current.md": "docs/guide.md"}
"""Other names in it, and where they lead; ``twin.py`` is the stock as well."""
LONG_AGO = 1_600_000_000
"""When everything was written: whatever is written later is newer."""


def populate(folder: Path, *, repository: bool = True) -> None:
    """Make the shop; as a repository, it has changes that are not committed, and files that are not known."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "tools/format").chmod(0o755)
    for name, target in LINKS.items():
        (folder / name).symlink_to(target)
    os.link(folder / "src/stock.py", folder / "twin.py")
    if repository:
        _commit(folder)
    for path in folder.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)


def _commit(folder: Path) -> None:
    """Make a repository of the folder, with uncommitted lines that git can show."""
    settle = "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1; git init -q . && git config user.name shop"
    settle += " && git config user.email shop@localhost && tar cf spare.tar spare && git add -A && git commit -qm all"
    # The uncommitted lines; the write goes through both names of the file.
    settle += " && sed 's/value_/value_late_/' docs/other.md | head -n 20 | tee -a src/stock.py >> docs/guide.md"
    settle += " && mkdir notes && touch notes/an_untracked_note_{1..12}.txt"
    output, status = run_command(settle, folder)
    assert status == 0, output


class Pipes:
    """Two named pipes by which a background job is held back and says that it has written; no time is guessed."""

    def __init__(self, folder: Path) -> None:
        """Make the pipes in ``folder``."""
        self._folder = folder
        folder.mkdir()
        for name in ("go", "done"):
            os.mkfifo(folder / name)

    def release(self) -> None:
        """Let the job go, and return when it has written."""
        done = os.open(self._folder / "done", os.O_RDONLY | os.O_NONBLOCK)
        try:
            end = time.monotonic() + DEADLINE
            while True:
                try:
                    go = os.open(self._folder / "go", os.O_WRONLY | os.O_NONBLOCK)
                    break
                except OSError:
                    # Nobody waits at the pipe yet.
                    assert time.monotonic() < end, "the background job never came to its pipe"
                    select.select((), (), (), 0.01)
            os.write(go, b"\n")
            os.close(go)
            ready, _, _ = select.select((done,), (), (), DEADLINE)
            assert ready, "the background job was let go and never wrote"
        finally:
            os.close(done)


class Verdict(StrEnum):
    """What came of a read after a change."""

    OK = "ok"
    """The output had changed, and the model was shown it."""
    SPARED = "spared"
    """The output was the same, and the model was referred to it."""
    EXTRA = "extra"
    """The output was the same, and was shown once more."""
    STALE = "STALE"
    """The model was referred to a result, or told of a current file, that had changed."""


class Column(Struct, frozen=True):
    """One way to run Ledger, and whether it gets to know of the agent's own changes."""

    name: str
    """Its heading in the table."""
    preset: Preset
    """The preset."""
    sealed: bool = False
    """Nothing but the agent's commands can write."""
    recorded: bool = True
    """The change is one of the agent's commands, where it can be."""
    looks: bool = False
    """A witness looks at the files before each view."""

    def applies(self, channel: Channel) -> bool:
        """Whether the case exists: no other process writes to a sealed place."""
        return channel.by == "agent" or self.looks or not (self.recorded and self.preset is Preset.VERIFIED)


COLUMNS = (
    Column("verified, sealed", Preset.VERIFIED, sealed=True),
    Column("verified", Preset.VERIFIED),
    Column("verified, unseen", Preset.VERIFIED, recorded=False),
    Column("witness", Preset.VERIFIED, looks=True),
    Column("witness, unseen", Preset.VERIFIED, recorded=False, looks=True),
    Column("paper", Preset.PAPER),
)
"""The columns of the table. Unseen: another process runs the command, and the ledger has no record of it."""


class Cell(Struct, frozen=True):
    """One read after one change under one column."""

    channel: str
    """The channel's name."""
    reader: str
    """The reader's name."""
    column: str
    """The column's name."""
    verdict: Verdict
    """What came of it."""
    changed: bool
    """Whether the true output had changed."""
    why: str = ""
    """For a stale cell: the rule, or what the view said."""


def observe(command: str, folder: Path) -> Observation:
    """Run a command for real."""
    output, status = run_command(command, folder)
    assert len(output) < LIMIT, f"{command} prints too much to be shown whole"
    return Observation(output, exit_status=status)


class Trial:
    """One reader under one column: a ledger of its own, beside all others in the same folder."""

    def __init__(self, channel: Channel, reader: str, column: Column, folder: Path) -> None:
        """An empty ledger."""
        self.channel, self.reader, self.column = channel, reader, column
        self.recorded = column.recorded and channel.by == "agent"
        self._folder = folder
        policy = Policy(preset=column.preset, cadence=Cadence.EVERY)
        self._session = Session(policy, TASK, Chronicle(None, "", lambda _: None))
        self._ledger = self._session.ledger
        self._witness = LocalWitness(limits=LookLimits(seconds=60)) if column.looks else None
        self._reader = ViewReader()
        self._stale: list[str] = []
        self._shown: list[str] = []
        self._was: dict[str, bytes] = {}

    def step(self, command: str, result: Observation, *, reads: bool = False) -> Step:
        """Take one step of the loop; ``result`` is what the command returns where it runs, ``reads``: of the files."""
        step = take(self._ledger, Action(command, str(self._folder)), lambda _: result, None, self.column.sealed)
        self._shown.append(step.observation.output)
        if self._witness is None:
            self._believe(command)
        else:
            # A reference tells what the file holds as well, also one to another command that printed the same.
            self._look_and_believe(self._witness, command if reads else "", result.output)
        return step

    def change(self, result: Observation) -> None:
        """Make the change; by the agent's own command if the ledger gets to know it."""
        if self.recorded and self.channel.change:
            step = self.step(self.channel.change, result)
            assert not isinstance(step.decision, Reuse), f"a change was not run: {self.channel.change}"
        if self._witness is None:
            self._believe("")
        else:
            self._look_and_believe(self._witness, "")

    def _look_and_believe(self, witness: LocalWitness, command: str, output: str = "") -> None:
        """Look at the files, and read the view; ``command`` has just read what is in its output."""
        for name in command.split():
            path = self._folder / name
            lines = enumerate(lines_of(path) or [], 1) if path.is_file() else ()
            self._reader.showed(name, {place: text for place, text in lines if text in output}, looked=False)
        self._session.look(witness)
        view = self._ledger.inform(None, self.column.sealed).text
        for claim, wrong in self._reader.check(view, lambda name: lines_of(self._folder / name)):
            own = self.recorded and NOT_BY_YOU in claim.words
            if own or (wrong and self._reader.shown.get(claim.name) and NOT_BY_YOU not in claim.words):
                self._stale.append(f"{claim}: {wrong or 'it was the agent'}")

    def _believe(self, command: str) -> None:
        """Read the view as the model would: no file that it calls current may have changed since it was read."""
        view = self._ledger.inform(None, self.column.sealed).text
        for name, words in re.findall(r"^- (\S+): (.*)$", view, re.MULTILINE):
            path = self._folder / name
            now = path.read_bytes() if path.is_file() else b""
            if command and name in command.split():
                self._was[name] = now
            if "(current, " in words and now != self._was.get(name, now):
                self._stale.append(f"the view calls {name} current")

    def judge(self, again: str, then: Observation, now: Observation, later: Observation) -> Cell:
        """Read again, twice, and say what came of it; ``then`` is what the command would have returned before."""
        step = self.step(again, now, reads=True)
        self._check(step, now, volatile=READERS[self.reader].volatile)
        self._check(self.step(again, later, reads=True), later, volatile=READERS[self.reader].volatile)
        if isinstance(step.decision, Reuse) and then != now:
            self._stale.append(f"{step.decision.rule}: {step.shown.text}")
        referred = step.shown.kind == "reference"
        verdict = Verdict.SPARED if referred else Verdict.EXTRA if then == now else Verdict.OK
        verdict = Verdict.STALE if self._stale else verdict
        why = "; ".join(self._stale)
        return Cell(self.channel.name, self.reader, self.column.name, verdict, then != now, why)

    def _check(self, step: Step, truth: Observation, *, volatile: bool) -> None:
        """What a reference points at holds the true output, text for text, and ended in the same way."""
        if step.shown.kind != "reference":
            return
        targets = [(self._shown[at], self._ledger.results[at].exit_status) for at in step.shown.refers_to]
        if volatile or not any(truth.output in text and status == truth.exit_status for text, status in targets):
            self._stale.append(f"{step.decision.rule}: points at another output")


def run_channel(
    channel: Channel, place: Path, readers: Sequence[str] = tuple(READERS), *, repository: bool = True
) -> list[Cell]:
    """All readers and columns of one channel. The change is made once; every ledger hears of it, or does not."""
    folder = place / "shop"
    folder.mkdir(parents=True)
    populate(folder, repository=repository)
    pipes = Pipes(place / "gate")
    columns = [column for column in COLUMNS if column.applies(channel)]
    trials = [Trial(channel, reader, column, folder) for reader in _present(readers) for column in columns]
    if channel.launch:
        launch = channel.launch.replace("{gate}", str(place / "gate"))
        started = observe(launch, folder)
        for trial in trials:
            if trial.recorded:
                trial.step(launch, started)
    before = _read(channel, folder, readers)
    for trial in trials:
        first, _ = channel.commands(READERS[trial.reader])
        trial.step(first, before[trial.reader][0], reads=True)
    if "{gate}" in channel.launch:
        pipes.release()
    result = observe(channel.change, folder) if channel.change else Observation()
    assert result.exit_status in (0, None), f"{channel.name}: {result.output}"
    after = _read(channel, folder, readers)
    later = after | _read(channel, folder, [name for name in readers if READERS[name].volatile])
    cells = []
    for trial in trials:
        trial.change(result)
        _, again = channel.commands(READERS[trial.reader])
        cells.append(trial.judge(again, *(reads[trial.reader][1] for reads in (before, after, later))))
    return cells


def _present(readers: Sequence[str]) -> list[str]:
    """The readers that this machine has what they read for."""
    return [name for name in readers if name != "process" or Path("/proc/self/stat").exists()]


def _read(channel: Channel, folder: Path, readers: Sequence[str]) -> dict[str, tuple[Observation, Observation]]:
    """What both commands of each reader return now."""
    return {name: _both(*channel.commands(READERS[name]), folder) for name in _present(readers)}


def _both(first: str, again: str, folder: Path) -> tuple[Observation, Observation]:
    seen = observe(first, folder)
    return seen, seen if again == first else observe(again, folder)


def matrix(place: Path, channels: Sequence[Channel] = CHANNELS) -> Iterator[Cell]:
    """Every cell."""
    for at, channel in enumerate(channels):
        yield from run_channel(channel, place / str(at))


def misread(cells: Iterable[Cell], channels: Sequence[Channel] = CHANNELS) -> list[str]:
    """Where a channel did not do what it says that it does: then its cells would prove nothing."""
    expected = {(one.name, reader): True for one in channels for reader in one.changed}
    expected |= {(one.name, reader): False for one in channels for reader in one.same}
    found = {(cell.channel, cell.reader): cell.changed for cell in cells}
    return [
        f"{channel}: {reader}"
        for (channel, reader), changed in expected.items()
        if found.get((channel, reader), changed) != changed
    ]


def table(cells: Sequence[Cell], channels: Sequence[Channel] = CHANNELS) -> str:
    """The table: channels as rows, columns as columns, in each cell what came of all readers together."""
    rows = [["channel", *(column.name for column in COLUMNS)]]
    for at, channel in enumerate(channels):
        if at == PUBLISHED:
            rows.append(["- and of our own:", *("" for _ in COLUMNS)])
        mine = [cell for cell in cells if cell.channel == channel.name]
        rows.append([channel.name, *(_summed([one for one in mine if one.column == c.name]) for c in COLUMNS)])
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    verdicts = [(cell.column, cell.verdict) for cell in cells]
    for column in COLUMNS:
        counts = ", ".join(f"{verdicts.count((column.name, one))} {one.value}" for one in Verdict)
        lines.append(f"{column.name}: {counts}")
    return "\n".join(lines)


def _summed(cells: Sequence[Cell]) -> str:
    """What came of some cells: stale ones first; else how many of the unchanged outputs were not shown again."""
    if not cells:
        return "-"
    stale = [cell for cell in cells if cell.verdict is Verdict.STALE]
    if stale:
        return f"STALE {len(stale)} of {len(cells)}"
    spared = sum(cell.verdict is Verdict.SPARED for cell in cells)
    return f"ok, spared {spared} of {sum(not cell.changed for cell in cells)}"


def main() -> int:
    """Print the table; exit 1 if a cell of ``verified`` is stale."""
    with tempfile.TemporaryDirectory() as place:
        cells = list(matrix(Path(place).resolve()))
    print(table(cells))
    wrong = [cell for cell in cells if cell.verdict is Verdict.STALE and cell.column != "paper"]
    for cell in wrong:
        print(f"{cell.channel} / {cell.reader} / {cell.column}: {cell.why}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
