"""The page of deadlines, and what participants see of them."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
from django import forms
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.asserts import assertHTMLEqual

from accounts.models import Event
from tests.helpers.api import api, call
from tests.helpers.browser import log_in
from tests.helpers.factories import make_deadline, make_organizer, make_topic, make_track
from tracks.models import Deadline, Download, Track

pytestmark = pytest.mark.django_db

AUTUMN = datetime(2036, 10, 26, 0, 30, tzinfo=UTC)  # 02:30 in Prague for the first of two times


@pytest.fixture
def organizer(client: Client) -> Client:
    client.force_login(make_organizer())
    return client


def page_of(track: Track) -> str:
    return reverse("tracks:deadlines", args=[track.slug])


def shown(client: Client, track: Track) -> dict[str, str]:
    """The fields that a browser sends if nobody touches the form."""
    form = client.get(page_of(track)).context["form"]
    fields = {field.html_name: field.value() for field in form if not field.field.disabled}
    return {name: "" if value is None else str(value) for name, value in fields.items()}


def save(client: Client, track: Track, **changes: str) -> Any:
    data = shown(client, track) | {name.replace("_", "-", 1): value for name, value in changes.items()}
    return client.post(page_of(track), data, follow=True)


def stored() -> list[dict[str, Any]]:
    return list(Deadline.objects.order_by("pk").values())


def test_closed_track_says_that_its_deadlines_do_not_apply(organizer: Client) -> None:
    track = make_track()
    make_deadline(track, closes_at=86_400)

    pages = []
    for status in (Track.Status.OPEN, Track.Status.CLOSED):
        Track.objects.filter(pk=track.pk).update(status=status)
        pages.append(organizer.get(page_of(track)).content.decode())

    assert ["The track is closed for runs." in page for page in pages] == [False, True]
    assert f'<a href="{reverse("tracks:open_track", args=[track.slug])}">open it for runs</a>' in pages[1]


def test_local_time_in_a_zone_is_stored_as_an_instant(organizer: Client) -> None:
    track = make_track()

    save(
        organizer,
        track,
        zone="AoE",
        closes_="2036-05-01T23:59",
        grace_="30",
        closes_alternate="2036-05-02T12:00",
    )

    of_all, alternate = Deadline.objects.order_by("kind")
    assert of_all.closes_at == datetime(2036, 5, 2, 11, 59, tzinfo=UTC)
    assert (of_all.grace_minutes, of_all.zone) == (30, "AoE")
    assert (alternate.kind, alternate.closes_at) == ("alternate", datetime(2036, 5, 3, 0, 0, tzinfo=UTC))
    text = Client().get(track.get_absolute_url()).content.decode()
    assert "2036-05-01 23:59 AoE" in text
    assert "late runs until 2036-05-02 00:29 AoE" in text
    assert 'data-until="2036-05-02T11:59:00+00:00"' in text


def test_kind_without_a_grace_period_has_that_of_all_runs(organizer: Client) -> None:
    track = make_track()

    save(organizer, track, closes_="2036-05-01T23:59", grace_="30", closes_alternate="2036-05-02T12:00")
    fields = shown(organizer, track)

    assert (fields["grace-"], fields["grace-primary"], fields["grace-alternate"]) == ("30", "", "30")
    save(organizer, track, grace_alternate="0")
    assert shown(organizer, track)["grace-alternate"] == "0"


def test_deadlines_of_single_kinds_are_folded_until_one_is_set(organizer: Client) -> None:
    track = make_track()
    open_fold = re.compile(r"<details[^>]* open>\s*<summary>Other deadlines for a kind of run")

    before = organizer.get(page_of(track)).content.decode()
    save(organizer, track, closes_primary="2036-05-01T23:59")
    after = organizer.get(page_of(track)).content.decode()

    assert "Other deadlines for a kind of run" in before
    assert not open_fold.search(before)
    assert open_fold.search(after)


def test_moved_deadline_is_in_the_log_with_its_old_value_and_can_be_announced(organizer: Client) -> None:
    track = make_track()
    save(organizer, track, zone="AoE", closes_="2036-05-01T23:59")

    moved = save(organizer, track, closes_="2036-06-01T23:59").content.decode()
    unchanged = save(organizer, track).content.decode()
    link = re.search(r'Nobody was notified: <a href="([^"]+)"', moved)
    changes = [
        event.details["times"] for event in Event.objects.filter(action="deadlines.set").order_by("pk")
    ]

    assert changes[0]["from"] == "none"
    assert "2036-05-01 23:59" in changes[1]["from"]
    assert "2036-06-01 23:59" in changes[1]["to"]
    assert "Nobody was notified" not in unchanged
    assert link
    draft = organizer.get(unescape(link[1])).content.decode()
    assert "moved: all runs close" in draft


def test_control_of_the_zone_is_the_one_that_django_makes_without_values_of_options(
    organizer: Client,
) -> None:
    track = make_track()
    make_deadline(track, zone="Europe/Prague")

    field = organizer.get(page_of(track)).context["form"]["zone"]

    assert field.value() == "Europe/Prague"
    made = field.as_widget(forms.Select(choices=field.field.choices))
    assertHTMLEqual(str(field), re.sub(r' value="[^"]*"', "", made))


def test_pages_below_a_page_mark_it_in_the_navigation(organizer: Client) -> None:
    track = make_track("arq")
    current = {
        "deadlines": "Dates",
        "edit": "General",
        "clone": "Clone",
        "audit-log": "Audit log",
    }
    for page, label in current.items():
        text = organizer.get(f"/tracks/{track.slug}/{page}/").content.decode()
        assert re.findall(r'aria-current="page">\s*([\w ]+?)\s*<', text) == [label], page


def test_organizer_reads_that_an_opening_time_in_the_past_shows_a_draft_to_everybody(
    organizer: Client,
) -> None:
    track = make_track(status=Track.Status.DRAFT)
    make_topic(track)

    later = save(organizer, track, opens_="2036-05-01T10:00").content.decode()
    past = save(organizer, track, opens_="2020-05-01T10:00").content.decode()

    sentence = f"The opening time has passed, so everybody sees {track} now."
    assert (sentence in later, sentence in past) == (False, True)


def test_saving_without_a_change_changes_nothing(organizer: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    make_topic(track)
    Deadline.objects.create(
        track=track, closes_at=AUTUMN, opens_at=datetime(2036, 1, 1, 1, 2, 3, 4, UTC), zone="Europe/Prague"
    )
    Deadline.objects.create(
        track=track, kind="primary", closes_at=AUTUMN, zone="Europe/Prague", grace_minutes=5
    )
    before = stored()

    answer = save(organizer, track)

    assert "Dates saved." in answer.content.decode()
    assert stored() == before


def test_another_zone_moves_the_instants(organizer: Client) -> None:
    track = make_track()
    Deadline.objects.create(track=track, closes_at=datetime(2036, 5, 1, 12, tzinfo=UTC), zone="UTC")

    save(organizer, track, zone="AoE")

    assert Deadline.objects.get().closes_at == datetime(2036, 5, 2, 0, tzinfo=UTC)


def test_emptied_row_is_deleted(organizer: Client) -> None:
    track = make_track()
    make_deadline(track, closes_at=3600)

    save(organizer, track, closes_="")

    assert not Deadline.objects.exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"zone": "Europe/Prague", "closes_": "2036-03-30T02:30"}, "does not exist in Europe/Prague"),
        ({"closes_": "2020-01-01T00:00"}, "The closing time of all runs has passed"),
        (
            {"opens_primary": "2036-01-02T00:00", "closes_primary": "2036-01-01T00:00"},
            "is not after the opening",
        ),
        ({"grace_": "10"}, "has no closing time"),
        ({"zone": "Mars/Olympus"}, "Choose one of the list"),
        ({"closes_": "soon"}, "is not a date and time"),
    ],
)
def test_times_that_cannot_be_are_refused(organizer: Client, changes: dict[str, str], message: str) -> None:
    track = make_track()
    make_deadline(track, closes_at=3600) if "grace_" not in changes else None
    before = stored()

    answer = save(organizer, track, **changes)

    assert message in answer.content.decode()
    assert stored() == before


def test_each_wrong_field_of_the_dates_is_marked_in_one_answer(organizer: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    wrong = {
        "opens_": "2036-01-02T00:00",
        "closes_": "2036-01-01T00:00",
        "closes_primary": "2020-01-01T00:00",
        "grace_alternate": "5",
        "title_0": "Workshop",
        "first_0": "2036-05-02",
        "last_0": "2036-05-01",
    }

    text = save(organizer, track, **wrong).content.decode()

    marked = re.findall(r'<input[^>]*name="([^"]+)"[^>]*aria-invalid="true"', text)
    assert marked == ["closes-", "closes-primary", "grace-alternate", "last-0"]
    assert "The last day of “Workshop” is not after its first day." in text


def test_opening_time_needs_topics_and_a_draft(organizer: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)

    refused = save(organizer, track, opens_="2036-01-01T00:00")
    make_topic(track)
    accepted = save(organizer, track, opens_="2036-01-01T00:00")

    assert "has no topics yet" in refused.content.decode()
    assert "Dates saved." in accepted.content.decode()
    Track.objects.update(status=Track.Status.OPEN)
    assert "opens-" not in shown(organizer, track)
    page = organizer.get(f"/tracks/{track.slug}/deadlines/").content.decode()
    assert '<span class="text-nowrap">2036-01-01 00:00 ' in page
    assert "Cannot change: the track was opened." in page


def test_organizer_sets_deadlines_in_a_zone_or_with_an_offset() -> None:
    make_track("arq")
    client = api(make_organizer())
    before = call(client, "GET", "deadlines", "arq")
    deadlines = [
        {"closes_at": "2999-05-01T23:59", "grace_minutes": 30},
        {"kind": "primary", "closes_at": "2999-05-02T10:00:00+02:00"},
    ]

    changed = call(client, "PUT", "deadlines", "arq", data={"zone": "AoE", "deadlines": deadlines})
    late = call(
        client, "PUT", "deadlines", "arq", data={"deadlines": []}, headers={"If-Match": before["ETag"]}
    )

    assert changed.json() == call(api(None), "GET", "deadlines", "arq").json()
    assert [each["closes_at"] for each in changed.json()["deadlines"]] == [
        "2999-05-02T11:59:00Z",
        "2999-05-02T08:00:00Z",
    ]
    assert late.status_code == 412


@pytest.mark.parametrize(
    ("deadlines", "status"),
    [
        ([{"closes_at": "tomorrow"}], 400),
        ([{"closes_at": "2999-05-01T12:00"}, {"closes_at": "2999-05-01T13:00"}], 400),
        ([{"closes_at": "9999-12-31T23:59:59-12:00"}], 400),
        ([{"kind": "secret", "closes_at": "2999-05-01T12:00"}], 409),
        ([{"closes_at": "2001-05-01T12:00"}], 409),
    ],
)
def test_deadlines_that_are_refused_change_nothing(deadlines: list[dict[str, str]], status: int) -> None:
    track = make_track("arq")

    response = call(api(make_organizer()), "PUT", "deadlines", "arq", data={"deadlines": deadlines})

    assert response.status_code == status
    assert not track.deadlines.exists()


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_reader_sees_their_own_time_and_saving_keeps_the_instants(
    live_server: Any, new_page: Callable[..., Page]
) -> None:
    track = make_track("lab", status=Track.Status.DRAFT)
    make_topic(track)
    instant = datetime(2036, 5, 2, 11, 59, 30, 123456, UTC)
    Deadline.objects.create(track=track, closes_at=instant, zone="AoE")
    make_deadline(track, "alternate", closes_at=90_000, zone="AoE")
    before = list(Deadline.objects.order_by("pk").values())
    page = new_page(timezone_id="Asia/Kolkata", locale="en-US")
    log_in(page, live_server.url, make_organizer())

    page.goto(f"{live_server.url}/tracks/lab/deadlines/")
    expect(page.get_by_text("your time: 2036-05-02 17:29 Asia/")).to_be_visible()
    page.get_by_role("button", name="Set dates").click()
    expect(page.get_by_text("Dates saved.")).to_be_visible()
    assert list(Deadline.objects.order_by("pk").values()) == before

    page.goto(f"{live_server.url}/tracks/lab/downloads/topics/edit/")
    page.click("main form.wide-form [type=submit]")
    expect(page.get_by_text("Topics saved.")).to_be_visible()
    assert Download.objects.get().released_at == Track.objects.get().created_at
