"""The network: what it must not depend on, what its switches do, and what it refuses."""

import pytest
import torch

from numerics.errors import InputError
from tests.training.small import MODEL, network, ragged_set
from training.evaluation import evaluate_labels
from training.loop import make_optimiser
from training.masking import draw_mask
from training.model.config import CLASSIFIERS, POOLINGS, POSITIONS, ModelConfig, transformer
from training.model.groups import group_of, select
from training.model.initialisation import InitialWeights, initialised_model
from training.model.network import SequenceModel
from training.stages import Optimiser

SHAPE = {"width": 16, "layers": 2, "heads": 2, "feedforward": 24, "classes": 2}
EVERY = torch.arange(6)


def small_transformer(**changes) -> ModelConfig:
    tokens = {} if "vocabulary" in changes else {"channels": 2}
    return transformer(**(SHAPE | tokens | changes))


@pytest.mark.parametrize("vocabulary", [0, 9])
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_logits_do_not_depend_on_the_rest_of_the_batch(vocabulary, positions, pooling):
    tokens = {"vocabulary": vocabulary} if vocabulary else {}
    model = network(small_transformer(positions=positions, pooling=pooling, **tokens))
    data = ragged_set(6, 11, vocabulary=vocabulary)
    together = data.batch(EVERY)
    logits = model.classify(together.tokens, together.lengths)
    for sample in range(6):
        alone = data.batch(torch.tensor([sample]))
        torch.testing.assert_close(model.classify(alone.tokens, alone.lengths)[0], logits[sample])


def test_attending_to_padding_is_a_quirk_that_makes_logits_depend_on_the_batch():
    config = small_transformer()
    quirk = ModelConfig(**{**config.__dict__, "attend_padding": True})
    model, data = network(quirk), ragged_set(6, 11)
    together = data.batch(EVERY)
    shortest = int(together.lengths.argmin())
    alone = data.batch(torch.tensor([shortest]))
    gap = model.classify(together.tokens, together.lengths)[shortest] - model.classify(alone.tokens, alone.lengths)[0]
    assert float(gap.detach().abs().max()) > 1e-4


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("attention_mask", ["full", "causal"])
def test_reading_masked_positions_alone_equals_the_full_computation(positions, pooling, attention_mask):
    config = small_transformer(positions=positions, pooling=pooling)
    model = network(ModelConfig(**{**config.__dict__, "attention_mask": attention_mask}))
    batch = ragged_set(6, 11).batch(EVERY)
    masked = draw_mask(11, batch.lengths, 0.4, torch.Generator().manual_seed(1))
    masked[2] = False  # a sequence with nothing masked
    some = model.reconstruct(batch.tokens, batch.lengths, masked)
    torch.testing.assert_close(some, model.reconstruct(batch.tokens, batch.lengths, masked, everywhere=True))
    assert len(some) == int(masked.sum())


@pytest.mark.parametrize("mask_input", ["bit", "token", "zero"])
def test_a_masked_value_leaves_no_trace(mask_input):
    model = network(ModelConfig(width=8, mask_input=mask_input))
    batch = ragged_set(3, 9).batch(torch.arange(3))
    masked = draw_mask(9, batch.lengths, 0.5, torch.Generator().manual_seed(0))
    changed = torch.where(masked[..., None], 7.0, batch.tokens)
    same = model.reconstruct(changed, batch.lengths, masked)
    torch.testing.assert_close(model.reconstruct(batch.tokens, batch.lengths, masked), same, rtol=0, atol=0)


@pytest.mark.parametrize("positions", POSITIONS)
def test_attention_maps_are_what_the_network_uses(positions):
    model = network(ModelConfig(width=8, heads=2, positions=positions))
    batch = ragged_set(4, 9).batch(torch.arange(4))
    hidden = model.embedding(batch.tokens)
    ((_, weights),) = model.attention_maps(hidden, batch.lengths)
    attention = model.layer(0).attention
    values = attention.value(hidden).unflatten(2, (2, 4)).transpose(1, 2)
    mixed = attention.output((weights @ values).transpose(1, 2).flatten(2))
    torch.testing.assert_close(model.encode(hidden, batch.lengths), mixed)


@pytest.mark.parametrize("feedforward", [0, 24])
def test_a_residual_block_that_writes_nothing_passes_its_input_on(feedforward):
    model = network(small_transformer(layers=1, feedforward=feedforward))
    block = model.layer(0)
    with torch.no_grad():
        for linear in [block.attention.output] + ([block.mlp.down] if block.mlp else []):
            linear.weight.zero_()
            linear.bias.zero_()
    hidden = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(block(hidden, None), hidden)
    read = torch.tensor([[1, 3], [4, 0]])
    torch.testing.assert_close(block(hidden, None, read)[1], hidden[1, [4, 0]])


def test_rotary_scores_depend_on_relative_position_alone():
    model = network(ModelConfig(width=8, positions="rope"))
    scores = model.layer(0).attention.scores(torch.ones(1, 6, 8, dtype=torch.float64))[0, 0]
    torch.testing.assert_close(scores[:-1, :-1], scores[1:, 1:])
    assert (scores[0, 1] - scores[0, 4]).abs() > 1e-4


def test_pairs_are_read_with_one_shared_encoder():
    model = network(small_transformer(vocabulary=9, classifier="pair"))
    data = ragged_set(8, 7, vocabulary=9)
    tokens, lengths = data.tokens.reshape(4, 2, 7), data.lengths.reshape(4, 2)
    assert model.classify(tokens, lengths).shape == (4, 2)
    swapped = model.pooled(tokens.flip(1).flatten(0, 1), lengths.flip(1).flatten())
    torch.testing.assert_close(swapped.reshape(4, 2, -1).flip(1).flatten(0, 1), model.pooled(data.tokens, data.lengths))


@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize("positions", POSITIONS)
def test_every_parameter_is_drawn_and_belongs_to_one_group(classifier, positions):
    config = small_transformer(classifier=classifier, positions=positions, pooling="attention")
    with torch.device("meta"):
        names = [name for name, _ in SequenceModel(config).named_parameters()]
    for name in names:
        assert [
            group
            for group in (
                "qk",
                "value",
                "output",
                "mlp",
                "norms",
                "encoder",
                "bias",
                "pooling",
                "reconstruction",
                "classifier",
            )
            if select([name], group)
        ] == ["qk" if group_of(name) in ("query", "key") else group_of(name)]
    assert sorted(select(names, "qk") + select(names, "all-but-qk")) == sorted(select(names, "all"))
    assert not select(select(names, "all"), "classifier+pooling")
    first, second = (initialised_model(config, InitialWeights(), seed) for seed in (0, 1))
    for name, value in first.named_parameters():
        assert value.isfinite().all()
        if "norm" not in name and not name.startswith("fire."):
            assert (value != dict(second.named_parameters())[name]).any(), name


def test_tied_maps_are_equal_within_a_layer_and_different_between_layers():
    model = initialised_model(small_transformer(), InitialWeights(scheme="tied"), 0)
    first, second = (block.attention for block in (model.layer(0), model.layer(1)))
    for part in ("key", "value", "output"):
        assert torch.equal(getattr(first, part).weight, first.query.weight)
        assert torch.equal(getattr(first, part).bias, first.query.bias)
    assert not torch.equal(first.query.weight, second.query.weight)


def test_initial_norms_are_those_of_table_10():
    """CIFAR-10, column R: 4.66 for each attention map with bias, 8.05 to 8.10 for the MLP, 8 for a norm."""
    config = transformer(channels=1, classes=10, width=64, layers=3, heads=4, feedforward=128)
    model = initialised_model(config, InitialWeights(scheme="tied"), 0)
    block = model.layer(0)
    assert block.mlp is not None
    norm = lambda module: float(torch.cat([p.detach().flatten() for p in module.parameters()]).norm())  # noqa: E731
    assert norm(block.attention.query) == pytest.approx(4.66, abs=0.1)
    assert norm(torch.nn.ModuleList(list(block.mlp.children())[1:])) == pytest.approx(8.05, abs=0.1)
    assert norm(block.attention_norm) == 8.0


def test_mimetic_products_are_close_to_plus_and_minus_the_identity():
    model = initialised_model(ModelConfig(width=32), InitialWeights(written="mimetic"), 0)
    attention = model.layer(0).attention
    for product, sign in (
        (attention.query.weight.T @ attention.key.weight, 1),
        (attention.output.weight @ attention.value.weight, -1),
    ):
        product = product.detach()
        diagonal = product.diagonal().mean()
        assert float(diagonal) * sign > 0.3
        assert float((product - torch.diag(product.diagonal())).mean().abs()) < 0.1 * abs(float(diagonal))


def test_frozen_groups_do_not_move():
    model = network(MODEL)
    optimiser = make_optimiser(model, Optimiser(learning_rate=0.1), "qk")
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    batch = ragged_set(4, 9).batch(torch.arange(4))
    model.classify(batch.tokens, batch.lengths).square().sum().backward()
    optimiser.step()
    moved = {group_of(name) for name, value in model.named_parameters() if not torch.equal(value, before[name])}
    assert moved == {"encoder", "value", "output", "classifier"}


def test_evaluation_counts_every_sample():
    """More samples than a batch of evaluation, and not a multiple of it."""
    model, data = network(MODEL), ragged_set(301, 9)
    batch = data.batch(torch.arange(301))
    logits = model.classify(batch.tokens, batch.lengths)
    assert data.labels is not None
    loss, accuracy = evaluate_labels(model, data)
    assert accuracy == pytest.approx(float(logits.argmax(1).eq(data.labels).double().mean()), abs=1e-12)
    assert loss == pytest.approx(float(torch.nn.functional.cross_entropy(logits.detach(), data.labels)), rel=1e-9)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"width": 130, "heads": 4}, "width must divide by heads: width=130, heads=4; use 128 or 132"),
        ({"width": 2, "heads": 4}, "use 4"),
        ({"vocabulary": 5}, "continuous .* or discrete"),
        ({"positions": "rotary"}, "unknown positions: 'rotary'"),
        ({"pooling": "max"}, "unknown pooling"),
        ({"width": 6, "heads": 2, "positions": "rope"}, "RoPE turns pairs"),
        ({"width": 5}, "come in pairs"),
        ({"layers": 0}, "must be positive"),
    ],
)
def test_networks_that_cannot_be_built_are_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        ModelConfig(**changes)


def test_an_unknown_group_is_refused():
    with pytest.raises(InputError, match="unknown parameter group: qkv"):
        select(["x"], "qkv+mlp")
