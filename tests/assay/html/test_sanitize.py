"""The sanitizer's output is harmless, stable and complete for any input."""

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import bleach  # noqa: TID251 - a second sanitizer, to compare with
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from lxml import html as lxml_html

from assay.html import sanitize
from assay.html.sanitize import clean_body, clean_comment, clean_text, clean_title, plain
from tests.helpers.hostile import PAYLOADS

CLEANERS = [clean_body, clean_comment, clean_title, clean_text]


class _Elements(HTMLParser):
    """Every start tag of HTML, according to another parser."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.start_tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.start_tags.append((tag, dict(attrs)))


def _bleached(html: str) -> str:
    attributes = {tag: list(names) for tag, names in sanitize.ATTRIBUTES.items()}
    return bleach.clean(html, tags=sanitize.TAGS, attributes=attributes, protocols=[])


def _parsed(html: str) -> str:
    return etree.tostring(lxml_html.fragment_fromstring(html, create_parent="div"), encoding="unicode")


def _harmful(html: str) -> list[tuple[str, dict[str, str | None]]]:
    """The start tags that nothing may keep, and those with an attribute or a class that nothing may keep."""
    return [
        (tag, attributes)
        for tag, attributes in _Elements(html).start_tags
        if tag not in sanitize.TAGS
        or set(attributes) - sanitize.ATTRIBUTES.get(tag, frozenset())
        or attributes.get("class") not in {None, "math-container", "dollar", "image-placeholder"}
    ]


def _assert_harmless(html: str) -> None:
    assert _harmful(html) == []


@pytest.mark.parametrize("clean", CLEANERS)
def test_cleaned_payloads_are_harmless(clean: Callable[[str], str]) -> None:
    cleaned = {payload: clean(payload) for payload in PAYLOADS}

    assert {payload: html for payload, html in cleaned.items() if _harmful(html)} == {}


@pytest.mark.parametrize("clean", CLEANERS)
def test_second_sanitizer_finds_nothing_to_remove(clean: Callable[[str], str]) -> None:
    cleaned = {payload: clean(payload) for payload in PAYLOADS}

    assert {
        payload: html for payload, html in cleaned.items() if _parsed(_bleached(html)) != _parsed(html)
    } == {}


@pytest.mark.parametrize("clean", [clean_body, clean_comment, clean_title])
def test_cleaning_clean_payloads_changes_nothing(clean: Callable[[str], str]) -> None:
    cleaned = {payload: clean(payload) for payload in PAYLOADS}

    assert {payload: html for payload, html in cleaned.items() if clean(html) != html} == {}


_WORDS = r"""
    $ $$ \$ { } \[ \] \( \) \\( \begin{align} \end{align} < > & &lt; &amp; &#36; &nbsp; <p> </p> <br> <b> </b> <i> </i>
    <em> </em> <code> </code> <pre> </pre> <a> </a> <ul> <li> </ul> <div> </div> <h1> </h1> <table> <tr> <td> </table>
    <svg> <math> </math> <style> <span> </span> <!-- --> ` ** _ * [ ]( ) 5 x ^2 </script> <script>
"""
_PIECES = [
    *_WORDS.split(),
    " ",
    "\n",
    "\r\n",
    "\u00a0",
    "\ufdd0",
    "0\ufdd2",
    "\x00",
    '<span class="math-container" id="7">',
    '<a href="https://math.stackexchange.com/q/12">',
    '<img src="https://i.example/a.png" alt="a $b$">',
    '<span class="dollar">$</span>',
    '<math alttext="a<b">',
    "https://math.stackexchange.com/a/5",
]


def _soup(pieces: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.one_of(st.sampled_from(pieces), st.text(max_size=3)), max_size=30).map("".join)


_html = _soup(_PIECES)
_markdown = _soup([piece for piece in _PIECES if not piece.startswith(("</", "<br"))])


@settings(max_examples=250, deadline=None)
@given(_html)
def test_any_body_is_harmless_and_stable(soup: str) -> None:
    html = clean_body(soup)

    _assert_harmless(html)
    assert clean_body(html) == html
    assert _parsed(_bleached(html)) == _parsed(html)


@settings(max_examples=250, deadline=None)
@given(_html)
def test_any_comment_is_harmless(soup: str) -> None:
    html = clean_comment(soup)

    _assert_harmless(html)
    assert _parsed(_bleached(html)) == _parsed(html)


def test_emphasis_that_overlaps_strong_text_stays_as_written() -> None:
    assert clean_comment("_$**_** *a **b** c*") == "_$<strong>_</strong> <em>a <strong>b</strong> c</em>"


@settings(max_examples=250, deadline=None)
@given(_markdown)
def test_any_comment_in_markdown_is_stable(soup: str) -> None:
    html = clean_comment(soup)

    assert clean_comment(html) == html


@settings(max_examples=200, deadline=None)
@given(_html)
def test_any_title_is_harmless_and_stable(soup: str) -> None:
    html = clean_title(soup)

    _assert_harmless(html)
    assert clean_title(html) == html
    assert "\n" not in plain(html)


@settings(max_examples=200, deadline=None)
@given(_html)
def test_any_plain_text_is_harmless(soup: str) -> None:
    _assert_harmless(clean_text(soup))


def _formula(latex: str, number: str = "", display: str = "inline") -> str:
    number = f' data-formula-id="{number}"' if number else ""
    return f'<span class="math-container"{number} data-display="{display}">{latex}</span>'


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("$x^2$", _formula("x^2")),
        ("$$x^2$$", _formula("x^2", display="block")),
        ("\\(x\\) and \\[y\\]", f"{_formula('x')} and {_formula('y', display='block')}"),
        ("\\\\(x\\\\)", _formula("x")),
        (
            "\\begin{align}a&amp;=b\\\\<br>c&amp;=d\\end{align}",
            _formula("\\begin{align}a&amp;=b\\\\\nc&amp;=d\\end{align}", display="block"),
        ),
        ("$a &lt; b$", _formula("a &lt; b")),
        ("$a<b$ and $c>d$", f"{_formula('a&lt;b')} and {_formula('c&gt;d')}"),
        ("$\\text{if $x$ holds}$", _formula("\\text{if $x$ holds}")),
        ("$a \\$ b$", _formula("a \\$ b")),
        ("$a {b$ c", f"{_formula('a {b')} c"),
        ("$$a $ b$$", _formula("a $ b", display="block")),
        ("$a$$b$", _formula("a") + _formula("b")),
        ("$a<br>b$", _formula("a\nb")),
        ('<span class="math-container" id="39">\\sqrt{2}</span>', _formula("\\sqrt{2}", "39")),
        ('<span class="math-container" id="q_1">$c$</span>', _formula("c", "q_1")),
        ('<span class="math-container" id="q_4">$$c$$</span>', _formula("c", "q_4", "block")),
        (
            "<span class='math-container' id=5>a<b &lt; c &amp;lt; d</span>",
            _formula("a&lt;b &lt; c &lt; d", "5"),
        ),
        ('<span class="math-container" id="8"><em>x</em>_1</span>', _formula("x_1", "8")),
        ('$<span class="math-container" id="7">0</span> \\leq x$', _formula("0 \\leq x", "7")),
        (
            '<span class="math-container" id="1">$<span class="math-container" id="2">x<y</span>$</span>',
            _formula("x&lt;y", "1"),
        ),
        ('<p><span class="math-container" id="9">x</span>.</p>', f"<p>{_formula('x', '9', 'block')}.</p>"),
        ('<p>a <span class="math-container" id="9">x</span></p>', f"<p>a {_formula('x', '9')}</p>"),
        (
            '<span class="math-container" id="3"><math alttext="x&amp;gt;0" display="block"><mi>x</mi></math></span>',
            _formula("x&gt;0", "3", "block"),
        ),
        (
            '<math><semantics><mi>x</mi><annotation encoding="application/x-tex">x</annotation></semantics></math>',
            _formula("x"),
        ),
    ],
)
def test_formula_is_found_as_mathjax_finds_it(source: str, shown: str) -> None:
    assert clean_body(source) == shown


@pytest.mark.parametrize(
    "source",
    [
        "<code>$x$</code>",
        "<pre>$x$ <code>$y$</code></pre>",
        "It costs $5 and $10.",
        "Between $1,000 and $2,000 a month",
        "$5 to me is what $x to you",
        "one dollar: $",
        "$<em>x</em>$",
        "two: $$",
        "<p>$a</p><p>b$</p>",
        "\\begin{align} without an end",
        "\\begin{theorem}x\\end{theorem}",
    ],
)
def test_text_that_is_not_a_formula_stays(source: str) -> None:
    assert clean_body(source) == source


def test_formula_after_money_is_found() -> None:
    assert clean_body("for $5 and $10 you get $x$") == f"for $5 and $10 you get {_formula('x')}"


def test_mark_without_a_formula_is_dropped() -> None:
    assert sanitize._Scan("a\ufdd05\ufdd2b", []).run() == "ab"


def test_html_that_never_becomes_stable_becomes_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanitize, "_ROUNDS", 0)

    assert clean_body("<section><b>a</b></section>").split() == ["a"]


def test_escaped_dollar_does_not_open_a_formula() -> None:
    assert clean_body("\\$5 and $x$") == f'<span class="dollar">$</span>5 and {_formula("x")}'


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("<h1>a</h1><h2>b</h2><h3>c</h3>", "<h4>a</h4><h5>b</h5><h6>c</h6>"),
        ('<ol start="3"><li value="x">a</li></ol>', '<ol start="3"><li>a</li></ol>'),
        ("x<y and y>z", "x&lt;y and y&gt;z"),
        ("reach me at me@<domain in my profile>", "reach me at me@&lt;domain in my profile&gt;"),
        ("<section>a</section>", "a"),
        ("a&#13;b&#x1;c&#x41;", "a\nbcA"),
        ('<a>x</a><a name="y">y</a><a data-host="UP PER">z</a>', "<a>x</a><a>y</a><a>z</a>"),
        ("<pre>\n\na</pre>", "<pre>\n\na</pre>"),
        (
            '<img src="https://i.stack.imgur.com/a.png" alt="graph of $f$">',
            (
                '<span class="image-placeholder" data-image="i.stack.imgur.com/a.png">'
                f"[Image: graph of {_formula('f')} (at i.stack.imgur.com)]</span>"
            ),
        ),
        ('<img src="x.png">', '<span class="image-placeholder" data-image="x.png">[Image]</span>'),
        ('<img src="data:image/png;base64,x">', '<span class="image-placeholder">[Image]</span>'),
        (
            '<span class="image-placeholder" data-image="../x.png">a</span>',
            '<span class="image-placeholder">a</span>',
        ),
        (
            '<a href="https://math.stackexchange.com/a/5/9" rel="nofollow" title="t">a</a>',
            '<a data-host="math.stackexchange.com" data-post="5" data-thread="5">a</a>',
        ),
        ('<a href="https://arxiv.org/abs/1">a</a>', '<a data-host="arxiv.org">a</a>'),
        ('<a href="mailto:x@y.example">a</a>', '<a data-host="">a</a>'),
    ],
)
def test_body_keeps_its_text(source: str, shown: str) -> None:
    assert clean_body(source) == shown


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (
            "use `a_b$` and **b** or *c* or _d_",
            "use <code>a_b$</code> and <strong>b</strong> or <em>c</em> or <em>d</em>",
        ),
        ("``a b`` x_1_2 2*3*4 ` `", "<code>a b</code> x_1_2 2*3*4 <code> </code>"),
        ("$a_1*b$ and $c*d_2$", f"{_formula('a_1*b')} and {_formula('c*d_2')}"),
        ("*see $x$*", f"<em>see {_formula('x')}</em>"),
        ("x<y, <b>", "x&lt;y, &lt;b&gt;"),
        (
            '[*this* $x$](https://math.stackexchange.com/q/12/7 "title")',
            '<a data-host="math.stackexchange.com" data-post="12" data-thread="12"><em>this</em> '
            + _formula("x")
            + "</a>",
        ),
        (
            "(see https://en.wikipedia.org/wiki/A_(b_c)).",
            '(see <a data-host="en.wikipedia.org">https://en.wikipedia.org/wiki/A_(b_c)</a>).',
        ),
        (
            "[x](//math.stackexchange.com/a/3)",
            '<a data-host="math.stackexchange.com" data-post="3" data-thread="3">x</a>',
        ),
        ("\\$5", '<span class="dollar">$</span>5'),
        ('of <span class="math-container" id="4">f</span> *x*', f"of {_formula('f', '4')} <em>x</em>"),
        ("<p>x <b>y</b> *z*</p>", "<p>x <b>y</b> *z*</p>"),
    ],
)
def test_comment_is_formatted_as_on_stack_exchange(source: str, shown: str) -> None:
    assert clean_comment(source) == shown


def test_title_is_text_with_formulas() -> None:
    html = clean_title("Is <b> in AT&T or $a<b$? \\$5")

    assert html == f'Is &lt;b&gt; in AT&amp;T or {_formula("a&lt;b")}? <span class="dollar">$</span>5'
    assert plain(html) == "Is <b> in AT&T or $a<b$? \\$5"


def test_comment_in_a_formula_hides_nothing_on_the_line_of_plain_text() -> None:
    html = clean_body("<p>Then $\\frac{1}{n}%one\n+ 5\\% x$ follows</p>")

    assert plain(html) == "Then $\\frac{1}{n}+ 5\\% x$ follows"


def test_plain_text_becomes_paragraphs() -> None:
    assert clean_text("a <b>\nb\r\n\r\n \n$x$") == f"<p>a &lt;b&gt;<br>b</p>\n<p>{_formula('x')}</p>"


def _n_formulas(body: str) -> int:
    return body.count("math-container") - body.count('"math-container">$$</span>')  # these are empty


def _marked(bodies: list[str]) -> list[str]:
    return [body for body in bodies if "math-container" in body]


@pytest.fixture(scope="module")
def bodies(data: Path) -> list[str]:
    """The real posts of 200 threads."""
    bodies = []
    for path in sorted((data / "stackexchange" / "math_threads").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            thread = json.loads(line)
            bodies += [
                thread["question"]["body_html"],
                *(answer["body_html"] for answer in thread["answers"]),
            ]
    return bodies


def test_real_posts_keep_every_marked_formula(bodies: list[str]) -> None:
    posts = _marked(bodies)

    lost = [body for body in posts if clean_body(body).count("math-container") < _n_formulas(body)]

    assert len(posts) > 100
    assert lost == []


def test_real_posts_are_stable_and_harmless(bodies: list[str]) -> None:
    cleaned = [clean_body(body) for body in bodies]

    assert [clean_body(html) for html in cleaned] == cleaned
    for html in cleaned:
        _assert_harmless(html)


@pytest.mark.parametrize("year", [2020, 2021])
def test_formula_ids_of_real_topics_are_kept(data: Path, year: int) -> None:
    topics = etree.parse(data / "arqmath" / "topics" / f"topics.arqmath-{year}-task1-origin.xml").getroot()
    sources = [topic.findtext(part) or "" for topic in topics for part in ("Title", "Question")]
    ids = {
        span.get("id")
        for source in sources
        for span in lxml_html.fromstring(f"<div>{source}</div>").xpath("//span[@id]")
    }

    kept = set()
    for topic in topics:
        for html in (
            clean_title(topic.findtext("Title") or ""),
            clean_body(topic.findtext("Question") or ""),
        ):
            kept |= {
                number
                for _, attributes in _Elements(html).start_tags
                for number in (attributes.get("data-formula-id") or "").split()
            }

    assert len(ids) > 800
    assert len(ids - kept) <= 1  # one is malformed in the file: a marked formula inside a marked formula


def test_long_real_posts_are_read_like_short_ones(bodies: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    well_nested = [body for body in bodies if "<p>" in body and "<em><strong>" not in body]
    plainly = [clean_body(body) for body in well_nested]
    monkeypatch.setattr(sanitize, "_LONG", 0)

    rewritten = [clean_body(body) for body in well_nested]

    differing = [body for body, a, b in zip(well_nested, plainly, rewritten, strict=True) if a != b]
    assert len(differing) <= len(well_nested) // 100, "only wrongly nested tags may be read differently"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("<p>a<p>b<ul><li>x<li>y</ul>c", "<p>a</p><p>b</p><ul><li>x</li><li>y</li></ul>c"),
        (
            "<table><tr><td>a<td>b<tr><td>c</table>",
            "<table><tbody><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></tbody></table>",
        ),
        (
            "<table>x<b>y</b></table>z",
            "<table><tbody><tr><td>x<b>y</b></td></tr></tbody></table>z",
        ),
        (
            "<table><col><tr><th>1",
            "<table><colgroup><col></colgroup><tbody><tr><th>1</th></tr></tbody></table>",
        ),
        ("<dl><dt>a<dd>b<dt>c</dl>", "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>"),
        ("<b><i>x</b></i>y</div>", "<b><i>x</i></b>y"),
        ("<!-- <b> -->x<!>y<?z?>w</3>v < 3", "xywv &lt; 3"),
        ("<script>if(a<b) x='</p>'</script>k<svg/>l<math>m", "kl"),
        ("a<br>b</br>c<hr>", "a<br>b<br>c<hr>"),
        ("<a HREF='x>y' onclick=z>t</a>", '<a data-host="">t</a>'),
    ],
)
def test_long_html_is_closed_and_nested(monkeypatch: pytest.MonkeyPatch, written: str, shown: str) -> None:
    monkeypatch.setattr(sanitize, "_LONG", 0)

    assert clean_body(written) == shown
