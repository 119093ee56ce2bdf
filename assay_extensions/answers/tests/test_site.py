"""Rubrics on the site: criteria from a file and from the page, answers graded by keys, and the scores of RAGDoll."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts.models import Event, User
from assay.protocols.loader import parse_protocol, shipped_text
from assay_extensions.answers.rubric_files import read_graded
from assay_extensions.answers.rubrics import score
from assay_extensions.answers.site.models import DraftGrade
from assessment.judging.services import accept_next
from assessment.models import Batch, Judgment, JudgmentImport
from assessment.nuggets import services as nugget_services
from jobs import services as jobs
from pooling.models import Nugget, Pool
from pooling.pools import services as pool_services
from pooling.runs import services as run_services
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard, Score
from scoring.qrels import services as qrels_services
from tests.helpers.answer_runs import answer_run
from tests.helpers.answers import submit_file
from tests.helpers.api import api, call
from tests.helpers.factories import (
    make_assessor,
    make_collection,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tests.helpers.judging import make_batch
from tests.helpers.remembered import remembered
from tests.publishing.archives.conftest import archive_of, written
from tests.publishing.archives.test_services import findings_of, load
from tracks.models import StoredProtocol, Topic, Track

pytestmark = pytest.mark.django_db
# Cells of RAGDoll: two with faults, one that is never satisfied in full, and the edge cases that have criteria
CELLS = ("t1.run-a", "t2.run-b", "t4.run-b", "t5.run-a", "t6.run-a", "t7.run-b")
CHOICES = {"satisfied": "support", "partially_satisfied": "partial_support"}


class Lab(NamedTuple):
    track: Track
    organizer: User
    ada: User


@remembered
def rubrics_lab() -> Lab:
    """A track of RAG 2026 with a topic for each cell, since each cell of the known answers has criteria of its own."""
    text = shipped_text("trec-rag-2026").replace('["rag-2026"]', '["rag-2024"]')
    parsed = parse_protocol(text, name="rag.toml")
    track = make_track("rag", name="RAG", collection=make_collection("segments", name="Segments"))
    fields = {"title": parsed.title, "text": text, "digest": parsed.digest}
    track.protocol = StoredProtocol.objects.create(slug=parsed.slug, **fields)
    track.save()
    for code in CELLS:
        make_topic(track, code, title=f"Question {code}?")
    return Lab(track, make_organizer("olga"), make_assessor(track, "ada"))


@pytest.fixture
def lab(settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    return rubrics_lab()


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def import_file(lab: Lab, rows: list[dict[str, Any]]) -> str:
    """Import rubrics on their page; the page afterwards."""
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    page = reverse("assessment:nuggets", args=[lab.track.slug])
    fields = {"action": "import", "file": SimpleUploadedFile("rubrics.jsonl", data)}
    return client_of(lab.organizer).post(page, fields, follow=True).content.decode()


@pytest.fixture(scope="module")
def graded(data: Path) -> dict[str, dict[str, Any]]:
    """The known answers of the cells, with their criteria and verdicts; `qid` is the topic of the cell."""
    lines = (data / "judges/answers/rubrics.jsonl").read_text().splitlines()
    rows = {f"{row['qid']}.{row['run_id']}": row for row in map(json.loads, lines)}
    return {code: rows[code] | {"qid": code} for code in CELLS}


@pytest.fixture(scope="module")
def known_scores(data: Path) -> dict[str, dict[str, Any]]:
    cells = json.loads((data / "judges/answers/answers.json").read_text())["rubric_cells"]
    return {f"{cell['qid']}.{cell['run_id']}": cell for cell in cells}


def list_address(topic: Topic) -> str:
    return reverse("assessment:nugget_list", args=[topic.track.slug, topic.code])


def freeze_all(lab: Lab) -> None:
    for topic in lab.track.topics.all():
        client_of(lab.organizer).post(list_address(topic), {"action": "freeze"})


def submit(lab: Lab, tag: str, words: dict[str, str]) -> None:
    submit_file(lab, tag, answer_run({code: [(text, [])] for code, text in words.items()}, tag=tag))  # type: ignore[arg-type]


def pooled(lab: Lab) -> Pool:
    pool = pool_services.request(track=lab.track, name="Pool", seed=7, depth={}, by=lab.organizer)
    jobs.run(pool.job_id or 0)
    pool.refresh_from_db()
    assert pool.status == Pool.Status.READY, pool.job and pool.job.error
    return pool


def scored(lab: Lab, pool: Pool) -> Leaderboard:
    qrels = qrels_services.freeze_judgments(pool=pool, by=lab.organizer)
    board = leaderboard_services.request(qrels=qrels, by=lab.organizer, seed=1)
    jobs.run(board.job_id or 0)
    board.refresh_from_db()
    assert board.status == Leaderboard.Status.READY, board.job and board.job.error
    return board


def judge_by_page(lab: Lab, batch: Batch, graded: dict[str, dict[str, Any]]) -> list[str]:
    """Grade everything on the judging page as the known answers were graded; the pages."""
    client, pages = client_of(lab.ada), []
    address = client.post(reverse("assessment:next", args=[batch.pk]))["Location"]
    while "/tasks/" in address:
        pages.append(client.get(address).content.decode())
        task = accept_next(batch=batch, assessor=lab.ada)
        assert task is not None
        criteria = graded[task.entry.topic.code]["criteria"]
        verdict = next(each["verdict"] for each in criteria if each["text"] == task.entry.passage)
        choice = CHOICES.get(verdict.lower(), "not_support")
        fields = {"choice": choice, "comment": "", "request_id": uuid4(), "seconds": "3", "shown": "0"}
        address = client.post(address, fields)["Location"]
    return pages


def test_known_answers_of_ragdoll_are_the_scores_of_the_leaderboard(
    lab: Lab, graded: dict[str, dict[str, Any]], known_scores: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    assert "21 new criteria imported." in import_file(lab, [*graded.values()])
    freeze_all(lab)
    submit(lab, "known", {code: row["answer_text"] for code, row in graded.items()})
    pool = pooled(lab)
    batch = make_batch(pool, {lab.ada: list(lab.track.topics.all())})
    client = client_of(lab.organizer)

    pages = judge_by_page(lab, batch, graded)
    lists = [client.get(list_address(topic)).content.decode() for topic in lab.track.topics.all()]
    freeze = reverse("scoring:freeze", args=[lab.track.slug])
    preview = client.get(freeze).content.decode()
    left_out = client.post(freeze, {"pool": pool.pk, "without": "score t5.run-a"}).content.decode()
    board = scored(lab, pool)

    assert ["No criterion has a positive weight" in html for html in lists] == [
        code == "t5.run-a" for code in CELLS
    ]
    assert "1 rubric without a positive weight" in preview
    assert 'value="score t5.run-a"' in preview
    assert "t5.run-a its rubric has no positive weight</textarea>" in left_out
    assert "without a positive weight" not in left_out

    assert len(pages) == Judgment.objects.count() == 21
    assert all(">Criterion</h3>" in page and "Satisfied" in page for page in pages)
    assert not any("weight" in page.lower() or "known" in page.replace("unknown word", "") for page in pages)
    expected = known_scores
    for measure, key in (("Rubric", "ternary_score"), ("Rubric_strict", "binary_score")):
        values = dict(
            Score.objects.filter(measure=measure).exclude(topic="all").values_list("topic", "value")
        )
        assert values == pytest.approx({code: expected[code][key] or 0.0 for code in CELLS})
    page = client.get(board.get_absolute_url()).content.decode()
    assert "1 rubric has no positive weight" in page
    means = [expected[code]["ternary_score"] for code in CELLS if code != "t5.run-a"]  # which has no score
    assert f"{sum(means) / len(means):.4f}".lstrip("0") in page
    assert f"{sum(means) / len(CELLS):.4f}".lstrip("0") in page

    assert reverse("rubrics:criteria", args=[board.pk]) in page
    impact = client.get(reverse("rubrics:criteria", args=[board.pk])).content.decode()
    assert "unknown word" in impact
    assert "universal" in impact
    file = client.get(reverse("rubrics:graded", args=[board.pk])).content
    again = {answer.topic: answer for answer in read_graded(file, "graded.jsonl")}
    assert {code: score(answer.criteria) for code, answer in again.items()} == pytest.approx(
        {code: expected[code]["ternary_score"] for code in CELLS}
    )
    assert {code: answer.failed for code, answer in again.items()} == {
        code: expected[code]["n_mandatory_fail"] for code in CELLS
    }
    table = client.get(reverse("rubrics:criteria_table", args=[board.pk, "impact", "tsv"])).content.decode()
    assert table.splitlines()[0].startswith("topic\tweight\ttier")
    assert client.get(reverse("rubrics:criteria_table", args=[board.pk, "none", "tsv"])).status_code == 404
    program = api(lab.organizer, "read")
    tables = call(program, "GET", "rubrics", board.pk).json()["tables"]
    assert len(tables["impact"]) == 21
    assert call(program, "GET", "graded_answers", board.pk).content == file

    path = written(archive_of(lab.track, lab.organizer), tmp_path)
    assert all(finding.is_right for finding in findings_of(path))
    track = load(path, lab.organizer, slug="again").track
    weights = Nugget.objects.filter(topic__track=track, topic__code="t6.run-a").values_list(
        "weight", flat=True
    )
    assert [*weights] == [2, -4]


ROW = {
    "qid": "t1.run-a",
    "domain": "law",
    "rubrics": [
        {
            "criterion": "Names the court.",
            "weight": 5,
            "axis": "Explicit Criteria",
            "mapped_sub_narrative": 2,
        },
        {"criterion": "Guesses.", "weight": -2.5, "axis": "References"},
    ],
}


def test_criteria_of_a_leaderboard_without_answers_say_what_to_do(
    lab: Lab, graded: dict[str, dict[str, Any]]
) -> None:
    import_file(lab, [*graded.values()])
    freeze_all(lab)
    submit(lab, "known", {code: row["answer_text"] for code, row in graded.items()})
    pool = pooled(lab)
    judge_by_page(lab, make_batch(pool, {lab.ada: list(lab.track.topics.all())}), graded)
    run_services.withdraw(run=lab.track.runs.get(), by=lab.organizer)
    submit(lab, "later", dict.fromkeys(CELLS, "An answer that nobody judged."))
    board = leaderboard_services.request(
        qrels=qrels_services.freeze_judgments(pool=pool, by=lab.organizer), by=lab.organizer
    )
    jobs.run(board.job_id or 0)  # it fails, because nobody judged the only run

    page = client_of(lab.organizer).get(reverse("rubrics:criteria", args=[board.pk])).content.decode()

    assert "No graded answers yet" in page
    assert f'href="{board.qrels.get_absolute_url()}"' in page
    assert "<table" not in page
    assert reverse("rubrics:graded", args=[board.pk]) not in page


def test_imported_qrels_name_rubrics_without_a_positive_weight(lab: Lab) -> None:
    client, weights = client_of(lab.organizer), {"t5.run-a": -2, "t6.run-a": 1}
    lines = [f"{code} vital:{weight} nugget:-:k1 -1\n" for code, weight in weights.items()]
    lines += [f"{code} okay:-1 nugget:-:k2 -1\n" for code in weights]
    lines.append("t5.run-a - citation:0123456789abcdef:0:seg1 1\n")
    address = reverse("scoring:import_qrels", args=[lab.track.slug])

    file = SimpleUploadedFile("qrels.txt", "".join(lines).encode())
    page = client.post(address, {"file": file}, follow=True).content.decode()
    file = SimpleUploadedFile("qrels.txt", "".join(lines).replace("okay:-1", "okay").encode())
    without_warning = client.post(address, {"file": file}, follow=True).content.decode()

    warning = "1 rubric has no positive weight, so every run has 0 there in Rubric"
    assert warning in " ".join(page.split())
    assert "topic t5.run-a." in " ".join(page.split())
    assert "imported" in without_warning
    assert "positive weight" not in without_warning


def test_rubrics_of_files_come_out_as_they_went_in(lab: Lab) -> None:
    page = import_file(lab, [ROW])
    freeze_all(lab)

    assert "Keys about whole topics are not stored: domain." in page
    client = client_of(lab.organizer)
    address = partial(reverse, "assessment:nuggets_file")
    research = client.get(address(args=[lab.track.slug, "research-rubrics"])).content
    assert json.loads(research) == {
        "qid": "t1.run-a",
        "rubrics": [
            {"criterion": "Names the court.", "weight": 5, "axis": "Explicit", "mapped_sub_narrative": 2},
            {"criterion": "Guesses.", "weight": -2.5, "axis": "References"},
        ],
    }
    first = json.loads(client.get(address(args=[lab.track.slug, "ragdoll"])).content)["criteria"][0]
    assert first == {
        "mapped_sub_narrative": 2,
        "text": "Names the court.",
        "type": "explicit",
        "tier": "optional",
        "weight": 5,
    }


def test_criterion_is_written_changed_and_merged_on_its_page(lab: Lab) -> None:
    topic = lab.track.topics.get(code="t1.run-a")
    client, address = client_of(lab.ada), list_address(topic)
    new = {
        "action": "add",
        "text": "Names the year.",
        "importance": "vital",
        "weight": "5",
        "kind": "explicit",
    }

    client.post(address, new | {"made_from": "the year was 1900"})
    client.post(address, new | {"text": "Invents a source.", "importance": "okay", "weight": "-3"})
    refused = client.post(address, new | {"weight": "7.5"}).content.decode()

    names, invents = Nugget.objects.order_by("pk")
    assert (names.weight, names.kind, names.made_from) == (5, "explicit", "the year was 1900")
    assert 'value="7.5"' in refused, "what was entered stays after a refusal"
    html = client.get(address).content.decode()
    for words in ("Rubric of topic t1.run-a", "Add criterion", "weight -3", "from “the year was 1900”"):
        assert words in html
    client.post(
        address,
        {"action": "change", "nugget": invents.pk, "shown": invents.key, "text": invents.text}
        | {"importance": "okay", "weight": "-4", "kind": "references"},
    )
    invents.refresh_from_db()
    assert (invents.weight, invents.kind) == (-4, "references")
    merge = {"action": "merge", "ids": [names.pk, invents.pk], "text": "Names both.", "importance": "vital"}
    client.post(address, merge | {"weight": "2"})
    merged = Nugget.objects.get(replaced_by=None)
    assert (merged.weight, merged.kind, merged.merged) == (2, "explicit", [names.key, invents.key])


def test_program_writes_criteria_and_other_tracks_have_no_weights(lab: Lab) -> None:
    client = api(lab.organizer, "read", "manage")
    fields = {"topic": "t1.run-a", "text": "Names the year.", "weight": -3, "kind": "references"}

    made = call(client, "POST", "nuggets", lab.track.slug, data=fields).json()
    changed = call(client, "PATCH", "nugget", made["id"], data={"weight": 2.5}).json()
    default = call(
        client, "POST", "nuggets", lab.track.slug, data={"topic": "t1.run-a", "text": "Is short."}
    ).json()

    assert (made["weight"], changed["weight"], changed["kind"], default["weight"]) == (
        -3,
        2.5,
        "references",
        1,
    )
    other = make_track("other", protocol="trec-rag-2024")
    make_topic(other, "t1")
    refused = call(client, "POST", "nuggets", other.slug, data=fields | {"topic": "t1"})
    assert refused.status_code == 409
    assert "the protocol has no rubrics" in refused.json()["detail"]


def answers_of_three(lab: Lab) -> None:
    """Three systems; two of them have the same answer to t1.run-a."""
    for tag, text in (("owls", "It was 1900."), ("crows", "It was 1900."), ("jays", "Nobody knows.")):
        submit(lab, tag, {"t1.run-a": text})


def draft(lab: Lab) -> Nugget:
    topic = lab.track.topics.get(code="t1.run-a")
    return nugget_services.add(topic=topic, text="Names the year.", importance="vital", by=lab.ada)


def test_impact_of_a_draft_is_graded_blind_and_counts_systems(lab: Lab) -> None:
    answers_of_three(lab)
    criterion = draft(lab)
    client, address = client_of(lab.ada), reverse("rubrics:impact", args=[criterion.pk])
    list_page = client.get(list_address(criterion.topic)).content.decode()
    assert address in list_page

    pages = []
    for _ in range(2):
        pages.append(client.get(address).content.decode())
        shown = re.search(r'name="answer" value="(\w+)"', pages[-1])
        assert shown
        choice = "support" if "It was 1900." in pages[-1] else "not_support"
        assert client.post(address, {"answer": shown[1], "choice": choice}).status_code == 302
    done = client.get(address).content.decode()

    assert not any(tag in page.lower() for page in pages for tag in ("owls", "crows", "jays"))
    assert all('data-press="2"' in page for page in pages)
    assert "It separates systems:" not in pages[1], "the impact is of all systems"
    assert "It separates systems:" in done
    assert "67 %" in done
    assert DraftGrade.objects.count() == 2
    event = Event.objects.get(action="impact.checked")
    assert (event.by, event.details["text"]) == (lab.ada, "Names the year.")
    again = client.get(f"{address}?answer={shown[1]}").content.decode()
    client.post(address, {"answer": shown[1], "choice": "support"})
    client.post(address, {"answer": re.search(r"\?answer=(\w+)", done)[1], "choice": "support"})  # type: ignore[index]
    assert "btn-primary" in again
    assert "Universal" in client.get(address).content.decode()
    nugget_services.change(
        nugget=criterion, shown=criterion.key, text="Names it.", importance="vital", sources=[], by=lab.ada
    )
    assert "Answer 1 of 2" in client.get(address).content.decode(), "another text is graded again"


def test_impact_refuses_what_it_does_not_know_and_other_people(lab: Lab) -> None:
    answers_of_three(lab)
    criterion = draft(lab)
    address = reverse("rubrics:impact", args=[criterion.pk])
    client = client_of(lab.ada)

    shown = re.search(r'name="answer" value="(\w+)"', client.get(address).content.decode())
    assert shown
    wrong_choice = client.post(address, {"answer": shown[1], "choice": "gold"})
    wrong_answer = client.post(address, {"answer": "0f", "choice": "support"})
    nugget_services.remove(nugget=criterion, by=lab.ada)
    removed = client.post(address, {"answer": shown[1], "choice": "support"})

    for response, words in (
        (wrong_choice, "support, partial_support, not_support"),
        (wrong_answer, "No submitted run has this answer"),
        (removed, "Somebody removed or merged it"),
    ):
        assert response.status_code == 409
        assert words in response.content.decode()
    assert client_of(make_user("eve")).get(address).status_code == 404
    assert not DraftGrade.objects.exists()


def test_program_grades_a_draft(lab: Lab) -> None:
    answers_of_three(lab)
    criterion, client = draft(lab), api(lab.ada, "read", "judge")

    impact = call(client, "GET", "impact", criterion.pk).json()
    while impact["next"]:
        choice = "partial_support" if "1900" in impact["next"]["text"] else "not_support"
        arguments = ("draft_grade", criterion.pk, impact["next"]["answer"])
        impact = call(client, "PUT", *arguments, data={"choice": choice}).json()

    assert impact == {
        "n_answers": 2,
        "n_systems": 3,
        "n_graded": 3,
        "n_satisfied": 0,
        "n_partly": 2,
        "verdict": "hard",
        "next": None,
    }


def graded_file(graded: dict[str, dict[str, Any]], **changes: Any) -> bytes:
    """The known answers as a file of a grader; `changes` are those of the first line."""
    rows = [{**row} for row in graded.values()]
    for row in rows:
        row["criteria"] = [
            each | {"verdict": each["verdict"] if each["verdict"] != "maybe" else "not satisfied"}
            for each in row["criteria"]
        ]
    return "".join(json.dumps(row | (changes if row is rows[0] else {})) + "\n" for row in rows).encode()


def uploaded(lab: Lab, data: bytes) -> JudgmentImport:
    fields = {"batch": "Imported", "kind": "main", "upload": SimpleUploadedFile("graded.jsonl", data)}
    client_of(lab.organizer).post(reverse("assessment:imports", args=[lab.track.slug]), fields)
    return JudgmentImport.objects.latest("pk")


def test_graded_answers_are_imported_as_judgments(
    lab: Lab, graded: dict[str, dict[str, Any]], known_scores: dict[str, dict[str, Any]]
) -> None:
    import_file(lab, [*graded.values()])
    freeze_all(lab)
    submit(lab, "known", {code: row["answer_text"] for code, row in graded.items()})
    pool = pooled(lab)
    client = client_of(lab.organizer)

    wrong = uploaded(lab, graded_file(graded, answer_text="Another answer."))
    broken = uploaded(lab, graded_file(graded, qid=""))
    unknown = uploaded(lab, graded_file(graded, qid="t99"))
    source = uploaded(lab, graded_file(graded))
    [field] = re.findall(r'name="(assessors-\d+)"', client.get(source.get_absolute_url()).content.decode())
    client.post(source.get_absolute_url(), {field: "ada", "batch": source.batch, "kind": source.kind})
    client.post(reverse("assessment:run_import", args=[source.pk]))
    scored(lab, pool)

    assert wrong.report["complaints"][0] == [1, "criteria[0]: no pool has this answer with this text"]
    assert unknown.report["complaints"] == [[1, "qid: the track has no topic t99"]]
    page = client.get(reverse("assessment:imports", args=[lab.track.slug])).content.decode()
    assert "graded rubrics: JSON lines of RAGDoll" in page
    assert "<code>answer_text</code>" in page
    assert "line 1: qid: expected the code of a topic" in broken.report["complaints"][0][1]
    values = dict(Score.objects.filter(measure="Rubric").exclude(topic="all").values_list("topic", "value"))
    assert values == pytest.approx({code: known_scores[code]["ternary_score"] or 0.0 for code in CELLS})
