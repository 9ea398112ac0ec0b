"""Softmax along a pattern at uniform attention: value, slope and curvature, for any mask.

``a_ij(0) = m_ij / n_i`` and ``a'_ij(0) = centred_ij / n_i``; everything else in section 5 follows from these two.
"""

from __future__ import annotations

from functools import cache

import sympy as sp

from theory.derivation import Derivation, Lemma
from theory.objectives import attention, output, pooled
from theory.objects import another, centred, key_count, mask, pooled_key_curvature, pooled_key_weight, tokens
from theory.sums import FEATURES, POSITIONS, Index, Rule, definition_rule, index, total

_i, _j, _k = (index(n, POSITIONS) for n in "ijk")
_c = index("c", FEATURES)

#: Facts about a mask that follow from its being 0/1 with row counts n_i.
count_keys = Rule("Σ m = n", total(mask[_i, _k], _k), key_count[_i])
inside_mask = Rule("m·Δ̄ = Δ̄", mask[_i, _j] * centred[_i, _j], centred[_i, _j])
row_sums_vanish = Rule("Σ_j Δ̄ = 0", total(centred[_i, _j], _j), sp.S.Zero)


@cache
def softmax_value() -> Lemma:
    """a_ij(0) = m_ij / n_i."""
    chain = Derivation(attention(_i, _j).unfold()).at_zero().rewrite(mask[_i, _j] / key_count[_i], count_keys)
    return Lemma("softmax-value", "Attention at zero scores is uniform over the mask", attention(_i, _j, at=0), chain)


@cache
def softmax_slope() -> Lemma:
    """a'_ij(0): the centred pattern over n_i."""
    chain = Derivation(attention(_i, _j).unfold()).differentiate().at_zero()
    chain.rewrite(centred[_i, _j] / key_count[_i], count_keys, definition_rule(centred))
    return Lemma("softmax-slope", "Slope of attention at zero scores", attention(_i, _j, at=0, order=1), chain)


def _curvature(i: Index, j: Index) -> sp.Expr:
    k = another(POSITIONS, i, j)
    spread = centred[i, j] ** 2 - total(centred[i, k] ** 2, k) / key_count[i]
    return mask[i, j] * spread / key_count[i]


@cache
def softmax_curvature() -> Lemma:
    """a''_ij(0): the centred pattern squared, less its mean over the keys, over n_i."""
    chain = Derivation(attention(_i, _j).unfold()).differentiate().differentiate().at_zero()
    chain.rewrite(_curvature(_i, _j), count_keys, definition_rule(centred))
    return Lemma("softmax-curvature", "Curvature of attention at zero scores", attention(_i, _j, at=0, order=2), chain)


@cache
def output_value() -> Lemma:
    """o_ic(0): the mean token over the keys of query i."""
    chain = Derivation(output(_i, _c).unfold()).at_zero().cite(softmax_value())
    chain.rewrite(total(mask[_i, _k] * tokens[_k, _c], _k) / key_count[_i])
    title = "Outputs at zero scores are means over the mask"
    return Lemma("output-value", title, output(_i, _c, at=0), chain, ("softmax-value",))


@cache
def output_slope() -> Lemma:
    """o'_ic(0)."""
    chain = Derivation(output(_i, _c).unfold()).differentiate().at_zero().cite(softmax_slope())
    chain.rewrite(total(centred[_i, _j] * tokens[_j, _c], _j) / key_count[_i])
    return Lemma("output-slope", "Slope of the outputs", output(_i, _c, at=0, order=1), chain, ("softmax-slope",))


@cache
def pooled_slope() -> Lemma:
    """h'_c(0) = sum_j v_j X_jc."""
    chain = Derivation(pooled(_c).unfold()).differentiate().at_zero().cite(output_slope())
    chain.rewrite(total(pooled_key_weight[_j] * tokens[_j, _c], _j), definition_rule(pooled_key_weight))
    return Lemma("pooled-slope", "Slope of the pooled vector", pooled(_c, at=0, order=1), chain, ("output-slope",))


@cache
def output_curvature() -> Lemma:
    """o''_ic(0)."""
    chain = Derivation(output(_i, _c).unfold()).differentiate().differentiate().at_zero().cite(softmax_curvature())
    return Lemma(
        "output-curvature", "Curvature of the outputs", output(_i, _c, at=0, order=2), chain, ("softmax-curvature",)
    )


@cache
def pooled_curvature() -> Lemma:
    """h''_c(0)."""
    chain = Derivation(pooled(_c).unfold()).differentiate().differentiate().at_zero().cite(output_curvature())
    chain.rewrite(total(pooled_key_curvature[_j] * tokens[_j, _c], _j), definition_rule(pooled_key_curvature))
    return Lemma(
        "pooled-curvature", "Curvature of the pooled vector", pooled(_c, at=0, order=2), chain, ("output-curvature",)
    )


LEMMAS = (
    softmax_value, softmax_slope, softmax_curvature, output_value, output_slope, output_curvature,
    pooled_slope, pooled_curvature,
)  # fmt: skip
