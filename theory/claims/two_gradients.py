"""G8: labels and reconstruction push scores in exactly orthogonal directions (full attention, mean pooling).

``∇_S L_SPT = -JCJ / L^2`` lies in the doubly centred space, ``∇_S L_sup = (1/L^2) 1 (J gamma)'`` in its complement.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from theory.claim import Claim, FalseVariant, MaskKind, Part, PoolingKind, Quantity, Setting
from theory.claims.blind_set import unit_length
from theory.claims.first_order import reconstruction_slope, supervised_slope
from theory.derivation import Derivation
from theory.hypotheses import antisymmetric_core, zero_column_sums
from theory.objects import (
    centred,
    centred_moment,
    centred_pattern,
    centring,
    gradient_moment,
    pattern,
    pooled_key_weight,
    profile,
    second_moment,
    symmetric_part,
    tokens,
    unit_feature,
)
from theory.sums import POSITIONS, Index, definition_rule, index, length, total

_i, _j, _k = (index(n, POSITIONS) for n in "ijk")

SETTING = Setting(MaskKind.FULL, PoolingKind.MEAN)
ALONG_PATTERN = -total(total(pattern[_i, _j] * centred_moment[_i, _j], _j), _i) / length**2
RECONSTRUCTION_GRADIENT = -centred_moment[_i, _j] / length**2
SUPERVISED_GRADIENT = total(centring[_j, _k] * gradient_moment[_k], _k) / length**2

_unfold_moment = (definition_rule(centred_moment), definition_rule(centring))
_unfold_weight = (definition_rule(pooled_key_weight), definition_rule(centred))


def along_pattern(part: Part) -> Derivation:
    """L_SPT'(0) = -<Δ, JCJ>/L² in the part's setting."""
    return reconstruction_slope().rewrite(ALONG_PATTERN, *part.setting.rules, definition_rule(centred), *_unfold_moment)


def _derive_reconstruction_gradient(part: Part) -> Derivation:
    return along_pattern(part).coefficient(part.statement, _i, _j)


def _derive_supervised_gradient(part: Part) -> Derivation:
    along = total(total(pattern[_i, _j] * SUPERVISED_GRADIENT, _j), _i)
    rules = (*part.setting.rules, *_unfold_weight, definition_rule(centring), definition_rule(gradient_moment))
    return supervised_slope().rewrite(along, *rules).coefficient(part.statement, _i, _j)


def _derive_product(part: Part) -> Derivation:
    # Both factors must be the gradients of the part's own setting.
    _derive_reconstruction_gradient(replace(part, statement=RECONSTRUCTION_GRADIENT))
    _derive_supervised_gradient(replace(part, statement=SUPERVISED_GRADIENT))
    product = total(total(RECONSTRUCTION_GRADIENT * SUPERVISED_GRADIENT, _j), _i)
    return Derivation(product, note="product of the two gradients above").rewrite(part.statement, *_unfold_moment)


def _derive_row_sums(part: Part) -> Derivation:
    return Derivation(part.left, note="left side").rewrite(part.statement, *_unfold_moment)


def _derive_complement(part: Part) -> Derivation:
    return Derivation(part.left, note="left side").rewrite(part.statement, *part.rules)


def _derive_own_blind_set(part: Part) -> Derivation:
    chain = along_pattern(part)
    halves = -total(total(symmetric_part[_i, _j] * second_moment[_i, _j], _j), _i) / (2 * length**2)
    unfold = (definition_rule(symmetric_part), definition_rule(centred_pattern), definition_rule(centred_moment))
    chain.rewrite(halves, *unfold, note="J moves to the other factor, and C is symmetric")
    return chain.rewrite(part.statement, *part.rules, definition_rule(second_moment), unit_length)


def _reconstruction_gradient(statement: sp.Expr) -> Part:
    return Part(
        "reconstruction gradient", Quantity.RECONSTRUCTION_GRADIENT, statement, _derive_reconstruction_gradient,
        SETTING, free=(_i, _j),
    )  # fmt: skip


def _product(setting: Setting) -> Part:
    return Part("orthogonality", Quantity.GRADIENT_PRODUCT, sp.S.Zero, _derive_product, setting)


def _profile_tokens(j: Index, c: Index) -> sp.Expr:
    return profile[j] * unit_feature[c]


CLAIM = Claim(
    id="G8",
    title="The two gradients are orthogonal",
    sentence="For full attention and mean pooling, labels and reconstruction push attention scores in exactly "
    "orthogonal directions, whatever the data: one into vertical stripes, the other into the doubly centred space.",
    source="theory.md G8",
    parts=(
        Part("slope along Δ", Quantity.RECONSTRUCTION_SLOPE, ALONG_PATTERN, along_pattern, SETTING),
        _reconstruction_gradient(RECONSTRUCTION_GRADIENT),
        Part(
            "supervised gradient", Quantity.SUPERVISED_GRADIENT, SUPERVISED_GRADIENT, _derive_supervised_gradient,
            SETTING, free=(_i, _j),
        ),
        _product(SETTING),
        Part(
            "row sums", Quantity.ALGEBRAIC, sp.S.Zero, _derive_row_sums, SETTING, free=(_i,),
            left=total(centred_moment[_i, _j], _j),
        ),
        Part(
            "complement", Quantity.ALGEBRAIC, sp.S.Zero, _derive_complement, SETTING, (zero_column_sums,),
            left=total(total(pattern[_i, _j] * SUPERVISED_GRADIENT, _j), _i),
        ),
        Part(
            "reconstruction's own blind set", Quantity.RECONSTRUCTION_SLOPE, sp.S.Zero, _derive_own_blind_set, SETTING,
            (antisymmetric_core,),
        ),
        Part(
            "and only that", Quantity.RECONSTRUCTION_SLOPE,
            -total(total(symmetric_part[_i, _j] * profile[_i] * profile[_j], _j), _i) / (2 * length**2),
            _derive_own_blind_set, SETTING, witness={tokens: _profile_tokens},
        ),
    ),
    assumptions=(
        "Scores do not depend on the tokens.",
        "Tokens have finite second moments.",
        "For L_sup: derivative and expectation may be exchanged (automatic on a finite sample space).",
        "“And only that”: a symmetric matrix whose quadratic form w'Sw vanishes for every w is zero.",
    ),
    depends_on=("G1",),
    not_shown=(
        "Orthogonality after the first step, or for other masks and poolings.",
        "Orthogonality of the gradients in query and key matrices.",
    ),
    false_variants=(
        FalseVariant(
            "orthogonal under the diagonal mask", "The gradients are orthogonal under the diagonal mask too.",
            _product(Setting(MaskKind.DIAGONAL, PoolingKind.MEAN)), least_length=3,
        ),
        FalseVariant(
            "uncentred gradient", "The reconstruction gradient is −C/L².",
            _reconstruction_gradient(-second_moment[_i, _j] / length**2),
        ),
        FalseVariant(
            "stripes along rows", "Labels write horizontal stripes: the gradient depends on the query only.",
            Part(
                "supervised gradient", Quantity.SUPERVISED_GRADIENT,
                total(centring[_i, _k] * gradient_moment[_k], _k) / length**2, _derive_supervised_gradient, SETTING,
                free=(_i, _j),
            ),
        ),
    ),
)  # fmt: skip
