"""Grade ``sloped``: the Taylor remainder test on the definition, with a control that must fail.

A quantity with several entries is tested through a random linear functional of them; a gradient along a random
pattern; a product of gradients along the other gradient.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from numerics.gradcheck import SlopeCheck, check_slope
from numerics.instances import Instance
from numerics.measure import CURVATURES, GRADIENTS, Setup, by_reverse_mode
from numerics.numbers import FLOATS
from numerics.routes.autodiff import claimed_value
from numerics.tolerance import slope_scale
from theory.claim import Part, Quantity

#: The control claims a slope that is off by this share of the slope's scale; the test must notice.
CONTROL_SHARE = 1e-3


def scalar_function(
    part: Part, instance: Instance, rng: np.random.Generator
) -> tuple[Callable[[float], float], float, float]:
    """A real function of alpha, its claimed slope at 0, and what a non-zero slope would look like."""
    setup, quantity = Setup(instance, FLOATS), part.quantity
    claimed, scale = claimed_value(part, instance), slope_scale(instance, quantity)
    pattern = setup.pattern
    if quantity is Quantity.GRADIENT_PRODUCT:
        pattern = torch.as_tensor(by_reverse_mode(instance, Quantity.RECONSTRUCTION_GRADIENT))
    elif quantity in GRADIENTS:
        direction = rng.standard_normal(pattern.shape)
        pattern, scale = torch.as_tensor(direction), scale * float(np.abs(direction).sum())
        claimed = np.asarray((claimed * direction).sum())
    functional = torch.as_tensor(rng.standard_normal(claimed.shape))
    if claimed.shape:
        scale *= float(functional.abs().sum())
        claimed = np.asarray((claimed * functional.numpy()).sum())
    else:
        functional = torch.ones((), dtype=torch.float64)

    def function(step: float) -> float:
        at = torch.as_tensor(step, dtype=torch.float64)
        at.requires_grad_(quantity in CURVATURES)
        value = (setup.along(quantity, at, pattern) * functional).sum()
        return float(torch.autograd.grad(value, at)[0]) if quantity in CURVATURES else float(value)

    # A claim can exceed the scale of the true terms, which vanish on some counterexamples.
    # Where every term is zero (a zero read-out), any slope at all would be noticed.
    return function, float(claimed), max(scale, abs(float(claimed))) or 1.0


def slope_check(part: Part, instance: Instance, rng: np.random.Generator) -> SlopeCheck:
    """The Taylor remainder test of the claimed slope."""
    function, claimed, scale = scalar_function(part, instance, rng)
    return check_slope(function, claimed, scale=scale)


def slope_check_with_control(part: Part, instance: Instance, rng: np.random.Generator) -> tuple[SlopeCheck, SlopeCheck]:
    """The test of the claimed slope, and of a slope that is wrong by ``CONTROL_SHARE`` of its scale."""
    function, claimed, scale = scalar_function(part, instance, rng)
    seen: dict[float, float] = {}

    def recorded(step: float) -> float:
        seen[step] = function(step)
        return seen[step]

    check = check_slope(recorded, claimed, scale=scale)
    # The control asks for the same steps again; the first test has already looked for randomness.
    control = check_slope(
        lambda step: seen[step] if step in seen else function(step), claimed + CONTROL_SHARE * scale, scale=scale
    )
    return check, control
