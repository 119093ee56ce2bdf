"""The page of all formulas of a collection, on which organizers start a clustering and see its result."""

import csv
import io
import re

import pytest
from django.test import Client
from django.urls import reverse

from corpus.clusterings import selectors
from corpus.clusterings.services import start_clustering
from corpus.formulas.selectors import formula_counts
from corpus.models import Clustering, Collection, Disagreement
from jobs import services as jobs
from jobs.models import Job
from tests.helpers.factories import make_collection, make_organizer
from tests.helpers.formulas import One, add_formulas, letter, visual_ids_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection(monkeypatch: pytest.MonkeyPatch) -> Collection:
    monkeypatch.setattr(jobs, "nudge", lambda _job_id: None)
    return make_collection("math", name="Math")


@pytest.fixture
def organizer(client: Client) -> Client:
    client.force_login(make_organizer())
    return client


def page_of(collection: Collection, number: str = "") -> str:
    return reverse("corpus:formulas", args=[collection.slug]) + (f"?page={number}" if number else "")


def text_of(client: Client, address: str) -> str:
    return " ".join(client.get(address).content.decode().split())


def clustered(collection: Collection) -> Clustering:
    job = start_clustering(collection=collection, is_from_scratch=False, by=None)
    jobs.run(job.pk)
    return Clustering.objects.get(job=job)


def test_page_without_formulas_says_what_to_import(organizer: Client, collection: Collection) -> None:
    text = text_of(organizer, page_of(collection))

    assert "Math has no formulas yet<" in text
    assert "Cluster formulas" not in text


def test_organizer_browses_the_formulas(
    organizer: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_formulas(collection, [One(str(n), f"x_{n}", visual="v" * (n == 2)) for n in range(1, 5)])
    monkeypatch.setattr(selectors, "PAGE_SIZE", 2)

    first = text_of(organizer, page_of(collection))
    last = text_of(organizer, page_of(collection) + "?from=3")
    after = text_of(organizer, page_of(collection) + "?from=9")

    shown = re.compile(r"/formulas/(\d)/")
    assert (shown.findall(first), shown.findall(last), shown.findall(after)) == (["1", "2"], ["3", "4"], [])
    assert '<span class="math-container" data-display="inline">x_1</span>' in first
    assert 'href="?from=3#browse"' in first
    assert "Next formulas" not in last
    assert "No formula has this id or a later one." in after


def test_organizer_starts_a_clustering_and_sees_its_result(organizer: Client, collection: Collection) -> None:
    add_formulas(
        collection, [One("1", "x", letter("x"), "7"), One("2", "y", letter("y"), "7"), One("3", "z")]
    )
    assert "have not been clustered yet" in text_of(organizer, page_of(collection))
    Collection.objects.update(counts=formula_counts(collection))
    assert "The formula index gave a visual id to 2 formulas" in text_of(organizer, page_of(collection))

    answer = organizer.post(reverse("corpus:start_clustering", args=["math"]))
    waiting = text_of(organizer, page_of(collection))
    jobs.run(Job.objects.get().pk)
    done = text_of(organizer, page_of(collection))

    assert answer.headers["Location"] == page_of(collection)
    assert "Running clustering" in waiting
    assert "Waiting for a worker." in waiting
    assert "2, of 3 formulas" in done
    assert "2 formulas: 1 id with several SLT strings, 0 SLT strings with several ids" in done
    assert "The id has 2 strings." in done
    assert "[V!y]" in done
    assert "Cluster formulas again" in done


def test_second_clustering_is_refused_while_the_first_runs(organizer: Client, collection: Collection) -> None:
    add_formulas(collection, [One("1", "x")])
    organizer.post(reverse("corpus:start_clustering", args=["math"]))

    answer = organizer.post(reverse("corpus:start_clustering", args=["math"]))

    assert answer.status_code == 409
    assert "are being clustered already" in answer.content.decode()
    assert "start-clustering" not in text_of(organizer, page_of(collection))


def test_organizer_replaces_all_ids_that_the_index_did_not_give(
    organizer: Client, collection: Collection
) -> None:
    add_formulas(collection, [One("5", "x")])
    clustered(collection)
    add_formulas(collection, [One("1", "y")])

    organizer.post(reverse("corpus:start_clustering", args=["math"]), {"is_from_scratch": "on"})
    jobs.run(Job.objects.latest("pk").pk)

    assert visual_ids_of(collection) == {"1": "1", "5": "2"}


def test_failed_clustering_can_be_retried(organizer: Client, collection: Collection) -> None:
    add_formulas(collection, [One("1", "x")])
    job = start_clustering(collection=collection, is_from_scratch=False, by=None)
    Job.objects.filter(pk=job.pk).update(state=Job.State.FAILED, error="The disk is full.")

    text = text_of(organizer, page_of(collection))
    organizer.post(reverse("jobs:retry", args=[job.pk]))
    jobs.run(job.pk)

    assert "Failed clustering" in text
    assert "The disk is full." in text
    assert "Failed clustering" not in text_of(organizer, page_of(collection))


def test_disagreements_are_paged_and_all_in_the_csv_file(organizer: Client, collection: Collection) -> None:
    add_formulas(collection, [One(str(i), "", letter(f"x{i}"), f"v{i // 2:03}") for i in range(120)])
    add_formulas(collection, [One("900", "=1+1", None, "A"), One("901", "= 1+1", None, "B")])
    clustered(collection)

    second = text_of(organizer, page_of(collection, "2"))
    beyond = text_of(organizer, page_of(collection, "junk"))
    file = organizer.get(reverse("corpus:disagreements", args=["math"])).getvalue()  # type: ignore[attr-defined]
    of_program = organizer.get(reverse("api:visual_id_disagreements", args=["math"]))
    rows = list(csv.reader(io.StringIO(file.decode("utf-8-sig"))))

    assert of_program.getvalue() == file  # type: ignore[attr-defined]
    assert "51–100 of 122" in second
    assert "1–50 of 122" in beyond
    assert len(rows) == 1 + Disagreement.objects.count() == 123
    assert rows[1] == ["v000", "1", "2", "1", "0", "SLT", "[V!x0]"]
    assert rows[121] == ["A", "2", "1", "1", "900", "LaTeX", "'=1+1"]


def test_hostile_latex_is_shown_as_text(organizer: Client, collection: Collection) -> None:
    add_formulas(
        collection, [One("1", "<script>x</script>", None, "A"), One("2", "<script>x</script>", None, "B")]
    )
    clustered(collection)

    assert "&lt;script&gt;x" in text_of(organizer, page_of(collection))


def test_clustering_that_ends_while_its_page_is_made_has_not_failed(
    organizer: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_formulas(collection, [One("1", "x")])
    job = start_clustering(collection=collection, is_from_scratch=False, by=None)
    latest = selectors.latest_clustering

    def then_ends(collection: Collection, *, is_complete: bool) -> Clustering | None:
        newest = latest(collection, is_complete=is_complete)
        jobs.run(job.pk)
        return newest

    monkeypatch.setattr(selectors, "latest_clustering", then_ends)
    text = text_of(organizer, page_of(collection))

    assert "Failed clustering" not in text
    assert "<dt>Clustered</dt>" in text
