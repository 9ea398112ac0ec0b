"""What may stand between attention and the label loss: read-outs of all outputs, residuals, a second linear layer.

A read-out is any differentiable function of the tokens z_1 … z_L that does not change when they are permuted (mean
pooling after a token-wise map, attention pooling, …).  Derivations know only its partial derivatives; where a number
is needed, it is the loss of the pooled vectors ``z_i + b z_i²``.
"""

from __future__ import annotations

from functools import cached_property

import sympy as sp

from theory.curves import Curve
from theory.derivation import Derivation, Lemma
from theory.objectives import PATHS, Path, output
from theory.objects import another, centred, key_count, loss_gradient, mask, pattern, pooling, tokens
from theory.softmax import output_slope, output_value, softmax_slope, softmax_value
from theory.sums import FEATURES, POSITIONS, Expectation, Index, Rule, Tensor, index, length, total

_i, _j, _k = (index(n, POSITIONS) for n in "ijk")
_c = index("c", FEATURES)

#: Coefficients b_c of the token-wise map z + b z² of the read-out that numbers are computed with.
bend = Tensor("b", (FEATURES,))


class ReadoutPath(Path):
    """A read-out of the outputs, with or without a residual connection around attention."""

    def __init__(self, mark: str, *, residual: bool) -> None:
        super().__init__(pattern, mark)
        self.residual = residual
        self.pooled = Curve(f"h{mark}", (FEATURES,), tex=f"h^{{{mark}}}", random=True, definition=self._read)
        #: Partial derivatives of the read-out loss in the tokens.
        self.token_slope = Curve(
            f"∂Λ{mark}", (POSITIONS, FEATURES), tex=r"\partial\Lambda", random=True, definition=self._token_slope
        )
        #: The same at uniform attention.
        self.token_gradient = Tensor(f"G{mark}", (POSITIONS, FEATURES), tex="G", random=True)

    def _token(self, i: Index, c: Index) -> sp.Expr:
        return output(i, c) + tokens[i, c] if self.residual else output(i, c)

    def _read(self, c: Index) -> sp.Expr:
        i = another(POSITIONS)
        z = self._token(i, c)
        return total(pooling[i] * (z + bend[c] * z**2), i)

    def _token_slope(self, i: Index, c: Index) -> sp.Expr:
        return pooling[i] * self.loss_slope(c) * (1 + 2 * bend[c] * self._token(i, c))

    def differential(self, at: sp.Expr) -> sp.Expr:
        i, c = another(POSITIONS), another(FEATURES)
        return total(self.token_slope(i, c, at=at) * output(i, c, at=at, order=1), i, c)

    @cached_property
    def gradient_name(self) -> Lemma:
        """G names the gradient of the read-out in the tokens at uniform attention."""
        chain = Derivation(self.token_gradient[_i, _c], note="G names the gradient in the tokens at uniform attention")
        title = "Name of the read-out gradient"
        return Lemma(f"readout-gradient-{self.mark}", title, self.token_slope(_i, _c, at=0), chain)

    @property
    def general_slope(self) -> sp.Expr:
        """Slope of the read-out loss for any mask, pattern and read-out."""
        pull = total(self.token_gradient[_i, _c] * tokens[_j, _c], _c)
        return total(total(centred[_i, _j] / key_count[_i] * Expectation(pull), _j), _i)

    def slope(self) -> Derivation:
        """Slope of the read-out loss from the definition."""
        chain = Derivation(self.supervised(), note="L_sup(α)").differentiate().at_zero()
        return chain.cite(self.gradient_name, output_slope()).rewrite(self.general_slope)


READOUT = ReadoutPath("f", residual=False)
RESIDUAL_READOUT = ReadoutPath("rf", residual=True)

#: Where all outputs coincide, a read-out that permutations leave alone has one gradient for all tokens.
common_gradient = Tensor("Ḡ", (FEATURES,), tex=r"\bar{G}", random=True, definition=lambda c: _mean_gradient(c))


def _mean_gradient(c: Index) -> sp.Expr:
    i = another(POSITIONS)
    return total(READOUT.token_gradient[i, c], i) / length


same_gradient = Rule("equal outputs, equal gradients", READOUT.token_gradient[_i, _c], common_gradient[_c])


class TwoLayerPath(Path):
    """Two linear attention layers with the same scores, then pooling."""

    def __init__(self, mark: str) -> None:
        super().__init__(pattern, mark)
        self.second = Curve(
            f"o{mark}", (POSITIONS, FEATURES), tex="o^{(2)}", random=True, definition=self._second_output
        )
        self.pooled = Curve(f"h{mark}", (FEATURES,), tex="h^{(2)}", random=True, definition=self._pooled_second)

    def _second_output(self, i: Index, c: Index) -> sp.Expr:
        j = another(POSITIONS, i)
        return total(PATHS["plain"].attention(i, j) * output(j, c), j)

    def _pooled_second(self, c: Index) -> sp.Expr:
        i = another(POSITIONS)
        return total(pooling[i] * self.second(i, c), i)

    @cached_property
    def second_slope(self) -> Lemma:
        """Slope of the second layer's outputs: the first layer's mean token moves, and so does the second's mean."""
        chain = Derivation(self.second(_i, _c).unfold()).differentiate().at_zero()
        chain.cite(softmax_value(), softmax_slope(), output_value(), output_slope())
        left = self.second(_i, _c, at=0, order=1)
        return Lemma("two-layer-slope", "Slope of two layers", left, chain, tuple(chain.cited))

    @cached_property
    def pooled_slope(self) -> Lemma:
        """h'_c(0)."""
        chain = Derivation(self.pooled(_c).unfold()).differentiate().at_zero().cite(self.second_slope)
        chain.rewrite(self._general(tokens[_k, _c], _k))
        left, title = self.pooled(_c, at=0, order=1), "Slope of the pooled vector behind two layers"
        return Lemma("two-layer-pooled-slope", title, left, chain, ("two-layer-slope",))

    @property
    def general_slope(self) -> sp.Expr:
        """Slope of the label loss for any mask, pooling and pattern."""
        return Expectation(total(loss_gradient[_c] * self._general(tokens[_k, _c], _k), _c))

    def slope(self) -> Derivation:
        """Slope of the label loss from the definition."""
        chain = Derivation(self.supervised(), note="L_sup(α)").differentiate().at_zero()
        name = Derivation(loss_gradient[_c], note="g names the gradient of the loss at h(0)")
        slope = self.loss_slope(_c, at=0)
        chain.cite(Lemma("two-layer-loss-gradient", "Name of the loss gradient", slope, name), self.pooled_slope)
        return chain.rewrite(self.general_slope)

    @staticmethod
    def _general(token: sp.Expr, k: Index) -> sp.Expr:
        first = total(mask[_i, _j] * centred[_j, k] / (key_count[_i] * key_count[_j]), _j)
        second = total(centred[_i, _j] * mask[_j, k] / (key_count[_i] * key_count[_j]), _j)
        return total(total(pooling[_i] * (first + second), _i) * token, k)


TWO_LAYERS = TwoLayerPath("2")
LEMMAS = (lambda: TWO_LAYERS.second_slope, lambda: TWO_LAYERS.pooled_slope)
PATHS |= {path.mark: path for path in (READOUT, RESIDUAL_READOUT, TWO_LAYERS)}
