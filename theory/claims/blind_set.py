"""G2: the exact blind set, for any mask and pooling.

``L_sup'(0) = 0`` for every loss and law if and only if ``v = 0``.  For full attention with mean pooling that means
that all column sums of the pattern are equal, which is weaker than the paper's set B; for CLS pooling, that the
centred row of the CLS query vanishes.
"""

from __future__ import annotations

import sympy as sp

from theory.claim import (
    Claim,
    FalseVariant,
    MaskKind,
    Part,
    PoolingKind,
    Quantity,
    Route,
    Setting,
    cls_position,
)
from theory.claims.first_order import supervised_slope
from theory.derivation import Derivation
from theory.hypotheses import zero_pooled_key_weight
from theory.objects import centred, key_count, loss_gradient, pattern, pooled_key_weight, tokens, unit_feature
from theory.sums import FEATURES, POSITIONS, Rule, definition_rule, index, length, total

_i, _j, _k = (index(n, POSITIONS) for n in "ijk")
_c = index("c", FEATURES)

unit_length = Rule("e is a unit vector", total(unit_feature[_c] ** 2, _c), sp.S.One)


def _derive_if(part: Part) -> Derivation:
    return supervised_slope().rewrite(sp.S.Zero, *part.rules)


def _derive_only_if(part: Part) -> Derivation:
    return supervised_slope().rewrite(
        part.statement, *part.rules, unit_length, note="tokens X_j = v_j e and loss l(h) = e·h"
    )


def _derive_weight(part: Part) -> Derivation:
    definition = Derivation(pooled_key_weight[_j].unfold(), note="definition of v")
    return definition.rewrite(part.statement, *part.setting.rules, definition_rule(centred))


def _derive_cls(part: Part) -> Derivation:
    return Derivation(pooled_key_weight[_j].unfold(), note="definition of v").rewrite(
        part.statement, *part.setting.rules
    )


_column_sum = total(pattern[_i, _j], _i)
#: v for full attention with mean pooling.
_MEAN_POOLED = (_column_sum - total(total(pattern[_i, _k], _k), _i) / length) / length**2
_MEAN = Setting(MaskKind.FULL, PoolingKind.MEAN)

CLAIM = Claim(
    id="G2",
    title="The exact blind set",
    sentence="Labels are blind at first order, for every loss and law, exactly when the pooled weight of no key "
    "changes: v = 0. If v ≠ 0, the tokens X_j = v_j e with the loss e·h see the pattern.",
    source="theory.md G2",
    parts=(
        Part(
            "if", Quantity.SUPERVISED_SLOPE, sp.S.Zero, _derive_if, Setting(), (zero_pooled_key_weight,)
        ),
        Part(
            "only if", Quantity.SUPERVISED_SLOPE, total(pooled_key_weight[_j] ** 2, _j), _derive_only_if, Setting(),
            witness={
                tokens: lambda j, c: pooled_key_weight[j] * unit_feature[c],
                loss_gradient: lambda c: unit_feature[c],
            },
        ),
        Part(
            "full mask, mean pooling", Quantity.TOKEN_INFLUENCE,
            _MEAN_POOLED, _derive_weight, _MEAN,
            free=(_j,),
        ),
        Part(
            "CLS pooling", Quantity.TOKEN_INFLUENCE, centred[cls_position, _j] / key_count[cls_position], _derive_cls,
            Setting(pooling=PoolingKind.CLS), free=(_j,),
        ),
    ),
    assumptions=(
        "The score pattern does not depend on the tokens.",
        "For the witness the pattern is real, so that Σ v_j² > 0 whenever v ≠ 0.",
        "For L_sup: derivative and expectation may be exchanged (automatic on a finite sample space).",
    ),
    depends_on=("G1",),
    not_shown=("Which patterns are blind for one given law or loss; the set may then be larger.",),
    false_variants=(
        FalseVariant(
            "blind only in B",
            "A pattern is blind only if its column sums vanish.",
            Part(
                "converse", Quantity.ALGEBRAIC, sp.S.Zero, _derive_if, _MEAN, (zero_pooled_key_weight,), free=(_j,),
                left=_column_sum,
            ),
            routes=(Route.DERIVED, Route.REPLAYED),
        ),
        FalseVariant(
            "mean formula under the diagonal mask",
            "v has the same form when the diagonal is masked.",
            Part(
                "diagonal mask, mean pooling", Quantity.TOKEN_INFLUENCE,
                _MEAN_POOLED, _derive_weight,
                Setting(MaskKind.DIAGONAL, PoolingKind.MEAN), free=(_j,),
            ),
        ),
    ),
)  # fmt: skip
