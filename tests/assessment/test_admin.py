"""The admin: batches are created and managed, judgments are read and exported, never changed."""

import csv
import io

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import User
from assessment.batches import services as batch_services
from assessment.models import Batch, Judgment, TopicAssignment
from assessment.planning import services as assignment_services
from pooling.models import Pool
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track
from tests.helpers.judging import accept, judge, judge_all, make_batch, make_pool, make_team

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(scene: Scene) -> Client:
    client = Client()
    client.force_login(make_organizer("olga"))
    return client


def rows(
    *inline: tuple[TopicAssignment | None, dict[str, object]], name: str, minutes: int = 120
) -> dict[str, object]:
    """The fields of the change form, with the inline rows."""
    stored = [assignment for assignment, _ in inline if assignment is not None]
    data: dict[str, object] = {
        "name": name,
        "minutes_allotted": minutes,
        "topic_assignments-TOTAL_FORMS": len(inline),
        "topic_assignments-INITIAL_FORMS": len(stored),
        "topic_assignments-MIN_NUM_FORMS": 0,
        "topic_assignments-MAX_NUM_FORMS": 1000,
    }
    for n, (assignment, fields) in enumerate(inline):
        data[f"topic_assignments-{n}-id"] = assignment.pk if assignment else ""
        shown = assignment is not None and assignment.is_withdrawn
        data[f"initial-topic_assignments-{n}-is_withdrawn"] = str(shown)
        for field, value in fields.items():
            data[f"topic_assignments-{n}-{field}"] = value
    return data


def test_batch_is_created_as_a_draft_and_leads_to_its_topics(scene: Scene, organizer: Client) -> None:
    fields = {"pool": scene.pool.pk, "name": "Round 2", "kind": "dual", "minutes_allotted": 45}

    sent = organizer.post(reverse("admin:assessment_batch_add"), fields)

    batch = Batch.objects.get(name="Round 2")
    assert sent.url == reverse("assessment:plan", args=[batch.pk])
    assert (batch.kind, batch.status, batch.minutes_allotted) == ("dual", "draft", 45)
    assert batch.created_by == User.objects.get(username="olga")


def test_only_pools_that_are_ready_are_offered(scene: Scene, organizer: Client) -> None:
    building = make_pool(scene.track, {}, status=Pool.Status.BUILDING)

    page = organizer.get(reverse("admin:assessment_batch_add"))

    offered = page.context["adminform"].form.fields["pool"].queryset
    assert scene.pool in offered
    assert building not in offered
    assert f"{scene.track}: {scene.pool}" in page.content.decode()


def test_taken_name_is_an_error_of_the_form(scene: Scene, organizer: Client) -> None:
    fields = {"pool": scene.pool.pk, "name": scene.batch.name, "kind": "main", "minutes_allotted": 45}

    page = organizer.post(reverse("admin:assessment_batch_add"), fields)

    assert page.status_code == 200
    assert "already exists" in page.content.decode()


def test_topics_are_assigned_and_withdrawn_in_rows(scene: Scene, organizer: Client) -> None:
    first, second = TopicAssignment.objects.filter(batch=scene.batch).order_by("topic__code")
    data = rows((first, {"is_withdrawn": "on"}), (second, {}), name="Renamed", minutes=30)

    organizer.post(reverse("admin:assessment_batch_change", args=[scene.batch.pk]), data)
    first.refresh_from_db()
    new = {"topic": scene.first.pk, "assessor": scene.bob.pk}
    organizer.post(
        reverse("admin:assessment_batch_change", args=[scene.batch.pk]),
        rows((first, {"is_withdrawn": "on"}), (second, {}), (None, new), name="Renamed", minutes=30),
    )

    active = TopicAssignment.objects.filter(batch=scene.batch, is_withdrawn=False)
    assert set(active.values_list("topic", "assessor")) == {
        (scene.first.pk, scene.bob.pk),
        (scene.second.pk, scene.ada.pk),
    }
    scene.batch.refresh_from_db()
    assert (scene.batch.name, scene.batch.minutes_allotted) == ("Renamed", 30)


def test_withdrawn_topic_is_assigned_again_in_its_row(scene: Scene, organizer: Client) -> None:
    withdrawn = assignment_services.withdraw(batch=scene.batch, assessor=scene.ada, topic=scene.first)
    second = TopicAssignment.objects.get(batch=scene.batch, topic=scene.second)

    organizer.post(
        reverse("admin:assessment_batch_change", args=[scene.batch.pk]),
        rows((withdrawn, {}), (second, {}), name=scene.batch.name),
    )

    withdrawn.refresh_from_db()
    assert not withdrawn.is_withdrawn


def test_old_page_takes_back_nothing_that_others_have_changed(scene: Scene, organizer: Client) -> None:
    first, second = TopicAssignment.objects.filter(batch=scene.batch).order_by("topic__code")
    page = rows((first, {}), (second, {}), name="Renamed")
    assignment_services.withdraw(batch=scene.batch, assessor=scene.ada, topic=scene.first)

    organizer.post(reverse("admin:assessment_batch_change", args=[scene.batch.pk]), page)

    first.refresh_from_db()
    assert Batch.objects.get(pk=scene.batch.pk).name == "Renamed"
    assert first.is_withdrawn


def test_refused_row_is_reported_and_changes_nothing(scene: Scene, organizer: Client) -> None:
    first, second = TopicAssignment.objects.filter(batch=scene.batch).order_by("topic__code")
    data = rows(
        (first, {}),
        (second, {}),
        (None, {"topic": scene.first.pk, "assessor": scene.bob.pk}),
        name=scene.batch.name,
    )

    page = organizer.post(reverse("admin:assessment_batch_change", args=[scene.batch.pk]), data, follow=True)

    assert "Topic A.1 is already assigned to ada in this batch" in page.content.decode()
    assert TopicAssignment.objects.filter(batch=scene.batch).count() == 2


def test_reassignment_is_made_completely_or_not_at_all(scene: Scene, organizer: Client) -> None:
    first, second = TopicAssignment.objects.filter(batch=scene.batch).order_by("topic__code")
    address = reverse("admin:assessment_batch_change", args=[scene.batch.pk])
    moved = rows(
        (first, {"is_withdrawn": "on"}),
        (second, {}),
        (None, {"topic": scene.first.pk, "assessor": scene.bob.pk}),
        name="Renamed",
    )
    taken = rows(
        (first, {"is_withdrawn": "on"}),
        (second, {}),
        (None, {"topic": scene.second.pk, "assessor": scene.bob.pk}),
        name="Renamed",
    )

    name = scene.batch.name
    refused = organizer.post(address, taken, follow=True).content.decode()
    scene.batch.refresh_from_db()
    first.refresh_from_db()
    unchanged = (scene.batch.name, first.is_withdrawn)
    organizer.post(address, moved)

    assert "Topic A.2 is already assigned to ada in this batch" in refused
    assert "changed successfully" not in refused
    assert unchanged == (name, False)
    active = TopicAssignment.objects.filter(batch=scene.batch, is_withdrawn=False)
    assert set(active.values_list("topic", "assessor", "seat")) == {
        (scene.first.pk, scene.bob.pk, first.seat),
        (scene.second.pk, scene.ada.pk, second.seat),
    }


def test_refusal_between_check_and_save_changes_nothing(
    scene: Scene, organizer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = TopicAssignment.objects.filter(batch=scene.batch).order_by("topic__code")
    data = rows(
        (first, {"is_withdrawn": "on"}),
        (second, {}),
        (None, {"topic": scene.second.pk, "assessor": scene.bob.pk}),
        name="Renamed",
    )
    monkeypatch.setattr(assignment_services, "check_change", lambda **_: None)

    page = organizer.post(reverse("admin:assessment_batch_change", args=[scene.batch.pk]), data)

    first.refresh_from_db()
    assert page.status_code == 409
    assert not first.is_withdrawn
    assert not Batch.objects.filter(name="Renamed").exists()


def test_assessors_of_other_tracks_and_team_members_are_refused(scene: Scene, organizer: Client) -> None:
    elsewhere = make_assessor(make_track())
    make_team(scene.track, scene.bob)
    batch = batch_services.create(pool=scene.pool, name="Third", by=None)
    address = reverse("admin:assessment_batch_change", args=[batch.pk])

    for user, message in ((elsewhere, "Select a valid choice"), (scene.bob, "is a member of the team")):
        page = organizer.post(
            address, rows((None, {"topic": scene.first.pk, "assessor": user.pk}), name="Third")
        )
        assert message in page.content.decode()

    assert not batch.topic_assignments.exists()


def test_only_topics_of_the_pool_and_assessors_of_the_track_are_offered(
    scene: Scene, organizer: Client
) -> None:
    make_topic(scene.track, "A.9")
    elsewhere = make_assessor(make_track(), "elsewhere")

    page = organizer.get(reverse("admin:assessment_batch_change", args=[scene.batch.pk]))

    form = page.context["inline_admin_formsets"][0].formset.empty_form
    assert [topic.code for topic in form.fields["topic"].queryset] == ["A.1", "A.2"]
    assert elsewhere not in form.fields["assessor"].queryset


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

    assert organizer.get(reverse(f"admin:assessment_{model}_changelist")).status_code == 200
    assert organizer.get(reverse(f"admin:assessment_{model}_change", args=[pk])).status_code == 200
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

    assert queries() == few


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
