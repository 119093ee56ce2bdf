"""The milestones of a track on its pages, in its calendar and for programs."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Event
from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer, make_track, make_user
from tracks.models import Deadline, Milestone, Track

pytestmark = pytest.mark.django_db

ARABIC = "Themen, Anfragen; \\ und مواضيع باللغة العربية المصرية من منتديات النقاش"


def save(client: Client, track: Track, *rows: str) -> str:
    """Save the dates with these milestones only: a day and a title, or two days, a `to` between them, and a title."""
    fields = {"zone": "AoE"}
    for n, row in enumerate(rows):
        first, last, title = re.fullmatch(r"(\S*)(?: to (\S+))? ?(.*)", row).groups("")  # type: ignore[union-attr]
        fields |= {f"title-{n}": title, f"first-{n}": first, f"last-{n}": last}
    address = reverse("tracks:deadlines", args=[track.slug])
    return client.post(address, fields, follow=True).content.decode()


def calendar_of(track: Track) -> list[str]:
    """The content lines of the calendar as a visitor gets it."""
    response = Client().get(reverse("tracks:calendar", args=[track.slug]))
    assert response["Content-Type"] == "text/calendar; charset=utf-8"
    raw = response.content.split(b"\r\n")
    assert all(len(line) <= 75 and b"\n" not in line and line.decode() is not None for line in raw)
    assert raw.pop() == b""
    return response.content.decode().replace("\r\n ", "").splitlines()


def test_milestones_are_on_the_overview_and_in_the_calendar(client: Client) -> None:
    client.force_login(make_organizer())
    track = make_track("arq", name="ARQ, 2036")
    closes_at = datetime(2036, 5, 2, 11, 59, tzinfo=UTC)

    save(client, track, "2036-06-01 to 2036-06-30 Judging", f"2036-05-03 {ARABIC}")
    Deadline.objects.create(track=track, kind="alternate", closes_at=closes_at, zone="AoE")
    text = client.get(track.get_absolute_url(), {"view": "public"}).content.decode()

    assert text.index("<bdi>Themen, Anfragen") < text.index("<bdi>Judging</bdi>")
    lines = calendar_of(track)
    assert lines[:2] == ["BEGIN:VCALENDAR", "VERSION:2.0"]
    assert (
        r"SUMMARY:ARQ\, 2036: " + ARABIC.replace("\\", r"\\").replace(",", r"\,").replace(";", r"\;") in lines
    )
    first = lines.index("DTSTART;VALUE=DATE:20360503")
    assert lines[first + 1] == "DTEND;VALUE=DATE:20360504"
    last = lines.index("DTSTART;VALUE=DATE:20360601")
    assert lines[last + 1] == "DTEND;VALUE=DATE:20360701"
    closing = lines.index("DTSTART:20360502T115900Z")
    words = "2036-05-01 23:59 AoE (2036-05-02 11:59 UTC)"
    assert lines[closing + 1] == rf"SUMMARY:ARQ\, 2036: alternate runs close\, {words}"
    assert lines.count("BEGIN:VEVENT") == 3


def test_milestones_and_deadlines_are_saved_together_or_not_at_all(client: Client) -> None:
    """Saving one loses nothing that is typed into the other, nor does a mistake in it."""
    client.force_login(make_organizer())
    address, track = reverse("tracks:deadlines", args=["arq"]), make_track("arq")
    dates = {"zone": "UTC", "closes-": "2036-05-02T12:00", "title-0": "Topics", "title-1": "Workshop"}
    days = {"first-0": "2036-05-03", "first-1": "2036-06-03"}

    wrong = client.post(address, dates | {"first-0": "2036-05-03"})
    nothing = (track.deadlines.count(), track.milestones.count())
    client.post(address, dates | days)
    again = client.post(address, dates | days)
    page = client.get(address).content.decode()

    assert (wrong.status_code, nothing) == (422, (0, 0))
    text = wrong.content.decode()
    assert "Enter the day of “Workshop”." in text
    assert all(f'value="{value}"' in text for value in ("2036-05-02T12:00", "Topics", "2036-05-03"))
    assert all(f'value="{value}"' in page for value in ("2036-05-02T12:00", "Workshop", "2036-06-03"))
    assert again.status_code == 302
    actions = Event.objects.filter(track_id=track.pk).order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["deadlines.set", "milestones.set"], "what is saved again unchanged is no event"


def test_row_is_added_to_what_is_typed_and_nothing_is_stored(client: Client) -> None:
    client.force_login(make_organizer())
    address, track = reverse("tracks:deadlines", args=["arq"]), make_track("arq")
    typed = {"zone": "UTC", "closes-": "2036-05-02T12:00", "title-0": "Topics", "first-0": "", "last-0": ""}

    answer = client.post(address, typed | {"more": "1"})

    page = answer.content.decode()
    assert (answer.status_code, track.deadlines.count(), track.milestones.count()) == (200, 0, 0)
    assert 'value="2036-05-02T12:00"' in page
    assert re.findall(r'name="(title-\d)"(?: value="(\w+)")?', page) == [
        ("title-0", "Topics"),
        ("title-1", ""),
    ]
    assert "Enter the day" not in page
    buttons = re.findall(r'<button type="submit"[^>]*>([^<]*)<', page[page.index("<main") :])
    assert buttons[0] == "Set dates", "the first one is that of the key Enter"
    milestones = page[page.index('id="milestones"') :].partition("</section>")[0]
    assert "Add another milestone</button>" in milestones


def test_reminder_says_that_a_site_without_a_mail_server_sends_none(client: Client, settings: Any) -> None:
    client.force_login(make_organizer())
    address, _ = reverse("tracks:deadlines", args=["arq"]), make_track("arq")

    without = client.get(address).content.decode()
    settings.SENDS_MAIL = True
    with_server = client.get(address).content.decode()

    assert "This site has no mail server, so nobody is reminded." in without
    assert "Teams that still owe runs or documents get one e-mail" in with_server


def test_milestone_whose_day_changes_stays_the_same_event(client: Client) -> None:
    client.force_login(make_organizer())
    track = make_track()
    save(client, track, "2036-05-03 Topics", "2036-05-04 Workshop")
    uid = next(line for line in calendar_of(track) if line.startswith("UID:"))

    save(client, track, "2036-07-09 Topics")

    lines = calendar_of(track)
    assert [line for line in lines if line.startswith("UID:")] == [uid]
    assert "DTSTART;VALUE=DATE:20360709" in lines


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (["2036-05-03 Topics", "soon Runs"], "Enter a day such as 2026-05-01."),
        (["2036-05-03"], "Enter a title, or remove the day."),
        (["2036-05-03 Topics", "2036-05-04 Topics"], "The milestone “Topics” is there twice."),
        (["2036-05-03 to 2036-05-03 Topics"], "The last day of “Topics” is not after its first day."),
        (["0001-05-03 Topics"], "“Topics” has a day that is not in the years 1970 to 9000."),
    ],
)
def test_wrong_milestones_are_refused(client: Client, lines: list[str], error: str) -> None:
    client.force_login(make_organizer())

    text = save(client, make_track(), *lines)

    assert error in text
    assert not Milestone.objects.exists()


def test_programs_set_and_read_milestones() -> None:
    track = make_track("arq")
    client, row = api(make_organizer()), {"title": "Topics", "starts_on": "2036-05-03"}
    before = call(client, "GET", "milestones", "arq")

    changed = call(client, "PUT", "milestones", "arq", data={"milestones": [row]})
    lost = call(
        client, "PUT", "milestones", "arq", data={"milestones": []}, headers={"If-Match": before["ETag"]}
    )
    refused = call(api(make_user()), "PUT", "milestones", "arq", data={"milestones": []})

    assert changed.json() == {"milestones": [row | {"ends_on": None}]}
    assert (lost.status_code, refused.status_code) == (412, 403)
    assert track.milestones.count() == 1
