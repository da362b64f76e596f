"""Made loops under Ledger as an agent has it: every command runs in a real folder, and a witness looks at that folder.

Scripts, tests and other programs are small ones that print what the case says and write what it means; readers and
edits are those of the system. What Ledger is given is the result that the case has, as the rivals are.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks._loops import CRASH, FAILED, FOLDER, MODULE, Case
from execledger.core.inform import StateView
from execledger.core.policy import Policy
from execledger.runs.replay import Replayed
from execledger.session.chronicle import Chronicle
from execledger.session.session import Session
from execledger.session.witness import LocalWitness
from execledger.vocabulary.actions import Action

PROGRAMS = {
    "make": "from pathlib import Path\nfile = Path('src/a.py')\nfile.write_text(file.read_text() + '# formatted\\n')\n",
    "sleep": "from pathlib import Path\nwith Path('build.log').open('a') as log:\n    log.write('another step\\n')\n",
    "curl": "print('[]')\n",
}
"""Programs of the system that are replaced; the code writes to the folder that they are called in."""


def printing(text: str) -> str:
    """A program that prints a text and fails."""
    return f"import sys\nsys.stdout.write({text!r})\nsys.exit(1)\n"


def fill(root: Path, programs: Path) -> None:
    """Make the files of a case in ``root``, and the programs that its commands call beside it."""
    (root / "src").mkdir(parents=True)
    (root / "tests").mkdir()
    programs.mkdir()
    (root / "src" / "a.py").write_text(MODULE)
    (root / "repro.py").write_text(printing(CRASH))
    # ``python -m pytest`` finds it first.
    (root / "pytest.py").write_text(printing(FAILED))
    (root / "tests" / "test_part.py").write_text("def test_part():\n    assert False\n")
    for name, code in PROGRAMS.items():
        (programs / name).write_text(f"#!{sys.executable} -S\n{code}")
        (programs / name).chmod(0o755)
    (programs / "python").symlink_to(sys.executable)


def run_in(root: Path, programs: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of a case in ``root``."""
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
    words = ["bash", "-c", command.replace(FOLDER, str(root))]
    return subprocess.run(words, cwd=root, env=environment, capture_output=True, text=True, check=False)


def play(case: Case, policy: Policy) -> Iterator[Replayed]:
    """The calls of a case under a live session, in a container of the agent's own, with a look behind each result."""
    run = case.sampled().run
    with tempfile.TemporaryDirectory() as folder:
        root, programs = Path(folder, "testbed"), Path(folder, "bin")
        fill(root, programs)
        session = Session(policy, run.task, Chronicle(None, "", lambda _: None))
        witness = LocalWitness()
        for index, recorded in enumerate(run.steps):
            session.look(witness)
            view = StateView(session.view(sealed=True), 0)
            action = Action(recorded.action.command.replace(FOLDER, str(root)), str(root))
            (proposal,) = session.propose([action], sealed=True)
            if not proposal.suppressed:
                run_in(root, programs, action.command)
                session.look_at_tree(witness, [str(root)], [action])
            result = None if proposal.suppressed else recorded.observation
            step = session.complete(action, proposal.decision, result, range(index))
            record = session.ledger.classify(action)
            session.record(step)
            session.look(witness, since=index)
            yield Replayed(index, recorded, record, proposal.decision, step.shown, None, view)
