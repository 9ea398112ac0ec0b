"""Tables 10 and 11 and Figure 9: how far each component moves, and its norm, on Image and on PathFinder.

weights.csv  pair (R>SPT, R>SC, SPT>FT, SC>FT, R>FT), learning_rate, seed, layer, component, displacement, norms, ranks
The runs are those of Table 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import polars

from training.experiments.displacement import label_pairs, pretraining_pair
from training.experiments.experiment import Experiment, LabeledRun, Scale
from training.experiments.lra.accuracy import choices
from training.experiments.lra.arms import Arms
from training.experiments.record import csv_bytes
from training.recipes.catalogue import recipe
from training.records import RunRecord

WEIGHTS = "weights.csv"


def runs(dataset: str, scale: Scale) -> list[LabeledRun]:
    """Self-pretraining, scratch and finetuning of every seed."""
    found, listed = recipe(dataset, scale), []
    for seed in found.seeds:
        arms = Arms(found, seed)
        listed.append(LabeledRun(f"{dataset} spt", found.value("spt_rate"), seed, arms.spt()))
        listed += [
            LabeledRun(f"{dataset} {arm}", found.value("label_rate"), seed, arms.run(arm))
            for arm in ("scratch", "spt-finetune")
        ]
    return listed


def tables(
    dataset: str, scale: Scale, labeled: Sequence[LabeledRun], records: Sequence[RunRecord]
) -> Mapping[str, bytes]:
    """weights.csv and the choices."""
    found = {(run.condition.partition(" ")[2], run.seed): rec for run, rec in zip(labeled, records, strict=True)}
    rows = [row for seed in sorted({seed for _, seed in found}) for row in _rows(found, seed, scale, dataset)]
    if not rows:
        return {}
    files = choices(lambda scale: [recipe(dataset, scale)], scale, labeled, records)
    return {**files, WEIGHTS: csv_bytes(polars.DataFrame(rows, infer_schema_length=None))}


def _rows(
    found: Mapping[tuple[str, int], RunRecord], seed: int, scale: Scale, dataset: str
) -> Iterator[dict[str, Any]]:
    chosen = recipe(dataset, scale)
    spt, scratch, finetuned = (found[arm, seed] for arm in ("spt", "scratch", "spt-finetune"))
    for pair, row in pretraining_pair(spt):
        yield {"pair": pair, "learning_rate": chosen.value("spt_rate"), "seed": seed} | row
    for pair, row in label_pairs(spt, scratch, finetuned):
        yield {"pair": pair, "learning_rate": chosen.value("label_rate"), "seed": seed} | row


def _table(number: int, dataset: str) -> Experiment:
    return Experiment(
        name=f"table{number}",
        title=f"displacements and norms by component, {dataset}",
        place=f"Table {number} and Figure 9",
        runs=partial(runs, dataset),
        costs={"smoke": "10 s", "laptop": "30 min", "paper": "GPU hours"},
        shown=("final_test_accuracy", "final_validation_loss"),
        tables=partial(tables, dataset),
        keeps_curves=False,
    )


WEIGHT_TABLES = (_table(10, "image"), _table(11, "pathfinder"))
