"""A lab whose assessors judge the subtopics of a topic, from the import of its files to its archive."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from assay import samples
from assay.archive.contents import Reader
from assessment.errors import AnswerRefused
from assessment.judging import services as task_services
from assessment.judgments import services as judgment_services
from assessment.models import Batch, Judgment, Task
from pooling.models import PoolEntry
from scoring.models import Leaderboard, Qrels, Score
from scoring.qrels import services as qrels_services
from scoring.qrels.selectors import qrels_columns, qrels_tsv
from tests.publishing.archives.conftest import archive_of, written
from tests.publishing.archives.test_arguments import Campaign, build_campaign, scored
from tests.publishing.archives.test_services import findings_of, load
from tracks.models import Topic, Track
from tracks.topics import services as topic_services

pytestmark = pytest.mark.django_db

TEXTS = ("It is near.", "It is poison.", "It is near, and a theater.", "About nothing.", "")
COVERED: Mapping[str, list[str]] = {  # by the end of the docno
    "0": ["1"],
    "1": ["2"],
    "2": ["2", "1"],  # stored in order
    "3": [],
}


@pytest.fixture
def lab() -> Campaign:
    return build_campaign(samples.path("diversity-lab.toml").read_text(), "diversity-topics.xml", TEXTS)


def answers_of(task: Task, covered: Mapping[str, list[str]]) -> tuple[str, dict[str, Any]]:
    number = task.entry.docno[-1]
    if number == "4":
        return "unreadable", {}
    return ("relevant", {"covers": covered[number]}) if covered[number] else ("not-relevant", {})


def judge(batch: Batch, assessor: Any, covered: Mapping[str, list[str]] = COVERED) -> None:
    while task := task_services.accept_next(batch=batch, assessor=assessor):
        choice, answers = answers_of(task, covered)
        judgment_services.submit(task=task, choice=choice, answers=answers, request_id=uuid4())


def client_of(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_page_asks_about_the_subtopics_of_the_topic(lab: Campaign) -> None:
    client = client_of(lab.ada)
    task = task_services.accept_next(batch=lab.main, assessor=lab.ada)
    assert task is not None

    page = client.get(task.get_absolute_url()).content.decode()
    refused = client.post(
        task.get_absolute_url(), {"choice": "relevant", "answer-covers": "9", "request_id": uuid4()}
    ).content.decode()
    client.post(
        task.get_absolute_url(), {"choice": "relevant", "answer-covers": ["2", "1"], "request_id": uuid4()}
    )
    own = client.get(reverse("assessment:own_judgments", args=[lab.main.pk])).content.decode()
    second = task_services.accept_next(batch=lab.main, assessor=lab.ada)
    assert second is not None
    for _ in range(2):  # the same, sent twice
        client.post(second.get_absolute_url(), {"choice": "relevant", "request_id": UUID(int=1)})
    with_none = client.get(reverse("assessment:own_judgments", args=[lab.main.pk])).content.decode()

    words = [text for _, text in re.findall(r"<kbd[^>]*hidden></kbd> <span[^>]*>(\d )?([^<]*)</span>", page)]
    assert "How far is the planet Mercury from the Sun? (inf)" in words
    assert "“9” is not an answer to “Which subtopics does it cover?” Use 1, 2, 3." in refused
    assert "None of them" in page
    answers = Judgment.objects.order_by("pk").values_list("answers", flat=True)
    assert list(answers) == [{"covers": ["1", "2"]}, {"covers": []}], "nothing chosen is an answer too"
    assert "Which subtopics does it cover?</span> none of them" in with_none
    assert "1 How far is the planet Mercury from the Sun? (inf), 2 Is the metal mercury" in own


def test_topic_without_subtopics_is_not_asked_about_them(lab: Campaign) -> None:
    Topic.objects.update(subtopics=[])
    task = task_services.accept_next(batch=lab.main, assessor=lab.ada)
    assert task is not None

    page = client_of(lab.ada).get(task.get_absolute_url()).content.decode()
    with pytest.raises(AnswerRefused, match="take its answer back"):
        judgment_services.submit(task=task, choice="relevant", answers={"covers": ["1"]}, request_id=uuid4())

    assert "Which subtopics" not in page
    topics = client_of(lab.organizer).get(reverse("tracks:topics", args=[lab.track.slug])).content.decode()
    assert "2 topics have no subtopics" in topics


def test_participants_see_no_subtopics(lab: Campaign) -> None:
    first = lab.track.topics.get(code="1")
    address = reverse("tracks:topic", args=[lab.track.slug, "1"])

    of_organizer, of_stranger = client_of(lab.organizer).get(address), Client().get(address)

    assert "Mercury Theater" in of_organizer.content.decode()
    assert "Mercury Theater" not in of_stranger.content.decode()
    assert "mercury" in of_stranger.content.decode()
    assert [each["number"] for each in first.subtopics] == ["1", "2", "3"]


def test_lab_is_frozen_scored_archived_and_loaded(lab: Campaign, tmp_path: Path) -> None:
    judge(lab.main, lab.ada)

    scored(lab)

    whole, subtopics = Qrels.objects.order_by("version")
    lines = [line.split("\t") for line in qrels_tsv(subtopics).decode().splitlines()]
    of_first = [(number, docno, grade) for topic, number, docno, grade in lines if topic == "1"]
    assert sorted(of_first) == [
        ("1", "1-0", "1"), ("1", "1-1", "0"), ("1", "1-2", "1"), ("1", "1-3", "0"),
        ("2", "1-0", "0"), ("2", "1-1", "1"), ("2", "1-2", "1"), ("2", "1-3", "0"),
        ("3", "1-0", "0"), ("3", "1-1", "0"), ("3", "1-2", "0"), ("3", "1-3", "0"),
    ]  # fmt: skip
    assert whole.n_judged == subtopics.n_judged == 8
    assert [each["docno"] for each in subtopics.report["non_answers"]] == ["1-4", "2-4"]
    board = Leaderboard.objects.get(qrels=subtopics)
    # Owls return 0 1 2 3 4: the second document covers what the first does not, so the order is ideal.
    values = Score.objects.filter(
        evaluation__leaderboard=board, topic="1", evaluation__run__team__name="Owls"
    )
    recall = dict(values.values_list("measure", "value"))["StRecall@5"]
    assert (board.measures, recall) == (["alpha_nDCG@5", "P_IA@5", "StRecall@5"], 1.0)
    path = written(archive_of(lab.track, lab.organizer), tmp_path)
    loaded = load(path, lab.organizer, slug="again")
    assert [finding for finding in findings_of(path) if not finding.is_right] == []
    with Reader.of(path) as reader:
        [_, described] = json.loads(reader.read("metadata.json"))["recordSet"]
        line = reader.read("qrels/2.tsv").decode().splitlines()[0]
    fields = {field["name"]: field["source"]["transform"]["regex"] for field in described["field"]}
    read = [match[1] for part in fields.values() if (match := re.fullmatch(part, line))]
    assert (list(fields), read) == (["topic", "subtopic", "docno", "grade"], line.split("\t"))
    again = Qrels.objects.get(track=loaded.track, version=2)
    assert qrels_tsv(again) == qrels_tsv(subtopics)
    assert loaded.track.topics.get(code="1").subtopics == lab.track.topics.get(code="1").subtopics


def test_wrong_grade_of_a_subtopic_is_found_in_an_archive(lab: Campaign, tmp_path: Path) -> None:
    judge(lab.main, lab.ada)
    scored(lab)
    version = Qrels.objects.get(version=2)
    columns = qrels_columns(version)
    assert columns.parts is not None
    columns.parts[0] = b"1:0 2:1 3:0"
    version.pk, version.version, version._state.adding = None, 3, True
    with transaction.atomic():
        qrels_services.store_loaded(version, columns)

    findings = findings_of(written(archive_of(lab.track, lab.organizer), tmp_path))

    assert any("1 1 1-0 has grade 0, and its judgments give another" in each.problem for each in findings)


def test_assessors_agree_by_subtopic_and_are_adjudicated(lab: Campaign) -> None:
    judge(lab.main, lab.ada)
    judge(lab.dual, lab.bob, dict(COVERED) | {"1": ["3"]})
    client = client_of(lab.organizer)
    agreement, disagreements = (
        reverse(f"assessment:{name}", args=[lab.track.slug]) for name in ("agreement", "disagreements")
    )

    page = client.get(agreement, {"scale": "covers"})
    differ = client.get(disagreements, {"scale": "covers"}).content.decode()

    topics = {row.subtopic: (row.code, row.observed) for row in page.context["topics"]}
    assert topics == {"1": ("1", 1.0), "2": ("1", 2 / 3), "3": ("1", 2 / 3)}
    assert "Each subtopic of a document is compared as a unit." in page.content.decode()
    assert "<strong>Subtopics 2</strong>" in differ
    assert "<strong>Subtopics 3</strong>" in differ


def test_opened_track_keeps_the_numbers_of_subtopics(lab: Campaign) -> None:
    topic = lab.track.topics.get(code="1")
    client = client_of(lab.organizer)
    address = reverse("tracks:edit_topic", args=[lab.track.slug, "1"])

    refused = client.post(address, {"subtopics": "1: Only one"}).content.decode()
    wrong = client.post(address, {"subtopics": "a map"}).content.decode()
    client.post(address, {"subtopics": "1: One\n2 (nav): Two\n3: Three"})

    assert "the subtopics of topic 1 keep their numbers: 1, 2, 3." in refused
    assert "Line 1: expected a number, a colon and a text, such as 1: Find a map." in wrong
    topic.refresh_from_db()
    assert topic.subtopics[1] == {"number": "2", "text": "Two", "type": "nav"}
    Topic.objects.filter(pk=topic.pk).update(subtopics=[])
    topic.refresh_from_db()
    topic_services.edit(topic=topic, by=lab.organizer, subtopics=[{"number": "7", "text": "New"}])
    topic.refresh_from_db()
    assert [each["number"] for each in topic.subtopics] == ["7"]
    assert Track.objects.count() == 1
    assert PoolEntry.objects.count() == 10
