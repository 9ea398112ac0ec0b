"""Evaluate expressions of ``theory`` on concrete arrays, in any ring.

Statements, derived objects and every line of a derivation are evaluated from the SymPy expression itself; derived
tensors and curves are computed from their definitions, never from a lemma.  A value is a truncated power series in
alpha whose coefficients are arrays with named axes (one an index, and reserved ones for samples or basis patterns).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from numerics.rings import Ring
from theory.composition import READOUT, RESIDUAL_READOUT
from theory.curves import Curve, CurveEntry, alpha
from theory.geometry import RING, TORUS, distance, distance_table, position
from theory.objectives import PATHS, Loss, Path, loss_curvature, loss_slope
from theory.objects import loss_gradient, loss_hessian
from theory.sums import FEATURES, Entry, Expectation, Index, Tensor, length, mask_ratio, width
from theory.sums.symbols import is_delta

#: Reserved axis names: samples of the law, and patterns evaluated side by side.
SAMPLE, BATCH = "(sample)", "(batch)"


#: Tensors that name a derivative of the loss at uniform attention.
LOSS_TENSORS = {
    loss_gradient: loss_slope,
    loss_hessian: loss_curvature,
    READOUT.token_gradient: READOUT.token_slope,
    RESIDUAL_READOUT.token_gradient: RESIDUAL_READOUT.token_slope,
}
_SLOPES: dict[Curve, Path] = {path.loss_slope: path for path in PATHS.values()}
_CURVATURES: dict[Curve, Path] = {path.loss_curvature: path for path in PATHS.values()}


def _ring(count: int) -> np.ndarray:
    offset = np.subtract.outer(-np.arange(count), -np.arange(count)) % count
    return np.asarray(offset[:, :, None] == np.arange(count))


def _torus(count: int) -> np.ndarray:
    rows = max(a for a in range(1, math.isqrt(count) + 1) if count % a == 0)
    table = np.einsum("ijk,abc->iajbkc", _ring(rows), _ring(count // rows))
    return np.asarray(table.reshape(count, count, count))


#: Arrays that the length alone fixes.
KNOWN: Mapping[Tensor, Callable[[int], np.ndarray]] = {
    position: lambda count: np.arange(1, count + 1),
    distance: lambda count: np.abs(np.subtract.outer(np.arange(count), np.arange(count))),
    distance_table: lambda count: (
        np.abs(np.subtract.outer(np.arange(count), np.arange(count)))[:, :, None] == np.arange(count)
    ),
    RING.table: _ring,
    TORUS.table: _torus,
}


@dataclass(frozen=True)
class Value:
    """Series coefficients, arrays over the axes ``dims``."""

    dims: tuple[str, ...]
    series: tuple[np.ndarray, ...]


@dataclass
class Environment:
    """Arrays for the primitive tensors, and what evaluation needs besides.

    ``arrays`` maps a tensor to its axes and entries; ``loss`` holds the coefficients of a polynomial loss (linear,
    quadratic, cubic; each samples by features).  ``order`` is the number of series coefficients that are kept.
    """

    ring: Ring
    token_count: int
    token_width: int
    arrays: Mapping[Tensor, tuple[tuple[str, ...], np.ndarray]]
    sample_weights: np.ndarray | None = None
    loss: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    fixed: Mapping[str, int] = field(default_factory=dict)
    order: int = 1
    mask_ratio: Fraction | int | None = None
    _cache: dict[object, Value] = field(default_factory=dict)

    def evaluate(self, expression: sp.Expr, free: Sequence[Index] = ()) -> np.ndarray:
        """Value at alpha = 0, over the axes (reserved axes present, then ``free``)."""
        return self.series(expression, free)[0]

    def series(self, expression: sp.Expr, free: Sequence[Index] = ()) -> tuple[np.ndarray, ...]:
        """All series coefficients in alpha, over the axes (reserved axes present, then ``free``)."""
        value = self._value(sp.sympify(expression))
        reserved = tuple(d for d in (SAMPLE, BATCH) if d in value.dims)
        wanted = (*reserved, *(i.name for i in free))
        shapes = {i.name: self.size(i) for i in free}
        padded = self._pad(value)
        return tuple(
            np.broadcast_to(
                _aligned(value.dims, c, wanted),
                [c.shape[value.dims.index(d)] if d in reserved else shapes[d] for d in wanted],
            )
            for c in padded
        )

    def size(self, index_: Index) -> int:
        """Size of an index's range."""
        return self.token_width if index_.range == FEATURES else self.token_count

    def _pad(self, value: Value) -> tuple[np.ndarray, ...]:
        zero = self._constant(sp.S.Zero).series[0]
        shape = np.broadcast_shapes(*(c.shape for c in value.series))
        missing = self.order - len(value.series)
        return (*value.series, *(np.broadcast_to(zero, shape) for _ in range(missing)))

    def _constant(self, value: sp.Expr) -> Value:
        sizes: dict[sp.Symbol, Any] = {length: self.token_count, width: self.token_width}
        if self.mask_ratio is not None:
            ratio = Fraction(self.mask_ratio)
            sizes[mask_ratio] = sp.Rational(ratio.numerator, ratio.denominator)
        number = sp.Rational(value.subs(sizes))
        exact = self.ring.number(Fraction(int(number.p), int(number.q)))
        return Value((), (self.ring.array(np.array(exact, dtype=object if not isinstance(exact, float) else None)),))

    def _value(self, expression: sp.Expr) -> Value:
        if isinstance(expression, Entry):
            return self._entry(expression)
        if isinstance(expression, CurveEntry):
            return self._curve(expression)
        if isinstance(expression, Loss):
            return self._loss(expression)
        if expression == alpha:
            zero, one = self._constant(sp.S.Zero).series[0], self._constant(sp.S.One).series[0]
            return Value((), (zero, one)[: self.order])
        if isinstance(expression, sp.Add):
            value = self._value(expression.args[0])
            for argument in expression.args[1:]:
                value = self._add(value, self._value(argument))
            return value
        if isinstance(expression, sp.Mul):
            return self._product([self._value(a) for a in expression.args])
        if isinstance(expression, sp.Pow) and expression.exp.is_Integer:
            base = self._value(expression.base)
            base = self._inverse(base) if expression.exp < 0 else base
            return self._product([base] * abs(int(expression.exp)))
        if isinstance(expression, sp.exp):
            return self._exponential(self._value(expression.args[0]))
        if isinstance(expression, sp.Sum):
            return self._sum(expression)
        if isinstance(expression, Expectation):
            return self._expect(expression.args[0])
        return self._constant(expression)

    def _add(self, left: Value, right: Value) -> Value:
        dims = tuple(dict.fromkeys((*left.dims, *right.dims)))
        count = max(len(left.series), len(right.series))
        series = []
        for n in range(count):
            terms = [_aligned(v.dims, v.series[n], dims) for v in (left, right) if n < len(v.series)]
            series.append(self.ring.add(terms[0], terms[1]) if len(terms) == 2 else terms[0])
        return Value(dims, tuple(series))

    def _multiply(self, left: Value, right: Value) -> Value:
        dims = tuple(dict.fromkeys((*left.dims, *right.dims)))
        first = [_aligned(left.dims, c, dims) for c in left.series]
        second = [_aligned(right.dims, c, dims) for c in right.series]
        return Value(dims, self._convolve(first, second, self.ring.multiply))

    def _convolve(self, first: list[np.ndarray], second: list[np.ndarray], product: object) -> tuple[np.ndarray, ...]:
        count = min(self.order, len(first) + len(second) - 1)
        series: list[np.ndarray | None] = [None] * count
        for n, left in enumerate(first):
            for m, right in enumerate(second):
                if n + m < count:
                    term = product(left, right)  # type: ignore[operator]
                    held = series[n + m]
                    series[n + m] = term if held is None else self.ring.add(held, term)
        return tuple(s for s in series if s is not None)

    def _product(self, values: list[Value]) -> Value:
        result = values[0]
        for value in values[1:]:
            result = self._multiply(result, value)
        return result

    def _sum(self, expression: sp.Sum, *weights: Value) -> Value:
        body = expression.function
        factors = [self._value(a) for a in (body.args if isinstance(body, sp.Mul) else (body,))]
        bound = [index_ for index_, *_ in expression.limits]
        present = {d for f in factors for d in f.dims}
        factors += [self._constant(sp.Integer(self.size(i))) for i in bound if i.name not in present]
        axes = [i.name for i in bound if i.name in present]
        if weights and SAMPLE in present:
            # Weights are folded into the smallest random factor: samples and features are then summed together.
            random = min((f for f in factors if SAMPLE in f.dims), key=lambda f: f.series[0].size)
            factors = [self._multiply(f, *weights) if f is random else f for f in factors]
            axes = [*axes, SAMPLE]
        return self._contract_all(factors, axes)

    def _contract_all(self, factors: list[Value], axes: list[str]) -> Value:
        """Sum a product over axes; axes that touch the same factors are summed together, by one matrix product."""
        while axes:
            touched = [f for f in factors if axes[0] in f.dims]
            rest = [f for f in factors if axes[0] not in f.dims]
            together = tuple(a for a in axes if not any(a in f.dims for f in rest))
            touched.sort(key=lambda f: len(f.dims))
            while len(touched) > 2:
                touched = [self._multiply(touched[0], touched[1]), *touched[2:]]
            factors = [*rest, self._contract(touched, together)]
            axes = [a for a in axes if a not in together]
        return self._product(factors)

    def _contract(self, factors: list[Value], axes: tuple[str, ...]) -> Value:
        if len(factors) == 1:
            (value,) = factors
            for axis in axes:
                place = value.dims.index(axis)
                series = tuple(self.ring.total(c, place) for c in value.series)
                value = Value(tuple(d for d in value.dims if d != axis), series)
            return value
        left, right = factors
        shared = tuple(d for d in left.dims if d in right.dims and d not in axes)
        only_left = tuple(d for d in left.dims if d not in (*shared, *axes))
        only_right = tuple(d for d in right.dims if d not in (*shared, *axes))
        in_both = all(a in left.dims and a in right.dims for a in axes)
        if not only_left or not only_right or not in_both:
            return self._contract([self._multiply(left, right)], axes)
        first = [_grouped(left.dims, c, shared, only_left, axes) for c in left.series]
        second = [_grouped(right.dims, c, shared, axes, only_right) for c in right.series]
        series = self._convolve(first, second, self.ring.matmul)
        sizes = {d: s for v in factors for d, s in zip(v.dims, v.series[0].shape, strict=True)}
        dims = (*shared, *only_left, *only_right)
        return Value(dims, tuple(c.reshape([sizes[d] for d in dims]) for c in series))

    def _inverse(self, value: Value) -> Value:
        first = self.ring.invert(value.series[0])
        series = [first]
        for n in range(1, self.order):
            terms = [
                self.ring.multiply(value.series[m], series[n - m]) for m in range(1, min(n, len(value.series) - 1) + 1)
            ]
            if not terms:
                break
            total = terms[0]
            for term in terms[1:]:
                total = self.ring.add(total, term)
            series.append(self.ring.multiply(self.ring.multiply(first, total), self._minus_one))
        return Value(value.dims, tuple(series))

    @property
    def _minus_one(self) -> np.ndarray:
        return self._constant(sp.S.NegativeOne).series[0]

    def _exponential(self, value: Value) -> Value:
        # The series of exp(alpha * pattern) is a finite sum because its exponent has no constant term.
        if (value.series[0] != 0).any():
            raise ValueError("the exponent of an exponential must vanish at alpha = 0 to be a power series")
        one, power = self._constant(sp.S.One), self._constant(sp.S.One)
        result = one
        for n in range(1, self.order):
            power = self._multiply(power, value)
            scaled = self._multiply(power, self._constant(sp.Rational(1, math.factorial(n))))
            result = self._add(result, scaled)
        return result

    def _expect(self, body: sp.Expr) -> Value:
        if self.sample_weights is None:
            raise ValueError("an expectation needs sample weights")
        weights = Value((SAMPLE,), (self.sample_weights,))
        if isinstance(body, sp.Sum):
            return self._sum(body, weights)
        value = self._value(body)
        return self._contract_all([value, weights], [SAMPLE]) if SAMPLE in value.dims else value

    def _entry(self, expression: Entry) -> Value:
        tensor, indices = expression.tensor, expression.indices
        if is_delta(tensor):
            first, second = (i.name for i in indices)
            eye = self.ring.array(np.eye(self.size(indices[0]), dtype=np.int64))
            return self._select(Value(("0", "1"), (eye,)), ("0", "1"), (first, second))
        formal = tensor.formal_indices()
        names = tuple(i.name for i in formal)
        if tensor in self.arrays:
            dims, array = self.arrays[tensor]
            held = Value(dims, (array,))
        elif tensor in KNOWN:
            held = Value(names, (self.ring.array(KNOWN[tensor](self.token_count).astype(np.int64)),))
        elif tensor in LOSS_TENSORS and self.loss is not None:
            held = self._cached(tensor, lambda: self._curve(LOSS_TENSORS[tensor](*formal, at=sp.S.Zero)))
        elif tensor.definition is not None:
            definition = tensor.definition
            held = self._cached(tensor, lambda: self._value(definition(*formal)))
            held = self._broadcast(held, formal)
        else:
            raise ValueError(f"no array is given for {tensor.name}")
        return self._select(held, names, tuple(i.name for i in indices))

    def _broadcast(self, value: Value, formal: Sequence[Index]) -> Value:
        missing = tuple(i for i in formal if i.name not in value.dims)
        ones = [Value((i.name,), (self.ring.array(np.ones(self.size(i), dtype=np.int64)),)) for i in missing]
        return self._product([value, *ones])

    def _cached(self, key: object, make: object) -> Value:
        if key not in self._cache:
            self._cache[key] = make()  # type: ignore[operator]
        return self._cache[key]

    def _curve(self, expression: CurveEntry) -> Value:
        curve, formal = expression.curve, expression.as_entry().tensor.formal_indices()
        generic = curve(*formal, at=expression.at, order=expression.order)
        if curve in _SLOPES or curve in _CURVATURES:
            make = lambda: self._loss_derivative(curve, expression.at)  # noqa: E731
        else:
            make = lambda: self._value(generic.unfold())  # noqa: E731
        held = self._cached((curve, expression.order, expression.at), make)
        return self._select(held, tuple(i.name for i in formal), tuple(i.name for i in expression.indices))

    def _select(self, value: Value, formal: tuple[str, ...], indices: tuple[str, ...]) -> Value:
        """Rename axes to the given indices; a repeated index takes the diagonal, a fixed one a slice."""
        names = dict(zip(formal, indices, strict=True))
        dims: list[str] = []
        series = list(value.series)
        for dim in value.dims:
            name, place = names.get(dim, dim), len(dims)
            if name in self.fixed:
                series = [np.asarray(np.take(c, self.fixed[name], axis=place), dtype=c.dtype) for c in series]
            elif name in dims:
                first = dims.index(name)
                series = [np.moveaxis(np.diagonal(c, axis1=first, axis2=place), -1, first) for c in series]
            else:
                dims.append(name)
        return Value(tuple(dims), tuple(series))

    def _loss_parts(self) -> list[Value]:
        if self.loss is None:
            raise ValueError("a polynomial loss is needed to evaluate a loss")
        return [Value((SAMPLE, "c"), (part,)) for part in self.loss]

    def _loss(self, expression: Loss) -> Value:
        """l(h) = sum_c (a_c h_c + b_c h_c^2 / 2) + (sum_c t_c h_c)^3 / 3 for every sample."""
        linear, quadratic, cubic = self._loss_parts()
        (c,) = loss_gradient.formal_indices()
        h = self._value(expression.path.pooled(c, at=expression.at))
        half = self._constant(sp.Rational(1, 2))
        third = self._constant(sp.Rational(1, 3))
        flat = self._add(self._product([linear, h]), self._product([half, quadratic, h, h]))
        inner = self._contract([self._multiply(cubic, h)], (c.name,))
        return self._add(self._contract([flat], (c.name,)), self._product([third, inner, inner, inner]))

    def _loss_derivative(self, curve: Curve, at: sp.Expr) -> Value:
        """First or second partial derivatives of the loss in h, over samples and one or two feature axes."""
        linear, quadratic, cubic = self._loss_parts()
        (c,) = loss_gradient.formal_indices()
        h = self._value({**_SLOPES, **_CURVATURES}[curve].pooled(c, at=at))
        inner = self._contract([self._multiply(cubic, h)], (c.name,))
        if curve in _SLOPES:
            flat = self._add(linear, self._multiply(quadratic, h))
            return self._add(flat, self._product([cubic, inner, inner]))
        first, second = (i.name for i in loss_hessian.formal_indices())
        eye = self.ring.array(np.eye(self.token_width, dtype=np.int64))
        diagonal = self._multiply(quadratic, Value((first, second), (eye,)))
        transposed = Value((SAMPLE, second), cubic.series)
        return self._add(diagonal, self._product([self._constant(sp.Integer(2)), cubic, transposed, inner]))


def _aligned(dims: tuple[str, ...], array: np.ndarray, wanted: tuple[str, ...]) -> np.ndarray:
    """Transpose and insert unit axes so that the axes are ``wanted``."""
    order = [dims.index(d) for d in wanted if d in dims]
    return np.expand_dims(np.transpose(array, order), tuple(n for n, d in enumerate(wanted) if d not in dims))


def _grouped(dims: tuple[str, ...], array: np.ndarray, *groups: tuple[str, ...]) -> np.ndarray:
    """Axes transposed to (shared..., rows, columns), the last two groups flattened."""
    shared, rows, columns = groups
    moved = _aligned(dims, array, (*shared, *rows, *columns))
    lead = moved.shape[: len(shared)]
    row_size = math.prod(moved.shape[len(shared) : len(shared) + len(rows)])
    return moved.reshape(*lead, row_size, -1)
