"""What was checked and holds, and where appendix A and the code base differ.

What A.2 says and what the code base has come from the recipes of training, where every value carries its sources.
Checked by ``tests/paper_figures/test_errata.py``.
"""

from __future__ import annotations

from decimal import Decimal

from paper_figures import weights
from paper_figures.errata_arithmetic import CERTAIN, gains, wrong_gains
from paper_figures.errata_weights import triangles, wrong_sums
from paper_figures.lra import TASKS
from paper_figures.reported import reported
from paper_figures.style import plain
from training.recipes.paper import PAPER


def appendix_against_code() -> tuple[tuple[str, str, str, str], ...]:
    """Where appendix A and the code base differ, and what is stated nowhere: task, choice, the paper, the code base."""
    rows = []
    for task, choices in PAPER.items():
        if task not in TASKS:
            continue
        for name, choice in choices.items():
            paper = _of(choice.elsewhere, "paper")
            if paper is None and choice.source.startswith("paper"):
                paper = choice.value
            code = choice.value if "code" in choice.source else _of(choice.elsewhere, "code")
            if paper is not None and code is not None and paper != code:
                rows.append((TASKS[task], name, str(paper), str(code)))
            elif choice.source.startswith("code") and "state" in choice.source:
                rows.append((TASKS[task], name, "not stated", str(code)))
    return tuple(rows)


def _of(elsewhere: object, source: str) -> object:
    """What another source says, by the beginning of its name."""
    assert hasattr(elsewhere, "items")
    return next((value for name, value in elsewhere.items() if name.startswith(source)), None)


def consistent() -> tuple[str, ...]:
    """What was checked, how often, and how often it holds."""
    every, wrong = list(gains()), list(wrong_gains())
    certain = sum(one.kind == CERTAIN for one in wrong)
    triangle, bad = triangles()
    sums, wrong_mlp = wrong_sums()
    encoder = [
        Decimal(str(reported(f"table{n}")["encoder"].value["norm SC"]))
        - Decimal(str(reported(f"table{n}")["encoder"].value["norm R"]))
        for n in weights.TABLES.values()
    ]
    return (
        f"{len(every)} printed gains against the printed accuracies: {len(every) - len(wrong)} agree, "
        f"{len(wrong) - certain} "
        f"only through rounding, {certain} cannot be.",
        f"{triangle} triangle inequalities between R, SPT, SC, FT and 0 in Tables 10 and 11: {len(bad)} fail.",
        f"{sums} entries “MLP All” against Up and Down: {len(wrong_mlp)} differ by more than rounding.",
        "Norm changes of the encoder in the captions of Tables 10 and 11: "
        f"{' and '.join(plain(float(e), '+.2f') for e in encoder)}, "
        "as printed.",
    )
