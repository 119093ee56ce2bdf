"""Judges and their boards in archives of tracks, and their check: boards are computed again from the judges' files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.archive.contents import Contents
from assay.archive.files import refusing
from assay.archive.parts import part_file
from assay.archive.records import LeaderboardRecord, TeamFile, parsed
from assay.archive.verify import Finding, differences, few
from assay.errors import InputError, plural
from assay.formats.runs.columns import Ranked
from assay.measures.scores import ScoreRow
from assay.nuggets.lists import NuggetList
from assay.protocols.measures import parse_measure
from assay.tables import plain
from assay_extensions.metaevaluation import boards
from assay_extensions.metaevaluation.judgments import files_of

NAME = "metaevaluation"  # of the part
CALLS, JUDGES = "call.jsonl", "judges.jsonl"


@dataclass(frozen=True)
class CallRecord:
    """The conditions under which the track accepts judges."""

    closes_at: str
    zone: str
    max_per_team: int
    topics: list[str]
    created_at: str


@dataclass(frozen=True)
class JudgeRecord(TeamFile):
    """A judge."""

    tag: str
    description: str
    status: str
    n_bytes: int
    kind: str
    parts: list[Any]
    submitted_at: str
    withdrawn_at: str = ""
    form: str = ""


@dataclass(frozen=True)
class LeftOut:
    """A judge that could not be compared, by its number."""

    judge: int
    reason: str


@dataclass(frozen=True)
class ResultRecord:
    """A judge on a board, by its number."""

    judge: int
    source: str
    measure: str
    comparison: dict[str, Any] | None
    tables: list[Any]


@dataclass(frozen=True)
class BoardRecord:
    """A board of judges against a leaderboard of the archive, by its number."""

    leaderboard: int
    measure: str
    topics: list[str]
    missing: str
    seed: int
    created_at: str
    left_out: list[LeftOut] = field(default_factory=list)
    results: list[ResultRecord] = field(default_factory=list)


def board_file(number: int) -> str:
    return f"boards/{number:03d}.json"


def judges_in(contents: Contents) -> dict[int, JudgeRecord]:
    """By number."""
    return dict(enumerate(contents.part_rows(NAME, JUDGES, JudgeRecord), 1))


def calls_in(contents: Contents) -> Iterator[CallRecord]:
    return contents.part_rows(NAME, CALLS, CallRecord)


def boards_in(contents: Contents) -> dict[int, BoardRecord]:
    """By number.

    Raises:
        BadArchive: One is not of this form.
    """
    records, number = {}, 1
    while (path := part_file(NAME, board_file(number))) in contents.reader.names:
        records[number] = parsed(BoardRecord, contents.reader.read(path), path)
        number += 1
    return records


def verify(contents: Contents) -> Iterator[Finding]:
    """Check the files of judges, and compare the judges of each board with people again."""
    judges = judges_in(contents)
    if not judges:
        return
    yield Finding("judges", plural(len(judges), "judge"), few(_wrong_judges(contents, judges)))
    for number, board in boards_in(contents).items():
        yield _checked(contents, number, board, judges)


def _wrong_judges(contents: Contents, judges: Mapping[int, JudgeRecord]) -> Iterator[str]:
    for number, judge in judges.items():
        place = f"{part_file(NAME, JUDGES)}, line {number}"
        if judge.team not in contents.index.teams:
            yield f"{place}: no team {judge.team[:80]}"
        if contents.reader.sums.get(part_file(NAME, judge.file)) != judge.sha256:
            yield f"{place}: {judge.file[:80]} does not have this digest"


def _checked(
    contents: Contents, number: int, board: BoardRecord, judges: Mapping[int, JudgeRecord]
) -> Finding:
    part, place = f"board of judges {number}", part_file(NAME, board_file(number))
    leaderboards = {record.number: record for record in contents.index.leaderboards}
    leaderboard, numbers = leaderboards.get(board.leaderboard), {result.judge for result in board.results}
    numbers |= {row.judge for row in board.left_out}
    if leaderboard is None or board.measure not in leaderboard.measures or not numbers <= judges.keys():
        return Finding(part, "not computed again", f"{place}: no such leaderboard, measure or judge")
    left = boards.Left()
    with refusing(place, InputError):
        read = {key: _read(contents, key, judges[key], board, leaderboard) for key in sorted(numbers)}
        again = {
            (result.judge, result.source, result.measure[:100]): result
            for result in _results(contents, board, leaderboard, read, left)
        }
    names = {*_names(contents, leaderboard)}
    unknown = {
        (key, scores.measure[:100])
        for key, judge in read.items()
        for scores in judge.scores
        if not names.issuperset(scores.runs)
    }
    problems, n_again, n_unknown = [], 0, 0
    for stored in board.results:
        if stored.source == "scores" and (stored.judge, stored.measure) in unknown:
            n_unknown += 1
            continue
        n_again += 1
        where = f"{place}: {judges[stored.judge].tag[:80]} ({stored.measure[:80]})"
        result = again.get((stored.judge, stored.source, stored.measure))
        if result is None:
            problems.append(f"{where} could not be computed again")
            continue
        compared = result.comparison
        of_order = None if compared is None else plain(compared) | {"is_constant": compared.is_constant}
        problems += [
            f"{where}: {difference}"
            for difference in differences(
                {"comparison": _as_read(stored.comparison), "tables": stored.tables},
                {"comparison": _as_read(of_order), "tables": plain(result.tables)},
            )
        ]
    content = f"{plural(n_again, 'result')} computed again from the files of judges"
    content += (
        f"; {n_unknown:,} not, whose runs have names that the archive does not know" if n_unknown else ""
    )
    return Finding(part, content, few(problems))


def _as_read(comparison: dict[str, Any] | None) -> dict[str, Any] | None:
    """A comparison with texts as keys, as JSON has them."""
    if comparison is None:
        return None
    return comparison | {"overlaps": {str(k): n for k, n in comparison.get("overlaps", {}).items()}}


def _names(contents: Contents, leaderboard: LeaderboardRecord) -> dict[str, str]:
    """The tags of the runs of a leaderboard, by the names that judges may use; pseudonyms are not in archives."""
    runs = [contents.runs[evaluation.run] for evaluation in leaderboard.evaluations]
    return {f"{run.team}-{run.tag}": run.tag for run in runs} | {run.tag: run.tag for run in runs}


def _read(
    contents: Contents, key: int, judge: JudgeRecord, board: BoardRecord, leaderboard: LeaderboardRecord
) -> boards.Judge:
    people = contents.qrels_columns(contents.qrels[leaderboard.qrels])
    people = people.keep_topics(board.topics) if board.topics else people
    codes = [topic.code for topic in contents.topics]
    with contents.reader.opened(part_file(NAME, judge.file)) as file:
        files = files_of(file, judge.file_name)
        return boards.read_judge(
            key,
            judge.tag,
            judge.file_name,
            files,
            kind=judge.kind,
            form=judge.form,
            people=people,
            codes=codes,
        )


def _results(
    contents: Contents,
    board: BoardRecord,
    leaderboard: LeaderboardRecord,
    judges: Mapping[int, boards.Judge],
    left: boards.Left,
) -> Iterator[boards.Result]:
    qrels = contents.qrels[leaderboard.qrels]
    people = contents.qrels_columns(qrels)
    pool = None if qrels.pool is None else contents.pools[qrels.pool]
    stored = contents.stored_scores(leaderboard).items()
    tags = {run.number: run.tag for run in contents.index.runs}
    protocol = contents.protocol(contents.index.track.protocol)
    truth = boards.Truth(
        scores=boards.truth_of(
            (ScoreRow(tags[run], topic, measure, value) for (run, topic, measure), value in stored),
            board.measure,
        ),
        qrels=people.keep_topics(board.topics) if board.topics else people,
        measure=parse_measure(board.measure),
        average=leaderboard.average,
        level=protocol.scoring.level_of(qrels.report),
        grades=[grade.value for grade in protocol.judging.grades],
        names=_names(contents, leaderboard),
        nuggets=[
            NuggetList(code, nuggets=tuple(nuggets)) for code, nuggets in contents.nuggets_of(pool).items()
        ]
        if pool is not None
        else [],
    )

    def rankings() -> Iterator[tuple[str, Ranked]]:
        for evaluation in leaderboard.evaluations:
            yield tags[evaluation.run], contents.ranking(evaluation.run, leaderboard)

    yield from boards.results(
        [*judges.values()],
        truth,
        rankings,
        contents.judged_by(leaderboard, qrels),
        boards.options_of(board.missing, board.topics, board.seed),
        left,
    )
