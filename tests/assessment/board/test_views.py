"""The live board, as organizers see it."""

import csv
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import Event, User
from assessment.board import differences
from assessment.board.selectors import pace_of
from assessment.judging import services as task_services
from assessment.judgments import services as judgment_services
from assessment.judgments.selectors import members_to_judge
from assessment.models import Batch, Judgment, Task
from corpus.models import Document, Formula
from jobs import services as jobs
from pooling.models import PoolEntry
from pooling.pools import services as pool_services
from tests.assessment.conftest import Scene
from tests.helpers.browser import excess_width, log_in
from tests.helpers.factories import make_assessor, make_organizer, make_protocol
from tests.helpers.formula_scene import build_formula_scene
from tests.helpers.judging import accept, judge, judge_all, make_batch
from tracks.models import Deadline, Track

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(scene: Scene) -> Client:
    client = Client()
    client.force_login(make_organizer())
    return client


@pytest.fixture
def judged(scene: Scene) -> Scene:
    """Ada judged A.1 high, high, low in 10, 20, 60 seconds, and "do not know" of A.2 in 30; she skips the next."""
    for choice, seconds in (("high", 10), ("high", 20), ("low", 60), ("do-not-know", 30)):
        judgment_services.submit(
            task=accept(scene.batch, scene.ada),
            choice=choice,
            comment="It is in Russian." if choice == "do-not-know" else "",
            request_id=uuid4(),
            seconds=seconds,
        )
    task_services.skip(task=accept(scene.batch, scene.ada), reason="too long")
    return scene


def page(
    client: Client, name: str, track: Track, headers: dict[str, str] | None = None, **query: object
) -> str:
    response = client.get(reverse(f"assessment:{name}", args=[track.slug]), query, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def table(client: Client, track: Track, name: str) -> list[dict[str, str]]:
    response = client.get(reverse("assessment:board_tsv", args=[track.slug, name]))
    return list(csv.DictReader(StringIO(response.content.decode()), delimiter="\t"))


def test_non_answer_is_returned_to_the_queue_with_a_reason_and_a_record(scene: Scene) -> None:
    organizer, ada = Client(), Client()
    organizer.force_login(make_organizer())
    ada.force_login(scene.ada)
    answer = judge(accept(scene.batch, scene.ada), "do-not-know", "unclear")
    judge_all(scene.batch, scene.ada)
    address = reverse("assessment:return_non_answer", args=[answer.pk])
    board = organizer.get(reverse("assessment:board", args=[scene.track.slug])).content.decode()

    assert f'href="{address}"' in board
    assert "unclear" in organizer.get(address).content.decode()
    assert organizer.post(address, {"reason": ""}).status_code == 422
    assert organizer.post(address, {"reason": "Read the definition"}).status_code == 302
    desk = ada.get(reverse("assessment:own_judgments", args=[scene.batch.pk])).content.decode()
    page = ada.post(reverse("assessment:next", args=[scene.batch.pk]), follow=True).content.decode()

    assert organizer.get(address).status_code == 404, "it does not count any more"
    assert "judge it again: Read the definition" in desk
    assert "An organizer returned this task: <strong>Read the definition</strong>" in page
    judge(accept(scene.batch, scene.ada), "low")
    assert [each.choice for each in Judgment.objects.filter(docno=answer.docno, is_current=True)] == ["low"]
    assert Event.objects.get(action="judgment.returned").details["reason"] == "Read the definition"


@pytest.mark.parametrize("place", ["board", "batch", "return_non_answer", "examples"])
def test_formulas_and_comments_of_assessors_are_typeset(scene: Scene, organizer: Client, place: str) -> None:
    training = make_batch(scene.pool, {scene.bob: [scene.first]}, kind="training")
    batch, assessor = (training, scene.bob) if place == "examples" else (scene.batch, scene.ada)
    answer = judge(accept(batch, assessor), "do-not-know", "Is $x^2$ <b>?")
    Formula.objects.create(
        collection=scene.track.collection, code=answer.docno, post="900", thread="900", place=0, latex="a<b"
    )
    arguments = {"batch": [batch.pk], "return_non_answer": [answer.pk]}.get(place, [scene.track.slug])

    html = organizer.get(reverse(f"assessment:{place}", args=arguments)).content.decode()

    assert 'Is <span class="math-container" data-display="inline">x^2</span> &lt;b&gt;?' in html
    assert '<span class="math-container" data-display="inline">a&lt;b</span>' in html
    assert "/threads/900" in html
    assert "corpus/math.js" in html


def test_board_of_a_track_without_batches_says_what_will_appear(scene: Scene, organizer: Client) -> None:
    Batch.objects.update(status=Batch.Status.DRAFT)

    html = page(organizer, "board", scene.track)

    assert "No batch is open yet" in html
    assert "hx-get" not in html


def test_board_of_a_batch_without_judgments_says_so_and_draws_no_axes(
    scene: Scene, organizer: Client
) -> None:
    before = page(organizer, "board", scene.track)
    judge(accept(scene.batch, scene.ada))
    judged = page(organizer, "board", scene.track)
    Task.objects.update(submitted_at=timezone.now() - timedelta(days=30))
    later = page(organizer, "board", scene.track)

    assert "Pace – Nothing judged yet." in text_of(before)
    assert "<h2>Nothing judged yet</h2>" in before
    assert ["judged-days" in html for html in (before, judged, later)] == [False, True, False]
    assert "Nothing was judged in the last 14 days." in later
    assert "Nothing was judged in the last 7 days." in later


def test_board_shows_times_grades_skips_and_non_answers(judged: Scene, organizer: Client) -> None:
    text = text_of(page(organizer, "board", judged.track))

    assert "Judged 4 of 6 units." in text
    assert "Seconds per unit 30.0 mean, as papers report it; median 25.0" in text
    assert "50 % 2 0 % 0 25 % 1 0 % 0" in text  # high, medium, low, not relevant
    assert "1 judgment without a grade" in text
    assert "Do not know It is in Russian." in text
    assert "too long" in text
    assert "Unknown until 8 hours after the first judgment." in text
    assert "per day," not in text


def test_board_plots_judged_units_by_day_or_by_hour(judged: Scene, organizer: Client) -> None:
    by_day = page(organizer, "board", judged.track)
    by_hour = page(organizer, "board", judged.track, by="hours", headers={"HX-Request": "true"})

    assert 'href="?by=hours"' in by_day
    assert f"{judged.track.slug}-judged-days" in by_day
    assert f"{judged.track.slug}-judged-hours" in by_hour
    assert "&amp;by=hours" in by_hour, "the choice stays when the board refreshes"


def test_board_has_no_section_without_rows(scene: Scene, organizer: Client) -> None:
    html = page(organizer, "board", scene.track)

    assert "Non-answers to settle" not in html
    assert "Skipped tasks" not in html


def test_windows_share_the_part_that_they_refresh(judged: Scene, organizer: Client) -> None:
    part = page(organizer, "board", judged.track, headers={"HX-Request": "true"})

    with CaptureQueriesContext(connection) as queries:
        assert page(organizer, "board", judged.track, headers={"HX-Request": "true"}) == part

    assert not [each for each in queries if "assessment_judgment" in each["sql"]]
    batch = page(organizer, "board", judged.track, batch=str(judged.batch.pk), headers={"HX-Request": "true"})
    assert f"?batch={judged.batch.pk}" in batch
    judge(accept(judged.batch, judged.ada), "high")
    assert "Judged 5 of 6 units." in text_of(page(organizer, "board", judged.track))


def test_only_the_changing_part_of_an_open_batch_is_refreshed(judged: Scene, organizer: Client) -> None:
    part = page(organizer, "board", judged.track, headers={"HX-Request": "true"})

    assert part.lstrip().startswith('<div id="board" hx-get="')
    assert "<html" not in part
    assert "hx-get" not in page(organizer, "board", judged.track, refresh="off")
    Batch.objects.update(status=Batch.Status.CLOSED)
    closed = page(organizer, "board", judged.track)
    assert "hx-get" not in closed
    assert not [word for word in ("Projected finish", "Tasks open", " of work left") if word in closed]


def test_board_of_one_batch_counts_that_batch_only(judged: Scene, organizer: Client) -> None:
    second = make_batch(judged.pool, {judged.bob: [judged.first]}, kind=Batch.Kind.DUAL)
    judge_all(second, judged.bob, "low")

    assert "Judged 7 of 9 units." in text_of(page(organizer, "board", judged.track))
    text = text_of(page(organizer, "board", judged.track, batch=second.pk))
    assert "Judged 3 of 3 units." in text
    assert "Everything is judged." in text
    Batch.objects.filter(pk=second.pk).update(status=Batch.Status.CLOSED)
    assert "Judged 4 of 6 units." in text_of(page(organizer, "board", judged.track))  # the open batches
    assert "Judged 7 of 9 units." in text_of(page(organizer, "board", judged.track, batch=""))
    address = reverse("assessment:board", args=[judged.track.slug])
    assert organizer.get(address, {"batch": "none"}).status_code == 404


def test_downloads_hold_the_numbers_of_the_board(judged: Scene, organizer: Client) -> None:
    [ada] = table(organizer, judged.track, "assessors")
    first, second = table(organizer, judged.track, "topics")

    assert (ada["judged"], ada["entries"], ada["mean_seconds"], ada["median_seconds"]) == (
        "4",
        "6",
        "30.0",
        "25.0",
    )
    assert (ada["High"], ada["Do not know"]) == ("2", "1")
    assert (first["topic"], first["judged"], first["relevant"], first["without_grade"]) == (
        "A.1",
        "3",
        "2",  # two of high; low is not relevant in two classes
        "0",
    )
    assert (second["assessors"], second["judged"], second["without_grade"]) == ("ada", "1", "1")
    assert table(organizer, judged.track, "days")[-1] == {
        "day": f"{Judgment.objects.latest('pk').created_at:%Y-%m-%d}",
        "judged": "4",
    }
    assert sum(int(row["judged"]) for row in table(organizer, judged.track, "hours")) == 4
    address = reverse("assessment:board_tsv", args=[judged.track.slug, "others"])
    assert organizer.get(address).status_code == 404


def test_earlier_days_count_for_the_pace(judged: Scene, organizer: Client) -> None:
    Task.objects.filter(status="submitted").update(submitted_at=timezone.now() - timedelta(days=30))

    text = text_of(page(organizer, "board", judged.track))

    assert "Nothing was judged in the last 7 days." in text
    assert "Unknown: it needs judgments of the last 7 days." in text


def test_pace_covers_the_last_seven_days_only() -> None:
    now = datetime(2026, 3, 20, 12, tzinfo=UTC)
    by_hour = {now - timedelta(days=10): 500, now - timedelta(days=3): 70}

    pace = pace_of(by_hour, left=20, now=now)

    assert (pace.n, pace.hours, pace.per_day) == (70, 168, 10)
    assert pace.finish == now + timedelta(days=2)
    assert pace_of({now - timedelta(hours=7): 70}, left=20, now=now).finish is None
    assert pace_of(by_hour, left=0, now=now).finish is None
    assert pace_of(by_hour, left=10**9, now=now).finish is None


def test_non_answer_is_settled_by_an_adjudication(judged: Scene, organizer: Client) -> None:
    listed = text_of(page(organizer, "disagreements", judged.track, rule="non-answer"))
    assert "1 unit ·" in listed
    assert "It is in Russian." in listed

    address = reverse("assessment:new_adjudication", args=[judged.track.slug])
    form = {"rule": "non-answer", "name": "Settle", "adjudicators": [judged.bob.pk], "minutes_allotted": 60}
    response = organizer.post(address, form)

    assert response.status_code == 302
    assert Batch.objects.get(name="Settle").selected.count() == 1
    assert "1 judgment without a grade" not in text_of(page(organizer, "board", judged.track))


@pytest.mark.parametrize("name", ["board", "disagreements"])
def test_pages_name_assessors_as_the_batch_does_and_files_by_their_accounts(
    judged: Scene, organizer: Client, name: str
) -> None:
    User.objects.filter(pk=judged.ada.pk).update(first_name="Ada", last_name="King")

    text = text_of(page(organizer, name, judged.track, rule="non-answer"))

    assert "Ada King" in text_of(organizer.get(judged.batch.get_absolute_url()).content.decode())
    assert "Ada King" in text
    assert [row["assessor"] for row in table(organizer, judged.track, "assessors")] == ["ada"]


def test_same_and_nearly_same_texts_with_different_grades_are_found(scene: Scene, organizer: Client) -> None:
    words = " ".join(f"word{n}" for n in range(40))
    bodies = [f"<p>{words}</p>", f"<p>{words}</p>", f"<p>{words}, indeed</p>"]
    entries = PoolEntry.objects.filter(topic=scene.first).order_by("position")
    for entry, body in zip(entries, bodies, strict=True):
        Document.objects.filter(pk=entry.document_id).update(body=body)
    for choice in ("high", "low", "low", "high", "high", "high"):
        judge(accept(scene.batch, scene.ada), choice)

    same = page(organizer, "differences", scene.track)
    near = page(organizer, "differences", scene.track, show="near")
    other = text_of(page(organizer, "differences", scene.track, show="near", topic="A.2"))

    docnos = [entry.docno for entry in entries]
    assert [docno in same for docno in docnos] == [True, True, False]
    assert all(docno in near for docno in docnos)
    assert "Documents of topic A.2 that share at least 90 %" in other
    assert "No differences" in other
    lines = organizer.get(reverse("assessment:differences_csv", args=[scene.track.slug])).getvalue().decode()
    kinds = [row["kind"] for row in csv.DictReader(StringIO(lines))]
    assert kinds == ["same text"] * 2 + ["near-duplicates"] * 3


@pytest.mark.parametrize("show", ["same", "near"])
def test_groups_are_divided_into_pages_and_long_ones_are_cut(
    scene: Scene, organizer: Client, show: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count(n_groups: int) -> int:
        """Three documents of each topic are the same, or nearly; two have one grade."""
        monkeypatch.setattr(differences, "GROUPS_ON_PAGE", n_groups)
        with CaptureQueriesContext(connection) as queries:
            page(organizer, "differences", scene.track, show=show)
        return len(queries)

    words = " ".join(f"word{n}" for n in range(40))
    for entry in PoolEntry.objects.all():
        text = f"{words} {entry.docno}" if show == "near" else words
        Document.objects.filter(pk=entry.document_id).update(body=f"<p>{text}</p>")
    for choice in ("high", "low", "low", "high", "low", "low"):
        judge(accept(scene.batch, scene.ada), choice)
    monkeypatch.setattr(differences, "SHOWN_OF_GRADE", 1)
    assert count(2) == count(1)

    first, second = (
        page(organizer, "differences", scene.track, show=show, topic=topic, page=number)
        for topic, number in (("A.1", 1), ("A.2", 2))
    )

    for html in (first, second):
        assert html.count("by <bdi>ada</bdi>") == 2
        assert "and 1 more; the file has all" in html
    assert [re.findall(r"/topics/(A\.\d)/", html) for html in (first, second)] == [["A.1"], ["A.2"]]
    assert ("1–1 of 2" in first) == (show == "same")
    lines = organizer.get(reverse("assessment:differences_csv", args=[scene.track.slug])).getvalue().decode()
    assert [row["topic"] for row in csv.DictReader(StringIO(lines))] == 3 * ["A.1"] + 3 * ["A.2"]


def test_formulas_that_look_alike_with_different_grades_are_found(scene: Scene, organizer: Client) -> None:
    scene.track.protocol = scene.pool.protocol = make_protocol("ntcir-12-wikipedia")
    scene.track.save()
    scene.pool.save()
    entries = PoolEntry.objects.filter(topic=scene.first).order_by("position")
    for entry, visual in zip(entries, ("v1", "v1", "v2"), strict=True):
        Formula.objects.create(
            collection=scene.track.collection,
            code=entry.docno,
            post=entry.docno,
            thread=entry.docno,
            place=Formula.Place.TITLE,
            visual=visual,
            latex=f"{visual}^2",
        )
    batch = Batch.objects.get(pk=scene.batch.pk)
    for choice in ("relevant", "not-relevant", "not-relevant"):
        judge(accept(batch, scene.ada), choice)

    html = page(organizer, "differences", scene.track)

    [first, _] = table(organizer, scene.track, "topics")
    assert first["relevant"] == "1"  # one judgment of 2: the level of the sum of two, 3, is not its level
    assert "Formulas that look alike" in html
    assert '<span class="math-container" data-display="inline">v1^2</span>' in html
    assert [entry.docno in html for entry in entries] == [True, True, False]
    assert "Near-duplicates" not in html


def test_instances_of_formulas_are_counted_as_instances_and_formulas_as_units() -> None:
    """A formula with two relevant instances is one relevant unit; agreement is about instances."""
    scene = build_formula_scene(n=6)
    scene.submit("abacus", [0, 1, 4, 5])
    pool = pool_services.request(
        track=scene.track, name="Pool 1", seed=1, depth={"primary": 20}, by=scene.organizer
    )
    jobs.run(pool.job_id or 0)
    pool.refresh_from_db()
    assessors = [make_assessor(scene.track, name) for name in ("ada", "bob")]
    for assessor, kind in zip(assessors, (Batch.Kind.MAIN, Batch.Kind.DUAL), strict=True):
        batch = make_batch(pool, {assessor: [scene.topic]}, kind=kind)
        while task := task_services.accept_next(batch=batch, assessor=assessor):
            answers = {each.docno: judgment_services.Answer("high") for each in members_to_judge(task)}
            judgment_services.submit_members(task=task, answers=answers, request_id=uuid4())
    client = Client()
    client.force_login(scene.organizer)

    [row] = table(client, scene.track, "topics")

    assert (row["judged"], row["relevant"]) == ("4", "4")  # two formulas, by each of two assessors
    assert "Shared instances 4 " in text_of(page(client, "agreement", scene.track))
    assert "No instances differ like this" in text_of(page(client, "disagreements", scene.track))


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_choices_and_days_are_drawn(
    scene: Scene, live_server: LiveServer, new_page: Callable[..., Page]
) -> None:
    for choice in ("high", "low"):
        judge(accept(scene.batch, scene.ada), choice)
    page = new_page(base_url=live_server.url)
    log_in(page, live_server.url, make_organizer())

    page.goto(reverse("assessment:board", args=[scene.track.slug]))
    choices = page.get_by_role("img", name="Choices by assessor")
    expect(choices.locator("svg text").filter(has_text="High")).to_have_count(1)
    choices.hover(position={"x": 300, "y": 45})

    expect(choices.locator("svg text").filter(has_text="High: 1 (50 %)")).to_have_count(1)
    other = new_page(base_url=live_server.url)
    log_in(other, live_server.url, scene.ada)
    other.goto(reverse("assessment:own_statistics"))
    days = other.get_by_role("img", name="Judgments per day")
    expect(days.locator("svg text").filter(has_text="Judgments")).to_have_count(1)


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_times_do_not_break_on_a_phone(
    scene: Scene, live_server: LiveServer, new_page: Callable[..., Page]
) -> None:
    judge(accept(scene.batch, scene.ada), "do-not-know", "why")
    Deadline.objects.create(track=scene.track, closes_at=timezone.now() + timedelta(days=9), zone="AoE")
    page = new_page(base_url=live_server.url, viewport={"width": 320, "height": 700})
    log_in(page, live_server.url, make_organizer())

    lines = {}
    for name, address in {
        "board": reverse("assessment:board", args=[scene.track.slug]),
        "batch": scene.batch.get_absolute_url(),
        "track": scene.track.get_absolute_url(),
    }.items():
        page.goto(address)
        times = page.locator("main time:not([data-local]):visible")
        lines[name] = set(times.evaluate_all("all => all.map(time => time.getClientRects().length)"))

    assert (lines["board"], lines["batch"]) == ({1}, {1})
    both = page.locator("main time[data-local]:visible").first  # a time in two zones is long: it may break
    assert both.evaluate("time => getComputedStyle(time).whiteSpace") == "normal"
    assert excess_width(page) <= 0
