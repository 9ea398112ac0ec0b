"""The copy that is audited; the user's model, batch and random state stay as they are.

The copy is cast to float64 (half or single precision could not tell rounding from blindness), put into evaluation
mode (no dropout, batch normalisation by its running statistics) and every parameter of it asks for a gradient.
Hugging Face models that compute attention by hand (``eager``) or with a fused kernel are switched to their own ``sdpa``
implementation on the copy.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from numerics.errors import InputError


def audited_copy(model: nn.Module) -> tuple[nn.Module, list[str]]:
    """A copy ready for the audit, and what was changed on it, one sentence each.

    Raises:
        InputError: the model cannot be copied.

    >>> model = nn.Linear(2, 1).half()
    >>> audited, notes = audited_copy(model)
    >>> audited.weight.dtype, model.weight.dtype, notes[0]
    (torch.float64, torch.float16, 'float16 weights were cast to float64 on a copy')
    """
    notes = []
    if isinstance(model, torch.jit.ScriptModule):
        raise InputError(
            f"the model must be a plain module: {type(model).__name__} hides its calls; audit it before scripting"
        )
    if hasattr(model, "_orig_mod"):
        model = model._orig_mod  # type: ignore[assignment]
        notes.append("the plain module inside the compiled one was audited")
    try:
        copied = copy.deepcopy(model)
    except (RuntimeError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"the model must be copyable, for the audit never touches yours: {type(model).__name__} ({error}); "
            "pass a function without arguments that builds it"
        ) from None
    stored = {p.dtype for p in model.parameters() if p.is_floating_point()} - {torch.float64}
    for kind in sorted(stored, key=str):
        notes.append(f"{str(kind).removeprefix('torch.')} weights were cast to float64 on a copy")
    frozen = sum(not p.requires_grad for p in model.parameters())
    if frozen:
        notes.append(f"{frozen} parameter tensors of the model are frozen; the audit differentiates through them")
    if any(isinstance(m, nn.modules.dropout._DropoutNd) and m.p > 0 and m.training for m in model.modules()):
        notes.append("dropout was off: the copy is in evaluation mode")
    notes += _switch_to_sdpa(copied)
    copied.to(torch.float64).eval()
    for parameter in copied.parameters():
        parameter.requires_grad_(parameter.is_floating_point())
        parameter.grad = None
    return copied, notes


def _switch_to_sdpa(model: nn.Module) -> list[str]:
    """Use Hugging Face's own switch where there is one; a model without that implementation is left alone."""
    notes = []
    for module in model.modules():
        switch = getattr(module, "set_attn_implementation", None)
        used = getattr(getattr(module, "config", None), "_attn_implementation", "sdpa")
        if callable(switch) and used != "sdpa":
            try:
                switch("sdpa")
            except (ValueError, ImportError, NotImplementedError):
                notes.append(f"{type(module).__name__} has no sdpa implementation and was left on {used!r}")
            else:
                notes.append(f"{type(module).__name__} was switched from {used!r} to 'sdpa' attention on the copy")
    return notes


def audited_batch(batch: Any) -> Any:
    """The batch with every tensor cloned and floating ones cast; mappings, lists and tuples are entered.

    >>> audited_batch({"x": torch.ones(1).half(), "y": (3, torch.ones(1, dtype=torch.int64))})
    {'x': tensor([1.], dtype=torch.float64), 'y': (3, tensor([1]))}
    """
    if isinstance(batch, Tensor):
        fresh = batch.detach().clone()
        return fresh.to(torch.float64) if fresh.is_floating_point() else fresh
    if isinstance(batch, Mapping):
        items = {key: audited_batch(value) for key, value in batch.items()}
        if type(batch) is dict:
            return items
        fresh_mapping = copy.copy(batch)  # Hugging Face's batches offer their items as attributes too
        fresh_mapping.update(items)  # type: ignore[attr-defined]
        return fresh_mapping
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(audited_batch(value) for value in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(audited_batch(value) for value in batch)
    return batch
