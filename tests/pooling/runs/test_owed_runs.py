"""Runs and documents that a protocol asks of each team: who lacks some, and reminders by button and by the clock."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.core import mail
from django.test import Client
from django.urls import reverse

from accounts.models import Event, User
from participation.models import Team
from participation.teams import services as team_services
from pooling import tasks
from pooling.models import Run
from tests.helpers.api import api
from tests.helpers.factories import make_organizer, make_topic, make_track, make_user
from tests.helpers.letters import deliver_at_once
from tracks.models import Track
from web.models import Scope
from web.times import now

pytestmark = pytest.mark.django_db


@pytest.fixture
def track(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> Track:
    """The owls submitted an evaluation run and withdrew a baseline; the hawks submitted all that they owe."""
    deliver_at_once(settings, monkeypatch)
    track = make_track("forum", protocol="bolt-ir-p3", collection=None)
    make_topic(track, "T1")
    for name, user, kinds in (
        ("Owls", "olive", ["evaluation"]),
        ("Hawks", "hector", ["evaluation", "phase2", "baseline"]),
    ):
        member = make_user(user, email=f"{user}@example.org", is_mailed_about_runs=True)
        team = team_services.create(track=track, name=name, members=[member])
        if name == "Hawks":
            team_services.write_documents(team=team, documents={"preprocessing": "We drop quotations."})
        for kind in kinds:
            _run(team, kind)
    _run(
        Team.objects.get(name="Owls"), "baseline", status=Run.Status.WITHDRAWN, withdrawn_at=track.created_at
    )
    return track


def _run(team: Team, kind: str, **fields: Any) -> None:
    by, tag = team.members.get(), f"{team.name}-{kind}"
    numbers = {"n_lines": 1, "n_topics": 1, "report": {"warnings": []}}
    Run.objects.create(
        track=team.track,
        team=team,
        kind=kind,
        tag=tag,
        sha256=f"{tag:0<64}",
        submitted_by=by,
        **numbers,
        **fields,
    )


def test_team_without_a_run_that_it_owes_is_named_and_reminded(
    client: Client, track: Track, settings: LazySettings
) -> None:
    client.force_login(make_organizer())
    settings.SENDS_MAIL = False
    without_server = client.get(reverse("pooling:runs", args=["forum"])).content.decode()
    settings.SENDS_MAIL = True
    runs = client.get(reverse("pooling:runs", args=["forum"])).content.decode()
    overview = client.get(track.get_absolute_url()).content.decode()

    response = client.post(reverse("pooling:remind", args=["forum"]), follow=True)

    assert "owes phase 2, baseline, Description of the preprocessing</span>" in runs
    assert runs.count(">complete</span>") == 1, "the hawks"
    assert ["Remind 1 team by e-mail" in page for page in (runs, without_server)] == [True, False]
    assert "Hawks</a>:" not in runs
    assert "1 of 2 teams complete" in overview
    assert "Owls: phase 2, baseline, Description of the preprocessing." in overview
    assert "Reminded: Owls." in response.content.decode()
    event = Event.objects.get(action="teams.reminded")
    assert (event.by, event.track_slug) == (User.objects.get(is_staff=True), "forum")
    assert event.details == {"Owls": "phase 2, baseline, Description of the preprocessing"}
    [letter] = mail.outbox
    assert letter.to == ["olive@example.org"]
    assert "Missing: phase 2, baseline, Description of the preprocessing." in letter.body


def test_organizer_filters_runs_by_team_and_kind(client: Client, track: Track) -> None:
    client.force_login(make_organizer())
    address, hawks = reverse("pooling:runs", args=["forum"]), Team.objects.get(name="Hawks")
    Run.objects.filter(tag="Hawks-phase2").update(report={"warnings": ["one", "two"]})

    def tags(**asked: object) -> list[str]:
        return re.findall(
            r'class="run-name">\s*<a[^>]*>([\w-]+)</a>', client.get(address, asked).content.decode()
        )

    assert tags(team=hawks.pk) == ["Hawks-evaluation", "Hawks-phase2", "Hawks-baseline"]
    assert tags(kind="evaluation") == ["Hawks-evaluation", "Owls-evaluation"]
    assert tags(team=hawks.pk, kind="none") == []
    assert len(tags(team="x")) == len(tags()) == 5
    page = client.get(address, {"team": hawks.pk, "kind": "phase2"}).content.decode()
    assert re.search(r'<a class="chip gold" href="/runs/\d+/">2 warnings</a>', page)
    assert "No run fits." in client.get(address, {"kind": "none"}).content.decode()


def test_members_see_what_their_team_owes_and_remind_nobody(client: Client, track: Track) -> None:
    client.force_login(Team.objects.get(name="Owls").members.get())

    page = client.get(reverse("pooling:runs", args=["forum"]), follow=True).content.decode()
    response = client.post(reverse("pooling:remind", args=["forum"]))

    assert "The team still owes: phase 2, baseline, Description of the preprocessing." in page
    assert response.status_code == 403


def test_program_reminds_only_while_runs_are_owed(track: Track) -> None:
    client, address = api(make_organizer()), reverse("api:owed_runs", args=["forum"])
    before = client.get(address).json()["results"]
    for kind in ("phase2", "baseline"):
        _run(Team.objects.get(name="Owls"), kind)
    owls = reverse("api:team", args=[Team.objects.get(name="Owls").pk])
    unknown = client.patch(owls, {"documents": {"poem": "O."}}, content_type="application/json")
    written = client.patch(
        owls, {"documents": {"preprocessing": "None."}}, content_type="application/json"
    ).json()

    refused = client.post(reverse("api:remind_teams", args=["forum"]))

    missing = [(each["kind"], each["name"], each["n"]) for each in before[0].pop("missing")]
    owing = {"team": "Owls", "documents": ["Description of the preprocessing"]}
    assert (before, missing) == ([owing], [("phase2", "phase 2", 1), ("baseline", "baseline", 1)])
    assert written["documents"] == {"preprocessing": "None."}
    assert "the protocol asks for: preprocessing" in unknown.json()["detail"]
    assert refused.status_code == 409
    assert "No team of forum lacks a run or document" in refused.json()["detail"].replace(track.name, "forum")


def test_contact_person_writes_the_documents_that_the_team_owes(client: Client, track: Track) -> None:
    owls = Team.objects.get(name="Owls")
    team_services.set_contact(team=owls, user=owls.members.get())
    address = reverse("participation:edit_team", args=[owls.pk])
    form = {
        "name": "Owls",
        "organization": "",
        "document-preprocessing": "See https://owls.example.org/steps",
    }
    client.force_login(Team.objects.get(name="Hawks").members.get())
    foreign = client.post(address, form).status_code
    client.force_login(owls.members.get())

    too_long = client.post(address, form | {"document-preprocessing": "x" * 20_001})
    client.post(address, form)

    assert (foreign, too_long.status_code) == (404, 422)
    page = client.get(owls.get_absolute_url()).content.decode()
    assert '<a href="https://owls.example.org/steps"' in page
    client.force_login(make_organizer())
    runs = client.get(reverse("pooling:runs", args=["forum"])).content.decode()
    assert "owes phase 2, baseline</span>" in runs


def test_program_of_the_contact_person_writes_documents_and_nothing_of_organizers(track: Track) -> None:
    owls = Team.objects.get(name="Owls")
    contact, other = owls.members.get(), make_user("otis")
    team_services.add_member(team=owls, user=other)
    team_services.set_contact(team=owls, user=contact)
    address = reverse("api:team", args=[owls.pk])
    documents = {"documents": {"preprocessing": "We drop quotations."}}

    def patch(user: User, values: dict[str, Any], *scopes: str) -> Any:
        return api(user, *scopes).patch(address, values, content_type="application/json")

    hawk = Team.objects.get(name="Hawks").members.get()
    strangers = [patch(user, documents).status_code for user in (other, hawk)]
    runs_only = patch(contact, documents, Scope.RUNS).status_code
    of_organizers: list[dict[str, Any]] = [{"members": []}, {"max_megabytes": 9}]
    denied = [patch(contact, values | documents) for values in of_organizers]
    before = api(contact).get(address).json()
    written = patch(contact, documents | {"organization": "Owl Labs"})

    assert (strangers, runs_only) == ([404, 404], 403)
    assert [each.status_code for each in denied] == [403, 403]
    assert denied[0].json()["detail"] == "Only organizers may change members of a team."
    assert before["documents"] == {}
    assert (written.status_code, written.json()) == (200, before | documents | {"organization": "Owl Labs"})
    assert list(owls.members.order_by("username")) == [contact, other]


def _set_reminder(client: Client, **fields: str) -> None:
    form = {"zone": "UTC", "reminder_days": "2", **fields}
    response = client.post(reverse("tracks:deadlines", args=["forum"]), form)
    assert response.status_code == 302, response.content.decode()


def _in_days(days: float) -> str:
    return f"{now() + timedelta(days=days):%Y-%m-%dT%H:%M}"


def test_clock_reminds_once_before_each_closing_time(client: Client, track: Track) -> None:
    client.force_login(make_organizer())

    _set_reminder(client, **{"closes-": _in_days(3)})
    sent = [_reminded()]
    _set_reminder(client, **{"closes-": _in_days(1.5)})
    sent += [_reminded(), _reminded()]
    _set_reminder(client, **{"closes-": _in_days(1.8)})  # postponed
    sent += [_reminded(), _reminded()]

    assert sent == [0, 1, 0, 1, 0]
    assert {letter.to[0] for letter in mail.outbox} == {"olive@example.org"}
    page = client.get(reverse("pooling:runs", args=["forum"])).content.decode()
    assert "Teams get an e-mail about it once, 2 days before the closing time." in page


def test_clock_reminds_of_the_kinds_whose_closing_time_is_near(client: Client, track: Track) -> None:
    """Each kind has its own closing time; nobody is reminded of a kind that the team has, or without a setting."""
    team_services.write_documents(team=Team.objects.get(name="Owls"), documents={"preprocessing": "None."})
    client.force_login(make_organizer())

    _set_reminder(client, **{"closes-evaluation": _in_days(1), "closes-phase2": _in_days(5)})
    sent = [_reminded()]
    _set_reminder(
        client, **{"closes-evaluation": _in_days(1), "closes-phase2": _in_days(1), "reminder_days": ""}
    )
    sent += [_reminded()]
    _set_reminder(client, **{"closes-evaluation": _in_days(1), "closes-phase2": _in_days(1)})
    sent += [_reminded()]

    assert sent == [0, 0, 1]
    page = client.get(reverse("tracks:deadlines", args=["forum"])).content.decode()
    assert "Remind teams this many days before" in page


def _reminded() -> int:
    """Run the task of beat; the number of e-mails that it sent."""
    before = len(mail.outbox)
    tasks.remind_due()
    return len(mail.outbox) - before
