"""Experiments of which only a part can be run, or is asked for now; a condition names its data set first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numerics.errors import InputError
from training.data.places import DataError, MissingDataError
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


def runnable(labeled: Sequence[LabeledRun]) -> tuple[list[LabeledRun], dict[str, DataError]]:
    """The runs whose data are there (prepared now where they were not), and why the others' are not, by data set."""
    found: dict[Any, DataError | None] = {}
    kept: list[LabeledRun] = []
    missing: dict[str, DataError] = {}
    for run in labeled:
        for link in chain(run.config):
            if link.task not in found:
                found[link.task] = why_not(link.task)
        reason = next((found[link.task] for link in chain(run.config) if found[link.task] is not None), None)
        if reason is None:
            kept.append(run)
        else:
            missing.setdefault(dataset_of(run), reason)
    return kept, missing


def why_not(task: Any) -> DataError | None:
    """Why the data of a task cannot be used: a MissingDataError where they are not there, else they are wrong."""
    try:
        load_data(task)
    except DataError as error:
        return error
    return None


def said(reason: DataError) -> str:
    """Missing and wrong data are told apart: the first is no error of an experiment, the second is one."""
    return f"not run: {kind(reason)} data: {reason}"


def kind(reason: DataError) -> str:
    """Missing or wrong."""
    return "missing" if isinstance(reason, MissingDataError) else "wrong"


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
