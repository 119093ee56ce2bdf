"""Organizers of single tracks, chairs and administrators: what the tables of `test_access` do not show.

Chairs are refused everything that changes something. An organizer of another track gets nowhere with forms and ids
either.
"""

import re
from html import unescape

import pytest
from django.contrib.admin import site
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from accounts.models import Event, User
from assessment.models import Judgment
from pooling.models import Run
from tests.helpers.api import api, call
from tests.helpers.factories import make_assessor, make_collection, make_role, make_track, make_user
from tests.scoring.conftest import Scene
from tests.test_access import MATRIX, PEOPLE, addresses, own_files, rows_of, scene
from tracks.models import Organizer

__all__ = ["addresses", "own_files", "scene"]  # fixtures

pytestmark = pytest.mark.django_db
# What everybody may send: it changes only what is theirs.
OWN = {
    *(
        "assessment:accepting",
        "assessment:highlighting",
        "assessment:keys",
        "account",
        "tokens",
        "revoke_token",
        "end_session",
        "end_other_sessions",
    ),
    *(
        "login",
        "logout",
        "request_link",
        "password_change",
        "login_link",
        "participation:join",
        "assessment:link",
    ),
    *(
        "participation:leave_team",
        "participation:ask_to_join",
        "tracks:accept_agreement",
        "participation:invitation_link",
    ),
}
CREATING = {"corpus:start_import", "building:start_build", "publishing:load_archive", "turkle:projects"}
CREATING |= {"tracks:new_track", "tracks:new_protocol", "publishing:fetch_collection"}


def as_user(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_forms_of_a_track_are_refused_to_chairs_and_to_organizers_of_others(
    scene: Scene, addresses: dict[str, str]
) -> None:
    """Also of the pages that they open; `test_attacks` sends forms to those that they do not."""
    clients = {
        "chair": as_user(make_role(scene.track, "chair", is_chair=True)),
        "organizer of another track": as_user(make_role(make_track("elsewhere"), "foreign")),
    }
    n_events = Event.objects.count()

    answers = {
        (person, name): client.post(addresses[name]).status_code
        for name, row in rows_of(MATRIX).items()
        for person, client in clients.items()
        if name not in OWN | CREATING and row[PEOPLE.index(person)] not in "L345"
    }

    let_in = {each: status for each, status in answers.items() if status not in {403, 404, 405}}
    assert len(answers) > 100
    assert let_in == {}
    assert Event.objects.count() == n_events


def test_chair_changes_no_run_and_reads_the_reason(scene: Scene) -> None:
    run = scene.submit(scene.ours, "good", "10 é 9")
    chair = api(make_role(scene.track, "chair", is_chair=True))

    described = call(chair, "PATCH", "run", run.pk, data={"description": "mine"})
    withdrawn = call(chair, "POST", "withdraw_run", run.pk)
    closed = call(chair, "POST", "close_track", scene.track.slug)

    assert (described.status_code, withdrawn.status_code) == (403, 403)
    assert Run.objects.get(pk=run.pk).status == Run.Status.SUBMITTED
    assert (closed.status_code, closed.json()["detail"]) == (
        403,
        "You chair this track: you see all of it, and change nothing. Ask one of its organizers.",
    )


def test_roles_are_given_exchanged_and_taken_and_a_track_keeps_an_organizer(scene: Scene) -> None:
    Organizer.objects.filter(track=scene.track).delete()
    first, other = make_role(scene.track, "first"), make_user("other")
    client, address = as_user(first), reverse("participation:set_organizer", args=[scene.track.slug])

    alone = client.post(reverse("participation:leave_organizers", args=[scene.track.slug]), {"role": "chair"})
    client.post(address, {"username": "other", "role": "chair"})
    as_chair = as_user(other).get(reverse("participation:people", args=[scene.track.slug])).content.decode()
    client.post(address, {"username": "other", "role": "organizer"})
    call(api(other), "DELETE", "organizer", scene.track.slug, "first")
    missing = as_user(other).post(address, {"username": "nobody", "role": "chair"})
    last = call(api(other), "DELETE", "organizer", scene.track.slug, "other")

    assert (alone.status_code, last.status_code, missing.status_code) == (409, 409, 422)
    assert "first is the only organizer of" in alone.content.decode()
    assert "Set the role" not in as_chair
    assert [row.user.username for row in scene.track.organizers.all()] == ["other"]
    assert client.get(reverse("pooling:pools", args=[scene.track.slug])).status_code == 403
    log = Event.objects.filter(track_id=scene.track.pk, action__startswith="organizer.").order_by("pk")
    assert [(event.action, event.subject, event.details["role"]) for event in log] == [
        ("organizer.appointed", "other", {"from": "", "to": "chair"}),
        ("organizer.appointed", "other", {"from": "chair", "to": "organizer"}),
        ("organizer.dismissed", "first", "organizer"),
    ]


def test_organizer_is_asked_before_removing_oneself_and_the_last_one_stays(scene: Scene) -> None:
    Organizer.objects.filter(track=scene.track).delete()
    first, slug = make_role(scene.track, "first"), scene.track.slug
    address = reverse("participation:leave_organizers", args=[slug])
    client = as_user(first)

    alone = client.get(address).content.decode()
    make_role(scene.track, "other")
    asked = client.post(
        reverse("participation:set_organizer", args=[slug]), {"username": "first", "role": "none"}
    )
    kept = scene.track.organizers.filter(user=first).exists()
    asked_of_chair = client.post(
        reverse("participation:set_organizer", args=[slug]),
        {"username": "first", "role": "chair"},
        follow=True,
    )
    organizes = scene.track.organizers.filter(user=first, is_chair=False).exists()
    client.post(address, {"role": "chair"})
    chairs = scene.track.organizers.filter(user=first, is_chair=True).exists()
    scene.track.organizers.filter(user=first).update(is_chair=False)
    left = client.post(address, {"role": "none"})

    assert "first is the only organizer of" in alone
    assert "btn-danger" not in alone.partition("<main")[2]
    assert (asked.url, kept, left.status_code) == (f"{address}?role=none", True, 302)
    assert "Make yourself a chair of" in asked_of_chair.content.decode()
    assert (organizes, chairs) == (True, True)
    assert not scene.track.organizers.filter(user=first).exists()


def test_page_says_what_becomes_of_the_work_of_an_assessor_before_they_are_removed(scene: Scene) -> None:
    zoe = make_assessor(scene.track, "zoe")
    client = as_user(make_role(scene.track, "first"))
    address = reverse("participation:remove_assessor", args=[scene.track.slug, zoe.pk])

    page = client.get(address).content.decode()
    client.post(address)

    assert "The judgments of zoe are kept and still count" in page
    assert not scene.track.assessors.filter(user=zoe).exists()


def test_removed_assessor_is_added_again_with_a_line_of_the_list(scene: Scene) -> None:
    ada, client = scene.ada, as_user(make_role(scene.track, "first"))
    User.objects.filter(pk=ada.pk).update(email="ada@example.org")
    scene.judge(scene.batch({ada: ["A.1"]}), ada, "high")
    people = reverse("participation:people", args=[scene.track.slug])
    before = client.get(people).content.decode()

    asked = client.get(
        reverse("participation:remove_assessor", args=[scene.track.slug, ada.pk])
    ).content.decode()
    client.post(reverse("participation:remove_assessor", args=[scene.track.slug, ada.pk]))
    link = re.search(r'href="([^"]*)">Add to the assessors again', client.get(people).content.decode())
    assert link is not None
    text = re.search(r"<textarea[^>]*>\s*([^<]*)</textarea>", client.get(unescape(link[1])).content.decode())
    assert text is not None
    client.post(
        reverse("participation:add_people", args=[scene.track.slug]), {"text": text[1], "action": "add"}
    )

    assert "Add to the assessors again" not in before
    assert "can change judgments of finished topics while their batch is open" in asked
    assert scene.track.assessors.get(user=ada).ended_at is None


def test_navigation_of_a_chair_has_links_only_and_leads_to_the_audit_log(scene: Scene) -> None:
    address = reverse("participation:people", args=[scene.track.slug])

    page = as_user(make_role(scene.track, "chair", is_chair=True)).get(address).content.decode()

    nav = page[page.index('<nav class="track-nav"') :].partition("</nav>")[0]
    assert nav.count("<li") == nav.count("<a ")
    assert reverse("tracks:history", args=[scene.track.slug]) in nav
    assert reverse("tracks:deadlines", args=[scene.track.slug]) not in nav


def test_page_of_people_shows_a_chair_no_heading_of_what_only_organizers_do(scene: Scene) -> None:
    address = reverse("participation:people", args=[scene.track.slug])
    make_assessor(scene.track, "zoe")
    parts = ("Remove from the assessors", "Invite with a link", "Add an organizer or a chair")

    of_organizer = as_user(make_role(scene.track, "first")).get(address).content.decode()
    of_chair = as_user(make_role(scene.track, "cho", is_chair=True)).get(address).content.decode()

    assert [part for part in parts if part not in of_organizer] == []
    assert [part for part in parts if part in of_chair] == []
    assert "zoe" in of_chair
    assert "<h2>Teams</h2>" in of_chair


def test_plan_of_a_batch_leads_a_chair_to_no_form(scene: Scene) -> None:
    batch = scene.batch({scene.ada: list(scene.topics)[:1]})
    address = reverse("assessment:plan", args=[batch.pk])

    of_organizer = as_user(make_role(scene.track, "first")).get(address).content.decode()
    of_chair = as_user(make_role(scene.track, "cho", is_chair=True)).get(address).content.decode()

    words = ("?action=", "take everything", "Change the plan", "drag it")
    assert [[word in page for word in words] for page in (of_organizer, of_chair)] == [
        [True] * 4,
        [False] * 4,
    ]
    assert "Topics by assessor" in of_chair


def test_role_is_no_optional_field_and_only_the_choice_no_role_takes_one(scene: Scene) -> None:
    chair = make_role(scene.track, "cho", is_chair=True)
    client = as_user(make_role(scene.track, "first"))
    address = reverse("participation:set_organizer", args=[scene.track.slug])

    form = client.get(reverse("participation:people", args=[scene.track.slug])).context["organizer_form"]
    forgotten = client.post(address, {"username": "cho"})
    kept = Organizer.objects.filter(user=chair).exists()
    client.post(address, {"username": "cho", "role": "none"})

    shown = render_to_string("components/form_fields.html", {"form": form})
    assert "optional" not in shown.partition("id_reason")[0].rpartition("<label")[0]
    assert (forgotten.status_code, kept) == (422, True)
    assert not Organizer.objects.filter(user=chair).exists()


def test_organizer_gets_into_no_other_track_with_a_link_for_its_people(scene: Scene) -> None:
    elsewhere = make_track("elsewhere")
    foreign, shared = make_role(elsewhere, "foreign"), make_assessor(scene.track, "shared")
    elsewhere.assessors.create(user=shared)
    elsewhere.assessors.create(user=make_user("root", is_staff=True))
    own = make_assessor(elsewhere, "own")
    client = as_user(foreign)

    def link_for(name: str) -> str:
        user = User.objects.get(username=name)
        address = reverse("participation:make_login_link", args=[elsewhere.slug, user.pk])
        return client.post(address, follow=True).content.decode()

    assert "No link can be made for this account" in link_for("shared")
    assert "No link can be made for this account" in link_for("root")
    assert f"/login/link/{own.pk}/" in link_for("own")


def test_organizer_uses_nothing_of_tracks_of_others(scene: Scene) -> None:
    """Neither in forms nor in comparisons: hidden collections, pools, topics, qrels, runs."""
    elsewhere = make_track("elsewhere")
    foreign = make_role(elsewhere, "foreign")
    hidden = make_collection("secret-threads")
    make_collection("theirs", imported_by=scene.ada)
    scene.track.topic_collection = hidden
    scene.track.save()
    scene.submit(scene.ours, "good", "10 é 9")
    board = scene.leaderboard()
    client, programs = as_user(foreign), api(foreign)
    Organizer.objects.create(track=make_track("target"), user=foreign)

    form = client.get(reverse("tracks:new_track")).content.decode()
    comparison = client.get(reverse("papers:comparison")).content.decode()
    taken = call(
        programs,
        "POST",
        "tracks",
        data={
            "slug": "x",
            "name": "X",
            "protocol": scene.track.protocol.slug,
            "topic_collection": hidden.slug,
        },
    )
    offered = call(programs, "POST", "offer_qrels", board.qrels_id, data={"track": "target"})
    to_others = call(
        api(scene.organizer), "POST", "train_with_qrels", board.qrels_id, data={"track": "no-such-track"}
    )

    assert "secret-threads" not in form
    assert "theirs" not in form
    assert scene.track.name not in comparison
    assert (taken.status_code, offered.status_code, to_others.status_code) == (400, 404, 404)
    assert call(programs, "GET", "jobs").json()["results"] == []
    assert call(programs, "GET", "events").json()["results"] == []


def test_administrator_sees_no_judgments_in_the_admin_either(scene: Scene) -> None:
    scene.judged("high", "medium", "low")
    client = as_user(User.objects.create(username="root", is_staff=True, is_superuser=True))
    judgment = Judgment.objects.earliest("pk")

    lists = {
        model.__name__: client.get(
            reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        ).context["cl"]
        for model, admin in site._registry.items()
        if getattr(admin, "track_way", "")
    }
    opened = client.get(reverse("admin:assessment_judgment_change", args=[judgment.pk]))

    assert {name: len(rows.result_list) for name, rows in lists.items()} == dict.fromkeys(lists, 0)
    assert {"Judgment", "Task", "Batch", "Run", "Pool", "Qrels"} <= set(lists)
    assert opened.status_code == 302
