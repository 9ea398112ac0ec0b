"""The definition: attention along a score pattern, outputs, pooled vector, and the two objectives (appendix D).

Scores are ``s_ij = alpha Delta_ij`` within a mask.  ``L_sup = E[l(h, Y)]`` sees the pooled vector only;
``L_SPT = (1/2L) sum_i E |X_i - o_i|^2`` sees every output.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from theory.curves import Curve, alpha
from theory.objects import another, mask, pattern, pooling, tokens
from theory.sums import FEATURES, POSITIONS, Entry, Expectation, Index, Tensor, length, total


def _attention(i: Index, j: Index) -> sp.Expr:
    k = another(POSITIONS, i, j)
    weight = mask[i, j] * sp.exp(alpha * pattern[i, j])
    return weight / total(mask[i, k] * sp.exp(alpha * pattern[i, k]), k)


attention = Curve("a", (POSITIONS, POSITIONS), definition=_attention)


def _output(i: Index, c: Index) -> sp.Expr:
    j = another(POSITIONS, i)
    return total(attention(i, j) * tokens[j, c], j)


output = Curve("o", (POSITIONS, FEATURES), random=True, definition=_output)


def _pooled(c: Index) -> sp.Expr:
    i = another(POSITIONS)
    return total(pooling[i] * output(i, c), i)


pooled = Curve("h", (FEATURES,), random=True, definition=_pooled)

#: Second partial derivatives of the loss in the pooled vector, along the path.
loss_curvature = Curve("∂²ℓ", (FEATURES, FEATURES), tex=r"\partial^{2}\ell", random=True)


def _slope_of_loss_slope(c: Index, at: sp.Expr) -> sp.Expr:
    e = another(FEATURES, c)
    return total(loss_curvature(c, e, at=at) * pooled(e, at=at, order=1), e)


#: Partial derivatives of the loss in the pooled vector, along the path.
loss_slope = Curve("∂ℓ", (FEATURES,), tex=r"\partial\ell", random=True, slope=_slope_of_loss_slope)


class Loss(sp.Expr):
    """``l(h(alpha), Y)`` for any differentiable loss; SymPy's chain rule passes through :func:`loss_slope`."""

    is_commutative = True

    @property
    def free_symbols(self) -> set[sp.Basic]:
        return set(self.args[0].free_symbols)

    def _eval_derivative(self, symbol: sp.Symbol) -> sp.Expr:
        if symbol != self.args[0]:
            return sp.S.Zero
        c = another(FEATURES)
        return total(loss_slope(c, at=symbol) * pooled(c, at=symbol, order=1), c)

    def as_entry(self) -> Entry:
        return Tensor(f"ℓ({self.args[0]})", (), random=True)[()]

    def _latex(self, printer: Any) -> str:
        return rf"\ell\left(h({printer.doprint(self.args[0])}), Y\right)"

    def _sympystr(self, printer: Any) -> str:
        return f"ℓ(h({printer.doprint(self.args[0])}),Y)"


def supervised() -> sp.Expr:
    """L_sup along the path."""
    return Expectation(Loss(alpha))


def reconstruction() -> sp.Expr:
    """L_SPT along the path (unmasked inputs, values and targets are the tokens)."""
    i, c = another(POSITIONS), another(FEATURES)
    return total(Expectation(total((tokens[i, c] - output(i, c)) ** 2, c)), i) / (2 * length)
