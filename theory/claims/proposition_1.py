"""P1: Proposition 1 of the paper (section 5, appendix D).

Full attention, mean pooling, a pattern with vanishing column sums: labels see nothing at first order, reconstruction
sees ``-(1/L^2) <centred pattern, second moment>``.
"""

from __future__ import annotations

import sympy as sp

from theory.claim import Claim, FalseVariant, MaskKind, Part, PoolingKind, Quantity, Route, Setting
from theory.claims.first_order import reconstruction_slope, supervised_slope
from theory.derivation import Derivation
from theory.hypotheses import symmetric, zero_column_sums, zero_row_sums
from theory.objects import another, centred, pattern, pooled_key_weight, second_moment, tokens
from theory.sums import FEATURES, POSITIONS, Expectation, Index, Tensor, definition_rule, index, length, total

_i, _j = index("i", POSITIONS), index("j", POSITIONS)

SETTING = Setting(MaskKind.FULL, PoolingKind.MEAN)
STATEMENT = -total(total(centred[_i, _j] * second_moment[_i, _j], _j), _i) / length**2


def _derive_supervised(part: Part) -> Derivation:
    unfold = (definition_rule(pooled_key_weight), definition_rule(centred))
    return supervised_slope().rewrite(sp.S.Zero, *unfold, *part.rules)


def derive_reconstruction(part: Part) -> Derivation:
    """L_SPT'(0) on patterns whose columns sum to zero."""
    chain = reconstruction_slope()
    i, j, k = (index(n, POSITIONS) for n in "ijk")
    two_terms = total(total(centred[i, j] * total(second_moment[k, j], k), j), i) / length**3
    chain.rewrite(two_terms + STATEMENT, *part.setting.rules, note="the mean over keys no longer depends on the query")
    vanishing = (*part.rules, definition_rule(centred))
    return chain.rewrite(STATEMENT, *vanishing, note="the first term holds the column sums of Δ̄, which vanish")


_HYPOTHESES = (zero_column_sums,)


def _reconstruction(statement: sp.Expr, *hypotheses: object) -> Part:
    return Part(
        "reconstruction", Quantity.RECONSTRUCTION_SLOPE, statement, derive_reconstruction, SETTING,
        hypotheses or _HYPOTHESES,  # type: ignore[arg-type]
    )  # fmt: skip


def _blind(*hypotheses: object, pooling: PoolingKind = PoolingKind.MEAN) -> Part:
    return Part(
        "supervised", Quantity.SUPERVISED_SLOPE, sp.S.Zero, _derive_supervised, Setting(MaskKind.FULL, pooling),
        hypotheses or _HYPOTHESES,  # type: ignore[arg-type]
    )  # fmt: skip


def _mean_token(i: Index, c: Index) -> sp.Expr:
    return Expectation(tokens[i, c])


mean_token = Tensor("μ", (POSITIONS, FEATURES), tex=r"\mu", definition=_mean_token)


def _covariance_statement() -> sp.Expr:
    c = another(FEATURES)
    covariance = second_moment[_i, _j] - total(mean_token[_i, c] * mean_token[_j, c], c)
    return -total(total(centred[_i, _j] * covariance, _j), _i) / length**2


_uncentred = -total(total(pattern[_i, _j] * second_moment[_i, _j], _j), _i) / length**2

CLAIM = Claim(
    id="P1",
    title="Proposition 1: mean-pooled labels are blind where reconstruction sees",
    sentence="With full attention and mean pooling, a score pattern whose columns sum to zero has no first-order "
    "effect on any label loss, while the reconstruction loss has the slope −⟨Δ̄, C⟩/L².",
    source="arXiv 2605.21070, section 5, Proposition 1; proof in appendix D",
    parts=(_blind(), _reconstruction(STATEMENT)),
    assumptions=(
        "The score pattern does not depend on the tokens.",
        "Tokens have finite second moments.",
        "For L_sup: the loss is Fréchet differentiable with a growth condition under which derivative and expectation "
        "may be exchanged (automatic on a finite sample space).",
    ),
    depends_on=("G1", "softmax-slope"),
    not_needed=("The paper centres the tokens; no step of the derivation uses it.",),
    not_shown=(
        "Blindness is of first order only: the label loss may curve in either direction along a blind pattern.",
        "Scores made from tokens by query and key matrices.",
        "Reconstruction from masked inputs (the stated loss reads unmasked tokens).",
        "That training leaves the blind directions alone after the first step.",
    ),
    false_variants=(
        FalseVariant("sign flipped", "The reconstruction slope is +⟨Δ̄, C⟩/L².", _reconstruction(-STATEMENT)),
        FalseVariant("1/L for 1/L²", "The reconstruction slope is −⟨Δ̄, C⟩/L.", _reconstruction(STATEMENT * length)),
        FalseVariant("Δ for Δ̄", "The pattern need not be centred along rows.", _reconstruction(_uncentred)),
        FalseVariant(
            "covariance for C", "The second moment may be centred to a covariance.",
            _reconstruction(_covariance_statement()),
        ),
        FalseVariant("row sums suffice", "Vanishing row sums make a pattern blind.", _blind(zero_row_sums)),
        FalseVariant("symmetry suffices", "A symmetric pattern is blind.", _blind(symmetric)),
        FalseVariant(
            "blind under CLS pooling", "The blind half holds for CLS pooling too.", _blind(pooling=PoolingKind.CLS)
        ),
        FalseVariant(
            "blind means constant", "Along a blind pattern the label loss is constant.",
            Part(
                "supervised", Quantity.SUPERVISED_CURVATURE, sp.S.Zero, _derive_supervised, SETTING, _HYPOTHESES
            ),
            routes=(Route.DERIVED, Route.REPLAYED, Route.ENCLOSED, Route.DIFFERENTIATED, Route.SLOPED),
        ),
    ),
)  # fmt: skip
