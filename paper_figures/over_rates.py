"""Accuracy over learning rates, with and without self-pretraining (Figures 4 and 13), and its gain within seeds.

Runs of one seed share data, initial weights and order of batches, so the gain is paired.  The best epoch is chosen on
the set that is shown, as the paper's peaks are; the accuracy after the last epoch needs no choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.ticker import PercentFormatter

from paper_figures.kept import Kept
from paper_figures.panels import CONDITIONS as WORDS
from paper_figures.panels import bars, curve, legend_of, rate_axis
from paper_figures.spread import Spread, by_seed, paired, spread, spreads
from paper_figures.style import FAINT, INK, SMALL, VERMILLION
from training.experiments.comparisons import best_rate, gain

CONDITIONS = ("scratch", "spt-finetune")
SPLITS = ("train", "test")
#: Which epoch an accuracy is taken at, with its words.
MOMENTS = {"final": "after the last epoch", "peak": "at the best epoch"}

#: condition -> value -> rate -> spread over seeds
Accuracies = Mapping[str, Mapping[str, Mapping[float, Spread]]]
Gains = Mapping[str, Mapping[float, Spread]]

_VALUES = tuple(f"{moment}_{split}_accuracy" for moment in MOMENTS for split in SPLITS)


def read_runs(kept: Kept) -> polars.DataFrame:
    """The runs table with all that is drawn."""
    return kept.table("runs.csv", "condition", "learning_rate", "seed", "state", *_VALUES, "final_train_loss")


def accuracies(runs: polars.DataFrame) -> Accuracies:
    """Every accuracy over seeds."""
    return {
        condition: {value: spreads(runs.filter(polars.col("condition") == condition), value) for value in _VALUES}
        for condition in CONDITIONS
    }


def gains(runs: polars.DataFrame, values: tuple[str, ...] = _VALUES) -> Gains:
    """Self-pretrained minus scratch, within seeds, at each rate."""
    found: dict[str, dict[float, Spread]] = {}
    for value in values:
        found[value] = {}
        for rate in runs["learning_rate"].unique().sort().to_list():
            at_rate = runs.filter(polars.col("learning_rate") == rate)
            scratch, trained = (by_seed(at_rate.filter(polars.col("condition") == c), value) for c in CONDITIONS)
            difference = paired(trained, scratch)
            if difference:
                found[value][float(rate)] = difference
    return found


def gain_at_best_rates(runs: polars.DataFrame, value: str) -> tuple[Spread, dict[str, float]]:
    """The gain within seeds where each condition has its best rate, and those rates."""
    best = {condition: best_rate(runs, condition, value) for condition in CONDITIONS}
    return spread(gain(runs, value, None).values()), best


def rates_text(best: Mapping[str, float]) -> str:
    """Where the peaks are."""
    return f"best rates {best['scratch']:g} alone, {best['spt-finetune']:g} after SPT"


def draw_panels(body: SubFigure, runs: polars.DataFrame, ceiling: float, reported_gain: float | None) -> None:
    """Accuracies on the training and the test set in two rows, and the gains below.

    Args:
        ceiling: accuracy on the flipped training labels of a network that knows the true ones.
        reported_gain: the paper's number, drawn as a line.
    """
    table, differences = accuracies(runs), gains(runs)
    rates = runs["learning_rate"].unique().sort().to_list()
    grid = body.subplots(3, 2, sharex=True, sharey="row", gridspec_kw={"height_ratios": (1.15, 1.15, 1)})
    for column, split in enumerate(SPLITS):
        for axes, (moment, words) in zip(grid[:2, column], MOMENTS.items(), strict=True):
            for condition in CONDITIONS:
                curve(axes, condition, table[condition][f"{moment}_{split}_accuracy"])
            axes.set_title(f"{split} accuracy {words}")
            points = [p for c in CONDITIONS for s in SPLITS for p in table[c][f"{moment}_{s}_accuracy"].values()]
            _limits(axes, points, (ceiling,))
            if split == "train":
                axes.axhline(ceiling, color=FAINT, linewidth=0.9, linestyle=":")
                axes.annotate(
                    "score of the true labels", (0, ceiling), (3, 1.5), xycoords=("axes fraction", "data"),
                    textcoords="offset points", va="bottom", fontsize=SMALL, color=FAINT,
                )  # fmt: skip
        _gain_panel(grid[2, column], split, differences, reported_gain)
        grid[2, column].set_xlabel("learning rate of the label stage (Adam)")
    for row, name in zip(
        grid[:, 0], ("accuracy", "accuracy", "gain in accuracy\n(SPT minus labels alone)"), strict=True
    ):
        row.set_ylabel(name)
        row.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    rate_axis(grid[2, 0], rates)
    body.legend(handles=legend_of(CONDITIONS), loc="outside upper center", ncols=4, columnspacing=1.2)


def _gain_panel(axes: Axes, split: str, differences: Gains, reported_gain: float | None) -> None:
    axes.axhline(0, color=FAINT, linewidth=0.6)
    for moment, (shift, marker) in {"final": (0.93, "o"), "peak": (1.07, "D")}.items():
        points = {rate * shift: point for rate, point in differences[f"{moment}_{split}_accuracy"].items()}
        means = [point.mean for point in points.values()]
        fill = INK if moment == "final" else "white"
        axes.plot(list(points), means, marker, color=INK, markerfacecolor=fill, markersize=3.5, label=MOMENTS[moment])
        bars(axes, points, INK)
    _limits(axes, (point for found in differences.values() for point in found.values()), (0.0, reported_gain or 0.0))
    if reported_gain is not None:
        label = f"the paper's “~{reported_gain:.0%}”".replace("%", " %")
        axes.axhline(reported_gain, color=VERMILLION, linewidth=0.9, linestyle=":", label=label)
    axes.set_title(f"paired gain in {split} accuracy, 95 % intervals")
    axes.legend(loc="best", fontsize=SMALL, handletextpad=0.2)


def _limits(axes: Axes, points: Iterable[Spread], shown: Iterable[float]) -> None:
    """Room for every seed and some lines; intervals of two or three seeds are wider than that and leave the panel."""
    values = [*shown, *(value for point in points for value in (point.least, point.greatest))]
    reach = 0.08 * (max(values) - min(values)) or 0.05
    axes.set_ylim(min(values) - reach, max(values) + reach)


def notes(runs: polars.DataFrame) -> list[str]:
    """What a reader must know: how best epochs are chosen, and which runs diverged."""
    chosen = "The best epoch and rate are chosen on the set that is shown; the last epoch needs no choice."
    diverged = runs.filter(polars.col("state") == "diverged")
    if diverged.is_empty():
        return [chosen]
    places = diverged.select("condition", "learning_rate").unique().sort("condition", "learning_rate").iter_rows()
    named = ", ".join(f"{WORDS[condition][0]} at {rate:g}" for condition, rate in places)
    return [
        chosen,
        f"{len(diverged)} of {len(runs)} runs diverged ({named}); they count with their last finite values, or not at "
        "all where they have none.",
    ]


def saved(runs: polars.DataFrame) -> dict[str, Any]:
    """All numbers drawn, ready for JSON."""
    diverged = runs.filter(polars.col("state") == "diverged")
    return {
        "accuracies": {
            condition: {value: _by_rate(points) for value, points in values.items()}
            for condition, values in accuracies(runs).items()
        },
        "gains": {value: _by_rate(points) for value, points in gains(runs).items()},
        "diverged": diverged.select("condition", "learning_rate", "seed").to_dicts(),
    }


def _by_rate(points: Mapping[float, Spread]) -> list[dict[str, Any]]:
    return [{"learning_rate": rate, **point.record()} for rate, point in points.items()]
