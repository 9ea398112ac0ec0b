"""Displacements between random weights, self-pretraining, scratch and finetuning (Tables 10 and 11), by component.

``R`` random, ``SPT`` self-pretrained, ``SC`` labels from scratch, ``FT`` labels after self-pretraining.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from training.experiments.toy_fig5 import initial_model
from training.probes.network import weight_measures
from training.records import RunRecord


def label_pairs(spt: RunRecord, scratch: RunRecord, finetuned: RunRecord) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows of every pair that involves labels, each with the pair's name."""
    random, pretrained = initial_model(spt), spt.model()
    from_scratch, after = scratch.model(), finetuned.model()
    for name, start, end in (
        ("R>SC", random, from_scratch),
        ("SPT>FT", pretrained, after),
        ("R>FT", random, after),
        ("SC>FT", from_scratch, after),
    ):
        for row in weight_measures(start, end):
            yield name, row


def pretraining_pair(spt: RunRecord) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows of what self-pretraining moves."""
    for row in weight_measures(initial_model(spt), spt.model()):
        yield "R>SPT", row
