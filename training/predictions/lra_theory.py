"""What theory and audit say on the Long-Range Arena, at laptop scale: positional scores, and the order of tasks.

Margins were fixed before the runs; of Image at 1024 tokens one self-pretraining (two heads, Figure 7) was seen before.
"""

from __future__ import annotations

from scipy import stats

from training.data.ucr import PAPER_SETS
from training.experiments.comparisons import BySeed
from training.experiments.lra.audit import AUDIT
from training.experiments.lra.audit import NAME as AUDIT_NAME
from training.experiments.lra.probes import NAME as PROBES_NAME
from training.experiments.lra.probes import PROBES
from training.experiments.lra.whole_image import DATASET as WHOLE
from training.experiments.lra.whole_image import NAME as WHOLE_NAME
from training.predictions.lra import PEAK, REPORTED, TABLE_1, gain
from training.predictions.measures import greatest, minus, unique_by_seed
from training.predictions.prediction import Measure, Prediction, Records
from training.predictions.table06 import set_gain
from training.probes.predicted import CONTROLS

#: Where the probes of each data set are kept.
_PROBED = {"image": f"{PROBES_NAME}@laptop/{PROBES}", WHOLE: f"{WHOLE_NAME}@laptop/{PROBES}"}
_AUDIT = f"{AUDIT_NAME}@laptop/{AUDIT}"


def probe(condition: str, column: str, dataset: str = "image", scheme: str = "tied") -> Measure:
    """A column of the probes of Image."""

    def measure(records: Records) -> BySeed:
        rows = records.table(_PROBED[dataset])
        for name, wanted in (("dataset", dataset), ("condition", condition), ("scheme", scheme)):
            rows = rows.filter(rows[name] == wanted)
        return unique_by_seed(rows, column, f"{column} of {condition} on {dataset}, {scheme}")

    return measure


def _theory(dataset: str, length: str) -> tuple[Prediction, ...]:
    """What the theory says of positional scores, on one block."""

    def number(condition: str, column: str) -> Measure:
        return probe(condition, column, dataset)

    def predict(
        name: str, claims: tuple[str, ...], sentence: str, what: str, measure: Measure, **controls: Measure
    ) -> Prediction:
        return Prediction(
            id=f"{dataset}-{name}",
            table=f"theory on {dataset}, laptop scale",
            claims=claims,
            sentence=f"On image ({length} tokens) {sentence}",
            measurement=what,
            direction="greater",
            margin=0.0,
            sources=(_PROBED[dataset],),
            measure=measure,
            controls=controls,
        )

    stripes, distance = "stripe_fraction", "mean_distance"
    aligned = {name: number("spt", f"align_{name}") for name in CONTROLS}
    return (
        predict(
            "labels-stripes", ("G8", "N2", "Q1"),
            "labels move positional scores more in vertical stripes than self-pretraining does.",
            "stripe fraction of the displacement, scratch minus self-pretraining",
            minus(number("scratch", stripes), number("spt", stripes)),
            labels=number("scratch", stripes), spt=number("spt", stripes), moved=number("moved", stripes),
        ),
        predict(
            "spt-writes-q3", ("Q3",),
            "self-pretraining moves positional scores along Q3's pattern more than along every control.",
            "double-centred cosine with K R J K minus the greatest of the controls'",
            minus(number("spt", "align_masked"), greatest(*aligned.values())),
            q3=number("spt", "align_masked"), unmasked=number("spt", "align_unmasked"), **aligned,
        ),
        predict(
            "spt-proximity", ("paper: Figure 7",),
            "attention without content is nearer after self-pretraining than after labels alone.",
            "mean distance of positional attention, scratch minus self-pretraining",
            minus(number("scratch", distance), number("spt", distance)),
            random=number("random", distance), labels=number("scratch", distance), spt=number("spt", distance),
        ),
    )  # fmt: skip


def audit_order(number: str = "order_strength") -> Measure:
    """Spearman's rank correlation, within seeds, of a number of the audit with the gain of self-pretraining.

    Over the tasks of Table 1 at laptop scale and the UCR sets of Table 6 at paper scale.
    """

    def measure(records: Records) -> BySeed:
        rows = records.table(_AUDIT)
        said = dict(rows.filter(rows["name"] == number).select("dataset", "value").iter_rows())
        gains = {name: gain(TABLE_1, name, "spt-finetune")(records) for name in REPORTED}
        gains |= {name: set_gain(name, PEAK)(records) for name in PAPER_SETS}
        sets = sorted(set(said) & set(gains))
        seeds = set.intersection(*(set(gains[name]) for name in sets))
        numbers = [said[name] for name in sets]
        return {
            seed: float(stats.spearmanr(numbers, [gains[name][seed] for name in sets]).statistic)
            for seed in sorted(seeds)
        }

    return measure


AUDIT_ORDER = Prediction(
    id="audit-orders-sets",
    table="audit",
    claims=("ours: the audit",),
    sentence="The audit's order strength ranks four LRA tasks and four UCR sets by what self-pretraining adds.",
    measurement="Spearman's correlation over eight data sets, within seeds; seeds say nothing about other sets",
    direction="greater",
    margin=0.0,
    sources=(_AUDIT, f"{TABLE_1}/runs.csv", "table6@paper/runs.csv"),
    measure=audit_order(),
    controls={"masked slope": audit_order("spt_slope_masked_signal_to_noise")},
)

LRA_THEORY = (*_theory("image", "256"), *_theory(WHOLE, "1024"), AUDIT_ORDER)
