"""Experiments of which only a part can be run, or is asked for now; a condition names its data set first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numerics.errors import InputError
from training.data.places import DataError
from training.execute import load_data
from training.experiments.experiment import LabeledRun
from training.records import RunRecord, find_record
from training.stages import chain


def dataset_of(run: LabeledRun) -> str:
    """The data set that a condition names first.

    >>> from training.experiments.catalogue import find_experiment
    >>> dataset_of(find_experiment("table4").runs("smoke")[0])
    'image'
    """
    return run.condition.partition(" ")[0]


def select(labeled: Sequence[LabeledRun], only: Sequence[str]) -> list[LabeledRun]:
    """The runs of the named conditions or data sets; all where none is named."""
    known = dict.fromkeys(run.condition for run in labeled)
    sets = dict.fromkeys(dataset_of(run) for run in labeled)
    unknown = [name for name in only if name not in known and name not in sets]
    if unknown:
        raise InputError(
            f"--only names data sets or conditions of the experiment: {', '.join(unknown)}; use {', '.join(sets)}, or "
            f"one of {', '.join(known)}"
        )
    return [run for run in labeled if not only or dataset_of(run) in only or run.condition in only]


def runnable(labeled: Sequence[LabeledRun]) -> tuple[list[LabeledRun], dict[str, str]]:
    """The runs whose data are there (prepared now where they were not), and why the others' are not, by data set."""
    found: dict[Any, str | None] = {}
    kept: list[LabeledRun] = []
    missing: dict[str, str] = {}
    for run in labeled:
        reasons = [_reason(link.task, found) for link in chain(run.config)]
        reason = next((one for one in reasons if one is not None), None)
        if reason is None:
            kept.append(run)
        else:
            missing.setdefault(dataset_of(run), reason)
    return kept, missing


def _reason(task: Any, found: dict[Any, str | None]) -> str | None:
    if task not in found:
        try:
            load_data(task)
            found[task] = None
        except DataError as error:
            found[task] = str(error)
    return found[task]


def with_finished(
    listed: Sequence[LabeledRun], labeled: Sequence[LabeledRun], records: Sequence[RunRecord], runs: Path
) -> tuple[list[LabeledRun], list[RunRecord]]:
    """What was run now, and every other condition of the experiment that is there at all its seeds and rates."""
    known = {run.config.hash: record for run, record in zip(labeled, records, strict=True)}
    for run in listed:
        record = known.get(run.config.hash) or find_record(run.config, runs)
        if record is not None:
            known[run.config.hash] = record
    lacking = {run.condition for run in listed if run.config.hash not in known}
    kept = [run for run in listed if run.condition not in lacking]
    return kept, [known[run.config.hash] for run in kept]
