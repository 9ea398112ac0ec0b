"""Statements on real token sequences: instances whose tokens are data and whose pattern satisfies the hypotheses.

The float64 instance uses every sequence and a named pattern, projected onto the hypotheses where there are any.  The
exact instance uses one sequence and an integer pattern that is blind exactly (from minus distance on a ring); tokens
are divided by seven so that no ball is exact by accident.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.linalg

from numerics.inputs import TokenData
from numerics.instances import Instance
from numerics.losses import CrossEntropyLoss, LabelLoss, LogisticLoss, PolynomialLoss
from numerics.patterns import attention_mask, pooling_weights, score_pattern
from theory.claim import MaskKind, Part, PoolingKind
from theory.geometry import RING
from theory.hypotheses import (
    antisymmetric_core,
    zero_centred_column_sums,
    zero_column_sums,
    zero_pooled_key_weight,
)

#: Hypotheses that a float64 pattern of any length can be projected onto.
_PROJECTED = (
    zero_column_sums,
    zero_centred_column_sums,
    zero_pooled_key_weight,
    antisymmetric_core,
    RING.constraint,
)


@dataclass(frozen=True)
class RealOptions:
    """Names of the pattern, and of mask and pooling where a statement leaves them open."""

    pattern: str = "alibi"
    mask: str = "causal"
    pooling: str = "mean"


def float_instance(part: Part, data: TokenData, options: RealOptions) -> Instance:
    """All sequences in float64, with a classification loss."""
    samples, count, width = data.tokens.shape
    mask, pooling, cls = _setting(part, count, options)
    pattern = _satisfying(part, score_pattern(options.pattern, count), mask, pooling)
    return Instance(
        pattern,
        mask,
        pooling,
        data.tokens,
        np.full(samples, 1 / samples),
        _classification(data),
        np.eye(width)[0],
        np.ones(count),
        cls,
    )


def exact_instance(part: Part, data: TokenData) -> Instance:
    """The first sequence, exactly, with an integer pattern over seven and a quadratic loss."""
    _, count, width = data.tokens.shape
    mask = attention_mask("diagonal" if part.setting.mask is MaskKind.DIAGONAL else "full", count)
    pattern = score_pattern("periodic", count).astype(np.int64)
    if part.setting.mask is MaskKind.FULL:
        # Vanishing column sums are enough here, so rows need not be balanced.
        ramp = np.arange(count)
        pattern = pattern - int(pattern[0].sum()) // count + np.add.outer(2 * ramp - (count - 1), 0 * ramp)
        pattern[0] -= pattern.sum(axis=0)
    target = Fraction(int(data.labels[0]) * 2 - 1)
    row = np.full((1, width), target, dtype=object)
    ones = np.full((1, width), Fraction(1), dtype=object)
    tokens = np.vectorize(lambda v: Fraction(v) / 7, otypes=[object])(data.tokens[:1])
    return Instance(
        pattern,
        mask,
        np.full(count, Fraction(1, count), dtype=object),
        tokens,
        np.array([Fraction(1)], dtype=object),
        PolynomialLoss(row, ones, 0 * ones),
        np.eye(width)[0],
        np.ones(count),
    )


def _setting(part: Part, count: int, options: RealOptions) -> tuple[np.ndarray, np.ndarray, int | None]:
    names = {MaskKind.FULL: "full", MaskKind.DIAGONAL: "diagonal", MaskKind.ANY: options.mask}
    pools = {PoolingKind.MEAN: "mean", PoolingKind.CLS: "cls:0", PoolingKind.ANY: options.pooling}
    pooling, cls = pooling_weights(pools[part.setting.pooling], count)
    return attention_mask(names[part.setting.mask], count), pooling, cls


def _classification(data: TokenData) -> LabelLoss:
    width = data.tokens.shape[2]
    if data.classes <= 2:
        return LogisticLoss(np.ones(width), 2 * data.labels - 1)
    return CrossEntropyLoss(np.random.default_rng(0).standard_normal((width, data.classes)), data.labels)


def can_satisfy(part: Part) -> bool:
    """Whether long real sequences can be given a pattern that satisfies the part's hypotheses."""
    return all(h in _PROJECTED for h in part.hypotheses)


def _satisfying(part: Part, pattern: np.ndarray, mask: np.ndarray, pooling: np.ndarray) -> np.ndarray:
    """The nearest pattern, up to rounding, that satisfies the part's hypotheses."""
    for hypothesis in part.hypotheses:
        if hypothesis == zero_column_sums:
            pattern = pattern - pattern.mean(axis=0)
        elif hypothesis in (zero_centred_column_sums, zero_pooled_key_weight):
            pattern = project_in_floats(pattern, mask, pooling)
        elif hypothesis == RING.constraint:
            offset = np.subtract.outer(-np.arange(len(mask)), -np.arange(len(mask))) % len(mask)
            pattern = (np.bincount(offset.ravel(), pattern.ravel()) / len(mask))[offset]
        elif hypothesis == antisymmetric_core:
            pattern = pattern * np.sign(np.subtract.outer(np.arange(len(mask)), np.arange(len(mask))))
        else:
            raise ValueError(f"no projection is known for the hypothesis {hypothesis.name!r}")
    return pattern


def project_in_floats(pattern: np.ndarray, mask: np.ndarray, pooling: np.ndarray) -> np.ndarray:
    """Float64 form of :func:`numerics.blind_set.project_onto_blind_set`, for long sequences."""
    keys = mask.sum(axis=1)
    weight = pooling / keys
    weight = weight / np.abs(weight).max()  # the constraint has no scale, the least-squares solver has
    coupling = mask * weight[:, None]
    rows_of, columns_of = (pattern * mask).sum(axis=1), weight @ (pattern * mask)
    # The row multipliers are eliminated (their block is diagonal); the rest is singular but consistent.
    system = np.diag((coupling**2).sum(axis=0)) - coupling.T @ (coupling / keys[:, None])
    columns = scipy.linalg.lstsq(system, columns_of - coupling.T @ (rows_of / keys), lapack_driver="gelsy")[0]
    rows = (rows_of - coupling @ columns) / keys
    projected = mask * (pattern - rows[:, None] - np.outer(weight, columns))
    # What is left of an entry that cancels is rounding of the original: the solver works to about 1e-13 of it.
    projected[np.abs(projected) <= 1e-11 * np.abs(pattern).max()] = 0
    return np.asarray(projected)
