"""Every item of the paper in the README's table of claims: what stands in its row, in the paper's order."""

from __future__ import annotations

from paper_figures.claims import (
    SHORT,
    VERIFY,
    Item,
    accuracy_item,
    fixed_item,
    predicted_item,
    theory_item,
    weights_item,
    words_of,
)
from paper_figures.lra import TASKS, WHOLE
from paper_figures.table01 import TABLE_1
from paper_figures.table02 import TABLE_2
from paper_figures.table03 import TABLE_3
from paper_figures.table04 import TABLE_4
from paper_figures.table05 import TABLE_5
from paper_figures.table07 import TABLE_7
from paper_figures.table08 import TABLE_8
from paper_figures.table09 import TABLE_9


def items() -> tuple[Item, ...]:
    """Every item of the paper, in its order: theory, tables, figures."""
    both = ("image", "pathfinder")
    return (
        theory_item("P1", "Proposition 1"),
        theory_item("P1-diag", "diagonal variant (appendix D)"),
        accuracy_item(TABLE_1, "gain of SPT", {f"{task} spt-finetune": SHORT[task] for task in TABLE_1.tasks}),
        accuracy_item(TABLE_2, "frozen attention", {f"{task} attention-frozen": SHORT[task] for task in TABLE_2.tasks}),
        accuracy_item(
            TABLE_3, "gain by SPT in a part",
            {f"{task} {arm}": f"{SHORT[task]} {words}" for task in both
             for arm, words in (("attention", "attention"), ("spt-finetune", "all"))},
        ),
        accuracy_item(
            TABLE_4, "one layer, gain by SPT",
            {f"{task} {arm}": f"{SHORT[task]} {words}" for task in both
             for arm, words in (("qk", "in Q, K"), ("all-but-qk", "in all else"))}
            | {f"{WHOLE} qk": f"{SHORT[WHOLE]} in Q, K"},
        ),
        accuracy_item(
            TABLE_5, "gain of SPT",
            {f"{task} {positions} spt-finetune": f"{SHORT[task]} {words}" for task in both
             for positions, words in (("sinusoidal", "PE"), ("alibi", "ALiBi"))},
        ),
        predicted_item(
            "Table 6", words_of("table06", "average"),
            {"table6-average": "gain", "table6-over-matched": "over as many updates"},
        ),
        accuracy_item(
            TABLE_7, "gain by epochs of SPT",
            {f"{task} spt-{epochs}": f"{SHORT[task]} {epochs}" for task in TABLE_7.tasks for epochs in (1, 10)},
        ),
        accuracy_item(
            TABLE_8, "gain, 2 layers, held-out",
            {f"{task} 2-layer {kind} val": f"{SHORT[task]} {words}" for task in both
             for kind, words in (("spt-finetune", "SPT"), ("swapped", "other set"))},
        ),
        accuracy_item(
            TABLE_9, "one layer, gain by SPT",
            {f"{task} {arm}": f"{SHORT[task]} {words}" for task in both
             for arm, words in (("qk", "in Q, K"), ("qk+norms", "in Q, K, norms"))},
        ),
        weights_item("image"),
        weights_item("pathfinder"),
        fixed_item("Figure 3", "Tables 7 and 8 drawn", "`python -m paper_figures make fig03`", "see Tables 7 and 8"),
        predicted_item(
            "Figure 4", words_of("fig04", "peak-train-gain", "peak-test-gain"),
            {"peak-train-gain": "train", "peak-test-gain": "test"},
        ),
        predicted_item(
            "Figure 5", words_of("fig05", "spt"),
            {"spt-attention-is-proximal": "mass near, SPT", "label-attention-is-not-proximal": "mass near, labels"},
        ),
        predicted_item(
            "Figure 6", lambda: "marginal law of W_Q stays close to the initial one",
            {"query-law-stays": "ratio of deviations"},
        ),
        predicted_item(
            "Figure 7", words_of("fig07", "diagonal"),
            {"image-spt-proximity": "Image, distance: labels − SPT",
             f"{WHOLE}-spt-proximity": f"{TASKS[WHOLE]}, the same"},
        ),
        fixed_item("Figure 8", "lost in our copy: no caption, no number", "not drawn", "–"),
        fixed_item("Figure 9", "Tables 10 and 11 drawn", "`python -m paper_figures make fig09`", "see these"),
        fixed_item("Figure 10", "the toy task", "`python -m paper_figures make fig10`", "our reconstruction drawn"),
        predicted_item("Figure 11", lambda: "SPT converges faster", {"spt-converges-faster": "epochs saved"}),
        predicted_item("Figure 12", lambda: "as Figure 6", {"query-law-stays": "ratio of deviations"}),
        predicted_item(
            "Figure 13", lambda: "another budget of epochs", {"gain-at-another-budget": "gain, twice the epochs"}
        ),
        fixed_item(
            "Figure 14", "losses along a locality pattern as Proposition 1 says",
            "so for the pattern projected onto the blind set; the raw −\\|i−j\\| is not blind".replace("\\|", "∣"),
            f"verified by `{VERIFY}`",
        ),
    )  # fmt: skip
