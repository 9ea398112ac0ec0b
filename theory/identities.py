"""True identities of the sum calculus: each must reduce to 0, or the normal form cannot be trusted to accept.

They are the algebra that section 5 and appendix D rest on, from Fubini to the doubly centred second moment.  The tests
hold false near-misses of them, whose residue must not be 0, and evaluate both by brute force.

>>> all(check(identity).is_zero for identity in identities())
True
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from theory.claim import MaskKind, PoolingKind, Setting
from theory.objects import (
    centred,
    centred_moment,
    centred_pattern,
    centring,
    gradient_moment,
    key_count,
    loss_gradient,
    loss_hessian,
    mask,
    pattern,
    pooled_key_curvature,
    pooled_key_weight,
    pooling,
    profile,
    second_moment,
    tokens,
    unit_feature,
)
from theory.softmax import count_keys, inside_mask
from theory.sums import (
    FEATURES,
    POSITIONS,
    Expectation,
    NormalForm,
    Rule,
    Tensor,
    definition_rule,
    delta,
    index,
    length,
    residue,
    total,
    width,
)


@dataclass(frozen=True)
class Identity:
    """``left = right`` for all values of the free indices, by the normal form and ``rules``."""

    name: str
    left: sp.Expr
    right: sp.Expr
    rules: tuple[Rule, ...]
    sentence: str


def check(identity: Identity) -> NormalForm:
    """The residue ``left - right``; zero exactly when the identity is proved.

    >>> i, j = index("i", POSITIONS), index("j", POSITIONS)
    >>> transposed = Identity("transposed", pattern[i, j], pattern[j, i], (), "false: a pattern need not be symmetric")
    >>> check(transposed).is_zero
    False
    """
    return residue(identity.left, identity.right, identity.rules)


def identities() -> tuple[Identity, ...]:
    """Every identity, from the general rules of sums to the objects of section 5."""
    return (*_SUMS, *_DELTAS, *_MASKS, *_CENTRING, *_PATTERNS, *_MOMENTS)


_i, _j, _k, _r = (index(n, POSITIONS) for n in "ijkr")
_c, _e = (index(n, FEATURES) for n in "ce")
#: Arbitrary matrices and vectors over positions.
_A, _B, _D = (Tensor(n, (POSITIONS, POSITIONS)) for n in "ABD")
_x, _y = (Tensor(n, (POSITIONS,)) for n in "xy")
#: Mean tokens, mu_ic = E[X_ic].
_mean = Tensor("μ", (POSITIONS, FEATURES), tex=r"\mu")
_mean_rule = Rule("E[X] = μ", Expectation(tokens[_i, _c]), _mean[_i, _c])
_J = definition_rule(centring)
_JCJ = (definition_rule(centred_moment), _J)
_JDJ = (definition_rule(centred_pattern), _J)
_any_mask = (definition_rule(centred), count_keys)
_full = (*Setting(MaskKind.FULL).rules, definition_rule(centred))
_diagonal = (*Setting(MaskKind.DIAGONAL).rules, definition_rule(centred))
_covariance = Expectation(total((tokens[_i, _c] - _mean[_i, _c]) * (tokens[_j, _c] - _mean[_j, _c]), _c))
_distance = Expectation(total((tokens[_i, _c] - tokens[_j, _c]) ** 2, _c))

_SUMS = (
    Identity(
        "Fubini", total(total(_A[_i, _j], _j), _i), total(total(_A[_i, _j], _i), _j), (),
        "Finite sums may be swapped.",
    ),
    Identity(
        "renaming", total(_A[_i, _j], _i, _j), total(_A[_k, _i], _k, _i), (),
        "Names of summed indices do not matter.",
    ),
    Identity(
        "distributivity", total(_x[_j] * (_A[_i, _j] + _y[_j]), _j),
        total(_A[_i, _j] * _x[_j], _j) + total(_x[_k] * _y[_k], _k), (),
        "A product with a sum is a sum of products.",
    ),
    Identity(
        "constants leave a sum", total(_x[_i] * _A[_j, _k], _j), _x[_i] * total(_A[_j, _k], _j), (),
        "What does not depend on the summed index stands outside.",
    ),
    Identity("size of the sequence", total(sp.S.One, _i), length, (), "The sum of 1 over positions is L."),
    Identity(
        "size of a token matrix", total(sp.S.One, _i, _c), length * width, (), "A token matrix has L·d entries."
    ),
    Identity(
        "square of a sum", total(_x[_i], _i) ** 2, total(_x[_i] * _x[_j], _i, _j), (),
        "The square of a sum is a double sum.",
    ),
    Identity(
        "sum of squared deviations", total((_x[_i] - total(_x[_k], _k) / length) ** 2, _i),
        total(_x[_i] ** 2, _i) - total(_x[_i], _i) ** 2 / length, (),
        "Squared deviations from the mean are squares less L times the squared mean.",
    ),
    Identity(
        "differences of pairs", total((_x[_i] - _x[_j]) ** 2, _i, _j) / 2,
        length * total(_x[_i] ** 2, _i) - total(_x[_i], _i) ** 2, (),
        "Squared differences over all pairs are L squares less the squared sum (Lagrange).",
    ),
    Identity(
        "trace of a product", total(_A[_i, _j] * _B[_j, _i], _i, _j), total(_B[_i, _j] * _A[_j, _i], _i, _j), (),
        "tr AB = tr BA.",
    ),
    Identity(
        "associativity", total(_A[_i, _j] * total(_B[_j, _k] * _D[_k, _r], _k), _j),
        total(total(_A[_i, _j] * _B[_j, _k], _j) * _D[_k, _r], _k), (),
        "A(BD) = (AB)D.",
    ),
)  # fmt: skip

_DELTAS = (
    Identity(
        "delta contraction", total(delta(_i, _j) * _x[_j], _j), _x[_i], (),
        "A Kronecker delta picks one term of a sum.",
    ),
    Identity(
        "delta chain", total(delta(_i, _j) * delta(_j, _k), _j), delta(_i, _k), (), "Two deltas in a row make one."
    ),
    Identity("delta square", delta(_i, _j) ** 2, delta(_i, _j), (), "A Kronecker delta is 0 or 1."),
    Identity(
        "delta moves an index", delta(_i, _j) * _A[_j, _k], delta(_i, _j) * _A[_i, _k], (),
        "Beside a delta its two indices are the same.",
    ),
    Identity("trace of the identity", total(delta(_i, _j), _i, _j), length, (), "tr I = L."),
    Identity("trace over features", total(delta(_c, _e), _c, _e), width, (), "The trace of I over features is d."),
    Identity(
        "cycle of deltas", total(delta(_i, _j) * delta(_j, _k) * delta(_k, _i), _i, _j, _k), length, (),
        "tr I³ = L.",
    ),
    Identity(
        "diagonal of a matrix", total(delta(_i, _j) * _A[_i, _j], _i, _j), total(_A[_i, _i], _i), (),
        "A delta turns a double sum into a trace.",
    ),
)  # fmt: skip

_MASKS = (
    Identity("mask squared", mask[_i, _j] ** 2, mask[_i, _j], (), "A mask is 0 or 1."),
    Identity("row count", total(mask[_i, _k], _k), key_count[_i], (count_keys,), "Query i has n_i keys."),
    Identity(
        "uniform attention sums to one", total(mask[_i, _k] / key_count[_i], _k), sp.S.One, (count_keys,),
        "At zero scores the attention of a query sums to one.",
    ),
    Identity(
        "diagonal mask leaves L − 1 keys", total(mask[_i, _j], _j), length - 1, Setting(MaskKind.DIAGONAL).rules,
        "Without itself a query has L − 1 keys.",
    ),
    Identity(
        "full mask leaves L keys", total(mask[_i, _j], _j), length, Setting(MaskKind.FULL).rules,
        "With full attention a query has L keys.",
    ),
    Identity(
        "diagonal mask hides the diagonal", mask[_i, _i], sp.S.Zero, Setting(MaskKind.DIAGONAL).rules,
        "Under the diagonal mask no query sees itself.",
    ),
    Identity(
        "mean pooling sums to one", total(pooling[_i], _i), sp.S.One, Setting(pooling=PoolingKind.MEAN).rules,
        "Mean pooling weights sum to one.",
    ),
    Identity(
        "CLS pooling sums to one", total(pooling[_i], _i), sp.S.One, Setting(pooling=PoolingKind.CLS).rules,
        "CLS pooling weights sum to one.",
    ),
)  # fmt: skip

_CENTRING = (
    Identity(
        "J is idempotent", total(centring[_i, _k] * centring[_k, _j], _k), centring[_i, _j], (_J,),
        "Centring twice is centring once: JJ = J.",
    ),
    Identity("J annihilates constants", total(centring[_i, _j], _j), sp.S.Zero, (_J,), "J1 = 0."),
    Identity("trace of J", total(centring[_i, _i], _i), length - 1, (_J,), "J projects onto L − 1 dimensions."),
    Identity(
        "J subtracts the mean", total(centring[_i, _j] * _x[_j], _j), _x[_i] - total(_x[_k], _k) / length, (_J,),
        "Jx is x less its mean.",
    ),
    Identity("row sums of JCJ", total(centred_moment[_i, _j], _j), sp.S.Zero, _JCJ, "JCJ 1 = 0."),
    Identity("JCJ is symmetric", centred_moment[_i, _j], centred_moment[_j, _i], _JCJ, "C is symmetric, so JCJ is."),
    Identity(
        "J moves across the inner product", total(centred_pattern[_i, _j] * centred_moment[_i, _j], _i, _j),
        total(pattern[_i, _j] * centred_moment[_i, _j], _i, _j), (*_JDJ, *_JCJ),
        "⟨JΔJ, JCJ⟩ = ⟨Δ, JCJ⟩.",
    ),
)  # fmt: skip

_PATTERNS = (
    Identity(
        "row sums of Δ̄, any mask", total(centred[_i, _j], _j), sp.S.Zero, _any_mask,
        "A row-centred pattern has zero row sums, whatever the mask.",
    ),
    Identity("row sums of Δ̄, full mask", total(centred[_i, _j], _j), sp.S.Zero, _full, "So for full attention."),
    Identity(
        "row sums of Δ̄, diagonal mask", total(centred[_i, _j], _j), sp.S.Zero, _diagonal, "So with the diagonal masked."
    ),
    Identity(
        "total of Δ̄", total(centred[_i, _j], _i, _j), sp.S.Zero, _any_mask, "All entries of Δ̄ together sum to zero."
    ),
    Identity(
        "Δ̄ lives inside the mask", mask[_i, _j] * centred[_i, _j], centred[_i, _j], _any_mask, "m·Δ̄ = Δ̄."
    ),
    Identity(
        "centring rows twice",
        mask[_i, _j] * (centred[_i, _j] - total(mask[_i, _k] * centred[_i, _k], _k) / key_count[_i]),
        centred[_i, _j], _any_mask, "Centring along rows twice is centring once.",
    ),
    Identity(
        "Δ̄ is ΔJ for full attention", centred[_i, _j], total(pattern[_i, _k] * centring[_k, _j], _k), (*_full, _J),
        "With full attention row-centring is multiplication by J.",
    ),
    Identity(
        "JΔJ by rows, then columns", centred_pattern[_i, _j],
        centred[_i, _j] - total(centred[_k, _j], _k) / length, (*_JDJ, *_full),
        "Centring columns of the row-centred pattern gives JΔJ.",
    ),
    Identity(
        "J moves to the second moment", total(centred[_i, _j] * second_moment[_i, _j], _i, _j),
        total(pattern[_i, _j] * second_moment[_i, _k] * centring[_k, _j], _i, _j, _k), (*_full, _J),
        "⟨Δ̄, C⟩ = ⟨Δ, CJ⟩ for full attention.",
    ),
    Identity(
        "energy of Δ̄", total(centred[_i, _j] ** 2, _i, _j),
        total(pattern[_i, _j] ** 2, _i, _j) - total(total(pattern[_i, _j], _j) ** 2, _i) / length, _full,
        "‖Δ̄‖² is ‖Δ‖² less the squared row sums over L.",
    ),
    Identity(
        "diagonal of Δ̄, diagonal mask", centred[_i, _i], sp.S.Zero, _diagonal,
        "With the diagonal masked Δ̄ vanishes on it.",
    ),
    Identity(
        "pooled key weights sum to zero", total(pooled_key_weight[_j], _j), sp.S.Zero,
        (definition_rule(pooled_key_weight), *_any_mask),
        "What one key gains another loses: Σ_j v_j = 0 for any mask and pooling.",
    ),
    Identity(
        "column sums under the diagonal mask", (length - 1) * total(centred[_i, _j], _i),
        (length - 1) * total(pattern[_i, _j], _i) + total(pattern[_j, _k], _k)
        - length * pattern[_j, _j] - total(pattern[_i, _k], _i, _k) + total(pattern[_i, _i], _i), _diagonal,
        "Why vanishing column sums of Δ are not enough under the diagonal mask: row sum, trace and diagonal remain.",
    ),
)  # fmt: skip

_MOMENTS = (
    Identity(
        "expectation is linear", Expectation(2 * tokens[_i, _c] - _x[_i] * tokens[_j, _c]),
        2 * Expectation(tokens[_i, _c]) - _x[_i] * Expectation(tokens[_j, _c]), (),
        "Sums and deterministic factors leave an expectation.",
    ),
    Identity("expectation of a constant", Expectation(_x[_i]), _x[_i], (), "A deterministic value is its expectation."),
    Identity(
        "expectation of a sum", Expectation(total(tokens[_i, _c], _i)), total(Expectation(tokens[_i, _c]), _i), (),
        "Expectation and finite sums may be swapped.",
    ),
    Identity(
        "covariance", _covariance, second_moment[_i, _j] - total(_mean[_i, _c] * _mean[_j, _c], _c),
        (definition_rule(second_moment), _mean_rule),
        "The covariance is the second moment less the product of the means.",
    ),
    Identity(
        "C is symmetric", second_moment[_i, _j], second_moment[_j, _i], (definition_rule(second_moment),),
        "E[X_i·X_j] = E[X_j·X_i].",
    ),
    Identity(
        "squared distance of tokens", _distance,
        second_moment[_i, _i] + second_moment[_j, _j] - 2 * second_moment[_i, _j], (definition_rule(second_moment),),
        "E|X_i − X_j|² = C_ii + C_jj − 2C_ij.",
    ),
    Identity(
        "energy of the mean token", Expectation(total((total(tokens[_i, _c], _i) / length) ** 2, _c)),
        total(second_moment[_i, _j], _i, _j) / length**2, (definition_rule(second_moment),),
        "E|X̄|² = Σ C_ij / L².",
    ),
    Identity(
        "trace of JCJ", total(centred_moment[_i, _i], _i),
        Expectation(total((tokens[_i, _c] - total(tokens[_k, _c], _k) / length) ** 2, _i, _c)),
        (*_JCJ, definition_rule(second_moment)),
        "tr JCJ is the mean squared deviation of the tokens from their mean token.",
    ),
    Identity(
        "labels see v through γ", total(pooled_key_weight[_j] * gradient_moment[_j], _j),
        Expectation(total(loss_gradient[_c] * total(pooled_key_weight[_j] * tokens[_j, _c], _j), _c)),
        (definition_rule(gradient_moment),),
        "Σ_j v_j γ_j = E[g·h′(0)].",
    ),
    Identity(
        "constant shift of γ",
        total(pooled_key_weight[_j] * (gradient_moment[_j] - total(gradient_moment[_k], _k)), _j),
        total(pooled_key_weight[_j] * gradient_moment[_j], _j), (definition_rule(pooled_key_weight), *_any_mask),
        "v sums to zero, so a constant added to γ is not seen.",
    ),
    Identity(
        "witness tokens", total(pooled_key_weight[_j] * gradient_moment[_j], _j), total(pooled_key_weight[_j] ** 2, _j),
        (
            definition_rule(gradient_moment),
            Rule("witness law", tokens[_j, _c], pooled_key_weight[_j] * unit_feature[_c]),
            Rule("witness loss", loss_gradient[_c], unit_feature[_c]),
            Rule("e is a unit vector", total(unit_feature[_c] ** 2, _c), sp.S.One),
        ),
        "Tokens X_j = v_j e and the loss e·h see Σ v_j².",
    ),
    Identity(
        "quadratic form of C", total(profile[_i] * profile[_j] * second_moment[_i, _j], _i, _j),
        Expectation(total(total(profile[_i] * tokens[_i, _c], _i) ** 2, _c)), (definition_rule(second_moment),),
        "w'Cw = E|Σ w_i X_i|².",
    ),
    Identity(
        "Σ u = 0", total(pooled_key_curvature[_j], _j), sp.S.Zero,
        (definition_rule(pooled_key_curvature), inside_mask, count_keys),
        "Attention weights sum to one, so their second derivatives sum to zero, for any mask and pooling.",
    ),
    Identity(
        "the Hessian form is symmetric",
        Expectation(total(loss_hessian[_c, _e] * tokens[_i, _c] * tokens[_j, _e], _c, _e)),
        Expectation(total(loss_hessian[_c, _e] * tokens[_j, _c] * tokens[_i, _e], _c, _e)), (),
        "H is symmetric, so the two positions may be swapped.",
    ),
)  # fmt: skip
