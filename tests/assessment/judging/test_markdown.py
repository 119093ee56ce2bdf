"""Answers in Markdown on the judging page."""

import pytest

from assessment.judging.markdown import answer_html


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["## Owls", "They *sing*."], "<h5>Owls</h5>\n<p>They <em>sing</em>. [1]</p>\n"),
        (["First.", "Second."], "<p>First. Second. [1]</p>\n"),
        (["- one", "- two"], "<ul>\n<li>one</li>\n<li>two [1]</li>\n</ul>\n"),
        (["It costs $5", "or $6."], "<p>It costs $5 or $6. [1]</p>\n"),
        (["![a](//b.example/c.png)", "x"], "<p>![a](//b.example/c.png) x [1]</p>\n"),
        (["[a](https://b.example)", "<b>x</b>"], "<p>[a](https://b.example) &lt;b&gt;x&lt;/b&gt; [1]</p>\n"),
        (["<https://b.example>", "x"], "<p>&lt;https://b.example&gt; x [1]</p>\n"),
    ],
)
def test_parts_of_an_answer_become_one_text(texts: list[str], expected: str) -> None:
    assert answer_html([(texts[0], []), (texts[1], [1])], first_heading=4) == expected


def test_rows_of_a_table_keep_their_citations() -> None:
    rows = [("Sizes:", []), ("| owl | cm |", []), ("|---|---|", [1]), ("| barn | 35 |", [2]), ("End.", [])]

    html = answer_html(rows, first_heading=4)

    assert "<td>35 [2]</td>" in html
    assert html.count("<tr>") == 2
    assert html.startswith("<p>Sizes:</p>")
    assert html.endswith("<p>End.</p>\n")
