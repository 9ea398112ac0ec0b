"""One block at the paper's length: images of 32 × 32 pixels, 1024 tokens, on few of them and with one head.

Table 4's three deciding arms, with what self-pretraining and labels move in the positional scores (``probes``, in
probes.csv).  At paper scale the whole Table 4 is at this length; its Image runs are the ones here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from training.data.image import ImageTask, image_source
from training.experiments.experiment import Experiment, LabeledRun, Scale
from training.experiments.lra.accuracy import SHOWN, shallow
from training.experiments.lra.arms import Arms
from training.experiments.lra.power import power_statement
from training.experiments.lra.probes import probe_tables
from training.recipes.recipe import Choice, Recipe
from training.records import RunRecord

NAME = "table4-whole"
DATASET = "image32"
ARMS = ("scratch", "spt-finetune", "qk")
_COST = "ours: 1024 tokens cost twelve times what 256 do"


def recipes(scale: Scale) -> list[Recipe]:
    """The recipe of Image with one block; at laptop scale on few whole images."""
    found = shallow("image", scale)
    if scale != "laptop":
        return [found]
    few = ImageTask(source=image_source(), train_limit=2000, validation_limit=200, test_limit=1000)
    lengths = {"heads": 1, "label_epochs": 10, "spt_epochs": 10, "looks": 2, "train_sample": 500}
    changed = found.changed(
        data=Choice("32 × 32 pixels, 2,000 training and 1,000 test images", _COST),
        **{name: Choice(value, _COST) for name, value in lengths.items()},
    )
    return [replace(changed, dataset=DATASET, task=few)]


def runs(scale: Scale) -> list[LabeledRun]:
    """Self-pretraining and the arms of every seed."""
    listed = []
    for found in recipes(scale):
        for seed in found.seeds:
            arms = Arms(found, seed)
            listed.append(LabeledRun(f"{found.dataset} spt", found.value("spt_rate"), seed, arms.spt()))
            rate = found.value("label_rate")
            listed += [LabeledRun(f"{found.dataset} {arm}", rate, seed, arms.run(arm)) for arm in ARMS]
    return listed


def tables(scale: Scale, labeled: Sequence[LabeledRun], records: Sequence[RunRecord]) -> Mapping[str, bytes]:
    """probes.csv and the choices."""
    return probe_tables(recipes, scale, labeled, records)


WHOLE_IMAGE = Experiment(
    name=NAME,
    title="one block at 1024 tokens: query and key alone, and positional scores",
    place="Table 4",
    runs=runs,
    costs={"smoke": "20 s", "laptop": "50 min", "paper": "GPU days"},
    shown=SHOWN,
    tables=tables,
    statement=partial(power_statement, recipes),
)
