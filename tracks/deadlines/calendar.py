"""The milestones and deadlines of a track as an iCalendar file (RFC 5545), to subscribe to or to import."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from django.urls import reverse

from assay.html.sanitize import without_controls
from tracks.deadlines.timeline import is_void
from tracks.models import Track
from web import times

MAX_BYTES = 75  # of a line, without its end


def ical(track: Track, site: str) -> str:
    """The calendar of a track, at the address of a site. Three queries."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Assay//Assay//EN", f"NAME:{_escaped(track.name)}"]
    for uid, summary, when in _events(track):
        lines += ["BEGIN:VEVENT", f"UID:{uid}@{site.partition('://')[2]}", f"DTSTAMP:{_instant(times.now())}"]
        lines += [*when, f"SUMMARY:{_escaped(f'{track.name}: {summary}')}"]
        lines += [f"URL:{site}{reverse('tracks:track', args=[track.slug])}", "END:VEVENT"]
    return "".join(f"{_folded(line)}\r\n" for line in [*lines, "END:VCALENDAR"])


def _events(track: Track) -> Iterator[tuple[str, str, list[str]]]:
    """The identity of each event, its summary, and the lines with its time."""
    for milestone in track.milestones.all():
        after = (milestone.ends_on or milestone.starts_on) + timedelta(days=1)
        days = [f"DTSTART;VALUE=DATE:{_day(milestone.starts_on)}", f"DTEND;VALUE=DATE:{_day(after)}"]
        yield f"milestone-{milestone.pk}", milestone.title, days
    name_of = track.protocol.parsed.runs.name_of
    now = times.now()
    for deadline in track.deadlines.all():
        if is_void(deadline, track, now):
            continue
        runs = f"{name_of(deadline.kind)} runs" if deadline.kind else "runs"
        for verb, moment in (("open", deadline.opens_at), ("close", deadline.closes_at)):
            if moment:
                summary = f"{runs} {verb}, {times.in_words(moment, deadline.zone)}"
                yield f"deadline-{deadline.pk}-{verb}", summary, [f"DTSTART:{_instant(moment)}"]


def _day(day: date) -> str:
    return day.isoformat().replace("-", "")


def _instant(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _escaped(text: str) -> str:
    """A text as a value: the separators and line ends of the format are escaped."""
    for plain, escaped in (("\\", "\\\\"), (";", "\\;"), (",", "\\,"), ("\r", ""), ("\n", "\\n")):
        text = text.replace(plain, escaped)
    return without_controls(text)


def _folded(line: str) -> str:
    """A line in parts of at most 75 bytes, each further one after a space. No character is cut."""
    parts, size = [""], 0
    for character in line:
        n_bytes = len(character.encode())
        if size + n_bytes > MAX_BYTES:
            parts.append("")
            size = 1
        parts[-1] += character
        size += n_bytes
    return "\r\n ".join(parts)
