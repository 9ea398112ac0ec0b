"""Figure 7: scores and attention of a one-block network after self-pretraining, on one example and without content.

maps.npz  "<dataset>-scores", "<dataset>-attention" (mean over heads, on the first test sequence of seed 0),
          "<dataset>-positions-scores" (content zero); above 256 tokens each entry is the mean of a square block

Laptop scale adds ``image32``: the paper's 1024 pixels on a subset of the images (``whole_image``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from training.execute import load_data
from training.experiments.experiment import Experiment, LabeledRun, Scale
from training.experiments.lra import whole_image
from training.experiments.lra.accuracy import choices, shallow
from training.experiments.lra.arms import Arms
from training.experiments.partial import dataset_of
from training.experiments.record import npz_bytes
from training.probes.network import data_maps, positional_maps
from training.recipes.catalogue import ABLATED
from training.recipes.recipe import Recipe
from training.records import RunRecord

MAPS = "maps.npz"


#: Entries of a side of a map at most: enough to look at, small enough to keep.
_SIDE = 256


def recipes(scale: Scale) -> list[Recipe]:
    """One block on each data set; at laptop scale also on whole images."""
    found = [shallow(dataset, scale) for dataset in ABLATED]
    return [*found, *whole_image.recipes(scale)] if scale == "laptop" else found


def runs(scale: Scale) -> list[LabeledRun]:
    """Self-pretraining of seed 0, which Table 4 and table4-whole have too."""
    return [
        LabeledRun(f"{found.dataset} spt", found.value("spt_rate"), 0, Arms(found, 0).spt()) for found in recipes(scale)
    ]


def tables(scale: Scale, labeled: Sequence[LabeledRun], records: Sequence[RunRecord]) -> Mapping[str, bytes]:
    """maps.npz and the choices."""
    maps: dict[str, np.ndarray] = {}
    for run, record in zip(labeled, records, strict=True):
        example = load_data(run.config.task).test.subset(1)
        network = record.model()
        scores, attention = data_maps(network, example)
        dataset = dataset_of(run)
        maps[f"{dataset}-scores"] = _mean(scores[0])
        maps[f"{dataset}-attention"] = _mean(attention[0])
        maps[f"{dataset}-positions-scores"] = _mean(positional_maps(network, scores.shape[-1])[0])
    files = choices(recipes, scale, labeled, records)
    return {**files, MAPS: npz_bytes(maps)} if maps else {}


def _mean(heads: Tensor) -> np.ndarray:
    """Mean over heads (and over blocks, above ``_SIDE`` tokens), in half precision: looked at, not computed with."""
    block = max(1, heads.shape[-1] // _SIDE)
    return F.avg_pool2d(heads.mean(0)[None], block)[0].numpy().astype(np.float16)


FIGURE_7 = Experiment(
    name="fig7",
    title="scores and attention after self-pretraining, one block",
    place="Figure 7",
    runs=runs,
    costs={"smoke": "10 s", "laptop": "2 min", "paper": "GPU hours"},
    shown=("final_validation_loss",),
    tables=tables,
)
