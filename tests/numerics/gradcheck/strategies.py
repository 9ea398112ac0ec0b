"""Random smooth functions with exact slopes: the one place that the property tests draw from."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hypothesis import strategies as st


@dataclass(frozen=True)
class SmoothFunction:
    """amplitude * shape(x / length) + offset * amplitude, with its slope in closed form.

    The shape is a cubic or one of two mixtures; its slope never exceeds about 20 in the range that is drawn.
    """

    kind: str
    amplitude: float
    length: float
    offset: float
    coefficients: tuple[float, float, float]

    def __call__(self, x: float) -> float:
        a, b, c = self.coefficients
        u = x / self.length
        if self.kind == "cubic":
            shape = a * u + b * u**2 + c * u**3
        elif self.kind == "waves":
            shape = a * math.sin(u) + b * math.cos(2 * u + c)
        else:
            shape = a * math.exp(b * math.tanh(u)) + c * u
        return self.amplitude * (shape + self.offset)

    def slope(self, x: float) -> float:
        a, b, c = self.coefficients
        u = x / self.length
        if self.kind == "cubic":
            shape = a + 2 * b * u + 3 * c * u**2
        elif self.kind == "waves":
            shape = a * math.cos(u) - 2 * b * math.sin(2 * u + c)
        else:
            shape = a * b * math.exp(b * math.tanh(u)) / math.cosh(u) ** 2 + c
        return self.amplitude / self.length * shape

    @property
    def slope_scale(self) -> float:
        """What an ordinary slope of this function looks like."""
        return self.amplitude / self.length


def _log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log10(low), math.log10(high)).map(lambda exponent: 10.0**exponent)


_coefficient = st.floats(0.1, 2.0).flatmap(lambda size: st.sampled_from((size, -size)))


def smooth_functions(
    amplitude: tuple[float, float] = (1e-6, 1e6),
    length: tuple[float, float] = (1e-2, 1e2),
    largest_offset: float = 100.0,
) -> st.SearchStrategy[SmoothFunction]:
    """Functions over twelve decades of values and four of lengths, with constants up to 100 times the variation."""
    return st.builds(
        SmoothFunction,
        kind=st.sampled_from(("cubic", "waves", "mixture")),
        amplitude=_log_uniform(*amplitude),
        length=_log_uniform(*length),
        offset=st.one_of(st.just(0.0), st.floats(-largest_offset, largest_offset)),
        coefficients=st.tuples(_coefficient, _coefficient, _coefficient),
    )


# Points in units of a function's length: at most two lengths away from 0, so that cubics stay of order one.
points = st.one_of(st.just(0.0), st.floats(-2.0, 2.0))

# Relative errors of a wrong claim: from a thousandth to a factor, and the wrong sign.
relative_errors = st.one_of(
    st.just(-2.0), _log_uniform(1e-3, 10.0).flatmap(lambda size: st.sampled_from((size, -size)))
)
