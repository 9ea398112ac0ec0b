"""Data sets of the UCR archive (appendix B.1, Table 6): fixed TRAIN and TEST, one series of numbers a sample.

Both releases are read: the 2018 archive (``.tsv``: label first, then the values; some copies separate by runs of blanks
and write labels as ``1.0000000e+00``) and the ``.ts`` files of timeseriesclassification.com.  Labels are any numbers,
mapped to 0..K-1 by the sorted labels of TRAIN.  Where series differ in length, values that are missing at the end
(``NaN``) are padding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from training.config import configuration, setting
from training.data.places import DataError, fetch_remedy, find_data
from training.data.prepared import Prepared, Writer, label_counts, load_prepared
from training.data.sequences import TaskData
from training.data.splits import SPLIT_SEED, limited, random_split

#: The four sets of Table 6 with their sizes (TRAIN, TEST, length), data folder README section 2.
PAPER_SETS = {
    "GunPoint": (50, 150, 150),
    "GunPointAgeSpan": (135, 316, 150),
    "ECG200": (100, 100, 96),
    "ECGFiveDays": (23, 861, 136),
}
NORMALISATIONS = ("train", "series", "none")
VALIDATIONS = ("test", "split")

_Series = list[tuple[float, Float[ndarray, "..."]]]


@configuration
@dataclass(frozen=True)
class UcrTask:
    """One data set of the UCR archive, by its name."""

    dataset: str = setting("GunPoint", "paper, Table 6")
    """Name as in the archive: GunPoint, GunPointAgeSpan, ECG200, ECGFiveDays, or any other that is there."""
    normalise: str = setting("train", "ours: GunPointAgeSpan is raw, the other three are z-normalised per series")
    """train: mean and deviation of all TRAIN values; series: of each series; none: as in the files."""
    validation: str = setting("test", "the archive has no validation set; Table 6 reports validation accuracy")
    """test: TEST doubles as validation, as in public code; split: a fifth of TRAIN is held out."""
    split_seed: int = setting(SPLIT_SEED, "code: seed of every split")
    """Seed of the held-out fifth."""
    train_limit: int = 0
    """Training series kept, in file order; 0 for all."""

    def __post_init__(self) -> None:
        """Refuse unknown choices."""
        if self.normalise not in NORMALISATIONS:
            raise DataError(f"unknown normalise: {self.normalise!r}; use one of {', '.join(NORMALISATIONS)}")
        if self.validation not in VALIDATIONS:
            raise DataError(f"unknown validation: {self.validation!r}; use one of {', '.join(VALIDATIONS)}")
        if not self.dataset.replace("_", "").replace("-", "").isalnum():
            raise DataError(f"a UCR set has a plain name: {self.dataset!r} is none; use one such as GunPoint")

    @property
    def name(self) -> str:
        """Short name, used in run names."""
        return f"ucr-{self.dataset.lower()}"

    def model_shape(self) -> dict[str, int]:
        """What the network must fit: channels and classes."""
        return {"channels": 1, "classes": self.load().classes}

    def find(self) -> Path:
        """The file of TRAIN."""
        return find_part(self.dataset, "TRAIN")

    def load(self) -> TaskData:
        """TRAIN, TEST and what stands for validation."""
        return load_prepared(self)

    def read(self, prepared: Prepared) -> TaskData:
        """The splits of prepared arrays."""
        return prepared.task_data(classes=len(prepared.record["labels"]))

    def write(self, writer: Writer) -> None:
        """Read TRAIN and TEST, map labels, scale, write."""
        files = {part: find_part(self.dataset, part) for part in ("TRAIN", "TEST")}
        read = {part: read_series(path) for part, path in files.items()}
        known = sorted({label for label, _ in read["TRAIN"]})
        if len(known) < 2:
            raise DataError(f"a task needs two labels: {files['TRAIN']} has only {known}; get the whole file")
        writer.notes["labels"] = known
        longest = max(len(values) for part in read.values() for _, values in part)
        arrays = {part: _arrays(series, known, longest, files[part]) for part, series in read.items()}
        mean, deviation = _moments(read["TRAIN"]) if self.normalise == "train" else (0.0, 1.0)
        writer.notes["normalised"] = {"how": self.normalise, "mean": mean, "deviation": deviation}
        count = len(read["TRAIN"])
        held_out = count // 5 if self.validation == "split" else 0
        if held_out:
            parts = random_split({"train": count - held_out, "validation": held_out}, self.split_seed)
        else:
            parts = {"train": np.arange(count)}
        parts["train"] = limited(parts["train"], self.train_limit)
        for split, index in (parts | {"test": np.arange(len(read["TEST"]))}).items():
            tokens, lengths, labels = arrays["TEST" if split == "test" else "TRAIN"]
            tokens = (tokens - mean) / deviation
            if self.normalise == "series":
                tokens = _normalised(tokens, lengths)
            valid = np.arange(longest) < lengths[:, None]
            writer.array(f"{split}-tokens", np.where(valid, tokens, 0)[index, :, None].astype(np.float32))
            writer.array(f"{split}-lengths", lengths[index].astype(np.int32))
            writer.array(f"{split}-labels", labels[index].astype(np.int16))
            drawn = split != "test" and held_out > 0
            seed = self.split_seed if drawn else None
            writer.split(split, len(index), index, seed=seed, labels=label_counts(labels[index]))
        for path in files.values():
            writer.source(path)


def find_part(dataset: str, part: str) -> Path:
    """The file of TRAIN or TEST, ``.tsv`` before ``.ts``, in any of the archive's layouts."""
    folders = ("ucr/UCRArchive_2018", "UCRArchive_2018", "ucr/Univariate_ts", "Univariate_ts", "ucr", "")
    names = [f"{dataset}/{dataset}_{part}{end}" for end in (".tsv", ".ts", ".txt")]
    places = [f"{folder}/{name}".lstrip("/") for folder in folders for name in names]
    fetch = fetch_remedy(f"ucr:{dataset}", f"ucr/Univariate_ts/{dataset}", known=False)
    remedy = f"{fetch}, or put the archive's folder {dataset} under ucr/"
    return find_data(f"{dataset}_{part} of the UCR archive", places, remedy)


def read_series(path: Path) -> _Series:
    """Label and values of each line of a ``.tsv`` (label first) or ``.ts`` (label last) file."""
    is_ts, ragged, columns = path.suffix == ".ts", False, 0
    in_data, found = not is_ts, []
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            where = f"{path}, line {number}"
            try:
                line = raw.decode("utf-8").strip()
            except UnicodeDecodeError:
                raise DataError(f"a UCR file must be text: {where} is not UTF-8; get the file again") from None
            if not line or (is_ts and line.startswith("#")):
                continue
            if is_ts and line.startswith("@"):
                key, value = _header(line, where)
                ragged = ragged or (key, value) == ("@equallength", "false")
                in_data = in_data or key == "@data"
                continue
            if not in_data:
                raise DataError(f"a .ts file has its series after @data: {where} comes before; get the file again")
            label, numbers = _parse(line, is_ts, where)
            columns = columns or len(numbers)
            if len(numbers) != columns and not ragged:
                raise DataError(
                    f"every line holds as many values as the first: {where} has {len(numbers)}, the first {columns}; "
                    "get the file again"
                )
            found.append((label, _without_padding(numbers, where)))
    if not found:
        raise DataError(f"a UCR file needs series: {path} has none; get the file again")
    return found


def _header(line: str, where: str) -> tuple[str, str]:
    key, _, value = line.lower().partition(" ")
    if (key, value.strip()) in (("@univariate", "false"), ("@timestamps", "true")):
        raise DataError(f"series must be univariate without time stamps: {where} says {line}; use a univariate set")
    return key, value.strip()


def _parse(line: str, is_ts: bool, where: str) -> tuple[float, Float[ndarray, " tokens"]]:
    if is_ts:
        body, _, label = line.rpartition(":")
        values = body.split(",")
    else:
        label, *values = line.replace(",", " ").split()
    try:
        numbers = np.array([math.nan if value.strip() == "?" else float(value) for value in values])
        target = float(label)
    except ValueError:
        raise DataError(f"a series is a label and numbers: {where} starts {line[:30]!r}; get the file again") from None
    if not math.isfinite(target):
        raise DataError(f"a label is a number: {where} has {label!r}; get the file again")
    return target, numbers


def _without_padding(numbers: Float[ndarray, " columns"], where: str) -> Float[ndarray, " tokens"]:
    there = np.flatnonzero(~np.isnan(numbers))
    if not len(there):
        raise DataError(f"a series needs values: {where} has none; get the file again")
    values = numbers[: there[-1] + 1]
    if not np.isfinite(values).all():
        raise DataError(f"values may be missing only at the end: {where} has a gap; fill it first")
    return values


def _arrays(
    series: _Series, known: list[float], longest: int, path: Path
) -> tuple[Float[ndarray, "samples tokens"], Int[ndarray, " samples"], Int[ndarray, " samples"]]:
    """Padded values, lengths, and labels as positions among the known ones."""
    place = {label: index for index, label in enumerate(known)}
    tokens = np.zeros((len(series), longest))
    for row, (label, values) in enumerate(series):
        if label not in place:
            raise DataError(f"TEST may hold only labels of TRAIN: {path} has {label:g}, TRAIN {known}; get both again")
        tokens[row, : len(values)] = values
    lengths = np.array([len(values) for _, values in series])
    return tokens, lengths, np.array([place[label] for label, _ in series])


def _moments(series: _Series) -> tuple[float, float]:
    values = np.concatenate([values for _, values in series])
    return float(values.mean()), float(values.std()) or 1.0


def _normalised(
    tokens: Float[ndarray, "samples tokens"], lengths: Int[ndarray, " samples"]
) -> Float[ndarray, "samples tokens"]:
    rows = [row[:length] for row, length in zip(tokens, lengths, strict=True)]
    means = np.array([row.mean() for row in rows])[:, None]
    deviations = np.array([row.std() or 1.0 for row in rows])[:, None]
    scaled: Float[ndarray, "samples tokens"] = (tokens - means) / deviations
    return scaled
