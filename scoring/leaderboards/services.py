"""Requests a leaderboard, scores its runs in a job, and releases it."""

import secrets
from collections.abc import Iterator
from itertools import repeat
from typing import Any, NamedTuple, cast

from django.db import transaction
from django.utils import timezone

from accounts.audit import services as audit
from accounts.mail import letters
from accounts.models import User
from assay.measures.answers import unassigned as units_without_grade
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import RunScores, score_hits
from assay.protocols.measures import Measure
from assay.protocols.schema import Average
from assay.statistics.leaderboard import LeaderboardStatistics, counted, leaderboard_statistics
from assay.statistics.significance import packed_pairs
from jobs import services as jobs
from participation.models import Team
from participation.teams.selectors import members_to_mail
from pooling.models import Run
from scoring.errors import LeaderboardRefused, ReleaseHindered
from scoring.evaluations.stored_runs import (
    check_can_be_scored,
    judged_documents,
    measures_for,
    ranking_of,
)
from scoring.leaderboards.releases import hindrances, is_wider
from scoring.models import Evaluation, Leaderboard, MeasureStatistics, Qrels, Score
from scoring.qrels import selectors as qrels_selectors
from scoring.qrels.services import rescores
from scoring.selectors import stored_measures
from tracks.models import Track
from tracks.tracks import services as track_services
from web.pages import counted as counted_noun
from web.statements import copy_rows

RELEASED = "leaderboards.released"  # kind of letters; they contain no scores


@transaction.atomic
def request(*, qrels: Qrels, by: User, seed: int | None = None) -> Leaderboard:
    """Create a leaderboard and queue its scoring. It includes the runs submitted when the job starts.

    Intervals and tests depend on the seed, by default a random one.

    Raises:
        LeaderboardRefused: These qrels are being scored already, there are no runs to score, or the protocol needs a
            missing collection.
    """
    qrels = Qrels.objects.select_for_update(of=("self",)).select_related("track__protocol").get(pk=qrels.pk)
    protocol = qrels.track.protocol.parsed
    _refuse_while_scoring(qrels)
    if not qrels_selectors.runs_to_score(qrels.track).exists():
        kinds = ", ".join(protocol.runs.scored_keys)
        raise LeaderboardRefused(
            f"{qrels.track} has no runs to score. The protocol scores runs of these kinds: {kinds}."
        )
    check_can_be_scored(qrels.track)
    measures = measures_for(qrels)
    board = Leaderboard.objects.create(
        track=qrels.track,
        qrels=qrels,
        protocol_digest=protocol.digest,
        measures=[str(measure) for measure in measures],
        average=protocol.scoring.average,
        seed=secrets.randbelow(10**9) if seed is None else seed,
        created_by=by,
    )
    title = f"Score the runs of {qrels.track} against qrels {qrels}"
    jobs.request_for(
        board, "leaderboard_id", kind="scoring.score_runs", title=title, by=by, subject=qrels.track
    )
    audit.record(action="leaderboard.requested", subject=board, track=board.track, by=by)
    return board


@transaction.atomic
def request_with_parts(*, qrels: Qrels, by: User, seed: int | None = None) -> Leaderboard:
    """Score the runs against a version, and against those of groups and sets that were frozen with it.

    Returns the leaderboard of the version itself.

    Raises:
        LeaderboardRefused: As `request`.
    """
    board = request(qrels=qrels, by=by, seed=seed)
    scoring = qrels.track.protocol.parsed.scoring
    for version in qrels_selectors.part_versions(qrels):
        has_measures = bool(scoring.measures_of(version.report.get("set", "")))
        if has_measures and not version.leaderboards.filter(status=Leaderboard.Status.SCORING).exists():
            request(qrels=version, by=by, seed=seed)
    return board


def _refuse_while_scoring(qrels: Qrels) -> None:
    if qrels.leaderboards.filter(status=Leaderboard.Status.SCORING).exists():
        raise LeaderboardRefused(
            f"Runs are already being scored against {qrels}. Wait until that has finished."
        )


@rescores
def rescore(*, qrels: Qrels, by: User, is_asked: bool = False) -> Leaderboard | None:
    """Score the runs against a new version of the qrels if it is asked for, or the track has a finished leaderboard.

    Older leaderboards stay unchanged. None if nothing was scored before, or there is nothing to score now.
    """
    scored = Leaderboard.objects.filter(track=qrels.track_id, status=Leaderboard.Status.READY)
    if not (is_asked or scored.exists()):
        return None
    try:
        return request_with_parts(qrels=qrels, by=by)
    except LeaderboardRefused:
        return None


def _scoring_retried(*, leaderboard_id: int) -> None:
    qrels = Qrels.objects.select_for_update(of=("self",)).get(leaderboards=leaderboard_id)
    _refuse_while_scoring(qrels)
    boards = Leaderboard.objects.filter(pk=leaderboard_id, status=Leaderboard.Status.FAILED)
    boards.update(status=Leaderboard.Status.SCORING)


class _ScoredRun(NamedTuple):
    run: Run
    scores: RunScores
    counted: dict[str, Any]


@jobs.handler(
    "scoring.score_runs",
    failed=jobs.changing_status(
        Leaderboard, "leaderboard_id", Leaderboard.Status.SCORING, Leaderboard.Status.FAILED
    ),
    retried=_scoring_retried,
    words=lambda result: f"{counted_noun(result['runs'], 'run')} scored.",
)
def score(progress: jobs.Progress, *, leaderboard_id: int) -> dict[str, Any]:
    """Score every submitted run of a scored kind. One transaction stores all scores, so no leaderboard is partial.

    Raises:
        LeaderboardRefused: The stored columns of a run cannot be read.
        JobLost: Another worker has taken over the job.
    """
    board = Leaderboard.objects.select_related("track__protocol", "qrels").get(pk=leaderboard_id)
    judged = judged_documents(board.qrels)
    measures = stored_measures(board)
    average = cast(Average, board.average)
    unassigned: list[dict[str, Any]] = []
    scored = list(_score_runs(board, judged, measures, average, progress, unassigned))
    if unassigned and not scored:
        units = sum(run["units"] for run in unassigned)
        raise LeaderboardRefused(
            f"No run can be scored: {counted_noun(units, 'nugget or citation,nuggets and citations')} of "
            f"{counted_noun(len(unassigned), 'run')} have no grade. Judge the answers first, or pool these runs."
        )
    statistics = leaderboard_statistics(
        [scored_run.scores for scored_run in scored],
        measures,
        average=average,
        seed=board.seed,
        progress=lambda done, total: progress.update(done, total, "testing differences"),
    )
    progress.update(1, 1, "storing")
    with progress.storing():
        board = Leaderboard.objects.select_for_update(of=("self",)).get(pk=leaderboard_id)
        # READY if an earlier attempt stored it, but was killed before it could report that
        if board.status != Leaderboard.Status.READY:
            board.statistics = {"unassigned": unassigned} if unassigned else {}
            _store(board, scored, judged, measures, statistics)
    return {"leaderboard": board.pk, "runs": board.evaluations.count()}


def _score_runs(
    board: Leaderboard,
    judged: JudgedDocuments,
    measures: list[Measure],
    average: Average,
    progress: jobs.Progress,
    unassigned: list[dict[str, Any]],
) -> Iterator[_ScoredRun]:
    """The scores of each run. Runs of answers with units that have no grade are added to `unassigned` instead."""
    track = board.track
    runs, protocol = list(qrels_selectors.runs_to_score(track)), track.protocol.parsed
    for n, run in enumerate(runs):
        progress.update(n, len(runs), f"{run.team.name}: {run.tag}")
        ranking = ranking_of(run, track)
        units: list[tuple[str, str]] = []  # a value would count them as wrong
        if protocol.judged.has_nuggets:
            units = units_without_grade(ranking, judged, citations=protocol.runs.answers.citations)
        if units:
            unassigned.append(run.reference | {"units": len(units)})
            continue
        hits = judged.hits(ranking)
        scores = score_hits(hits, judged, measures)
        values = counted(
            hits,
            judged,
            scores,
            measures,
            level=board.relevant_from,
            judged_only=protocol.scoring.judged_only,
            average=average,
            of_answers=protocol.is_of_answers,
        )
        yield _ScoredRun(run, scores, values)


def _store(
    board: Leaderboard,
    scored: list[_ScoredRun],
    judged: JudgedDocuments,
    measures: list[Measure],
    statistics: LeaderboardStatistics | None,
) -> None:
    average = cast(Average, board.average)
    evaluations = [
        Evaluation(
            leaderboard=board,
            run=scored_run.run,
            run_sha256=scored_run.run.sha256,
            **scored_run.counted,
        )
        for scored_run in scored
    ]
    Evaluation.objects.bulk_create(evaluations)
    for evaluation, scored_run in zip(evaluations, scored, strict=True):
        rows = scored_run.scores.rows(judged, measures, average, per_topic=True)
        _, topics, names, values = zip(*rows, strict=True)
        copy_rows(
            Score,
            ("evaluation_id", "topic", "measure", "value"),
            repeat(evaluation.pk, len(rows)),
            topics,
            names,
            values,
        )
    board.status = Leaderboard.Status.READY
    board.statistics |= {
        "evaluations": [evaluation.pk for evaluation in evaluations],
        "disqualified": [run.reference for run in qrels_selectors.disqualified_runs(board.track)],
    }
    if statistics is not None:
        board.statistics |= statistics.stored
        MeasureStatistics.objects.bulk_create(
            MeasureStatistics(
                leaderboard=board,
                measure=measure,
                pairs=packed_pairs(of_measure.test.p) if of_measure.test else None,
                **of_measure.stored,
            )
            for measure, of_measure in statistics.measures.items()
        )
    board.save(update_fields=["status", "statistics"])


@transaction.atomic
def release(*, leaderboard: Leaderboard, level: str, by: User, reason: str = "") -> Leaderboard:
    """Set who may see a leaderboard: organizers only (withdraws a release), the track's teams, or everybody.

    Setting the current level again changes nothing. `reason` overrides failed checks when more people will see it;
    the audit log keeps it.

    Raises:
        LeaderboardRefused: It is not scored yet, or the level does not exist.
        ReleaseHindered: The track is open for runs, a batch is open or a machine judged, and there is no reason.
    """
    track_services.lock(leaderboard.track_id)
    board = Leaderboard.objects.select_for_update(of=("self",)).get(pk=leaderboard.pk)
    if level not in Leaderboard.Release.values:
        raise LeaderboardRefused(
            f"There is no release level {level!r}. Use one of: {', '.join(Leaderboard.Release.values)}."
        )
    if level == board.release:
        return board
    if board.status != Leaderboard.Status.READY:
        raise LeaderboardRefused(
            f"The leaderboard is {board.get_status_display()}. You can release it when it is ready."
        )
    hindered = hindrances(board) if is_wider(board, level) else []
    if hindered and not reason.strip():
        raise ReleaseHindered(hindered)
    is_hidden = level == Leaderboard.Release.HIDDEN
    board.release = level
    board.released_at, board.released_by = (None, None) if is_hidden else (timezone.now(), by)
    board.save(update_fields=["release", "released_at", "released_by"])
    if not is_hidden:
        _notify_teams(board)
    action = "leaderboard.hidden" if is_hidden else "leaderboard.released"
    details = {"visible to": board.get_release_display(), "qrels": str(board.qrels), "reason": reason.strip()}
    audit.record(action=action, subject=board, track=board.track, details=details, by=by)
    return board


def _notify_teams(board: Leaderboard) -> None:
    """Mail the members of the teams with runs on a leaderboard who chose that: once, at its first release."""
    if board.mailed_at is not None:
        return
    board.mailed_at = timezone.now()
    board.save(update_fields=["mailed_at"])
    teams = Team.objects.filter(runs__evaluations__leaderboard=board).distinct()
    for user_id in sorted({user_id for team in teams for user_id in members_to_mail(team)}):
        letters.post(kind=RELEASED, data={"user": user_id, "leaderboard": board.pk}, site="")


@track_services.checks_opening
def check_opening(*, track: Track) -> None:
    """Refuse to open a track for runs while its qrels can be read.

    Raises LeaderboardRefused.
    """
    released = track.leaderboards.exclude(release=Leaderboard.Release.HIDDEN).first()
    if released is not None:
        raise LeaderboardRefused(
            f"A leaderboard of {track} is released to {released.get_release_display()}, so its qrels are known. "
            "Hide it on the page of the leaderboard before you open the track for runs.",
            title="The track was not opened",
        )
