"""Claims that the default setting may not show, judged under the free choices that the search pointed to.

``toy-conditions`` searches with 3 seeds (its numbers are printed and decide nothing); ``toy-conditions-fresh`` runs the
default and what was found on fresh seeds, and only that is judged here.
"""

from __future__ import annotations

from training.experiments.toy_conditions import CONFIRMED, MARGIN
from training.predictions.measures import claim_of_variant
from training.predictions.prediction import Prediction

_WORDS = {
    "peak-test": (
        "paper: Figure 4",
        "the best test accuracy is higher after self-pretraining",
        f"peak test accuracy at the best rate of each, self-pretrained minus scratch, minus {MARGIN:g}",
    ),
    "peak-train": (
        "paper: Figure 4",
        "the best train accuracy is higher after self-pretraining",
        f"peak train accuracy at the best rate of each, self-pretrained minus scratch, minus {MARGIN:g}",
    ),
    "qk-carries": (
        "paper: Table 4",
        "query and key alone carry at least half the gain",
        "final test accuracy where the gain is greatest: gain of qk-only minus half the gain of SPT",
    ),
}


def _prediction(variant: str, claim: str) -> Prediction:
    place, words, measurement = _WORDS[claim]
    return Prediction(
        id=f"{claim}[{variant}]",
        table="conditions",
        claims=(place,),
        sentence=f"With {variant}, {words}.",
        measurement=measurement,
        direction="greater",
        margin=0.0,
        sources=("toy-conditions-fresh/claims.csv",),
        measure=claim_of_variant(variant, claim),
    )


CONDITIONS = tuple(_prediction(variant, claim) for variant, trial in CONFIRMED.items() for claim in trial.claims)
