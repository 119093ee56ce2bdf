"""Runs that a protocol asks of each team: who lacks some, on pages and for programs, and reminders by e-mail."""

from typing import Any

import pytest
from django.conf import LazySettings
from django.core import mail
from django.test import Client
from django.urls import reverse

from participation.models import Team
from participation.teams import services as team_services
from pooling.models import Run
from tests.helpers.api import api
from tests.helpers.factories import make_organizer, make_topic, make_track, make_user
from tests.helpers.letters import deliver_at_once
from tracks.models import Track

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


def test_team_without_a_run_that_it_owes_is_named_and_reminded(client: Client, track: Track) -> None:
    client.force_login(make_organizer())
    runs = client.get(reverse("pooling:runs", args=["forum"])).content.decode()
    overview = client.get(track.get_absolute_url()).content.decode()

    response = client.post(reverse("pooling:remind", args=["forum"]), follow=True)

    assert "Owls</a>: phase 2, baseline</li>" in runs
    assert "Hawks</a>:" not in runs
    assert "1 of 2 teams complete" in overview
    assert "Owls: phase 2, baseline." in overview
    assert "Reminded: Owls." in response.content.decode()
    [letter] = mail.outbox
    assert letter.to == ["olive@example.org"]
    assert "Missing: phase 2, baseline." in letter.body


def test_members_see_what_their_team_owes_and_remind_nobody(client: Client, track: Track) -> None:
    client.force_login(Team.objects.get(name="Owls").members.get())

    page = client.get(reverse("pooling:runs", args=["forum"]), follow=True).content.decode()
    response = client.post(reverse("pooling:remind", args=["forum"]))

    assert "Runs that the team still owes: phase 2, baseline." in page
    assert response.status_code == 403


def test_program_reminds_only_while_runs_are_owed(track: Track) -> None:
    client, address = api(make_organizer()), reverse("api:owed_runs", args=["forum"])
    before = client.get(address).json()
    for kind in ("phase2", "baseline"):
        _run(Team.objects.get(name="Owls"), kind)

    refused = client.post(address)

    missing = [(each["kind"], each["name"], each["n"]) for each in before[0].pop("missing")]
    assert (before, missing) == ([{"team": "Owls"}], [("phase2", "phase 2", 1), ("baseline", "baseline", 1)])
    assert refused.status_code == 409
    assert "No team of forum lacks a run" in refused.json()["detail"].replace(track.name, "forum")
