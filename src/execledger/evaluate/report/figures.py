"""Figures of the report: cost and tokens, paired outcomes, input over the course of a run, and re-reads.

Equal rows give equal bytes: files hold neither a date nor a random identifier.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from execledger.evaluate.report.arms import Arm, Setting
from execledger.evaluate.report.comparison import COST, gain, sole
from execledger.evaluate.report.table import Unit, format_figure
from execledger.evaluate.statistics import Floats, Paired
from execledger.runs.usage import Tokens

# The palette of Okabe and Ito, which readers with a colour deficiency can tell apart; lines also differ in markers.
LOOKS = {
    "base": ("#555555", "o"),
    "inform": ("#0072B2", "s"),
    "govern": ("#E69F00", "^"),
    "both": ("#009E73", "D"),
    "every": ("#CC79A7", "v"),
    "focused": ("#56B4E9", "P"),
    "shadow": ("#AAAAAA", "."),
}
PAPER_LOOKS = {"inform": ("#56B4E9", "P"), "govern": ("#D55E00", "X"), "both": ("#CC79A7", "v")}
OTHER_LOOK = ("#000000", "*")
UNCLASSED = "input, classes unknown"
"""Kind of the input of runs that report no cached tokens."""
KINDS = {
    "uncached input": "#D55E00",
    "written input": "#E69F00",
    "cached input": "#56B4E9",
    UNCLASSED: "#BBBBBB",
    "output": "#555555",
}
HATCH = "////"
"""Pattern of what rests on input of unknown classes."""
STYLE: Any = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9,
    "grid.color": "#DDDDDD",
    "legend.frameon": False,
    "svg.hashsalt": "execledger",
}
METADATA: Mapping[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None}}
WIDTH = 7.2


def write_figures(found: tuple[Setting, ...], folder: Path, formats: Iterable[str]) -> tuple[Path, ...]:
    """Draw each figure that there is data for in each format (png, svg), and return the files written."""
    written = []
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        for name, draw in FIGURES.items():
            figure = draw(found)
            if figure is None:
                continue
            for kind in formats:
                path = folder / f"{name}.{kind}"
                figure.savefig(path, dpi=150, metadata=METADATA[kind])
                written.append(path)
    return tuple(written)


def cost_and_tokens(found: tuple[Setting, ...]) -> Figure | None:
    """Draw the total cost of each arm, and its tokens by kind (uncached, written, cached, output).

    Input of runs that report no cached tokens is a kind of its own, and the cost that charges it as uncached hatched.
    """
    shown = [setting for setting in found if any(row.tokens for arm in setting.arms for row in arm.rows)]
    if not shown:
        return None
    figure, axes = _bars(shown, 2, [len(setting.arms) for setting in shown])
    unclassed = any(_unclassed(arm) for setting in shown for arm in setting.arms)
    kinds = {kind: KINDS[kind] for kind in KINDS if kind != UNCLASSED or unclassed}
    for setting, (left, right) in zip(shown, axes, strict=True):
        _cost_bars(left, setting.arms)
        _token_bars(right, setting.arms, kinds)
        left.set_title(setting.title, loc="left", fontsize=9)
        left.set_yticks(range(len(setting.arms)), [_titled(arm) for arm in setting.arms])
        right.set_yticks([])
    hatched = "\nhatched: no cached tokens reported,\nso that all input is charged as uncached"
    axes[-1][0].set_xlabel("cost, US dollars" + (hatched if unclassed else ""))
    axes[-1][1].set_xlabel("tokens, millions" + _about_estimates(shown))
    figure.legend(
        *axes[0][1].get_legend_handles_labels(), loc="outside lower center", ncols=3 if unclassed else len(kinds)
    )
    if unclassed:
        figure.set_figheight(figure.get_figheight() + 0.5)  # For the caption and a second line of the legend.
    return figure


def _unclassed(arm: Arm) -> bool:
    """Return whether any run reports tokens and no cached ones, so that the classes of its input are unknown."""
    return any(row.tokens is not None and not row.cached_told for row in arm.rows)


def _titled(arm: Arm) -> str:
    """Return the arm's title, marked with ``~`` if its tokens are estimated."""
    return ("~ " if arm.estimated else "") + arm.title


def _about_estimates(found: Sequence[Setting]) -> str:
    """Return the explanation of the mark ``~`` if an arm has it."""
    return "\n~ rests on estimated tokens" if any(arm.estimated for one in found for arm in one.arms) else ""


def _cost_bars(axes: Axes, arms: tuple[Arm, ...]) -> None:
    costs = [sole(COST, arm) for arm in arms]
    bars = axes.barh(range(len(arms)), [cost or 0 for cost in costs], color=[_look(arm)[0] for arm in arms])
    for bar, arm in zip(bars, arms, strict=True):
        if _unclassed(arm):
            bar.set(hatch=HATCH, edgecolor="white")
    axes.bar_label(bars, [_cost(arm, cost) for arm, cost in zip(arms, costs, strict=True)], padding=3, fontsize=8)
    axes.margins(x=0.25)


def _cost(arm: Arm, cost: float | None) -> str:
    return "unknown" if cost is None else ("~" if arm.estimated else "") + format_figure(cost, Unit.MONEY)


def _token_bars(axes: Axes, arms: tuple[Arm, ...], kinds: Mapping[str, str]) -> None:
    start, means = np.zeros(len(arms)), [_mean_tokens(arm) for arm in arms]
    for kind, colour in kinds.items():
        length = np.array([mean[kind] for mean in means]) / 1e6
        hatch: dict[str, Any] = {"hatch": HATCH, "edgecolor": "white"} if kind == UNCLASSED else {}
        axes.barh(range(len(arms)), length, left=start, color=colour, label=kind, **hatch)
        start += length


def _mean_tokens(arm: Arm) -> dict[str, float]:
    """Return the tokens of each kind; each instance counts with the mean of its trials."""
    totals = np.zeros(len(KINDS))
    for runs in arm.runs.values():
        known = [_by_kind(row.tokens, told=row.cached_told) for row in runs if row.tokens is not None]
        if known:
            totals += np.mean(known, axis=0)
    return dict(zip(KINDS, totals.tolist(), strict=True))


def _by_kind(tokens: Tokens, *, told: bool) -> tuple[int, ...]:
    """Return the tokens of a run in the order of ``KINDS``; ``told`` says whether it reports cached ones."""
    unclassed = 0 if told else tokens.input or 0
    classes = (tokens.uncached or 0, tokens.written or 0, tokens.cached or 0) if told else (0, 0, 0)
    return (*classes, unclassed, tokens.output or 0)


def paired_outcomes(found: tuple[Setting, ...]) -> Figure | None:
    """Draw the numbers of instances that only Ledger resolved, and that only the base resolved."""
    pairs = {setting.title: _pairs(setting) for setting in found}
    shown = [setting for setting in found if pairs[setting.title]]
    if not shown:
        return None
    figure, axes = _bars(shown, 1, [len(pairs[setting.title]) for setting in shown])
    for setting, (panel,) in zip(shown, axes, strict=True):
        panel.set_title(setting.title, loc="left", fontsize=9)
        _outcome_bars(panel, pairs[setting.title])
    axes[-1][0].set_xlabel("instances whose outcome differs")
    axes[-1][0].xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{abs(value):g}"))
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _pairs(setting: Setting) -> dict[str, Paired]:
    return {
        arm.title + (f", trial {trial}" if len(arm.trials) > 1 else ""): pair
        for arm in setting.ledger
        for trial, pair in gain(setting.base, arm).pairs.items()
    }


def _outcome_bars(axes: Axes, pairs: Mapping[str, Paired]) -> None:
    places = range(len(pairs))
    recovered = [len(pair.recovered) for pair in pairs.values()]
    regressed = [len(pair.regressed) for pair in pairs.values()]
    gains = axes.barh(places, recovered, color="#0072B2", label="recovered: resolved only with Ledger")
    losses = axes.barh(places, [-n for n in regressed], color="#D55E00", label="regressed: resolved only without")
    axes.bar_label(gains, [f"{len(it.recovered)} (net {it.net:+})" for it in pairs.values()], padding=3, fontsize=8)
    axes.bar_label(losses, [str(number) for number in regressed], padding=3, fontsize=8)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(places, list(pairs))
    axes.margins(x=0.25)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def input_over_calls(found: tuple[Setting, ...]) -> Figure | None:
    """Draw cumulative input tokens by model call: median and quartiles over runs; ended runs keep their total.

    Cached and new tokens are added up: it shows how contexts grow, and compares no arms, whose shares of them differ.
    """
    shown = [setting for setting in found if any(row.input_by_call for arm in setting.arms for row in arm.rows)]
    if not shown:
        return None
    width = max(len(setting.arms) for setting in shown)
    figure = Figure(figsize=(max(WIDTH, 1.8 * width), 2.2 * len(shown) + 0.6), layout="constrained")
    axes = figure.subplots(len(shown), width, squeeze=False, sharey="row")
    for setting, panels in zip(shown, axes, strict=True):
        # After this call nine runs in ten have ended, and the quartiles no longer change.
        calls = [len(row.input_by_call) for arm in setting.arms for row in arm.rows if row.input_by_call]
        longest = int(np.quantile(calls, 0.9)) + 1
        for arm, panel in zip(setting.arms, panels, strict=False):
            _input_panel(panel, _quartiles(arm, longest), _look(arm)[0])
            panel.set_title(_titled(arm).replace(" (", "\n("), fontsize=9)
        for panel in panels[len(setting.arms) :]:
            panel.set_visible(False)
        panels[0].set_ylabel(f"{setting.agent}\n{setting.model}\ninput so far, M tokens")
    looks = "model call (line: median run; band: middle half of the runs)\ncached and new tokens together: no costs"
    figure.supxlabel(looks + _about_estimates(shown), fontsize=9)
    return figure


def _quartiles(arm: Arm, longest: int) -> Floats:
    """Return the quartiles over runs of the cumulative input, in millions of tokens, after each call."""
    runs = [_cumulative(row.input_by_call, longest) for row in arm.rows if row.input_by_call]
    return np.quantile(np.array(runs), [0.25, 0.5, 0.75], axis=0) / 1e6 if runs else np.zeros((3, 0))


def _cumulative(by_call: tuple[int, ...], length: int) -> Floats:
    sums = np.concatenate(([0.0], np.cumsum(by_call, dtype=np.float64)))[: length + 1]
    return np.concatenate((sums, np.full(length + 1 - len(sums), sums[-1])))


def _input_panel(axes: Axes, drawn: Floats, colour: str) -> None:
    low, middle, high = drawn
    calls = np.arange(len(middle))
    axes.fill_between(calls, low, high, color=colour, alpha=0.25, linewidth=0)
    axes.plot(calls, middle, color=colour)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))


def rereads_per_instance(found: tuple[Setting, ...]) -> Figure | None:
    """Draw the share of runs that have at least a given number of redundant re-reads."""
    if not found:
        return None
    figure = Figure(figsize=(WIDTH, 2.2 * len(found) + 0.4), layout="constrained")
    axes = figure.subplots(len(found), 1, squeeze=False)
    for setting, (panel,) in zip(found, axes, strict=True):
        unknown = []
        for arm in setting.arms:
            counts = np.array([row.counts.rereads for row in arm.rows if row.counts is not None])
            if not counts.size:
                unknown.append(arm.title)
                continue
            least = np.arange(1, max(counts.max(), 3) + 2)
            colour, mark = _look(arm)
            some = f" ({counts.size} of {len(arm.rows)} runs, others unknown)" if counts.size < len(arm.rows) else ""
            label = f"{arm.title}: mean {counts.mean():.1f}{some}"
            share = [100 * float(np.mean(counts >= number)) for number in least]
            panel.plot(least, share, color=colour, marker=mark, markersize=4, label=label)
        missing = f"\nunknown, and not drawn: {', '.join(unknown)}" if unknown else ""
        panel.set_title(setting.title + missing, loc="left", fontsize=9)
        panel.set_ylabel("% of runs")
        if len(unknown) < len(setting.arms):
            panel.legend(loc="upper right")
        panel.set_ylim(0, 100)
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[-1][0].set_xlabel("redundant snippet re-reads in a run, at least")
    return figure


def _bars(found: Sequence[Setting], columns: int, bars: list[int]) -> tuple[Figure, Any]:
    """Return a figure for horizontal bars, with one row of panels per setting, each as high as its number of bars."""
    figure = Figure(figsize=(WIDTH, 0.34 * sum(bars) + 0.45 * len(found) + 0.7), layout="constrained")
    axes = figure.subplots(len(found), columns, squeeze=False, height_ratios=bars, sharex="col")
    for panel, number in zip(axes.flat, [number for number in bars for _ in range(columns)], strict=True):
        panel.set_ylim(number - 0.4, -0.6)
        panel.grid(axis="y", visible=False)
    return figure, axes


def _look(arm: Arm) -> tuple[str, str]:
    """Return the colour and marker of an arm, the same in every panel."""
    return (PAPER_LOOKS if arm.preset == "paper" else LOOKS).get(arm.name, OTHER_LOOK)


FIGURES = {
    "cost_and_tokens": cost_and_tokens,
    "paired_outcomes": paired_outcomes,
    "input_over_calls": input_over_calls,
    "rereads_per_instance": rereads_per_instance,
}
"""Figures by the stem of their file's name."""
