"""Image: CIFAR-10 in grey as a sequence of pixels, row by row (appendix A.1).

Pixels stay bytes; a batch holds (x - 122.6/255) / (61/255), x in [0, 1].  Sources: the official binary release (in
colour, turned grey as Pillow's ``L``), or an npz of grey images from JPEG files (data folder README section 1: close to
the official pixels, not equal, and in another order, so published index-based splits cannot be repeated on it).  The
official "python version" is a pickle, which is never read.  A split is a random permutation, never a position in the
file.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Integer, Shaped, UInt8
from numpy import ndarray

from training.config import configuration, setting
from training.data.places import DataError, data_root, fetch_remedy, find_data
from training.data.prepared import Prepared, Writer, load_prepared, write_labeled
from training.data.sequences import Scaling, TaskData
from training.data.splits import SPLIT_SEED, limited, random_split

CLASSES = 10
SOURCES = ("official", "jpeg")
SIZES = (32, 16, 8)
_MEAN, _DEVIATION = 122.6, 61.0
#: Grey levels to what the network reads.
SCALING = Scaling(1 / _DEVIATION, -_MEAN / _DEVIATION)
_BINARY = ("cifar10/cifar-10-batches-bin", "cifar-10-batches-bin")
_PICKLED = ("cifar10/cifar-10-batches-py", "cifar-10-batches-py")
_JPEG = ("cifar10/cifar10_gray_jpeg.npz", "cifar10_gray_jpeg.npz")
_RECORD_BYTES, _RECORDS = 1 + 3 * 1024, 10_000
_NPZ = "put a cifar10_gray_jpeg.npz of x_train, y_train, x_test, y_test (grey bytes, labels 0..9) under cifar10/"


@configuration
@dataclass(frozen=True)
class ImageTask:
    """CIFAR-10, grey, one pixel a token; 45,000 / 5,000 / 10,000."""

    source: str = setting("official", "paper, A.1 (Krizhevsky 2009)")
    """official: the binary release; jpeg: cifar10_gray_jpeg.npz, close to it but in another order."""
    size: int = setting(32, "paper, A.1: 1024 tokens")
    """Pixels a side: 32, or 16 or 8 by block means (ours, for laptops)."""
    validation: int = setting(5000, "code: the last tenth of a random permutation of train")
    """Images held out of train."""
    split_seed: int = setting(SPLIT_SEED, "code")
    """Seed of that permutation."""
    train_limit: int = 0
    """Training images kept; 0 for all 45,000."""
    validation_limit: int = 0
    """Validation images kept; 0 for all."""
    test_limit: int = 0
    """Test images kept; 0 for all 10,000."""

    def __post_init__(self) -> None:
        """Refuse unknown choices."""
        if self.source not in SOURCES:
            raise DataError(f"unknown source: {self.source!r}; use one of {', '.join(SOURCES)}")
        if self.size not in SIZES:
            raise DataError(f"image size must be one of {', '.join(map(str, SIZES))}: size={self.size}; use 32")

    @property
    def name(self) -> str:
        """Short name, used in run names."""
        return "image" if self.size == 32 else f"image{self.size}"

    def model_shape(self) -> dict[str, int]:
        """What the network must fit."""
        return {"channels": 1, "classes": CLASSES}

    def find(self) -> Path:
        """The folder or file of the source."""
        return find_binary() if self.source == "official" else find_jpeg()

    def load(self) -> TaskData:
        """All splits; images stay bytes on disk, mapped into memory."""
        return load_prepared(self)

    def read(self, prepared: Prepared) -> TaskData:
        """The splits of prepared arrays."""
        return prepared.task_data(CLASSES, SCALING)

    def write(self, writer: Writer) -> None:
        """Read the release, split, shrink, write."""
        images, labels = read_binary(writer) if self.source == "official" else read_jpeg(writer)
        count = len(images["train"])
        if not 0 < self.validation < count:
            raise DataError(f"validation must leave training images: {self.validation} of {count}; use 5000")
        parts = random_split({"train": count - self.validation, "validation": self.validation}, self.split_seed)
        parts["train"] = limited(parts["train"], self.train_limit)
        parts["validation"] = limited(parts["validation"], self.validation_limit)
        parts["test"] = limited(np.arange(len(images["test"])), self.test_limit)
        for split, index in parts.items():
            pool = "test" if split == "test" else "train"
            tokens = shrink(images[pool][index], self.size).reshape(len(index), -1, 1)
            seed = None if split == "test" else self.split_seed
            write_labeled(writer, split, tokens, labels[pool][index], index=index, seed=seed)


_Arrays = tuple[dict[str, UInt8[ndarray, "images 32 32"]], dict[str, UInt8[ndarray, " images"]]]


def image_source() -> str:
    """``official`` where that release is at hand, whole; else ``jpeg``, of which our kept records are."""
    whole = _RECORD_BYTES * _RECORDS
    files = [data_root() / place / "test_batch.bin" for place in _BINARY]
    return "official" if any(file.is_file() and file.stat().st_size == whole for file in files) else "jpeg"


def find_binary() -> Path:
    """The folder of the official binary release."""
    for place in _PICKLED:
        if (data_root() / place).exists() and not any((data_root() / other).exists() for other in _BINARY):
            raise DataError(f"pickles are never read, they can run code: {data_root() / place} holds them; {_remedy()}")
    return find_data("CIFAR-10, binary version", _BINARY, _remedy())


def _remedy() -> str:
    jpeg = any((data_root() / place).exists() for place in _JPEG)
    return fetch_remedy("image", _BINARY[0]) + (", or use image-jpeg (source jpeg), which is there" if jpeg else "")


def find_jpeg() -> Path:
    """The npz of grey images."""
    remedy = _NPZ
    if not any((data_root() / place).exists() for place in _BINARY):
        remedy += (
            "; at smoke and laptop scale the official release does as well: run python -m training data fetch image"
        )
    return find_data("CIFAR-10, grey npz", _JPEG, remedy)


def read_binary(writer: Writer) -> _Arrays:
    """Grey images and labels of the official binary release; files must be whole."""
    folder = find_binary()
    files = {"train": [f"data_batch_{number}.bin" for number in range(1, 6)], "test": ["test_batch.bin"]}
    images, labels = {}, {}
    for pool, names in files.items():
        read = [read_records(folder / name, _RECORDS) for name in names]
        images[pool] = np.concatenate([grey for grey, _ in read])
        labels[pool] = np.concatenate([label for _, label in read])
        for name in names:
            writer.source(folder / name)
    return images, labels


def read_records(
    path: Path, expected: int | None = None
) -> tuple[UInt8[ndarray, "images 32 32"], UInt8[ndarray, " images"]]:
    """Grey images and labels of one file of 3,073-byte records (label, then red, green and blue planes)."""
    if not path.is_file():
        raise DataError(f"CIFAR-10 has six files: {path} is missing; {_remedy()}")
    size = path.stat().st_size
    with path.open("rb") as file:
        pickled = file.read(1) == b"\x80" and size % _RECORD_BYTES
    if pickled:
        raise DataError(f"pickles are never read, they can run code: {path} is one; {_remedy()}")
    if not size or size % _RECORD_BYTES:
        raise DataError(f"a CIFAR-10 file holds records of {_RECORD_BYTES} bytes: {path} has {size} bytes; {_remedy()}")
    if expected is not None and size != expected * _RECORD_BYTES:
        raise DataError(f"a CIFAR-10 file holds {expected} images: {path} has {size // _RECORD_BYTES}; {_remedy()}")
    records = np.fromfile(path, dtype=np.uint8).reshape(-1, _RECORD_BYTES)
    _check_labels(records[:, 0], path)
    planes = records[:, 1:].reshape(-1, 3, 32, 32)
    return grey(planes), records[:, 0].copy()


def grey(planes: UInt8[ndarray, "images 3 height width"]) -> UInt8[ndarray, "images height width"]:
    """Pillow's ``L``: (19595 R + 38470 G + 7471 B + 32768) / 65536, in integers; TensorFlow's is often 1 less."""
    red, green, blue = planes.astype(np.uint32).transpose(1, 0, 2, 3)
    return ((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16).astype(np.uint8)


def read_jpeg(writer: Writer) -> _Arrays:
    """Grey images and labels of the npz."""
    path = find_jpeg()
    arrays = _plain_arrays(path, ("x_train", "y_train", "x_test", "y_test"))
    for pool in ("train", "test"):
        x, y = arrays[f"x_{pool}"], arrays[f"y_{pool}"]
        if x.dtype != np.uint8 or x.shape[1:] != (32, 32) or y.shape != (len(x),):
            raise DataError(f"grey images are bytes, 32 by 32: x_{pool} is {x.dtype} {x.shape}; get {path} again")
        if not len(x):
            raise DataError(f"every split needs images: x_{pool} of {path} has none; get it again")
        if y.dtype.kind not in "iu":
            raise DataError(f"labels are whole numbers: y_{pool} of {path} is {y.dtype}; get it again")
        _check_labels(y, path)
    writer.source(path)
    labels = {pool: arrays[f"y_{pool}"].astype(np.uint8) for pool in ("train", "test")}
    return {pool: arrays[f"x_{pool}"] for pool in ("train", "test")}, labels


def _plain_arrays(path: Path, names: tuple[str, ...]) -> dict[str, Shaped[ndarray, "..."]]:
    """Arrays of an npz; pickles, as whole file or as array of objects, are refused."""
    with path.open("rb") as file:
        start = file.read(4)
    if start[:1] == b"\x80":
        raise DataError(f"pickles are never read, they can run code: {path} is one; {_NPZ}")
    if start != b"PK\x03\x04":
        raise DataError(f"the npz holds plain {', '.join(names)}: {path} is no npz; get it again")
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in names}
    except (ValueError, KeyError, OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        if "Object arrays" in str(error):
            raise DataError(f"pickles are never read, they can run code: {path} holds objects; {_NPZ}") from None
        raise DataError(f"the npz holds plain {', '.join(names)}: {path} does not ({error}); get it again") from None


def shrink(images: UInt8[ndarray, "images side side"], size: int) -> UInt8[ndarray, "images size size"]:
    """Means of square blocks, rounded half up to a grey level."""
    factor = images.shape[1] // size
    blocks = images.reshape(len(images), size, factor, size, factor).sum((2, 4), dtype=np.uint32)
    return ((2 * blocks + factor**2) // (2 * factor**2)).astype(np.uint8)


def _check_labels(labels: Integer[ndarray, " images"], path: Path) -> None:
    wrong = (labels < 0) | (labels >= CLASSES)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"labels lie in 0..9: {path}, image {row} has {labels[row]}; get the file again")
