"""Guidelines are written by organizers, published as versions that never change, and read by assessors."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from accounts.models import User
from tests.helpers.factories import (
    make_answer,
    make_assessor,
    make_document,
    make_organizer,
    make_topic,
    make_track,
)
from tracks.guidelines import services
from tracks.models import GuidelinesDraft, GuidelinesReading, GuidelinesVersion, Track

pytestmark = pytest.mark.django_db


@pytest.fixture
def track(db: None) -> Track:
    track = make_track()
    make_topic(track, "A.1", body="<p>What is it?</p>")
    assert track.collection is not None
    make_answer(make_document(track.collection, "10"), "11", body="<p>It is <b>this</b>.</p>")
    return track


def as_user(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def post(track: Track, action: str, text: str, *, client: Client | None = None, **fields: object) -> Any:
    client = client or as_user(make_organizer())
    values = {"text": text, "summary": "", "revision": 0, "action": action} | fields
    return client.post(reverse("tracks:edit_guidelines", args=[track.slug]), values, follow=True)


def publish(track: Track, text: str, summary: str = "") -> GuidelinesVersion:
    draft = GuidelinesDraft.objects.filter(track=track).first()
    revision = draft.revision if draft else 0
    return services.publish(track=track, text=text, summary=summary, revision=revision, by=make_organizer())


def page_of(user: User, name: str, *arguments: object) -> str:
    return as_user(user).get(reverse(f"tracks:{name}", args=arguments)).content.decode()


EXAMPLE = "# Rules\n\n::: example A.1 11 high\nIt answers $x$ **completely**.\n:::\n"


def test_first_draft_begins_with_the_starter_of_the_protocol(track: Track) -> None:
    organizer = make_organizer()

    page = page_of(organizer, "edit_guidelines", track.slug)
    post(track, "save", "Our own.", client=as_user(organizer))
    later = page_of(organizer, "edit_guidelines", track.slug)

    assert "Read the question completely first" in page
    assert "The text is a starter for this protocol" in page
    assert "Our own." in later
    assert "Read the question completely first" not in later
    assert 'name="summary"' not in later, "nothing changes in the first version"
    assert "starter" not in page_of(make_assessor(track), "guidelines", track.slug)


def test_publication_makes_a_version_that_assessors_read(track: Track) -> None:
    page = post(track, "publish", EXAMPLE, summary="First rules").content.decode()

    assert "Version 1 is in force." in page
    assert 'name="summary"' in page_of(make_organizer(), "edit_guidelines", track.slug)
    read = page_of(make_assessor(track), "guidelines", track.slug)
    assert "<h2>Rules</h2>" in read
    assert "It is <b>this</b>." in read
    assert "What is it?" in read
    assert "Example: <strong>High</strong>" in read
    assert "<strong>completely</strong>" in read


def test_saved_draft_is_not_shown_to_assessors(track: Track) -> None:
    page = post(track, "save", "Secret draft").content.decode()

    assert "The draft is saved." in page
    assert "Secret draft" in page
    assert "Secret draft" not in page_of(make_assessor(track), "guidelines", track.slug)


def test_way_to_the_examples_saves_the_draft(track: Track) -> None:
    page = post(track, "examples", "A draft").content.decode()

    assert "No training judgments yet" in page
    assert GuidelinesDraft.objects.get().text == "A draft"


def test_preview_shows_the_text_and_stores_nothing(track: Track) -> None:
    page = post(track, "preview", "# Rules\n\n::: example A.9 11 high\n:::\n").content.decode()

    assert "<h2>Rules</h2>" in page
    assert "Line 3: the track has no topic A.9." in page
    assert not GuidelinesDraft.objects.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" ", "The guidelines are empty."),
        ("::: example A.9 11 high\n:::", "Line 1: the track has no topic A.9."),
        ("::: example A.1 12 high\n:::", "Line 1: the collection has no document 12."),
        ("::: example A.1 11 best\n:::", "“best” is not a choice of the protocol; use high, medium, low"),
        ("::: example A.1\n:::", "a topic, a document and a choice."),
        ("::: example A.1 11 high\n:::\n\n" * 31, "31 worked examples; at most 30 are accepted."),
    ],
)
def test_publication_is_refused_and_the_text_is_kept(track: Track, text: str, message: str) -> None:
    answer = post(track, "publish", text)

    assert answer.status_code == 409
    assert message in answer.content.decode()
    assert answer.context["form"]["text"].value() == text
    assert not GuidelinesVersion.objects.exists()


def test_same_text_is_not_published_again(track: Track) -> None:
    publish(track, "Rules")

    assert "same as that of version 1" in post(track, "publish", "Rules", revision=1).content.decode()


def test_published_version_cannot_be_changed_or_deleted(track: Track) -> None:
    version = publish(track, "Rules")

    for act in (version.save, lambda: GuidelinesVersion.objects.all()._raw_delete("default")):
        with pytest.raises(IntegrityError, match="of tracks_guidelinesversion is kept"), transaction.atomic():
            act()


def test_draft_that_somebody_else_saved_is_not_overwritten_unseen(track: Track) -> None:
    post(track, "save", "Theirs", client=as_user(make_organizer("olga")))

    answer = post(track, "save", "Ours")

    assert answer.status_code == 409
    assert "olga saved another text" in answer.content.decode()
    assert answer.context["form"]["text"].value() == "Ours"
    assert GuidelinesDraft.objects.get().text == "Theirs"
    assert post(track, "save", "Ours", revision=answer.context["form"]["revision"].value()).status_code == 200
    assert GuidelinesDraft.objects.get().text == "Ours"


def test_history_lists_versions_with_their_readers_and_differences(track: Track) -> None:
    ada = make_assessor(track, "ada")
    publish(track, "Judge the answer.\n")
    page_of(ada, "guidelines", track.slug)
    publish(track, "Judge the whole answer.\n", "Say what counts")

    page = as_user(make_organizer()).get(reverse("tracks:guidelines_versions", args=[track.slug]))

    assert [(item.version.number, item.n_readers) for item in page.context["versions"]] == [(2, 0), (1, 1)]
    changes = page_of(ada, "guidelines_changes", track.slug, 1, 2)
    assert "<ins>whole </ins>" in changes
    assert "not in force any more" in page_of(ada, "guidelines_version", track.slug, 1)


def test_reader_learns_what_changed_since_they_last_read(track: Track) -> None:
    ada = make_assessor(track, "ada")
    publish(track, "One")
    page_of(ada, "guidelines", track.slug)
    publish(track, "Two", "Now stricter")

    page = page_of(ada, "guidelines", track.slug)

    assert "You last read version 1." in page
    assert "<bdi>Now stricter</bdi>" in page
    assert "You last read" not in page_of(ada, "guidelines", track.slug)
    assert GuidelinesReading.objects.filter(user=ada).count() == 2


def test_worked_example_keeps_the_text_that_it_had(track: Track) -> None:
    publish(track, EXAMPLE)
    assert track.collection is not None
    track.collection.documents.filter(docno="11").update(body="<p>Changed.</p>")

    assert "It is <b>this</b>." in page_of(make_organizer(), "guidelines", track.slug)
