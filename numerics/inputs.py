"""Real token sequences: crops of the photograph that ships with matplotlib, or anyone's ``.npz`` file."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import matplotlib.cbook
import numpy as np
from jaxtyping import Float64, Int64
from PIL import Image

from numerics.errors import InputError

#: Normalisation of grey images in the paper's code base: mean and standard deviation of CIFAR-10 in units of 1/255.
GREY_MEAN, GREY_DEVIATION = 122.6, 61.0

#: More classes than this are taken for a mistake (identifiers or raw values given as labels).
MOST_CLASSES = 1000


@dataclass(frozen=True)
class TokenData:
    """Sequences with labels 0..classes-1."""

    name: str
    tokens: Float64[np.ndarray, "N L d"]
    labels: Int64[np.ndarray, " N"]

    @property
    def classes(self) -> int:
        return int(self.labels.max()) + 1

    def record(self) -> dict[str, object]:
        """Name, sizes and checksum, for the report."""
        count, length, width = self.tokens.shape
        digest = hashlib.sha256(np.ascontiguousarray(self.tokens).tobytes()).hexdigest()
        return {"name": self.name, "sequences": count, "length": length, "width": width, "sha256": digest}


def photograph_crops(side: int = 32) -> TokenData:
    """Grey crops of matplotlib's sample photograph, flattened row by row as the paper flattens images.

    >>> photograph_crops().tokens.shape
    (288, 1024, 1)
    """
    path = matplotlib.cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)
    with Image.open(path) as image:
        grey = np.asarray(image.convert("L"), dtype=np.float64)
    rows, columns = (size // side for size in grey.shape)
    crops = grey[: rows * side, : columns * side].reshape(rows, side, columns, side).swapaxes(1, 2)
    tokens = (crops.reshape(rows * columns, side * side, 1) - GREY_MEAN) / GREY_DEVIATION
    return TokenData(f"photograph, {side}×{side} grey crops", tokens, _brightness_labels(tokens))


def _brightness_labels(tokens: np.ndarray) -> np.ndarray:
    """Labels for sequences without any: whether the mean entry is above the median sequence's."""
    means = tokens.mean(axis=(1, 2))
    return (means > np.median(means)).astype(np.int64)


@dataclass(frozen=True)
class SymbolData:
    """Sequences of integer symbols 0..vocabulary-1, embedded one-hot; ``labels`` only where the file has them."""

    name: str
    symbols: Int64[np.ndarray, "N L"]
    labels: Int64[np.ndarray, " N"] | None

    @property
    def vocabulary(self) -> int:
        return int(self.symbols.max()) + 1


def load_tokens(path: str | Path) -> TokenData:
    """Read ``tokens`` (N x L x d, float32 or float64) and optionally ``labels`` (N integers) from an ``.npz`` file.

    Pickles are never loaded.  Raises :class:`InputError` with one sentence for anything else.
    """
    return _token_data(_read_arrays(path), path)


def _token_data(held: dict[str, np.ndarray], path: str | Path) -> TokenData:
    tokens = _checked_tokens(held["tokens"], str(path))
    labels = _checked_labels(held["labels"], len(tokens)) if "labels" in held else _brightness_labels(tokens)
    return TokenData(Path(path).name, tokens, labels)


def load_sequences(path: str | Path) -> TokenData | SymbolData:
    """Read sequences as :func:`load_tokens` does, or ``tokens`` of integers N x L as symbols to be embedded one-hot.

    Symbols are numbered anew from 0 in increasing order, which changes no second moment.
    """
    held = _read_arrays(path)
    symbols = held["tokens"]
    if symbols.dtype.kind not in "iu" or symbols.ndim != 2:
        return _token_data(held, path)
    if symbols.shape[0] < 1 or symbols.shape[1] < 2:
        raise InputError(
            f"symbols need at least one sequence of two positions: {path} has shape {symbols.shape}; "
            "drop empty sequences"
        )
    if symbols.min() < 0:
        raise InputError(
            f"symbols must be non-negative integers: {path} holds {symbols.min()}; "
            "number the vocabulary from 0, or save continuous values as floats, shape N x L x d"
        )
    numbered = np.unique(symbols, return_inverse=True)[1].reshape(symbols.shape).astype(np.int64)
    labels = _checked_labels(held["labels"], len(symbols)) if "labels" in held else None
    return SymbolData(Path(path).name, numbered, labels)


def _read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    file = Path(path)
    if not file.is_file():
        raise InputError(f"a token file must exist: {path}; write one with numpy.savez(path, tokens=…, labels=…)")
    try:
        # The file is opened here because numpy leaves it open when the archive is broken.
        with file.open("rb") as handle:
            archive = np.load(handle, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise InputError(f"tokens are read from an .npz archive: {path} is a single array; use numpy.savez")
            held: dict[str, np.ndarray] = {
                name: archive[name] for name in ("tokens", "labels") if name in archive.files
            }
            names = archive.files
    except (zipfile.BadZipFile, OSError, EOFError, KeyError) as error:
        raise InputError(f"a token file must be a readable .npz archive: {path} ({error}); write it again") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"arrays must be plain numbers, pickled objects are never loaded: {path} ({error}); "
            "pad ragged sequences to one length and save a numeric array"
        ) from None
    if "tokens" not in held:
        raise InputError(f"a token file holds an array called tokens: {path} holds {names}; rename the array")
    return held


def _checked_tokens(tokens: np.ndarray, path: str) -> np.ndarray:
    if tokens.ndim != 3:
        raise InputError(
            f"tokens must have shape N x L x d: {path} has {tokens.ndim} dimensions, shape {tokens.shape}; "
            "add the missing axis, for one value a position tokens[:, :, None]"
        )
    if tokens.dtype not in (np.float32, np.float64):
        raise InputError(
            f"tokens must be float32 or float64: {path} has dtype {tokens.dtype}; "
            "cast with tokens.astype(numpy.float64)"
        )
    if min(tokens.shape) < 1 or tokens.shape[1] < 2:
        raise InputError(
            f"tokens need at least one sequence of two positions and one feature: {path} has shape {tokens.shape}; "
            "drop empty sequences"
        )
    finite = np.isfinite(tokens)
    if not finite.all():
        where = tuple(int(n) for n in np.argwhere(~finite)[0])
        raise InputError(
            f"tokens must be finite: {path} holds {tokens[where]} at {where}; impute or drop those sequences"
        )
    return tokens.astype(np.float64)


def _checked_labels(labels: np.ndarray, sequences: int) -> np.ndarray:
    if labels.shape != (sequences,):
        raise InputError(
            f"labels must be one number a sequence: shape {labels.shape} for {sequences} sequences; "
            f"use shape ({sequences},)"
        )
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= MOST_CLASSES:
        raise InputError(
            f"labels must be integers in 0..{MOST_CLASSES - 1} for the cross-entropy loss: got {labels.dtype} in "
            f"[{labels.min()}, {labels.max()}]; map the classes to 0..K-1"
        )
    return labels.astype(np.int64)
