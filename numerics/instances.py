"""Concrete instances of a statement's setting: pattern, mask, pooling, a finite law of tokens, a loss.

Entries are exact rationals; every route converts them to its own numbers.  Random instances satisfy a part's
hypotheses exactly, because patterns are drawn from the exact null space.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache

import numpy as np
import sympy as sp
from jaxtyping import Bool, Shaped

from numerics.blind_set import null_space
from numerics.evaluate import KNOWN, LOSS_TENSORS, SAMPLE, Environment
from numerics.losses import LabelLoss, PolynomialLoss
from numerics.rings import Rationals, Ring
from theory import objects
from theory.claim import OBJECTIVES, MaskKind, Part, PoolingKind, Quantity, Setting, cls_position
from theory.curves import CurveEntry
from theory.masking import kept
from theory.objectives import Loss
from theory.sums import FEATURES, POSITIONS, Entry, Tensor
from theory.sums.symbols import is_delta

#: Quantities whose expectation runs over masked positions too.
MASKED = (Quantity.MASKED_SLOPE, Quantity.TRAINED_MASKED_SLOPE)


@dataclass(frozen=True)
class Instance:
    """One finite instance: L positions, N samples, d features; pooling and sample weights sum to one.

    Arrays hold exact numbers (or float64 for real data).  ``cls`` is the position that CLS pooling reads.
    """

    pattern: Shaped[np.ndarray, "L L"]
    mask: Bool[np.ndarray, "L L"]
    pooling: Shaped[np.ndarray, " L"]
    tokens: Shaped[np.ndarray, "N L d"]
    sample_weights: Shaped[np.ndarray, " N"]
    loss: LabelLoss
    unit_feature: Shaped[np.ndarray, " d"]
    profile: Shaped[np.ndarray, " L"]
    cls: int | None = None
    overrides: Mapping[Tensor, tuple[tuple[str, ...], np.ndarray]] = field(default_factory=dict)
    mask_ratio: Fraction | int | None = None

    @property
    def token_count(self) -> int:
        return int(self.tokens.shape[1])

    @property
    def token_width(self) -> int:
        return int(self.tokens.shape[2])

    def environment(self, ring: Ring, order: int = 1) -> Environment:
        """The arrays for evaluating expressions of ``theory`` in a ring."""
        arrays = {
            objects.pattern: (("i", "j"), ring.array(self.pattern)),
            objects.mask: (("i", "j"), ring.array(np.asarray(self.mask, dtype=np.int64))),
            objects.pooling: (("i",), ring.array(self.pooling)),
            objects.tokens: ((SAMPLE, "i", "c"), ring.array(self.tokens)),
            objects.unit_feature: (("c",), ring.array(self.unit_feature)),
            objects.profile: (("i",), ring.array(self.profile)),
        }
        arrays |= {tensor: (dims, ring.array(values)) for tensor, (dims, values) in self.overrides.items()}
        polynomial = isinstance(self.loss, PolynomialLoss)
        parts = (self.loss.linear, self.loss.quadratic, self.loss.cubic) if polynomial else None  # type: ignore[attr-defined]
        return Environment(
            ring,
            self.token_count,
            self.token_width,
            arrays,
            ring.array(self.sample_weights),
            tuple(ring.array(p) for p in parts) if parts else None,  # type: ignore[arg-type]
            {} if self.cls is None else {cls_position.name: self.cls},
            order,
            self.mask_ratio,
        )

    def extra(self, tensor: Tensor) -> np.ndarray:
        """The array of a tensor that is not one of section 5."""
        return self.overrides[tensor][1]


def _fractions(rng: np.random.Generator, shape: tuple[int, ...], low: int = -9, high: int = 9) -> np.ndarray:
    numerators, denominators = rng.integers(low, high + 1, shape), rng.integers(1, 8, shape)
    made = np.empty(shape, dtype=object)
    for position in np.ndindex(shape):
        made[position] = Fraction(int(numerators[position]), int(denominators[position]))
    return made


def random_mask(kind: MaskKind, token_count: int, rng: np.random.Generator) -> np.ndarray:
    """A mask of a kind; an arbitrary one has at least one key in every row."""
    if kind is MaskKind.FULL:
        return np.ones((token_count, token_count), dtype=bool)
    if kind is MaskKind.DIAGONAL:
        return ~np.eye(token_count, dtype=bool)
    if kind is MaskKind.RING:
        return ring_mask(rng.random(token_count) < 0.7)
    mask = rng.random((token_count, token_count)) < 0.7
    mask[np.arange(token_count), rng.integers(0, token_count, token_count)] = True
    return mask


def ring_mask(offsets: Bool[np.ndarray, " L"]) -> Bool[np.ndarray, "L L"]:
    """The mask that allows the given offsets ``j - i`` mod L; offset 0 is allowed where none is."""
    count = len(offsets)
    allowed = offsets if offsets.any() else np.arange(count) == 0
    return np.asarray(allowed[np.subtract.outer(-np.arange(count), -np.arange(count)) % count])


def random_pooling(kind: PoolingKind, token_count: int, rng: np.random.Generator) -> tuple[np.ndarray, int | None]:
    """Pooling weights that sum to one, and the CLS position where the kind has one."""
    if kind is PoolingKind.MEAN:
        return np.array([Fraction(1, token_count)] * token_count, dtype=object), None
    if kind is PoolingKind.CLS:
        cls = int(rng.integers(token_count))
        return np.array([Fraction(int(i == cls)) for i in range(token_count)], dtype=object), cls
    weights = [Fraction(int(w)) for w in rng.integers(1, 10, token_count)]
    return np.array([w / sum(weights) for w in weights], dtype=object), None


def unit_vector(dimension: int, rng: np.random.Generator) -> np.ndarray:
    """A rational unit vector, by inverse stereographic projection of a rational point."""
    if dimension == 1:
        return np.array([Fraction(1)], dtype=object)
    point = [Fraction(int(v), 3) for v in rng.integers(-5, 6, dimension - 1)]
    square = sum(p * p for p in point)
    return np.array([2 * p / (square + 1) for p in point] + [(square - 1) / (square + 1)], dtype=object)


def random_loss(samples: int, dimension: int, rng: np.random.Generator) -> PolynomialLoss:
    """A cubic loss whose gradient depends on the pooled vector and the sample."""
    linear, quadratic, cubic = (_fractions(rng, (samples, dimension)) for _ in range(3))
    return PolynomialLoss(linear, quadratic, cubic)


def random_pattern(part: Part, mask: np.ndarray, pooling: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random rational pattern that satisfies the part's hypotheses exactly."""
    basis = null_space(part.hypotheses, mask, pooling)
    if not len(basis):
        return np.full(mask.shape, Fraction(0), dtype=object)
    weights = _fractions(rng, (len(basis),))
    shape = mask.shape
    flat = [
        sum((w * int(v) for w, v in zip(weights, column, strict=True)), Fraction(0))
        for column in basis.reshape(len(basis), -1).T
    ]
    return np.array(flat, dtype=object).reshape(shape)


def random_instance(part: Part, token_count: int, token_width: int, samples: int, rng: np.random.Generator) -> Instance:
    """A random exact instance of a part's setting, hypotheses and witness law."""
    setting: Setting = part.setting
    mask = random_mask(setting.mask, token_count, rng)
    pooling, cls = random_pooling(setting.pooling, token_count, rng)
    weights = [Fraction(int(w)) for w in rng.integers(1, 10, samples)]
    instance = Instance(
        random_pattern(part, mask, pooling, rng),
        mask,
        pooling,
        _fractions(rng, (samples, token_count, token_width)),
        np.array([w / sum(weights) for w in weights], dtype=object),
        random_loss(samples, token_width, rng),
        unit_vector(token_width, rng),
        _fractions(rng, (token_count,)),
        cls,
    )
    return completed(
        instance, part, Rationals(), lambda shape: _fractions(rng, shape), Fraction(int(rng.integers(1, 7)), 7)
    )


def with_witness(instance: Instance, part: Part, ring: Ring) -> Instance:
    """Replace tensors by the part's witness laws, in their order; entries stay in ``ring``."""
    for tensor, law in part.witness.items():
        formal = tensor.formal_indices()
        values = instance.environment(ring).evaluate(law(*formal), formal)
        if tensor == objects.pattern:
            instance = replace(instance, pattern=values)
        elif tensor == objects.tokens:
            loss = random_loss(1, instance.token_width, np.random.default_rng(0))
            one = np.array([Fraction(1)], dtype=object)
            instance = replace(instance, tokens=values[None], sample_weights=one, loss=loss)
        elif tensor == objects.loss_gradient:
            zero = np.full((1, instance.token_width), Fraction(0), dtype=object)
            instance = replace(instance, loss=PolynomialLoss(values[None], zero, zero))
        else:
            overrides = {**instance.overrides, tensor: (tuple(i.name for i in formal), values)}
            instance = replace(instance, overrides=overrides)
    return instance


#: Arrays that every instance has, or that evaluators derive; anything else that a statement mentions is drawn.
_GIVEN = frozenset({*objects.PRIMITIVES, *KNOWN, *LOSS_TENSORS, kept})


def extra_tensors(part: Part) -> tuple[Tensor, ...]:
    """Primitive tensors beyond section 5 on which a part's two sides or its witness laws rest."""
    return tuple(tensor for tensor in _mentioned(part) if tensor not in _GIVEN)


def _mentioned(part: Part) -> dict[Tensor, None]:
    found: dict[Tensor, None] = {}
    laws = (law(*tensor.formal_indices()) for tensor, law in part.witness.items())
    origins = (OBJECTIVES[part.quantity](),) if part.quantity in OBJECTIVES else ()
    for expression in (part.statement, part.left or sp.S.Zero, *laws, *origins):
        found |= dict.fromkeys(_primitives(expression))
    return found


@cache
def _primitives(expression: sp.Expr) -> tuple[Tensor, ...]:
    found: dict[Tensor, None] = {}
    for node in sp.preorder_traversal(expression):
        if isinstance(node, Loss):
            found |= dict.fromkeys(_primitives(node.path.pooled(*objects.loss_gradient.formal_indices())))
        elif isinstance(node, CurveEntry) and node.curve.definition is not None:
            found |= dict.fromkeys(_primitives(node.curve.definition(*node.indices)))
        elif isinstance(node, Entry) and not is_delta(node.tensor):
            definition = node.tensor.definition
            inner = _primitives(definition(*node.tensor.formal_indices())) if definition else (node.tensor,)
            found |= dict.fromkeys(inner)
    return tuple(found)


def completed(
    instance: Instance, part: Part, ring: Ring, draw: Callable[[tuple[int, ...]], np.ndarray], ratio: Fraction | int
) -> Instance:
    """The instance with everything else that a part needs: extra tensors, witness laws, every choice of masked tokens.

    ``draw`` makes an array of a shape, ``ratio`` is the probability of masking a token.
    """
    sizes = {FEATURES: instance.token_width, POSITIONS: instance.token_count}
    overrides = dict(instance.overrides)
    for tensor in extra_tensors(part):
        values = draw(tuple(sizes[r] for r in tensor.ranges))
        if tensor.symmetric:
            values = values + values.T
        overrides[tensor] = (tuple(i.name for i in tensor.formal_indices()), values)
    instance = with_witness(replace(instance, overrides=overrides), part, ring)
    return with_masking(instance, ratio) if part.quantity in MASKED or kept in _mentioned(part) else instance


def with_masking(instance: Instance, ratio: Fraction | int) -> Instance:
    """Every choice of masked positions beside every sample, with its probability: 2^L times as many samples."""
    samples, count, _ = instance.tokens.shape
    bits = np.array(list(itertools.product((0, 1), repeat=count)))
    odds = np.array([ratio ** int(count - row.sum()) * (1 - ratio) ** int(row.sum()) for row in bits], dtype=object)
    zero = np.full((1, instance.token_width), Fraction(0), dtype=object)
    keep = np.tile(bits, (samples, 1))
    return replace(
        instance,
        tokens=np.repeat(instance.tokens, len(bits), axis=0),
        sample_weights=np.outer(instance.sample_weights, odds).ravel(),
        loss=PolynomialLoss(zero, zero, zero),
        overrides={**instance.overrides, kept: ((SAMPLE, "i"), keep)},
        mask_ratio=ratio,
    )
