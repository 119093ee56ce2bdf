"""Texts that models get with a unit: the question of an answer, the thread of a cited post, examples of training."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from assay.cli.main import main
from assay_extensions.machines.judge_files.prompts import messages_of, read_template, values_of
from assay_extensions.machines.site import services
from assay_extensions.machines.site.examples import MOST, examples_for
from assay_extensions.machines.tests.fake_model import by_words, fake_model
from assay_extensions.machines.tests.test_leases import Process
from assessment.judging.units import shown_task
from assessment.models import Batch, DiscussionNote
from corpus.models import Document
from tests.assessment.conftest import Scene, build_scene
from tests.helpers.api import make_token
from tests.helpers.factories import make_organizer, make_topic
from tests.helpers.judging import make_batch, make_machine, make_pool
from tracks.models import Machine, Topic
from web.models import Scope


def note(batch: Batch, docno: str, grade: int | None = 2) -> DiscussionNote:
    entry = batch.pool.entries.get(docno=docno)
    return DiscussionNote.objects.create(
        batch=batch,
        topic=entry.topic,
        docno=docno,
        grade=grade,
        text="It proves it.",
        written_by=make_organizer(),
    )


def closed_round(scene: Scene, topic: Topic, n: int) -> Batch:
    pool = make_pool(scene.track, {topic: n})
    batch = make_batch(pool, {scene.ada: [topic]}, kind=Batch.Kind.TRAINING)
    change(batch, status=Batch.Status.CLOSED, closed_at=timezone.now(), discussion=Batch.Discussion.LETTERED)
    return batch


def change(batch: Batch, **fields: Any) -> None:
    Batch.objects.filter(pk=batch.pk).update(**fields)


@pytest.fixture
def trained(db: None) -> tuple[Scene, Batch, Batch]:
    """A closed training round about a topic of its own, and a machine's batch of the other topics."""
    scene = build_scene()
    topic = make_topic(scene.track, "A.9")
    training = closed_round(scene, topic, 4)
    machine = make_machine(scene.track, make_organizer())
    return scene, training, services.start(machine=machine, pool=scene.pool, by=machine.owner)


def docnos(batch: Batch) -> list[str]:
    return list(batch.pool.entries.order_by("position").values_list("docno", flat=True))


def test_examples_are_what_people_agreed_on_in_closed_rounds(trained: tuple[Scene, Batch, Batch]) -> None:
    _, training, batch = trained
    first, second, third, fourth = docnos(training)
    for docno, grade in {first: 2, second: 2, third: 0, fourth: None}.items():
        note(training, docno, grade)

    given = examples_for(batch)

    assert [(example.topic, example.grade) for example in given] == [("A.9", 0), ("A.9", 2), ("A.9", 2)]
    assert (given[1].key, given[1].reason, given[0].docno) == ("medium", "It proves it.", third)
    assert given[0].text
    assert len(given) <= MOST


@pytest.mark.parametrize("case", ["open", "hidden", "judged", "trained again", "main"])
def test_no_grade_leaks_of_a_topic_that_people_judge_or_of_a_round_that_they_do_not_see(
    trained: tuple[Scene, Batch, Batch], case: str
) -> None:
    scene, training, batch = trained
    [docno, *_] = docnos(training)
    topic = training.pool.entries.get(docno=docno).topic
    note(training, docno)
    assert len(examples_for(batch)) == 1

    if case == "open":
        change(training, status=Batch.Status.OPEN, closed_at=None)
    elif case == "hidden":
        change(training, discussion=Batch.Discussion.HIDDEN)
    elif case == "judged":
        make_batch(training.pool, {scene.bob: [topic]})
    elif case == "trained again":
        make_batch(training.pool, {scene.bob: [topic]}, kind=Batch.Kind.TRAINING, name="Again")
    else:
        change(training, kind=Batch.Kind.MAIN, discussion=Batch.Discussion.HIDDEN)

    assert examples_for(batch) == []


def test_template_gets_examples_of_other_topics_only() -> None:
    def example(topic: str) -> dict[str, Any]:
        texts = {
            "title": f"Title {topic}",
            "document_title": "",
            "text": f"Text {topic}",
            "reason": "Because.",
        }
        return {"topic": topic, "docno": "7", "grade": 2, "key": "medium", **texts}

    question: dict[str, Any] = {"topic": "A.1", "title": "t", "docno": "1", "text": "x", "grades": []}
    question |= {"examples": [example("A.1"), example("A.9")], "thread_question": "Why?"}
    posts = [{"author": "ann", "published_at": "2020", "text": "Hello."}]
    question |= {"citation": {"thread_title": "Snails", "posts": posts}}

    [call] = read_template("graded").calls
    text = messages_of(call, values_of(question))[1]["content"]

    assert "Title A.9" in text
    assert "Grade: 2 (medium). Because." in text
    assert "Text A.1" not in text, "no grade of the topic that is judged"
    assert "Thread of the cited post: Snails\n\nann, 2020:\nHello." in text
    assert "The document answers this question:\n\nWhy?" in text
    del question["citation"], question["thread_question"], question["examples"]
    assert not re.search(
        "Examples|Thread of|answers this", messages_of(call, values_of(question))[1]["content"]
    )


def test_unit_of_an_answer_has_its_question(trained: tuple[Scene, Batch, Batch]) -> None:
    scene, _, batch = trained
    entry = scene.pool.entries.select_related("document").first()
    assert entry is not None
    assert entry.document is not None
    Document.objects.filter(pk=entry.document_id).update(kind=Document.Kind.ANSWER, thread="q1")
    Document.objects.create(
        collection=scene.track.collection,
        docno="q1",
        thread="q1",
        kind=Document.Kind.QUESTION,
        title="Why?",
        body="<p>So?</p>",
    )
    task = _task(batch, entry.docno)

    assert shown_task(task, is_html=False).unit.thread_question == "Why? So?"


def _task(batch: Batch, docno: str) -> Any:
    lease = Process(Machine.objects.get(), batch).lease(20)
    [number] = [task["id"] for task in lease["tasks"] if task["unit"]["docno"] == docno]
    return batch.tasks.select_related("entry__document", "entry__topic", "batch__pool__track__protocol").get(
        pk=number
    )


@pytest.mark.django_db(transaction=True)
def test_command_sends_examples_of_a_site_to_the_model(
    live_server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = build_scene()
    topic = make_topic(scene.track, "A.9")
    training = closed_round(scene, topic, 1)
    note(training, docnos(training)[0])
    machine = make_machine(scene.track, make_organizer())
    batch = services.start(machine=machine, pool=scene.pool, by=machine.owner)
    monkeypatch.setenv("ASSAY_TOKEN", make_token(machine.assessor.user, Scope.READ, Scope.JUDGE))
    monkeypatch.chdir(tmp_path)
    with fake_model(by_words) as model:
        Path("judge.toml").write_text(
            f'name = "f"\nversion = "1"\nmodel = "m"\naddress = "{model.address}"\n'
        )
        words = ["judge", "--judge", "judge.toml", "--server", live_server.url, "--batch", str(batch.pk)]
        assert main([*words, "--cache", "cache.sqlite", "--quiet"]) == 0

    texts = [request["messages"][1]["content"] for request in model.requests]
    assert len(texts) == scene.pool.entries.count()
    assert all("Grade: 2 (medium). It proves it." in text for text in texts)
