"""The door ``python -m training``: run experiments, list what is there, keep small records."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import tyro
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from numerics.errors import InputError
from training.data_command import data
from training.distributed import is_first
from training.evaluate_command import evaluate
from training.experiments.catalogue import experiments, find_experiment
from training.experiments.experiment import SCALES, Experiment, Scale
from training.experiments.partial import runnable, select, with_finished
from training.experiments.record import (
    FOLDER,
    KEPT,
    ExperimentRecord,
    condition_table,
    keep_experiment,
    write_experiment,
)
from training.predictions.catalogue import predictions
from training.predictions.prediction import Records, judge
from training.predictions.printing import show
from training.predictions.verdicts import as_json, as_markdown, write_verdicts
from training.records import PARTIAL, RunRecord, keep_record, read_record
from training.stages import RunConfig
from training.sweep import all_runs, cost, pending_runs, sweep

_DESCRIPTION = """Experiments of the paper: train, record, keep.

Examples:
  python -m training list                          experiments, scales, costs, and what is in runs/
  python -m training run toy-fig4 --scale smoke    runs an experiment; a run that exists is not run again
  python -m training keep toy-fig4-paper           copies small records to paper_figures/records/
  python -m training verdicts                      judges every prediction whose records are kept
"""

#: A pipe has no width of its own; tables are made for 100 columns.
_WIDTH = None if sys.stdout.isatty() else 100

Names = Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN…")]


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
    Exit code 0: all runs are there; 2: bad input, or the disk is full; 3: internal error; 130: interrupted.

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
    for line in chosen.statement(scale) if chosen.statement is not None else ():
        _err().print(line, soft_wrap=True)
    with _err().status("looking for data, preparing what is not prepared yet"):
        labeled, missing = runnable(select(listed, only))
    configs = [item.config for item in labeled]
    pending = pending_runs(configs, runs)
    total = len(all_runs(configs))
    _err().print(f"{chosen.name} at {scale} scale: {total} runs, {total - len(pending)} there already")
    records = _with_progress(configs, pending, runs, jobs, backend, checkpoint_seconds, device, precision)
    if not is_first():
        return 0
    if only:
        labeled, records = with_finished(listed, labeled, records, runs)
    record = write_experiment(chosen, scale, labeled, records, runs, missing)
    _show(chosen, record)
    for dataset, why in missing.items():
        _out().print(f"{dataset}: not run: missing data: {why}", soft_wrap=True)
    _out().print(f"record: {record.folder}", soft_wrap=True)
    return 0


def _with_progress(
    configs: list[RunConfig],
    pending: list[RunConfig],
    runs: Path,
    jobs: int,
    backend: str,
    checkpoint_seconds: float,
    device: str,
    precision: str,
) -> list[RunRecord]:
    columns = (
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=_err(), transient=True) as bar:
        work = {config.id: cost(config) for config in sorted(pending, key=lambda config: config.seed)}
        task = bar.add_task("starting", total=sum(work.values()))
        done: list[str] = []

        def finished(record: RunRecord) -> None:
            done.append(record.id)
            text = f"{len(done)} of {len(work)} runs, last {record.id}"
            bar.update(task, advance=work.get(record.id, 0), description=text)

        return sweep(
            configs,
            runs,
            jobs=jobs,
            backend=backend,
            checkpoint_seconds=checkpoint_seconds,
            progress=finished,
            device=device,
            precision=precision,
        )


def _show(experiment: Experiment, record: ExperimentRecord) -> None:
    if not record.content["runs"]:
        _out().print("nothing was trained: the record holds measured data alone")
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
    _out().print(table)
    seeds = rows[0]["seeds"]
    _out().print(f"mean over {seeds} seeds (least–greatest)" + ("" if seeds >= 6 else "; too few seeds to conclude"))
    for row in rows:
        for name, sentence in (("stuck", "never left chance on the training set"), ("diverged", "diverged")):
            if row[name]:
                text = f"warning: {row['condition']} at {row['learning_rate']:g}: {row[name]} of {seeds} {sentence}"
                _out().print(Text(text, "yellow"))


def list_all(runs: Path = Path("runs")) -> int:
    """Experiments, what each costs, and how many of their runs are there.  Example: python -m training list

    Args:
        runs: folder of run records.
    """
    table = Table(
        "experiment", "shows", "scale", "time on two cores", "runs there", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for experiment in experiments():
        name, shows = Text(experiment.name, "bold"), Text(f"{experiment.title} ({experiment.place})")
        for scale in SCALES:
            configs = [item.config for item in experiment.runs(scale)]
            total = len(all_runs(configs))
            there = total - len(pending_runs(configs, runs))
            table.add_row(name, shows, scale, experiment.costs[scale], f"{there} of {total}")
            name = shows = Text()
    _out().print(table)
    waiting = sorted(path.parent.name for path in (runs / PARTIAL).glob("*/state.safetensors"))
    if waiting:
        _out().print(f"{len(waiting)} interrupted runs go on from a checkpoint when their experiment is run again")
    return 0


def keep(names: Names = (), runs: Path = Path("runs"), to: Path = KEPT) -> int:
    """Copy small records (no checkpoints) to paper_figures/records/.  Example: python -m training keep toy-fig4-paper

    Args:
        names: an experiment with its scale (toy-fig4-paper), or the id of a single run.
        runs: folder of run records.
        to: folder of kept records.
    """
    if not names:
        raise InputError("keep needs a name: none was given; say toy-fig4-paper, or the id of a run in --runs")
    folders = []
    for name in dict.fromkeys(names):
        found = [folder for folder in (runs / FOLDER / name, runs / name) if folder.is_dir()]
        if not found or not name.strip("./"):
            raise InputError(f"what is kept must be there: {name!r} is not in {runs}; run it first with training run")
        folders.append(found[0])
    for folder in folders:
        is_experiment = folder.parent.name == FOLDER
        kept = keep_experiment(folder, to) if is_experiment else keep_record(read_record(folder), to)
        _out().print(f"kept {kept}", soft_wrap=True)
    return 0


def verdicts(
    write: bool = False,
    records: Path = KEPT,
    scale: Scale = "paper",
    json: bool = False,
    markdown: bool = False,
) -> int:
    """Judge the predictions by the kept records.  Example: python -m training verdicts

    A prediction whose records are missing reads "not run", with the command that makes them; exit code 0 all the same.

    Args:
        write: also write verdicts.json beside the records; the verifier's grade "trained" reads it.
        records: folder of kept experiments (runs/experiments holds those that are not kept).
        scale: scale of the records.
        json: print the JSON alone.
        markdown: print a short Markdown table alone, as the README shows it.
    """
    known = Records(records, scale)
    judgements = judge(predictions(), known)
    path = write_verdicts(judgements, known) if write else None
    if json:
        print(as_json(judgements, known), end="")
        return 0
    if markdown:
        print(as_markdown(judgements), end="")
        return 0
    show(_out(), judgements, known)
    if path is not None:
        _out().print(f"wrote {path}", soft_wrap=True)
    return 0


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _out() -> Console:
    return _Console(width=_WIDTH, highlight=False)


def _err(always: bool = False) -> Console:
    return Console(stderr=True, highlight=False, quiet=not (always or is_first()))


COMMANDS: dict[str, Callable[..., int]] = {
    "run": run,
    "list": list_all,
    "keep": keep,
    "verdicts": verdicts,
    "evaluate": evaluate,
    "data": data,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    try:
        if given[:1] == ["data"]:
            return data(given[1:])
        return int(
            tyro.extras.subcommand_cli_from_dict(
                COMMANDS, args=given, prog="python -m training", description=_DESCRIPTION
            )
        )
    except InputError as error:
        if debug:
            traceback.print_exc()
        _err(always=True).print(Text(f"error: {error}", "red"), soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        _err().print("interrupted; say the same command again to go on from the last checkpoints")
        return 130
    except BrokenPipeError:  # the reader (head, less) has seen enough; nothing is left to flush into
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        message = f"internal error: {type(error).__name__}: {error}; --debug shows where"
        _err(always=True).print(Text(message, "red"), soft_wrap=True)
        return 3


if __name__ == "__main__":
    sys.exit(main())
