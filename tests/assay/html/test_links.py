"""Addresses of posts are recognized, and pages link to the posts of the collection."""

import pytest

from assay.html import images, links, sanitize
from assay.html.highlight import around, mark
from assay.html.images import ShownImage
from assay.html.links import Link
from assay.html.sanitize import clean_body

SITE = "math.stackexchange.com"
HOSTS = [SITE]
ADDRESSES = {
    "1": "/collections/c/threads/1/",
    "11": "/collections/c/threads/1/#post-11",
    "2": "/collections/c/threads/2/",
}


@pytest.mark.parametrize(
    ("href", "post", "thread"),
    [
        ("https://math.stackexchange.com/questions/1", "1", "1"),
        ("http://math.stackexchange.com/questions/1/", "1", "1"),
        ("//math.stackexchange.com/questions/1/some-slug", "1", "1"),
        ("HTTPS://Math.StackExchange.com/questions/1/some-slug/", "1", "1"),
        ("https://math.stackexchange.com:443/questions/1", "1", "1"),
        ("https://math.stackexchange.com/questions/1/some-slug?noredirect=1&lq=1", "1", "1"),
        ("https://math.stackexchange.com/questions/1/some-slug/11", "11", "1"),
        ("https://math.stackexchange.com/questions/1/some-slug/11#11", "11", "1"),
        ("https://math.stackexchange.com/questions/1/2048", "1", "1"),
        ("https://math.stackexchange.com/questions/1/slug?answertab=votes#tab-top", "1", "1"),
        ("https://math.stackexchange.com/questions/1/slug#11", "11", "1"),
        ("https://math.stackexchange.com/questions/1/slug#answer-11", "11", "1"),
        ("https://math.stackexchange.com/questions/1/slug#comment77_11", "11", "1"),
        ("https://math.stackexchange.com/q/1", "1", "1"),
        ("https://math.stackexchange.com/q/1/99", "1", "1"),
        ("https://math.stackexchange.com/a/11", "11", "11"),
        ("https://math.stackexchange.com/a/11/99", "11", "11"),
        ("https://math.stackexchange.com/a/11#comment77_11", "11", "11"),
        ("https://math.stackexchange.com/posts/11", "11", "11"),
    ],
)
def test_every_form_of_address_gives_the_post(href: str, post: str, thread: str) -> None:
    assert links.read(href) == Link(SITE, post, thread)


@pytest.mark.parametrize("href", ["/questions/1", "/q/1/99", "#1", "#comment5_1"])
def test_relative_link_is_to_the_collections_own_site(href: str) -> None:
    assert links.read(href) == Link("", "1", "1")


@pytest.mark.parametrize(
    ("href", "host"),
    [
        ("https://math.stackexchange.com/questions/tagged/algebra", SITE),
        ("https://math.stackexchange.com/questions/ask", SITE),
        ("https://math.stackexchange.com/users/1/somebody", SITE),
        ("https://math.stackexchange.com/posts/1/revisions", SITE),
        ("https://math.stackexchange.com/questions/12345678901234567890", SITE),
        ("https://arxiv.org/abs/1", "arxiv.org"),
        ("https://math.stackexchange.com@evil.example/q/1", "evil.example"),
        ("https://evil.example\\@math.stackexchange.com/q/1", "evil.example"),
        ("ftp://ftp.example/q/1", "ftp.example"),
        ("javascript:alert(1)", ""),
        ("mailto:x@y.example", ""),
        ("/users/1", ""),
        ("questions/1", ""),
        ("#top", ""),
        ("", ""),
        ("https://[::1]/q/1", ""),
        ("https://math.stackexchange.com\u2215q/1", SITE),
    ],
)
def test_other_addresses_give_no_post(href: str, host: str) -> None:
    assert links.read(href) == Link(host)


@pytest.mark.parametrize(
    "href",
    [
        "https://web.archive.org/web/2019/https://math.stackexchange.com/questions/1/s/11",
        "https://web.archive.org/web/2019/http:/math.stackexchange.com/questions/1/s/11#11",
        "https://translate.example/?u=https://math.stackexchange.com/questions/1/s/11",
    ],
)
def test_address_inside_another_address_gives_the_post_at_the_other_host(href: str) -> None:
    link = links.read(href)

    assert link[1:] == ("11", "1")
    assert link.host in {"web.archive.org", "translate.example"}
    assert links.posts([links.marker(link)], HOSTS) == set()


def test_addresses_in_a_text_are_those_of_its_markers() -> None:
    hrefs = ("https://math.stackexchange.com/questions/1/s/11", "/q/2#comment5_22", "#answer-3", "/users/4")
    html = "".join(f'<a href="{href}">x</a>' for href in hrefs)

    for text in (html, clean_body(html)):
        assert sorted(map(sorted, links.mentioned(text))) == [["1", "11"], ["2", "22"], ["3"]]


def test_posts_of_other_sites_are_ignored() -> None:
    stored = [
        links.marker(links.read(href))
        for href in (
            "https://math.stackexchange.com/questions/1/s/11",
            "https://physics.stackexchange.com/q/5",
            "/a/7",
        )
    ]

    assert links.posts(stored, HOSTS) == {"1", "11", "7"}


def _shown(href: str) -> str:
    return links.resolve(f"{links.marker(links.read(href))}text</a>", ADDRESSES, HOSTS)


def test_link_to_a_post_of_the_collection_opens_its_thread_in_a_new_tab() -> None:
    html = _shown("https://math.stackexchange.com/a/11/99")

    assert html == (
        '<a class="local-link" href="/collections/c/threads/1/#post-11" target="_blank" rel="noopener">text</a>'
    )


def test_link_to_an_answer_that_is_missing_opens_its_question() -> None:
    assert 'href="/collections/c/threads/2/"' in _shown(
        "https://math.stackexchange.com/questions/2/slug/404#404"
    )


@pytest.mark.parametrize(
    ("href", "title"),
    [
        ("https://arxiv.org/abs/1", "External link to arxiv.org, not followed"),
        ("https://math.stackexchange.com/q/404", "External link to math.stackexchange.com, not followed"),
        ("https://physics.stackexchange.com/q/1", "External link to physics.stackexchange.com, not followed"),
        (
            "https://www.math.stackexchange.com/q/1",
            "External link to www.math.stackexchange.com, not followed",
        ),
        ("mailto:x@y.example", "External link, not followed"),
    ],
)
def test_other_links_are_text_marked_as_external(href: str, title: str) -> None:
    html = _shown(href)

    assert html.startswith(f'<span class="external-link" title="{title}">text<span')
    assert "href" not in html
    assert "(external link, not followed)" in html


def test_anchor_without_an_address_is_plain_text() -> None:
    assert links.resolve("<a>x</a>", ADDRESSES, HOSTS) == "<span>x</span>"


def test_link_inside_a_link_keeps_its_end() -> None:
    inner, outer = links.marker(Link("", "2", "2")), links.marker(Link("arxiv.org"))

    html = links.resolve(f"{outer}a{inner}b</a>c</a>d", ADDRESSES, HOSTS)

    assert html.index("b</a>c<span") > 0
    assert html.endswith("</span></span>d")


def test_html_without_links_is_unchanged() -> None:
    html = "<p>text</p>"

    assert links.resolve(html, ADDRESSES, HOSTS) is html


@pytest.mark.parametrize(
    ("url", "reference"),
    [
        ("https://i.stack.imgur.com/vTmU2.gif", "i.stack.imgur.com/vTmU2.gif"),
        ("//www.example.org/a%20b/./c.png?w=1#x", "example.org/a b/c.png"),
        ("pictures/é.jpg", "pictures/é.jpg"),
        ("https://example.org/../etc/passwd", ""),
        ("data:image/png;base64,AAAA", ""),
        ('https://example.org/"><script>.png', ""),
        ("https://example.org/%22%3E.png", ""),
        ("https://example.org/$x$.png", ""),
        ("https://example.org/" + "a" * 400, ""),
        ("", ""),
    ],
)
def test_reference_names_a_file_or_nothing(url: str, reference: str) -> None:
    assert images.reference_in(url) == reference


@pytest.mark.parametrize(
    ("alt", "text"),
    [
        ("a graph", "a graph"),
        ('the "ring" &lt; all', "the &quot;ring&quot; &lt; all"),
        ("of $x<y$, [see] (left)", "of $x&lt;y$, [see] (left)"),
        ("enter image description here", "Image"),
        ("", "Image"),
    ],
)
def test_image_has_the_words_of_its_post(alt: str, text: str) -> None:
    stored = sanitize.clean_body(f"<p>Look: <img src='https://e.org/1.png' alt='{alt}'>!</p>")
    [reference] = images.references([stored])

    shown = images.show(stored, {reference: ShownImage("/images/1/", 3, 2)})

    assert f'<img class="post-image" src="/images/1/" width="3" height="2" alt="{text}" ' in shown
    assert "image-placeholder" not in shown
    for others in ({}, {"e.org/2.png": ShownImage("/images/2/", 1, 1)}):
        assert "e.org/1.png" not in images.show(stored, others)
        assert '<span class="image-placeholder">[Image' in images.show(stored, others)


def test_most_exact_file_comes_first() -> None:
    assert images.file_names("e.org/a/1.png") == ["e.org/a/1.png", "a/1.png", "1.png"]


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
