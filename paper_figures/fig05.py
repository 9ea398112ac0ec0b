"""Figure 5: losses over steps, and attention before and after training, at the rate of the greatest gap in train loss.

One input as in the paper, and below it the mean over seeds, so that one seed's chance is not taken for the pattern.
All attention matrices share one logarithmic colour scale, on which 1 is uniform.  Checked by
``tests/paper_figures/test_attention.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import SubFigure

from paper_figures.beside import Comparison, finish, sheet
from paper_figures.figure import Drawing, PaperFigure
from paper_figures.kept import Kept, KeptRecords, experiment
from paper_figures.panels import CONDITIONS, legend_of, matrix, rounded
from paper_figures.reported import Reported, reported
from paper_figures.spread import Spread, by_seed, spread
from paper_figures.style import FAINT
from training.probes.network import NEAR
from training.probes.patterns import uniform_distance, uniform_mass

TITLE = "Attention on an input before and after training, and the losses that shaped it"
PLACE = "arXiv 2605.21070, Figure 5"
STATES = {
    "initial": "at initialisation",
    "spt": "after SPT",
    "finetuned": "after SPT and labels",
    "scratch": "after labels alone",
}
MEASURES = ("mean_distance", "mass_near", "entropy")
#: Attention times the number of tokens: limits of the colour scale; 1 is uniform.
SCALE = (0.03, 30.0)


def draw(kept: KeptRecords) -> Drawing:
    """Read the record of toy-fig5 and draw."""
    record, paper = kept.read("toy-fig5"), reported("fig05")
    losses = record.table("losses.csv", "stage", "step", "mean", "least", "greatest")
    rates = record.table("rate.csv", "learning_rate", "gap", "chosen")
    measures = attention_measures(record, tuple(STATES))
    maps = record.arrays("attention.npz", *(f"{state}-{kind}" for state in STATES for kind in ("one", "mean")))
    rate = float(rates.filter(polars.col("chosen"))["learning_rate"][0])
    seeds = measures["initial"]["mass_near"].seeds
    tokens = len(maps["initial-one"])
    body = sheet(6.9, TITLE, record, seeds)
    halves = body.add_gridspec(2, 1, height_ratios=(1, 1.9))
    top, bottom = body.add_subfigure(halves[0]), body.add_subfigure(halves[1])
    _losses(top, losses, rate)
    _attention(bottom, maps, measures, tokens, seeds)
    numbers = {
        "seeds": seeds,
        "learning_rate": rate,
        "gaps": rates.to_dicts(),
        "losses": losses.to_dicts(),
        "measures": {s: {m: one.record() for m, one in found.items()} for s, found in measures.items()},
        "uniform": {"mean_distance": uniform_distance(tokens), "mass_near": uniform_mass(tokens, NEAR)},
        "attention": {name: rounded(values.astype(np.float64), 4) for name, values in maps.items()},
    }
    return finish(body, FIGURE.name, PLACE, record, _compared(paper, measures, rates, rate, tokens), numbers)


def attention_measures(record: Kept, states: tuple[str, ...]) -> dict[str, dict[str, Spread]]:
    """Distance, mass near the query and entropy of every state over seeds (attention.csv of Figures 5 and 6)."""
    table = record.table("attention.csv", "state", "seed", *MEASURES)
    found = {state: table.filter(polars.col("state") == state) for state in states}
    for state, rows in found.items():
        if rows.is_empty():
            raise record.unreadable("attention.csv", f"it has no state {state}")
    return {state: {name: spread(by_seed(rows, name).values()) for name in MEASURES} for state, rows in found.items()}


def _losses(area: SubFigure, losses: polars.DataFrame, rate: float) -> None:
    area.legend(
        handles=legend_of(("spt", "scratch", "spt-finetune"), markers=False), loc="outside upper center", ncols=4
    )
    left, right = area.subplots(1, 2)
    _loss_panel(left, losses, ("spt",), "reconstruction loss", "SPT: masked reconstruction (means of 20 steps)")
    _loss_panel(right, losses, ("scratch", "spt-finetune"), "loss on labels (nats)", f"labels, learning rate {rate:g}")


def _loss_panel(axes: Axes, losses: polars.DataFrame, stages: tuple[str, ...], unit: str, title: str) -> None:
    for stage in stages:
        rows = losses.filter(polars.col("stage") == stage).sort("step")
        _, colour, _, dashes = CONDITIONS[stage]
        step = rows["step"].to_numpy()
        axes.fill_between(step, rows["least"].to_numpy(), rows["greatest"].to_numpy(), color=colour, alpha=0.18, lw=0)
        axes.plot(step, rows["mean"].to_numpy(), color=colour, linestyle=dashes)
    axes.set(xlabel="step", ylabel=unit, title=title)
    axes.set_ylim(bottom=0)


def _attention(
    area: SubFigure,
    maps: Mapping[str, Float[np.ndarray, "tokens tokens"]],
    measures: Mapping[str, Mapping[str, Spread]],
    tokens: int,
    seeds: int,
) -> None:
    grid = area.subplots(2, len(STATES), sharex=True, sharey=True)
    norm = LogNorm(*SCALE)
    for column, (state, words) in enumerate(STATES.items()):
        for row, kind in enumerate(("one", "mean")):
            values = np.clip(maps[f"{state}-{kind}"].astype(np.float64) * tokens, SCALE[0], None)
            image = matrix(grid[row, column], values, cmap="cividis", norm=norm)
        found = measures[state]
        grid[0, column].set_title(words)
        grid[1, column].set_xlabel(
            f"key\nmass within ±{NEAR}: {found['mass_near'].mean:.3f}\nmean distance: {found['mean_distance'].mean:.1f}"
        )
    grid[0, 0].set_ylabel("query\n(one input, seed 0)")
    grid[1, 0].set_ylabel(f"query\n(mean over {seeds} seeds)")
    bar = area.colorbar(image, ax=grid, shrink=0.8, pad=0.01, extend="both")
    bar.set_label(f"attention × {tokens} (1: uniform)")
    bar.outline.set_edgecolor(FAINT)


def _compared(
    paper: dict[str, Reported],
    measures: Mapping[str, Mapping[str, Spread]],
    rates: polars.DataFrame,
    rate: float,
    tokens: int,
) -> list[Comparison]:
    even = uniform_mass(tokens, NEAR)
    initial, after, tuned, scratch = (measures[state]["mass_near"] for state in STATES)
    gap = float(rates.filter(polars.col("chosen"))["gap"][0])
    return [
        Comparison(
            paper["initial"],
            f"mass within ±{NEAR} of the query {initial.text()} (95 % interval; uniform attention: {even:.3f})",
            {"mass": initial, "uniform": even},
        ),
        Comparison(paper["spt"], f"mass within ±{NEAR} {after.text()}", {"mass": after}),
        Comparison(
            paper["finetuned"],
            f"mass within ±{NEAR} {tuned.text()}, entropy {measures['finetuned']['entropy'].mean:.2f} against "
            f"{measures['spt']['entropy'].mean:.2f} nats; after labels alone {scratch.text()}",
            {"mass": tuned, "mass, labels alone": scratch},
        ),
        Comparison(
            paper["rate"], f"{rate:g}, of {len(rates)} rates; gap {gap:.3f}", {"learning_rate": rate, "gap": gap}
        ),
    ]


FIGURE = PaperFigure("fig05", TITLE, PLACE, (experiment("toy-fig5"),), draw)
