"""The score gradient against the theory's closed forms, against the definition, and against finite differences."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from numerics import definition
from numerics.errors import InputError
from tests.numerics.model_audit.examples import (
    Encoder,
    OneHead,
    gradients,
    mean_label,
    reconstruct,
    squared_label,
    tokens,
)


def score_gradient(model, batch, loss, layer=0, head=0):
    return gradients(model, batch, loss).scores[layer][head]


sizes = st.tuples(st.integers(1, 4), st.integers(2, 6), st.integers(1, 4), st.integers(0, 99))


@given(sizes)
@settings(max_examples=20)
def test_reconstruction_gradient_at_uniform_attention_is_minus_the_doubly_centred_second_moment(size):
    sequences, length, width, seed = size
    x = tokens(sequences, length, width, seed)
    moment = torch.einsum("nic,njc->ij", x, x) / sequences
    centring = torch.eye(length, dtype=torch.float64) - 1 / length
    found = score_gradient(OneHead(width, seed), x, reconstruct)
    assert torch.allclose(found, -centring @ moment @ centring / length**2, atol=1e-13)


@given(sizes)
@settings(max_examples=20)
def test_label_gradient_at_uniform_attention_is_the_same_stripe_for_every_query(size):
    sequences, length, width, seed = size
    x = tokens(sequences, length, width, seed)
    pooled = x.mean(1).requires_grad_()
    (pull,) = torch.autograd.grad(mean_label(lambda _: pooled[:, None], x), pooled)  # carries the 1/N of the mean
    seen = torch.einsum("nc,njc->j", pull, x)
    wanted = (seen - seen.mean()).expand(length, length) / length**2
    assert torch.allclose(score_gradient(OneHead(width, seed), x, mean_label), wanted, atol=1e-12)


def test_gradients_are_the_slopes_of_the_definition():
    """Both losses of ``numerics.definition`` along a pattern, by central differences."""
    x = tokens(sequences=3, length=5, width=2, seed=3)
    pattern = torch.as_tensor(np.random.default_rng(0).normal(size=(5, 5)))
    everywhere = torch.ones(5, 5, dtype=torch.float64)
    weights, mean = torch.full((3,), 1 / 3, dtype=torch.float64), torch.full((5,), 0.2, dtype=torch.float64)

    def at(step):
        attention = definition.attention(step, pattern, everywhere, torch.exp)
        label = definition.supervised_loss(attention, x, weights, mean, lambda h: h.square().sum(1).exp())
        return label, definition.reconstruction_loss(attention, x, weights)

    step = 1e-5  # error of the central difference: step^2 times a third derivative of order one
    slopes = [float(up - down) / (2 * step) for up, down in zip(at(step), at(-step), strict=True)]
    label = score_gradient(OneHead(2), x, lambda m, b: m(b).mean(1).square().sum(1).exp().mean())
    assert float((label * pattern).sum()) == pytest.approx(slopes[0], abs=1e-8)
    assert float((score_gradient(OneHead(2), x, reconstruct) * pattern).sum()) == pytest.approx(slopes[1], abs=1e-8)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("pool", ["mean", "cls"])
def test_gradient_is_the_slope_of_an_explicit_bias_in_torchs_encoder(norm_first, pool):
    """The bias goes through the encoder layer's own ``src_mask``, per sequence and head, in torch's own kernels."""
    model = Encoder(norm_first=norm_first, pool=pool).double().eval()
    x = tokens(sequences=3, length=4, width=8)
    found = gradients(model, x, squared_label)
    rng = np.random.default_rng(1)
    for layer in range(2):
        for head in range(2):
            direction = torch.as_tensor(rng.normal(size=(4, 4)))

            def biased(step, layer=layer, head=head, direction=direction):
                features = x
                for number, block in enumerate(model.encoder.layers):
                    bias = torch.zeros(3, 2, 4, 4, dtype=torch.float64)
                    if number == layer:
                        bias[:, head] = step * direction
                    features = block(features, src_mask=bias.reshape(6, 4, 4))
                pooled = features.mean(1) if pool == "mean" else features[:, 0]
                return squared_label(lambda _: model.head(pooled), x).item()

            step = 1e-5
            slope = (biased(step) - biased(-step)) / (2 * step)
            assert float((found.scores[layer][head] * direction).sum()) == pytest.approx(slope, abs=1e-8)
            assert abs(slope) > 1e-4  # not a comparison of zeros


def test_query_and_key_norms_bound_the_weights_gradients():
    """W_Q = 0: no gradient at W_K at step 0, but at W_Q; held against the parameters' own gradients (N5)."""
    x = tokens()
    model = OneHead().double()
    found = gradients(model, x, mean_label).heads[0][0]
    mean_label(model, x).backward()
    query, key = (float(torch.as_tensor(linear.weight.grad).norm()) for linear in (model.query, model.key))
    assert found.key_norm == 0 == key
    assert found.query_norm > 0
    assert query > 0
    nn.init.zeros_(model.key.weight)
    assert gradients(model, x, mean_label).heads[0][0].query_norm == 0


def test_first_step_of_zero_queries_brings_the_keys_a_gradient():
    x = tokens()
    model = OneHead().double()
    mean_label(model, x).backward()
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    assert gradients(model, x, mean_label).heads[0][0].key_norm > 0


def test_tied_queries_and_keys_have_gradients_of_their_own():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Linear(4, 4)

        def forward(self, x):
            shared = self.embed(x)
            return F.scaled_dot_product_attention(shared, shared, x)

    x = tokens(sequences=1)
    model = Tied()
    found = gradients(model, x, mean_label)
    scores, shared = found.scores[0][0], model.embed(x).detach()[0]
    assert found.heads[0][0].query_norm == pytest.approx(float((scores @ shared / 2).norm()), rel=1e-10)
    assert found.heads[0][0].key_norm == pytest.approx(float((scores.T @ shared / 2).norm()), rel=1e-10)


def test_random_draws_of_a_loss_are_repeated():
    def masked(model, x):
        return reconstruct(model, x * (torch.rand(x.shape[:2]) > 0.5)[..., None])

    first, second = (gradients(OneHead(), tokens(), masked, seed).value for seed in (0, 0))
    assert first == second != gradients(OneHead(), tokens(), masked, 1).value


def test_a_loss_that_differs_between_evaluations_is_refused():
    generator = torch.Generator()
    with pytest.raises(InputError, match="the same when evaluated twice"):
        gradients(OneHead(), tokens(), lambda m, x: m(x).mean() * torch.rand((), generator=generator))


@pytest.mark.parametrize(
    ("loss", "says"),
    [
        (lambda m, x: m(x), "one real number as a tensor: got shape"),
        (lambda m, x: 1.0, "got float"),
        (lambda m, x: m(x).mean() / 0.0 * 0.0, "must be finite"),
        (lambda m, x: m(x.float()).mean(), "must run in float64"),
        (lambda m, x: (m(x) * 0).square().sum().sqrt(), "must be finite: it is not at the scores of the model itself"),
    ],
)
def test_a_wrong_loss_is_named(loss, says):
    with pytest.raises(InputError, match=says):
        gradients(OneHead(), tokens(), loss)
