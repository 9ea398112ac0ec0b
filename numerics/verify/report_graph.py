"""The dependency graph of lemmas and claims, as one inline SVG.

Layers from left to right: a node stands one column right of everything it depends on, so every arrow points
right, from what is used to what uses it.  Long arrows get a waypoint in each column they cross (a thin slot of its
own), so that they run between boxes, not through them.  Colours come from the page's style sheet by status class.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from numerics.verify.report_terminal import SYMBOLS, Results, words

_BOX_WIDTH, _BOX_HEIGHT, _COLUMN_GAP, _ROW_GAP, _SLOT = 164, 44, 64, 14, 10
_LABEL_LENGTH = 19  # characters that fit the box at 13 px


@dataclass(frozen=True)
class Node:
    """A lemma or claim in the graph; ``status`` is a status, a verdict, or ``missing`` for an unknown identifier."""

    key: str
    kind: str
    title: str
    status: str
    depends_on: tuple[str, ...]


def anchor(kind: str, key: object) -> str:
    """Identifier of a page section for a lemma or claim; different keys give different anchors.

    >>> anchor("claim", "P1-diag"), anchor("lemma", "a b")
    ('claim-P1-diag', 'lemma-a_20_b')
    """
    return f"{kind}-" + re.sub(r"[^A-Za-z0-9-]", lambda m: f"_{ord(m[0]):x}_", str(key))


def graph_nodes(results: Results) -> list[Node]:
    """Nodes of the graph: lemmas, then claims, then a ``missing`` node for each dependency the file does not hold.

    >>> [n.key for n in graph_nodes({"claims": [{"id": "P1", "verdict": "verified", "depends_on": ["jet"]}]})]
    ['P1', 'jet']
    """
    nodes: dict[str, Node] = {}
    for kind, rows, field in (("lemma", results.get("lemmas"), "status"), ("claim", results.get("claims"), "verdict")):
        for row in rows or ():
            key, needs = str(row["id"]), tuple(map(str, row.get("depends_on") or ()))
            nodes[key] = Node(key, kind, str(row.get("title") or key), row.get(field) or "not_run", needs)
    for node in list(nodes.values()):
        for key in node.depends_on:
            nodes.setdefault(key, Node(key, "missing", "not in this results file", "missing", ()))
    return list(nodes.values())


def columns(nodes: list[Node]) -> dict[str, int]:
    """Column of every node: the longest chain of dependencies behind it (a cycle is cut where it closes).

    >>> columns([Node("a", "lemma", "", "passed", ()), Node("b", "claim", "", "verified", ("a",))])
    {'a': 0, 'b': 1}
    """
    needs = {node.key: node.depends_on for node in nodes}
    found: dict[str, int] = {}

    def column(key: str, behind: frozenset[str]) -> int:
        if key not in found:
            ahead = [column(n, behind | {key}) for n in needs[key] if n not in behind and n != key]
            found[key] = 1 + max(ahead, default=-1)
        return found[key]

    for node in nodes:
        column(node.key, frozenset())
    return {node.key: found[node.key] for node in nodes}


def _place(nodes: list[Node]) -> tuple[dict[str, tuple[float, float]], list[list[str]]]:
    """Centres of boxes and waypoints, and every edge as the chain of keys that it passes."""
    column = columns(nodes)
    layers: list[list[str]] = [[] for _ in range(max(column.values()) + 1)]
    for node in nodes:
        layers[column[node.key]].append(node.key)
    waypoints: set[str] = set()
    chains: list[list[str]] = []
    for node in nodes:
        for need in node.depends_on:
            chain = [need]
            for between in range(column[need] + 1, column[node.key]):
                # One waypoint for all arrows that leave the same box: they run as one line and part at the end.
                point = f"\0{need}\0{between}"
                if point not in waypoints:
                    waypoints.add(point)
                    layers[between].append(point)
                chain.append(point)
            chains.append([*chain, node.key])
    links = {(a, b) for chain in chains for a, b in pairwise(chain)}
    near: dict[str, list[str]] = {}
    for a, b in links:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    height = {key: float(_SLOT if key in waypoints else _BOX_HEIGHT) for layer in layers for key in layer}
    y: dict[str, float] = {key: 60.0 * row for layer in layers for row, key in enumerate(layer)}
    for _ in range(12):
        # Barycentres decide the order in a column; then boxes are pushed apart and re-centred on what they wanted.
        for layer in layers:
            wanted = {key: fmean(y[other] for other in sorted(near.get(key, [key]))) for key in layer}
            layer.sort(key=lambda key: (wanted[key], key))
            low = -float("inf")
            for key in layer:
                y[key] = max(wanted[key], low + height[key] / 2)
                low = y[key] + height[key] / 2 + _ROW_GAP
            shift = fmean(wanted[key] - y[key] for key in layer)
            for key in layer:
                y[key] += shift
    top = min(y[key] - height[key] / 2 for key in y)
    across = {key: i * (_BOX_WIDTH + _COLUMN_GAP) + _BOX_WIDTH / 2 for i, layer in enumerate(layers) for key in layer}
    return {key: (across[key] + 2, y[key] - top + 2) for key in y}, chains


def _edge(chain: list[str], place: dict[str, tuple[float, float]]) -> str:
    """Path of one arrow: horizontal at boxes, straight along the width of a column it crosses."""
    x, y = place[chain[0]]
    x += _BOX_WIDTH / 2
    path = f"M{x:.0f} {y:.0f}"
    for key in chain[1:]:
        left, across = place[key][0] - _BOX_WIDTH / 2, place[key][1]
        stop = left - 7 if key == chain[-1] else left
        path += f" C{(x + stop) / 2:.0f} {y:.0f} {(x + stop) / 2:.0f} {across:.0f} {stop:.0f} {across:.0f}"
        x, y = left, across
        if key != chain[-1]:
            x += _BOX_WIDTH
            path += f" H{x:.0f}"
    return path


def render_graph(results: Results) -> str:
    """The dependency graph as an SVG element to stand inside an HTML page; empty when there is nothing to draw.

    Args:
        results: content of ``results.json``.

    >>> svg = render_graph({"claims": [{"id": "P1", "verdict": "failed"}], "lemmas": []})
    >>> 'href="#claim-P1"' in svg and "✗ failed" in svg
    True
    """
    nodes = graph_nodes(results)
    if not nodes:
        return ""
    place, chains = _place(nodes)
    width = max(x for x, _ in place.values()) + _BOX_WIDTH / 2 + 2
    height = max(y for _, y in place.values()) + _BOX_HEIGHT / 2 + 2
    label = f"Dependency graph: {len(nodes)} lemmas and claims, {len(chains)} arrows from what is used to its users"
    svg = ET.Element(
        "svg", {"viewBox": f"0 0 {width:.0f} {height:.0f}", "width": f"{width:.0f}", "class": "graph", "role": "group"}
    )
    svg.set("aria-label", label)
    marker = ET.SubElement(
        ET.SubElement(svg, "defs"), "marker", id="graph-arrow", viewBox="0 0 8 8", refX="1", refY="4"
    )
    marker.set("markerWidth", "7")
    marker.set("markerHeight", "7")
    marker.set("orient", "auto")
    ET.SubElement(marker, "path", {"d": "M0 0 L8 4 L0 8 z", "class": "arrow"})
    for chain in chains:
        edge = ET.SubElement(
            svg, "path", {"d": _edge(chain, place), "class": "edge", "marker-end": "url(#graph-arrow)"}
        )
        ET.SubElement(edge, "title").text = f"{chain[0]} is used by {chain[-1]}"
    for node in nodes:
        x, y = place[node.key]
        parent = svg
        if node.kind != "missing":
            parent = ET.SubElement(svg, "a", href="#" + anchor(node.kind, node.key))
        box = ET.SubElement(parent, "g", {"class": f"node {node.kind} s-{node.status}"})
        ET.SubElement(box, "title").text = f"{node.kind} {node.key}: {node.title} ({words(node.status)})"
        corner = {"x": f"{x - _BOX_WIDTH / 2:.0f}", "y": f"{y - _BOX_HEIGHT / 2:.0f}", "width": str(_BOX_WIDTH)}
        ET.SubElement(box, "rect", {**corner, "height": str(_BOX_HEIGHT), "rx": "4" if node.kind == "lemma" else "14"})
        short = node.key if len(node.key) <= _LABEL_LENGTH else node.key[: _LABEL_LENGTH - 1] + "…"
        where = {"x": f"{x:.0f}", "text-anchor": "middle"}
        ET.SubElement(box, "text", {**where, "y": f"{y - 3:.0f}", "class": "name"}).text = short
        known = f"{node.kind} · {SYMBOLS.get(node.status, '!')} {words(node.status)}"
        status = "! not in this file" if node.kind == "missing" else known
        ET.SubElement(box, "text", {**where, "y": f"{y + 14:.0f}", "class": "what"}).text = status
    return ET.tostring(svg, encoding="unicode")
