"""Tables 1, 2, 3, 4, 5, 7, 8 and 9: accuracy by arm, on as many data sets as the paper has.

Every record also holds ``choices.csv``: each value of each recipe with its source and with what other sources say.
At laptop scale the networks have one block, so that Tables 1, 2, 4 and 9 share their runs; "deep" is two blocks there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import polars

from training.experiments.experiment import Experiment, LabeledRun, Runs, Scale
from training.experiments.lra.arms import FROZEN, WRITTEN, Arms, labeled
from training.experiments.lra.power import Recipes, power_statement
from training.experiments.lra.swap import swapped
from training.experiments.record import csv_bytes
from training.recipes.catalogue import ABLATED, DATASETS, recipe
from training.recipes.recipe import Choice, Recipe
from training.records import RunRecord

CHOICES = "choices.csv"
SHOWN = ("peak_test_accuracy", "final_test_accuracy", "final_train_accuracy")

TABLE_1_ARMS = ("scratch", "scratch-matched", "spt-finetune")
TABLE_2_ARMS = ("scratch", *FROZEN)
TABLE_3_ARMS = (
    "scratch", "spt-finetune", "attention", "attention+norms", "attention+encoder", "attention+norms+encoder",
    "attention+mlp", "mlp+norms+encoder",
)  # fmt: skip
#: The paper's arms, from tied weights as in its code and, in table4-ours, from independent ones.
TABLE_4_ARMS = ("scratch", "spt-finetune", "qk", "all-but-qk")
#: What the paper does not have: equal compute, and attention written without training.
OUR_ARMS = ("scratch", "spt-finetune", "scratch-matched", *WRITTEN)
TABLE_9_ARMS = (
    "scratch", "spt-finetune", "attention", "qk", "qk+encoder+norms", "attention+encoder+norms", "qk+norms",
    "encoder+attention+mlp", "attention+mlp+norms",
)  # fmt: skip
SCHEMES = ("sinusoidal", "alibi", "fire", "rope", "sinusoidal+alibi", "sinusoidal+fire", "rope+alibi")
#: Epochs of self-pretraining (Table 7 and Figure 3).
LENGTHS: dict[Scale, tuple[int, ...]] = {
    "smoke": (0, 1, 2),
    "laptop": (0, 1, 3, 10, 30),
    "paper": (0, 1, 10, 50, 100, 150, 200),
}
TABLE_7_DATASETS = ("listops", "image", "pathfinder")
#: Seeds at laptop scale of tables about which nothing is predicted: as many as two cores run in an hour or less.
SEEDS = {"table3": 1, "table5": 1, "table7": 2, "table8": 2, "table9": 2}
DEPTHS: dict[Scale, tuple[int, ...]] = {"smoke": (1, 2), "laptop": (1, 2), "paper": (1, 2, 3)}
_OTHER = {"image": "pathfinder", "pathfinder": "image"}


def shallow(dataset: str, scale: Scale) -> Recipe:
    """The recipe with one block (Tables 4 and 9, Figure 7)."""
    return recipe(dataset, scale).changed(layers=Choice(1, "paper, section 3.4"))


def deep(dataset: str, scale: Scale) -> Recipe:
    """The recipe with the paper's depth; with two blocks at smaller scales."""
    found = recipe(dataset, scale)
    return found if scale == "paper" else found.changed(layers=Choice(2, "ours: the least that is deep"))


def few(table: str, found: Recipe, scale: Scale) -> Recipe:
    """The recipe with the seeds that a table has at laptop scale."""
    cost = "ours: cost; fewer than 6 seeds decide nothing"
    return found.changed(seeds=Choice(SEEDS[table], cost)) if scale == "laptop" else found


def _of(make: Iterable[Recipe], arms: Sequence[str]) -> list[LabeledRun]:
    return [run for found in make for run in labeled(found, arms)]


def table_1(scale: Scale) -> list[LabeledRun]:
    """Scratch, scratch with equal compute, self-pretraining, on all tasks."""
    return _of((recipe(dataset, scale) for dataset in DATASETS), TABLE_1_ARMS)


def table_2(scale: Scale) -> list[LabeledRun]:
    """Labels alone with attention, or attention and MLP, left at random."""
    return _of((recipe(dataset, scale) for dataset in DATASETS), TABLE_2_ARMS)


def table_3(scale: Scale) -> list[LabeledRun]:
    """Deep networks of which a part starts from self-pretraining."""
    return _of((few("table3", deep(dataset, scale), scale) for dataset in ABLATED), TABLE_3_ARMS)


def table_4(scale: Scale) -> list[LabeledRun]:
    """One block: query and key alone, or everything else, from self-pretraining."""
    return _of((shallow(dataset, scale) for dataset in ABLATED), TABLE_4_ARMS)


def table_4_ours(scale: Scale) -> list[LabeledRun]:
    """The same network with equal compute, with attention written without training, and from independent weights."""
    recipes = [shallow(dataset, scale) for dataset in ABLATED]
    independent = (run for found in recipes for run in labeled(found, TABLE_4_ARMS, scheme="independent"))
    return [*_of(recipes, OUR_ARMS), *independent]


def table_5(scale: Scale) -> list[LabeledRun]:
    """Positional schemes, from scratch and after self-pretraining."""
    return [
        run
        for dataset in ABLATED
        for positions in SCHEMES
        for run in labeled(
            few("table5", recipe(dataset, scale), scale).changed(positions=Choice(positions, "paper, Table 5")),
            ("scratch", "spt-finetune"),
            prefix=f"{positions} ",
        )
    ]


def table_7(scale: Scale) -> list[LabeledRun]:
    """Labels after self-pretraining of growing length."""
    recipes = [few("table7", recipe(dataset, scale), scale) for dataset in TABLE_7_DATASETS]
    return [run for found in recipes for run in _lengths(found, LENGTHS[scale])]


def _lengths(found: Recipe, lengths: Iterable[int]) -> Iterator[LabeledRun]:
    for epochs in lengths:
        longer = found.changed(spt_epochs=Choice(epochs, "paper, Table 7")) if epochs else found
        for seed in found.seeds:
            run = Arms(longer, seed).run("spt-finetune" if epochs else "scratch")
            yield LabeledRun(f"{found.dataset} spt-{epochs}", found.value("label_rate"), seed, run)


def table_8(scale: Scale) -> list[LabeledRun]:
    """Depth, and self-pretraining on the other data set."""
    return [run for dataset in ABLATED for layers in DEPTHS[scale] for run in _depth(dataset, scale, layers)]


def _depth(dataset: str, scale: Scale, layers: int) -> Iterator[LabeledRun]:
    target, deepest = few("table8", recipe(dataset, scale), scale), max(DEPTHS[scale])
    if not (scale == "paper" and layers == deepest):  # the paper's deepest column is each task's own depth, 3 or 4
        target = target.changed(layers=Choice(layers, "paper, Table 8"))
    layers = target.value("layers")
    yield from labeled(target, ("scratch", "spt-finetune"), prefix=f"{layers}-layer ")
    for seed in target.seeds:
        run = swapped(target, recipe(_OTHER[dataset], scale), seed)
        yield LabeledRun(f"{dataset} {layers}-layer swapped", target.value("label_rate"), seed, run)


def table_9(scale: Scale) -> list[LabeledRun]:
    """One block: which parts of self-pretraining carry its gain."""
    return _of((few("table9", shallow(dataset, scale), scale) for dataset in ABLATED), TABLE_9_ARMS)


def choices(
    recipes: Recipes, scale: Scale, labeled: Sequence[LabeledRun], records: Sequence[RunRecord]
) -> Mapping[str, bytes]:
    """The recipes of the data sets that were run."""
    there = {run.condition.partition(" ")[0] for run in labeled}
    rows = [row for found in recipes(scale) if found.dataset in there for row in found.rows()]
    return {CHOICES: csv_bytes(polars.DataFrame(rows))} if rows else {}


def _recipes(make: Callable[[str, Scale], Recipe], datasets: Sequence[str], table: str = "") -> Recipes:
    def recipes(scale: Scale) -> list[Recipe]:
        found = [make(dataset, scale) for dataset in datasets]
        return [few(table, one, scale) for one in found] if table else found

    return recipes


def _table(name: str, title: str, make: Runs, recipes: Recipes, laptop: str) -> Experiment:
    number = name.removeprefix("table").partition("-")[0]
    return Experiment(
        name=name,
        title=title,
        place=f"Table {number}",
        runs=make,
        costs={"smoke": "1 min", "laptop": laptop, "paper": "GPU days"},
        shown=SHOWN,
        tables=partial(choices, recipes),
        statement=partial(power_statement, recipes),
    )


_EVERY, _SHALLOW = _recipes(recipe, DATASETS), _recipes(shallow, ABLATED)
TABLES = (
    _table("table1", "LRA: labels alone, with equal compute, after self-pretraining", table_1, _EVERY, "2 h"),
    _table("table2", "LRA: attention, or attention and MLP, frozen at random", table_2, _EVERY, "90 min"),
    _table("table3", "deep networks, parts of self-pretraining", table_3, _recipes(deep, ABLATED, "table3"), "50 min"),
    _table("table4", "one block: query and key alone, or everything else", table_4, _SHALLOW, "100 min"),
    _table("table4-ours", "one block: equal compute, written attention, independent", table_4_ours, _SHALLOW, "4 h"),
    _table("table5", "positional schemes", table_5, _recipes(recipe, ABLATED, "table5"), "50 min"),
    _table("table7", "length of self-pretraining", table_7, _recipes(recipe, TABLE_7_DATASETS, "table7"), "45 min"),
    _table(
        "table8", "depth, and self-pretraining on the other data set", table_8, _recipes(recipe, ABLATED, "table8"),
        "60 min",
    ),
    _table(
        "table9", "one block: which parts carry the gain", table_9, _recipes(shallow, ABLATED, "table9"), "55 min"
    ),
)  # fmt: skip
