"""The audit: measure, put intervals on every number, apply the rule.  The result is plain data; reports draw it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from numerics.audit.correlation import off_diagonal_energy
from numerics.audit.intervals import Curve, Estimate, of_function, of_groups
from numerics.audit.labels import label_numbers, other_poolings, response_is_zero
from numerics.audit.measurement import Measured, measure
from numerics.audit.positions import inner_product, positional_profiles, positions
from numerics.audit.reconstruction import (
    RATIOS,
    at_ratio,
    order_strength,
    reconstruction_numbers,
    slope_by_autograd,
    tokens_are_alike,
    why_slopes_vanish,
)
from numerics.audit.remedies import would_change
from numerics.audit.sequences import Sequences
from numerics.audit.verdict import RULE, Findings, outcome, sentence
from numerics.errors import InputError
from numerics.inputs import SymbolData, TokenData
from numerics.patterns import pooling_weights, score_pattern, scores_by_distance
from numerics.structured.scores import named_scores

#: Largest token entry, and its inverse the smallest of the largest: cosines of second moments are of eighth order.
LARGEST = 1e30
#: A constant tail of at least this share of a sequence looks like padding.
PADDING = 0.05
#: As many symbols as a byte has values look like a picture or a series.
MANY_SYMBOLS = 200
#: All distances are kept for sequences up to this length, else so many.
DISTANCES = 2048


@dataclass(frozen=True)
class AuditOptions:
    """Names of what is audited; see ``python -m numerics audit --help``."""

    pattern: str = "alibi"
    mask: str = "full"
    pooling: str = "mean"
    mask_ratio: float = 0.5
    positions: str = "sinusoidal:64"


def audit(
    data: TokenData | SymbolData, options: AuditOptions, progress: Callable[[int], None] = lambda done: None
) -> dict[str, Any]:
    """Everything the audit says, as data for JSON.

    Args:
        data: sequences, from ``numerics.inputs.load_sequences`` or made in Python.
        options: names of pattern, mask, pooling, masking ratio and positions.
        progress: told how many sequences each step has taken in.

    Raises:
        InputError: for a name or a size that cannot be; nothing is measured then.

    >>> rng = np.random.default_rng(0)
    >>> walk = rng.standard_normal((40, 32, 1)).cumsum(axis=1)
    >>> found = audit(TokenData("walks", walk, np.zeros(40, dtype=np.int64)), AuditOptions())
    >>> found["verdict"]["outcome"], sorted(found["numbers"]["spt_slope"])
    ('would_help', ['high', 'low', 'method', 'value'])
    """
    began = time.perf_counter()
    sequences = Sequences(data)
    count = sequences.length
    _check(data, options)
    pooling, encoding = pooling_weights(options.pooling, count)[0], positions(options.positions, count)
    scores = named_scores(options.pattern, options.mask, count)
    beside = named_scores(options.pattern, "diagonal", count)
    measured = measure(sequences, scores, beside, pooling, encoding, progress)
    of = measured.of_sequences
    alike = tokens_are_alike(of)
    reason, reason_beside = (why_slopes_vanish(held, alike) for held in (scores, beside))
    poolings = other_poolings(scores, options.pooling)
    strength = order_strength(scores, of, options.mask_ratio)
    curves, agreement = _directions(measured, options, encoding)
    numbers = {
        **label_numbers(scores, pooling, of),
        **reconstruction_numbers(of, options.mask_ratio, reason, reason_beside),
        "spt_slope_autograd": slope_by_autograd(sequences, options.pattern, options.mask, of, reason),
        **({} if strength is None else {"order_strength": strength}),
        "off_diagonal_energy": off_diagonal_energy(sequences),
        **agreement,
    }
    findings = Findings(
        alike,
        poolings[0]["seen_share_of_rows_read"],
        response_is_zero(scores, of),
        numbers["order_slope"],
        strength,
        numbers["spt_slope_masked"],
        options.mask_ratio,
        sequences.count,
    )
    ratios = [at_ratio(of, ratio) for ratio in sorted({*RATIOS, options.mask_ratio})]
    distances = np.arange(count)
    if count > DISTANCES:
        distances = np.unique(np.append(0, np.geomspace(1, count - 1, DISTANCES).round().astype(np.int64)))
    return {
        "schema_version": 1,
        "data": sequences.record(),
        "options": asdict(options),
        "numbers": {name: estimate.record() for name, estimate in numbers.items()},
        "masking_ratios": ratios,
        "poolings": poolings,
        "profiles": {
            "pattern": {"distance": distances.tolist(), "value": _pattern_profile(options, count)[distances].tolist()},
            **{name: curve.record(distances) for name, curve in curves.items()},
        },
        "verdict": {
            "outcome": str(outcome(findings)),
            "sentence": sentence(findings),
            "would_change": list(would_change(findings, poolings, ratios, options.pattern)),
        },
        "notes": _notes(sequences),
        "rule": RULE,
        "seconds": round(time.perf_counter() - began, 3),
    }


def _check(data: TokenData | SymbolData, options: AuditOptions) -> None:
    if isinstance(data, TokenData) and data.tokens.any():
        size = float(np.abs(data.tokens).max())
        if not 1 / LARGEST <= size <= LARGEST:
            raise InputError(
                f"tokens must be of moderate size, for products of eight to stay finite: the largest is {size:.3g}, "
                f"allowed {1 / LARGEST:g} to {LARGEST:g}; divide them by {size:.3g}"
            )
    if not 0 < options.mask_ratio < 1:
        raise InputError(
            f"a masking ratio must lie strictly between 0 and 1: mask_ratio={options.mask_ratio:g}; "
            "use --mask-ratio 0.5"
        )
    if options.mask.endswith(".npy"):
        raise InputError(
            f"the audit takes masks that depend on j - i alone: got {options.mask}; "
            "use full, diagonal, causal or band:W"
        )


def _directions(
    measured: Measured, options: AuditOptions, encoding: np.ndarray
) -> tuple[dict[str, Curve], dict[str, Estimate]]:
    sizes = measured.sizes.astype(int)
    groups = list(zip(measured.positional, sizes, strict=True))
    plain = np.array([held.unmasked(int(size)) for held, size in groups])
    masked = np.array([held.masked(options.mask_ratio, int(size)) for held, size in groups])
    descent = np.array([held.profile(int(size)) for held, size in zip(measured.descent, sizes, strict=True)])
    curves = {
        "descent": of_groups(descent, measured.sizes),
        "predicted": of_groups(positional_profiles(encoding, plain), measured.sizes),
        "predicted_masked": of_groups(positional_profiles(encoding, masked), measured.sizes),
    }
    width = encoding.shape[1]
    cores = np.concatenate([plain.reshape(len(groups), -1), masked.reshape(len(groups), -1)], axis=1)

    def split(mean: np.ndarray) -> tuple[np.ndarray, ...]:
        left, right = (part.reshape(*mean.shape[:-1], width, width) for part in np.split(mean, 2, axis=-1))
        return tuple(inner_product(encoding, a, b) for a, b in ((left, right), (left, left), (right, right)))

    def cosine(mean: np.ndarray) -> np.ndarray:
        across, one, other = split(mean)
        return np.asarray(across / np.sqrt(one * other))

    def size_ratio(mean: np.ndarray) -> np.ndarray:
        _, one, other = split(mean)
        return np.asarray(np.sqrt(other / one))

    return curves, {
        "predicted_cosine": of_function(cosine, cores, "groups of sequences"),
        "predicted_size_ratio": of_function(size_ratio, cores, "groups of sequences"),
    }


def _pattern_profile(options: AuditOptions, count: int) -> np.ndarray:
    """Mean score by distance, minus the mean over all pairs."""
    pairs = 2.0 * np.arange(count, 0, -1)
    pairs[0] = count
    if options.pattern.endswith(".npy"):
        distance = np.abs(np.subtract.outer(np.arange(count), np.arange(count))).ravel()
        profile = np.bincount(distance, score_pattern(options.pattern, count).ravel()) / pairs
    else:
        profile = scores_by_distance(options.pattern, count)
    return np.asarray(profile - np.average(profile, weights=pairs))


def _notes(sequences: Sequences) -> list[str]:
    """What a reader should know about the data before trusting the numbers."""
    if not isinstance(sequences.data, SymbolData):
        return []
    symbols = sequences.data.symbols
    changes = (symbols != symbols[:, -1:])[:, ::-1]
    tail = np.where(changes.any(axis=1), changes.argmax(axis=1), sequences.length)
    share = float(tail.mean() / sequences.length)
    notes = []
    if sequences.data.vocabulary >= MANY_SYMBOLS:
        notes.append(
            f"integer tokens are taken as {sequences.data.vocabulary} symbols without an order: save grey values or "
            "raw series as floats N x L x 1"
        )
    if share < PADDING:
        return notes
    return [
        *notes,
        f"{share:.0%} of the positions repeat the last symbol of their sequence: if that is padding, it counts as "
        "order here; cut the sequences to the shortest",
    ]
