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
from rich.table import Table
from rich.text import Text

from numerics.errors import InputError
from training.data_command import data
from training.evaluate_command import evaluate
from training.experiments.catalogue import experiments
from training.experiments.experiment import SCALES, Scale
from training.experiments.record import (
    FOLDER,
    KEPT,
    keep_experiment,
)
from training.predictions.catalogue import predictions
from training.predictions.prediction import Records, judge
from training.predictions.printing import show
from training.predictions.verdicts import as_json, as_markdown, write_verdicts
from training.records import PARTIAL, keep_record, read_record
from training.run_command import run
from training.sweep import all_runs, pending_runs
from training.terminal import err, out

_DESCRIPTION = """Experiments of the paper: train, record, keep.

Examples:
  python -m training list                          experiments, scales, costs, and what is in runs/
  python -m training run toy-fig4 --scale smoke    runs an experiment; a run that exists is not run again
  python -m training keep toy-fig4-paper           copies small records to paper_figures/records/
  python -m training verdicts                      judges every prediction whose records are kept
"""

Names = Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN…")]


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
    out().print(table)
    waiting = sorted(path.parent.name for path in (runs / PARTIAL).glob("*/state.safetensors"))
    if waiting:
        out().print(f"{len(waiting)} interrupted runs go on from a checkpoint when their experiment is run again")
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
        out().print(f"kept {kept}", soft_wrap=True)
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
    if not records.is_dir() and records != KEPT:
        raise InputError(f"--records must be a folder: {records} is none; runs/experiments holds what you ran")
    known = Records(records, scale)
    judgements = judge(predictions(), known)
    path = write_verdicts(judgements, known) if write else None
    if json:
        print(as_json(judgements, known), end="")
        return 0
    if markdown:
        print(as_markdown(judgements), end="")
        return 0
    show(out(), judgements, known)
    if path is not None:
        out().print(f"wrote {path}", soft_wrap=True)
    return 0


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
        err(always=True).print(Text(f"error: {error}", "red"), soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        err().print("interrupted; say the same command again to go on from the last checkpoints")
        return 130
    except BrokenPipeError:  # the reader (head, less) has seen enough; nothing is left to flush into
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        message = f"internal error: {type(error).__name__}: {error}; --debug shows where"
        err(always=True).print(Text(message, "red"), soft_wrap=True)
        return 3


if __name__ == "__main__":
    sys.exit(main())
