"""A campaign of generated answers, from the submission to the leaderboard and the archive."""

import re
import zipfile
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assay.errors import Refused
from assessment.judging import services as task_services
from assessment.nuggets import services as nugget_services
from jobs import services as jobs
from jobs.models import Job
from pooling.models import Pool, Run
from pooling.pools.previews import preview
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard, Score
from scoring.qrels import services as qrels_services
from tests.helpers.answer_runs import answer_run
from tests.helpers.answers import (
    ANGLE,
    DANCE,
    FAR,
    AnswersLab,
    answers_lab,
    judge_answers,
    pool_answers,
    submit_answers,
    submit_file,
    write_nuggets,
)
from tests.helpers.api import api, call
from tests.helpers.judging import judge, make_batch
from tests.publishing.archives.conftest import archive_of, written
from tests.publishing.archives.test_services import findings_of, load, rewritten

pytestmark = pytest.mark.django_db


@pytest.fixture
def lab(settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AnswersLab:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    return answers_lab()


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def text_of(response: Any) -> str:
    return b"".join(response.streaming_content).decode()


def scored(pool: Pool, lab: AnswersLab) -> Leaderboard:
    qrels = qrels_services.freeze_judgments(pool=pool, by=lab.organizer)
    board = leaderboard_services.request(qrels=qrels, by=lab.organizer, seed=1)
    jobs.run(board.job_id or 0)
    board.refresh_from_db()
    assert board.status == Leaderboard.Status.READY, board.job and Job.objects.get(pk=board.job_id).error
    return board


def test_pool_needs_frozen_nuggets(lab: AnswersLab) -> None:
    write_nuggets(lab, is_frozen=False)
    submit_answers(lab)

    overview = client_of(lab.organizer).get(lab.track.get_absolute_url()).content.decode()

    with pytest.raises(Refused, match="nuggets of topic bees, tea are not frozen"):
        pool_answers(lab)
    assert "lists of 0 of 2 topics frozen, 2 begun" in overview


def test_pool_has_nuggets_in_answers_and_first_citations_once(lab: AnswersLab) -> None:
    write_nuggets(lab)
    submit_answers(lab)

    pool = pool_answers(lab)

    assert pool.nuggets == {"bees": 1, "tea": 1}
    units = {
        (entry.topic.code, entry.passage, entry.document and entry.document.docno)
        for entry in pool.entries.select_related("topic", "document")
    }
    cited = {each for each in units if each[2]}
    assert len(cited) == 4  # of both runs: the answer to tea is the same, and only first citations count
    assert pool.entries.count() == 3 + 3 + 2 + 4  # both answers to bees, and the only answer to tea
    assert pool.answers.count() == 3


def test_control_characters_of_answers_do_not_stop_a_pool(lab: AnswersLab) -> None:
    data = answer_run({"tea": [("Green \0tea.", ["tea#1"])]}, tag="owls")
    submit_file(lab, "owls", data)

    pool = pool_answers(lab)

    assert [entry.passage for entry in pool.entries.all()] == ["Green tea."]


def test_changed_nuggets_alone_are_assigned_again(lab: AnswersLab) -> None:
    write_nuggets(lab)
    submit_answers(lab)
    first = pool_answers(lab)
    nugget = lab.bees.nuggets.first()
    assert nugget is not None
    nugget_services.change(
        nugget=nugget, shown=nugget.key, text="Bees dance", importance="okay", sources=[], by=lab.ada
    )
    nugget_services.freeze(topic=lab.bees, by=lab.organizer)

    second = pool_answers(lab, "Top-up", tops_up=first)

    assert second.nuggets == {"bees": 2, "tea": 1}
    assert set(second.entries.values_list("passage", flat=True)) == {"Bees dance"}


def test_assessor_sees_the_nugget_the_answer_and_no_run(lab: AnswersLab) -> None:
    write_nuggets(lab)
    submit_answers(lab)
    batch = make_batch(pool_answers(lab), {lab.ada: [lab.bees, lab.tea]})
    client = client_of(lab.ada)

    pages = []
    address = client.post(reverse("assessment:next", args=[batch.pk]))["Location"]
    while "/tasks/" in address:
        pages.append(client.get(address).content.decode())
        fields = {"choice": "support", "comment": "", "request_id": uuid4(), "seconds": "3", "shown": "0"}
        address = client.post(address, fields)["Location"]

    assert len(pages) == 12
    nuggets = [html for html in pages if ">Nugget</h3>" in html.partition("<template")[0]]
    citations = [html for html in pages if ">Cited segment</h3>" in html.partition("<template")[0]]
    assert (len(nuggets), len(citations)) == (8, 4)
    assert all("Full support" in html and "<mark>" in html for html in citations)
    assert all("The cited segment supports everything" in html for html in citations)
    assert all("Full support" not in html for html in nuggets)
    texts = [re.sub(r'value="[^"]*"', "", html).lower() for html in pages]  # without random tokens
    assert not any(name in text for text in texts for name in ("owls", "crows"))


def test_program_gets_the_nugget_and_the_answer(lab: AnswersLab) -> None:
    write_nuggets(lab)
    submit_answers(lab, "owls")
    batch = make_batch(pool_answers(lab), {lab.ada: [lab.bees]})

    task = call(api(lab.ada, "read", "judge"), "POST", "next_task", batch.pk).json()

    assert task["unit"]["generated"] == {
        "judged": "nugget",
        "text": "A bee dances on the comb",
        "answer": f"{DANCE} {ANGLE} {FAR}",
    }
    assert task["unit"]["text"] == ""


def test_units_have_the_labels_of_nuggets_or_citations(lab: AnswersLab) -> None:
    write_nuggets(lab)
    submit_answers(lab)
    pool = pool_answers(lab)
    judge_answers(lab, pool)
    dual = make_batch(pool, {lab.bob: [lab.bees, lab.tea]}, kind="dual")
    program, organizer = api(lab.bob, "read", "judge"), client_of(lab.organizer)

    labels: dict[str, set[str]] = {"nugget": set(), "citation": set()}
    while task := task_services.accept_next(batch=dual, assessor=lab.bob):
        unit = call(program, "GET", "task", task.pk).json()["unit"]
        labels[unit["generated"]["judged"]] |= {grade["label"] for grade in unit["grades"]}
        judge(task, "not_support")
    page = organizer.get(reverse("assessment:disagreements", args=[lab.track.slug])).content.decode()
    guidelines = organizer.get(reverse("tracks:guidelines", args=[lab.track.slug])).content.decode()

    query = {"to": "csv", "names": "codes", "comments": "without", "about": "citations"}
    exported = organizer.get(reverse("assessment:export", args=[lab.track.slug]), query)
    by_api = call(api(lab.organizer), "GET", "export_judgments", lab.track.slug, QUERY_STRING="about=nuggets")

    assert exported["Content-Disposition"].endswith(f'judgments-{lab.track.slug}-citations.csv"')
    cited, nuggets = (set(re.findall("nugget:|citation:", text_of(each))) for each in (exported, by_api))
    assert (cited, nuggets) == ({"citation:"}, {"nugget:"})
    assert "Full support" in labels["citation"]
    assert "Full support" not in labels["nugget"]
    assert "<strong>Full support</strong>" in page
    assert "<strong>No support</strong>" in page
    assert "of a citation: Full support" in guidelines


def test_preview_has_the_size_of_whole_runs(lab: AnswersLab) -> None:
    write_nuggets(lab)
    submit_answers(lab)
    client = client_of(lab.organizer)
    page = reverse("pooling:preview", args=[lab.track.slug])
    client.post(reverse("pooling:compute_preview", args=[lab.track.slug]), {"rate": "30"})
    jobs.run(Job.objects.latest("pk").pk)

    html = client.get(page, {"rate": "30"}).content.decode()

    assert preview(lab.track).totals.tolist() == [pool_answers(lab).entries.count()]
    assert "12 units" in html or ">12<" in html


def test_walk_from_judgments_to_the_leaderboard(lab: AnswersLab) -> None:
    write_nuggets(lab)
    owls, crows = submit_answers(lab)
    judge_answers(lab, pool := pool_answers(lab))

    board = scored(pool, lab)
    topic = client_of(lab.organizer).get(reverse("scoring:topic", args=[board.pk, "bees"])).content.decode()
    compared = client_of(lab.organizer).get(reverse("pooling:compare_runs", args=[owls.pk, crows.pk]))
    ranking, qrels, run = (
        client_of(lab.organizer).get(each.get_absolute_url()).content.decode()
        for each in (board, board.qrels, owls)
    )
    assert "judged@10" not in ranking
    assert "Unjudged" not in ranking
    assert "nugget of the list" not in qrels
    assert "Sentences by topic" in run

    assert "2 Full support" in topic, "a citation has its own label"
    assert "nugget of the list" not in topic
    assert "that the answers cite" in compared.content.decode()
    assert "sentence:" not in compared.content.decode()
    values = {
        (score.evaluation.run_id, score.topic, score.measure): round(score.value, 4)
        for score in Score.objects.filter(evaluation__leaderboard=board).select_related("evaluation")
    }
    assert values[owls.pk, "bees", "V"] == 1.0  # both vital nuggets are supported
    assert values[owls.pk, "bees", "A"] == round(2.5 / 3, 4)  # and half of the okay one
    assert values[owls.pk, "bees", "A_strict"] == round(2 / 3, 4)
    assert values[owls.pk, "bees", "W"] == round((2 + 0.5 / 2) / 2.5, 4)
    assert values[crows.pk, "bees", "V"] == 0.5
    assert values[owls.pk, "bees", "SupportP"] == 0.75  # full and partial support of two sentences that cite
    assert values[owls.pk, "bees", "SupportR"] == 0.5  # of all three sentences
    assert values[crows.pk, "bees", "SupportP"] == 0.0
    assert values[owls.pk, "tea", "SupportF"] == values[crows.pk, "tea", "SupportF"] == 0.5


def test_run_with_units_without_a_grade_is_left_out(lab: AnswersLab) -> None:
    write_nuggets(lab)
    submit_answers(lab, "owls")
    judge_answers(lab, pool := pool_answers(lab))
    submit_answers(lab, "crows")

    board = scored(pool, lab)

    assert [each.run.tag for each in board.evaluations.select_related("run")] == ["owls"]
    html = client_of(lab.organizer).get(board.get_absolute_url()).content.decode()
    assert "crows</span> of Crows (4 units)" in html


def test_no_leaderboard_without_any_run_that_is_judged(lab: AnswersLab) -> None:
    write_nuggets(lab)
    submit_answers(lab, "owls")
    judge_answers(lab, pool := pool_answers(lab))
    submit_answers(lab, "crows")
    Run.objects.filter(tag="owls").update(status=Run.Status.DISQUALIFIED)

    qrels = qrels_services.freeze_judgments(pool=pool, by=lab.organizer)
    board = leaderboard_services.request(qrels=qrels, by=lab.organizer, seed=1)
    jobs.run(board.job_id or 0)

    job = Job.objects.get(pk=board.job_id)
    assert job.state == Job.State.FAILED
    assert "No run can be scored: 4 nuggets and citations of 1 run have no grade." in job.error


def test_archive_has_the_nuggets_and_computes_everything_again(lab: AnswersLab, tmp_path: Path) -> None:
    write_nuggets(lab)
    submit_answers(lab)
    judge_answers(lab, pool := pool_answers(lab))
    board = scored(pool, lab)

    path = written(archive_of(lab.track, lab.organizer), tmp_path)

    findings = findings_of(path)
    assert all(finding.is_right for finding in findings), [each for each in findings if not each.is_right]
    assert "5 in 2 frozen lists" in {finding.content for finding in findings}
    assert b'"creator": "ada"' not in zipfile.ZipFile(path).read("answers-archive/nuggets.jsonl")
    loaded = load(path, lab.organizer, "answers-again")
    assert loaded.track is not None, loaded.job and loaded.job.error
    other = loaded.track.leaderboards.get()
    assert values_of(other) == values_of(board)
    [entry] = loaded.track.pools.get().entries.filter(passage=ANGLE)
    assert entry.answer is not None
    assert [text for text, _ in entry.answer.sentences] == [DANCE, ANGLE, FAR]


def test_archive_with_a_changed_nugget_is_not_right(lab: AnswersLab, tmp_path: Path) -> None:
    write_nuggets(lab)
    submit_answers(lab)
    pool_answers(lab)
    path = written(archive_of(lab.track, lab.organizer), tmp_path)

    def wrong(before: bytes, after: bytes) -> list[str]:
        def change(name: str, data: bytes) -> bytes:
            return data.replace(before, after) if name == "nuggets.jsonl" else data

        return [finding.part for finding in findings_of(rewritten(path, change)) if not finding.is_right]

    assert wrong(b"A bee dances", b"A bee sings") == ["pool “Pool”"]
    assert wrong(b'"importance": "vital"', b'"importance": ""') == ["nuggets"]


def values_of(board: Leaderboard) -> dict[tuple[str, str, str], float]:
    scores = Score.objects.filter(evaluation__leaderboard=board)
    rows = scores.values_list("evaluation__run__tag", "topic", "measure", "value")
    return {(tag, topic, measure): value for tag, topic, measure, value in rows}
