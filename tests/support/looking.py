"""Sessions in a real folder and a real shell whose files are looked at before each model call, with a journal."""

from __future__ import annotations

import subprocess
from collections.abc import Container
from pathlib import Path

from execledger.core.policy import Policy
from execledger.core.witness_limits import LookLimits
from execledger.session.chronicle import Chronicle
from execledger.session.session import Session
from execledger.session.witness import LocalWitness
from execledger.vocabulary.actions import Action, Observation
from tests.journal.runs import start
from tests.support.policies import WHOLE_VIEWS


class LookingSession:
    """An agent that works in ``root``, as an adapter would follow it; its journal is in ``journals``."""

    def __init__(
        self, root: Path, journals: Path, policy: Policy | None = None, limits: LookLimits | None = None
    ) -> None:
        """No call was made yet."""
        self.root, self.turn, self.since, self.sealed = root, -1, 0, False
        self.views: list[str] = []
        """What the model read, one view after the other."""
        self._told: list[str] = []
        self._chronicle = Chronicle(journals, "looked", self._told.append)
        policy = policy or WHOLE_VIEWS
        self._chronicle.note(start(policy, task="Mend the parser.", sealed=False))
        self._session = Session(policy, "Mend the parser.", self._chronicle, self._told.append)
        self._witness = LocalWitness((str(root),), limits)

    def ask(self, visible: Container[int] | None = None) -> str:
        """Look at the files, and return the view of the next model call."""
        self.turn += 1
        self._session.look(self._witness)
        visible = visible if visible is not None else range(self.since, len(self._session.ledger))
        self.views.append(self._session.view(self.sealed, visible))
        return self.views[-1]

    def run(self, *commands: str) -> None:
        """A model call, and the commands that it proposes."""
        self.ask()
        actions = [Action(command, str(self.root)) for command in commands]
        visible = range(self.since, len(self._session.ledger))
        for proposal in self._session.propose(actions, self.sealed, visible):
            done = subprocess.run(
                ["bash", "-c", proposal.action.command], cwd=self.root, capture_output=True, text=True, check=False
            )
            observation = Observation(done.stdout + done.stderr, exit_status=done.returncode)
            step = self._session.complete(proposal.action, proposal.decision, observation, visible)
            self._session.record(step, self.turn, self.sealed, self.since)
        self._session.look(self._witness, since=len(self._session.ledger) - len(commands))

    def compact(self) -> None:
        """Take every result so far out of the model's context."""
        self.since = len(self._session.ledger)

    def end(self) -> Path:
        """End the run, and return the path of its journal."""
        self._chronicle.end("Submitted")
        assert (self._told, self._chronicle.summary.counts.faults) == ([], 0)
        assert self._chronicle.journal is not None
        return Path(self._chronicle.journal)
