"""The point of judges in the checklist of a campaign."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from assay_extensions.metaevaluation.site.models import JudgeBoard, JudgeCall, JudgeRun
from scoring.models import Leaderboard
from tracks.checklist.points import Campaign, Phase, Point, listed, points
from web import times
from web.pages import counted


@listed
def calls_of(track: Any) -> QuerySet[JudgeCall]:
    """The call for judges of a track, with the numbers of its judges and boards."""
    judges = JudgeRun.objects.filter(status=JudgeRun.Status.SUBMITTED)
    boards = JudgeBoard.objects.filter(status=JudgeBoard.Status.READY)
    released = boards.exclude(release=Leaderboard.Release.HIDDEN)
    return (
        JudgeCall.objects.filter(track=track)
        .only("track", "closes_at", "zone")
        .annotate(n_judges=_n(judges), n_boards=_n(boards), n_released=_n(released))
    )


def _n(rows: QuerySet[Any]) -> Coalesce:
    of_track = rows.order_by().filter(track=OuterRef("track")).values("track").annotate(n=Count("pk"))
    return Coalesce(Subquery(of_track.values("n"), output_field=IntegerField()), 0)


@points(Phase.RESULTS, 23)
def judges(campaign: Campaign) -> Iterator[Point]:
    """Judges of teams: accepted, compared, released. Only of a track that accepts them."""
    for call in campaign.rows(calls_of):
        until = f", accepted until {times.in_words(call.closes_at, call.zone)}"
        state = counted(call.n_judges, "judge") + (until if call.is_open_now else "")
        if call.n_boards:
            state += "; board released" if call.n_released else "; board not released"
        yield Point(
            "Judges of teams",
            state,
            campaign.address("metaevaluation:judges"),
            call.n_released > 0,
            is_optional=True,
        )
