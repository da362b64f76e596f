"""``execledger demo``: the recorded run that ships with the project."""

from __future__ import annotations

import re
from importlib.util import find_spec
from statistics import fmean, median

import pytest
from inline_snapshot import snapshot

from benchmarks.typical import demo_session, rereads_of
from execledger.demo.recorded import load
from execledger.demo.session import COMMANDS
from execledger.runs.prices import load_prices
from execledger.runs.replay import output_bytes
from execledger.runs.usage import Tokens
from tests.cli.conftest import Execledger
from tests.core.stories import wrapped


def test_the_demo_shows_every_command_and_its_decision(execledger: Execledger) -> None:
    """One decision per command, in order."""
    called = execledger("demo", "--recorded")
    numbers = [int(number) for number in re.findall(r"^ *(\d+) \$ ", called.out, re.MULTILINE)]
    rules = re.findall(r"^      (?:allow|reuse|nudge), rule `[\w-]+`: ", called.out, re.MULTILINE)
    count = len(load().steps)
    assert (called.status, called.err, numbers, len(rules)) == (0, "", list(range(1, count + 1)), count)


def test_the_demo_ends_with_the_view_and_the_sum(execledger: Execledger) -> None:
    """No reference in it is false."""
    ending = execledger("demo", "--recorded").out.partition("<execution_state>")[2]
    assert [wrapped(line) for line in ending.splitlines()] == snapshot(
        [
            "",
            "Seen recently:",
            "- warehouse/inventory.py: 10-34 (possibly stale); 1-9 (stale)",
            "</execution_state>",
            "",
            """\
14 commands: 0 would have been reused before running, because an earlier result still holds; 2 after
running, because the output was shown before; 1 nudged.\
""",
            "2 references, 0 of them false by what was recorded.",
            """\
References would have saved 198 uncached and 459 cached tokens ($0.00030); remarks would have cost
25 uncached and 25 cached tokens ($0.000034); state views would have cost 247 uncached tokens, 43 of
which would have been cached ($0.00030); net -74 uncached and +477 cached tokens, -$0.000033, -0.64%
of the $0.0052 that the run is estimated to have cost at table prices. Prices of 2026-11-15 for
gpt-5 (assumed); tokens of all three are estimated from bytes.\
""",
            "A scripted agent does not react: this shows what is decided, not what a model makes of it.",
            "",
            "Next: execledger replay PATH... measures the same on your own recorded runs.",
        ]
    )


def test_the_demo_says_what_would_have_been(execledger: Execledger) -> None:
    """It is a replay: none of the decisions was made when the commands ran."""
    said = re.findall(r"^      \w+, rule `[\w-]+`: (.+)$", execledger("demo", "--recorded").out, re.MULTILINE)
    assert {re.sub(r"\d+", "N", one) for one in said} == {
        "would have been run: N bytes",
        "would have been run: N bytes with a remark behind them",
        "would have been reused after running: a reference of N bytes in place of N",
    }


def test_the_full_demo_leaves_no_line_out(execledger: Execledger) -> None:
    """With ``--full`` every output is shown whole."""
    short, full = execledger("demo", "--recorded").out, execledger("demo", "--recorded", "--full").out
    assert ("more lines" in short, "more lines" in full, len(full) > len(short)) == (True, False, True)


@pytest.mark.clients
@pytest.mark.skipif(find_spec("minisweagent") is None, reason="mini-swe-agent is not installed")
def test_the_live_demo_shows_every_arm(execledger: Execledger) -> None:
    """The real agent runs without Ledger, and with each preset; the cost is that of the rows above it."""
    out = execledger("demo").out
    rows = {
        title.strip(): [number.strip().removeprefix("$").replace(",", "") for number in numbers.split("│")]
        for title, numbers in re.findall(r"^│ (.+?) +│(.+)│$", out, re.MULTILINE)
    }
    assert rows["commands run"][:2] == [str(len(COMMANDS) + 1)] * 2
    assert rows["results replaced by a reference"][0] == "0" < rows["results replaced by a reference"][1]
    price = load_prices().charged("")[1]
    names = ("new input tokens", "cached input tokens", "output tokens")
    for new, cached, output, cost in zip(*(rows[name] for name in (*names, "cost")), strict=True):
        tokens = Tokens(uncached=int(new), cached=int(cached), written=0, output=int(output))
        assert float(cost) == pytest.approx(price.cost(tokens), abs=5e-5)
    without, verified, _ = (float(cost) for cost in rows["cost"])
    assert verified <= without, "the default costs no more than it saves"
    assert "- call 9: [Ledger: output omitted. Lines 60-80 of shop/discounts.py are as shown by" in out
    assert "- call 9: [Ledger: not run" in out and "Net, `verified`: " in out


def test_the_session_of_the_demo_repeats_itself_as_recorded_runs_do() -> None:
    """Between the extremes of the sets: length, sizes and re-reads; and its bug is mended at the end."""
    session = demo_session()
    sizes = [output_bytes(recorded.observation) for recorded in session.steps]
    assert 30 <= len(sizes) <= 60 and 200 <= median(sizes) <= 600 and 700 <= fmean(sizes) <= 1300
    assert 10 <= 100 * rereads_of(session) / len(sizes) <= 17
    tests = [one.observation.output for one in session.steps if "unittest 2>&1" in one.action.command]
    assert ["OK" in output for output in tests] == [False, True, True]
