"""Jobs that cluster formulas: the ids that they assign, their helpers, and what a lost job leaves behind."""

import csv
import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from django.db.models import Model, QuerySet

from assay.errors import Refused
from corpus.clusterings import jobs as clustering_jobs
from corpus.clusterings.jobs import HELP
from corpus.clusterings.services import start_clustering
from corpus.imports.recognition import sources_of
from corpus.imports.services import start_import
from corpus.models import Clustering, ClusteringPart, Collection, Disagreement, Formula
from jobs import services as jobs
from jobs.models import Job
from tests.helpers.factories import make_collection, make_organizer
from tests.helpers.formulas import FAULTY, START, One, add_formulas, letter, visual_ids_of

pytestmark = pytest.mark.django_db

MIXED = [
    One("2", "x", letter("x")),
    One("10", "y", letter("y")),
    One("9", " x ", FAULTY),
    One("3", "x", letter("x")),
    One("4", "z"),
    One("5", "", FAULTY),
]


@pytest.fixture
def collection(monkeypatch: pytest.MonkeyPatch) -> Collection:
    monkeypatch.setattr(jobs, "nudge", lambda _job_id: None)
    return make_collection("math")


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of two formulas, and one helper per two parts."""
    bounds = clustering_jobs.bounds
    monkeypatch.setattr(clustering_jobs, "bounds", lambda collection_id: bounds(collection_id, 2))
    monkeypatch.setattr(clustering_jobs, "PARTS_PER_HELPER", 2)


def clustered(collection: Collection, *, is_from_scratch: bool = False) -> Job:
    """A finished clustering, done or failed, without helpers."""
    job = start_clustering(collection=collection, is_from_scratch=is_from_scratch, by=None)
    return done(job)


def done(job: Job) -> Job:
    jobs.run(job.pk)
    job.refresh_from_db()
    return job


def test_formulas_that_look_alike_get_one_id_in_the_order_of_their_ids(collection: Collection) -> None:
    add_formulas(collection, MIXED)

    job = clustered(collection)

    assert job.state == Job.State.DONE
    assert visual_ids_of(collection) == {"2": "1", "3": "1", "4": "2", "5": "", "9": "1", "10": "3"}
    assert not Formula.objects.filter(is_visual_given=True).exists()


def test_counts_are_stored_with_clustering_and_collection(collection: Collection) -> None:
    add_formulas(collection, [*MIXED, One("11", "w", letter("w"), "77")])

    clustered(collection)

    counts = Clustering.objects.get().counts
    assert counts == {
        "formulas": 7,
        "slt": 4,
        "no_slt": 2,
        "no_mathml": 1,
        "given": 1,
        "visual_ids": 4,
        "without_id": 1,
        "ids_of_several_strings": 0,
        "strings_of_several_ids": 0,
        "latex_of_several_ids": 0,
        "disagreeing_formulas": 0,
    }
    collection.refresh_from_db()
    assert collection.counts["visually distinct formulas"] == 4


def test_ids_do_not_depend_on_the_parts(collection: Collection, small_parts: None) -> None:
    add_formulas(collection, MIXED)

    clustered(collection)

    assert visual_ids_of(collection) == {"2": "1", "3": "1", "4": "2", "5": "", "9": "1", "10": "3"}
    assert not ClusteringPart.objects.exists()


def test_ids_of_the_index_are_kept_and_shared(collection: Collection) -> None:
    given = [One("1", "x", letter("x"), "50"), One("7", "y", letter("x"), "8")]
    add_formulas(collection, [*given, One("2", "x", letter("x")), One("3", "y"), One("4", "q")])

    clustered(collection)

    assert visual_ids_of(collection) == {"1": "50", "7": "8", "2": "50", "3": "8", "4": "51"}


def test_second_clustering_keeps_ids_and_adds_new_ones(collection: Collection) -> None:
    add_formulas(collection, [One("5", "x", letter("x"))])
    clustered(collection)
    add_formulas(collection, [One("1", "y", letter("y")), One("2", "x", letter("x"))])

    clustered(collection)

    assert visual_ids_of(collection) == {"5": "1", "1": "2", "2": "1"}


def test_clustering_from_scratch_replaces_all_ids_except_those_of_the_index(collection: Collection) -> None:
    add_formulas(collection, [One("5", "x", letter("x")), One("6", "z", letter("z"), "9")])
    clustered(collection)
    add_formulas(collection, [One("1", "y", letter("y")), One("2", "x", letter("x"))])

    clustered(collection, is_from_scratch=True)

    assert visual_ids_of(collection) == {"1": "10", "2": "11", "5": "11", "6": "9"}


def test_disagreements_have_string_first_formula_and_numbers(collection: Collection) -> None:
    add_formulas(
        collection,
        [
            One("1", "x", letter("x"), "A"),
            One("2", "y", letter("y"), "A"),
            One("3", "y", letter("y"), "A"),
            One("4", "p", letter("p"), "B"),
            One("5", "p", letter("p"), "C"),
            One("6", "q q", None, "D"),
            One("7", "qq", None, "E"),
        ],
    )

    clustered(collection)

    rows = Disagreement.objects.values_list(
        "visual", "formula", "n", "string", "is_slt", "n_strings", "n_ids"
    )
    assert list(rows) == [
        ("B", "4", 1, "[V!p]", True, 1, 2),
        ("C", "5", 1, "[V!p]", True, 1, 2),
        ("A", "1", 1, "[V!x]", True, 2, 1),
        ("A", "2", 2, "[V!y]", True, 2, 1),
        ("D", "6", 1, "q q", False, 1, 2),
        ("E", "7", 1, "qq", False, 1, 2),
    ]


def test_clusters_of_the_real_index_are_those_of_its_visual_ids(
    collection: Collection, data: Path, tmp_path: Path
) -> None:
    with gzip.open(data / "slt" / "latex_mathml_slt.tsv.gz", "rt", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        mathml = {row["latex"]: row["presentation_mathml_latexml087"] for row in rows}
    with (data / "arqmath" / "formulas" / "formula_index_v2_sample.tsv").open(newline="") as file:
        index = list(csv.DictReader(file, delimiter="\t"))
    add_formulas(collection, [One(row["id"], row["formula"], mathml[row["formula"]]) for row in index])

    clustered(collection)

    made = visual_ids_of(collection)
    pairs = {(made[row["id"]], row["visual_id"]) for row in index}
    assert (len(index), len(set(made.values())), len(pairs)) == (1000, 759, 760)


def test_imported_index_can_be_clustered(collection: Collection, data: Path) -> None:
    sources = sources_of([data / "arqmath" / "formulas" / "formula_index_v2_sample.tsv"])
    done(start_import(collection=collection, sources=sources, by=None))

    job = clustered(collection)

    assert job.result["formulas"] == job.result["given"] == 1000
    assert job.result["visual_ids"] == 760
    assert list(Disagreement.objects.values_list("visual", flat=True)) == ["1927327", "370700"]


def test_helper_computes_parts_and_the_leader_assigns_ids(collection: Collection, small_parts: None) -> None:
    add_formulas(collection, MIXED)
    leader = start_clustering(collection=collection, is_from_scratch=False, by=make_organizer())
    clustering = Clustering.objects.get()
    clustering_jobs._plan(_running(leader), clustering)
    helper = Job.objects.get(kind=HELP)

    done(helper)

    assert helper.result == {"parts": 3}
    assert not clustering.parts.filter(keys=None).exists()
    Job.objects.filter(pk=leader.pk).update(state=Job.State.QUEUED)
    done(leader)
    assert visual_ids_of(collection)["10"] == "3"


def _running(job: Job) -> jobs.Progress:
    Job.objects.filter(pk=job.pk).update(state=Job.State.RUNNING, attempt=1)
    return jobs.Progress(job.pk, 1)


def test_helper_of_a_finished_clustering_does_nothing(collection: Collection, small_parts: None) -> None:
    add_formulas(collection, MIXED)
    leader = start_clustering(collection=collection, is_from_scratch=False, by=None)
    clustering_jobs._plan(_running(leader), Clustering.objects.get())
    Job.objects.filter(pk=leader.pk).update(state=Job.State.FAILED)

    helper = done(Job.objects.get(kind=HELP))

    assert (helper.state, helper.result) == (Job.State.DONE, {"parts": 0})


def test_leader_waits_for_a_part_until_its_helper_is_lost(
    collection: Collection, small_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_formulas(collection, MIXED)
    leader = start_clustering(collection=collection, is_from_scratch=False, by=None)
    clustering_jobs._plan(_running(leader), Clustering.objects.get())
    helper = _running(Job.objects.get(kind=HELP))
    Job.objects.filter(pk=helper.job_id).update(heartbeat_at=leader.created_at + timedelta(hours=1))
    held = clustering_jobs._claim(helper, Clustering.objects.get())
    waits: list[float] = []

    def wait(seconds: float) -> None:  # meanwhile the helper is lost and another attempt starts
        waits.append(seconds)
        assert set(ClusteringPart.objects.filter(keys=None)) == {held}
        Job.objects.filter(pk=helper.job_id).update(attempt=2)

    monkeypatch.setattr(clustering_jobs.time, "sleep", wait)
    Job.objects.filter(pk=leader.pk).update(state=Job.State.QUEUED)
    done(leader)

    assert len(waits) == 1
    assert leader.state == Job.State.DONE
    assert visual_ids_of(collection)["10"] == "3"


def test_helper_that_lost_its_part_does_not_overwrite_it(collection: Collection, small_parts: None) -> None:
    add_formulas(collection, MIXED)
    leader = start_clustering(collection=collection, is_from_scratch=False, by=None)
    clustering = Clustering.objects.get()
    clustering_jobs._plan(_running(leader), clustering)
    helper = _running(Job.objects.get(kind=HELP))
    part = clustering_jobs._claim(helper, clustering)
    assert part is not None
    ClusteringPart.objects.filter(pk=part.pk).update(holder=leader, keys=b"other")

    assert clustering_jobs._make_keys(helper, clustering) == 2

    part.refresh_from_db()
    assert bytes(part.keys or b"") == b"other"


def test_repeated_clustering_job_changes_nothing(collection: Collection) -> None:
    add_formulas(collection, [One("1", "x", letter("x"), "A"), One("2", "y", letter("y"), "A")])
    job = clustered(collection)
    before = Disagreement.objects.count()
    Job.objects.filter(pk=job.pk).update(state=Job.State.QUEUED)

    done(job)

    assert (job.state, job.result["formulas"], Disagreement.objects.count()) == (Job.State.DONE, 2, before)


def test_clustering_that_lost_its_worker_at_the_end_stores_each_disagreement_once(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_formulas(collection, [One(str(n), "x", letter("x"), str(n % 3)) for n in range(9)])
    monkeypatch.setattr(clustering_jobs, "STORED_AT_ONCE", 2)
    job = start_clustering(collection=collection, is_from_scratch=False, by=None)
    with monkeypatch.context() as patched:
        patched.setattr(clustering_jobs, "formula_counts", Mock(side_effect=OperationalError))
        with pytest.raises(OperationalError):
            jobs.run(job.pk)
    Job.objects.filter(pk=job.pk).update(heartbeat_at=datetime(2000, 1, 1, tzinfo=UTC))

    assert done(job).state == Job.State.DONE

    assert list(Disagreement.objects.values_list("visual", "formula", "n")) == [
        ("0", "0", 3),
        ("1", "1", 3),
        ("2", "2", 3),
    ]


def test_parts_are_deleted_a_few_at_a_time_and_a_lost_worker_leaves_the_rest_to_the_next(
    collection: Collection, small_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_formulas(collection, MIXED)
    failed = start_clustering(collection=collection, is_from_scratch=False, by=None)
    clustering_jobs._plan(_running(failed), Clustering.objects.get())
    Job.objects.filter(pk=failed.pk).update(state=Job.State.FAILED)
    job = start_clustering(collection=collection, is_from_scratch=False, by=None)
    left: list[int] = []
    delete_rows = QuerySet.delete

    def delete(rows: QuerySet[Model]) -> tuple[int, dict[str, int]]:
        if rows.model is ClusteringPart:
            left.append(ClusteringPart.objects.count())
            if len(left) == 2:
                raise OperationalError
        return delete_rows(rows)

    monkeypatch.setattr(clustering_jobs, "DELETED_AT_ONCE", 2)
    monkeypatch.setattr(QuerySet, "delete", delete)
    with pytest.raises(OperationalError):
        jobs.run(job.pk)
    Job.objects.filter(pk=job.pk).update(heartbeat_at=datetime(2000, 1, 1, tzinfo=UTC))
    assert done(job).state == Job.State.DONE

    assert left == [6, 4, 4, 2], "three parts of each clustering, two in a transaction"
    assert not ClusteringPart.objects.exists()
    assert job.result["formulas"] == 6


def test_second_clustering_at_the_same_time_is_refused(collection: Collection) -> None:
    add_formulas(collection, MIXED)
    start_clustering(collection=collection, is_from_scratch=False, by=None)

    with pytest.raises(Refused, match="being clustered already"):
        start_clustering(collection=collection, is_from_scratch=False, by=None)


def test_old_clustering_cannot_be_retried_after_a_newer_one(collection: Collection) -> None:
    add_formulas(collection, MIXED)
    old = start_clustering(collection=collection, is_from_scratch=False, by=None)
    Job.objects.filter(pk=old.pk).update(state=Job.State.FAILED)
    clustered(collection)

    jobs.retry(job=old)
    done(old)

    assert (old.state, old.error) == (
        Job.State.FAILED,
        "There is a newer clustering of these formulas. Start another one instead.",
    )


def test_collection_without_formulas_is_refused(collection: Collection) -> None:
    with pytest.raises(Refused, match="math has no formulas"):
        start_clustering(collection=collection, is_from_scratch=False, by=None)


def test_clustering_waits_for_an_import(collection: Collection, tmp_path: Path) -> None:
    add_formulas(collection, MIXED)
    file = tmp_path / "index.tsv"
    file.write_text("id\tpost_id\tthread_id\ttype\tformula\n1\t2\t3\tanswer\tx\n")
    start_import(collection=collection, sources=sources_of([file]), by=None)

    with pytest.raises(Refused, match="An import into math is running"):
        start_clustering(collection=collection, is_from_scratch=False, by=None)


def test_import_waits_for_a_clustering(collection: Collection, tmp_path: Path) -> None:
    add_formulas(collection, MIXED)
    file = tmp_path / "index.tsv"
    file.write_text("id\tpost_id\tthread_id\ttype\tformula\n1\t2\t3\tanswer\tx\n")
    job = start_clustering(collection=collection, is_from_scratch=False, by=None)

    with pytest.raises(Refused, match="The formulas of math are being clustered"):
        start_import(collection=collection, sources=sources_of([file]), by=None)
    done(job)
    start_import(collection=collection, sources=sources_of([file]), by=None)


def test_large_formula_and_broken_mathml_are_clustered_too(collection: Collection) -> None:
    big = f"{START}<mrow>{'<mi>x</mi>' * 100_000}</mrow></math>"
    add_formulas(collection, [One("1", "x", big), One("2", "y", "<math"), One("3", "z", "<msqrt>" * 9999)])

    job = clustered(collection)

    assert (job.result["slt"], job.result["no_slt"]) == (1, 2)
    assert visual_ids_of(collection) == {"1": "1", "2": "2", "3": "3"}
