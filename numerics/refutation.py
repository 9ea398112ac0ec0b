"""Grade ``refuted``: every false variant of a claim is rejected by every route that it lists.

A counterexample is found by search at run time; each route must then reject the variant at it on its own grounds.  The
derived route rejects only when its residue, evaluated at the counterexample, equals claimed - true.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import sympy as sp

from numerics.evaluate import BATCH, Environment
from numerics.gradcheck import SlopeOutcome
from numerics.instances import Instance
from numerics.measure import series_order
from numerics.rings import PRIME, PrimeField, Rationals
from numerics.routes.autodiff import deviation
from numerics.routes.enclosure import enclose
from numerics.routes.replay import ORDER
from numerics.routes.slope import slope_check
from numerics.search import Counterexample, find_counterexample
from theory import objects
from theory.claim import OBJECTIVES, FalseVariant, Part, Quantity, Route
from theory.curves import alpha
from theory.general import claimed_residue
from theory.objectives import attention, pooled, reconstruction, supervised
from theory.sums import POSITIONS, index, total


@dataclass(frozen=True)
class Rejection:
    """What one route says of a false variant at the counterexample."""

    route: Route
    rejected: bool
    detail: str


@dataclass(frozen=True)
class Refutation:
    """A false variant, its counterexample (``None`` when the search found none) and the routes' rejections."""

    variant: FalseVariant
    counterexample: Counterexample | None
    rejections: tuple[Rejection, ...]

    @property
    def complete(self) -> bool:
        """Whether a counterexample was found and every listed route rejects."""
        return self.counterexample is not None and bool(self.rejections) and all(r.rejected for r in self.rejections)


def refute(variant: FalseVariant, tries: int = 400) -> Refutation:
    """Search a counterexample, in at most ``tries`` instances of each size, and ask every listed route."""
    found = find_counterexample(
        variant.part,
        least_length=variant.least_length,
        least_width=variant.least_width,
        tries=tries,
        quadratic=variant.quadratic_loss,
        second_sample=variant.second_sample,
    )
    if found is None:
        rejections = tuple(Rejection(route, False, "the search found no counterexample") for route in variant.routes)
        return Refutation(variant, None, rejections)
    return Refutation(variant, found, tuple(_ROUTES[route](variant.part, found) for route in variant.routes))


def _derived(part: Part, found: Counterexample) -> Rejection:
    residue = claimed_residue(part)
    if residue.is_zero:
        return Rejection(Route.DERIVED, False, "the residue claimed − true reduces to 0")
    values = found.instance.environment(Rationals()).evaluate(residue.expression(), part.free)
    difference = found.claimed - found.true
    agrees = bool((np.broadcast_to(values, np.shape(difference)) == difference).all())
    detail = f"residue at the counterexample {_short(values)}, claimed − true {_short(difference)}"
    return Rejection(Route.DERIVED, agrees and bool(np.any(difference != 0)), detail)


def _replayed(part: Part, found: Counterexample) -> Rejection:
    instance = found.instance
    true, claimed = residues_of_sides(part, instance)
    differ = bool(((true - claimed) % PRIME != 0).any())
    return Rejection(Route.REPLAYED, differ, f"sides {'differ' if differ else 'agree'} modulo {PRIME}")


def residues_of_sides(part: Part, instance: Instance) -> tuple[np.ndarray, np.ndarray]:
    """Both sides modulo the prime; the left one from the symbolic definition, as a power series in alpha."""
    environment = instance.environment(PrimeField(), ORDER)
    claimed = environment.evaluate(part.statement, part.free)
    if part.quantity is Quantity.ALGEBRAIC:
        return environment.evaluate(part.left, part.free), claimed
    if part.quantity is Quantity.GRADIENT_PRODUCT:
        left, right = (_gradient_residues(instance, q) for q in (supervised(), reconstruction()))
        return np.asarray((left * right % PRIME).sum() % PRIME), claimed
    if part.quantity is Quantity.SUPERVISED_GRADIENT:
        return _gradient_residues(instance, supervised()), claimed
    if part.quantity is Quantity.RECONSTRUCTION_GRADIENT:
        return _gradient_residues(instance, reconstruction()), claimed
    function = OBJECTIVES[part.quantity]() if part.quantity in OBJECTIVES else _path_function(part)
    series = environment.series(function, part.free)
    power = series_order(part.quantity)
    return np.asarray(series[power] * power % PRIME), claimed


def _path_function(part: Part) -> sp.Expr:
    i, j = index("i", POSITIONS), index("j", POSITIONS)
    (c,) = objects.loss_gradient.formal_indices()
    functions: dict[Quantity, sp.Expr] = {
        Quantity.ATTENTION_SLOPE: attention(i, j),
        Quantity.POOLED_SLOPE: pooled(c),
        Quantity.POOLED_CURVATURE: pooled(c),
        Quantity.TOKEN_INFLUENCE: total(objects.pooling[i] * attention(i, j, at=alpha), i),
        Quantity.RECONSTRUCTION_SLOPE: reconstruction(),
    }
    return functions.get(part.quantity, supervised())


def _gradient_residues(instance: Instance, objective: sp.Expr) -> np.ndarray:
    base = instance.environment(PrimeField(), 2)
    count = instance.token_count
    patterns = np.eye(count * count, dtype=np.int64).reshape(-1, count, count)
    arrays = {**base.arrays, objects.pattern: ((BATCH, "i", "j"), patterns)}
    batched = Environment(
        base.ring, count, base.token_width, arrays, base.sample_weights, base.loss, base.fixed, base.order
    )
    return batched.series(objective)[1].reshape(count, count)


def _enclosed(part: Part, found: Counterexample) -> Rejection:
    ball = enclose(part, found.instance)
    return Rejection(Route.ENCLOSED, not ball.meets, f"balls apart by at least {ball.gap:.3g}")


def _differentiated(part: Part, found: Counterexample) -> Rejection:
    worst = deviation(part, found.instance)
    least = min(worst.reverse, worst.forward)
    return Rejection(
        Route.DIFFERENTIATED, least > worst.tolerance, f"deviation {least:.3g}, tolerance {worst.tolerance:.1g}"
    )


def _sloped(part: Part, found: Counterexample) -> Rejection:
    check = slope_check(part, found.instance, np.random.default_rng(0))
    rejected = check.outcome is SlopeOutcome.FAIL
    order = "none" if check.observed_order is None else f"{check.observed_order:.2f}"
    return Rejection(Route.SLOPED, rejected, f"{check.outcome}: remainder of order {order}, {check.reason}")


_ROUTES: dict[Route, Callable[[Part, Counterexample], Rejection]] = {
    Route.DERIVED: _derived,
    Route.REPLAYED: _replayed,
    Route.ENCLOSED: _enclosed,
    Route.DIFFERENTIATED: _differentiated,
    Route.SLOPED: _sloped,
}


def _short(values: object) -> str:
    flat = [str(v) for v in np.asarray(values, dtype=object).ravel()]
    return ", ".join(flat[:4]) + (", …" if len(flat) > 4 else "")
