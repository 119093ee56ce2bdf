"""The pages of tracks, topics, protocols and jobs."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from assay.protocols.description import facts
from assay.protocols.loader import load_protocol, shipped_slugs
from jobs.models import Job
from pooling.models import Team
from tests.helpers.factories import (
    make_assessor,
    make_collection,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tracks.models import Assessor, Track

pytestmark = pytest.mark.django_db


def test_draft_is_seen_by_organizers_only(client: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    addresses = [reverse(f"corpus:{name}", args=[track.slug]) for name in ("track", "topics")]

    as_visitor = [client.get(address).status_code for address in addresses]
    client.force_login(make_user())
    as_stranger = [client.get(address).status_code for address in addresses]
    client.force_login(make_organizer())
    as_organizer = [client.get(address).status_code for address in addresses]

    assert (as_visitor, as_stranger, as_organizer) == ([404, 404], [404, 404], [200, 200])


def test_open_track_tells_everybody_how_it_is_judged_and_scored(client: Client) -> None:
    track = make_track()

    page = client.get(track.get_absolute_url()).content.decode()

    assert "Sufficient to answer the complete question on its own." in page
    assert "AP(rel=2)&#x27;" in page
    assert "the first 50 of primary, 20 of alternate runs" in page


def test_organizer_opens_and_closes_a_track(client: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    make_topic(track, "A.1")
    client.force_login(make_organizer())

    client.post(reverse("tracks:open_track", args=[track.slug]))
    track.refresh_from_db()
    opened = track.status
    client.post(reverse("tracks:close_track", args=[track.slug]))
    track.refresh_from_db()

    assert (opened, track.status) == ("open", "closed")


@pytest.mark.parametrize("name", ["open_track", "close_track"])
def test_others_do_not_open_or_close_it(client: Client, name: str) -> None:
    track = make_track()
    address = reverse(f"corpus:{name}", args=[track.slug])

    assert client.post(address).status_code == 302, "a visitor is sent to the login"
    client.force_login(make_assessor(track))
    assert client.post(address).status_code == 403
    client.force_login(make_organizer())
    assert client.get(address).status_code == 405


def test_track_whose_time_has_passed_is_not_opened_again(client: Client) -> None:
    track = make_track(status=Track.Status.CLOSED, closes_at=timezone.now())
    make_topic(track, "A.1")
    client.force_login(make_organizer())

    answer = client.post(reverse("tracks:open_track", args=[track.slug]))

    assert answer.status_code == 409
    assert "The closing time of" in answer.content.decode()


def test_refusal_is_json_for_a_program(client: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    client.force_login(make_organizer())

    answer = client.post(
        reverse("tracks:open_track", args=[track.slug]), headers={"accept": "application/json"}
    )

    assert answer.status_code == 409
    assert answer.json()["detail"] == f"{track} has no topics yet. Import its topic file first."


def test_topics_stand_in_the_order_of_their_bytes(client: Client) -> None:
    track = make_track()
    for code in ("A.2", "A.10", "A.1"):
        make_topic(track, code)

    page = client.get(reverse("tracks:topics", args=[track.slug])).content.decode()

    positions = [page.index(f">{code}</a>") for code in ("A.1", "A.10", "A.2")]
    assert positions == sorted(positions)


def test_topic_may_have_a_slash_in_its_code(client: Client) -> None:
    track = make_track()
    make_topic(track, "2026/1")

    listed = client.get(reverse("tracks:topics", args=[track.slug])).content.decode()

    assert client.get(reverse("tracks:topic", args=[track.slug, "2026/1"])).status_code == 200
    assert f"/tracks/{track.slug}/topics/2026/1/" in listed


def test_topics_own_thread_is_linked_for_those_who_may_read_it(client: Client) -> None:
    own = make_collection()
    track = make_track(topic_collection=own)
    make_topic(track, "A.1", thread="77")
    address = reverse("tracks:topic", args=[track.slug, "A.1"])
    thread = reverse("corpus:thread", args=[own.slug, "77"])

    client.force_login(make_user())
    for_stranger = client.get(address).content.decode()
    client.force_login(make_assessor(track))
    for_assessor = client.get(address).content.decode()

    assert thread not in for_stranger
    assert thread in for_assessor


def test_job_is_watched_by_organizers_and_by_who_asked_for_it(client: Client) -> None:
    owner = make_user()
    job = Job.objects.create(kind="tests.work", title="Work", created_by=owner)
    statuses = []

    for user in (owner, make_user(), make_organizer()):
        client.force_login(user)
        statuses.append(client.get(job.get_absolute_url()).status_code)

    assert statuses == [200, 404, 200]


def test_fragment_of_a_job_polls_until_it_is_finished(client: Client) -> None:
    client.force_login(make_organizer())
    job = Job.objects.create(kind="tests.work", title="Work", state="running", done=3, total=12)

    running = client.get(job.get_absolute_url(), headers={"hx-request": "true"})
    Job.objects.filter(pk=job.pk).update(state="done")
    finished = client.get(job.get_absolute_url(), headers={"hx-request": "true"})

    assert 'hx-trigger="every 1s"' in running.content.decode()
    assert 'value="25"' in running.content.decode()
    assert "HX-Refresh" not in running.headers
    assert finished.headers["HX-Refresh"] == "true"
    assert "hx-trigger" not in finished.content.decode()


def test_failed_job_is_tried_again_by_an_organizer_only(client: Client) -> None:
    job = Job.objects.create(kind="tests.work", title="Work", state="failed")
    address = reverse("jobs:retry", args=[job.pk])

    client.force_login(make_user())
    by_stranger = client.post(address).status_code
    client.force_login(make_organizer())
    client.post(address)

    job.refresh_from_db()
    assert (by_stranger, job.state) == (403, "queued")


def test_person_switches_shortcuts_off_and_on(client: Client) -> None:
    user = make_user()
    client.force_login(user)

    client.post(reverse("account"), {})
    user.refresh_from_db()
    off = user.uses_shortcuts
    client.post(reverse("account"), {"uses_shortcuts": "on"})
    user.refresh_from_db()

    assert (off, user.uses_shortcuts) == (False, True)


def test_account_tells_of_all_parts_in_a_known_number_of_queries(
    client: Client, django_assert_num_queries: Any
) -> None:
    user = make_user()
    for year in (2025, 2026, 2027):
        track = make_track(slug=f"track-{year}", name=f"Track {year}")
        Assessor.objects.create(track=track, user=user)
        other = make_track(slug=f"other-{year}", name=f"Other {year}")
        Team.objects.create(track=other, name="Abacus").members.add(user)
    client.force_login(user)

    with django_assert_num_queries(5):  # session, person, judge or not, tracks, teams
        page = client.get(reverse("account")).content.decode()

    assert [f"Track {year}" in page and f"Other {year}" in page for year in (2025, 2026, 2027)] == [True] * 3


def test_home_explains_itself_when_there_is_nothing(client: Client) -> None:
    as_visitor = client.get("/").content.decode()
    client.force_login(make_organizer())
    as_organizer = client.get("/").content.decode()

    assert "The organizers have not opened one." in as_visitor
    assert "importing a collection" in as_organizer


def test_unknown_address_is_answered_with_a_page(client: Client) -> None:
    answer = client.get("/tracks/none/")

    assert answer.status_code == 404
    assert "There is nothing here" in answer.content.decode()


@pytest.mark.parametrize("slug", shipped_slugs())
def test_protocol_is_told_in_words_on_its_page_and_its_tracks(client: Client, slug: str) -> None:
    track = make_track(protocol=slug)

    for address in (reverse("tracks:protocol", args=[slug]), reverse("tracks:track", args=[track.slug])):
        page = client.get(address).content.decode()

        for heading, words in facts(load_protocol(slug)):
            assert f"<dt>{heading}</dt><dd>{escape(words)}</dd>" in page


def test_protocol_is_shown_and_downloaded(client: Client) -> None:
    track = make_track()
    address = reverse("tracks:protocol", args=[track.protocol.slug])

    page, toml = client.get(address), client.get(address, {"format": "toml"})

    assert track.protocol.digest in page.content.decode()
    assert toml.content.decode() == track.protocol.text
