"""The replay's printed error bound rests on degrees: counted by hand here, and of the unit vector by interpolation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

from numerics.rings import PRIME
from numerics.routes.replay import _unit_vector, degree
from theory.curves import alpha
from theory.masking import kept
from theory.objects import centring, mask, pattern, pooling, profile, second_moment, tokens, unit_feature
from theory.sums import FEATURES, POSITIONS, Expectation, delta, index, length, total

_i, _j = index("i", POSITIONS), index("j", POSITIONS)
_c = index("c", FEATURES)

#: Expressions and their degrees in what is drawn: tokens, scores, pooling, profile, weights of the samples.
COUNTED = [
    (sp.Integer(5), 0), (alpha, 0), (alpha * pattern[_i, _j], 1), (length + 1, 0),
    (delta(_i, _j), 0), (mask[_i, _j], 0), (kept[_j], 0), (centring[_i, _j], 0),
    (tokens[_j, _c], 1), (pattern[_i, _j], 1), (pooling[_i], 1), (profile[_i], 1),
    (unit_feature[_c], 2), (unit_feature[_c] ** 2, 4), (profile[_j] * unit_feature[_c], 3),
    (profile[_j] + unit_feature[_c], 2), (total(pattern[_i, _j] * tokens[_j, _c], _j), 2),
    (Expectation(tokens[_j, _c]), 2), (second_moment[_i, _j], 3), (pattern[_i, _j] ** 3, 3),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "wanted"), COUNTED)
def test_the_degree_is_what_a_hand_counts(expression, wanted):
    assert degree(expression) == wanted


class _OnALine(np.random.Generator):
    """Draws the point ``start + t * direction`` instead of random residues."""

    def __init__(self, t):
        super().__init__(np.random.PCG64(0))
        self.point = [(3 + 5 * t) % PRIME, (7 + 2 * t) % PRIME]

    def integers(self, *given: Any, **options: Any) -> Any:
        assert given == (0, PRIME, 2)
        return np.array(self.point)


def test_a_unit_vector_is_a_quotient_of_two_quadratic_polynomials_with_one_denominator():
    """Along a line of the drawn residues, the denominator cleared: third differences vanish, second ones do not."""
    cleared = []
    for t in range(8):
        line = _OnALine(t)
        square = sum(p * p for p in line.point) % PRIME
        unit = [int(v) for v in _unit_vector(3, line)]
        assert sum(v * v for v in unit) % PRIME == 1
        cleared.append([v * (square + 1) % PRIME for v in unit] + [square + 1])
    differences = np.array(cleared, dtype=object)
    for order in range(1, 4):
        differences = np.diff(differences, axis=0) % PRIME
        # The last entry of the vector and the denominator are quadratic.
        assert bool((differences[:, 2:] != 0).any()) is (order <= 2)
    assert (differences == 0).all()
    assert degree(unit_feature[_c]) == 2
