"""Search for a counterexample of a statement, smallest first: by length, then width, then height of the entries.

Left side (from the definition, by exact rational series) and right side (the claimed expression) are compared
exactly, so that a hit is a proof that the statement is false.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from numerics.blind_set import null_space
from numerics.instances import MASKED, Instance, completed, ring_mask, unit_vector
from numerics.losses import PolynomialLoss
from numerics.measure import by_series
from numerics.numbers import EXACT
from numerics.rings import Rationals
from theory.claim import MaskKind, Part, PoolingKind, Quantity

_GRADIENTS = (Quantity.SUPERVISED_GRADIENT, Quantity.RECONSTRUCTION_GRADIENT, Quantity.GRADIENT_PRODUCT)


@dataclass(frozen=True)
class Counterexample:
    """An instance on which the exact values of the two sides differ."""

    instance: Instance
    true: np.ndarray
    claimed: np.ndarray

    def _loss(self) -> str:
        quadratic = isinstance(self.instance.loss, PolynomialLoss) and np.any(self.instance.loss.quadratic != 0)
        return "sum of h_c + h_c²/2" if quadratic else "sum of h_c"

    def record(self) -> dict[str, Any]:
        """Plain values, rationals as strings."""
        instance = self.instance
        return {
            "L": instance.token_count,
            "d": instance.token_width,
            "pattern": _strings(instance.pattern),
            "mask": np.asarray(instance.mask, dtype=int).tolist(),
            "pooling": _strings(instance.pooling),
            "tokens": _strings(instance.tokens),
            "others": {tensor.name: _strings(values) for tensor, (_, values) in instance.overrides.items()},
            "loss": self._loss(),
            "true": _strings(self.true),
            "claimed": _strings(self.claimed),
        }


def _strings(values: Any) -> Any:
    held = np.asarray(values, dtype=object)
    return str(held[()]) if held.ndim == 0 else [_strings(v) for v in held]


def exact_sides(part: Part, instance: Instance) -> tuple[np.ndarray, np.ndarray]:
    """Exact left and right side of a statement on an instance."""
    environment = instance.environment(Rationals())
    claimed = environment.evaluate(part.statement, part.free)
    if part.quantity is Quantity.ALGEBRAIC:
        return environment.evaluate(part.left, part.free), claimed
    true = by_series(instance, part.quantity, EXACT)
    return true, np.broadcast_to(claimed, true.shape)


def find_counterexample(
    part: Part,
    *,
    least_length: int = 2,
    least_width: int = 1,
    most_length: int = 5,
    most_width: int = 2,
    tries: int = 400,
    quadratic: bool = False,
    second_sample: bool = False,
) -> Counterexample | None:
    """The first instance, in the search order, on which the statement is false; ``None`` when none is found.

    ``tries`` bounds the instances for each length, width and height.
    """
    for count, width, height in itertools.product(
        range(least_length, most_length + 1), range(least_width, most_width + 1), (1, 2)
    ):
        for instance in itertools.islice(_instances(part, count, width, height, quadratic, second_sample), tries):
            true, claimed = exact_sides(part, instance)
            if (true != claimed).any():
                return Counterexample(instance, true, claimed)
    return None


def _instances(
    part: Part, count: int, width: int, height: int, quadratic: bool, second_sample: bool
) -> Iterator[Instance]:
    samples = 2 if second_sample else 1
    weights = np.array([Fraction(1, samples)] * samples, dtype=object)
    rng = np.random.default_rng(0)
    ones, zeros = (np.full((samples, width), Fraction(value), dtype=object) for value in (1, 0))
    tokens = list(itertools.islice(_small_vectors(count * width, height), 24))
    settings = itertools.product(_masks(part.setting.mask, count), _poolings(part, count))
    streams = [_stream(part, mask, pooling, cls, height, tokens) for mask, (pooling, cls) in settings]
    for mask, pooling, cls, pattern, token in _round_robin(streams):
        instance = Instance(
            pattern,
            mask,
            pooling,
            np.stack([token.reshape(count, width) * (1 - n) for n in range(samples)]),
            weights,
            PolynomialLoss(ones, ones if quadratic else zeros, zeros),
            unit_vector(width, rng),
            np.arange(1, count + 1),
            cls,
        )
        # Matrices of the statement: small integers, drawn anew for every pattern and tokens.
        draw = lambda shape: rng.integers(-height, height + 1, shape).astype(object)  # noqa: E731
        yield completed(instance, part, Rationals(), draw, Fraction(3, 20))


def _stream(
    part: Part, mask: np.ndarray, pooling: np.ndarray, cls: int | None, height: int, tokens: list[np.ndarray]
) -> Iterator[tuple[Any, ...]]:
    """Pairs of a pattern and tokens, the simplest pairs of both first."""
    source = _patterns(part, mask, pooling, height)
    patterns: list[np.ndarray] = []
    for rank in itertools.count():
        patterns += itertools.islice(source, 1)
        pairs = [(patterns[n], tokens[rank - n]) for n in range(min(rank + 1, len(patterns))) if rank - n < len(tokens)]
        if not pairs:
            return
        for pattern, token in pairs:
            yield mask, pooling, cls, pattern, token


def _round_robin(streams: list[Iterator[Any]]) -> Iterator[Any]:
    """One item of each stream in turn, so that no mask or pooling exhausts the tries alone."""
    while streams:
        alive = []
        for stream in streams:
            for item in stream:
                yield item
                alive.append(stream)
                break
        streams = alive


def _patterns(part: Part, mask: np.ndarray, pooling: np.ndarray, height: int) -> Iterator[np.ndarray]:
    if part.quantity in _GRADIENTS:
        yield np.zeros(mask.shape, dtype=object)
        return
    basis = null_space(part.hypotheses, mask, pooling)
    for weights in itertools.islice(_small_vectors(len(basis), height), 200):
        yield np.tensordot(weights, basis, axes=1)


def _small_vectors(size: int, height: int) -> Iterator[np.ndarray]:
    """Non-zero integer vectors with entries up to ``height``, fewest non-zero entries first."""
    values = [v for magnitude in range(1, height + 1) for v in (magnitude, -magnitude)]
    for support in range(1, size + 1):
        for places in itertools.combinations(range(size), support):
            for chosen in itertools.product(values, repeat=support):
                vector = np.zeros(size, dtype=object)
                vector[list(places)] = chosen
                yield vector


def _masks(kind: MaskKind, count: int) -> list[np.ndarray]:
    full, diagonal = np.ones((count, count), dtype=bool), ~np.eye(count, dtype=bool)
    causal = np.tril(full)
    ring = ring_mask(np.arange(count) < 2)
    return {
        MaskKind.FULL: [full],
        MaskKind.DIAGONAL: [diagonal],
        MaskKind.RING: [full, ring],
        MaskKind.ANY: [full, diagonal, causal],
    }[kind]


def _poolings(part: Part, count: int) -> list[tuple[np.ndarray, int | None]]:
    mean = np.array([Fraction(1, count)] * count, dtype=object)
    units = [np.array([Fraction(int(i == place)) for i in range(count)], dtype=object) for place in range(count)]
    ramp = np.array([Fraction(2 * (i + 1), count * (count + 1)) for i in range(count)], dtype=object)
    unpooled = (Quantity.ATTENTION_SLOPE, Quantity.RECONSTRUCTION_SLOPE, Quantity.RECONSTRUCTION_GRADIENT, *MASKED)
    if part.setting.pooling is PoolingKind.MEAN or part.quantity in unpooled:
        return [(mean, None)]
    if part.setting.pooling is PoolingKind.CLS:
        return [(unit, place) for place, unit in enumerate(units)]
    return [(mean, None), (units[0], None), (ramp, None)]
