"""Times at which runs are accepted, and the changes that Celery beat makes."""

from typing import Any

import pytest

from assay.errors import Refused
from tests.helpers.factories import make_deadline, make_topic, make_track, make_user
from tracks import deadline_acceptance
from tracks.deadline_acceptance import Stage
from tracks.deadlines import services
from tracks.models import Deadline, Track
from tracks.tracks import services as track_services
from tracks.tracks.selectors import tracks_for

pytestmark = pytest.mark.django_db

HOUR = 3600
DRAFT, OPEN, CLOSED = Track.Status.DRAFT, Track.Status.OPEN, Track.Status.CLOSED


@pytest.mark.parametrize(
    ("status", "times", "stage"),
    [
        (DRAFT, {}, Stage.WAITING),
        (DRAFT, {"opens_at": HOUR}, Stage.WAITING),
        (DRAFT, {"opens_at": -1}, Stage.OPEN),
        (DRAFT, {"closes_at": HOUR}, Stage.WAITING),
        (DRAFT, {"opens_at": -HOUR, "closes_at": -1}, Stage.CLOSED),
        (OPEN, {}, Stage.OPEN),
        (OPEN, {"opens_at": HOUR}, Stage.OPEN),
        (OPEN, {"closes_at": HOUR}, Stage.OPEN),
        (OPEN, {"closes_at": -1}, Stage.CLOSED),
        (OPEN, {"closes_at": -HOUR, "grace_minutes": 90}, Stage.LATE),
        (OPEN, {"closes_at": -HOUR, "grace_minutes": 60}, Stage.CLOSED),
        (CLOSED, {}, Stage.CLOSED),
        (CLOSED, {"closes_at": HOUR}, Stage.CLOSED),
    ],
)
def test_state_compares_instants(status: str, times: dict[str, Any], stage: Stage) -> None:
    track = make_track(status=status)
    if times:
        make_deadline(track, **times)

    state = deadline_acceptance.acceptance_of(track, "primary")

    assert state.stage == stage
    assert bool(state.reason) is not state.is_accepting


def test_times_of_a_kind_replace_those_of_all_kinds() -> None:
    track = make_track()
    make_deadline(track, closes_at=-HOUR)
    make_deadline(track, "alternate", closes_at=HOUR)
    make_deadline(track, "baseline", opens_at=HOUR)

    states = deadline_acceptance.acceptances(track)

    assert [each.stage for each in states] == [Stage.CLOSED, Stage.OPEN, Stage.WAITING]
    assert "the track closed on" in states[0].reason
    assert "baseline runs are accepted from" in states[2].reason
    assert deadline_acceptance.why_closed(states) == ""


def test_missed_beat_changes_nothing(django_assert_num_queries: Any) -> None:
    waiting, over = make_track(status=DRAFT), make_track()
    make_topic(waiting)
    make_deadline(waiting, opens_at=-HOUR)
    make_deadline(over, closes_at=-HOUR)

    assert waiting in tracks_for(make_user())
    with django_assert_num_queries(2):
        assert deadline_acceptance.acceptance_of(waiting, "primary").is_accepting
    assert not deadline_acceptance.acceptance_of(over, "primary").is_accepting


def test_beat_opens_and_closes_once() -> None:
    waiting, over, later = make_track(status=DRAFT), make_track(), make_track()
    make_deadline(waiting, opens_at=-HOUR)
    make_deadline(over, closes_at=-HOUR)
    make_deadline(over, "alternate", closes_at=-2 * HOUR)
    make_deadline(later, closes_at=-HOUR)
    make_deadline(later, "alternate", closes_at=HOUR)

    assert services.settle_due() == 2
    assert services.settle_due() == 0

    statuses = dict(Track.objects.values_list("pk", "status"))
    assert statuses == {waiting.pk: OPEN, over.pk: CLOSED, later.pk: OPEN}


def test_beat_does_not_open_what_was_closed_by_hand() -> None:
    track = make_track(status=DRAFT)
    make_deadline(track, opens_at=-HOUR)
    services.settle_due()

    track_services.close(track=track)

    assert services.settle_due() == 0
    assert Track.objects.get().status == CLOSED


def test_track_after_its_closing_time_cannot_be_opened() -> None:
    track = make_track(status=CLOSED)
    make_topic(track)
    make_deadline(track, closes_at=-HOUR)

    with pytest.raises(Refused, match="Set a later time or none"):
        track_services.open_for_runs(track=track)

    Deadline.objects.all().delete()
    assert track_services.open_for_runs(track=track).status == OPEN
