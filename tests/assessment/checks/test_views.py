"""Hidden checks: organizers plan them and read the results; to assessors they look like any other task."""

import re
from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assessment.batches import progress
from assessment.batches import services as batch_services
from assessment.judgments import services as judgment_services
from assessment.judgments.disagreements import judgments_of, round_of
from assessment.models import Batch, Check, DiscussionNote, GoldUnit, Judgment, Task
from assessment.planning import services as assignment_services
from pooling.models import Pool
from scoring.models import QrelsEntry
from scoring.qrels import services as qrels_services
from tests.assessment.conftest import Scene
from tests.assessment.judgments.test_protocol_keys import form_scene
from tests.helpers.factories import make_organizer, make_topic
from tests.helpers.judging import accept, judge, make_batch, make_pool
from tracks.models import Topic

pytestmark = pytest.mark.django_db


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def organizer(scene: Scene) -> Client:
    return client_of(make_organizer())


@pytest.fixture
def gold_topic(scene: Scene) -> Topic:
    """A topic that nobody has in the batch, with two units of known grades (3 and 0) in a pool of its own."""
    topic = make_topic(scene.track, "A.9")
    pool = make_pool(scene.track, {topic: 2})
    for entry, grade in zip(pool.entries.all(), (3, 0), strict=True):
        GoldUnit.objects.create(
            track=scene.track,
            topic=topic,
            docno=entry.docno,
            grade=grade,
            source=GoldUnit.Source.IMPORTED,
            created_by=pool.created_by,
        )
    return topic


def configure(organizer: Client, batch: Batch, *, gold: int = 0, repeats: int = 0, after: int = 1) -> int:
    fields = {"gold_percent": gold, "repeat_percent": repeats, "repeat_after": after}
    return organizer.post(reverse("assessment:checks", args=[batch.pk]), fields).status_code


def judge_through_page(
    client: Client, batch: Batch, choice: str = "high", *, of_checks: str = "high"
) -> Iterator[tuple[Task, str]]:
    """Judge all remaining tasks of an assessor through the page; each task with its page before it is submitted."""
    response = client.post(reverse("assessment:next", args=[batch.pk]))
    while "/tasks/" in response["Location"]:
        address = response["Location"]
        html = client.get(address).content.decode()
        task = Task.objects.select_related("entry__topic").get(pk=int(address.rstrip("/").rpartition("/")[2]))
        yield task, html
        chosen = of_checks if task.is_check else choice
        fields = {"choice": chosen, "comment": "", "request_id": uuid4(), "seconds": "3", "shown": "0"}
        response = client.post(address, fields)
        assert response.status_code == 302, response.content.decode()


def test_checks_are_off_by_default(scene: Scene) -> None:
    tasks = [task for task, _ in judge_through_page(client_of(scene.ada), scene.batch)]

    assert len(tasks) == 6
    assert not Check.objects.exists()


def test_share_of_known_grades_is_mixed_in(scene: Scene, organizer: Client, gold_topic: Topic) -> None:
    assert configure(organizer, scene.batch, gold=33) == 302

    tasks = [task for task, _ in judge_through_page(client_of(scene.ada), scene.batch)]

    assert len(tasks) == 8  # a third of six units
    places = [place for place, task in enumerate(tasks) if task.entry.topic == gold_topic]
    assert len(places) == 2
    assert places[0] > 0
    assert places[1] - places[0] > 1


def test_known_grades_of_own_topics_come_first(scene: Scene, organizer: Client, gold_topic: Topic) -> None:
    [own] = make_pool(scene.track, {scene.first: 1}).entries.all()
    unit = {"track": scene.track, "topic": own.topic, "docno": own.docno, "grade": 3}
    GoldUnit.objects.create(source=GoldUnit.Source.IMPORTED, created_by=make_organizer(), **unit)

    configure(organizer, scene.batch, gold=17)

    [planned] = Check.objects.filter(assessor=scene.ada)
    assert planned.entry == own
    configure(organizer, scene.batch, gold=33)
    assert set(Check.objects.values_list("entry__topic", flat=True)) == {scene.first.pk, gold_topic.pk}


def test_units_are_repeated_after_enough_others(scene: Scene, organizer: Client) -> None:
    configure(organizer, scene.batch, repeats=33, after=3)

    entries = [task.entry_id for task, _ in judge_through_page(client_of(scene.ada), scene.batch)]

    repeated = {entry for entry in entries if entries.count(entry) == 2}
    assert len(entries) == 8
    assert len(repeated) == 2
    for entry in repeated:
        first = entries.index(entry)
        assert entries.index(entry, first + 1) - first > 3


def test_answers_never_count_and_never_replace(scene: Scene, organizer: Client, gold_topic: Topic) -> None:
    configure(organizer, scene.batch, gold=33, repeats=33)
    list(judge_through_page(client_of(scene.ada), scene.batch, "high", of_checks="not-relevant"))
    first = Judgment.objects.filter(is_check=False)

    assert Judgment.objects.filter(is_check=True).count() > 0
    assert first.count() == first.filter(is_current=True, choice="high").count() == 6
    assert judgments_of(scene.track, round_of(scene.track, None)).count() == 6
    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=make_organizer())
    rows = QrelsEntry.objects.filter(qrels=qrels)
    assert (rows.count(), set(rows.values_list("grade", flat=True))) == (6, {3})
    for pool in Pool.objects.exclude(pk=scene.pool.pk):  # the pool of the known grades: nothing to freeze
        with pytest.raises(Exception, match="enough judgments"):
            qrels_services.freeze_judgments(pool=pool, by=make_organizer())


@pytest.mark.parametrize("is_checked", [True, False])
def test_estimate_on_the_desk_counts_checks_like_any_other_task(
    scene: Scene, organizer: Client, gold_topic: Topic, is_checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LEAST_TIMED", 5)
    configure(organizer, scene.batch, gold=33 if is_checked else 0)
    ada = client_of(scene.ada)

    desks = [
        ada.get(reverse("assessment:mine")).content.decode() for _ in judge_through_page(ada, scene.batch)
    ]

    n = 8 if is_checked else 6
    assert len(desks) == n
    assert ["at the speed measured" in desk for desk in desks] == [place >= 5 for place in range(n)]


def test_pages_of_the_assessor_show_no_difference(scene: Scene, organizer: Client, gold_topic: Topic) -> None:
    configure(organizer, scene.batch, gold=33, repeats=33)
    ada = client_of(scene.ada)
    desk = ada.get(reverse("assessment:mine")).content.decode()
    shapes, in_total, bodies, announced = set(), [], [], []

    for task, html in judge_through_page(ada, scene.batch):
        main = html[html.index("<main") :]
        counts = re.search(r"(\d+) of (\d+) in total", main)
        assert counts is not None
        in_total.append(counts.groups())
        ahead = "".join(re.findall(r'<template id="ahead">.*?</template>', main, re.DOTALL))
        page = main.replace(ahead, "")
        shapes.add(tuple(re.findall(r"<(\w+)[^>]*?(?:class=\"([^\"]*)\")?[^>]*>", page)))
        bodies.append(f"Body of {task.entry.docno}.")
        announced.append(ahead)
        assert not re.search(r"\bgold\b|repeat|hidden check|is_check", main, re.IGNORECASE)
        own = ada.get(reverse("assessment:own_judgments", args=[scene.batch.pk])).content.decode()
        assert f">{task.entry.docno}<" not in own or not task.is_check

    n = len(in_total)
    assert n == 10
    assert in_total == [(str(place), "10") for place in range(n)]
    assert "of 10 judged" in desk
    assert len(shapes) == 1
    assert all(body in ahead for body, ahead in zip(bodies[1:], announced[:-1], strict=True))
    ids = list(Task.objects.order_by("pk").values_list("pk", flat=True))
    assert ids == list(range(ids[0], ids[0] + n))
    own = ada.get(reverse("assessment:own_judgments", args=[scene.batch.pk])).content.decode()
    assert "10 judgments" in own
    statistics = ada.get(reverse("assessment:own_statistics")).content.decode()
    assert re.search(r"Judgments</span>\s*<span class=\"big\">10</span>", statistics)
    assert "not counted" not in own
    done = ada.get(reverse("assessment:done", args=[scene.batch.pk])).content.decode()
    assert "All judged" in done


def test_check_can_be_skipped_returned_and_revised_like_any_task(scene: Scene, organizer: Client) -> None:
    configure(organizer, scene.batch, repeats=17, after=1)
    Check.objects.update(entry=scene.pool.entries.earliest("topic__code", "position"))  # not the last task
    ada = client_of(scene.ada)
    task = next(task for task, _ in judge_through_page(ada, scene.batch) if task.is_check)

    ada.post(reverse("assessment:skip", args=[task.pk]), {"reason": "Later."})
    assert Task.objects.get(pk=task.pk).status == Task.Status.SKIPPED
    for again, _ in judge_through_page(ada, scene.batch):
        last = again
    assert last == task
    ada.post(
        reverse("assessment:task", args=[task.pk]),
        {"choice": "low", "request_id": uuid4(), "shown": task.judgments.get().pk},
    )

    answers = list(task.judgments.order_by("pk").values_list("choice", "is_current", "is_check"))
    assert answers == [("high", False, True), ("low", False, True)]


def test_undo_takes_back_a_check_like_any_judgment(scene: Scene, organizer: Client) -> None:
    configure(organizer, scene.batch, repeats=33, after=1)
    ada = client_of(scene.ada)
    pages = judge_through_page(ada, scene.batch)
    check = next(task for task, _ in pages if task.is_check)
    following, _ = next(pages)

    ada.post(reverse("assessment:undo", args=[following.pk]))

    assert accept(scene.batch, scene.ada) == check
    own = ada.get(reverse("assessment:own_judgments", args=[scene.batch.pk])).content.decode()
    assert own.count("undone") == 1
    choices = [judge(accept(scene.batch, scene.ada), "low").choice]
    assert choices == ["low"]
    assert check.judgments.filter(replaced_by=None).get().choice == "low"
    assert (
        Judgment.objects.filter(is_current=True).count()
        == check.judgments.earliest("pk").batch.judgments.filter(is_check=False).count()
    )


def test_returned_check_comes_back_next(scene: Scene, organizer: Client) -> None:
    configure(organizer, scene.batch, repeats=17, after=1)
    ada = client_of(scene.ada)
    task = next(task for task, _ in judge_through_page(ada, scene.batch) if task.is_check)

    ada.post(reverse("assessment:give_back", args=[task.pk]))

    assert accept(scene.batch, scene.ada) == task
    assert task.seat == 0 == Task.objects.get(pk=task.pk).seat


def test_withdrawn_topic_takes_its_repeats_with_it(scene: Scene, organizer: Client) -> None:
    configure(organizer, scene.batch, repeats=50, after=1)
    assert Check.objects.filter(assessor=scene.ada).count() == 3

    for topic in (scene.first, scene.second):
        assignment_services.reassign(
            batch=scene.batch, topic=topic, from_assessor=scene.ada, to_assessor=scene.bob
        )

    assert not Check.objects.filter(assessor=scene.ada).exists()
    assert Check.objects.filter(assessor=scene.bob).count() == 3


def test_draft_is_planned_when_it_opens(scene: Scene, organizer: Client, gold_topic: Topic) -> None:
    batch = make_batch(scene.pool, {scene.bob: [scene.first]}, kind=Batch.Kind.DUAL, is_open=False)
    configure(organizer, batch, gold=33)
    assert not Check.objects.exists()

    batch_services.open_for_judging(batch=batch)

    page = organizer.get(reverse("assessment:checks", args=[batch.pk])).content.decode()
    assert "0 of 1" in page
    assert Check.objects.get().entry.topic == gold_topic


def test_turning_checks_off_forgets_what_is_planned(
    scene: Scene, organizer: Client, gold_topic: Topic
) -> None:
    configure(organizer, scene.batch, gold=33)

    configure(organizer, scene.batch)

    assert not Check.objects.exists()
    assert len(list(judge_through_page(client_of(scene.ada), scene.batch))) == 6


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"gold_percent": 51}, "a number of at most 50."),
        ({"repeat_after": 0}, "a number of at least 1."),
        ({"gold_percent": 10}, "The track has no units with known grades"),
    ],
)
def test_refused_settings_say_why(
    scene: Scene, organizer: Client, fields: dict[str, int], message: str
) -> None:
    values = {"gold_percent": 0, "repeat_percent": 0, "repeat_after": 20} | fields

    response = organizer.post(reverse("assessment:checks", args=[scene.batch.pk]), values)

    assert response.status_code == 422
    assert message in response.content.decode()
    assert not Batch.objects.get(pk=scene.batch.pk).has_checks


def test_results_compare_with_known_grades_and_own_judgments(
    scene: Scene, organizer: Client, gold_topic: Topic
) -> None:
    entry = scene.pool.entries.filter(topic=scene.first).earliest("position")
    GoldUnit.objects.create(
        track=scene.track,
        topic=scene.first,
        docno=entry.docno,
        grade=2,
        source=GoldUnit.Source.TRAINING,
        created_by=scene.pool.created_by,
    )
    configure(organizer, scene.batch, gold=33, repeats=33)
    list(judge_through_page(client_of(scene.ada), scene.batch, "high"))
    html = organizer.get(reverse("assessment:check_results", args=[scene.track.slug])).content.decode()
    tsv = organizer.get(reverse("assessment:check_results_tsv", args=[scene.track.slug])).content.decode()

    # Known grades 3, 0 and 2 (of her own unit), all judged 3: one equal; bias (0 + 3 + 1) / 3.
    row = dict(zip(*(line.split("\t") for line in tsv.splitlines()), strict=True))
    assert (row["assessor"], row["gold"], row["gold_equal"], row["gold_bias"]) == (
        "ada",
        "3",
        "0.3333",
        "1.3333",
    )
    assert (row["repeats"], row["repeats_equal"], row["repeats_kappa"]) == ("2", "1.0000", "")
    assert "33 %" in html
    assert "undefined: all grades are equal" in html
    assert "A chart needs at least five checks of a kind." in html


def test_drift_has_a_chart_and_a_table(scene: Scene, organizer: Client) -> None:
    for entry in scene.pool.entries.order_by("topic__code", "position"):
        GoldUnit.objects.create(
            track=scene.track,
            topic=entry.topic,
            docno=entry.docno,
            grade=3 if entry.topic == scene.first else 0,
            source=GoldUnit.Source.IMPORTED,
            created_by=scene.pool.created_by,
        )
    for _ in range(6):
        judge(accept(scene.batch, scene.ada), "high")

    address = reverse("assessment:check_results", args=[scene.track.slug])
    html = organizer.get(address, {"assessor": "ada"}).content.decode()

    assert '{"name": "known grades", "values": [1.0, 1.0, 1.0, 0.0, 0.0]}' in html
    parts = re.findall(r'<td class="num">(\d) of (\d)</td>', html)
    assert parts[:5] == [("1", "1")] * 3 + [("0", "1"), ("0", "2")]


def test_known_grades_come_as_people_read_their_ids(scene: Scene, organizer: Client) -> None:
    by = scene.pool.created_by
    for docno in ("f10", "f100", "f9"):
        GoldUnit.objects.create(track=scene.track, topic=scene.first, docno=docno, grade=1, created_by=by)

    page = organizer.get(reverse("assessment:gold", args=[scene.track.slug])).content.decode()

    assert page.index(">f9<") < page.index(">f10<") < page.index(">f100<")


def test_agreed_grades_of_a_closed_round_become_known_grades(scene: Scene, organizer: Client) -> None:
    training = make_batch(scene.pool, {scene.ada: [scene.first]}, kind=Batch.Kind.TRAINING)
    docno = judge(accept(training, scene.ada)).docno
    note = DiscussionNote.objects.create(
        batch=training, topic=scene.first, docno=docno, grade=2, written_by=scene.pool.created_by
    )
    page = reverse("assessment:gold", args=[scene.track.slug])
    assert "No agreed grades to add" in organizer.get(page).content.decode()
    batch_services.close(batch=training)
    assert docno in organizer.get(page).content.decode()

    organizer.post(reverse("assessment:add_agreed", args=[scene.track.slug]), {"notes": [note.pk]})

    unit = GoldUnit.objects.get()
    assert (unit.topic, unit.docno, unit.grade) == (scene.first, docno, 2)
    organizer.post(reverse("assessment:remove_gold", args=[scene.track.slug]), {"units": [unit.pk]})
    assert not GoldUnit.objects.exists()


def test_file_of_known_grades_is_imported_or_refused_with_line_numbers(
    scene: Scene, organizer: Client
) -> None:
    docno = scene.pool.entries.filter(topic=scene.first).earliest("position").docno
    page = reverse("assessment:gold", args=[scene.track.slug])
    lines = f"A.1 0 {docno} 2\nA.1 0 nope 1\nB.7 0 {docno} 1\n"

    refused = organizer.post(page, {"file": SimpleUploadedFile("gold.txt", lines.encode())})
    bad = organizer.post(page, {"file": SimpleUploadedFile("gold.txt", f"A.1 0 {docno} 9\n".encode())})
    assert not GoldUnit.objects.exists()
    content = b"# caf\xe9\n" + lines.splitlines()[0].encode()
    imported = organizer.post(page, {"file": SimpleUploadedFile("gold.txt", content)}, follow=True)

    html = refused.content.decode()
    assert (refused.status_code, bad.status_code) == (422, 422)
    assert "line 2: document nope is in no pool of topic A.1" in html
    assert "line 3: topic B.7 is not in the track" in html
    assert "line 1: grade 9" in bad.content.decode()
    assert GoldUnit.objects.values_list("docno", "grade").get() == (docno, 2)
    assert "Line 1 is not UTF-8 and is read as Windows-1252." in imported.content.decode()


def test_training_and_adjudication_have_no_checks(scene: Scene, organizer: Client) -> None:
    training = make_batch(scene.pool, {scene.ada: [scene.first]}, kind=Batch.Kind.TRAINING)

    response = organizer.post(
        reverse("assessment:checks", args=[training.pk]),
        {"gold_percent": 0, "repeat_percent": 10, "repeat_after": 1},
    )

    assert response.status_code == 422
    assert "Hidden checks are for main batches and second judgments" in response.content.decode()


KNOWN_ANSWERS = (
    "topic,docno,assessor,choice,answers\n"
    'A.1,%s,expert,relevant,"{""stance"": ""con"", ""errors"": [""b"", ""a""]}"\n'
    'A.1,%s,expert,not-relevant,"{}"\n'
)


def send_known(client: Client, scene: Scene, content: str) -> str:
    file = SimpleUploadedFile("known.csv", content.encode())
    page = client.post(reverse("assessment:gold", args=[scene.track.slug]), {"file": file}, follow=True)
    return page.content.decode()


def test_answers_to_questions_are_known_and_compared(db: None) -> None:
    scene = form_scene()
    client = client_of(make_organizer())
    first, second = scene.pool.entries.filter(topic=scene.first).order_by("position")[:2]
    known = KNOWN_ANSWERS % (first.docno, second.docno)

    page = send_known(client, scene, known)
    for entry in (first, second):
        task = accept(scene.batch, scene.ada)
        assert task.entry == entry
        answers = (
            {"stance": "con", "errors": ["b", "c"], "order": ["x"]}
            if entry == first
            else {"stance": "pro", "order": ["x"]}
        )
        judgment_services.submit(
            task=task,
            choice="relevant" if entry == first else "not-relevant",
            answers=answers,
            request_id=uuid4(),
        )
    results = client.get(reverse("assessment:check_results", args=[scene.track.slug])).content.decode()
    tsv = client.get(reverse("assessment:check_results_tsv", args=[scene.track.slug])).content.decode()

    assert "Imported 2 known grades." in page
    assert "A, B" in page
    assert GoldUnit.objects.get(docno=first.docno).answers == {"stance": "con", "errors": ["a", "b"]}
    row = dict(zip(*(line.split("\t") for line in tsv.splitlines()), strict=True))
    # The stance is as expected, the errors are not; the second unit expects no answers.
    assert (row["gold"], row["gold_equal"], row["gold_answers"], row["repeats_answers"]) == (
        "2", "1.0000", "0.5000", "",
    )  # fmt: skip
    assert "“Answers” is the share of the expected answers to questions." in results
    assert "50 %" in results


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("con", "up", "line 2: “up” is not an answer to “Stance” Use pro, con."),
        ("not-relevant", "high", "line 3: &#x27;high&#x27; is not a choice of the protocol"),
        ("A.1,%s,expert,not-relevant", "A.1,%s,other,relevant", "has two judgments; keep one"),
    ],
)
def test_wrong_file_of_known_answers_changes_nothing(db: None, old: str, new: str, message: str) -> None:
    scene = form_scene()
    entry = scene.pool.entries.filter(topic=scene.first).earliest("position")

    page = send_known(
        client_of(make_organizer()), scene, KNOWN_ANSWERS.replace(old, new) % (entry.docno, entry.docno)
    )

    assert message in page
    assert not GoldUnit.objects.exists()


def test_page_without_questions_has_no_column_of_answers(
    scene: Scene, organizer: Client, gold_topic: Topic
) -> None:
    configure(organizer, scene.batch, gold=33)
    list(judge_through_page(client_of(scene.ada), scene.batch, "high"))

    html = organizer.get(reverse("assessment:check_results", args=[scene.track.slug])).content.decode()

    assert "expected answers" not in html
