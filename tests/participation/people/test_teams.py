"""The page of a team: who sees it, who manages it, and what stays when a member leaves."""

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from accounts.models import Event, User
from assay.errors import Refused
from participation.models import EndedMembership, Team
from participation.teams import services
from participation.teams import services as team_services
from tests.helpers.factories import (
    make_assessor,
    make_organizer,
    make_role,
    make_topic,
    make_track,
    make_user,
)
from tests.helpers.runs import TOPICS
from tests.pooling.conftest import Scene, build_scene
from tracks.assessors import services as assessor_services
from tracks.guidelines import services as guidelines_services
from tracks.models import Track


def as_user(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def second(scene: Scene) -> User:
    """A second member of our team, whose contact person is the first."""
    services.set_contact(team=scene.ours, user=scene.member)
    return services.add_member(team=scene.ours, user=make_user("zoe", email="zoe@example.org")).user


def change(scene: Scene, by: User, member: User, action: str) -> Any:
    address = f"/teams/{scene.ours.pk}/members/{member.pk}/"
    if action == "remove":
        return as_user(by).post(f"{address}remove/", follow=True)
    return as_user(by).post(address, {"action": action}, follow=True)


def test_members_see_each_other_and_only_the_contact_person_manages(scene: Scene, second: User) -> None:
    contact, member = (
        as_user(user).get(f"/teams/{scene.ours.pk}/").content.decode() for user in (scene.member, second)
    )

    assert "zoe@example.org" in contact
    assert "Invite a member" in contact
    assert "Invite a member" not in member
    assert "manages the team" in member
    assert change(scene, second, scene.member, "remove").status_code == 404


def test_member_without_the_right_neither_submits_nor_withdraws(
    scene: Scene, second: User, tmp_path: Any
) -> None:
    path = tmp_path / "good.tsv"
    path.write_text("".join(f"{topic}\t101\t1\t9\tgood\n" for topic in TOPICS))
    run = scene.submit(path)

    page = change(scene, scene.member, second, "forbid").content.decode()

    assert "zoe may no longer submit runs." in page
    with pytest.raises(Refused, match="with the right to submit"):
        scene.submit(path, by=second, tag="other")
    assert as_user(second).post(f"/runs/{run.pk}/withdraw/").status_code == 409
    assert as_user(second).get("/tracks/arq/runs/submit/").status_code == 403
    assert "good" in as_user(second).get("/tracks/arq/runs/", follow=True).content.decode()
    assert "may submit runs" in change(scene, scene.member, second, "allow").content.decode()


def test_who_leaves_keeps_the_history_and_sees_the_team_no_more(scene: Scene, second: User) -> None:
    client = as_user(second)

    client.post(f"/teams/{scene.ours.pk}/leave/")

    ended = EndedMembership.objects.get()
    assert (ended.user, ended.ended_by) == (second, second)
    assert ended.joined_at is not None
    assert client.get(f"/teams/{scene.ours.pk}/").status_code == 404
    assert "Member of team Ours in ARQ until" in client.get("/account/").content.decode()
    assert "zoe" in as_user(scene.organizer).get(f"/teams/{scene.ours.pk}/").content.decode()


@pytest.mark.parametrize("is_own", [True, False], ids=["leave", "remove"])
def test_end_of_a_membership_asks_first(scene: Scene, second: User, is_own: bool) -> None:
    address = f"/teams/{scene.ours.pk}/" + ("leave/" if is_own else f"members/{second.pk}/remove/")

    page = as_user(second if is_own else scene.member).get(address).content.decode()

    assert "can only come back with an invitation" in page
    assert not EndedMembership.objects.exists()


def test_former_member_of_a_team_with_runs_cannot_judge(scene: Scene, second: User, tmp_path: Any) -> None:
    path = tmp_path / "good.tsv"
    path.write_text("".join(f"{topic}\t101\t1\t9\tgood\n" for topic in TOPICS))
    scene.submit(path)
    change(scene, scene.member, second, "remove")

    with pytest.raises(Refused, match="was a member of a team of ARQ that submitted runs"):
        assessor_services.add(track=scene.track, user=second)


def test_contact_person_hands_over_and_any_member_manages_a_team_without_one(
    scene: Scene, second: User
) -> None:
    change(scene, scene.member, second, "contact")
    handed_over = change(scene, scene.member, second, "remove").status_code
    as_user(second).post(f"/teams/{scene.ours.pk}/leave/")

    page = as_user(scene.member).get(f"/teams/{scene.ours.pk}/").content.decode()

    assert handed_over == 404, "the former contact person manages no longer"
    assert "Invite a member" in page


def test_name_and_organization_are_saved_unless_the_name_is_taken(scene: Scene) -> None:
    client = as_user(scene.member)

    client.post(f"/teams/{scene.ours.pk}/edit/", {"name": "Owls", "organization": "Owl Labs"})
    taken = client.post(f"/teams/{scene.ours.pk}/edit/", {"name": "theirs", "organization": ""})

    scene.ours.refresh_from_db()
    assert (scene.ours.name, scene.ours.organization) == ("Owls", "Owl Labs")
    assert taken.status_code == 409


@pytest.mark.parametrize("action", ["remove", "contact", "forbid"])
def test_nobody_outside_changes_a_team(scene: Scene, action: str) -> None:
    for person in (scene.other, scene.assessor, scene.stranger):
        assert change(scene, person, scene.member, action).status_code == 404
    assert change(scene, scene.member, scene.other, action).status_code == 404, "not a member"


def test_page_of_a_team_takes_a_fixed_number_of_queries(scene: Scene, django_assert_num_queries: Any) -> None:
    client = as_user(scene.organizer)
    for n_members in (2, 6):
        for _ in range(n_members):
            services.add_member(team=scene.ours, user=make_user())
        with django_assert_num_queries(10):
            client.get(f"/teams/{scene.ours.pk}/")


def test_chair_sees_the_page_of_a_team_without_members(scene: Scene) -> None:
    scene.ours.memberships.all().delete()

    page = as_user(make_role(scene.track, "carl", is_chair=True)).get(f"/teams/{scene.ours.pk}/")

    assert page.status_code == 200
    assert "No members yet" in page.content.decode()


@pytest.mark.django_db
def test_clone_has_the_settings_and_people_but_no_topics(client: Client) -> None:
    organizer = make_organizer()
    old = make_track("task-1", name="Task 1", description="Answers.", reminder_days=9)
    Track.objects.update(names_hidden_until=datetime(2099, 5, 1, 12, tzinfo=UTC))
    make_topic(old)
    ada, sofia = make_assessor(old, "ada"), make_user("sofia")
    team_services.create(track=old, name="Group A", members=[sofia])
    guidelines_services.publish(track=old, text="Be fair.", revision=0, by=organizer)
    client.force_login(organizer)
    address = reverse("participation:clone_track", args=["task-1"])

    client.post(address, {"name": "Alone", "slug": "alone"})
    client.post(address, {"name": "Task 1, 2027", "slug": "task-1-2027", "assessors": "on", "teams": "on"})

    alone, new = Track.objects.get(slug="alone"), Track.objects.get(slug="task-1-2027")
    assert (new.protocol, new.collection, new.description) == (old.protocol, old.collection, "Answers.")
    assert (new.reminder_days, alone.reminder_days) == (9, 9)
    assert new.names_hidden_until == datetime(2099, 5, 1, 12, tzinfo=UTC)
    assert (new.status, new.topics.count(), new.guidelines) == ("draft", 0, None)
    assert new.guidelines_draft.text == "Be fair."
    assert [each.user for each in new.assessors.all()] == [ada]
    assert [(team.name, list(team.members.all())) for team in new.teams.all()] == [("Group A", [sofia])]
    assert (alone.assessors.count(), alone.teams.count()) == (0, 0)
    created = Event.objects.get(action="track.created", track_id=new.pk)
    assert (created.by, created.details["cloned from"]) == (organizer, "task-1")


@pytest.mark.django_db
def test_short_name_in_use_is_refused(client: Client) -> None:
    make_track("task-1")
    client.force_login(make_organizer())

    page = client.post(reverse("participation:clone_track", args=["task-1"]), {"name": "x", "slug": "task-1"})

    assert "The short name task-1 is in use" in page.content.decode()
    assert Track.objects.count() == 1


def test_assessor_of_the_track_cannot_be_in_a_team(scene: Scene) -> None:
    with pytest.raises(Refused, match="jane is an assessor of ARQ"):
        team_services.set_members(team=scene.ours, members=[scene.member, scene.assessor])
    with pytest.raises(Refused, match="is an assessor of"):
        team_services.create(track=scene.track, name="New", members=[scene.assessor])

    assert not Team.objects.filter(name="New").exists()
    assert list(scene.ours.members.all()) == [scene.member]


def test_assessor_of_another_track_can_be_in_a_team(scene: Scene) -> None:
    person = make_assessor(make_track())

    team_services.set_members(team=scene.ours, members=[scene.member, person])

    assert scene.ours.members.count() == 2


@pytest.mark.parametrize("name", ["ours", " OURS ", "", "  ", "bell\a"])
def test_name_of_a_team_must_be_new_and_printable(scene: Scene, name: str) -> None:
    with pytest.raises(Refused) as refusal:
        team_services.create(track=scene.track, name=name)

    assert refusal.value.code == "team-refused"


@pytest.mark.django_db(transaction=True)
def test_nobody_becomes_member_and_assessor_at_once(folder: Path) -> None:
    scene = build_scene()
    person = make_user("eve")
    start = threading.Barrier(2)
    refused: list[str] = []

    def attempt(action: Any) -> None:
        try:
            start.wait()
            action()
        except Refused as refusal:
            refused.append(refusal.message)
        finally:
            connection.close()

    actions = [
        lambda: team_services.set_members(team=scene.ours, members=[person]),
        lambda: assessor_services.add(track=scene.track, user=person),
    ]
    threads = [threading.Thread(target=attempt, args=[action]) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(refused) == 1


def test_team_is_renamed_unless_the_name_is_taken(scene: Scene) -> None:
    team_services.rename(team=scene.ours, name=" Abacus ")
    scene.ours.refresh_from_db()
    assert scene.ours.name == "Abacus"

    with pytest.raises(Refused, match="already has a team named theirs"):
        team_services.rename(team=scene.ours, name="theirs")


@pytest.mark.django_db
def test_organizer_gives_a_team_its_own_disk_limit(client: Client) -> None:
    client.force_login(make_organizer())
    form = {"track": make_track().pk, "name": "Owls", "max_megabytes": "500"}

    client.post(reverse("admin:participation_team_add"), form)
    team = Team.objects.get()
    page = client.get(reverse("admin:participation_team_changelist")).content.decode()
    client.post(
        reverse("admin:participation_team_change", args=[team.pk]), {"name": "Owls", "max_megabytes": ""}
    )

    assert "0 kB of 500 MB" in page
    assert team.max_megabytes == 500
    assert Team.objects.get().max_megabytes is None
