"""Set the qrels that score a phase, and score each of its runs when it is submitted. Decision: ADR 30."""

from collections.abc import Sequence
from typing import Any, cast

from django.db import transaction
from django.utils import timezone

from accounts.audit import services as audit
from accounts.models import User
from assay.formats.qrels.columns import QrelsColumns
from assay.protocols.schema import Average, Phase
from jobs import services as jobs
from pooling.models import Run
from pooling.runs.services import on_submission
from scoring.errors import phase_refused
from scoring.evaluations.stored_runs import (
    check_can_be_scored,
    judged_documents,
    measures_for,
    ranking_of,
    scored_alone,
)
from scoring.models import PhaseBoard, PhaseScore, Qrels
from scoring.models.phases import WIDE_ENOUGH
from scoring.qrels.selectors import qrels_columns
from scoring.selectors import stored_measures
from tracks.models import Track
from tracks.tracks import services as track_services
from web.pages import counted

SCORE = "scoring.phase"  # kind of the job


@transaction.atomic
def set_qrels(*, track: Track, phase: str, qrels: Qrels, by: User) -> PhaseBoard:
    """Score the runs of a phase against a version of the qrels, also those that are scored against another one.

    Only the topics of the split of the phase count.

    Raises:
        Refused: The phase has no board, the qrels judge none of its topics, or they are still secret.
        LeaderboardRefused: The protocol needs a missing collection, or has no measure for the qrels.
    """
    track = track_services.lock(track.pk)
    key = phase
    boards = [phase for phase in track.protocol.parsed.runs.phases if phase.has_board]
    rules = next((phase for phase in boards if phase.key == key), None)
    if rules is None:
        accepted = f"use {', '.join(phase.key for phase in boards)}" if boards else "no phase has one"
        raise phase_refused(f"The phase {key!r} of {track} has no board of its own; {accepted}.")
    if qrels.track_id != track.pk:
        raise phase_refused(f"The qrels {qrels} are not those of {track}.")
    check_can_be_scored(track)
    if rules.after_closing:  # who sees the scores has to see the qrels
        released = track.leaderboards.filter(qrels=qrels, release__in=WIDE_ENOUGH[rules.scores])
        if not released.exists():
            audience = "everybody" if rules.scores == "everybody" else "the teams"
            raise phase_refused(
                f"The scores of {rules.name} would reveal the qrels {qrels}. Release a leaderboard against them to "
                f"{audience} first."
            )
    if not len(_columns(track, rules, qrels).topics):
        raise phase_refused(f"The qrels {qrels} judge no topic of the split “{rules.split}”.")
    values: dict[str, Any] = {
        "qrels": qrels,
        "measures": [str(measure) for measure in measures_for(qrels)],
        "average": track.protocol.parsed.scoring.average,
        "set_by": by,
    }
    board, _ = PhaseBoard.objects.update_or_create(track=track, phase=phase, defaults=values)
    board.scores.all().delete()
    runs = Run.objects.filter(track=track, kind__in=track.protocol.parsed.runs.kinds_of(rules))
    _request(board, list(runs.values_list("pk", flat=True)), by)
    details = {"phase": rules.name, "qrels": str(qrels)}
    audit.record(action="phase.scored", subject=board, track=track, details=details, by=by)
    return board


def _columns(track: Track, rules: Phase, qrels: Qrels) -> QrelsColumns:
    """The rows of the qrels for the topics of the phase: all others stay unknown, also their number."""
    columns = qrels_columns(qrels)
    if not rules.split:
        return columns
    codes = set(track.topics.filter(split=rules.split).values_list("code", flat=True))
    return columns.keep_topics(codes)


def _request(board: PhaseBoard, run_ids: Sequence[int], by: User) -> None:
    PhaseScore.objects.bulk_create(PhaseScore(board=board, run_id=run_id) for run_id in run_ids)
    if run_ids:
        arguments = {"board_id": board.pk, "run_ids": list(run_ids)}
        jobs.request(
            kind=SCORE, title=f"Score runs of {board}", arguments=arguments, by=by, subject=board.track
        )


@on_submission
def score_new_run(*, run: Run) -> None:
    """Score a new run of a phase that has a board with qrels. The caller has locked the track."""
    phase = run.track.protocol.parsed.runs.phase_of(run.kind)
    board = (
        PhaseBoard.objects.filter(track=run.track_id, phase=phase.key).first() if phase.has_board else None
    )
    if board is not None:
        _request(board, [run.pk], run.submitted_by)


def _waiting(board_id: int, run_ids: Sequence[int], status: str = PhaseScore.Status.SCORING) -> Any:
    return PhaseScore.objects.filter(board=board_id, run__in=run_ids, status=status)


def _failed(*, board_id: int, run_ids: Sequence[int]) -> None:
    _waiting(board_id, run_ids).update(status=PhaseScore.Status.FAILED)


def _retried(*, board_id: int, run_ids: Sequence[int]) -> None:
    _waiting(board_id, run_ids, PhaseScore.Status.FAILED).update(status=PhaseScore.Status.SCORING)


@jobs.handler(
    SCORE, failed=_failed, retried=_retried, words=lambda result: f"{counted(result['runs'], 'run')} scored."
)
def score(progress: jobs.Progress, *, board_id: int, run_ids: Sequence[int]) -> dict[str, Any]:
    """Score some runs of a phase against the qrels of its board, and store their values together.

    If the board gets other qrels meanwhile, nothing is stored: the job of these scores the runs.

    Raises:
        LeaderboardRefused: The stored columns of a run cannot be read.
        JobLost: Another worker has taken over the job.
    """
    board = PhaseBoard.objects.select_related("track__protocol", "qrels__track__protocol").get(pk=board_id)
    judged = judged_documents(board.qrels, _columns(board.track, board.rules, board.qrels))
    measures, average = stored_measures(board), cast(Average, board.average)
    scored = []
    runs = Run.objects.filter(pk__in=run_ids).select_related("team").defer("report").order_by("pk")
    for n, run in enumerate(runs):
        progress.update(n, len(run_ids), f"{run.team.name}: {run.tag}")
        ranking = ranking_of(run, board.track)
        scored.append((run.pk, scored_alone(ranking, judged, measures, average)))
    with progress.storing():
        now = PhaseBoard.objects.select_for_update(of=("self",)).get(pk=board_id)
        if (now.qrels_id, now.set_at) == (board.qrels_id, board.set_at):
            for run_id, stored in scored:
                ready = {"status": PhaseScore.Status.READY, "scored_at": timezone.now()}
                _waiting(board_id, [run_id]).update(**stored, **ready)
    return {"phase": board.phase, "runs": len(scored)}
