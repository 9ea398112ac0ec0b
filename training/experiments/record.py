"""What an experiment leaves behind: one folder with its runs side by side, small enough to keep.

    runs/experiments/<name>-<scale>/experiment.json   name, scale, environment, columns, hash of every run's run.json
    runs/experiments/<name>-<scale>/runs.csv          one row a run: labels, id, state, warnings, summary values
    runs/experiments/<name>-<scale>/epochs.csv        the curves of all runs, with the labels in front

Figures and verdicts read these three files alone.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars

from numerics.errors import InputError
from training.config import as_plain, sources
from training.environment import environment
from training.experiments.experiment import Experiment, LabeledRun, Scale
from training.files import write_whole
from training.records import RunRecord, finite

SCHEMA_VERSION = 1
FOLDER = "experiments"
FILES = ("experiment.json", "runs.csv", "epochs.csv")
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
        return polars.read_csv(self.folder / "epochs.csv", infer_schema_length=None)


def write_experiment(
    experiment: Experiment, scale: Scale, labeled: list[LabeledRun], records: list[RunRecord], runs: Path
) -> ExperimentRecord:
    """Put the records of an experiment's runs side by side."""
    folder = runs / FOLDER / f"{experiment.name}-{scale}"
    rows, curves = [], []
    for run, record in zip(labeled, records, strict=True):
        labels = {"condition": run.condition, "learning_rate": run.learning_rate, "seed": run.seed}
        warnings = " ".join(warning["name"] for warning in record.content["warnings"])
        rows.append(labels | {"id": record.id, "state": record.state, "warnings": warnings} | record.summary)
        front = [polars.lit(value).alias(name) for name, value in labels.items()]
        curves.append(record.epochs().select(*front, polars.all()))
    table = polars.DataFrame(rows, infer_schema_length=None)
    content = {
        "schema_version": SCHEMA_VERSION,
        "name": experiment.name,
        "title": experiment.title,
        "place": experiment.place,
        "scale": scale,
        "runs": {
            record.id: hashlib.sha256((record.folder / "run.json").read_bytes()).hexdigest() for record in records
        },
        "example_config": as_plain(labeled[-1].config),
        "sources": sources(labeled[-1].config),
        "cpu_seconds": round(sum(record.content["cost"]["cpu_seconds"] for record in records), 1),
        "environment": environment(),
    }
    epochs = polars.concat(curves, how="diagonal_relaxed")
    files = {"runs.csv": table.write_csv(), "epochs.csv": epochs.write_csv()}
    content["files"] = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    for name, text in files.items():
        write_whole(folder / name, text)
    write_whole(folder / "experiment.json", json.dumps(finite(content), indent=1, ensure_ascii=False) + "\n")
    return ExperimentRecord(folder, content)


def read_experiment(folder: Path) -> ExperimentRecord:
    """The experiment in a folder (of ``runs/experiments`` or ``paper_figures/records``), its files' hashes checked."""
    try:
        content = json.loads((folder / "experiment.json").read_text(encoding="utf-8"))
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
    read_experiment(folder)
    kept, building = target / folder.name, target / f".{folder.name}.building"
    shutil.rmtree(building, ignore_errors=True)
    try:
        for name in FILES:
            write_whole(building / name, (folder / name).read_bytes())
        shutil.rmtree(kept, ignore_errors=True)
        building.rename(kept)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return kept


def condition_table(record: ExperimentRecord, shown: tuple[str, ...]) -> polars.DataFrame:
    """Mean, least and greatest of each shown value over seeds, by condition and rate."""
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
        record.runs()
        .group_by("condition", "learning_rate", maintain_order=True)
        .agg(*parts, polars.len().alias("seeds"), stuck, diverged)
        .sort("condition", "learning_rate")
    )
