"""G4: second order.  A blind direction is a stationary point whose curvature may have either sign.

``L_sup''(0) = E[g . h''(0)] + E[h'(0)' H h'(0)]``; along a blind direction only the first term is left.
"""

from __future__ import annotations

import sympy as sp

from theory.claim import Claim, FalseVariant, Part, Quantity, Setting
from theory.claims.first_order import ASSUMPTIONS, loss_gradient_name
from theory.derivation import Derivation, Lemma
from theory.hypotheses import zero_pooled_key_weight
from theory.objectives import loss_curvature, supervised
from theory.objects import (
    centred,
    gradient_moment,
    key_count,
    loss_hessian,
    mask,
    pooled_key_curvature,
    pooled_key_weight,
    pooling,
    tokens,
)
from theory.softmax import pooled_curvature, pooled_slope
from theory.sums import FEATURES, POSITIONS, Expectation, definition_rule, index, total

_i, _j, _k = (index(n, POSITIONS) for n in "ijk")
_c, _e = index("c", FEATURES), index("e", FEATURES)

ALONG_BLIND = total(pooled_key_curvature[_j] * gradient_moment[_j], _j)
_seen = total(total(loss_hessian[_c, _e] * tokens[_j, _c] * tokens[_k, _e], _e), _c)
_BY_HESSIAN = total(total(pooled_key_weight[_j] * pooled_key_weight[_k] * Expectation(_seen), _k), _j)
GENERAL_CURVATURE = ALONG_BLIND + _BY_HESSIAN


def _hessian_name() -> Lemma:
    chain = Derivation(loss_hessian[_c, _e], note="H names the second derivative of the loss at h(0)")
    return Lemma("loss-hessian", "Name of the loss Hessian at uniform attention", loss_curvature(_c, _e, at=0), chain)


def supervised_curvature() -> Derivation:
    """L_sup''(0) from the definition."""
    chain = Derivation(supervised(), note="L_sup(α)").differentiate().differentiate().at_zero()
    chain.cite(loss_gradient_name(), _hessian_name(), pooled_slope(), pooled_curvature())
    return chain.rewrite(GENERAL_CURVATURE, definition_rule(gradient_moment))


def _derive(part: Part) -> Derivation:
    return supervised_curvature().rewrite(part.statement, *part.rules)


def _curvature(statement: sp.Expr, *, blind: bool = False) -> Part:
    return Part(
        "along a blind pattern" if blind else "supervised curvature", Quantity.SUPERVISED_CURVATURE, statement, _derive,
        Setting(), (zero_pooled_key_weight,) if blind else (),
    )  # fmt: skip


_uncentred_spread = total(
    total(pooling[_i] * mask[_i, _j] * centred[_i, _j] ** 2 / key_count[_i], _i) * gradient_moment[_j], _j
)

CLAIM = Claim(
    id="G4",
    title="Second order along a pattern",
    sentence="The label loss curves along a pattern by E[g·h″(0)] + E[h′(0)ᵀH h′(0)]; along a blind pattern only the "
    "first term is left, and it may have either sign.",
    source="theory.md G4",
    parts=(
        Part(
            "pooled curvature", Quantity.POOLED_CURVATURE, total(pooled_key_curvature[_j] * tokens[_j, _c], _j),
            lambda part: pooled_curvature().derivation, Setting(), free=(_c,),
        ),
        _curvature(GENERAL_CURVATURE),
        _curvature(ALONG_BLIND, blind=True),
    ),
    assumptions=(*ASSUMPTIONS, "The loss is twice continuously differentiable in the pooled vector."),
    depends_on=("G1", "pooled-slope", "pooled-curvature"),
    not_shown=("How far from α = 0 the second-order picture holds.",),
    false_variants=(
        FalseVariant(
            "no Hessian term", "Off the blind set too the curvature is E[g·h″(0)] alone.", _curvature(ALONG_BLIND),
            quadratic_loss=True,
        ),
        FalseVariant(
            "no mean subtracted", "h″(0) weighs keys by Δ̄² without subtracting its row mean.",
            _curvature(_uncentred_spread, blind=True), least_length=3,
        ),
        FalseVariant(
            "doubled", "The curvature along a blind pattern is 2 E[g·h″(0)].", _curvature(2 * ALONG_BLIND, blind=True),
            least_length=3,
        ),
    ),
    least_length=3,  # with two keys a row, attention has no curvature at 0
)  # fmt: skip
