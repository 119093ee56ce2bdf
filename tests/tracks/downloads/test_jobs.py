"""The exports of collections, and files of the import folder."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from corpus.models import Collection, Comment, Document, Formula, FormulaMathML
from jobs import services as jobs
from jobs.models import Job
from tests.helpers.factories import make_answer, make_comment, make_document, make_organizer, make_track
from tracks.downloads import jobs as download_jobs
from tracks.models import Download, Track

pytestmark = pytest.mark.django_db


@pytest.fixture
def track(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Track:
    settings.MEDIA_ROOT = tmp_path / "files"
    settings.IMPORT_DIR = str(tmp_path / "import")
    (tmp_path / "import").mkdir()
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    track = make_track("lab")
    assert track.collection is not None
    fields = {"title": "Is a &lt; b?", "tags": ["x, y", "z"], "score": -3, "accepted": "2", "language": "eng"}
    question = make_document(track.collection, "1", published_at=timezone.now(), **fields)
    answer = make_answer(question, "2", author_name="Ann")
    make_comment(answer, "c.1", text="a <em>b</em>", author_name="Bo")
    make_comment(answer, "c.2", text="2 *x* 3 * _y_", score=4)
    for code, latex in (("f.1", '"x"\\frac{1}{2}'), ("f.2", "y")):
        Formula.objects.create(
            collection=track.collection,
            code=code,
            post="2",
            thread="1",
            place=Formula.Place.ANSWER,
            latex=latex,
        )
    for form, markup in (("slt", "<math><mi>y</mi></math>"), ("opt", '<math><ci type="x">y</ci></math>')):
        FormulaMathML.objects.create(collection=track.collection, form=form, code="f.2", content=markup)
    return track


def run(job: Job) -> Job:
    jobs.run(job.pk)
    job.refresh_from_db()
    return job


def content(name: str) -> bytes:
    with Download.objects.get(name=name).file.open("rb") as file:
        return gzip.decompress(file.read())


def rows(collection: Collection) -> list[Any]:
    documents = Document.objects.filter(collection=collection).order_by("docno")
    comments = Comment.objects.filter(document__collection=collection).order_by("code")
    formulas = Formula.objects.filter(collection=collection).order_by("code")
    fields = ("docno", "kind", "thread", "title", "body", "tags", "score", "accepted", "author_name")
    return [
        *documents.values_list(*fields, "published_at", "language"),
        *comments.values_list("code", "score", "author_name"),
        *formulas.values_list("code", "post", "thread", "place", "latex"),
        *collection.mathml.order_by("form").values_list("form", "code", "content"),
    ]


def test_exported_collection_can_be_imported(track: Track, tmp_path: Path) -> None:
    assert run(download_jobs.request_export(track=track, by=make_organizer())).state == Job.State.DONE
    paths = []
    for row in Download.objects.order_by("name"):
        assert row.released_at is None
        path = tmp_path / row.name
        with row.file.open("rb") as file:
            path.write_bytes(file.read())
        paths.append(str(path))

    call_command("import_collection", "again", *paths)

    again = Collection.objects.get(slug="again")
    assert track.collection is not None
    assert {"lab-posts-formulas-slt.tsv.gz", "lab-posts-formulas-opt.tsv.gz"} < {
        Path(path).name for path in paths
    }
    assert rows(again) == rows(track.collection)
    assert Comment.objects.get(code="c.2", document__collection=again).text == "<p>2 *x* 3 * _y_</p>"


def test_second_export_replaces_the_files_of_the_first(track: Track) -> None:
    run(download_jobs.request_export(track=track, by=make_organizer()))
    first = dict(Download.objects.values_list("name", "sha256"))
    Download.objects.update(audience="teams")
    run(download_jobs.request_export(track=track, by=make_organizer()))
    same = dict(Download.objects.values_list("name", "sha256"))
    assert track.collection is not None
    make_document(track.collection, "3")
    run(download_jobs.request_export(track=track, by=make_organizer()))

    assert first == same
    assert len(content("lab-posts-documents.jsonl.gz").splitlines()) == 3
    assert set(Download.objects.values_list("audience", flat=True)) == {"teams"}


def test_file_of_the_import_folder_is_attached(track: Track, tmp_path: Path) -> None:
    (tmp_path / "import" / "posts.7z").write_bytes(b"7z")
    common = {"track": track, "kind": "collection", "by": make_organizer()}

    done = run(download_jobs.request_file_of_folder(path="posts.7z", **common))
    failed = run(download_jobs.request_file_of_folder(path="../secret", **common))

    assert (done.state, failed.state) == (Job.State.DONE, Job.State.FAILED)
    assert Download.objects.get().n_bytes == 2
