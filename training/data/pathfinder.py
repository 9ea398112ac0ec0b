"""PathFinder and PathX: images of dashed curves as sequences of pixels (appendix A.1).

Pixels stay bytes; a batch holds (x - .5)/.5, x in [0, 1], and the grey level 0..255 as reconstruction target.  Only
``curv_contour_length_14`` is the benchmark ("which PathFinder" is a standing question, LRA #11); the split is
80/10/10, the same in both stages.  An image that cannot be read is named; it is skipped only where that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8
from numpy import ndarray
from PIL import Image

from training.config import configuration, setting
from training.data import pathfinder_generator
from training.data.image import shrink
from training.data.pathfinder_generator import PathFinderLaw
from training.data.pathfinder_metadata import CLASSES, read_metadata
from training.data.places import DataError, fetch_remedy, find_data, lra_places
from training.data.prepared import Prepared, Writer, label_counts, load_prepared
from training.data.sequences import Scaling, TaskData
from training.data.splits import SPLIT_SEED, limited, random_split, tenths

LEVELS = {6: "curv_baseline", 9: "curv_contour_length_9", 14: "curv_contour_length_14"}
SOURCES = ("release", "generated")
SCALING = Scaling(2 / 255, -1.0)


@configuration
@dataclass(frozen=True)
class PathFinderTask:
    """Are two dots on one curve? 32 pixels a side; 128 is PathX."""

    source: str = setting("release", "paper, A.1")
    """release: images and metadata of the LRA; generated: made here by ``law``."""
    size: int = setting(32, "paper, A.1: 1024 tokens; 128 is PathX with 16384")
    """Pixels a side."""
    contour_length: int = setting(14, "code: curv_contour_length_14")
    """Segments of a target curve, the level: 6 (curv_baseline), 9 or 14."""
    images: int = setting(200_000, "LRA")
    """Images of a generated set, before the split."""
    seed: int = 0
    """Seed of a generated set."""
    split_seed: int = setting(SPLIT_SEED, "code")
    """Seed of the split 80/10/10."""
    train_limit: int = 0
    """Training images kept; 0 for all."""
    test_limit: int = 0
    """Validation and test images kept, each; 0 for all."""
    shrink: int = setting(1, "ours, for laptops: means of square blocks")
    """Pixels a side that become one token: 2 makes 16 by 16 tokens of 32 by 32 pixels."""
    skip_unreadable: bool = False
    """Leave out images that cannot be read (the release has one, in curv_baseline) instead of refusing the set."""

    def __post_init__(self) -> None:
        """Refuse unknown choices."""
        if self.source not in SOURCES:
            raise DataError(f"unknown source: {self.source!r}; use one of {', '.join(SOURCES)}")
        if self.source == "release" and self.size not in (32, 64, 128, 256):
            raise DataError(f"the release has images of 32, 64, 128 and 256 pixels: size={self.size}; use 32")
        if self.contour_length not in LEVELS:
            raise DataError(f"a level is a contour length of 6, 9 or 14: {self.contour_length}; use 14")
        if self.shrink < 1 or self.size % self.shrink:
            raise DataError(f"shrink must divide the size: shrink={self.shrink}, size={self.size}; use 1 or 2")
        if self.source == "generated":
            _ = self.law

    @property
    def name(self) -> str:
        """Short name, used in run names."""
        side = self.size // self.shrink
        return {32: "pathfinder", 128: "pathx"}.get(side, f"pathfinder{side}")

    @property
    def law(self) -> PathFinderLaw:
        """The law of a generated set."""
        return PathFinderLaw(self.images, self.size, self.contour_length, self.seed)

    def model_shape(self) -> dict[str, int]:
        """What the network must fit: reconstruction predicts one of 256 grey levels."""
        return {"channels": 1, "classes": CLASSES, "target_classes": 256}

    def find(self) -> Path | None:
        """The folder of the level; None for a set that is made here."""
        return find_level(self.size, self.contour_length) if self.source == "release" else None

    def load(self) -> TaskData:
        """All splits; images stay bytes on disk, mapped into memory."""
        return load_prepared(self)

    def read(self, prepared: Prepared) -> TaskData:
        """The splits of prepared arrays."""
        return prepared.task_data(CLASSES, SCALING, classify=True)

    def write(self, writer: Writer) -> None:
        """Read or make the images, split, write them one by one."""
        if self.source == "generated":
            made = list(pathfinder_generator.images(self.law))
            self._write_splits(writer, np.array([label for _, label in made]), [pixels for pixels, _ in made])
            return
        level = find_level(self.size, self.contour_length)
        entries = read_metadata(level)
        skipped = []
        if self.skip_unreadable:
            readable = [entry for entry in entries if _readable(level / entry[0], self.size)]
            skipped = sorted({path for path, _ in entries} - {path for path, _ in readable})
            entries = readable
        writer.notes["skipped"] = skipped
        writer.source(level)
        images = _Images([level / path for path, _ in entries], self.size)
        self._write_splits(writer, np.array([label for _, label in entries]), images)

    def _write_splits(self, writer: Writer, labels: ndarray, images: Sequence[Any]) -> None:
        for split, index in random_split(tenths(len(labels)), self.split_seed).items():
            index = limited(index, self.train_limit if split == "train" else self.test_limit)
            side = self.size // self.shrink
            rows = (shrink(images[place][None], side) for place in index.tolist())
            writer.rows(f"{split}-tokens", (len(index), side**2, 1), "uint8", rows)
            writer.array(f"{split}-labels", labels[index].astype(np.int16))
            counts = label_counts(labels[index])
            writer.split(split, len(index), index, seed=self.split_seed, labels=counts)


class _Images(Sequence[UInt8[ndarray, "size size"]]):
    """Images read when they are asked for."""

    def __init__(self, paths: list[Path], size: int) -> None:
        self.paths, self.size = paths, size

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        return read_image(self.paths[place], self.size)


def find_level(size: int, contour_length: int) -> Path:
    """The folder of one level."""
    folder = f"pathfinder{size}"
    roots = (folder, f"pathfinder/{folder}", *lra_places(folder))
    places = [f"{root}/{LEVELS[contour_length]}" for root in dict.fromkeys(roots)]
    return find_data(f"{folder}, level {LEVELS[contour_length]},", places, _remedy(folder, contour_length))


def _remedy(folder: str, contour_length: int) -> str:
    level = LEVELS[contour_length]
    by_hand = f"put {level} of the release, with its imgs/ and metadata/, under {folder}/"
    name = {"pathfinder32": "pathfinder", "pathfinder128": "pathx"}.get(folder)
    if name is None:
        return by_hand
    fetch = fetch_remedy(name, folder, known=False)
    if contour_length != 14:
        return f"{by_hand}, or {fetch}, which has every level"
    return f"{fetch}, or {by_hand if name == 'pathx' else 'use pathfinder-generated, which is made here'}"


def read_image(path: Path, size: int) -> UInt8[ndarray, "size size"]:
    """The grey levels of one image."""
    remedy = "get it again, or skip unreadable images explicitly (--skip-unreadable, skip_unreadable=True)"
    try:
        with Image.open(path) as image:
            pixels = np.asarray(image if image.mode == "L" else image.convert("L"))
    except FileNotFoundError:
        raise DataError(f"every image of the metadata must be there: {path} is missing; {remedy}") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        state = "is empty" if path.stat().st_size == 0 else "is not an image"
        raise DataError(f"an image must be readable: {path} {state}; {remedy}") from None
    if pixels.shape != (size, size):
        raise DataError(f"images are {size} by {size}: {path} is {pixels.shape}; use the folder of that size")
    return pixels


def _readable(path: Path, size: int) -> bool:
    try:
        read_image(path, size)
    except DataError:
        return False
    return True


def write_level(
    law: PathFinderLaw, level: Path, per_file: int = 1000, progress: Callable[[int], None] = lambda done: None
) -> None:
    """Write a level as the release has it: text metadata, ``per_file`` images a folder; ``progress`` counts images."""
    (level / "metadata").mkdir(parents=True)
    drawing = pathfinder_generator.DRAWINGS[law.size]
    distractor = law.contour_length // 3
    for number, (pixels, label) in enumerate(pathfinder_generator.images(law)):
        batch, place = divmod(number, per_file)
        (level / "imgs" / str(batch)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(level / "imgs" / str(batch) / f"sample_{place}.png")
        fields = (
            f"imgs/{batch}",
            f"sample_{place}.png",
            place,
            label,
            drawing.continuity,
            law.contour_length,
            distractor,
        )
        more = (drawing.segment, drawing.thickness, drawing.margins[0], 1)
        with (level / "metadata" / f"{batch}.npy").open("a", encoding="utf-8") as file:
            file.write(" ".join(map(str, fields + more)) + "\n")
        progress(number + 1)


#: PathX: loader and preset; nothing here runs it.
PATHX = PathFinderTask(size=128)
