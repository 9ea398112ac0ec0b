"""Figure 11: training loss over epochs at every learning rate, from labels alone and after self-pretraining.

The paper says that self-pretraining converges faster and more stably at intermediate rates, that the difference
diminishes at very low ones, and that training is unstable at high ones; it prints no number.  Ours: the loss averaged
over all epochs (the area under the curve, lower where it falls sooner), epochs to 80 % test accuracy, and the max-min
range over seeds.  Checked by ``tests/paper_figures/test_fig11.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from paper_figures.beside import Comparison, finish, sheet
from paper_figures.figure import Drawing, PaperFigure
from paper_figures.kept import KeptRecords, experiment
from paper_figures.over_rates import CONDITIONS
from paper_figures.panels import curve, legend_of, listed
from paper_figures.reported import Reported, reported
from paper_figures.spread import Spread, by_seed, paired, spreads
from paper_figures.style import FAINT
from training.predictions.measures import CONVERGED

TITLE = "Training loss on labels over epochs, at every learning rate"
PLACE = "arXiv 2605.21070, Figure 11"
#: Panels side by side, at most.
COLUMNS = 4
#: Upper end of the axis, in nats: chance is 0.693, and what lies above it is instability.
HIGHEST = 1.2

Curves = Mapping[tuple[float, str], Mapping[float, Spread]]


def draw(kept: KeptRecords) -> Drawing:
    """Read the record of toy-fig4 and draw."""
    record, paper = kept.read("toy-fig4"), reported("fig11")
    wanted = ("condition", "learning_rate", "seed", "epoch", "train_loss", "test_accuracy")
    table = record.table("epochs.csv", *wanted).filter(polars.col("condition").is_in(CONDITIONS))
    rates = table["learning_rate"].unique().sort().to_list()
    curves = {
        (rate, name): spreads(_of(table, rate, name), "train_loss", "epoch") for rate in rates for name in CONDITIONS
    }
    sooner = {rate: _sooner(table, rate) for rate in rates}
    seeds = table["seed"].n_unique()
    columns = min(COLUMNS, len(rates))
    rows = math.ceil(len(rates) / columns)
    body = sheet(2.2 + 1.65 * rows, TITLE, record, seeds)
    body.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in body.axes[len(rates) :]:
        axes.axis("off")
    for place, (axes, rate) in enumerate(zip(body.axes, rates, strict=False)):
        _panel(axes, rate, curves)
        axes.tick_params(labelbottom=True)
        if place + columns >= len(rates):
            axes.set_xlabel("epochs on labels")
        if place % columns == 0:
            axes.set_ylabel("training loss (nats)")
    chance = Line2D([], [], color=FAINT, linewidth=0.8, linestyle=":", label="chance, log 2")
    handles = [*legend_of(CONDITIONS, markers=False), chance]
    body.legend(handles=handles, loc="outside upper center", ncols=4, columnspacing=1.2)
    numbers = {
        "seeds": seeds,
        "curves": [
            {
                "learning_rate": rate,
                "condition": name,
                "epochs": [{"epoch": e, **s.record()} for e, s in points.items()],
            }
            for (rate, name), points in curves.items()
        ],
        "sooner": [{"learning_rate": rate, **_records(found)} for rate, found in sooner.items()],
    }
    above = {rate: max(p.greatest for name in CONDITIONS for p in curves[rate, name].values()) for rate in rates}
    cut = [f"{highest:.3g} at rate {rate:g}" for rate, highest in above.items() if highest > HIGHEST]
    notes = [f"Losses above {HIGHEST:g} are cut off: up to {', '.join(cut)}."] if cut else []
    return finish(body, FIGURE.name, PLACE, record, _compared(paper, sooner, curves, rates), numbers, notes)


def _of(table: polars.DataFrame, rate: float, condition: str) -> polars.DataFrame:
    return table.filter((polars.col("learning_rate") == rate) & (polars.col("condition") == condition))


def _sooner(table: polars.DataFrame, rate: float) -> dict[str, Spread | None]:
    """Scratch minus self-pretrained within seeds: mean loss over epochs, and epochs to 80 % test accuracy."""
    areas, epochs = [], []
    for condition in CONDITIONS:
        runs = _of(table, rate, condition).filter(polars.col("epoch") > 0)
        whole = runs.group_by("seed").agg(polars.col("train_loss").mean(), polars.col("epoch").max())
        whole = whole.filter(polars.col("epoch") == table["epoch"].max())  # a run that diverged has no mean
        areas.append(by_seed(whole, "train_loss"))
        reached = polars.col("epoch").filter(polars.col("test_accuracy") >= CONVERGED).min()
        first = polars.coalesce(reached, polars.col("epoch").max() + 1).alias("epochs")
        epochs.append(by_seed(runs.group_by("seed").agg(first), "epochs"))
    return {"mean loss": paired(*areas), "epochs": paired(*epochs)}


def _panel(axes: Axes, rate: float, curves: Curves) -> None:
    axes.axhline(math.log(2), color=FAINT, linewidth=0.8, linestyle=":")
    for condition in CONDITIONS:
        if curves[rate, condition]:
            curve(axes, condition, curves[rate, condition], markers=False)
    axes.set_ylim(0, HIGHEST)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=(1, 2, 5, 10)))
    axes.set_title(f"rate {rate:g}")


def _compared(
    paper: Mapping[str, Reported],
    sooner: Mapping[float, Mapping[str, Spread | None]],
    curves: Curves,
    rates: Sequence[float],
) -> list[Comparison]:
    areas, epochs = (
        {rate: found[name] for rate, found in sooner.items() if found[name]} for name in ("mean loss", "epochs")
    )
    said = _where_sooner("mean loss over epochs lower", areas, 3, "nats")
    said += "; " + _where_sooner(
        f"{CONVERGED:.0%} test accuracy (never: counted as the epoch after the last) sooner", epochs, 1, "epochs"
    )
    values: dict[str, Spread | float] = {f"mean loss, rate {rate:g}": one for rate, one in areas.items() if one}
    values |= {f"epochs, rate {rate:g}": one for rate, one in epochs.items() if one}
    last = {key: list(points.values())[-1] for key, points in curves.items() if points}
    widths = {key: one.greatest - one.least for key, one in last.items()}
    both = [rate for rate in rates if all((rate, name) in widths for name in CONDITIONS)]
    narrower = [rate for rate in both if widths[rate, "spt-finetune"] < widths[rate, "scratch"]]
    stable = f"max–min range of the last loss narrower after SPT at {listed(narrower)}, of {len(rates)} rates"
    low, high = min(rates), max(rates)
    lowest = areas.get(low)
    ends = [f"at rate {low:g} mean loss lower by {lowest.text()}"] if lowest else []
    for name, words in zip(CONDITIONS, ("from labels alone", "after SPT"), strict=True):
        peak = max((one.greatest for one in curves[high, name].values()), default=math.inf)
        ends.append(f"at rate {high:g} {words} the loss rises to {peak:.3g} in some seed (chance: {math.log(2):.3f})")
    return [
        Comparison(paper["faster"], said, values),
        Comparison(
            paper["stable"], stable, {f"{name}, rate {rate:g}": width for (rate, name), width in widths.items()}
        ),
        Comparison(paper["ends"], "; ".join(ends), {"lowest rate": lowest} if lowest else {}),
    ]


def _where_sooner(words: str, found: Mapping[float, Spread | None], digits: int, unit: str) -> str:
    """At which rates the interval lies above 0, and the greatest of those differences."""
    clear = {rate: one for rate, one in found.items() if one and one.sign > 0}
    if not clear:
        return f"{words} at no rate for certain"
    best = max(clear, key=lambda rate: clear[rate].mean)
    return (
        f"{words} after SPT at {listed(clear)} (95 % intervals), most at {best:g}: {clear[best].text(digits)} ({unit})"
    )


def _records(found: Mapping[str, Spread | None]) -> dict[str, Any]:
    return {name: one.record() if one else None for name, one in found.items()}


FIGURE = PaperFigure("fig11", TITLE, PLACE, (experiment("toy-fig4"),), draw)
