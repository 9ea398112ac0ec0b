"""The definition: attention along scores, outputs, pooled vector, and the two objectives (appendix D).

Scores are ``alpha times scores_ij`` within a mask; a :class:`Path` holds the curves that belong to one kind of scores.
``L_sup = E[l(h, Y)]`` sees the pooled vector only; ``L_SPT = (1/2L) sum_i E |X_i - o_i|^2`` sees every output.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from theory.curves import Curve, alpha
from theory.objects import another, mask, pattern, pooling, tokens
from theory.sums import FEATURES, POSITIONS, Entry, Expectation, Index, Tensor, length, total


class Path:
    """Attention, outputs, pooled vector and derivatives of the loss in it, along ``alpha * scores``.

    ``mark`` tells the curves of different paths apart in print; scores that are random depend on the tokens.
    """

    def __init__(self, scores: Tensor, mark: str = "") -> None:
        self.scores, self.mark = scores, mark
        tex = rf"^{{{mark}}}" if mark else ""
        positions, features = (POSITIONS, POSITIONS), (POSITIONS, FEATURES)
        self.attention = Curve(f"a{mark}", positions, tex=f"a{tex}", random=scores.random, definition=self._attention)
        self.output = Curve(f"o{mark}", features, tex=f"o{tex}", random=True, definition=self._output)
        self.pooled = Curve(f"h{mark}", (FEATURES,), tex=f"h{tex}", random=True, definition=self._pooled)
        #: Second partial derivatives of the loss in the pooled vector.
        self.loss_curvature = Curve(f"∂²ℓ{mark}", (FEATURES, FEATURES), tex=rf"\partial^{{2}}\ell{tex}", random=True)
        #: Partial derivatives of the loss in the pooled vector.
        self.loss_slope = Curve(
            f"∂ℓ{mark}", (FEATURES,), tex=rf"\partial\ell{tex}", random=True, slope=self._slope_of_loss_slope
        )

    def _attention(self, i: Index, j: Index) -> sp.Expr:
        k = another(POSITIONS, i, j)
        weight = mask[i, j] * sp.exp(alpha * self.scores[i, j])
        return weight / total(mask[i, k] * sp.exp(alpha * self.scores[i, k]), k)

    def _output(self, i: Index, c: Index) -> sp.Expr:
        j = another(POSITIONS, i)
        return total(self.attention(i, j) * tokens[j, c], j)

    def _pooled(self, c: Index) -> sp.Expr:
        i = another(POSITIONS)
        return total(pooling[i] * self.output(i, c), i)

    def _slope_of_loss_slope(self, c: Index, at: sp.Expr) -> sp.Expr:
        e = another(FEATURES, c)
        return total(self.loss_curvature(c, e, at=at) * self.pooled(e, at=at, order=1), e)

    def differential(self, at: sp.Expr) -> sp.Expr:
        """Derivative of the loss along the path, by the chain rule."""
        c = another(FEATURES)
        return total(self.loss_slope(c, at=at) * self.pooled(c, at=at, order=1), c)

    def supervised(self) -> sp.Expr:
        """L_sup along the path."""
        return Expectation(Loss(alpha, sp.Symbol(self.mark or "plain")))

    def reconstruction(self) -> sp.Expr:
        """L_SPT along the path (unmasked inputs, values and targets are the tokens)."""
        i, c = another(POSITIONS), another(FEATURES)
        return total(Expectation(total((tokens[i, c] - self.output(i, c)) ** 2, c)), i) / (2 * length)


class Loss(sp.Expr):
    """``l(h(alpha), Y)`` for any differentiable loss; SymPy's chain rule passes through the path's ``loss_slope``."""

    is_commutative = True

    @property
    def at(self) -> sp.Expr:
        return self.args[0]

    @property
    def path(self) -> Path:
        """The path whose pooled vector the loss reads."""
        return PATHS[str(self.args[1])]

    @property
    def free_symbols(self) -> set[sp.Basic]:
        return set(self.at.free_symbols)

    def _eval_derivative(self, symbol: sp.Symbol) -> sp.Expr:
        return self.path.differential(symbol) if symbol == self.at else sp.S.Zero

    def as_entry(self) -> Entry:
        return Tensor(f"ℓ{self.path.mark}({self.at})", (), random=True)[()]

    def _latex(self, printer: Any) -> str:
        return rf"\ell\left({self.path.pooled.tex}({printer.doprint(self.at)}), Y\right)"

    def _sympystr(self, printer: Any) -> str:
        return f"ℓ({self.path.pooled.name}({printer.doprint(self.at)}),Y)"


#: Scores along a pattern that does not depend on the tokens: the setting of section 5.
SCORE_PATH = Path(pattern)
PATHS: dict[str, Path] = {"plain": SCORE_PATH}

attention, output, pooled = SCORE_PATH.attention, SCORE_PATH.output, SCORE_PATH.pooled
loss_slope, loss_curvature = SCORE_PATH.loss_slope, SCORE_PATH.loss_curvature
supervised, reconstruction = SCORE_PATH.supervised, SCORE_PATH.reconstruction
