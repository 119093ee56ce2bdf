"""Units judged by their members: a choice for each instance of a formula, submitted and stored together."""

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assay.errors import Refused
from assessment import errors
from assessment.batches import progress as batch_selectors
from assessment.judging import selectors as task_selectors
from assessment.judging import services as task_services
from assessment.judging import views as unsent
from assessment.judgments import selectors as tasks_members
from assessment.judgments import services as judgment_services
from assessment.models import Batch, Judgment, Task
from corpus.models import Document, Formula
from pooling.models import Pool, PoolEntry, PoolMember
from scoring.qrels import services as qrels_services
from scoring.qrels.selectors import qrels_tsv
from tests.helpers.factories import (
    make_answer,
    make_assessor,
    make_comment,
    make_document,
    make_organizer,
    make_topic,
    make_track,
)
from tests.helpers.judging import accept, make_batch, make_pool
from tracks.models import Assessor, Topic, Track

pytestmark = pytest.mark.django_db


@dataclass
class Scene:
    track: Track
    topic: Topic
    pool: Pool
    batch: Batch
    ada: User
    bob: User


def add_unit(
    pool: Pool, topic: Topic, visual: str, formulas: list[str], *, position: int, hidden: int = 0
) -> PoolEntry:
    """A unit of some formulas, each in its own post; the last `hidden` ones are not shown."""
    collection = pool.track.collection
    assert collection is not None
    entry = PoolEntry.objects.create(pool=pool, topic=topic, docno=visual, position=position)
    for i, code in enumerate(formulas, 1):
        formula = (
            f'<span class="math-container" data-formula-id="{code}" data-display="inline">x_{code}</span>'
        )
        html = f"<p>Before.</p><p>Look {formula}</p>"
        post = collection.documents.filter(docno=f"9{code}").first()
        post = post or make_answer(make_document(collection, f"8{code}"), f"9{code}", body=html)
        Formula.objects.get_or_create(
            collection=collection,
            code=code,
            defaults={"post": post.docno, "thread": post.thread, "place": 2, "latex": f"x_{code}"},
        )
        shown = 0 if i > len(formulas) - hidden else i
        PoolMember.objects.create(
            entry=entry, docno=code, document=post, post=post.docno, thread=post.thread, position=shown
        )
    return entry


@pytest.fixture
def protocol() -> str:
    return "arqmath-2021-task2"


@pytest.fixture
def scene(protocol: str) -> Scene:
    """Ada has a topic with a unit of three shown formulas and a unit of one."""
    track = make_track(protocol=protocol)
    topic = make_topic(track, "B.1", formula_id="q_1", latex="x^2")
    pool = make_pool(track, {})
    add_unit(pool, topic, "v1", ["11", "12", "13", "14"], position=1, hidden=1)
    add_unit(pool, topic, "v2", ["21"], position=2)
    ada, bob = make_assessor(track, "ada"), make_assessor(track, "bob")
    return Scene(track, topic, pool, make_batch(pool, {ada: [topic]}), ada, bob)


def answers(**chosen: str) -> dict[str, judgment_services.Answer]:
    return {docno.removeprefix("f"): judgment_services.Answer(choice) for docno, choice in chosen.items()}


def submit(
    task: Task, request_id: UUID | None = None, sent: tuple[UUID, ...] = (), **chosen: str
) -> list[Judgment]:
    return judgment_services.submit_members(
        task=task, answers=answers(**chosen), request_id=request_id or uuid4(), seconds=30, sent=sent
    )


def test_each_shown_member_is_judged_under_its_own_docno(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)

    submit(task, f11="high", f12="low", f13="not-matching")

    task.refresh_from_db()
    judged = Judgment.objects.order_by("docno").values_list("docno", "choice", "grade", "seconds")
    assert list(judged) == [("11", "high", 3, 30), ("12", "low", 1, None), ("13", "not-matching", None, None)]
    assert task.status == "submitted"
    assert accept(scene.batch, scene.ada).entry.docno == "v2"


@pytest.mark.parametrize(
    "chosen", [{}, {"f11": "high"}, {"f11": "high", "f12": "low", "f13": "low", "f14": "low"}]
)
def test_all_members_are_judged_or_none(scene: Scene, chosen: dict[str, str]) -> None:
    with pytest.raises(Refused, match="All instances of a formula are submitted at once"):
        submit(accept(scene.batch, scene.ada), **chosen)

    assert not Judgment.objects.exists()


def test_one_bad_choice_stores_none(scene: Scene) -> None:
    with pytest.raises(errors.AnswerRefused):
        submit(accept(scene.batch, scene.ada), f11="high", f12="low", f13="splendid")

    assert not Judgment.objects.exists()


def test_same_submission_sent_twice_is_stored_once(scene: Scene) -> None:
    task, number = accept(scene.batch, scene.ada), uuid4()

    first = submit(task, number, f11="high", f12="low", f13="low")
    again = submit(task, number, f11="high", f12="low", f13="low")

    assert first == again
    assert Judgment.objects.count() == 3


def test_members_are_undone_together_and_judged_again(scene: Scene) -> None:
    task, number = accept(scene.batch, scene.ada), uuid4()
    submit(task, number, f11="high", f12="low", f13="low")

    task_services.undo(task=task)
    submit(task, number, f11="high", f12="low", f13="low")  # a late repeat
    undone = Judgment.objects.filter(is_current=False).count()
    submit(task, f11="high", f12="low", f13="low")

    assert undone == 3
    current = Judgment.objects.filter(is_current=True)
    assert sorted(current.values_list("docno", "replaces__docno")) == [(d, d) for d in ("11", "12", "13")]


def test_request_id_used_for_other_choices_is_refused(scene: Scene) -> None:
    task, number = accept(scene.batch, scene.ada), uuid4()
    submit(task, number, f11="high", f12="low", f13="low")

    with pytest.raises(Refused, match="already submitted another judgment"):
        submit(task, number, f11="low", f12="low", f13="low")


def test_revision_appends_only_changed_choices(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    before = submit(task, f11="high", f12="low", f13="low")

    after = submit(task, f11="high", f12="medium", f13="low")

    assert Judgment.objects.count() == 4
    assert after[1].replaces == before[1]
    current = Judgment.objects.filter(is_current=True).order_by("docno").values_list("choice", flat=True)
    assert list(current) == ["high", "medium", "low"]


def test_judgments_that_the_page_did_not_show_are_not_revised(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    submit(task, f11="high", f12="low", f13="low")
    blind = {docno: judgment_services.Answer("medium", shown=0) for docno in ("11", "12", "13")}

    with pytest.raises(errors.JudgedElsewhere):
        judgment_services.submit_members(task=task, answers=blind, request_id=uuid4())

    assert Judgment.objects.filter(choice="medium").count() == 0


def test_judgments_whose_answer_was_lost_count_as_seen(scene: Scene) -> None:
    task, lost = accept(scene.batch, scene.ada), uuid4()
    submit(task, lost, f11="high", f12="low", f13="low")
    changed = {docno: judgment_services.Answer("medium", shown=0) for docno in ("11", "12", "13")}

    judgment_services.submit_members(task=task, answers=changed, request_id=uuid4(), sent=[lost])

    assert Judgment.objects.filter(is_current=True, choice="medium").count() == 3


def test_progress_counts_units(scene: Scene) -> None:
    submit(accept(scene.batch, scene.ada), f11="high", f12="low", f13="low")

    [topic] = task_selectors.desk_batch(scene.batch, scene.ada).topics
    [batch_progress] = batch_selectors.track_progress(scene.track)

    assert (topic.judged, topic.total) == (1, 2)
    assert (batch_progress.judged, batch_progress.total) == (1, 2)


def test_formula_judged_for_another_pool_is_not_judged_again(scene: Scene) -> None:
    submit(accept(scene.batch, scene.ada), f11="high", f12="low", f13="low")
    pool = make_pool(scene.track, {})
    add_unit(pool, scene.topic, "v1", ["11", "12"], position=1)
    add_unit(pool, scene.topic, "v3", ["13", "31"], position=2)
    batch = make_batch(pool, {scene.bob: [scene.topic]})

    task = accept(batch, scene.bob)

    assert task.entry.docno == "v3"
    assert [member.docno for member in tasks_members.members_to_judge(task)] == ["31"]
    submit(task, f31="low")
    assert task_services.accept_next(batch=batch, assessor=scene.bob) is None
    assert task_selectors.desk_batch(batch, scene.bob).is_done


# ---- the page


@pytest.fixture
def ada(client: Client, scene: Scene) -> Client:
    client.force_login(scene.ada)
    return client


def form_of(task: Task, *choices: str, **more: Any) -> dict[str, Any]:
    members = tasks_members.members_to_judge(task)
    fields = {f"choice-{member.pk}": choice for member, choice in zip(members, choices, strict=False)}
    return {"request_id": str(uuid4()), "seconds": "12"} | fields | more


@pytest.mark.parametrize("protocol", ["arqmath-2020-task2", "arqmath-2021-task2"])
def test_page_shows_the_query_and_each_member_in_its_post(scene: Scene, ada: Client) -> None:
    task = accept(scene.batch, scene.ada)

    text, _, ahead = ada.get(task.get_absolute_url()).content.decode().partition('<template id="ahead">')

    assert text.count('<article class="instance"') == 3
    assert "<article" not in ahead
    assert "Topic formula" in text
    assert text.count("Retrieved formula:") == 1
    assert text.count("math-container is-marked") == 2 + 2 + 3, (
        "of the topic and the unit, of members that are written otherwise, and in each post"
    )
    assert "Complete post" not in text  # it is short, so it is shown at once
    assert "x_14" not in text
    assert "/threads/811/?formula=11#post-911" in text
    assert "Abacus" not in text


def test_long_post_of_a_member_is_closed_and_a_key_opens_all(scene: Scene, ada: Client) -> None:
    for document in Document.objects.all():
        document.body += "<p>More words.</p>" * 200
        document.save(update_fields=["body"])

    page = ada.get(accept(scene.batch, scene.ada).get_absolute_url()).content.decode()
    text = page.partition('<template id="ahead">')[0]

    assert text.count('<details class="instance-post">') == 3
    assert re.search(r'id="all-posts"[^>]* data-press="p"', " ".join(text.split()))


def test_member_is_shown_without_its_post_if_the_protocol_says_so(scene: Scene, ada: Client) -> None:
    stored = scene.pool.protocol
    stored.text = stored.text.replace("in_context = true", "in_context = false")
    stored.save(update_fields=["text"])

    text = ada.get(accept(scene.batch, scene.ada).get_absolute_url()).content.decode()

    assert "x_11" in text
    assert "Before." not in text
    assert "/threads/811/" not in text


def test_submitting_the_form_leads_to_the_next_unit(scene: Scene, ada: Client) -> None:
    task = accept(scene.batch, scene.ada)

    answer = ada.post(task.get_absolute_url(), form_of(task, "high", "low", "medium"))

    following = Task.objects.get(status="accepted")
    assert answer["Location"] == following.get_absolute_url()
    assert Judgment.objects.count() == 3


def test_incomplete_form_keeps_its_choices(scene: Scene, ada: Client) -> None:
    task = accept(scene.batch, scene.ada)
    first = tasks_members.members_to_judge(task)[0]

    answer = ada.post(task.get_absolute_url(), form_of(task, "low", **{f"comment-{first.pk}": "near it"}))

    text = answer.content.decode()
    assert answer.status_code == 422
    assert "Choose a grade for instance 2" in text
    assert re.search(rf'id="choice-low-{first.pk}"[^>]*\schecked', text)
    assert "near it" in text


def test_form_of_many_formulas_keeps_all_choices(scene: Scene, ada: Client) -> None:
    add_unit(scene.pool, scene.topic, "v0", [str(3000 + n) for n in range(60)], position=0)
    task = accept(scene.batch, scene.ada)

    answer = ada.post(task.get_absolute_url(), form_of(task, *["low"] * 59))

    assert answer.status_code == 422
    assert len(re.findall(r"\schecked", answer.content.decode().partition('id="document-panel"')[2])) == 59


def test_missing_comment_is_an_error_of_its_member(scene: Scene, ada: Client) -> None:
    task = accept(scene.batch, scene.ada)

    answer = ada.post(
        task.get_absolute_url(),
        form_of(task, "system-failure", "low", "low"),
        headers={"Accept": "application/json"},
    )

    first = tasks_members.members_to_judge(task)[0]
    assert answer.status_code == 422
    assert list(answer.json()["errors"]) == [f"comment-{first.pk}"]


def test_choices_submitted_without_a_login_are_shown_again(scene: Scene, client: Client) -> None:
    task = accept(scene.batch, scene.ada)
    form = form_of(task, "high", "low", "low", proof=unsent.proof_of(task))
    client.post(task.get_absolute_url(), form)
    client.force_login(scene.ada)

    text = client.get(task.get_absolute_url()).content.decode()

    assert len(re.findall(r"\schecked", text.partition('id="document-panel"')[2])) == 3
    assert not Judgment.objects.exists()


def test_unit_of_others_is_not_found(scene: Scene, client: Client) -> None:
    task = accept(scene.batch, scene.ada)
    client.force_login(scene.bob)

    assert client.get(task.get_absolute_url()).status_code == 404
    assert client.post(task.get_absolute_url(), form_of(task, "high", "low", "low")).status_code == 404


@pytest.mark.parametrize(
    "junk", [{"sent": "x,y"}, {"sent": "1" * 5000}, {"request_id": "x"}, {"seconds": "-"}]
)
def test_junk_in_hidden_fields_is_no_error(scene: Scene, ada: Client, junk: dict[str, str]) -> None:
    task = accept(scene.batch, scene.ada)

    answer = ada.post(task.get_absolute_url(), form_of(task, "high", "low", "low", **junk))

    assert answer.status_code in {302, 422}


def test_own_judgments_name_each_formula(scene: Scene, ada: Client) -> None:
    submit(accept(scene.batch, scene.ada), f11="high", f12="low", f13="low")

    address = reverse("assessment:own_judgments", args=[scene.batch.pk])
    text, searched = (ada.get(address, query).content.decode() for query in ({}, {"q": "x_12"}))

    assert all(f">{docno}<" in text for docno in ("11", "12", "13"))
    assert all(f">x_{docno}<" in text for docno in ("11", "12", "13"))
    assert ">x_12<" in searched
    assert ">x_11<" not in searched


def test_frozen_unit_has_the_highest_grade_of_its_members(scene: Scene) -> None:
    submit(accept(scene.batch, scene.ada), f11="low", f12="high", f13="not-matching")
    submit(accept(scene.batch, scene.ada), f21="medium")

    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=make_organizer())

    assert qrels_tsv(qrels).decode().splitlines() == ["B.1\t0\tv1\t3", "B.1\t0\tv2\t2"]


@pytest.mark.parametrize("place", ["title", "comment"])
def test_formula_outside_the_body_is_shown_with_its_post(scene: Scene, ada: Client, place: str) -> None:
    [member, *_] = PoolMember.objects.filter(docno="11").select_related("document")
    formula = '<span class="math-container" data-formula-id="11" data-display="inline">y</span>'
    if place == "comment":
        make_comment(member.document, text=f"See {formula}")
    Document.objects.filter(pk=member.document_id).update(
        title=f"Why {formula}?" if place == "title" else "", body="<p>Only words.</p>"
    )

    text = ada.get(accept(scene.batch, scene.ada).get_absolute_url()).content.decode()

    marked = formula.replace("math-container", "math-container is-marked")
    assert (f"Why {marked}?" if place == "title" else f"See {marked}") in text
    assert ("In a comment on this post" in text) == (place == "comment")
    assert "Only words." in text


def test_single_formula_is_judged_in_its_post(client: Client) -> None:
    track = make_track(protocol="ntcir-12-wikipedia")
    topic = make_topic(track, "N.1", latex="x^2")
    pool = make_pool(track, {})
    unit = add_unit(pool, topic, "77", ["77"], position=1)
    PoolEntry.objects.filter(pk=unit.pk).update(document=unit.members.get().document)
    unit.members.all().delete()
    ada = make_assessor(track, "ada")
    Assessor.objects.filter(user=ada).update(group="graduate")
    client.force_login(ada)
    task = accept(make_batch(pool, {ada: [topic]}), ada)

    text = client.get(task.get_absolute_url()).content.decode()

    assert "math-container is-marked" in text
    assert "Before." in text
    assert 'name="choice"' in text
