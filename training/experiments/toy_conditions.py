"""Where do the claims of Figure 4 and Table 4 hold?  The free choices of the toy task, one at a time.

The paper's text does not fix noise, cycles, initial scale, tying, batch, residual and mask symbol.  ``toy-conditions``
varies them one at a time around the default with 3 seeds and a third of the self-pretraining: a search, which decides
nothing.  What it finds is named in ``CONFIRMED`` and run again on fresh seeds by ``toy-conditions-fresh``; only those
runs are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars

from training.experiments.comparisons import BySeed, excess_share, gain, most_gaining_rate
from training.experiments.experiment import Experiment, LabeledRun, Scale
from training.experiments.record import csv_bytes, runs_table
from training.experiments.toy_fig4 import ToyFig4, labels, pretraining
from training.records import RunRecord
from training.stages import RunConfig, Supervised, finetune

Change = Callable[[RunConfig], RunConfig]


def _task(**changes: Any) -> Change:
    return lambda run: replace(run, task=replace(run.task, **changes))


def _initial(**changes: Any) -> Change:
    return lambda run: replace(run, initial=replace(run.initial, **changes))


def _model(**changes: Any) -> Change:
    return lambda run: replace(run, model=replace(run.model, **changes))


def _batch(batch: int) -> Change:
    return lambda run: replace(run, stage=replace(run.stage, batch=batch))


#: The free choices, by name; the value in a name replaces the default.
VARIANTS: Mapping[str, Change] = {
    "default": lambda run: run,
    "noise=0.15": _task(noise=0.15),
    "noise=0.6": _task(noise=0.6),
    "cycles=1": _task(cycles=1.0),
    "cycles=4": _task(cycles=4.0),
    "scale=0.5": _initial(scale=0.5),
    "scale=1": _initial(scale=1.0),
    "tied": _initial(scheme="tied"),
    "tied,scale=1": _initial(scheme="tied", scale=1.0),
    "batch=16": _batch(16),
    "batch=100": _batch(100),
    "residual": _model(residual=True),
    "mask=token": _model(mask_input="token"),
    "mask=zero": _model(mask_input="zero"),
}
CONDITIONS = ("scratch", "spt-finetune", "qk-only")
#: Half of the gain at the peaks that the paper reports.
MARGIN = 0.05


@dataclass(frozen=True)
class Trial:
    """What is run under one free choice."""

    rates: tuple[float, ...] = (1e-3, 3e-3, 1e-2)
    """Learning rates of the label stage."""
    conditions: tuple[str, ...] = CONDITIONS
    """What starts from what."""
    claims: tuple[str, ...] = ()
    """Claims that are judged (on fresh seeds)."""


@dataclass(frozen=True)
class Search:
    """Sizes of a search."""

    trials: Mapping[str, Trial]
    """What is run, by name in VARIANTS."""
    seeds: range
    """Seeds; none that another experiment of the toy task uses."""
    toy: ToyFig4 = ToyFig4(spt_epochs=3)  # noqa: RUF009
    """Sizes of the runs."""


_SMALL = ToyFig4(spt_epochs=3, unlabeled=1000)

SEARCHES: dict[Scale, Search] = {
    "smoke": Search({"default": Trial((1e-2,)), "residual": Trial((1e-2,))}, range(100, 102), _SMALL),
    "laptop": Search({name: Trial() for name in ("default", "residual", "batch=16", "batch=100")}, range(100, 103)),
    "paper": Search({name: Trial() for name in VARIANTS}, range(100, 103)),
}

#: What the search of 2026-11-29 pointed to (3 seeds, gains on average): the peaks gain most with full batches (.10 in
#: test, .09 in training accuracy) and a residual (.05); no choice lets query and key carry half the gain, small batches
#: come closest (45 %).  A rate above the search's is added where the best one was its largest.
CONFIRMED: Mapping[str, Trial] = {
    "batch=100": Trial((3e-3, 1e-2, 3e-2, 1e-1), ("scratch", "spt-finetune"), ("peak-test", "peak-train")),
    "residual": Trial((3e-3, 1e-2, 3e-2), ("scratch", "spt-finetune"), ("peak-test",)),
    "batch=16": Trial((1e-3, 3e-3), CONDITIONS, ("qk-carries",)),
}
CONFIRMATIONS: dict[Scale, Search] = {
    "smoke": Search({"batch=16": Trial((1e-2,))}, range(200, 202), _SMALL),
    "laptop": Search(CONFIRMED, range(200, 206)),
    "paper": Search(CONFIRMED, range(200, 208)),
}


def searched(searches: Mapping[Scale, Search]) -> Callable[[Scale], list[LabeledRun]]:
    """The runs of a search at a scale; conditions are labeled ``variant condition``."""

    def runs(scale: Scale) -> list[LabeledRun]:
        search = searches[scale]
        listed = []
        for name, trial in search.trials.items():
            for seed in search.seeds:
                spt = VARIANTS[name](pretraining(search.toy, seed, keep=False))
                for rate in trial.rates:
                    stage = replace(labels(search.toy, rate), evaluate_every=2, batch=spt.stage.batch)
                    for condition in trial.conditions:
                        run = _started(spt, stage, condition)
                        listed.append(LabeledRun(f"{name} {condition}", rate, seed, run))
        return listed

    return runs


def _started(spt: RunConfig, stage: Supervised, condition: str) -> RunConfig:
    if condition == "scratch":
        return RunConfig(spt.task, spt.model, spt.initial, stage, spt.seed)
    return finetune(spt, stage, inherit={"spt-finetune": "all", "qk-only": "qk"}[condition])


def variant_runs(runs: polars.DataFrame, variant: str) -> polars.DataFrame:
    """The rows of one variant, its name taken off the condition."""
    of_variant = runs.filter(polars.col("condition").str.starts_with(f"{variant} "))
    return of_variant.with_columns(polars.col("condition").str.strip_prefix(f"{variant} "))


def claims(runs: polars.DataFrame) -> dict[str, BySeed]:
    """The claims in question, as one number a seed that is positive where the claim holds; rows of one variant.

    peak-test and peak-train: gain at the best rate of each minus MARGIN; small-rate: gain in final test accuracy at the
    smallest rate; qk-carries: gain of query and key alone minus half the whole gain, where that is greatest.
    """
    smallest = float(runs["learning_rate"].min())  # type: ignore[arg-type]
    found = {
        "peak-test": _minus(gain(runs, "peak_test_accuracy", None), MARGIN),
        "peak-train": _minus(gain(runs, "peak_train_accuracy", None), MARGIN),
        "small-rate": gain(runs, "final_test_accuracy", smallest),
    }
    if "qk-only" in runs["condition"]:
        found["qk-carries"] = excess_share(runs, "qk-only", most_gaining_rate(runs))
    return found


def _minus(values: BySeed, margin: float) -> BySeed:
    return {seed: value - margin for seed, value in values.items()}


def tables(scale: Scale, labeled: Sequence[LabeledRun], records: Sequence[RunRecord]) -> Mapping[str, bytes]:
    """claims.csv: variant, claim, seed, value."""
    runs = runs_table(labeled, records)
    names = dict.fromkeys(run.condition.split(" ")[0] for run in labeled)
    rows = [
        {"variant": name, "claim": claim, "seed": seed, "value": value}
        for name in names
        for claim, values in claims(variant_runs(runs, name)).items()
        for seed, value in values.items()
    ]
    return {"claims.csv": csv_bytes(polars.DataFrame(rows))}


TOY_CONDITIONS = Experiment(
    name="toy-conditions",
    title="toy task: free choices one at a time, a search with 3 seeds that decides nothing",
    place="Figure 4 and Table 4, where they hold",
    runs=searched(SEARCHES),
    costs={"smoke": "10 s", "laptop": "2 min", "paper": "6 min"},
    tables=tables,
    keeps_curves=False,
)
TOY_CONDITIONS_FRESH = Experiment(
    name="toy-conditions-fresh",
    title="toy task: the conditions that the search found, on fresh seeds",
    place="Figure 4 and Table 4, where they hold",
    runs=searched(CONFIRMATIONS),
    costs={"smoke": "10 s", "laptop": "2 min", "paper": "3 min"},
    tables=tables,
    keeps_curves=False,
)
