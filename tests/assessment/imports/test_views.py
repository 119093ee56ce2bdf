"""Judgments of other tools and installations, from the file through the preview to continued judging."""

import csv
import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.urls import reverse

from assessment.batches import services as batch_services
from assessment.imports import services, staging
from assessment.judging import services as task_services
from assessment.judgments.exports import lines_of
from assessment.judgments.services import Answer, submit_members
from assessment.models import Batch, Judgment, JudgmentImport, Task
from assessment.planning import services as assignment_services
from jobs import services as jobs
from jobs.models import Job
from pooling.models import Pool, PoolEntry
from scoring.qrels import services as qrels_services
from scoring.qrels.selectors import qrels_tsv
from tests.assessment.conftest import Scene
from tests.assessment.judging.test_members import add_unit
from tests.helpers.api import api, call
from tests.helpers.database import has_statistics
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track
from tests.helpers.judging import accept, judge, judge_all, make_batch, make_pool
from tracks.models import Assessor

pytestmark = pytest.mark.django_db

HEADER = [
    *("HITId", "AssignmentId", "WorkerId", "AcceptTime", "SubmitTime", "WorkTimeInSeconds"),
    *("Input.topic", "Input.docno", "Answer.grade", "Answer.comment", "Turkle.Username"),
]


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each topic is a part of its own, as in a large file."""
    monkeypatch.setattr(staging, "PART", 1)


@pytest.fixture
def organizer(client: Client, db: None) -> Client:
    client.force_login(make_organizer("olga"))
    return client


def docnos(scene: Scene, topic: str = "A.1") -> list[str]:
    return list(
        scene.pool.entries.filter(topic__code=topic).order_by("position").values_list("docno", flat=True)
    )


def turkle(*rows: tuple[str, str, str, str], minute: int = 30) -> bytes:
    """Turkle's results from topic, docno, answer and user."""
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerow(HEADER)
    for n, (topic, docno, answer, user) in enumerate(rows):
        taken, done = (f"Fri Nov 20 10:{minute + n}:{second} UTC 2026" for second in ("00", "25"))
        writer.writerow([n, n, 1, taken, done, 25, topic, docno, answer, f"remark {n}", user])
    return file.getvalue().encode()


def upload(
    client: Client, scene: Scene, content: bytes, name: str = "results.csv", **fields: str
) -> JudgmentImport:
    data = {"upload": SimpleUploadedFile(name, content), "batch": "Turkle", "kind": "main"} | fields
    answer = client.post(reverse("assessment:imports", args=[scene.track.slug]), data)
    assert answer.status_code == 302, answer.content.decode()
    return JudgmentImport.objects.latest("pk")


def run(client: Client, source: JudgmentImport) -> str:
    return client.post(reverse("assessment:run_import", args=[source.pk]), follow=True).content.decode()


def exported(batch_of: object) -> str:
    return "".join(lines_of(Judgment.objects.filter(track=batch_of), "csv"))


def test_a_running_campaign_moves_in_and_continues(scene: Scene, organizer: Client) -> None:
    (first, second, third), other = docnos(scene), docnos(scene, "A.2")[0]
    results = turkle(
        ("A.1", first, "3", "ada"), ("A.1", second, "Low", "ada"), ("A.2", other, "do-not-know", "bob")
    )  # fmt: skip

    source = upload(organizer, scene, results)
    page = organizer.get(source.get_absolute_url()).content.decode()
    assert "Import 3 judgments" in page
    assert not Judgment.objects.exists()
    assert "3 judgments imported from results.csv" in run(organizer, source)

    judgment = Judgment.objects.earliest("pk")
    batch = judgment.batch
    assert (batch.name, batch.kind, batch.status, batch.pool) == ("Turkle", "main", "closed", scene.pool)
    assert (judgment.choice, judgment.grade, judgment.comment) == ("high", 3, "remark 0")
    assert (judgment.source, judgment.from_import, judgment.seconds) == ("turkle", source, 25)
    assert judgment.created_at == datetime(2026, 11, 20, 10, 30, 25, tzinfo=UTC)
    assert judgment.task.accepted_at == datetime(2026, 11, 20, 10, 30, tzinfo=UTC)
    batch_services.open_for_judging(batch=batch)
    task = accept(batch, scene.ada)
    assert task.entry.docno == third
    judge(task)
    assert task_services.accept_next(batch=batch, assessor=scene.ada) is None
    assert len(judge_all(batch, scene.bob)) == 2
    assert task_services.accept_next(batch=scene.batch, assessor=scene.ada) is None
    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=make_organizer())
    assert f"A.1\t0\t{first}\t3".encode() in qrels_tsv(qrels)


def test_nothing_is_stored_if_a_later_part_of_the_file_is_refused(scene: Scene, organizer: Client) -> None:
    source = upload(
        organizer,
        scene,
        turkle(("A.1", docnos(scene)[0], "3", "ada"), ("A.2", docnos(scene, "A.2")[0], "3", "bob")),
    )
    scene.track.topics.filter(code="A.2").update(code="A.3")  # after the check

    page = run(organizer, source)

    assert "it has 1 error" in page
    assert not Judgment.objects.exists()
    assert not Batch.objects.filter(name="Turkle").exists()


def test_judgments_that_are_here_already_are_not_stored_twice(scene: Scene, organizer: Client) -> None:
    first, second, _ = docnos(scene)
    rows = [("A.1", first, "3", "bob"), ("A.1", second, "0", "bob")]
    run(organizer, upload(organizer, scene, turkle(*rows[:1])))

    again = upload(organizer, scene, turkle(*rows))
    report = again.report
    run(organizer, again)

    assert (report["new"], report["equal"], report["n_complaints"]) == (1, 1, 0)
    assert Judgment.objects.count() == 2
    nothing = upload(organizer, scene, turkle(*rows))
    assert "nothing new" in organizer.get(nothing.get_absolute_url()).content.decode()
    assert "it has nothing new" in run(organizer, nothing)


def test_deep_json_is_a_complaint_about_its_line(scene: Scene, organizer: Client) -> None:
    deep = "[" * 5000 + "]" * 5000
    good = '{"topic": "A.1", "docno": "9", "assessor": "ada", "grade": 3, "answers": "%s"}'
    file = f'{{"topic": {deep}}}\n{good % deep}\n'

    source = upload(organizer, scene, file.encode(), "deep.jsonl")
    page = organizer.get(source.get_absolute_url()).content.decode()

    assert "not a line of JSON: nested too deeply" in page


def test_every_line_that_cannot_come_in_is_named_and_nothing_is_imported(
    scene: Scene, organizer: Client
) -> None:
    first, second, _ = docnos(scene)
    run(organizer, upload(organizer, scene, turkle(("A.1", second, "3", "bob"))))
    source = upload(
        organizer,
        scene,
        turkle(
            ("A.9", first, "3", "bob"), ("A.1", "77", "3", "bob"), ("A.1", first, "3", "zoe"),
            ("A.1", first, "9", "bob"), ("A.1", first, "great", "kim"), ("A.1", second, "0", "bob"),
            ("A.1", first, "3", "bob"), ("A.1", first, "3", "ada"),
        ),
    )  # fmt: skip

    page = organizer.get(source.get_absolute_url()).content.decode()

    lines = [(line, text.partition(";")[0]) for line, text in source.report["complaints"]]
    assert lines == [
        (2, "the track has no topic A.9"),
        (3, f"the pool “{scene.pool}” has no unit 77 for topic A.1"),
        (4, "the track has no assessor zoe"),
        (5, "grade 9 is not in the protocol"),
        (6, "'great' is not a choice of the protocol"),
        (6, "the track has no assessor kim"),
        (7, f"A.1 {second}: bob chose high here, and not-relevant in the file"),
        (
            9,
            f"another assessor has judged {first} of A.1, and the batch asks for 1 judge of a unit",
        ),
    ]
    assert "More judges than the batch asks for" in page
    assert "Import 1 judgment" not in page
    assert "it has 8 errors" in run(organizer, source)
    assert Judgment.objects.count() == 1


def test_judgments_that_are_here_are_kept_and_the_others_imported(scene: Scene, organizer: Client) -> None:
    first, second, third = docnos(scene)
    run(organizer, upload(organizer, scene, turkle(("A.1", first, "3", "bob"))))
    rows = (("A.1", first, "0", "bob"), ("A.1", second, "2", "bob"), ("A.1", third, "1", "bob"))
    source = upload(organizer, scene, turkle(*rows))
    page = " ".join(organizer.get(source.get_absolute_url()).content.decode().split())
    assert "Import the other 2, keep the 1 that is here" in page
    assert "it has 1 error" in run(organizer, source)
    assert Judgment.objects.count() == 1

    keep = organizer.post(reverse("assessment:run_import", args=[source.pk]), {"keep": "1"}, follow=True)

    page = " ".join(keep.content.decode().split())
    assert "2 judgments imported from results.csv" in page
    assert "<dt>Different here, and kept</dt><dd>1</dd>" in page
    chosen = dict(Judgment.objects.values_list("docno", "grade"))
    assert chosen == {first: 3, second: 2, third: 1}


def test_a_program_keeps_the_judgments_that_are_here(scene: Scene, organizer: Client) -> None:
    first, second, _ = docnos(scene)
    run(organizer, upload(organizer, scene, turkle(("A.1", first, "3", "bob"))))
    source = upload(organizer, scene, turkle(("A.1", first, "0", "bob"), ("A.1", second, "2", "bob")))
    client = api(make_organizer("api"))

    refused = call(client, "POST", "run_judgment_import", source.pk)
    imported = call(client, "POST", "run_judgment_import", source.pk, data={"may_skip_conflicts": True})

    assert refused.status_code == 409
    assert imported.json()["n_imported"] == 1
    assert dict(Judgment.objects.values_list("docno", "grade")) == {first: 3, second: 2}


def test_a_file_with_a_wrong_line_is_not_imported_around_its_conflicts(
    scene: Scene, organizer: Client
) -> None:
    first, second, third = docnos(scene)
    run(organizer, upload(organizer, scene, turkle(("A.1", first, "3", "bob"))))
    rows = (("A.1", first, "0", "bob"), ("A.1", second, "9", "bob"), ("A.1", third, "1", "bob"))
    source = upload(organizer, scene, turkle(*rows))

    refused = organizer.post(reverse("assessment:run_import", args=[source.pk]), {"keep": "1"})

    assert refused.status_code == 409
    assert "keep the 1" not in organizer.get(source.get_absolute_url()).content.decode()
    assert Judgment.objects.count() == 1


def test_words_of_the_file_are_mapped_to_accounts_columns_and_grades(scene: Scene, organizer: Client) -> None:
    first, second, _ = docnos(scene)
    content = turkle(("A.1", first, "perfect", "w1"), ("A.1", second, "perfect", "w2"))
    content = content.replace(b"Input.topic", b"Input.number")
    source = upload(organizer, scene, content)
    assert source.report["complaints"][0][1].startswith("name the column of topic; Turkle's are Input.number")

    def send(**meanings: str) -> None:
        form = organizer.get(source.get_absolute_url()).context["form"]
        words = {word: name for name, (_, word) in form.words.items()}
        data = {name: form[name].initial or "" for name in form.fields}
        data |= {words[word.replace("_", ".")]: meaning for word, meaning in meanings.items()}
        assert organizer.post(source.get_absolute_url(), data).status_code == 302
        source.refresh_from_db()

    send(topic="Input.number")
    assert source.report["by_kind"] == [["unknown assessor", 2], ["unknown grade or choice", 2]]
    send(w1="ada", w2="bob")
    assert source.report["by_kind"] == [["unknown grade or choice", 2]]
    send(perfect="high")
    run(organizer, source)

    judged = Judgment.objects.order_by("pk").values_list("assessor__username", "choice")
    assert list(judged) == [("ada", "high"), ("bob", "high")]


def test_two_judges_of_a_unit_come_in_as_a_dual_batch(scene: Scene, organizer: Client) -> None:
    first = docnos(scene)[0]
    rows = (("A.1", first, "3", "ada"), ("A.1", first, "0", "bob"), ("A.1", first, "1", "bob"))

    run(organizer, upload(organizer, scene, turkle(*rows), kind="dual"))

    judgments = Judgment.objects.order_by("pk")
    assert list(judgments.values_list("task__seat", "grade", "is_current")) == [
        (1, 3, True),
        (2, 0, False),
        (2, 1, True),
    ]
    assert judgments[2].replaces == judgments[1]
    page = organizer.get(reverse("assessment:agreement", args=[scene.track.slug])).content.decode()
    assert 'Shared units</span>\n<span class="big">1</span>' in page


def test_no_unit_gets_more_judges_than_its_protocol_asks_for(organizer: Client) -> None:
    track = make_track(protocol="ntcir-12-wikipedia")
    topic = make_topic(track, "1")
    people = {name: make_assessor(track, name) for name in ("grace", "una", "guy")}
    Assessor.objects.filter(user=people["una"]).update(group="undergraduate")
    Assessor.objects.exclude(user=people["una"]).update(group="graduate")
    pool = make_pool(track, {topic: 2})
    scene = Scene(
        track, topic, topic, pool, make_batch(pool, {}, is_open=False), people["grace"], people["una"]
    )
    first, second = docnos(scene, "1")
    rows = [
        ("1", first, "2", "grace"),
        ("1", first, "1", "una"),
        ("1", first, "0", "guy"),
        ("1", second, "0", "guy"),
    ]

    refused = upload(organizer, scene, turkle(*rows))
    [[line, message]] = refused.report["complaints"]
    run(organizer, upload(organizer, scene, turkle(*rows[:2], rows[3])))

    assert line == 4
    assert "the batch asks for 2 judges of a unit" in message
    seats = Judgment.objects.order_by("pk").values_list("assessor__username", "docno", "task__seat")
    assert list(seats) == [("grace", first, 1), ("una", first, 2), ("guy", second, 1)]
    batch = batch_services.open_for_judging(batch=Batch.objects.get(pool=pool, name="Turkle"))
    assert [judge_all(batch, people[name], "relevant") for name in ("grace", "guy")] == [[], []]
    assert [each.docno for each in judge_all(batch, people["una"], "relevant")] == [second]
    again = upload(organizer, scene, turkle(("1", first, "2", "grace")), batch="Another")
    assert again.report["complaints"] == [[2, f"grace has judged {first} of 1 in another main batch"]]


def test_members_of_a_unit_come_in_as_they_went_out(organizer: Client) -> None:
    scenes = []
    for slug in ("original", "copy"):
        track = make_track(slug, protocol="arqmath-2021-task2")
        topic, pool = make_topic(track, "B.1"), make_pool(track, {})
        Pool.objects.filter(pk=pool.pk).update(name="Formulas")
        add_unit(pool, topic, "v1", ["11", "12", "13"], position=0, hidden=1)
        scenes.append((track, topic, pool))
    ada = make_assessor(scenes[0][0], "ada")
    Assessor.objects.create(track=scenes[1][0], user=ada)
    batch = make_batch(scenes[0][2], {ada: [scenes[0][1]]})
    answers = {"11": Answer("high"), "12": Answer("low", "why")}
    submit_members(task=accept(batch, ada), answers=answers, request_id=uuid4())
    content = exported(scenes[0][0])
    copy = Scene(*scenes[1][:2], scenes[1][1], scenes[1][2], batch, ada, ada)

    run(organizer, upload(organizer, copy, content.encode(), "judgments.csv"))

    assert exported(copy.track) == content
    assert Task.objects.get(batch__pool=copy.pool).judgments.count() == 2
    hidden = content.replace(",12,v1,", ",13,v1,").encode()
    assert upload(organizer, copy, hidden).report["by_kind"][0][0] == "document that is not in the pool"


@pytest.fixture
def judged(scene: Scene) -> Scene:
    """Revisions, a non-answer, a topic that changed hands, training, second judgments, adjudication."""
    task = accept(scene.batch, scene.ada)
    judge(task, "low", "=1+1")
    judge(task, "high", "“two\r\nlines”, 'quoted'")
    judge(accept(scene.batch, scene.ada), "do-not-know", "'-x")
    assignment_services.reassign(
        batch=scene.batch, topic=scene.first, from_assessor=scene.ada, to_assessor=scene.bob
    )
    judge(accept(scene.batch, scene.bob), "medium")
    judge(accept(scene.batch, scene.ada), "high")
    both = {scene.bob: [scene.first], scene.ada: [scene.first]}
    judge_all(make_batch(scene.pool, both, kind="training", name="Round"), scene.bob)
    judge(
        accept(make_batch(scene.pool, {scene.bob: [scene.second]}, kind="dual", name="Dual"), scene.bob),
        "low",
    )
    judge(
        accept(
            make_batch(scene.pool, {scene.bob: [scene.first]}, kind="adjudication", name="Last"), scene.bob
        )
    )
    return scene


def copy_of(scene: Scene) -> Scene:
    """An empty track with the same topics, assessors and pool."""
    track = make_track("copy", collection=scene.track.collection)
    topics = {code: make_topic(track, code) for code in ("A.1", "A.2")}
    for user in (scene.ada, scene.bob):
        Assessor.objects.create(track=track, user=user)
    pool = make_pool(track, {})
    Pool.objects.filter(pk=pool.pk).update(name=scene.pool.name)
    for entry in scene.pool.entries.select_related("topic"):
        fields = {"docno": entry.docno, "document": entry.document, "position": entry.position}
        PoolEntry.objects.create(pool=pool, topic=topics[entry.topic.code], **fields)
    return Scene(track, topics["A.1"], topics["A.2"], pool, scene.batch, scene.ada, scene.bob)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_what_is_exported_and_imported_is_exported_with_the_same_bytes(
    judged: Scene, organizer: Client, form: str
) -> None:
    content = "".join(lines_of(Judgment.objects.filter(track=judged.track), form)).encode()  # type: ignore[arg-type]
    copy = copy_of(judged)

    source = upload(organizer, copy, content, f"judgments.{form}")
    assert source.report["n_complaints"] == 0, source.report["complaints"]
    run(organizer, source)

    again = "".join(lines_of(Judgment.objects.filter(track=copy.track), form)).encode()  # type: ignore[arg-type]
    assert again == content
    here = upload(organizer, copy, content, f"judgments.{form}")
    assert (here.report["new"], here.report["n_complaints"]) == (0, 0)


def test_qrels_and_agreement_are_those_of_the_original(judged: Scene, organizer: Client) -> None:
    copy = copy_of(judged)
    run(organizer, upload(organizer, copy, exported(judged.track).encode()))

    frozen = [
        qrels_services.freeze_judgments(pool=pool, by=make_organizer()) for pool in (judged.pool, copy.pool)
    ]
    files = [
        organizer.get(reverse("assessment:agreement_tsv", args=[track.slug, "pairs"])).content
        for track in (judged.track, copy.track)
    ]

    assert qrels_tsv(frozen[0]) == qrels_tsv(frozen[1])
    assert files[0] == files[1]
    assert b"ada\tbob" in files[0]
    batch = Batch.objects.get(pool=copy.pool, kind="main")
    held = batch.topic_assignments.order_by("pk").values_list(
        "topic__code", "assessor__username", "seat", "is_withdrawn"
    )
    assert list(held) == [("A.1", "ada", 1, True), ("A.1", "bob", 1, False), ("A.2", "ada", 1, False)]
    round_ = batch_services.open_for_judging(batch=Batch.objects.get(pool=copy.pool, kind="training"))
    assert judge_all(round_, copy.bob) == []


def test_large_file_is_checked_and_imported_in_jobs(
    scene: Scene, organizer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "SMALL", 10)
    source = upload(organizer, scene, turkle(("A.1", docnos(scene)[0], "3", "bob")))
    page = organizer.get(source.get_absolute_url()).content.decode()
    assert "Check the judgments of results.csv" in page
    assert source.job is not None

    jobs.run(source.job.pk)
    source.refresh_from_db()
    assert source.is_ready
    run(organizer, source)
    source.refresh_from_db()
    jobs.run(source.job.pk)
    # the worker was lost between storing the judgments and ending the job
    Job.objects.filter(pk=source.job.pk).update(state=Job.State.RUNNING, heartbeat_at=None)
    jobs.run(source.job.pk)

    source.refresh_from_db()
    assert (source.job.state, source.job.error) == ("done", "")
    assert has_statistics("assessment_task", "assessment_judgment", "assessment_topicassignment")
    assert Judgment.objects.filter(from_import=source).count() == source.n_imported == 1
    assert "imported already" in run(organizer, source)


def test_file_can_be_discarded_until_it_is_imported(scene: Scene, organizer: Client) -> None:
    source = upload(organizer, scene, turkle(("A.1", docnos(scene)[0], "3", "bob")))

    answer = organizer.post(reverse("assessment:discard_import", args=[source.pk]), follow=True)

    assert "Nothing was imported" in answer.content.decode()
    assert not JudgmentImport.objects.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"A.1 0 10 3\n", "contains qrels, which name no assessors"), (b"\x1f\x8bnothing", "results.csv")],
)
def test_file_that_cannot_be_judgments_is_refused(
    scene: Scene, organizer: Client, content: bytes, message: str
) -> None:
    address = reverse("assessment:imports", args=[scene.track.slug])

    answer = organizer.post(
        address, {"upload": SimpleUploadedFile("results.csv", content), "batch": "x", "kind": "main"}
    )

    assert answer.status_code == 400
    assert message in answer.content.decode()
    assert not JudgmentImport.objects.exists()


def test_command_imports_what_the_page_would(
    scene: Scene, organizer: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes(turkle(("A.1", docnos(scene)[0], "perfect", "w1")))
    words = ["import_judgments", scene.track.slug, str(path), "--by", "olga"]

    with pytest.raises(CommandError, match="line 2: the track has no assessor w1"):
        call_command(*words)
    call_command(*words, "--assessor", "w1=bob", "--answer", "perfect=high", "--check")
    assert not Judgment.objects.exists()
    call_command(
        *words,
        "--assessor",
        "w1=bob",
        "--answer",
        "perfect=high",
        "--batch",
        "Old",
        "--pool",
        scene.pool.name,
    )

    judgment = Judgment.objects.get()
    assert (judgment.batch.name, judgment.assessor, judgment.choice) == ("Old", scene.bob, "high")
    assert JudgmentImport.objects.get().file.name == ""
    assert capsys.readouterr().out.splitlines() == [
        "1 judgment would be imported, 0 were here already",
        "1 judgment imported, 0 were here already",
    ]


def start(client: Client, scene: Scene, content: bytes) -> Any:
    form = encode_multipart(BOUNDARY, {"file": SimpleUploadedFile("old.csv", content), "batch": "Old"})
    return call(
        client, "POST", "judgment_imports", scene.track.slug, data=form, content_type=MULTIPART_CONTENT
    )


def test_text_of_excel_is_read_and_a_nul_in_a_header_is_an_error(scene: Scene) -> None:
    client = api(make_organizer())

    made = start(client, scene, "sep=;\ntopic;docno;assessor;grade\nA.1;1;bob;high\n".encode("utf-16"))
    refused = start(client, scene, b"topic,docno,ass\0essor,grade\nA.1,1,bob,3\n")
    start(client, scene, b"topic,docno,assessor,grade,\xe9\nA.1,1,bob,3,x\n")

    assert (made.status_code, refused.status_code) == (201, 422)
    first, noted = JudgmentImport.objects.order_by("pk")
    assert first.report["header"] == ["topic", "docno", "assessor", "grade"]
    browser = Client()
    browser.force_login(make_organizer())
    page = browser.get(noted.get_absolute_url()).content.decode()
    assert "Line 1 is not UTF-8 and is read as Windows-1252." in page


def test_file_is_checked_mapped_and_imported(scene: Scene) -> None:
    client = api(make_organizer())
    docno = scene.pool.entries.filter(topic=scene.first).earliest("position").docno
    started = start(client, scene, f"query,docno,assessor,grade\nA.1,{docno},zoe,3\n".encode())
    address = started["Location"]
    mapping = {"columns": {"topic": "query"}, "assessors": {"zoe": "bob"}, "pool": scene.pool.pk}

    early = call(client, "POST", "run_judgment_import", started.json()["id"])
    mapped = client.patch(address, mapping, content_type="application/json").json()
    imported = call(client, "POST", "run_judgment_import", mapped["id"]).json()
    late = client.delete(address)

    judgment = Judgment.objects.get()
    assert (started.status_code, started.json()["is_ready"]) == (201, False)
    assert (early.status_code, early.json()["code"]) == (409, "not-ready")
    assert (mapped["is_ready"], mapped["report"]["new"], imported["n_imported"]) == (True, 1, 1)
    assert (judgment.assessor, judgment.choice, judgment.batch.name) == (scene.bob, "high", "Old")
    assert (late.status_code, late.json()["code"]) == (409, "already-imported")


def test_file_is_discarded_and_an_unknown_column_is_refused(scene: Scene) -> None:
    client = api(make_organizer())
    address = start(client, scene, b"topic,docno,assessor,grade\nA.1,x,bob,3\n")["Location"]

    wrong = client.patch(address, {"columns": {"color": "x"}}, content_type="application/json")
    discarded = client.delete(address)

    assert wrong.json()["errors"][0]["field"] == "columns"
    assert discarded.status_code == 204
    assert client.get(address).status_code == 404
