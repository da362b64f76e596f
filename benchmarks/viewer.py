"""What the page costs on a long run, measured in a real browser: the first view, a step early and late, memory.

    python -m benchmarks.viewer

A made-up session of 5,000 steps in a journal of 50 MB stands against one of 50 steps. Every first view is that of a
server which has just been started and has listed its runs. A step is measured from the key to the moment when its
panel stands, layout included; `work` is the part of it that the browser is busy with at once. An early step is one
behind the first tenth of the run, where there are already more files than the map has room for.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from execledger.viewer.counting import run_id
from execledger.viewer.server import Viewer, ViewerSettings
from tests.support.chromium import browser
from tests.support.long_journal import BYTES, STEPS, write_long_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SHORT = 50
ROUNDS = 3
SPAN = 40
MAX_FIRST = 3.0
MAX_GROWTH = 2.0
MAX_HEAP = 64.0
STEPPING = """async (span) => {
  const body = document.querySelector(".step-body");
  const drawn = () => new Promise((resolve) => {
    const observer = new MutationObserver(() => { observer.disconnect(); resolve(); });
    observer.observe(body, { childList: true });
  });
  const times = [];
  for (let step = 0; step < span; step += 1) {
    const shown = drawn();
    const start = performance.now();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
    document.body.getBoundingClientRect();
    const busy = performance.now() - start;
    await shown;
    document.body.getBoundingClientRect();
    times.push([performance.now() - start, busy]);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return times;
}"""


class Cost(NamedTuple):
    """What one run costs."""

    first: float
    """Milliseconds until the first step stands."""
    early: tuple[float, float]
    """Milliseconds of a step behind the first tenth: until it stands, and work."""
    late: tuple[float, float]
    """The same at the end."""
    heap: float
    """Megabytes of JavaScript after that."""
    elements: int
    """Elements in the page after that."""


def first_view(page: Page, url: str, path: Path) -> float:
    """Milliseconds from opening a run to seeing its first step."""
    page.goto("about:blank")
    start = time.perf_counter()
    page.goto(f"{url}#/run/{run_id(str(path))}")
    page.locator(".step-panel h2").wait_for()
    return (time.perf_counter() - start) * 1e3


def stepping(page: Page, step: int) -> tuple[float, float]:
    """Median milliseconds of a step behind ``step``."""
    page.get_by_role("spinbutton", name="Step").fill(str(step))
    page.keyboard.press("Enter")
    page.locator(".step-panel h2", has_text=f"Step {step}").wait_for()
    shown, busy = zip(*page.evaluate(STEPPING, SPAN), strict=True)
    return statistics.median(shown), statistics.median(busy)


def cost(opened: Browser, path: Path, steps: int) -> Cost:
    """Open a run in a new tab of a new server, and step through its beginning and its end."""
    page = opened.new_page(viewport={"width": 1366, "height": 768})
    with Viewer(ViewerSettings(paths=(str(path),))) as viewer:
        page.goto(viewer.url)
        counted = page.locator(".runs-view [role=status]", has_text="1 run").filter(has_not_text="counted")
        counted.wait_for(timeout=120_000)
        first = first_view(page, viewer.url, path)
        page.locator(f".timeline [aria-valuemax='{steps - 1}']").wait_for(timeout=120_000)
        page.locator("#connection", has_text="reading").wait_for(state="hidden", timeout=120_000)
        early, late = stepping(page, min(steps // 10, steps - SPAN - 1)), stepping(page, steps - SPAN - 1)
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        heap = session.send("Runtime.getHeapUsage")["usedSize"] / 1e6
        elements = page.locator("*").count()
    page.close()
    return Cost(first, early, late, heap, elements)


def median(costs: list[Cost]) -> Cost:
    """The medians of several rounds."""
    first, early, late, heap, elements = zip(*costs, strict=True)
    pairs = [tuple(map(statistics.median, zip(*pair, strict=True))) for pair in (early, late)]
    return Cost(statistics.median(first), pairs[0], pairs[1], statistics.median(heap), int(statistics.median(elements)))


def measure(folder: Path) -> tuple[Cost, Cost]:
    """The short and the long run, in turn."""
    short, long = folder / "short.jsonl", folder / "long.jsonl"
    write_long_run(short, SHORT, BYTES // STEPS * SHORT)
    write_long_run(long)
    rounds: list[tuple[Cost, Cost]] = []
    with browser() as opened:
        for _ in range(ROUNDS):
            rounds.append((cost(opened, short, SHORT), cost(opened, long, STEPS)))
    return median([one for one, _ in rounds]), median([other for _, other in rounds])


def main() -> int:
    """Print the table; the exit status says whether the bounds hold."""
    with tempfile.TemporaryDirectory() as folder:
        short, long = measure(Path(folder))
    print(" steps  first view, ms  early step, ms (work)  late step, ms (work)  heap, MB  elements")
    for steps, one in ((SHORT, short), (STEPS, long)):
        early, late = (f"{shown:.1f} ({busy:.1f})" for shown, busy in (one.early, one.late))
        print(f"{steps:6}  {one.first:14.0f}  {early:>21}  {late:>20}  {one.heap:8.1f}  {one.elements:8}")
    first = long.first / short.first
    growth = max(late / early for late, early in zip(long.late, long.early, strict=True))
    print(f"first view of the long run: {first:.2f} times that of the short one (at most {MAX_FIRST:.0f})")
    print(f"a late step: {growth:.2f} times an early one (at most {MAX_GROWTH:.0f})")
    print(f"memory of the page: {long.heap:.1f} MB (at most {MAX_HEAP:.0f})")
    held = first <= MAX_FIRST and growth <= MAX_GROWTH and long.heap <= MAX_HEAP
    word = "held" if held else "NOT held"
    print(f"viewer: {word}: first view {first:.2f} times, late step {growth:.2f} times, {long.heap:.1f} MB")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
