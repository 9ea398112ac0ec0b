"""G7: the slope of masked self-pretraining, for any attention mask and pattern.

Every position is masked independently with probability ρ; masked positions are rebuilt from the kept ones, and the
loss is divided by the expected number of masked positions.
"""

from __future__ import annotations

import sympy as sp

from theory.claim import Claim, FalseVariant, Part, Quantity, Route, Setting
from theory.derivation import Derivation
from theory.masking import MASKED_SLOPE, masked_slope, masked_slope_with
from theory.sums import mask_ratio

_keep = 1 - mask_ratio


def _derive(part: Part) -> Derivation:
    return masked_slope()


def _slope(statement: sp.Expr, quantity: Quantity = Quantity.MASKED_SLOPE) -> Part:
    return Part("masked reconstruction", quantity, statement, _derive, Setting())


CLAIM = Claim(
    id="G7",
    title="Masked self-pretraining",
    sentence="With independent token masking the reconstruction slope keeps its form, without the copy of the token "
    "itself: pairs of kept keys count (1−ρ)², single ones 1−ρ.",
    source="theory.md G7",
    parts=(_slope(MASKED_SLOPE),),
    assumptions=(
        "Scores do not depend on the tokens.",
        "Tokens have finite second moments.",
        "Positions are masked independently of each other and of the tokens, with the same probability 0 < ρ < 1.",
        "A masked token enters as zero, and the loss is divided by the expected number ρL of masked positions.",
        "Every query may attend to at least one key.",
    ),
    depends_on=("softmax-slope", "masked-output-value", "masked-output-slope"),
    not_shown=(
        "Trainers that divide by the actual number of masked positions (refuted below as a formula for them), or that "
        "put a learned mask embedding in place of zero.",
    ),
    false_variants=(
        FalseVariant(
            "kept keys not counted", "The token to rebuild meets its key with weight 1 instead of 1−ρ.",
            _slope(masked_slope_with(sp.S.One, _keep**2, _keep)),
        ),
        FalseVariant(
            "ρ for 1−ρ", "The masked share takes the place of the kept share.",
            _slope(masked_slope_with(mask_ratio, mask_ratio**2, mask_ratio)),
        ),
        FalseVariant(
            "no square", "Two kept keys count 1−ρ, as one does.",
            _slope(masked_slope_with(_keep, _keep, _keep)), least_length=3,
        ),
        FalseVariant(
            "as trained", "The formula also holds when the loss is divided by the actual number of masked positions.",
            _slope(MASKED_SLOPE, Quantity.TRAINED_MASKED_SLOPE),
            # The mean of a quotient has no normal form: only routes that compute it can tell.
            routes=(Route.ENCLOSED, Route.DIFFERENTIATED, Route.SLOPED),
        ),
    ),
)  # fmt: skip
