"""Q1, Q2, Q3: scores s_ij = x_i' M x_j, values and targets equal to the tokens, at M = 0.

Labels write one outer product a sequence, reconstruction writes -E[Σ̂²]; where queries and keys hold positions,
reconstruction writes the centred second moment itself.  Statements are slopes along an arbitrary M, which is the same
as the gradient in M.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from theory.claim import Claim, FalseVariant, MaskKind, Part, PoolingKind, Quantity, Setting
from theory.claims.two_gradients import along_pattern
from theory.derivation import Derivation
from theory.masking import masked_slope
from theory.objects import another, centred, centred_moment, centring, loss_gradient, pattern, second_moment
from theory.query_key import (
    bilinear,
    bilinear_form,
    definitions,
    kernel,
    mean_token,
    places,
    reconstruction_slope,
    supervised_slope,
    token_covariance,
)
from theory.sums import (
    FEATURES,
    POSITIONS,
    Expectation,
    Index,
    Tensor,
    definition_rule,
    delta,
    index,
    length,
    mask_ratio,
    total,
)

_i, _j, _k, _l = (index(n, POSITIONS) for n in "ijkl")
_c, _e, _f = (index(n, FEATURES) for n in "cef")

SETTING = Setting(MaskKind.FULL, PoolingKind.MEAN)

ASSUMPTIONS = (
    "Full attention, mean pooling, M = 0; values and targets are the tokens.",
    "Tokens have finite fourth moments.",
    "Derivative and expectation may be exchanged (automatic on a finite sample space).",
)


def along(gradient: Callable[[Index, Index], sp.Expr]) -> sp.Expr:
    """``<M, gradient>``."""
    return total(bilinear[_c, _e] * gradient(_c, _e), _c, _e)


def label_gradient(query: Index, key: Index) -> sp.Expr:
    """E[x̄ (Σ̂ g)']."""
    f = another(FEATURES, query, key)
    return Expectation(mean_token[query] * total(token_covariance[key, f] * loss_gradient[f], f))


def reconstruction_gradient(query: Index, key: Index) -> sp.Expr:
    """-E[Σ̂²]."""
    f = another(FEATURES, query, key)
    return -Expectation(total(token_covariance[query, f] * token_covariance[f, key], f))


def _derive_labels(part: Part) -> Derivation:
    return supervised_slope().rewrite(part.statement, *part.rules, *definitions)


def _derive_reconstruction(part: Part) -> Derivation:
    return reconstruction_slope().rewrite(part.statement, *part.rules, *definitions)


def _labels(statement: sp.Expr) -> Part:
    return Part("supervised", Quantity.QUERY_KEY_SUPERVISED, statement, _derive_labels, SETTING)


def _reconstruction(statement: sp.Expr) -> Part:
    return Part("reconstruction", Quantity.QUERY_KEY_RECONSTRUCTION, statement, _derive_reconstruction, SETTING)


Q1 = Claim(
    id="Q1",
    title="What labels write into the query-key matrix",
    sentence="At M = 0 the label gradient is E[x̄ (Σ̂g)′]: one outer product a sequence, with the mean token on the "
    "query side.",
    source="theory.md Q1",
    parts=(_labels(along(label_gradient)),),
    assumptions=ASSUMPTIONS,
    depends_on=("query-key-pooled-slope",),
    not_shown=("Value and output projections other than the identity.", "Anything after the first step."),
    false_variants=(
        FalseVariant(
            "query and key swapped", "The mean token stands on the key side.",
            _labels(along(lambda query, key: label_gradient(key, query))), least_width=2,
        ),
        FalseVariant(
            "uncentred", "The key side reads the second moment of the tokens instead of their covariance.",
            _labels(
                along(
                    lambda query, key: label_gradient(query, key)
                    + Expectation(mean_token[query] * mean_token[key] * total(mean_token[_f] * loss_gradient[_f], _f))
                )
            ),
        ),
    ),
)  # fmt: skip


def _covariance_alone(query: Index, key: Index) -> sp.Expr:
    return -Expectation(token_covariance[query, key])


#: E[Σ̂] as an object of its own: a product of two expectations needs names.
_mean_covariance = Tensor(
    "EΣ̂", (FEATURES, FEATURES), tex=r"\mathbb{E}\hat{\Sigma}", symmetric=True,
    definition=lambda c, e: Expectation(token_covariance[c, e]),
)  # fmt: skip


def _square_of_mean(query: Index, key: Index) -> sp.Expr:
    f = another(FEATURES, query, key)
    return -total(_mean_covariance[query, f] * _mean_covariance[f, key], f)


Q2 = Claim(
    id="Q2",
    title="What reconstruction writes into the query-key matrix",
    sentence="At M = 0 the reconstruction gradient is −E[Σ̂²], negative semi-definite: a descent step makes tokens "
    "attend to tokens like themselves.",
    source="theory.md Q2",
    parts=(_reconstruction(along(reconstruction_gradient)),),
    assumptions=ASSUMPTIONS,
    depends_on=("query-key-output-value", "query-key-output-slope"),
    not_shown=(
        "Masked inputs.",
        "Steps through W_Q and W_K, which transport this gradient (N5); with tied weights they can be indefinite.",
    ),
    false_variants=(
        FalseVariant("no square", "The gradient is −E[Σ̂].", _reconstruction(along(_covariance_alone))),
        FalseVariant(
            "square of the mean", "The gradient is −(E Σ̂)².", _reconstruction(along(_square_of_mean)),
            second_sample=True,
        ),
        FalseVariant(
            "sign flipped", "The gradient is +E[Σ̂²].",
            _reconstruction(-along(reconstruction_gradient)),
        ),
    ),
)  # fmt: skip

_BY_POSITION = {pattern: lambda i, j: bilinear_form(places, i, j)}


def _between_positions(moment: sp.Expr) -> sp.Expr:
    """``-(1/L²) <M, P' moment P>`` for an L × L expression in i and j."""
    gradient = total(total(places[_i, _c] * moment * places[_j, _e], _j), _i)
    return -total(bilinear[_c, _e] * gradient, _c, _e) / length**2


def masked_moment(i: Index, j: Index) -> sp.Expr:
    """R_ij: what takes the place of C when tokens are masked; its diagonal is zero."""
    k = another(POSITIONS, i, j)
    keep = 1 - mask_ratio
    others = total((1 - delta(k, i)) * (1 - delta(k, j)) * second_moment[k, j], k)
    mean = (keep**2 * others + keep * second_moment[j, j]) / length
    return (1 - delta(i, j)) * (keep * second_moment[i, j] - mean)


_masked_moment = Tensor("R", (POSITIONS, POSITIONS), definition=masked_moment)


def _centred_masked(i: Index, j: Index) -> sp.Expr:
    return total(_masked_moment[i, _k] * centring[_k, j], _k)


def _derive_unmasked(part: Part) -> Derivation:
    chain = along_pattern(part)
    return chain.rewrite(part.statement, *part.rules, note="scores p_i' M p_j")


def _derive_masked(part: Part) -> Derivation:
    rules = (*part.rules, definition_rule(centred), definition_rule(_masked_moment), definition_rule(centring))
    return masked_slope().rewrite(part.statement, *rules, note="full attention, scores p_i' M p_j")


def _derive_kernel(part: Part) -> Derivation:
    return Derivation(part.left, note="scores after a step").rewrite(part.statement, definition_rule(kernel))


def _unmasked(statement: sp.Expr) -> Part:
    return Part(
        "unmasked", Quantity.RECONSTRUCTION_SLOPE, statement, _derive_unmasked, SETTING, witness=_BY_POSITION
    )  # fmt: skip


def _masked(statement: sp.Expr) -> Part:
    return Part("masked", Quantity.MASKED_SLOPE, statement, _derive_masked, SETTING, witness=_BY_POSITION)


_step = total(total(places[_k, _c] * centred_moment[_k, _l] * places[_l, _e], _l), _k)

Q3 = Claim(
    id="Q3",
    title="Why self-pretraining writes a proximity bias",
    sentence="Where queries and keys hold positions P, the reconstruction gradient is −P′JCJP/L² (masked: −P′RJP/L²), "
    "so that positional scores after the first step are proportional to K·JCJ·K with K = PP′.",
    source="theory.md Q3",
    parts=(
        _unmasked(_between_positions(centred_moment[_i, _j])),
        _masked(_between_positions(_centred_masked(_i, _j))),
        Part(
            "scores after a step", Quantity.ALGEBRAIC,
            total(total(kernel[_i, _k] * centred_moment[_k, _l] * kernel[_l, _j], _l), _k), _derive_kernel, SETTING,
            free=(_i, _j),
            left=total(places[_i, _c] * _step * places[_j, _e], _c, _e),
        ),
    ),
    assumptions=(
        "Content and positions stand in orthogonal coordinates; values and targets are the content.",
        "Position vectors are padded to the token width.",
        "Full attention, M = 0; for the masked form, the assumptions of G7.",
    ),
    depends_on=("G7", "G8"),
    not_shown=(
        "Encodings that are added to the content: there it is a prediction, held against trained networks.",
        "For i.i.d. tokens the masked signal is only (1−ρ)/L of the unmasked one: size matters beside direction.",
    ),
    false_variants=(
        FalseVariant(
            "K K without the data", "The positional gradient is −P′JP/L², whatever the data.",
            _unmasked(_between_positions(centring[_i, _j])),
        ),
        FalseVariant(
            "uncentred", "The positional gradient is −P′CP/L².",
            _unmasked(_between_positions(second_moment[_i, _j])),
        ),
        FalseVariant(
            "masking changes nothing", "With masked inputs the positional gradient is still −P′JCJP/L².",
            _masked(_between_positions(centred_moment[_i, _j])),
        ),
        FalseVariant(
            "masking scales", "Masking multiplies the positional gradient by 1−ρ.",
            _masked((1 - mask_ratio) * _between_positions(centred_moment[_i, _j])),
        ),
    ),
)  # fmt: skip
CLAIMS = (Q1, Q2, Q3)
