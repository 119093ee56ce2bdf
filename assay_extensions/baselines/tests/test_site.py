"""Baselines of a track on the page and in the API: the same bytes as by command, submitted once, offered to teams."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assay import samples
from assay.cli.main import main
from corpus.models import Build, Collection
from jobs import services as jobs
from jobs.models import Job
from pooling.models import Pool, PoolEntry, Run
from pooling.runs.services import withdraw
from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer, make_topic, make_track
from tests.pooling.conftest import Scene
from tracks.checklist.selectors import checklist
from tracks.models import Candidate, Download, Track
from tracks.topics.services import import_topics

pytestmark = pytest.mark.django_db

PROTOCOL = "arqmath-2020-task1"
TOPICS, POSTS = samples.path("topics.xml"), samples.path("documents.jsonl")


@pytest.fixture
def organizer() -> User:
    return make_organizer("maud")


@pytest.fixture
def track(folder: Path, organizer: User) -> Track:
    """An open track of the sample topics, on the sample documents."""
    call_command("import_collection", "posts", str(POSTS), stdout=io.StringIO(), stderr=io.StringIO())
    track = make_track(
        "lab", protocol=PROTOCOL, collection=Collection.objects.get(slug="posts"), status="draft"
    )
    import_topics(track=track, data=TOPICS.read_bytes(), name="topics.xml")
    for line in samples.path("questions.tsv").read_text().splitlines():
        code, question = line.split("\t")
        track.topics.filter(code=code).update(thread=question)
    Track.objects.filter(pk=track.pk).update(status="open")
    track.refresh_from_db()
    return track


def post(client: Client, track: Track, **data: Any) -> Any:
    return client.post(reverse("baselines:baselines", args=[track.slug]), data)


def made(track: Track, tag: str) -> Run:
    """The run of the newest job, which runs now."""
    jobs.run(Job.objects.latest("pk").pk)
    job = Job.objects.latest("pk")
    assert job.error == ""
    run = Run.objects.get(track=track, tag=tag, status=Run.Status.SUBMITTED)
    assert job.result["run"] == run.pk
    return run


def bytes_of(run: Run) -> bytes:
    with run.original.open("rb") as file:
        content: bytes = file.read()
    return content


@pytest.fixture
def client(client: Client, organizer: User) -> Client:
    client.force_login(organizer)
    return client


@pytest.mark.parametrize("method", ["tf-idf", "bm25", "linked-posts"])
def test_baseline_of_the_page_is_that_of_the_command_to_the_byte(
    track: Track, client: Client, tmp_path: Path, method: str
) -> None:
    links = samples.path("links.tsv")
    files = {"links": SimpleUploadedFile("links.tsv", links.read_bytes())} if method == "linked-posts" else {}
    output = tmp_path / "run.tsv"

    answer = post(client, track, action="make", method=method, team="Organizers", **files)
    run = made(track, method)
    options = ["--links", str(links), "--questions", str(samples.path("questions.tsv"))] if files else []
    paths = ["--topics", str(TOPICS), "--collection", str(POSTS), "--output", str(output)]
    main(["baseline", method, "--protocol", PROTOCOL, *paths, "--processes", "1", "--quiet", *options])

    assert answer.status_code == 302
    assert bytes_of(run) == output.read_bytes()
    assert (run.kind, run.team.name, run.uses) == ("baseline", "Organizers", "both")
    assert method in client.get(reverse("baselines:baselines", args=[track.slug])).content.decode()


@pytest.mark.parametrize("seeds", ["no pool", "by page", "by program"])
def test_tangent_s_of_the_page_is_that_of_the_command_to_the_byte(
    folder: Path, client: Client, organizer: User, tmp_path: Path, seeds: str
) -> None:
    index, of_topics = samples.path("formulas-slt.tsv"), samples.path("topic-formulas-slt.tsv")
    topics, output = samples.path("formula-topics.xml"), tmp_path / "run.tsv"
    for slug, paths in {
        "posts": [samples.path("formulas-latex.tsv"), index],
        "questions": [of_topics],
    }.items():
        for path in paths:
            call_command("import_collection", slug, str(path), stdout=io.StringIO(), stderr=io.StringIO())
    posts, questions = Collection.objects.get(slug="posts"), Collection.objects.get(slug="questions")
    track = make_track("formulas", protocol="arqmath-2021-task2", collection=posts, status="draft")
    Track.objects.filter(pk=track.pk).update(topic_collection=questions)
    track.refresh_from_db()
    import_topics(track=track, data=topics.read_bytes(), name="formula-topics.xml")
    Track.objects.filter(pk=track.pk).update(status="open")
    pool, file = question_pool(posts, organizer), tmp_path / "pool.tsv"
    file.write_text("A.1\t24\t1\nA.1\t23\t2\n")
    data = {"method": "tangent-s"} | ({} if seeds == "no pool" else {"pool": pool.pk})

    if seeds == "by program":
        answer = call(api(organizer), "post", "baselines", track.slug, data=data)
    else:
        answer = post(client, track, action="make", team="Organizers", **data)
    run = made(track, "tangent-s")
    paths = ["--topics", str(topics), "--formulas", str(index), "--topic-formulas", str(of_topics)]
    options = ["--output", str(output), "--quiet", "--processes", "1"]
    options += [] if seeds == "no pool" else ["--pool", str(file)]
    main(["baseline", "tangent-s", "--protocol", "arqmath-2021-task2", *paths, *options])

    assert answer.status_code in {302, 202}
    assert bytes_of(run) == output.read_bytes()
    assert (run.n_topics == 1) == (seeds != "no pool")
    assert run.uses == "math"
    assert (
        f"{pool} of questions"
        in client.get(reverse("baselines:baselines", args=[track.slug])).content.decode()
    )
    new_pool = " ".join(client.get(reverse("pooling:new_pool", args=[track.slug])).content.decode().split())
    assert f"The formulas in {pool} of questions can be pooled too" in new_pool


def question_pool(collection: Collection, by: User) -> Pool:
    """A pool of two answers of topic A.1, in a track of questions on the same collection."""
    track = make_track("questions", collection=collection)
    topic = make_topic(track, "A.1")
    pool = Pool.objects.create(
        track=track, name="Main", protocol=track.protocol, seed=1, status=Pool.Status.READY, created_by=by
    )
    for position, docno in enumerate(("24", "23"), 1):
        PoolEntry.objects.create(pool=pool, topic=topic, docno=docno, position=position)
    return pool


def test_pool_of_another_collection_or_of_formulas_is_no_choice(
    track: Track, client: Client, organizer: User
) -> None:
    pool = question_pool(track.collection, organizer)  # type: ignore[arg-type]  # the track has one

    page = client.get(reverse("baselines:baselines", args=[track.slug])).content.decode()
    answer = call(api(organizer), "post", "baselines", track.slug, data={"method": "bm25", "pool": pool.pk})

    new_pool = client.get(reverse("pooling:new_pool", args=[track.slug])).content.decode()
    assert "Only formulas in the posts" not in page + new_pool
    assert (answer.status_code, "lab ranks no formulas" in json.dumps(answer.json())) == (400, True)


def test_tangent_s_needs_formulas_as_mathml(track: Track, client: Client) -> None:
    answer = post(client, track, action="make", method="tangent-s", team="Organizers")

    assert "has no formulas in MathML" in answer.content.decode()


def test_fusion_of_the_page_is_that_of_the_command_to_the_byte(
    track: Track, client: Client, tmp_path: Path
) -> None:
    paths = []
    for method in ("tf-idf", "bm25"):
        post(client, track, action="make", method=method, team="Organizers", depth=3)
        run = made(track, method)
        paths.append(tmp_path / f"{method}.tsv")
        paths[-1].write_bytes(bytes_of(run))
    ids = list(Run.objects.order_by("pk").values_list("pk", flat=True))
    fused = {"fusion-runs": ids, "fusion-method": "sum", "fusion-norm": "min-max", "fusion-weights": "2,1"}

    answer = post(
        client, track, action="fuse", **fused, **{"fusion-tag": "both", "fusion-team": "Organizers"}
    )
    run = made(track, "both")
    output = tmp_path / "fused.tsv"
    weighted = ["--weights", "2,1", "--tag", "both", "--output", str(output)]
    main(["fuse", "--protocol", PROTOCOL, *weighted, "--quiet", *map(str, paths)])

    assert answer.status_code == 302
    assert bytes_of(run) == output.read_bytes()


def test_links_of_candidates_give_the_same_linked_posts(track: Track, client: Client) -> None:
    links = samples.path("links.tsv")
    file = SimpleUploadedFile("links.tsv", links.read_bytes() + b"1\tcaf\xe9\trelated\n")
    post(client, track, action="make", method="linked-posts", team="Organizers", tag="by-file", links=file)
    page = client.get(reverse("baselines:baselines", args=[track.slug])).content.decode()
    assert "is not UTF-8 and is read as Windows-1252." in page
    by_file = bytes_of(made(track, "by-file"))
    rows = [line.split("\t") for line in links.read_text().splitlines()[1:]]
    counts = dict.fromkeys(("score", "answers", "formulas", "reputation", "length"), 0)
    for docno in {question for question, _, _ in rows}:
        linked = [each for question, each, kind in rows if (question, kind) == (docno, "duplicate")]
        fields = {"title": "", "body": "", "text": "", "tags": [], "related": [], "duplicates": linked}
        Candidate.objects.create(track=track, docno=docno, **fields, **counts)

    post(client, track, action="make", method="linked-posts", team="Organizers", tag="by-candidates")

    assert bytes_of(made(track, "by-candidates")) == by_file.replace(b"by-file", b"by-candidates")


def test_page_says_for_how_many_topics_links_lead_to_answers(track: Track, client: Client) -> None:
    links = [line.split("\t") for line in samples.path("links.tsv").read_text().splitlines()[1:]]
    answered = set(track.collection.documents.filter(kind="answer").values_list("thread", flat=True))  # type: ignore[union-attr]
    related = {question for question, linked, kind in links if kind == "related" and linked in answered}
    before = client.get(reverse("baselines:baselines", args=[track.slug])).content.decode()
    for docno in related:
        fields = {"title": "", "body": "", "text": "", "tags": [], "duplicates": []}
        counts = dict.fromkeys(("score", "answers", "formulas", "reputation", "length"), 0)
        own = [linked for question, linked, kind in links if (question, kind) == (docno, "related")]
        Candidate.objects.create(track=track, docno=docno, related=own, **fields, **counts)

    after = client.get(reverse("baselines:baselines", args=[track.slug])).content.decode()
    post(client, track, action="make", method="linked-posts", team="Organizers", related="on")

    n = track.topics.filter(thread__in=related).count()
    assert n
    assert "They lead to no answer." in before
    assert f"They lead to answers in the collection: related questions for {n} topic" in after
    assert made(track, "linked-posts").n_topics == n


def test_repeated_attempt_submits_no_second_run(track: Track, client: Client) -> None:
    post(client, track, action="make", method="bm25", team="Organizers")
    assert not track.teams.filter(name="Organizers").exists()  # a job that fails leaves no team
    run = made(track, "bm25")

    Job.objects.update(
        state=Job.State.QUEUED
    )  # as if the worker had been killed before the job was marked as done

    assert made(track, "bm25") == run
    assert Run.objects.count() == 1


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (
            {"method": "linked-posts"},
            "The candidates that became topics know no duplicate question of a topic",
        ),
        (
            {"method": "linked-posts", "links": b"1\t2\tduplicate\n"},
            "The file knows no duplicate question of a",
        ),
        (
            {"method": "linked-posts", "links": b"1\t2\tduplicate\n", "related": "on"},
            "no duplicate or related question of a topic that has answers in the collection",
        ),
        ({"method": "bm25", "tag": "two words"}, "A tag is one word"),
        ({"method": "bm25", "related": "on"}, "Only linked posts follow links."),
        ({"method": "bm25", "depth": 5000}, "a number of at most 1000."),
        ({"method": "word2vec"}, "Choose one of the list"),
        ({"method": "linked-posts", "links": b"1\tduplicate\n"}, "links.tsv, line 1: expected question"),
    ],
)
def test_wrong_field_is_named_and_no_job_starts(
    track: Track, client: Client, data: dict[str, Any], complaint: str
) -> None:
    if "links" in data:
        data = data | {"links": SimpleUploadedFile("links.tsv", data["links"])}

    answer = post(client, track, action="make", team="Organizers", **data)

    assert answer.status_code == 422
    assert complaint in answer.content.decode()
    assert not Job.objects.filter(kind="pooling.make_baseline").exists()


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({"runs": 1}, "Choose at least two runs."),
        ({"runs": 2, "weights": "1,2,3"}, "Got 3 weights for 2 runs."),
        ({"runs": 2, "weights": "1,-2"}, "Weights are numbers above 0"),
        ({"runs": 2, "method": "mnz", "norm": "z-score"}, "CombMNZ cannot use z-scores"),
        ({"runs": 2, "method": "gmnz"}, "“gmnz” is not in it"),
    ],
)
def test_wrong_fusion_is_named(scene: Scene, client: Client, data: dict[str, Any], complaint: str) -> None:
    ids = [scene.submit(write(scene, n), tag=f"run-{n}").pk for n in (1, 2)]
    data = {"method": "sum", "norm": "min-max", "tag": "both", "team": "Organizers"} | data
    data["runs"] = ids[: data["runs"]]

    answer = post(
        client, scene.track, action="fuse", **{f"fusion-{name}": value for name, value in data.items()}
    )

    assert answer.status_code == 422
    assert complaint in answer.content.decode()
    assert not Job.objects.exists()


def write(scene: Scene, n: int) -> Path:
    path = scene.folder.parent / f"{n}.tsv"
    path.write_text("".join(f"A.1\t{100 + rank}\t{rank}\t{10 - rank - n / 8}\trun\n" for rank in (1, 2, 3)))
    return path


def test_track_that_accepts_no_runs_says_why(track: Track, client: Client) -> None:
    Track.objects.filter(pk=track.pk).update(status="closed")

    page = client.get(reverse("baselines:baselines", args=[track.slug])).content.decode()
    answer = post(client, track, action="make", method="bm25", team="Organizers")

    assert "No baseline can be submitted now" in page
    assert f'href="{reverse("tracks:open_track", args=[track.slug])}">Open for runs…' in page
    assert 'value="make"' not in page
    assert answer.status_code == 422
    assert not Job.objects.filter(kind="pooling.make_baseline").exists()


def test_checklist_offers_baselines_while_runs_are_accepted(track: Track, client: Client) -> None:
    def state() -> str:
        points = {point.label: point for phase in checklist(track).phases for point in phase.points}
        return points["Baselines"].state if "Baselines" in points else ""

    offered = state()
    home = client.get(track.get_absolute_url()).content.decode()
    Track.objects.filter(pk=track.pk).update(status="closed")
    track.refresh_from_db()
    closed = state()
    Track.objects.filter(pk=track.pk).update(status="open")
    track.refresh_from_db()
    post(client, track, action="make", method="bm25", team="Organizers")
    made(track, "bm25")

    assert (offered, closed, state()) == ("none yet", "", "1 run")
    assert reverse("baselines:baselines", args=[track.slug]) in home


def test_track_without_collection_or_links_is_refused(track: Track, client: Client) -> None:
    track.topics.filter(code="A.1").update(thread="")
    links = SimpleUploadedFile("links.tsv", samples.path("links.tsv").read_bytes())

    no_thread = post(client, track, action="make", method="linked-posts", team="Organizers", links=links)
    Track.objects.filter(pk=track.pk).update(collection=None)
    no_collection = post(client, track, action="make", method="bm25", team="Organizers")

    assert "The topics A.1 do not name their question" in no_thread.content.decode()
    assert "there is nothing to search" in no_collection.content.decode()


def test_offered_baseline_is_a_download_and_runs_of_teams_are_not(track: Track, client: Client) -> None:
    post(client, track, action="make", method="bm25", team="Organizers")
    run = made(track, "bm25")
    address = reverse("baselines:offer_baseline", args=[run.pk])

    answer = client.post(address)
    again = client.post(address)
    row = Download.objects.get(track=track)
    Run.objects.filter(pk=run.pk).update(kind="primary")
    of_team = client.post(address)

    with row.file.open("rb") as file:
        assert file.read() == bytes_of(run)
    assert (answer.status_code, again.status_code, of_team.status_code) == (302, 409, 409)
    assert row.name == "lab-bm25.tsv"
    assert row.released_at is None


def test_many_runs_to_fuse_are_searched_and_a_checked_one_stays(
    scene: Scene, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [scene.submit(write(scene, n), tag=tag) for n, tag in enumerate(("first", "second", "third"))]
    for module in ("assay_extensions.baselines.site.forms", "web.pages"):
        monkeypatch.setattr(f"{module}.ROWS_ON_PAGE", 1)
    client.force_login(scene.organizer)
    address = reverse("baselines:baselines", args=[scene.track.slug])

    def listed(page: Any) -> list[str]:
        boxes = re.findall(r'name="fusion-runs" value="(\d+)"', page.content.decode())
        return [run.tag for run in runs if str(run.pk) in boxes]

    assert listed(client.get(address)) == ["first"]
    assert listed(client.get(f"{address}?q=nothing+SECOND")) == ["second"]
    sent = {"action": "fuse", "fusion-runs": [runs[2].pk], "fusion-method": "sum", "fusion-norm": "none"}
    wrong = client.post(f"{address}?q=second", sent)
    assert wrong.status_code == 422
    assert listed(wrong) == ["second", "third"]


def test_withdrawn_run_is_not_fused(scene: Scene) -> None:
    first, second = (scene.submit(write(scene, n), tag=f"run-{n}") for n in (1, 2))
    data = {"runs": [first.pk, second.pk], "tag": "both"}
    answer = call(api(scene.organizer), "post", "fusions", scene.track.slug, data=data)
    withdraw(run=second, by=scene.organizer)

    jobs.run(answer.json()["id"])

    assert "Withdrawn meanwhile: 1 run of those to fuse." in Job.objects.get().error


def test_programs_make_baselines_and_others_may_not(track: Track, organizer: User, scene: Scene) -> None:
    made_by_api = call(api(organizer), "post", "baselines", track.slug, data={"method": "bm25", "depth": 2})
    wrong = call(api(organizer), "post", "baselines", track.slug, data={"method": "bm25", "depth": 9999})
    by_member = call(api(scene.member), "post", "baselines", track.slug, data={"method": "bm25"})
    run = made(track, "bm25")
    offered = call(api(organizer), "post", "offer_baseline", run.pk)

    assert made_by_api.status_code == 202
    assert (wrong.status_code, "depth" in json.dumps(wrong.json()["errors"])) == (400, True)
    assert by_member.status_code == 403
    assert max(line.split(b"\t")[2] for line in bytes_of(run).splitlines()) == b"2"
    assert offered.json()["file_name"] == "lab-bm25.tsv"


def test_formulas_of_topics_are_converted_as_those_of_the_collection_were(
    folder: Path, client: Client, tmp_path: Path
) -> None:
    index, topics = samples.path("formulas-latex.tsv"), samples.path("formula-topics.xml")
    main(["collection", "convert", str(index), "--output", str(tmp_path), "--converter", "latex2mathml"])
    for path in (index, *(tmp_path / "slt").glob("*.tsv")):
        call_command("import_collection", "posts", str(path), stdout=io.StringIO(), stderr=io.StringIO())
    posts = Collection.objects.get(slug="posts")
    track = make_track("formulas", protocol="arqmath-2021-task2", collection=posts, status="draft")
    import_topics(track=track, data=topics.read_bytes(), name="formula-topics.xml")
    Track.objects.filter(pk=track.pk).update(status="open")

    early = post(client, track, action="make", method="tangent-s", team="Organizers").content.decode()
    Build.objects.create(collection=posts, converter="latex2mathml")
    post(client, track, action="make", method="tangent-s", team="Organizers")
    run = made(track, "tangent-s")

    assert "The formulas of the topics of formulas are not stored as MathML" in early
    converted, output = tmp_path / "topics", tmp_path / "run.tsv"
    main(["collection", "convert", str(topics), "--output", str(converted), "--converter", "latex2mathml"])
    paths = ["--topics", str(topics), "--formulas", str(tmp_path / "slt"), "--topic-formulas", str(converted)]
    options = ["--output", str(output), "--quiet", "--processes", "1"]
    assert main(["baseline", "tangent-s", "--protocol", "arqmath-2021-task2", *paths, *options]) == 0
    assert bytes_of(run) == output.read_bytes()
