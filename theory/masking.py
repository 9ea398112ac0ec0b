"""Masked self-pretraining: each position is masked independently with probability ρ, and masked tokens are rebuilt.

Inputs (values) are ``r_j X_j`` with kept bits ``r_j``; the loss reads the masked positions and is divided by their
*expected* number ρL.  Moments of the bits distinguish equal from different positions, by Kronecker deltas.
"""

from __future__ import annotations

from functools import cache

import sympy as sp

from theory.curves import Curve
from theory.derivation import Derivation, Lemma
from theory.objectives import attention
from theory.objects import another, centred, key_count, mask, second_moment, tokens
from theory.softmax import inside_mask, softmax_slope, softmax_value
from theory.sums import (
    FEATURES,
    POSITIONS,
    Expectation,
    Index,
    Rule,
    Tensor,
    definition_rule,
    delta,
    index,
    length,
    mask_ratio,
    total,
)

_i, _j, _k = (index(n, POSITIONS) for n in "ijk")
_c = index("c", FEATURES)

#: Kept bits: r_j = 0 where token j is masked; independent of each other and of the tokens.
kept = Tensor("r", (POSITIONS,), random=True, idempotent=True)
_keep = 1 - mask_ratio


def _pairs(*indices: Index) -> sp.Expr:
    return sp.Add(*(delta(a, b) for n, a in enumerate(indices) for b in indices[n + 1 :]))


def _moment(*indices: Index) -> Rule:
    """E of a product of kept bits: (1-ρ) to the number of *different* positions."""
    left = Expectation(sp.Mul(*(kept[i] for i in indices)))
    q = _keep
    right = {
        1: lambda: q,
        2: lambda: q**2 + (q - q**2) * _pairs(*indices),
        3: lambda: q**3 + (q**2 - q**3) * _pairs(*indices)
        + (q - 3 * q**2 + 2 * q**3) * delta(indices[0], indices[1]) * delta(indices[1], indices[2]),
    }[len(indices)]()  # fmt: skip
    return Rule("moments of the kept bits", left, right, independent_of=(tokens,))


#: Largest products first: a smaller moment must not be taken of a part of a product.
bit_moments = (_moment(_i, _j, _k), _moment(_i, _j), _moment(_i))


def _masked_output(i: Index, c: Index) -> sp.Expr:
    j = another(POSITIONS, i)
    return total(attention(i, j) * kept[j] * tokens[j, c], j)


#: Outputs of attention over masked inputs.
masked_output = Curve("õ", (POSITIONS, FEATURES), tex=r"\tilde{o}", random=True, definition=_masked_output)


def masked_reconstruction() -> sp.Expr:
    """L_ρ along a pattern."""
    i, c = another(POSITIONS), another(FEATURES)
    error = total((1 - kept[i]) * (tokens[i, c] - masked_output(i, c)) ** 2, c)
    return total(Expectation(error), i) / (2 * mask_ratio * length)


@cache
def masked_output_value() -> Lemma:
    """õ_ic(0): the mean of the kept tokens, over all keys of query i."""
    chain = Derivation(masked_output(_i, _c).unfold()).at_zero().cite(softmax_value())
    chain.rewrite(total(mask[_i, _k] * kept[_k] * tokens[_k, _c], _k) / key_count[_i])
    title = "Outputs over masked inputs at zero scores"
    return Lemma("masked-output-value", title, masked_output(_i, _c, at=0), chain, ("softmax-value",))


@cache
def masked_output_slope() -> Lemma:
    """õ'_ic(0)."""
    chain = Derivation(masked_output(_i, _c).unfold()).differentiate().at_zero().cite(softmax_slope())
    chain.rewrite(total(centred[_i, _j] * kept[_j] * tokens[_j, _c], _j) / key_count[_i])
    title = "Slope of the outputs over masked inputs"
    return Lemma("masked-output-slope", title, masked_output(_i, _c, at=0, order=1), chain, ("softmax-slope",))


def _masked_slope(keep_key: sp.Expr, keep_pair: sp.Expr, keep_self: sp.Expr) -> sp.Expr:
    others = total(mask[_i, _k] * (1 - delta(_k, _i)) * (1 - delta(_k, _j)) * second_moment[_k, _j], _k)
    mean = (keep_pair * others + keep_self * second_moment[_j, _j]) / key_count[_i]
    weight = centred[_i, _j] * (1 - delta(_i, _j)) / key_count[_i]
    return total(total(weight * (mean - keep_key * second_moment[_i, _j]), _j), _i) / length


#: L_ρ'(0) for any attention mask and pattern; false variants change one of the three factors.
masked_slope_with = _masked_slope
MASKED_SLOPE = _masked_slope(_keep, _keep**2, _keep)


def masked_slope() -> Derivation:
    """L_ρ'(0) from the definition."""
    chain = Derivation(masked_reconstruction(), note="L_ρ(α)").differentiate()
    push = (masked_output(_i, _c) - tokens[_i, _c]) * masked_output(_i, _c, order=1)
    chain.rewrite(total(Expectation(total((1 - kept[_i]) * push, _c)), _i) / (mask_ratio * length))
    chain.at_zero().cite(masked_output_value(), masked_output_slope())
    return chain.rewrite(MASKED_SLOPE, *bit_moments, inside_mask, definition_rule(second_moment))


LEMMAS = (masked_output_value, masked_output_slope)
