"""Randomness that needs no state: every draw is a function of (seed, purpose, counter).

A generator is seeded afresh for each purpose (the initial value of one parameter, the order of one epoch, the mask of
one step).  So nothing depends on what was drawn before, a run can be resumed at any step bit for bit, two conditions
that share a seed share their data, initial weights and batch order, and no global generator is read or set.
"""

from __future__ import annotations

import hashlib

import torch


def derived_seed(seed: int, *purpose: str | int) -> int:
    """A 63-bit seed for one purpose.

    >>> derived_seed(0, "order", 1) == derived_seed(0, "order", 1) != derived_seed(0, "order", 2)
    True
    """
    text = "/".join([str(seed), *map(str, purpose)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *purpose: str | int) -> torch.Generator:
    """A fresh CPU generator for one purpose."""
    return torch.Generator().manual_seed(derived_seed(seed, *purpose))
