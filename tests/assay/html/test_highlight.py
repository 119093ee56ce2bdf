"""A formula is marked in its post, and the block around it is cut out."""

import pytest

from assay.html.highlight import around, mark
from assay.html.sanitize import clean_body

TARGET = '<span class="math-container" id="7">x^2</span>'
OTHER = '<span class="math-container" id="17">y</span>'


def stored(html: str) -> str:
    return clean_body(html)


def test_every_element_of_the_formula_is_marked_and_no_other() -> None:
    marked = mark(stored(f"<p>{TARGET} {OTHER}</p><p>{TARGET}</p>"), "7")

    assert marked.count("is-marked") == 2
    assert 'class="math-container" data-formula-id="17"' in marked


def test_html_without_the_formula_is_unchanged() -> None:
    html = stored(f"<p>{OTHER}</p>")

    assert mark(html, "7") == html
    assert around(html, "7") == ""


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (f"<p>before</p><p>here {TARGET} too</p><p>after</p>", "<p>here # too</p>"),
        (f"<ul><li>one</li><li>two {TARGET}</li></ul>", "<div>two #</div>"),
        (f"<table><tr><td>{OTHER}</td><td>two {TARGET}</td></tr></table>", "<div>two #</div>"),
        (f"<ul><li><p>two <b>{TARGET}</b></p><p>three</p></li></ul>", "<p>two <b>#</b></p>"),
        (f"<p>a</p>loose {TARGET} <i>text</i><p>b</p>", "loose # <i>text</i>"),
        (f"no block {TARGET} at all", "no block # at all"),
        (f"<blockquote>said {TARGET}<p>x</p></blockquote>", "<blockquote>said #<p>x</p></blockquote>"),
        (f"<p>a<br>{TARGET}<br>b</p>", "<p>a<br>#<br>b</p>"),
    ],
)
def test_around_returns_the_innermost_block(html: str, text: str) -> None:
    block = around(stored(html), "7").replace("\n", "")

    formula = '<span class="math-container is-marked" data-formula-id="7" data-display="inline">x^2</span>'
    assert block.replace(formula, "#") == text


def test_long_post_is_read_in_one_pass() -> None:
    html = "<p>a <b>word</b></p>" * 100_000 + stored(f"<p>{TARGET}</p>")

    assert around(html, "7").count("is-marked") == 1
