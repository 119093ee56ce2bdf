"""Judging citations in their threads, from the imported files to the qrels and the scores."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django import DjangoAssertNumQueries

from assessment.judging.layouts.citations import shown_citation
from assessment.models import Judgment, Task
from corpus.models import Document
from jobs import services as jobs
from pooling.models import PoolEntry, PoolMember
from scoring.models import Leaderboard, Qrels
from scoring.qrels.selectors import qrels_tsv
from tests.assessment.judging.test_browser import ready
from tests.helpers.api import api, call
from tests.helpers.bolt_campaign import Campaign, build_campaign
from tests.helpers.browser import log_in, violations
from tests.helpers.judging import accept, make_batch
from tests.helpers.qrels_pages import freeze_on_page

pytestmark = pytest.mark.django_db

ARABIC = "bolt-arz-DF-2-202:p2:"
ENGLISH = "bolt-eng-DF-1-101:p3:164:78"


@pytest.fixture
def campaign(settings: Any, tmp_path: Path) -> Campaign:
    settings.MEDIA_ROOT = tmp_path
    return build_campaign()


def client_of(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def pages(campaign: Campaign) -> dict[str, str]:
    """The judging page of each citation, by docno, and each judged."""
    batch = make_batch(campaign.pool, {campaign.ada: list(campaign.track.topics.all())})
    client, shown = client_of(campaign.ada), {}
    response = client.post(reverse("assessment:next", args=[batch.pk]))
    while "/tasks/" in response["Location"]:
        address = response["Location"]
        task = Task.objects.select_related("entry").get(status=Task.Status.ACCEPTED)
        page = client.get(address)
        shown[task.entry.docno] = page.content.decode()
        is_yes = "owl" in task.entry.passage.lower()
        given = {"trans": "acceptable", "chksrc": "yes", "dialect": "yes", "generous": "no"}
        asked = [each.question.key for each in page.context["questions"]]
        always = set() if is_yes else {"dialect"}  # of every Arabic citation
        answers = {f"answer-{key}": given[key] for key in asked if is_yes or key in always}
        fields = {
            "choice": "yes" if is_yes else "no",
            "request_id": page.context["answer"]["request_id"],
            "shown": "0",
        }
        response = client.post(address, fields | answers)
        assert response.status_code == 302, response.content.decode()
    return shown


def test_campaign_goes_from_threads_to_scores(campaign: Campaign) -> None:
    """The same song is cited twice: it is judged once, and the second citation is a false alarm."""
    near = PoolMember.objects.filter(position=0)
    assert [member.docno for member in near] == ["bolt-eng-DF-1-101:p3:107:27"]

    shown = pages(campaign)

    assert len(shown) == PoolEntry.objects.count() == 11
    arabic = next(page for docno, page in shown.items() if docno.startswith(ARABIC) and "I am afraid" in page)
    assert "<mark>أنا بخاف من البومة.</mark>" in arabic
    assert re.search(r'<div class="post-body" dir="rtl"\s+lang="arz">', arabic)
    assert "Does the source text contain Egyptian Arabic?" in arabic
    assert "البومة في المينا" in arabic
    assert "Go to the citation" in arabic
    english = shown[ENGLISH]
    assert (
        "<mark>My children are afraid of the owl, but they like to hear it &lt;from afar&gt;.</mark>"
        in english
    )
    assert "Egyptian Arabic" not in english
    assert "Owls at the harbor" in english
    assert "An opinion on owls in general is relevant" in english
    assert ">Rules</div>" in english
    assert "I love the song of the owl.</td>" not in english
    assert Judgment.objects.filter(choice="yes").count() == 6

    organizer = client_of(campaign.organizer)
    freeze_on_page(organizer, campaign.pool)
    qrels = Qrels.objects.get()
    rows = dict(line.split("\t")[2:] for line in qrels_tsv(qrels).decode().splitlines())
    assert rows["bolt-eng-DF-1-101:p2:80:27"] == "2"
    assert rows["bolt-eng-DF-1-101:p4:1:23"] == "0"
    assert "bolt-eng-DF-1-101:p3:107:27" not in rows
    assert organizer.post(reverse("scoring:score", args=[qrels.pk])).status_code == 302
    board = Leaderboard.objects.get()
    jobs.run(board.job_id)  # type: ignore[arg-type]
    page = organizer.get(board.get_absolute_url()).content.decode()
    assert "Owls-evaluation" in page
    assert "Harbor-baseline" not in page


def test_long_thread_is_cut_around_the_cited_post(
    campaign: Campaign, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    thread = "bolt-eng-DF-1-101"
    for number in range(5, 15):
        Document.objects.create(
            collection=campaign.collection, docno=f"{thread}:p{number}", thread=thread, kind=Document.Kind.POST,
            source="Owls.", body="<p>Owls.</p>",
        )  # fmt: skip
    entry = PoolEntry.objects.select_related("document__collection").get(docno=ENGLISH)

    with django_assert_num_queries(2):
        citation = shown_citation(entry, in_context=True)
    alone = shown_citation(entry, in_context=False)

    assert citation is not None
    assert alone is not None
    assert [post.docno.rpartition(":")[2] for post in citation.posts] == [f"p{n}" for n in range(1, 9)]
    assert (citation.has_earlier, citation.has_later) == (False, True)
    assert [post.is_cited for post in citation.posts][:4] == [False, False, True, False]
    assert (alone.posts, alone.text) == ([], citation.text)


def test_program_gets_citations_in_their_threads_and_the_questions_of_their_languages(
    campaign: Campaign,
) -> None:
    batch = make_batch(campaign.pool, {campaign.ada: list(campaign.track.topics.all())})
    client, units = api(campaign.ada), {}
    for docno in (ENGLISH, f"{ARABIC}58:19"):
        task = call(client, "POST", "next_task", batch.pk).json()
        Task.objects.filter(pk=task["id"]).update(entry=PoolEntry.objects.get(docno=docno))
        units[docno] = client.get(task["url"]).json()
        call(client, "POST", "skip_task", task["id"], data={"reason": "next"})
    english, arabic = units[ENGLISH], units[f"{ARABIC}58:19"]
    assert [[each["key"] for each in task["unit"]["questions"]] for task in (english, arabic)] == [
        ["generous"],
        ["trans", "chksrc", "dialect", "generous"],
    ]
    assert "An opinion on owls in general is relevant" in english["unit"]["narrative"]
    assert english["unit"]["text"].startswith("My children are afraid")
    citation = english["unit"]["citation"]
    assert (citation["words"], citation["language"], citation["is_outside"]) == ("", "eng", False)
    assert [(post["docno"][-2:], post["is_cited"]) for post in citation["posts"]] == [
        ("p1", False), ("p2", False), ("p3", True), ("p4", False),
    ]  # fmt: skip
    assert "<mark>" not in citation["posts"][2]["text"]
    marked = client.get(f"{english['url']}?texts=html").json()["unit"]["citation"]["posts"][2]["text"]
    assert (
        "<mark>My children are afraid of the owl, but they like to hear it &lt;from afar&gt;.</mark>"
        in marked
    )
    assert "owl" not in arabic["unit"]["citation"]["words"]
    assert arabic["unit"]["citation"]["words"]


@pytest.mark.parametrize(("docno", "is_shown"), [("t:p1:0:9999", True), ("no-citation", False)])
def test_citation_without_its_words_is_shown_as_text(campaign: Campaign, docno: str, is_shown: bool) -> None:
    entry = PoolEntry.objects.select_related("document__collection").get(docno=ENGLISH)
    entry.docno = docno

    citation = shown_citation(entry, in_context=False)

    assert (citation is not None) == is_shown
    assert citation is None or citation.is_outside


PLACE = """() => {
    const panel = document.getElementById('document-panel').getBoundingClientRect();
    const head = document.querySelector('#document-panel .panel-head').getBoundingClientRect();
    const passage = document.querySelector('.panel-body .citation-passage').getBoundingClientRect();
    const {top, bottom} = document.querySelector('.panel-body .citation mark').getBoundingClientRect();
    return passage.top >= head.bottom - 1 && top > passage.bottom && bottom < panel.bottom
        ? 'visible' : `from ${top} to ${bottom}`;
}"""

# Nothing of the posts, which scroll below the passage, is drawn over it.
UNCOVERED = """() => {
    const passage = document.querySelector('.panel-body .citation-passage');
    const {left, top, right, bottom} = passage.getBoundingClientRect();
    const across = [1, 2, 3, 4, 5].map((n) => left + (n * (right - left)) / 6);
    const down = [1, 2, 3, 4, 5].map((n) => top + (n * (bottom - top)) / 6);
    return across.every((x) => down.every((y) => passage.contains(document.elementFromPoint(x, y))));
}"""


# The page scrolls on a phone: the cited text stays in the window, and the bar of the answers is below it.
IN_SIGHT = """() => {
    const {top, bottom} = document.querySelector('.panel-body .citation-passage').getBoundingClientRect();
    const bar = document.getElementById('judgment').getBoundingClientRect();
    return window.scrollY > 400 && top >= 0 && bottom > top + 40 && bottom + 96 <= bar.top;
}"""


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_panel_opens_at_the_cited_words_and_keeps_the_passage_in_view(
    transactional_db: None, live_server: Any, new_page: Callable[..., Page], settings: Any, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    campaign = build_campaign()
    above = "A line about cranes.\n\n" * 60
    for number, entry in enumerate(PoolEntry.objects.filter(topic__code="BIR_1").order_by("position")):
        source = f"{above}The cited words {number}.{above}"
        post = Document.objects.get(pk=entry.document_id)
        docno = f"{post.docno}x{number}"
        copy = Document.objects.create(
            collection=campaign.collection, docno=docno, thread=post.thread, kind="post", source=source,
            language=post.language, body="",
        )  # fmt: skip
        PoolEntry.objects.filter(pk=entry.pk).update(docno=f"{docno}:{len(above)}:15", document=copy)
    batch = make_batch(campaign.pool, {campaign.ada: [campaign.track.topics.get(code="BIR_1")]})
    page = new_page(base_url=live_server.url)
    log_in(page, live_server.url, campaign.ada)
    page.goto(accept(batch, campaign.ada).get_absolute_url())

    ready(page)
    page.wait_for_function(f"() => ({PLACE})() === 'visible'")
    expect(page.locator(".panel-body .citation mark")).to_have_text("The cited words")
    page.evaluate("document.getElementById('document-panel').scrollTop += 40")
    page.wait_for_function(f"() => ({UNCOVERED})()")
    first = page.locator("#document-panel .mono").first.text_content()
    assert violations(page) == []

    page.keyboard.press("n")
    page.keyboard.press("Enter")
    expect(page.locator("#document-panel .mono").first).not_to_have_text(str(first))
    page.wait_for_function(f"() => ({PLACE})() === 'visible'")

    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(".panel-body .citation mark").scroll_into_view_if_needed()
    page.mouse.wheel(0, 300)
    page.wait_for_function(IN_SIGHT)
    page.wait_for_function(f"() => ({UNCOVERED})()")
    assert violations(page) == []
