"""The dates of a track in the order of time."""

from datetime import UTC, date, datetime

import pytest

from tests.helpers.factories import make_track
from tracks.deadlines.timeline import timeline
from tracks.models import Deadline, Milestone, Track

pytestmark = pytest.mark.django_db


def at(day: int, hour: int = 12) -> datetime:
    return datetime(2036, 5, day, hour, tzinfo=UTC)


def test_dates_are_in_order_and_the_first_that_is_not_over_is_next() -> None:
    track = make_track()
    Deadline.objects.create(track=track, opens_at=at(1), closes_at=at(9), zone="AoE", grace_minutes=60)
    Deadline.objects.create(track=track, kind="alternate", closes_at=at(12))
    Milestone.objects.create(
        track=track, title="Workshop", starts_on=date(2036, 6, 1), ends_on=date(2036, 6, 2)
    )
    Milestone.objects.create(track=track, title="Topics", starts_on=date(2036, 4, 1))

    dates = timeline(track, now=at(7))

    assert [(each.title, each.place.name, each.days) for each in dates] == [
        ("Topics", "PAST", "2036-04-01"),
        ("Open for runs", "PAST", "2036-05-01 00:00 AoE"),
        ("Runs due", "NOW", "2036-05-09 00:00 AoE"),
        ("alternate runs due", "COMING", "2036-05-12 12:00 UTC"),
        ("Workshop", "COMING", "2036-06-01 to 2036-06-02"),
    ]
    assert dates[2].left == "2 days"
    assert dates[2].note == "late runs until 2036-05-09 01:00 AoE"


def test_milestone_comes_after_a_deadline_of_the_day_before_in_any_zone() -> None:
    track = make_track()
    Milestone.objects.create(track=track, title="Judging", starts_on=date(2036, 5, 10))
    Deadline.objects.create(track=track, closes_at=datetime(2036, 5, 10, 11, 59, tzinfo=UTC), zone="AoE")

    dates = timeline(track, now=at(7))

    assert [(each.title, each.days, each.place.name) for each in dates] == [
        ("Runs due", "2036-05-09 23:59 AoE", "NOW"),
        ("Judging", "2036-05-10", "COMING"),
    ]


def test_milestone_of_a_day_has_happened_when_the_day_has_come() -> None:
    track = make_track(status=Track.Status.CLOSED)
    Milestone.objects.create(track=track, title="Topics", starts_on=date(2036, 5, 7))
    Milestone.objects.create(
        track=track, title="Judging", starts_on=date(2036, 5, 7), ends_on=date(2036, 5, 8)
    )

    dates = timeline(track, now=at(7, 20), has_results=True)
    released = timeline(track, now=at(7, 20), has_results=True, happened={"Released": at(7, 19)})

    assert [each.place.name for each in released] == ["PAST"] * 3
    assert [(each.title, each.place.name, each.note) for each in dates] == [
        ("Judging", "COMING", "planned"),
        ("Topics", "PAST", ""),
    ]


def test_no_date_is_next_once_the_results_are_released() -> None:
    track = make_track(status=Track.Status.CLOSED)
    Milestone.objects.create(track=track, title="Workshop", starts_on=date(2036, 6, 1))

    (waiting,), (released,) = timeline(track, now=at(7)), timeline(track, now=at(7), has_results=True)

    assert [waiting.place.name, released.place.name] == ["NOW", "COMING"]


def test_milestone_is_next_until_its_last_day_is_over_everywhere() -> None:
    track = make_track()
    Milestone.objects.create(
        track=track, title="Workshop", starts_on=date(2036, 5, 1), ends_on=date(2036, 5, 2)
    )

    during, before_its_end, after = (
        timeline(track, now=moment)[0] for moment in (at(1), at(3, 11), at(3, 12))
    )

    assert [each.place.name for each in (during, before_its_end, after)] == ["ON", "ON", "PAST"]
    assert during.left == "", "a milestone has no time of the day"


def test_deadline_of_a_track_that_was_closed_earlier_is_left_out() -> None:
    track = make_track(status=Track.Status.CLOSED)
    Deadline.objects.create(track=track, closes_at=at(9))

    early, late = (timeline(track, now=at(day)) for day in (7, 10))

    assert [early, [each.title for each in late]] == [[], ["Runs due"]]


def test_track_without_dates_has_none() -> None:
    assert timeline(make_track(), now=at(1)) == []
