"""The template of a frame: a value is text wherever its place is, unless the template says otherwise."""

import json

import pytest

from assay.html.frame import frame_body
from assay.protocols.loader import parse_protocol
from tests.helpers.row_scenes import TURKLE

HOSTILE = """"'`<b onclick=x>\\ ${b}</script><script>evil()</script>-->"""


@pytest.mark.parametrize(
    ("html", "value", "body"),
    [
        ("<p>${v}</p>", "<b>&</b>", "<p>&lt;b&gt;&amp;&lt;/b&gt;</p>"),
        ("<p>${ v | raw }</p>", "<b>${v}</b>", "<p><b>${v}</b></p>"),
        ('<a title="${v}">', 'x" onclick="y', '<a title="x&quot; onclick=&quot;y">'),
        ("<a title='${v}'>", "x' y", "<a title='x&#x27; y'>"),
        ("<a title=${v}>", "x onclick=y", "<a title=x&#32;onclick&#61;y>"),
        ("<a ${v}>", "onclick=y>", "<a onclick&#61;y&#62;>"),
        ("<a onclick=\"f('${v}')\">", "');y('", "<a onclick=\"f('\\u0027\\u0029\\u003by\\u0028\\u0027')\">"),
        ("<a href='${v}'>", "https://example.org/?a=1&b", "<a href='https://example.org/?a=1&amp;b'>"),
        ("<a href='${v}'>", " java\nscript:y()", "<a href='# java\nscript:y()'>"),
        ("<a href='${v}${v}'>", "vbscript:y", "<a href='#vbscript:y#vbscript:y'>"),
        ("<a href=\"javascript:f('${v}')\">", "%27", "<a href=\"javascript:f('\\u002527')\">"),
        ("<iframe srcdoc='${v}'>", "<b>", "<iframe srcdoc='&amp;lt;b&amp;gt;'>"),
        ("<script>f(${v}, `${v}`)</script>", "-1.5", "<script>f(-1.5, `-1.5`)</script>"),
        ("<script type='text/html'>${v}</script>", "<b>", "<script type='text/html'>&lt;b&gt;</script>"),
        ("<!-- ${v} -->${v}", "-->", "<!-- --&gt; -->--&gt;"),
        ("<textarea>${v}</textarea>", "</textarea>", "<textarea>&lt;/textarea&gt;</textarea>"),
        ("${other} ${v}", "a", "${other} a"),
    ],
)
def test_value_is_text_in_each_kind_of_place(html: str, value: str, body: str) -> None:
    assert frame_body(html, {"v": value}) == body


def test_string_of_a_script_gets_any_text_as_it_is() -> None:
    values = {"a": HOSTILE, "b": "\U0001f600 \u2028 ä"}
    body = frame_body('<script>["${a}", "${b}"]</script>', values)

    assert json.loads(body.removeprefix("<script>").removesuffix("</script>")) == list(values.values())


def test_raw_value_needs_a_frame() -> None:
    raw = TURKLE.replace("${text}", "${text|raw}")
    assert parse_protocol(raw, name="lab.toml").judging.form is not None
    page = raw.replace("frame = true\n", "")
    with pytest.raises(Exception, match=r"line 1 of the HTML: \$\{text\|raw\} needs frame = true"):
        parse_protocol(page, name="lab.toml")
