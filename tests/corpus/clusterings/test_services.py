"""Clustering of the formulas that runs retrieved, and clustering from the command line."""

import io
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from corpus.clusterings import services as clustering_services
from corpus.clusterings.jobs import ClusteringRefused
from corpus.clusterings.services import cluster_submitted, start_clustering
from corpus.models import Collection, Formula
from jobs import services as jobs
from jobs.models import Job
from tests.corpus.clusterings.test_jobs import MIXED, clustered
from tests.helpers.factories import make_collection
from tests.helpers.formulas import One, add_formulas, letter, visual_ids_of

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
    with pytest.raises(
        ClusteringRefused, match="1 of the formulas that runs retrieved were imported into math after"
    ):
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
