"""Grade ``differentiated``: torch reverse and forward mode on the definition, in float64, within a derived tolerance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from numerics.instances import Instance
from numerics.measure import by_forward_mode, by_reverse_mode
from numerics.rings import Floats
from numerics.tolerance import tolerance
from theory.claim import Part


@dataclass(frozen=True)
class Deviation:
    """Worst deviation of either mode from the claimed value, beside its tolerance and the claimed size."""

    reverse: float
    forward: float
    tolerance: float
    size: float

    @property
    def within(self) -> bool:
        """Whether both modes agree with the claim."""
        return max(self.reverse, self.forward) <= self.tolerance


def deviation(part: Part, instance: Instance) -> Deviation:
    """Differentiate the definition both ways and compare with the claimed value."""
    claimed = claimed_value(part, instance)
    return Deviation(
        float(np.abs(by_reverse_mode(instance, part.quantity) - claimed).max()),
        float(np.abs(by_forward_mode(instance, part.quantity) - claimed).max()),
        tolerance(instance, part.quantity),
        float(np.abs(claimed).max()),
    )


def claimed_value(part: Part, instance: Instance) -> np.ndarray:
    """The statement's right side in float64."""
    return instance.environment(Floats()).evaluate(part.statement, part.free)
