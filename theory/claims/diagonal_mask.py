"""P1-diag: the diagonal-masked variant of Proposition 1 (appendix D).

A query may not attend to itself.  The blind set is "column sums of the centred pattern vanish"; vanishing column sums
of the pattern itself are not enough, with or without a zero diagonal.
"""

from __future__ import annotations

import sympy as sp

from theory.claim import Claim, Constraint, FalseVariant, MaskKind, Part, PoolingKind, Quantity, Setting
from theory.claims.first_order import reconstruction_slope, supervised_slope
from theory.derivation import Derivation
from theory.hypotheses import zero_centred_column_sums, zero_column_sums, zero_diagonal
from theory.objects import centred, pooled_key_weight, second_moment
from theory.sums import POSITIONS, definition_rule, index, length, total

_i, _j = index("i", POSITIONS), index("j", POSITIONS)

SETTING = Setting(MaskKind.DIAGONAL, PoolingKind.MEAN)
_inner_product = total(total(centred[_i, _j] * second_moment[_i, _j], _j), _i)
STATEMENT = -_inner_product / (length - 1) ** 2


def _derive_supervised(part: Part) -> Derivation:
    return supervised_slope().rewrite(sp.S.Zero, definition_rule(pooled_key_weight), *part.rules)


def _derive_reconstruction(part: Part) -> Derivation:
    chain = reconstruction_slope()
    i, j, k = (index(n, POSITIONS) for n in "ijk")
    others = total(second_moment[k, j], k) - second_moment[i, j]
    line = total(total(centred[i, j] * (others / (length - 1) - second_moment[i, j]), j), i) / (length * (length - 1))
    chain.rewrite(line, *part.setting.rules, note="the mean over the other keys")
    return chain.rewrite(STATEMENT, *part.rules, note="the sum over k holds the column sums of Δ̄, which vanish")


_HYPOTHESES = (zero_centred_column_sums,)


def _reconstruction(statement: sp.Expr) -> Part:
    return Part(
        "reconstruction", Quantity.RECONSTRUCTION_SLOPE, statement, _derive_reconstruction, SETTING, _HYPOTHESES
    )


def _blind(*hypotheses: Constraint) -> Part:
    return Part("supervised", Quantity.SUPERVISED_SLOPE, sp.S.Zero, _derive_supervised, SETTING, hypotheses)


CLAIM = Claim(
    id="P1-diag",
    title="Proposition 1 with the diagonal masked",
    sentence="When no query attends to itself, a pattern whose row-centred columns sum to zero is invisible to "
    "mean-pooled labels at first order, while reconstruction has the slope −⟨Δ̄, C⟩/(L−1)².",
    source="arXiv 2605.21070, appendix D, diagonal-masked variant",
    parts=(_blind(*_HYPOTHESES), _reconstruction(STATEMENT)),
    assumptions=(
        "The score pattern does not depend on the tokens.",
        "Tokens have finite second moments.",
        "L ≥ 2: at L = 1 the only query has no key.",
        "For L_sup: derivative and expectation may be exchanged (automatic on a finite sample space).",
    ),
    depends_on=("G1",),
    not_needed=("The paper centres the tokens; no step of the derivation uses it.",),
    not_shown=(
        "For L ≤ 3 the statement is vacuous: the blind set is {0} at L = 2 and one antisymmetric circulant, on which "
        "the slope is 0, at L = 3.",
        "Blindness is of first order only.",
        "Orthogonality of the two gradients, which holds for full attention, fails under this mask.",
    ),
    false_variants=(
        FalseVariant(
            "1/L² under the mask", "The factor is 1/L² as for full attention.",
            _reconstruction(-_inner_product / length**2), least_length=4,
        ),
        FalseVariant(
            "1/(L(L−1))", "The factor is 1/(L(L−1)).",
            _reconstruction(-_inner_product / (length * (length - 1))), least_length=4,
        ),
        FalseVariant(
            "1/(L−1)", "The factor is 1/(L−1).", _reconstruction(-_inner_product / (length - 1)), least_length=4
        ),
        FalseVariant(
            "column sums of Δ suffice", "Vanishing column sums of Δ make a pattern blind under the diagonal mask.",
            _blind(zero_column_sums),
        ),
        FalseVariant(
            "column sums of Δ and a zero diagonal suffice",
            "Vanishing column sums of Δ and a zero diagonal make a pattern blind under the diagonal mask.",
            _blind(zero_column_sums, zero_diagonal),
        ),
    ),
    least_length=4,
)  # fmt: skip
