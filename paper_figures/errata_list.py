"""The errata themselves: each with its place, what is printed, what it should be, and how we know.

Numbers come from ``reported/`` by ``errata_arithmetic`` and ``errata_weights``.  Checked by
``tests/paper_figures/test_errata.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from paper_figures import weights
from paper_figures.errata_arithmetic import (
    CERTAIN,
    REPEATED,
    ROUNDING,
    SOURCES,
    WORDS,
    Erratum,
    accuracy_of,
    unequal_repeats,
    wrong_gains,
)
from paper_figures.errata_weights import (
    averages,
    chance_of_equal_norms,
    equal_norms,
    farther_from_labels,
    feedforward_norm,
    mean_norm,
)
from paper_figures.fig09 import mlp_over_attention
from paper_figures.lra import TASKS
from paper_figures.reported import reported

#: Width of the networks in Tables 10 and 11 (norms of the LayerNorms at initialisation: 8.00 and 11.31 are its roots).
WIDTHS = {"image": 64, "pathfinder": 128}


def errata() -> tuple[Erratum, ...]:
    """Everything found, in the order of certainty."""
    found = [
        *wrong_gains(),
        *unequal_repeats(),
        *_against_text(),
        *_deviations(),
        *_weights(),
        *_averages(),
        *_unsaid(),
    ]
    order = (CERTAIN, WORDS, REPEATED, SOURCES, ROUNDING)
    return tuple(sorted(found, key=lambda one: order.index(one.kind)))


def _against_text() -> Iterator[Erratum]:
    said, table4, table8, table9 = (reported(name) for name in ("statements", "table04", "table08", "table09"))
    for task, id in (("image", "one-layer-cifar"), ("pathfinder", "one-layer-pathfinder")):
        one, other = (accuracy_of(table4[f"{task} {arm}"]).value for arm in ("spt-finetune", "scratch"))
        printed = table8[f"{task} 1-layer spt-finetune val"].says.partition("(")[2].removesuffix(")")
        yield Erratum(
            f"{said[id].where}: {said[id].means}",
            said[id].says,
            f"{100 * (one - other):.0f} %",
            f"Table 4: {one} − {other} = {one - other:+}; Table 8 prints {printed}",
            WORDS,
        )
    best, whole = (accuracy_of(table9[f"image {arm}"]).value for arm in ("qk+encoder+norms", "spt-finetune"))
    yield Erratum(
        f"{said['three-points'].where}: {said['three-points'].means}",
        said["three-points"].says,
        f"+{100 * (best - whole):.0f}",
        f"Table 9: {best} − {whole} = {best - whole:+}",
        ROUNDING,
    )
    if "image all-but-qk" not in table9:
        yield Erratum(
            said["full-ablation"].where,
            said["full-ablation"].says,
            "Table 9 would need a column “all but QK”",
            f"Table 9 has {len(table9) // 2} columns; “all but QK” of Table 4 is none of them",
            WORDS,
        )
    if not any("deviation" in one.value for one in table9.values()):
        yield Erratum(
            "Table 9",
            "no ±",
            "± over 5 seeds, or that these are single runs",
            f"{said['ablations-have-seeds'].where} promises mean ± sd for “the one-layer QK experiments”",
            WORDS,
        )
    yield Erratum(
        said["which-accuracy"].where,
        said["which-accuracy"].says,
        "the peak: “final” names another value",
        "section 2: “the peak held-out accuracy attained within the fixed finetuning budget”, chosen on what it "
        "measures",
        WORDS,
    )


def _deviations() -> Iterator[Erratum]:
    """Statements about seeds against the deviations that the tables print."""
    said, table2, table3 = (reported(name) for name in ("statements", "table02", "table03"))
    one, other = (table2[f"image {arm}"].value for arm in ("attention-frozen", "scratch"))
    shift = one["accuracy"] - other["accuracy"]
    error = math.hypot(one["deviation"], other["deviation"]) / math.sqrt(said["ablations-have-seeds"].value)
    yield Erratum(
        f"{said['frozen'].where}: {said['frozen'].means}",
        said["frozen"].says,
        f"on CIFAR10 accuracy rises by {shift:.3f}",
        f"Table 2: {shift:.3f} is {shift / error:.0f} standard errors of a difference of means over 5 seeds",
        WORDS,
    )
    widest = max(table3.values(), key=lambda statement: statement.value["deviation"])
    gain = widest.value["accuracy"] - table3["image scratch"].value["accuracy"]
    yield Erratum(
        f"{said['low-variation'].where}: {said['low-variation'].means}",
        said["low-variation"].says,
        f"deviations up to {widest.value['deviation']}",
        f"Table 3, {widest.means}: {widest.says}, a deviation of {widest.value['deviation'] / gain:.0f} times the gain "
        f"{gain:+.3f}",
        WORDS,
    )


def _weights() -> Iterator[Erratum]:
    said = reported("statements")
    equal, widths = equal_norms(), WIDTHS
    chance = 1.0
    for task, (same, _) in equal.items():
        chance *= chance_of_equal_norms(widths[task]) ** same
    yield Erratum(
        "Tables 10 and 11, column ‖Q_R‖: Q, K, V, O",
        f"one norm for all four in {sum(same for same, _ in equal.values())} of {sum(n for _, n in equal.values())} "
        "layers",
        "four different norms, if the maps are drawn independently; W_Q = W_K = W_V = W_O otherwise",
        f"independent maps agree to two digits in every layer with probability {chance:.0e}; the code base copies "
        "one map "
        "four times, which the paper does not say",
        SOURCES,
    )
    norm = reported("table11")["1 mlp"].value["norm R"]
    yield Erratum(
        f"{said['wide-feedforward'].where}: {said['wide-feedforward'].means}",
        said["wide-feedforward"].says,
        "128",
        f"Table 11 prints ‖MLP All‖ = {norm:.2f} at R: default weights of width 128 have "
        f"{feedforward_norm(128, 128):.2f} "
        f"with 128 hidden, {feedforward_norm(128, 512):.2f} with 512 ({mean_norm(512, 128):.2f} for Up alone, printed "
        f"{reported('table11')['1 mlp-up'].value['norm R']:.2f})",
        CERTAIN,
    )
    far = farther_from_labels()
    number, id, one, spt, both = max(far, key=lambda row: row[2] / row[3])
    every = [row.value for name in ("table10", "table11") for row in reported(name).values()]
    half = sum(row["R>SC"] < row["R>SPT"] / 2 and row["R>SC"] < row["R>FT"] / 2 for row in every)
    yield Erratum(
        f"{said['scratch-stays'].where}: {said['scratch-stays'].means}",
        said["scratch-stays"].says,
        f"smaller in {len(every) - len(far)} of {len(every)} rows, less than half in {half}; larger in "
        f"{', '.join(f'Table {n}, row “{_row(row)}”' for n, row, *_ in far)}",
        f"Table {number}, {_row(id)}: labels {one}, SPT {spt}, both {both}; and R→SC has 100 epochs against 200 and "
        "300",
        WORDS,
    )
    ratios = {task: _mlp_ratio(task) for task in weights.TABLES}
    statement = reported("fig09")["mlp-dominate"]
    yield Erratum(
        f"{statement.where}: {statement.means}",
        statement.says,
        "especially on CIFAR10",
        "mean change of the norm of an MLP over that of a projection, from Tables 10 and 11: "
        + ", ".join(f"{TASKS[task]} {ratio:.2f}" for task, ratio in ratios.items()),
        WORDS,
    )
    encoder = reported("table11")["encoder"].value
    yield Erratum(
        f"{said['encoder-pathfinder'].where}: {said['encoder-pathfinder'].means}",
        f"{said['encoder-pathfinder'].says}, “small”",
        "small change of the norm, not of the encoder",
        f"labels moved it by {encoder['R>SC']}, {100 * encoder['R>SC'] / encoder['norm R']:.0f} % of its norm "
        f"{encoder['norm R']}",
        WORDS,
    )


def _row(id: str) -> str:
    """A row as the paper names it: half-layer and component.

    >>> _row("0 value")
    '0, attention V'
    """
    half, _, component = id.rpartition(" ")
    return f"{half}, {weights.COMPONENTS.get(component, component)}"


def _mlp_ratio(task: str) -> float:
    found: dict[str, list[float]] = {}
    for (_, component), row in weights.paper_rows(reported(f"table{weights.TABLES[task]}")).items():
        found.setdefault(component, []).append(row["norm SC"] - row["norm R"])
    ratio = mlp_over_attention(found)
    assert ratio is not None
    return ratio


def _averages() -> Iterator[Erratum]:
    printed = [reported("table06")["average"].value[f"{column}_deviation"] for column in ("scratch", "spt")]
    mean, right = averages()
    assert all(abs(one - other) < 0.0006 for one, other in zip(printed, mean, strict=True))
    yield Erratum(
        "Table 6, Average, ±",
        f"{printed[0]:.3f} and {printed[1]:.3f}",
        f"about {right[0]:.3f} and {right[1]:.3f}, the deviation of an average of four independent runs",
        f"what is printed is the mean of the four deviations ({mean[0]:.4f} and {mean[1]:.4f})",
        WORDS,
    )


def _unsaid() -> Iterator[Erratum]:
    said = reported("statements")
    yield Erratum(
        f"{said['score-scale'].where}: softmax",
        "QKᵀ/√d",
        "√(d/heads), if d is the width",
        "A.3 has W_Q of shape d × D per head, with d the width; the code base divides by the root of a head's width",
        SOURCES,
    )
    yield Erratum(
        said["one-epoch-rate"].where,
        said["one-epoch-rate"].says,
        "the rate used",
        "the paper does not state it, so the row “1 epoch” of Table 7 cannot be repeated as it was run",
        SOURCES,
    )
