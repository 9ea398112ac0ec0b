"""Hypothesis strategies for the objects of the theory; other projects' suites may import them.

Patterns inside and outside a hypothesis come from exact null spaces; every number is an exact rational.

>>> from theory import find_claim
>>> part = find_claim("P1").parts[0]
>>> from hypothesis import given
>>> @given(instances(part))
... def columns_sum_to_zero(instance):
...     assert all(total == 0 for total in instance.pattern.sum(axis=0))
>>> columns_sum_to_zero()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from numerics.blind_set import constraint_matrix, null_space
from numerics.instances import Instance, completed, ring_mask, unit_vector
from numerics.losses import CrossEntropyLoss, LabelLoss, LogisticLoss, PolynomialLoss
from numerics.rings import Rationals
from theory.claim import Constraint, MaskKind, Part, PoolingKind

#: What hypothesis hands to a composite strategy (its own protocol cannot be checked at run time).
Draw = Callable[..., Any]

_SMALL = st.integers(-6, 6)


@st.composite
def rational_arrays(draw: Draw, *shape: int) -> np.ndarray:
    """Arrays of small rationals with one common denominator, object dtype."""
    size = int(np.prod(shape))
    numerators = draw(st.lists(_SMALL, min_size=size, max_size=size))
    denominator = draw(st.integers(1, 5))
    return np.array([Fraction(n, denominator) for n in numerators], dtype=object).reshape(shape)


@st.composite
def masks(draw: Draw, token_count: int, kind: MaskKind = MaskKind.ANY) -> np.ndarray:
    """Boolean masks, L x L, in which every query has a key."""
    if kind is MaskKind.FULL:
        return np.ones((token_count, token_count), dtype=bool)
    if kind is MaskKind.DIAGONAL:
        return ~np.eye(token_count, dtype=bool)
    if kind is MaskKind.RING:
        return ring_mask(np.array(draw(st.lists(st.booleans(), min_size=token_count, max_size=token_count))))
    bits = draw(st.lists(st.booleans(), min_size=token_count**2, max_size=token_count**2))
    mask = np.array(bits).reshape(token_count, token_count)
    keys = draw(st.lists(st.integers(0, token_count - 1), min_size=token_count, max_size=token_count))
    mask[np.arange(token_count), keys] = True
    return mask


@st.composite
def poolings(draw: Draw, token_count: int, kind: PoolingKind = PoolingKind.ANY) -> tuple[np.ndarray, int | None]:
    """Pooling weights that sum to one, with the position that CLS pooling reads (``None`` for other kinds)."""
    if kind is PoolingKind.MEAN:
        return np.array([Fraction(1, token_count)] * token_count, dtype=object), None
    if kind is PoolingKind.CLS:
        position = draw(st.integers(0, token_count - 1))
        return np.array([Fraction(int(i == position)) for i in range(token_count)], dtype=object), position
    weights = draw(st.lists(st.integers(0, 5), min_size=token_count, max_size=token_count).filter(any))
    return np.array([Fraction(w, sum(weights)) for w in weights], dtype=object), None


@st.composite
def patterns_satisfying(
    draw: Draw, constraints: Sequence[Constraint], mask: np.ndarray, pooling: np.ndarray
) -> np.ndarray:
    """Score patterns that satisfy all constraints exactly: combinations of the exact null space."""
    basis = null_space(constraints, mask, pooling)
    weights = draw(rational_arrays(len(basis)))
    return np.tensordot(weights, basis, axes=1) if len(basis) else np.zeros(mask.shape, dtype=object)


@st.composite
def patterns_violating(
    draw: Draw, constraints: Sequence[Constraint], mask: np.ndarray, pooling: np.ndarray
) -> np.ndarray:
    """Score patterns that violate at least one of the constraints."""
    inside = draw(patterns_satisfying(constraints, mask, pooling))
    rows = np.array(constraint_matrix(constraints, mask, pooling), dtype=object)
    normals = [row for row in rows if any(row)]
    if not normals:
        raise ValueError("the constraints hold for every pattern, so that none violates them")
    weight = draw(st.integers(1, 6))
    return np.asarray(inside + weight * draw(st.sampled_from(normals)).reshape(mask.shape))


@st.composite
def second_moments(draw: Draw, token_count: int, rank: int | None = None) -> np.ndarray:
    """Second-moment matrices L x L: exact, symmetric, positive semi-definite."""
    factor = draw(rational_arrays(token_count, rank or token_count))
    return np.asarray(factor @ factor.T)


@st.composite
def token_laws(draw: Draw, token_count: int, token_width: int) -> tuple[np.ndarray, np.ndarray]:
    """Finite laws: tokens N x L x d and sample weights N that sum to one."""
    samples = draw(st.integers(1, 3))
    weights = draw(st.lists(st.integers(1, 5), min_size=samples, max_size=samples))
    tokens = draw(rational_arrays(samples, token_count, token_width))
    return tokens, np.array([Fraction(w, sum(weights)) for w in weights], dtype=object)


@st.composite
def label_losses(draw: Draw, samples: int, token_width: int) -> LabelLoss:
    """Label losses: polynomial with its own coefficients a sample, logistic, softmax cross-entropy."""
    kind = draw(st.sampled_from(["polynomial", "logistic", "cross-entropy"]))
    if kind == "polynomial":
        return PolynomialLoss(*(draw(rational_arrays(samples, token_width)) for _ in range(3)))
    if kind == "logistic":
        labels = draw(st.lists(st.sampled_from([-1, 1]), min_size=samples, max_size=samples))
        return LogisticLoss(draw(rational_arrays(token_width)), np.array(labels))
    labels = draw(st.lists(st.integers(0, 2), min_size=samples, max_size=samples))
    return CrossEntropyLoss(draw(rational_arrays(token_width, 3)), np.array(labels))


@st.composite
def instances(draw: Draw, part: Part, least_length: int = 2, most_length: int = 6) -> Instance:
    """Instances of a statement's setting that satisfy its hypotheses exactly."""
    token_count = draw(st.integers(least_length, most_length))
    token_width = draw(st.integers(1, 3))
    mask = draw(masks(token_count, part.setting.mask))
    pooling, cls = draw(poolings(token_count, part.setting.pooling))
    tokens, weights = draw(token_laws(token_count, token_width))
    instance = Instance(
        draw(patterns_satisfying(part.hypotheses, mask, pooling)),
        mask,
        pooling,
        tokens,
        weights,
        draw(label_losses(len(weights), token_width)),
        unit_vector(token_width, np.random.default_rng(draw(st.integers(0, 99)))),
        draw(rational_arrays(token_count)),
        cls,
    )
    ratio = Fraction(draw(st.integers(1, 6)), 7)
    return completed(instance, part, Rationals(), lambda shape: draw(rational_arrays(*shape)), ratio)
