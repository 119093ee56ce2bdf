"""The source of a post as text and HTML, and the place of a span in both."""

from itertools import accumulate, combinations

import pytest

from assay.html.form import form_parts
from assay.html.forum import Span, passage, to_html
from assay.html.sanitize import clean_body
from assay.languages import is_right_to_left

SOURCE = (
    '\n<quote orig_author="A &lt;b&gt;">\nHam &amp; eggs.\n</quote>\nI like '
    '<a href="http://a.example/x?y=1&amp;z=2">ham &amp; eggs</a> <img src="http://b.example/egg.png"/> too.'
    "\n\nSecond <b>paragraph</b>.\n"
)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("Ham &amp; eggs", "Ham & eggs"),
        ("eggs.\n</quote>\nI like", "eggs. I like"),
        ('like <a href="http://a.example/x?y=1&amp;z=2">ham', "like ham"),
        ('<img src="http://b.example/egg.png"/>', ""),
        ("too.\n\nSecond", "too. Second"),
        ("p; eggs</a", "& eggs"),
    ],
)
def test_passage_counts_the_characters_of_the_source(part: str, text: str) -> None:
    span = Span(SOURCE.index(part), len(part))

    assert passage(SOURCE, span) == text


TRICKY = 'a\r\n😀e\u0301&amp;<img src="a>b"/>&#x1F600; \u202eب<a href="x&amp;y">&gt;</a><quote>z</quote>'
# The same, each part as it is read.
PARTS = [
    *[(each, each) for each in "a\r\n😀e\u0301"],
    ("&amp;", "&"), ('<img src="a>b"/>', " "), ("&#x1F600;", "😀"), (" ", " "),
    ("\u202e", "\u202e"), ("ب", "ب"), ('<a href="x&amp;y">', ""), ("&gt;", ">"), ("</a>", ""), ("<quote>", " "),
    ("z", "z"), ("</quote>", " "),
]  # fmt: skip


def test_every_span_has_the_text_of_the_parts_that_it_touches() -> None:
    """Spans that begin or end within an entity or a tag, between the code points of a character, or within CRLF."""
    assert "".join(part for part, _ in PARTS) == TRICKY
    starts = list(accumulate((len(part) for part, _ in PARTS), initial=0))

    for offset, end in combinations(range(len(TRICKY) + 1), 2):
        touched = [
            text
            for (_, text), at, to in zip(PARTS, starts, starts[1:], strict=False)
            if at < end and to > offset
        ]

        assert passage(TRICKY, Span(offset, end - offset)) == " ".join("".join(touched).split())


@pytest.mark.parametrize("span", [Span(-1, 2), Span(0, 0), Span(3, len(SOURCE) - 2)])
def test_span_outside_the_post_is_refused(span: Span) -> None:
    with pytest.raises(ValueError, match="not inside a post of"):
        passage(SOURCE, span)


def test_astral_character_counts_as_one() -> None:
    assert passage("a\U0001f989b owl", Span(1, 2)) == "\U0001f989b"


def test_quotes_links_images_and_paragraphs_become_html_that_is_clean() -> None:
    html = to_html(SOURCE)

    assert html == (
        "<blockquote><p><small>A &lt;b&gt;:</small></p><p>Ham &amp; eggs.</p></blockquote>"
        '<p>I like <a data-host="a.example">ham &amp; eggs</a> <span class="image-placeholder" '
        'data-image="b.example/egg.png">[Image (at b.example)]</span> too.</p><p>Second paragraph.</p>'
    )
    assert clean_body(html) == html


@pytest.mark.parametrize(
    ("part", "marked"),
    [
        ("I like", "<p><mark>I like</mark> <a"),
        ("ike <a", "I l<mark>ike</mark> <a"),
        ("&amp; eggs</a> <img", "&amp; eggs</mark></a> <mark><span"),
        ("oo.\n\nSec", "t<mark>oo.</mark></p><p><mark>Sec</mark>ond"),
        ("eggs.\n</quote>\nI", "<mark>eggs.</mark></p></blockquote><p><mark>I</mark> like"),
    ],
)
def test_span_is_marked_in_the_html(part: str, marked: str) -> None:
    html = to_html(SOURCE, Span(SOURCE.index(part), len(part)))

    assert marked in html
    assert html.replace("<mark>", "").replace("</mark>", "") == to_html(SOURCE)


def test_any_string_becomes_balanced_html_without_markup_of_its_own() -> None:
    html = to_html('</quote><quote x="<script>"><script>alert(1)</script><a href=x>&nbsp;<', Span(0, 90))

    assert "<script" not in html
    assert html.count("<blockquote>") == html.count("</blockquote>")
    assert html.count("<mark>") == html.count("</mark>")


def test_arabic_is_written_from_right_to_left() -> None:
    assert [is_right_to_left(code) for code in ("arz", "ar-EG", "cmn", "eng", "")] == [
        True,
        True,
        False,
        False,
        False,
    ]


def text_of(html: str, **values: str) -> str:
    return "".join(part.html for part in form_parts(html, values))


@pytest.mark.parametrize(
    ("html", "value"),
    [
        ("<p>${a}</p>", "<script>alert(1)</script>"),
        ('<a href="${a}">x</a>', "javascript:alert(1)"),
        ('<b title="${a}">x</b>', '" onmouseover="alert(1)'),
        ("<p>${a}</p>", "${question.q}"),
        ("<p>${a}</p>", "\ue0000\ue001"),
    ],
)
def test_value_is_text_wherever_it_is(html: str, value: str) -> None:
    parts = form_parts(html, {"a": value})

    assert [part.question for part in parts] == [""]
    assert "<script" not in parts[0].html
    assert 'href="' not in parts[0].html
    assert " on" not in parts[0].html.partition(">")[0]


def test_question_ends_a_part_also_inside_of_elements() -> None:
    parts = form_parts("<h1>${a}</h1><table><tr><td>${question.q}</td></tr></table><h2>x</h2>", {"a": "1"})

    assert [part.question for part in parts] == ["q", ""]
    assert parts[0].html.startswith("<h3>1</h3>")
    assert parts[0].html.endswith("<td>")
    assert parts[1].html == "</td></tr></tbody></table><h4>x</h4>"


def test_value_is_not_filled_in_again() -> None:
    assert text_of("${a} ${b}", a="${b}", b="1") == "${b} 1"


def test_marked_text_is_one_piece_outside_tags_and_plain_inside() -> None:
    value = 'a "b" <i>\ue0007\ue001 $x$'
    html = '<p title="${a}">${a}</p>${question.q}<b>${b}</b>'

    parts = form_parts(html, {"a": value, "b": "${a}"}, {"a"})

    text = "a &quot;b&quot; &lt;i&gt;\ufffd7\ufffd $x$"
    assert parts[0].html.endswith(f'<span class="field-text" data-at="0" data-field="a">{text}</span></p>')
    assert [part.question for part in parts] == ["q", ""]
    assert "data-at" not in parts[0].html[: parts[0].html.index(">")]
    assert parts[1].html == "<b>${a}</b>"
