"""One pass over the sequences: every per-sequence number, and the running sums of the two directions.

Memory is O(N + L width) beside the sequences themselves; there is no L x L array unless the pattern is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from numerics.audit.descent import DescentSums
from numerics.audit.positions import PositionalSums
from numerics.audit.sequences import Chunk, Layout, Sequences
from numerics.structured.scores import Scores
from numerics.structured.slopes import SequenceSlopes, Sums, sequence_slopes, zero_loss


@dataclass(frozen=True)
class PerSequence:
    """Numbers of every sequence.

    ``slopes``: under the chosen mask; ``diagonal``: unmasked slope where no query sees itself; ``zero_loss``: L_SPT(0);
    ``deviation``, ``response``, ``curvature``: squared norms of h(0) - E h(0), h'(0), h''(0); ``energy``: mean |X_i|^2;
    ``variance``: mean |X_i - mean_k X_k|^2.
    """

    slopes: SequenceSlopes
    diagonal: Float64[np.ndarray, " N"]
    zero_loss: Float64[np.ndarray, " N"]
    deviation: Float64[np.ndarray, " N"]
    response: Float64[np.ndarray, " N"]
    curvature: Float64[np.ndarray, " N"]
    energy: Float64[np.ndarray, " N"]
    variance: Float64[np.ndarray, " N"]


@dataclass(frozen=True)
class Measured:
    """Per-sequence numbers; per group of sequences the running sums of the directions, and its size."""

    of_sequences: PerSequence
    descent: tuple[DescentSums, ...]
    positional: tuple[PositionalSums, ...]
    sizes: Float64[np.ndarray, " groups"]


def measure(
    sequences: Sequences,
    scores: Scores,
    beside: Scores,
    pooling: Float64[np.ndarray, " L"],
    encoding: Float64[np.ndarray, "L width"],
    progress: Callable[[int], None] = lambda done: None,
) -> Measured:
    """Measure everything that needs the sequences.

    Args:
        sequences: the data.
        scores: the pattern under the chosen mask.
        beside: the pattern under the diagonal mask.
        pooling: weights over positions that sum to one.
        encoding: position encodings, L x width.
        progress: told how many sequences each chunk held.
    """
    weights = np.stack(
        [
            scores.mask.sum_queries(pooling / scores.mask.keys),  # h(0) = sum_j w_j X_j
            scores.key_weight(pooling),
            scores.key_curvature(pooling),
        ]
    )
    descent = tuple(DescentSums(scores.mask) for _ in range(sequences.groups))
    positional = tuple(PositionalSums(encoding) for _ in range(sequences.groups))
    collected: dict[str, list[np.ndarray]] = {}
    members, pooled, sizes = [], [], np.zeros(sequences.groups)
    for group, chunk in sequences.chunks():
        numbers, vectors = _of_chunk(chunk, scores, beside, weights)
        for name, held in numbers.items():
            collected.setdefault(name, []).append(held)
        members.append(chunk.layout.members)
        pooled.append((chunk.layout, vectors))
        descent[group].add(chunk.rows)
        positional[group].add(chunk.rows)
        sizes[group] += len(chunk.layout.members)
        progress(len(chunk.layout.members))
    order = np.argsort(np.concatenate(members))
    joined = {name: np.concatenate(parts)[order] for name, parts in collected.items()}
    joined["deviation"] = np.concatenate(_deviations(pooled, sequences))[order]
    return Measured(_assembled(joined, sequences.length), descent, positional, sizes)


def _of_chunk(
    chunk: Chunk, scores: Scores, beside: Scores, weights: np.ndarray
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rows, starts, total = chunk.rows, chunk.layout.starts, chunk.layout.total
    slopes = sequence_slopes(scores, rows, starts)
    pooled, response, curvature = weights @ rows.T
    squares, centred = (rows**2).mean(axis=1), rows.var(axis=1)
    numbers = {
        "unmasked": slopes.unmasked,
        "diagonal": sequence_slopes(beside, rows, starts).unmasked,
        "zero_loss": zero_loss(scores, rows, starts),
        "response": total(response**2),
        "curvature": total(curvature**2),
        "energy": total(squares),
        "variance": total(centred),
        **{f"tokens {name}": held for name, held in vars(slopes.tokens).items()},
        **{f"order {name}": held for name, held in vars(slopes.order).items()},
    }
    return numbers, pooled


def _deviations(pooled: list[tuple[Layout, np.ndarray]], sequences: Sequences) -> list[np.ndarray]:
    """``|h(0) - E h(0)|^2``; a symbol that a sequence does not hold contributes the mean alone."""
    mean = np.zeros(sequences.width)
    for layout, values in pooled:
        mean += np.bincount(layout.features, values, sequences.width)
    mean /= sequences.count
    whole = float(mean @ mean)
    return [
        np.maximum(whole + layout.total((values - mean[layout.features]) ** 2 - mean[layout.features] ** 2), 0.0)
        for layout, values in pooled
    ]


def _assembled(joined: dict[str, np.ndarray], token_count: int) -> PerSequence:
    def sums(kind: str) -> Sums:
        return Sums(**{name.partition(" ")[2]: held for name, held in joined.items() if name.startswith(kind + " ")})

    slopes = SequenceSlopes(joined["unmasked"], sums("tokens"), sums("order"), token_count)
    names = ("diagonal", "zero_loss", "deviation", "response", "curvature", "energy", "variance")
    return PerSequence(slopes, *(joined[name] for name in names))
