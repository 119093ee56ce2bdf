"""Second judgments and training rounds by the rule of a protocol, planned on the site."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from assay.protocols.loader import shipped_text
from assessment.batches import services as batch_services
from assessment.judging import services as task_services
from assessment.judgments.disagreements import rounds_of
from assessment.models import Batch
from assessment.rounds.dual import JudgedTopic, dual_proposal, share_of_topics
from corpus.models import Formula
from pooling.models import Contribution, PoolEntry, Run
from tests.assessment.conftest import Scene
from tests.helpers.api import api, call
from tests.helpers.factories import make_assessor, make_organizer, make_topic
from tests.helpers.formula_scene import build_formula_scene
from tests.helpers.judging import accept, add_entries, judge, judge_all, make_batch, make_pool, make_team

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(scene: Scene) -> Client:
    client = Client()
    client.force_login(make_organizer())
    return client


def address(name: str, scene: Scene) -> str:
    return reverse(f"assessment:new_{name}", args=[scene.pool.pk])


@pytest.fixture
def judged(scene: Scene) -> Scene:
    """Ada judged A.1 (two relevant) and A.2 (none), Bob A.3 (one)."""
    third = make_topic(scene.track, "A.3")
    add_entries(scene.pool, third, 2)
    for choice in ("high", "high", "low", "low", "low", "low"):
        judge(accept(scene.batch, scene.ada), choice)
    batch = make_batch(scene.pool, {scene.bob: [third]})
    for choice in ("medium", "low"):
        judge(accept(batch, scene.bob), choice)
    return scene


def test_each_assessor_is_proposed_the_poorest_topic_of_another(judged: Scene, organizer: Client) -> None:
    html = organizer.get(address("dual", judged)).content.decode()

    assert "gives each assessor one topic of another" in html
    assert proposals(html) == {"A.2": "bob", "A.3": "ada"}
    response = organizer.post(address("dual", judged), _as_proposed(judged))
    assert response.status_code == 302
    batch = Batch.objects.get(kind=Batch.Kind.DUAL)
    assert set(batch.topic_assignments.values_list("topic__code", "assessor__username")) == {
        ("A.2", "bob"),
        ("A.3", "ada"),
    }


def _as_proposed(scene: Scene, **changed: object) -> dict[str, object]:
    third = scene.track.topics.get(code="A.3")
    second = {f"topic-{scene.second.pk}": scene.bob.pk, f"topic-{third.pk}": scene.ada.pk}
    return {"name": "Second", "minutes_allotted": 60} | second | changed


def test_organizer_changes_the_proposal(judged: Scene, organizer: Client) -> None:
    eve = make_assessor(judged.track, "eve")
    third = judged.track.topics.get(code="A.3")
    fields = _as_proposed(judged, **{f"topic-{judged.first.pk}": eve.pk, f"topic-{third.pk}": ""})

    organizer.post(address("dual", judged), fields)

    batch = Batch.objects.get(kind=Batch.Kind.DUAL)
    assert (batch.name, batch.minutes_allotted, batch.status) == ("Second", 60, Batch.Status.DRAFT)
    assert set(batch.topic_assignments.values_list("topic__code", "assessor__username")) == {
        ("A.1", "eve"),
        ("A.2", "bob"),
    }


@pytest.mark.parametrize("fields", [{}, {"topic-{first}": "{ada}"}])
def test_refused_plan_creates_nothing(judged: Scene, organizer: Client, fields: dict[str, str]) -> None:
    names = {"first": judged.first.pk, "ada": judged.ada.pk}
    values = {key.format(**names): value.format(**names) for key, value in fields.items()}

    response = organizer.post(address("dual", judged), {"name": "Second", "minutes_allotted": 60} | values)

    assert response.status_code == 422
    html = response.content.decode()
    assert "Choose one for at least one topic" in html or "Choose one of the list" in html
    assert not Batch.objects.filter(kind=Batch.Kind.DUAL).exists()


def test_share_of_the_topics_is_proposed_where_the_protocol_states_one(
    judged: Scene, organizer: Client
) -> None:
    text = judged.track.protocol.text.replace("dual_topics = 1", "dual_share = 0.5")
    type(judged.track.protocol).objects.filter(pk=judged.track.protocol_id).update(text=text)

    html = organizer.get(address("dual", judged)).content.decode()

    assert "50% of the topics judged twice" in html
    assert html.count(" selected>") - html.count('<option value="" selected>') == 2  # two of three


def proposals(html: str) -> dict[str, str]:
    """The proposed second assessor of each topic, by its code."""
    rows = re.findall(r'<th scope="row">(.*?)</th>(.*?)</select>', html, re.DOTALL)
    chosen = {code: re.search(r'value="\d+" selected>(.*?)<', row) for code, row in rows}
    return {code: match.group(1) for code, match in chosen.items() if match}


def test_topic_that_is_not_judged_completely_is_not_proposed(judged: Scene, organizer: Client) -> None:
    fourth = make_topic(judged.track, "A.4")
    add_entries(judged.pool, fourth, 2)
    batch = make_batch(judged.pool, {judged.ada: [fourth]})
    judge(accept(batch, judged.ada), "low")

    html = organizer.get(address("dual", judged)).content.decode()

    assert "1 of 2" in html
    assert proposals(html) == {"A.2": "bob", "A.3": "ada"}


def test_units_of_overlapping_batches_count_once(judged: Scene, organizer: Client) -> None:
    third = judged.track.topics.get(code="A.3")
    overlapping = make_batch(judged.pool, {judged.ada: [third], judged.bob: [judged.first]})
    top_up = make_pool(judged.track, {judged.first: 1})
    copies = [
        PoolEntry(pool=top_up, topic=judged.second, docno=entry.docno, document=entry.document, position=n)
        for n, entry in enumerate(judged.pool.entries.filter(topic=judged.second))
    ]
    PoolEntry.objects.bulk_create(copies)
    make_batch(top_up, {judged.ada: [judged.second]})

    rows = {row.topic.code: row for row in dual_proposal(judged.pool)}
    html = organizer.get(reverse("assessment:new_dual", args=[top_up.pk])).content.decode()

    assert {code: (row.judged, row.total) for code, row in rows.items()} == {
        "A.1": (3, 3),
        "A.2": (3, 3),
        "A.3": (2, 2),
    }
    assert overlapping.tasks.count() == 0
    assert ">3 of 3<" in html


def test_second_proposal_leaves_out_what_the_first_has_given(judged: Scene, organizer: Client) -> None:
    make_batch(judged.pool, {judged.bob: [judged.second]}, kind="dual")

    html = organizer.get(address("dual", judged)).content.decode()

    assert "and a second time by bob" in html
    assert proposals(html) == {"A.3": "ada"}


def test_each_assessor_gets_two_topics_in_task_2_of_arqmath(judged: Scene, organizer: Client) -> None:
    assert "dual_topics = 2" in shipped_text("arqmath-2021-task2")
    text = judged.track.protocol.text.replace("dual_topics = 1", "dual_topics = 2")
    type(judged.track.protocol).objects.filter(pk=judged.track.protocol_id).update(text=text)

    html = organizer.get(address("dual", judged)).content.decode()

    assert proposals(html) == {"A.1": "bob", "A.2": "bob", "A.3": "ada"}  # Bob has one topic only


def test_shared_topics_go_to_the_assessor_with_the_least_units() -> None:
    able = frozenset(["ana", "ben"])
    sizes = [90, 10, 10, 10]
    topics = [JudgedTopic(f"Q{n}", ("cy",), 0, size, able) for n, size in enumerate(sizes)]

    chosen = share_of_topics(topics, ["ana", "ben", "cy"], 1.0, seed=1)

    loads = {name: sum(sizes[int(code[1])] for code in chosen if chosen[code] == name) for name in able}
    assert max(loads.values()) <= 100


def test_proposal_takes_the_same_queries_for_any_number_of_topics(judged: Scene, organizer: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert organizer.get(address("dual", judged)).status_code == 200
        return len(captured)

    few = queries()
    for n in range(4, 9):
        topic = make_topic(judged.track, f"A.{n}")
        add_entries(judged.pool, topic, 1)
        make_batch(judged.pool, {make_assessor(judged.track): [topic]})

    assert queries() == few


def test_training_round_gives_everyone_the_same_units(scene: Scene, organizer: Client) -> None:
    fields = {
        "name": "Round 1",
        "minutes_allotted": 60,
        "n_units": 2,
        "topics": [scene.first.pk, scene.second.pk],
    }

    organizer.post(address("training", scene), fields | {"assessors": [scene.ada.pk, scene.bob.pk]})
    batch = Batch.objects.get(kind=Batch.Kind.TRAINING)
    batch_services.open_for_judging(batch=batch)

    by_assessor = [
        {judgment.docno for judgment in judge_all(batch, assessor)} for assessor in (scene.ada, scene.bob)
    ]
    assert by_assessor[0] == by_assessor[1]
    assert len(by_assessor[0]) == 4
    assert [each.label for each in rounds_of(scene.track)][1:] == ["Training round 1: Round 1"]


def test_assessor_sees_training_above_newer_main_batches_until_it_is_done(
    scene: Scene, organizer: Client
) -> None:
    fields = {"name": "Round 1", "minutes_allotted": 60, "n_units": 1, "topics": [scene.first.pk]}
    organizer.post(address("training", scene), fields | {"assessors": [scene.ada.pk]})
    training = Batch.objects.get(kind=Batch.Kind.TRAINING)
    batch_services.open_for_judging(batch=training)
    third = make_topic(scene.track, "A.3")
    add_entries(scene.pool, third, 2)
    main = make_batch(scene.pool, {scene.ada: [third]})
    ada = Client()
    ada.force_login(scene.ada)

    before = ada.get("/judge/").content.decode()
    judge_all(training, scene.ada)
    after = ada.get("/judge/").content.decode()

    places = [
        [html.index(f'id="batch-{batch.pk}"') for batch in (training, main)] for html in (before, after)
    ]
    assert [first < second for first, second in places] == [True, False]


def test_plans_of_rounds_name_topics_by_their_titles(judged: Scene, organizer: Client) -> None:
    judged.first.title = "Sum of <b>cubes</b>"
    judged.first.save()

    training = organizer.get(address("training", judged)).content.decode()
    dual = organizer.get(address("dual", judged)).content.decode()

    assert re.search(r'<label for="id_topics_0">\s*<bdi>Sum of <b>cubes</b></bdi>\s*</label>', training)
    assert f'<td class="num">{judged.pool.entries.filter(topic=judged.first).count()}</td>' in training
    assert re.search(r'class="math">\s*<bdi>Sum of <b>cubes</b>', dual)


@pytest.mark.parametrize("name", ["dual", "training"])
def test_round_can_be_opened_at_once(judged: Scene, organizer: Client, name: str) -> None:
    people = {"topics": [judged.first.pk], "n_units": 1, "assessors": [judged.ada.pk, judged.bob.pk]}
    fields = {**_as_proposed(judged), **people, "open": "1"}

    response = organizer.post(address(name, judged), fields, follow=True)

    batch = Batch.objects.get(kind=name)
    assert batch.status == Batch.Status.OPEN
    assert response.redirect_chain == [(batch.get_absolute_url(), 302)]
    assert "Its assessors now see it under Judge." in response.content.decode()


def test_training_units_are_spread_over_the_ranks(judged: Scene, organizer: Client) -> None:
    run = Run.objects.create(
        track=judged.track,
        team=make_team(judged.track),
        tag="run",
        kind="primary",
        sha256="run",
        n_lines=1,
        n_topics=1,
        submitted_by=make_organizer(),
    )
    entries = list(judged.pool.entries.filter(topic=judged.first).order_by("-position"))
    for rank, entry in enumerate(entries, 1):
        Contribution.objects.create(entry=entry, run=run, rank=rank)
    fields = {"name": "Round 1", "minutes_allotted": 60, "n_units": 2, "topics": [judged.first.pk]}

    organizer.post(address("training", judged), fields | {"assessors": [judged.ada.pk]})

    batch = Batch.objects.get(kind=Batch.Kind.TRAINING)
    assert set(batch.selected.values_list("entry", flat=True)) == {entries[0].pk, entries[-1].pk}


def test_training_units_can_be_picked_by_hand(scene: Scene, organizer: Client) -> None:
    picked = scene.pool.entries.filter(topic=scene.first)[:2]
    fields = {
        "name": "Round 1",
        "minutes_allotted": 60,
        "n_units": 10,
        "topics": [scene.first.pk],
        "docnos": "\n".join(entry.docno for entry in picked),
        "assessors": [scene.ada.pk],
    }

    organizer.post(address("training", scene), fields)

    batch = Batch.objects.get(kind=Batch.Kind.TRAINING)
    assert set(batch.selected.values_list("entry", flat=True)) == {entry.pk for entry in picked}


def test_unknown_unit_is_named_and_nothing_is_created(scene: Scene, organizer: Client) -> None:
    fields = {"name": "R", "minutes_allotted": 60, "n_units": 1, "topics": [scene.first.pk], "docnos": "nope"}

    response = organizer.post(address("training", scene), fields | {"assessors": [scene.ada.pk]})

    assert response.status_code == 422
    assert "1 document is not in the pool for these topics: nope" in response.content.decode()
    assert not Batch.objects.filter(kind=Batch.Kind.TRAINING).exists()


def test_training_starts_with_as_many_topics_as_the_protocol_states(scene: Scene, organizer: Client) -> None:
    assert "training_topics = 7" in shipped_text("arqmath-2020-task1")
    for n in range(3, 12):
        add_entries(scene.pool, make_topic(scene.track, f"A.{n:02}"), 1)

    html = organizer.get(address("training", scene)).content.decode()

    assert html.count('name="topics"') == 11
    checked = [line for line in html.split("<input") if 'name="topics"' in line and "checked" in line]
    assert len(checked) == 7


def test_only_organizers_plan_rounds(scene: Scene) -> None:
    client = Client()
    client.force_login(scene.ada)

    for name in ("dual", "training"):
        assert client.post(address(name, scene), {}).status_code == 403


def test_training_units_are_found_by_search_and_ticked(scene: Scene, organizer: Client) -> None:
    entries = list(scene.pool.entries.filter(topic=scene.first).order_by("position"))
    fields = {
        "name": "Hand-picked",
        "minutes_allotted": 60,
        "n_units": 10,
        "topics": [scene.first.pk],
        "assessors": [scene.ada.pk],
    }

    html = organizer.post(
        address("training", scene),
        fields | {"search": "1", "q": f"Body of {entries[1].docno}.", "units": [entries[0].pk]},
    ).content.decode()
    organizer.post(address("training", scene), fields | {"units": [entries[0].pk, entries[1].pk]})

    offered = [line for line in html.split("<input") if 'name="units"' in line]
    assert [(f'value="{entry.pk}"' in line) for line, entry in zip(offered, entries, strict=False)] == [
        True
    ] * 2
    assert ["checked" in line for line in offered] == [True, False]
    assert 'value="Hand-picked"' in html
    assert "<details open>" in html, "the units found are in sight"
    batch = Batch.objects.get(kind=Batch.Kind.TRAINING)
    assert set(batch.selected.values_list("entry", flat=True)) == {entries[0].pk, entries[1].pk}


def test_formulas_are_found_by_their_latex(organizer: Client) -> None:
    scene = build_formula_scene(n=6)
    pool = make_pool(scene.track, {scene.topic: 0})
    units = [
        PoolEntry.objects.create(pool=pool, topic=scene.topic, docno=f"v{i}", position=i + 1)
        for i in range(2)
    ]
    fields = {"search": "1", "q": "frac", "topics": [scene.topic.pk]}

    page = organizer.post(reverse("assessment:new_training", args=[pool.pk]), fields).content.decode()

    assert re.findall(r'name="units" value="(\d+)"', page) == [str(units[1].pk)]
    assert '<label class="mono" for="id_units_0">v1</label>' in page
    assert r'<span class="math-container" data-display="inline">\frac{a}{b}</span>' in page
    assert reverse("pooling:pool_entry", args=[pool.pk, units[1].pk]) in page


def test_answers_whose_docno_is_a_visual_id_have_no_latex(scene: Scene, organizer: Client) -> None:
    entry = scene.pool.entries.filter(topic=scene.first).first()
    assert entry is not None
    Formula.objects.create(
        collection=scene.track.collection,
        code="f1",
        thread="1",
        place=Formula.Place.ANSWER,
        latex="zz^2",
        visual=entry.docno,
    )

    fields = {"search": "1", "q": "zz^2", "topics": [scene.first.pk]}
    page = organizer.post(address("training", scene), fields).content.decode()

    assert "No other unit of the ticked topics contains" in page


def test_search_that_finds_no_unit_states_why(scene: Scene, organizer: Client) -> None:
    def searched(text: str) -> str:
        fields = {"search": "1", "q": text, "topics": [scene.first.pk]}
        return organizer.post(address("training", scene), fields).content.decode()

    assert "Units found" not in organizer.get(address("training", scene)).content.decode()
    assert "No other unit of the ticked topics contains “&lt;b&gt;”." in searched("<b>")
    assert "Enter words to search for." in searched(" ")


def test_training_round_and_dual_batch_are_planned_by_the_protocol_or_as_named(scene: Scene) -> None:
    client, pool = api(make_organizer()), scene.pool.pk
    docno = scene.pool.entries.filter(topic=scene.first).earliest("position").docno

    training = call(client, "POST", "training_batches", pool, data={"name": "Round 1", "n_units": 2})
    named = {"name": "Round 2", "topics": ["A.1"], "assessors": ["ada"], "docnos": [docno]}
    picked = call(client, "POST", "training_batches", pool, data=named)
    proposal = call(client, "GET", "dual_batches", pool).json()
    second = [{"topic": "A.2", "assessor": "bob"}]
    own = call(client, "POST", "dual_batches", pool, data={"second": [second[0] | {"assessor": "ada"}]})
    dual = call(client, "POST", "dual_batches", pool, data={"second": second})

    rounds = [Batch.objects.get(pk=each.json()["id"]) for each in (training, picked, dual)]
    assert [each["Location"] for each in (training, picked, dual)] == [
        f"/api/v1/batches/{each.pk}/" for each in rounds
    ]
    assert [batch.selected.count() for batch in rounds] == [4, 1, 0]
    assert {(each.topic.code, each.assessor.username) for each in rounds[2].topic_assignments.all()} == {
        ("A.2", "bob")
    }
    assert [(row["topic"], row["judged_by"], row["able"]) for row in proposal["topics"]] == [
        ("A.1", ["ada"], ["bob"]),
        ("A.2", ["ada"], ["bob"]),
    ]
    assert own.json()["detail"] == "second: There is no ada here. Accepted: bob."


def test_disagreements_become_an_adjudication_batch(scene: Scene) -> None:
    dual = make_batch(scene.pool, {scene.bob: [scene.first]}, kind=Batch.Kind.DUAL)
    for batch, assessor, choice in ((scene.batch, scene.ada, "high"), (dual, scene.bob, "low")):
        task = task_services.accept_next(batch=batch, assessor=assessor)
        assert task is not None
        judge(task, choice)
    client, track = api(make_organizer()), scene.track.slug
    wanted = {"adjudicators": ["bob"], "rule": "any", "is_blind": True}

    made = call(client, "POST", "adjudication_batches", track, data=wanted).json()
    again = call(client, "POST", "adjudication_batches", track, data=wanted | {"name": "More"})

    batch = Batch.objects.get(pk=made["results"][0]["id"])
    assert (batch.kind, batch.is_blind, batch.selected.count()) == (Batch.Kind.ADJUDICATION, True, 1)
    assert (again.status_code, again.json()["code"]) == (409, "nothing-to-adjudicate")
