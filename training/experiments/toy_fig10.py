"""Figure 10: example trajectories of both labels.  Nothing is trained.

examples.csv: label, example, position, x, y (as the network sees them) and clean_x, clean_y (the same trajectory
without noise and outliers).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars
import torch

from training.data.trajectory import TrajectoryTask
from training.experiments.experiment import Experiment, LabeledRun, Scale
from training.experiments.record import csv_bytes
from training.randomness import generator
from training.records import RunRecord

EXAMPLES = 4


def tables(scale: Scale, labeled: Sequence[LabeledRun], records: Sequence[RunRecord]) -> Mapping[str, bytes]:
    """Four trajectories of each label; the draws of noise and orbit are the same with and without noise."""
    task = TrajectoryTask()
    labels = torch.arange(2 * EXAMPLES) % 2
    noisy = task.trajectories(labels, generator(task.seed, "trajectory", "examples"))
    quiet = replace(task, noise=0.0, outlier_deviation=0.0)
    clean = quiet.trajectories(labels, generator(task.seed, "trajectory", "examples"))
    rows = [
        {
            "label": int(labels[n]),
            "example": n // 2,
            "position": position,
            "x": float(noisy[n, position, 0]),
            "y": float(noisy[n, position, 1]),
            "clean_x": float(clean[n, position, 0]),
            "clean_y": float(clean[n, position, 1]),
        }
        for n in range(len(labels))
        for position in range(task.length)
    ]
    return {"examples.csv": csv_bytes(polars.DataFrame(rows))}


TOY_FIG10 = Experiment(
    name="toy-fig10",
    title="toy task: example trajectories of both labels",
    place="Figure 10",
    runs=lambda scale: [],
    costs={"smoke": "1 s", "laptop": "1 s", "paper": "1 s"},
    tables=tables,
)
