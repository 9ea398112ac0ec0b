"""The README's table of library defaults: what an audit says about models as they come, and about broken ones.

Run as a module (``numerics.model_audit.defaults``) it prints Markdown.  Inputs are real: 8 x 8 grey crops of the
photograph that ships with matplotlib, L = 64, labelled by brightness.  A tiny Hugging Face BERT, randomly initialised,
joins in where ``transformers`` is installed.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from numerics.inputs import photograph_crops
from numerics.model_audit import reference_models as models
from numerics.model_audit.audit import audit_model
from numerics.model_audit.report import ModelReport, interval, share_text

SIDE = 8
SEQUENCES = 32
SEEDS = range(6)

BUILDERS: Mapping[str, Callable[[int], nn.Module]] = {
    "torch encoder, mean pooling": partial(models.torch_encoder, pool="mean"),
    "torch encoder, CLS pooling": partial(models.torch_encoder, pool="cls"),
    "the paper's Transformer": models.paper_transformer,
    "the paper's one-layer module": models.OneLayer,
    "one layer, W_Q = 0": models.zero_query,
    "one layer, W_Q = W_K = 0": models.zero_query_and_key,
    "one layer, zero read-out": models.zero_read_out,
    "one layer, identical tokens": models.identical_tokens,
    "one layer, scores × 10⁴": models.large_scores,
}


def photograph_batch(sequences: int = SEQUENCES) -> dict[str, Tensor]:
    """Crops spread over the photograph: ``values`` N x 64 x 1 and ``labels`` N.

    >>> photograph_batch(4)["values"].shape
    torch.Size([4, 64, 1])
    """
    data = photograph_crops(SIDE)
    chosen = torch.linspace(0, len(data.tokens) - 1, sequences).long()
    return {"values": torch.as_tensor(data.tokens)[chosen].float(), "labels": torch.as_tensor(data.labels)[chosen]}


def audit_defaults(
    names: Sequence[str] = tuple(BUILDERS), seeds: Sequence[int] = SEEDS, sequences: int = SEQUENCES
) -> dict[str, ModelReport]:
    """Audit the named models over initialisations; BERT comes last, where it can be built."""
    batch = photograph_batch(sequences)
    length = batch["values"].shape[1]
    reports = {
        name: audit_model(
            partial(BUILDERS[name], length),
            batch,
            models.label_loss,
            reconstruction=models.reconstruction_loss,
            seeds=seeds,
        )
        for name in names
    }
    if importlib.util.find_spec("transformers") is not None:
        reports["Hugging Face BERT, 2 layers, CLS"] = audit_bert(batch, seeds)
    return reports


def audit_bert(batch: Mapping[str, Tensor], seeds: Sequence[int]) -> ModelReport:
    """A BERT of two layers, from its configuration alone (nothing is downloaded); grey values become 16 token ids."""
    transformers = importlib.import_module("transformers")
    values = batch["values"].squeeze(-1)
    levels = ((values - values.min()) / (values.max() - values.min()) * 15).round().long()
    config = transformers.BertConfig(
        vocab_size=16, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128
    )
    return audit_model(
        lambda: transformers.BertForSequenceClassification(config),
        {"input_ids": levels, "labels": batch["labels"]},
        lambda model, inputs: model(**inputs).loss,
        seeds=seeds,
    )


def markdown(reports: Mapping[str, ModelReport]) -> str:
    """One row a model: verdict, blind shares (mean over initialisations, 95 % interval), entropy, gradients."""
    lines = [
        "| model at initialisation | verdict | label gradient in the blind set | reconstruction gradient | "
        "entropy / log n | ∇W_Q, ∇W_K of labels |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, report in reports.items():
        entropies = [h.statistics.relative_entropy for h in report.heads if h.statistics.relative_entropy is not None]
        queries = any(h.label.query_norm for h in report.heads if h.label.resolved)
        keys = any(h.label.key_norm for h in report.heads if h.label.resolved)
        counted = f"{report.verdict} ({report.counts[report.verdict]} of {len(report.heads)} heads)"
        lines.append(
            f"| {name} | {counted} | {_share(report, 'label')} | {_share(report, 'reconstruction')} | "
            f"{sum(entropies) / len(entropies):.3f} | {'not 0' if queries else '0'}, {'not 0' if keys else '0'} |"
        )
    return "\n".join(lines)


def _share(report: ModelReport, loss: str) -> str:
    """Blind share of the gradient's energy, one value an initialisation, as mean and interval."""
    shares = report.blind_by_seed(loss)
    if not shares.size:
        return "–"
    mean, low, high = interval(shares, share=True)
    if low is None or high is None or high < 1e-3:
        return share_text(mean)
    return f"{share_text(mean)} ({100 * low:.0f}–{100 * high:.0f})"


if __name__ == "__main__":
    print(markdown(audit_defaults()))
