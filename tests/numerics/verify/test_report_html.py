"""The page holds everything the results hold, loads nothing, and takes hostile text."""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from numerics.verify.records import Grade
from numerics.verify.report_html import MATRIX_LIMIT, PLOT_LIMIT, math_html, matrices, number_tables, render_html
from tests.numerics.verify.sample_results import BAD_LATEX, MARKUP, sample_results, slope_test

_VOID = {"meta", "br", "link", "img", "hr", "input"}


class _Page(HTMLParser):
    """Collects tags, text, ids and links; a tag closed out of order is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert [tag] == self.stack[-1:], f"</{tag}> closes another element"
        self.stack.pop()

    def handle_data(self, data: str) -> None:
        if not self.stack or self.stack[-1] != "style":
            self.text.append(data)


def _parse(page: str) -> _Page:
    parser = _Page()
    parser.feed(page)
    parser.close()
    assert parser.stack == []
    return parser


@pytest.fixture(scope="module")
def page() -> str:
    return render_html(sample_results())


@pytest.fixture(scope="module")
def parsed(page: str) -> _Page:
    return _parse(page)


def _flat(parsed: _Page) -> str:
    return re.sub(r"\s+", " ", " ".join(parsed.text))


def test_page_is_well_formed_and_starts_with_its_doctype(page: str, parsed: _Page) -> None:
    assert page.startswith("<!doctype html>")
    assert sum(tag == "main" for tag, _ in parsed.tags) == 1


def test_page_loads_nothing(page: str, parsed: _Page) -> None:
    loading = {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "image",
        "audio",
        "video",
        "source",
        "base",
        "form",
    }
    assert not loading & {tag for tag, _ in parsed.tags}
    assert not re.search(r"@import|url\((?!#)", page)
    for tag, attributes in parsed.tags:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("href", "src", "xlink:href", "action", "data"):
                assert (value or "").startswith("#"), (tag, name, value)
            elif not name.startswith("xmlns"):
                assert not re.search("https?://", value or ""), (tag, name, value)


def test_content_security_policy_forbids_loading(page: str) -> None:
    assert "default-src 'none'" in page


def test_every_link_has_its_target_and_no_identifier_repeats(parsed: _Page) -> None:
    ids = [a["id"] for _, a in parsed.tags if a.get("id")]
    assert len(ids) == len(set(ids))
    links = [str(a.get("href") or a.get("xlink:href")) for _, a in parsed.tags if a.get("href") or a.get("xlink:href")]
    assert len(links) > 20
    assert {link[1:] for link in links} <= set(ids)


def test_text_that_looks_like_markup_is_shown_not_run(page: str, parsed: _Page) -> None:
    assert "<script>" not in page
    assert MARKUP in "".join(parsed.text)


def test_every_mathml_fragment_is_xml_with_its_latex_as_annotation(page: str) -> None:
    fragments = re.findall(r"<math .*?</math>", page, re.S)
    assert len(fragments) > 60
    for fragment in fragments:
        annotation = ET.fromstring(fragment).find(".//{*}annotation")
        assert annotation is not None
        assert annotation.text


def test_every_claim_statement_and_step_is_on_the_page(page: str, parsed: _Page) -> None:
    results = sample_results()
    shown, flat = html.unescape(page), _flat(parsed)
    for claim in results["claims"]:
        assert re.search(rf'<section class="claim" id="claim-{claim["id"]}">', page)
        for part in claim["parts"]:
            assert part["latex"] in shown
            for step in part["derivation"]["steps"]:
                assert step["latex"] in shown
                assert step["rule"] in flat
        for text in [*claim["assumptions"], *claim["not_needed"], *claim["not_shown"]]:
            assert text in flat
    assert page.count('class="rule"') == 6 * (2 + 2 + 1 + 2 + len(results["lemmas"]))


def test_latex_that_cannot_be_converted_is_shown_as_code(page: str) -> None:
    code = math_html(BAD_LATEX)
    assert code.startswith("<code")
    assert html.unescape(code.split(">", 1)[1]).startswith(BAD_LATEX)
    assert str(code) in page


@pytest.mark.parametrize("latex", ["", r"\nosuchcommand", "a &= b", r"\left(", r"\begin{matrix}", "}{"])
def test_what_the_converter_does_not_know_becomes_code(latex: str) -> None:
    assert ET.fromstring(math_html(latex)).tag == "code"


def test_signs_are_characters_not_entities_escaped_twice(page: str) -> None:
    assert "∑" in math_html(r"\sum_i x_i")
    assert "&amp;#" not in page


def test_markup_and_links_inside_latex_stay_text() -> None:
    assert "<b>" not in math_html(r"\text{<b>bold</b> & more}")
    assert "&lt;b&gt;" in math_html(r"\text{<b>bold</b> & more}")
    assert "javascript" not in re.sub(
        r'title="[^"]*"|<annotation.*?</annotation>', "", math_html(r"\href{javascript:x}{y}")
    )


def test_every_counterexample_is_drawn_with_its_true_and_claimed_value(page: str) -> None:
    drawn = [
        re.sub(r"<[^>]+>|\s+", " ", f) for f in re.findall(r'<figure class="counterexample">.*?</figure>', page, re.S)
    ]
    # P1: two routes share one, differentiated has its own, one-over-L another; P1-diag one; G1 as P1; G2 none.
    assert len(drawn) == 3 + 1 + 3
    words = [" ".join(text.split()) for text in drawn]
    assert words[0] == (
        "Counterexample (derived, replayed) true -1/4 claimed 1/4 L 2 · d 1 · mask full · pooling mean"
        " pattern 1 −1 −1 1 tokens 1 0"
    )
    assert "true -0.25 claimed 0.25" in words[1]
    assert "top left corner of 11 × 11" in words[2]


def test_variant_that_one_route_missed_is_marked_and_open(page: str) -> None:
    assert re.search(
        r'<details class="variant" open>\s*<summary><code>L-for-L-1</code>.*?not rejected by every route', page
    )


def test_failing_grade_is_named_with_its_claim_and_route(parsed: _Page) -> None:
    flat = _flat(parsed)
    assert "P1-diag: differentiated failed: worst deviation 0.5" in flat
    assert "G1: enclosed inconclusive: radius too wide" in flat
    assert "Exempt: an identity, nothing to train" in flat


def test_summary_has_symbol_and_word_for_every_claim_and_grade(page: str) -> None:
    table = re.search(r'<table class="summary">.*?</table>', page, re.S)
    assert table
    assert all(f">{grade}</th>" in table[0] for grade in Grade)
    cells = re.findall(r"<td class=\"s-([a-z_]+)\"[^>]*>(\S) ([a-z ]+)", table[0])
    assert len(cells) == 4 * 10
    assert {c for c in cells if c[0] == "failed"} == {("failed", "✗", "failed")}
    assert sum(c[0] == "failed" for c in cells) == 4  # verdict, differentiated, sloped and refuted of P1-diag


def test_plots_are_drawn_and_a_plot_without_points_says_so(page: str) -> None:
    assert page.count('<svg class="plot"') == 3 * 3 + 1
    assert page.count("Nothing to draw") == 1


def test_plots_past_the_limit_are_counted_and_those_that_failed_come_first() -> None:
    results = sample_results()
    results["claims"] = results["claims"][:1]
    tests = [slope_test(f"t{n}", 2.0, "pass") for n in range(PLOT_LIMIT + 2)] + [slope_test("bad", 1.0, "fail")]
    sloped = next(e for e in results["claims"][0]["evidence"] if e["grade"] == "sloped")
    sloped["numbers"] = {"slope_tests": tests}
    page = render_html(results)
    assert "<figcaption>bad: fail</figcaption>" in page
    assert "3 more curves are in results.json" in page


def test_hostile_identifiers_and_empty_results_still_give_a_page() -> None:
    results = sample_results()
    results["claims"][0]["id"] = '"><script>1</script>'
    assert "<script>" not in render_html(results)
    _parse(render_html(results))
    assert "No claim was checked" in render_html({"schema_version": 1, "claims": [], "environment": {}})


def test_minimal_claim_of_the_documented_schema_renders() -> None:
    claim = {"id": "X", "verdict": "incomplete", "evidence": [], "refuted": []}
    _parse(render_html({"schema_version": 1, "claims": [claim], "environment": {}}))


def test_same_results_give_the_same_page(page: str) -> None:
    assert render_html(sample_results()) == page


def test_nested_numbers_become_tables() -> None:
    tables = number_tables(
        {"a": {"x": {"n": 1, "ok": True}, "y": {"n": 2, "ok": False}}, "b": {"c": {"d": [1.5, None]}}}
    )
    assert [(t.caption, t.header, t.rows) for t in tables] == [
        ("a", ("", "n", "ok"), (("x", "1", "yes"), ("y", "2", "no"))),
        ("b › c", (), (("d", "1.5, –"),)),
    ]


def test_large_matrices_are_cut_and_say_so() -> None:
    (matrix,) = matrices("m", [[0] * 20 for _ in range(20)])
    assert len(matrix.rows) == MATRIX_LIMIT
    assert len(matrix.rows[0]) == MATRIX_LIMIT + 1
    assert "20 × 20" in matrix.note
