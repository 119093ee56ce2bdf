"""The audit log: its pages and files."""

import csv
import re
from io import StringIO
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Event, User
from tests.helpers.confirming import confirm
from tests.helpers.factories import make_organizer, make_topic, make_track, make_user
from tracks.models import Track

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(client: Client) -> User:
    user = make_organizer("anna")
    client.force_login(user)
    return user


def make_event(track: Track | None = None, **fields: Any) -> Event:
    named = {"track_id": track.pk, "track_slug": track.slug} if track else {}
    return Event.objects.create(**{"action": "batch.opened", "via": "site", **named, **fields})


def test_what_an_organizer_does_on_a_page_is_in_the_log_of_its_track(client: Client, organizer: User) -> None:
    track = make_track("task-1", name="Task 1", status=Track.Status.DRAFT)
    make_topic(track)

    confirm(client, reverse("tracks:open_track", args=[track.slug]))
    confirm(client, reverse("tracks:close_track", args=[track.slug]))

    page = client.get(reverse("tracks:history", args=[track.slug])).content.decode()
    actions = re.findall(r'data-label="Action"[^>]*>\s*(.*?)\s*</td>', page, re.DOTALL)
    assert actions == ["closed the track", "opened the track"], "without the name of the track"
    events = list(Event.objects.filter(track_id=track.pk))
    assert [(event.by, event.via, event.subject) for event in events] == [(organizer, "site", "Task 1")] * 2


def test_log_is_filtered_by_person_action_and_day(client: Client, organizer: User) -> None:
    track = make_track("task-1")
    other = make_user("ben")
    make_event(track, by=other, subject="first")
    make_event(track, by=other, subject="second", action="batch.closed")
    make_event(track, subject="third", via="command")
    make_event(track, by=other, subject="fourth", at="2026-01-31T23:30:00Z")
    make_event(subject="of no track", by=other)

    def subjects(name: str = "history_csv", **chosen: str) -> set[str]:
        address = reverse(f"tracks:{name}", args=[track.slug] if name == "history_csv" else [])
        text = b"".join(client.get(address, chosen)).decode()
        return {row["subject"] for row in csv.DictReader(StringIO(text))}

    assert subjects() == {"first", "second", "third", "fourth"}
    assert subjects(person="ben", action="batch.opened") == {"first", "fourth"}
    assert subjects(person="nobody") == {"third"}
    assert subjects(first="2026-01-31", last="2026-01-31") == {"fourth"}
    assert subjects(last="2026-01-30") == set()
    assert "of no track" in subjects("site_history_csv")


def test_details_are_shown_in_words_and_are_json_in_the_file(client: Client, organizer: User) -> None:
    changed = {"name": {"from": "Task", "to": "Task 1"}, "topics": ["A.1", "A.2"], "reason": "", "anew": True}
    make_event(details=changed)

    page = client.get(reverse("tracks:site_history")).content.decode()
    file = b"".join(client.get(reverse("tracks:site_history_csv"))).decode()

    assert "Task → Task 1" in page
    assert "A.1, A.2" in page
    assert "reason" not in page
    assert '""anew"": true' in file


def test_long_list_is_folded(client: Client, organizer: User) -> None:
    make_event(details={"topics": [f"A.{number}" for number in range(1, 99)]})

    page = client.get(reverse("tracks:site_history")).content.decode()

    assert '<summary><span class="muted">topics:</span> 98: A.1, A.2, … A.98</summary>A.1, A.2, A.3,' in page


def test_times_of_a_folded_list_are_to_the_minute(client: Client, organizer: User) -> None:
    make_event(details={"moved": [f"2026-11-30T01:57:{second:02}+00:00" for second in range(40)]})

    page = client.get(reverse("tracks:site_history")).content.decode()

    assert "40: 2026-11-30 01:57 UTC, 2026-11-30 01:57 UTC, … 2026-11-30 01:57 UTC</summary>" in page


def test_digest_is_shortened_and_a_time_is_to_the_minute_on_the_page_only(
    client: Client, organizer: User
) -> None:
    make_event(details={"sha256": "ab" * 32, "released_at": "2026-11-30T01:57:08.914541+00:00"})

    page = client.get(reverse("tracks:site_history")).content.decode()
    file = b"".join(client.get(reverse("tracks:site_history_csv"))).decode()

    assert f'<code class="digest" title="{"ab" * 32}"' in page
    assert '<span class="muted">released at:</span> 2026-11-30 01:57 UTC' in page
    assert "01:57:08.914541" in file


def test_filter_with_values_that_the_log_does_not_contain_shows_all_events_and_says_so(
    client: Client, organizer: User
) -> None:
    make_event(subject="one")

    page = client.get(reverse("tracks:site_history"), {"person": "nobody at all", "first": "x", "page": "x"})

    assert page.status_code == 200
    assert "Choose one of the list" in page.content.decode()
    assert "one" in page.content.decode()
