"""The README's table: broken models are named, library defaults are not called blind."""

import numpy as np
import pytest
import torch

from numerics.model_audit import Verdict, reference_models
from numerics.model_audit.defaults import BUILDERS, audit_bert, audit_defaults, markdown, photograph_batch

NAMED = {
    "torch encoder, mean pooling": Verdict.VISIBLE,
    "torch encoder, CLS pooling": Verdict.VISIBLE,
    "the paper's Transformer": Verdict.VISIBLE,
    "one layer, W_Q = 0": Verdict.LABEL_BLIND,
    "one layer, W_Q = W_K = 0": Verdict.NO_GRADIENT_PATH,
    "one layer, zero read-out": Verdict.ZERO_READ_OUT,
    "one layer, identical tokens": Verdict.RANK_COLLAPSED,
    "one layer, scores × 10⁴": Verdict.SATURATED,
}


@pytest.fixture(scope="module")
def reports():
    return audit_defaults(list(NAMED), seeds=(0, 1), sequences=8)


@pytest.mark.parametrize("name", NAMED)
def test_known_models_are_named_rightly(reports, name):
    assert reports[name].verdict is NAMED[name]


def test_every_row_of_the_table_has_its_numbers(reports):
    table = markdown(reports).splitlines()
    assert len(table) == 2 + len(reports)
    assert all(line.count("|") == table[0].count("|") for line in table)
    zero = next(line for line in table if line.startswith("| one layer, W_Q = 0"))
    assert zero.endswith("| 1.000 | not 0, 0 |")
    assert next(line for line in table if "W_K = 0" in line).endswith("| 0, 0 |")


def test_the_table_knows_every_model():
    assert set(NAMED) | {"the paper's one-layer module"} == set(BUILDERS)


def test_positions_are_sinusoids():
    found = reference_models.sinusoidal_positions(7, 6).numpy()
    place, column = np.meshgrid(np.arange(7), np.arange(6), indexing="ij")
    angle = place * 10000.0 ** (-(column // 2 * 2) / 6)
    assert np.allclose(found, np.where(column % 2, np.cos(angle), np.sin(angle)), atol=1e-6)


def test_a_hugging_face_bert_is_caught_also_when_it_computes_attention_by_hand():
    transformers = pytest.importorskip("transformers")
    from numerics import audit_model

    report = audit_bert(photograph_batch(4), seeds=(0,))
    assert len(report.heads) == 2 * 4
    assert report.verdict is Verdict.VISIBLE
    config = transformers.BertConfig(
        vocab_size=16, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    model = transformers.BertForSequenceClassification(config)
    batch = {
        "input_ids": torch.arange(24).reshape(3, 8) % 16,
        "attention_mask": torch.tensor([[1] * 6 + [0] * 2] * 3),
        "labels": torch.tensor([0, 1, 0]),
    }
    plain = audit_model(model, batch, lambda m, b: m(**b).loss)
    model.set_attn_implementation("eager")
    by_hand = audit_model(model, batch, lambda m, b: m(**b).loss)
    assert model.config._attn_implementation == "eager"
    assert any("switched from 'eager' to 'sdpa'" in note for note in by_hand.notes)
    assert any("25.0 % of the positions are padding" in note for note in by_hand.notes)
    norms = [[head.label.norm for head in found.heads] for found in (plain, by_hand)]
    assert norms[0] == pytest.approx(norms[1], rel=1e-10)
