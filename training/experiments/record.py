"""What an experiment leaves behind: one folder with its runs side by side, small enough to keep.

    runs/experiments/<name>-<scale>/experiment.json   name, scale, environment, columns, hash of every run's run.json
    runs/experiments/<name>-<scale>/runs.csv          one row a run: labels, id, state, warnings, summary values
    runs/experiments/<name>-<scale>/epochs.csv        the curves of all runs, with the labels in front
    runs/experiments/<name>-<scale>/...               tables and arrays that the experiment measures on its networks

Figures and verdicts read these files alone.  Numbers in the CSV files carry six significant digits, so that a record
stays small; run.json of each run has them all.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars

from numerics.errors import InputError
from training.config import as_plain, sources
from training.environment import environment
from training.errors import MissingRecord
from training.experiments.experiment import Experiment, LabeledRun, Scale
from training.files import write_whole
from training.records import RunRecord, finite

SCHEMA_VERSION = 1
FOLDER = "experiments"
INDEX = "experiment.json"
#: Kept records live beside the figures; this room only writes files there, it does not import that one.
KEPT = Path(__file__).resolve().parents[2] / "paper_figures" / "records"


@dataclass(frozen=True)
class ExperimentRecord:
    """An experiment on disk."""

    folder: Path
    """Its folder."""
    content: dict[str, Any]
    """experiment.json."""

    def runs(self) -> polars.DataFrame:
        """One row a run: condition, learning_rate, seed, id, state, warnings, summary values."""
        return polars.read_csv(self.folder / "runs.csv", infer_schema_length=None)

    def epochs(self) -> polars.DataFrame:
        """Curves of all runs: condition, learning_rate, seed, epoch, step, losses and accuracies."""
        return self.table("epochs.csv")

    def table(self, name: str) -> polars.DataFrame:
        """Another table of the record."""
        return polars.read_csv(self._file(name), infer_schema_length=None)

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """The arrays of an .npz file of the record."""
        with np.load(self._file(name), allow_pickle=False) as file:
            return {key: file[key] for key in file.files}

    @property
    def files(self) -> tuple[str, ...]:
        """Names of all files, the index first."""
        return (INDEX, *self.content["files"])

    def _file(self, name: str) -> Path:
        if name not in self.content["files"]:
            raise MissingRecord(f"{self.folder} has no {name}: it holds a part of its experiment; run the whole of it")
        return self.folder / name


def write_experiment(
    experiment: Experiment,
    scale: Scale,
    labeled: list[LabeledRun],
    records: list[RunRecord],
    runs: Path,
    missing: Mapping[str, str] | None = None,
) -> ExperimentRecord:
    """Put the records of an experiment's runs side by side, and add what it measures on them.

    ``missing`` names the data sets that were not run: missing or wrong.
    """
    folder = runs / FOLDER / f"{experiment.name}-{scale}"
    files = _run_tables(labeled, records, experiment.keeps_curves) if labeled else {}
    if experiment.tables is not None:
        files |= experiment.tables(scale, labeled, records)
    content = {
        "schema_version": SCHEMA_VERSION,
        "name": experiment.name,
        "title": experiment.title,
        "place": experiment.place,
        "scale": scale,
        "command": f"python -m training run {experiment.name} --scale {scale}",
        "runs": {
            record.id: hashlib.sha256((record.folder / "run.json").read_bytes()).hexdigest() for record in records
        },
        "example_config": as_plain(labeled[-1].config) if labeled else None,
        "sources": sources(labeled[-1].config) if labeled else {},
        "cpu_seconds": round(sum(record.content["cost"]["cpu_seconds"] for record in records), 1),
        "missing": dict(missing or {}),
        "power": list(experiment.statement(scale)) if experiment.statement is not None else [],
        "environment": environment(),
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    for name, data in files.items():
        write_whole(folder / name, data)
    write_whole(folder / INDEX, json.dumps(finite(content), indent=1, ensure_ascii=False) + "\n")
    return ExperimentRecord(folder, content)


def _run_tables(labeled: list[LabeledRun], records: list[RunRecord], with_curves: bool) -> dict[str, bytes]:
    files = {"runs.csv": csv_bytes(runs_table(labeled, records))}
    if with_curves:
        curves = []
        for run, record in zip(labeled, records, strict=True):
            front = [polars.lit(value).alias(name) for name, value in _labels(run).items()]
            curves.append(record.epochs().select(*front, polars.all()))
        files["epochs.csv"] = csv_bytes(polars.concat(curves, how="diagonal_relaxed"))
    return files


def runs_table(labeled: Sequence[LabeledRun], records: Sequence[RunRecord]) -> polars.DataFrame:
    """One row a run: labels, id, state, warnings, summary values."""
    rows = []
    for run, record in zip(labeled, records, strict=True):
        warnings = " ".join(warning["name"] for warning in record.content["warnings"])
        front = _labels(run) | {"id": record.id, "state": record.state, "warnings": warnings}
        rows.append(front | record.summary)
    return polars.DataFrame(rows, infer_schema_length=None)


def _labels(run: LabeledRun) -> dict[str, Any]:
    return {"condition": run.condition, "learning_rate": run.learning_rate, "seed": run.seed}


def csv_bytes(table: polars.DataFrame) -> bytes:
    """A table with six significant digits.

    >>> csv_bytes(polars.DataFrame({"seed": [1], "loss": [0.123456789]}))
    b'seed,loss\\n1,0.123457\\n'
    """
    floats = [name for name, kind in table.schema.items() if kind.is_float()]
    return table.with_columns(polars.col(name).round_sig_figs(6) for name in floats).write_csv().encode()


def npz_bytes(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Arrays as a compressed .npz file."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def read_experiment(folder: Path) -> ExperimentRecord:
    """The experiment in a folder (of ``runs/experiments`` or ``paper_figures/records``), its files' hashes checked."""
    try:
        content = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"an experiment is a folder with experiment.json: {folder} ({error}); run it with python -m training run"
        ) from None
    for name, digest in content["files"].items():
        file = folder / name
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            raise InputError(f"a record must be as it was written: {file} is missing or changed; run it again")
    return ExperimentRecord(folder, content)


def keep_experiment(folder: Path, target: Path = KEPT) -> Path:
    """Copy an experiment's files into ``target/<name>-<scale>``, whole or not at all."""
    record = read_experiment(folder)
    kept, building = target / folder.name, target / f".{folder.name}.building"
    shutil.rmtree(building, ignore_errors=True)
    try:
        for name in record.files:
            write_whole(building / name, (folder / name).read_bytes())
        shutil.rmtree(kept, ignore_errors=True)
        building.rename(kept)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return kept


def condition_table(record: ExperimentRecord, shown: tuple[str, ...]) -> polars.DataFrame:
    """Mean, least and greatest of each shown value over seeds, by condition and rate."""
    runs = record.runs()
    runs = runs.with_columns(
        (polars.col(name) if name in runs.columns else polars.lit(None)).cast(polars.Float64, strict=False).alias(name)
        for name in shown
    )
    parts = [
        item
        for name in shown
        for item in (
            polars.col(name).mean().alias(f"{name} mean"),
            polars.col(name).min().alias(f"{name} least"),
            polars.col(name).max().alias(f"{name} greatest"),
        )
    ]
    stuck = polars.col("warnings").fill_null("").str.contains("stuck").sum().alias("stuck")
    diverged = (polars.col("state") == "diverged").sum().alias("diverged")
    return (
        runs.group_by("condition", "learning_rate", maintain_order=True)
        .agg(*parts, polars.len().alias("seeds"), stuck, diverged)
        .sort("condition", "learning_rate")
    )
