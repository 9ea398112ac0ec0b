"""G1: the first-order jet at uniform attention, for any mask, any pooling, any pattern.

Both halves of Proposition 1, its diagonal-masked variant, the blind set and the two gradients are specialisations.
"""

from __future__ import annotations

import sympy as sp

from theory.claim import Claim, FalseVariant, MaskKind, Part, Quantity, Setting
from theory.derivation import Derivation, Lemma
from theory.objectives import loss_slope, output, reconstruction, supervised
from theory.objects import (
    centred,
    gradient_moment,
    key_count,
    loss_gradient,
    mask,
    pattern,
    pooled_key_weight,
    second_moment,
    tokens,
)
from theory.softmax import output_slope, output_value, pooled_slope, softmax_slope
from theory.sums import FEATURES, POSITIONS, Expectation, definition_rule, index, length, total

_i, _j, _k = (index(n, POSITIONS) for n in "ijk")
_c = index("c", FEATURES)


def loss_gradient_name() -> Lemma:
    """The naming of g, cited like a lemma."""
    chain = Derivation(loss_gradient[_c], note="g names the gradient of the loss at h(0)")
    return Lemma("loss-gradient", "Name of the loss gradient at uniform attention", loss_slope(_c, at=0), chain)


ASSUMPTIONS = (
    "The score pattern does not depend on the tokens.",
    "Tokens have finite second moments.",
    "For L_sup: the loss is Fréchet differentiable with a growth condition under which derivative and expectation "
    "may be exchanged (automatic on a finite sample space).",
    "Every query may attend to at least one key.",
)

#: Slope of the label loss, for any mask, pooling, pattern and loss.
GENERAL_SUPERVISED = total(pooled_key_weight[_j] * Expectation(total(loss_gradient[_c] * tokens[_j, _c], _c)), _j)


def _reconstruction_with(mean_moment: sp.Expr) -> sp.Expr:
    inner = total(centred[_i, _j] / key_count[_i] * (mean_moment - second_moment[_i, _j]), _j)
    return total(inner, _i) / length


#: Slope of the reconstruction loss, for any mask and pattern.
GENERAL_RECONSTRUCTION = _reconstruction_with(total(mask[_i, _k] * second_moment[_k, _j], _k) / key_count[_i])


def supervised_slope() -> Derivation:
    """L_sup'(0) from the definition."""
    chain = Derivation(supervised(), note="L_sup(α)").differentiate().at_zero()
    return chain.cite(loss_gradient_name(), pooled_slope()).rewrite(GENERAL_SUPERVISED)


def reconstruction_slope() -> Derivation:
    """L_SPT'(0) from the definition."""
    chain = Derivation(reconstruction(), note="L_SPT(α)").differentiate()
    residual = output(_i, _c) - tokens[_i, _c]
    chain.rewrite(total(Expectation(total(residual * output(_i, _c, order=1), _c)), _i) / length)
    chain.at_zero().cite(output_value(), output_slope())
    return chain.rewrite(GENERAL_RECONSTRUCTION, definition_rule(second_moment))


_ANY = Setting()

_PARTS = (
    Part(
        "attention", Quantity.ATTENTION_SLOPE, centred[_i, _j] / key_count[_i],
        lambda part: softmax_slope().derivation, _ANY, free=(_i, _j),
    ),
    Part(
        "pooled vector", Quantity.POOLED_SLOPE, total(pooled_key_weight[_j] * tokens[_j, _c], _j),
        lambda part: pooled_slope().derivation, _ANY, free=(_c,),
    ),
    Part("supervised", Quantity.SUPERVISED_SLOPE, GENERAL_SUPERVISED, lambda part: supervised_slope(), _ANY),
    Part(
        "reconstruction", Quantity.RECONSTRUCTION_SLOPE, GENERAL_RECONSTRUCTION,
        lambda part: reconstruction_slope(), _ANY,
    ),
)  # fmt: skip

_FULL = Setting(MaskKind.FULL)
_column_centred = (pattern[_i, _j] - total(pattern[_k, _j], _k) / length) / length


def _refuse(part: Part) -> Derivation:
    raise ValueError(f"the false statement {part.text} has no derivation")


CLAIM = Claim(
    id="G1",
    title="First-order jet at uniform attention",
    sentence="For any mask, pooling and pattern, the slopes of attention, pooled vector and both losses at uniform "
    "attention are these linear functions of the row-centred pattern.",
    source="theory.md G1; generalises appendix D",
    parts=_PARTS,
    assumptions=ASSUMPTIONS,
    depends_on=("softmax-slope", "output-value", "output-slope", "pooled-slope"),
    not_needed=("Centred tokens.", "Independence or stationarity of the tokens.", "Convexity of the loss."),
    not_shown=("Anything away from α = 0.", "Scores that depend on the tokens (queries and keys).", "Masked inputs."),
    false_variants=(
        FalseVariant(
            "column-centring",
            "The slope of attention centres the pattern along columns instead of rows.",
            Part("attention", Quantity.ATTENTION_SLOPE, _column_centred, _refuse, _FULL, free=(_i, _j)),
        ),
        FalseVariant(
            "uncentred attention slope",
            "The slope of attention is the pattern itself over n_i.",
            Part(
                "attention", Quantity.ATTENTION_SLOPE, mask[_i, _j] * pattern[_i, _j] / key_count[_i], _refuse, _ANY,
                free=(_i, _j),
            ),
        ),
        FalseVariant(
            "transposed second moment row",
            "The reconstruction slope averages the second moment over all positions instead of over the keys of i.",
            Part(
                "reconstruction", Quantity.RECONSTRUCTION_SLOPE,
                _reconstruction_with(total(second_moment[_k, _j], _k) / length), _refuse, Setting(MaskKind.DIAGONAL),
            ),
            least_length=3,
        ),
        FalseVariant(
            "unweighted pooling",
            "The supervised slope uses mean pooling whatever the pooling weights are.",
            Part(
                "supervised", Quantity.SUPERVISED_SLOPE,
                total(total(centred[_i, _j] / key_count[_i], _i) / length * gradient_moment[_j], _j), _refuse, _ANY,
            ),
        ),
    ),
)  # fmt: skip
