"""Plots: what is drawn, in which colours, and that user text stays out of the drawing."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import pytest

from numerics.verify.report_plots import log_points, slope_plot, sweep_plot
from tests.numerics.verify.sample_results import MARKUP, STEPS, slope_test


def _texts(svg: str) -> str:
    return " ".join(" ".join(t.itertext()) for t in ET.fromstring(svg).iter() if str(t.tag).endswith("text"))


def test_slope_plot_shows_remainder_change_floor_and_both_orders() -> None:
    texts = _texts(slope_plot(slope_test("a", 2.0, "pass"), "p"))
    for label in ("|remainder|", "|change|", "rounding floor", "order 1", "order 2", "step h"):
        assert label in texts


def test_slope_plot_draws_one_marker_for_each_positive_remainder() -> None:
    full = slope_plot({"steps": STEPS, "remainders": [h**2 for h in STEPS]}, "p")
    fewer = slope_plot({"steps": STEPS, "remainders": [h**2 for h in STEPS[:4]] + [0.0, math.nan]}, "p")
    assert full.count("<use") - fewer.count("<use") >= 2


@pytest.mark.parametrize(
    "test", [{}, {"steps": [], "remainders": []}, {"steps": [0.1], "remainders": [0.0], "floor": 1e-16}]
)
def test_nothing_drawable_gives_no_plot(test: dict[str, object]) -> None:
    assert slope_plot(test, "p") == ""


def test_missing_floor_and_unequal_lengths_do_not_stop_the_plot() -> None:
    assert slope_plot({"steps": STEPS, "remainders": [1e-3, None, 1e-5], "floor": None}, "p").startswith("<svg")


def test_sweep_marks_the_step_of_smallest_error() -> None:
    svg = sweep_plot({"name": "s", "steps": [1e-1, 1e-3, 1e-5], "errors": [1e-2, -1e-6, 1e-5]}, "p")
    assert "best step 1e-03" in _texts(svg)
    assert "smallest error at step 1.0e-03" in svg


def test_name_is_escaped_in_the_label_and_never_typeset() -> None:
    svg = slope_plot({**slope_test(MARKUP + r" $\frac{$", 2.0, "pass")}, "p")
    assert MARKUP in str(ET.fromstring(svg).get("aria-label"))
    assert "frac" not in _texts(svg)


def test_drawing_uses_page_colours_own_identifiers_and_no_foreign_address() -> None:
    svg = slope_plot(slope_test("a", 2.0, "pass"), "p7")
    assert "var(--plot-main)" in svg
    assert "var(--ink)" in svg
    assert not re.search(r"#0[1-5]0[1-5]0[1-5]", svg)
    assert all(i.startswith("p7-") for i in re.findall(r' id="([^"]+)"', svg))
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", svg)
    assert svg == slope_plot(slope_test("a", 2.0, "pass"), "p7")


def test_log_points_leave_out_what_a_logarithm_cannot_show() -> None:
    assert log_points([0.1, -0.1, 0.2, 0.3], [1.0, 1.0, math.inf, -2.0]) == [(0.1, 1.0), (0.3, 2.0)]
    assert log_points(None, [1.0]) == []
