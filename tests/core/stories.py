"""A tiny driver: a story feeds commands and their outputs to a ledger, as an agent's run would."""

from __future__ import annotations

import textwrap
from collections.abc import Container, Sequence

from execledger.core.inform import StateView
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.step import take
from execledger.vocabulary.actions import Action, Call, Observation
from execledger.vocabulary.decisions import Decision, Step
from tests.support.policies import UNPRICED

HOME = "/repo"
"""Where every story plays."""


class Story:
    """One agent's work, command by command; without a price, unless a policy is given."""

    def __init__(self, task: str = "", policy: Policy | None = None, *, sealed: bool = False, thread: str = "") -> None:
        self.ledger = Ledger(task, policy or UNPRICED)
        self.sealed = sealed
        self.thread = thread
        self.visible: Container[int] | None = None
        self.steps: list[Step] = []
        self.ran: list[str] = []

    def action(self, command: str, call: Call | None = None, thread: str | None = None) -> Action:
        """The action that ``command`` is in this story."""
        return Action(command, HOME, call, self.thread if thread is None else thread)

    def ask(self, command: str, thread: str | None = None) -> Decision:
        """What would be decided about ``command`` now; nothing is recorded."""
        return self.ledger.govern(self.action(command, thread=thread), self.visible, self.sealed)

    def do(
        self,
        command: str,
        output: str | Observation = "",
        status: int = 0,
        *,
        call: Call | None = None,
        thread: str | None = None,
    ) -> Step:
        """Take one step; ``output`` is what the command prints if it runs."""
        observation = output if isinstance(output, Observation) else Observation(output, exit_status=status)

        def run(action: Action) -> Observation:
            self.ran.append(action.command)
            return observation

        step = take(self.ledger, self.action(command, call, thread), run, self.visible, self.sealed)
        self.steps.append(step)
        return step

    def idle(self, count: int) -> None:
        """Let ``count`` unrelated searches pass, each new and without effects."""
        for _ in range(count):
            self.do(f"grep -rn idle{len(self.steps)} docs", status=1)

    def view(self, visible: Container[int] | None = None) -> StateView:
        """The state view for this story's thread."""
        chosen = self.visible if visible is None else visible
        return self.ledger.inform(chosen, self.sealed, self.thread)


def numbered(texts: Sequence[str], first: int = 1) -> str:
    """Lines as ``cat -n`` prints them."""
    return "".join(f"{number:6}\t{text}\n" for number, text in enumerate(texts, first))


def source(count: int, first: int = 1) -> list[str]:
    """Lines of a made-up file, no two alike: ``count`` of them, from line ``first`` on."""
    return [f"value_{number} = compute(number={number})" for number in range(first, first + count)]


def text(count: int, first: int = 1) -> str:
    """These lines as ``cat`` prints them."""
    return "".join(f"{line}\n" for line in source(count, first))


def wrapped(words: str) -> str:
    """A long line as a golden shows it: broken between words."""
    return textwrap.fill(words, 100, replace_whitespace=False, break_long_words=False, break_on_hyphens=False)
