"""Recipes: every value has a source, disputes keep both sides, and presets make what training.md's table says."""

import re
from pathlib import Path

import pytest

from numerics.errors import InputError
from training.experiments.experiment import SCALES
from training.model.initialisation import initialised_model
from training.recipes.catalogue import DATASETS, recipe
from training.recipes.paper import A2, CODE, PAPER
from training.recipes.recipe import Choice

PAPER_TEXT = Path(__file__).resolve().parents[3] / "shared" / "paper" / "self-pretraining-2605.21070.md"


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("dataset", PAPER)
def test_every_value_has_a_source_and_the_network_and_stages_can_be_built(dataset, scale):
    found = recipe(dataset, scale)
    assert all(choice.source for choice in found.choices.values())
    assert set(found.choices) == set(PAPER[dataset])
    assert found.model().width % found.model().heads == 0
    assert found.spt().epochs == found.value("spt_epochs")
    assert found.labels().epochs == found.value("label_epochs")
    assert found.model().predictions == found.task.model_shape().get("target_classes", found.model().predictions)


def test_where_the_paper_and_the_code_disagree_both_values_are_kept():
    disputed = {
        (dataset, name): set(choice.elsewhere)
        for dataset in DATASETS
        for name, choice in PAPER[dataset].items()
        if choice.source.startswith("paper") and CODE in choice.elsewhere
    }
    assert disputed[("image", "loss")] == disputed[("image", "label_batch")] == {CODE}
    assert disputed[("listops", "feedforward")] == {CODE}
    assert PAPER["listops"]["feedforward"].elsewhere[CODE] == 2048
    assert PAPER["pathfinder"]["feedforward"].elsewhere == {A2: 512}
    assert all(choice.elsewhere.get(CODE) != choice.value for d in DATASETS for choice in PAPER[d].values())


def test_what_is_said_to_be_from_the_appendix_stands_there():
    if not PAPER_TEXT.is_file():
        pytest.skip("../shared/paper is not there: A.2 not compared")
    text = PAPER_TEXT.read_text(encoding="utf-8")
    appendix = text[text.index("### A.2") : text.index("### A.3")]
    appendix = re.sub(r"\s+", " ", re.sub(r"\\times 10\^\{(-\d)\}", r"e\1", appendix).replace("$", ""))
    items = dict(zip(("listops", "text", "retrieval", "image", "pathfinder"), appendix.split(" - ")[1:], strict=True))
    compared = 0
    for dataset, item in items.items():
        for name, choice in PAPER[dataset].items():
            in_words = name in ("loss", "decay") or (dataset == "text" and name in ("width", "layers", "heads"))
            if choice.source not in (A2, "paper, A.2, and code") or in_words:
                continue  # "identical to ListOps" and the like
            value = choice.value
            form = f"{value:.0e}".replace("e-0", "e-") if name.endswith("rate") else str(value)
            assert form in item, (dataset, name, form, item)
            compared += 1
    assert compared >= 30


def test_an_unknown_task_or_choice_is_refused():
    with pytest.raises(InputError, match="unknown task"):
        recipe("cifar", "paper")
    with pytest.raises(InputError, match="unknown choice"):
        recipe("image", "paper").changed(depth=Choice(1, "here"))


def test_the_matched_label_stage_sees_as_many_sequences_as_both_stages():
    for scale in SCALES:
        for dataset in DATASETS:
            found = recipe(dataset, scale)
            assert found.matched_labels().epochs == found.labels().epochs + found.spt().epochs


def test_pathfinders_random_norm_is_that_of_the_papers_table_11_with_width_128_alone():
    """Default law, entries uniform within 1/sqrt(inputs): a map and its bias have E|W|^2 = outputs (1 + 1/inputs)/3."""
    norms = {}
    for width in (128, 512):
        found = recipe("pathfinder", "paper").changed(feedforward=Choice(width, "test"))
        mlp = initialised_model(found.model(layers=1), found.initial(), 0).layer(0).mlp
        assert mlp is not None
        parts = [value for map_ in (mlp.up, mlp.down) for value in map_.parameters()]
        norms[width] = sum(float(value.detach().square().sum()) for value in parts) ** 0.5
    printed = (9.30, 9.29, 9.27, 9.29)  # Table 11, ||Q_R|| of MLP All
    assert abs(norms[128] - 9.29) < 0.15
    assert all(abs(norms[512] - value) > 4 for value in printed)
