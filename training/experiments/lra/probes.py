"""What labels and self-pretraining move in the scores of a one-block Transformer, against the theory (G8, N2, Q3).

probes.csv  dataset, condition, scheme (tied or independent initial weights), seed, then
    mean_distance, mass_near, entropy   of attention without content (Figure 6)
    size, blind_energy, stripe_fraction of the displacement of the positional scores from where the stage started
    align_NAME                          double-centred cosine of the displacement with each pattern of probes.predicted
    scores_align_NAME                   the same of the scores themselves

Conditions: ``spt`` and ``scratch`` (both from random weights), ``spt-finetune`` (from the self-pretrained), ``random``
(the network before any step), ``moved`` (W_Q and W_K moved in random directions: the geometry of positions alone).
The runs are those of Table 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars
from jaxtyping import Float
from torch import Tensor

from training.execute import load_data
from training.experiments.experiment import Experiment, LabeledRun, Scale
from training.experiments.lra.accuracy import choices, shallow
from training.experiments.lra.arms import Arms
from training.experiments.lra.power import Recipes
from training.experiments.record import csv_bytes
from training.experiments.toy_fig5 import initial_model
from training.model.network import SequenceModel
from training.probes.network import attention_measures, displacement_measures, positional_maps, random_displacement
from training.probes.patterns import alignment
from training.probes.predicted import predicted_patterns
from training.randomness import generator
from training.recipes.catalogue import ABLATED
from training.records import RunRecord

NAME = "lra-probes"
PROBES = "probes.csv"
INITIALISATIONS = ("tied", "independent")
_TRAINED = ("scratch", "spt-finetune")
_FRONT = ("dataset", "condition", "scheme", "seed")

Patterns = Mapping[str, Float[Tensor, "tokens tokens"]]


def runs(scale: Scale) -> list[LabeledRun]:
    """Self-pretraining, scratch and finetuning of every seed, from tied and from independent initial weights."""
    return [
        LabeledRun(f"{dataset} {arm} {scheme}", recipe.value("label_rate"), seed, config)
        for dataset in ABLATED
        for recipe in (shallow(dataset, scale),)
        for scheme in INITIALISATIONS
        for seed in recipe.seeds
        for arms in (Arms(recipe, seed, {"scheme": scheme}),)
        for arm, config in (("spt", arms.spt()), *((name, arms.run(name)) for name in _TRAINED))
    ]


def tables(scale: Scale, labeled: Sequence[LabeledRun], records: Sequence[RunRecord]) -> Mapping[str, bytes]:
    """probes.csv and the choices."""
    return probe_tables(lambda scale: [shallow(dataset, scale) for dataset in ABLATED], scale, labeled, records)


def probe_tables(
    recipes: Recipes, scale: Scale, labeled: Sequence[LabeledRun], records: Sequence[RunRecord]
) -> Mapping[str, bytes]:
    """probes.csv of the seeds whose three runs are there, and the choices; arms named without a scheme are tied."""
    found: dict[tuple[str, str, int], dict[str, RunRecord]] = {}
    for run, record in zip(labeled, records, strict=True):
        dataset, arm, *scheme = run.condition.split(" ")
        found.setdefault((dataset, scheme[0] if scheme else INITIALISATIONS[0], run.seed), {})[arm] = record
    rows = [
        {"dataset": dataset, "scheme": scheme, "seed": seed} | row
        for (dataset, scheme, seed), of_seed in found.items()
        if of_seed.keys() >= {"spt", *_TRAINED}
        for row in _rows(of_seed, seed)
    ]
    if not rows:
        return {}
    table = polars.DataFrame(rows, infer_schema_length=None)
    files = choices(recipes, scale, labeled, records)
    return {**files, PROBES: csv_bytes(table.select(*_FRONT, polars.exclude(_FRONT)))}


def _rows(of_seed: Mapping[str, RunRecord], seed: int) -> Iterator[dict[str, Any]]:
    spt = of_seed["spt"]
    config, data = spt.config, load_data(spt.config.task)
    ratio = getattr(config.stage, "mask_ratio", 0.5)
    patterns = predicted_patterns(data.unlabeled, config.model.width, ratio, seed, normalise=config.model.normalise)
    length = data.unlabeled.tokens.shape[1]
    random, pretrained = initial_model(spt), spt.model()
    yield {"condition": "random"} | _measures(random, random, patterns, length)
    yield {"condition": "moved"} | _moved(random, patterns, length, seed)
    for name, start, end in (
        ("spt", random, pretrained),
        ("scratch", random, of_seed["scratch"].model()),
        ("spt-finetune", pretrained, of_seed["spt-finetune"].model()),
    ):
        yield {"condition": name} | _measures(start, end, patterns, length)


def _measures(start: SequenceModel, end: SequenceModel, patterns: Patterns, length: int) -> dict[str, float]:
    scores, attention = positional_maps(end, length)
    moved = scores - positional_maps(start, length)[0]
    row = attention_measures(attention) | displacement_measures(moved)
    row |= {f"align_{name}": alignment(moved.mean(0), pattern) for name, pattern in patterns.items()}
    return row | {f"scores_align_{name}": alignment(scores.mean(0), pattern) for name, pattern in patterns.items()}


def _moved(start: SequenceModel, patterns: Patterns, length: int, seed: int) -> dict[str, float]:
    moved = random_displacement(start, length, generator(seed, "random displacement"))
    row = displacement_measures(moved)
    return row | {f"align_{name}": alignment(moved.mean(0), pattern) for name, pattern in patterns.items()}


PROBES_OF_LRA = Experiment(
    name=NAME,
    title="one block: what labels and self-pretraining move in the scores, against the theory",
    place="Sections 4.2 and 5, on Image and PathFinder",
    runs=runs,
    costs={"smoke": "20 s", "laptop": "2 h", "paper": "GPU days"},
    shown=("final_test_accuracy", "final_validation_loss"),
    tables=tables,
    keeps_curves=False,
)
