"""Run records: a folder written whole or not at all.

    runs/<id>/run.json               configuration, sources, environment, seeds, cost, exit state, warnings, summary
    runs/<id>/epochs.csv             one row an evaluation: losses and accuracies of every split
    runs/<id>/steps.csv              step and training loss of every step
    runs/<id>/model.safetensors      final parameters (the last good ones where the run diverged)
    runs/<id>/epoch-NNNN.safetensors parameters at the epochs that the stage keeps
    runs/<id>/step-NNNNNN.safetensors parameters after the steps that the stage keeps
    runs/.partial/<id>/              a run in progress: state.safetensors, and the lock of whoever computes it

``epochs.csv`` and ``steps.csv`` hold no times, so two runs of one configuration can be compared byte for byte.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars

from numerics.errors import InputError
from training.checkpoints import load_parameters, read_header
from training.config import from_plain
from training.evaluation import Row
from training.files import write_whole
from training.model.initialisation import initialised_model
from training.model.network import SequenceModel
from training.stages import RunConfig

SCHEMA_VERSION = 1
PARTIAL = ".partial"
#: What a kept record consists of; checkpoints stay in runs/.
SMALL_FILES = ("run.json", "epochs.csv", "steps.csv")


@dataclass(frozen=True)
class RunRecord:
    """A finished run on disk."""

    folder: Path
    """The run's folder."""
    content: dict[str, Any]
    """run.json."""

    @property
    def id(self) -> str:
        """Name of the folder."""
        return str(self.content["id"])

    @property
    def state(self) -> str:
        """finished or diverged."""
        return str(self.content["state"])

    @property
    def summary(self) -> dict[str, Any]:
        """Final and peak values by name (see training.evaluation.summarise)."""
        return dict(self.content["summary"])

    @property
    def config(self) -> RunConfig:
        """The configuration."""
        config = from_plain(self.content["config"])
        assert isinstance(config, RunConfig)
        return config

    def epochs(self) -> polars.DataFrame:
        """The curves, one row an evaluation."""
        return polars.read_csv(self.folder / "epochs.csv", infer_schema_length=None)

    def steps(self) -> polars.DataFrame:
        """The training loss of every step."""
        return polars.read_csv(self.folder / "steps.csv", infer_schema_length=None)

    def model(self, epoch: int | None = None, step: int | None = None) -> SequenceModel:
        """The network with its final parameters, or those of a kept epoch or step."""
        config = self.config
        network = initialised_model(config.model, replace(config.initial, written="none"), config.seed)
        name = "model.safetensors" if epoch is None else epoch_file(epoch)
        name = name if step is None else step_file(step)
        network.load_state_dict(load_parameters(self.folder / name, self.content["hash"]))
        return network


def epoch_file(epoch: int) -> str:
    """File name of the parameters of a kept epoch."""
    return f"epoch-{epoch:04d}.safetensors"


def step_file(step: int) -> str:
    """File name of the parameters after a kept step."""
    return f"step-{step:06d}.safetensors"


def read_record(folder: Path) -> RunRecord:
    """The record in a folder."""
    file = folder / "run.json"
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        there = sorted(path.parent.name for path in folder.parent.glob("*/run.json"))
        some = f"there are {len(there)}, such as {there[0]}" if there else "there is none"
        raise InputError(f"a run is a folder with run.json: {folder} has none; {some} in {folder.parent}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"run.json must be readable JSON: {file} ({error}); delete {folder} and run again") from None
    if not isinstance(content, dict) or content.get("schema_version") != SCHEMA_VERSION:
        raise InputError(f"run.json must have schema_version {SCHEMA_VERSION}: {file}; delete {folder} and run again")
    return RunRecord(folder, content)


def find_record(config: RunConfig, runs: Path) -> RunRecord | None:
    """The record of a configuration, if it was run."""
    folder = runs / config.id
    if not (folder / "run.json").is_file():
        return None
    record = read_record(folder)
    if record.content["hash"] != config.hash:
        raise InputError(f"a run folder must hold its own configuration: {folder} has another; delete it and run again")
    check_whole(record)
    return record


def check_whole(record: RunRecord) -> None:
    """Refuse a record whose curves are not as they were written, or whose checkpoint is missing or cut off."""
    for name, digest in record.content.get("files", {}).items():
        file = record.folder / name
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            raise InputError(
                f"a run must be as it was written: {file} is missing or changed; delete the folder {record.folder} and "
                "run again"
            )
    read_header(record.folder / "model.safetensors")


def list_records(runs: Path) -> list[RunRecord]:
    """All finished runs, by name."""
    return [read_record(file.parent) for file in sorted(runs.glob("*/run.json"))]


def write_files(folder: Path, content: dict[str, Any], rows: list[Row], losses: list[float]) -> None:
    """Write the small files of a run."""
    epochs = epochs_csv(rows)
    steps = steps_csv(losses)
    content = content | {"files": {"epochs.csv": sha256(epochs), "steps.csv": sha256(steps)}}
    write_whole(folder / "epochs.csv", epochs)
    write_whole(folder / "steps.csv", steps)
    write_whole(folder / "run.json", json.dumps(finite(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def epochs_csv(rows: list[Row]) -> str:
    """Curves as CSV; numbers are printed so that they read back to the same bits, an unknown value is empty."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return _csv(names, [[row.get(name) for name in names] for row in rows])


def steps_csv(losses: list[float]) -> str:
    """Step losses as CSV."""
    return _csv(["step", "loss"], [[step, loss] for step, loss in enumerate(losses)])


def _csv(names: list[str], rows: list[list[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([["" if value is None else repr(value) for value in row] for row in rows])
    return text.getvalue()


def sha256(text: str) -> str:
    """Hash of a file's content."""
    return hashlib.sha256(text.encode()).hexdigest()


def finite(value: Any) -> Any:
    """JSON has no NaN or infinity: they become null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def keep_record(record: RunRecord, target: Path) -> Path:
    """Copy the small files of a run into ``target/<id>``, whole or not at all."""
    folder, building = target / record.id, target / f".{record.id}.building"
    shutil.rmtree(building, ignore_errors=True)
    try:
        for name in SMALL_FILES:
            write_whole(building / name, (record.folder / name).read_bytes())
        shutil.rmtree(folder, ignore_errors=True)
        building.rename(folder)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return folder
