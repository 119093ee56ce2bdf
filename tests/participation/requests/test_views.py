"""Requests to join a track: by visitors and users, accepted with a team or refused with a reason."""

import re
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from accounts.mail import letters
from accounts.models import Letter, User
from participation.models import JoinRequest, Team
from tests.helpers.factories import make_organizer, make_user
from tests.helpers.letters import deliver_at_once, latest_link
from tests.participation.invitations.test_views import PERSON
from tests.pooling.conftest import Scene
from tracks.models import Track
from web import throttling

ASKED = {
    "name": "Eve Ray",
    "email": "eve@example.org",
    "organization": "Owl Labs",
    "team_name": "Owls",
    "message": "Hi",
}


def as_user(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def ask(user: User | None = None, **change: str) -> Any:
    return as_user(user).post("/tracks/arq/join/", ASKED | change)


def test_accepted_visitor_gets_a_link_registers_and_is_in_the_new_team(
    scene: Scene, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver_at_once(settings, monkeypatch)
    ask()
    asked = JoinRequest.objects.get()

    as_user(scene.organizer).post(f"/requests/{asked.pk}/accept/", {"team_name": "Night Owls"})
    client = Client()
    client.get(latest_link())
    client.post("/join/", PERSON)

    team = Team.objects.get(name="Night Owls")
    asked.refresh_from_db()
    assert mail.outbox[0].to == ["eve@example.org"]
    assert "is accepted" in mail.outbox[0].body
    assert team.organization == "Owl Labs"
    assert team.memberships.get().user.username == "eve"
    assert team.memberships.get().is_contact, "the first member manages the team"
    assert (asked.state, asked.decided_by) == ("accepted", scene.organizer)


def test_organizers_get_one_e_mail_about_the_requests_of_some_minutes_unless_they_switch_it_off(
    scene: Scene, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver_at_once(settings, monkeypatch)
    User.objects.filter(pk=scene.organizer.pk).update(email="olga@example.org")
    quiet = make_organizer("quentin", email="quentin@example.org")
    as_user(quiet).post("/account/", {"asks": "requests"})
    ask()
    ask(email="ed@example.org", name="Ed Fox")
    at_once = len(mail.outbox)

    Letter.objects.update(due_at=timezone.now())
    letters.send_due()
    ask(email="flo@example.org")

    assert at_once == 0
    assert [message.to for message in mail.outbox] == [["olga@example.org"]]
    assert mail.outbox[0].subject == "Assay: 2 open requests to join ARQ"
    assert "Eve Ray <eve@example.org>, team Owls" in mail.outbox[0].body
    assert "http://testserver/tracks/arq/people/" in mail.outbox[0].body
    assert Letter.objects.filter(due_at__isnull=False).count() == 1


def test_accepted_user_is_in_the_team_at_once(scene: Scene) -> None:
    ask(scene.stranger)

    as_user(scene.organizer).post(f"/requests/{JoinRequest.objects.get().pk}/accept/", {"team_name": "Owls"})

    assert [team.name for team in scene.stranger.teams.all()] == ["Owls"]


def test_request_that_names_an_existing_team_is_decided_by_its_manager(
    scene: Scene, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver_at_once(settings, monkeypatch)
    User.objects.filter(pk=scene.member.pk).update(email="max@example.org", first_name="Max", last_name="Ray")
    ask(scene.stranger, team_name="OURS")
    asked = JoinRequest.objects.get()
    Letter.objects.update(due_at=timezone.now())
    letters.send_due()

    people = as_user(scene.organizer).get("/tracks/arq/people/").content.decode()
    by_organizer = as_user(scene.organizer).post(f"/requests/{asked.pk}/accept/", {"team_name": "ours "})
    by_others = [
        as_user(user).post(f"/requests/{asked.pk}/accept/", {"team_name": "ours"}).status_code
        for user in (scene.stranger, scene.other)
    ]
    nobody_joined = not scene.stranger.teams.exists()
    own = as_user(scene.member).get(scene.ours.get_absolute_url()).content.decode()
    accepted = as_user(scene.member).post(f"/requests/{asked.pk}/accept/", {"team_name": "ours"}, follow=True)

    assert "takes part already, and a member sees its runs and scores" in people
    assert "Max Ray" in people
    assert 'value="OURS"' not in people, "one click accepts into no existing team"
    assert by_organizer.status_code == 409
    assert "decided by Max Ray on the page of the team" in by_organizer.content.decode()
    assert (by_others, nobody_joined) == ([404, 404], True)
    assert mail.outbox[0].to == ["max@example.org"]
    assert mail.outbox[0].subject == "Assay: 1 open request to join the team Ours"
    assert f"http://testserver{scene.ours.get_absolute_url()}" in mail.outbox[0].body
    assert "Accept into the team" in own
    assert list(scene.stranger.teams.all()) == [scene.ours]
    assert "is accepted and gets an e-mail." in accepted.content.decode()


def test_manager_of_a_team_refuses_or_accepts_by_the_api_and_into_their_own_team_only(scene: Scene) -> None:
    ask(team_name="ours")
    asked = JoinRequest.objects.get()
    manager = as_user(scene.member)

    into_theirs = manager.post(
        f"/api/v1/join-requests/{asked.pk}/accept/", {"team_name": "theirs"}, "application/json"
    )
    into_new = manager.post(
        f"/api/v1/join-requests/{asked.pk}/accept/", {"team_name": "Owls"}, "application/json"
    )
    refused = manager.post(
        f"/api/v1/join-requests/{asked.pk}/refuse/", {"reason": "We do not know you."}, "application/json"
    )

    for response in (into_theirs, into_new):
        assert (response.status_code, response.json()["detail"]) == (
            409,
            "You decide who joins your own team only.",
        )
    assert (refused.status_code, refused.json()["status"]) == (200, "refused")


def test_organizer_decides_about_a_team_without_members(scene: Scene) -> None:
    scene.ours.memberships.all().delete()
    ask(scene.stranger, team_name="ours")

    people = as_user(scene.organizer).get("/tracks/arq/people/").content.decode()
    as_user(scene.organizer).post(f"/requests/{JoinRequest.objects.get().pk}/accept/", {"team_name": "ours"})

    assert "Ours is a team of the track without members: the person will manage it." in people
    assert list(scene.stranger.teams.all()) == [scene.ours]


def test_refused_person_gets_the_reason(scene: Scene, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    deliver_at_once(settings, monkeypatch)
    user = make_user(email="eve@example.org")
    ask(user)
    asked = JoinRequest.objects.get()
    organizer = as_user(scene.organizer)

    without = organizer.post(f"/requests/{asked.pk}/refuse/", {"reason": " "}, follow=True).content.decode()
    organizer.post(f"/requests/{asked.pk}/refuse/", {"reason": "The track is full."})
    again = organizer.post(f"/requests/{asked.pk}/accept/", {"team_name": "Owls"})

    assert "Enter the reason" in without
    assert "The track is full." in mail.outbox[0].body
    assert "The track is full." in as_user(user).get("/tracks/arq/join/").content.decode()
    assert again.status_code == 404, "it is decided"


def test_page_looks_the_same_whether_the_address_is_known_or_asked_before(scene: Scene) -> None:
    make_user(email="known@example.org")

    answers = [ask(email=email) for email in ("new@example.org", "new@example.org", "known@example.org")]

    assert {answer.status_code for answer in answers} == {200}
    pages = {re.sub(r"[A-Za-z0-9]{64}", "CSRF token", answer.content.decode()) for answer in answers}
    assert len(pages) == 1
    assert JoinRequest.objects.count() == 2


@pytest.mark.parametrize("status", [Track.Status.CLOSED, Track.Status.DRAFT])
def test_track_that_is_not_open_takes_no_requests(scene: Scene, status: str) -> None:
    Track.objects.update(status=status)

    assert ask().status_code in {404, 409}
    assert not JoinRequest.objects.exists()


def test_assessor_cannot_ask_for_a_team(scene: Scene) -> None:
    response = ask(scene.assessor)

    assert response.status_code == 409
    assert "jane is an assessor of ARQ" in response.content.decode()


def test_only_organizers_decide(scene: Scene) -> None:
    ask()
    address = f"/requests/{JoinRequest.objects.get().pk}/accept/"

    answers = [
        as_user(user).post(address, {"team_name": "Owls"}).status_code for user in (None, scene.member)
    ]

    assert answers == [302, 404]
    assert JoinRequest.objects.get().state == "open"


def test_many_requests_from_one_address_are_stopped(scene: Scene) -> None:
    client = Client(REMOTE_ADDR="203.0.113.8")

    for _ in range(98):
        throttling.count("ask_to_join:203.0.113.8", throttling.HOUR)

    answers = [
        client.post("/tracks/arq/join/", ASKED | {"email": f"p{n}@example.org"}).status_code for n in range(3)
    ]

    assert answers == [200, 200, 429]
