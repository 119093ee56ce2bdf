"""The plan of a batch: the grid, and changes of it with their preview."""

import re
from collections import Counter
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from assessment.models import Batch, TopicAssignment
from assessment.planning import services as assignment_services
from assessment.planning.grid import grid_of, preview
from assessment.planning.rules import Change
from tests.assessment.conftest import Scene
from tests.helpers.api import api, call
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track
from tests.helpers.judging import accept, add_entries, judge, judge_all, make_batch, make_pool, make_team
from tracks.models import Assessor

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(db: None) -> Client:
    client = Client()
    client.force_login(make_organizer())
    return client


def plan(batch: Batch) -> str:
    return reverse("assessment:plan", args=[batch.pk])


def holders(batch: Batch) -> set[tuple[str, str]]:
    active = TopicAssignment.objects.filter(batch=batch, is_withdrawn=False)
    return set(active.values_list("topic__code", "assessor__username"))


def hidden(html: str) -> dict[str, list[str]]:
    """The hidden fields of the preview."""
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'name="(seen|change)" value="([^"]*)"', html):
        fields.setdefault(name, []).append(value)
    return fields


@pytest.fixture
def make_change(organizer: Client) -> Callable[..., str]:
    """Ask for a change, check that the preview changes nothing, make the change; returns the text of the preview."""

    def change(batch: Batch, action: str, **fields: object) -> str:
        before = holders(batch)
        html = organizer.post(plan(batch), {"action": action} | fields).content.decode()
        assert holders(batch) == before
        response = organizer.post(reverse("assessment:change_plan", args=[batch.pk]), hidden(html))
        assert response.status_code == 302
        return " ".join(re.sub(r"<[^>]+>", " ", html).split())

    return change


def test_grid_shows_progress(scene: Scene, organizer: Client) -> None:
    judge(accept(scene.batch, scene.ada))

    html = organizer.get(plan(scene.batch)).content.decode()

    assert 'aria-label="A.1, ada: 1 of 3 judged. Move"' in html
    assert '<span class="over">To judge</span>\n<span class="big">5</span>' in html
    assert '<span class="over">Judged</span>\n<span class="big">1</span>' in html


def test_plan_takes_the_same_queries_for_any_number_of_topics_and_assessors(
    scene: Scene, organizer: Client
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert organizer.get(plan(scene.batch)).status_code == 200
        return len(captured)

    few = queries()
    for n in range(3, 9):
        topic = make_topic(scene.track, f"A.{n}")
        add_entries(scene.pool, topic, 1)
        assignment_services.assign(batch=scene.batch, assessor=make_assessor(scene.track), topics=[topic])

    assert queries() == few


def test_topics_are_shared_by_group(organizer: Client, make_change: Callable[..., str]) -> None:
    track = make_track(protocol="ntcir-12-wikipedia")
    topics = [make_topic(track, code) for code in ("1", "2")]
    people = {name: make_assessor(track, name) for name in ("grace", "guy", "una", "nina")}
    for name, group in (("grace", "graduate"), ("guy", "graduate"), ("una", "undergraduate")):
        Assessor.objects.filter(user=people[name]).update(group=group)
    batch = make_batch(make_pool(track, dict.fromkeys(topics, 2)), {}, is_open=False)
    page = organizer.get(plan(batch)).content.decode()
    Assessor.objects.filter(user=people["una"]).update(group="graduate")
    without = organizer.get(plan(batch)).content.decode()
    Assessor.objects.filter(user=people["una"]).update(group="undergraduate")

    text = make_change(batch, "share", assessors=[people[name].pk for name in ("grace", "guy", "una")])

    assert re.search(r'Without an assessor</span><span class="big warn">4<', page)
    assert "No assessor is in the group undergraduate" in without
    assert "No assessor is in the group" not in page
    assert "cannot get topics: in no group" in page
    assert "una 0 → 2 0 → 4" in text
    assert holders(batch) == {("1", "grace"), ("1", "una"), ("2", "guy"), ("2", "una")}


@pytest.mark.parametrize(
    ("shares", "units"),
    [
        ("", {"ann": 10, "ben": 10, "cyd": 10}),
        ("ann 50%", {"ann": 14, "ben": 8, "cyd": 8}),
        ("ann 60 %, ben 40%", {"ann": 18, "ben": 12}),
        ("ann 5", {"ann": 4, "ben": 14, "cyd": 12}),
        ("ann 100%", {"ann": 30}),
        ("ann 4, ben 4, cyd 4", {"ann": 4, "ben": 4, "cyd": 4}),
    ],
)
def test_topics_are_shared_by_percent_or_number(
    shares: str, units: dict[str, int], organizer: Client, make_change: Callable[..., str]
) -> None:
    track = make_track()
    topics = [make_topic(track, f"T{number}") for number in range(15)]
    people = [make_assessor(track, name) for name in ("ann", "ben", "cyd")]
    batch = make_batch(make_pool(track, dict.fromkeys(topics, 2)), {}, is_open=False)

    make_change(batch, "share", assessors=[person.pk for person in people], shares=shares)

    assert Counter(name for _, name in holders(batch) for _ in range(2)) == units


def test_topics_are_shared_by_shares_through_the_api(db: None) -> None:
    track, client = make_track(), api(make_organizer())
    people = [make_assessor(track, name).username for name in ("ann", "ben")]
    batch = make_batch(make_pool(track, {make_topic(track, f"T{n}"): 1 for n in range(4)}), {}, is_open=False)

    refused = call(client, "POST", "share_topics", batch.pk, data={"assessors": people, "shares": "zoe 1"})
    call(client, "POST", "share_topics", batch.pk, data={"assessors": people, "shares": "ann 75%"})

    assert (refused.status_code, refused.json()["code"]) == (409, "wrong-shares")
    assert Counter(name for _, name in holders(batch)) == {"ann": 3, "ben": 1}


@pytest.mark.parametrize(
    ("shares", "reason"),
    [
        ("ann", "“ann” is not a share; use a name with a number or percent, such as ada 50%."),
        ("ann -5%", "“ann -5%” is not a share"),
        ("zoe 5%", "“zoe” is not chosen; name ann, ben."),
        ("ann 5%, ann 6", "“ann” has two shares; give one."),
        ("ann 60%, ben 50%", "The shares add up to 110% of 2 units; use at most 100%."),
        (
            "ann 60%, ben 30%",
            "The shares add up to 90%; use 100%, or choose somebody without a share for the rest.",
        ),
    ],
)
def test_shares_that_cannot_be_used_are_refused_with_the_reason(
    shares: str, reason: str, organizer: Client
) -> None:
    track = make_track()
    people = [make_assessor(track, name) for name in ("ann", "ben")]
    batch = make_batch(make_pool(track, {make_topic(track, "T1"): 2}), {}, is_open=False)

    fields = {"action": "share", "assessors": [person.pk for person in people], "shares": shares}
    response = organizer.post(plan(batch), fields)

    assert response.status_code == 422
    assert reason in response.content.decode()
    assert holders(batch) == set()


def test_preview_counts_as_the_changed_plan_does_and_makes_nobody_wait(
    scene: Scene, organizer: Client
) -> None:
    judge(accept(scene.batch, scene.ada))
    overlapping = make_batch(scene.pool, {scene.bob: [scene.second]})
    judge(accept(overlapping, scene.bob))
    moved = [
        Change(scene.second, scene.ada, is_withdrawn=True),
        Change(scene.second, scene.bob, is_withdrawn=False),
        Change(scene.first, scene.ada, is_withdrawn=True),
        Change(scene.first, make_assessor(scene.track, "cyd"), is_withdrawn=False),
    ]

    with CaptureQueriesContext(connection) as queries:
        loads = preview(batch=scene.batch, changes=moved).loads
    assignment_services.change(batch=scene.batch, changes=moved)

    columns = {column.assessor.username: column for column in grid_of(scene.batch).columns}
    assert {load.after.assessor.username: load.after for load in loads} == columns
    assert [columns[name].to_do for name in ("ada", "bob", "cyd")] == [0, 2, 2]
    assert not [
        each["sql"] for each in queries if re.search("FOR UPDATE|FOR NO KEY|UPDATE |INSERT", each["sql"])
    ]


def test_moved_topic_leaves_judgments_with_their_assessor(
    scene: Scene, make_change: Callable[..., str]
) -> None:
    judge(accept(scene.batch, scene.ada))

    text = make_change(scene.batch, "move", topic=scene.first.pk, giver=scene.ada.pk, getter=scene.bob.pk)

    assert "A.1 ada 1 unit judged by ada bob 2" in text
    assert holders(scene.batch) == {("A.1", "bob"), ("A.2", "ada")}
    assert len(judge_all(scene.batch, scene.bob)) == 2


def test_topic_is_given_and_taken_without_another_assessor(
    scene: Scene, make_change: Callable[..., str]
) -> None:
    text = make_change(scene.batch, "move", topic=scene.first.pk, giver=scene.ada.pk, getter="")
    assert holders(scene.batch) == {("A.2", "ada")}
    assert "nobody 1 assessor missing" in text

    make_change(scene.batch, "move", topic=scene.first.pk, giver="", getter=scene.bob.pk)

    assert holders(scene.batch) == {("A.1", "bob"), ("A.2", "ada")}


def test_everything_is_taken_from_one_person_but_finished_topics(
    scene: Scene, make_change: Callable[..., str]
) -> None:
    third = make_topic(scene.track, "A.3")
    add_entries(scene.pool, third, 2)
    assignment_services.assign(batch=scene.batch, assessor=scene.ada, topics=[third])
    for _ in range(4):
        judge(accept(scene.batch, scene.ada))
    carl = make_assessor(scene.track, "carl")

    make_change(scene.batch, "take", person=scene.ada.pk, heirs=[scene.bob.pk, carl.pk])

    assert holders(scene.batch) == {("A.1", "ada"), ("A.2", "bob"), ("A.3", "carl")}


def test_person_who_comes_late_gets_a_part_of_what_is_open(
    scene: Scene, make_change: Callable[..., str]
) -> None:
    judge(accept(scene.batch, scene.ada))  # A.1 is begun
    third, fourth = make_topic(scene.track, "A.3"), make_topic(scene.track, "A.4")
    add_entries(scene.pool, third, 1)
    add_entries(scene.pool, fourth, 1)
    assignment_services.assign(batch=scene.batch, assessor=scene.ada, topics=[third])

    make_change(scene.batch, "join", newcomer=scene.bob.pk)

    assert holders(scene.batch) == {("A.1", "ada"), ("A.2", "bob"), ("A.3", "ada"), ("A.4", "bob")}


@pytest.mark.parametrize(("asked", "moved"), [({}, "A.3"), ({"is_begun_moved": "on"}, "A.2")])
def test_begun_topic_moves_to_a_newcomer_only_if_asked_for(
    scene: Scene, make_change: Callable[..., str], asked: dict[str, str], moved: str
) -> None:
    third = make_topic(scene.track, "A.3")
    add_entries(scene.pool, third, 3)
    assignment_services.assign(batch=scene.batch, assessor=scene.ada, topics=[third])
    for _ in range(4):  # A.1 is finished, A.2 is begun
        judge(accept(scene.batch, scene.ada))

    make_change(scene.batch, "join", newcomer=scene.bob.pk, **asked)

    assert {code for code, name in holders(scene.batch) if name == "bob"} == {moved}


def test_newcomer_gets_all_topics_of_a_training_round(scene: Scene, make_change: Callable[..., str]) -> None:
    batch = make_batch(scene.pool, {scene.ada: [scene.first, scene.second]}, kind="training")

    make_change(batch, "join", newcomer=scene.bob.pk)

    assert {code for code, name in holders(batch) if name == "bob"} == {"A.1", "A.2"}


def test_refused_change_is_explained_on_the_page(scene: Scene, organizer: Client) -> None:
    make_team(scene.track, scene.bob)
    carl = make_assessor(scene.track, "carl")
    cases = [
        (
            {"action": "move", "topic": scene.first.pk, "giver": "", "getter": carl.pk},
            "already assigned to ada",
        ),
        (
            {"action": "move", "topic": scene.first.pk, "giver": scene.ada.pk, "getter": scene.ada.pk},
            "two different",
        ),
        ({"action": "move", "topic": scene.first.pk, "getter": scene.bob.pk}, "Choose one of the list"),
        ({"action": "share", "assessors": [carl.pk]}, "every topic is assigned"),
        ({"action": "take", "person": scene.bob.pk}, "Choose one of the list"),
    ]

    for fields, reason in cases:
        response = organizer.post(plan(scene.batch), fields)
        assert response.status_code == 422
        assert reason in response.content.decode()

    assert holders(scene.batch) == {("A.1", "ada"), ("A.2", "ada")}


def test_change_of_a_plan_that_somebody_else_has_changed_does_nothing(
    scene: Scene, organizer: Client
) -> None:
    fields = {"action": "take", "person": scene.ada.pk, "heirs": [scene.bob.pk]}
    seen = hidden(organizer.post(plan(scene.batch), fields).content.decode())
    assignment_services.withdraw(batch=scene.batch, assessor=scene.ada, topic=scene.second)

    response = organizer.post(reverse("assessment:change_plan", args=[scene.batch.pk]), seen)

    assert response.status_code == 409
    assert "Somebody changed the assignments" in response.content.decode()
    assert holders(scene.batch) == {("A.1", "ada")}


@pytest.mark.parametrize("changed", [{"change": ["x"]}, {"change": ["+1:0"]}, {"change": []}, {"seen": []}])
def test_odd_confirmation_changes_nothing(
    scene: Scene, organizer: Client, changed: dict[str, list[str]]
) -> None:
    fields = {"action": "take", "person": scene.ada.pk}
    sent = hidden(organizer.post(plan(scene.batch), fields).content.decode())

    organizer.post(reverse("assessment:change_plan", args=[scene.batch.pk]), sent | changed)

    assert len(holders(scene.batch)) == 2


def test_link_of_a_part_leads_to_the_form_that_moves_it(scene: Scene, organizer: Client) -> None:
    query = f"?action=move&topic={scene.second.pk}&giver={scene.ada.pk}"
    assert query.replace("&", "&amp;") in organizer.get(plan(scene.batch)).content.decode()

    html = organizer.get(plan(scene.batch) + query).content.decode()

    assert '<details id="move" name="plan" open>' in html
    assert f'<option value="{scene.second.pk}" selected>' in html
    assert f'<option value="{scene.ada.pk}" selected>' in html


def test_wrong_assessor_of_a_topic_is_named(scene: Scene, organizer: Client) -> None:
    make_team(scene.track, scene.ada)

    html = organizer.get(plan(scene.batch)).content.decode()

    assert "ada is a member of the team" in html
    assert "A.1:" in html


def test_new_batch_is_shared_and_opened_at_once(scene: Scene, organizer: Client) -> None:
    batch = make_batch(scene.pool, {}, is_open=False)
    address = reverse("assessment:plan", args=[batch.pk])
    shared = {"action": "share", "assessors": [scene.ada.pk, scene.bob.pk], "open": "1"}

    before = organizer.get(address).content.decode()
    organizer.post(address, shared)
    after = organizer.get(address).content.decode()

    batch.refresh_from_db()
    assert batch.status == Batch.Status.OPEN
    assert batch.topic_assignments.values("assessor").distinct().count() == 2
    assert "Share and open the batch" in before
    assert "Share and open the batch" not in after


def test_page_of_a_new_batch_reads_pools_and_people_once(scene: Scene, organizer: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        html = organizer.get(reverse("assessment:new_batch", args=[scene.track.slug])).content.decode()

    texts = [query["sql"] for query in queries]
    read = Counter(text.split(".")[0] for text in texts)
    assert read['SELECT "pooling_pool"'] == 1
    assert read['SELECT "accounts_user"'] == 0  # they come with the assessors of the track
    boxes = re.findall(r'<input[^>]* name="assessors"[^>]*>', html)
    assert len(boxes) == 2
    assert all("checked" in box for box in boxes)


def test_batch_to_open_without_assessors_is_refused_at_its_field(scene: Scene, organizer: Client) -> None:
    values = {"pool": scene.pool.pk, "name": "B", "kind": "main", "minutes_allotted": 120, "open": "1"}

    answer = organizer.post(reverse("assessment:new_batch", args=[scene.track.slug]), values)

    field = answer.content.decode().partition('id="id_assessors_help"')[2]
    assert answer.status_code == 422
    assert field.partition("</div>")[0].endswith("Choose at least one assessor.")
    assert not Batch.objects.filter(name="B").exists()


def test_plan_with_free_places_opens_at_sharing(scene: Scene, organizer: Client) -> None:
    shared = organizer.get(plan(scene.batch)).content.decode()
    add_entries(scene.pool, make_topic(scene.track, "A.9"), 1)

    free = organizer.get(plan(scene.batch)).content.decode()

    assert '<details id="share" name="plan" open>' in free
    assert '<details id="share" name="plan" open>' not in shared
