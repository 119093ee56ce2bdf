"""Instants as people enter and read them: local times with a zone, the clock that counts, arrivals of requests.

A zone is a name of the IANA database, such as `Europe/Prague`, or `AoE` (anywhere on earth): a deadline in AoE has
passed when its day is over everywhere. An instant is stored in UTC with the name of the zone in which it was entered.
"""

import time
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.db import connection
from django.http import HttpRequest
from django.utils.translation import gettext

from web.pages import counted

AOE = "AoE"
LEGACY = ("Etc/", "SystemV/", "US/", "posix/", "right/")
LONGEST = timedelta(minutes=5)  # a request that is sent more slowly counts as if it had arrived that long ago
ARRIVAL = "assay.arrival"  # in the WSGI environment, by time.monotonic(); `server.gunicorn` writes it
EARLIEST, LATEST = 1970, 9000  # years; a conversion to any zone stays inside the calendar


class NoSuchTime(ValueError):
    """A text in another form, or a local time that the clocks of its zone skip."""


def now() -> datetime:
    """The time by the clock of the database, which all machines share. One query."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


@cache
def zone_names() -> tuple[str, ...]:
    """The accepted zones: AoE and UTC, then those of the IANA database that name a place."""
    places = {name for name in available_timezones() if "/" in name and not name.startswith(LEGACY)}
    return (AOE, "UTC", *sorted(places))


def zone_of(name: str) -> tzinfo:
    """The rules of a zone; UTC for a name that this machine does not know."""
    if name == AOE:
        return timezone(timedelta(hours=-12), AOE)
    return ZoneInfo(name) if name in zone_names() else UTC


def instant_of(text: str, zone: str) -> datetime:
    """The instant of a local time such as `2026-05-01T23:59` in a zone.

    A time that occurs twice, because the clocks go back, is the later one, so that nobody loses an hour.

    Raises:
        NoSuchTime: The text is no local time, or the clocks go forward over it.
    """
    try:
        local = datetime.fromisoformat(text.strip())
    except ValueError:
        raise NoSuchTime(f"“{text}” is not a date and time. Use the form 2026-05-01T23:59.") from None
    if local.tzinfo is not None or not EARLIEST <= local.year <= LATEST:
        raise NoSuchTime(
            f"“{text}” is not accepted. Use a local time from {EARLIEST} to {LATEST}, without an offset."
        )
    instant = local.replace(tzinfo=zone_of(zone), fold=1).astimezone(UTC)
    if instant.astimezone(zone_of(zone)).replace(tzinfo=None) != local:
        raise NoSuchTime(
            f"{local:%Y-%m-%d %H:%M} does not exist in {zone}: the clocks go forward over it. Enter another time."
        )
    return instant


def instant_with_offset(text: str) -> datetime | None:
    """The instant of a text such as `2026-05-01T23:59:00Z`; None for a text without an offset.

    Raises:
        NoSuchTime: The year is out of range.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    if not EARLIEST <= moment.year <= LATEST:
        raise NoSuchTime(f"“{text}” is not accepted. Use a time from {EARLIEST} to {LATEST}.")
    return moment.astimezone(UTC)


def local_text(instant: datetime | None, zone: str) -> str:
    """An instant to the minute, in the form of a browser's field for local times.

    It can mean another instant: a form must keep the stored one while its text is not changed.
    """
    if instant is None:
        return ""
    return instant.astimezone(zone_of(zone)).replace(tzinfo=None).isoformat(timespec="minutes")


def in_words(instant: datetime, zone: str) -> str:
    """`2026-05-01 23:59 AoE (2026-05-02 11:59 UTC)`."""
    utc = f"{instant.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if zone == "UTC":
        return utc
    return f"{instant.astimezone(zone_of(zone)):%Y-%m-%d %H:%M} {zone} ({utc})"


def time_left(seconds: float) -> str:
    """`3 days 4 hours`, `1 hour 5 minutes`, `less than a minute`; the two largest units."""
    minutes = int(seconds // 60)
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    sizes = ((days, counted(days, "day")), (hours, counted(hours, "hour")), (rest, counted(rest, "minute")))
    first = next((n for n, (amount, _) in enumerate(sizes) if amount), None)
    if first is None:
        return gettext("less than a minute")
    return " ".join(words for amount, words in sizes[first : first + 2] if amount)


def arrived_at(request: HttpRequest) -> datetime:
    """Return when a request arrived, by the clock of the database: now, if the server noted nothing. One query.

    Receiving and checking its body may take long, which must cost nobody a deadline.
    """
    moment = time.monotonic()
    waited = timedelta(seconds=moment - request.META.get(ARRIVAL, moment))
    return now() - min(waited, LONGEST)
