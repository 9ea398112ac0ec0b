"""Hypotheses on a score pattern, as linear constraints; strategies and searches compute their null spaces.

The paper's blind set B is "column sums zero"; its doubly centred subset is called B-tilde there.
"""

from __future__ import annotations

from theory.claim import Constraint
from theory.objects import centred, pattern, pooled_key_weight, symmetric_part
from theory.sums import POSITIONS, index, total

_i, _j = index("i", POSITIONS), index("j", POSITIONS)

zero_column_sums = Constraint(
    "column sums of Δ vanish", "every column of the pattern sums to zero (the paper's set B)",
    total(pattern[_i, _j], _i), (_j,),
)  # fmt: skip
zero_row_sums = Constraint(
    "row sums of Δ vanish", "every row of the pattern sums to zero", total(pattern[_i, _j], _j), (_i,)
)
zero_centred_column_sums = Constraint(
    "column sums of Δ̄ vanish", "every column of the row-centred pattern sums to zero",
    total(centred[_i, _j], _i), (_j,),
)  # fmt: skip
zero_pooled_key_weight = Constraint(
    "v = 0", "the pooled weight of no key changes along the pattern", pooled_key_weight[_j], (_j,)
)
zero_diagonal = Constraint("diagonal of Δ vanishes", "the pattern has a zero diagonal", pattern[_i, _i], (_i,))
symmetric = Constraint("Δ is symmetric", "the pattern is symmetric", pattern[_i, _j] - pattern[_j, _i], (_i, _j))
antisymmetric_core = Constraint(
    "JΔJ is antisymmetric", "the doubly centred pattern is antisymmetric", symmetric_part[_i, _j], (_i, _j)
)
