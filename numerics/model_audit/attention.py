"""One attention call, computed in the open with an additive score bias that is zero and carries a gradient.

``attend`` does what ``torch.nn.functional.scaled_dot_product_attention`` documents (boolean and additive masks,
``is_causal``, ``scale``, grouped queries) and keeps what the audit needs.  The bias is shared over the batch: one
number for each head, query and key.  That the loss stays what it was is checked at every audit (``gradients``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from numerics.errors import InputError
from numerics.model_audit.statistics import HeadStatistics, attention_statistics

#: An additive mask at or below this hides a key: exp(-708) is the smallest normal float64, so that the key's weight
#: is zero next to any score within 300 of it.  -inf, -1e9, -1e4 and the least number of every dtype are all below.
HIDDEN_BELOW = math.log(torch.finfo(torch.float64).tiny)


@dataclass(frozen=True)
class AttentionSite:
    """What is known of one call without its tensors; H heads, L queries, S keys."""

    name: str
    mask: Tensor  # H L S: pairs that some sequence allows
    padded_share: float
    mask_learns: bool  # an additive mask with a gradient, such as a learned position bias
    statistics: list[HeadStatistics]  # one a head


@dataclass(frozen=True)
class AttentionCall:
    """One call with the tensors of its graph; N sequences, E features a head."""

    site: AttentionSite
    bias: Tensor  # H L S, a leaf
    queries: Tensor  # N H L E
    keys: Tensor  # N H S E
    values: Tensor  # N H S E
    attention: Tensor  # N H L S
    outputs: Tensor  # N H L E


def attend(
    name: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Tensor, AttentionCall]:
    """Attention with a zero bias, and its record.

    Args:
        name: the module that called, for messages and tables.
        query, key, value: ``... L E``, ``... S E``, ``... S E``; the last leading axis holds the heads when there are
            two or more leading axes, otherwise there is one head.
        attn_mask, is_causal, scale, enable_gqa: as torch documents them.
        dropout_p: must be 0, which evaluation mode gives.

    Raises:
        InputError: attention dropout is on, or the inputs are nested tensors.
    """
    if dropout_p > 0:
        raise InputError(
            f"attention must not drop weights in evaluation mode: dropout_p={dropout_p} in {name}; "
            "pass dropout_p only while self.training"
        )
    if query.is_nested or key.is_nested:
        raise InputError(f"attention needs padded batches: {name} got nested tensors; pad them and pass a mask")
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    lead = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    heads = lead[-1] if len(lead) > 1 else 1
    batch = math.prod(lead) // heads

    def by_head(tensor: Tensor) -> Tensor:
        """N x H x rows x features; expanding makes a node of its own, so that tied queries and keys stay apart."""
        return tensor.expand(*lead, *tensor.shape[-2:]).reshape(batch, heads, *tensor.shape[-2:])

    queries, keys, values = by_head(query), by_head(key), by_head(value)
    scores = queries @ keys.mT * (scale if scale is not None else queries.shape[-1] ** -0.5)
    rows, columns = scores.shape[-2:]
    if is_causal:
        attn_mask = torch.ones(rows, columns, dtype=torch.bool, device=scores.device).tril()
    if attn_mask is None:
        allowed = torch.ones(1, 1, rows, columns, dtype=torch.bool, device=scores.device)
    else:
        spread = attn_mask.expand(*lead, rows, columns).reshape(batch, heads, rows, columns)
        if spread.dtype == torch.bool:
            allowed = spread
            scores = scores.masked_fill(~spread, -math.inf)
        else:
            allowed = spread.detach() > HIDDEN_BELOW
            scores = scores + spread
    allowed = allowed.expand_as(scores)
    present = present_queries(allowed)
    bias = torch.zeros(heads, rows, columns, dtype=scores.dtype, device=scores.device, requires_grad=True)
    scores = scores + bias * present[:, None, :, None]
    # torch gives queries without any key the output 0, not NaN.
    keyless = torch.isneginf(scores.detach()).all(-1, keepdim=True)
    attention = torch.softmax(scores.masked_fill(keyless, 0.0), -1).masked_fill(keyless, 0.0)
    outputs = attention @ values
    shown = allowed & present[:, None, :, None]
    site = AttentionSite(
        name,
        mask=shown.any(0),
        padded_share=1 - float(present.double().mean()),
        mask_learns=attn_mask is not None and attn_mask.requires_grad,
        statistics=attention_statistics(attention.detach(), scores.detach(), values.detach(), shown),
    )
    call = AttentionCall(site, bias, queries, keys, values, attention, outputs)
    return outputs.reshape(*lead, rows, values.shape[-1]), call


def present_queries(allowed: Tensor) -> Tensor:
    """Queries that are not padding, N x L, from the allowed pairs N x H x L x S.

    Where L = S, as in self-attention, a position that nobody may attend to counts as padding (also in cross-attention
    of two sequences that happen to be equally long); everywhere a query needs a key.

    >>> padded = torch.tensor([[True, True, False]] * 3)[None, None]
    >>> present_queries(padded).tolist()
    [[True, True, False]]
    """
    has_keys = allowed.any(-1).any(1)
    return has_keys & allowed.any(-2).any(1) if allowed.shape[-1] == allowed.shape[-2] else has_keys
