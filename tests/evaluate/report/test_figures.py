"""The figures: which are drawn, that the same rows give the same bytes, and what they show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from execledger.evaluate.report.arms import settings
from execledger.evaluate.report.figures import (
    FIGURES,
    cost_and_tokens,
    input_over_calls,
    paired_outcomes,
    rereads_per_instance,
    write_figures,
)
from execledger.runs.usage import Tokens
from tests.evaluate.rows import experiment, row


def widths(axes: Axes) -> list[float]:
    return [bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)]


def test_every_figure_is_written_in_every_format(tmp_path: Path) -> None:
    """Four figures, as PNG and as SVG."""
    written = write_figures(settings(experiment()), tmp_path, ["png", "svg"])
    assert [path.name for path in written] == [f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg")]
    for path in written:
        start = b"\x89PNG" if path.suffix == ".png" else b"<?xml"
        assert path.read_bytes().startswith(start)


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    """Neither a date nor a random name reaches a file, and the order of the rows does not matter."""
    rows = experiment(trials=2)
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, given in ((first, rows), (second, rows[::-1])):
        folder.mkdir()
        write_figures(settings(given), folder, ["png", "svg"])
    for path in sorted(first.iterdir()):
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name
    assert all(b"dc:date" not in path.read_bytes() for path in first.glob("*.svg"))


def test_a_figure_without_numbers_is_not_drawn(tmp_path: Path) -> None:
    """Ungraded runs without tokens have nothing but their re-reads to show."""
    rows = [row("a", tokens=None, cost=None, resolved=None, input_by_call=())]
    assert [path.name for path in write_figures(settings(rows), tmp_path, ["svg"])] == ["rereads_per_instance.svg"]
    assert write_figures((), tmp_path, ["svg"]) == ()


def test_input_is_added_up_over_calls_and_kept_when_a_run_ends() -> None:
    """The median of a run of two calls and one of four: both count at every call."""
    rows = [row("a", input_by_call=(1_000_000, 1_000_000)), row("b", input_by_call=(3_000_000,) * 4)]
    figure = input_over_calls(settings(rows))
    assert figure is not None
    median = figure.axes[0].lines[-1].get_ydata()
    assert np.asarray(median).tolist() == [0, 2, 4, 5.5, 7][: len(np.asarray(median))]
    assert len(np.asarray(median)) == 5


def test_no_arm_is_compared_with_the_base_by_cached_and_new_tokens_together() -> None:
    """Each panel has the curve of its own arm, and the figure says what is added up."""
    rows = [row("a", input_by_call=(1_000_000,)), row("a", "both", input_by_call=(2_000_000,))]
    figure = input_over_calls(settings(rows))
    assert figure is not None
    assert [len(panel.lines) for panel in figure.axes if panel.get_visible()] == [1, 1]
    assert "cached and new tokens together" in figure.get_supxlabel()


def test_rereads_are_shares_of_runs() -> None:
    """Two of four runs have at least one re-read, one has at least three."""
    rows = [row(name, rereads=number) for name, number in zip("abcd", (0, 0, 1, 3), strict=True)]
    figure = rereads_per_instance(settings(rows))
    assert figure is not None
    (line,) = figure.axes[0].lines
    assert np.asarray(line.get_xydata()).tolist() == [[1, 50], [2, 25], [3, 25], [4, 0]]
    assert line.get_label() == "base: mean 1.0"


def test_outcomes_stand_on_either_side_of_zero() -> None:
    """Recovered to the right, regressed to the left."""
    figure = paired_outcomes(settings([it for it in experiment() if it.arm in ("base", "both")]))
    assert figure is not None
    assert widths(figure.axes[0]) == [1, -1]


def test_an_unknown_cost_is_not_a_bar_of_zero() -> None:
    """A model without a price has its tokens drawn, and the word unknown for its cost; an estimate is marked."""
    figure = cost_and_tokens(settings([row("a", cost=None), row("a", "both", estimated=True)]))
    assert figure is not None
    assert [text.get_text() for text in figure.axes[0].texts] == ["unknown", "~$0.50"]
    assert widths(figure.axes[1]) == pytest.approx([0.1, 0.1, 0, 0, 0.9, 0.9, 0.005, 0.005])
    assert figure.axes[1].get_xlabel() == "tokens, millions\n~ rests on estimated tokens"
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["base", "~ inform + govern"]


def test_runs_whose_rereads_are_unknown_are_not_drawn() -> None:
    """Rather than drawn as runs without any."""
    rows = [row("a"), row("b", rereads=None), row("a", "both", rereads=None)]
    figure = rereads_per_instance(settings(rows))
    assert figure is not None
    assert [line.get_label() for line in figure.axes[0].lines] == ["base: mean 2.0 (1 of 2 runs, others unknown)"]
    title = "mini-swe-agent 2.4.6, gpt-5-mini\nunknown, and not drawn: inform + govern"
    assert figure.axes[0].get_title(loc="left") == title


def test_input_of_unknown_classes_is_a_kind_of_its_own() -> None:
    """An arm without a report of cached tokens is not drawn as one that had none, neither in tokens nor in dollars."""
    untold = row("a", "both", cached_told=False, tokens=Tokens(uncached=700_000, output=5_000))
    figure = cost_and_tokens(settings([row("a"), untold]))
    assert figure is not None
    assert widths(figure.axes[1]) == pytest.approx([0.1, 0, 0, 0, 0.9, 0, 0, 0.7, 0.005, 0.005])
    assert [bar.get_hatch() for bar in figure.axes[0].patches] == [None, "////"]
    assert "hatched: no cached tokens reported" in figure.axes[0].get_xlabel()
    assert "input, classes unknown" in [text.get_text() for text in figure.legends[0].texts]
