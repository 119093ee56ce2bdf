"""Answers in Markdown on the judging page."""

import re

import pytest

from assessment.judging.markdown import answer_html

FORMULA = '<span class="math-container" data-display="{}">{}</span>'


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["## Owls", "They *sing*."], "<h4>Owls</h4>\n<p>They <em>sing</em>. [1]</p>\n"),
        (["First.", "Second."], "<p>First. Second. [1]</p>\n"),
        (["- one", "- two"], "<ul>\n<li>one</li>\n<li>two [1]</li>\n</ul>\n"),
        (["It costs $5", "or $6."], "<p>It costs $5 or $6. [1]</p>\n"),
        (["![a](//b.example/c.png)", "x"], "<p>![a](//b.example/c.png) x [1]</p>\n"),
        (["[a](https://b.example)", "<b>x</b>"], "<p>[a](https://b.example) &lt;b&gt;x&lt;/b&gt; [1]</p>\n"),
        (["<https://b.example>", "x"], "<p>&lt;https://b.example&gt; x [1]</p>\n"),
        (["A $5-$10 fee.", "$x<2$"], f"<p>A $5-$10 fee. {FORMULA.format('inline', 'x&lt;2')} [1]</p>\n"),
        (["$$", "x $$"], f"<p>{FORMULA.format('block', 'x')} [1]</p>\n"),
    ],
)
def test_parts_of_an_answer_become_one_text(texts: list[str], expected: str) -> None:
    assert answer_html([(texts[0], []), (texts[1], [1])], first_heading=4) == expected


@pytest.mark.parametrize(
    ("text", "before", "display", "latex", "after"),
    [
        (r"Let \(x*y*z<2\).", "<p>Let ", "inline", "x*y*z&lt;2", ".</p>"),
        (r"So \[x \\[2pt] y\] is.", "<p>So ", "block", r"x \\[2pt] y", " is.</p>"),
        ("So:\n\\[\na\n=\n- b\n\\]\nx", "<p>So:</p>\n<p>", "block", "a\n=\n- b", "</p>\n<p>x</p>"),
        ("> \\[a\n> + b\\]", "<blockquote>\n<p>", "block", "a\n+ b", "</p>\n</blockquote>"),
        ("\\[a\\] or\n\\[\n- b", "<p>", "block", "a", " or\n[</p>\n<ul>\n<li>b</li>\n</ul>"),
    ],
)
def test_formula_can_be_between_backslashed_brackets(
    text: str, before: str, display: str, latex: str, after: str
) -> None:
    html = answer_html([(text, [])], first_heading=4)

    assert html == f"{before}{FORMULA.format(display, latex)}{after}\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"`\(x\)` \\(x\\)", r"<code>\(x\)</code> \(x\)"),
        (r"See \[1, 2\], \(\) and \(x.", "See [1, 2], () and (x."),
    ],
)
def test_brackets_in_code_and_those_that_are_escaped_are_shown(text: str, shown: str) -> None:
    assert answer_html([(text, [])], first_heading=4) == f"<p>{shown}</p>\n"


def test_headings_begin_at_the_given_level_and_skip_none() -> None:
    texts = ["### a", "# b", "### c", "## d", "###### e", "# f"]

    html = answer_html([(text, []) for text in texts], first_heading=4)

    assert re.findall("<h(.)>(.)</h.>", html) == [*zip("445564", "abcdef", strict=True)]


def test_judged_sentence_is_highlighted_in_whatever_it_is() -> None:
    texts = ["## Owls", "A ⸨fact⸩.", "- They **sing**.", "| barn | 35 |", "|---|---|", "```\nx < 1\n```"]

    html = answer_html([(text, []) for text in texts], first_heading=4, judged={0, 2, 3, 5})

    marked = [*re.findall("<mark>(.*?)</mark>", html, re.DOTALL)]
    assert [text.strip() for text in marked] == ["Owls", "They", "sing", ".", "barn", "35", "x &lt; 1"]
    assert "<h4><mark>" in html
    assert "<p>A fact.</p>" in html
    assert "<mark>" not in answer_html([(text, []) for text in texts], first_heading=4)


def test_rows_of_a_table_keep_their_citations() -> None:
    rows = [("Sizes:", []), ("| owl | cm |", []), ("|---|---|", [1]), ("| barn | 35 |", [2]), ("End.", [])]

    html = answer_html(rows, first_heading=4)

    assert "<td>35 [2]</td>" in html
    assert html.count("<tr>") == 2
    assert html.startswith("<p>Sizes:</p>")
    assert html.endswith("<p>End.</p>\n")
