"""The mask and the loss of self-pretraining."""

import pytest
import torch

from tests.training.small import MODEL, network, pretraining, ragged_set
from training.data.sequences import Batch
from training.execute import load_data
from training.loop import stage_loss
from training.masking import draw_mask, masked_loss
from training.model.config import ModelConfig
from training.model.initialisation import initialised_model


def test_padding_is_never_masked_and_the_share_of_masked_tokens_is_the_ratio():
    lengths = torch.randint(1, 50, (4000,), generator=torch.Generator().manual_seed(0))
    masked = draw_mask(50, lengths, 0.15, torch.Generator().manual_seed(1))
    assert not masked[torch.arange(50) >= lengths[:, None]].any()
    count = int(lengths.sum())
    assert abs(int(masked.sum()) / count - 0.15) < 5 * (0.15 * 0.85 / count) ** 0.5
    assert not torch.equal(masked, draw_mask(50, lengths, 0.15, torch.Generator().manual_seed(2)))


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_only_masked_tokens_count(loss):
    model, batch = network(MODEL), ragged_set(4, 9).batch(torch.arange(4))
    masked = draw_mask(9, batch.lengths, 0.5, torch.Generator().manual_seed(0))
    error = model.reconstruct(batch.tokens, batch.lengths, masked, everywhere=True) - batch.tokens[masked]
    expected = error.square().mean() if loss == "l2" else error.abs().mean()
    torch.testing.assert_close(masked_loss(model, batch, masked, loss), expected)
    changed = Batch(batch.tokens, batch.lengths, None, torch.where(masked[..., None], batch.targets, 99.0))
    torch.testing.assert_close(masked_loss(model, changed, masked, loss), expected)
    assert not torch.allclose(masked_loss(model, batch, masked, loss, expected_count=1.0), expected)


def test_discrete_tokens_are_reconstructed_by_cross_entropy_with_a_vocabulary_head():
    model = network(ModelConfig(channels=0, vocabulary=7, width=8))
    batch = ragged_set(4, 9, vocabulary=7).batch(torch.arange(4))
    masked = draw_mask(9, batch.lengths, 0.5, torch.Generator().manual_seed(0))
    logits = model.reconstruct(batch.tokens, batch.lengths, masked)
    assert logits.shape == (int(masked.sum()), 7)
    torch.testing.assert_close(
        masked_loss(model, batch, masked, "cross-entropy"),
        torch.nn.functional.cross_entropy(logits, batch.tokens[masked]),
    )
    changed = batch.tokens.masked_fill(masked, 3)
    torch.testing.assert_close(model.reconstruct(changed, batch.lengths, masked), logits, rtol=0, atol=0)


def test_the_mask_is_redrawn_at_every_step_and_the_same_at_the_same_step():
    config = pretraining()
    model = initialised_model(config.model, config.initial, 0)
    batch = load_data(config.task).unlabeled.batch(torch.arange(8))
    losses = [float(stage_loss(config, model, batch, step).detach()) for step in (0, 1, 0)]
    assert losses[0] == losses[2] != losses[1]


def test_a_batch_without_masked_tokens_has_loss_and_gradient_zero():
    model, batch = network(MODEL), ragged_set(2, 5).batch(torch.arange(2))
    loss = masked_loss(model, batch, torch.zeros(2, 5, dtype=torch.bool))
    loss.backward()
    assert float(loss.detach()) == 0.0
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())
