"""Seeded random sessions over a real folder with a real shell, and the invariants that must hold after each step.

A failing seed is a complete bug report: ``simulate(folder, seed)`` runs the same session again.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from execledger.core.actions import Action, Observation
from execledger.core.decisions import Allow, Reuse, Step
from execledger.core.govern import SECOND_LOOK
from execledger.core.inform import status
from execledger.core.ledger import Ledger
from execledger.core.lines import returned, split_lines, split_numbers
from execledger.core.policy import Policy
from execledger.core.records import Lines
from execledger.core.step import complete
from execledger.testing.recorder import LIMIT, run_command

FILES = ("a.py", "b.txt", "src/c.py", "src/deep/d.md", "link.txt", "empty.txt")
"""The files of the folder that sessions work in; ``link.txt`` points at ``b.txt``."""


class Session(Struct):
    """A simulated session."""

    ledger: Ledger
    """The state under test."""
    steps: list[Step]
    """What was recorded."""
    outputs: list[Observation]
    """What each command really returned, also where it was not shown or not run."""
    reuses: int = 0
    """Reuses before running, each checked against a real run."""
    references: int = 0
    """References after running, each checked against what is visible."""


def populate(folder: Path, random_: random.Random) -> None:
    """Write the files that a session works on."""
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = 0 if name == "empty.txt" else random_.randint(1, 90)
        # Repeated and blank lines make runs ambiguous, as real code does.
        words = [
            random_.choice(("", "    return x", f"value_{n} = compute({n}, mode=strict)", "# --")) for n in range(lines)
        ]
        text = "\n".join(words)
        path.write_text(text + ("\n" if words and random_.random() < 0.8 else ""))
    (folder / "link.txt").unlink()
    (folder / "link.txt").symlink_to("b.txt")
    (folder / "linked").symlink_to("src/deep")
    (folder / "test_touch.py").write_text(
        "import unittest\n\n\nclass T(unittest.TestCase):\n"
        "    def test(self):\n        open('a.py', 'a').write('by a test\\n')\n"
    )
    (folder / "touch_source.py").write_text("import sys\np = sys.argv[1]\nopen(p, 'a').write('tail\\n')\n")


def read_command(random_: random.Random) -> str:
    """A command that reads or searches."""
    file = random_.choice(FILES)
    first = random_.randint(1, 40)
    last = first + random_.randint(0, 40)
    return random_.choice(
        (
            f"cat {file}",
            f"cat -n {file}",
            f"cat -A {file}",
            f"sed -n '{first},{last}p' {file}",
            f"sed -n {first},+{last - first}p {file}",
            f"nl -ba {file} | sed -n '{first},{last}p'",
            f"head -n {last} {file}",
            f"head -{last} {file} | tail -n {last - first + 1}",
            f"tail -n {first} {file}",
            f"tail -n +{first} {file}",
            f"awk 'NR>={first} && NR<={last}' {file}",
            f"sed -n '{first}p;{last + 2},$p' {file}",
            f"cat {file} | head -n {first}",
            f"cat < {file}",
            f"grep -n value {file}",
            "grep -rn value_1 .",
            "ls -1 src",
            "find . -name '*.py' -newer a.py",
            "wc -l a.py b.txt",
            f"cat {file} 2>/dev/null || true",
            f"cat $(ls {file})",
            f"bash -c 'cat {file}'",
            f"cd src && cat c.py && cat ../{file}",
            f"diff a.py {file}",
            f"cat missing_{file} | head -5",
            "cat src/*.py",
            "cat linked/d.md",
            "cat linked/../c.py",
            f"sed -n '{first}p;{last + 5},{last + 9}p' {file}",
        )
    )


def write_command(random_: random.Random) -> str:
    """A command that changes something, through one of many channels."""
    file = random_.choice(FILES)
    # Not the same file, and not through the link: ``tee -a f < f`` never ends.
    other = random_.choice([name for name in FILES if name not in (file, "link.txt", "b.txt")])
    line = random_.randint(1, 30)
    return random_.choice(
        (
            f"sed -i '{line}s/.*/edited {random_.random()}/' {file}",
            f"echo more >> {file}",
            f"printf 'new\\nfile\\n' > {file}",
            f"cat > {file} <<'EOF'\n\n  indented {line}\nlast\nEOF",
            f"python3 -c \"open('{file}','a').write('by python\\n')\"",
            f"python3 - <<'PY'\nfrom pathlib import Path\np = Path('{file}')\np.write_text(p.read_text() + 'x\\n')\nPY",
            f"python3 touch_source.py {file}",
            f"cp -p {other} {file}.bak; cp {file}.bak {file}",
            f"mv {file} moved.tmp && cp {other} {file} && touch -r moved.tmp {file}",
            "ln -sfn a.py link.txt",
            "ln -sfn b.txt link.txt",
            f"awk '{{print NR, $0}}' {other} > {file}",
            f"tee -a {file} < {other} > /dev/null",
            f"perl -pi -e 's/value/VALUE/' {file}",
            f"rm -f {file}; echo back > {file}",
            f"find . -name '{file.rpartition('/')[2]}' -exec sed -i '1d' {{}} \\;",
            f"echo '{file}' | xargs sed -i '$d'",
            f"touch src/new_{line}.py",
            f"if [ -f {file} ]; then echo branch >> {file}; fi",
            f"for f in {file}; do echo loop >> $f; done",
            f"dd if=/dev/zero of={file} bs=1 count=3 2>/dev/null",
            f"truncate -s 5 {file}",
            f"patch -s {file} <<'EOF'\n--- a\n+++ b\n@@ -1 +1,2 @@\n+patched\n EOF\nEOF",
            f"eval 'echo evil >> {file}'",
            f"F={file}; echo dynamic >> $F",
            f"bash -c 'echo nested >> {file}'",
            f"sort -o {file} {file}",
            "python3 -m unittest -q test_touch 2>&1 | tail -1",
            f"mv {file} renamed.tmp && mv renamed.tmp {file} && echo renamed >> {file}",
            "ln -sfn src linked",
            f"(sleep 0.05; echo late >> {file}) > /dev/null 2>&1 &",
        )
    )


def hostile_write(folder: Path, random_: random.Random) -> None:
    """Somebody else's write, restoring size and time where it can."""
    path = folder / random_.choice(FILES)
    if not path.exists():
        return
    before = path.stat()
    text = path.read_bytes()
    if text:
        at = random_.randrange(len(text))
        path.write_bytes(text[:at] + b"Z" + text[at + 1 :])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def observe(command: str, folder: Path) -> Observation:
    """Run a command for real."""
    output, status_ = run_command(command, folder)
    if len(output) >= LIMIT:
        half = LIMIT // 2
        return Observation(output[:half] + output[-half:], exit_status=status_, cut=half, truncated=True)
    return Observation(output, exit_status=status_)


def simulate(
    folder: Path, seed: int, length: int = 40, *, hostile: bool = False, policy: Policy | None = None
) -> Session:
    """Run one session; with ``hostile`` somebody else writes between the steps, and the folder is not sealed."""
    random_ = random.Random(seed)
    populate(folder, random_)
    ledger = Ledger("<issue>Mend it.</issue>", policy)
    session = Session(ledger, [], [])
    recent: list[str] = []
    since = 0
    for index in range(length):
        if hostile and random_.random() < 0.3:
            hostile_write(folder, random_)
        if random_.random() < 0.03:
            since = index
        command = _propose(random_, recent)
        action = Action(command, str(folder))
        visible = range(since, index)
        decision = ledger.govern(action, visible, sealed=not hostile)
        truth = observe(command, folder)
        check_decision(session, action, decision, truth, hostile)
        step = complete(ledger, action, decision, None if isinstance(decision, Reuse) else truth, visible)
        check_shown(session, step, truth, visible)
        ledger.record(step)
        session.steps.append(step)
        session.outputs.append(truth)
        check_state(session, visible, folder, sealed=not hostile)
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


def check_decision(session: Session, action: Action, decision: object, truth: Observation, hostile: bool) -> None:
    """A reuse returns exactly what a fresh run returns; opaque is never reused."""
    record = session.ledger.classify(action)
    if isinstance(decision, Reuse):
        assert not hostile, f"reused in an unsealed folder: {action.command}"
        assert record.opaque is None and record.effects == "none"
        session.reuses += 1
        judged = session.ledger.compare(action, decision, truth)
        assert judged.compared in ("same", "covered"), f"false reuse: {action.command}\n{truth.output}"
        check_stands(session, truth, decision.refers_to, record.view.numbering if record.view else "")


def check_shown(session: Session, step: Step, truth: Observation, visible: range) -> None:
    """A reference after running points at visible, unelided results that hold every line."""
    if step.shown.kind != "reference" or isinstance(step.decision, Reuse):
        return
    session.references += 1
    assert isinstance(step.decision, Allow) is False or step.decision.rule != SECOND_LOOK
    assert all(at in visible and session.steps[at].shown.kind != "reference" for at in step.shown.refers_to)
    view = session.ledger.classify(step.action).view
    check_stands(session, truth, step.shown.refers_to, view.numbering if view else "")


def check_stands(session: Session, truth: Observation, steps: tuple[int, ...], numbering: str) -> None:
    """Every line of ``truth`` stands, text for text, in the outputs that ``steps`` showed."""
    if any(session.outputs[at] == truth for at in steps):
        return
    lines = split_lines(truth.output)
    numbered = split_numbers(lines, numbering) if numbering not in ("", "\0") else None
    texts = list(numbered[0]) if numbered else lines
    shown = "\n".join(session.steps[at].observation.output for at in steps)
    for text in texts:
        assert text in shown, f"the line {text!r} does not stand in steps {steps}"


def check_state(session: Session, visible: range, folder: Path, *, sealed: bool) -> None:
    """The view keeps its budget, and no record is called current whose lines differ from the file."""
    ledger = session.ledger
    text = ledger.inform(visible, sealed).text
    assert len(text.encode()) <= ledger.policy.view_budget
    for path, seen in ledger.files("").items():
        local = ledger.modifications.local(path)
        for record in seen.records:
            if status(ledger, record, local, sealed).startswith("current"):
                check_current(path, record.ranges, session, record.step)


def check_current(path: str, ranges: tuple[Lines, ...], session: Session, at: int) -> None:
    """The lines that a current record stands for are still the file's."""
    view = session.ledger.results[at].record.view
    shown = returned(view, session.outputs[at]) if view is not None else None
    assert shown is not None, f"{path} is called current, but step {at} did not show it"
    if len(shown.texts) > 1 or not ranges or any(run.first < 0 for run in ranges):
        return
    now = split_lines(Path(path).read_text())
    lines = [line for run in ranges for line in now[run.first - 1 : run.last]]
    assert lines == list(shown.texts[0]), f"{path} {ranges} is called current, but has changed since step {at}"


def refold(session: Session, task: str = "<issue>Mend it.</issue>") -> Ledger:
    """The ledger rebuilt from the recorded steps."""
    ledger = Ledger(task, session.ledger.policy)
    for step in session.steps:
        ledger.record(step)
    return ledger
