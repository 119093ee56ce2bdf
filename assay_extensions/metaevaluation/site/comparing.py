"""Compare the judges of a track with a leaderboard of people: an organizer requests a board, a job computes it."""

import secrets
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO, cast

from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.runs.columns import Ranked
from assay.measures.scores import ScoreRow
from assay.protocols.schema import Average
from assay.tables import plain
from assay_extensions.metaevaluation import boards
from assay_extensions.metaevaluation.judgments import files_of
from assay_extensions.metaevaluation.site.models import JudgeBoard, JudgeResult, JudgeRun
from assay_extensions.metaevaluation.site.services import check_topics, judges_refused, pseudonyms_of
from assessment.nuggets.selectors import frozen_nuggets
from jobs import services as jobs
from scoring.evaluations.stored_runs import judged_documents, ranking_of
from scoring.models import Leaderboard, Score
from scoring.qrels.selectors import qrels_columns
from scoring.selectors import stored_measure
from scoring.stored_analyses import evaluated
from tracks.models import Track
from tracks.tracks import services as track_services


@transaction.atomic
def request(
    *,
    leaderboard: Leaderboard,
    by: User,
    measure: str = "",
    topics: Sequence[str] = (),
    missing: str = "refuse",
    seed: int | None = None,
) -> JudgeBoard:
    """Create a board of the judges that are submitted when the job starts, and queue its work.

    Args:
        leaderboard: the truth: the scores of people, and their qrels.
        measure: of the leaderboard; by default its first.
        topics: those that count, such as held-out ones; by default all.
        missing: as of `compare`.

    Raises:
        Refused: The leaderboard is not ready or of a machine, it does not have the measure, a topic is unknown, a
            board is being computed, or there are no judges.
    """
    track = track_services.lock(leaderboard.track_id)
    measure = measure or leaderboard.measures[0]
    if problem := _problem(track, leaderboard, measure):
        raise judges_refused(problem, title="The judges are not compared")
    check_topics(track, topics)
    board = JudgeBoard.objects.create(
        track=track,
        leaderboard=leaderboard,
        measure=measure,
        topics=[*topics],
        missing=missing,
        seed=secrets.randbelow(10**9) if seed is None else seed,
        created_by=by,
    )
    title = f"Compare the judges of {track} with people"
    jobs.request_for(board, "judge_board_id", kind="judges.compare", title=title, by=by, subject=track)
    details = {"qrels": str(leaderboard.qrels), "measure": measure, "seed": board.seed}
    audit.record(action="judge-board.requested", subject=board, track=track, details=details, by=by)
    return board


def _problem(track: Track, leaderboard: Leaderboard, measure: str) -> str:
    if leaderboard.status != Leaderboard.Status.READY:
        return f"The leaderboard is {leaderboard.get_status_display()}. Choose one that is ready."
    if leaderboard.qrels.machine_id is not None:
        return "The leaderboard is scored against the grades of a machine. Choose one of people."
    if measure not in leaderboard.measures:
        return f"The leaderboard does not have {measure}. It has {', '.join(leaderboard.measures)}."
    if track.judge_boards.filter(status=JudgeBoard.Status.COMPARING).exists():
        return "The judges are already being compared. Wait until that has finished."
    if not track.judge_runs.filter(status=JudgeRun.Status.SUBMITTED).exists():
        return f"{track} has no judges yet."
    return ""


def _comparing_retried(*, judge_board_id: int) -> None:
    boards = JudgeBoard.objects.filter(pk=judge_board_id, status=JudgeBoard.Status.FAILED)
    boards.update(status=JudgeBoard.Status.COMPARING)


@jobs.handler(
    "judges.compare",
    failed=jobs.changing_status(
        JudgeBoard, "judge_board_id", JudgeBoard.Status.COMPARING, JudgeBoard.Status.FAILED
    ),
    retried=_comparing_retried,
    words=lambda _: "The judges are compared with people.",
)
def compare_judges(progress: jobs.Progress, *, judge_board_id: int) -> dict[str, Any]:
    """Compare every submitted judge with the truth. One transaction stores all results.

    Raises:
        LeaderboardRefused: The stored columns of a run cannot be read.
        ExtensionMissing: The measure needs an extension that is not installed.
        JobLost: Another worker has taken over the job.
    """
    board = JudgeBoard.objects.select_related("track__protocol", "leaderboard__qrels__track__protocol").get(
        pk=judge_board_id
    )
    left_out: list[dict[str, Any]] = []
    results = list(_results(board, progress, left_out))
    progress.update(1, 1, "storing")
    with progress.storing():
        board = JudgeBoard.objects.select_for_update(of=("self",)).get(pk=judge_board_id)
        # READY if an earlier attempt stored it, but was killed before it could report that
        if board.status != JudgeBoard.Status.READY:
            board.left_out, board.status = left_out, JudgeBoard.Status.READY
            board.save(update_fields=["left_out", "status"])
            JudgeResult.objects.bulk_create(
                JudgeResult(
                    board=board,
                    judge_run_id=result.judge,
                    source=result.source,
                    measure=result.measure[:100],
                    comparison=result.comparison
                    and plain(result.comparison) | {"is_constant": result.comparison.is_constant},
                    tables=plain(result.tables),
                )
                for result in results
            )
    return {"board": board.pk, "results": len(results)}


def _results(
    board: JudgeBoard, progress: jobs.Progress, left_out: list[dict[str, Any]]
) -> Iterator[boards.Result]:
    """Yield the results of each judge. What cannot be compared is added to `left_out` with the reason."""
    leaderboard, track, left = board.leaderboard, board.track, boards.Left()
    people = qrels_columns(leaderboard.qrels)
    people = people.keep_topics(board.topics) if board.topics else people
    submitted = track.judge_runs.filter(status=JudgeRun.Status.SUBMITTED).select_related("team")
    runs = {run.pk: run for run in submitted}
    codes = list(track.topics.values_list("code", flat=True))
    judges = [_read(run, people, codes) for run in runs.values()]
    evaluations = evaluated(leaderboard)

    def rankings() -> Iterator[tuple[str, Ranked]]:
        for n, evaluation in enumerate(evaluations):
            progress.update(n, len(evaluations), f"scoring {evaluation.run.tag}")
            yield evaluation.run.tag, ranking_of(evaluation.run, track)

    yield from boards.results(
        judges,
        _truth(board, people),
        rankings,
        partial(judged_documents, leaderboard.qrels),
        boards.options_of(board.missing, board.topics, board.seed),
        left,
        progress.update,
    )
    left_out += [
        {"judge": key, "team": runs[key].team.name, "tag": runs[key].tag, "reason": reason}
        for key, reason in left.rows
    ]


def names_of_runs(leaderboard: Leaderboard) -> dict[str, str]:
    """The tags of the runs of a leaderboard, by each name that judges may use: pseudonym, tag, and team with tag."""
    runs = [evaluation.run for evaluation in evaluated(leaderboard)]
    pseudonyms = {pseudonym: tag for tag, pseudonym in pseudonyms_of(leaderboard.track).items()}
    return pseudonyms | {str(run): run.tag for run in runs} | {run.tag: run.tag for run in runs}


def _read(run: JudgeRun, people: QrelsColumns, codes: Sequence[str]) -> boards.Judge:
    with run.file.open("rb") as file:
        files = files_of(cast("BinaryIO", file), run.file_name)
        return boards.read_judge(
            run.pk,
            run.tag,
            run.file_name,
            files,
            kind=run.kind,
            form=run.form,
            people=people,
            codes=codes,
        )


def _truth(board: JudgeBoard, people: QrelsColumns) -> boards.Truth:
    """The leaderboard, with the nuggets against which its answers were judged."""
    leaderboard = board.leaderboard
    tags = {evaluation.pk: evaluation.run.tag for evaluation in evaluated(leaderboard)}
    rows = Score.objects.filter(evaluation__leaderboard=leaderboard, measure=board.measure)
    values = rows.values_list("evaluation_id", "topic", "value")
    pool = leaderboard.qrels.pool
    return boards.Truth(
        scores=boards.truth_of(
            (ScoreRow(tags[pk], topic, board.measure, value) for pk, topic, value in values), board.measure
        ),
        qrels=people,
        measure=stored_measure(leaderboard, board.measure),
        average=cast(Average, leaderboard.average),
        level=leaderboard.relevant_from,
        grades=[grade.value for grade in board.track.protocol.parsed.judging.grades],
        names=names_of_runs(leaderboard),
        nuggets=frozen_nuggets(pool) if pool is not None and pool.nuggets else [],
    )
