"""Reading the unit in Chromium: the panel opens at the retrieved formula, and the topic's words are highlighted."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from assay.html import sanitize
from corpus.models import Document
from pooling.models import PoolEntry
from tests.assessment.judging.test_browser import ready
from tests.helpers.browser import log_in
from tests.helpers.factories import make_answer, make_assessor, make_document, make_topic, make_track
from tests.helpers.judging import accept, make_batch, make_pool
from tracks.models import Assessor, Topic

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TALL = (
    r'<p><span class="math-container" id="{}">\frac{{\sum_{{n=1}}^\infty n^{{-2}}}}{{\sqrt{{2}}}}</span></p>'
)
PLACE = """() => {
    const panel = document.getElementById('document-panel').getBoundingClientRect();
    const {top, bottom} = document.querySelector('.marked-post .is-marked').getBoundingClientRect();
    return top > panel.top && bottom < panel.bottom ? 'visible' : `from ${top} to ${bottom}`;
}"""
HIGHLIGHTED = """() => [...(CSS.highlights.get('topic-terms') ?? [])].map(
    ({startContainer, startOffset, endOffset}) => startContainer.data.slice(startOffset, endOffset))"""
RENDERED = "() => document.documentElement.dataset.math === 'done'"


@pytest.fixture
def open_task(
    transactional_db: None, live_server: Any, new_page: Callable[..., Page]
) -> Callable[..., tuple[Page, User]]:
    """Opens the task that judges a formula of an answer with the given body, in the thread of that answer."""

    def open_page(topic_text: str, body: str, **options: Any) -> tuple[Page, User]:
        track = make_track(protocol="ntcir-12-wikipedia")
        topic, ada = make_topic(track, "N.1", latex="x^2"), make_assessor(track, "ada")
        Assessor.objects.filter(user=ada).update(group="graduate")
        Topic.objects.filter(pk=topic.pk).update(title=topic_text, body="<p>Is it noetherian?</p>")
        pool = make_pool(track, {})
        assert track.collection is not None
        answer = make_answer(make_document(track.collection, "100"), "101")
        Document.objects.filter(pk=answer.pk).update(body=sanitize.clean_body(body))
        PoolEntry.objects.create(pool=pool, topic=topic, docno="77", document=answer, position=0)
        task = accept(make_batch(pool, {ada: [topic]}), ada)
        page = new_page(base_url=live_server.url, **options)
        log_in(page, live_server.url, ada)
        page.goto(task.get_absolute_url())
        return ready(page), ada

    return open_page


def test_panel_and_thread_open_at_the_retrieved_formula(open_task: Callable[..., tuple[Page, User]]) -> None:
    above = "".join(TALL.format(i) for i in range(100, 180))
    page, _ = open_task("Rings", above + TALL.format(77) + above.replace('id="', 'id="9'))
    page.wait_for_function(RENDERED)
    page.wait_for_function(f"() => ({PLACE})() === 'visible'")

    page.locator("#document-panel").press("Home")
    expect(page.locator(".marked-post .is-marked")).not_to_be_in_viewport()
    page.get_by_role("button", name="Go to the formula").click()
    page.wait_for_function(f"() => ({PLACE})() === 'visible'")

    page.goto(page.get_by_role("link", name="Thread of the answer").get_attribute("href") or "")
    page.wait_for_function(RENDERED)
    expect(page.locator(".thread .is-marked")).to_be_in_viewport()


def test_words_of_the_topic_are_highlighted_on_demand(open_task: Callable[..., tuple[Page, User]]) -> None:
    body = (
        "<p>Integrals of <em>Rings</em> and of a string; an <code>integral</code>, "
        r'<span class="math-container" id="1">\text{integral}</span>, integrated. ΑΒ&lt;b&gt;ring</p>'
    )
    long = (
        "<p>"
        + "All of the strings, <b>noetherian</b> or not, are in this paragraph of text. " * 4_000
        + "</p>"
    )
    page, ada = open_task("The integral of a ring", body + long)
    page.wait_for_function(RENDERED)
    before = page.locator("#document-panel .panel-body").inner_html()
    button = page.get_by_role("button", name="Topic words")
    assert page.evaluate(HIGHLIGHTED) == []

    with page.expect_response("**/judge/highlighting/"):
        page.keyboard.press("h")

    words = page.evaluate(HIGHLIGHTED)
    assert words[:4] == ["Integrals", "Rings", "integrated", "ring"]
    assert set(words[4:]) == {"noetherian"}
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_contain_text(f"Topic words: {len(words)}")
    assert page.locator("#document-panel .panel-body").inner_html() == before, "the document stays as it is"
    assert User.objects.get(pk=ada.pk).highlights_topic_words

    ready(page.goto(page.url) and page)
    assert page.evaluate(HIGHLIGHTED) == words
    with page.expect_response("**/judge/highlighting/"):
        button.click()
    assert page.evaluate(HIGHLIGHTED) == []
    assert not User.objects.get(pk=ada.pk).highlights_topic_words
