"""The check for leaks on the site: the leaks of the command, and the track that opens only with a reason."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from assay.formats.topics.reader import TopicRow
from assay_extensions.building.build import build, opened
from assay_extensions.building.leaks import check as check_files
from assay_extensions.building.settings import Period, Settings
from assay_extensions.building.site.leaks import selectors
from corpus.imports import recognition
from corpus.imports.services import start_import
from corpus.models import DocumentLink, Import
from jobs import services as jobs
from jobs.models import Job
from tests.helpers.api import api, call
from tests.helpers.confirming import confirm
from tests.helpers.dumps import answer, dump, question, row, write
from tests.helpers.factories import (
    make_collection,
    make_deadline,
    make_document,
    make_organizer,
    make_topic,
    make_track,
)
from tracks.checklist.selectors import checklist
from tracks.models import Candidate, LeakCheck, Track

pytestmark = pytest.mark.django_db

TEXT = "<p>Let f be a continuous function on a compact interval. Why is the function f bounded there?</p>"


@pytest.fixture
def track(monkeypatch: pytest.MonkeyPatch) -> Track:
    """A draft with a topic from candidate 20, and a collection with texts that give it away."""
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    collection = make_collection("math", counts={"questions": 2, "answers": 1})
    near = TEXT.replace("there", "here")
    make_document(collection, "1", kind="question", thread="1", title="On bounds", body=near)
    make_document(
        collection, "2", kind="answer", thread="1", body="See https://math.example/questions/20/why"
    )
    make_document(collection, "3", kind="question", thread="3", title="Why bounded?", body="<p>Other</p>")
    track = make_track("lab", collection=collection, status="draft")
    make_topic(track, "A.1", title="Why bounded?", body=TEXT)
    make_candidate("20", track)
    return track


def make_candidate(docno: str, track: Track) -> None:
    numbers = dict.fromkeys(("score", "answers", "formulas", "reputation", "length"), 0)
    Candidate.objects.create(
        track=track,
        docno=docno,
        title="Why bounded?",
        body=TEXT,
        tags=[],
        duplicates=["3"],
        related=[],
        **numbers,
    )


@pytest.fixture
def client(client: Client) -> Client:
    client.force_login(make_organizer("maud"))
    return client


def check(client: Client, **data: Any) -> LeakCheck:
    client.post(reverse("building:leaks", args=["lab"]), {"overlap": "0.6"} | data)
    latest = LeakCheck.objects.latest("pk")
    jobs.run(latest.job_id)
    latest.refresh_from_db()
    assert latest.is_complete, Job.objects.get(pk=latest.job_id).error
    return latest


def leaks_of(client: Client) -> list[tuple[str, str]]:
    report = client.get(reverse("building:leaks_tsv", args=["lab"])).content.decode()
    return [(row["kind"], row["docno"]) for row in csv.DictReader(io.StringIO(report), delimiter="\t")]


def test_check_lists_leaks_and_the_track_opens_only_with_a_reason(client: Client, track: Track) -> None:
    page, opening = reverse("building:leaks", args=["lab"]), reverse("tracks:open_track", args=["lab"])

    checked = check(client)
    shown = client.get(page).content.decode()
    overview = client.get(track.get_absolute_url()).content.decode()
    refused = client.post(opening)
    unexplained = client.post(reverse("building:accept_leaks", args=["lab"]), {"reason": ""})
    client.post(reverse("building:accept_leaks", args=["lab"]), {"reason": "It is a comment on style."})
    opened = confirm(client, opening)

    assert leaks_of(client) == [
        *(("mention", "2"), ("same title", "3"), ("near-duplicate", "1"), ("linked duplicate", "3"))
    ]
    assert (checked.n_forbidden, checked.unknown) == (1, [])
    assert jobs.in_words(Job.objects.get(pk=checked.job_id)).startswith("The topics are checked for leaks: ")
    assert re.findall(r'aria-current="page">\s*(\w+)', shown) == ["Topics"]
    assert "The track cannot be opened before you remove the posts or accept the leaks." in shown
    assert "A post whose text has the address of that thread. Remove it." in shown
    assert reverse("corpus:thread", args=["math", "2"]) in shown
    assert "The collection gives topics away, so the track cannot be opened." in overview
    assert "See the leaks" in overview
    assert (refused.status_code, unexplained.status_code, opened.status_code) == (409, 422, 302)
    assert "gives topics away: 1 leak in the latest check" in refused.content.decode()
    assert "accepted by maud: It is a comment on style." in client.get(page).content.decode()


def test_overlap_and_published_links_count(client: Client, track: Track) -> None:
    assert track.collection is not None
    own = make_document(track.collection, "20", kind="question", thread="20", title="Other", body="x")
    other = track.collection.documents.get(docno="3")
    DocumentLink.objects.create(source=other, target=own, kind="related")

    check(client, overlap="0.99")

    kinds = [("own thread", "20"), ("published link", "3"), ("mention", "2"), ("same title", "3")]
    assert leaks_of(client)[:4] == kinds
    Candidate.objects.all().delete()
    track.topics.update(thread="20")
    check(client, overlap="0.99")
    assert leaks_of(client)[:4] == kinds


def test_question_of_a_topic_that_nobody_knows_is_named_and_outdated_checks_say_so(
    client: Client, track: Track
) -> None:
    Candidate.objects.all().delete()
    checked = check(client)
    make_topic(track, "A.2", title="Another")

    page = client.get(reverse("building:leaks", args=["lab"])).content.decode()
    home, opening = (
        client.get(f"{track.get_absolute_url()}{name}").content.decode() for name in ("", "open/")
    )
    looks = {problem.text: problem.accept for problem in checklist(track).with_looks().problems}
    remark = next(
        text for text in looks if text.startswith("The topic file does not name the thread of 1 of 1 topic.")
    )
    client.post(f"{track.get_absolute_url()}skip/", {"points": looks[remark]}, follow=True)
    skipped = client.get(f"{track.get_absolute_url()}open/").content.decode()

    words = "none forbidden, 2 reported by text, threads of 1 topic not checked"
    assert (words in home, f"Leaked topics: {words}" in opening) == (True, True)
    assert (remark in home, remark in opening, remark in skipped) == (True, True, False)
    assert (checked.unknown, checked.n_forbidden) == (["A.1"], 0)
    assert "does not know the question from which 1 topic was made" in page
    assert "check again" in page


def test_plain_documents_are_checked_by_their_texts_alone(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    collection = make_collection("news", counts={"documents": 1})
    make_document(collection, "LT-1", kind="document", title="Harbor dredging", body="<p>Mud</p>")
    track = make_track("lab", collection=collection, status="draft")
    make_topic(track, "301", title="Bicycle lanes", body="Find articles about bicycle lanes.")
    address = reverse("building:leaks", args=["lab"])

    before = client.get(address).content.decode()
    checked = check(client)
    after = client.get(address).content.decode()
    opening = client.get(f"{track.get_absolute_url()}open/").content.decode()

    assert checked.unknown == []
    assert "thread" not in before.split("<main")[1].split("</main")[0]
    assert "no document of the collection gives a topic away" in after
    assert "own thread" not in after
    assert "near-duplicate" in after
    assert "Leaked topics: none found" in opening
    assert "does not name the thread" not in opening


def test_track_without_topics_or_while_a_check_runs_is_refused(client: Client, track: Track) -> None:
    address = reverse("building:leaks", args=["lab"])
    client.post(address, {"overlap": "0.6"})
    again = client.post(address, {"overlap": "0.6"})
    wrong = client.post(address, {"overlap": "2"})
    other = make_track("empty", collection=None, status="draft")
    empty = client.post(reverse("building:leaks", args=[other.slug]), {"overlap": "0.6"})

    assert {again.status_code, wrong.status_code, empty.status_code} == {422}
    assert "is running. Wait until it is finished." in again.content.decode()
    assert "needs topics and a collection" in empty.content.decode()
    assert LeakCheck.objects.count() == 1


def test_programs_check_read_and_accept(client: Client, track: Track) -> None:
    program = api(make_organizer("olga"))

    asked = call(program, "post", "check_leaks", "lab", data={"overlap": 0.5})
    jobs.run(LeakCheck.objects.get().job_id)
    shown = call(program, "get", "leaks", "lab").json()
    accepted = call(program, "post", "accept_leaks", "lab", data={"reason": "Known."})

    assert asked.status_code == 202
    assert shown["n_forbidden"] == 1
    assert [leak["docno"] for leak in shown["leaks"] if leak["is_forbidden"]] == ["2"]
    assert accepted.json()["reason"] == "Known."


MENTIONS = (
    '<p>See <a href="https://math.example/questions/20/why-bounded">this</a>.</p>',
    '<p>See <a href="/q/20">this</a>.</p>',
    '<p>See <a href="//math.example/questions/20/why/21#21">this answer</a>.</p>',
    '<p>See <a href="https://math.example/questions/7/other#comment5_20">this comment</a>.</p>',
    '<p>See <a href="https://web.archive.org/web/2019/https://math.example/questions/20/why">a copy</a>.</p>',
    "<p>See https://math.example/a/21, in plain text.</p>",
    '<p>Not <a href="https://math.example/questions/200">this</a>, nor /questions/2.</p>',
    '<p>Not <a href="https://arxiv.org/abs/20">this</a>.</p>',
)


def test_mentions_in_imported_posts_are_those_of_the_command(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    early, late = "2018-06-01T00:00:00", "2019-06-01T00:00:00"
    posts = [question(n, Body=body, CreationDate=early) for n, body in enumerate(MENTIONS, 1)]
    own = [
        question(20, Title="Why bounded?", Body=TEXT, CreationDate=late),
        answer(21, 20, CreationDate=late),
    ]
    remark = row(Id=1, PostId=8, Text="As in [this](https://math.example/a/21/5).", CreationDate=early)
    for name, rows in (("dump", [*posts, *own]), ("early", posts), ("late", own)):
        (tmp_path / name).mkdir()
        write(tmp_path / name, "Posts.xml", dump("posts", *rows))
        write(tmp_path / name, "Comments.xml", dump("comments", *[remark] * (name != "late")))
    collections = {name: make_collection(name, hosts=["math.example"]) for name in ("early", "late")}
    for name, collection in collections.items():
        sources = recognition.sources_of([tmp_path / name])
        jobs.run(start_import(collection=collection, sources=sources, by=None).pk)
    lab = make_track(
        "lab", collection=collections["early"], topic_collection=collections["late"], status="draft"
    )
    make_topic(lab, "A.1", title="Why bounded?", body=TEXT, thread="20")

    check(client)
    periods = Settings(collection=Period("", "2019-01-01"), topics=Period("2019-01-01"))
    build(tmp_path / "dump", tmp_path / "built", periods, processes=0)
    with opened(tmp_path / "built") as store:
        topic = TopicRow("A.1", title="Why bounded?", body=TEXT)
        by_command = check_files(store, [topic], lambda _done, _total: None).leaks

    assert leaks_of(client) == [("mention", docno) for docno in ("1", "2", "3", "4", "5", "6", "8")]
    assert leaks_of(client) == [(leak.kind, leak.docno) for leak in by_command]


@pytest.mark.parametrize("change", ["topic", "thread", "topic collection", "import"])
def test_track_does_not_open_after_a_check_of_something_else(
    client: Client, track: Track, change: str
) -> None:
    assert track.collection is not None
    track.collection.documents.filter(docno="2").delete()
    assert check(client).n_forbidden == 0
    if change == "topic":  # as many topics as before; its own thread is in the collection
        track.topics.update(title="On bounds", body="x")
    elif change == "thread":
        track.topics.update(thread="3")
    elif change == "topic collection":
        Track.objects.update(topic_collection=make_collection("own"))
    else:
        Import.objects.create(collection=track.collection, name="more.xml", sha256="1" * 64)

    refused = confirm(client, reverse("tracks:open_track", args=["lab"]))
    shown = call(api(make_organizer("olga")), "get", "leaks", "lab").json()
    overview = client.get(track.get_absolute_url()).content.decode()

    assert refused.status_code == 409
    assert "changed after the latest check for leaks. Check again" in refused.content.decode()
    assert "Topics or the collection changed after the check." in overview
    assert shown["is_outdated"]
    check(client)
    if latest := LeakCheck.objects.latest("pk").n_forbidden:
        client.post(reverse("building:accept_leaks", args=["lab"]), {"reason": f"All {latest} are harmless."})
    assert confirm(client, reverse("tracks:open_track", args=["lab"])).status_code == 302


def test_checked_topics_do_not_change_before_a_set_opening_time(client: Client, track: Track) -> None:
    check(client)
    make_deadline(track, opens_at=3600)

    topics = SimpleUploadedFile("topics.jsonl", b'{"code": "A.1", "title": "On bounds"}\n')
    imported = client.post(
        reverse("tracks:import_topics", args=["lab"]), {"upload": topics, "holds": "topics"}
    )
    fields = {"name": "lab", "slug": "lab", "protocol": track.protocol_id, "collection": ""}
    edited = client.post(reverse("tracks:edit_track", args=["lab"]), fields)

    assert track.collection is not None
    documents = SimpleUploadedFile("more.jsonl", b'{"docno": "77", "text": "The answer."}\n')
    more = client.post(
        reverse("corpus:start_import"), {"collection": track.collection.pk, "upload": documents}
    )

    assert "Remove its opening time, make the change, check again" in more.content.decode()
    assert not Job.objects.filter(kind=Import.JOB, state__in=Job.UNFINISHED).exists()
    assert "Remove its opening time, make the change, check again" in imported.content.decode()
    assert "Remove its opening time, make the change, check again" in edited.content.decode()
    assert track.topics.get().title == "Why bounded?"


def test_check_that_ends_while_its_page_is_made_has_not_failed(
    client: Client, track: Track, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = reverse("building:leaks", args=["lab"])
    client.post(page, {"overlap": "0.6"})
    latest = selectors.latest_check

    def then_ends(track: Track) -> LeakCheck | None:
        newest = latest(track)
        jobs.run(LeakCheck.objects.latest("pk").job_id)
        return newest

    monkeypatch.setattr(selectors, "latest_check", then_ends)
    response = client.get(page)

    running = response.context["running"]
    assert running is None or not running.is_finished
