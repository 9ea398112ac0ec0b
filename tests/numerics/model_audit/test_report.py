"""The report holds what was measured, in every form, and its slopes are slopes."""

import base64
import io
import json
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn

import numerics
from numerics.errors import InputError
from numerics.model_audit import ModelReport, Verdict
from numerics.model_audit.audit import audit_model, initialisations
from numerics.model_audit.html import heat_map
from numerics.patterns import score_pattern
from tests.numerics.model_audit.examples import Encoder, OneHead, audit, mean_label, reconstruct, squared_label, tokens

LENGTH = 6


@pytest.fixture(scope="module")
def report() -> ModelReport:
    def rebuilt(model, x):
        return (model.encoder(x) - x).square().mean()

    return audit(
        lambda: Encoder(seed=torch.initial_seed()),
        tokens(length=LENGTH, width=8),
        squared_label,
        reconstruction=rebuilt,
        pattern=score_pattern("alibi", LENGTH),
        seeds=range(3),
    )


def test_the_audit_is_at_the_door_of_numerics_and_numerics_stays_light():
    assert numerics.audit_model is audit_model
    code = "import sys, numerics; assert not {'torch', 'matplotlib', 'polars'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'audit_modell'"):
        _ = numerics.audit_modell


def test_the_report_prints_one_sentence(report):
    assert str(report) == report.sentence
    assert report.sentence.startswith("visible: labels see score patterns")
    assert "12 of 12 heads over 3 initialisations" in report.sentence
    assert "\n" not in report.sentence


def test_the_table_has_a_row_for_every_head_and_initialisation(report):
    frame = report.to_frame()
    assert frame.shape[0] == 3 * 2 * 2
    assert frame.schema["label_blind"] == pl.Float64
    assert set(frame["verdict"]) <= {verdict.value for verdict in Verdict}
    shares = frame.select("label_blind", "label_stripes", "label_elsewhere").sum_horizontal()
    assert np.allclose(shares, 1)
    assert frame["label_elsewhere"].max() < 1e-25


def test_means_over_initialisations_are_those_of_the_table(report):
    frame, over = report.to_frame(), report.over_seeds()
    first = over.filter((pl.col("quantity") == "label_norm") & (pl.col("head") == 1)).row(0, named=True)
    values = frame.filter((pl.col("layer") == first["layer"]) & (pl.col("head") == 1))["label_norm"]
    assert first["mean"] == pytest.approx(values.mean())
    assert first["low"] < first["mean"] < first["high"]
    assert over.filter(pl.col("quantity") == "label_blind")["high"].max() <= 1
    assert values.n_unique() == 3  # initialisations differ


def test_the_dictionary_is_json_and_agrees_with_the_table(report):
    held = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert held["schema_version"] == 1
    assert held["verdict"] == report.verdict.value
    assert held["seeds"] == [0, 1, 2]
    assert [row["label_norm"] for row in held["heads"]] == report.to_frame()["label_norm"].to_list()


def test_slopes_along_the_pattern_are_those_of_a_biased_model():
    """One layer and one head, so that torch's own ``mask`` argument is the pattern."""
    model = Encoder(layers=1, heads=1).double().eval()
    x, pattern = tokens(length=LENGTH, width=8), torch.tensor(score_pattern("alibi", LENGTH))
    found = audit(model, x, squared_label, pattern=pattern).heads[0].pattern
    step = 1e-5
    ends = [squared_label(lambda b, s=s: model(b, mask=s * pattern), x).item() for s in (step, -step)]
    assert found.label == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-8)
    assert abs(found.label) > 1e-4
    beta = 4 * (2 * LENGTH**2 + 7) / (3 * (3 * LENGTH**2 + 8))
    assert found.visible == pytest.approx(1 - beta)
    assert found.reconstruction is None


def test_what_is_visible_of_a_pattern_depends_on_the_layers_mask():
    """ALiBi at L = 8: blind energy .90 under the full mask, .03 under the causal one (G3)."""

    class Masked(OneHead):
        def __init__(self, causal):
            super().__init__()
            self.causal = causal

        def forward(self, x):
            return F.scaled_dot_product_attention(self.query(x), self.key(x), x, is_causal=self.causal)

    for causal, blind in ((False, 0.90), (True, 0.03)):
        report = audit(Masked(causal), tokens(length=8), mean_label, pattern=score_pattern("alibi", 8))
        assert report.heads[0].pattern.visible == pytest.approx(1 - blind, abs=0.005)


def test_a_factory_is_seeded_and_a_model_is_not_rebuilt():
    class Random(OneHead):
        def __init__(self):
            super().__init__(seed=torch.initial_seed(), uniform=False)

    def built(seeds):
        report = audit(Random, tokens(), mean_label, seeds=seeds)
        return {head.seed: head.label.norm for head in report.heads}

    assert built([4, 7])[7] == built([7])[7] != built([4])[4]
    assert audit(Random, tokens(), mean_label).seeds == (0,)
    assert audit(Random(), tokens(), mean_label).seeds == ()


@pytest.mark.parametrize(
    ("model", "options", "says"),
    [
        (OneHead(), {"seeds": range(2)}, "seeds need a function"),
        (OneHead, {"seeds": []}, "one or more different integers"),
        (OneHead, {"seeds": [1, 1]}, "one or more different integers"),
        (lambda: 3, {}, "must return a torch module: got int"),
        (OneHead(), {"pattern": np.zeros((4, 4))}, r"got \(4, 4\), layers have 5 x 5"),
        (OneHead(), {"pattern": np.zeros(5)}, "one finite matrix"),
        (OneHead(), {"pattern": np.full((5, 5), np.inf)}, "one finite matrix"),
    ],
)
def test_wrong_input_is_one_sentence_with_a_remedy(model, options, says):
    with pytest.raises(InputError, match=says) as refused:
        audit(model, tokens(), mean_label, **options)
    assert ";" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_model_that_is_neither_module_nor_function_is_refused():
    """Shape checks of the test session would stop it first; users have none."""
    with pytest.raises(InputError, match="must be a torch module or a function that builds one: got int"):
        initialisations(3, None)


def test_a_batch_may_be_a_mapping_of_nested_things():
    batch = {"x": [tokens().half()], "y": (torch.tensor([1, 0, 1]), "name")}

    def loss(model, b):
        assert b["x"][0].dtype == torch.float64
        assert b["y"][0].dtype == torch.int64
        return mean_label(model, b["x"][0])

    assert audit(OneHead(), batch, loss).verdict is Verdict.LABEL_BLIND


def test_layers_that_only_one_loss_uses_are_kept_apart():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.shared, self.decoder = OneHead(), OneHead()

        def forward(self, x):
            return self.shared(x)

    found = audit(Two(), tokens(), mean_label, reconstruction=lambda m, x: reconstruct(m.decoder, m(x)))
    assert [head.layer for head in found.heads] == ["shared"]
    assert found.heads[0].reconstruction is not None
    apart = audit(Two(), tokens(), mean_label, reconstruction=lambda m, x: reconstruct(m.decoder, x))
    assert apart.heads[0].reconstruction is None


def test_the_page_loads_nothing_and_holds_every_head_and_picture(report, tmp_path):
    page = report.save(tmp_path / "audit.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)
    assert "default-src 'none'" in page
    for text in (report.sentence.split(":")[0], "encoder.layers.1.self_attn", "reconstruction gradient", "× 3"):
        assert text in page
    pictures = re.findall(r"data:image/png;base64,([^\"]+)", page)
    assert len(pictures) == 2 * 3
    assert all(base64.b64decode(picture).startswith(b"\x89PNG") for picture in pictures)
    assert list(tmp_path.iterdir()) == [tmp_path / "audit.html"]


def test_names_in_the_page_are_escaped(tmp_path):
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.add_module("<b>", OneHead())

        def forward(self, x):
            return self.get_submodule("<b>")(x)

    page = audit(Named(), tokens(), mean_label).save(tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


@pytest.mark.parametrize(("name", "says"), [("a.pdf", "ends in .html"), ("missing/a.html", "folder must exist")])
def test_a_report_that_cannot_be_saved_says_why(report, tmp_path, name, says):
    with pytest.raises(InputError, match=says):
        report.save(tmp_path / name)


def test_the_picture_shows_the_shares_of_every_layer(report):
    picture = report.plot()
    bars = picture.subfigs[0].axes[0].patches
    assert len(bars) == 2 * 2 * 2
    assert bars[0].get_width() + bars[1].get_width() == pytest.approx(1)
    assert bars[1].get_width() == pytest.approx(report.layer_shares("encoder.layers.0.self_attn")["label"][0])
    assert sum(bool(axes.images) for axes in picture.subfigs[1].axes) == 2 * 3


def test_a_report_without_any_gradient_is_drawn_and_saved_all_the_same(tmp_path):
    def unseen(model, x):
        with torch.no_grad():
            return mean_label(model, x)

    found = audit(OneHead(), tokens(), unseen)
    assert found.verdict is Verdict.NO_GRADIENT_PATH
    assert "none (zero gradient)" in str(found)
    found.plot()
    assert "no gradient path" in found.save(tmp_path / "a.html").read_text(encoding="utf-8")


def test_long_sequences_are_averaged_down_for_the_page():
    address = heat_map(np.ones((1030, 515)), 1.0)
    picture = Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2])))
    assert picture.size == (103, 206)
