"""What the audit of the data says before anything is trained, on the tasks and on the UCR sets (claims G1, G7, G8, N1).

audit.csv  dataset, name (blind_energy_fraction, pooled_response, spt_slope, spt_slope_masked, order_strength ...),
           value, low, high, sequences, length
           of the training sequences, ALiBi as the pattern, mean pooling, at the recipe's mask ratio

Sequences of one length are needed: of those whose lengths differ, the ones at least as long as the median, cut to it.
Discrete tokens are embedded one-hot.  Nothing is trained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars
import torch

from numerics.audit.run import AuditOptions, audit
from numerics.inputs import SymbolData, TokenData
from training.data.places import DataError
from training.data.sequences import SequenceSet
from training.data.ucr import PAPER_SETS, UcrTask
from training.execute import load_data
from training.experiments.experiment import Experiment, LabeledRun, Scale
from training.experiments.partial import why_not
from training.experiments.record import csv_bytes
from training.experiments.table06 import PRESETS
from training.recipes.catalogue import DATASETS, recipe
from training.records import RunRecord

NAME = "lra-audit"
AUDIT = "audit.csv"
#: Sequences audited of each set: enough for narrow intervals, few enough for a minute.
SEQUENCES = 2000
#: Numbers of the terminal's table.
SHOWN = ("blind_energy_fraction", "order_slope", "order_slope_signal_to_noise", "order_strength")


def tasks(scale: Scale) -> dict[str, tuple[Any, float]]:
    """Every data set with its task and mask ratio."""
    recipes = {dataset: recipe(dataset, scale) for dataset in DATASETS}
    found = {name: (one.task, float(one.value("mask_ratio"))) for name, one in recipes.items()}
    choices = PRESETS[scale]
    for name in PAPER_SETS:
        found[name] = (UcrTask(dataset=name, normalise=choices.normalise), choices.mask_ratio)
    return found


def token_data(name: str, data: SequenceSet) -> TokenData | SymbolData:
    """Sequences of one length for the audit."""
    pairs = data.lengths.ndim > 1
    lengths = data.lengths[:, 0] if pairs else data.lengths
    length = int(lengths.median())
    index = torch.nonzero(lengths >= length).flatten()[:SEQUENCES]
    values = data.values(index)[:, 0] if pairs else data.values(index)
    labels = None if data.labels is None else data.labels[index].numpy().astype(np.int64)
    cut = values[:, :length]
    if cut.is_floating_point():
        assert labels is not None
        return TokenData(name, cut.numpy().astype(np.float64), labels)
    return SymbolData(name, cut.numpy().astype(np.int64), labels)


def tables(scale: Scale, labeled: Sequence[LabeledRun], records: Sequence[RunRecord]) -> Mapping[str, bytes]:
    """audit.csv, of the data that are there."""
    rows = [row for name, (task, ratio) in tasks(scale).items() for row in _rows(name, task, ratio)]
    return {AUDIT: csv_bytes(polars.DataFrame(rows, infer_schema_length=None))} if rows else {}


def lacking(scale: Scale) -> dict[str, DataError]:
    """The sets that cannot be audited."""
    reasons = {name: why_not(task) for name, (task, _) in tasks(scale).items()}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def summary(rows: polars.DataFrame) -> polars.DataFrame:
    """What decides, a row a data set: is a distance pattern hidden from labels, and does reconstruction write it?"""
    table = rows.pivot("name", index="dataset", values="value").select("dataset", *SHOWN)
    return table.sort("order_strength", descending=True)


def _rows(name: str, task: Any, ratio: float) -> Iterator[dict[str, Any]]:
    if why_not(task) is not None:
        return
    data = token_data(name, load_data(task).train)
    found = audit(data, AuditOptions(mask_ratio=ratio))
    sizes = {"sequences": found["data"]["sequences"], "length": found["data"]["length"]}
    for number, estimate in found["numbers"].items():
        row = {"dataset": name, "name": number}
        yield row | {key: estimate[key] for key in ("value", "low", "high")} | sizes


def no_runs(scale: Scale) -> list[LabeledRun]:
    """Nothing is trained."""
    return []


AUDIT_OF_LRA = Experiment(
    name=NAME,
    title="what the audit says of each data set before training",
    place="Section 5 on the paper's data",
    runs=no_runs,
    costs={"smoke": "10 s", "laptop": "1 min", "paper": "10 min"},
    tables=tables,
    lacking=lacking,
    summary=(AUDIT, summary),
)
