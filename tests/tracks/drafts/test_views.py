"""The editor of protocols."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assay.protocols.loader import shipped_slugs
from tests.helpers.factories import make_organizer, make_protocol
from tracks.drafts.fields import SECTIONS
from tracks.models import ProtocolDraft

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(client: Client) -> User:
    user = make_organizer()
    client.force_login(user)
    return user


@pytest.mark.parametrize("slug", shipped_slugs())
def test_every_shipped_protocol_opens_in_each_section_and_in_the_preview(
    client: Client, organizer: User, slug: str
) -> None:
    address = begin(client, slug)

    pages = [client.get(address, {"section": name, "view": "toml"}) for name in SECTIONS]
    preview = client.get(f"{address}preview/")

    assert {page.status_code for page in [*pages, preview]} == {200}
    assert ProtocolDraft.objects.get().text == make_protocol(slug).text


def begin(client: Client, slug: str = "trec-adhoc") -> str:
    """Start a draft from a shipped protocol, and return its address."""
    make_protocol(slug)
    return client.post(reverse("tracks:new_protocol"), {"base": slug}).headers["Location"]


def test_button_adds_a_question(client: Client, organizer: User) -> None:
    address = begin(client)

    answer = client.post(
        f"{address}change/",
        {"revision": 0, "section": "questions", "view": "words", "op": "add judging.question"},
        headers={"HX-Request": "true"},
    )

    assert answer.status_code == 200
    assert "[[judging.question]]" in ProtocolDraft.objects.get().text
    assert 'name="judging.question[1].label"' in answer.content.decode()
