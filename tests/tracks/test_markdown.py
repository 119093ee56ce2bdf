"""Markdown of guidelines becomes safe HTML with formulas."""

import pytest

from tracks.guidelines.differences import Part, differences
from tracks.markdown import Example, as_html, parse


def html_of(text: str) -> str:
    return as_html(parse(text), {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Grades", "<h2>Grades</h2>"),
        ("Let $x<y$ be", '<span class="math-container" data-display="inline">x&lt;y</span>'),
        ("$$\n\\sum_n a_n\n$$", '<span class="math-container" data-display="block">\\sum_n a_n</span>'),
        ("So $$x$$ is", '<span class="math-container" data-display="block">x</span>'),
        ("It costs \\$5 or 7$.", "It costs $5 or 7$."),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "<td>1</td>"),
        ("[help](https://trec.nist.gov)", 'target="_blank"'),
    ],
)
def test_markdown_becomes_html(text: str, expected: str) -> None:
    assert expected in html_of(text)


@pytest.mark.parametrize(
    "attack",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        '[x](https://e.example/"onclick="alert)',
        "![x](https://evil.example/pixel.png)",
        "$</span><script>alert(1)</script>$",
        '<div data-example="0"></div>',
        "```html\n<script>alert(1)</script>\n```",
    ],
)
def test_markup_of_an_author_stays_harmless(attack: str) -> None:
    html = as_html(parse(attack), {0: "<b>example</b>"})

    assert "<script" not in html
    assert "<img" not in html
    assert "<b>" not in html
    assert " onclick" not in html
    assert 'href="javascript' not in html


def test_worked_example_is_read_with_its_line() -> None:
    text = parse("Intro\n\n::: example A.1 12 high\nBecause $x$.\n:::\n\n::: example A.1\n:::\n")

    assert text.examples == [Example(3, "A.1", "12", "high")]
    assert text.unreadable == [7]
    assert '<section class="worked-example"><i>card</i>' in as_html(text, {0: "<i>card</i>"})


def test_differences_are_by_word_in_changed_lines() -> None:
    [hunk] = differences("one\ntwo three\nfour\n", "one\ntwo 3\nfour\n")

    assert hunk.line == 1
    assert hunk.parts == [
        Part("same", "one\n"),
        Part("same", "two "),
        Part("removed", "three"),
        Part("added", "3"),
        Part("same", "\n"),
        Part("same", "four\n"),
    ]


def test_differences_of_long_texts_are_by_line() -> None:
    old, new = "a b " * 2_000, "b c " * 2_000

    [hunk] = differences(old, new)

    assert hunk.parts == [Part("removed", old), Part("added", new)]
    assert differences(old, old) == []
