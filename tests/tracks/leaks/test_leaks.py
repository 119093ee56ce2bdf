"""The check for leaks on the site: the leaks of the command, and the track that opens only with a reason."""

import csv
import io
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from corpus.models import DocumentLink
from jobs import services as jobs
from jobs.models import Job
from tests.helpers.api import api, call
from tests.helpers.factories import make_collection, make_document, make_organizer, make_topic, make_track
from tracks.models import Candidate, LeakCheck, Track

pytestmark = pytest.mark.django_db

TEXT = "<p>Let f be a continuous function on a compact interval. Why is the function f bounded there?</p>"


@pytest.fixture
def track(monkeypatch: pytest.MonkeyPatch) -> Track:
    """A draft with a topic from candidate 20, and a collection with texts that give it away."""
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    collection = make_collection("math")
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
    client.post(reverse("tracks:leaks", args=["lab"]), {"overlap": "0.6"} | data)
    latest = LeakCheck.objects.latest("pk")
    jobs.run(latest.job_id)
    latest.refresh_from_db()
    assert latest.is_complete, Job.objects.get(pk=latest.job_id).error
    return latest


def leaks_of(client: Client) -> list[tuple[str, str]]:
    report = client.get(reverse("tracks:leaks_tsv", args=["lab"])).content.decode()
    return [(row["kind"], row["docno"]) for row in csv.DictReader(io.StringIO(report), delimiter="\t")]


def test_check_lists_leaks_and_the_track_opens_only_with_a_reason(client: Client, track: Track) -> None:
    page, opening = reverse("tracks:leaks", args=["lab"]), reverse("tracks:open_track", args=["lab"])

    checked = check(client)
    shown = client.get(page).content.decode()
    overview = client.get(track.get_absolute_url()).content.decode()
    refused = client.post(opening)
    unexplained = client.post(reverse("tracks:accept_leaks", args=["lab"]), {"reason": ""})
    client.post(reverse("tracks:accept_leaks", args=["lab"]), {"reason": "It is a comment on style."})
    opened = client.post(opening)

    assert leaks_of(client) == [
        *(("mention", "2"), ("same title", "3"), ("near-duplicate", "1"), ("linked duplicate", "3"))
    ]
    assert (checked.n_forbidden, checked.unknown) == (1, [])
    assert "The track cannot be opened." in shown
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

    page = client.get(reverse("tracks:leaks", args=["lab"])).content.decode()

    assert (checked.unknown, checked.n_forbidden) == (["A.1"], 0)
    assert "only texts were compared" in page
    assert "check again" in page


def test_track_without_topics_or_while_a_check_runs_is_refused(client: Client, track: Track) -> None:
    address = reverse("tracks:leaks", args=["lab"])
    client.post(address, {"overlap": "0.6"})
    again = client.post(address, {"overlap": "0.6"})
    wrong = client.post(address, {"overlap": "2"})
    other = make_track("empty", collection=None, status="draft")
    empty = client.post(reverse("tracks:leaks", args=[other.slug]), {"overlap": "0.6"})

    assert {again.status_code, wrong.status_code, empty.status_code} == {422}
    assert "is running. Wait until it is finished." in again.content.decode()
    assert "needs topics and a collection" in empty.content.decode()
    assert LeakCheck.objects.count() == 1


def test_programs_check_read_and_accept(client: Client, track: Track) -> None:
    program = api(make_organizer("olga"))

    asked = call(program, "post", "leaks", "lab", data={"overlap": 0.5})
    jobs.run(LeakCheck.objects.get().job_id)
    shown = call(program, "get", "leaks", "lab").json()
    accepted = call(program, "post", "accept_leaks", "lab", data={"reason": "Known."})

    assert asked.status_code == 202
    assert shown["n_forbidden"] == 1
    assert [leak["docno"] for leak in shown["leaks"] if leak["is_forbidden"]] == ["2"]
    assert accepted.json()["reason"] == "Known."
