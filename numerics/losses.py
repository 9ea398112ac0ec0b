"""Label losses of a pooled vector, generic over exact numbers, balls and tensors.

A loss belongs to a finite law: its parameters hold one row a sample (target or label included).  Polynomial losses
are exact in every ring; the others are what practitioners train with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from numerics.numbers import Numbers


@runtime_checkable
class LabelLoss(Protocol):
    """Something that, for a kind of numbers, maps pooled vectors (samples x features) to one value a sample."""

    @property
    def name(self) -> str: ...

    def on(self, numbers: Numbers) -> Callable[[Any], Any]: ...

    def gradient_bound(self, size: np.ndarray) -> np.ndarray:
        """Bound of the absolute terms of the gradient, where the pooled entries are at most ``size`` (N x d)."""
        ...

    def hessian_bound(self, size: np.ndarray) -> np.ndarray:
        """Bound of the absolute terms of the Hessian there (N x d x d)."""
        ...


@dataclass(frozen=True)
class PolynomialLoss:
    """``sum_c (a_c h_c + b_c h_c^2 / 2) + (sum_c t_c h_c)^3 / 3`` with its own a, b, t for each sample.

    Shapes: linear, quadratic, cubic: samples x features, exact numbers.
    """

    linear: np.ndarray
    quadratic: np.ndarray
    cubic: np.ndarray
    name: str = "polynomial"

    def on(self, numbers: Numbers) -> Callable[[Any], Any]:
        a, b, t = (numbers.convert(part) for part in (self.linear, self.quadratic, self.cubic))

        def loss(h: Any) -> Any:
            inner = (t * h).sum(1)
            return (a * h + b * h * h / 2).sum(1) + inner * inner * inner / 3

        return loss

    def gradient_bound(self, size: np.ndarray) -> np.ndarray:
        a, b, t = (np.abs(np.asarray(part, dtype=np.float64)) for part in (self.linear, self.quadratic, self.cubic))
        return np.asarray(a + b * size + t * (t * size).sum(1)[:, None] ** 2)

    def hessian_bound(self, size: np.ndarray) -> np.ndarray:
        b, t = (np.abs(np.asarray(part, dtype=np.float64)) for part in (self.quadratic, self.cubic))
        outer = 2 * t[:, :, None] * t[:, None, :] * (t * size).sum(1)[:, None, None]
        return np.asarray(outer + b[:, :, None] * np.eye(b.shape[1]))


@dataclass(frozen=True)
class LogisticLoss:
    """``log(1 + exp(-y w.h))`` with labels y in {-1, 1}; weight: features, labels: samples."""

    weight: np.ndarray
    labels: np.ndarray
    name: str = "logistic"

    def on(self, numbers: Numbers) -> Callable[[Any], Any]:
        weight, labels = numbers.convert(self.weight), numbers.convert(self.labels)
        return lambda h: numbers.log(numbers.exp(-((h * weight).sum(1) * labels)) + 1)

    def gradient_bound(self, size: np.ndarray) -> np.ndarray:
        # The sigmoid is at most 1; an absolute error of the score, at most |w|.|h|, is a relative error of exp.
        weight = np.abs(np.asarray(self.weight, dtype=np.float64))
        return np.asarray(weight * (1 + (size * weight).sum(1))[:, None])

    def hessian_bound(self, size: np.ndarray) -> np.ndarray:
        weight = np.abs(np.asarray(self.weight, dtype=np.float64))
        return np.asarray(np.outer(weight, weight) * (1 + (size * weight).sum(1))[:, None, None])


@dataclass(frozen=True)
class CrossEntropyLoss:
    """Softmax cross-entropy of a linear read-out; weight: features x classes, labels: integers 0..classes-1."""

    weight: np.ndarray
    labels: np.ndarray
    name: str = "cross-entropy"

    def on(self, numbers: Numbers) -> Callable[[Any], Any]:
        weight = numbers.convert(self.weight)
        chosen = numbers.convert(np.eye(self.weight.shape[1], dtype=np.int64)[self.labels])

        def loss(h: Any) -> Any:
            scores = h @ weight
            return numbers.log(numbers.exp(scores).sum(1)) - (scores * chosen).sum(1)

        return loss

    def gradient_bound(self, size: np.ndarray) -> np.ndarray:
        # Probabilities and one-hot sum to 2; score errors act as relative errors of exp, as for the logistic loss.
        weight = np.abs(np.asarray(self.weight, dtype=np.float64))
        return np.asarray(2 * weight.max(1) * (1 + (size @ weight).max(1))[:, None])

    def hessian_bound(self, size: np.ndarray) -> np.ndarray:
        # Hessian W (diag p - p p') W': entries at most 2 max|W_c.| max|W_e.|, times the condition of exp.
        weight = np.abs(np.asarray(self.weight, dtype=np.float64))
        outer = np.outer(weight.max(1), weight.max(1))
        return np.asarray(2 * outer * (1 + (size @ weight).max(1))[:, None, None])
