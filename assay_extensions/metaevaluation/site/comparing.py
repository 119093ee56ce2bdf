"""Compare the judges of a track with a leaderboard of people: an organizer requests a board, a job computes it."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, BinaryIO, NamedTuple, cast

from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import InputError, Refused
from assay.formats.qrels.columns import QrelsColumns, columns_from
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import ScoreRow, score_hits
from assay.protocols.measures import Measure
from assay.protocols.schema import Average
from assay.tables import Table, plain
from assay_extensions.metaevaluation import qrels as agreement
from assay_extensions.metaevaluation.comparison import Comparison, Missing, compare
from assay_extensions.metaevaluation.judgments import SCORED, files_of, kind_of, read_judged
from assay_extensions.metaevaluation.scores import Scores, read_scores, scores_of
from assay_extensions.metaevaluation.site.models import JudgeBoard, JudgeResult, JudgeRun
from assay_extensions.metaevaluation.site.services import check_topics, judges_refused, pseudonyms_of
from jobs import services as jobs
from scoring.evaluations.stored_runs import judged_documents, ranking_of
from scoring.models import Leaderboard, Score
from scoring.qrels.selectors import qrels_columns
from scoring.selectors import stored_measure
from scoring.stored_analyses import evaluated
from tracks.models import Track
from tracks.tracks import services as track_services

Names = Mapping[str, str]  # of a run in the files of judges -> its tag


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


class _Judge(NamedTuple):
    """The judgments of a judge that can be compared: its qrels, if it has them, and its scores by measure."""

    run: JudgeRun
    qrels: QrelsColumns | None
    scores: list[Scores]


class _Result(NamedTuple):
    judge: JudgeRun
    source: str
    measure: str
    comparison: Comparison | None
    tables: list[Table]


@jobs.handler(
    "judges.compare",
    failed=jobs.changing_status(
        JudgeBoard, "judge_board_id", JudgeBoard.Status.COMPARING, JudgeBoard.Status.FAILED
    ),
    retried=_comparing_retried,
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
                    judge_run=result.judge,
                    source=result.source,
                    measure=result.measure[:100],
                    comparison=result.comparison
                    and plain(result.comparison) | {"is_constant": result.comparison.is_constant},
                    tables=plain(result.tables),
                )
                for result in results
            )
    return {"board": board.pk, "results": len(results)}


def _results(board: JudgeBoard, progress: jobs.Progress, left_out: list[dict[str, Any]]) -> Iterator[_Result]:
    """Yield the results of each judge. What cannot be compared is added to `left_out` with the reason."""
    leaderboard = board.leaderboard
    people = qrels_columns(leaderboard.qrels)
    people = people.keep_topics(board.topics) if board.topics else people
    names = names_of_runs(leaderboard)
    judges = list(_read(board.track, people, left_out))
    truth = _truth(board)
    scored = _scored(board, judges, progress, left_out)
    level = leaderboard.relevant_from
    grades = [grade.value for grade in board.track.protocol.parsed.judging.grades]
    for n, judge in enumerate(judges):
        progress.update(n, len(judges), f"comparing {judge.run.tag}")
        tables: list[Table] = []
        if judge.qrels is not None:
            with _leaving_out(judge.run, left_out):
                tables = agreement.tables(people, judge.qrels, level=level, grades=grades)
        if tables and not scored[judge.run.pk]:
            yield _Result(judge.run, "qrels", board.measure, None, tables)
        own = [(scores, "qrels") for scores in scored[judge.run.pk]]
        for scores, source in [
            *own,
            *((_renamed(scores, names, truth), "scores") for scores in judge.scores),
        ]:
            with _leaving_out(judge.run, left_out):
                compared = compare(
                    truth,
                    scores,
                    missing=cast("Missing", board.missing),
                    topics=board.topics or None,
                    seed=board.seed,
                )
                yield _Result(
                    judge.run, source, scores.measure, compared, tables if source == "qrels" else []
                )


def _left(judge: JudgeRun, reason: str) -> dict[str, Any]:
    return {"judge": judge.pk, "team": judge.team.name, "tag": judge.tag, "reason": reason}


def names_of_runs(leaderboard: Leaderboard) -> dict[str, str]:
    """The tags of the runs of a leaderboard, by each name that judges may use: pseudonym, tag, and team with tag."""
    runs = [evaluation.run for evaluation in evaluated(leaderboard)]
    pseudonyms = {pseudonym: tag for tag, pseudonym in pseudonyms_of(leaderboard.track).items()}
    return pseudonyms | {str(run): run.tag for run in runs} | {run.tag: run.tag for run in runs}


def _read(track: Track, people: QrelsColumns, left_out: list[dict[str, Any]]) -> Iterator[_Judge]:
    """Read the files of the submitted judges."""
    submitted = track.judge_runs.filter(status=JudgeRun.Status.SUBMITTED).select_related("team")
    topics = set(people.topics.tolist())
    codes = list(track.topics.values_list("code", flat=True))
    for run in submitted:
        qrels, scores = None, list[Scores]()
        with run.file.open("rb") as file:
            files = [*files_of(cast("BinaryIO", file), run.file_name)]
        for name, data in files:
            kind = run.kind or kind_of(name)
            if kind == "qrels":
                rows, _ = read_judged(data, name)
                kept = (
                    (row.topic.encode(), row.docno.encode(), row.grade) for row in rows if row.topic in topics
                )
                qrels = columns_from(kept)
            elif kind == "scores":
                scores = read_scores(data, name, topics=codes)
        if qrels is None and not scores:
            left_out.append(_left(run, f"has only {SCORED['nuggets']}, which are kept and not compared"))
            continue
        yield _Judge(run, qrels, scores)


def _truth(board: JudgeBoard) -> Scores:
    """The scores of people."""
    tags = {evaluation.pk: evaluation.run.tag for evaluation in evaluated(board.leaderboard)}
    rows = Score.objects.filter(evaluation__leaderboard=board.leaderboard, measure=board.measure)
    values = rows.values_list("evaluation_id", "topic", "value")
    scored = (ScoreRow(tags[pk], topic, board.measure, value) for pk, topic, value in values)
    return next(iter(scores_of(scored, "the leaderboard")), Scores("the leaderboard", board.measure, {}, {}))


def _scored(
    board: JudgeBoard, judges: Sequence[_Judge], progress: jobs.Progress, left_out: list[dict[str, Any]]
) -> dict[int, list[Scores]]:
    """The scores of the runs of the leaderboard by the qrels of each judge: by its id, none without qrels."""
    leaderboard, average = board.leaderboard, cast(Average, board.leaderboard.average)
    measure: Measure = stored_measure(leaderboard, board.measure)
    judged: dict[JudgeRun, JudgedDocuments] = {}
    rows: dict[int, list[ScoreRow]] = {judge.run.pk: [] for judge in judges}
    for judge in judges:
        if judge.qrels is not None and len(judge.qrels.topics):
            with _leaving_out(judge.run, left_out):
                judged[judge.run] = judged_documents(leaderboard.qrels, judge.qrels)
    evaluations = evaluated(leaderboard) if judged else []
    for n, evaluation in enumerate(evaluations):
        progress.update(n, len(evaluations), f"scoring {evaluation.run.tag}")
        ranking = ranking_of(evaluation.run, board.track)
        for run, documents in [*judged.items()]:
            with _leaving_out(run, left_out, judged):
                scores = score_hits(documents.hits(ranking), documents, [measure])
                own = scores.rows(documents, [measure], average, per_topic=True, run=evaluation.run.tag)
                rows[run.pk] += own
    return {
        judge.run.pk: scores_of(rows[judge.run.pk] if judge.run in judged else [], judge.run.file_name)
        for judge in judges
    }


@contextmanager
def _leaving_out(
    judge: JudgeRun, left_out: list[dict[str, Any]], judged: dict[JudgeRun, JudgedDocuments] | None = None
) -> Iterator[None]:
    """Leave the qrels of a judge out if they cannot be used, with the reason."""
    try:
        yield
    except (Refused, InputError) as error:
        left_out.append(_left(judge, str(error)))
        if judged is not None:
            del judged[judge]


def _renamed(scores: Scores, names: Names, truth: Scores) -> Scores:
    """The scores of the runs of the truth, by their tags. Other runs of the track may be in them, too."""
    known = {*truth.runs}
    tags = {run: tag for run in scores.runs if (tag := names.get(run, run)) in known}
    return replace(
        scores,
        means={tags[run]: value for run, value in scores.means.items() if run in tags},
        by_topic={tags[run]: values for run, values in scores.by_topic.items() if run in tags},
    )
