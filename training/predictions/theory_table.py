"""What the theory predicts about trained scores (toy-probes).

Margins were fixed before the paper-scale runs, after the design trial (toy.md), three of its seeds and two seeds at
smoke scale had been looked at.

The theory speaks of the first step at uniform attention with scores that move freely; here W_Q and W_K move, by Adam,
for tens to thousands of steps.  So each of these can fail without a theorem being wrong.
"""

from __future__ import annotations

from training.predictions.measures import greatest, log_ratio, minus, probe
from training.predictions.prediction import Prediction
from training.probes.predicted import CONTROLS

#: The intermediate rate of Figure 4: labels learn the task from scratch, and self-pretraining used the same rate.
RATE = 3e-3
#: One epoch of self-pretraining is 364 steps; the design trial looked after 240.
EARLY, LABEL_STEPS = 240, 60

_PROBES = ("toy-probes/probes.csv",)


THEORY = (
    Prediction(
        id="labels-write-stripes",
        table="theory",
        claims=("G8", "N2", "Q1"),
        sentence="Labels move positional scores in vertical stripes, more than random moves of W_Q and W_K would.",
        measurement="stripe fraction of the displacement after scratch training, minus that of a random displacement",
        direction="greater",
        margin=0.2,
        sources=_PROBES,
        measure=minus(probe("scratch", "stripe_fraction", RATE), probe("random", "stripe_fraction")),
        controls={
            "labels": probe("scratch", "stripe_fraction", RATE),
            "random": probe("random", "stripe_fraction"),
            "SPT": probe("spt", "stripe_fraction"),
        },
    ),
    Prediction(
        id="labels-leave-blind-part",
        table="theory",
        claims=("P1", "G8"),
        sentence="Labels leave the blind part of the positional scores nearly alone.",
        measurement="blind energy of the displacement after scratch training",
        direction="equivalent",
        margin=0.1,
        sources=_PROBES,
        measure=probe("scratch", "blind_energy", RATE),
        controls={"random": probe("random", "blind_energy"), "on data": probe("scratch", "data_blind_energy", RATE)},
    ),
    Prediction(
        id="spt-moves-blind-part",
        table="theory",
        claims=("P1", "G8"),
        sentence="Self-pretraining moves scores in the blind directions that labels leave alone.",
        measurement="blind energy of the displacement, self-pretraining minus scratch",
        direction="greater",
        margin=0.3,
        sources=_PROBES,
        measure=minus(probe("spt", "blind_energy"), probe("scratch", "blind_energy", RATE)),
        controls={
            "SPT": probe("spt", "blind_energy"),
            "random": probe("random", "blind_energy"),
            "SPT on data": probe("spt", "data_blind_energy"),
        },
    ),
    Prediction(
        id="spt-blinder-than-random",
        table="theory",
        claims=("G8",),
        sentence="Early in self-pretraining the displacement is blinder than random moves of W_Q and W_K.",
        measurement=f"blind energy of the displacement after {EARLY} steps minus that of a random displacement",
        direction="greater",
        margin=0.0,
        sources=_PROBES,
        measure=minus(probe("spt", "blind_energy", step=EARLY), probe("random", "blind_energy")),
        controls={"at the end": minus(probe("spt", "blind_energy"), probe("random", "blind_energy"))},
    ),
    Prediction(
        id="labels-small-in-blind-part",
        table="theory",
        claims=("G8",),
        sentence="After equally many updates at one rate, labels have moved the blind part less than half as far as "
        "self-pretraining.",
        measurement=f"log10 of blind displacement, scratch over self-pretraining, both after {LABEL_STEPS} steps",
        direction="less",
        margin=-0.301,
        sources=_PROBES,
        measure=log_ratio(
            probe("scratch", "blind_size", RATE, LABEL_STEPS), probe("spt", "blind_size", step=LABEL_STEPS)
        ),
        controls={
            "whole displacement": log_ratio(
                probe("scratch", "size", RATE, LABEL_STEPS), probe("spt", "size", step=LABEL_STEPS)
            )
        },
    ),
    Prediction(
        id="matched-labels-write-stripes",
        table="theory",
        claims=("G8", "N2"),
        sentence="With as many updates as self-pretraining and finetuning together, labels still move scores less "
        "blindly than self-pretraining.",
        measurement="blind energy of the displacement, self-pretraining minus compute-matched scratch",
        direction="greater",
        margin=0.0,
        sources=_PROBES,
        measure=minus(probe("spt", "blind_energy"), probe("scratch-matched", "blind_energy")),
        controls={"matched scratch": probe("scratch-matched", "blind_energy")},
    ),
    Prediction(
        id="spt-aligns-with-q3",
        table="theory",
        claims=("Q3",),
        sentence="Self-pretraining writes the positional pattern K R J K that Q3 predicts from the data.",
        measurement=f"double-centred cosine of the displacement with K R J K after {EARLY} steps",
        direction="greater",
        margin=0.8,
        sources=_PROBES,
        measure=probe("spt", "align_masked", step=EARLY),
        controls={
            "unmasked": probe("spt", "align_unmasked", step=EARLY),
            **{name: probe("spt", f"align_{name}", step=EARLY) for name in CONTROLS},
            "random weights": probe("spt", "scores_align_masked", step=0),
            "at the end": probe("spt", "align_masked"),
            "labels": probe("scratch", "align_masked", RATE),
            "tied": probe("spt-tied", "align_masked"),
        },
    ),
    Prediction(
        id="q3-needs-the-data",
        table="theory",
        claims=("Q3",),
        sentence="The alignment with Q3 is not had without the data: patterns without C, with positions alone or with "
        "shuffled positions align less.",
        measurement="cosine with K R J K minus the best control, at the end of self-pretraining",
        direction="greater",
        margin=0.1,
        sources=_PROBES,
        measure=minus(probe("spt", "align_masked"), greatest(*(probe("spt", f"align_{name}") for name in CONTROLS))),
        controls={name: probe("spt", f"align_{name}") for name in CONTROLS},
    ),
    Prediction(
        id="q3-after-the-first-step",
        table="theory",
        claims=("Q3",),
        sentence="From small independent weights the pattern comes after the values have been learned, not at step 1.",
        measurement=f"cosine with K R J K after {EARLY} steps minus after one step",
        direction="greater",
        margin=0.3,
        sources=_PROBES,
        measure=minus(probe("spt", "align_masked", step=EARLY), probe("spt", "align_masked", step=1)),
        controls={"step 1": probe("spt", "align_masked", step=1)},
    ),
    Prediction(
        id="tied-weights-start-aligned",
        table="theory",
        claims=("Q3",),
        sentence="Tied initial query and key already align with the predicted pattern before any training.",
        measurement="cosine of the initial scores with K R J K, tied minus independent weights",
        direction="greater",
        margin=0.2,
        sources=_PROBES,
        measure=minus(probe("spt-tied", "scores_align_masked", step=0), probe("spt", "scores_align_masked", step=0)),
        controls={"tied": probe("spt-tied", "scores_align_masked", step=0)},
    ),
)
