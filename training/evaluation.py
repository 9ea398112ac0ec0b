"""Evaluation on all samples, and what a run's curves come down to.

"Which accuracy counts" is a standing complaint about such code, so each has a name: the peak over epochs and the final
value, for every held-out split, and the test accuracy at the epoch that validation would choose.
"""

from __future__ import annotations

import math
from itertools import islice
from typing import Any

import torch
import torch.nn.functional as F

from training.data.sequences import SequenceSet
from training.distributed import ALONE, Machine
from training.masking import draw_mask, summed_errors
from training.model.network import SequenceModel
from training.randomness import generator

#: Sequences a forward pass of evaluation; results do not depend on it beyond rounding.
EVALUATION_BATCH = 128

Row = dict[str, float | int | None]


@torch.no_grad()
def evaluate_labels(model: SequenceModel, data: SequenceSet, machine: Machine = ALONE) -> tuple[float, float]:
    """Mean cross-entropy and accuracy over all samples; several processes take the batches in turn."""
    assert data.labels is not None
    loss, right = 0.0, 0
    for index in torch.arange(len(data)).split(EVALUATION_BATCH)[machine.rank :: machine.world]:
        batch = machine.place(data.batch(index), slice(None))
        assert batch.labels is not None
        with machine.autocast():
            logits = model.classify(batch.tokens, batch.lengths)
        loss += float(F.cross_entropy(logits.double(), batch.labels, reduction="sum"))
        right += int((logits.argmax(1) == batch.labels).sum())
    loss, hits = machine.total(loss, float(right))
    return loss / len(data), hits / len(data)


@torch.no_grad()
def evaluate_reconstruction(
    model: SequenceModel, data: SequenceSet, ratio: float, loss: str, seed: int, machine: Machine = ALONE
) -> float:
    """Mean reconstruction loss over the masked tokens of all sequences; the masks are the same at every evaluation."""
    total, count = 0.0, 0
    batches = enumerate(torch.arange(len(data)).split(EVALUATION_BATCH))
    for number, index in islice(batches, machine.rank, None, machine.world):
        drawn = data.batch(index)
        masked = draw_mask(drawn.tokens.shape[1], drawn.lengths, ratio, generator(seed, "evaluation mask", number))
        batch, masked = machine.place(drawn, slice(None)), masked.to(machine.device)
        with machine.autocast():
            predicted = model.reconstruct(batch.tokens, batch.lengths, masked)
        total += float(summed_errors(predicted.double(), batch.targets[masked], loss))
        count += len(predicted)
    total, tokens = machine.total(total, float(count))
    return total / max(tokens, 1)


def summarise(rows: list[Row]) -> dict[str, float | int | None]:
    """Final and peak values of every measure, by name; earliest epoch wins a tie.

    >>> summary = summarise([{"epoch": 1, "test_accuracy": 0.6}, {"epoch": 2, "test_accuracy": 0.5}])
    >>> summary["peak_test_accuracy"], summary["peak_test_accuracy_epoch"], summary["final_test_accuracy"]
    (0.6, 1, 0.5)
    """
    summary: dict[str, float | int | None] = {}
    for name in rows[-1] if rows else ():
        if not name.endswith(("_accuracy", "_loss")):
            continue
        known = [row for row in rows if (value := row.get(name)) is not None and math.isfinite(value)]
        summary[f"final_{name}"] = rows[-1][name]
        if known:
            sign = 1 if name.endswith("_accuracy") else -1
            best = max(known, key=lambda row, name=name, sign=sign: sign * (row[name] or 0.0))  # type: ignore[misc]
            word = "peak" if sign == 1 else "lowest"
            summary[f"{word}_{name}"], summary[f"{word}_{name}_epoch"] = best[name], best["epoch"]
            if name == "validation_accuracy":
                summary["test_accuracy_at_peak_validation"] = best.get("test_accuracy")
    return summary


def chance_warning(rows: list[Row], labels: torch.Tensor, measured: int) -> dict[str, Any] | None:
    """A named warning when the training accuracy never left what guessing the commonest class gives.

    "Never left" is: at no evaluated epoch above its share by more than three binomial standard deviations.
    """
    share = float(labels.bincount().max()) / len(labels)
    bound = share + 3 * math.sqrt(share * (1 - share) / measured)
    peak = max((row["train_accuracy"] or 0.0 for row in rows if "train_accuracy" in row), default=0.0)
    if peak > bound:
        return None
    return {
        "name": "stuck-at-chance",
        "sentence": f"training accuracy never left chance: peak {peak:.3f}, commonest class {share:.3f}, "
        f"bound {bound:.3f} (three standard deviations over {measured} sequences); "
        "try another rate, more epochs or self-pretraining",
    }
