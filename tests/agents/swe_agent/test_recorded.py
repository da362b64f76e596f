"""Runs of SWE-agent: the viewer of version 0, the editor of version 1."""

from __future__ import annotations

import json
from typing import Any

import pytest

from execledger.agents.formats import read_run
from execledger.runs.recording import ModelReply, Recorded, Run
from execledger.runs.usage import ModelCall, Tokens
from execledger.vocabulary.actions import Action, Aside, Call, Edit, Observation, OtherTool, Read, Search, Write
from tests.runs.samples import encoded
from tests.runs.samples_agents import TASK, Fields, entry, traj

HERE = {"working_dir": "/repo", "open_file": "/repo/a.py"}
ALL = {"agent": {"model": {"name": "some-model"}, "history_processors": [{"type": "cache_control"}]}}


def read(*entries: Fields, **more: object) -> Run:
    """The run that these steps record."""
    return read_run("r", encoded(traj(*entries, **more)))


def call_of(action: str) -> Call | None:
    """What a command is understood to do, with a file open."""
    return read(entry(action, "x", json.dumps(HERE))).steps[0].action.call


def test_a_run_of_version_1() -> None:
    """The state beside a step is that behind it; the editor's views have line numbers."""
    view = "Here's the result of running `cat -n` on /repo/a.py:\n     1\tx = 1\n     2\t\n"
    config = ALL | {"problem_statement": {"id": "some__repo-1"}}
    run = read(
        entry("ls", "a.py", {"working_dir": "/repo"}),
        entry("str_replace_editor view /repo/a.py", view, {"working_dir": "/src"}),
        entry("cat b.py\n", "y", {"working_dir": "/src"}),
        replay_config=json.dumps(config),
    )
    text, header = "     1\tx = 1\n", view.partition("\n")[0] + "\n"
    shown = Action("str_replace_editor view /repo/a.py", "/repo", Read("/repo/a.py", numbering="\t"))
    assert run == Run(
        name="r",
        format="swe-agent",
        agent="swe-agent 1.9",
        model="some-model",
        task=TASK,
        container=False,
        turns=3,
        steps=(
            Recorded(Action("ls"), Observation("a.py"), 0),
            Recorded(shown, Observation(text, notice=header), 1),
            Recorded(Action("cat b.py", "/src"), Observation("y"), 2),
        ),
        totals=ModelCall(Tokens.of(input=100, output=10), 0.5),
        instance="some__repo-1",
        ended="submitted",
        replies=(ModelReply("x"),) * 3,
    )


def test_before_version_1_the_state_is_that_before_the_step() -> None:
    """It stands there as text."""
    run = read(entry("ls", "x", json.dumps(HERE)), entry("ls", "x", '{"working_dir": "/src"}\n'))
    assert [one.action.cwd for one in run.steps] == ["/repo", "/src"]


@pytest.mark.parametrize(
    ("action", "call"),
    [
        ("open a.py 12", Aside()),
        ("goto 40", Aside()),
        ("scroll_down", Aside()),
        ("search_file x", Aside()),
        ("search_file x a.py", Search()),
        ("search_dir 'x y'", Search()),
        ("find_file a.py src", Search()),
        ("create b.py", Write("b.py")),
        ("edit 1:2\ncat b.py\nend_of_edit", Edit("/repo/a.py", new="cat b.py")),
        ("edit 'x' 'y'", Edit("/repo/a.py")),
        ("insert 'it's", Edit("/repo/a.py")),
        ("submit", OtherTool()),
        ("cat a.py", None),
        ("cd src && open a.py", None),
        ("str_replace_editor view /a", Read("/a", numbering="\t")),
        ("str_replace_editor view /a --view_range 3 9", Read("/a", 3, 9, "\t")),
        ("str_replace_editor view /a --view_range 3 -1", Read("/a", 3, None, "\t")),
        ("str_replace_editor view /a --view_range x y", OtherTool()),
        ("str_replace_editor view /a --view_range 0 4", OtherTool()),
        ("str_replace_editor create /a --file_text 'x\ny'", Write("/a", "x\ny")),
        ("str_replace_editor str_replace /a --old_str 'x y' --new_str ''", Edit("/a", "x y", "")),
        ("str_replace_editor insert /a --insert_line 3 --new_str z", Edit("/a", "", "z")),
        ("str_replace_editor undo_edit /a", Edit("/a")),
        ("str_replace_editor view", OtherTool()),
        ("str_replace_editor dance /a", OtherTool()),
        ("str_replace_editor view 'a", OtherTool()),
    ],
)
def test_commands(action: str, call: Call | None) -> None:
    """The agent's own commands; of what the viewer shows nothing is claimed, and any other goes to the shell."""
    assert call_of(action) == call


def test_an_edit_without_an_open_file_may_do_anything() -> None:
    """Which file it changes is in the state, or nowhere."""
    assert read(entry("edit 1:1\nx\nend_of_edit", "x", '{"open_file": "n/a"}')).steps[0].action.call == OtherTool()
    assert read(entry("edit 1:1\nx\nend_of_edit", "x", "no JSON")).steps[0].action.call == OtherTool()


@pytest.mark.parametrize(
    ("action", "text", "expected"),
    [
        ("make", "a\r\nb", Observation("a\nb")),
        ("make", "x" * 100_001, Observation("x" * 100_001, truncated=True)),
        (
            "make",
            "The command 'make' was cancelled because it took more than 30 seconds.",
            Observation("The command 'make' was cancelled because it took more than 30 seconds.", timed_out=True),
        ),
        ("make", "\nEXECUTION TIMED OUT", Observation("\nEXECUTION TIMED OUT", timed_out=True)),
        ("head -3 a.py", "x\ny\nz", Observation("x\ny\nz")),
        ("head -3 a.py", "x\ny", Observation("x\ny", cut=0, truncated=True)),
        ("str_replace_editor view /repo", "a.py\nb.py", Observation("a.py\nb.py")),
    ],
)
def test_observations(action: str, text: str, expected: Observation) -> None:
    """What came back, as far as the model was shown it."""
    assert read(entry(action, text, {})).steps[0].observation == expected


@pytest.mark.parametrize("action", ["", "exit_cost", "exit_format\n", "skip"])
def test_steps_that_ran_nothing_are_left_out(action: str) -> None:
    """They tell how the run ended, or that a reply could not be read."""
    assert [one.turn for one in read(entry(action, "x", {}), entry("ls", "x", {})).steps] == [1]


@pytest.mark.parametrize(
    ("config", "compactions"),
    [
        (None, (5, 10)),
        ("no JSON", (5, 10)),
        (ALL, ()),
        ({"agent": {"history_processors": [{"type": "last_n_observations", "n": 4}]}}, (4, 8)),
        ({"agent": {"history_processors": [{"type": "last_n_observations", "n": 0}]}}, tuple(range(1, 11))),
    ],
)
def test_older_results_are_left_out(config: Any, compactions: tuple[int, ...]) -> None:
    """Only the last results are shown to the model, unless the configuration says that all are."""
    assert read(*[entry("ls", "x", {})] * 11, replay_config=config).compactions == compactions


def test_a_run_without_a_model_counted_nothing() -> None:
    """A demonstration by a person has no costs."""
    counts = {"instance_cost": 0, "tokens_sent": 0, "tokens_received": 0, "api_calls": 0}
    run = read(entry("ls", "x", {}), info={"model_stats": counts})
    assert (run.totals, run.turns, run.ended, run.agent) == (None, 1, "", "swe-agent")
