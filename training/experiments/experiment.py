"""An experiment is a list of runs with labels, at three scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars

from training.data.places import DataError
from training.records import RunRecord
from training.stages import RunConfig

Scale = Literal["smoke", "laptop", "paper"]
SCALES: tuple[Scale, ...] = ("smoke", "laptop", "paper")


@dataclass(frozen=True)
class LabeledRun:
    """A run and its place in the experiment's table."""

    condition: str
    """What distinguishes it: scratch, spt-finetune, …"""
    learning_rate: float
    """Rate of the last stage."""
    seed: int
    """Seed; runs of one seed share data, initial weights and batch order."""
    config: RunConfig
    """The run (its ancestors are run too)."""


#: From a scale, the experiment's runs.
Runs = Callable[[Scale], list[LabeledRun]]
#: From a scale, the experiment's runs and their records to files by name.
Tables = Callable[[Scale, Sequence[LabeledRun], Sequence[RunRecord]], Mapping[str, bytes]]


@dataclass(frozen=True)
class Experiment:
    """What ``python -m training run NAME`` carries out."""

    name: str
    """Name on the command line."""
    title: str
    """What it shows, in one line."""
    place: str
    """Figure or table of the paper."""
    runs: Runs
    """The runs at a scale."""
    costs: dict[Scale, str]
    """Wall time to expect on two cores."""
    shown: tuple[str, ...] = ("peak_train_accuracy", "peak_test_accuracy", "final_test_accuracy")
    """Summary values that the terminal shows."""
    tables: Tables | None = None
    """Measures the finished runs (networks included) and names further files of the record, with their content."""
    keeps_curves: bool = True
    """Whether the record holds the curves of all runs (epochs.csv)."""
    statement: Callable[[Scale], Sequence[str]] | None = None
    """Said before the runs: the smallest effect that they could show, a line a data set."""
    lacking: Callable[[Scale], Mapping[str, DataError]] | None = None
    """Where data are measured without runs: the sets that cannot be, with the reason."""
    summary: tuple[str, Callable[[polars.DataFrame], polars.DataFrame]] | None = None
    """Where nothing is trained: a table of the record, and what the terminal shows of it."""
