"""Local times, zones and instants."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.test import RequestFactory

from web import times

pytestmark = pytest.mark.django_db

SPRING, AUTUMN = (
    "2026-03-29T02:30",
    "2026-10-25T02:30",
)  # the clocks of Prague skip the first, and repeat the second


@pytest.mark.parametrize(
    ("text", "zone", "instant"),
    [
        ("2026-05-01T23:59", "AoE", datetime(2026, 5, 2, 11, 59, tzinfo=UTC)),
        ("2026-05-01T23:59", "UTC", datetime(2026, 5, 1, 23, 59, tzinfo=UTC)),
        ("2026-05-01T23:59", "Europe/Prague", datetime(2026, 5, 1, 21, 59, tzinfo=UTC)),
        ("2026-12-01T12:00", "America/New_York", datetime(2026, 12, 1, 17, 0, tzinfo=UTC)),
        ("2026-12-01T12:00:30", "Asia/Kolkata", datetime(2026, 12, 1, 6, 30, 30, tzinfo=UTC)),
        (AUTUMN, "Europe/Prague", datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
    ],
)
def test_local_time_becomes_an_instant_and_back(text: str, zone: str, instant: datetime) -> None:
    assert times.instant_of(text, zone) == instant
    assert times.local_text(instant, zone) == text[:16]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SPRING, "02:30 does not exist in Europe/Prague: the clocks go forward over it"),
        ("tomorrow", "is not a date and time"),
        ("2026-05-01T23:59+02:00", "without an offset"),
        ("0001-01-01T00:00", "from 1970 to 9000"),
        ("9999-12-31T23:59", "from 1970 to 9000"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(times.NoSuchTime, match=message.replace("+", "\\+")):
        times.instant_of(text, "Europe/Prague")


def test_words_name_the_zone_and_utc() -> None:
    instant = datetime(2026, 5, 2, 11, 59, tzinfo=UTC)

    assert times.in_words(instant, "AoE") == "2026-05-01 23:59 AoE (2026-05-02 11:59 UTC)"
    assert times.in_words(instant, "UTC") == "2026-05-02 11:59 UTC"


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (timedelta(days=3, hours=4, minutes=9), "3 days 4 hours"),
        (timedelta(days=1, minutes=9), "1 day"),
        (timedelta(hours=1, minutes=5), "1 hour 5 minutes"),
        (timedelta(seconds=59), "less than a minute"),
    ],
)
def test_time_left_has_the_two_largest_units(left: timedelta, words: str) -> None:
    assert times.time_left(left.total_seconds()) == words


@pytest.mark.parametrize(("waited", "counted"), [(60, 60), (3600, 300)])
def test_request_arrived_when_the_server_noted_it_but_not_long_ago(waited: int, counted: int) -> None:
    request = RequestFactory().get("/", **{times.ARRIVAL: time.monotonic() - waited})

    arrived_at = times.arrived_at(request)

    assert abs(times.now() - arrived_at - timedelta(seconds=counted)) < timedelta(seconds=10)


def test_request_that_no_server_noted_arrives_now() -> None:
    arrived_at = times.arrived_at(RequestFactory().get("/"))

    assert abs(times.now() - arrived_at) < timedelta(seconds=10)
