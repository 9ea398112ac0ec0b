"""The training code has the gradients that the theory predicts: P1, G7, G8, Q1, Q2, Q3 through its own parameters.

Closed forms are evaluated from the data in float64; gradients come from the losses that training uses, or from the
network's own token stream where the theory's objective has unmasked inputs.  Tolerances: sums of at most a few thousand
products in float64 carry relative errors far below 1e-10.
"""

import itertools
import math

import pytest
import torch

from numerics.patterns import score_pattern
from tests.training.small import full_batch, network
from training.data.sequences import SequenceSet
from training.loop import supervised_loss
from training.masking import masked_loss
from training.model.closed_form import masked_signal, predicted_matrix
from training.model.config import ModelConfig
from training.model.initialisation import InitialWeights, initialised_model
from training.model.positions import sinusoids

LENGTH, SAMPLES = 7, 9


def uniform_network(config: ModelConfig, *, identity: bool = False, seed: int = 3):
    """W_Q = 0, so attention is uniform; with ``identity`` the value and output maps are the identity."""
    model = network(config, seed)
    attention = model.layer(0).attention
    with torch.no_grad():
        attention.query.weight.zero_()
        if identity:
            attention.value.weight.copy_(torch.eye(config.width))
            attention.output.weight.copy_(torch.eye(config.width))
    return model


def score_gradient(loss_of, length=LENGTH):
    scores = torch.zeros(1, 1, length, length, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(loss_of(scores), scores)
    return gradient[0, 0]


def label_residual(model, batch):
    """g = gradient of the label loss with respect to the pooled vector, one row a sample."""
    pooled = model.pooled(batch.tokens, batch.lengths).detach()
    chance = model.classifier(pooled).softmax(1)
    return (chance - torch.eye(2, dtype=torch.float64)[batch.labels]) @ model.classifier.map.weight


def mapped_values(model, batch):
    """What the attention block mixes: values through the output map."""
    attention = model.layer(0).attention
    return attention.output(attention.value(model.embedding(batch.tokens)))


def centring(length=LENGTH):
    return torch.eye(length, dtype=torch.float64) - 1 / length


@pytest.mark.parametrize("residual", [False, True])
def test_label_gradient_of_scores_is_one_stripe_and_blind_to_column_balanced_patterns(residual):
    model = uniform_network(ModelConfig(width=8, residual=residual))
    batch = full_batch(SAMPLES, LENGTH, 2)
    gradient = score_gradient(lambda scores: supervised_loss(model, batch, scores))
    values = mapped_values(model, batch)
    gamma = torch.einsum("nd,nld->l", label_residual(model, batch), values) / SAMPLES
    stripe = (centring() @ gamma)[None].expand(LENGTH, LENGTH) / LENGTH**2
    torch.testing.assert_close(gradient, stripe, rtol=1e-10, atol=1e-15)

    alibi = torch.from_numpy(score_pattern("alibi", LENGTH))
    blind = centring() @ alibi @ centring()
    size = float(gradient.norm() * blind.norm())
    assert abs(float((gradient * blind).sum())) < 1e-13 * size
    assert abs(float((gradient * alibi).sum())) > 1e-3 * float(gradient.norm() * alibi.norm()), "control: not blind"


def test_reconstruction_gradient_of_scores_is_minus_the_centred_moment_and_orthogonal_to_the_labels():
    model = uniform_network(ModelConfig(width=8))
    batch = full_batch(SAMPLES, LENGTH, 2)
    wanted = model.reconstruction(mapped_values(model, batch)).detach()

    def reconstruction(scores):
        stream = model.encode(model.embedding(batch.tokens), batch.lengths, score_bias=scores)
        return (model.reconstruction(stream) - wanted).square().sum() / (2 * LENGTH * SAMPLES)

    gradient = score_gradient(reconstruction)
    moment = torch.einsum("nid,njd->ij", wanted, wanted) / SAMPLES
    torch.testing.assert_close(gradient, -centring() @ moment @ centring() / LENGTH**2, rtol=1e-9, atol=1e-14)
    labels = score_gradient(lambda scores: supervised_loss(model, batch, scores))
    assert abs(float((gradient * labels).sum())) < 1e-13 * float(gradient.norm() * labels.norm())
    assert gradient.norm() > 1e-3 * moment.norm() / LENGTH**2


@pytest.mark.parametrize("ratio", [0.15, 0.5])
def test_the_masked_loss_of_training_has_the_gradient_of_g7(ratio):
    length, width = 5, 3
    config = ModelConfig(channels=width, width=width, positions="none", mask_input="zero")
    model = uniform_network(config, identity=True)
    with torch.no_grad():
        for linear in (model.embedding.value, model.reconstruction):
            linear.weight.copy_(torch.eye(width))
            linear.bias.zero_()
    batch = full_batch(SAMPLES, length, width)

    def expectation(scores):
        total = torch.zeros((), dtype=torch.float64)
        for hit in itertools.product([False, True], repeat=length):
            share = ratio ** sum(hit) * (1 - ratio) ** (length - sum(hit))
            masked = torch.tensor(hit).expand(SAMPLES, length)
            total = total + share * masked_loss(model, batch, masked, "l2", ratio * length * SAMPLES, scores)
        return total * width / 2  # training's l2 is a mean over channels without the factor 1/2

    gradient = score_gradient(expectation, length)
    moment = torch.einsum("nid,njd->ij", batch.tokens, batch.tokens) / SAMPLES
    kept, inner = 1 - ratio, torch.zeros(length, length, dtype=torch.float64)
    for i, j in itertools.permutations(range(length), 2):
        others = sum(moment[k, j] for k in range(length) if k not in (i, j))
        inner[i, j] = (kept**2 * others + kept * moment[j, j]) / length - kept * moment[i, j]
    torch.testing.assert_close(gradient, inner @ centring(length) / length**2, rtol=1e-9, atol=1e-14)


def query_gradient(model, loss):
    """Gradient of W_Q, and of M in s_ij = x_i M x_j as the theory predicts it from a matrix."""
    attention = model.layer(0).attention
    queries, keys = torch.autograd.grad(loss, [attention.query.weight, attention.key.weight])
    return queries, keys, lambda matrix: attention.key.weight @ matrix.T / math.sqrt(model.config.width)


def stream_statistics(model, batch):
    tokens = model.embedding(batch.tokens).detach()
    mean = tokens.mean(1)
    spread = torch.einsum("nli,nlj->nij", tokens - mean[:, None], tokens - mean[:, None]) / tokens.shape[1]
    return tokens, mean, spread


def test_label_gradient_of_the_query_map_is_q1_and_the_key_map_gets_none():
    model = uniform_network(ModelConfig(width=8), identity=True)
    batch = full_batch(SAMPLES, LENGTH, 2)
    _, mean, spread = stream_statistics(model, batch)
    seen = torch.einsum("nij,nj->ni", spread, label_residual(model, batch))
    queries, keys, transported = query_gradient(model, supervised_loss(model, batch))
    torch.testing.assert_close(queries, transported(torch.einsum("ni,nj->ij", mean, seen) / SAMPLES).detach())
    swapped = transported(torch.einsum("ni,nj->ij", seen, mean) / SAMPLES).detach()
    assert (queries - swapped).norm() > 0.1 * queries.norm(), "control: query and key side differ"
    assert float(keys.abs().max()) == 0.0


def test_reconstruction_gradient_of_the_query_map_is_q2():
    model = uniform_network(ModelConfig(width=8), identity=True)
    batch = full_batch(SAMPLES, LENGTH, 2)
    tokens, _, spread = stream_statistics(model, batch)
    stream = model.encode(model.embedding(batch.tokens), batch.lengths)
    loss = (stream - tokens).square().sum() / (2 * LENGTH * SAMPLES)
    queries, _, transported = query_gradient(model, loss)
    torch.testing.assert_close(queries, transported(-(spread @ spread).mean(0)).detach())
    control = transported(-(spread.mean(0) @ spread.mean(0))).detach()
    assert (queries - control).norm() > 1e-3 * queries.norm(), (
        "control: the mean of squares, not the square of the mean"
    )


@pytest.mark.parametrize("ratio", [None, 0.15, 0.5])
def test_the_matrix_that_predicted_attention_writes_is_the_gradient_step_of_q3(ratio):
    """Content and positions in orthogonal coordinates; values and targets are the content."""
    length, content, places = 5, 2, 4
    width = content + places
    model = uniform_network(ModelConfig(channels=width, width=width, positions="none"), identity=True)
    attention = model.layer(0).attention
    with torch.no_grad():
        attention.value.weight[content:] = 0
        attention.key.weight.copy_(torch.eye(width, dtype=torch.float64) * math.sqrt(width))
    batch = full_batch(SAMPLES, length, content)
    encodings = sinusoids(length, places, torch.empty(0, dtype=torch.float64))
    spread = encodings[None].expand(SAMPLES, -1, -1)
    lengths = batch.lengths

    def error(kept, scored):
        hidden = torch.cat([batch.tokens * kept[:, None], spread], 2)
        stream = model.encode(hidden, lengths)[..., :content]
        return ((stream - batch.tokens).square().sum(2) * scored).sum() / (2 * SAMPLES)

    if ratio is None:
        loss = error(torch.ones(length), torch.ones(length)) / length
    else:
        loss = torch.zeros((), dtype=torch.float64)
        for hit in itertools.product([0.0, 1.0], repeat=length):
            masked = torch.tensor(hit, dtype=torch.float64)
            share = ratio ** sum(hit) * (1 - ratio) ** (length - sum(hit))
            loss = loss + share * error(1 - masked, masked) / (ratio * length)
    (gradient,) = torch.autograd.grad(loss, attention.query.weight)
    moment = torch.einsum("nid,njd->ij", batch.tokens, batch.tokens) / SAMPLES
    predicted = predicted_matrix(moment, encodings, ratio)
    torch.testing.assert_close(-gradient.T[content:, content:], predicted, rtol=1e-9, atol=1e-14)
    assert predicted.norm() > 1e-3


@pytest.mark.parametrize("written", ["predicted", "predicted-masked"])
def test_written_query_and_key_maps_have_the_predicted_positional_scores(written):
    """One head of full depth holds the whole pattern: scores are K C_bar K (K R J K) of the chosen strength."""
    data = SequenceSet(full_batch(40, 10, 2).tokens.float(), torch.full((40,), 10))
    config = ModelConfig(width=16)
    model = initialised_model(config, InitialWeights(written=written, strength=2.0, mask_ratio=0.5), 0, data).double()
    (scores, _), *_ = model.attention_maps(model.embedding.places(10), torch.tensor([10]))
    moment = torch.einsum("nid,njd->ij", data.tokens.double(), data.tokens.double()) / 40
    gram = model.embedding.places(10)[0] @ model.embedding.places(10)[0].T
    middle = centring(10) @ moment if written == "predicted" else masked_signal(moment, 0.5)
    pattern = gram @ middle @ centring(10) @ gram
    found = scores[0, 0].detach()
    pattern = pattern.detach()
    cosine = (found * pattern).sum() / (found.norm() * pattern.norm())
    assert float(cosine) > 1 - 1e-9
    assert float((found - found.mean(1, keepdim=True)).std()) == pytest.approx(2.0, rel=1e-5)
