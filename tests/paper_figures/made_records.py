"""Records with made-up numbers, written as training writes them: an index with hashes, CSV and npz files."""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from training.experiments.catalogue import find_experiment

SEEDS = range(7)
RATES = (0.001, 0.01, 0.1)
EPOCHS = 4
TOKENS = 12
#: The seed whose run at the highest rate from labels alone diverged: its accuracies are not numbers, or absent.
DIVERGED = 5
STATES = ("initial", "spt", "finetuned", "scratch")

Row = dict[str, Any]


def put(folder: Path, name: str, files: Mapping[str, bytes], scale: str = "smoke", **changes: Any) -> Path:
    """Write a record; ``changes`` replace entries of its index."""
    kept = folder / f"{name}-{scale}"
    kept.mkdir(parents=True, exist_ok=True)
    for file, data in files.items():
        (kept / file).write_bytes(data)
    settings = {"task": {"label_flip": 0.15}, "stage": {"epochs": 40}, "initial": {"scale": 0.2}}
    index = {
        "schema_version": 1,
        "name": name,
        "scale": scale,
        "runs": {run.config.id: "0" * 64 for run in find_experiment(name).runs(scale)},  # type: ignore[arg-type]
        "example_config": settings,
        "environment": {"revision": "made up"},
        "files": {file: hashlib.sha256(data).hexdigest() for file, data in files.items()},
    }
    (kept / "experiment.json").write_text(json.dumps(index | changes))
    return kept


def csv(rows: Iterable[Row]) -> bytes:
    """Rows as CSV; None is an empty cell."""
    listed = list(rows)
    names = list(dict.fromkeys(name for row in listed for name in row))
    lines = [",".join(names)]
    lines += [",".join("" if row.get(name) is None else str(row[name]) for name in names) for row in listed]
    return ("\n".join(lines) + "\n").encode()


def npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def runs(random: np.random.Generator) -> list[Row]:
    """The runs table of an experiment over rates."""
    rows = []
    for condition in ("scratch", "spt-finetune"):
        for rate in RATES:
            for seed in SEEDS:
                diverged = (condition, rate, seed) == ("scratch", RATES[-1], DIVERGED)
                row: Row = {"condition": condition, "learning_rate": rate, "seed": seed}
                row["state"] = "diverged" if diverged else "finished"
                for value in ("train_accuracy", "test_accuracy"):
                    final = round(float(random.uniform(0.5, 0.9)), 4)
                    row[f"final_{value}"] = "NaN" if diverged else final
                    row[f"peak_{value}"] = None if diverged else round(final + 0.05, 4)
                row["final_train_loss"] = "NaN" if diverged else round(float(random.uniform(0.1, 0.7)), 4)
                rows.append(row)
    return rows


def epochs(random: np.random.Generator) -> list[Row]:
    """Curves of the same runs; the diverged one ends early."""
    rows = []
    for row in runs(random):
        last = 2 if row["state"] == "diverged" else EPOCHS
        for epoch in range(last + 1):
            labels = {name: row[name] for name in ("condition", "learning_rate", "seed")}
            loss = math.log(2) if epoch == 0 else round(float(random.uniform(0.1, 2.0)), 4)
            rows.append(
                labels | {"epoch": epoch, "train_loss": loss, "test_accuracy": round(float(random.random()), 4)}
            )
    return rows


def attention(random: np.random.Generator, states: Sequence[str]) -> list[Row]:
    measures = ("mean_distance", "mass_near", "entropy")
    return [
        {"state": state, "seed": seed} | {name: round(float(random.uniform(0.1, 5)), 4) for name in measures}
        for state in states
        for seed in SEEDS
    ]


def softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def figure_5(random: np.random.Generator) -> dict[str, bytes]:
    losses = [
        {"stage": stage, "step": step, "mean": 0.6 / step, "least": 0.5 / step, "greatest": 0.7 / step}
        for stage in ("spt", "scratch", "spt-finetune")
        for step in (1, 2, 3)
    ]
    maps = {
        f"{state}-{kind}": softmax(random.normal(size=(TOKENS, TOKENS))).astype(np.float16)
        for state in STATES
        for kind in ("one", "mean")
    }
    rates = [{"learning_rate": rate, "gap": 0.2 - rate, "chosen": str(rate == RATES[0]).lower()} for rate in RATES]
    files = {"losses.csv": csv(losses), "rate.csv": csv(rates), "attention.csv": csv(attention(random, STATES))}
    return {**files, "attention.npz": npz(maps)}


def figure_6(random: np.random.Generator) -> dict[str, bytes]:
    arrays = {"positions": random.normal(size=(TOKENS, 8)).astype(np.float16)}
    bins, moments = [], []
    for state in STATES[:2]:
        for name, shape in {"query": 8, "key": 8, "product": 8, "scores": TOKENS, "attention": TOKENS}.items():
            matrix = random.normal(size=(shape, shape))
            for ending in ("", "-mean") if shape == TOKENS else ("",):
                values = softmax(matrix) if name == "attention" else matrix
                arrays[f"{state}-{name}{ending}"] = values.astype(np.float16)
        for name in ("query", "key", "product"):
            bins += [
                {"state": state, "matrix": name, "low": low, "high": low + 1, "count": int(random.integers(1, 99))}
                for low in (-2, -1, 0, 1)
            ]
            moments += [
                {"state": state, "matrix": name, "seed": seed}
                | {value: round(float(random.uniform(0.1, 3)), 4) for value in ("deviation", "excess_kurtosis")}
                for seed in SEEDS
            ]
    files = {"histograms.csv": csv(bins), "moments.csv": csv(moments)}
    return {**files, "attention.csv": csv(attention(random, STATES[:2])), "components.npz": npz(arrays)}


def figure_10(random: np.random.Generator) -> dict[str, bytes]:
    """Ellipses of amplitude .2 around the anchors of the paper, with noise of deviation .1."""
    anchors = (((0.66, 0.55), (-0.495, -0.605)), ((0.605, -0.55), (-0.55, 0.605)))
    rows = []
    for label, (one, other) in enumerate(np.array(anchors)):
        normal = np.array([one[1] - other[1], other[0] - one[0]]) / np.linalg.norm(one - other)
        for example in range(2):
            for position, angle in enumerate(np.linspace(0, 2 * math.pi, 41)):
                clean = one + (other - one) * (1 - math.cos(angle)) / 2 + 0.2 * math.sin(angle) * normal
                seen = clean + random.normal(size=2) * 0.1
                place = {"label": label, "example": example, "position": position}
                rows.append(place | dict(zip(("x", "y", "clean_x", "clean_y"), (*seen, *clean), strict=True)))
    return {"examples.csv": csv(rows)}


def verdict(id: str, **changes: Any) -> Row:
    """A verdict as training writes it."""
    row = {
        "id": id, "table": "paper", "claims": ["paper: Figure 4"], "sentence": "It is so.", "measurement": "accuracy",
        "direction_or_margin": "mean over seeds > 0.1", "verdict": "confirmed", "suggestive": False, "effect": 0.3,
        "low": 0.2, "high": 0.4, "p_value": 0.01, "p_holm": 0.02, "seeds": 10, "minimum_detectable_effect": 0.1,
        "values": {}, "controls": {}, "reason": "", "command": "python -m training run toy --scale paper",
        "records": [],
    }  # fmt: skip
    return row | changes


def put_verdicts(folder: Path, *verdicts: Row, scale: str = "smoke", **changes: Any) -> None:
    content = {"schema_version": 1, "scale": scale, "verdicts": list(verdicts)} | changes
    (folder / "verdicts.json").write_text(json.dumps(content))


def put_everything(folder: Path) -> None:
    """One record of each experiment that is drawn, at smoke scale, and verdicts on some predictions."""
    random = np.random.default_rng(2605)
    put(folder, "toy-fig4", {"runs.csv": csv(runs(random)), "epochs.csv": csv(epochs(random))})
    put(folder, "toy-fig13", {"runs.csv": csv(runs(random))})
    put(folder, "toy-fig5", figure_5(random))
    put(folder, "toy-fig6", figure_6(random))
    put(folder, "toy-fig10", figure_10(random), example_config=None)
    digest = hashlib.sha256((folder / "toy-fig4-smoke" / "runs.csv").read_bytes()).hexdigest()
    rests = [{"path": "toy-fig4-smoke/runs.csv", "sha256": digest}]
    put_verdicts(
        folder,
        verdict("peak-train-gain", records=rests),
        verdict("peak-test-gain", verdict="contradicted", effect=-0.2, low=-0.3, high=-0.1, records=rests),
        verdict("unsure", verdict="inconclusive", suggestive=True, table="theory"),
        verdict("left-out", verdict="not run", effect=None, low=None, high=None, p_value=None, p_holm=None, seeds=0,
                minimum_detectable_effect=None),
    )  # fmt: skip
