"""The pages of a campaign of BOLT, of NTCIR and of ARQMath's formulas: words for people, no codes of files."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest
from django.conf import LazySettings
from django.test import Client
from lxml import html

from accounts.models import User
from assay.protocols import schema
from assay.protocols.measures import parse_measure
from jobs import services as jobs
from tests.helpers.lab_scenes import Lab, bolt_lab, formula_lab, ntcir_lab

pytestmark = pytest.mark.django_db

# Every value list of the protocol schema: a new one joins by itself. Values of one word are words for people too.
LISTS = [values for values in vars(schema).values() if get_origin(values) is Literal]
OTHERS = {"arz", "cmn", "eng", "ara", "phase2", "asks-about", "asks-for", "not-acceptable", "not-relevant"}
CODES = {code for values in LISTS for code in get_args(values) if "-" in code} - {"known-item"} | OTHERS
INDEX = r"formulas-[a-z]+-v\d[a-z-]*"  # the forms of formula indexes, see assay.formats.documents.indexes
CODE = re.compile(rf"(?<![\w:/.-])({'|'.join(sorted(CODES))}|{INDEX})(?![\w:/-])", re.IGNORECASE)
# What a program reads, or what a person writes for one
HIDDEN = "//head | //script | //style | //pre | //code | //template | //*[contains(@class, 'mono')]"
RAW_LATEX = re.compile(r".{,20}(?:\\[a-zA-Z]+|\w\^\{?\w+|\$[^$ ][^$]*\$)")
IN_CHARACTERS = re.compile(r"\bchar(?:P|R|F|AP|Rprec)\b")
MOST = 120  # pages of a person
OF_SITE = re.compile(r"/(?:help|api|admin|account|audit-log|jobs|protocol/new|builds|imports|login|logout)/")
FILE = re.compile(r"\.(?:tsv|csv|json|jsonl|xml|zip|tex|toml|ics|gz)$|/(?:file|export)/$|SHA256SUMS")


@pytest.fixture(params=[bolt_lab, ntcir_lab, formula_lab], ids=["bolt", "ntcir", "formulas"])
def lab(
    request: pytest.FixtureRequest, settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Lab:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    build: Callable[[], Lab] = request.param
    return build()


def test_pages_have_words_for_codes_explain_measures_in_characters_and_typeset_formulas(lab: Lab) -> None:
    pages = {user.username: dict(_pages(user, lab)) for user in (lab.organizer, lab.ada, lab.member)}

    codes = {
        f"{user} {address}: {match[0]} in “{text[max(0, match.start() - 40) : match.end() + 40]}”"
        for user, texts in pages.items()
        for address, (text, _) in texts.items()
        for match in CODE.finditer(text)
    }
    latex = [
        f"{user} {address}: {each}"
        for user, texts in pages.items()
        for address, (_, raw) in texts.items()
        for each in raw
    ]
    named = {
        address: text
        for address, (text, _) in pages[lab.organizer.username].items()
        if IN_CHARACTERS.search(text)
    }

    assert not codes, "\n".join(sorted(codes))
    assert not latex, "\n".join(latex)
    assert bool(named) == any(parse_measure(name).in_characters for name in lab.board.measures)
    assert [address for address, text in named.items() if "in characters" not in text] == []


def _pages(user: User, lab: Lab) -> Iterator[tuple[str, tuple[str, list[str]]]]:
    """The addresses of the pages of `_walk`, each with its visible text and the LaTeX in it that no script typesets."""
    for address, page in _walk(user, lab):
        formulas = page.find_class("math-container")
        is_typeset = page.xpath("//script[contains(@src, 'corpus/math')]") or not formulas
        text = _visible(page)
        for element in (*formulas, *page.iter("textarea", "option")):
            element.drop_tree()
        raw = [match[0] for match in RAW_LATEX.finditer(" ".join(" ".join(page.itertext()).split()))]
        yield address, (text, raw if is_typeset else ["no script typesets its formulas", *raw])


def _walk(user: User, lab: Lab) -> Iterator[tuple[str, html.HtmlElement]]:
    """The pages that a person reaches from the track; of pages that differ by a number, a few."""
    client = Client()
    client.force_login(user)
    waiting, seen, n_alike = [lab.track.get_absolute_url()], set[str](), dict[str, int]()
    while waiting and len(seen) < MOST:
        address = waiting.pop(0)
        kind = re.sub(r"\d+", "#", address)
        if address in seen or n_alike.get(kind, 0) >= 2:
            continue
        seen.add(address)
        n_alike[kind] = n_alike.get(kind, 0) + 1
        response = client.get(address, follow=True)
        if response.headers["Content-Type"].startswith("text/html"):
            page = html.fromstring(response.content.decode())
            links = [re.sub(r"#.*|\?(?!track=).*", "", link.get("href", "")) for link in page.iter("a")]
            waiting += [link for link in links if link.startswith("/") and _is_page(link)]
            yield address, page


def _is_page(address: str) -> bool:
    return not OF_SITE.match(address) and not FILE.search(address)


def _visible(page: html.HtmlElement) -> str:
    for element in page.xpath(HIDDEN):
        element.drop_tree()
    return " ".join(" ".join(page.itertext()).split())
