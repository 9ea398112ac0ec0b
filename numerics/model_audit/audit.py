"""Audit of a torch model: can its label loss see the attention patterns it may need, or why not?

For every attention call and head the loss is differentiated with respect to an additive score bias shared over the
batch, and the gradient is split into what mean-pooled labels can see and what they are blind to (``split``).  A
gradient that labels lack in the blind set and reconstruction has is the paper's case for self-pretraining
(arXiv 2605.21070, section 5; theory G2, G6, G8, N1-N3, N5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from numerics.errors import InputError
from numerics.model_audit.gradients import Loss, LossGradients, loss_gradients
from numerics.model_audit.prepare import audited_copy
from numerics.model_audit.report import GradientMaps, HeadAudit, ModelReport, PatternSlope
from numerics.model_audit.split import blind_dimension, centre_rows, split_scores
from numerics.model_audit.verdict import diagnose

#: Random draws of a loss (such as masking for reconstruction) start from this seed at each evaluation.
DRAW_SEED = 0


def audit_model(
    model: nn.Module | Callable[[], nn.Module],
    batch: Any,
    loss: Loss,
    *,
    reconstruction: Loss | None = None,
    pattern: Any = None,
    seeds: Iterable[int] | None = None,
) -> ModelReport:
    """Name what the label loss can do to the attention scores of a model, and give the numbers.

    Any module works whose attention goes through ``torch.nn.functional.scaled_dot_product_attention``:
    ``nn.MultiheadAttention`` (with or without weights), ``nn.TransformerEncoder``, Hugging Face models.  The audit
    works on a float64 copy in evaluation mode; model, batch and torch's random state stay as they are.  Memory is
    about 5 x 8 bytes x sequences x heads x L^2 a layer: a batch of some tens of sequences is enough.

    Args:
        model: a module as it is, or a function without arguments that builds one (needed for ``seeds``).
        batch: anything that the losses understand; floating tensors in it are cast to float64.
        loss: ``loss(model, batch)`` returns the label loss, one real number, usually a mean over sequences.
        reconstruction: the same for a reconstruction (self-pretraining) loss, to compare with.
        pattern: L x L array of score changes in nats; the slope of both losses along it is reported for every layer
            with L queries and L keys.
        seeds: seeds of ``torch.manual_seed`` before building each initialisation; the report then holds intervals.

    Returns:
        The report.  Padded positions (keys that no query may attend to, and the queries at the same positions) are
        left out of gradients and statistics.  With masks that differ between sequences the split refers to the pairs
        that any sequence allows.  Shares are of this batch's gradient and include its sampling noise: enlarge the batch
        until they settle.

    Raises:
        InputError: no attention call was caught (listing what was met), a loss is not one finite, repeatable number,
            a pattern fits no layer, or seeds were given for a model that is already built.

    >>> from torch.nn import functional as F
    >>> class OneHead(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.query, self.key = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
    ...         nn.init.zeros_(self.query.weight)  # uniform attention
    ...
    ...     def forward(self, x):
    ...         return F.scaled_dot_product_attention(self.query(x), self.key(x), x)
    >>> x = torch.arange(48.0).reshape(4, 4, 3).sin()
    >>> report = audit_model(
    ...     OneHead(),
    ...     x,
    ...     loss=lambda model, x: model(x).mean(1).square().mean(),
    ...     reconstruction=lambda model, x: (model(x) - x).square().mean(),
    ... )
    >>> print(report.verdict, report.label_blind < 1e-25, report.reconstruction_blind > 0.999)
    label-blind True True
    """
    builders = initialisations(model, seeds)
    wanted = None if pattern is None else _checked_pattern(pattern)
    heads: list[HeadAudit] = []
    maps: list[GradientMaps] = []
    notes: dict[str, None] = {}
    losses: dict[str, list[float]] = {"label": []}
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())), torch.enable_grad():
        for seed, build in builders:
            copied, changed = audited_copy(_built(build, seed))
            label = loss_gradients(copied, batch, loss, "loss", DRAW_SEED)
            rebuilt = None
            if reconstruction is not None:
                rebuilt = loss_gradients(copied, batch, reconstruction, "reconstruction", DRAW_SEED)
                losses.setdefault("reconstruction", []).append(rebuilt.value)
            losses["label"].append(label.value)
            notes |= dict.fromkeys([*changed, *_notes(label)])
            heads += _head_audits(seed, label, rebuilt, wanted)
            maps = maps or _gradient_maps(label, rebuilt)
    if wanted is not None and all(head.pattern is None for head in heads):
        shapes = sorted({(head.queries, head.keys) for head in heads})
        raise InputError(
            f"a pattern must have the shape queries x keys of a layer: got {tuple(wanted.shape)}, layers have "
            f"{', '.join(f'{q} x {k}' for q, k in shapes)}; build it at that length (a CLS token counts)"
        )
    return ModelReport(type(copied).__name__, tuple(heads), tuple(maps), losses, tuple(notes))


def initialisations(model: Any, seeds: Iterable[int] | None) -> list[tuple[int | None, Callable[[], Any]]]:
    """Seeds with a function that builds the model for each; one pair without a seed for a model that is built."""
    if isinstance(model, nn.Module):
        if seeds is not None:
            raise InputError(
                f"seeds need a function that builds the model: got a {type(model).__name__} that is already built; "
                "pass lambda: MyModel(…)"
            )
        return [(None, lambda: model)]
    if not callable(model):
        raise InputError(
            f"the model must be a torch module or a function that builds one: got {type(model).__name__}; "
            "wrap it in an nn.Module"
        )
    numbers = [0] if seeds is None else [int(seed) for seed in seeds]
    if not numbers or len(set(numbers)) < len(numbers):
        raise InputError(f"seeds must be one or more different integers: got {numbers}; use range(6)")
    return [(seed, model) for seed in numbers]


def _built(build: Callable[[], Any], seed: int | None) -> nn.Module:
    if seed is not None:
        torch.manual_seed(seed)
    built = build()
    if not isinstance(built, nn.Module):
        raise InputError(f"the function must return a torch module: got {type(built).__name__}; return the model")
    return built


def _checked_pattern(pattern: Any) -> Tensor:
    try:
        wanted = torch.as_tensor(np.asarray(pattern, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(
            f"a pattern is a matrix of numbers: got {pattern!r}; numerics.patterns.score_pattern makes one from a name"
        ) from None
    if wanted.dim() != 2 or not bool(torch.isfinite(wanted).all()):
        raise InputError(
            f"a pattern must be one finite matrix: got shape {tuple(wanted.shape)}; use numerics.patterns.score_pattern"
        )
    return wanted


def _notes(gradients: LossGradients) -> list[str]:
    padded = max(call.padded_share for call in gradients.calls)
    notes = [f"up to {100 * padded:.1f} % of the positions are padding and were left out"] if padded > 0 else []
    return [*notes, f"met and not audited: {gradients.missed}"] if gradients.missed else notes


def _head_audits(
    seed: int | None, label: LossGradients, rebuilt: LossGradients | None, pattern: Tensor | None
) -> list[HeadAudit]:
    found = []
    others = {} if rebuilt is None else {call.name: n for n, call in enumerate(rebuilt.calls)}
    for number, call in enumerate(label.calls):
        other = others.get(call.name)
        for head in range(len(call.mask)):
            mask = call.mask[head]
            blind, centred = blind_dimension(mask)
            gradient, statistics = label.heads[number][head], call.statistics[head]
            rebuilt_heads = None if rebuilt is None or other is None else rebuilt.heads[other]
            slope = None
            if pattern is not None and pattern.shape == mask.shape:
                moved = pattern.to(mask.device)
                slope = PatternSlope(
                    _slope(label.scores[number], head, moved),
                    None if rebuilt is None or other is None else _slope(rebuilt.scores[other], head, moved),
                    _visible_share(moved, mask),
                )
            found.append(
                HeadAudit(
                    seed, call.name, head, mask.shape[0], mask.shape[1],
                    diagnose(gradient, statistics, blind / centred if centred else 0.0, call.mask_learns),
                    gradient, None if rebuilt_heads is None else rebuilt_heads[head], statistics, slope,
                )
            )  # fmt: skip
    return found


def _slope(scores: Tensor | None, head: int, pattern: Tensor) -> float | None:
    return None if scores is None else float((scores[head] * pattern).sum())


def _visible_share(pattern: Tensor, mask: Tensor) -> float | None:
    blind, stripes, _ = split_scores(centre_rows(pattern, mask), mask).energies()
    return stripes / (blind + stripes) if blind + stripes > 0 else None


def _gradient_maps(label: LossGradients, rebuilt: LossGradients | None) -> list[GradientMaps]:
    """The head of each layer with the largest label gradient."""
    maps = []
    others = {} if rebuilt is None else {call.name: n for n, call in enumerate(rebuilt.calls)}
    for number, call in enumerate(label.calls):
        head = max(range(len(call.mask)), key=lambda h: label.heads[number][h].norm or 0.0)
        other = others.get(call.name)
        seen = _parts(label.scores[number], head, call.mask)
        known = (None, None) if rebuilt is None or other is None else _parts(rebuilt.scores[other], head, call.mask)
        if seen[0] is not None and seen[1] is not None:
            maps.append(GradientMaps(call.name, head, seen[0], seen[1], *known))
    return maps


def _parts(scores: Tensor | None, head: int, mask: Tensor) -> Sequence[np.ndarray | None]:
    if scores is None:
        return None, None
    split = split_scores(scores[head], mask[head])
    return split.blind.cpu().numpy(), split.stripes.cpu().numpy()
