"""The page of a protocol."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.http import HttpResponse
from django.template.defaultfilters import linebreaksbr
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from accounts.models import User
from assay.protocols.description import facts
from assay.protocols.loader import load_protocol, shipped_slugs, shipped_text
from tests.helpers.factories import make_organizer, make_protocol, make_track
from tracks.models import StoredProtocol, Track
from tracks.protocols.services import store

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("slug", shipped_slugs())
def test_protocol_is_described_on_its_page_and_its_tracks(client: Client, slug: str) -> None:
    track = make_track(protocol=slug)
    protocol, address = load_protocol(slug), reverse("tracks:protocol", args=[slug])

    page, public = (client.get(each).content.decode() for each in (address, track.get_absolute_url()))

    choices = protocol.judging.given_grades
    for heading, words in facts(protocol):
        if choices and heading in ("Grades", "Non-answers"):
            continue  # they have a table
        assert f"<dt>{heading}</dt><dd>{linebreaksbr(words, autoescape=True)}</dd>" in page
    assert all(escape(grade.definition) in page for grade in choices)
    assert f'href="{track.get_absolute_url()}"' in page, "the tracks that use it are on its page"
    in_short = [dict(facts(protocol)).get("Grades", ""), ", ".join(protocol.scoring.measures)]
    assert all(escape(words) in public for words in in_short)
    assert f'href="{address}"' in public, "the other rules are one click away"


def test_drafts_of_tracks_are_not_named_at_their_protocol(client: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)

    pages = [
        client.get(reverse("tracks:protocols")),
        client.get(reverse("tracks:protocol", args=[track.protocol.slug])),
    ]

    assert all(track.name not in page.content.decode() for page in pages)


def test_protocol_is_shown_and_downloaded(client: Client) -> None:
    track = make_track()
    address = reverse("tracks:protocol", args=[track.protocol.slug])

    page, toml = client.get(address), client.get(address, {"format": "toml"})

    assert track.protocol.digest in page.content.decode()
    assert toml.content.decode() == track.protocol.text


def test_stored_protocol_of_an_earlier_version_with_fewer_rules_is_still_shown(client: Client) -> None:
    stored = make_track(protocol="trec-adhoc").protocol
    StoredProtocol.objects.filter(pk=stored.pk).update(text=stored.text.replace("depth = 100", "depth = 0"))

    page = client.get(reverse("tracks:protocol", args=[stored.slug]))

    assert "0 of every run" in page.content.decode()


SLUG = "trec-adhoc"
EARLIER = shipped_text(SLUG).replace("max_ranks = 1000", "max_ranks = 500")


def test_earlier_text_that_nothing_uses_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    store(text=EARLIER, by=None, is_shipped=True)

    call_command("load_protocols")

    assert StoredProtocol.objects.get(slug=SLUG).text == shipped_text(SLUG)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("is_shipped", [True, False])
def test_text_of_a_track_or_an_organizer_is_kept_and_named(
    capsys: pytest.CaptureFixture[str], is_shipped: bool
) -> None:
    earlier = store(text=EARLIER, by=None, is_shipped=is_shipped)
    if is_shipped:
        make_track(protocol=SLUG)

    call_command("load_protocols")

    earlier.refresh_from_db()
    assert earlier.text == EARLIER
    assert StoredProtocol.objects.count() == len(shipped_slugs())
    assert f"{SLUG}: kept as it is stored" in capsys.readouterr().err


OURS = shipped_text("trec-adhoc").replace('slug = "trec-adhoc"', 'slug = "our-lab-2026"')


@pytest.fixture
def organizer(client: Client) -> User:
    user = make_organizer()
    client.force_login(user)
    return user


def upload(client: Client, text: bytes) -> HttpResponse:
    """Begin a draft with a file, and add it as a protocol."""
    begun = client.post(reverse("tracks:new_protocol"), {"upload": SimpleUploadedFile("ours.toml", text)})
    address = begun.headers["Location"]
    return client.post(f"{address}add/", follow=True)


def test_organizer_adds_a_file(client: Client, organizer: User) -> None:
    answer = upload(client, OURS.replace("\n", "\r\n").encode())

    assert "Added the protocol our-lab-2026" in answer.content.decode()
    stored = StoredProtocol.objects.get(slug="our-lab-2026")
    assert (stored.text, stored.created_by, stored.is_shipped) == (OURS, organizer, False)
    listed = client.get(reverse("tracks:protocols")).content.decode()
    assert "our-lab-2026" in listed
    assert re.findall(r"added <time", listed) == ["added <time"], (
        "the protocols that ship with Assay have no date"
    )


@pytest.mark.parametrize("name", ["tracks:protocols", "tracks:new_protocol"])
def test_lists_of_protocols_have_those_with_all_words_of_a_search_by_what_is_judged(
    client: Client, organizer: User, name: str
) -> None:
    call_command("load_protocols")

    page = client.get(reverse(name), {"q": "RR 2016 grades"}).content.decode()

    groups = re.findall(r'<h2 id="group-\d">(.*?)</h2>|<td data-label="Judged">(.*?)</td>', page)
    titles = re.findall(r'<a href="/protocols/([^/]+)/">', page)
    assert {"".join(group) for group in groups} == {"Answers"}
    assert titles == ["semeval-2016-task3", "semeval-2016-task3c", "semeval-2016-task3d"]
    assert "No protocol has these words" in client.get(reverse(name), {"q": "RR 1816"}).content.decode()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "max_ranks = 1000",
            "max_rank = 1000",
            "unknown key; did you mean max_ranks? Allowed here: answers, attributes, columns",
        ),
        ('"top-k"', '"top-50"', "is not allowed; use “the first ranks of each run”"),
        ("max_ranks = 1000", "max_ranks = 0.5\nties = 1", "2 errors."),
        ('"AP"', '"Mean"', "there is no measure"),
        ("our-lab-2026", "trec-adhoc", "there is already a protocol trec-adhoc"),
    ],
)
def test_broken_protocol_is_shown_with_key_and_allowed_values(
    client: Client, organizer: User, old: str, new: str, message: str
) -> None:
    make_protocol("trec-adhoc")

    answer = upload(client, OURS.replace(old, new).encode())

    assert message in answer.content.decode()
    assert not StoredProtocol.objects.filter(is_shipped=False).exists()


def test_file_in_another_encoding_is_refused(client: Client, organizer: User) -> None:
    file = SimpleUploadedFile("ours.toml", b"\xff")

    refused = client.post(reverse("tracks:new_protocol"), {"upload": file})

    assert refused.status_code == 422
    assert "is not UTF-8: byte 0" in refused.content.decode()


def test_stored_protocol_is_shown_and_never_edited_or_deleted(client: Client, organizer: User) -> None:
    stored = make_protocol("trec-adhoc")

    shown = client.get(reverse("admin:tracks_storedprotocol_change", args=[stored.pk]))
    changed = client.post(reverse("admin:tracks_storedprotocol_change", args=[stored.pk]), {"text": OURS})
    deleted = client.post(reverse("admin:tracks_storedprotocol_delete", args=[stored.pk]), {"post": "yes"})

    assert (shown.status_code, changed.status_code, deleted.status_code) == (200, 403, 403)
    stored.refresh_from_db()
    assert stored.slug == "trec-adhoc"
