"""Imports as jobs: their rows, repeated, failed and killed imports, and who sees the collection meanwhile."""

import gzip
import hashlib
import json
from collections import Counter
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from assay import samples
from assay.errors import BadFile, Refused
from assay.formats.documents.jsonl import NO_DOCNO
from corpus import locations, staging
from corpus.collections.exports import documents
from corpus.collections.selectors import collections_for
from corpus.imports import recognition
from corpus.imports import services as import_services
from corpus.imports.services import start_import
from corpus.models import (
    Author,
    Collection,
    Comment,
    Document,
    DocumentLink,
    Import,
    Tag,
    VoteCount,
)
from corpus.threads.selectors import sources, thread_page
from jobs import services as jobs
from jobs.files import storage
from jobs.models import Job, UnclaimedFile
from tests.fixtures import Factory, wait_until
from tests.helpers.dumps import answer, dump, many_posts, plain_rows, question, row, write
from tests.helpers.factories import make_collection, make_organizer, make_track, make_user

pytestmark = pytest.mark.django_db


def empty(slug: str = "posts") -> Collection:
    """A collection to import into; a track that is open searches it."""
    collection = make_collection(slug, status=Collection.Status.EMPTY)
    make_track(collection=collection)
    return collection


def imported(collection: Collection, *paths: Path) -> Job:
    """A finished import, done or failed."""
    job = start_import(collection=collection, sources=recognition.sources_of(paths), by=None)
    jobs.run(job.pk)
    job.refresh_from_db()
    collection.refresh_from_db()
    return job


def state_of(collection: Collection) -> dict[str, list[Any]]:
    """Every row of a collection, without primary keys."""
    documents = Document.objects.filter(collection=collection).order_by("docno")
    fields = [field.name for field in Document._meta.fields if field.name not in {"id", "collection"}]
    comments = Comment.objects.filter(document__collection=collection).order_by("code")
    links = DocumentLink.objects.filter(source__collection=collection)
    votes = VoteCount.objects.filter(document__collection=collection)
    return {
        "documents": list(documents.values_list(*fields)),
        "comments": list(comments.values_list("document__docno", "code", "text", "score", "author_code")),
        "links": sorted(links.values_list("source__docno", "target__docno", "kind")),
        "votes": sorted(votes.values_list("document__docno", "vote_type", "n")),
        "users": sorted(
            Author.objects.filter(collection=collection).values_list("code", "name", "reputation")
        ),
        "tags": sorted(Tag.objects.filter(collection=collection).values_list("name", "n")),
    }


def accepted_answers(collection: Collection) -> set[str]:
    """The answers that the pages of threads mark as accepted."""
    pages = [
        thread_page(collection, docno) for docno in set(collection.documents.values_list("thread", flat=True))
    ]
    return {answer.docno for page in pages if page for answer in page.answers if answer.is_accepted}


def small_dump(folder: Path) -> Path:
    """A dump with every kind of file, each with a row that is skipped."""
    posts = [
        question(1, AcceptedAnswerId=3),
        answer(2, 1),
        answer(3, 1),
        question(4),
        row(Id=5, PostTypeId=4),
    ]
    comments = [row(Id=1, PostId=2, Text="Why?"), row(Id=2, PostId=99, Text="gone")]
    links = [
        row(Id=1, PostId=1, RelatedPostId=4, LinkTypeId=3),
        row(Id=2, PostId=1, RelatedPostId=77, LinkTypeId=1),
    ]
    votes = [row(Id=n, PostId=[1, 1, 2, 50][n], VoteTypeId=2) for n in range(4)]
    write(folder, "Posts.xml", dump("posts", *posts))
    write(folder, "Comments.xml", dump("comments", *comments))
    write(folder, "PostLinks.xml", dump("postlinks", *links))
    write(folder, "Votes.xml", dump("votes", *votes))
    write(folder, "Users.xml", dump("users", row(Id=-1, DisplayName="Community", Reputation=1)))
    write(folder, "Tags.xml", dump("tags", row(Id=1, TagName="a", Count=2), row(Id=2, Count=1)))
    write(folder, "Badges.xml", dump("badges", row(Id=1)))
    return folder


def test_all_files_of_a_folder_are_imported_and_skipped_rows_reported(tmp_path: Path) -> None:
    collection = empty()

    job = imported(collection, small_dump(tmp_path))

    assert job.state == Job.State.DONE, job.error
    assert collection.status == Collection.Status.READY
    assert collection.counts == job.result["counts"]
    expected = {
        "questions": 2,
        "answers": 2,
        "documents": 0,
        "comments": 1,
        "links": 1,
        "users": 1,
        "tags": 1,
    }
    assert collection.counts == expected | {"votes": 3}
    assert job.result["skipped"] == {
        "a post that is not a question or answer: a tag wiki excerpt": 1,
        "a comment on a post that is not in the collection": 1,
        "a link from or to a post that is not in the collection": 1,
        "a vote on a post that is not in the collection": 1,
        "TagName is missing": 1,
    }
    names = [file.name for file in job.imports.order_by("id")]
    assert names == ["Posts.xml", "Users.xml", "Tags.xml", "Comments.xml", "PostLinks.xml", "Votes.xml"]
    assert accepted_answers(collection) == {"3"}


def test_repeated_import_changes_nothing(tmp_path: Path) -> None:
    collection, folder = empty(), small_dump(tmp_path)
    first = imported(collection, folder)
    before, ids = state_of(collection), set(Document.objects.values_list("pk", flat=True))

    again = imported(collection, folder)

    assert state_of(collection) == before
    assert set(Document.objects.values_list("pk", flat=True)) == ids
    assert again.result == first.result
    counts = [{file.name: file.counts for file in job.imports.all()} for job in (first, again)]
    assert counts[0] == counts[1]


def test_repeated_import_updates_rows(tmp_path: Path) -> None:
    collection = empty()
    imported(collection, small_dump(tmp_path))
    changed = write(tmp_path, "Posts.xml", dump("posts", question(1, Title="New", AcceptedAnswerId=2)))

    imported(collection, changed)

    assert Document.objects.get(collection=collection, docno="1").title == "New"
    assert accepted_answers(collection) == {"2"}
    assert collection.counts["answers"] == 2


def test_post_in_two_files_of_a_first_import_is_stored_once(tmp_path: Path) -> None:
    first = write(tmp_path, "Posts-1.xml", dump("posts", question(1, Title="Old"), question(2)))
    second = write(tmp_path, "Posts-2.xml", dump("posts", question(3), question(1, Title="New")))

    collection = empty()
    job = imported(collection, first, second)

    assert job.state == Job.State.DONE
    documents = dict(collection.documents.values_list("docno", "title"))
    assert (sorted(documents), documents["1"]) == (["1", "2", "3"], "New")


def test_import_changes_no_other_collection(tmp_path: Path) -> None:
    folder = small_dump(tmp_path)
    first, second = empty("first"), empty("second")
    imported(first, folder)
    before = state_of(first)

    imported(second, folder)
    imported(second, write(tmp_path, "Posts.xml", dump("posts", question(1, Title="Other"))))

    assert state_of(first) == before


def test_files_can_be_imported_one_by_one(tmp_path: Path) -> None:
    folder = small_dump(tmp_path)
    together, single = empty("together"), empty("single")
    imported(together, folder)

    for name in ("Posts.xml", "Comments.xml", "PostLinks.xml", "Votes.xml", "Users.xml", "Tags.xml"):
        imported(single, folder / name)

    assert state_of(single) == state_of(together)
    assert single.counts == together.counts


def test_answers_without_their_question_are_kept_and_counted(tmp_path: Path) -> None:
    collection = empty()

    job = imported(
        collection, write(tmp_path, "Posts.xml", dump("posts", question(1), answer(2, 1), answer(3, 99)))
    )

    assert job.result["answers_without_question"] == 1
    assert collection.counts["answers"] == 2


def test_packed_json_documents_are_imported(tmp_path: Path) -> None:
    lines = [
        {"docno": "d1", "text": "one", "comments": [{"id": "c", "text": "so"}]},
        {"docno": "d2"},
        {"text": "no"},
    ]
    content = "\n".join(json.dumps(line) for line in lines)
    collection = empty()

    job = imported(collection, write(tmp_path, "d.jsonl.gz", gzip.compress(content.encode())))

    assert (collection.counts["documents"], collection.counts["comments"]) == (2, 1)
    assert job.result["skipped"] == {NO_DOCNO: 1}
    assert Import.objects.get().skipped_lines == {NO_DOCNO: [3]}


def test_only_organizers_see_a_collection_during_its_first_import(tmp_path: Path) -> None:
    collection = empty()

    start_import(collection=collection, sources=recognition.sources_of([small_dump(tmp_path)]), by=None)

    assert not collections_for(make_user()).exists()
    assert collections_for(make_organizer()).exists()


def test_ready_collection_stays_visible_during_another_import(tmp_path: Path) -> None:
    collection, folder = empty(), small_dump(tmp_path)
    imported(collection, folder)

    start_import(collection=collection, sources=recognition.sources_of([folder]), by=None)

    assert collections_for(make_user()).exists()


@pytest.mark.parametrize("n", [2, 12_000])
def test_truncated_file_fails_with_its_line_and_hides_the_collection(tmp_path: Path, n: int) -> None:
    path = write(tmp_path, "Posts.xml", many_posts(n)[:-20])
    collection = empty()

    job = imported(collection, path)

    assert job.state == Job.State.FAILED
    assert f"Posts.xml, line {path.read_text().count(chr(10)) + 1:,} (byte " in job.error
    assert collection.status == Collection.Status.INCOMPLETE
    assert not collections_for(make_user()).exists()


def test_error_in_a_large_file_has_its_line(tmp_path: Path) -> None:
    text = many_posts(12_000).replace('Id="9001"', 'Id="9001" Id="9002"')

    job = imported(empty(), write(tmp_path, "Posts.xml", text))

    assert job.state == Job.State.FAILED
    assert "line 9,003 " in job.error
    assert "redefined" in job.error


def test_collection_becomes_visible_when_its_file_was_corrected(tmp_path: Path) -> None:
    collection = empty()
    imported(collection, write(tmp_path, "Posts.xml", many_posts(300)[:-20]))

    job = imported(collection, write(tmp_path, "Posts.xml", many_posts(300)))

    assert (job.state, collection.status) == (Job.State.DONE, Collection.Status.READY)
    assert Document.objects.filter(collection=collection).count() == 300


def test_failed_import_does_not_change_a_ready_collection(tmp_path: Path) -> None:
    collection, folder = empty(), small_dump(tmp_path)
    imported(collection, folder)
    before = state_of(collection)
    votes = write(folder, "Votes.xml", dump("votes", row(Id=1, PostId=4, VoteTypeId=2))[:-3])

    job = imported(collection, votes)

    assert job.state == Job.State.FAILED
    assert collection.status == Collection.Status.READY
    assert state_of(collection) == before


def test_votes_of_a_failed_import_are_not_counted(tmp_path: Path) -> None:
    collection, folder = empty(), small_dump(tmp_path)
    imported(collection, folder)
    before = state_of(collection)
    more = "".join(row(Id=n, PostId=4, VoteTypeId=3) for n in range(40_000))
    imported(collection, write(tmp_path, "broken.xml", dump("votes", more)[:-3]))

    imported(collection, folder / "Votes.xml")

    assert state_of(collection) == before


def test_import_rewrites_no_document_and_no_votes(tmp_path: Path) -> None:
    """At the end of an import, so many rows would keep the job without a heartbeat until it counts as lost."""
    folder = small_dump(tmp_path)
    write(
        folder,
        "Votes.xml",
        dump("votes", row(Id=1, PostId=3, VoteTypeId=2), row(Id=2, PostId=3, VoteTypeId=1)),
    )

    before = updated_rows()

    imported(empty(), folder)

    assert updated_rows() == before


def updated_rows() -> dict[str, int]:
    """Counted by PostgreSQL for this connection; updates of the last second's other transactions may be among them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, n_tup_upd FROM pg_stat_xact_user_tables "
            "WHERE relname IN ('corpus_document', 'corpus_votecount')"
        )
        return dict(cursor.fetchall())


def test_import_that_loses_its_worker_while_it_deletes_old_votes_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "VOTES_PART", 2)
    folder = small_dump(tmp_path)
    undisturbed, disturbed = empty("undisturbed"), empty("disturbed")
    for collection in (undisturbed, disturbed):
        imported(collection, folder)
    votes = write(tmp_path, "Votes.xml", dump("votes", row(Id=1, PostId=3, VoteTypeId=2)))
    imported(undisturbed, votes)
    job = start_import(collection=disturbed, sources=recognition.sources_of([votes]), by=None)
    with monkeypatch.context() as patched:
        patched.setattr(staging, "delete_other_votes", Mock(side_effect=OperationalError))
        with pytest.raises(OperationalError):
            jobs.run(job.pk)
    Job.objects.filter(pk=job.pk).update(heartbeat_at=datetime(2000, 1, 1, tzinfo=UTC))

    jobs.run(job.pk)

    disturbed.refresh_from_db()
    undisturbed.refresh_from_db()
    assert state_of(disturbed) == state_of(undisturbed)
    assert disturbed.counts == undisturbed.counts
    assert disturbed.counts["votes"] == 1


def test_collection_without_documents_is_not_ready(tmp_path: Path) -> None:
    collection = empty()

    job = imported(collection, write(tmp_path, "Posts.xml", dump("posts", row(Id=1, PostTypeId=5))))

    assert job.state == Job.State.DONE
    assert collection.status == Collection.Status.EMPTY


def test_second_import_is_refused_while_the_first_runs(tmp_path: Path) -> None:
    collection = empty()
    sources = recognition.sources_of([small_dump(tmp_path)])
    start_import(collection=collection, sources=sources, by=None)

    with pytest.raises(Refused, match="is running"):
        start_import(collection=collection, sources=sources, by=None)

    assert Job.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("notes.txt", "hello", "neither XML nor"),
        ("Badges.xml", "<badges></badges>", "<badges>, which cannot be imported"),
        ("evil.xml", '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><posts/>', "DOCTYPE"),
        ("empty.xml", "", "neither XML nor"),
    ],
)
def test_file_of_an_unknown_format_is_refused_at_once(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    collection = empty()

    with pytest.raises((Refused, BadFile)) as refusal:
        imported(collection, write(tmp_path, name, content))

    assert message in refusal.value.message
    assert not Job.objects.exists()
    assert not Import.objects.exists()
    collection.refresh_from_db()
    assert collection.status == Collection.Status.EMPTY


def test_missing_file_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"nothing\.xml"):
        recognition.sources_of([tmp_path / "nothing.xml"])


def test_file_that_changed_before_the_job_started_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "Posts.xml", many_posts(3))
    job = start_import(collection=empty(), sources=recognition.sources_of([path]), by=None)
    write(tmp_path, "Posts.xml", many_posts(30))

    jobs.run(job.pk)

    job.refresh_from_db()
    assert "has changed" in job.error


def test_job_fails_if_the_file_was_deleted(tmp_path: Path) -> None:
    path = write(tmp_path, "Posts.xml", many_posts(3))
    job = start_import(collection=empty(), sources=recognition.sources_of([path]), by=None)
    path.unlink()

    jobs.run(job.pk)

    job.refresh_from_db()
    assert job.error == "Posts.xml cannot be opened: No such file or directory."


def test_upload_is_deleted_after_its_import(django_capture_on_commit_callbacks: Any) -> None:
    upload = ContentFile(dump("posts", question(1)).encode(), name="Posts.xml")
    collection = empty()
    job = import_services.import_upload_or_path(collection=collection, new={}, uploads=[upload], by=None)
    (file,) = job.imports.all()
    stored = file.location.removeprefix(locations.UPLOAD)
    assert default_storage.exists(stored)

    with django_capture_on_commit_callbacks(execute=True):
        jobs.run(job.pk)

    collection.refresh_from_db()
    assert collection.status == Collection.Status.READY
    assert not default_storage.exists(stored)
    assert not UnclaimedFile.objects.exists()


def test_upload_of_a_worker_that_was_killed_at_the_end_of_its_import_is_deleted_later() -> None:
    upload = ContentFile(dump("posts", question(1)).encode(), name="Posts.xml")
    job = import_services.import_upload_or_path(collection=empty(), new={}, uploads=[upload], by=None)
    stored = job.imports.get().location.removeprefix(locations.UPLOAD)

    jobs.run(job.pk)  # without the callbacks of its commit
    assert default_storage.exists(stored)
    storage.delete_unclaimed()

    assert not default_storage.exists(stored)


def test_refused_upload_is_deleted(tmp_path: Path, settings: Any) -> None:
    settings.MEDIA_ROOT = tmp_path

    with pytest.raises(Refused) as refusal:
        import_services.import_upload_or_path(
            collection=empty(),
            new={},
            uploads=[ContentFile(b"%PDF", name="Posts.xml")],
            by=None,
        )

    assert refusal.value.code == "import-refused"
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_old_import_cannot_be_retried_after_a_newer_one(tmp_path: Path) -> None:
    collection = empty()
    failed = imported(collection, write(tmp_path, "Posts.xml", many_posts(3)[:-4]))
    imported(collection, write(tmp_path, "More.xml", many_posts(3)))

    jobs.retry(job=failed)
    jobs.run(failed.pk)

    failed.refresh_from_db()
    assert "There is a newer import" in failed.error


def test_sha256_is_that_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "Posts.xml", many_posts(300))

    job = imported(empty(), path)

    assert job.imports.get().sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_real_dump_of_a_site_has_the_same_rows_as_a_plain_reading(data: Path) -> None:
    folder = data / "stackexchange" / "conlang_meta"
    collection = empty()

    job = imported(collection, folder)

    posts = plain_rows(folder / "Posts.xml")
    kinds = Counter(post["PostTypeId"] for post in posts)
    ids = {post["Id"] for post in posts if post["PostTypeId"] in {"1", "2"}}
    comments = [comment for comment in plain_rows(folder / "Comments.xml") if comment["PostId"] in ids]
    links = {
        (link["PostId"], link["RelatedPostId"], link["LinkTypeId"])
        for link in plain_rows(folder / "PostLinks.xml")
        if {link["PostId"], link["RelatedPostId"]} <= ids
    }
    all_votes = plain_rows(folder / "Votes.xml")
    votes = Counter((vote["PostId"], int(vote["VoteTypeId"])) for vote in all_votes if vote["PostId"] in ids)
    assert collection.counts == {
        "questions": kinds["1"],
        "answers": kinds["2"],
        "documents": 0,
        "comments": len(comments),
        "links": len(links),
        "users": len(plain_rows(folder / "Users.xml")),
        "tags": len(plain_rows(folder / "Tags.xml")),
        "votes": votes.total(),
    }
    stored = VoteCount.objects.values_list("document__docno", "vote_type", "n")
    assert {(docno, kind): n for docno, kind, n in stored} == votes
    assert sum(job.result["skipped"].values()) == (len(posts) - len(ids) + len(all_votes) - votes.total())
    accepted = {post["AcceptedAnswerId"] for post in posts if "AcceptedAnswerId" in post} & ids
    assert accepted_answers(collection) == accepted
    for post in posts:
        if post["PostTypeId"] in {"1", "2"}:
            document = Document.objects.get(docno=post["Id"])
            assert document.thread == post.get("ParentId", post["Id"])
            assert document.score == int(post["Score"])
            assert document.author_code == post.get("OwnerUserId", "")
            assert document.published_at is not None
            assert document.published_at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] == post["CreationDate"]


def test_thread_of_any_length_is_imported_or_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A post that is too long is left out, and so is a thread that no chunk holds; line ends and emoji stay."""
    threads = samples.path("bolt-threads.xml").read_bytes()
    monkeypatch.setattr("assay.formats.documents.dump.MAX_ROW", 1_500_000)  # so that the file is small
    posts = [b"\r\n\xf0\x9f\x98\x80 &amp;\r\n", b"x" * 1_000_001, b"owl " * 650_000]
    pages = [b'<doc id="t%d"><post id="p">%s</post></doc>\n' % row for row in enumerate(posts)]
    path = tmp_path / "forum.xml"
    path.write_bytes(threads + b"".join(pages) + threads.partition(b"?>")[2].replace(b"bolt-", b"other-"))
    collection = empty()

    job = imported(collection, path)

    assert job.state == Job.State.DONE, job.error
    assert (collection.counts["threads"], collection.counts["posts"]) == (8, 17)
    assert sources(collection.pk, ["t0:p"]) == {"t0:p": ("\r\n😀 &amp;\r\n", "")}
    [stored] = Import.objects.filter(collection=collection)
    assert sum(stored.skipped.values()) == 2
    assert "a row longer than 10,000,000 bytes" in stored.skipped


def test_forum_is_imported_and_exported_with_the_source_of_its_posts(tmp_path: Path) -> None:
    collection = empty()

    job = imported(collection, samples.path("bolt-threads.xml"))

    assert job.state == Job.State.DONE, job.error
    assert (collection.counts["threads"], collection.counts["posts"]) == (3, 8)
    assert sources(collection.pk, ["bolt-eng-DF-1-101:p4", "bolt-eng-DF-1-101"]) == {
        "bolt-eng-DF-1-101:p4": ("\nThe cranes stop at six. Is anybody else late for the ferry?\n", "eng")
    }
    before = state_of(collection)
    rows = "\n".join(json.dumps(row) for row in documents(collection))
    again = empty("again")
    assert imported(again, write(tmp_path, "posts.jsonl", rows)).state == Job.State.DONE
    assert state_of(again) == before


def output_of(*arguments: object) -> str:
    out = StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.mark.django_db(transaction=True)
def test_command_creates_the_collection_and_reports_each_file(tmp_path: Path) -> None:
    write(tmp_path, "Posts.xml", dump("posts", question(1), answer(2, 1), row(Id=9, PostTypeId=4)))

    output = output_of(
        "import_collection", "math", tmp_path, "--name", "Math", "--host", "math.stackexchange.com"
    )

    collection = Collection.objects.get(slug="math")
    assert (collection.name, collection.hosts) == ("Math", ["math.stackexchange.com"])
    assert collection.status == Collection.Status.READY
    assert "Posts.xml: 1 question, 1 answer" in output
    assert "skipped 1: a post that is not a question or answer: a tag wiki excerpt" in output
    assert "Math now contains 1 question, 1 answer." in output


@pytest.mark.django_db(transaction=True)
def test_refused_import_creates_no_collection(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="neither XML nor"):
        output_of("import_collection", "math", write(tmp_path, "x.pdf", "%PDF"))

    assert not Collection.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_command_fails_with_the_error_of_the_import(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cut off"):
        output_of("import_collection", "math", write(tmp_path, "Posts.xml", many_posts(3)[:-5]))


@pytest.mark.django_db(transaction=True)
def test_killed_command_continues_when_it_is_repeated(
    fork: Factory, tmp_path: Path, settings: object
) -> None:
    settings.JOB_LOST_AFTER_SECONDS = 1  # type: ignore[attr-defined]
    path = write(tmp_path, "Posts.xml", many_posts(24_000))
    running = fork(["manage.py", "import_collection", "math", str(path)], tmp_path / "log")
    wait_until(lambda: Import.objects.filter(position__gt=3_000_000).exists(), reason=running.output)
    running.kill()
    before = Import.objects.get()
    n_before = Document.objects.count()
    settings.HOST_NAME = "renamed"  # type: ignore[attr-defined]  # as a container that was created again

    output = output_of("import_collection", "math", path)

    assert not before.is_complete
    assert 0 < n_before < 24_000
    assert "math now contains 8,000 questions, 16,000 answers." in output
    assert Document.objects.count() == 24_000
    assert (Job.objects.get().attempt, Import.objects.count()) == (2, 1)
