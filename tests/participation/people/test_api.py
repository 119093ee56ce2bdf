"""People and invitations for programs."""

import pytest
from django.test import Client

from accounts.models import User
from participation.models import Invitation, Team
from tests.helpers.api import api, call
from tests.scoring.conftest import Scene, build_scene
from tracks.models import Assessor

pytestmark = pytest.mark.django_db
ZOE = {"name": "Zoe Ray", "email": "zoe@example.org", "role": "assessor"}
PAT = {"name": "Pat Lee", "email": "pat@example.org", "role": "member", "team": "Owls"}


@pytest.fixture
def scene(db: None) -> Scene:
    return build_scene()


def test_list_of_people_is_checked_and_then_added_with_links_for_the_first_login(scene: Scene) -> None:
    client = api(scene.organizer)
    checked = call(client, "POST", "check_people", "arq", data={"people": [ZOE, PAT]}).json()
    assert not User.objects.filter(email=ZOE["email"]).exists()

    added = call(client, "POST", "people_of_track", "arq", data={"people": [ZOE, PAT]})
    people = {
        each["username"]: each for each in call(client, "GET", "people_of_track", "arq").json()["results"]
    }
    links = {
        each["username"]: each["link"] for each in call(client, "GET", "invitations", "arq").json()["results"]
    }

    assert (added.status_code, added.json()) == (201, checked)
    assert [step["is_new_account"] for step in checked["steps"]] == [True, True]
    assert Assessor.objects.filter(track=scene.track, user__username="zoe").exists()
    assert (people["zoe"]["is_assessor"], people["zoe"]["has_password"]) == (True, False)
    assert people["pat"]["teams"][0]["name"] == "Owls"
    assert Client().get(links["zoe"], follow=True).status_code == 200


def test_wrong_people_are_named_by_line_and_nobody_is_added(scene: Scene) -> None:
    people = [ZOE, PAT | {"team": ""} | {"role": "king"}]
    client = api(scene.organizer)

    refused = call(client, "POST", "people_of_track", "arq", data={"people": people})
    unmailed = call(client, "POST", "people_of_track", "arq", data={"people": [ZOE], "is_mailed": True})

    assert (refused.status_code, refused.json()["code"]) == (422, "bad-people")
    assert {(error["line"], error["field"]) for error in refused.json()["errors"]} == {(2, "role")}
    assert unmailed.json()["errors"][0]["field"] == "is_mailed"
    assert not User.objects.filter(email=ZOE["email"]).exists()


def test_invitation_is_made_read_and_revoked_and_its_link_is_in_no_kept_answer(scene: Scene) -> None:
    client, team = api(scene.organizer), Team.objects.get(name="Ours")
    wanted = {"role": "member", "team": team.pk, "may_submit": False, "max_uses": 3}

    made = call(client, "POST", "invitations", "arq", data=wanted, headers={"Idempotency-Key": "k"})
    again = call(client, "POST", "invitations", "arq", data=wanted, headers={"Idempotency-Key": "k"})
    read = client.get(made["Location"]).json()
    without_team = call(client, "POST", "invitations", "arq", data={"role": "member"})
    revoked = call(client, "POST", "revoke_invitation", read["id"])

    invitation = Invitation.objects.get()
    assert (made.status_code, again.json()) == (201, made.json())
    assert "link" not in made.json()
    assert "/join/" in read["link"]
    assert (invitation.team, invitation.may_submit, invitation.max_uses) == (team, False, 3)
    assert without_team.json()["errors"][0]["field"] == "team"
    assert revoked.status_code == 204
    assert client.get(made["Location"]).status_code == 404


def test_request_to_join_is_sent_read_and_accepted_into_another_team(scene: Scene) -> None:
    User.objects.filter(pk=scene.stranger.pk).update(
        email="sam@example.org", first_name="Sam", last_name="Lee"
    )
    scene.stranger.refresh_from_db()
    stranger, organizer = api(scene.stranger), api(scene.organizer)

    other = call(
        stranger, "POST", "join_requests", "arq", data={"team_name": "Owls", "email": "x@example.org"}
    )
    sent = call(stranger, "POST", "join_requests", "arq", data={"team_name": "Owls", "message": "Please."})
    again = call(stranger, "POST", "join_requests", "arq", data={"team_name": "Others"})
    listed = call(organizer, "GET", "join_requests", "arq").json()["results"]
    decided = call(organizer, "POST", "accept_join_request", sent.json()["id"], data={"team_name": "Hawks"})

    assert (other.status_code, other.json()["errors"][0]["field"]) == (400, "email")
    assert (sent.status_code, sent.json()["status"], sent.json()["name"]) == (201, "open", "Sam Lee")
    assert again.json() == sent.json() == listed[0]
    assert decided.json()["status"] == "accepted"
    assert Team.objects.get(name="Hawks").members.get() == scene.stranger
    assert call(stranger, "GET", "join_request", sent.json()["id"]).json() == decided.json()
    assert call(api(scene.member), "GET", "join_requests", "arq").json()["results"] == []
    assert call(organizer, "POST", "accept_join_request", sent.json()["id"], data={}).status_code == 404


def test_request_to_join_is_refused_with_a_reason(scene: Scene) -> None:
    data = {"team_name": "Owls", "email": "sam@example.org", "name": "Sam Lee"}
    sent = call(api(scene.stranger), "POST", "join_requests", "arq", data=data).json()
    organizer = api(scene.organizer)

    without = call(organizer, "POST", "refuse_join_request", sent["id"], data={"reason": " "})
    refused = call(organizer, "POST", "refuse_join_request", sent["id"], data={"reason": "Too late."})

    assert without.status_code == 400
    assert (refused.json()["status"], refused.json()["reason"]) == ("refused", "Too late.")


def test_invitation_is_accepted_by_its_link_once(scene: Scene) -> None:
    made = call(
        api(scene.organizer), "POST", "invitations", "arq", data={"role": "member", "team": scene.ours.pk}
    )
    link = api(scene.organizer).get(made["Location"]).json()["link"]

    accepted = call(api(scene.stranger), "POST", "accept_invitation", data={"link": link})
    again = call(api(scene.ada), "POST", "accept_invitation", data={"link": link})

    assert (accepted.status_code, accepted.json()["team"]) == (200, scene.ours.pk)
    assert scene.stranger in scene.ours.members.all()
    assert (again.status_code, again.json()["title"]) == (409, "This invitation is no longer valid")
