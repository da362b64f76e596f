"""Explanations of all steps of generated runs, as a reader takes them: no contradiction, nothing twice."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from execledger.agents.formats import read_run
from execledger.core.policy import Policy
from execledger.runs.replay import replay
from execledger.viewer.model import StepAnswer
from execledger.viewer.reading import Reading, ReplayReading
from execledger.vocabulary.decisions import Step
from tests.support.policies import UNPRICED
from tests.viewer.stage import journal_bytes, read_journal, shown, simulated, told

DONE = re.compile(
    r"(?<!would have been )(reused before|answered with a reference)|references? (was|were|stands|replaced)"
    r"|remarks? (was|were)|Ledger (has|had) intervened|model had looked",
    re.IGNORECASE,
)
"""Claims that Ledger did something."""


def answers(reading: Reading) -> list[StepAnswer]:
    """All steps of a run that was read."""
    return [reading.step(index) for index in range(len(reading.model))]


def said(step: StepAnswer) -> str:
    """All that the panel of a step says of its decision."""
    return " | ".join((step.words, *step.decision.proof, step.comparison))


def clauses(step: StepAnswer) -> list[str]:
    """The sentences of an explanation, and what is behind a colon in them."""
    return re.split(r"[.:] |[.]$", step.words)


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Journals of sessions with real commands: reads, repeats and writes."""
    folder = tmp_path_factory.mktemp("runs")
    return [journal_bytes(simulated(folder / str(seed), seed, policy=UNPRICED)) for seed in range(3)]


def browsed(seed: int) -> list[Step]:
    """The steps of an agent without Ledger that pages through a file, edits it and runs into errors."""
    random_ = random.Random(seed)
    lines = [f"line {number} of a rather long file" for number in range(1, 201)]
    steps: list[Step] = []
    for _ in range(60):
        first = random_.randrange(1, 120, 20)
        last = first + random_.choice((40, 60, 80))
        match random_.randrange(8):
            case 0:
                lines[first] += "!"
                steps.append(shown(f"sed -i '{first + 1}s/$/!/' a.py"))
            case 1:
                steps.append(shown("python -m pytest", f'Traceback:\n  File "/repo/a.py", line {first}\nValueError\n'))
            case _:
                steps.append(
                    shown(f"sed -n '{first},{last}p' a.py", "".join(f"{line}\n" for line in lines[first - 1 : last]))
                )
    return steps


@pytest.fixture(scope="module")
def replays(journals: list[bytes]) -> list[StepAnswer]:
    """The steps of these runs, and of others without Ledger, as a replay decides them."""
    found: list[StepAnswer] = []
    for data in (*journals, *(journal_bytes(told(browsed(seed))) for seed in range(4))):
        reading = ReplayReading(read_run("one", data), UNPRICED)
        reading.read()
        found += answers(reading)
    return found


def test_explanations_do_not_contradict_themselves(journals: list[bytes], replays: list[StepAnswer]) -> None:
    """What is called visible is not called new, what is shown in part is in part visible, and nothing is repeated."""
    steps = [*replays, *(step for data in journals for step in answers(read_journal(data)))]
    assert {"full", "reference", "partial", "remark"} == {step.shown.kind for step in steps}
    equal = {step.decision.rule for step in steps if "and yet it" in step.words}
    assert {"new", "second-look", "new-error"} <= equal
    assert {"second-look", "new"} <= {step.decision.rule for step in steps if step.compared == "different"}
    for step in steps:
        assert len(set(clauses(step))) == len(clauses(step)), step.words
        assert "is new" not in said(step)
        if "visible already" in step.words:
            assert "visible already" in step.comparison, said(step)
        if step.shown.kind == "partial":
            assert step.comparison == "some of its lines were visible already"


def test_a_replay_claims_nothing_that_was_not_done(journals: list[bytes], replays: list[StepAnswer]) -> None:
    """In a replay every reference and remark is one that would have been; a journal has real ones."""
    assert [said(step) for step in replays if DONE.search(said(step))] == []
    assert any(DONE.search(said(step)) for data in journals for step in answers(read_journal(data)))


def test_a_run_in_shadow_mode_claims_nothing_that_was_not_done(tmp_path: Path) -> None:
    """Also of references before a second look."""
    shadowed = journal_bytes(simulated(tmp_path / "run", 1, policy=Policy(shadow=True, second_look_rate=0)))
    steps = answers(read_journal(shadowed))
    assert "second-look" in {step.decision.rule for step in steps}
    assert [said(step) for step in steps if DONE.search(said(step))] == []


def test_a_request_after_a_change_is_not_called_one_for_the_same_content() -> None:
    """A file is read, read again with a reference, edited, and read: other content, which is not a second look."""
    old, new = ("".join(f"{word} {number}\n" for number in range(60)) for word in ("old", "new"))
    read = "cat a.py"
    steps = [shown(read, old), shown(read, old), shown("sed -i s/old/new/ a.py"), shown(read, new)]
    run = read_run("one", journal_bytes(told(steps)))
    reading = ReplayReading(run, Policy())
    reading.read()
    last = reading.step(3)
    assert sum(call.looked_again for call in replay(run, Policy())) == 0, "the metric counts none"
    assert (last.decision.rule, last.decision.proof, last.words, last.comparison) == (
        "second-look",
        ("a reference would have been shown at step 1",),
        "Run: an earlier request for the same lines, file or command would have been answered with a reference, at "
        "least in part, and the next one is answered in full, also where the content has changed since.",
        "its output was not found as a whole in visible results",
    )
