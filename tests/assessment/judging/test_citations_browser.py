"""A citation in Chromium: the panel opens at the cited words, below the passage, also of the citation that follows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from corpus.models import Document
from pooling.models import PoolEntry
from tests.assessment.judging.test_browser import ready
from tests.helpers.bolt_campaign import build_campaign
from tests.helpers.browser import log_in, violations
from tests.helpers.judging import accept, make_batch

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

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
