"""Leaderboards that are released at a set time."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from scoring.leaderboards import schedules
from scoring.leaderboards.errors import LeaderboardRefused
from scoring.models import Leaderboard, ScheduledRelease
from tests.scoring.conftest import Scene
from tracks.models import Track
from web.times import now


@pytest.fixture
def board(scored: Scene) -> Leaderboard:
    Track.objects.update(status=Track.Status.CLOSED)
    return scored.leaderboard()


def schedule(
    scene: Scene, board: Leaderboard, level: str = "participants", hours: int = 1
) -> ScheduledRelease:
    return schedules.schedule(
        leaderboard=board,
        level=level,
        release_at=now() + timedelta(hours=hours),
        zone="AoE",
        by=scene.organizer,
    )


def let_time_pass() -> None:
    ScheduledRelease.objects.update(release_at=now())


def test_leaderboard_is_released_at_its_time_and_once(scored: Scene, board: Leaderboard) -> None:
    schedule(scored, board)

    early = schedules.release_due()
    let_time_pass()
    released = [schedules.release_due(), schedules.release_due()]

    board.refresh_from_db()
    assert (early, released) == (0, [1, 0])
    assert (board.release, board.released_by) == ("participants", scored.organizer)
    assert not ScheduledRelease.objects.exists()


def test_release_that_is_hindered_keeps_the_reason_and_is_not_tried_again(
    scored: Scene, board: Leaderboard, client: Client
) -> None:
    schedule(scored, board)
    Track.objects.update(status=Track.Status.OPEN)
    let_time_pass()

    assert schedules.release_due() == 0
    Track.objects.update(status=Track.Status.CLOSED)
    assert schedules.release_due() == 0

    client.force_login(scored.organizer)
    page = client.get(board.get_absolute_url()).content.decode()
    assert "It was not released at the set time" in page
    assert "is open for runs" in page


def test_organizer_schedules_and_cancels_on_the_page(
    scored: Scene, board: Leaderboard, client: Client
) -> None:
    client.force_login(scored.organizer)
    address = reverse("scoring:release", args=[board.pk])

    form = {"level": "public", "release_at": "2036-05-01T23:59", "zone": "AoE"}
    page = client.post(address, form, follow=True).content.decode()
    wrong = client.post(address, form | {"release_at": "2020-05-01T23:59"})
    canceled = client.post(reverse("scoring:cancel_release", args=[board.pk]), follow=True).content.decode()

    assert "from 2036-05-01 23:59 AoE (2036-05-02 11:59 UTC)" in page
    assert wrong.status_code == 409
    assert "Cancel the scheduled release" not in canceled
    board.refresh_from_db()
    assert board.release == "hidden"


@pytest.mark.parametrize(
    ("level", "hours", "message"), [("public", -1, "has passed"), ("hidden", 1, "more people")]
)
def test_release_that_cannot_be_is_not_scheduled(
    scored: Scene, board: Leaderboard, level: str, hours: int, message: str
) -> None:
    with pytest.raises(LeaderboardRefused, match=message):
        schedule(scored, board, level, hours)
