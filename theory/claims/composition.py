"""G6: what blindness survives, and what breaks it: token-wise maps, residuals, masks, a second layer."""

from __future__ import annotations

import sympy as sp

from theory.claim import Claim, FalseVariant, MaskKind, Part, PoolingKind, Quantity, Setting
from theory.composition import READOUT, RESIDUAL_READOUT, TWO_LAYERS, same_gradient
from theory.derivation import Derivation
from theory.hypotheses import zero_centred_column_sums, zero_pooled_key_weight
from theory.softmax import row_sums_vanish

SETTING = Setting(MaskKind.FULL, PoolingKind.MEAN)


def _derive_readout(part: Part) -> Derivation:
    # Outputs coincide under the full mask alone, and mean pooling treats them alike.
    same = (same_gradient,) if part.setting == SETTING else ()
    return READOUT.slope().rewrite(part.statement, *same, *part.rules)


def _derive_residual(part: Part) -> Derivation:
    return RESIDUAL_READOUT.slope().rewrite(part.statement, *part.rules)


def _derive_two_layers(part: Part) -> Derivation:
    return TWO_LAYERS.slope().rewrite(part.statement, *part.rules, row_sums_vanish)


def _readout(setting: Setting = SETTING) -> Part:
    return Part(
        "permutation-invariant read-out", Quantity.READOUT_SLOPE, sp.S.Zero, _derive_readout, setting,
        (zero_centred_column_sums,),
    )  # fmt: skip


def _two_layers(setting: Setting = SETTING) -> Part:
    return Part(
        "two linear layers", Quantity.TWO_LAYER_SLOPE, sp.S.Zero, _derive_two_layers, setting,
        (zero_centred_column_sums if setting == SETTING else zero_pooled_key_weight,),
    )  # fmt: skip


CLAIM = Claim(
    id="G6",
    title="What blindness survives",
    sentence="For full attention without a residual, blindness survives every differentiable permutation-invariant "
    "read-out of the outputs (token-wise maps and LayerNorm before mean pooling, attention pooling), and a second "
    "linear layer. A residual or a mask that makes outputs differ breaks it as soon as a non-linearity follows.",
    source="theory.md G6",
    parts=(_readout(), _two_layers()),
    assumptions=(
        "All outputs coincide at uniform attention: full mask, no residual.",
        "The read-out is differentiable and does not change when tokens are permuted; its gradient is then the same at "
        "every token where all tokens are equal. Numbers are computed with the loss of the mean of z + b z².",
        "Derivative and expectation may be exchanged (automatic on a finite sample space).",
    ),
    depends_on=("G1", "output-slope", "two-layer-pooled-slope"),
    not_needed=("A norm after pooling is part of the loss; no step uses the form of the loss.",),
    not_shown=(
        "Max pooling, which sits on a tie at uniform attention and has one-sided slopes.",
        "Value and output projections and several heads, which act token by token on a fixed linear combination.",
        "LayerNorm as such: tests enclose it by balls at d ≥ 3, blind without a residual and not blind with one.",
    ),
    false_variants=(
        FalseVariant(
            "a residual changes nothing", "Blindness survives a residual followed by a token-wise non-linearity.",
            Part(
                "residual", Quantity.RESIDUAL_READOUT_SLOPE, sp.S.Zero, _derive_residual, SETTING,
                (zero_centred_column_sums,),
            ),
        ),
        FalseVariant(
            "any mask will do", "Blindness survives a token-wise non-linearity under the diagonal mask too.",
            _readout(Setting(MaskKind.DIAGONAL, PoolingKind.MEAN)), least_length=4,
        ),
        FalseVariant(
            "two layers under CLS pooling", "With CLS pooling v = 0 of one layer is enough for two.",
            _two_layers(Setting(MaskKind.FULL, PoolingKind.CLS)),
        ),
        FalseVariant(
            "two layers under a causal mask", "With mean pooling v = 0 of one layer is enough for two, under any mask.",
            _two_layers(Setting(MaskKind.ANY, PoolingKind.MEAN)), least_length=3,
        ),
    ),
)  # fmt: skip
