"""Every verdict has a model that deserves it and a near neighbour that does not."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from numerics.model_audit import Verdict
from numerics.model_audit import reference_models as models
from numerics.model_audit.gradients import HeadGradient
from numerics.model_audit.statistics import HeadStatistics
from numerics.model_audit.verdict import (
    NEARLY_BLIND,
    SATURATED_ENTROPY,
    Diagnosis,
    diagnose,
    overall,
)
from tests.numerics.model_audit.examples import Encoder, OneHead, audit, mean_label, reconstruct, squared_label, tokens


def verdict(model, batch, loss=mean_label, **options):
    return audit(model, batch, loss, **options).verdict


class Rounded(OneHead):
    """Attention under ``no_grad``: the loss cannot reach it."""

    def forward(self, x):
        with torch.no_grad():
            attended = super().forward(x)
        return attended + self.query(x)


# --- label-blind and visible -----------------------------------------------------------------------------------------


@given(st.integers(1, 4), st.integers(2, 6), st.integers(1, 4), st.integers(0, 99))
@settings(max_examples=25)
def test_uniform_attention_with_mean_pooling_is_label_blind_exactly(sequences, length, width, seed):
    report = audit(OneHead(width, seed), tokens(sequences, length, width, seed), mean_label)
    assert report.verdict is Verdict.LABEL_BLIND
    assert report.exact
    assert "exactly nothing" in str(report)


def test_reconstruction_sees_what_labels_are_blind_to():
    report = audit(OneHead(), tokens(), mean_label, reconstruction=reconstruct)
    assert report.label_blind < 1e-25
    assert report.reconstruction_blind > 1 - 1e-12


@given(st.integers(3, 6), st.integers(2, 4), st.integers(0, 99))
@settings(max_examples=25)
def test_a_residual_with_a_nonlinearity_before_pooling_is_visible(length, width, seed):
    model = OneHead(width, seed, residual=True)
    report = audit(model, tokens(3, length, width, seed), lambda m, x: m(x).square().mean(1).sum(1).mean())
    assert report.verdict is Verdict.VISIBLE


def test_the_residual_alone_stays_blind():
    assert verdict(OneHead(residual=True), tokens()) is Verdict.LABEL_BLIND


def test_a_nonlinearity_without_residual_stays_blind():
    assert verdict(OneHead(), tokens(), lambda m, x: m(x).square().mean(1).sum(1).mean()) is Verdict.LABEL_BLIND


@pytest.mark.parametrize(("residual", "slope"), [(True, 0.5), (False, 0.0)])
def test_the_theorys_exact_witness_has_the_slope_it_says(residual, slope):
    """G6: f(z) = z^2, X = (1, 0), pattern [[1, -1], [-1, 1]]: one half with the residual, zero without."""
    report = audit(
        OneHead(1, residual=residual),
        torch.tensor([[[1.0], [0.0]]]),
        lambda m, x: m(x).square().mean(),
        pattern=[[1, -1], [-1, 1]],
    )
    assert report.heads[0].pattern.label == pytest.approx(slope, abs=1e-15)
    assert report.heads[0].pattern.visible == 0


def test_cls_pooling_is_visible():
    assert verdict(OneHead(), tokens(), lambda m, x: m(x)[:, 0].square().mean()) is Verdict.VISIBLE


def test_attention_that_is_not_uniform_is_nearly_blind_or_visible_by_its_scores():
    small, large = OneHead(uniform=False), OneHead(uniform=False)
    with torch.no_grad():
        small.query.weight.mul_(1e-4)
    report = audit(small, tokens(), mean_label)
    assert report.verdict is Verdict.LABEL_BLIND
    assert not report.exact
    assert "next to nothing" in str(report)
    assert verdict(large, tokens()) is Verdict.VISIBLE


def test_causal_attention_with_mean_pooling_is_blind_to_the_blind_set_of_its_mask():
    """The set of G2 for that mask, with its weights 1 / n_i; plain column sums would not do."""
    model = OneHead()

    def causal(model, x):
        return F.scaled_dot_product_attention(model.query(x), model.key(x), x, is_causal=True).mean(1).square().mean()

    report = audit(model, tokens(length=6), causal)
    assert report.verdict is Verdict.LABEL_BLIND
    assert report.exact


def test_torchs_encoder_is_visible():
    assert verdict(Encoder(), tokens(width=8), squared_label) is Verdict.VISIBLE


# --- no gradient path ------------------------------------------------------------------------------------------------


def test_attention_without_gradient_has_no_gradient_path():
    report = audit(Rounded(), tokens(), mean_label)
    assert report.verdict is Verdict.NO_GRADIENT_PATH
    assert report.heads[0].label.norm is None


def test_zero_queries_and_keys_have_no_gradient_path_but_zero_queries_alone_have():
    model = OneHead()
    assert verdict(model, tokens()) is Verdict.LABEL_BLIND
    nn.init.zeros_(model.key.weight)
    report = audit(model, tokens(), mean_label)
    assert report.verdict is Verdict.NO_GRADIENT_PATH
    assert report.heads[0].label.norm > 0
    assert report.heads[0].label.query_norm == report.heads[0].label.key_norm == 0


def test_zero_keys_alone_have_a_gradient_path_through_the_keys():
    model = OneHead(uniform=False)
    nn.init.zeros_(model.key.weight)
    report = audit(model, tokens(), mean_label)
    assert report.verdict is Verdict.LABEL_BLIND
    assert report.heads[0].label.query_norm == 0 < report.heads[0].label.key_norm


def test_a_learned_position_bias_is_a_path_of_its_own():
    class Biased(OneHead):
        def __init__(self, learns):
            super().__init__()
            nn.init.zeros_(self.key.weight)
            self.bias = nn.Parameter(torch.zeros(5, 5)) if learns else None

        def forward(self, x):
            return F.scaled_dot_product_attention(self.query(x), self.key(x), x, attn_mask=self.bias)

    assert verdict(Biased(True), tokens()) is Verdict.LABEL_BLIND
    assert verdict(Biased(False), tokens()) is Verdict.NO_GRADIENT_PATH


# --- zero read-out ---------------------------------------------------------------------------------------------------


def test_a_zero_read_out_is_named_and_reconstruction_still_sees():
    report = audit(
        models.zero_read_out(6),
        {"values": tokens(width=1, length=6), "labels": torch.tensor([0, 1, 0])},
        models.label_loss,
        reconstruction=models.reconstruction_loss,
    )
    assert report.verdict is Verdict.ZERO_READ_OUT
    assert report.label_blind is None
    assert report.heads[0].reconstruction.norm > 0


def test_a_tiny_read_out_is_not_zero():
    model = models.zero_query(6)
    with torch.no_grad():
        model.classify.weight.mul_(1e-20)
    batch = {"values": tokens(width=1, length=6), "labels": torch.tensor([0, 1, 0])}
    assert verdict(model, batch, models.label_loss) is Verdict.LABEL_BLIND


def test_a_zero_output_projection_is_named_in_its_layer_only():
    model = Encoder()
    nn.init.zeros_(model.encoder.layers[0].self_attn.out_proj.weight)
    found = audit(model, tokens(width=8), squared_label).heads
    assert {h.diagnosis.verdict for h in found if h.layer.startswith("encoder.layers.0")} == {Verdict.ZERO_READ_OUT}
    assert {h.diagnosis.verdict for h in found if h.layer.startswith("encoder.layers.1")} == {Verdict.VISIBLE}


# --- rank-collapsed --------------------------------------------------------------------------------------------------


def test_identical_tokens_are_rank_collapsed_for_both_losses():
    same = tokens(length=1).expand(3, 5, 4)
    report = audit(OneHead(uniform=False), same, mean_label, reconstruction=reconstruct)
    assert report.verdict is Verdict.RANK_COLLAPSED
    assert not report.heads[0].label.resolved
    assert report.heads[0].label.blind is None  # shares of rounding errors say nothing
    assert not report.heads[0].reconstruction.resolved


def test_tokens_that_differ_a_little_are_not_collapsed():
    same = tokens(length=1).expand(3, 5, 4)
    assert verdict(OneHead(), same + 0.05 * tokens(seed=1)) is Verdict.LABEL_BLIND


def test_deep_attention_without_residuals_collapses_in_its_late_layers_only():
    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = nn.Sequential(*(OneHead(seed=seed, uniform=False) for seed in range(6)))
            for name, weight in self.named_parameters():
                if "query" in name:
                    nn.init.normal_(weight, std=0.1)

        def forward(self, x):
            return self.heads(x)

    found = [h.diagnosis.verdict for h in audit(Deep(), tokens(length=8), mean_label).heads]
    assert found[-1] is Verdict.RANK_COLLAPSED
    assert found[0] is not Verdict.RANK_COLLAPSED


# --- saturated -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("factor", "saturated"), [(300.0, True), (1.0, False)])
def test_scores_that_are_too_large_saturate(factor, saturated):
    model = OneHead(uniform=False)
    with torch.no_grad():
        model.query.weight.mul_(factor)
    assert (verdict(model, tokens()) is Verdict.SATURATED) == saturated


# --- what is not blindness -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_no_verdict_depends_on_the_scale_of_the_loss(scale):
    for model, wanted in ((OneHead(), Verdict.LABEL_BLIND), (OneHead(uniform=False), Verdict.VISIBLE)):
        assert verdict(model, tokens(), lambda m, x: scale * mean_label(m, x)) is wanted


def test_too_large_a_step_is_not_blindness():
    """Gradient descent with a huge step raises the loss; the scores were visible all along, and saturate after it."""
    model, x = OneHead(uniform=False).double(), tokens()
    before = mean_label(model, x)
    before.backward()
    assert verdict(model, x) is Verdict.VISIBLE
    torch.optim.SGD(model.parameters(), lr=3e4).step()
    assert mean_label(model, x) > before
    assert verdict(model, x) is Verdict.SATURATED


# --- the rules themselves --------------------------------------------------------------------------------------------


def gradient(**changes):
    norms = {"norm": 1.0, "rounding": 1e-14, "query_norm": 1.0, "key_norm": 1.0, "output_norm": 1.0}
    return HeadGradient(**{"blind": 0.5, "stripes": 0.5, "elsewhere": 0.0, **norms, **changes})


def statistics(**changes):
    plain = {"relative_entropy": 0.9, "logit_spread": 0.1, "mean_distance": 1.0, "uniform_distance": 1.0}
    return HeadStatistics(**{**plain, "value_spread": 0.5, **changes})


ILLNESSES: list[tuple[Verdict, dict[str, float], dict[str, float]]] = [
    (Verdict.NO_GRADIENT_PATH, {"query_norm": 0.0, "key_norm": 0.0}, {}),
    (Verdict.ZERO_READ_OUT, {"output_norm": 0.0}, {}),
    (Verdict.RANK_COLLAPSED, {}, {"value_spread": 0.0}),
    (Verdict.SATURATED, {}, {"relative_entropy": 0.0}),
    (Verdict.LABEL_BLIND, {"blind": 0.0}, {}),
]


@pytest.mark.parametrize("first", range(len(ILLNESSES)))
def test_the_first_of_several_illnesses_is_named(first):
    ill: dict[str, float] = {}
    attention: dict[str, float] = {}
    for _, of_gradient, of_statistics in ILLNESSES[first:]:
        ill |= of_gradient
        attention |= of_statistics
    assert diagnose(gradient(**ill), statistics(**attention), 0.9).verdict is ILLNESSES[first][0]
    assert list(Verdict)[: len(ILLNESSES)] == [name for name, *_ in ILLNESSES]


@given(st.floats(0, 1), st.floats(0.5, 1))
def test_nearly_blind_starts_at_a_hundredth_of_an_undirected_gradients_share(blind, fraction):
    found = diagnose(gradient(blind=blind), statistics(), fraction).verdict
    assert (found is Verdict.LABEL_BLIND) == (blind <= NEARLY_BLIND * fraction)


@given(st.floats(0, 1))
def test_saturation_starts_at_its_entropy(entropy):
    found = diagnose(gradient(), statistics(relative_entropy=entropy), 0.9).verdict
    assert (found is Verdict.SATURATED) == (entropy < SATURATED_ENTROPY)


def test_a_mask_without_blind_patterns_is_never_label_blind():
    assert diagnose(gradient(blind=0.0), statistics(), 0.0).verdict is Verdict.VISIBLE


@given(st.lists(st.sampled_from(list(Verdict)), min_size=1, max_size=8))
def test_one_visible_head_makes_a_model_visible(verdicts):
    found = overall([Diagnosis(v, "") for v in verdicts])
    assert (found is Verdict.VISIBLE) == (Verdict.VISIBLE in verdicts)
    assert verdicts.count(found) == max(map(verdicts.count, verdicts)) or found is Verdict.VISIBLE


@pytest.mark.parametrize("keys", [2, 16, 1024])
def test_saturated_entropy_means_what_its_comment_says(keys):
    """Largest weight of a row with that entropy, and the share of the softmax Jacobian's trace that is left."""
    low, high = 1 / keys, 1.0
    for _ in range(60):
        top = (low + high) / 2
        rest = (1 - top) / (keys - 1)
        entropy = -torch.xlogy(torch.tensor([top, rest]).double(), torch.tensor([top, rest]).double())
        low, high = (top, high) if float(entropy[0] + (keys - 1) * entropy[1]) > SATURATED_ENTROPY * float(
            torch.tensor(keys).double().log()
        ) else (low, top)  # fmt: skip
    assert top > 0.95
    trace = 1 - top**2 - (1 - top) ** 2 / (keys - 1)
    assert trace / (1 - 1 / keys) < 0.1
