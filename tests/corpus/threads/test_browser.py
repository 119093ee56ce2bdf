"""Posts in a real browser: formulas are rendered, links are local, and hostile posts run nothing.

`new_page` fails each of these tests if a page contacts another host, violates the Content-Security-Policy or logs an
error.
"""

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from assay.html import sanitize
from corpus.models import Collection, Document
from tests.helpers.factories import make_answer, make_collection, make_comment, make_document, make_organizer
from tests.helpers.hostile import PAYLOADS

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

COUNT = """() => [...document.querySelectorAll('.math-container')]
    .reduce((n, {dataset}) => ({...n, [dataset.math]: (n[dataset.math] ?? 0) + 1}), {})"""
SELECT_ALL = """() => {
    getSelection().selectAllChildren(document.querySelector('.post-body'));
    document.execCommand('copy');
}"""
LISTEN = """() => document.addEventListener('copy', (event) => {
    window.copied = event.clipboardData.getData('text/plain').trim();
})"""
CLICK_ALL = """() => {
    const click = new Event('click', {bubbles: true});
    for (const element of document.querySelectorAll('.post-body *')) element.dispatchEvent(click);
}"""
AT_ITS_PLACE = """() => {
    const wrong = [];
    for (const post of document.querySelectorAll('.thread-post')) {
        const {left, top, width, height} = post.getBoundingClientRect();
        for (let y = top + 2; y < top + height - 2; y += 5)
            for (let x = left + 2; x < left + width; x += 20) {
                const formula = document.elementFromPoint(x, y)?.closest('.math-container');
                const text = formula?.closest('h1, .post-title, .comment-text, .post-body').getBoundingClientRect();
                if (text && (y < text.top - 6 || y > text.bottom + 6)) wrong.push([x, y, formula.textContent]);
            }
    }
    return wrong;
}"""
# The letters of formulas and code as they are seen, from left to right.
SEEN = """() => [
    ...document.querySelectorAll('main :is(.math-container, :is(code, pre, kbd, samp, var):not(.math-container *))')
].map((element) => {
    const letters = [];
    const shown = element.querySelector('.katex-html') ?? element;
    const nodes = document.createTreeWalker(shown, NodeFilter.SHOW_TEXT);
    while (nodes.nextNode())
        for (let i = 0; i < nodes.currentNode.length; i++) {
            const range = document.createRange();
            range.setStart(nodes.currentNode, i);
            range.setEnd(nodes.currentNode, i + 1);
            letters.push([range.getBoundingClientRect().left, nodes.currentNode.data[i]]);
        }
    return letters.sort(([a], [b]) => a - b).map(([, letter]) => letter).join('').replace(/[\\s\u200b]/g, '');
})"""
REACHED = """() => [...document.querySelectorAll(":is(.post-body, .post-body *, .comment-text)")]
    .filter((element) => element.tabIndex === 0)
    .map((element) => `${element.tagName} ${element.textContent.trim().slice(0, 4)}`)"""
AT_TARGET = """() => {
    const {top} = document.querySelector(':target').getBoundingClientRect();
    return top > -5 && top < innerHeight - 20;
}"""
RENDERED = (
    "() => document.documentElement.dataset.math === 'done' && !document.querySelector('[data-math=waiting]')"
)

Open = Callable[..., Page]


@pytest.fixture
def posts() -> Collection:
    return make_collection("posts")


@pytest.fixture
def read(live_server: LiveServer, new_page: Callable[..., Page]) -> Open:
    """Opens a thread as an organizer, and waits until its formulas are rendered."""
    client = Client()
    client.force_login(make_organizer())
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}

    def open_thread(docno: str, *, at: str = "", language: str = "en", **options: object) -> Page:
        User.objects.update(language=language)
        page = new_page(**options)
        page.context.add_cookies([cookie])
        page.goto(f"{live_server.url}{reverse('corpus:thread', args=['posts', docno])}{at}")
        page.wait_for_function(RENDERED)
        return page

    return open_thread


def _question(posts: Collection, body: str, **fields: object) -> Document:
    return make_document(posts, "1", body=sanitize.clean_body(body), **fields)


def test_hostile_posts_comments_and_titles_stay_harmless(posts: Collection, read: Open) -> None:
    image = '<a href="https://i.stack.imgur.com/a.png"><img src="https://i.stack.imgur.com/b.png" alt="graph"></a>'
    question = _question(posts, f"<p>{image}</p>", title=sanitize.clean_title("".join(PAYLOADS)))
    for n, payload in enumerate(PAYLOADS):
        answer = make_answer(
            question, f"{100 + n}", body=sanitize.clean_body(payload), author_name=payload.replace("\x00", "")
        )
        make_comment(answer, text=sanitize.clean_comment(payload))

    page = read("1")
    page.evaluate(CLICK_ALL)

    assert page.locator("article").count() == len(PAYLOADS) + 1  # no post broke out of its article
    assert (
        page.locator(
            "article script, article iframe, article img, article form, article [style]:not(.katex *)"
        ).count()
        == 0
    )
    assert page.evaluate("() => typeof window.assay.renderMath") == "function"
    assert page.title().startswith("<script>alert(1)</script>")
    placeholder = page.locator("#post-1 .image-placeholder")
    expect(placeholder).to_have_text("[Image: graph (at i.stack.imgur.com)]")
    assert page.locator(".post-body a[href]:not([href^='/collections/posts/threads/'])").count() == 0


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_formulas_and_code_in_a_post_from_right_to_left_are_seen_from_left_to_right(
    posts: Collection, read: Open, language: str
) -> None:
    parts = "<code>a+1</code> <kbd>2-b</kbd> <samp>c/3</samp> <var>4*d</var>"
    body = (
        f"<p>كيف نحسب $x^2+1$ هنا، و{parts} ثم $2<y+\\frac{{1$؟</p><pre>1 - f(0)</pre><p>$z=1$ هو الحل.</p>"
    )
    question = _question(posts, body, title=sanitize.clean_title("ما هو $3-t$؟"))
    make_comment(question, text=sanitize.clean_comment("لماذا $5=u$ و`g-6`؟"))

    page = read("1", language=language)
    starts = page.evaluate(
        "() => [...document.querySelectorAll('.post-body p')].map((p) => getComputedStyle(p).unicodeBidi)"
    )

    expected = ["3−t", "x2+1", "a+1", "2-b", "c/3", "4*d", "$2<y+\\frac{1$", "1-f(0)", "z=1", "5=u", "g-6"]
    assert page.evaluate(SEEN) == expected
    assert starts == ["plaintext", "plaintext"]


@pytest.mark.parametrize(
    ("latex", "tallest"),
    [
        (r"\smash{\raise9999em{x}}\lower9999em{y}", 1000),  # by MathJax, as MathML
        (r"\rule{9999em}{9999em}", 1000),  # by KaTeX
        (r"\begin{bmatrix}" + r"1&amp;2\\" * 200 + r"\end{bmatrix}", 850),
    ],
)
def test_formula_that_is_too_large_scrolls_in_a_box(
    posts: Collection, read: Open, latex: str, tallest: int
) -> None:
    _question(posts, f"<p>Before ${latex}$ after.</p>")

    page = read("1", viewport={"width": 1280, "height": 800})
    height, width = page.evaluate(
        "() => [document.querySelector('.post-body').scrollHeight, document.documentElement.scrollWidth]"
    )

    assert (height < tallest, width) == (True, 1280)
    if "bmatrix" in latex:  # nothing of it is lost
        formula = page.locator(".math-container.is-tall")
        assert formula.evaluate("(box) => box.scrollHeight") > 4000
        assert formula.get_attribute("tabindex") == "0"


def test_parts_that_scroll_are_reached_by_keyboard_and_others_are_not(posts: Collection, read: Open) -> None:
    """On a phone the post itself scrolls too, because its quotations are deep; on a wide page nothing does."""
    line, cells = "x" * 60, "".join(f"<td>{'y' * 9}</td>" for _ in range(5))
    deep = "<blockquote>" * 20 + "z" + "</blockquote>" * 20
    parts = (
        f"<pre>{line}</pre><pre>short</pre><table><tr>{cells}</tr></table><table><tr><td>z</td></tr></table>"
    )
    make_answer(_question(posts, parts), "2", body=sanitize.clean_body(f"<p>{'word ' * 99}</p>{deep}"))

    page = read("1", viewport={"width": 390, "height": 844})
    reached = page.evaluate(REACHED)
    page.locator("pre").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('pre').scrollLeft > 0")
    page.set_viewport_size({"width": 1280, "height": 844})
    page.wait_for_function("() => !document.querySelector('[data-reachable]')")

    assert reached == ["PRE xxxx", "TABLE yyyy", "DIV word"]
    assert page.evaluate(REACHED) == []


def test_formulas_are_rendered_by_katex_then_mathjax_then_shown_as_latex(
    posts: Collection, read: Open
) -> None:
    formulas = [
        "$x^2$",
        "$$\\int_0^1 f$$",
        "$\\begin{align} a &amp;= b \\\\ c &amp;= d \\end{align}$",
        "$\\mbox{if $x$}$",
        "$\\Bigg\\|\\pmb{x}\\fcolorbox{red}{white}{y}\\Bigg\\|$",
        "$$\\begin{eqnarray} a &amp;=&amp; b \\end{eqnarray}$$",
        "$\\bbox[yellow]{\\mathbb R}$",
        "$\\frac{1$",
        "$y$",
        f"${'x + ' * 6000}x$",
    ]
    _question(posts, "".join(f"<p>{formula}</p>" for formula in formulas))

    page = read("1")

    assert page.evaluate(COUNT) == {"katex": 6, "mathjax": 2, "failed": 2}
    assert page.locator("[data-display=block] .katex-display").count() == 1
    broken, long = page.locator("[data-math=failed] code").all()
    expect(broken).to_have_text("$\\frac{1$")
    expect(broken).to_have_attribute("title", "This formula could not be rendered; this is its LaTeX.")
    expect(long).to_have_attribute("title", "This formula is too long to be typeset; this is its LaTeX.")
    assert page.locator("[data-math=mathjax] math mtable").count() == 1
    assert page.locator("[data-math=mathjax] math").nth(1).text_content() == "ℝ"
    assert page.locator(".katex-mathml annotation").first.text_content() == "x^2"


def test_chemical_formulas_and_wildcards_are_rendered_without_a_failed_request(
    posts: Collection, read: Open
) -> None:
    _question(
        posts,
        "<p>$\\ce{H2O}$ and $$\\ce{CO2 + C -> 2 CO}$$ $\\pu{1.2e3 kJ}$ $\\ce{^{227}_{90}Th+}$ "
        "$\\simto{*2*}{x+\\qvar{z}}$ $\\frac{\\qvar{*1*}}{\\qvar{y}}$</p>",
    )

    page = read("1")

    assert page.evaluate(COUNT) == {"katex": 6}
    similar = page.locator(".katex-html").nth(4).inner_text()
    assert all(part in similar for part in ("x", "?z", "∼", "2")), "the part, and the operator below it"
    assert "*" not in similar
    assert {"H", "2", "O"} <= set(page.locator(".katex-html").first.inner_text().split())
    wildcards = page.locator(".katex-html").last.inner_text()
    assert ("?1" in wildcards, "?y" in wildcards, "*" in wildcards) == (True, True, False)


def test_formula_draws_only_in_its_own_text(posts: Collection, read: Open) -> None:
    hostile = [
        "\\smash{\\raisebox{-12em}{\\rule{4em}{10em}}}",
        "\\smash{\\rule[-20em]{4em}{40em}}",
        "\\smash{\\raisebox{-9em}{\\Huge yes}}",
    ]
    text = " and ".join(f"${formula}$" for formula in hostile)
    question = _question(posts, f"<p>{text}</p>", title=sanitize.clean_title(text))
    make_comment(question, text=sanitize.clean_comment(text))
    answer = make_answer(question, "2", body=sanitize.clean_body("<p>The answer.</p>"))
    make_comment(answer, text=sanitize.clean_comment(text))
    make_answer(question, "3", body=sanitize.clean_body("<p>Another.</p>"))

    page = read("1", viewport={"width": 1280, "height": 1600})

    assert page.evaluate(AT_ITS_PLACE) == []


def test_definitions_of_a_post_apply_only_in_that_post(posts: Collection, read: Open) -> None:
    body = "$\\newcommand{\\R}{\\mathbb{Q}}\\DeclareMathOperator{\\ord}{ord}\\def\\x#1{[#1]}$ $\\R$ $\\ord \\x{y}$"
    question = _question(posts, f"<p>{body}</p><p>$\\begin{{eqnarray}}\\x{{z}}\\end{{eqnarray}}$</p>")
    make_answer(
        question, "2", body=sanitize.clean_body("<p>$\\R$ $\\begin{eqnarray}\\R\\end{eqnarray}$ $\\ds x$</p>")
    )

    page = read("1")

    annotation = page.locator("#post-1 .katex-html").nth(1)
    assert annotation.inner_text().strip() == "Q"
    assert page.locator("#post-1 .katex-html").nth(2).inner_text().replace("\u200b", "").split() == ["ord[y]"]
    assert page.locator("#post-1 [data-math=mathjax] math").text_content() == "[z]"
    assert page.locator("#post-2 .katex-html").first.inner_text().strip() == "R"
    undefined = page.locator("#post-2 mtext", has_text="\\ds")
    assert undefined.get_attribute("mathcolor") == "gray", "it does not look like an error of the page"


def test_hostile_definition_affects_no_other_post(posts: Collection, read: Open) -> None:
    question = _question(
        posts, "<p>$\\gdef\\alpha{\\bad}\\def\\frac{!}$ $\\def\\a{\\a\\a}\\a$ $\\rule{9999em}{1em}$</p>"
    )
    make_answer(question, "2", body=sanitize.clean_body("<p>$\\alpha$ $\\frac12$</p>"))

    page = read("1")

    assert page.locator("#post-2 [data-math=katex]").count() == 2
    assert page.locator("#post-2 .katex-html").first.inner_text().strip() == "α"


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_wide_content_scrolls_and_the_page_does_not(posts: Collection, read: Open, width: int) -> None:
    sum_of_many = "+".join(f"\\frac{{x_{{{n}}}}}{{y_{{{n}}}}}" for n in range(60))
    _question(
        posts,
        f"<p>$${sum_of_many}$$</p><p>inline $\\left({sum_of_many}\\right)$</p><pre><code>{'long ' * 80}</code></pre>"
        f"<table><tr>{'<td>cell</td>' * 60}</tr></table><p>{'unbroken' * 60}</p>",
        title=sanitize.clean_title(f"A {'long' * 60} title with $\\left({sum_of_many}\\right)$"),
    )

    page = read("1", viewport={"width": width, "height": 800})

    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    wide = page.locator(".post-body .math-container.is-wide")
    assert wide.count() == 2
    wide.first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.activeElement.scrollLeft > 0")


def test_local_link_opens_its_thread_in_a_new_tab_at_the_answer(posts: Collection, read: Open) -> None:
    other = make_document(posts, "2")
    for n in range(30):
        make_answer(
            other,
            f"{20 + n}",
            score=30 - n,
            body=sanitize.clean_body("<p>$$\\sum_{i=1}^n \\frac1i$$</p>" * 5),
        )
    _question(posts, '<p>See <a href="https://math.stackexchange.com/a/45">this answer</a>.</p>')
    page = read("1")

    with page.context.expect_page() as opened:
        page.get_by_role("link", name="this answer").click()

    tab = opened.value
    tab.wait_for_function(RENDERED)
    assert tab.url.endswith("/collections/posts/threads/2/#post-45")
    assert page.url.endswith("/threads/1/")
    tab.wait_for_function(AT_TARGET)
    assert tab.evaluate("() => window.opener") is None


def test_latex_is_shown_and_copied_and_a_later_fragment_rendered(posts: Collection, read: Open) -> None:
    _question(posts, "<p>Let $x^2$ be.</p>")
    page = read("1")
    page.evaluate(LISTEN)
    button = page.get_by_role("button", name="Show LaTeX")

    button.click()

    expect(button).to_have_attribute("aria-pressed", "true")
    assert page.locator(".post-body .math-source").all_inner_texts() == ["$x^2$"]

    button.click()

    expect(page.locator(".post-body .katex")).to_have_count(1)
    expect(button).to_be_focused()

    page.evaluate(SELECT_ALL)

    assert page.evaluate("() => window.copied") == "Let $x^2$ be."

    page.locator(".post-body .katex-html .mord").first.dblclick()
    assert page.evaluate("() => window.copied") == "$x^2$"

    page.evaluate(
        """() => {
            const part = document.createElement('div');
            part.innerHTML = '<span class="math-container" data-display="inline">x</span>';
            document.querySelector('.post-body').append(part);
            window.assay.renderMath(part);
        }"""
    )
    page.wait_for_function(RENDERED)

    expect(page.locator(".post-body .katex")).to_have_count(2)


def test_all_formulas_of_a_long_thread_are_rendered(posts: Collection, read: Open) -> None:
    question = _question(posts, "<p>$x$</p>")
    body = sanitize.clean_body(
        "<p>Let $a_1, \\ldots, a_n$ be such that $$\\sum_{i=1}^n a_i = \\frac{1}{2}.$$ Then $a &gt; b$.</p>"
        * 3
    )
    answers = [
        Document(collection=posts, docno=f"{100 + n}", kind="answer", thread="1", body=body, score=n)
        for n in range(200)
    ]
    Document.objects.bulk_create(answers)
    assert question.pk

    page = read("1")

    assert page.evaluate(COUNT) == {"katex": 1 + 200 * 9}
    page.goto(page.url + "#post-101")
    page.wait_for_function(AT_TARGET)
