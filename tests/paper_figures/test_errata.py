"""The paper's numbers as we copied them, the arithmetic of the errata, and contested claims without records."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

from paper_figures import errata
from paper_figures.__main__ import main
from paper_figures.contested import Evidence, contested, share
from paper_figures.errata_arithmetic import (
    CERTAIN,
    ROUNDING,
    Printed,
    accuracy_of,
    certainty,
    gain_of,
    gains,
    wrong_gains,
)
from paper_figures.errata_checked import appendix_against_code
from paper_figures.errata_list import errata as every_erratum
from paper_figures.errata_weights import equal_norms, farther_from_labels, triangles, wrong_sums
from paper_figures.kept import KeptRecords
from paper_figures.reported import FOLDER, reported
from tests.paper_figures.made_lra import put_table

PAPER = Path(__file__).parents[3] / "shared" / "paper" / "self-pretraining-2605.21070.md"
FILES = sorted(path.stem for path in FOLDER.glob("*.json"))
#: Files whose quotes are the paper's own text, character by character but for its mathematics.
OURS = [
    name for name in FILES if name not in ("fig04", "fig05", "fig06", "fig10", "fig11", "fig12", "fig13", "table06")
]


def plain(text: str) -> str:
    """The paper's Markdown without the marks of its mathematics."""
    for loose, tight in (("$", ""), ("\\pm", "±"), ("\\rightarrow", "→"), ("\\to", "→"), ("\\\\|", "‖"), ("\\|", "‖")):
        text = text.replace(loose, tight)
    return re.sub(r"\s+", " ", text)


@pytest.fixture(scope="module")
def paper() -> str:
    if not PAPER.is_file():
        pytest.skip(f"the paper's Markdown is not at hand: {PAPER}")
    return plain(PAPER.read_text(encoding="utf-8"))


def test_the_files_of_tables_1_to_11_and_figures_3_7_9_are_there():
    assert {f"table{n:02}" for n in range(1, 12)} | {"fig03", "fig07", "fig09", "statements"} <= set(FILES)


@pytest.mark.parametrize("name", OURS)
def test_every_quote_stands_in_the_paper(paper, name):
    for statement in reported(name).values():
        pieces = statement.quote.split(" | | ") if statement.where == "Table 3" else [statement.quote]
        for row in re.split(r"(?<=\|) (?=\|)", statement.quote) if statement.quote.startswith("|") else pieces:
            assert plain(row).strip() in paper, (statement.id, row)


@pytest.mark.parametrize("name", [f"table{n:02}" for n in (1, 2, 3, 4, 5, 7, 8, 9)])
def test_every_accuracy_is_printed_in_its_quote_and_parsed_as_printed(name):
    for statement in reported(name).values():
        assert float(accuracy_of(statement).value) == statement.value["accuracy"]
        gain = gain_of(statement)
        assert (None if gain is None else float(gain.value)) == statement.value.get("gain")
        for number in re.findall(r"\d*\.\d+", statement.says):
            assert number in statement.quote


@pytest.mark.parametrize("name", ["table10", "table11"])
def test_every_norm_is_printed_in_its_quote_in_order(name):
    for statement in reported(name).values():
        assert re.findall(r"\d+\.\d\d", statement.quote) == [f"{value:.2f}" for value in statement.value.values()]


def test_a_difference_is_certain_only_when_no_rounding_gives_it():
    assert certainty(Decimal("-0.11"), Decimal("0.01"), Printed(Decimal("-0.09"))) == CERTAIN
    assert certainty(Decimal("0.12"), Decimal("0.01"), Printed(Decimal("0.13"))) == ROUNDING
    assert certainty(Decimal("0.117"), Decimal("0.001"), Printed(Decimal("0.12"))) is None


def test_the_gains_that_are_wrong_are_found_and_no_other():
    found = {one.where: (one.printed, one.should, one.kind) for one in wrong_gains()}
    assert len(list(gains())) == 56
    assert {where.split(":")[0] for where in found} == {"Table 1", "Table 2", "Table 4", "Table 8"}
    retrieval = next(value for where, value in found.items() if where.startswith("Table 2"))
    assert retrieval == ("0.67 (−0.09)", "−0.11", CERTAIN)
    assert sum(kind == CERTAIN for _, _, kind in found.values()) == 1
    assert len(found) == 6


def test_what_holds_is_counted_too():
    count, failing = triangles()
    assert count > 1000
    assert failing == []
    sums, wrong = wrong_sums()
    assert sums == 9 * 7
    assert wrong == []
    assert equal_norms() == {"image": (3, 3), "pathfinder": (4, 4)}
    assert [(number, id) for number, id, *_ in farther_from_labels()] == [(11, "0 value")]


def test_text_and_tables_disagree_where_we_say_so():
    found = {one.where: one for one in every_erratum()}
    assert found["section 3.2: gain on CIFAR10 with one layer, percent"].should == "12 %"
    assert found["section 3.2: gain on PathFinder with one layer, percent"].should == "3 %"
    wide = found["appendix A.2: feed-forward width on PathFinder"]
    assert (wide.printed, wide.should) == ("512", "128")
    assert "9.27 with 128 hidden" in wide.how
    assert "14.65 with 512" in wide.how
    gaps = {(task, name): (paper, code) for task, name, paper, code in appendix_against_code()}
    assert gaps["PathFinder", "feedforward"] == ("512", "128")
    assert gaps["Image (CIFAR10)", "loss"] == ("l2", "l1")
    assert gaps["ListOps", "mask_ratio"][0] == "not stated"


def test_contested_claims_compute_the_papers_side_and_read_ours(tmp_path, monkeypatch):
    monkeypatch.setenv("SPT_DATA", str(tmp_path / "empty"))
    bare = KeptRecords(tmp_path / "none")
    evidence = Evidence(bare)
    assert share(evidence, "image", 3, "train") == pytest.approx(0.09 / 0.08)
    assert share(evidence, "image", 3, "val") == pytest.approx(0.07 / 0.22)
    for one in contested(evidence):
        assert "not run" in one.ours
        assert "python -m training run" in one.ours
    put_table(tmp_path / "kept", "table2")
    ours = next(one for one in contested(Evidence(KeptRecords(tmp_path / "kept"))) if one.where == "section 6").ours
    assert "n = 6" in ours
    assert "laptop scale" in ours


def test_errata_are_drawn_without_records_at_exit_code_0(tmp_path, monkeypatch):
    monkeypatch.setenv("SPT_DATA", str(tmp_path / "empty"))
    assert main(["make", "errata", "--records", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    saved = json.loads((tmp_path / "out" / "errata.json").read_text(encoding="utf-8"))
    assert len(saved["errata"]) == len(every_erratum())
    for form in ("md", "html", "tex"):
        text = (tmp_path / "out" / f"errata.{form}").read_text(encoding="utf-8")
        assert "Contested claims" in text
        assert "0.67" in text
        assert form != "tex" or text.isascii()
    assert errata.FIGURE.title in (tmp_path / "out" / "errata.md").read_text(encoding="utf-8")
