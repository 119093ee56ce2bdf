"""The points of qrels, leaderboards and their release in the checklist of a campaign."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Count, Q
from django.urls import reverse

from assessment.checklist import is_judging, judged_of
from pooling.checklist import closing_of, runs_of
from scoring.leaderboards.releases import hindrances, missing_runs
from scoring.models import Analysis, Leaderboard, Qrels
from tracks.checklist.points import Campaign, Phase, Point, Problem, any_of, asked_if, named, numbers, points
from tracks.models import Track
from web.pages import counted


@numbers
def _numbers() -> dict[str, Any]:
    return {"has_qrels": any_of(Qrels.objects.all()), "has_boards": any_of(Leaderboard.objects.all())}


@asked_if("has_qrels", lambda: None)
def qrels_of(track: Track) -> Qrels | None:
    """The newest version of the judgments of people, or of a file."""
    of_people = Qrels.objects.filter(track=track, archived_at=None, machine=None)
    return of_people.exclude(report__has_key="part_of").defer("report").first()


@asked_if("has_boards")
def boards_of(track: Track) -> list[Any]:
    """The leaderboards, newest first, each with its number of analyses."""
    n_analyses = Count("analyses", filter=Q(analyses__status=Analysis.Status.READY))
    boards = Leaderboard.objects.filter(track=track).exclude(qrels__report__has_key="part_of")
    boards = boards.select_related("qrels", "track__protocol").defer("statistics", "qrels__report")
    return list(boards.annotate(n_analyses=n_analyses).order_by("-pk"))


@points(Phase.RESULTS, 10)
def qrels(campaign: Campaign) -> Iterator[Point]:
    if not (campaign.protocol.judging.has_grades or campaign.protocol.qrels.sets):
        return
    newest, judged, problems = campaign.rows(qrels_of), campaign.rows(judged_of), []
    is_known = campaign.protocol.pool.strategy == "known-item"
    freeze = campaign.address("scoring:freeze")
    scored = campaign.protocol.runs.scored_keys
    can_score = campaign.protocol.takes_runs and any(run.kind in scored for run in campaign.rows(runs_of))
    action = "Freeze and score" if can_score else "Freeze qrels"
    is_frozen = newest is not None and newest.source == Qrels.Source.FROZEN
    if newest and is_frozen and judged.last and judged.last > newest.created_at:
        text = f"Judgments came after {newest}. Freeze the qrels again if they must count."
        problems.append(Problem(text, freeze, "" if is_judging(campaign) else action))
    yield Point(
        "Qrels",
        str(newest or "none yet"),
        campaign.address("scoring:qrels_list") if newest else freeze,
        newest is not None,
        tuple(problems),
        action=action,
        is_possible=is_known or (judged.n > 0 and not is_judging(campaign)),
    )


@points(Phase.RESULTS, 20)
def leaderboard(campaign: Campaign) -> Iterator[Point]:
    """The newest leaderboard, its reports, and the release."""
    if not campaign.protocol.takes_runs:
        return
    boards, newest = campaign.rows(boards_of), campaign.rows(qrels_of)
    board = next(iter(boards), None)
    if board is None:
        address = newest.get_absolute_url() if newest else campaign.address("scoring:leaderboards")
        action = "Score the runs"
        yield Point("Leaderboard", "none yet", address, False, action=action, is_possible=newest is not None)
    else:
        yield _scored(board, newest)
    n_analyses = board.n_analyses if board else 0
    reports = reverse("scoring:reports", args=[board.pk]) if board else ""
    yield Point(
        "Reliability of the numbers",
        counted(n_analyses, "analysis,analyses") if n_analyses else "none yet",
        reports or campaign.address("scoring:leaderboards"),
        n_analyses > 0,
        is_optional=True,
    )
    yield _release(campaign, boards)


def _scored(board: Leaderboard, newest: Qrels | None) -> Point:
    """A leaderboard that lacks a run, or has other qrels than the newest, must not be released."""
    problems, address = [], board.get_absolute_url()
    is_ready = board.status == Leaderboard.Status.READY
    if board.status == Leaderboard.Status.FAILED:
        text = "Scoring failed. The page of the leaderboard states why."
        problems.append(Problem(text, address, "Score again"))
    elif newest is not None and board.qrels_id != newest.pk:
        text = f"It was not scored against the newest qrels, {newest}."
        problems.append(Problem(text, newest.get_absolute_url(), "Score the runs"))
    elif is_ready and (missing := missing_runs(board)):
        verb = "is" if len(missing) == 1 else "are"
        text = f"{named(missing)} {verb} not on the leaderboard."
        problems.append(Problem(text, address, "Score again"))
    is_scoring = board.status == Leaderboard.Status.SCORING
    waits = f"The runs are being scored against {board.qrels}." if is_scoring else ""
    state = board.get_status_display()
    return Point("Leaderboard", state, address, is_ready, tuple(problems), "Score again", waits=waits)


def _release(campaign: Campaign, boards: list[Any]) -> Point:
    """The release. It comes after the closing: a run could be made from the qrels."""
    released = next((each for each in boards if each.release != Leaderboard.Release.HIDDEN), None)
    if released is not None:
        state, reasons = f"to {released.get_release_display()}", hindrances(released)
        problems = tuple(Problem(reason) for reason in reasons)
        return Point("Release", state, released.get_absolute_url(), True, problems)
    board = next(iter(boards), None)
    point = Point("Release", "not released yet", campaign.address("scoring:leaderboards"), False)
    if board is None or board.status != Leaderboard.Status.READY:
        return point._replace(is_possible=False)
    closing = closing_of(campaign)
    if closing.ends:
        return point._replace(waits="The leaderboard can be released when runs have closed.")
    if closing.is_open:
        address = campaign.address("tracks:close_track")
        detail = "While the track is open, a run could be made from the qrels that you release."
        return point._replace(address=address, action="Close for runs", detail=detail, is_form=True)
    reasons = hindrances(board)
    return point._replace(
        address=f"{reverse('scoring:release', args=[board.pk])}?level=public",
        action=f"Release to everybody{' anyway' if reasons else ''}",
        detail=next(iter(reasons), "The page shows who will see what."),
    )
