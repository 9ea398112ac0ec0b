"""N5: other reasons why a gradient vanishes, which an audit must name apart from blindness.

Scores are s_ij = (W_Q x_i)·(W_K x_j), so that M = W_Q' W_K; at W_Q = 0 attention is uniform.
"""

from __future__ import annotations

import sympy as sp

from theory.claim import Claim, FalseVariant, Part, Quantity, Setting
from theory.claims.first_order import GENERAL_RECONSTRUCTION, reconstruction_slope, supervised_slope
from theory.claims.query_key import SETTING, label_gradient, reconstruction_gradient
from theory.derivation import Derivation
from theory.objects import another, loss_gradient, pattern, pooled_key_weight, second_moment, tokens, unit_feature
from theory.query_key import (
    bilinear,
    definitions,
    direction,
    key_weights,
    query_weights,
)
from theory.query_key import reconstruction_slope as query_key_reconstruction
from theory.query_key import supervised_slope as query_key_labels
from theory.softmax import count_keys, row_sums_vanish
from theory.sums import FEATURES, POSITIONS, Index, Tensor, definition_rule, index, length, total

_i, _j = index("i", POSITIONS), index("j", POSITIONS)
_c, _e = index("c", FEATURES), index("e", FEATURES)


def _product(left: Tensor, right: Tensor, c: Index, e: Index) -> sp.Expr:
    """``(left' right)_ce``."""
    a = another(FEATURES, c, e)
    return total(left[a, c] * right[a, e], a)


def _zero(*_: Index) -> sp.Expr:
    return sp.S.Zero


#: M moves by D' W_K when W_Q = 0 moves along D, and by W_Q' D = 0 when W_K does.
_ALONG_QUERIES = {bilinear: lambda c, e: _product(direction, key_weights, c, e)}
_ALONG_KEYS = {query_weights: _zero, bilinear: lambda c, e: _product(query_weights, direction, c, e)}
_BOTH_ZERO = {key_weights: _zero, **_ALONG_QUERIES}


def _derive_labels(part: Part) -> Derivation:
    return query_key_labels().rewrite(part.statement, *part.rules, *definitions)


def _derive_reconstruction(part: Part) -> Derivation:
    return query_key_reconstruction().rewrite(part.statement, *part.rules, *definitions)


def _labels(label: str, statement: sp.Expr, witness: dict) -> Part:
    return Part(label, Quantity.QUERY_KEY_SUPERVISED, statement, _derive_labels, SETTING, witness=witness)


def _reconstruction(label: str, statement: sp.Expr, witness: dict) -> Part:
    return Part(
        label, Quantity.QUERY_KEY_RECONSTRUCTION, statement, _derive_reconstruction, SETTING, witness=witness
    )  # fmt: skip


def _transported(gradient: object, left: Tensor, right: Tensor) -> sp.Expr:
    return total(_product(left, right, _c, _e) * gradient(_c, _e), _c, _e)  # type: ignore[operator]


def _derive_zero_labels(part: Part) -> Derivation:
    return supervised_slope().rewrite(
        part.statement, *part.rules, definition_rule(pooled_key_weight), row_sums_vanish, note="rows of Δ̄ sum to zero"
    )


def _derive_same_tokens(part: Part) -> Derivation:
    rules = (*part.rules, definition_rule(second_moment), count_keys)
    return reconstruction_slope().rewrite(part.statement, *rules, note="C is constant, and so is its mean over keys")


_SAME_TOKENS = {tokens: lambda j, c: unit_feature[c]}
_ANY = Setting()

CLAIM = Claim(
    id="N5",
    title="Other illnesses than blindness",
    sentence="At W_Q = 0 the gradient in W_K is exactly zero and that in W_Q is not; with both zero neither moves; a "
    "zero read-out silences labels alone; identical tokens silence both losses.",
    source="theory.md N5",
    parts=(
        _labels("labels in W_Q", _transported(label_gradient, direction, key_weights), _ALONG_QUERIES),
        _reconstruction(
            "reconstruction in W_Q", _transported(reconstruction_gradient, direction, key_weights), _ALONG_QUERIES
        ),
        _labels("labels in W_K", sp.S.Zero, _ALONG_KEYS),
        _reconstruction("reconstruction in W_K", sp.S.Zero, _ALONG_KEYS),
        _reconstruction("both weights zero", sp.S.Zero, _BOTH_ZERO),
        Part(
            "zero read-out", Quantity.SUPERVISED_SLOPE, sp.S.Zero, _derive_zero_labels, _ANY,
            witness={loss_gradient: _zero},
        ),
        Part(
            "identical tokens, labels", Quantity.SUPERVISED_SLOPE, sp.S.Zero, _derive_zero_labels, _ANY,
            witness=_SAME_TOKENS,
        ),
        Part(
            "identical tokens, reconstruction", Quantity.RECONSTRUCTION_SLOPE, sp.S.Zero, _derive_same_tokens, _ANY,
            witness=_SAME_TOKENS,
        ),
    ),
    assumptions=(
        "Query-key parts: full attention, mean pooling, values and targets are the tokens, W_Q = 0.",
        "Weights are padded to the token width.",
        "Zero read-out: the gradient of the loss in the pooled vector vanishes.",
    ),
    depends_on=("Q1", "Q2", "G1"),
    not_shown=("What happens after the first step: W_Q has moved then, and W_K follows.",),
    false_variants=(
        FalseVariant(
            "W_Q = 0 leaves ∇W_K non-zero", "At W_Q = 0 the keys receive the same gradient as the queries.",
            _reconstruction(
                "reconstruction in W_K", _transported(reconstruction_gradient, direction, direction), _ALONG_KEYS
            ),
        ),
        FalseVariant(
            "a zero read-out silences reconstruction", "With a zero read-out reconstruction is silent too.",
            Part(
                "zero read-out", Quantity.RECONSTRUCTION_SLOPE, sp.S.Zero, _derive_same_tokens, _ANY,
                witness={loss_gradient: _zero},
            ),
        ),
        FalseVariant(
            "identical tokens silence labels alone", "Where all tokens are equal, reconstruction still sees Δ.",
            Part(
                "identical tokens, reconstruction", Quantity.RECONSTRUCTION_SLOPE,
                GENERAL_RECONSTRUCTION - total(total(pattern[_i, _j], _j), _i) / length, _derive_same_tokens, _ANY,
                witness=_SAME_TOKENS,
            ),
        ),
    ),
)  # fmt: skip
