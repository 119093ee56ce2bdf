"""Clustering of the formulas that runs retrieved, and clustering from the command line."""

import io
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from assay.errors import Refused
from corpus.clusterings import jobs as clustering_jobs
from corpus.clusterings import services as clustering_services
from corpus.clusterings.services import cluster_submitted, start_clustering
from corpus.models import Clustering, ClusteringPart, Collection, Disagreement, Formula
from jobs import services as jobs
from jobs.models import Job
from jobs.services import Progress
from tests.corpus.clusterings.test_jobs import MIXED, clustered
from tests.fixtures import Factory, wait_until
from tests.helpers.browser import excess_width, log_in
from tests.helpers.factories import make_collection, make_organizer
from tests.helpers.formulas import One, add_formulas, letter, visual_ids_of
from tests.test_killed_workers import held, kill_while_writing

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection(monkeypatch: pytest.MonkeyPatch) -> Collection:
    monkeypatch.setattr(jobs, "nudge", lambda _job_id: None)
    return make_collection("math")


def array(*codes: str) -> Any:
    return np.array([code.encode() for code in codes], dtype=np.bytes_)


def test_only_submitted_formulas_are_clustered(collection: Collection) -> None:
    add_formulas(collection, MIXED)

    formulas = cluster_submitted(collection, array("3", "10", "9", "unknown"))

    assert formulas.formula.tolist() == [b"10", b"3", b"9"]
    assert formulas.visual.tolist() == [b"2", b"1", b"1"]
    assert visual_ids_of(collection) == {"2": "", "3": "1", "4": "", "5": "", "9": "1", "10": "2"}


def test_later_submissions_keep_the_ids_of_earlier_ones(collection: Collection) -> None:
    add_formulas(collection, MIXED)
    cluster_submitted(collection, array("10", "9"))

    formulas = cluster_submitted(collection, array("10", "2", "3", "9", "4"))

    assert dict(zip(formulas.formula.tolist(), formulas.visual.tolist(), strict=True)) == {
        b"9": b"1",
        b"10": b"2",
        b"2": b"3",
        b"3": b"3",
        b"4": b"4",
    }


def test_submitted_formulas_share_ids_of_the_index_and_new_ids_are_unused(collection: Collection) -> None:
    add_formulas(
        collection,
        [
            One("1", "x", letter("x"), "30"),
            One("2", "x", letter("x")),
            One("3", "y"),
            One("4", "z", None, "40"),
        ],
    )

    formulas = cluster_submitted(collection, array("1", "2", "3"))

    assert formulas.visual.tolist() == [b"30", b"30", b"41"]


def test_submitted_formulas_that_all_have_ids_need_one_query(
    collection: Collection, django_assert_num_queries: Any
) -> None:
    add_formulas(collection, [One("1", "x", None, "30"), One("2", "y", None, "31")])

    with django_assert_num_queries(1):
        formulas = cluster_submitted(collection, array("1", "2"))

    assert formulas.visual.tolist() == [b"30", b"31"]


def test_submitted_formulas_imported_after_a_clustering_are_refused(collection: Collection) -> None:
    add_formulas(collection, MIXED)
    clustered(collection)
    add_formulas(collection, [One("11", "new")])

    assert (
        len(cluster_submitted(collection, array("2", "5"))) == 2
    )  # 5 has neither LaTeX nor MathML, so it gets no id
    with pytest.raises(Refused, match="1 formula that runs retrieved came into math after"):
        cluster_submitted(collection, array("2", "5", "11"))


def test_ids_that_another_pool_assigned_meanwhile_are_used(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_formulas(collection, MIXED)
    keys_of = clustering_services.keys_of
    calls: list[int] = []

    def meanwhile(collection_id: int, codes: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            Formula.objects.filter(code="2").update(visual="6")
        return keys_of(collection_id, codes)

    monkeypatch.setattr(clustering_services, "keys_of", meanwhile)
    formulas = cluster_submitted(collection, array("3", "10"))

    assert formulas.visual.tolist() == [b"7", b"6"]
    assert len(calls) == 2


def test_command_clusters_and_prints_a_summary(collection: Collection) -> None:
    add_formulas(collection, [*MIXED, One("11", "y", letter("w"), "A"), One("12", "w", letter("v"), "A")])
    out = io.StringIO()

    call_command("cluster_formulas", "math", stdout=out, stderr=io.StringIO())

    assert out.getvalue() == (
        "8 formulas: 5 with an SLT string, 2 with MathML but no SLT string, 1 without MathML.\n"
        "4 visually distinct formulas; 2 formulas have their visual id from the index, "
        "1 has no id, because neither LaTeX nor MathML was imported.\n"
        "The ids of the index and our strings disagree on 2 formulas: "
        "1 id with several SLT strings, 0 SLT strings with several ids.\n"
    )


def test_command_continues_an_interrupted_clustering(collection: Collection) -> None:
    add_formulas(collection, MIXED)
    job = start_clustering(collection=collection, is_from_scratch=False, by=None)
    errors = io.StringIO()

    call_command("cluster_formulas", "math", stdout=io.StringIO(), stderr=errors)

    job.refresh_from_db()
    assert job.state == Job.State.DONE
    assert errors.getvalue().startswith("Continuing the clustering of ")


@pytest.mark.parametrize(
    ("slug", "message"),
    [
        ("nothing", "There is no collection nothing."),
        ("math", "math has no formulas. Import a formula index first."),
    ],
)
def test_command_prints_the_refusal(collection: Collection, slug: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("cluster_formulas", slug, stdout=io.StringIO(), stderr=io.StringIO())


N = 11_000  # two parts


def math() -> Collection:
    """Formulas in groups of ten that look alike, and two whose ids disagree with their strings."""
    collection = make_collection("math", name="Math")
    looks = (letter(f"x{i - i % 10}") for i in range(N))
    add_formulas(collection, (One(str(i), "", mathml) for i, mathml in enumerate(looks)))
    add_formulas(collection, [One("a", "", letter("p"), "9"), One("b", "", letter("q"), "9")])
    return collection


def request(collection: Collection) -> Job:
    return start_clustering(collection=collection, is_from_scratch=False, by=None)


def finished(job: Job) -> Job:
    wait_until(lambda: Job.objects.get(pk=job.pk).is_finished, reason="the clustering is done")
    return Job.objects.get(pk=job.pk)


def assert_complete(collection: Collection) -> None:
    """Every id and disagreement is stored once."""
    ids = visual_ids_of(collection)
    assert {code: ids[code] for code in ("0", "9", "10", "10999", "a", "b")} == {
        "0": "10", "9": "10", "10": "11", "10999": "1109", "a": "9", "b": "9",
    }  # fmt: skip
    assert Disagreement.objects.count() == 2
    assert not ClusteringPart.objects.exists()
    assert Clustering.objects.get().is_complete


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("tables", [("corpus_clusteringpart", "corpus_formula"), ("corpus_disagreement",)])
def test_next_worker_completes_a_killed_clustering(
    worker: Factory, beat: Factory, tables: tuple[str, ...]
) -> None:
    collection = math()

    job = kill_while_writing(worker, beat, lambda: request(collection), *tables)
    n_ids = Formula.objects.filter(collection=collection).exclude(visual="").count()
    worker()

    assert n_ids in {2, N + 2}  # the ids of the index, or all: never a part of them
    assert finished(job).state == Job.State.DONE
    assert_complete(collection)


class Dying(Progress):
    """The progress of a worker that is killed after its first part."""

    def update(self, done: int, total: int | None = None, message: str = "") -> None:
        if done:
            raise SystemExit


def start(job: Job, progress: type[Progress] = Progress) -> Progress:
    """The first attempt of a job, in this process, after the parts were planned."""
    Job.objects.filter(pk=job.pk).update(state=Job.State.RUNNING, attempt=1)
    clustering_jobs._plan(progress(job.pk, 1), Clustering.objects.get())
    return progress(job.pk, 1)


@pytest.mark.django_db(transaction=True)
def test_finished_parts_are_not_computed_again(worker: Factory, beat: Factory) -> None:
    collection = math()
    job = request(collection)
    with pytest.raises(SystemExit):
        clustering_jobs._make_keys(start(job, Dying), Clustering.objects.get())
    Job.objects.filter(pk=job.pk).update(heartbeat_at=timezone.now() - timedelta(hours=1))

    with held("corpus_formula") as is_waited_for:
        beat()
        worker()
        wait_until(is_waited_for, reason="all parts are done, and ids are about to be stored")
        attempts = list(ClusteringPart.objects.order_by("first").values_list("holder_attempt", flat=True))

    assert attempts == [1, 2]
    assert finished(job).state == Job.State.DONE
    assert_complete(collection)


@pytest.mark.django_db(transaction=True)
def test_helper_computes_parts_at_the_same_time_as_the_leader(
    worker: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = math()
    job = request(collection)
    monkeypatch.setattr(clustering_jobs, "PARTS_PER_HELPER", 1)
    held_part = clustering_jobs._claim(start(job), Clustering.objects.get())
    Job.objects.filter(pk=job.pk).update(heartbeat_at=timezone.now() + timedelta(hours=1))
    worker()
    helpers = Job.objects.filter(kind=clustering_jobs.HELP)

    wait_until(lambda: all(helper.is_finished for helper in helpers.all()), reason="the helpers have ended")

    assert sum(helper.result["parts"] for helper in helpers.all()) == 1
    assert [part.pk for part in ClusteringPart.objects.filter(keys=None)] == [held_part and held_part.pk]


@pytest.mark.django_db(transaction=True)
@pytest.mark.browser
def test_organizer_clusters_in_the_browser(
    live_server: Any, new_page: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)  # the test runs the job
    collection = make_collection("math", name="Math")
    add_formulas(collection, [One(str(i), "x", letter(f"x{i}" * 30), f"v{i // 2}") for i in range(8)])
    page = new_page()
    log_in(page, live_server.url, make_organizer())
    page.goto(f"{live_server.url}{reverse('corpus:formulas', args=['math'])}")

    page.get_by_role("button", name="Cluster formulas").click()
    wait_until(Job.objects.exists)
    jobs.run(Job.objects.get().pk)

    expect(page.get_by_text("4 ids with several SLT strings")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("button", name="Cluster formulas again")).to_be_visible()
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert excess_width(page) <= 0
