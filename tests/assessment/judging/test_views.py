"""The pages of assessors: what each shows, who may use it, and what a refused submission keeps."""

import re
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import User
from assessment.batches import services as batch_services
from assessment.models import Judgment, Task
from assessment.planning import services as assignment_services
from corpus.models import Document
from pooling.models import PoolEntry
from tests.assessment.conftest import Scene
from tests.helpers.factories import (
    PASSWORD,
    make_assessor,
    make_collection,
    make_document,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tests.helpers.judging import accept, judge, judge_all, make_batch, make_pool, make_team
from tracks.guidelines import services as guidelines_services
from tracks.models import Track

pytestmark = pytest.mark.django_db

JSON = {"HTTP_ACCEPT": "application/json"}


def as_user(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def answer(**fields: Any) -> dict[str, Any]:
    return {
        "choice": "high",
        "comment": "",
        "request_id": str(uuid4()),
        "seconds": "12",
        "shown": "0",
    } | fields


# -- the desk


def test_desk_shows_each_batch_with_its_counts_and_a_way_to_start(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada))

    page = as_user(scene.ada).get(reverse("assessment:mine"))

    [item] = page.context["desk"]
    assert (item.judged, item.total, item.is_done) == (1, 6, False)
    assert [(topic.judged, topic.total) for topic in item.topics] == [(1, 3), (0, 3)]
    assert "Continue judging" in page.content.decode()


def test_desk_offers_to_resume_an_open_task(scene: Scene) -> None:
    accept(scene.batch, scene.ada)

    assert "Resume topic A.1" in as_user(scene.ada).get(reverse("assessment:mine")).content.decode()


BATCH = re.compile(r'<h2 id="batch-\d+"><bdi>[^<]*</bdi>\s*<span class="optional">([^<]*)')  # below its track


def test_desk_begins_with_the_batch_in_progress(scene: Scene) -> None:
    newer = make_batch(scene.pool, {scene.ada: [scene.second]}, name="Newer")
    ada = as_user(scene.ada)
    address = reverse("assessment:mine")
    names = [newer.name, scene.batch.name]

    before = BATCH.findall(ada.get(address).content.decode())
    accept(scene.batch, scene.ada)
    html = ada.get(address).content.decode()
    after = BATCH.findall(html)

    assert (before, after) == (names, names[::-1])
    assert html.index("btn-primary") < html.index(newer.name)
    assert html.count("btn-primary") == 1, "that of the batch in progress"


def test_empty_document_says_that_it_is_empty(scene: Scene) -> None:
    Document.objects.update(title="", body="<p> </p>")
    page = as_user(scene.ada).get(accept(scene.batch, scene.ada).get_absolute_url()).content.decode()
    assert "The document is empty: the collection has no text for it." in page

    Document.objects.update(body="<p>Words</p>")
    page = as_user(scene.ada).get(Task.objects.get().get_absolute_url()).content.decode()
    assert "The document is empty" not in page


def test_finished_training_says_what_follows(scene: Scene) -> None:
    training = make_batch(scene.pool, {scene.ada: [scene.first]}, kind="training")
    judge_all(training, scene.ada)

    page = as_user(scene.ada).get(reverse("assessment:done", args=[training.pk])).content.decode()

    assert "This was the training. The main batch appears in your batches" in page


def test_empty_desk_says_what_comes_and_leads_to_the_guidelines(scene: Scene) -> None:
    guidelines_services.publish(track=scene.track, text="Rules", revision=0, by=make_organizer())
    bob = make_assessor(scene.track)

    page = as_user(bob).get(reverse("assessment:mine")).content.decode()

    assert "No open batches" in page
    assert "sends no e-mail about it" in page
    assert f'href="{reverse("tracks:guidelines", args=[scene.track.slug])}"' in page


def test_desk_begins_with_unread_guidelines_and_does_not_ask_again_after_the_first_judgment(
    scene: Scene,
) -> None:
    guidelines_services.publish(track=scene.track, text="Rules", revision=0, by=make_organizer())
    ada, desk = as_user(scene.ada), reverse("assessment:mine")
    filled = re.compile(r"btn-primary[^>]*>\s*([^<]*?)\s*<")

    before = filled.findall(ada.get(desk).content.decode())
    judge(accept(scene.batch, scene.ada))
    after = ada.get(desk).content.decode()

    assert (before, filled.findall(after)) == (["Read the guidelines"], ["Continue judging"])
    assert "Read the guidelines before you judge" not in after
    guidelines = ada.get(reverse("assessment:guidelines", args=[scene.batch.pk])).content.decode()
    assert reverse("assessment:next", args=[scene.batch.pk]) in guidelines


def test_drafts_are_on_no_desk_and_closed_batches_can_be_read(scene: Scene) -> None:
    make_batch(scene.pool, {scene.ada: [scene.first]}, is_open=False, kind="training")
    batch_services.close(batch=scene.batch)

    page = as_user(scene.ada).get(reverse("assessment:mine"))

    assert page.context["desk"] == []
    assert list(page.context["closed"]) == [scene.batch]


def test_counts_after_taking_over_a_topic_exclude_what_was_judged(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada))
    assignment_services.reassign(
        batch=scene.batch, topic=scene.first, from_assessor=scene.ada, to_assessor=scene.bob
    )
    judge(accept(scene.batch, scene.bob))

    [item] = as_user(scene.bob).get(reverse("assessment:mine")).context["desk"]

    assert (item.judged, item.total) == (1, 2)


def test_start_opens_a_task_and_the_last_page_states_that_all_is_judged(scene: Scene) -> None:
    client = as_user(scene.ada)

    started = client.post(reverse("assessment:next", args=[scene.batch.pk]))
    assert started.url == Task.objects.get().get_absolute_url()
    judge_all(scene.batch, scene.ada)
    ended = client.post(reverse("assessment:next", args=[scene.batch.pk]), follow=True)

    text = " ".join(ended.content.decode().split())
    assert "You have judged all your units of this batch: 6 units of 2 topics." in text


def test_done_page_of_an_unfinished_batch_leads_back_to_it(scene: Scene) -> None:
    page = as_user(scene.ada).get(reverse("assessment:done", args=[scene.batch.pk])).content.decode()

    assert "Some entries are not judged yet" in page
    assert "0 of 6 units judged" in page


def test_a_get_takes_no_task(scene: Scene) -> None:
    assert as_user(scene.ada).get(reverse("assessment:next", args=[scene.batch.pk])).status_code == 405
    assert not Task.objects.exists()


# -- the judging page


def test_page_shows_question_answer_choices_and_progress(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada))
    task = accept(scene.batch, scene.ada)

    page = as_user(scene.ada).get(task.get_absolute_url())

    text = " ".join(page.content.decode().split())
    assert "Title of A.1" in text
    assert "Body of A.1." in text
    assert f"Body of {task.entry.docno}." in text
    assert "<strong>1</strong> of 3 in topic A.1" in text
    assert "1 of 6 in total" in text
    assert [choice.label for choice in page.context["choices"]] == [
        "High", "Medium", "Low", "Not relevant", "System failure", "Do not know",
    ]  # fmt: skip
    assert "Sufficient to answer the complete question on its own." in text
    assert task.entry.document is not None
    assert f"threads/{task.entry.document.thread}/#post-{task.entry.docno}" in text
    assert page["Cache-Control"].count("no-store") == 1


def test_page_links_to_the_topics_own_thread_only_if_it_has_one(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    client = as_user(scene.ada)
    assert client.get(task.get_absolute_url()).context["topic_thread"] == ""

    Track.objects.filter(pk=scene.track.pk).update(topic_collection=make_collection("later-threads"))
    scene.first.thread = "77"
    scene.first.save()

    assert (
        client.get(task.get_absolute_url()).context["topic_thread"]
        == "/collections/later-threads/threads/77/"
    )


def test_document_layout_shows_topic_narrative_and_document(db: None) -> None:
    track = make_track(protocol="trec-adhoc")
    ada, topic = make_assessor(track), make_topic(track, "301", narrative="<p>What counts here.</p>")
    assert track.collection is not None
    document = make_document(
        track.collection, "FT-1", kind="document", title="A headline", body="<p>News.</p>"
    )
    pool = make_pool(track, {})
    PoolEntry.objects.create(pool=pool, topic=topic, docno="FT-1", document=document, position=0)
    task = accept(make_batch(pool, {ada: [topic]}), ada)

    page = as_user(ada).get(task.get_absolute_url())

    text = page.content.decode()
    for part in ("What counts here.", "A headline", "News.", ">Document</span>", ">Topic 301</span>"):
        assert part in text
    assert page.context["unit"].thread == ""


def test_page_states_that_the_text_of_a_document_is_missing(scene: Scene) -> None:
    pool = make_pool(scene.track, {})
    PoolEntry.objects.create(pool=pool, topic=scene.first, docno="nowhere", document=None, position=0)
    task = accept(make_batch(pool, {scene.ada: [scene.first]}), scene.ada)

    page = as_user(scene.ada).get(task.get_absolute_url())

    assert "The collection does not have the text of this document." in page.content.decode()


def test_page_shows_nothing_about_runs_and_other_assessors(scene: Scene) -> None:
    training = make_batch(scene.pool, {scene.ada: [scene.first], scene.bob: [scene.first]}, kind="training")
    judge(accept(training, scene.bob), "do-not-know", "bob's own remark")
    team = make_team(scene.track)
    task = accept(training, scene.ada)

    text = as_user(scene.ada).get(task.get_absolute_url()).content.decode()

    assert "bob" not in text
    assert team.name not in text
    assert "checked" not in text.partition('<form id="judgment"')[2]


def test_page_takes_the_same_queries_in_a_large_pool(db: None) -> None:
    def queries(n: int) -> int:
        track = make_track()
        ada, topic = make_assessor(track), make_topic(track)
        batch = make_batch(make_pool(track, {topic: n}), {ada: [topic]})
        judge(accept(batch, ada))
        client, task = as_user(ada), accept(batch, ada)
        client.get(task.get_absolute_url())
        with CaptureQueriesContext(connection) as captured:
            client.get(task.get_absolute_url())
        return len(captured)

    assert queries(3) == queries(40) <= 14


# -- submitting


def test_plain_form_stores_the_judgment_and_goes_to_the_next_task(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)

    sent = as_user(scene.ada).post(task.get_absolute_url(), answer(comment="clear"))

    judgment = Judgment.objects.get()
    assert (judgment.docno, judgment.choice, judgment.comment, judgment.seconds) == (
        task.entry.docno,
        "high",
        "clear",
        12,
    )
    assert sent.url == Task.objects.get(status="accepted").get_absolute_url() != task.get_absolute_url()


def test_last_judgment_leads_to_the_done_page(scene: Scene) -> None:
    batch = make_batch(make_pool(scene.track, {scene.first: 1}), {scene.ada: [scene.first]})
    task = accept(batch, scene.ada)

    sent = as_user(scene.ada).post(task.get_absolute_url(), answer())

    assert sent.url == reverse("assessment:done", args=[batch.pk])
    page = as_user(scene.ada).get(sent.url).content.decode()
    assert f"<bdi>{scene.track.name}</bdi> · {batch.name}" in page
    assert re.search(
        rf'action="{reverse("assessment:next", args=[scene.batch.pk])}".*?Continue judging', page, re.DOTALL
    )


def test_script_gets_the_stored_judgment_and_the_next_address(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    fields = answer()
    client = as_user(scene.ada)

    first = client.post(task.get_absolute_url(), fields, **JSON)
    again = client.post(task.get_absolute_url(), fields, **JSON)

    judgment = Judgment.objects.get()
    following = Task.objects.get(status="accepted").get_absolute_url()
    assert first.json() == again.json() == {"judgment": judgment.pk, "choice": "high", "next": following}


@pytest.mark.parametrize("seconds", ["", "-4", "1e9", "99999999999999999999", "٣", "soon"])
def test_an_unreadable_time_is_ignored(scene: Scene, seconds: str) -> None:
    task = accept(scene.batch, scene.ada)

    as_user(scene.ada).post(task.get_absolute_url(), answer(seconds=seconds))

    assert Judgment.objects.get().seconds in {None, 3}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"choice": ""}, "Choose a grade, or one of the other choices."),
        ({"choice": "excellent"}, "is not a choice of this protocol; use high, medium"),
        ({"choice": "do-not-know", "comment": "  "}, "“Do not know” needs a comment that says why."),
        ({"request_id": "x"}, "Enter a valid UUID"),
    ],
)
def test_wrong_form_is_shown_again_with_what_was_entered(
    scene: Scene, fields: dict[str, str], message: str
) -> None:
    task = accept(scene.batch, scene.ada)
    client = as_user(scene.ada)

    page = client.post(task.get_absolute_url(), answer(comment="kept words") | fields)
    problem = client.post(task.get_absolute_url(), answer() | fields, **JSON)

    assert (page.status_code, problem.status_code) == (422, 422)
    assert message in problem.json()["detail"]
    if "comment" not in fields:
        assert "kept words" in page.content.decode()
    assert not Judgment.objects.exists()


def test_refused_revision_stays_on_the_page(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    judgment = judge(task, "low")
    client = as_user(scene.ada)
    batch_services.close(batch=scene.batch)

    page = client.post(
        task.get_absolute_url(), answer(choice="high", comment="on reflection", shown=judgment.pk)
    )

    assert page.status_code == 409
    text = page.content.decode()
    assert "is closed, so your judgment did not change" in text
    assert "on reflection" in text
    assert page.context["answer"]["choice"] == "high"


def test_revision_of_a_judgment_that_the_page_did_not_show_is_refused_once(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    current = judge(task, "low")
    client = as_user(scene.ada)

    problem = client.post(task.get_absolute_url(), answer(choice="high"), **JSON)
    page = client.post(task.get_absolute_url(), answer(choice="high"))

    assert problem.status_code == page.status_code == 409
    expected = {"judgment": current.pk, "docno": current.docno, "request_id": str(current.request_id)}
    assert problem.json()["current"] == expected
    assert page.context["answer"]["shown"] == current.pk
    assert Judgment.objects.count() == 1


def test_page_sent_twice_with_another_choice_is_refused_once(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    client, fields = as_user(scene.ada), answer()
    client.post(task.get_absolute_url(), fields)

    page = client.post(task.get_absolute_url(), fields | {"choice": "low"})

    assert page.status_code == 409
    assert str(page.context["answer"]["request_id"]) != fields["request_id"]
    assert Judgment.objects.get().choice == "high"


def test_going_back_shows_the_earlier_judgment_and_lets_it_be_changed(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    client = as_user(scene.ada)
    client.post(task.get_absolute_url(), answer(choice="low", comment="why"))

    page = client.get(task.get_absolute_url())
    shown = page.context["answer"]
    client.post(
        task.get_absolute_url(), answer(choice="medium", shown=shown["shown"], request_id=shown["request_id"])
    )

    assert (shown["choice"], shown["comment"]) == ("low", "why")
    assert "You judged this <strong>Low</strong>" in page.content.decode()
    assert Judgment.objects.get(is_current=True).choice == "medium"


def test_judgment_is_kept_if_there_is_no_next_task(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    batch_services.close(batch=scene.batch)

    page = as_user(scene.ada).post(task.get_absolute_url(), answer(), follow=True)

    assert Judgment.objects.count() == 1
    assert "Your judgment is saved." in page.content.decode()


@pytest.mark.parametrize("cause", ["closed", "withdrawn"])
def test_locked_judgment_is_shown_and_cannot_be_changed(scene: Scene, cause: str) -> None:
    task = accept(scene.batch, scene.ada)
    judge(task)
    if cause == "closed":
        batch_services.close(batch=scene.batch)
    else:
        assignment_services.withdraw(batch=scene.batch, assessor=scene.ada, topic=scene.first)

    page = as_user(scene.ada).get(task.get_absolute_url())

    assert "cannot change it" in page.context["lock_reason"]
    assert 'id="submit" disabled' in page.content.decode()


# -- undo


def undo(client: Client, task: Task, **fields: str) -> Any:
    return client.post(reverse("assessment:undo", args=[task.pk]), fields, follow=True)


def test_undo_opens_the_last_task_again_and_its_judgment_no_longer_counts(scene: Scene) -> None:
    client, task = as_user(scene.ada), accept(scene.batch, scene.ada)
    client.post(task.get_absolute_url(), answer(choice="low", comment="too fast"))
    following = Task.objects.get(status=Task.Status.ACCEPTED)

    page = undo(client, following)
    listed = client.get(reverse("assessment:own_judgments", args=[scene.batch.pk])).content.decode()
    sent = client.post(task.get_absolute_url(), answer(choice="high", shown="0"))

    assert page.redirect_chain[-1][0] == task.get_absolute_url()
    assert "You have undone your judgment <strong>Low</strong>" in page.content.decode()
    assert (page.context["answer"]["choice"], page.context["answer"]["comment"]) == ("low", "too fast")
    assert page.context["judged"] == 0
    assert "undone: it does not count" in listed
    assert sent.url == following.get_absolute_url()
    first, second = Judgment.objects.order_by("pk")
    assert (first.is_current, second.is_current, second.replaces) == (False, True, first)


def test_undo_pressed_twice_undoes_one_judgment_and_again_goes_further_back(scene: Scene) -> None:
    client = as_user(scene.ada)
    first, second = judge(accept(scene.batch, scene.ada)), judge(accept(scene.batch, scene.ada))
    opened = accept(scene.batch, scene.ada)

    undo(client, opened)
    undo(client, opened)
    after_two_presses = set(Judgment.objects.filter(is_current=True))
    page = undo(client, second.task)
    undo(client, first.task, own="yes")  # the button of a page that was shown before

    assert after_two_presses == {first}
    assert page.redirect_chain[-1][0] == first.task.get_absolute_url()
    assert not Judgment.objects.filter(is_current=True).exists()
    assert Task.objects.get(status=Task.Status.ACCEPTED) == first.task


def test_late_repeat_of_an_undone_submission_stays_undone(scene: Scene) -> None:
    client, task, fields = as_user(scene.ada), accept(scene.batch, scene.ada), answer()
    client.post(task.get_absolute_url(), fields)
    undo(client, task)

    reply = client.post(task.get_absolute_url(), fields, **JSON).json()

    assert reply["next"] == task.get_absolute_url()
    assert not Judgment.objects.get().is_current


def test_undone_judgment_does_not_count_for_the_organizer(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    judge(task)
    undo(as_user(scene.ada), task)

    page = as_user(make_organizer()).get(scene.batch.get_absolute_url()).context

    assert (page["progress"].judged, page["n_uncounted"]) == (0, 0)


def test_unit_is_given_out_again_after_its_judgment_was_undone_although_another_has_judged_it(
    scene: Scene,
) -> None:
    page_of_ada = accept(scene.batch, scene.ada)
    move = {"topic": scene.first, "from_assessor": scene.ada, "to_assessor": scene.bob}
    assignment_services.reassign(batch=scene.batch, **move)
    bob, task = as_user(scene.bob), accept(scene.batch, scene.bob)
    judge(task)
    judge(page_of_ada, "low")  # kept, but Bob has judged the unit

    undo(bob, task)
    bob.post(reverse("assessment:skip", args=[task.pk]))
    judge_all(scene.batch, scene.bob)

    current = Judgment.objects.filter(is_current=True, docno=task.entry.docno)
    assert [judgment.assessor for judgment in current] == [scene.bob]


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        ("closed", "is closed, so your judgment did not change"),
        ("withdrawn", "is no longer assigned to you"),
        ("nothing judged", "There is no judgment of yours to undo"),
    ],
)
def test_undo_is_refused_with_the_reason(scene: Scene, cause: str, reason: str) -> None:
    task = accept(scene.batch, scene.ada)
    if cause != "nothing judged":
        judge(task)
    if cause == "closed":
        batch_services.close(batch=scene.batch)
    elif cause == "withdrawn":
        assignment_services.withdraw(batch=scene.batch, assessor=scene.ada, topic=scene.first)

    page = undo(as_user(scene.ada), task)

    assert page.status_code == 409
    assert reason in page.content.decode()
    assert Judgment.objects.count() == Judgment.objects.filter(is_current=True).count()


# -- one task at a time


def test_without_the_next_task_at_once_a_submission_holds_no_task(scene: Scene) -> None:
    client, address = as_user(scene.ada), reverse("assessment:stored", args=[scene.batch.pk])
    task = accept(scene.batch, scene.ada)
    switched = client.post(reverse("assessment:accepting"), {"back": task.get_absolute_url()})

    reply = client.post(task.get_absolute_url(), answer(), **JSON).json()
    page = client.get(reply["next"])

    assert switched.url == task.get_absolute_url()
    assert reply["next"] == address
    text = " ".join(page.content.decode().split())
    assert f'Stored: <strong>High</strong> for topic A.1, <span class="mono">{task.entry.docno}' in text
    assert "Take the next task" in text
    assert not Task.objects.filter(status=Task.Status.ACCEPTED).exists()


def test_without_the_next_task_at_once_a_skip_holds_no_task(scene: Scene) -> None:
    User.objects.filter(pk=scene.ada.pk).update(accepts_next=False)
    task = accept(scene.batch, scene.ada)

    sent = as_user(scene.ada).post(reverse("assessment:skip", args=[task.pk]))

    assert sent.url == reverse("assessment:stored", args=[scene.batch.pk])
    assert not Task.objects.filter(status=Task.Status.ACCEPTED).exists()


def test_last_judgment_without_the_next_task_at_once_leads_to_the_done_page(scene: Scene) -> None:
    User.objects.filter(pk=scene.ada.pk).update(accepts_next=False)
    judge_all(scene.batch, scene.ada)

    page = as_user(scene.ada).get(reverse("assessment:stored", args=[scene.batch.pk]))

    assert page.url == reverse("assessment:done", args=[scene.batch.pk])


@pytest.mark.parametrize("back", ["//evil.example/", "https://evil.example/", ""])
def test_the_switch_leads_back_to_this_site_only(scene: Scene, back: str) -> None:
    client = as_user(scene.ada)

    sent = client.post(reverse("assessment:accepting"), {"accepts_next": "on", "back": back})

    assert sent.url == reverse("assessment:mine")
    assert client.post(reverse("assessment:accepting"), **JSON).json() == {}
    assert not User.objects.get(pk=scene.ada.pk).accepts_next


# -- without a login


def test_script_without_a_login_gets_the_login_address(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)

    problem = Client().post(task.get_absolute_url(), answer(), **JSON)

    assert problem.status_code == 401
    assert problem.json()["login"] == f"/login/?next={reverse('assessment:back')}"


def proof(task: Task) -> str:
    """The value by which the judging page shows for which task and assessor it was made."""
    page = as_user(task.assessor).get(task.get_absolute_url()).content.decode()
    return str(re.findall(r'name="proof" value="([^"]+)"', page)[0])


def test_plain_form_without_a_login_shows_its_answer_again_after_the_login(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    client = Client()
    fields = answer(choice="low", comment="half a proof", proof=proof(task))
    sent = client.post(task.get_absolute_url(), fields)

    page = client.post(sent.url, {"username": "ada", "password": PASSWORD}, follow=True)
    again = client.get(task.get_absolute_url())

    assert (page.context["answer"]["choice"], page.context["answer"]["comment"]) == ("low", "half a proof")
    assert "Check your choice, and submit it." in page.content.decode()
    assert not again.context["answer"]["choice"]
    assert not Judgment.objects.exists()


def test_kept_answer_is_not_shown_to_another_user(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    client = Client()
    sent = client.post(task.get_absolute_url(), answer(comment="mine", proof=proof(task)))

    page = client.post(sent.url, {"username": "bob", "password": PASSWORD}, follow=True)

    assert page.status_code == 404


@pytest.mark.parametrize("case", ["no task", "no proof", "forged", "of another task", "inactive assessor"])
def test_submission_of_a_visitor_without_a_page_of_the_task_stores_nothing(scene: Scene, case: str) -> None:
    task = accept(scene.batch, scene.ada)
    judge(task)
    signed = {"forged": f"{proof(task)[:-1]}x", "of another task": proof(accept(scene.batch, scene.ada))}
    if case == "inactive assessor":
        signed[case] = proof(task)
        User.objects.filter(pk=scene.ada.pk).update(is_active=False)
    Session.objects.all().delete()
    address = f"/judge/tasks/{task.pk + 1000}/" if case == "no task" else task.get_absolute_url()
    large = {f"comment-{i}": "x" * 8000 for i in range(50)}

    sent = Client().post(address, answer(**large, proof=signed.get(case, "")))

    assert sent.url == f"/login/?next={address}"
    assert not Session.objects.exists()


def test_visit_without_a_submission_stores_no_session(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)

    sent = Client().get(task.get_absolute_url())

    assert sent.url == f"/login/?next={task.get_absolute_url()}"
    assert not Session.objects.exists()


def test_submission_without_a_csrf_token_is_refused(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    client = Client(enforce_csrf_checks=True)
    client.force_login(scene.ada)

    assert client.post(task.get_absolute_url(), answer()).status_code == 403
    assert not Judgment.objects.exists()


# -- own judgments, guidelines


def test_own_judgments_show_only_the_latest_of_each_task(scene: Scene) -> None:
    first = accept(scene.batch, scene.ada)
    judge(first, "low")
    judge(first, "high", "after all")
    judge(accept(scene.batch, scene.ada), "medium")

    page = as_user(scene.ada).get(reverse("assessment:own_judgments", args=[scene.batch.pk]))

    assert [each.label for each in page.context["judgments"]] == ["Medium", "High"]
    assert "after all" in page.content.decode()


def test_own_judgments_are_paged_and_an_empty_list_is_explained(scene: Scene) -> None:
    client = as_user(scene.ada)
    address = reverse("assessment:own_judgments", args=[scene.batch.pk])
    assert "No judgments yet." in client.get(address).content.decode()

    batch = make_batch(make_pool(scene.track, {scene.first: 51}), {scene.ada: [scene.first]})
    judge_all(batch, scene.ada)

    page = client.get(reverse("assessment:own_judgments", args=[batch.pk]), {"page": 2})
    assert len(page.context["judgments"]) == 1


def test_guidelines_give_every_definition(scene: Scene) -> None:
    page = as_user(scene.ada).get(reverse("assessment:guidelines", args=[scene.batch.pk]))

    for choice in page.context["choices"]:
        assert choice.definition in page.content.decode()


def test_keys_are_shown_only_to_users_with_shortcuts(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    client = as_user(scene.ada)
    assert "<kbd" in client.get(task.get_absolute_url()).content.decode()

    User.objects.filter(pk=scene.ada.pk).update(uses_shortcuts=False)

    text = client.get(task.get_absolute_url()).content.decode()
    assert re.findall("<kbd[^>]*>", text) == ['<kbd aria-hidden="true" hidden>']  # shown only for Ctrl+Enter
    assert "data-shortcuts" not in text


# -- who may change what; tests/test_access.py covers who may open each page


@pytest.fixture
def cast(scene: Scene) -> dict[str, User | None]:
    participant = make_user("participant")
    make_team(scene.track, participant)
    return {
        "organizer": make_organizer("organizer"),
        "assessor": scene.ada,
        "other assessor": scene.bob,
        "participant": participant,
        "stranger": make_user("stranger"),
        "visitor": None,
    }


LOGIN = 302


@pytest.mark.parametrize("name", ["organizer", "other assessor", "participant", "stranger", "visitor"])
def test_nobody_else_submits_or_accepts(scene: Scene, cast: dict[str, User | None], name: str) -> None:
    task = accept(scene.batch, scene.ada)
    client = as_user(cast[name])

    submitted = client.post(task.get_absolute_url(), answer())
    accepted = client.post(reverse("assessment:next", args=[scene.batch.pk]))

    expected = LOGIN if name == "visitor" else 404
    assert (submitted.status_code, accepted.status_code) == (expected, expected)
    assert not Judgment.objects.exists()
    assert Task.objects.count() == 1


@pytest.mark.parametrize("name", ["assessor", "other assessor", "participant", "stranger", "visitor"])
def test_only_organizers_open_and_close(scene: Scene, cast: dict[str, User | None], name: str) -> None:
    as_user(cast[name]).post(reverse("assessment:close", args=[scene.batch.pk]))

    scene.batch.refresh_from_db()
    assert scene.batch.status == "open"


def test_own_judgments_exclude_those_of_other_assessors(scene: Scene) -> None:
    training = make_batch(scene.pool, {scene.ada: [scene.first], scene.bob: [scene.first]}, kind="training")
    judge(accept(training, scene.bob))

    page = as_user(scene.ada).get(reverse("assessment:own_judgments", args=[training.pk]))

    assert page.context["judgments"] == []


def test_draft_track_is_hidden_from_its_assessors(scene: Scene) -> None:
    Track.objects.filter(pk=scene.track.pk).update(status="draft")

    assert as_user(scene.ada).get(reverse("assessment:judging", args=[scene.track.slug])).status_code == 404


# -- the page of the next task, and the texts after it


WITH_PAGE = JSON | {"HTTP_PREFER": "return=representation"}


def ahead_of(page: str) -> str:
    return page.partition('<template id="ahead">')[2].partition("</template>")[0]


def test_answer_to_a_submission_has_the_page_of_the_next_task_for_those_who_ask(scene: Scene) -> None:
    client, first = as_user(scene.ada), accept(scene.batch, scene.ada)

    page = client.post(first.get_absolute_url(), answer(), **WITH_PAGE).json()["page"]
    second = Task.objects.get(status="accepted")
    plain = client.post(second.get_absolute_url(), answer(), **JSON).json()

    assert page.lstrip().startswith("<main ")
    assert page.rstrip().endswith("</main>")
    assert f'data-task="{second.pk}"' in page
    assert f"Body of {second.entry.docno}." in page
    assert "<strong>1</strong> of 3 in topic A.1" in page
    assert "page" not in plain


def test_page_has_the_texts_that_follow_and_reserves_nothing(scene: Scene) -> None:
    client, task = as_user(scene.ada), accept(scene.batch, scene.ada)
    entries = list(PoolEntry.objects.filter(pool=scene.pool).order_by("topic__code", "position"))
    seen = []
    for entry, after in pairwise(entries):
        assert task.entry == entry
        page = client.get(task.get_absolute_url()).content.decode()
        seen.append((f"Body of {after.docno}." in ahead_of(page), "Body of A.2." in ahead_of(page)))
        assert Task.objects.filter(status="accepted").count() == 1
        judge(task)
        task = accept(scene.batch, scene.ada)

    assert seen == [(True, False), (True, False), (True, True), (True, False), (True, False)]
    assert ahead_of(client.get(task.get_absolute_url()).content.decode()) == ""


def test_submitted_task_and_closed_batch_have_no_text_ahead(scene: Scene) -> None:
    client = as_user(scene.ada)
    judged = accept(scene.batch, scene.ada)
    judge(judged)
    open_task = accept(scene.batch, scene.ada)

    assert ahead_of(client.get(judged.get_absolute_url()).content.decode()) == ""
    batch_services.close(batch=scene.batch)
    assert ahead_of(client.get(open_task.get_absolute_url()).content.decode()) == ""
