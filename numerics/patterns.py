"""Score patterns, masks and poolings by name, for command lines and audits.

Patterns: ``alibi`` (minus distance), ``periodic`` (minus distance on a ring; blind for every circulant mask),
``gaussian:WIDTH``, ``window:W``, ``identity``, or a plain L x L ``.npy`` file.  Masks: ``full``, ``diagonal``,
``causal``, ``band:W``, or a ``.npy`` file.  Poolings: ``mean``, ``cls:INDEX``, ``last``.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float64

from numerics.errors import InputError


def _argument(text: str, kind: str) -> float:
    name, _, value = text.partition(":")
    try:
        number = float(value)
    except ValueError:
        raise InputError(f"{kind} {name} needs a number: got {text!r}; write {name}:8") from None
    if not 0 < number < math.inf:
        raise InputError(f"{kind} {name} needs a positive finite number: got {text!r}; write {name}:8")
    return number


def _load_square(path: str, token_count: int, kind: str) -> np.ndarray:
    file = Path(path)
    if not file.is_file():
        raise InputError(f"a {kind} file must exist: {path}; name an .npy file or a {kind} by name")
    try:
        array = np.load(file, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(
            f"a {kind} file must be a plain .npy array: {path} ({error}); save it with numpy.save"
        ) from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub":
        raise InputError(f"a {kind} must be one numeric array: {path}; save it with numpy.save")
    if array.shape != (token_count, token_count):
        raise InputError(
            f"a {kind} must be L x L: {path} has shape {array.shape}, L={token_count}; "
            f"use shape ({token_count}, {token_count})"
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"a {kind} must be finite: {path} holds NaN or infinity; replace those entries")
    return array


def scores_by_distance(text: str, token_count: int) -> Float64[np.ndarray, " L"]:
    """Scores of a named pattern at the distances 0 .. L - 1; every named pattern depends on |i - j| alone.

    >>> scores_by_distance("window:1", 4).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    distance = np.arange(token_count, dtype=np.float64)
    name = text.partition(":")[0]
    if text == "alibi":
        return -distance
    if text == "periodic":
        return -np.minimum(distance, token_count - distance)
    if text == "identity":
        return (distance == 0).astype(np.float64)
    if name == "gaussian":
        return np.exp(-((distance / _argument(text, "pattern")) ** 2) / 2)
    if name == "window":
        return (distance <= _argument(text, "pattern")).astype(np.float64)
    raise InputError(
        f"unknown pattern: {text!r}; use alibi, periodic, gaussian:WIDTH, window:W, identity or an .npy file"
    )


def score_pattern(text: str, token_count: int) -> np.ndarray:
    """The named pattern at a length: float64, L x L.

    >>> score_pattern("alibi", 3).tolist()
    [[-0.0, -1.0, -2.0], [-1.0, -0.0, -1.0], [-2.0, -1.0, -0.0]]
    """
    if text.endswith(".npy"):
        return _load_square(text, token_count, "pattern").astype(np.float64)
    distance = np.abs(np.subtract.outer(np.arange(token_count), np.arange(token_count)))
    return scores_by_distance(text, token_count)[distance]


def keys_by_lag(text: str, token_count: int) -> Bool[np.ndarray, " lags"]:
    """Whether a named mask allows the lags j - i = -(L - 1) .. L - 1; every named mask depends on the lag alone.

    >>> keys_by_lag("causal", 3).tolist()
    [True, True, True, False, False]
    """
    lag = np.arange(1 - token_count, token_count)
    if text == "full":
        allowed = np.ones(len(lag), dtype=bool)
    elif text == "diagonal":
        allowed = lag != 0
    elif text == "causal":
        allowed = lag <= 0
    elif text.partition(":")[0] == "band":
        allowed = np.abs(lag) <= _argument(text, "mask")
    else:
        raise InputError(f"unknown mask: {text!r}; use full, diagonal, causal, band:W or an .npy file")
    if not allowed.any():
        _refuse_empty_row(0, token_count, text)
    return allowed


def attention_mask(text: str, token_count: int) -> np.ndarray:
    """The named mask at a length: bool, L x L; every row must have a key."""
    if text.endswith(".npy"):
        values = _load_square(text, token_count, "mask")
        if not np.isin(values, (0, 1)).all():
            raise InputError(f"a mask holds 0 and 1 only: {text} has other values; threshold it first")
        mask = values.astype(bool)
    else:
        lag = np.subtract.outer(-np.arange(token_count), -np.arange(token_count))
        mask = keys_by_lag(text, token_count)[lag + token_count - 1]
    empty = np.flatnonzero(~mask.any(axis=1))
    if empty.size:
        _refuse_empty_row(int(empty[0]), token_count, text)
    return mask


def _refuse_empty_row(query: int, token_count: int, text: str) -> None:
    raise InputError(
        f"every query needs at least one key: query {query} of {token_count} has none under the mask {text!r}; "
        "use longer sequences or allow a key in that row"
    )


def pooling_weights(text: str, token_count: int) -> tuple[np.ndarray, int | None]:
    """The named pooling weights at a length, and the position that CLS pooling reads."""
    if text == "mean":
        return np.full(token_count, 1 / token_count), None
    position = token_count - 1 if text == "last" else None
    if text.partition(":")[0] == "cls":
        _, _, value = text.partition(":")
        if not re.fullmatch("[0-9]{1,18}", value) or int(value) >= token_count:
            raise InputError(
                f"a CLS index must lie in 0..{token_count - 1}: got {text!r}; write cls:0 for the first position"
            )
        position = int(value)
    if position is None:
        raise InputError(f"unknown pooling: {text!r}; use mean, cls:INDEX or last")
    return (np.arange(token_count) == position).astype(np.float64), position
