"""The score gradient split into what mean-pooled labels can see at uniform attention and what they cannot.

A gradient with respect to scores lives on the mask (L queries, S keys, query i attends to n_i of them).  Three
orthogonal parts add up to it:

* **stripes**: the closest row-centred pattern that comes from one number a key, ``v_j / n_i`` on the mask.  Full mask:
  ``1 v^T`` with ``sum v = 0``, vertical stripes, all that labels can write under mean pooling (N2).
* **blind**: row-centred and orthogonal to all stripes, that is ``sum_i Gamma_ij / n_i = 0`` for every key, the exact
  blind set of mean pooling under this mask (G2, G3).  Full mask: row and column sums zero.
* **elsewhere**: what is not row-centred.  A softmax has no such gradient, so its size is a check of rounding.

The weights 1/n_i are the change of attention per change of score at uniform attention; for masks whose rows hold
equally many keys they drop out.  Checked against ``numerics.blind_set`` (exact rationals) in
``tests/numerics/model_audit/test_split.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True)
class ScoreSplit:
    """Three orthogonal parts of one score gradient (or score pattern), each queries x keys."""

    blind: Float[Tensor, "queries keys"]
    stripes: Float[Tensor, "queries keys"]
    elsewhere: Float[Tensor, "queries keys"]

    def energies(self) -> tuple[float, float, float]:
        """Squared Frobenius norms: blind, stripes, elsewhere."""
        blind, stripes, elsewhere = (float(p.square().sum()) for p in (self.blind, self.stripes, self.elsewhere))
        return blind, stripes, elsewhere


def centre_rows(
    scores: Float[Tensor, "queries keys"], mask: Bool[Tensor, "queries keys"]
) -> Float[Tensor, "queries keys"]:
    """Subtract each row's mean over its keys; zero outside the mask and in rows without keys."""
    kept = scores * mask
    keys = mask.sum(1, keepdim=True).clamp(min=1)
    return (kept - kept.sum(1, keepdim=True) / keys) * mask


def split_scores(scores: Float[Tensor, "queries keys"], mask: Bool[Tensor, "queries keys"]) -> ScoreSplit:
    """Split a gradient or a pattern on a mask.

    Args:
        scores: any real matrix of L queries by S keys; entries outside the mask count as elsewhere.
        mask: which keys a query may attend to; rows without keys are allowed and stay zero.

    Returns:
        The three parts; they add up to ``scores`` and are orthogonal, up to rounding.

    >>> identity = torch.eye(2, dtype=torch.float64)
    >>> everywhere = torch.ones(2, 2, dtype=torch.bool)
    >>> split_scores(identity, everywhere).energies()
    (1.0, 0.0, 1.0)
    """
    centred = centre_rows(scores, mask)
    stripes = centred.mean(0, keepdim=True).expand_as(centred) if bool(mask.all()) else _stripes(centred, mask)
    return ScoreSplit(centred - stripes, stripes, scores - centred)


def blind_dimension(mask: Bool[Tensor, "queries keys"]) -> tuple[int, int]:
    """Dimensions of the blind set and of all row-centred patterns on a mask.

    >>> blind_dimension(torch.ones(4, 4, dtype=torch.bool))
    (9, 12)
    >>> blind_dimension(torch.ones(4, 4, dtype=torch.bool).tril())  # causal
    (3, 6)
    """
    centred = int((mask.sum(1) - 1).clamp(min=0).sum())
    if bool(mask.all()):
        return centred - (mask.shape[1] - 1), centred
    return centred - _stripe_inverse(mask)[1], centred


def _row_weights(mask: Tensor) -> Tensor:
    """``n / n_i`` with the mean number of keys n, which only scales: column of L entries, zero for empty rows."""
    keys = mask.sum(1, keepdim=True).to(torch.float64)
    return torch.where(keys > 0, keys.mean() / keys.clamp(min=1), 0.0)


def _stripe_products(mask: Tensor) -> Tensor:
    """Inner products of the row-centred stripes of two keys, S x S."""
    weights = _row_weights(mask)
    on_mask = weights * mask
    keys = mask.sum(1, keepdim=True).clamp(min=1)
    return torch.diag(on_mask.square().sum(0)) - on_mask.T @ (on_mask / keys)


def _stripe_inverse(mask: Tensor) -> tuple[Tensor, int]:
    """Pseudo-inverse of the products and their rank; heads and layers usually share one mask, so it is kept."""
    return _cached_inverse(mask.cpu().numpy().tobytes(), mask.shape[1])


@lru_cache(maxsize=8)
def _cached_inverse(mask_bytes: bytes, keys: int) -> tuple[Tensor, int]:
    mask = torch.frombuffer(bytearray(mask_bytes), dtype=torch.bool).reshape(-1, keys)
    products = _stripe_products(mask)
    rank = int(torch.linalg.matrix_rank(products, hermitian=True))
    return torch.linalg.pinv(products, hermitian=True), rank


def _stripes(centred: Tensor, mask: Tensor) -> Tensor:
    """Least squares: the row-centred stripe pattern nearest to a row-centred matrix."""
    weights = _row_weights(mask).to(centred.dtype)
    per_key = _stripe_inverse(mask)[0].to(centred) @ (weights * centred).sum(0)
    return centre_rows(weights * per_key.expand_as(centred), mask)
