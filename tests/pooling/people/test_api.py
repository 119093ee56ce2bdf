"""People and invitations for programs."""

import pytest
from django.test import Client

from accounts.models import User
from pooling.models import Invitation, Team
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
    unmailed = call(client, "POST", "people_of_track", "arq", data={"people": [ZOE], "is_mailing": True})

    assert (refused.status_code, refused.json()["code"]) == (422, "bad-people")
    assert {(error["line"], error["field"]) for error in refused.json()["errors"]} == {(2, "role")}
    assert unmailed.json()["errors"][0]["field"] == "is_mailing"
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
