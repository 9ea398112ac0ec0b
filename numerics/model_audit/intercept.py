"""Catches every attention call of a model without editing it.

A :class:`torch.overrides.TorchFunctionMode` sees each call of ``scaled_dot_product_attention`` and of
``multi_head_attention_forward`` (inside ``nn.MultiheadAttention``), wherever it was imported from, and lets everything
else through.  While such a mode is on, torch does not take its fused inference paths.  ``nn.MultiheadAttention`` with
``need_weights=True`` computes a softmax of its own; it is run with ``need_weights=False``, which is the same function,
and the weights it wanted are handed back from the record.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.hooks import RemovableHandle

from numerics.errors import InputError
from numerics.model_audit.attention import AttentionCall, attend


class AttentionTap(TorchFunctionMode):
    """The mode; ``calls`` fills in the order of execution, ``met`` counts what else looked like attention."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[AttentionCall] = []
        self.met: Counter[str] = Counter()
        self.modules: list[str] = []
        self.entered = False
        self._times_seen: Counter[str] = Counter()

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            return self._attend(*args, **kwargs)
        if func is F.multi_head_attention_forward:
            return self._multi_head(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if "attention" in name or name == "softmax":
            self.met[f"{name} in {self._place()}"] += 1
        return func(*args, **kwargs)

    def enter(self, name: str) -> None:
        """A module of the copy starts."""
        self.modules.append(name)
        self.entered = True

    def leave(self) -> None:
        """The module that started last ends."""
        self.modules.pop()

    def _place(self) -> str:
        return (self.modules and self.modules[-1]) or "the model itself"

    def _attend(self, *args: Any, **kwargs: Any) -> Tensor:
        place = self._place()
        self._times_seen[place] += 1
        seen = self._times_seen[place]
        outputs, call = attend(place if seen == 1 else f"{place} (call {seen})", *args, **kwargs)
        self.calls.append(call)
        return outputs

    def _multi_head(self, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor | None]:
        bound = inspect.signature(F.multi_head_attention_forward).bind(*args, **kwargs)
        bound.apply_defaults()
        wanted, averaged = bound.arguments["need_weights"], bound.arguments["average_attn_weights"]
        bound.arguments["need_weights"] = False
        if wanted:
            bound.arguments["is_causal"] = False  # with weights torch ignores this hint and reads the mask
        # The mode is off inside its own handler, so the inner call is caught by name.
        with mock.patch.object(F, "scaled_dot_product_attention", self._attend):
            outputs, _ = F.multi_head_attention_forward(*bound.args, **bound.kwargs)
        if not wanted:
            return outputs, None
        weights = self.calls[-1].attention
        weights = weights.mean(1) if averaged else weights
        return outputs, weights if bound.arguments["query"].dim() == 3 else weights.squeeze(0)


@contextmanager
def tapped(model: nn.Module) -> Iterator[AttentionTap]:
    """Catch the attention calls of a model for the duration of a block.

    Args:
        model: a copy that may carry hooks meanwhile; its innermost running module names each call.

    >>> import torch
    >>> layer = nn.MultiheadAttention(4, 2, batch_first=True).double()
    >>> tokens = torch.zeros(3, 5, 4, dtype=torch.float64)
    >>> with tapped(layer) as tap:
    ...     _ = layer(tokens, tokens, tokens)
    >>> [(call.site.name, tuple(call.bias.shape)) for call in tap.calls]
    [('the model itself', (2, 5, 5))]
    """
    tap = AttentionTap()
    handles: list[RemovableHandle] = []
    for name, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(lambda *_, name=name: tap.enter(name), prepend=True))
        handles.append(module.register_forward_hook(lambda *_: tap.leave(), always_call=True))
    try:
        with tap:
            yield tap
    finally:
        for handle in handles:
            handle.remove()


def check_caught(tap: AttentionTap) -> None:
    """Refuse a loss that never used the copy, and a model whose attention was not caught, listing what was met.

    Raises:
        InputError: one of the two.
    """
    if not tap.entered:
        raise InputError(
            "the loss must call the model that it is given, a copy: none of its modules ran; "
            "write lambda model, batch: … and use both arguments"
        )
    if tap.calls:
        return
    raise InputError(
        "attention must go through torch.nn.functional.scaled_dot_product_attention: met "
        f"{what_was_met(tap) or 'no softmax and no attention at all'}; audit a model with attention that calls it "
        "(Hugging Face: attn_implementation='sdpa'; compiled or scripted models: audit the plain module)"
    )


def what_was_met(tap: AttentionTap) -> str:
    """What looked like attention and was not caught, with counts; empty when there was nothing."""
    return ", ".join(f"{name} ({times} times)" for name, times in tap.met.items())
