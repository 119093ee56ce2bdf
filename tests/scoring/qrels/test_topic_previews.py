"""Numbers of pages that are kept by topic: no change of what they are computed from leaves an old one on a page."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache

from assay.formats.qrels.reader import format_qrels, parse_qrels
from assessment.agreement.selectors import graded
from assessment.batches import services as batches
from assessment.judging import services as judging
from assessment.judgments import stamps
from assessment.judgments.disagreements import Difference, disagreements, main_round, round_of, scale_of
from assessment.models import Batch, Judgment
from assessment.planning import services as planning
from scoring.errors import QrelsRefused
from scoring.qrels import services as qrels
from scoring.qrels.frozen import grade_pool
from scoring.qrels.selectors import FreezePreview, freeze_preview
from tests.assessment.conftest import Scene, build_scene
from tests.helpers.factories import make_organizer
from tests.helpers.judging import accept, judge, judge_all, make_batch
from tracks.assessors import services as assessors
from tracks.models import Topic

pytestmark = pytest.mark.django_db
DUAL = ["dual"]


@pytest.fixture
def scene(db: None) -> Scene:
    """Ada judged all but the last unit, and has a non-answer; Bob was the second judge of the same units."""
    scene = build_scene()
    for choice in ("high", "medium", "low", "high"):
        judge(accept(scene.batch, scene.ada), choice)
    judge(accept(scene.batch, scene.ada), "do-not-know", comment="It is in Russian.")
    second = make_batch(scene.pool, {scene.bob: [scene.first, scene.second]}, kind=Batch.Kind.DUAL)
    for choice in ("high", "low", "not-relevant", "high"):
        judge(accept(second, scene.bob), choice)
    return scene


def preview_of(scene: Scene, **left_out: str) -> FreezePreview | str:
    try:
        return freeze_preview(scene.track, scene.pool, DUAL, None, left_out)
    except QrelsRefused as refused:
        return refused.message


def shown(scene: Scene) -> list[Any]:
    """The numbers on the pages of freezing, agreement and disagreements."""
    scene.track.refresh_from_db()
    scale = scale_of(scene.track.protocol.parsed, "")
    kept = graded(scene.track, main_round(), scale).as_lists()
    different = [disagreements(scene.track, main_round(), Difference(rule)) for rule in ("any", "non-answer")]
    return [preview_of(scene), kept, *different, round_of(scene.track, None)]


def judged(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada), "low")


def revised(scene: Scene) -> None:
    judge(Judgment.objects.earliest("pk").task, "low")


def returned(scene: Scene) -> None:
    judging.return_non_answer(judgment=Judgment.objects.get(grade=None), reason="It loads now.")


def withdrawn(scene: Scene) -> None:
    planning.withdraw(batch=scene.batch, assessor=scene.ada, topic=scene.first)


def dropped(scene: Scene) -> None:
    for judgment in Judgment.objects.filter(topic=scene.second, is_current=True):
        judge(judgment.task, "not-relevant")


def removed(scene: Scene) -> None:
    assessors.remove(track=scene.track, user=scene.ada, by=make_organizer())


def closed(scene: Scene) -> None:
    judge_all(scene.batch, scene.ada)
    batches.close(batch=scene.batch)


def imported(scene: Scene) -> None:
    file = format_qrels(grade_pool(scene.pool, DUAL).columns)
    qrels.import_file(
        track=scene.track, columns=parse_qrels(file), file_name="qrels.tsv", by=make_organizer()
    )


def moved(scene: Scene) -> None:
    Topic.objects.filter(pk=scene.first.pk).update(code="A.0")


@pytest.mark.parametrize(
    "change", [judged, revised, returned, withdrawn, dropped, removed, closed, imported, moved]
)
def test_pages_show_every_change(scene: Scene, change: Callable[[Scene], None]) -> None:
    before = shown(scene)

    change(scene)

    after = shown(scene)
    cache.clear()
    assert after == shown(scene)
    assert (after != before) == (change not in {withdrawn, removed})


@pytest.mark.parametrize("change", [judged, returned, dropped])
@pytest.mark.parametrize("left_out", [{}, {"A.1": "It is ambiguous."}])
def test_preview_is_what_is_frozen(
    scene: Scene, change: Callable[[Scene], None], left_out: dict[str, str]
) -> None:
    change(scene)

    preview, frozen = preview_of(scene, **left_out), grade_pool(scene.pool, DUAL, None, left_out)

    assert isinstance(preview, FreezePreview)
    assert preview.digest == frozen.digest
    assert preview.report.items() >= {key: frozen.report[key] for key in ("dropped", "unjudged")}.items()
    assert (preview.n_judged, preview.n_topics) == (frozen.n_judged, len(frozen.columns.topics))


@pytest.mark.parametrize(
    ("left_out", "message"),
    [
        ({"A.1": "Ambiguous.", "A.2": "Ambiguous."}, "No topic of the pool"),
        ({"A.9": "Ambiguous."}, "The pool has no topic A.9"),
        ({"A.1": " "}, "Give a reason to leave out the topic A.1"),
    ],
)
def test_preview_refuses_what_freezing_refuses(scene: Scene, left_out: dict[str, str], message: str) -> None:
    with pytest.raises(QrelsRefused, match=message) as refused:
        grade_pool(scene.pool, DUAL, None, left_out)

    assert preview_of(scene, **left_out) == refused.value.message


def test_conflict_ends_when_its_topic_is_left_out_or_withdrawn_from_one(db: None) -> None:
    scene = build_scene()
    other = make_batch(scene.pool, {scene.bob: [scene.first]})
    tasks = [accept(scene.batch, scene.ada), accept(other, scene.bob)]
    for task, choice in zip(tasks, ("high", "low"), strict=True):
        judge(task, choice)
    judge_all(scene.batch, scene.ada)
    with pytest.raises(QrelsRefused) as refused:
        grade_pool(scene.pool, DUAL)
    assert preview_of(scene) == refused.value.message
    assert "The judgments of 1 unit conflict" in refused.value.message
    assert isinstance(preview_of(scene, **{"A.1": "In conflict."}), FreezePreview)

    withdrawn(scene)

    preview = preview_of(scene)
    assert isinstance(preview, FreezePreview)
    assert preview.digest == grade_pool(scene.pool, DUAL).digest
    assert preview.report["decided"] == {"by the assessor assigned now": 1}


def test_only_topics_with_new_judgments_are_computed_again(scene: Scene) -> None:
    asked: list[list[int]] = []

    def compute(topics: list[int]) -> dict[int, str]:
        asked.append(topics)
        return {topic: "" for topic in topics if topic == scene.first.pk}

    for change in (lambda scene: None, lambda scene: None, judged):
        change(scene)
        assert stamps.by_topic(scene.track, ["x"], compute) == [""]

    assert asked == [[scene.first.pk, scene.second.pk], [scene.second.pk]]


def test_part_of_a_moment_that_has_passed_is_not_kept(scene: Scene) -> None:
    """A judgment comes while the parts are computed."""

    def compute(topics: list[int]) -> dict[int, int]:
        n_judged = Judgment.objects.filter(topic__in=topics).count()
        if n_judged == 9:
            judged(scene)
        return dict.fromkeys(topics, n_judged)

    assert stamps.by_topic(scene.track, ["x"], compute) == [9, 9]
    assert sum(stamps.by_topic(scene.track, ["x"], compute)) > 9
