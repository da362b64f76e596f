"""Runs of mini-swe-agent, both versions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from execledger.agents.formats import read_run
from execledger.agents.mini.messages import Answer
from execledger.core.fingerprint import fingerprint
from execledger.core.policy import Cadence, Policy, Preset
from execledger.core.references import NOT_ANSWERED
from execledger.evaluate.metrics import measure
from execledger.runs.prices import shipped
from execledger.runs.recording import Governed, ModelReply, Recorded, Run
from execledger.runs.usage import ModelCall, Tokens
from execledger.shell.paths import UNRECORDED_DIRECTORY
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Allow, Decision, Nudge, Reuse, Shown, Step
from tests.runs.samples import DOCKER, HEAD, Message, answer, encoded, reply, said, tagged, trajectory, turn


def recorded(command: str, output: str = "", turn: int = 0, cwd: str | None = "/repo", **fields: Any) -> Recorded:
    """A step as the reader should give it; it succeeded unless told otherwise."""
    return Recorded(Action(command, cwd), Observation(output, **{"exit_status": 0, **fields}), turn)


def steps(kind: str, messages: list[Message]) -> tuple[Recorded, ...]:
    """The steps read from a trajectory with these messages."""
    return read_run("r", encoded(trajectory(kind, messages))).steps


def test_a_run_of_version_1() -> None:
    """Commands come from fenced blocks, results from the texts after them; the submission has no result."""
    messages = [
        reply("  ls -l\n"),
        said(tagged("a.py\n")),
        reply("cat a.py", "cat b.py"),
        said("Please always provide EXACTLY ONE action, found 2."),
        reply("cat a.py"),
        said("<checkpoint>Think about it.</checkpoint>"),
        said(tagged("1\n", 1)),
        reply("submit"),
        said("diff --git a/a.py b/a.py\n"),
    ]
    assert read_run("a.traj.json", encoded(trajectory("mini-swe-agent-1", messages))) == Run(
        name="a.traj.json",
        format="mini-swe-agent-1",
        agent="mini-swe-agent 9.9",
        model="some/model",
        task="Please fix the sum.",
        container=True,
        turns=4,
        steps=(recorded("ls -l", "a.py\n"), recorded("cat a.py", "1\n", turn=2, exit_status=1)),
        replies=(
            ModelReply("I will look."),
            ModelReply("I will look.\n\n```bash\ncat a.py\n```\n```bash\ncat b.py\n```"),
            ModelReply("I will look."),
            ModelReply("I will look."),
        ),
    )


def test_a_run_of_version_2() -> None:
    """Actions and raw outputs come from the fields beside the messages; the submission has no result."""
    messages = [turn("ls", "pwd"), answer("pwd", "/repo\n"), answer("ls", "a.py\n"), turn("submit"), {"role": "exit"}]
    assert read_run("a.traj.json", encoded(trajectory("mini-swe-agent-1.1", messages))) == Run(
        name="a.traj.json",
        format="mini-swe-agent-1.1",
        agent="mini-swe-agent 9.9",
        model="some/model",
        task="Please fix the sum.",
        container=True,
        turns=2,
        steps=(recorded("pwd", "/repo\n"), recorded("ls", "a.py\n")),
        model_calls=(ModelCall(cost=0.1), ModelCall(cost=0.1)),
    )


def test_what_the_calls_of_the_model_took() -> None:
    """The provider's counts stand in its responses, kept beside a message or as the message itself."""
    counted = turn("ls")
    counted["extra"]["response"] = {"usage": {"prompt_tokens": 9, "completion_tokens": 2}}
    silent = {"role": "assistant", "content": "x", "extra": {"response": "x"}}
    item = {"object": "response", "output": [], "usage": {"input_tokens": 5, "output_tokens": 1}}
    whole = trajectory("mini-swe-agent-1.1", [counted, silent, item])
    whole["info"] |= {"exit_status": "Submitted", "model_stats": {"instance_cost": 0.25, "api_calls": 3}}
    run = read_run("some__repo-2.traj.json", encoded(whole))
    calls = (ModelCall(Tokens.of(input=9, output=2), 0.1), ModelCall(), ModelCall(Tokens.of(input=5, output=1)))
    assert (run.model_calls, run.totals) == (calls, ModelCall(cost=0.25))
    assert (run.ended, run.instance) == ("Submitted", "some__repo-2")
    assert read_run("r", encoded(whole | {"instance_id": "mine"})).instance == "mine"


@pytest.mark.parametrize("place", ["info", "message"])
def test_nothing_is_known_of_what_a_run_took_that_failed_at_its_first_model_call(place: str) -> None:
    """The agent adds up its cost to 0, which is no measurement; the batch runner and the agent keep a traceback."""
    whole = trajectory("mini-swe-agent-1.1", [{"role": "exit", "content": "slow down", "extra": {}}])
    kept = whole["messages"][-1]["extra"] if place == "message" else whole["info"]
    kept["traceback"] = "Traceback (most recent call last): ..."
    whole["info"] |= {"exit_status": "RateLimitError", "model_stats": {"instance_cost": 0.0, "api_calls": 0}}
    row = measure(read_run("r", encoded(whole)), None, shipped())
    assert (row.tokens, row.cost, row.failure) == (None, None, "RateLimitError")


def test_a_bare_list_is_read_as_version_1() -> None:
    """The oldest files are messages and nothing else: no directory, no model, no container is known."""
    messages = [*HEAD, {"role": "assistant", "content": "```mswea_bash_command\nls\n```"}, said(tagged("a.py\n"))]
    assert read_run("old.json", encoded(messages)) == Run(
        name="old.json",
        format="mini-swe-agent-list",
        agent="mini-swe-agent",
        model="",
        task="Please fix the sum.",
        container=False,
        turns=1,
        steps=(recorded("ls", "a.py\n", cwd=UNRECORDED_DIRECTORY),),
    )


def test_the_recorded_action_pattern_finds_the_command() -> None:
    """A fork's own pattern is used as its agent used it."""
    config = {**DOCKER, "agent": {"action_regex": "<do>(.*?)</do>"}}
    messages = [{"role": "assistant", "content": "```bash\nno\n``` <do> ls </do>"}, said(tagged("a.py\n"))]
    run = read_run("r", encoded(trajectory("mini-swe-agent-1", messages, config)))
    assert run.steps == (recorded("ls", "a.py\n"),)


def test_results_without_names_answer_in_order() -> None:
    """Text-based models name no calls, so results belong to actions by position."""
    messages = [turn("a", "b"), answer("a", "1"), answer("b", "2")]
    for action in messages[0]["extra"]["actions"]:
        del action["tool_call_id"]
    for result in messages[1:]:
        del result["tool_call_id"]
        result["role"] = "user"
    assert steps("mini-swe-agent-1.1", messages) == (recorded("a", "1"), recorded("b", "2"))


def test_a_result_that_names_another_call_answers_none() -> None:
    """A result is never given to a call that it does not name."""
    assert steps("mini-swe-agent-1.1", [turn("a"), answer("b", "1")]) == ()


def test_an_unanswered_action_stays_unanswered() -> None:
    """What a turn left open is not answered by a later turn's result."""
    messages = [turn("a"), turn("b"), answer("a", "1"), answer("b", "2")]
    assert steps("mini-swe-agent-1.1", messages) == (recorded("b", "2", turn=1),)


def test_a_turn_of_the_responses_api() -> None:
    """Response objects are model turns, and their results are outputs of function calls."""
    response = {"object": "response", "output": [{"type": "reasoning"}], "extra": turn("ls")["extra"]}
    result = {"type": "function_call_output", "call_id": "id of ls", "output": tagged("a.py\n")}
    messages = [response, {**result, "extra": answer("ls", "a.py\n")["extra"]}]
    run = read_run("r", encoded(trajectory("mini-swe-agent-1.1", messages)))
    assert (run.turns, run.steps) == (1, (recorded("ls", "a.py\n"),))


def test_a_persons_command_is_a_call() -> None:
    """What a person typed ran and was shown, so it counts; it is no model call."""
    typed = {"role": "user", "content": "!ls", "extra": turn("ls")["extra"]}
    messages = [turn("a"), answer("a", "1"), typed, answer("ls", "a.py\n")]
    run = read_run("r", encoded(trajectory("mini-swe-agent-1.1", messages)))
    assert (run.turns, run.steps) == (1, (recorded("a", "1"), recorded("ls", "a.py\n")))


def test_a_format_error_is_a_model_call_and_no_step() -> None:
    """The reply that broke the format is not kept, but the model was called for it."""
    complaint = {"role": "user", "content": "No tool call found.", "extra": {"interrupt_type": "FormatError"}}
    run = read_run("r", encoded(trajectory("mini-swe-agent-1.1", [complaint, turn("a"), answer("a", "1")])))
    assert (run.turns, run.steps) == (2, (recorded("a", "1", turn=1),))


@pytest.mark.parametrize(
    ("extra", "fields"),
    [
        ({"exception_type": "TimeoutExpired", "exception_info": "boom"}, {"timed_out": True, "notice": "boom"}),
        ({"exception_info": "it timed out after 60 s"}, {"timed_out": True, "notice": "it timed out after 60 s"}),
        ({"exception_info": "action was not executed"}, {"failed": True, "notice": "action was not executed"}),
        ({}, {"failed": True}),
    ],
)
def test_minus_one_is_a_timeout_or_a_failure(extra: dict[str, str], fields: dict[str, Any]) -> None:
    """The agent's own status -1 is told apart by what stands beside it."""
    messages = [turn("make"), answer("make", "part\n", -1, **extra)]
    assert steps("mini-swe-agent-1.1", messages) == (recorded("make", "part\n", exit_status=-1, **fields),)


NOT_RUN = {"exception_info": "action was not executed"}
"""What is beside the result that the interactive agent gives to every action without one."""
SUBMITTED = {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted", "submission": "diff"}}


def interruption(kind: str) -> Message:
    """What the interactive agent says after a person interrupted it."""
    return {"role": "user", "content": "Interrupted.", "extra": {"interrupt_type": kind}}


@pytest.mark.parametrize("behind", [SUBMITTED, interruption("UserRejection")])
def test_actions_that_a_submission_or_a_rejection_left_are_no_calls(behind: Message) -> None:
    """The interactive agent gives every action a result, also the one that ended the run and those after it, and all
    that a person rejected: nothing of them is known, as if they had none."""
    left = [answer(command, "", -1, **NOT_RUN) for command in ("submit", "pwd")]
    messages = [turn("make"), answer("make", "", -1, exception_info="An error"), turn("ls", "submit", "pwd")]
    messages += [answer("ls", "a.py\n"), *left, behind]
    failed = recorded("make", exit_status=-1, failed=True, notice="An error")
    assert steps("mini-swe-agent-1.1", messages) == (failed, recorded("ls", "a.py\n", turn=1))


@pytest.mark.parametrize(
    "behind",
    [
        [],
        [interruption("UserInterruption"), turn("submit"), SUBMITTED],
        [interruption("UserNewTask"), turn("submit"), SUBMITTED],
        [{"role": "exit", "content": "", "extra": {"exit_status": "RuntimeError"}}],
    ],
)
def test_an_action_that_was_interrupted_is_a_call(behind: list[Message]) -> None:
    """It may have done a part of its work, and the same words say nothing else."""
    messages = [turn("make"), answer("make", "", -1, **NOT_RUN), *behind]
    stopped = recorded("make", exit_status=-1, failed=True, notice="action was not executed")
    assert steps("mini-swe-agent-1.1", messages) == (stopped,)


def test_content_in_parts_is_joined() -> None:
    """Content may be a list: text parts count, results may be wrapped, pictures have no text."""
    wrapped = {"type": "tool_result", "content": [{"type": "text", "text": tagged("a.py\n")}]}
    result = {**answer("ls", "a.py\n"), "content": [wrapped, {"type": "image_url", "image_url": {"url": "x"}}]}
    task = {"role": "user", "content": [{"type": "text", "text": "Fix "}, {"type": "text", "text": "it."}]}
    run = read_run("r", encoded({"info": {}, "messages": [task, turn("ls"), result]}))
    assert (run.task, run.steps) == ("Fix it.", (recorded("ls", "a.py\n", cwd=UNRECORDED_DIRECTORY),))


def test_a_result_without_fields_is_read_from_its_text() -> None:
    """Where the fields beside a tool message are gone, the rendered text still tells status and output."""
    result = {key: value for key, value in answer("ls", "a.py\n", 2).items() if key != "extra"}
    messages = [turn("ls", "pwd"), result, {**result, "tool_call_id": "id of pwd", "content": "a picture"}]
    unknown = recorded("pwd", "a picture", exit_status=None, truncated=True)
    assert steps("mini-swe-agent-1.1", messages) == (recorded("ls", "a.py\n", exit_status=2), unknown)


@pytest.mark.parametrize(
    ("environment", "kind", "container"),
    [
        ({"image": "x"}, "my.Environment", True),
        ({}, "minisweagent.environments.singularity.SingularityEnvironment", True),
        ({"environment_class": "swerex_modal"}, None, True),
        ({"image": "x", "run_args": ["--rm", "-v", "/home/me:/repo"]}, "docker", False),
        ({"image": "x", "run_args": ["-itv", "/home/me:/repo"]}, "docker", False),
        ({"image": "x", "run_args": ["--rm", "--network", "none"]}, "docker", True),
        ({"cwd": ""}, "minisweagent.environments.local.LocalEnvironment", False),
        (None, None, False),
    ],
)
def test_a_container_is_recognised_by_its_configuration(environment: object, kind: str | None, container: bool) -> None:
    """An image or a container class makes a container; a mounted folder can be changed from outside, so it does not."""
    config = {"environment": environment, "environment_type": kind}
    messages = [turn("ls"), answer("ls", "a.py\n")]
    run = read_run("r", encoded(trajectory("mini-swe-agent-1.1", messages, config)))
    assert (run.container, run.steps) == (container, (recorded("ls", "a.py\n", cwd=UNRECORDED_DIRECTORY),))


@pytest.mark.parametrize("pattern", ["(", "(a)(b)", "a{99999999999999999999}", "(a+)+$"])
def test_a_pattern_that_is_no_plain_fence_is_not_taken_over(pattern: str) -> None:
    """It could be broken, or take for ever to fail; the usual fences are tried instead."""
    config = {**DOCKER, "agent": {"action_regex": pattern}}
    reply = {"role": "assistant", "content": "a" * 40 + "!\n```bash\nls\n```"}
    answered = {"role": "user", "content": "<returncode>0</returncode>\n<output>\na.py\n</output>"}
    run = read_run("r", encoded(trajectory("mini-swe-agent-1", [reply, answered], config)))
    assert [one.action.command for one in run.steps] == ["ls"]


TEXT, REFERENCE, REMARK = "one\ntwo\nthree\n", "[Ledger: it stands above.]", "[Ledger: the same again.]"
FIRST = Answer(0, Allow("new"), Shown("full"), "/repo", sealed=True)
ELIDED = Shown("reference", REFERENCE, (0,), "same", (0,), fingerprint(Observation(TEXT, exit_status=0), steady=False))


def noted(message: Message, answer: object) -> Message:
    """A result beside which Ledger wrote something."""
    message["extra"]["ledger"] = msgspec.to_builtins(answer)
    return message


def governed(message: Message, decision: Decision, shown: Shown, step: int = 1) -> Recorded:
    """The second call of a run that Ledger took part in; its result is ``message``."""
    answered = noted(message, Answer(step, decision, shown, "/repo", sealed=True))
    messages = [turn("cat a"), noted(answer("cat a", TEXT), FIRST), turn("cat b"), answered]
    return steps("mini-swe-agent-1.1", messages)[1]


def as_made(decision: Decision, shown: Shown, output: str, truth: Observation) -> Recorded:
    """That call as it should be read: what Ledger made of it, and what is known of its result."""
    action = Action("cat b", "/repo")
    step = Step(action, decision, Observation(output, exit_status=0), shown)
    return Recorded(action, truth, 1, Governed(step, True, 0, None))


def test_what_a_suppressed_call_would_have_returned_is_not_known() -> None:
    """Its reference is no output, though the agent recorded it as one."""
    decision, shown = Reuse("whole-read", (), (0,)), Shown("reference", REFERENCE, (0,))
    unknown = Observation(exit_status=0, truncated=True)
    expected = as_made(decision, shown, REFERENCE, unknown)
    assert governed(answer("cat b", REFERENCE), decision, shown) == expected


def test_an_output_that_was_elided_is_the_recorded_one() -> None:
    """It stands beside the reference; what is not the output that was elided tells nothing."""
    shown_instead = {"content": tagged(REFERENCE)}
    found = governed({**answer("cat b", TEXT), **shown_instead}, Allow("new"), ELIDED)
    assert found == as_made(Allow("new"), ELIDED, REFERENCE, Observation(TEXT, exit_status=0))
    other = governed({**answer("cat b", "other"), **shown_instead}, Allow("new"), ELIDED)
    assert other.observation == Observation(exit_status=0, truncated=True)


@pytest.mark.parametrize("template", [tagged, lambda output: f"It said: {output}."])
def test_a_remark_is_no_output(template: Any) -> None:
    """It is taken off, also where the marks of the template are not known."""
    decision, shown = Nudge("loop", (), (0,)), Shown("remark", REMARK, (0,))
    found = governed({**answer("cat b", "x\n"), "content": template("x\n") + "\n" + REMARK}, decision, shown)
    assert found == as_made(decision, shown, "x\n", Observation("x\n", exit_status=0))
    unmarked = {**answer("cat b", "y"), "content": "It said: x\n" + REMARK}
    assert governed(unmarked, decision, shown).observation == Observation("It said: x", exit_status=0, truncated=True)


def test_a_shadow_run_shows_what_came() -> None:
    """What would have been suppressed ran."""
    decision, shown = Reuse("whole-read", (), (0,)), Shown("full", instead="reference")
    assert governed(answer("cat b", TEXT), decision, shown).observation == Observation(TEXT, exit_status=0)


def test_a_call_that_ledger_could_not_answer_has_no_output() -> None:
    """The fixed text that asks to repeat it is none."""
    found = steps("mini-swe-agent-1.1", [turn("cat a"), answer("cat a", NOT_ANSWERED)])
    assert found == (recorded("cat a", truncated=True),)


def test_notes_that_do_not_fit_the_run_are_not_followed() -> None:
    """Where Ledger counted otherwise, or refers to what is not there, it is left out; so is what is no note of ours."""
    beyond = Reuse("whole-read", (), (7,))
    assert governed(answer("cat b", TEXT), Allow("new"), Shown("full"), step=2).governed is None
    assert governed(answer("cat b", TEXT), beyond, Shown("reference", REFERENCE, (7,))).governed is None
    foreign = [turn("ls"), noted(answer("ls", "a.py\n"), ["something", "else"])]
    assert steps("mini-swe-agent-1.1", foreign) == (recorded("ls", "a.py\n"),)


@pytest.mark.parametrize("cwd", ["/repo", None])
def test_a_directory_that_ledger_knew_is_that_of_all_commands(cwd: str | None) -> None:
    """The local environment records none, but Ledger noted where it was, also for calls without a note of their own."""
    note = Answer(1, Allow("new"), Shown("full"), cwd)
    messages = [turn("ls"), answer("ls", "a.py\n"), turn("pwd"), noted(answer("pwd", "/repo\n"), note)]
    run = read_run("r", encoded(trajectory("mini-swe-agent-1.1", messages, {"environment": {"cwd": ""}})))
    assert [step.action for step in run.steps] == [Action("ls", cwd), Action("pwd", cwd)]


@pytest.mark.parametrize(
    ("note", "policy"),
    [
        (
            {"policy": {"preset": "paper", "later": 1}},
            Policy(preset=Preset.PAPER, cadence=Cadence.EVERY, second_look_rate=0.0, partial=False),
        ),
        ({"policy": {"preset": "later"}}, None),
        ({"policy": "a digest"}, None),
        ("something else", None),
    ],
)
def test_the_policy_of_the_run(note: object, policy: Policy | None) -> None:
    """It is known where the trajectory tells it, without what this version does not know."""
    whole = trajectory("mini-swe-agent-1.1", [turn("ls"), answer("ls", "a.py\n")])
    whole["info"]["ledger"] = note
    assert read_run("r", encoded(whole)).policy == policy
