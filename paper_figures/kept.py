"""Kept records: the small files that experiments leave in ``paper_figures/records/``, checked before they are drawn.

A record that is missing, damaged or of another schema is one sentence with the command that makes it.  A record of
other configurations than those that the code now has is *stale*: it is drawn, and said to be stale in the picture.
Checked by ``tests/paper_figures/test_kept.py``.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars
from jaxtyping import Shaped

from numerics.errors import InputError
from paper_figures.judged import verdict_words
from paper_figures.sources import Source
from training.experiments.catalogue import find_experiment
from training.experiments.experiment import SCALES, Scale
from training.experiments.lra.whole_image import DATASET as WHOLE
from training.experiments.record import INDEX, KEPT, SCHEMA_VERSION, ExperimentRecord, read_experiment
from training.recipes.catalogue import DATASETS


@dataclass(frozen=True)
class Kept:
    """One experiment's record.

    Attributes:
        record: its files.
        command: what makes it anew.
        stale: whether it holds other runs than the experiment now has.
    """

    record: ExperimentRecord
    command: str
    stale: bool

    @property
    def name(self) -> str:
        """The experiment."""
        return str(self.record.content["name"])

    @property
    def scale(self) -> str:
        """Its scale."""
        return str(self.record.content["scale"])

    def table(self, file: str, *columns: str) -> polars.DataFrame:
        """A table of the record, which must have these columns and at least one row."""
        self._require(file)
        try:
            table = self.record.table(file)
        except polars.exceptions.PolarsError as error:
            raise self.unreadable(file, f"it cannot be read ({error})") from None
        lacking = [name for name in columns if name not in table.columns]
        if lacking or table.is_empty():
            raise self.unreadable(file, f"it has no {', '.join(lacking)}" if lacking else "it has no rows")
        return table

    def arrays(self, file: str, *names: str) -> dict[str, Shaped[np.ndarray, "..."]]:
        """The arrays of these names in an .npz file of the record."""
        self._require(file)
        try:
            arrays = self.record.arrays(file)
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise self.unreadable(file, f"it cannot be read ({error})") from None
        lacking = [name for name in names if name not in arrays]
        if lacking:
            raise self.unreadable(file, f"it has no {', '.join(lacking)}")
        return {name: arrays[name] for name in names}

    def _require(self, file: str) -> None:
        if file not in self.record.content["files"]:
            raise self.unreadable(file, "the index does not name it")

    def setting(self, path: str) -> Any:
        """A value of the record's example configuration, such as ``task.label_flip``."""
        found = self.record.content.get("example_config")
        for name in path.split("."):
            if not isinstance(found, dict) or name not in found:
                raise self.unreadable(INDEX, f"its example configuration has no {path}")
            found = found[name]
        return found

    def provenance(self) -> dict[str, Any]:
        """Where the numbers come from, ready for JSON."""
        content = self.record.content
        return {
            "name": self.name,
            "scale": self.scale,
            "command": self.command,
            "stale": self.stale,
            "runs": len(content["runs"]),
            "files": content["files"],
            "revision": content.get("environment", {}).get("revision"),
        }

    def verdicts(self, predictions: tuple[str, ...]) -> str:
        """What the verdicts beside the record say about predictions at its scale; empty where they say nothing."""
        return verdict_words(self.record.folder.parent, self.scale, predictions)

    @property
    def warning(self) -> str:
        """One sentence where the record is stale; otherwise empty."""
        if not self.stale:
            return ""
        return f"stale: the record of {self.name} holds other runs than the code now has; make it anew: {self.command}"

    def unreadable(self, file: str, why: str) -> InputError:
        """The error of a file of the record that lacks what is drawn."""
        return InputError(
            f"a record must hold what is drawn: {self.record.folder / file}: {why}; make it anew with {self.command}"
        )


@dataclass(frozen=True)
class KeptRecords:
    """A folder of kept experiments (``paper_figures/records``; ``runs/experiments`` has the same layout).

    Attributes:
        folder: holds one folder an experiment and scale.
        scale: the scale to draw; ``None`` takes the largest that is there, of each experiment.
    """

    folder: Path = KEPT
    scale: Scale | None = None

    def scale_of(self, name: str) -> Scale:
        """The scale that is drawn: of those on disk the largest, else the one that is to be run."""
        scales = (self.scale,) if self.scale else SCALES[::-1]
        there = [scale for scale in scales if self._index(name, scale).is_file()]
        return (*there, *scales)[0]

    def source(self, name: str) -> Source:
        """The record as a file that is there or missing, with its command."""
        scale = self.scale_of(name)
        return Source(f"records of {name}, {scale} scale", self._index(name, scale), self.command(name, scale))

    def command(self, name: str, scale: str) -> str:
        """What makes the record and puts it into this folder."""
        to = "" if self.folder == KEPT else f" --to {self.folder}"
        return f"python -m training run {name} --scale {scale} && python -m training keep {name}-{scale}{to}"

    def read(self, name: str) -> Kept:
        """The record of an experiment, its schema and the hashes of its files checked.

        Raises:
            InputError: if it is missing, damaged, or of another schema; the message names the command.
        """
        scale = self.scale_of(name)
        index, command = self._index(name, scale), self.command(name, scale)
        wrong = _what_is_wrong(index, name, scale)
        if wrong:
            raise InputError(f"a record must be as training writes it: {index}: {wrong}; make it anew with {command}")
        try:
            record = read_experiment(index.parent)
        except InputError as error:
            raise InputError(f"{error} with {command}") from None
        return Kept(record, command, set(record.content["runs"]) != _expected(record, name, scale))

    def _index(self, name: str, scale: str) -> Path:
        return self.folder / f"{name}-{scale}" / INDEX


def _what_is_wrong(index: Path, name: str, scale: str) -> str:
    try:
        content = json.loads(index.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return f"it cannot be read ({error})"
    if not isinstance(content, dict) or content.get("schema_version") != SCHEMA_VERSION:
        return f"its schema_version is not {SCHEMA_VERSION}"
    if not isinstance(content.get("files"), dict) or not isinstance(content.get("runs"), dict):
        return "it does not name its files and runs"
    if (content.get("name"), content.get("scale")) != (name, scale):
        return f"it says {content.get('name')} at {content.get('scale')} scale, its folder says {name} at {scale}"
    return ""


def _expected(record: ExperimentRecord, name: str, scale: Scale) -> set[str]:
    """Identifiers of the runs that a record is to hold: on the Long-Range Arena those of the conditions that it has."""
    runs = find_experiment(name).runs(scale)
    if (
        any(run.condition.partition(" ")[0] in (*DATASETS, WHOLE) for run in runs)
        and "runs.csv" in record.content["files"]
    ):
        there = set(record.runs()["condition"])
        runs = [run for run in runs if run.condition in there]
    return {run.config.id for run in runs}


def experiment(name: str) -> Callable[[KeptRecords], Source]:
    """An experiment's record as something that a figure needs."""
    return lambda kept: kept.source(name)
