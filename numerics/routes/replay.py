"""Grade ``replayed``: every line of a derivation, modulo a prime, at random points that satisfy the hypotheses.

Each line must stand in its stated relation to the line before.  Both sides are polynomials of known degree D in the
drawn residues, so that a false relation survives one trial with probability at most D / p (Schwartz, Zippel).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from numerics.blind_set import null_space
from numerics.evaluate import LOSS_TENSORS, Environment
from numerics.instances import Instance, completed, random_mask, random_pooling
from numerics.losses import PolynomialLoss
from numerics.rings import PRIME, PrimeField
from theory import objects
from theory.claim import Part, PoolingKind
from theory.curves import CurveEntry, alpha
from theory.derivation import Derivation, Move, Step
from theory.masking import kept
from theory.objectives import PATHS, Loss, pooled
from theory.sums import Entry, Expectation, Tensor
from theory.sums.symbols import is_delta

#: Series coefficients kept: after two derivatives two are left, so that later lines are compared away from 0 too.
ORDER = 4

#: Masked inputs are drawn at lengths up to this: the probability of a choice has that degree in ρ.
_MOST_BITS = 8


@dataclass(frozen=True)
class ReplayFailure:
    """A line that does not hold at a drawn point."""

    line: int
    rule: str
    token_count: int
    token_width: int


def residue_instance(
    part: Part, token_count: int, token_width: int, samples: int, rng: np.random.Generator
) -> Instance:
    """An instance with uniform residues wherever the setting and the hypotheses leave freedom."""
    field = PrimeField()

    def residues(*shape: int) -> np.ndarray:
        return rng.integers(0, PRIME, shape)

    mask = random_mask(part.setting.mask, token_count, rng)
    pooling, cls = random_pooling(part.setting.pooling, token_count, rng)
    basis = null_space(part.hypotheses, mask, pooling)
    if part.setting.pooling is PoolingKind.ANY and not part.hypotheses:
        pooling = _summing_to_one(residues(token_count))
    weights = residues(len(basis)).astype(object)
    pattern = np.tensordot(weights, basis, axes=1) % PRIME
    linear, quadratic, cubic = (residues(samples, token_width) for _ in range(3))
    instance = Instance(
        pattern.astype(np.int64),
        mask,
        pooling,
        residues(samples, token_count, token_width),
        _summing_to_one(residues(samples)),
        PolynomialLoss(linear, quadratic, cubic),
        _unit_vector(token_width, rng),
        residues(token_count),
        cls,
    )
    return completed(instance, part, field, lambda shape: residues(*shape), int(residues(1)[0]))


def _summing_to_one(values: np.ndarray) -> np.ndarray:
    values = values.copy()
    values[-1] = (1 - values[:-1].sum()) % PRIME
    return values


def _unit_vector(dimension: int, rng: np.random.Generator) -> np.ndarray:
    if dimension == 1:
        return np.ones(1, dtype=np.int64)
    point = [int(v) for v in rng.integers(0, PRIME, dimension - 1)]
    square = sum(p * p for p in point) % PRIME
    inverse = pow(square + 1, -1, PRIME)
    return np.array([2 * p * inverse % PRIME for p in point] + [(square - 1) * inverse % PRIME])


def replay(derivation: Derivation, part: Part, instance: Instance) -> ReplayFailure | None:
    """Check every line of a derivation on an instance; ``None`` when all hold."""
    environment = instance.environment(PrimeField(), ORDER)
    return replay_lines(derivation.steps, part, environment)


def replay_lines(steps: list[Step], part: Part, environment: Environment) -> ReplayFailure | None:
    """Check the relation of each line to the one before, in an environment modulo the prime."""
    has_coefficients = any(step.move is Move.COEFFICIENT for step in steps)
    free = () if has_coefficients else part.free
    before: tuple[np.ndarray, ...] | None = None
    for number, step in enumerate(steps):
        if step.move is Move.COEFFICIENT:
            free = part.free
        now = environment.series(step.expression, free)
        if before is not None and not _related(step, before, now, environment):
            return ReplayFailure(number, step.rule, environment.token_count, environment.token_width)
        if step.move in (Move.DIFFERENTIATE, Move.AT_ZERO) and before is not None:
            kept = len(before) - 1 if step.move is Move.DIFFERENTIATE else 1
            now = now[:kept]
        elif before is not None:
            now = now[: len(before)]
        before = now
    return None


def _related(step: Step, before: tuple[np.ndarray, ...], now: tuple[np.ndarray, ...], environment: Environment) -> bool:
    if step.move is Move.DIFFERENTIATE:
        pairs = [((n + 1) * before[n + 1] % PRIME, now[n]) for n in range(len(before) - 1)]
    elif step.move is Move.AT_ZERO:
        pairs = [(before[0], now[0])]
    elif step.move is Move.COEFFICIENT:
        pattern = environment.arrays[objects.pattern][1]
        pairs = [(before[0], (pattern * now[0] % PRIME).sum() % PRIME)]
    else:
        pairs = list(zip(before, now, strict=False))
    return all(bool(((left - right) % PRIME == 0).all()) for left, right in pairs)


def degree(expression: sp.Expr) -> int:
    """Upper bound of the total degree, in the drawn residues, of any kept series coefficient of an expression."""
    if isinstance(expression, Entry):
        return _tensor_degree(expression.tensor)
    if isinstance(expression, CurveEntry):
        for path in PATHS.values():
            if expression.curve in (path.loss_slope, path.loss_curvature):
                return 3 + 2 * degree(path.pooled(expression.indices[0], at=expression.at))
            if expression.curve == path.attention:
                return (ORDER - 1) * _tensor_degree(path.scores)
        return degree(expression.curve.definition(*expression.indices)) if expression.curve.definition else 1
    if isinstance(expression, Loss):
        return 3 + 3 * degree(expression.path.pooled(*objects.loss_gradient.formal_indices()))
    if expression == alpha or isinstance(expression, Tensor) or not expression.args:
        return 0
    if isinstance(expression, sp.exp):
        return (ORDER - 1) * degree(expression.args[0])
    if isinstance(expression, Expectation):
        bits = _MOST_BITS if any(isinstance(n, Tensor) and n == kept for n in sp.preorder_traversal(expression)) else 0
        return 1 + bits + degree(expression.args[0])
    if isinstance(expression, sp.Sum):
        return degree(expression.function)
    if isinstance(expression, sp.Pow):
        return (ORDER - 1 if expression.exp < 0 else int(expression.exp)) * degree(expression.base)
    parts = [degree(a) for a in expression.args]
    return sum(parts) if isinstance(expression, sp.Mul) else max(parts)


def _tensor_degree(tensor: Tensor) -> int:
    if is_delta(tensor) or tensor.idempotent:
        return 0
    if tensor == objects.unit_feature:
        return 2  # a quotient of quadratic polynomials with a common denominator
    if tensor in LOSS_TENSORS:
        curve = LOSS_TENSORS[tensor]
        if curve.definition is not None:
            return degree(curve.definition(*tensor.formal_indices()))
        return 3 + 2 * degree(pooled(*objects.loss_gradient.formal_indices()))
    if tensor.definition is None:
        return 1
    return degree(tensor.definition(*tensor.formal_indices()))


def false_pass_bound(derivation: Derivation, trials: int) -> float:
    """Probability that a false line survives all trials: (D / p) ** trials, D with a factor for witness laws."""
    highest = max(degree(step.expression) for step in derivation.steps)
    # A witness law replaces tokens (degree 1) by products of degree at most 4.
    return float(4 * max(highest, 1) / PRIME) ** trials


def trials_summary(failures: list[ReplayFailure]) -> list[dict[str, Any]]:
    """Failures as plain records."""
    return [failure.__dict__ for failure in failures]
