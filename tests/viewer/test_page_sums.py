"""The list of runs in a real browser: titles, totals, and where the tokens went, against what the files say."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from execledger.agents.formats import read_run
from execledger.core.policy import Policy
from execledger.journal.events import Counts, Ended
from execledger.runs.caching import usage
from execledger.runs.prices import shipped
from execledger.viewer.counting import run_id, tallied
from execledger.viewer.export import export
from tests.agents.inspect_ai.test_recorded import sample, write_log
from tests.journal.runs import start
from tests.runs.samples import encoded
from tests.viewer import answers
from tests.viewer.browsing import ZOOMED, Tab, opened_tab
from tests.viewer.stage import DEMO, journal_bytes, served, shown, simulated, told
from tests.viewer.test_page import OVERFLOW, WIDE, base

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.clients

USAGES = [(100, 60, 7), (130, 100, 9), (40, 0, 1), (900, 400, 20)]
"""Tokens of input, those of them that were cached, and of output, of one model call after the other."""
BARS = """() => [...document.querySelectorAll(".sum")].map((sum) => [...sum.querySelectorAll(".token-bar")].map((bar) =>
  [...bar.querySelectorAll("i")].map((part) => [
    part.className, Math.round(1000 * part.getBoundingClientRect().width / bar.getBoundingClientRect().width) / 1000,
  ])))"""
"""The parts of the bars: class, and share of the whole width."""


def recorded(title: str, usages: list[tuple[int, int, int]], cost: float | None = None) -> dict[str, Any]:
    """A trajectory whose two model calls took so many tokens, and cost so much in all."""
    found: dict[str, Any] = json.loads(answers.mini())
    found["messages"][1]["content"] = f"<pr_description>\nConsider the following PR:\n{title}\n\nMore.</pr_description>"
    for message, (whole, cached, output) in zip(found["messages"][2::2], usages, strict=True):
        details = {"prompt_tokens": whole, "prompt_tokens_details": {"cached_tokens": cached}}
        message["extra"]["response"] = {"usage": {**details, "completion_tokens": output}}
    found["info"] = {**found["info"], "model_stats": {"instance_cost": cost}} if cost is not None else found["info"]
    return found


def write_runs(folder: Path) -> None:
    """Two trajectories of which one knows its cost, one without tokens, and a journal."""
    folder.mkdir()
    (folder / "a.traj.json").write_bytes(encoded(recorded("Sums are off", USAGES[:2], 0.5)))
    (folder / "b.traj.json").write_bytes(encoded(recorded("Dates are off", USAGES[2:])))
    (folder / "c.traj.json").write_bytes(answers.mini())
    ended = Ended(reason="done", counts=Counts(proposed=2), model_calls=3, input_tokens=500, cached_tokens=300)
    steps = told([shown("ls"), shown("cat a.py", "x\n")])[1:]
    begun = start(task="Please solve this issue: Names are off\n\nMore.", at=1_780_000_000.0)
    (folder / "d.jsonl").write_bytes(journal_bytes([begun, *steps, ended]))


def panels(tab: Tab) -> dict[str, str]:
    """The texts of the totals, by their headings."""
    tab.find(".sum").first.wait_for()
    texts = (re.sub(r"\s+", " ", text) for text in tab.texts(".sum"))
    return dict(zip(tab.texts(".sum h2"), texts, strict=True))


def counted(tab: Tab, runs: int) -> None:
    """Wait until all runs are counted."""
    tab.find(".runs-view [role=status]", f"{runs} runs" if runs > 1 else "1 run").wait_for()


def test_runs_are_added_up(tab: Tab, tmp_path: Path) -> None:
    """Every class of tokens is the sum of what the files say, and runs that Ledger took part in are apart."""
    write_runs(tmp_path / "runs")
    with served(tmp_path / "runs") as asked:
        tab.open(base(asked))
        counted(tab, 4)
        found = panels(tab)
        assert list(found) == ["1 run with Ledger", "3 replayed runs"]
        live, replayed = found.values()
        own = usage(read_run("c", answers.mini())).total
        guessed = (own.input or 0, own.cached or 0, own.output or 0)
        told = [(a - b, b, c) for a, b, c in (*USAGES, guessed)]
        uncached, cached, output = (f"{sum(values):,}" for values in zip(*told, strict=True))
        words = f"{uncached} uncached {cached} cached {output} output (estimated for 1 of 3 runs)"
        assert f"Tokens taken {words}" in replayed
        assert "6 steps 6 model calls" in replayed
        assert "would have been saved by references" in replayed
        assert "would have been spent on state views" in replayed
        day = shipped().date
        assumed = f"table prices of {day} (gpt-5 assumed"
        assert f"net, at {assumed}) " in replayed
        basis = f"as recorded by the agent for 1 of 3 runs, else at {assumed} for 2 of 3 runs)"
        assert re.search(rf" ~\$0\.50\d\d in all, {re.escape(basis)}, estimated for 2 of 3 runs", replayed)
        assert "2 steps 3 model calls" in live and "would" not in live
        assert "Tokens taken 200 uncached 300 cached" in live


def test_runs_in_shadow_mode_are_apart(tab: Tab, tmp_path: Path) -> None:
    """Ledger changed nothing in them: they are no runs with Ledger, and have taken tokens alone."""
    ended = Ended(reason="", counts=Counts(), model_calls=3, input_tokens=500, cached_tokens=300, cost=0.5)
    for name, policy in (("a", Policy()), ("b", Policy(shadow=True))):
        (tmp_path / f"{name}.jsonl").write_bytes(journal_bytes([start(policy), *told([shown("ls")])[1:], ended]))
    with served(tmp_path) as asked:
        tab.open(base(asked))
        counted(tab, 2)
        found = panels(tab)
        assert list(found) == ["1 run with Ledger", "1 run in shadow mode"]
        live, shadow = found.values()
        assert " net, at table prices" in live and "Net none" in live
        assert re.search(r"1 step 3 model calls \$0\.5000 in all, as recorded by the agent Tokens taken 200", shadow)
        assert not re.search(r"Saved|Views|Net| net", shadow)
        assert "In shadow mode Ledger changes nothing" in shadow


def test_what_is_saved_is_set_against_the_same_runs(tab: Tab, tmp_path: Path) -> None:
    """A journal without an end knows no tokens: its savings are in no bar beside the tokens of others."""
    (tmp_path / "runs").mkdir()
    ended = Ended(reason="", counts=Counts(), model_calls=11, input_tokens=500, cached_tokens=300)
    (tmp_path / "runs" / "a.jsonl").write_bytes(journal_bytes([*told([shown("ls")]), ended]))
    (tmp_path / "runs" / "b.jsonl").write_bytes(journal_bytes(simulated(tmp_path / "work", 5)[:-1]))
    with served(tmp_path / "runs") as asked:
        tab.open(base(asked))
        counted(tab, 2)
        (panel,) = panels(tab).values()
        assert "Tokens taken 200 uncached 300 cached (known of 1 of 2 runs)" in panel
        assert "Saved none" in panel and "Views took none" in panel and "Net none" in panel
        assert re.search(r"\$0\.\d+ saved by references .* in all, known of 1 of 2 runs, whose net is \$0\.00", panel)


def test_bars_show_where_the_tokens_went(tab: Tab, tmp_path: Path) -> None:
    """Their parts are as wide as the classes are large, on one scale for what was taken, saved and spent."""
    write_runs(tmp_path / "runs")
    with served(tmp_path / "runs") as asked:
        tab.open(base(asked), "#/?q=d.jsonl")
        counted(tab, 1)
        tab.become(lambda: len(tab.texts(".sum")), 1)
        assert tab.page.evaluate(BARS) == [[[["token-uncached", 0.4], ["token-cached", 0.6]], [], []]]
        assert tab.texts(".bar-words")[1:] == ["none"] * 3
        tab.open(base(asked), "#/?q=c.traj")
        tab.become(lambda: [one.endswith("output (estimated)") for one in tab.texts(".bar-words")[:1]], [True])
        tab.become(lambda: tab.text(".rows .spent")[:2], "~$")


def signed(value: int) -> str:
    """A number of tokens with its sign."""
    return f"{value:+,}".replace("-", "\N{MINUS SIGN}")


def test_the_net_is_shown_in_tokens_by_class_and_in_dollars(tab: Tab) -> None:
    """In the totals of the list, at the cell of a run, and above the run itself; negative classes have their sign."""
    line, _ = tallied(str(DEMO), DEMO.read_bytes(), None, None)
    uncached, cached = line.net_uncached_tokens, line.net_cached_tokens
    assert uncached < 0 < cached and not line.net_written_tokens
    dollars = f"\N{MINUS SIGN}${-line.net_cost:.6f}"
    assert -0.0001 < line.net_cost < 0
    with served(DEMO) as asked:
        tab.open(base(asked))
        counted(tab, 1)
        (panel,) = panels(tab).values()
        assert f"Would be net {signed(uncached)} uncached {signed(cached)} cached (estimated)" in panel
        assert f"{dollars} net, at table prices of {shipped().date} (gpt-5 assumed)" in panel
        classes = f"{signed(uncached)} uncached and {signed(cached)} cached tokens, estimated"
        assert any(classes in title for title in cell_titles(tab))
        tab.find(".run-link").click()
        tab.at(0)
        told = f"{dollars} net ({classes}), at table prices of {shipped().date}, gpt-5 (assumed)"
        assert told in tab.text(".run-head .facts")


def test_a_cost_says_what_it_rests_on(tab: Tab, tmp_path: Path) -> None:
    """The agent's own record, or the table, marked where its price is assumed: in the list and above the run."""
    counts = [(1000, 600, 70), (1300, 1000, 90)]
    (tmp_path / "assumed.traj.json").write_bytes(encoded(recorded("Sums are off", counts)))
    (tmp_path / "told.traj.json").write_bytes(encoded(recorded("Dates are off", counts, 0.5)))
    table = f"at table prices of {shipped().date}"
    with served(tmp_path) as asked:
        for name, cell, in_list, above in (
            ("assumed", "~$0.0027", f"{table} (gpt-5 assumed), estimated", f"{table}, gpt-5 (assumed)"),
            ("told", "$0.5000", "as recorded by the agent", "as recorded by the agent"),
        ):
            tab.open("about:blank", "")
            tab.open(base(asked), f"#/?q={name}")
            counted(tab, 1)
            tab.become(partial(tab.texts, ".rows .spent"), [cell])
            assert tab.texts(".sum .facts li")[-1] == f"{cell} in all, {in_list}"
            tab.find(".run-link").click()
            tab.at(0)
            assert tab.texts(".run-head .facts li")[-1] == f"{cell} in all, {above}"


def test_tokens_written_to_a_cache_are_no_uncached_ones(chromium: Browser, tmp_path: Path) -> None:
    """Where a provider charges for writing to its cache: in the totals, in the list, and above the run itself."""
    found = json.loads(DEMO.read_text().replace('"scripted"', '"claude-sonnet-4-5"'))
    for message in found["messages"]:
        if message["role"] == "assistant":
            usage = {"input_tokens": 1, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100}
            message.setdefault("extra", {})["response"] = {"usage": {**usage, "output_tokens": 3}}
    path = tmp_path / "claude.traj.json"
    path.write_text(json.dumps(found))
    line, _ = tallied(str(path), path.read_bytes(), None, None)
    assert not line.saved_uncached_tokens
    classes = [f"{line.saved_written_tokens} written to the cache", f"{line.saved_cached_tokens} cached"]
    written, calls = line.saved_written_tokens, line.turns
    with served(path) as asked, opened_tab(chromium, WIDE) as tab:
        tab.open(base(asked))
        counted(tab, 1)
        assert f"Would be saved {' '.join(classes)} (estimated)" in panels(tab)["1 replayed run"]
        titles = dict(zip(tab.texts(".heading .number"), cell_titles(tab), strict=True))
        assert f"{' and '.join(classes)} tokens, estimated" in titles["Saved"]
        took = f"{calls} uncached, {20 * calls} written to the cache and {100 * calls:,} cached"
        assert titles["Cost"].startswith(f"tokens: input {121 * calls:,}, of which {took}; output {3 * calls}")
        tab.find(".run-link").click()
        tab.at(0)
        assert f"{written} written to the cache" in tab.text(".run-head .facts")


def cell_titles(tab: Tab) -> list[str]:
    """What the numbers of the first run say when a pointer rests on them."""
    titles = "(cells) => cells.map((cell) => cell.querySelector('[title]')?.title ?? '')"
    found: list[str] = tab.find(".rows .run-row .cell.number").evaluate_all(titles)
    return found


def test_totals_are_those_of_the_chosen_runs(chromium: Browser, tmp_path: Path) -> None:
    """A search changes them, and an exported page, which has no server to ask, shows the same."""
    write_runs(tmp_path / "runs")
    target = tmp_path / "page.html"
    export((str(tmp_path / "runs"),), target, None, None, print)
    found: list[list[dict[str, str]]] = []
    with served(tmp_path / "runs") as asked:
        for page in (base(asked), target.as_uri()):
            with opened_tab(chromium) as tab:
                tab.open(page)
                counted(tab, 4)
                whole = panels(tab)
                tab.find(".toolbar input[type=search]").fill("off traj")
                counted(tab, 2)
                tab.become(partial(tab.texts, ".sum h2"), ["2 replayed runs"])
                found.append([whole, panels(tab)])
    assert found[0] == found[1]


def test_a_run_has_the_title_of_its_task(tab: Tab, tmp_path: Path) -> None:
    """The first line of the task, without what a harness puts before it; else the name of the task, else the file's."""
    write_runs(tmp_path / "runs")
    bare = [{"role": "system", "content": "s"}, {"role": "assistant", "content": "```bash\nls\n```"}]
    (tmp_path / "runs" / "some__repo-7.traj.json").write_bytes(encoded(bare))
    (tmp_path / "runs" / "nameless.json").write_bytes(encoded(bare))
    with served(tmp_path / "runs") as asked:
        tab.open(base(asked), "#/?sort=name")
        counted(tab, 6)
        titled = ["Sums are off", "Dates are off", "Please fix the sum.", "Names are off", "some__repo-7"]
        tab.become(lambda: tab.texts(".run-title"), titled)
        names = ["a.traj.json", "b.traj.json", "c.traj.json", "d.jsonl", "nameless.json", "some__repo-7.traj.json"]
        assert tab.texts(".run-name") == names
        assert (
            tab.page.evaluate("() => getComputedStyle(document.querySelectorAll('.run-name')[4]).fontWeight") == "600"
        )
        assert [text.strip()[:4] for text in tab.texts(".run-when")] == ["2026"] * 4
        tab.find(".run-title", "Dates are off").click()
        tab.at(0)
        assert (tab.text(".run-head h1"), tab.text(".run-head .run-name")) == ("Dates are off", "b.traj.json")


def test_totals_can_be_read_where_there_is_little_room(chromium: Browser, tmp_path: Path) -> None:
    """At 200 % zoom nothing has to be scrolled sideways, and the numbers are there."""
    write_runs(tmp_path / "runs")
    with served(tmp_path / "runs") as asked, opened_tab(chromium, ZOOMED) as tab:
        tab.open(base(asked))
        counted(tab, 4)
        assert tab.page.evaluate(OVERFLOW) == 0
        assert "cached" in panels(tab)["3 replayed runs"]


def test_a_log_of_a_run_with_ledger_is_no_run_without(chromium: Browser, tmp_path: Path) -> None:
    """The tokens in Inspect's log are those after Ledger's edits: nothing is said to be included that was left out."""
    noted = {"event": "info", "source": "execledger", "data": {"policy": msgspec.to_builtins(Policy())}}
    with_ledger = sample(events=[noted, *sample()["events"]])
    write_log(tmp_path / "with.eval", with_ledger)
    write_log(tmp_path / "without.eval", sample())
    with served(tmp_path) as asked, opened_tab(chromium) as tab:
        tab.open(base(asked), "#/?sort=name")
        counted(tab, 2)
        tab.become(lambda: len(panels(tab)), 2)
        one, other = panels(tab)["1 replayed run with Ledger"], panels(tab)["1 replayed run"]
        assert "tokens taken are those after its edits" in one and "include" not in one
        assert "would have been saved by references" in one
        assert "Tokens taken include what would have been saved" in other
        tab.find(".run-title").first.click()
        tab.at(0)
        head = tab.text(".run-head")
        assert "its tokens are those after Ledger's edits" in head and "would have been saved" in head


def test_what_remarks_took_is_apart_from_what_was_saved(tab: Tab, tmp_path: Path) -> None:
    """A line above the list and a bar in it, and a fact of the run."""
    remarked = tmp_path / "remarked"
    remarked.mkdir()
    line, _ = tallied("demo", DEMO.read_bytes(), None, None)
    (remarked / "demo.traj.json").write_bytes(DEMO.read_bytes())
    took = f"{line.remark_uncached_tokens} uncached {line.remark_cached_tokens} cached"
    with served(remarked) as asked:
        tab.open(base(asked))
        counted(tab, 1)
        (panel,) = panels(tab).values()
        assert "would have been spent on remarks" in panel and f"Remarks would take {took} (estimated)" in panel
        tab.find(".rows a.run-link").click()
        tab.find(".step-panel").wait_for()
        assert "would have been spent on remarks" in tab.texts(".facts")[0]


def test_without_remarks_nothing_is_said_of_them(tab: Tab, tmp_path: Path) -> None:
    """Neither a bar nor a sum of money."""
    write_runs(tmp_path / "runs")
    with served(tmp_path / "runs") as asked:
        tab.open(base(asked))
        counted(tab, 4)
        assert not any("Remarks " in panel or "spent on remarks" in panel for panel in panels(tab).values())


def test_the_tokens_of_a_model_call_are_words(tab: Tab, tmp_path: Path) -> None:
    """Each class with its name, output among them."""
    write_runs(tmp_path / "runs")
    with served(tmp_path / "runs") as asked:
        tab.open(base(asked), f"#/run/{run_id(str(tmp_path / 'runs' / 'a.traj.json'))}")
        (uncached, cached, output), *_ = [(a - b, b, c) for a, b, c in USAGES]
        classes = f"{uncached:,} uncached, {cached:,} cached" if cached else f"{uncached:,} uncached"
        words = f"model call: {classes} and {output:,} output tokens"
        tab.find(".step-panel").wait_for()
        tab.become(lambda: words in tab.text(".step-panel"), True)


@pytest.mark.parametrize("width", [1920, 1280, 1000])
def test_what_was_reused_in_part_is_beside_what_that_saved(chromium: Browser, tmp_path: Path, width: int) -> None:
    """In windows of every width that have a column for what was saved or is left."""
    (tmp_path / "demo.traj.json").write_bytes(DEMO.read_bytes())
    with served(tmp_path) as asked, opened_tab(chromium, {"width": width, "height": 900}) as tab:
        tab.open(base(asked))
        counted(tab, 1)
        heads = [" ".join(text.split()) for text in tab.texts(".heading .cell")]
        assert {"Reused before", "Reused after", "Reused in part", "Net"} <= {*heads}
