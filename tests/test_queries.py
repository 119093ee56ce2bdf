"""No page makes more queries when there are more rows: each address of the site, at two sizes."""

import math
from collections.abc import Iterator
from itertools import count
from typing import cast

import pytest
from django.apps import apps
from django.contrib.admin import site
from django.contrib.contenttypes.models import ContentType
from django.db import connection, reset_queries
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import User
from assay_extensions.metaevaluation.site.models import JudgeBoard, JudgeResult
from assessment.judging import services as task_services
from assessment.models import Batch
from assessment.planning import services as assignment_services
from corpus.models import Clustering, Collection, Disagreement, Formula, Import
from home.health import health
from jobs import services as jobs
from jobs.models import Job
from pooling.models import Contribution, MemberContribution, Pool, PoolEntry, PoolMember, Run
from pooling.pools import services as pool_services
from scoring.models import Analysis, Evaluation, Leaderboard, Score
from tests.helpers.factories import (
    make_answer,
    make_assessor,
    make_comment,
    make_document,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tests.helpers.judging import (
    accept,
    judge,
    make_batch,
    make_import,
    make_team,
)
from tests.helpers.team_judges import make_judge, make_judge_board
from tests.scoring.conftest import UNITS, Scene
from tests.test_access import (
    MATRIX,
    PEOPLE,
    addresses,
    empty_refusals,
    own_files,
    rows_of,
    scene,
)
from tests.test_files import STREAMED
from tracks.guidelines import selectors as guidelines_selectors
from tracks.guidelines import services as guidelines_services
from tracks.models import Topic

_number = count(100)
COUNTS = (
    "formulas given no_mathml no_slt slt visual_ids without_id disagreeing_formulas ids_of_several_strings "
    "latex_of_several_ids strings_of_several_ids"
)


def grow(scene: Scene) -> None:
    """Add at least one row to every list that a page shows: of the site, of the scene, and of its first objects."""
    number = next(_number)
    topic = make_topic(scene.track, f"A.{number}", labels={"difficulty": str(number)})
    scene.topics[topic.code] = topic
    assert scene.track.collection is not None
    for docno in UNITS:
        if not scene.track.collection.documents.filter(docno=docno).exists():
            make_document(scene.track.collection, docno, kind="answer", thread="1")
    make_track(
        protocol=scene.track.protocol.slug, collection=scene.track.collection, status=scene.track.status
    )
    _grow_guidelines(scene, number)
    run = _grow_runs(scene, number)
    _grow_judging(scene, topic, number)
    for pool in scene.track.pools.all():
        _grow_pool(pool, number)
    _grow_boards(scene, run, number)
    for collection in (scene.track.collection, scene.track.topic_collection):
        _grow_collection(cast(Collection, collection), number)
    make_import(scene.track, scene.organizer)
    Job.objects.create(kind="tests.work", title=f"Work {number}", created_by=scene.organizer)
    Job.objects.create(kind="tests.work", title=f"Work {number}", created_by=scene.member)


def _grow_guidelines(scene: Scene, number: int) -> None:
    draft = guidelines_selectors.draft_of(scene.track)
    guidelines_services.publish(
        track=scene.track, text=f"Rule {number}", revision=draft.revision, by=scene.organizer
    )


def _grow_runs(scene: Scene, number: int) -> Run:
    make_team(scene.track, make_user(), scene.member)
    scene.submit(scene.ours, f"ours-{number}", "10 9")
    return scene.submit(make_team(scene.track, make_user()), f"run-{number}", "9 10")


def _grow_judging(scene: Scene, topic: Topic, number: int) -> None:
    """A topic more for Ada in the first batch, with a task and a remark; and batches that another assessor judges."""
    assessor = make_assessor(scene.track)
    PoolEntry.objects.bulk_create(
        PoolEntry(pool=scene.pool, topic=topic, docno=docno, position=position)
        for position, docno in enumerate(("10", "9"))
    )
    batch = Batch.objects.earliest("pk")
    assignment_services.assign(batch=batch, assessor=scene.ada, topics=[topic])
    task = task_services.accept_next(batch=batch, assessor=scene.ada)
    assert task is not None
    judge(task, comment="why")
    both = {assessor: [topic], scene.ada: [topic]}
    rounds = [
        make_batch(scene.pool, {assessor: [topic]}, kind=Batch.Kind.DUAL, name=f"Dual {number}"),
        make_batch(scene.pool, both, kind=Batch.Kind.TRAINING, name=f"Training {number}"),
    ]
    for of_round in rounds:
        judge(accept(of_round, assessor), comment="why")
    make_batch(scene.pool, {}, name=f"Draft {number}", is_open=False)


def _grow_pool(pool: Pool, number: int) -> None:
    """Entries of two topics, contributed by the runs of the pool, and a member of the first entry of each."""
    runs = [run["run"] for run in pool.statistics.get("runs", [])]
    for topic in pool.track.topics.filter(code__in=["A.1", "A.10"]):
        entry = PoolEntry.objects.create(pool=pool, topic=topic, docno=f"d{number}", position=number)
        Contribution.objects.bulk_create(Contribution(entry=entry, run_id=run, rank=1) for run in runs)
        for changed in (entry, PoolEntry.objects.filter(pool=pool, topic=topic).earliest("pk")):
            member = PoolMember.objects.create(entry=changed, docno=f"m{number}", position=number)
            MemberContribution.objects.bulk_create(
                MemberContribution(member=member, run_id=run, rank=1) for run in runs
            )


def _grow_boards(scene: Scene, run: Run, number: int) -> None:
    """A pool, a version of qrels and a leaderboard more; and a run more on the first leaderboard."""
    pool = pool_services.request(
        track=scene.track, name=f"pool {number}", seed=1, depth={}, by=make_organizer()
    )
    assert pool.job_id is not None
    jobs.run(pool.job_id)
    first = scene.track.leaderboards.earliest("pk")
    evaluation = Evaluation.objects.create(
        leaderboard=first, run=run, run_sha256=run.sha256, n_topics=3, n_missing=0
    )
    Score.objects.bulk_create(
        Score(evaluation=evaluation, topic=score.topic, measure=score.measure, value=score.value)
        for score in Score.objects.filter(evaluation=first.evaluations.earliest("pk"))
    )
    judge_run = make_judge(scene.ours, scene.member, f"judge-{number}")
    make_judge_board(judge_run, first)
    on_first = {"board": JudgeBoard.objects.earliest("pk"), "judge_run": judge_run}
    JudgeResult.objects.create(**on_first, source="qrels", measure="M")
    text = f"A.1 0 10 3\nA.1 0 9 0\nA.10 0 10 2\nA.2 0 10 0\nA.2 0 d{number} 1\n"
    board = scene.leaderboard(scene.qrels(text.encode()), release=Leaderboard.Release.PUBLIC)
    scene.leaderboard(first.qrels)
    computed = Analysis.objects.earliest("pk")
    for scored in (board, first):
        job = Job.objects.create(kind="tests.work", title=f"Analyze {number}", state=Job.State.DONE)
        Analysis.objects.create(
            leaderboard=scored,
            kind=computed.kind,
            seed=number,
            status=computed.status,
            result=computed.result,
            job=job,
            created_by=make_organizer(),
        )


def _grow_collection(collection: Collection, number: int) -> None:
    """A thread more, an answer more in the first thread, and formulas, imports and a clustering more."""
    question = make_document(collection, f"q{number}", title="A title", tags=["a", "b"])
    first = collection.documents.filter(kind="question").earliest("pk")
    for asked in (question, first):
        answer = make_answer(asked, f"a{number}.{asked.pk}")
        make_comment(answer)
        make_comment(asked)
    Formula.objects.create(
        collection=collection,
        code=f"f.{number}",
        post=first.docno,
        thread=first.docno,
        place=Formula.Place.TITLE,
        visual="v.1",
        latex="x",
    )
    for n in range(2):
        job = Job.objects.create(
            kind="tests.work", title=f"Import {number} {n}", state=Job.State.DONE, created_by=make_organizer()
        )
        Import.objects.create(collection=collection, format="jsonl", name=f"{number}.jsonl", job=job)
        Import.objects.create(collection=collection, format="jsonl", name=f"{number}.2.jsonl", job=job)
    job = Job.objects.create(kind="tests.work", title=f"Cluster {number}", state=Job.State.DONE)
    clustering = Clustering.objects.create(
        collection=collection, job=job, is_complete=True, counts=dict.fromkeys(COUNTS.split(), 2)
    )
    Disagreement.objects.bulk_create(
        Disagreement(
            clustering=clustering,
            visual="v.1",
            formula=f"f.{number}",
            n=2,
            string=f"s{n}",
            is_slt=True,
            n_strings=2,
            n_ids=1,
        )
        for n in range(number)
    )


__all__ = ["addresses", "empty_refusals", "own_files", "scene"]  # fixtures

pytestmark = pytest.mark.django_db


def people(scene: Scene) -> dict[str, User | None]:
    return {"visitor": None, "member": scene.member, "assessor": scene.ada, "organizer": scene.organizer}


def in_admin(scene: Scene) -> dict[str, str]:
    """The lists of the admin, each also with a search, and the forms that contain lists."""
    pages = {}
    for model, admin in site._registry.items():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        pages[name] = reverse(f"{name}_changelist")
        if admin.search_fields:
            pages[f"{name}, search"] = f"{pages[name]}?q=a"
        if row := model._default_manager.order_by("pk").first():
            pages[f"{name}, form"] = reverse(f"{name}_change", args=[row.pk])
    return pages


def queries_of(client: Client | None, address: str) -> tuple[int, list[str]]:
    """The status of the answer, and the queries."""
    client = (
        client or Client()
    )  # a visitor without a session: some pages start one, which is read from then on
    reset_queries()  # the log keeps 9,000
    with CaptureQueriesContext(connection) as context:
        answer = client.get(address)
        for _ in answer:  # read a file to its end
            pass
    return answer.status_code, [query["sql"] for query in context.captured_queries]


def repeated(before: list[str], after: list[str]) -> str:
    """The query that is made more often, for the message of a failure."""
    starts = [sql.partition(" WHERE ")[0] for sql in after]
    most = max(set(starts), key=starts.count)
    return f"{len(before)} queries, then {len(after)}; {starts.count(most)} times {most[:300]}"


@pytest.mark.no_cover  # other tests open these pages; to measure this one takes 15 s
@pytest.mark.usefixtures("empty_refusals")
@pytest.mark.long
def test_no_page_makes_more_queries_for_more_rows(
    scene: Scene, addresses: dict[str, str], monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """Nor does a list or a form of the admin, which are opened in a nightly run only."""
    if pytestconfig.getoption("--nightly"):
        addresses = {**addresses, **in_admin(scene)}
    monkeypatch.setattr(health, "_until", math.inf)  # it keeps a result for a few seconds
    clients = {role: Client() for role, user in people(scene).items() if user is not None}
    for role, client in clients.items():
        client.force_login(people(scene)[role])

    pages = {(role, name): address for role, name, address in requested(scene, addresses)}

    ContentType.objects.get_for_models(*apps.get_models())  # one process reads them once
    grow(scene)
    grow(scene)
    few = {page: queries_of(clients.get(page[0]), address) for page, address in pages.items()}
    shown = {
        page: queries for page, (status, queries) in few.items() if status == 200
    }  # a refusal has no rows
    grow(scene)
    grow(scene)
    grow(scene)
    many = {page: queries_of(clients.get(page[0]), pages[page])[1] for page in shown}

    growing = {
        page: repeated(queries, many[page])
        for page, queries in shown.items()
        if len(many[page]) > len(queries) and page[1] not in STREAMED  # which have one for each topic
    }
    assert not growing, "\n".join(f"{role}: {name}: {text}" for (role, name), text in growing.items())


def requested(scene: Scene, addresses: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Role, name and address of each page. What `/health/` finds counts for some seconds, so it is left out."""
    addresses = {name: address for name, address in addresses.items() if name != "health"}
    for name, address in addresses.items():
        yield "organizer", name, address
    for role in ("visitor", "member", "assessor"):
        for name, row in rows_of(MATRIX).items():
            if name in addresses and row[PEOPLE.index(role)] == "0":
                yield role, name, addresses[name]
