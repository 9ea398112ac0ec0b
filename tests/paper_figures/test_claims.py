"""The README's table of claims: one row an item of the paper, from records, gaps named."""

from __future__ import annotations

import re

import pytest

from paper_figures.__main__ import main
from paper_figures.claim_items import items
from paper_figures.claims import _ratio, markdown
from paper_figures.spread import spread


@pytest.fixture(autouse=True)
def data(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("SPT_DATA", str(tmp_path / "data"))


def rows(text: str) -> dict[str, list[str]]:
    listed = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines()[2:]]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in listed}


def test_every_item_of_the_paper_has_one_row():
    names = [item.name for item in items()]
    assert names[:2] == ["Proposition 1", "diagonal variant (appendix D)"]
    assert names[2:13] == [f"Table {n}" for n in range(1, 12)]
    assert names[13:] == [f"Figure {n}" for n in range(3, 15)]


def test_without_records_every_number_reads_not_run_with_a_command(tmp_path, capsys):
    assert main(["claims", "--records", str(tmp_path)]) == 0
    found = rows(capsys.readouterr().out)
    assert all(len(cells) == 4 for cells in found.values())
    for name in (*(f"Table {n}" for n in range(1, 12)), "Figure 4", "Figure 7", "Figure 13"):
        says, ours, seeds, verdict = found[name]
        assert says
        assert (ours, seeds) == ("–", "–")
        assert "not run" in verdict
        assert "python -m training run" in verdict
    assert found["Proposition 1"][3] == "verified by `make verify-theory`"


def test_with_records_each_effect_has_an_interval_seeds_and_a_scale(lra):
    found = rows(markdown(items(), lra))
    for name in ("Table 1", "Table 2", "Table 3", "Table 4", "Table 5", "Table 9", "Table 10"):
        _, ours, seeds, verdict = found[name]
        assert "±" in ours
        assert seeds == "6, laptop"
        assert verdict
    assert "+0.16" in found["Table 1"][0]


@pytest.mark.parametrize(
    ("values", "side"),
    [((0.5, 0.6, 0.7), "labels move less"), ((1.5, 1.6, 1.7), "labels move more"), ((0.8, 1.0, 1.2), "not told apart")],
)
def test_a_ratio_of_displacements_is_said_to_differ_from_1_only_where_its_interval_does(values, side):
    assert _ratio("Q", spread(values), "laptop", "").verdict == f"not judged ({side})"
