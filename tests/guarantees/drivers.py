"""Three ways to drive Ledger over the small shop of the validity matrix: the core's loop, mini-swe-agent, Codex."""

from __future__ import annotations

from collections.abc import Callable, Container
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from execledger.core.ledger import Ledger
from execledger.core.policy import Preset
from execledger.core.step import take
from execledger.vocabulary.actions import Action, Call, Observation
from execledger.vocabulary.decisions import Step
from tests.proxy.talk import Talk, message, new_passage
from tests.support.guarantees.validity import populate
from tests.support.partial_references import Reader
from tests.support.policies import UNPRICED
from tests.support.recorder import run_command

FILE = "src/stock.py"
CAT = f"cat {FILE}"
REFERENCE = "[Ledger: "
NOT_RUN, RAN = "[Ledger: not run", "[Ledger: output omitted"
PRESETS: dict[str, dict[str, Any]] = {
    "sealed": {"sealed": True},
    "verified": {},
    "paper": {"preset": "paper"},
}
"""What a test runs under, by name."""
WHOLE: dict[str, Any] = {"partial": False, "cadence": "every"}
"""The stories of real agents tell outputs that are shown in full from references in their place. In those of the core's
loop, lines may be omitted as well: there a reader follows each reference, and has to arrive at the true output."""


def make(folder: Path, *, repository: bool = False) -> None:
    """The shop, if it is not there."""
    if not folder.exists():
        folder.mkdir()
        populate(folder, repository=repository)


class Shop:
    """The core's loop over a real folder with a real shell."""

    def __init__(
        self,
        folder: Path,
        preset: str = "verified",
        *,
        sealed: bool = False,
        repository: bool = False,
        **policy: Any,
    ) -> None:
        """An empty ledger; the folder is made if it is not there."""
        make(folder, repository=repository)
        self.folder = folder
        self.ledger = Ledger("<issue>Mend the shop.</issue>", replace(UNPRICED, preset=Preset(preset), **policy))
        self.sealed = sealed
        self.ran: list[str] = []
        self.read: list[str] = []
        """What a reader made of each result: of omitted lines, what was shown of them before."""
        self._readers: dict[str, Reader] = {}

    def do(
        self,
        command: str,
        *,
        visible: Container[int] | None = None,
        thread: str = "",
        result: Observation | None = None,
        call: Call | None = None,
        cwd: str | None = "",
    ) -> Step:
        """Take one step; ``result`` stands for what the shell would have said."""

        truths: list[Observation] = []

        def run(action: Action) -> Observation:
            self.ran.append(action.command)
            truths.append(result or self.truth(action.command))
            return truths[0]

        place = str(self.folder) if cwd == "" else cwd
        step = take(self.ledger, Action(command, place, call, thread), run, visible, self.sealed)
        read = self._readers.setdefault(thread, Reader()).read(command, step.observation.output, visible)
        if step.shown.kind != "reference":
            assert read == truths[0].output, f"{command} is misread"
        self.read.append(read)
        return step

    def truth(self, command: str) -> Observation:
        """What the shell says now."""
        output, status = run_command(command, self.folder)
        return Observation(output, exit_status=status)

    def text(self, name: str = FILE) -> str:
        """What stands in a file."""
        return (self.folder / name).read_text()

    def view(self, visible: Container[int] | None = None, thread: str = "") -> str:
        """What the model reads of the state."""
        return self.ledger.inform(visible, self.sealed, thread).text


class Mini:
    """What became of a run of the real mini-swe-agent."""

    def __init__(self, agent: Any, requests: list[Any], ran: list[str]) -> None:
        self.agent = agent
        self.requests = requests
        """The messages of each request to the model."""
        self.ran = ran
        """What reached the environment."""

    @property
    def results(self) -> list[str]:
        """What the model was shown of each result."""
        return [str(one["content"]) for one in self.agent.messages if one.get("role") == "tool"]


def mini(
    folder: Path,
    *turns: str | tuple[str, ...],
    sealed: bool = False,
    meddle: Callable[[int, list[Any]], None] = lambda turn, messages: None,
    marks: str | None = None,
    **options: Any,
) -> Mini:
    """Run the real agent over scripted turns; ``meddle`` may do anything before each call of the model.

    With ``marks`` the model asks for marks of a prompt cache, as the agent's real models do.
    """
    # Whoever has no mini-swe-agent skips the test here.
    from tests.agents.mini.test_model import SUBMIT, Contained, Recording, turn  # isort: skip
    from minisweagent.agents.default import DefaultAgent
    from minisweagent.models.test_models import DeterministicToolcallModelConfig

    from execledger.agents.mini.model import LedgerModel

    class Meddled(DefaultAgent):  # type: ignore[misc]
        """An agent whose history somebody works on."""

        def query(self) -> Any:
            meddle(self.n_calls, self.messages)
            return super().query()

    class Open(Contained):
        """The same environment without a container around it."""

        def get_template_vars(self, **kwargs: Any) -> Any:
            variables = super().get_template_vars(**kwargs)
            return {**variables, "executable": "nothing that is known"}

    make(folder)
    scripted = [(one,) if isinstance(one, str) else one for one in (*turns, SUBMIT)]
    inner = Recording(outputs=[turn(number, *commands) for number, commands in enumerate(scripted)])
    if marks is not None:

        class Marking(DeterministicToolcallModelConfig):  # type: ignore[misc]
            """Settings of a scripted model that ask for marks."""

            set_cache_control: str | None = marks

        inner.config = Marking(**dict(inner.config))
    environment = (Contained if sealed else Open)(cwd=str(folder))
    settings = {"system_template": "s", "instance_template": "{{task}}", "step_limit": 40, "cost_limit": 100.0}
    agent = Meddled(LedgerModel.wrap(inner, **WHOLE | options), environment, **settings)
    agent.run("Mend the shop.")
    assert agent.model.serialize()["info"]["ledger"]["counts"]["faults"] == 0
    return Mini(agent, inner.requests, environment.ran)


def codex(folder: Path, session: str = "s", thread: str = "t", passage: Any = None, **options: Any) -> Talk:
    """A conversation of Codex's behind the proxy, its commands run by a real shell in ``folder``."""
    make(folder)
    place = f"<environment_context>\n  <cwd>{folder}</cwd>\n</environment_context>"
    items = [message("developer", "Be good."), message("user", place), message("user", "Mend the shop.")]
    talk = Talk(passage or new_passage(**WHOLE | options), session, thread, items)
    talk.run = lambda command: run_command(command, folder)[0]
    return talk
