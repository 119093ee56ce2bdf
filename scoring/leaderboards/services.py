"""What makes leaderboards: asking for one, scoring its runs in a job, releasing it."""

import secrets
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from assay.evaluation.protocol_rules import measures_of
from assay.evaluation.scores import score_rows
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import RunScores, score_run
from assay.protocols.measures import Measure, parse_measures
from assay.protocols.schema import Average
from assay.statistics.leaderboard import JudgedShares, judged_shares, leaderboard_statistics, mean_curves
from jobs import services as jobs
from pooling.models import Run
from scoring.evaluations.stored_runs import check_can_be_scored, judged_documents, ranking_of
from scoring.leaderboards.errors import LeaderboardRefused
from scoring.models import Evaluation, Leaderboard, Qrels, Score
from scoring.qrels import selectors as qrels_selectors
from tracks.models import Track

CHUNK = 5_000


@transaction.atomic
def request(*, qrels: Qrels, by: User) -> Leaderboard:
    """Record a leaderboard of the runs that stand when a worker takes it up, and queue the work.

    Raises
    ------
    LeaderboardRefused
        One is being scored for these qrels already, there is no run to score, or the protocol cannot be followed.
    """
    qrels = Qrels.objects.select_for_update(of=("self",)).select_related("track__protocol").get(pk=qrels.pk)
    protocol = qrels.track.protocol.parsed
    _refuse_while_scoring(qrels)
    if not qrels_selectors.runs_to_score(qrels.track).exists():
        kinds = ", ".join(protocol.runs.scored_kinds)
        raise LeaderboardRefused(
            f"{qrels.track} has no run to score; the protocol scores runs of the kinds {kinds}."
        )
    check_can_be_scored(qrels.track)
    measures = measures_of(protocol)
    board = Leaderboard.objects.create(
        track=qrels.track,
        qrels=qrels,
        protocol_digest=protocol.digest,
        measures=[str(measure) for measure in measures],
        average=protocol.scoring.average,
        seed=secrets.randbelow(10**9),
        created_by=by,
    )
    board.job = jobs.request(
        kind="scoring.score_runs",
        title=f"Score the runs of {qrels.track} against qrels {qrels}"[:200],
        arguments={"leaderboard_id": board.pk},
        by=by,
        subject=qrels.track,
    )
    board.save(update_fields=["job"])
    return board


def _refuse_while_scoring(qrels: Qrels) -> None:
    if qrels.leaderboards.filter(status=Leaderboard.Status.SCORING).exists():
        raise LeaderboardRefused(
            f"Runs are being scored against {qrels} at this moment; wait until that is done."
        )


def rescore(*, qrels: Qrels, by: User) -> Leaderboard | None:
    """Score the runs against a new version of qrels, if the track's runs were scored before; old scores stay.

    None where nothing was scored before, or there is nothing to score now.
    """
    if not Leaderboard.objects.filter(track=qrels.track_id, status=Leaderboard.Status.READY).exists():
        return None
    try:
        return request(qrels=qrels, by=by)
    except LeaderboardRefused:
        return None


def _scoring_failed(*, leaderboard_id: int) -> None:
    boards = Leaderboard.objects.filter(pk=leaderboard_id, status=Leaderboard.Status.SCORING)
    boards.update(status=Leaderboard.Status.FAILED)


def _scoring_retried(*, leaderboard_id: int) -> None:
    qrels = Qrels.objects.select_for_update(of=("self",)).get(leaderboards=leaderboard_id)
    _refuse_while_scoring(qrels)
    boards = Leaderboard.objects.filter(pk=leaderboard_id, status=Leaderboard.Status.FAILED)
    boards.update(status=Leaderboard.Status.SCORING)


class _Scored(NamedTuple):
    run: Run
    scores: RunScores
    shares: JudgedShares
    curves: dict[str, Any]


@jobs.handler("scoring.score_runs", failed=_scoring_failed, retried=_scoring_retried)
def score(progress: jobs.Progress, *, leaderboard_id: int) -> dict[str, Any]:
    """Score every standing run of a scored kind. Stored in one transaction: there is never a half leaderboard.

    Raises
    ------
    LeaderboardRefused
        The stored columns of a run cannot be read.
    JobLost
        Another worker has taken the job over.
    """
    board = Leaderboard.objects.select_related("track__protocol", "qrels").get(pk=leaderboard_id)
    judged = judged_documents(board.qrels)
    measures = parse_measures(board.measures)
    average = cast(Average, board.average)
    scored = list(_scored(board.track, judged, measures, average, progress))
    found = leaderboard_statistics(
        [one.scores for one in scored],
        measures,
        average=average,
        seed=board.seed,
        progress=lambda done, total: progress.update(done, total, f"telling runs apart by {measures[done]}"),
    )
    progress.update(1, 1, "storing")
    with progress.storing():
        board = Leaderboard.objects.select_for_update(of=("self",)).get(pk=leaderboard_id)
        if (
            board.status != Leaderboard.Status.READY
        ):  # else an attempt stored it, and died before it could say so
            _store(board, scored, judged, measures, found)
    return {"leaderboard": board.pk, "runs": board.evaluations.count()}


def _scored(
    track: Track,
    judged: JudgedDocuments,
    measures: list[Measure],
    average: Average,
    progress: jobs.Progress,
) -> Iterator[_Scored]:
    runs, rules = list(qrels_selectors.runs_to_score(track)), track.protocol.parsed.scoring
    for n, run in enumerate(runs):
        progress.update(n, len(runs), f"{run.team.name}: {run.tag}")
        ranking = ranking_of(run, track)
        hits = judged.hits(ranking)
        curves = mean_curves(
            hits, judged, level=rules.relevant_from, judged_only=rules.judged_only, average=average
        )
        yield _Scored(run, score_run(ranking, judged, measures), judged_shares(hits, judged, average), curves)


def _store(
    board: Leaderboard,
    scored: list[_Scored],
    judged: JudgedDocuments,
    measures: list[Measure],
    statistics: dict[str, Any],
) -> None:
    average = cast(Average, board.average)
    evaluations = [
        Evaluation(
            leaderboard=board,
            run=one.run,
            run_sha256=one.run.sha256,
            n_topics=int(one.scores.averaged(average).sum()),
            n_missing=one.scores.n_missing,
            judged_at_10=one.shares.judged_at_10,
            unjudged=one.shares.unjudged,
            curves=one.curves,
        )
        for one in scored
    ]
    Evaluation.objects.bulk_create(evaluations)
    rows = (
        Score(evaluation=evaluation, topic=row.topic, measure=row.measure, value=row.value)
        for evaluation, one in zip(evaluations, scored, strict=True)
        for row in score_rows(one.run.tag, one.scores, judged, measures, average=average, per_topic=True)
    )
    Score.objects.bulk_create(rows, batch_size=CHUNK)
    board.status = Leaderboard.Status.READY
    board.statistics = {**statistics, "evaluations": [one.pk for one in evaluations]}
    board.save(update_fields=["status", "statistics"])


@transaction.atomic
def release(*, leaderboard: Leaderboard, level: str, by: User) -> Leaderboard:
    """Let a leaderboard be seen: by organizers only (which withdraws a release), by the track's teams, by everybody.

    Asking for the level that it has changes nothing.

    Raises
    ------
    LeaderboardRefused
        It is not scored yet, or there is no such level.
    """
    board = Leaderboard.objects.select_for_update(of=("self",)).get(pk=leaderboard.pk)
    if level not in Leaderboard.Release.values:
        raise LeaderboardRefused(
            f"There is no release level {level!r}; use {', '.join(Leaderboard.Release.values)}."
        )
    if level == board.release:
        return board
    if board.status != Leaderboard.Status.READY:
        raise LeaderboardRefused(
            f"The leaderboard is {board.get_status_display()}; only a finished one is released."
        )
    is_hidden = level == Leaderboard.Release.HIDDEN
    board.release = level
    board.released_at, board.released_by = (None, None) if is_hidden else (timezone.now(), by)
    board.save(update_fields=["release", "released_at", "released_by"])
    return board
