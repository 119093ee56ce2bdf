"""The page of a row: text in its places, and nothing that runs."""

import pytest

from assay.html.form import form_parts


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
