"""``python -m training run``: carry out an experiment, resumably, and show what came of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import polars
import tyro
from rich import box
from rich.table import Table
from rich.text import Text

from numerics.errors import InputError
from training.data.places import MissingDataError
from training.distributed import is_first
from training.execute import Execution
from training.experiments.catalogue import find_experiment
from training.experiments.experiment import Experiment, Scale
from training.experiments.partial import kind, runnable, said, select, with_finished
from training.experiments.record import ExperimentRecord, condition_table, write_experiment
from training.progress import shown
from training.sweep import all_runs, check_execution, cost, pending_runs, sweep
from training.terminal import err, out


def run(
    experiment: Annotated[str, tyro.conf.Positional],
    scale: Scale = "smoke",
    runs: Path = Path("runs"),
    jobs: int = os.cpu_count() or 1,
    backend: str = "processes",
    checkpoint_seconds: float = 30.0,
    only: tuple[str, ...] = (),
    device: str = "auto",
    precision: str = "float32",
) -> int:
    """Run an experiment, resumably.  Example: python -m training run toy-fig4 --scale smoke

    Stop it with Ctrl-C and say the same again: it goes on from its checkpoints and ends with the same numbers.
    What its data are missing for is not run, and said so with the command that gets them; the rest is.
    Exit code 0: all runs are there, or their data are missing; 2: bad input, wrong data, or the disk is full;
    3: internal error; 130: interrupted.

    Args:
        experiment: a name from "list".
        scale: smoke (does it work), laptop, or paper.
        runs: folder of run records; made where it does not exist.
        jobs: number of single-threaded processes (always one on a GPU and under torchrun).
        backend: processes, or dask (extra "cluster"; scheduler from DASK_SCHEDULER_ADDRESS).
        checkpoint_seconds: least time between checkpoints of one run.
        only: data sets or conditions to run now; the record holds every condition that is there.
        device: cpu, cuda, or auto: a GPU where there is one.  Several: torchrun --nproc_per_node=N -m training run ...
        precision: float32, or bfloat16 (forward passes under autocast; weights and losses stay float32).
    """
    chosen = find_experiment(experiment)
    if runs.exists() and not runs.is_dir():
        raise InputError(f"--runs must be a folder: {runs} is a file; name another folder")
    listed = chosen.runs(scale)
    asked = select(listed, only)
    Execution(checkpoint_seconds, device=device, precision=precision)  # refuses what does not exist
    check_execution(runs, jobs, backend)
    for line in chosen.statement(scale) if chosen.statement is not None else ():
        err().print(line, soft_wrap=True)
    with err().status("looking for data, preparing what is not prepared yet"):
        labeled, missing = runnable(asked)
        missing |= chosen.lacking(scale) if chosen.lacking is not None else {}
    configs = [item.config for item in labeled]
    pending = pending_runs(configs, runs)
    total = len(all_runs(configs))
    err().print(f"{chosen.name} at {scale} scale: {total} runs, {total - len(pending)} there already")
    with shown({config.id: cost(config) for config in pending}, runs) as finished:
        records = sweep(
            configs,
            runs,
            jobs=jobs,
            backend=backend,
            checkpoint_seconds=checkpoint_seconds,
            progress=finished,
            device=device,
            precision=precision,
        )
    if not is_first():
        return 0
    if only:
        labeled, records = with_finished(listed, labeled, records, runs)
    if labeled or not listed:
        reasons = {dataset: kind(reason) for dataset, reason in missing.items()}  # no folder of this machine
        record = write_experiment(chosen, scale, labeled, records, runs, reasons)
        _show(chosen, record)
        out().print(f"record: {record.folder}", soft_wrap=True)
    else:
        out().print("no record: the data of every run are missing")
    for dataset, reason in missing.items():
        out().print(f"{dataset}: {said(reason)}", soft_wrap=True)
    return 0 if all(isinstance(reason, MissingDataError) for reason in missing.values()) else 2


def _show(experiment: Experiment, record: ExperimentRecord) -> None:
    if not record.content["runs"]:
        out().print("nothing was trained: the record holds measured data alone")
        if experiment.summary is not None and experiment.summary[0] in record.content["files"]:
            file, shorten = experiment.summary
            _show_rows(shorten(record.table(file)))
        return
    table = Table("condition", "rate", *(name.replace("_", " ") for name in experiment.shown), box=box.SIMPLE_HEAD)
    rows = condition_table(record, experiment.shown).to_dicts()
    for row in rows:
        values = [
            f"{row[f'{name} mean']:.3f} ({row[f'{name} least']:.2f}–{row[f'{name} greatest']:.2f})"
            if row[f"{name} mean"] is not None
            else "–"
            for name in experiment.shown
        ]
        table.add_row(row["condition"], f"{row['learning_rate']:g}", *values)
    out().print(table)
    seeds = rows[0]["seeds"]
    out().print(f"mean over {seeds} seeds (least–greatest)" + ("" if seeds >= 6 else "; too few seeds to conclude"))
    for row in rows:
        for name, sentence in (("stuck", "never left chance on the training set"), ("diverged", "diverged")):
            if row[name]:
                text = f"warning: {row['condition']} at {row['learning_rate']:g}: {row[name]} of {seeds} {sentence}"
                out().print(Text(text, "yellow"))


def _show_rows(rows: polars.DataFrame) -> None:
    table = Table(*(name.replace("_", " ") for name in rows.columns), box=box.SIMPLE_HEAD)
    for row in rows.iter_rows():
        table.add_row(*(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row))
    out().print(table)
