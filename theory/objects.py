"""The objects of section 5: tokens, pattern, mask, centred pattern, second moment, pooled key weights.

Every derived object is defined here once; derivations unfold these definitions and evaluators compute them.

>>> from theory.printing import text
>>> i, j = centred.formal_indices()
>>> text(centred.definition(i, j))
'm[i,j]·(Δ[i,j] − (1/n[i])·Σ_{k} m[i,k]·Δ[i,k])'
"""

from __future__ import annotations

import sympy as sp

from theory.printing import free_letter
from theory.sums import FEATURES, POSITIONS, Expectation, Index, Range, Tensor, delta, length, total


def another(range_: Range, *taken: Index) -> Index:
    """A bound index for a definition, different from the indices it is given."""
    return free_letter(range_, {i.name for i in taken})


#: Random tokens X_jc (positions by features).
tokens = Tensor("X", (POSITIONS, FEATURES), random=True)
#: Gradient g_c of the loss in the pooled vector, at uniform attention; random through tokens and label.
loss_gradient = Tensor("g", (FEATURES,), random=True)
#: Second derivatives H_ce of the loss in the pooled vector, at uniform attention.
loss_hessian = Tensor("H", (FEATURES, FEATURES), random=True, symmetric=True)
#: Score pattern Delta_ij; does not depend on the tokens.
pattern = Tensor("Δ", (POSITIONS, POSITIONS), tex=r"\Delta")
#: Mask m_ij in {0, 1}: whether query i may attend to key j; every row has at least one key.
mask = Tensor("m", (POSITIONS, POSITIONS), idempotent=True)
#: Pooling weights omega_i, summing to one.
pooling = Tensor("ω", (POSITIONS,), tex=r"\omega")


def _key_count(i: Index) -> sp.Expr:
    k = another(POSITIONS, i)
    return total(mask[i, k], k)


#: Number n_i of keys that query i may attend to.
key_count = Tensor("n", (POSITIONS,), definition=_key_count)


def _centred(i: Index, j: Index) -> sp.Expr:
    k = another(POSITIONS, i, j)
    return mask[i, j] * (pattern[i, j] - total(mask[i, k] * pattern[i, k], k) / key_count[i])


#: The pattern centred along each row within its mask, zero outside.
centred = Tensor("Δ̄", (POSITIONS, POSITIONS), tex=r"\bar{\Delta}", definition=_centred)


def _second_moment(i: Index, j: Index) -> sp.Expr:
    c = another(FEATURES)
    return Expectation(total(tokens[i, c] * tokens[j, c], c))


#: Uncentred second moment C_ij = E[X_i . X_j]; the paper's autocorrelation.
second_moment = Tensor("C", (POSITIONS, POSITIONS), symmetric=True, definition=_second_moment)


def _pooled_key_weight(j: Index) -> sp.Expr:
    i = another(POSITIONS, j)
    return total(pooling[i] * centred[i, j] / key_count[i], i)


#: v_j: how the pooled weight of key j changes along the pattern; labels see exactly this.
pooled_key_weight = Tensor("v", (POSITIONS,), definition=_pooled_key_weight)


def _pooled_key_curvature(j: Index) -> sp.Expr:
    i = another(POSITIONS, j)
    k = another(POSITIONS, i, j)
    spread = centred[i, j] ** 2 - total(centred[i, k] ** 2, k) / key_count[i]
    return total(pooling[i] * mask[i, j] * spread / key_count[i], i)


#: u_j: second derivative of the pooled weight of key j along the pattern.
pooled_key_curvature = Tensor("u", (POSITIONS,), definition=_pooled_key_curvature)


def _gradient_moment(j: Index) -> sp.Expr:
    c = another(FEATURES)
    return Expectation(total(loss_gradient[c] * tokens[j, c], c))


#: gamma_j = E[g . X_j].
gradient_moment = Tensor("γ", (POSITIONS,), tex=r"\gamma", definition=_gradient_moment)

#: Centring matrix J = I - 11'/L.
centring = Tensor("J", (POSITIONS, POSITIONS), symmetric=True, definition=lambda i, j: delta(i, j) - sp.S.One / length)


def _double_centred(of: Tensor) -> sp.Expr:
    def definition(i: Index, j: Index) -> sp.Expr:
        k = another(POSITIONS, i, j)
        r = another(POSITIONS, i, j, k)
        return total(centring[i, k] * of[k, r] * centring[r, j], k, r)

    return definition


#: J C J, the second moment centred in both positions.
centred_moment = Tensor(
    "JCJ", (POSITIONS, POSITIONS), tex="(JCJ)", symmetric=True, definition=_double_centred(second_moment)
)
#: J Delta J, the part of a pattern in the doubly centred space.
centred_pattern = Tensor("JΔJ", (POSITIONS, POSITIONS), tex=r"(J\Delta J)", definition=_double_centred(pattern))
#: Twice the symmetric part of J Delta J.
symmetric_part = Tensor(
    "S", (POSITIONS, POSITIONS), symmetric=True, definition=lambda i, j: centred_pattern[i, j] + centred_pattern[j, i]
)
#: A deterministic unit vector over features, and a deterministic vector over positions: witness laws are made of them.
unit_feature = Tensor("e", (FEATURES,))
profile = Tensor("w", (POSITIONS,))

PRIMITIVES = (tokens, loss_gradient, loss_hessian, pattern, mask, pooling, unit_feature, profile)
DEFINED = (
    key_count, centred, second_moment, pooled_key_weight, pooled_key_curvature, gradient_moment,
    centring, centred_moment, centred_pattern, symmetric_part,
)  # fmt: skip
