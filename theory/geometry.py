"""Positions as numbers, and relative positions: distances on a line, offsets on a ring or a torus.

These arrays are fixed by L alone, so evaluators know them (:data:`numerics.evaluate.KNOWN`).  An *offset table* S_ijk
says whether key j stands at offset k from query i; of the group it needs only that every line of it holds a single 1,
so that one derivation covers the ring and the torus.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from theory.claim import Constraint
from theory.curves import alpha
from theory.objects import another, mask, pattern
from theory.sums import POSITIONS, Index, Rule, Tensor, delta, index, length, total

_i, _j, _k, _l = (index(n, POSITIONS) for n in "ijkl")

#: t_i = i, and D_ij = |i - j|.
position = Tensor("t", (POSITIONS,))
distance = Tensor("|i−j|", (POSITIONS, POSITIONS), tex=r"|\cdot-\cdot|", symmetric=True)


def _power_sum(power: int) -> Rule:
    k = sp.Symbol("k", integer=True)
    return Rule("power sums", total(position[_i] ** power, _i), sp.factor(sp.summation(k**power, (k, 1, length))))


def _distance_sum() -> Rule:
    i, k = sp.symbols("i k", integer=True, positive=True)
    value = sp.summation(i - k, (k, 1, i)) + sp.summation(k - i, (k, i + 1, length))
    return Rule("sum of distances", total(distance[_i, _j], _j), sp.expand(value).subs(i, position[_i]))


#: Distances and powers of positions, summed by SymPy.
line_rules = (
    _distance_sum(),
    Rule("|i−j|² = (i−j)²", distance[_i, _j] ** 2, (position[_i] - position[_j]) ** 2),
    *(_power_sum(power) for power in (4, 3, 2, 1)),
)


@dataclass(frozen=True)
class OffsetTable:
    """Relative positions on a finite group; patterns and masks that depend on the offset alone."""

    name: str
    table: Tensor

    @cached_property
    def scores(self) -> Tensor:
        """φ_k: mean score at offset k; on a pattern of the offset alone, its score there."""
        return self._mean("φ", r"\varphi", pattern)

    @cached_property
    def allowed(self) -> Tensor:
        """μ_k: mean mask at offset k."""
        return self._mean("μ", r"\mu", mask)

    def _mean(self, letter: str, tex: str, of: Tensor) -> Tensor:
        def definition(k: Index) -> sp.Expr:
            i = another(POSITIONS, k)
            j = another(POSITIONS, k, i)
            return total(self.table[i, j, k] * of[i, j], i, j) / length

        return Tensor(f"{letter}_{self.name}", (POSITIONS,), tex=tex, definition=definition)

    @cached_property
    def weights(self) -> Tensor:
        """E_k = exp(α φ_k)."""
        return Tensor(f"exp_{self.name}", (POSITIONS,), tex="E", definition=lambda k: sp.exp(alpha * self.scores[k]))

    @cached_property
    def normaliser(self) -> Tensor:
        """Z = Σ_k μ_k E_k, the softmax denominator of every query."""
        return Tensor(f"Z_{self.name}", (), tex="Z", definition=lambda: self._denominator)

    @property
    def _denominator(self) -> sp.Expr:
        return total(self.allowed[_k] * self.weights[_k], _k)

    @property
    def constraint(self) -> Constraint:
        """The pattern depends on the offset alone."""
        spread = total(self.table[_i, _j, _k] * self.scores[_k], _k)
        return Constraint(
            f"Δ depends on the {self.name} offset", f"scores depend on the offset on a {self.name} alone",
            pattern[_i, _j] - spread, (_i, _j), Rule(f"Δ depends on the {self.name} offset", pattern[_i, _j], spread),
        )  # fmt: skip

    @property
    def table_rules(self) -> tuple[Rule, ...]:
        """Every query meets every offset once, every key too, and two positions have one offset."""
        s = self.table
        return (
            Rule("one offset for two positions", s[_i, _j, _k] * s[_i, _j, _l], delta(_k, _l) * s[_i, _j, _k]),
            Rule("one offset for two positions", total(s[_i, _j, _k], _k), sp.S.One),
            Rule("one key at an offset", total(s[_i, _j, _k], _j), sp.S.One),
            self.query_rule,
        )

    @property
    def query_rule(self) -> Rule:
        """Every key meets every offset once."""
        return Rule("one query at an offset", total(self.table[_i, _j, _k], _i), sp.S.One)

    @property
    def mask_rule(self) -> Rule:
        """The mask depends on the offset alone."""
        return Rule(
            f"mask of the {self.name} offset", mask[_i, _j], total(self.table[_i, _j, _k] * self.allowed[_k], _k)
        )

    @property
    def softmax_rules(self) -> tuple[Rule, ...]:
        """Exponentials of such a pattern, and the name of the denominator."""
        spread = total(self.table[_i, _j, _k] * self.weights[_k], _k)
        return (
            Rule("exp of a score of the offset", sp.exp(alpha * pattern[_i, _j]), spread),
            Rule("name of the denominator", self._denominator, self.normaliser[()]),
        )


#: S_ijk = 1 where j - i = k - 1 mod L.
RING = OffsetTable("ring", Tensor("S", (POSITIONS, POSITIONS, POSITIONS), idempotent=True))
#: The same on a torus of a × b positions, L = ab as square as L allows.
TORUS = OffsetTable("torus", Tensor("S²", (POSITIONS, POSITIONS, POSITIONS), tex="S^{(2)}", idempotent=True))

#: W_ijk = 1 where |i - j| = k - 1.
distance_table = Tensor("W", (POSITIONS, POSITIONS, POSITIONS), idempotent=True)


def _pair_count(k: Index) -> sp.Expr:
    i = another(POSITIONS, k)
    j = another(POSITIONS, k, i)
    return total(distance_table[i, j, k], i, j)


_pairs = Tensor("N_W", (POSITIONS,), definition=_pair_count)


def _score_at(k: Index) -> sp.Expr:
    i = another(POSITIONS, k)
    j = another(POSITIONS, k, i)
    return total(distance_table[i, j, k] * pattern[i, j], i, j) / _pairs[k]


_mean_score = Tensor("ψ", (POSITIONS,), tex=r"\psi", definition=_score_at)
_by_distance = total(distance_table[_i, _j, _k] * _mean_score[_k], _k)
same_distance_same_score = Constraint(
    "Δ depends on |i−j|", "scores depend on the distance of query and key alone", pattern[_i, _j] - _by_distance,
    (_i, _j), Rule("Δ depends on |i−j|", pattern[_i, _j], _by_distance),
)  # fmt: skip
