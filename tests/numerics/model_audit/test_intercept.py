"""Every way to call attention gives the outputs that torch gives and is caught; the user's model stays as it was."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from numerics.errors import InputError
from numerics.model_audit.attention import attend
from numerics.model_audit.intercept import tapped
from tests.numerics.model_audit.examples import Encoder, OneHead, audit, gradients, mean_label, squared_label, tokens


def heads(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


HIDE = torch.tensor([[True, True, False], [True, False, True], [True, True, True], [False, True, True]])
CALLS: dict[str, Any] = {
    "plain": ((2, 3, 4, 5), (2, 3, 4, 5), {}),
    "unbatched": ((4, 5), (4, 5), {}),
    "one head": ((2, 4, 5), (2, 4, 5), {}),
    "windows": ((2, 3, 2, 4, 5), (2, 3, 2, 4, 5), {}),
    "cross": ((2, 3, 4, 5), (2, 3, 3, 5), {}),
    "causal": ((2, 3, 4, 5), (2, 3, 4, 5), {"is_causal": True}),
    "causal, more queries than keys": ((2, 3, 4, 5), (2, 3, 3, 5), {"is_causal": True}),
    "scale": ((2, 3, 4, 5), (2, 3, 4, 5), {"scale": 0.3}),
    "boolean mask": ((2, 3, 4, 5), (2, 3, 3, 5), {"attn_mask": HIDE}),
    "additive mask": ((2, 3, 4, 5), (2, 3, 3, 5), {"attn_mask": heads(3, 4, 3, seed=2)}),
    "broadcast mask": ((2, 3, 4, 5), (2, 3, 3, 5), {"attn_mask": torch.tensor([[[[True, False, True]]]])}),
    "query without keys": ((1, 1, 2, 5), (1, 1, 2, 5), {"attn_mask": torch.tensor([[True, True], [False, False]])}),
    "grouped queries": ((2, 6, 4, 5), (2, 2, 4, 5), {"enable_gqa": True}),
    "shared queries": ((1, 3, 4, 5), (2, 3, 4, 5), {}),
}


@pytest.mark.parametrize("name", CALLS)
def test_open_attention_equals_torchs(name):
    query, key, options = CALLS[name]
    q, k, v = heads(*query), heads(*key, seed=1), heads(*key, seed=2)
    found, call = attend(name, q, k, v, **options)
    # Rounding of sums of at most 5 products of numbers of order one.
    assert torch.allclose(found, F.scaled_dot_product_attention(q, k, v, **options), atol=1e-13)
    assert call.bias.shape == (call.attention.shape[1], query[-2], key[-2])
    assert not bool(call.bias.any())


def test_least_numbers_hide_keys_as_minus_infinity_does():
    q = heads(1, 1, 2, 3)
    allowed = torch.tensor([[True, False], [True, True]])
    masks = [torch.zeros(2, 2).double().masked_fill(~allowed, low) for low in (-math.inf, -1e9, -1e4, -3.4e38)]
    found = [attend("layer", q, q, q, attn_mask=mask)[1].site.mask[0] for mask in masks]
    assert all(torch.equal(mask, allowed) for mask in found)
    alibi = attend("layer", q, q, q, attn_mask=torch.tensor([[0.0, -20.0], [-20.0, 0.0]]).double())[1]
    assert bool(alibi.site.mask.all())


class SelfAttention(nn.Module):
    def __init__(self, **options):
        super().__init__()
        torch.manual_seed(0)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True, **{"bias": False} | options)
        self.calls = {"need_weights": False}

    def forward(self, x):
        return self.attention(x, x, x, **self.calls)[0]


def scores_of(model, batch=None, loss=mean_label):
    return gradients(model, tokens() if batch is None else batch, loss)


CAUSAL = torch.ones(5, 5, dtype=torch.bool).triu(1)
ADDITIVE = torch.zeros(5, 5).masked_fill(CAUSAL, -math.inf).double()


@pytest.mark.parametrize(
    "call",
    [
        {},
        {"attn_mask": CAUSAL},
        {"attn_mask": ADDITIVE},
        {"attn_mask": ADDITIVE, "is_causal": True},
        {"key_padding_mask": torch.tensor([[False] * 4 + [True]] * 3)},
        {"average_attn_weights": False},
    ],
)
def test_both_modes_of_multi_head_attention_have_the_same_gradient(call):
    model = SelfAttention()
    model.calls = {"need_weights": False, **call}
    plain = scores_of(model)
    model.calls = {"need_weights": True, **call}
    weighted = scores_of(model)
    assert torch.allclose(plain.scores[0], weighted.scores[0], atol=1e-14)
    assert float(plain.scores[0].norm()) > 1e-3


@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("batched", [True, False])
def test_weights_that_were_asked_for_are_torchs(averaged, batched):
    layer = nn.MultiheadAttention(4, 2, batch_first=True).double()
    x = tokens() if batched else tokens()[0]
    wanted = layer(x, x, x, average_attn_weights=averaged)
    with tapped(layer):
        found = layer(x, x, x, average_attn_weights=averaged)
    assert all(a.shape == b.shape and torch.allclose(a, b, atol=1e-14) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize(
    "options", [{"add_bias_kv": True}, {"add_zero_attn": True}, {"kdim": 4, "vdim": 4}, {"bias": True}]
)
def test_every_option_of_multi_head_attention_is_caught(options):
    assert len(scores_of(SelfAttention(**options)).calls) == 1


def test_torchs_fused_inference_path_is_not_taken():
    """Under ``no_grad`` in evaluation mode torch would bypass every function; the audit still meets the calls."""
    model = Encoder().double().eval()
    x = tokens(width=8)
    with torch.no_grad(), tapped(model) as tap:
        inside = model(x)
    assert len(tap.calls) == 2
    with torch.no_grad():
        assert torch.allclose(inside, model(x), atol=1e-12)
    assert torch.backends.mha.get_fastpath_enabled()


def test_layers_are_named_by_their_modules_and_repeated_calls_are_numbered():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = OneHead()

        def forward(self, x):
            return self.layer(self.layer(x))

    assert [call.name for call in scores_of(Twice()).calls] == ["layer", "layer (call 2)"]


# --- padding ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["boolean", "additive"])
def test_padding_of_the_whole_batch_is_the_same_as_shorter_sequences(kind):
    model = Encoder().double()
    short = tokens(length=4, width=8)
    long = torch.cat((short, 100 * tokens(length=2, width=8, seed=1)), dim=1)
    padding = torch.tensor([[False] * 4 + [True] * 2] * 3)
    if kind == "additive":
        padding = torch.zeros(3, 6).double().masked_fill(padding, -math.inf)

    def pooled(model, x):
        features = model.encoder(x, src_key_padding_mask=padding if x.shape[1] == 6 else None)[:, :4]
        return model.head(features.mean(1)).square().mean()

    padded, plain = (audit(model, x, pooled) for x in (long, short))
    assert any("33.3 % of the positions are padding" in note for note in padded.notes)
    for left, right in zip(padded.heads, plain.heads, strict=True):
        assert left.label.norm == pytest.approx(right.label.norm, rel=1e-10)
        assert left.label.blind == pytest.approx(right.label.blind, rel=1e-10)
        assert left.statistics.relative_entropy == pytest.approx(right.statistics.relative_entropy, rel=1e-10)
        assert left.statistics.value_spread == pytest.approx(right.statistics.value_spread, rel=1e-10)
        assert left.statistics.mean_distance == pytest.approx(right.statistics.mean_distance, rel=1e-10)


def test_padded_queries_that_are_pooled_are_left_out_too():
    padding = torch.tensor([[False] * 4 + [True]] * 3)
    found = audit(Encoder(), tokens(width=8), lambda m, x: m(x, padding=padding).square().mean())
    whole = gradients(Encoder(), tokens(width=8), lambda m, x: m(x, padding=padding).square().mean())
    assert float(whole.scores[0][:, 4].abs().max()) == float(whole.scores[0][:, :, 4].abs().max()) == 0
    assert found.notes[-1].startswith("up to 20.0 %")


# --- refusals --------------------------------------------------------------------------------------------------------


class HandWritten(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(4, 4)

    def forward(self, x):
        return torch.softmax(self.query(x) @ x.mT, -1) @ x


def test_attention_by_hand_is_refused_with_what_was_met():
    with pytest.raises(InputError, match=r"met softmax in the model itself \(1 times\)"):
        audit(HandWritten(), tokens(), mean_label)


def test_attention_by_hand_beside_caught_attention_is_noted():
    report = audit(nn.Sequential(OneHead(), HandWritten()), tokens(), mean_label)
    assert [head.layer for head in report.heads] == ["0"]
    assert report.notes[-1] == "met and not audited: softmax in 1 (1 times)"


def test_a_model_without_attention_is_refused():
    with pytest.raises(InputError, match="no softmax and no attention at all"):
        audit(nn.Linear(4, 4), tokens(), mean_label)


def test_a_loss_that_uses_another_model_is_refused():
    mine = OneHead().double()
    with pytest.raises(InputError, match="must call the model that it is given"):
        audit(mine, tokens(), lambda model, x: mean_label(mine, x))


def test_attention_dropout_in_evaluation_mode_is_refused():
    class Dropping(OneHead):
        def forward(self, x):
            return F.scaled_dot_product_attention(self.query(x), self.key(x), x, dropout_p=0.1)

    with pytest.raises(InputError, match=r"dropout_p=0\.1 in the model itself"):
        audit(Dropping(), tokens(), lambda m, x: torch.zeros((), requires_grad=True) * m(x).mean())


def test_a_defect_that_changes_the_loss_is_an_error_of_this_package(monkeypatch):
    monkeypatch.setattr("numerics.model_audit.intercept.attend", lambda *a, **k: attend(*a, **{**k, "scale": 9.0}))
    with pytest.raises(ArithmeticError, match="catching attention changed the loss"):
        audit(OneHead(uniform=False), tokens(), mean_label)


# --- the user's things stay as they are ------------------------------------------------------------------------------


def test_model_batch_and_random_state_stay_as_they_were():
    model = Encoder(dropout=0.5).half().train()
    model.head.weight.requires_grad_(False)
    model.head.bias.grad = torch.ones_like(model.head.bias)
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    batch = tokens(width=8).half()
    before, state, default = batch.clone(), torch.get_rng_state(), torch.get_default_dtype()
    report = audit(model, batch, lambda m, x: squared_label(m, x) + torch.rand(()))
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    assert all(module.training for module in model.modules())
    assert [n for n, p in model.named_parameters() if not p.requires_grad] == ["head.weight"]
    assert [n for n, p in model.named_parameters() if p.grad is not None] == ["head.bias"]
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    assert model.head.bias.dtype == torch.float16
    assert torch.equal(batch, before)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_default_dtype() == default
    assert torch.backends.mha.get_fastpath_enabled()
    assert report.notes == (
        "float16 weights were cast to float64 on a copy",
        "1 parameter tensors of the model are frozen; the audit differentiates through them",
        "dropout was off: the copy is in evaluation mode",
    )


def test_a_model_that_writes_into_its_input_does_not_reach_the_users_batch():
    batch = {"x": tokens(), "ids": torch.arange(3)}

    def loss(model, b):
        b["ids"] += 1
        return mean_label(model, b["x"].mul_(2.0))

    assert audit(OneHead(), batch, loss).heads[0].label.norm > 0
    assert torch.equal(batch["x"], tokens())
    assert batch["ids"].tolist() == [0, 1, 2]


class Switchable(OneHead):
    """The interface of Hugging Face models: attention by hand until told otherwise."""

    def __init__(self, knows):
        super().__init__()
        self.config = SimpleNamespace(_attn_implementation="eager")
        self.knows = knows

    def set_attn_implementation(self, name):
        if name not in self.knows:
            raise ValueError(f"no {name}")
        self.config._attn_implementation = name

    def forward(self, x):
        if self.config._attn_implementation == "sdpa":
            return super().forward(x)
        return torch.softmax(self.query(x) @ self.key(x).mT / 2, -1) @ x


def test_hugging_faces_own_switch_is_used_on_the_copy():
    model = Switchable({"sdpa"})
    report = audit(model, tokens(), mean_label)
    assert report.notes[-1] == "Switchable was switched from 'eager' to 'sdpa' attention on the copy"
    assert model.config._attn_implementation == "eager"


def test_a_model_without_that_implementation_is_refused():
    with pytest.raises(InputError, match="met softmax in the model itself"):
        audit(Switchable(set()), tokens(), mean_label)


def test_half_precision_does_not_change_the_numbers_beyond_its_own_rounding():
    model = Encoder()
    half = audit(Encoder().half(), tokens(width=8).half(), squared_label)
    full = audit(model, tokens(width=8), squared_label)
    for left, right in zip(half.heads, full.heads, strict=True):
        # 2^-11 relative error in every weight and token; the gradients move by a few hundred of those.
        assert left.label.norm == pytest.approx(right.label.norm, rel=0.1)


def test_an_audit_works_inside_no_grad():
    with torch.no_grad():
        assert audit(OneHead(), tokens(), mean_label).heads[0].label.norm > 0


def test_a_model_that_cannot_be_copied_is_refused_and_a_function_that_builds_it_is_not():
    class Stuck(OneHead):
        def __deepcopy__(self, memo):
            raise RuntimeError("no copies")

    with pytest.raises(InputError, match="must be copyable"):
        audit(Stuck(), tokens(), mean_label)


def test_a_scripted_model_is_refused():
    scripted = torch.jit.trace(nn.Linear(4, 4), torch.zeros(1, 4))
    with pytest.raises(InputError, match="must be a plain module"):
        audit(scripted, tokens(), mean_label)


def test_the_plain_module_inside_a_compiled_one_is_audited():
    report = audit(torch.compile(OneHead()), tokens(), mean_label)
    assert report.heads[0].label.norm > 0
    assert report.notes[0] == "the plain module inside the compiled one was audited"
