"""Walk through translated pages, and find the words on them that no language can change."""

import re
from collections.abc import Iterator
from urllib.parse import quote, urljoin

import pytest
from django.test import Client
from django.utils import translation
from lxml import html

from config.templatetags.components import _rendered
from web.pages import _counted
from web.translation import ASSESSORS, readers_of

# What a page shows of the data of a lab, and what no language changes
DATA_CLASSES = ("post", "choice", "math", "mono", "brand", "guidelines-text", "hunk-text")
DATA_ELEMENTS = ("code", "kbd", "time", "script", "style", "title", "bdi", "option")


@pytest.fixture
def marks_translated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Enclose every translated text in ⟦ and ⟧."""
    _forget()  # words in the language of other tests
    monkeypatch.setattr(translation._trans, "gettext", lambda text: f"⟦{text}⟧", raising=False)
    monkeypatch.setattr(
        translation._trans,
        "ngettext",
        lambda singular, plural, n: f"⟦{singular if n == 1 else plural}⟧",
        raising=False,
    )
    yield
    _forget()


def _forget() -> None:
    _rendered.cache_clear()
    _counted.cache_clear()


def outside(text: str) -> str:
    """The text outside of the marks, which can be nested."""
    inner = re.compile(r"⟦[^⟦⟧]*⟧")
    while inner.search(text):
        text = inner.sub(" ", text)
    return text


def unmarked(page: str, data: set[str]) -> list[str]:
    """The words on a page that are neither translated nor data of the lab."""
    root = html.fromstring(page)
    classes = (f"//*[contains(concat(' ', @class, ' '), ' {name} ')]" for name in DATA_CLASSES)
    others = [
        "//body//*[@lang='en']",
        "//a[@download and contains(., '.')]",
    ]  # rules of a protocol; names of files
    for element in root.xpath(" | ".join([*others, *classes, *(f"//{name}" for name in DATA_ELEMENTS)])):
        if element.getparent() is not None:
            element.drop_tree()
    texts = [
        " ".join(root.itertext()),
        *root.xpath("//@aria-label | //@title | //@placeholder | //@data-label"),
    ]
    words = {word for text in map(str, texts) for word in re.findall(r"[A-Za-z]{3,}", outside(text))}
    return sorted(words - data)


# Pages that assessors can open and that are in English for everyone: what protocols say, the documentation, how to take
# part with runs, and the results of a track that is over
ENGLISH = {
    *("documentation", "api:docs", "api:schema", "tracks:protocols", "tracks:protocol"),
    *("participation:ask_to_join", "publishing:publication", "pooling:programs"),
    *("scoring:qrels", "scoring:leaderboard", "scoring:phase", "metaevaluation:judges"),
}


def walk(client: Client, *starts: str) -> dict[str, str]:
    """The translated pages that links lead to, by address. Every other page is one of `ENGLISH`."""
    pages: dict[str, str] = {}
    waiting, seen = list(starts), set(starts)
    while waiting:
        address = waiting.pop()
        response = client.get(address, follow=True)
        name, readers = response.resolver_match.view_name, readers_of(response.resolver_match.func)
        if not response.get("Content-Type", "").startswith("text/html"):
            continue
        if not readers:
            assert name in ENGLISH, f"{address}: translate {name}, or name it as English"
            continue
        assert response.status_code == 200, address
        page = response.content.decode()
        if readers == ASSESSORS and '<html lang="en-us"' in page:
            continue  # of a track for which the user does not judge
        pages[address] = page
        links = html.fromstring(pages[address]).xpath("//a/@href | //iframe/@src")
        for link in (urljoin(quote(response.request["PATH_INFO"]), each.partition("#")[0]) for each in links):
            if link.startswith("/") and not link.startswith("/help/") and link not in seen:
                seen.add(link)
                waiting.append(link)
    return pages


def unmarked_pages(pages: dict[str, str], *shown: object) -> dict[str, list[str]]:
    """The pages with words that are neither translated nor data, with these words."""
    data = set(
        re.findall(
            r"[A-Za-z]{3,}", " ".join(map(str, ["Assay", "UTC", "SHA", "SUMS", "LaTeX", "MathML", *shown]))
        )
    )
    words = {address: unmarked(page, data) for address, page in pages.items()}
    return {address: of_page for address, of_page in words.items() if of_page}
