"""People per unit, batches that are open to join, and previews: pages, API and what follows from them."""

from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from assay.errors import Refused
from assessment.batches import services as batch_services
from assessment.batches.progress import progress_of
from assessment.checks import services as checks
from assessment.judging import services as task_services
from assessment.judgments import services as judgment_services
from assessment.models import Batch, Check, GoldUnit, Judgment, Task, TopicAssignment
from assessment.planning import services as assignments
from assessment.planning.grid import grid_of
from tests.assessment.conftest import Scene
from tests.helpers.answers import answers_lab, pool_answers, submit_answers, write_nuggets
from tests.helpers.api import api, call
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track, make_user
from tests.helpers.judging import accept, judge, judge_all, make_batch, make_pool
from tests.helpers.row_scenes import TURKLE, build_rows
from tests.publishing.archives.test_arguments import archive_of, findings_of, load, written

pytestmark = pytest.mark.django_db


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def make_open(scene: Scene, judges: int | None = 2) -> Batch:
    batch = batch_services.create(pool=scene.pool, name="Open", judges=judges, is_shared=True, by=None)
    return batch_services.open_for_judging(batch=batch)


def test_pages_of_organizers_show_guests_together(scene: Scene) -> None:
    guests = [make_assessor(scene.track, f"link-1-{n}") for n in range(1, 13)]
    batch = make_batch(scene.pool, {person: [scene.first] for person in (scene.ada, *guests)}, judges=13)
    for person in [scene.ada, *guests]:
        judge(accept(batch, person), "high" if person == scene.ada else "low")
    User.objects.filter(pk__in=[guest.pk for guest in guests]).update(
        guest_until=timezone.now() + timedelta(1)
    )
    organizer = client_of(make_organizer())
    slug = scene.track.slug
    addresses = {
        "batch": batch.get_absolute_url(),
        "plan": reverse("assessment:plan", args=[batch.pk]),
        "board": reverse("assessment:board", args=[slug]),
        "agreement": reverse("assessment:agreement", args=[slug]),
    }

    shown = {name: organizer.get(address).content.decode() for name, address in addresses.items()}
    listed = organizer.get(reverse("assessment:board_tsv", args=[slug, "assessors"])).content.decode()
    pairs = organizer.get(reverse("assessment:agreement_tsv", args=[slug, "pairs"])).content.decode()

    assert [name for name, html in shown.items() if "12 guests" not in html] == []
    assert shown["plan"].count("not an active assessor of the track") == 1
    assert "Only pairs with a guest share units." in shown["agreement"]
    assert "ada, 12 guests" in shown["board"]
    tables = {name: html.partition("<h2>Topics by assessor</h2>")[2] or html for name, html in shown.items()}
    assert [name for name, html in tables.items() if "link-1-7" in html] == ["agreement"]
    of_guest = shown["agreement"].partition("12 guests, who judged by a link")
    assert ("link-1-7" in of_guest[0], of_guest[2].count("link-1-7")) == (False, 1)
    assert "link-1-7" in listed
    assert "link-1-7" in pairs


# --- People per unit


def test_organizer_asks_for_more_people_per_unit_than_the_protocol(scene: Scene) -> None:
    organizer = client_of(make_organizer())
    form = {"pool": scene.pool.pk, "name": "Twice", "kind": "main", "minutes_allotted": 60, "judges": 2}

    created = organizer.post(reverse("assessment:new_batch", args=[scene.track.slug]), form)
    batch = Batch.objects.get(name="Twice")
    page = organizer.get(batch.get_absolute_url()).content.decode()
    missing = grid_of(batch).n_missing
    assignments.share(batch=batch, assessors=[scene.ada, scene.bob])

    assert (created.status_code, batch.judges, missing) == (302, 2, 4)
    assert "2 people per unit" in page
    assert grid_of(batch).n_missing == 0
    assert progress_of(batch).total == 12


def test_number_of_people_is_refused_where_it_does_not_fit(scene: Scene) -> None:
    organizer = client_of(make_organizer())
    batch = make_batch(scene.pool, {scene.ada: [scene.first]}, judges=2)
    judge(accept(batch, scene.ada))
    assignments.assign(batch=batch, assessor=scene.bob, topics=[scene.first])
    address = reverse("assessment:edit_batch", args=[batch.pk])
    form = {"name": batch.name, "minutes_allotted": 60}

    few = organizer.post(address, form | {"judges": 1})
    many = organizer.post(address, form | {"judges": 51})
    shared = organizer.post(address, form | {"is_shared": "on"})
    dual = api(make_organizer("ona"))
    of_dual = call(
        dual, "post", "batches_of_track", scene.track.slug,
        data={"pool": scene.pool.pk, "name": "Dual", "kind": "dual", "n_judges": 2},
    )  # fmt: skip

    assert "1 person per unit is too few: topic A.1 is assigned to 2." in few.content.decode().replace(
        "&#x27;", "'"
    )
    assert many.status_code == 422
    assert "whether it is open to join cannot change" in shared.content.decode()
    assert of_dual.status_code == 409
    assert "People per unit are for main batches" in of_dual.json()["detail"]
    batch.refresh_from_db()
    assert batch.judges == 2


def test_judged_units_keep_the_number_of_people(scene: Scene) -> None:
    batch = make_batch(scene.pool, {scene.ada: [scene.first], scene.bob: [scene.first]}, judges=2)
    judge(accept(batch, scene.bob))
    assignments.withdraw(batch=batch, assessor=scene.bob, topic=scene.first)

    with pytest.raises(Refused, match="have up to 2 judges already"):
        batch_services.edit(batch=batch, name="x", minutes_allotted=5, judges=1, is_shared=False)


def test_sums_and_groups_fix_the_number_of_people() -> None:
    track = make_track(protocol="ntcir-12-wikipedia")
    pool = make_pool(track, {make_topic(track): 1})

    for options, words in [({"judges": 3}, "sum of 2 judgments"), ({"is_shared": True}, "each group")]:
        with pytest.raises(Refused, match=words):
            batch_services.create(pool=pool, name="Other", by=None, **options)


# --- Open to join


def test_assessor_sees_a_unit_accepts_and_judges(scene: Scene) -> None:
    batch, bob = make_open(scene), client_of(scene.bob)
    desk, preview = reverse("assessment:mine"), reverse("assessment:preview", args=[batch.pk])

    offered = bob.get(desk).content.decode()
    page = bob.get(preview).content.decode()
    nothing = (
        Task.objects.filter(batch=batch).exists() or TopicAssignment.objects.filter(batch=batch).exists()
    )
    joined = bob.post(reverse("assessment:join", args=[batch.pk]))
    again = bob.get(preview)
    judged = judge(accept(batch, scene.bob))

    assert preview in offered
    assert "Preview: nothing is stored." in page
    assert "6 units, 2 people per unit, 120 minutes for each." in page
    assert "Accept and start" in page
    assert not nothing
    assert joined.status_code == 302
    assert again.status_code == 404, "who has joined judges"
    assert judged.is_current


def test_only_assessors_of_the_track_join_an_open_batch(scene: Scene) -> None:
    batch = make_open(scene)
    stranger = client_of(make_user("eve"))
    ada = client_of(scene.ada)
    addresses = [reverse(f"assessment:{name}", args=[batch.pk]) for name in ("preview", "preview_frame")]

    seen = [stranger.get(address).status_code for address in addresses]
    joined = stranger.post(reverse("assessment:join", args=[batch.pk])).status_code
    batch_services.close(batch=batch)
    late = ada.post(reverse("assessment:join", args=[batch.pk])).status_code

    assert (seen, joined, late) == ([404, 404], 404, 404)


def test_every_unit_gets_its_people_while_people_come_and_go(scene: Scene) -> None:
    batch = make_open(scene, judges=2)
    people = [scene.ada, scene.bob, *(make_assessor(scene.track, name) for name in ("cid", "dan", "eli"))]
    assignments.join(batch=batch, assessor=people[0])
    early = progress_of(batch)
    for user in people[1:]:
        assignments.join(batch=batch, assessor=user)

    few, progress = early.total, progress_of(batch)
    held = [accept(batch, user).entry_id for user in people[:4]]
    for user in people[:4]:
        judge(accept(batch, user))
    for _ in range(6):
        for user in people:
            task = task_services.accept_next(batch=batch, assessor=user)
            if task is not None:
                judge(task)

    of_unit = Judgment.objects.filter(batch=batch, is_current=True).values_list("docno", "assessor")
    units: dict[str, set[int]] = {}
    for docno, assessor in of_unit:
        units.setdefault(docno, set()).add(assessor)
    assert (few, progress.total) == (12, 12), "also what nobody has joined for yet"
    assert max(held.count(entry) for entry in held) <= 2, "one unit in one place for one person at a time"
    assert len(of_unit) == 12
    assert {len(judges) for judges in units.values()} == {2}
    with pytest.raises(Refused, match="left to judge"):
        assignments.join(batch=batch, assessor=make_assessor(scene.track, "fay"))


def test_unit_whose_time_is_over_goes_to_another_person_and_counts_once(scene: Scene) -> None:
    batch = make_open(scene, judges=1)
    for user in (scene.ada, scene.bob):
        assignments.join(batch=batch, assessor=user)
    late = accept(batch, scene.ada)
    Task.objects.filter(pk=late.pk).update(expires_at=timezone.now() - timedelta(minutes=1))

    before = progress_of(batch).n_overdue
    taken = accept(batch, scene.bob)
    n_overdue = progress_of(batch).n_overdue
    judged = judge(taken)
    kept = judgment_services.submit(task=late, choice="low", request_id=uuid4())
    other = accept(batch, scene.ada)

    assert (before, n_overdue) == (1, 0)
    assert taken.entry_id == late.entry_id != other.entry_id
    judged.refresh_from_db()
    assert (judged.is_current, kept.is_current) == (True, False)


def test_page_of_a_unit_that_somebody_else_has_says_so_and_leads_to_another(scene: Scene) -> None:
    batch = make_open(scene, judges=1)
    for user in (scene.ada, scene.bob):
        assignments.join(batch=batch, assessor=user)
    late = accept(batch, scene.ada)
    Task.objects.filter(pk=late.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
    words = "somebody else has it or has judged it. Go on with another one."

    alone = client_of(scene.ada).get(late.get_absolute_url()).content.decode()
    held = accept(batch, scene.bob)
    taken = client_of(scene.ada).get(late.get_absolute_url()).content.decode()
    other = client_of(scene.ada).post(reverse("assessment:next", args=[batch.pk]))
    judge(held)
    judged = client_of(scene.ada).get(late.get_absolute_url()).content.decode()

    assert held.entry_id == late.entry_id
    assert [words in " ".join(page.split()) for page in (alone, taken, judged)] == [False, True, True]
    assert "Next task" in taken
    assert other["Location"] != late.get_absolute_url()


@pytest.mark.parametrize("is_expired", [True, False])
def test_time_of_a_unit_that_somebody_else_has_does_not_start_again(scene: Scene, is_expired: bool) -> None:
    batch = make_open(scene, judges=1)
    for user in (scene.ada, scene.bob):
        assignments.join(batch=batch, assessor=user)
    late = accept(batch, scene.ada)
    Task.objects.filter(pk=late.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
    if is_expired:
        task_services.expire()
    held = accept(batch, scene.bob)
    address = reverse("assessment:extend", args=[late.pk])

    by_script = client_of(scene.ada).post(address, headers={"Accept": "application/json"})
    page = client_of(scene.ada).post(address, follow=True)
    kept = judgment_services.submit(task=late, choice="low", request_id=uuid4())

    following = accept(batch, scene.ada)
    assert (held.entry_id, by_script.status_code) == (late.entry_id, 409)
    assert page.redirect_chain[0][0] == following.get_absolute_url()
    assert "somebody else has it or has judged it" in page.content.decode()
    assert following.entry_id != late.entry_id
    assert kept.pk, "a late submission is kept"


def test_freezing_names_units_with_fewer_judgments_than_the_batch_asks_for(scene: Scene) -> None:
    batch = make_open(scene, judges=2)
    assignments.join(batch=batch, assessor=scene.ada)
    assignments.join(batch=batch, assessor=scene.bob)
    first, second = judge(accept(batch, scene.ada)), judge(accept(batch, scene.bob))
    while first.docno == second.docno:  # both places of one unit: one more has a judge
        second = judge(accept(batch, scene.ada))
    organizer = make_organizer()
    query = {"pool": scene.pool.pk}

    page = client_of(organizer).get(reverse("scoring:freeze", args=[scene.track.slug]), query)
    shown = call(api(organizer), "post", "preview_qrels", scene.track.slug, data=query).json()

    few = [f"{each.topic.code} {each.docno}" for each in Judgment.objects.filter(batch=batch)]
    few = sorted(unit for unit in set(few) if few.count(unit) == 1)
    assert (shown["n_short"], sorted(shown["short"])) == (len(few), few)
    assert "fewer judgments than the batch asked for" in page.content.decode()
    assert few[0] in page.content.decode()


def test_hidden_checks_that_are_not_due_at_the_end_are_forgotten(scene: Scene) -> None:
    batch, organizer = make_open(scene, judges=1), make_organizer()
    topic = make_topic(scene.track, "A.9")  # which nobody has in the batch
    for entry in make_pool(scene.track, {topic: 2}).entries.all():
        unit = {
            "track": scene.track,
            "topic": topic,
            "docno": entry.docno,
            "grade": 3,
            "created_by": organizer,
        }
        GoldUnit.objects.create(source=GoldUnit.Source.IMPORTED, **unit)
    checks.configure(batch=batch, gold_percent=50, repeat_percent=0, repeat_after=1)
    for user in (scene.ada, scene.bob):
        assignments.join(batch=batch, assessor=user)

    planned = Check.objects.filter(batch=batch, assessor=scene.bob, task=None).count()
    judge_all(batch, scene.ada)
    judge_all(batch, scene.bob)

    assert planned == 2
    assert not Check.objects.filter(batch=batch, assessor=scene.bob, task=None).exists()


def test_program_joins_and_sees_a_unit_first(scene: Scene) -> None:
    batch, bob = make_open(scene), api(scene.bob, "judge")

    offered = call(bob, "get", "open_batches").json()["results"]
    preview = call(bob, "get", "preview", batch.pk).json()
    joined = call(bob, "post", "join_batch", batch.pk)
    task = call(bob, "post", "next_task", batch.pk)
    twice = call(bob, "post", "join_batch", batch.pk)

    assert [each["id"] for each in offered] == [batch.pk]
    assert (preview["n_units"], preview["n_judges"], preview["unit"]["topic"]) == (6, 2, "A.1")
    assert (joined.status_code, task.status_code, twice.status_code) == (200, 200, 404)


def test_results_of_turkle_have_the_people_of_the_batch(scene: Scene) -> None:
    batch = make_open(scene, judges=3)
    assignments.join(batch=batch, assessor=scene.ada)
    judge_all(batch, scene.ada)
    organizer = client_of(make_organizer())

    address = reverse("assessment:export", args=[scene.track.slug])
    answer = organizer.get(
        address, {"to": "turkle", "names": "usernames", "comments": "without", "machines": "without"}
    )
    header, first, *_ = b"".join(answer).decode().splitlines()

    assert first.split('","')[header.split('","').index("MaxAssignments")] == "3"


def test_archive_keeps_who_shared_which_place(tmp_path: Path) -> None:
    scene = build_rows()
    batch = batch_services.create(pool=scene.pool, name="Crowd", judges=3, is_shared=True, by=scene.organizer)
    batch_services.open_for_judging(batch=batch)
    people = [make_assessor(scene.track, name) for name in ("cid", "dan", "eli", "fay")]
    for user in people:
        assignments.join(batch=batch, assessor=user)
        answers = {"adequacy": "all", "fluent": "yes"}
        task = accept(batch, user)
        judgment_services.submit(task=task, choice="answered", answers=answers, request_id=uuid4())

    User.objects.filter(pk=people[0].pk).update(guest_until=timezone.now())

    path = written(archive_of(scene.track, scene.organizer), tmp_path)
    wrong = [finding for finding in findings_of(path) if not finding.is_right]
    load(path, scene.organizer, slug="again")

    loaded = Batch.objects.get(pool__track__slug="again", name="Crowd")
    assert wrong == []
    assert (loaded.judges, loaded.is_shared, loaded.status) == (3, True, "closed")
    seats = [
        sorted(Task.objects.filter(batch=each, status="submitted").values_list("entry__docno", "seat"))
        for each in (batch, loaded)
    ]
    assert seats[1] == seats[0]
    assert not loaded.topic_assignments.filter(is_withdrawn=True).exists()
    by_link = User.objects.filter(topic_assignments__batch=loaded).exclude(guest_until=None).distinct()
    assert by_link.count() == 1, "who came by a link"


# --- Previews of every kind of unit


def test_organizer_previews_rows_and_frames_one_after_another() -> None:
    scene = build_rows()
    organizer, address = client_of(scene.organizer), reverse("assessment:preview", args=[scene.batch.pk])

    first, second = (organizer.get(address, {"unit": n}).content.decode() for n in (1, 2))
    beyond = organizer.get(address, {"unit": "9" * 30})

    assert "Unit 1 of" in first
    assert 'data-question="adequacy"' in first
    assert 'name="answer-adequacy"' in first
    assert first != second
    assert beyond.status_code == 200
    assert not Task.objects.exists()


def test_preview_of_a_template_shows_the_frame_of_its_unit() -> None:
    scene = build_rows(TURKLE, "topic,docno,text\nt,1,Lovely\nt,2,Sad\n")
    organizer, address = client_of(scene.organizer), reverse("assessment:preview", args=[scene.batch.pk])

    page = organizer.get(address, {"unit": 2}).content.decode()
    frame = organizer.get(reverse("assessment:preview_frame", args=[scene.batch.pk]), {"unit": 2})

    assert 'data-src="frame/?unit=2"' in page
    assert '<p id="text">Sad</p>' in frame.content.decode()
    assert "sandbox allow-scripts allow-forms" in frame["Content-Security-Policy"]


def test_preview_of_a_generated_answer_shows_the_nugget_in_it() -> None:
    lab = answers_lab()
    write_nuggets(lab)
    submit_answers(lab)
    pool = pool_answers(lab)
    batch = batch_services.create(pool=pool, name="Draft", by=None)

    page = client_of(lab.organizer).get(reverse("assessment:preview", args=[batch.pk])).content.decode()

    assert "generated" in page
    assert "Preview: nothing is stored." in page


def test_batch_without_units_has_no_preview(scene: Scene) -> None:
    batch = batch_services.create(pool=scene.pool, name="Empty", kind="dual", by=None)
    batch_services.select_entries(batch=batch, entries=[])

    assert client_of(make_organizer()).get(reverse("assessment:preview", args=[batch.pk])).status_code == 404
