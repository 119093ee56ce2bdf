"""A pasted list becomes accounts, teams, assessors and invitations, or nothing; the page of people shows them."""

import re
from csv import DictReader
from html import escape
from io import StringIO
from typing import Any

import pytest
from django.conf import LazySettings
from django.core import mail
from django.test import Client
from django.urls import reverse

from accounts.models import Event, User
from assay.errors import Refused
from participation.invitations.selectors import link_of
from participation.models import Invitation, Team
from participation.people import services
from participation.people.pasted import read
from participation.people.services import Sender
from participation.teams import services as team_services
from tests.helpers.api import api, call
from tests.helpers.factories import make_assessor, make_organizer, make_track, make_user
from tests.helpers.letters import deliver_at_once
from tests.pooling.conftest import Scene
from tracks.agreements import services as agreement_services
from tracks.models import Assessor, Track

LIST = """\
name,e-mail,role,team
Zoe Ray,zoe@example.org,assessor,
"Lee, Pat",pat@example.org,contact,Owls
Kim Roy,kim@example.org,observer,owls
Sam,sam@example.org,member,Ours
"""


def as_user(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def paste(scene: Scene, text: str, action: str = "check", **form: str) -> Any:
    return as_user(scene.organizer).post(
        "/tracks/arq/people/add/", {"text": text, "action": action} | form, follow=True
    )


def test_list_is_previewed_then_done(scene: Scene) -> None:
    User.objects.filter(username="sam").update(email="Sam@example.org")
    n_users = User.objects.count()

    preview = paste(scene, LIST).content.decode()
    after_preview = User.objects.count()
    page = paste(scene, LIST, "add").content.decode()

    team = Team.objects.get(name="Owls")
    assert "Add 4 people, with 3 new accounts" in " ".join(preview.split())
    assert after_preview == n_users
    assert "4 people added, 3 new accounts." in page
    assert Assessor.objects.get(user__username="zoe").user.get_full_name() == "Zoe Ray"
    assert {
        (m.user.username, m.is_contact, m.may_submit) for m in team.memberships.select_related("user")
    } == {
        ("pat", True, True),
        ("kim", False, False),
    }
    assert list(scene.stranger.teams.all()) == [scene.ours], "the account that exists"
    assert Invitation.objects.count() == 3
    assert all(link_of(each, "http://testserver") in page for each in Invitation.objects.all())


def test_preview_says_that_an_account_keeps_its_name(scene: Scene) -> None:
    User.objects.filter(pk=scene.stranger.pk).update(
        first_name="Sam", last_name="Hill", email="sam@example.org"
    )

    other, same = (
        paste(scene, f"{name},sam@example.org,member,Ours").content.decode()
        for name in ("Samuel H. Hill", "Sam Hill")
    )

    assert re.search(r"existing account <bdi>sam</bdi>, whose name stays\s+<bdi>Sam Hill</bdi>", other)
    assert "existing account <bdi>sam</bdi>" in same
    assert "whose name stays" not in same


@pytest.mark.parametrize("sends_mail", [True, False])
def test_links_that_the_site_does_not_send_are_the_next_step(
    scene: Scene, settings: LazySettings, sends_mail: bool
) -> None:
    settings.SENDS_MAIL = sends_mail
    Track.objects.update(status=Track.Status.DRAFT)
    scene.track.runs.all().delete()
    paste(scene, LIST, "add")
    page = as_user(scene.organizer).get("/tracks/arq/people/").content.decode()
    newest = Invitation.objects.exclude(user=None).order_by("-pk")[0]

    sent = as_user(scene.organizer).post(
        "/tracks/arq/skip/", {"points": f"links-{newest.pk}:done", "next": "/tracks/arq/people/"}, follow=True
    )

    filled = re.findall(r"btn-primary[^>]*>\s*([^<]*)<", page)
    assert ("Next, on this page</span>" in page) is not sends_mail
    assert (
        f'name="points" value="links-{newest.pk}:done">' in page
    ) is not sends_mail  # with the links copied
    assert ("Copy all links" in filled) is not sends_mail
    assert (">Mark as sent</button>" in page) is not sends_mail
    assert "Add people from a list" not in filled
    assert ("Marked as sent: Links." in sent.content.decode()) is not sends_mail
    assert ">Mark as sent</button>" not in sent.content.decode()
    home = as_user(scene.organizer).get("/tracks/arq/").content.decode()
    assert ("used their link. Send it if you have not yet" in home) is sends_mail
    assert sends_mail or re.search(r'done:</span></span>\s*<a [^>]*people/#links">Links</a>', home)
    assert ("<summary>Links, marked as sent</summary>" in sent.content.decode()) is not sends_mail
    assert Event.objects.filter(action="checklist.marked", details__as="sent").exists() is not sends_mail
    paste(scene, "name,e-mail,role,team\nLater,later@example.org,assessor,\n", "add")
    later = as_user(scene.organizer).get("/tracks/arq/people/").content.decode()
    assert "<summary>Links to send</summary>" in later
    assert (">Mark as sent</button>" in later) is not sends_mail


def test_repeating_a_list_changes_nothing(scene: Scene) -> None:
    paste(scene, LIST, "add")
    n_users = User.objects.count()

    page = paste(scene, LIST).content.decode()

    assert page.count("no change:") == 4
    paste(scene, LIST, "add")
    assert User.objects.count() == n_users
    assert Invitation.objects.count() == 4, "no invitation twice"


WRONG_LINES = {
    "Eve,eve@example.org,jugde,": "“jugde” is not a role; use assessor, member, observer, contact, organizer, chair.",
    "Eve,eve at example,assessor,": "“eve at example” is not an e-mail address.",
    "Eve,eve@example.org,member,": "the team is missing; people with the role member need one.",
    "Eve,eve@example.org,assessor,Owls": "people with the role assessor have no team; leave it empty.",
    "Eve,ZOE@example.org,assessor,": "ZOE@example.org is in line 2 too; list a person once.",
    "Eve,eve@example.org,contact,OWLS": "OWLS has a contact person in line 3; use member.",
    "Eve,ada@example.org,assessor,": "ada is a member of a team of ARQ, so ada cannot judge for it.",
    "Eve,jane@example.org,member,Owls": "jane is an assessor of ARQ and cannot be a member",
    "Eve,gone@example.org,assessor,": "the account gone is deactivated",
    "Eve,twin@example.org,assessor,": "2 accounts have this address: twin1, twin2.",
    "Eve,eve,assessor,": "user name: there is no account eve; give the e-mail address for a new one.",
    "Ada,ADA,assessor,": "user name: there is no account ADA; one has the name ada.",
    "Ann,ann,assessor,\nAnn,ann@example.org,assessor,": "ann is in line 6 too; list a person once.",
    "Ann,ann,assessor,\nAnn,ann,assessor,": "ann is in line 6 too; list a person once.",
    "Eve,eve@example.org,assessor,,x": "expected at most 4 columns, got 5.",
}


def test_roles_in_organizing_are_those_of_the_track(scene: Scene) -> None:
    page = paste(scene, "Zoe,zoe@example.org,organizer\nCho,cho@example.org,chair", "check").content.decode()

    assert re.findall(r"(organizer|chair) of this track", page) == ["organizer", "chair"]
    assert "every track" not in page


def test_all_problems_of_all_lines_are_at_the_field_in_one_answer(scene: Scene) -> None:
    lines = (
        "Ada; ada@; jugde\nIda; ida@example.org; member\nIda; ida@example.org; assesor\nEve; eve@example.org"
    )

    page = paste(scene, lines).content.decode()

    assert re.findall('class="field-error">(Line [^:]+):', page) == [
        "Line 1, e-mail",
        "Line 1, role",
        "Line 2, team",
        "Line 3, e-mail",
        "Line 3, role",
        "Line 4, role",
    ]
    assert "Line 4, role: the role is missing; use assessor," in page
    assert re.search('<textarea[^>]*name="text"[^>]*aria-invalid="true"', page)
    assert escape(lines) in page


def test_line_with_a_problem_is_named_and_nothing_is_done(scene: Scene) -> None:
    for name in ("ada", "jane"):
        User.objects.filter(username=name).update(email=f"{name}@example.org")
    make_user("gone", email="gone@example.org", is_active=False)
    for name in ("twin1", "twin2"):
        make_user(name, email="twin@example.org")
    make_user("ann", email="ann@example.org")
    n_users = User.objects.count()

    for line, message in WRONG_LINES.items():
        for action in ("check", "add"):
            page = paste(scene, LIST + line, action).content.decode().replace("&#x27;", "'")
            assert message in page
            assert re.search(r'<div class="field-error">Line [67]', page)
    assert User.objects.count() == n_users
    assert not Team.objects.filter(name="Owls").exists()


def test_list_chooses_user_names(scene: Scene) -> None:
    make_user("hopper")
    head = (
        "name,e-mail,role,user name\nZoe Ray,z@example.org,assessor,zoe.ray\nAmy Ray,a@example.org,assessor,"
    )

    taken = paste(scene, head + "Hopper").content.decode()
    similar = paste(scene, head + "hоpper").content.decode()
    repeated = paste(scene, head + "zoe.ray").content.decode()
    wrong = paste(scene, head + "amy ray").content.decode()
    paste(scene, head, "add")

    assert "the account Hopper has another e-mail address; use that one, or leave it empty." in taken
    assert "This user name looks like another one" in similar
    assert "zoe.ray is in line 2 too; choose another one." in repeated
    assert "Enter a valid username" in wrong
    assert {user.username for user in User.objects.filter(last_name="Ray")} == {"zoe.ray", "a"}


@pytest.mark.parametrize(
    "text",
    [
        "Zoe Ray\tzoe@example.org\tassessor\nPat Lee\tpat@example.org\tmember\tOwls",
        "Zoe Ray; zoe@example.org; judge\n\nPat Lee; pat@example.org; participant; Owls",
        "Role;E-Mail;First name;Last name;Team\nassessor;zoe@example.org;Zoe;Ray;\n;pat@example.org;Pat;Lee;Owls",
        "Zoe Ray <zoe@example.org>,,assessor\nPat Lee <pat@example.org>,,member,Owls",
    ],
    ids=["tabs", "semicolons", "header in another order", "addresses with names"],
)
def test_forms_of_a_list(scene: Scene, text: str) -> None:
    services.add(track=scene.track, people=read(text), sender=Sender(by=scene.organizer))

    zoe, pat = User.objects.get(username="zoe"), User.objects.get(username="pat")
    assert (zoe.get_full_name(), pat.get_full_name()) == ("Zoe Ray", "Pat Lee")
    assert Assessor.objects.filter(user=zoe).exists()
    assert pat.teams.get().name == "Owls"


@pytest.mark.parametrize(
    "text",
    [
        "Zoe Ray; zoe.ray; assessor\nPat Lee; pat@example.org; assessor",
        "user name,role\nzoe.ray,assessor",
        "name,e-mail,role,user name\n,,assessor,zoe.ray",
    ],
)
def test_user_name_finds_an_account_without_its_address(scene: Scene, text: str) -> None:
    zoe = make_user("zoe.ray", email="z@example.org")

    page = paste(scene, text, "add").content.decode()

    assert "added" in page
    assert Assessor.objects.filter(user=zoe).exists()
    assert User.objects.filter(username__startswith="zoe").count() == 1


def test_group_of_assessors_must_be_one_of_the_protocol(scene: Scene) -> None:
    track = make_track("ntcir", protocol="ntcir-12-wikipedia")
    group = track.protocol.parsed.judging.groups[0]

    services.add(
        track=track, people=read(f"Zoe,zoe@example.org,assessor,{group}"), sender=Sender(by=scene.organizer)
    )
    with pytest.raises(Refused, match="“none” is not a group of assessors"):
        services.add(
            track=track, people=read("Eve,eve@example.org,assessor,none"), sender=Sender(by=scene.organizer)
        )

    assert Assessor.objects.get(track=track).group == group


def test_user_names_are_free_and_short(scene: Scene) -> None:
    text = "A,ada@example.org,assessor\nB,ADA@example.com,assessor\nC,!#@example.org,assessor"

    services.add(track=scene.track, people=read(text), sender=Sender(by=scene.organizer))

    names = set(User.objects.filter(assessor_of__isnull=False).values_list("username", flat=True))
    assert names >= {"ada2", "ada3", "person"}


def test_people_with_and_without_an_account_get_an_e_mail(
    scene: Scene, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver_at_once(settings, monkeypatch)
    User.objects.filter(username="sam").update(email="sam@example.org")

    paste(scene, LIST, "add", is_mailing="on")

    sent = {message.to[0]: message for message in mail.outbox}
    assert set(sent) == {f"{name}@example.org" for name in ("zoe", "pat", "kim", "sam")}
    assert "Your user name is zoe." in sent["zoe@example.org"].body
    assert "added you to the team Ours" in sent["sam@example.org"].body


def test_organizer_of_a_list_manages_every_track_and_is_asked_for_a_password(scene: Scene) -> None:
    services.add(
        track=scene.track, people=read("Max,max@example.org,organizer"), sender=Sender(by=scene.organizer)
    )

    user = User.objects.get(username="max")
    assert user.is_organizer
    assert not user.has_usable_password()


def test_page_shows_roles_invitations_agreement_and_visits(scene: Scene) -> None:
    paste(scene, LIST, "add")
    agreement_services.publish(track=scene.track, text="Terms", revision=0, by=scene.organizer)
    scene.track.refresh_from_db()
    agreement_services.accept(track=scene.track, user=scene.member, revision=1)
    as_user(scene.member)

    page = as_user(scene.organizer).get("/tracks/arq/people/").content.decode()

    for text in (
        "invited, until",
        "accepted <time",
        "not accepted",
        "contact person",
        "may not submit",
        "never",
    ):
        assert text in page
    places = [
        page.rindex(text)
        for text in ("Links to send", 'rowgroup">Organizers', 'rowgroup">Assessors', "<bdi>zoe</bdi>")
    ]
    assert places == sorted(places), "links first, then people by their role"
    assert page.count("Copy link<") == page.count("Revoke the invitation") == 4, (
        "once, in the row of the person"
    )
    assert "This site sends no e-mail" in page
    assert page.count("btn-primary") <= 1


def test_organizer_downloads_all_links_as_csv(scene: Scene) -> None:
    paste(scene, LIST, "add")
    address = "/tracks/arq/people/invitations.csv"

    page = as_user(scene.organizer).get("/tracks/arq/people/").content.decode()
    rows = list(DictReader(StringIO(as_user(scene.organizer).get(address).content.decode())))

    assert address in page
    assert rows
    assert {row["user"] for row in rows} >= {"zoe", "pat"}
    assert [row["user"] for row in rows] == ["zoe", "pat", "kim", "sam2"]  # as in the list
    for row in rows:
        assert page.count(row["link"]) == 2  # among all links, and in the row of the person
    assert as_user(scene.member).get(address).status_code == 403


def test_organizer_makes_links_for_people_who_forgot_or_lost_them(scene: Scene) -> None:
    paste(scene, LIST, "add")
    zoe = User.objects.get(username="zoe")
    old = Invitation.objects.get(user=zoe)
    organizer = as_user(scene.organizer)

    page = organizer.post(f"/tracks/arq/people/{scene.member.pk}/link/").content.decode()
    organizer.post(f"/tracks/arq/people/{zoe.pk}/link/")
    refused = organizer.post(f"/tracks/arq/people/{scene.stranger.pk}/link/", follow=True).content.decode()

    link = page.split('value="http://testserver')[1].split('"')[0]
    old.refresh_from_db()
    assert Client().post(link).status_code == 302
    assert old.revoked_at is not None
    assert Invitation.objects.filter(user=zoe, revoked_at=None).count() == 1
    assert "No link can be made for this account" in refused


def test_organizer_makes_a_link_for_a_role_and_a_team(scene: Scene) -> None:
    organizer = as_user(scene.organizer)

    organizer.post(
        "/tracks/arq/people/invite/", {"place": f"observer:{scene.ours.pk}", "max_uses": 3, "days": 5}
    )
    wrong = organizer.post("/tracks/arq/people/invite/", {"place": "team:999999", "max_uses": 3, "days": 5})
    organizer.post("/tracks/arq/people/team/", {"name": "Owls"})

    invitation = Invitation.objects.get()
    assert (invitation.team, invitation.may_submit, invitation.max_uses) == (scene.ours, False, 3)
    assert wrong.status_code == 422
    assert Team.objects.filter(name="Owls").exists()


def test_only_organizers_add_people(scene: Scene) -> None:
    for person in (scene.member, scene.assessor, scene.stranger):
        answer = as_user(person).post("/tracks/arq/people/add/", {"text": LIST, "action": "add"})
        assert answer.status_code == 403
    assert not User.objects.filter(username="zoe").exists()


def test_page_takes_a_fixed_number_of_queries(scene: Scene, django_assert_num_queries: Any) -> None:
    client = as_user(scene.organizer)
    for n_people in (1, 4):
        lines = [f"P,p{n_people}{n}@example.org,member,Team {n}" for n in range(n_people)]
        lines += [f"A,a{n_people}{n}@example.org,assessor" for n in range(n_people)]
        services.add(track=scene.track, people=read("\n".join(lines)), sender=Sender(by=scene.organizer))
        team_services.create(track=scene.track, name=f"Empty {n_people}")
        with django_assert_num_queries(13):
            client.get("/tracks/arq/people/")


def test_member_of_a_team_gets_a_role_in_the_track_only_with_a_reason(scene: Scene) -> None:
    """With the role, they see the runs and scores of all teams: on the page, from a list and by the API."""
    client, address = as_user(scene.organizer), f"/tracks/{scene.track.slug}/people/organizers/"
    User.objects.filter(pk=scene.member.pk).update(email="mia@example.org")
    form = {"username": scene.member.username, "role": "chair"}
    program = api(scene.organizer)

    page = client.post(address, form)
    listed = services.plan(scene.track, read("Mia\tmia@example.org\torganizer"))
    refused = call(
        program, "PUT", "organizer", scene.track.slug, scene.member.username, data={"role": "chair"}
    )
    assert "Give a reason, which the audit log keeps." in page.content.decode()
    assert "is a member of the team Ours" in listed.problems[0].message
    assert refused.status_code == 409
    assert not scene.track.organizers.filter(user=scene.member).exists()

    client.post(address, form | {"reason": "She left the team's university."})
    again = {"role": "organizer", "reason": "She organizes from now on."}
    accepted = call(program, "PUT", "organizer", scene.track.slug, scene.member.username, data=again)

    assert accepted.status_code == 200
    reasons = Event.objects.filter(action="organizer.appointed").order_by("pk")
    assert [each.details["reason"] for each in reasons] == [
        "She left the team's university.",
        "She organizes from now on.",
    ]


def test_people_come_a_hundred_at_a_time_and_are_found_on_every_page(scene: Scene) -> None:
    users = User.objects.bulk_create(User(username=f"judge-{n:03}") for n in range(120))
    Assessor.objects.bulk_create(Assessor(track=scene.track, user=user) for user in users)
    client = as_user(scene.organizer)

    def names(query: str) -> list[str]:
        html = client.get(f"/tracks/arq/people/{query}").content.decode()
        return re.findall(r"<bdi>(judge-\d+)</bdi>", html)

    first, second, matches = names(""), names("?page=2"), names("?q=JUDGE-119")

    assert names("?page=all") == first + second == [user.username for user in users]
    assert len(first) < 100
    assert matches == ["judge-119"]
    assert (
        "Nobody has these words" in client.get("/tracks/arq/people/?q=nobody-of-that-name").content.decode()
    )


def test_group_that_the_protocol_does_not_define_is_refused_at_its_field(scene: Scene) -> None:
    track = make_track("ntcir", protocol="ntcir-12-wikipedia")
    ada = make_assessor(track)

    page = as_user(make_organizer()).post(
        reverse("participation:set_groups", args=[track.slug]), {f"group-{ada.pk}": "wizards"}
    )

    assert page.status_code == 422
    assert "Choose one of the list: “wizards” is not in it" in page.content.decode()
