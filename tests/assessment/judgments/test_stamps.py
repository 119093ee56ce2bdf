"""The stamp of what agreement and qrels are computed from, and values that are kept while it stays the same."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from assessment.judging import services as task_services
from assessment.judgments.stamps import stamp_of, while_unchanged
from assessment.models import Judgment
from assessment.planning import services as planning
from participation.models import Team
from pooling.models import Run
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_organizer
from tests.helpers.judging import accept, judge, make_team
from tracks.models import Topic, Track
from web.caches import remembered

pytestmark = pytest.mark.django_db


def judged(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada), "high")


def revised(scene: Scene) -> None:
    judge(Judgment.objects.get().task, "low")


def returned(scene: Scene) -> None:
    task_services.return_non_answer(judgment=Judgment.objects.latest("pk"), reason="It loads now.")


def withdrawn(scene: Scene) -> None:
    planning.withdraw(batch=scene.batch, assessor=scene.ada, topic=scene.first)


def renamed(scene: Scene) -> None:
    Team.objects.update(name="Another name")


def answered(scene: Scene) -> None:
    Topic.objects.filter(pk=scene.first.pk).update(source="Q1 A1")


@pytest.mark.parametrize("change", [judged, revised, returned, withdrawn, renamed, answered])
def test_stamp_changes_with_what_qrels_are_made_of(scene: Scene, change: Callable[[Scene], None]) -> None:
    Run.objects.create(
        track=scene.track, team=make_team(scene.track), n_lines=1, n_topics=1, submitted_by=make_organizer()
    )
    judge(accept(scene.batch, scene.ada), "do-not-know", comment="It does not load.")
    before = stamp_of(scene.track)
    assert stamp_of(Track.objects.get(pk=scene.track.pk)) == before

    change(scene)

    assert stamp_of(scene.track) != before


def test_value_is_computed_again_only_after_a_change(scene: Scene) -> None:
    values = iter(range(10))
    ask = lambda key: while_unchanged(scene.track, [key], lambda: [next(values)])  # noqa: E731

    assert [ask("a"), ask("a"), ask("b")] == [[0], [0], [1]]
    judged(scene)

    assert [ask("a"), ask("a")] == [[2], [2]]


def test_value_of_a_moment_that_has_passed_is_not_kept() -> None:
    stamps = iter(["before", "after", "before", "before"])

    first = remembered(["x"], lambda: next(stamps), lambda: 1)

    assert (first, remembered(["x"], lambda: next(stamps), lambda: 2)) == (1, 2)


@pytest.mark.parametrize("name", ["scoring:freeze", "assessment:agreement", "assessment:disagreements"])
def test_page_that_is_opened_again_reads_no_judgment_again(scene: Scene, name: str) -> None:
    judged(scene)
    client, address = Client(), reverse(name, args=[scene.track.slug])
    client.force_login(make_organizer())
    first = client.get(address)

    with CaptureQueriesContext(connection) as queries:
        second = client.get(address)

    assert first.context["track"] == second.context["track"] == scene.track
    reads = [each["sql"] for each in queries if '"assessment_judgment"."docno"' in each["sql"]]
    assert reads == []
