"""The gradient of one loss with respect to every layer's score bias, split, with the size that rounding could have.

The bias is additive to the scores and shared over the batch, so its gradient is what a training step could write into
scores whatever the parametrisation; queries and keys transport it further.  Under the full mask, mean pooling and
uniform attention it is ``1 (J gamma)^T / L^2`` for labels and ``-JCJ / L^2`` for reconstruction (G8).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from numerics.errors import InputError
from numerics.model_audit.attention import AttentionCall, AttentionSite
from numerics.model_audit.intercept import check_caught, tapped, what_was_met
from numerics.model_audit.prepare import audited_batch
from numerics.model_audit.split import split_scores
from numerics.tolerance import UNIT_ROUNDOFF

#: A loss of a model and a batch: ``loss(model, batch)`` returns one number, usually a mean over sequences.
Loss = Callable[[nn.Module, Any], Tensor]

#: Catching attention sums in another order.  A missing scale or a misread mask moves a loss by far more than this, and
#: even models that compute parts in single precision (6e-8) move by less.
LARGEST_DRIFT = 1e-6

#: Roundings of a module besides its matrix products (normalisation, activation, residual), forward and backward.
ROUNDINGS_PER_MODULE = 30


@dataclass(frozen=True)
class HeadGradient:
    """One loss's score gradient at one head.  Norms are Frobenius norms, in loss units per nat of score."""

    norm: float | None
    """Norm of the gradient; ``None`` when no differentiable path leads from the loss to the scores."""
    blind: float | None
    """Share of the squared norm in the blind set of mean pooling; ``None`` when the gradient is zero up to rounding."""
    stripes: float | None
    """Share in the row-centred stripes, what mean-pooled labels see at uniform attention."""
    elsewhere: float | None
    """Share that is not row-centred: rounding only."""
    rounding: float
    """Largest norm that rounding errors alone can give the gradient."""
    query_norm: float | None
    """Norm of the gradient at the queries; W_Q gets no gradient where this is zero.  ``None``: no path."""
    key_norm: float | None
    """Norm of the gradient at the keys; W_K gets no gradient where this is zero.  ``None``: no path."""
    output_norm: float | None
    """Norm of the gradient at this head's outputs; zero when nothing downstream reads them."""

    @property
    def resolved(self) -> bool:
        """Whether the gradient is larger than rounding can make it."""
        return self.norm is not None and self.norm > self.rounding

    @property
    def blind_norm(self) -> float:
        """Norm of the blind part."""
        return (self.norm or 0.0) * math.sqrt(self.blind or 0.0)


@dataclass(frozen=True)
class LossGradients:
    """A loss's value, its attention calls in order of execution, and their score gradients (heads x L x S)."""

    value: float
    calls: Sequence[AttentionSite]
    scores: Sequence[Tensor | None]
    heads: Sequence[Sequence[HeadGradient]]
    missed: str
    """What looked like attention and was not caught, such as a softmax of a router; empty for nothing."""


def loss_gradients(model: nn.Module, batch: Any, loss: Loss, what: str, seed: int) -> LossGradients:
    """Differentiate a loss with respect to a zero score bias in every attention call.

    Args:
        model: the copy, in float64.
        batch: its batch; every evaluation gets a fresh copy, cast to float64.
        loss: differentiable; random draws from torch are repeated from ``seed``.
        what: "loss" or "reconstruction", for messages.

    Raises:
        InputError: the loss is not one finite number, differs between two evaluations, met no attention, or has a
            gradient that is not finite.
        ArithmeticError: catching the attention changed the loss, which would be a defect of this package.
    """
    first, second = (_evaluate(model, batch, loss, what, seed).item() for _ in range(2))
    if first != second:
        raise InputError(
            f"the {what} must be the same when evaluated twice: {first!r} and {second!r}; draw randomness from torch's "
            "global generator, which the audit repeats, or fix it before"
        )
    with tapped(model) as tap:
        value = _evaluate(model, batch, loss, what, seed)
    check_caught(tap)
    roundings = rounding_count(model, tap.calls)
    drift = abs(value.item() - first)
    if drift > LARGEST_DRIFT * max(1.0, abs(first)):
        raise ArithmeticError(f"catching attention changed the {what} from {first!r} to {value.item()!r}")
    nodes = [node for call in tap.calls for node in (call.bias, call.outputs, call.queries, call.keys)]
    grads = _gradients(value, nodes)
    scores = [grads[position] for position in range(0, len(grads), 4)]
    for call, grad in zip(tap.calls, scores, strict=True):
        if grad is not None and not bool(torch.isfinite(grad).all()):
            raise InputError(
                f"the gradient of the {what} must be finite: it is not at the scores of {call.site.name}; "
                "look for a square root or a division at 0"
            )
    heads = [
        _head_gradients(call, grads[4 * n : 4 * n + 4], roundings * UNIT_ROUNDOFF) for n, call in enumerate(tap.calls)
    ]
    return LossGradients(value.item(), [call.site for call in tap.calls], scores, heads, what_was_met(tap))


def rounding_count(model: nn.Module, calls: Sequence[AttentionCall]) -> int:
    """Roundings on the longest chain from a score to the loss and back.

    Every weight is one sum over its last axis, each attention call sums over its keys, queries, head width and heads,
    the loss over the batch; the backward pass at most doubles them.  As in Higham (Accuracy and Stability, section
    3.1) they are taken as relative to the sum of absolute terms; later layers are assumed not to amplify.
    """
    products = sum(p.shape[-1] for p in model.parameters() if p.dim() > 1)
    sums = sum(sum(call.attention.shape) + call.values.shape[-1] for call in calls)
    return 2 * (products + sums + ROUNDINGS_PER_MODULE * len(list(model.modules())))


def _evaluate(model: nn.Module, batch: Any, loss: Loss, what: str, seed: int) -> Tensor:
    torch.manual_seed(seed)
    try:
        value = loss(model, audited_batch(batch))
    except RuntimeError as error:
        if "dtype" not in str(error):
            raise
        raise InputError(
            f"the model must run in float64, which the audit casts it to: {error}; create tensors inside "
            "it in the dtype of its inputs"
        ) from error
    if not isinstance(value, Tensor) or value.numel() != 1 or not value.is_floating_point():
        got = f"shape {tuple(value.shape)}, {value.dtype}" if isinstance(value, Tensor) else type(value).__name__
        raise InputError(f"the {what} must return one real number as a tensor: got {got}; return its mean")
    if not bool(torch.isfinite(value)):
        raise InputError(f"the {what} must be finite: got {value.item()}; check masks that leave a query without keys")
    return value


def _gradients(value: Tensor, nodes: Sequence[Tensor]) -> list[Tensor | None]:
    """Gradient for each node, ``None`` without a path."""
    found: list[Tensor | None] = [None] * len(nodes)
    if not value.requires_grad:
        return found
    asked = [n for n, node in enumerate(nodes) if node.requires_grad]
    grads = torch.autograd.grad(value.reshape(()), [nodes[n] for n in asked], allow_unused=True)
    for n, grad in zip(asked, grads, strict=True):
        found[n] = grad
    return found


def _head_gradients(call: AttentionCall, grads: Sequence[Tensor | None], unit: float) -> list[HeadGradient]:
    bias, outputs, queries, keys = grads
    terms = None if outputs is None else _absolute_terms(call, outputs)
    found = []
    for head in range(call.bias.shape[0]):
        norm = None if bias is None else float(bias[head].norm())
        rounding = 0.0 if terms is None else unit * float(terms[head].norm())
        blind: float | None = None
        stripes: float | None = None
        elsewhere: float | None = None
        if bias is not None and norm is not None and norm > rounding:
            energies = split_scores(bias[head], call.site.mask[head]).energies()
            blind, stripes, elsewhere = (part / sum(energies) for part in energies)
        reached = (_norm(grad, head) for grad in (queries, keys, outputs))
        found.append(HeadGradient(norm, blind, stripes, elsewhere, rounding, *reached))
    return found


def _norm(grad: Tensor | None, head: int) -> float | None:
    return None if grad is None else float(grad[:, head].norm())


def _absolute_terms(call: AttentionCall, outputs: Tensor) -> Tensor:
    """Sum of absolute terms of each entry of the score gradient, ``sum_n a_ij (|g_i||v_j| + sum_k a_ik |g_i||v_k|)``.

    Heads x L x S; ``outputs`` is the gradient g at the outputs.
    """
    attention = call.attention.detach()
    sizes = attention * (outputs.abs() @ call.values.detach().abs().mT)
    return (sizes + attention * sizes.sum(-1, keepdim=True)).sum(0)
