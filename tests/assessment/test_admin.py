"""The admin: batches are created and managed, judgments are read and exported, never changed."""

import csv
import io

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from assessment.batches import services as batch_services
from assessment.models import Batch, Judgment
from pooling.models import Pool
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_assessor, make_organizer, make_track
from tests.helpers.judging import accept, judge, judge_all, make_batch, make_pool

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(scene: Scene) -> Client:
    client = Client()
    client.force_login(make_organizer("olga"))
    return client


def test_batches_are_made_and_shown_on_the_site(scene: Scene, organizer: Client) -> None:
    """With one track, *Add* opens its page; with several, it offers them."""
    address = reverse("admin:assessment_batch_add")
    own = reverse("assessment:new_batch", args=[scene.track.slug])

    assert organizer.get(address).headers["Location"] == own
    shown = organizer.get(reverse("admin:assessment_batch_change", args=[scene.batch.pk]))
    assert shown.headers["Location"] == scene.batch.get_absolute_url()

    other = make_pool(make_track(), {})
    make_pool(make_track(), {}, status=Pool.Status.BUILDING)
    page = organizer.get(address)
    assert page.context["places"] == [
        (str(other.track), reverse("assessment:new_batch", args=[other.track.slug])),
        (str(scene.track), own),
    ]
    assert own in page.content.decode()


def test_without_a_pool_the_admin_says_what_is_missing(organizer: Client) -> None:
    Pool.objects.update(status=Pool.Status.BUILDING)

    page = organizer.get(reverse("admin:assessment_batch_add"))

    assert "No pool is ready yet" in page.content.decode()


@pytest.mark.parametrize(
    ("action", "form"),
    [("share_topics", "share"), ("move_topic", "move"), ("take_topics", "take"), ("add_person", "join")],
)
def test_actions_lead_to_the_plan_of_one_batch(
    scene: Scene, organizer: Client, action: str, form: str
) -> None:
    other = batch_services.create(pool=scene.pool, name="Other", by=None)
    address = reverse("admin:assessment_batch_changelist")

    single = organizer.post(address, {"action": action, "_selected_action": [scene.batch.pk]})
    two = organizer.post(
        address, {"action": action, "_selected_action": [scene.batch.pk, other.pk]}, follow=True
    )

    assert single.url == f"{reverse('assessment:plan', args=[scene.batch.pk])}?action={form}#{form}"
    assert f'<details id="{form}" name="plan" open>' in organizer.get(single.url).content.decode()
    assert "Select one batch" in two.content.decode()


def test_list_shows_progress_topics_and_assessors_in_a_fixed_number_of_queries(
    scene: Scene, organizer: Client
) -> None:
    def page() -> tuple[str, int]:
        with CaptureQueriesContext(connection) as captured:
            html = organizer.get(reverse("admin:assessment_batch_changelist")).content.decode()
        return html, len(captured)

    judge(accept(scene.batch, scene.ada))
    html, few = page()
    make_batch(scene.pool, {make_assessor(scene.track): [scene.first] for _ in range(5)}, kind="training")
    many = page()

    assert '<td class="field-progress">1 of 6</td>' in html
    assert '<td class="field-topics">2</td>' in html
    assert '<td class="field-assessors">ada</td>' in html
    assert '<td class="field-assessors">5</td>' in many[0]
    assert many[1] == few


def test_batches_are_opened_and_closed_by_actions_that_report_refusals(
    scene: Scene, organizer: Client
) -> None:
    empty = batch_services.create(pool=scene.pool, name="Empty", by=None)
    address = reverse("admin:assessment_batch_changelist")

    closed = organizer.post(
        address, {"action": "close_batches", "_selected_action": [scene.batch.pk, empty.pk]}, follow=True
    )
    opened = organizer.post(
        address, {"action": "open_batches", "_selected_action": [scene.batch.pk, empty.pk]}, follow=True
    )

    assert "Closed: 1." in closed.content.decode()
    assert "Opened: 1." in opened.content.decode()
    assert "has no assigned topics" in opened.content.decode()
    scene.batch.refresh_from_db()
    assert scene.batch.status == "open"


@pytest.mark.parametrize("model", ["task", "judgment"])
def test_tasks_and_judgments_are_read_only(scene: Scene, organizer: Client, model: str) -> None:
    judgment = judge(accept(scene.batch, scene.ada))
    pk = judgment.pk if model == "judgment" else judgment.task_id
    row = f"{judgment.topic.code} {judgment.docno}"

    assert organizer.get(reverse(f"admin:assessment_{model}_changelist")).status_code == 200
    assert row in organizer.get(reverse(f"admin:assessment_{model}_change", args=[pk])).content.decode()
    assert organizer.get(reverse(f"admin:assessment_{model}_add")).status_code == 403
    assert (
        organizer.post(reverse(f"admin:assessment_{model}_change", args=[pk]), {"choice": "low"}).status_code
        == 403
    )
    assert (
        organizer.post(reverse(f"admin:assessment_{model}_delete", args=[pk]), {"post": "yes"}).status_code
        == 403
    )
    assert Judgment.objects.get().choice == "high"


def test_batches_are_never_deleted(scene: Scene, organizer: Client) -> None:
    address = reverse("admin:assessment_batch_delete", args=[scene.batch.pk])

    assert organizer.post(address, {"post": "yes"}).status_code == 403
    assert Batch.objects.filter(pk=scene.batch.pk).exists()


@pytest.mark.parametrize("role", ["assessor", "participant"])
def test_only_organizers_enter_the_admin(scene: Scene, role: str) -> None:
    client = Client()
    client.force_login(scene.ada if role == "assessor" else scene.bob)

    for name in ("batch_changelist", "judgment_changelist", "task_changelist"):
        assert client.get(reverse(f"admin:assessment_{name}")).status_code == 302


def test_list_of_judgments_takes_the_same_queries_for_many_judgments(scene: Scene, organizer: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            organizer.get(reverse("admin:assessment_judgment_changelist"))
        return len(captured)

    judge(accept(scene.batch, scene.ada))
    few = queries()
    judge_all(scene.batch, scene.ada)

    assert queries() <= few  # the values of its filters are kept


@pytest.mark.parametrize("model", ["task", "judgment"])
def test_search_finds_words_in_units_topics_and_names(scene: Scene, organizer: Client, model: str) -> None:
    judgments = judge_all(scene.batch, scene.ada)
    address = reverse(f"admin:assessment_{model}_changelist")

    def found(words: str) -> int:
        return int(organizer.get(address, {"q": words}).context["cl"].result_count)

    n = [found(words) for words in ("A.1", judgments[0].docno, "AD", "A.2 ada", "A.2 bob", "A")]
    assert n == [3, 1, 6, 3, 0, 6]


def test_selected_judgments_are_exported_with_harmless_cells(scene: Scene, organizer: Client) -> None:
    judgments = [
        judge(accept(scene.batch, scene.ada), "do-not-know", comment)
        for comment in ('=HYPERLINK("http://x")', "+1", "-1+1", "@SUM(A1)", "zwölf, “drei”\nand more")
    ]
    data = {"action": "export_csv", "_selected_action": [judgment.pk for judgment in judgments]}

    response = organizer.post(reverse("admin:assessment_judgment_changelist"), data)

    text = b"".join(response).decode("utf-8-sig")
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [line["comment"] for line in lines] == [
        "'=HYPERLINK(\"http://x\")", "'+1", "'-1+1", "'@SUM(A1)", "zwölf, “drei”\nand more",
    ]  # fmt: skip
    assert {(line["choice"], line["grade"], line["assessor"]) for line in lines} == {
        ("do-not-know", "", "ada")
    }


def test_batch_exports_every_judgment_with_replaced_ones(scene: Scene, organizer: Client) -> None:
    task = accept(scene.batch, scene.ada)
    judge(task, "low")
    judge(task, "high")
    other = make_batch(scene.pool, {scene.bob: [scene.first]}, kind="training")
    judge(accept(other, scene.bob))

    response = organizer.get(reverse("assessment:judgments_csv", args=[scene.batch.pk]))

    lines = list(csv.DictReader(io.StringIO(b"".join(response).decode("utf-8-sig"))))
    assert [(line["choice"], line["is_current"]) for line in lines] == [("low", "False"), ("high", "True")]


def test_task_in_the_admin_has_no_link_to_its_assessors_page(scene: Scene, organizer: Client) -> None:
    task = accept(scene.batch, scene.ada)

    page = organizer.get(reverse("admin:assessment_task_change", args=[task.pk]))

    assert page.status_code == 200
    assert "View on site" not in page.content.decode()
