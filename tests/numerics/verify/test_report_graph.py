"""The graph: arrows point right, boxes do not overlap, every node and edge is there."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from numerics.verify.report_graph import anchor, columns, graph_nodes, render_graph
from tests.numerics.verify.sample_results import sample_results


def _boxes(svg: str) -> list[tuple[float, float, float, float]]:
    return [
        (float(r.get("x", 0)), float(r.get("y", 0)), float(r.get("width", 0)), float(r.get("height", 0)))
        for r in ET.fromstring(svg).iter("rect")
    ]


def _random_results(seed: int) -> dict[str, Any]:
    choose = random.Random(seed)
    lemmas: list[dict[str, Any]] = []
    for n in range(14):
        needs = choose.sample([lemma["id"] for lemma in lemmas], min(n, choose.randrange(4)))
        lemmas.append({"id": f"lemma-{n}", "title": "", "depends_on": needs, "status": "passed"})
    return {"lemmas": lemmas, "claims": []}


def test_every_dependency_lies_left_of_its_user() -> None:
    nodes = graph_nodes(sample_results())
    column = columns(nodes)
    edges = [(need, node.key) for node in nodes for need in node.depends_on]
    assert len(edges) > 10
    assert all(column[a] < column[b] for a, b in edges)


def test_graph_has_every_node_edge_status_and_link() -> None:
    results = sample_results()
    svg = ET.fromstring(render_graph(results))
    names = [t.text for t in svg.iter("text") if t.get("class") == "name"]
    for row in [*results["claims"], *results["lemmas"]]:
        assert row["id"] in names
    titles = {t.text for t in svg.iter("title")}
    for row in [*results["claims"], *results["lemmas"]]:
        assert {f"{need} is used by {row['id']}" for need in row["depends_on"]} <= titles
    assert "✗ failed" in "".join(svg.itertext())
    assert {a.get("href") for a in svg.iter("a")} >= {"#claim-P1-diag", "#lemma-softmax-jet"}


def test_dependency_that_the_file_lacks_is_drawn_as_missing_without_link() -> None:
    svg = ET.fromstring(render_graph(sample_results()))
    assert "not in this file" in "".join(svg.itertext())
    assert not any("not_20_here" in str(a.get("href")) for a in svg.iter("a"))


@pytest.mark.parametrize("seed", range(6))
def test_boxes_never_overlap_and_stay_inside(seed: int) -> None:
    svg = render_graph(_random_results(seed))
    boxes = _boxes(svg)
    assert len(boxes) == 14
    width, height = (float(v) for v in str(ET.fromstring(svg).get("viewBox")).split()[2:])
    for n, (x, y, w, h) in enumerate(boxes):
        assert x >= 0
        assert y >= 0
        assert x + w <= width
        assert y + h <= height
        for x2, y2, _, _ in boxes[n + 1 :]:
            assert abs(x - x2) >= w or abs(y - y2) >= h


def test_a_cycle_is_drawn_not_followed_for_ever() -> None:
    lemmas = [{"id": "a", "depends_on": ["b"]}, {"id": "b", "depends_on": ["a"]}, {"id": "c", "depends_on": ["c"]}]
    assert len(_boxes(render_graph({"lemmas": lemmas}))) == 3


def test_nothing_to_draw_gives_an_empty_text() -> None:
    assert render_graph({"claims": [], "lemmas": []}) == ""


def test_anchors_of_different_identifiers_differ() -> None:
    keys = ["a b", "a-b", "a_b", "a_20_b", "aé", "a"]
    assert len({anchor("claim", key) for key in keys}) == len(keys)
