"""Grade ``enclosed``: ball arithmetic on the definition, as power series in alpha.

The ball around the quantity must meet the ball around the claimed value, and both must be narrow: their radius is
printed.  Inputs are not dyadic, so that no radius is zero by accident.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from numerics.instances import Instance
from numerics.measure import SeriesMeasurement, series_order
from numerics.numbers import BALLS, working
from numerics.rings import Balls
from numerics.tolerance import slope_scale
from theory.claim import Part

#: Working precision of the enclosures.
BITS = 256


@dataclass(frozen=True)
class Enclosure:
    """Largest radius, and whether every pair of balls meets; ``gap`` is the largest certain distance between them."""

    meets: bool
    radius: float
    gap: float
    narrow: bool


def enclose(
    part: Part, instance: Instance, bits: int = BITS, measurement: SeriesMeasurement | None = None
) -> Enclosure:
    """Compare the quantity with the claimed value by ball arithmetic.

    ``narrow`` demands a radius below ``2^(-bits/2)`` of the size of the terms: half the digits may be lost to
    cancellation and dependency, an enclosure wider than that says too little.  ``measurement`` may be shared by parts
    that have the instance in common.
    """
    held = measurement or SeriesMeasurement(instance, BALLS, order=series_order(part.quantity), bits=bits)
    measured = held.quantity(part.quantity)
    with working(bits=bits):
        claimed = np.broadcast_to(instance.environment(Balls()).evaluate(part.statement, part.free), measured.shape)
        pairs = list(zip(measured.ravel(), claimed.ravel(), strict=True))
        meets = all(m.overlaps(c) for m, c in pairs)
        radius = max(max(float(m.rad()), float(c.rad())) for m, c in pairs)
        gap = max(0.0, *(float((m - c).abs_lower()) for m, c in pairs))
    scale = max(slope_scale(instance, part.quantity), float(np.finfo(float).tiny))
    return Enclosure(meets, radius, gap, radius <= 2.0 ** (-bits // 2) * scale)
