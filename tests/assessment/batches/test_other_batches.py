"""Several pools of one track: a main batch skips what another one has judged, and qrels include it."""

from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import User
from assay.errors import Refused
from assessment.batches import progress as batch_selectors
from assessment.judging import selectors as task_selectors
from assessment.judging import services as task_services
from assessment.models import Batch, Judgment
from assessment.planning import services as assignment_services
from pooling.models import Pool, PoolEntry
from scoring.qrels import services as qrels_services
from scoring.qrels.selectors import qrels_tsv
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_assessor, make_organizer, make_protocol
from tests.helpers.judging import accept, add_entries, judge, judge_all, make_batch, make_pool
from tracks.models import Topic

pytestmark = pytest.mark.django_db


def second_pool(scene: Scene, *, shared: int, new: int, topic: Topic | None = None) -> Pool:
    """A pool of the track with new entries of a topic, followed by some of the first pool's entries."""
    topic = topic or scene.first
    entries = list(scene.pool.entries.filter(topic=topic).order_by("position")[:shared])
    pool = make_pool(scene.track, {topic: new})
    PoolEntry.objects.bulk_create(
        PoolEntry(pool=pool, topic=topic, docno=entry.docno, document=entry.document, position=100 + i)
        for i, entry in enumerate(entries)
    )
    return pool


def docnos(batch: Batch, user: User) -> list[str]:
    return [judgment.docno for judgment in judge_all(batch, user)]


def test_main_batch_of_another_pool_skips_judged_entries(scene: Scene) -> None:
    judge_all(scene.batch, scene.ada)
    pool = second_pool(scene, shared=3, new=2)
    batch = make_batch(pool, {scene.bob: [scene.first]})

    judged = docnos(batch, scene.bob)

    assert len(judged) == 2
    assert not scene.pool.entries.filter(topic=scene.first, docno__in=judged).exists()


def test_batch_of_an_earlier_pool_skips_entries_judged_for_a_later_one(scene: Scene) -> None:
    batch = make_batch(second_pool(scene, shared=2, new=0), {scene.bob: [scene.first]})
    judge_all(batch, scene.bob)

    assert len(docnos(scene.batch, scene.ada)) == 3 + 3 - 2


def test_dual_batch_skips_only_entries_that_its_assessor_has_judged(scene: Scene) -> None:
    judge_all(scene.batch, scene.ada)
    pool = second_pool(scene, shared=3, new=1)
    of_bob = make_batch(pool, {scene.bob: [scene.first]}, kind=Batch.Kind.DUAL)
    entry = scene.pool.entries.filter(topic=scene.first).earliest("position")
    apart = make_pool(scene.track, {scene.first: 1})
    of_ada = make_batch(apart, {scene.ada: [scene.first]}, kind=Batch.Kind.DUAL)
    PoolEntry.objects.create(
        pool=apart, topic=scene.first, docno=entry.docno, document=entry.document, position=9
    )

    assert len(docnos(of_bob, scene.bob)) == 4
    assert len(docnos(of_ada, scene.ada)) == 1


@pytest.mark.parametrize("kind", ["main", "dual"])
def test_of_two_old_pages_of_a_document_only_the_first_submission_counts(scene: Scene, kind: str) -> None:
    page = accept(scene.batch, scene.ada)
    assignment_services.withdraw(batch=scene.batch, assessor=scene.ada, topic=scene.first)
    other = make_batch(second_pool(scene, shared=1, new=0), {scene.ada: [scene.first]}, kind=kind)
    client = Client()
    client.force_login(scene.ada)

    for task, choice in ((accept(other, scene.ada), "high"), (page, "low")):
        fields = {"choice": choice, "comment": "", "request_id": uuid4(), "seconds": "1", "shown": "0"}
        assert client.post(task.get_absolute_url(), fields).status_code == 302

    judgments = Judgment.objects.filter(docno=page.entry.docno).order_by("pk")
    assert [(each.choice, each.is_current) for each in judgments] == [("high", True), ("low", False)]
    own = client.get(reverse("assessment:own_judgments", args=[scene.batch.pk])).content.decode()
    assert "kept, but not counted: the document has another judgment" in own


def test_training_batch_skips_nothing(scene: Scene) -> None:
    judge_all(scene.batch, scene.ada)
    batch = make_batch(second_pool(scene, shared=3, new=0), {scene.ada: [scene.first]}, kind="training")

    assert len(docnos(batch, scene.ada)) == 3


def test_judgments_made_with_another_protocol_do_not_count(scene: Scene) -> None:
    judge_all(scene.batch, scene.ada)
    pool = second_pool(scene, shared=3, new=0)
    Pool.objects.filter(pk=pool.pk).update(protocol=make_protocol("trec-adhoc"))
    pool.refresh_from_db()

    batch = make_batch(pool, {scene.bob: [scene.first]})

    assert accept(batch, scene.bob) is not None


def test_progress_excludes_entries_that_another_batch_has_settled(scene: Scene) -> None:
    judge_all(scene.batch, scene.ada)
    batch = make_batch(second_pool(scene, shared=2, new=2), {scene.bob: [scene.first]})
    judge(accept(batch, scene.bob))

    [topic] = task_selectors.desk_batch(batch, scene.bob).topics
    [batch_progress, _] = batch_selectors.track_progress(scene.track)

    assert (topic.judged, topic.total) == (1, 2)
    assert (batch_progress.batch, batch_progress.judged, batch_progress.total) == (batch, 1, 2)
    judge_all(batch, scene.bob)
    assert task_selectors.desk_batch(batch, scene.bob).is_done


@pytest.fixture
def two_judges(scene: Scene) -> Scene:
    """The same scene where two assessors judge each unit: Ada has judged hers, and Bob has the other seat."""
    protocol = make_protocol("arqmath-2020-task1")
    protocol.text = protocol.text.replace("judges = 1", "judges = 2", 1)
    protocol.save(update_fields=["text"])
    judge_all(scene.batch, scene.ada)
    assignment_services.assign(batch=scene.batch, assessor=scene.bob, topics=[scene.first])
    return scene


def test_each_seat_of_a_topic_is_settled_separately(two_judges: Scene) -> None:
    scene = two_judges
    carl, dora = make_assessor(scene.track, "carl"), make_assessor(scene.track, "dora")
    pool = second_pool(scene, shared=3, new=0)
    batch = make_batch(pool, {carl: [scene.first], dora: [scene.first]})

    assert docnos(batch, carl) == []
    assert len(docnos(batch, dora)) == 3
    assert docnos(scene.batch, scene.bob) == []


def test_assessor_keeps_their_seat_in_another_batch(two_judges: Scene) -> None:
    scene = two_judges
    batch = make_batch(
        second_pool(scene, shared=3, new=1), {scene.bob: [scene.first], scene.ada: [scene.first]}
    )

    seats = dict(batch.topic_assignments.values_list("assessor__username", "seat"))
    assert seats == {"ada": 1, "bob": 2}


def test_nobody_is_both_judges_of_a_document_in_two_batches(two_judges: Scene) -> None:
    scene = two_judges
    carl = make_assessor(scene.track, "carl")
    batch = make_batch(second_pool(scene, shared=1, new=1), {carl: [scene.first]})

    with pytest.raises(Refused, match=r"ada has judged documents of topic A\.1 in the batch"):
        assignment_services.assign(batch=batch, assessor=scene.ada, topics=[scene.first])
    dora = make_assessor(scene.track, "dora")
    assignment_services.assign(batch=batch, assessor=dora, topics=[scene.first])
    with pytest.raises(Refused, match=r"bob judges documents of topic A\.1 in the batch"):
        assignment_services.reassign(
            batch=batch, topic=scene.first, from_assessor=carl, to_assessor=scene.bob
        )
    apart = make_batch(
        make_pool(scene.track, {scene.first: 1}), {carl: [scene.first], scene.ada: [scene.first]}
    )
    assert apart.topic_assignments.count() == 2  # no document in common


def test_document_that_is_open_in_another_batch_is_not_taken_again(scene: Scene) -> None:
    first = accept(scene.batch, scene.ada)
    pool = second_pool(scene, shared=1, new=0)
    batch = make_batch(pool, {scene.ada: [scene.first]})

    while_open = task_services.accept_next(batch=batch, assessor=scene.ada)
    task_services.give_back(task=first)

    assert while_open is None
    assert accept(batch, scene.ada).entry.docno == first.entry.docno


def test_main_and_second_assessor_of_a_topic_are_different_people(scene: Scene) -> None:
    dual = make_batch(scene.pool, {scene.bob: [scene.first]}, kind=Batch.Kind.DUAL)

    with pytest.raises(Refused, match=r"ada already has topic A\.2"):
        assignment_services.assign(batch=dual, assessor=scene.ada, topics=[scene.second])
    with pytest.raises(Refused, match="bob judges"):
        assignment_services.reassign(
            batch=scene.batch, topic=scene.first, from_assessor=scene.ada, to_assessor=scene.bob
        )


def test_next_task_takes_a_fixed_number_of_queries_whatever_others_have_judged(scene: Scene) -> None:
    judge_all(scene.batch, scene.ada)
    few = make_batch(second_pool(scene, shared=1, new=2), {scene.bob: [scene.first]})
    many = make_batch(second_pool(scene, shared=3, new=20), {scene.bob: [scene.first]})
    counts = []
    for batch in (few, many):
        with CaptureQueriesContext(connection) as queries:
            task_services.accept_next(batch=batch, assessor=scene.bob)
        counts.append(len(queries))

    assert counts[0] == counts[1] <= 16


def test_topic_settled_completely_by_others_is_skipped(scene: Scene) -> None:
    judge_all(scene.batch, scene.ada)
    pool = second_pool(scene, shared=3, new=0)
    add_entries(pool, scene.second, 1)
    batch = make_batch(pool, {scene.bob: [scene.first, scene.second]})

    assert accept(batch, scene.bob).entry.topic == scene.second
    assert len(docnos(batch, scene.bob)) == 1


def test_qrels_of_an_independent_pool_include_judgments_for_another_pool(scene: Scene) -> None:
    judge_all(scene.batch, scene.ada)
    pool = second_pool(scene, shared=2, new=2)
    judge_all(make_batch(pool, {scene.bob: [scene.first]}), scene.bob)

    qrels = qrels_services.freeze_judgments(pool=pool, by=make_organizer())

    assert qrels.n_judged == 4
    assert qrels.report["unjudged"]["n"] == 0


def test_qrels_of_a_top_up_are_the_union_and_record_the_pools_that_they_cover(scene: Scene) -> None:
    judge_all(scene.batch, scene.ada)
    before = (
        qrels_tsv(qrels_services.freeze_judgments(pool=scene.pool, by=make_organizer())).decode().splitlines()
    )
    pool = make_pool(scene.track, {scene.first: 2})
    Pool.objects.filter(pk=pool.pk).update(tops_up=scene.pool)
    pool.refresh_from_db()
    new = [f"A.1\t0\t{docno}\t3" for docno in docnos(make_batch(pool, {scene.bob: [scene.first]}), scene.bob)]

    qrels = qrels_services.freeze_judgments(pool=pool, by=make_organizer())

    assert sorted(qrels_tsv(qrels).decode().splitlines()) == sorted(before + new)
    assert [pool["pool"] for pool in qrels.report["inputs"]["tops_up"]] == [scene.pool.name]
