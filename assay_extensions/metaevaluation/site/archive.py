"""Judges and their boards in archives of tracks: as records of the archive, and as rows again."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath

from assay.archive.parts import part_file
from assay.archive.records import as_json, as_line
from assay_extensions.metaevaluation.archive import (
    CALLS,
    JUDGES,
    NAME,
    BoardRecord,
    CallRecord,
    JudgeRecord,
    LeftOut,
    ResultRecord,
    board_file,
    boards_in,
    calls_in,
    judges_in,
)
from assay_extensions.metaevaluation.site.models import JudgeBoard, JudgeCall, JudgeResult, JudgeRun
from assay_extensions.metaevaluation.site.selectors import board_page
from jobs.files import storage
from publishing.archives.gathering import pieces_of
from publishing.archives.loading import Loading, Named
from publishing.archives.records import checked, record_of, row_of, save
from publishing.errors import load_refused
from publishing.models import Archive
from scoring.models import Leaderboard


def gather(archive: Archive, names: Mapping[int, str]) -> Iterator[tuple[str, Iterable[str | bytes]]]:
    track = archive.track
    calls = JudgeCall.objects.filter(track=track)
    yield CALLS, (as_line(record_of(CallRecord, call)) for call in calls)
    judges = list(JudgeRun.objects.filter(track=track).select_related("team").order_by("pk"))
    files = {judge.pk: _file(number, judge) for number, judge in enumerate(judges, 1)}
    yield (
        JUDGES,
        (
            as_line(record_of(JudgeRecord, judge, team=judge.team.name, file=files[judge.pk]))
            for judge in judges
        ),
    )
    for judge in judges:
        yield files[judge.pk], pieces_of(judge.file)
    numbers = {judge.pk: number for number, judge in enumerate(judges, 1)}
    scored = Leaderboard.objects.filter(track=track, status=Leaderboard.Status.READY).order_by("id")
    leaderboards = {pk: number for number, pk in enumerate(scored.values_list("pk", flat=True), 1)}
    boards = JudgeBoard.objects.filter(track=track, status=JudgeBoard.Status.READY).order_by("pk")
    for number, board in enumerate(boards, 1):
        record = record_of(
            BoardRecord,
            board,
            leaderboard=leaderboards[board.leaderboard_id],
            left_out=[LeftOut(numbers[row["judge"]], row["reason"]) for row in board.left_out],
            results=[
                record_of(ResultRecord, result, judge=numbers[result.judge_run_id])
                for result in board.results.order_by("pk")
            ],
        )
        yield board_file(number), [as_json(record)]


def _file(number: int, judge: JudgeRun) -> str:
    """The name in the archive; the ending helps readers, `JudgeRecord.file_name` has the whole name."""
    ending = PurePath(judge.file_name).suffix
    is_plain = ending[1:].isascii() and ending[1:].isalnum()
    return f"files/{number:03d}{ending if is_plain else ''}"


def load(loading: Loading) -> None:
    """Store what the track accepts, judges with their files, and boards, which are hidden until they are released.

    Raises:
        Refused: A value cannot be stored, or the page of a board cannot show it.
    """
    for call in calls_in(loading.contents):
        save(checked(row_of(JudgeCall, call, track=loading.track, created_by=loading.by), CALLS))
    judges = Named(
        (number, _judge(loading, record)) for number, record in judges_in(loading.contents).items()
    )
    storage.claim(*(str(judge.file) for judge in judges.values()))
    leaderboards = Named(enumerate(loading.track.leaderboards.order_by("pk"), 1))
    for number, record in boards_in(loading.contents).items():
        name, left_out = board_file(number), [(judges[row.judge], row.reason) for row in record.left_out]
        board = row_of(
            JudgeBoard,
            record,
            track=loading.track,
            leaderboard=leaderboards[record.leaderboard],
            status=JudgeBoard.Status.READY,
            left_out=[
                {"judge": judge.pk, "team": judge.team.name, "tag": judge.tag, "reason": reason}
                for judge, reason in left_out
            ],
            job=None,
            created_by=loading.by,
        )
        save(checked(board, name))
        for result in record.results:
            save(checked(row_of(JudgeResult, result, board=board, judge_run=judges[result.judge]), name))
        try:
            page = board_page(loading.by, board)
            for row in page.results:
                _ = row.labeled, row.agreement
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise load_refused(f"{name}: it cannot be shown ({error!r}).") from None


def _judge(loading: Loading, record: JudgeRecord) -> JudgeRun:
    is_withdrawn = record.status == JudgeRun.Status.WITHDRAWN
    judge = row_of(
        JudgeRun,
        record,
        track=loading.track,
        team=loading.teams[record.team],
        file=loading.part_files[part_file(NAME, record.file)],
        withdrawn_at=record.withdrawn_at or record.submitted_at if is_withdrawn else None,
        submitted_by=loading.by,
        withdrawn_by=loading.by if is_withdrawn else None,
    )
    return save(checked(judge, JUDGES))
