"""The admin of tracks, protocols, topics and users: what organizers can change there, and what they cannot."""

from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assay.protocols.loader import shipped_text
from pooling.models import Team
from tests.helpers.factories import (
    make_assessor,
    make_collection,
    make_organizer,
    make_protocol,
    make_topic,
    make_track,
    make_user,
)
from tracks.assessors.admin import AssessorForm
from tracks.models import Assessor, StoredProtocol, Track
from tracks.tracks import services as track_services

pytestmark = pytest.mark.django_db

OURS = shipped_text("trec-adhoc").replace('slug = "trec-adhoc"', 'slug = "our-lab-2026"')


@pytest.fixture
def organizer(client: Client) -> User:
    user = make_organizer()
    client.force_login(user)
    return user


def test_organizer_pastes_a_protocol(client: Client, organizer: User) -> None:
    answer = client.post(reverse("admin:tracks_storedprotocol_add"), {"text": OURS.replace("\n", "\r\n")})

    assert answer.status_code == 302
    stored = StoredProtocol.objects.get(slug="our-lab-2026")
    assert (stored.text, stored.created_by, stored.is_shipped) == (OURS, organizer, False)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "max_ranks = 1000",
            "max_rank = 1000",
            "runs.max_rank: unknown key; allowed here: forbidden_fields",
        ),
        ('"top-k"', '"top-50"', "is not allowed; use top-k, distinct-units"),
        ('"AP"', '"Mean"', "there is no measure"),
    ],
)
def test_broken_protocol_is_refused_with_key_and_allowed_values(
    client: Client, organizer: User, old: str, new: str, message: str
) -> None:
    answer = client.post(reverse("admin:tracks_storedprotocol_add"), {"text": OURS.replace(old, new)})

    assert answer.status_code == 200
    assert message in answer.content.decode()
    assert not StoredProtocol.objects.filter(slug="our-lab-2026").exists()


def test_slug_of_another_protocol_is_refused(client: Client, organizer: User) -> None:
    make_protocol("trec-adhoc")

    answer = client.post(
        reverse("admin:tracks_storedprotocol_add"), {"text": OURS.replace("our-lab-2026", "trec-adhoc")}
    )

    assert "there is a protocol trec-adhoc already" in answer.content.decode()


def test_stored_protocol_is_shown_and_never_edited_or_deleted(client: Client, organizer: User) -> None:
    stored = make_protocol("trec-adhoc")

    shown = client.get(reverse("admin:tracks_storedprotocol_change", args=[stored.pk]))
    changed = client.post(reverse("admin:tracks_storedprotocol_change", args=[stored.pk]), {"text": OURS})
    deleted = client.post(reverse("admin:tracks_storedprotocol_delete", args=[stored.pk]), {"post": "yes"})

    assert (shown.status_code, changed.status_code, deleted.status_code) == (200, 403, 403)
    stored.refresh_from_db()
    assert stored.slug == "trec-adhoc"


def _track_form(**fields: object) -> dict[str, object]:
    inline = {"assessors-TOTAL_FORMS": "0", "assessors-INITIAL_FORMS": "0"}
    return {"name": "Answers 2026", "slug": "answers-2026", "description": "", **inline, **fields}


def test_organizer_creates_a_track_with_its_assessors(client: Client, organizer: User) -> None:
    judge = make_user("ada")
    form = _track_form(
        protocol=make_protocol().pk, **{"assessors-TOTAL_FORMS": "1", "assessors-0-user": judge.pk}
    )

    answer = client.post(reverse("admin:tracks_track_add"), form)

    assert answer.status_code == 302
    track = Track.objects.get(slug="answers-2026")
    assert track.status == Track.Status.DRAFT
    assert [assessor.user for assessor in track.assessors.all()] == [judge]


def test_organizer_gives_an_assessor_a_group_of_the_protocol(client: Client, organizer: User) -> None:
    track, judge = make_track(protocol="ntcir-12-wikipedia"), make_user("ada")
    form = _track_form(name=track.name, **{"assessors-TOTAL_FORMS": "1", "assessors-0-user": judge.pk})
    address = reverse("admin:tracks_track_change", args=[track.pk])

    refused = client.post(address, form | {"assessors-0-group": "students"}).content.decode()
    client.post(address, form | {"assessors-0-group": "graduate"})

    assert "use graduate, undergraduate" in refused
    assert Assessor.objects.get().group == "graduate"


def test_member_of_a_team_cannot_become_an_assessor(client: Client, organizer: User) -> None:
    track, member = make_track(), make_user("pat")
    Team.objects.create(track=track, name="Abacus").members.add(member)
    form = _track_form(name=track.name, **{"assessors-TOTAL_FORMS": "1", "assessors-0-user": member.pk})

    answer = client.post(reverse("admin:tracks_track_change", args=[track.pk]), form)

    assert (
        f"{member} is a member of a team of {track}, so {member} cannot judge for it."
        in answer.content.decode()
    )
    assert not Assessor.objects.filter(user=member).exists()


def test_user_who_joins_a_team_while_the_form_is_checked_is_refused(
    client: Client, organizer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    track, member = make_track(), make_user("pat")
    form = _track_form(name=track.name, **{"assessors-TOTAL_FORMS": "1", "assessors-0-user": member.pk})
    clean = AssessorForm.clean

    def clean_and_join(self: AssessorForm) -> dict[str, Any]:
        data = clean(self)
        Team.objects.create(track=track, name="Abacus").members.add(member)
        return data

    monkeypatch.setattr(AssessorForm, "clean", clean_and_join)
    answer = client.post(reverse("admin:tracks_track_change", args=[track.pk]), form, follow=True)

    assert "cannot judge for it" in answer.content.decode()
    assert not Assessor.objects.filter(user=member).exists()


def test_collection_of_topic_threads_differs_from_the_searched_one(client: Client, organizer: User) -> None:
    collection = make_collection()
    form = _track_form(protocol=make_protocol().pk, collection=collection.pk, topic_collection=collection.pk)

    answer = client.post(reverse("admin:tracks_track_add"), form)

    assert "Choose another collection than the one that runs search" in answer.content.decode()
    assert not Track.objects.filter(slug="answers-2026").exists()


def test_protocol_of_an_opened_track_does_not_change(client: Client, organizer: User) -> None:
    track = make_track()
    other = make_protocol("trec-adhoc")

    client.post(
        reverse("admin:tracks_track_change", args=[track.pk]), _track_form(name="New name", protocol=other.pk)
    )

    track.refresh_from_db()
    assert (track.name, track.protocol.slug) == ("New name", "arqmath-2020-task1")


def test_track_without_topics_is_not_opened(client: Client, organizer: User) -> None:
    track = make_track(status=Track.Status.DRAFT)

    answer = client.post(
        reverse("admin:tracks_track_changelist"),
        {"action": "open_tracks", "_selected_action": [track.pk]},
        follow=True,
    )

    track.refresh_from_db()
    assert "has no topics yet" in answer.content.decode()
    assert track.status == Track.Status.DRAFT


@pytest.mark.parametrize("junk", ["", "abc", "1; --", "9" * 40, "-1"])
def test_selection_that_is_not_an_id_is_refused_with_a_message(
    client: Client, organizer: User, junk: str
) -> None:
    answer = client.post(
        reverse("admin:tracks_track_changelist"),
        {"action": "open_tracks", "_selected_action": [junk]},
        follow=True,
    )

    assert answer.status_code == 200
    assert "Nothing was changed" in answer.content.decode()


def test_organizer_creates_users_but_no_superuser(client: Client, organizer: User) -> None:
    root = make_user("root", is_staff=True, is_superuser=True)
    form = {
        "username": "emmy",
        "usable_password": "true",
        "password1": "quintic-9-roots",
        "password2": "quintic-9-roots",
    }

    made = client.post(reverse("admin:accounts_user_add"), form)
    client.post(
        reverse("admin:accounts_user_change", args=[User.objects.get(username="emmy").pk]),
        {
            "username": "emmy",
            "is_active": "on",
            "is_superuser": "on",
            "date_joined_0": "2026-01-01",
            "date_joined_1": "0:00",
        },
    )
    attack = client.post(reverse("admin:accounts_user_change", args=[root.pk]), {"username": "mine"})

    assert (made.status_code, attack.status_code) == (302, 403)
    assert not User.objects.get(username="emmy").is_superuser


def test_users_are_not_deleted(client: Client, organizer: User) -> None:
    judge = make_assessor(make_track())

    answer = client.post(reverse("admin:accounts_user_delete", args=[judge.pk]), {"post": "yes"})

    assert answer.status_code == 403
    assert User.objects.filter(pk=judge.pk).exists()


@pytest.mark.parametrize(
    "name",
    [
        "accounts_user",
        "corpus_collection",
        "corpus_import",
        "jobs_job",
        "tracks_storedprotocol",
        "tracks_topic",
        "tracks_topicimport",
        "tracks_track",
    ],
)
def test_lists_are_for_organizers_only(client: Client, name: str) -> None:
    address = reverse(f"admin:{name}_changelist")

    client.force_login(make_organizer())
    assert client.get(address).status_code == 200
    client.force_login(make_assessor(make_track()))
    assert client.get(address).status_code == 302, "sent to the admin's login"


def test_edit_of_a_track_keeps_a_status_that_changed_meanwhile(organizer: User) -> None:
    track = make_track(status=Track.Status.DRAFT)
    stale = Track.objects.get(pk=track.pk)
    Track.objects.filter(pk=track.pk).update(status=Track.Status.OPEN)

    stale.name = "New name"
    track_services.edit(track=stale, changed=["name"])

    track.refresh_from_db()
    assert (track.name, track.status) == ("New name", Track.Status.OPEN)


def test_stale_form_cannot_change_the_protocol_of_an_opened_track(organizer: User) -> None:
    track = make_track(status=Track.Status.DRAFT)
    stale = Track.objects.get(pk=track.pk)
    Track.objects.filter(pk=track.pk).update(status=Track.Status.OPEN)

    stale.protocol = make_protocol("trec-adhoc")
    with pytest.raises(track_services.TrackRefused, match="its protocol cannot change"):
        track_services.edit(track=stale, changed=["protocol"])

    track.refresh_from_db()
    assert track.protocol.slug == "arqmath-2020-task1"


def test_searched_collection_of_an_open_track_cannot_hold_its_topic_threads(
    client: Client, organizer: User
) -> None:
    track = make_track()
    assert track.collection is not None
    form = _track_form(name=track.name, topic_collection=track.collection.pk)

    answer = client.post(reverse("admin:tracks_track_change", args=[track.pk]), form)

    assert "Choose another collection than the one that runs search" in answer.content.decode()
    track.refresh_from_db()
    assert track.topic_collection is None


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ('{"category": "proof"}', ""),
        ("", ""),
        ('{"color": "red"}', "unknown label 'color'; use "),
        ('{"category": "poem"}', "is not allowed; use computation, concept, proof"),
        ('["proof"]', "Labels must be a JSON object of strings"),
        ('{"category": null}', "Labels must be a JSON object of strings"),
        ('{"category": "\\u0000"}', "is not allowed"),
        ("{", "Enter a valid JSON"),
    ],
)
def test_topic_accepts_the_labels_that_its_protocol_defines(
    client: Client, organizer: User, labels: str, message: str
) -> None:
    topic = make_topic(make_track(), "A.1")

    answer = client.post(
        reverse("admin:tracks_topic_change", args=[topic.pk]), {"labels": labels, "thread": ""}
    )

    assert (answer.status_code == 302) is (not message)
    assert unescape(message) in unescape(answer.content.decode())
