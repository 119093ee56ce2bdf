"""Tracks, their assessors and their topics in the admin."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assay.errors import Refused
from participation.models import Team
from tests.helpers.factories import (
    make_assessor,
    make_organizer,
    make_protocol,
    make_topic,
    make_track,
    make_user,
)
from tests.helpers.judging import make_batch, make_pool
from tracks.admin import AssessorForm
from tracks.models import Assessor, Track
from tracks.topics import services as topic_services
from tracks.tracks import services as track_services

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(client: Client) -> User:
    user = make_organizer()
    client.force_login(user)
    return user


def track_form(**fields: object) -> dict[str, object]:
    inline = {"assessors-TOTAL_FORMS": "0", "assessors-INITIAL_FORMS": "0"}
    return {"name": "Answers 2026", "slug": "answers-2026", "description": "", **inline, **fields}


def test_tracks_are_created_on_the_site_only(client: Client, organizer: User) -> None:
    assert client.get(reverse("admin:tracks_track_add")).status_code == 403


def test_protocol_of_an_opened_track_does_not_change(client: Client, organizer: User) -> None:
    track = make_track()
    other = make_protocol("trec-adhoc")

    client.post(
        reverse("admin:tracks_track_change", args=[track.pk]), track_form(name="New name", protocol=other.pk)
    )

    track.refresh_from_db()
    assert (track.name, track.protocol.slug) == ("New name", "arqmath-2020-task1")


def test_track_without_topics_is_not_opened(client: Client, organizer: User) -> None:
    track = make_track(status=Track.Status.DRAFT)

    answer = client.post(
        reverse("admin:tracks_track_changelist"),
        {"action": "open_tracks", "_selected_action": [track.pk], "confirmed": "yes"},
        follow=True,
    )

    track.refresh_from_db()
    assert "has no topics yet" in answer.content.decode()
    assert track.status == Track.Status.DRAFT


def test_opening_several_tracks_asks_first_and_says_what_is_missing(client: Client, organizer: User) -> None:
    track = make_track(status=Track.Status.DRAFT, skipped=[])
    make_topic(track, "A.1")
    address = reverse("admin:tracks_track_changelist")
    chosen = {"action": "open_tracks", "_selected_action": [track.pk]}

    asked = client.post(address, chosen)
    track.refresh_from_db()
    before = track.status
    client.post(address, chosen | {"confirmed": "Open for runs"})
    track.refresh_from_db()

    assert "Open 1 track for runs" in asked.content.decode()
    assert "No deadline" in asked.content.decode()
    assert (before, track.status) == ("draft", "open")


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
    with pytest.raises(Refused, match="its protocol cannot change"):
        track_services.edit(track=stale, changed=["protocol"])

    track.refresh_from_db()
    assert track.protocol.slug == "arqmath-2020-task1"


def test_searched_collection_of_an_open_track_cannot_hold_its_topic_threads(
    client: Client, organizer: User
) -> None:
    track = make_track()
    assert track.collection is not None
    form = track_form(name=track.name, topic_collection=track.collection.pk)

    answer = client.post(reverse("admin:tracks_track_change", args=[track.pk]), form)

    assert "Choose another collection than the one that runs search" in answer.content.decode()
    track.refresh_from_db()
    assert track.topic_collection is None


def test_organizer_gives_an_assessor_a_group_of_the_protocol(client: Client, organizer: User) -> None:
    track, judge = make_track(protocol="ntcir-12-wikipedia"), make_user("ada")
    form = track_form(name=track.name, **{"assessors-TOTAL_FORMS": "1", "assessors-0-user": judge.pk})
    address = reverse("admin:tracks_track_change", args=[track.pk])

    refused = client.post(address, form | {"assessors-0-group": "students"}).content.decode()
    client.post(address, form | {"assessors-0-group": "graduate"})

    assert "use graduate, undergraduate" in refused
    assert Assessor.objects.get().group == "graduate"


def test_group_of_an_assessor_is_changed_in_their_row(client: Client, organizer: User) -> None:
    track, judge = make_track(protocol="ntcir-12-wikipedia"), make_user("ada")
    assessor = Assessor.objects.create(track=track, user=judge, group="graduate")
    row = {"assessors-0-id": assessor.pk, "assessors-0-user": make_user("eve").pk}
    form = track_form(
        name=track.name, **{"assessors-TOTAL_FORMS": "1", "assessors-INITIAL_FORMS": "1"}, **row
    )
    address = reverse("admin:tracks_track_change", args=[track.pk])

    refused = client.post(address, form | {"assessors-0-group": "students"}).content.decode()
    client.post(address, form | {"assessors-0-group": "undergraduate"})

    assessor.refresh_from_db()
    assert "use graduate, undergraduate" in refused
    assert (assessor.user, assessor.group) == (judge, "undergraduate")


def test_group_that_a_topic_depends_on_is_not_changed(client: Client, organizer: User) -> None:
    track = make_track(protocol="ntcir-12-wikipedia")
    topic = make_topic(track, "1")
    people = {group: make_assessor(track) for group in ("graduate", "undergraduate")}
    for group, user in people.items():
        Assessor.objects.filter(user=user).update(group=group)
    make_batch(make_pool(track, {topic: 1}), {user: [topic] for user in people.values()})
    rows = {"assessors-TOTAL_FORMS": "2", "assessors-INITIAL_FORMS": "2"}
    for n, assessor in enumerate(Assessor.objects.order_by("pk")):
        rows |= {f"assessors-{n}-id": str(assessor.pk), f"assessors-{n}-group": "graduate"}
    address = reverse("admin:tracks_track_change", args=[track.pk])

    refused = client.post(address, track_form(name="Renamed", **rows)).content.decode()
    unchanged = set(Assessor.objects.values_list("group", flat=True))
    swapped = {"assessors-0-group": "undergraduate", "assessors-1-group": "graduate"}
    client.post(address, track_form(name="Renamed", **rows | swapped))

    assert "cannot become a graduate assessor" in refused
    assert unchanged == set(people)
    assert list(Assessor.objects.order_by("pk").values_list("group", flat=True)) == list(swapped.values())


def test_member_of_a_team_cannot_become_an_assessor(client: Client, organizer: User) -> None:
    track, member = make_track(), make_user("pat")
    Team.objects.create(track=track, name="Abacus").members.add(member)
    form = track_form(name=track.name, **{"assessors-TOTAL_FORMS": "1", "assessors-0-user": member.pk})

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
    form = track_form(name=track.name, **{"assessors-TOTAL_FORMS": "1", "assessors-0-user": member.pk})
    clean = AssessorForm.clean

    def clean_and_join(self: AssessorForm) -> dict[str, Any]:
        data = clean(self)
        Team.objects.create(track=track, name="Abacus").members.add(member)
        return data

    monkeypatch.setattr(AssessorForm, "clean", clean_and_join)
    answer = client.post(reverse("admin:tracks_track_change", args=[track.pk]), form, follow=True)

    assert "cannot judge for it" in answer.content.decode()
    assert not Assessor.objects.filter(user=member).exists()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"color": "red"}, "Topic A.1: unknown label 'color'; use "),
        ({"category": "poem"}, "is not allowed; use computation, concept, proof"),
        (["proof"], "Labels must be a JSON object of strings"),
        ({"category": None}, "Labels must be a JSON object of strings"),
    ],
)
def test_topic_accepts_the_labels_that_its_protocol_defines(
    organizer: User, labels: object, message: str
) -> None:
    topic = make_topic(make_track(), "A.1")

    with pytest.raises(Refused, match=re.escape(message)):
        topic_services.edit(topic=topic, by=organizer, labels=labels)


def test_topic_is_shown_as_it_is_read_and_its_labels_change_on_the_site(
    client: Client, organizer: User
) -> None:
    topic = make_topic(
        make_track("lab"), "A.1", body="<p>Find <b>waves</b>.</p>", labels={"category": "proof"}
    )

    page = client.get(reverse("admin:tracks_topic_change", args=[topic.pk])).content.decode()

    assert "<p>Find <b>waves</b>.</p>" in page
    assert "category: proof" in page
    assert re.search(r"<script[^>]*/math[^>]*>", page)
    assert reverse("tracks:edit_topic", args=["lab", "A.1"]) in page
    assert 'name="labels"' not in page


def test_index_of_the_admin_has_words_of_its_users(client: Client, organizer: User) -> None:
    page = client.get(reverse("admin:index")).content.decode()

    assert [
        words for words in ("Runs and pools", "Qrels and leaderboards", "Judging") if words not in page
    ] == []
    assert "Pooling" not in page


def test_people_page_of_the_admin_says_what_staff_may_do(client: Client, organizer: User) -> None:
    page = client.get(reverse("admin:accounts_user_change", args=[organizer.pk])).content.decode()

    assert "Staff are administrators of the site" in page
    assert "organizers of every track" not in page
