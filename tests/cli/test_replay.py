"""``execledger replay``: decisions for programs, a summary for people, and exit codes."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from execledger.agents.inspect_ai.tools import KEY
from execledger.core import govern
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy, Preset
from execledger.runs.find import HINT
from execledger.runs.prices import shipped
from execledger.shell.paths import UNRECORDED_DIRECTORY
from execledger.vocabulary.decisions import Decision
from tests.agents.inspect_ai.test_recorded import sample, write_log
from tests.cli.conftest import Execledger
from tests.core.stories import text, wrapped
from tests.journal.runs import events_of, retold, written
from tests.runs.samples import DOCKER, answer, encoded, trajectory, turn
from tests.support.simulation.sessions import simulate

KEYS = [
    "trajectory", "index", "command", "category", "effects", "decision", "rule", "refers_to", "compared", "compared_to",
    "shown",
]  # fmt: skip


def recorded(path: Path, *calls: tuple[str, str], config: object = DOCKER) -> Path:
    """A recorded run, in a container unless ``config`` says otherwise, one command to a turn."""
    messages = [message for command, output in calls for message in (turn(command), answer(command, output))]
    path.write_bytes(encoded(trajectory("mini-swe-agent-1.1", messages, config)))
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return recorded(
        tmp_path / "good.traj.json",
        ("cat a.py", text(20)),
        ("cat a.py", text(20)),
        ("python -m pytest", "1 failed in 1s\n"),
        ("git show HEAD:a.py", text(20)),
        ("python -m pytest", "1 failed in 2s\n"),
    )


@pytest.fixture
def false(tmp_path: Path) -> Path:
    """Somebody else writes between two reads, in what claims to be a container of the agent's own."""
    return recorded(tmp_path / "false.traj.json", ("cat a.py", text(20)), ("cat a.py", text(20, 2)))


def test_decisions_are_one_line_of_json_per_call(execledger: Execledger, good: Path, tmp_path: Path) -> None:
    """Exactly the keys of the contract, in this order."""
    out = tmp_path / "decisions.jsonl"
    assert execledger("replay", good, "--decisions", out).status == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [list(line) for line in lines] == [KEYS] * 5
    assert {line.pop("trajectory") for line in lines} == {str(good)}
    assert [list(line.values()) for line in lines] == snapshot(
        [
            [0, "cat a.py", "inspect", "none", "allow", "new", [], "different", [], "full"],
            [1, "cat a.py", "inspect", "none", "reuse", "whole-read", [0], "same", [0], "reference"],
            [2, "python -m pytest", "test", "unknown", "allow", "unknown-effects", [], None, [], "full"],
            [3, "git show HEAD:a.py", "search", "none", "allow", "new", [], "same", [0], "reference"],
            [4, "python -m pytest", "test", "unknown", "nudge", "repeated-test", [2], None, [], "remark"],
        ]
    )


@pytest.mark.parametrize("preset", ["verified", "paper"])
def test_a_run_that_does_not_say_where_it_started(execledger: Execledger, tmp_path: Path, preset: str) -> None:
    """A local mini-swe-agent records no directory: its relative paths are comparable all the same, and the
    placeholder for it is never shown."""
    calls = (
        ("cat src/a.py", text(40)),
        ("python -m pytest", 'Traceback (most recent call last):\n  File "/repo/src/a.py", line 3, in f\nValueError\n'),
        ("cat src/a.py", text(40)),
        ("sed -i s/row/line/ src/a.py", ""),
        ("ls .", "src\n"),
        ("ls src", "a.py\n"),
        ("cat src/a.py", text(40)),
        ("cd src && sed -n '5,30p' a.py", text(26, 5)),
    )
    decided, said = [], ""
    for cwd in ("/repo", ""):
        run = recorded(tmp_path / "run.traj.json", *calls, config={"environment": {"cwd": cwd}})
        out, page, view = (tmp_path / name for name in ("decisions.jsonl", "page.html", "view.html"))
        execledger("replay", run, "--preset", preset, "--decisions", out, "--html", page)
        execledger("view", run, "--preset", preset, "--export", view)
        explained = "".join(execledger("why", run, at, "--preset", preset).out for at in range(len(calls)))
        decided.append(out.read_text())
        said = explained + page.read_text() + view.read_text()
    assert decided[0] == decided[1] and '"shown":"reference"' in decided[1]
    assert "names src/a.py" in said and "<td>src/a.py</td>" in said
    assert UNRECORDED_DIRECTORY not in said


def test_decisions_are_redacted_and_private(execledger: Execledger, tmp_path: Path) -> None:
    """The file of decisions is the owner's alone, also where an older one was open to others, and keeps no secret."""
    secret = "correct-horse-1"
    run = recorded(tmp_path / "run.traj.json", (f"mysql -u root -p{secret} -e 'select 1'", "1\n"))
    out = tmp_path / "decisions.jsonl"
    out.write_text("old")
    out.chmod(0o644)
    assert execledger("replay", run, "--decisions", out).status == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert "mysql -u root -p[redacted] -e" in out.read_text() and secret not in out.read_text()


def test_replaying_twice_gives_the_same_bytes(execledger: Execledger, good: Path, tmp_path: Path) -> None:
    """Of the decisions and of the summary."""
    outs = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    summaries = [execledger("replay", good, "--decisions", out).out for out in outs]
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert summaries[0] == summaries[1]


def test_the_summary_for_people(execledger: Execledger, good: Path) -> None:
    """Every number with what it means."""
    called = execledger("replay", good)
    assert (called.status, called.err) == (0, "")
    assert [line.rstrip() for line in called.out.splitlines()][:21] == snapshot(
        [
            "replay, preset verified",
            "┌────────────────────────────────┬───────┬──────────────────────────────────────────────────────┐",
            "│ runs                           │     1 │                                                      │",
            "│ model calls                    │     5 │                                                      │",
            "│ calls                          │     5 │ inspect 2, test 2, search 1                          │",
            "│ opaque                         │     0 │ 0.0%                                                 │",
            "│ unknown effects                │     2 │ 40.0%                                                │",
            "│ simple commands                │     5 │ 100.00% are of known programs                        │",
            "│ would be reused before running │     1 │ whole-read 1                                         │",
            "│ false reuses                   │     0 │                                                      │",
            "│ would be reused after running  │     1 │ same 1                                               │",
            "│ would be nudged                │     1 │ 1 with a remark; repeated-test 1                     │",
            "│ would be reused in part        │     0 │ run, some lines of the output replaced by references │",
            "│ second looks                   │     0 │ 0% of 2 references                                   │",
            "│ redundant snippet re-reads     │     2 │ 40.0 per 100 model calls                             │",
            "│   fully covered reads          │     1 │                                                      │",
            "│     the exact same range again │     1 │                                                      │",
            "│   searches and compounds       │     1 │                                                      │",
            "│ output bytes                   │ 4,686 │ each once for every later model call, mostly cached  │",
            "│ references would save          │ 1,862 │ 39.74% of these                                      │",
            "│ state views would take         │   177 │ bytes in 2 views, never cached                       │",
        ]
    )


def test_the_summary_for_programs(execledger: Execledger, good: Path) -> None:
    """The same as JSON, and nothing else on standard output."""
    summary = json.loads(execledger("replay", good, "--json").out)
    del summary["counterfactual"]
    assert summary == snapshot(
        {
            "runs": 1,
            "unreadable": [],
            "troubled": [],
            "calls": 5,
            "took_part": 0,
            "turns": 5,
            "categories": {"inspect": 2, "test": 2, "search": 1},
            "opaque": {},
            "unknown": 2,
            "programs": 5,
            "unknown_programs": {},
            "reuses": {"whole-read": 1},
            "nudges": {"repeated-test": 1},
            "remarks": 1,
            "partial": 0,
            "elided": {"same": 1},
            "false": [],
            "faults": 0,
            "proposed": 5,
            "ran": 4,
            "suppressed": 1,
            "nudged": 1,
            "references": 2,
            "second_looks": 0,
            "looks": {"some/model": [0, 2]},
            "measured": 5,
            "views": 2,
            "shadow_partial": 0,
            "shadow_reuses": 0,
            "shadow_right": 0,
            "shadow_wrong": 0,
            "shadow_elided": 0,
            "shadow_nudges": 0,
            "rereads": 2,
            "exact_rereads": 1,
            "read_bytes": 4686,
            "saved_bytes": 1862,
            "untold": 0,
            "covered_rereads": 1,
            "view_bytes": 177,
            "omissions": 0,
            "partial_rereads": 0,
            "edited_rereads": 0,
            "found_rereads": 0,
            "partial_bytes": 0,
            "printed_rereads": 0,
            "files_rereads": 0,
            "search_rereads": 1,
            "net": {
                "saved": 0.0003285,
                "remarks": 0.0,
                "views": 5.95e-05,
                "spent": 5.95e-05,
                "remark_tokens": {"uncached": 0, "cached": 0, "written": 0, "output": 0},
                "view_tokens": {"uncached": 48, "cached": -4, "written": 0, "output": 0},
                "saved_tokens": {"uncached": 240, "cached": 228, "written": 0, "output": 0},
                "spent_tokens": {"uncached": 48, "cached": -4, "written": 0, "output": 0},
                "shadow": 0,
                "own": 0.000815875,
                "prices": {"gpt-5 (assumed)": "2026-11-15"},
                "runs": 1,
                "estimated": True,
                "net": 0.00026900000000000003,
                "net_tokens": {"uncached": 192, "cached": 232, "written": 0, "output": 0},
            },
        }
    )


def test_what_views_are_charged_with_beyond_their_bytes_is_said_beside_them(
    execledger: Execledger, tmp_path: Path
) -> None:
    """A call without a command, such as the last one here, is charged with the view before it."""
    run = tmp_path / "run.traj.json"
    messages = [turn("cat a.py"), answer("cat a.py", text(20)), turn("ls"), answer("ls", "a.py\n"), turn("pwd")]
    run.write_bytes(encoded(trajectory("mini-swe-agent-1.1", messages)))
    found = json.loads(execledger("replay", run, "--preset", "paper", "--json").out)
    charged, repeated = (found["counterfactual"][name] for name in ("views", "repeated_views"))
    assert charged["tokens"]["uncached"] - repeated == pytest.approx(found["view_bytes"] / 4, abs=1) and repeated > 0
    said = " ".join(execledger("replay", run, "--preset", "paper").out.replace("│", " ").split())
    assert f"bytes in 2 views, never cached; calls without commands add {repeated} tokens" in said


PRICES = """date = "2026-01-01"
[models."some/model"]
uncached = 1000.0
cached = 100.0
output = 0.0
"""


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    """A tenth of a cent for a token, a tenth of that if it was cached."""
    path = tmp_path / "prices.toml"
    path.write_text(PRICES)
    return path


def test_the_costs_for_people(execledger: Execledger, good: Path, prices: Path) -> None:
    """What the run took, what was redundant in it, and what Ledger would have saved and cost."""
    called = execledger("replay", good, "--prices", prices)
    assert [wrapped(line.rstrip()) for line in called.out.splitlines()][21:] == snapshot(
        [
            "└────────────────────────────────┴───────┴──────────────────────────────────────────────────────┘",
            "cost at table prices, the agent's behaviour held fixed",
            "┏━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━┳━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━━┳━━━━━━━━━┓",
            "┃ input tokens           ┃ calls ┃ uncached ┃ cached ┃ dollars ┃   share ┃",
            "┡━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━╇━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━┩",
            "│ the run as it was      │       │      447 │    777 │  0.5247 │ 100.00% │",
            "│ exact repeat           │     1 │      146 │    292 │  0.1752 │  33.39% │",
            "│   would be saved       │     1 │      114 │    228 │  0.1368 │  26.07% │",
            "│ covered read           │     0 │        0 │      0 │  0.0000 │   0.00% │",
            "│ overlapping read       │     0 │        0 │      0 │  0.0000 │   0.00% │",
            "│ repeated search        │     1 │      146 │      0 │  0.1460 │  27.83% │",
            "│   would be saved       │     1 │      126 │      0 │  0.1260 │  24.01% │",
            "│ repeated test          │     1 │        0 │      0 │  0.0000 │   0.00% │",
            "│ stale read acted upon  │     0 │        0 │      0 │  0.0000 │   0.00% │",
            "│ references would save  │     2 │      240 │    228 │  0.2628 │  50.09% │",
            "│ remarks would take     │       │        0 │      0 │  0.0000 │   0.00% │",
            "│ state views would take │       │      -44 │      0 │ -0.0440 │  -8.39% │",
            "│ kept out of the cache  │       │       -4 │      4 │ -0.0036 │  -0.69% │",
            "│ net                    │       │      192 │    232 │  0.2152 │  41.01% │",
            "└────────────────────────┴───────┴──────────┴────────┴─────────┴─────────┘",
            "The tokens of 0 of 1 run were counted by the provider; all others are",
            "bytes / 4. Prices of 2026-01-01: some/model 1.",
            """\
References would have saved 240 uncached and 228 cached tokens ($0.2628); state views would have
cost 48 uncached tokens, 4 of which would have been cached ($0.0476); net +192 uncached and +232
cached tokens, $0.2152, +41.0% of the $0.5247 that the run is estimated to have cost at table
prices. Prices of 2026-01-01 for some/model; tokens of both are estimated from bytes.\
""",
        ]
    )


def test_without_a_price_another_models_is_assumed(execledger: Execledger, good: Path) -> None:
    """And said, with the day of the table: where saved and spent are compared, something must weigh them."""
    shown = " ".join(execledger("replay", good).out.split())
    assert f"Prices of {shipped().date}: gpt-5 (assumed) 1." in shown
    assert "that the run is estimated to have cost at table prices. " in shown


def test_the_costs_for_programs(execledger: Execledger, good: Path, prices: Path) -> None:
    """Every class, also those that were not found."""
    found = json.loads(execledger("replay", good, "--json", "--prices", prices).out)["counterfactual"]
    classes = {name: (one["calls"], one["spared"]) for name, one in found.pop("classes").items()}
    assert found.pop("unclassified")["spared"] == 0
    assert classes == snapshot(
        {
            "exact repeat": (1, 1),
            "covered read": (0, 0),
            "overlapping read": (0, 0),
            "repeated search": (1, 1),
            "repeated test": (1, 0),
            "stale read acted upon": (0, 0),
        }
    )
    assert found == snapshot(
        {
            "runs": 1,
            "estimated": 1,
            "unknown": 0,
            "cache_untold": 0,
            "priced": {"some/model": 1},
            "price_dates": {"some/model": "2026-01-01"},
            "unpriced": 0,
            "own": {"tokens": {"uncached": 447, "cached": 777, "written": 0, "output": 16}, "dollars": 0.5247},
            "files": {
                "a.py": {
                    "calls": 1,
                    "there": {"tokens": {"uncached": 146, "cached": 292, "written": 0, "output": 0}, "dollars": 0.1752},
                    "spared": 0,
                    "saved": {"tokens": {"uncached": 0, "cached": 0, "written": 0, "output": 0}, "dollars": 0.0},
                }
            },
            "blind_edits": 0,
            "remarks": {"tokens": {"uncached": 0, "cached": 0, "written": 0, "output": 0}, "dollars": 0.0},
            "views": {"tokens": {"uncached": 44, "cached": 0, "written": 0, "output": 0}, "dollars": 0.044},
            "repeated_views": 0,
            "kept_out": {"tokens": {"uncached": 4, "cached": -4, "written": 0, "output": 0}, "dollars": 0.0036},
        }
    )


def test_logs_of_inspect_with_ledger_are_told_from_others(execledger: Execledger, tmp_path: Path) -> None:
    """Also that nothing is known of what a sample took that failed before its first model call."""
    noted = {"event": "info", "source": KEY, "data": {"policy": {}}}
    one, two, failed = (sample(id=name) for name in ("one", "two", "failed"))
    one["events"].append(noted)
    failed |= {"events": [], "messages": [], "scores": None, "error": {"message": "no container"}}
    log = write_log(tmp_path / "a.eval", one, two, failed)
    called = execledger("replay", log)
    assert called.out.splitlines()[-1] == ("Ledger took part in 1 of 3 runs: their tokens are those after its edits.")
    counted = "The tokens of 2 of 3 runs were counted by the provider; of 1 nothing is known;"
    assert counted in " ".join(called.out.split())
    alone = execledger("replay", write_log(tmp_path / "b.eval", failed)).out
    assert re.search(r"the run as it was +│ +│ +unknown │ +unknown │ +unknown │ +│", alone), alone


def test_bad_prices_are_named(execledger: Execledger, good: Path, tmp_path: Path) -> None:
    """Before anything is replayed."""
    called = execledger("replay", good, "--prices", tmp_path / "none.toml")
    assert (called.status, called.out) == (2, "")
    assert called.err.startswith(f"execledger: {tmp_path / 'none.toml'}: ")


def test_broken_files_among_a_thousand_are_named_and_the_report_still_comes(
    execledger: Execledger, good: Path, tmp_path: Path
) -> None:
    """Empty, truncated and foreign ones: counted, each with its reason."""
    data = good.read_bytes()
    for number in range(996):
        (tmp_path / f"{number:04}.traj.json").write_bytes(data)
    for name, broken in (("x-cut", data[:-99]), ("x-empty", b""), ("x-foreign", b'{"a": 1}')):
        (tmp_path / f"{name}.json").write_bytes(broken)
    called = execledger("replay", tmp_path, "--json")
    summary = json.loads(called.out)
    assert (called.status, summary["runs"], summary["counterfactual"]["runs"]) == (0, 997, 997)
    assert [Path(line.partition(".json: ")[0]).name for line in summary["unreadable"]] == [
        "x-cut",
        "x-empty",
        "x-foreign",
    ]
    assert [line.startswith("execledger: not read: ") for line in called.err.splitlines()] == [True] * 3


def test_a_false_reuse_is_listed_and_strict_ends_with_1(execledger: Execledger, false: Path) -> None:
    """Without ``--strict`` it is listed all the same."""
    lenient, strict = execledger("replay", false), execledger("replay", "--strict", false)
    assert (lenient.status, strict.status) == (0, 1)
    assert strict.err == lenient.err == f"execledger: false reuse: {false} 1: 'cat a.py'\n"


def test_strict_ends_with_0_if_all_is_well(execledger: Execledger, good: Path) -> None:
    """There is no false reuse."""
    assert execledger("replay", "--strict", good).status == 0


@pytest.mark.faults
def test_faults_are_counted_and_strict_ends_with_1(
    execledger: Execledger, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A decision that fails is an allow, and the replay goes on to its end."""
    whole, failed = govern.decide, list[object]()

    def fail(ledger: Ledger, *args: Any) -> Decision:
        failed.append(args)
        if len(failed) == 1:
            raise RuntimeError("planted")
        return whole(ledger, *args)

    monkeypatch.setattr(govern, "decide", fail)
    called = execledger("replay", "--strict", "--json", "--decisions", good.with_suffix(".lines"), good)
    lines = [json.loads(line) for line in good.with_suffix(".lines").read_text().splitlines()]
    assert (called.status, json.loads(called.out)["faults"]) == (1, 1)
    assert called.err == f"execledger: fault of Ledger's own: {good}: govern: RuntimeError: planted\n"
    assert [line["rule"] == "fault" for line in lines] == [True] + [False] * (len(lines) - 1)


def test_unreadable_files_are_named_and_the_others_read(execledger: Execledger, good: Path, tmp_path: Path) -> None:
    """A broken file in a folder does not stop the rest."""
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "unknown.json").write_text('{"some": "thing"}')
    called = execledger("replay", tmp_path, "--json")
    summary = json.loads(called.out)
    assert (called.status, summary["runs"], len(summary["unreadable"])) == (0, 1, 2)
    named = [line.partition(".json: ")[0] for line in called.err.splitlines()]
    assert named == [f"execledger: not read: {tmp_path / name}" for name in ("broken", "unknown")]


def test_a_named_path_that_is_not_read_makes_the_status_1(execledger: Execledger, good: Path, tmp_path: Path) -> None:
    """Missing or no recorded run: it is named, and the runs at the other paths are replayed."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "foreign.json").write_text("{}")
    for path, reason in ((tmp_path / "missing", "found nothing there"), (tmp_path / "other" / "foreign.json", "")):
        called = execledger("replay", good, path, "--json")
        assert (called.status, json.loads(called.out)["runs"]) == (1, 1)
        assert called.err.startswith(f"execledger: not read: {path}: {reason}")
    assert execledger("replay", good, tmp_path / "other").status == 0


def test_a_folder_without_a_run_is_an_error(execledger: Execledger, tmp_path: Path) -> None:
    """Nothing was measured, so nothing may look fine."""
    called = execledger("replay", tmp_path)
    assert (called.status, called.err) == (2, f"execledger: no recorded run was read at {tmp_path}\nhint: {HINT}\n")


def test_decisions_that_can_not_be_written_are_an_error(execledger: Execledger, good: Path, tmp_path: Path) -> None:
    """The path is named."""
    out = tmp_path / "missing" / "out.jsonl"
    called = execledger("replay", good, "--decisions", out)
    assert (called.status, called.err) == (2, f"execledger: {out}: can't be written: No such file or directory\n")


def test_a_preset_beats_the_policy_file(execledger: Execledger, good: Path, tmp_path: Path) -> None:
    """The rest of the file still holds."""
    policy = tmp_path / "policy.toml"
    policy.write_text('preset = "verified"\nmax_interventions = 0\n')
    called = execledger("replay", good, "--policy", policy, "--preset", "paper")
    assert (called.out.splitlines()[0].strip(), called.status) == ("replay, preset paper", 0)
    assert json.loads(execledger("replay", good, "--policy", policy, "--json").out)["reuses"] == {}


def test_a_bad_policy_is_named(execledger: Execledger, good: Path, tmp_path: Path) -> None:
    """With the key and what is allowed."""
    policy = tmp_path / "policy.toml"
    policy.write_text("max_nudgs = 1\n")
    called = execledger("replay", good, "--policy", policy)
    assert (called.status, called.out) == (2, "")
    assert called.err.startswith(f"execledger: {policy} has the unknown key `max_nudgs`\nhint: allowed are: preset, ")


def test_a_journal_is_replayed_under_its_own_policy(execledger: Execledger, good: Path, tmp_path: Path) -> None:
    """Unless another is given; the title names every preset that was followed."""
    policy = Policy(preset=Preset.PAPER, max_interventions=0)
    (tmp_path / "repo").mkdir()
    path = written(tmp_path / "journals", events_of(retold(simulate(tmp_path / "repo", 4), policy)))
    own, other = (json.loads(execledger("replay", path, "--json", *more).out) for more in ((), ("--preset", "paper")))
    assert (own["reuses"], bool(other["reuses"])) == ({}, True)
    assert execledger("replay", path, good).out.splitlines()[0].strip() == "replay, preset paper and verified"


def test_what_is_wrong_with_a_journal_is_said(execledger: Execledger, good: Path, tmp_path: Path) -> None:
    """One line for each file on standard error; what could be read is counted."""
    (tmp_path / "repo").mkdir()
    events = events_of(simulate(tmp_path / "repo", 4))
    torn, gappy = (
        written(tmp_path / "j", told, name) for told, name in ((events, "t"), (events[:20] + events[21:], "g"))
    )
    torn.write_bytes(torn.read_bytes()[:-40])
    called = execledger("replay", tmp_path / "j", good, "--json")
    gap = "steps behind a gap: 30; the end counts another number of steps than there are"
    troubled = [f"{gappy}: {gap}", f"{torn}: the last line is torn"]
    assert called.err.splitlines() == [f"execledger: {line}" for line in troubled]
    assert (json.loads(called.out)["runs"], json.loads(called.out)["troubled"]) == (3, troubled)


def test_outputs_that_are_not_known_save_nothing(execledger: Execledger, tmp_path: Path) -> None:
    """Those of commands that did not run, in a run that Ledger took part in; how many they are is said."""
    (tmp_path / "repo").mkdir()
    path = written(tmp_path, events_of(simulate(tmp_path / "repo", 4)))
    summary = json.loads(execledger("replay", path, "--strict", "--json").out)
    assert summary["untold"] >= sum(summary["reuses"].values()) > 0
    assert f"not counted: {summary['untold']}" in " ".join(execledger("replay", path).out.split())


def test_what_is_passed_over_in_a_folder_is_said(execledger: Execledger, good: Path, tmp_path: Path) -> None:
    """In one line, with the reason; a hidden folder of an agent is searched."""
    hidden = tmp_path / ".claude" / "projects"
    hidden.mkdir(parents=True)
    good.rename(hidden / good.name)
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / ".git").mkdir()
    called = execledger("replay", tmp_path, "--json")
    assert (called.status, json.loads(called.out)["runs"]) == (0, 1)
    said = "files not named like a run (1); folders of other programs, such as .git (1)"
    assert called.err == f"execledger: passed over in folders: {said}\n"


def test_the_page_says_what_was_read_twice_by_kind_and_by_file(
    execledger: Execledger, good: Path, tmp_path: Path
) -> None:
    """The numbers are those of the summary; nothing is loaded from elsewhere, and no output is quoted."""
    target = tmp_path / "page.html"
    called = execledger("replay", good, "--html", target, "--json")
    found = json.loads(called.out)["counterfactual"]
    page = target.read_text()
    assert (called.status, stat.S_IMODE(target.stat().st_mode)) == (0, 0o600)
    rows = [re.sub("<[^>]*>", "|", line) for line in page.splitlines() if line.startswith("<tr><td>")]
    repeated = found["classes"]["exact repeat"]
    new, cached = repeated["there"]["tokens"]["uncached"], repeated["there"]["tokens"]["cached"]
    assert any(row.startswith(f"||exact repeat||{repeated['calls']}||{new}||{cached}||") for row in rows)
    assert [name for name in found["files"] if any(f"||{name}||" in row for row in rows)] == list(found["files"])
    assert found["files"] and "would have saved" in page
    assert "Costs are at the prices of a table, not as agents recorded them." in page
    assert "that the session is estimated to have cost at table prices.</p>" in page
    calls, read = (sum(one["calls"] for one in found[group].values()) for group in ("classes", "files"))
    other = "Other calls, such as searches and tests, belong to no one file." if read < calls else ""
    assert f"{read} of these {calls} calls read one file. {other}" in page
    own, net = found["own"]["tokens"], json.loads(called.out)["net"]
    taken = "||".join(f"{own[name]:,}" for name in ("uncached", "written", "cached", "output"))
    assert any(row.startswith(f"||the session as it was||{taken}||") for row in rows)
    saved = "||".join(f"{net['saved_tokens'][name]:,}" for name in ("uncached", "written", "cached"))
    assert any(row.startswith(f"||would have been saved||{saved}||") for row in rows)
    assert not re.search(r"<script|https?://|src=|href=", page)


def test_a_page_does_not_replace_a_run(execledger: Execledger, good: Path) -> None:
    """Neither the file that is given nor one in the folder that is given; a page may be replaced."""
    before = good.read_bytes()
    for given in (good, good.parent):
        called = execledger("replay", given, "--html", good)
        assert called.status == 2 and "expected a new file, or a page to replace" in called.err
    assert good.read_bytes() == before
    both = [execledger("replay", good, "--html", good.parent / "page.html").status for _ in range(2)]
    assert both == [0, 0]


def test_a_page_in_a_folder_that_is_missing_is_refused_before_the_replay(
    execledger: Execledger, good: Path, tmp_path: Path
) -> None:
    """No summary is printed."""
    page = tmp_path / "missing" / "page.html"
    called = execledger("replay", good, "--html", page)
    assert called == (2, "", f"execledger: {page}: can't be written: No such file or directory\n")


def test_a_page_on_standard_output_is_alone_there(execledger: Execledger, good: Path) -> None:
    """The summary goes to standard error."""
    called = execledger("replay", good, "--html", "-", "--json")
    assert called.out.startswith("<!doctype html>") and called.out.endswith("</html>\n")
    assert '"counterfactual"' in called.err
