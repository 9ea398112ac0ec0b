"""Records of the Long-Range Arena with made-up numbers, laid out as training writes them; nothing is trained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.paper_figures.made_records import Row, csv, npz, put, softmax
from training.experiments.catalogue import find_experiment
from training.experiments.lra import whole_image
from training.recipes.catalogue import recipe

SEEDS = range(6)
ACCURACY_TABLES = (
    "table1", "table2", "table3", "table4", "table4-ours", "table5", "table7", "table8", "table9",
)  # fmt: skip
SIDE = 5
PAIRS = ("R>SPT", "R>SC", "SPT>FT", "SC>FT", "R>FT")


def accuracy(condition: str, seed: int) -> float:
    """A made-up accuracy that depends on the condition and a little on the seed."""
    spread = sum(condition.encode()) % 97 / 400
    return round(0.4 + spread + 0.003 * ((seed * (3 + len(condition))) % 7), 4)


def accuracy_rows(name: str, scale: str, tasks: Sequence[str]) -> list[Row]:
    """The runs table of an experiment, with seeds of its own."""
    runs = find_experiment(name).runs(scale)  # type: ignore[arg-type]
    rows = []
    for condition in dict.fromkeys(run.condition for run in runs):
        if condition.split()[0] not in tasks:
            continue
        for seed in SEEDS:
            value = accuracy(condition, seed)
            stuck = "stuck-at-chance" if "frozen" in condition and seed == 0 else ""
            row: Row = {"condition": condition, "learning_rate": 0.001, "seed": seed, "id": f"{condition}-{seed}"}
            row |= {"state": "finished", "warnings": stuck}
            row |= {"peak_test_accuracy": value, "final_test_accuracy": round(value - 0.02, 4)}
            row |= {"peak_train_accuracy": round(value + 0.1, 4), "final_train_accuracy": round(value + 0.09, 4)}
            rows.append(row)
    return rows


def choices(scale: str, tasks: Sequence[str]) -> bytes:
    known = {found.dataset: found for found in whole_image.recipes(scale)}  # type: ignore[arg-type]
    found = [known.get(task) or recipe(task, scale) for task in tasks]  # type: ignore[arg-type]
    return csv([row | _quoted(row) for one in found for row in one.rows()])


def _quoted(row: dict[str, str]) -> dict[str, str]:
    return {name: f'"{value}"' for name, value in row.items() if "," in value}


def put_table(
    folder: Path,
    name: str,
    scale: str = "laptop",
    tasks: Sequence[str] = ("listops", "image", "pathfinder", "retrieval", "text"),
    without: Sequence[str] = (),
    **changes: Any,
) -> None:
    """A record of an accuracy table on some tasks, without some conditions."""
    rows = [row for row in accuracy_rows(name, scale, tasks) if row["condition"] not in without]
    there = list(dict.fromkeys(row["condition"].split()[0] for row in rows))
    ids = {
        run.config.id: "0" * 64
        for run in find_experiment(name).runs(scale)  # type: ignore[arg-type]
        if run.condition.split()[0] in there and run.condition not in without
    }
    put(folder, name, {"runs.csv": csv(rows), "choices.csv": choices(scale, there)}, scale, **({"runs": ids} | changes))


def put_weights(folder: Path, name: str, task: str, scale: str = "laptop") -> None:
    """A record of displacements and norms of a one-layer network."""
    rows = []
    for seed in SEEDS:
        for number, pair in enumerate(PAIRS):
            for layer, component in (
                ("", "encoder"), ("0", "query"), ("0", "key"), ("0", "value"), ("0", "output"), ("0", "mlp"),
                ("0", "norms"), ("", "norms"),
            ):  # fmt: skip
                start, moved = 4.0 + 0.01 * seed, 2.0 + number + 0.1 * seed + 0.2 * len(component)
                row: Row = {"pair": pair, "learning_rate": 0.001, "seed": seed, "layer": layer, "component": component}
                rows.append(row | {"displacement": moved, "norm_start": start, "norm_end": round(start + moved / 2, 4)})
    runs = [
        {"condition": f"{task} {arm}", "learning_rate": 0.001, "seed": seed}
        for arm in ("spt", "scratch")
        for seed in SEEDS
    ]
    put(folder, name, {"runs.csv": csv(runs), "weights.csv": csv(rows), "choices.csv": choices(scale, [task])}, scale)


def maps(random: np.random.Generator, task: str) -> dict[str, np.ndarray]:
    """Maps of a task whose scores fall off with the distance, with some noise."""
    at = np.arange(SIDE * SIDE)
    scores = -0.5 * np.abs(at[:, None] - at) + random.normal(size=(len(at), len(at)))
    return {
        f"{task}-scores": scores.astype(np.float16),
        f"{task}-attention": softmax(scores).astype(np.float16),
        f"{task}-positions-scores": (-0.5 * np.abs(at[:, None] - at)).astype(np.float16),
    }


def put_maps(folder: Path, tasks: Sequence[str] = ("image", "pathfinder", "image32"), scale: str = "laptop") -> None:
    random = np.random.default_rng(7)
    arrays = {name: values for task in tasks for name, values in maps(random, task).items()}
    runs = [{"condition": f"{task} spt", "learning_rate": 0.001, "seed": 0} for task in tasks]
    ids = {
        run.config.id: "0" * 64
        for run in find_experiment("fig7").runs(scale)  # type: ignore[arg-type]
        if run.condition.split()[0] in tasks
    }
    files = {
        "runs.csv": csv(runs),
        "maps.npz": npz(arrays),
        "choices.csv": choices(scale, tasks),
    }
    put(folder, "fig7", files, scale, runs=ids)


def put_lra(folder: Path, scale: str = "laptop") -> None:
    """A record of every experiment, all tasks there."""
    for name in ACCURACY_TABLES:
        put_table(folder, name, scale)
    put_table(folder, whole_image.NAME, scale, [whole_image.DATASET])
    put_weights(folder, "table10", "image", scale)
    put_weights(folder, "table11", "pathfinder", scale)
    put_maps(folder, scale=scale)
