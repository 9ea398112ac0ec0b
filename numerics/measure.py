"""Compute the left side of a statement from the definition, by series coefficients or by automatic differentiation.

Nothing here knows a closed form.  ``by_series`` works on exact rationals and on balls; ``by_reverse_mode`` and
``by_forward_mode`` on float64 tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from numerics import definition
from numerics.instances import MASKED, Instance
from numerics.numbers import FLOATS, Numbers, coefficient, path_parameter, scalar_array, working
from numerics.rings import elementwise
from theory.claim import Quantity
from theory.composition import bend
from theory.masking import kept
from theory.query_key import bilinear

#: Quantities that are second derivatives in alpha.
CURVATURES = (Quantity.POOLED_CURVATURE, Quantity.SUPERVISED_CURVATURE)

#: Slopes in a query-key matrix: every sample has scores of its own.
QUERY_KEY = (Quantity.QUERY_KEY_SUPERVISED, Quantity.QUERY_KEY_RECONSTRUCTION)
_READOUTS = (Quantity.READOUT_SLOPE, Quantity.RESIDUAL_READOUT_SLOPE)

#: The two gradients in the scores.
GRADIENTS = (Quantity.SUPERVISED_GRADIENT, Quantity.RECONSTRUCTION_GRADIENT)


class Setup:
    """An instance converted to one kind of numbers, with its objectives as functions of attention."""

    def __init__(self, instance: Instance, numbers: Numbers) -> None:
        self.numbers = numbers
        convert = numbers.convert
        self.mask = convert(np.asarray(instance.mask, dtype=np.int64))
        self.pattern, self.pooling = convert(instance.pattern), convert(instance.pooling)
        self.tokens, self.sample_weights = convert(instance.tokens), convert(instance.sample_weights)
        self.identity = convert(np.eye(instance.token_count, dtype=np.int64)[None])
        self.loss = instance.loss.on(numbers)
        self.extra = {tensor: convert(values) for tensor, (_, values) in instance.overrides.items()}
        self.mask_ratio: Any = None
        if instance.mask_ratio is not None:
            self.mask_ratio = convert(np.array(instance.mask_ratio, dtype=object))

    def along(self, quantity: Quantity, step: Any, pattern: Any = None) -> Any:
        """The function of the step whose derivative at step 0 the quantity is, along the own pattern or another."""
        if quantity in QUERY_KEY:
            return self._along_query_key(quantity, step)
        if quantity is Quantity.SUPERVISED_SLOPE_ANYWHERE:
            # One strength stands for all: patterns have every size.
            step = scalar_array(step[()] + 1) if isinstance(step, np.ndarray) else step + 1
        return self.value(quantity, self.attention(step, self.pattern if pattern is None else pattern))

    def _along_query_key(self, quantity: Quantity, step: Any) -> Any:
        matrix, moved = self.extra[bilinear], []
        for sample in range(len(self.tokens)):
            tokens = self.tokens[sample]
            attention = self.attention(step, tokens @ matrix @ tokens.T)
            moved.append(definition.outputs(attention, self.tokens[sample : sample + 1]))
        outputs = self.numbers.concatenate(moved)
        if quantity is Quantity.QUERY_KEY_SUPERVISED:
            return (self.loss(definition.pooled_vectors(outputs, self.pooling)) * self.sample_weights).sum(0)
        errors = ((self.tokens - outputs) ** 2).sum(2).sum(1)
        return (errors * self.sample_weights).sum(0) / (2 * self.tokens.shape[1])

    def behind_readout(self, quantity: Quantity, outputs: Any) -> Any:
        """The label loss of the pooled ``z + b z²``, z the outputs, with the tokens added where there is a residual."""
        tokens = outputs + self.tokens if quantity is Quantity.RESIDUAL_READOUT_SLOPE else outputs
        read = tokens + self.extra[bend] * tokens * tokens
        return (self.loss(definition.pooled_vectors(read, self.pooling)) * self.sample_weights).sum(0)

    def _masked(self, quantity: Quantity, attention: Any) -> Any:
        keep, length = self.extra[kept], len(self.mask)
        count = self.mask_ratio * length
        if quantity is Quantity.TRAINED_MASKED_SLOPE:
            count = (1 - keep).sum(1)
            count = count + (count == 0)  # nothing masked, nothing to rebuild
        return definition.masked_reconstruction_loss(attention, self.tokens, keep, self.sample_weights, count)

    def attention(self, step: Any, pattern: Any) -> Any:
        return definition.attention(step, pattern, self.mask, self.numbers.exp)

    def value(self, quantity: Quantity, attention: Any) -> Any:
        """The function whose derivative the quantity is."""
        if quantity is Quantity.ATTENTION_SLOPE:
            return attention
        if quantity in (Quantity.POOLED_SLOPE, Quantity.POOLED_CURVATURE):
            return definition.pooled_vectors(definition.outputs(attention, self.tokens), self.pooling)
        if quantity is Quantity.TOKEN_INFLUENCE:
            return definition.pooled_vectors(definition.outputs(attention, self.identity), self.pooling)[0]
        if quantity in (Quantity.RECONSTRUCTION_SLOPE, Quantity.RECONSTRUCTION_GRADIENT):
            return definition.reconstruction_loss(attention, self.tokens, self.sample_weights)
        if quantity in MASKED:
            return self._masked(quantity, attention)
        if quantity in _READOUTS:
            return self.behind_readout(quantity, definition.outputs(attention, self.tokens))
        if quantity is Quantity.TWO_LAYER_SLOPE:
            second = definition.outputs(attention, definition.outputs(attention, self.tokens))
            return (self.loss(definition.pooled_vectors(second, self.pooling)) * self.sample_weights).sum(0)
        return definition.supervised_loss(attention, self.tokens, self.sample_weights, self.pooling, self.loss)


def series_order(quantity: Quantity) -> int:
    """Which coefficient of the series holds a quantity: 2 for a curvature, else 1."""
    return 2 if quantity in CURVATURES else 1


class SeriesMeasurement:
    """Quantities of one instance from power series in alpha; attention along the pattern is computed once."""

    def __init__(self, instance: Instance, numbers: Numbers, *, order: int = 1, bits: int = 256) -> None:
        self._order, self._bits = order, bits
        with working(bits=bits, order=order + 1):
            self._setup, self._step = Setup(instance, numbers), path_parameter(numbers)

    @cached_property
    def _attention(self) -> Any:
        return self._setup.attention(self._step, self._setup.pattern)

    def quantity(self, quantity: Quantity) -> np.ndarray:
        """The quantity, an object array of exact numbers or balls."""
        order = series_order(quantity)
        if order > self._order:
            raise ValueError(f"the quantity {quantity} needs series of order {order}, got {self._order}")
        with working(bits=self._bits, order=self._order + 1):
            if quantity is Quantity.GRADIENT_PRODUCT:
                left, right = (_series_gradient(self._setup, self._step, q) for q in GRADIENTS)
                return scalar_array((left * right).sum())
            if quantity in GRADIENTS:
                return _series_gradient(self._setup, self._step, quantity)
            own = quantity in QUERY_KEY or quantity is Quantity.SUPERVISED_SLOPE_ANYWHERE
            value = self._setup.along(quantity, self._step) if own else self._setup.value(quantity, self._attention)
            return elementwise(lambda c: c * math.factorial(order), coefficient(value, order))


def by_series(instance: Instance, quantity: Quantity, numbers: Numbers, bits: int = 256) -> np.ndarray:
    """One quantity from power series in alpha: an object array of exact numbers or balls."""
    return SeriesMeasurement(instance, numbers, order=series_order(quantity), bits=bits).quantity(quantity)


def _series_gradient(setup: Setup, step: np.ndarray, quantity: Quantity) -> np.ndarray:
    count = len(setup.mask)
    gradient = np.empty((count, count), dtype=object)
    for position in np.ndindex(count, count):
        basis = np.zeros((count, count), dtype=np.int64)
        basis[position] = 1
        value = setup.value(quantity, setup.attention(step, setup.numbers.convert(basis)))
        gradient[position] = coefficient(value, 1)[()]
    return gradient


def _along(setup: Setup, quantity: Quantity) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda step: setup.along(quantity, step)


def _of_scores(setup: Setup, quantity: Quantity) -> Callable[[torch.Tensor], torch.Tensor]:
    one = torch.ones((), dtype=torch.float64)
    return lambda scores: setup.value(quantity, setup.attention(one, scores))


def by_reverse_mode(instance: Instance, quantity: Quantity) -> np.ndarray:
    """The quantity by backpropagation through the definition, in float64."""
    setup = Setup(instance, FLOATS)
    if quantity is Quantity.GRADIENT_PRODUCT:
        left = by_reverse_mode(instance, Quantity.SUPERVISED_GRADIENT)
        return np.asarray((left * by_reverse_mode(instance, Quantity.RECONSTRUCTION_GRADIENT)).sum())
    if quantity in GRADIENTS:
        scores = torch.zeros_like(setup.pattern, requires_grad=True)
        (gradient,) = torch.autograd.grad(_of_scores(setup, quantity)(scores), scores)
        return gradient.numpy()
    step = torch.zeros((), dtype=torch.float64, requires_grad=True)
    value = _along(setup, quantity)(step)
    rows = []
    for entry in value.reshape(-1):
        (slope,) = torch.autograd.grad(entry, step, retain_graph=True, create_graph=quantity in CURVATURES)
        if quantity in CURVATURES:
            (slope,) = torch.autograd.grad(slope, step, retain_graph=True)
        rows.append(slope)
    return torch.stack(rows).reshape(value.shape).numpy()


def by_forward_mode(instance: Instance, quantity: Quantity) -> np.ndarray:
    """The quantity by forward-mode differentiation along the path; gradients have :func:`slope_along` instead."""
    along = _along(Setup(instance, FLOATS), quantity)
    zero, one = torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)

    def slope(step: torch.Tensor) -> torch.Tensor:
        return torch.func.jvp(along, (step,), (one,))[1]

    if quantity in CURVATURES:
        return torch.func.jvp(slope, (zero,), (one,))[1].numpy()
    return slope(zero).numpy()


def slope_along(instance: Instance, quantity: Quantity, direction: np.ndarray) -> float:
    """Forward-mode slope of a loss, as a function of the scores at 0, along one direction (L x L)."""
    tangent = torch.as_tensor(direction)
    function = _of_scores(Setup(instance, FLOATS), quantity)
    return float(torch.func.jvp(function, (torch.zeros_like(tangent),), (tangent,))[1])


def loss_gradients(instance: Instance) -> np.ndarray:
    """Gradient of the loss in the pooled vector at uniform attention (samples x features), by backpropagation."""
    return _loss_gradient(instance)[1].detach().numpy()


def loss_hessians(instance: Instance) -> np.ndarray:
    """Hessian of the loss in the pooled vector at uniform attention (samples x features x features)."""
    pooled, gradient = _loss_gradient(instance)
    columns = [torch.autograd.grad(gradient[:, c].sum(), pooled, retain_graph=True)[0] for c in range(pooled.shape[1])]
    return torch.stack(columns, dim=1).numpy()


def readout_gradients(instance: Instance, quantity: Quantity) -> np.ndarray:
    """Gradient of the loss behind a read-out in the tokens it reads, at uniform attention (samples x L x features)."""
    setup = Setup(replace(instance, sample_weights=np.ones(len(instance.tokens))), FLOATS)
    uniform = setup.attention(torch.zeros((), dtype=torch.float64), setup.pattern)
    outputs = definition.outputs(uniform, setup.tokens).requires_grad_()
    return torch.autograd.grad(setup.behind_readout(quantity, outputs), outputs)[0].numpy()


def _loss_gradient(instance: Instance) -> tuple[torch.Tensor, torch.Tensor]:
    setup = Setup(instance, FLOATS)
    uniform = setup.attention(torch.zeros((), dtype=torch.float64), setup.pattern)
    pooled = definition.pooled_vectors(definition.outputs(uniform, setup.tokens), setup.pooling).requires_grad_()
    # A loss that is linear in h has a gradient without a graph; adding 0 * h^2 keeps one.
    total = setup.loss(pooled).sum() + 0 * (pooled * pooled).sum()
    return pooled, torch.autograd.grad(total, pooled, create_graph=True)[0]
