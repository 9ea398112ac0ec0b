"""Grade ``differentiated``: torch reverse and forward mode on the definition, within a derived tolerance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from numerics.evaluate import SAMPLE
from numerics.instances import Instance
from numerics.measure import (
    CURVATURES,
    GRADIENTS,
    by_forward_mode,
    by_reverse_mode,
    loss_gradients,
    loss_hessians,
    slope_along,
)
from numerics.rings import Floats
from numerics.tolerance import slope_scale, tolerance
from theory import objects
from theory.claim import Part, Quantity


@dataclass(frozen=True)
class Deviation:
    """Worst deviation of either mode from the claimed value, beside its tolerance, the claimed size and the scale.

    ``forward`` of a gradient is the deviation of one directional slope, over the direction's absolute sum.
    """

    reverse: float
    forward: float
    tolerance: float
    size: float
    scale: float

    @property
    def within(self) -> bool:
        """Whether both modes agree with the claim."""
        return self.reverse <= self.tolerance and self.forward <= self.tolerance  # false for NaN


def deviation(part: Part, instance: Instance) -> Deviation:
    """Differentiate the definition both ways and compare with the claimed value."""
    claimed = claimed_value(part, instance)
    reverse = by_reverse_mode(instance, part.quantity)
    if part.quantity in GRADIENTS:
        direction = np.random.default_rng(0).standard_normal(claimed.shape)
        slope = slope_along(instance, part.quantity, direction)
        forward = abs(slope - float((claimed * direction).sum())) / float(np.abs(direction).sum())
    elif part.quantity is Quantity.GRADIENT_PRODUCT:
        push = by_reverse_mode(instance, Quantity.RECONSTRUCTION_GRADIENT)
        forward = abs(slope_along(instance, Quantity.SUPERVISED_GRADIENT, push) - float(claimed))
    else:
        forward = float(np.abs(by_forward_mode(instance, part.quantity) - claimed).max())
    return Deviation(
        float(np.abs(reverse - claimed).max()),
        forward,
        tolerance(instance, part.quantity),
        float(np.abs(claimed).max()),
        slope_scale(instance, part.quantity),
    )


def claimed_value(part: Part, instance: Instance) -> np.ndarray:
    """The statement's right side in float64; derivatives of the loss come from the loss itself, by autograd."""
    given = {objects.loss_gradient: ((SAMPLE, "c"), loss_gradients(instance))}
    if part.quantity in CURVATURES:
        axes = (SAMPLE, *(i.name for i in objects.loss_hessian.formal_indices()))
        given[objects.loss_hessian] = (axes, loss_hessians(instance))
    known = replace(instance, overrides={**instance.overrides, **given})
    return known.environment(Floats()).evaluate(part.statement, part.free)
