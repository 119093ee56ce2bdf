"""Checks an archive without a database: its files, and whether its pools and scores can be computed again.

Decision: ADR 35.
"""

import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from assay.answers import NuggetUnit, unit_of
from assay.archive.contents import Contents, Reader
from assay.archive.derived import is_derived
from assay.archive.files import CHECKSUMS, Advance, BadArchive, nothing, refusing
from assay.archive.forms import check_intervals, check_qrels_report, check_run_report
from assay.archive.parts import ANALYSES, ARCHIVE_PARTS, EXTENSIONS, TRACK_PARTS
from assay.archive.records import (
    FORMAT,
    JUDGMENTS,
    EvaluationRecord,
    LeaderboardRecord,
    PhaseRecord,
    PoolRecord,
    QrelsRecord,
    SessionRecord,
)
from assay.digests import sha256_of
from assay.errors import plural
from assay.formats.judgments.reader import JudgmentsError, open_judgments
from assay.formats.judgments.rows import JudgmentRow
from assay.formats.qrels.columns import documents, rows_of
from assay.formats.qrels.reader import QrelsColumns, format_qrels
from assay.formats.reports import file_facts
from assay.formats.topics.subtopics import labels_of
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import RunScores
from assay.pools.files import contributions_digest, member_contributions_tsv, members_digest, pool_digest
from assay.protocols.measures import parse_measures
from assay.protocols.qrels import is_of_subtopics
from assay.qrels.freezing import ALWAYS, Unit, Vote
from assay.qrels.sets import grade_in_set, part_of, subtopics_of, votes_on_subtopics
from assay.statistics.leaderboard import counted, leaderboard_statistics, stored_method
from assay.statistics.significance import above_diagonal

LONGEST = 1e9  # seconds of a session under a protocol without interaction
SHOWN = 5  # examples in a message
SHORT = 60  # characters of a value in a message
SCORES_HEADER = "run\ttopic\tmeasure\tvalue\n"
TOLERANCE = 1e-9  # of scores; logarithms differ by less between processors


@dataclass(frozen=True)
class Finding:
    """The result of a check: the part that was checked, and what it contains. `problem` is empty if it is right."""

    part: str
    content: str
    problem: str = ""

    @property
    def is_right(self) -> bool:
        return not self.problem


def verify(reader: Reader, *, advance: Advance = nothing) -> Iterator[Finding]:
    """Check an archive part by part. `advance` is called while the files are read for the first time.

    Raises:
        BadArchive: Something cannot be read, so the parts that depend on it cannot be checked.
    """
    index = reader.index
    if index.format > FORMAT:
        raise BadArchive(
            f"{reader.name} has format {index.format}, made by Assay {index.assay}; this version reads up to {FORMAT}."
        )
    n_files, problems = len(reader.names - {CHECKSUMS}), reader.problems(advance)
    yield Finding("files", f"{plural(n_files, 'file')}, {plural(reader.n_bytes, 'byte')}", few(problems))
    contents = Contents(reader)
    yield Finding("protocols", ", ".join(sorted(contents.protocols)))
    n_topics = len(contents.topics)
    problem = "" if n_topics == index.n_topics else f"the index says {index.n_topics:,}"
    yield Finding("topics", f"{n_topics:,}", problem)
    yield _runs(contents)
    if index.sessions or index.session_data:
        n_held = sum(session.seconds is not None for session in index.sessions)
        held = f"{len(index.sessions):,} nominated, {n_held:,} held"
        content = f"{held}, files of data: {len(index.session_data):,}"
        yield Finding("sessions", content, few(session_problems(contents)))
    if index.team_documents:
        problem = few(document_problems(contents))
        yield Finding("documents of teams", f"{len(index.team_documents):,}", problem)
    if index.n_nugget_lists:
        yield _nuggets(contents)
    for pool in index.pools:
        yield _pool(contents, pool)
    with reader.opened(JUDGMENTS) as file:
        try:
            judgments = list(open_judgments(file, JUDGMENTS).rows) if file.seek(0, 2) else []
        except JudgmentsError as error:
            raise BadArchive(f"{error}.") from None
    yield _check_judgments(contents, judgments)
    yield from _qrels(contents, judgments)
    del judgments
    for board in index.leaderboards:
        yield _leaderboard(contents, board)
        yield from _analyses(contents, board)
    for phase in index.phases:
        yield _phase(contents, phase)
    yield from _track_parts(contents)


def few(problems: Iterable[str]) -> str:
    problems = list(problems)
    more = f"; and {len(problems) - SHOWN:,} more" if len(problems) > SHOWN else ""
    return "; ".join(problems[:SHOWN]) + more


def _runs(contents: Contents) -> Finding:
    problems = []
    for run in contents.index.runs:
        check_run_report(run)
        report = contents.checked(run).report
        if report.errors:
            problems.append(f"{run.file} ({run.tag}): {report.errors[0]}")
        elif file_facts(report) != file_facts(run):
            problems.append(f"{run.file} ({run.tag}): not the run of the index")
    return Finding("runs", f"{len(contents.index.runs):,}", few(problems))


def session_problems(contents: Contents) -> Iterator[str]:
    index = contents.index
    teams, topics = set(index.teams), {topic.code for topic in contents.topics}
    people = {assessor.name for assessor in index.assessors}
    rules = contents.protocol(index.track.protocol).interaction
    limit = LONGEST if rules is None else rules.seconds_per_topic
    for session in index.sessions:
        for problem in _problems(session, teams, topics, people, limit):
            yield f"{session.team[:80]}, topic {session.topic[:80]}: {problem}"
    for name in ("topic", "place"):
        pairs = Counter((session.team, str(getattr(session, name))) for session in index.sessions)
        for (team, repeated), n in pairs.items():
            if n > 1:
                yield f"{team[:80]} has the {name} {repeated[:80]} {n} times"
    for team, n in Counter(record.team for record in index.session_data).items():
        if team not in teams:
            yield f"data of {team[:80]}: no such team"
        if n > 1:
            yield f"data of {team[:80]}: {n} files"
    for record in index.session_data:
        if contents.reader.sums.get(record.file) != record.sha256:
            yield f"{record.file[:80]} does not have the digest of the index"


def document_problems(contents: Contents) -> Iterator[str]:
    """Faults of the documents of teams."""
    index = contents.index
    teams = set(index.teams)
    for (team, word), n in Counter(
        (document.team, document.word) for document in index.team_documents
    ).items():
        if word and n > 1:
            yield f"{word[:80]} of {team[:80]}: {n} files"
    for record in index.team_documents:
        if record.team not in teams:
            yield f"{record.file[:80]} of {record.team[:80]}: no such team"
        if contents.reader.sums.get(record.file) != record.sha256:
            yield f"{record.file[:80]} does not have the digest of the index"
            continue
        with contents.reader.opened(record.file) as file:
            if file.read(5) != b"%PDF-":
                yield f"{record.file[:80]} is not a PDF"


def _problems(
    session: SessionRecord, teams: set[str], topics: set[str], people: set[str], limit: float
) -> Iterator[str]:
    if session.team not in teams:
        yield "no such team"
    if session.topic not in topics:
        yield "no such topic"
    if session.place < 1:
        yield f"the place {session.place} is below 1"
    if session.seconds is not None and not 0 <= session.seconds <= limit:
        yield f"{session.seconds:g} seconds, of at most {limit:g}"
    if session.assessor and session.assessor not in people:
        yield f"no assessor {session.assessor[:80]}"
    if session.assessor and not session.started_at:
        yield "an assessor, but no start"


def _nuggets(contents: Contents) -> Finding:
    """Every frozen list is of a topic, and has each nugget once."""
    codes, n = {topic.code for topic in contents.topics}, contents.index.n_nugget_lists
    lists = contents.nugget_lists
    problems = [] if len(lists) == n else [f"the index says {plural(n, 'list')}"]
    for (code, version), record in lists.items():
        if code not in codes:
            problems.append(f"no topic {code[:80]}")
        if len({nugget.key for nugget in record.nuggets}) < len(record.nuggets):
            problems.append(f"version {version} of topic {code[:80]} has a nugget twice")
        if not all(nugget.importance for nugget in record.nuggets):
            problems.append(
                f"version {version} of topic {code[:80]} has a nugget that is neither vital nor okay"
            )
    n_nuggets = sum(len(record.nuggets) for record in lists.values())
    return Finding("nuggets", f"{n_nuggets:,} in {plural(len(lists), 'frozen list')}", few(problems))


def _pool(contents: Contents, pool: PoolRecord) -> Finding:
    """Build a pool again and compare all of its files."""
    built, inputs = contents.built(pool), contents.inputs(pool)
    files = {"pool.tsv": pool_digest(built), "contributions.tsv": contributions_digest(built, inputs)}
    if pool.has_members:
        files["members.tsv"] = members_digest(built)
        files["member-contributions.tsv"] = sha256_of(member_contributions_tsv(built, inputs))
    problems = [
        f"{pool.file(name)} is not what the runs give"
        for name, digest in files.items()
        if contents.reader.sums.get(pool.file(name)) != digest
    ]
    if files["pool.tsv"] != pool.sha256:
        problems.append("its digest is not that of the index")
    size = f"{plural(len(built.units), 'unit')} from {plural(len(pool.runs), 'run')}"
    content = f"{size}, built again with seed {pool.seed}"
    return Finding(f"pool “{pool.name}”", content, few(problems))


def _check_judgments(contents: Contents, rows: list[JudgmentRow]) -> Finding:
    """Every judgment is about a unit of its pool, by an assessor of the archive, and one of those asked for."""
    names = {assessor.name for assessor in contents.index.assessors}
    units = {}
    for pool in contents.index.pools:
        judged = {(topic, docno) for topic, docno, _ in contents.rows(pool.file("pool.tsv"), 3)}
        if pool.has_members:
            judged |= {(topic, docno) for topic, _, docno, *_ in contents.rows(pool.file("members.tsv"), 6)}
        units[pool.name] = judged
    n = contents.index.n_judgments
    problems = [] if len(rows) == n else [f"the index says {n:,}"]
    most = {(batch.pool, batch.name): batch.judges for batch in contents.index.batches}
    for row in rows:
        place = f"{JUDGMENTS}, line {row.line}"
        if row.assessor not in names:
            problems.append(f"{place}: no assessor {row.assessor}")
        if (row.topic, row.docno) not in units.get(row.pool, ()):
            problems.append(f"{place}: {row.topic} {row.docno} is not in the pool “{row.pool}”")
        if (row.seat or 0) > (most.get((row.pool, row.batch)) or row.seat or 0):
            problems.append(
                f"{place}: judge {row.seat} of a unit, but the index says {most[row.pool, row.batch]}"
            )
    content = f"{len(rows):,} by {plural(len({row.assessor for row in rows}), 'assessor')}"
    return Finding("judgments", content, few(problems))


def _qrels(contents: Contents, judgments: list[JudgmentRow]) -> Iterator[Finding]:
    for qrels in contents.index.qrels:
        check_qrels_report(contents, qrels)
        columns = contents.qrels_columns(qrels)
        problems = []
        if sha256_of(format_qrels(columns)) != qrels.sha256:
            problems.append("its digest is not that of the index")
        if qrels.source == "frozen" and "preferences" in qrels.report:
            if not is_derived(contents, qrels, judgments):
                problems.append("the preferences give other grades")
        elif qrels.source == "frozen" and "known_items" not in qrels.report:
            problems += _wrong_grades(contents, qrels, judgments, columns)
        left_out = {row.get("topic") for row in qrels.report.get("left_out_topics", ())}
        if wrong := sorted(left_out & set(columns.topics.tolist())):
            problems.append(f"the topics {', '.join(wrong)} have grades, and are said to be left out")
        content = f"{plural(len(columns.topics), 'topic')}, {plural(len(columns.grade), 'unit')}"
        yield Finding(f"qrels version {qrels.version}", content, few(problems))


def _wrong_grades(
    contents: Contents, qrels: QrelsRecord, judgments: list[JudgmentRow], columns: QrelsColumns
) -> Iterator[str]:
    """The units whose grades are not those of the judgments, and those that are left out."""
    judged, given = _grades(contents, qrels, judgments), contents.given_grades(qrels)
    units = set()
    for unit, grade in _units(columns):
        units.add(unit)
        if grade >= 0 and grade not in judged.get(unit, ()) and given.get(unit) != grade:
            reason = "its judgments give another" if unit in judged else "nobody judged it"
            yield f"{unit.topic} {unit.docno} has grade {grade}, and {reason}"
    for unit in _left_out(contents, qrels, judgments, units):
        yield f"{unit.topic} {unit.docno} is left out, and its judgments give a grade"


def _units(columns: QrelsColumns) -> Iterator[tuple[Unit, int]]:
    """The units with their grades; subtopics are units of their own."""
    if columns.kind == "subtopics":
        for row in rows_of(columns):
            unit = Unit(row.topic.decode(), row.docno.decode())
            yield part_of(unit, row.parts[0].decode()), row.grade
        return
    for (topic, docno), grade in zip(documents(columns), columns.grade.tolist(), strict=True):
        yield Unit(topic.decode(), docno.decode()), grade


def _left_out(
    contents: Contents, qrels: QrelsRecord, judgments: list[JudgmentRow], units: Set[Unit]
) -> Iterator[Unit]:
    """The units that people graded when the version was made, and that it does not have.

    Only what is certain: the topic has a grade by the same assessor, so that it was assigned then, and nobody gave a
    non-answer. Sums of several judges, judgments of members, groups, sets and machines are not examined, and neither
    are nuggets that the list of the topic no longer has.
    """
    if (
        qrels.machine
        or {"part_of", "set"} & qrels.report.keys()
        or contents.protocol(qrels.protocol).qrels.aggregate == "sum"
    ):
        return
    chain = [] if qrels.pool is None else contents.chain(contents.pools[qrels.pool])
    pools, made = {pool.name for pool in chain}, _created_at(qrels)
    lists = contents.nuggets_of(chain[0]) if chain else {}
    nuggets = {(topic, nugget.key) for topic, of_topic in lists.items() for nugget in of_topic}
    of_units: defaultdict[Unit, list[JudgmentRow]] = defaultdict(list)
    for row in judgments:
        is_kept = not (row.is_check or row.is_withdrawn) and row.unit in {"", row.docno}
        judged = unit_of(row.docno) if lists else None
        if isinstance(judged, NuggetUnit) and (row.topic, judged.nugget) not in nuggets:
            continue
        if is_kept and row.pool in pools and row.kind in ALWAYS:
            of_units[Unit(row.topic, row.docno)].append(row)
    graded_already = {(row.topic, row.assessor) for unit in of_units.keys() & units for row in of_units[unit]}
    for unit, rows in of_units.items():
        is_graded = all(row.grade is not None and row.judged_at and row.judged_at < made for row in rows)
        if (
            unit not in units
            and is_graded
            and any((row.topic, row.assessor) in graded_already for row in rows)
        ):
            yield unit


def _created_at(qrels: QrelsRecord) -> datetime:
    with refusing(f"The time of the qrels version {qrels.version}", ValueError):
        made = datetime.fromisoformat(qrels.created_at)
        if made.tzinfo is None:
            raise ValueError(f"{qrels.created_at} is not a time with a zone")
        return made


def _grades(contents: Contents, qrels: QrelsRecord, judgments: list[JudgmentRow]) -> dict[Unit, set[int]]:
    """The grades that the judgments of each unit can give, by the rule of the protocol.

    A judgment that was replaced before the version was made gives none. Which judges count for a unit can depend on
    assignments that have changed since, so each of them may.
    """
    made = _created_at(qrels)
    replaced = {row.replaces for row in judgments if row.judged_at is None or row.judged_at <= made}
    protocol = contents.protocol(qrels.protocol)
    grades_of = _grades_in(contents, qrels)
    by_judge: defaultdict[Unit, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for row in judgments:
        if row.is_check or (row.number is not None and row.number in replaced):
            continue
        for docno in {row.docno, row.unit} - {""}:
            for number, grade in grades_of(row).items():
                unit = Unit(row.topic, docno)
                grades = by_judge[part_of(unit, number) if number else unit][row.assessor]
                grades.update(() if grade is None else {grade})
    of_set = protocol.qrels.set_of(qrels.report.get("set", ""))
    aggregate = (
        of_set.aggregate if of_set else "single" if "group" in qrels.report else protocol.qrels.aggregate
    )
    if aggregate == "mean":  # any grade between the judgments
        every = {unit: set().union(*of_unit.values()) for unit, of_unit in by_judge.items()}
        return {unit: set(range(min(all_), max(all_) + 1)) for unit, all_ in every.items() if all_}
    n_judges = protocol.judging.judges if aggregate == "sum" else 1
    return {unit: _sums(list(of_unit.values()), n_judges) for unit, of_unit in by_judge.items()}


def _grades_in(contents: Contents, qrels: QrelsRecord) -> Callable[[JudgmentRow], Mapping[str, int | None]]:
    """The grade of a judgment in a version, which can be that of a set of qrels; None if it has none.

    In a set with subtopics, the grade of each by its number; otherwise the number is empty.
    """
    protocol = contents.protocol(qrels.protocol)
    rules = protocol.qrels.set_of(qrels.report.get("set", ""))
    if rules is None:
        return lambda row: {"": row.grade}
    labels = {topic.code: topic.labels for topic in contents.topics}
    numbers = subtopics_of(
        protocol, rules, {topic.code: [*labels_of(topic.subtopics)] for topic in contents.topics}
    )

    def grades(row: JudgmentRow) -> Mapping[str, int | None]:
        vote, of_topic = Vote(row.kind, True, row.assessor, row.choice, row.grade), labels.get(row.topic, {})
        if is_of_subtopics(protocol, rules):
            votes = votes_on_subtopics(rules, vote, row.answers, of_topic, numbers(row.topic))
            return {number: vote.grade for number, vote in votes.items()}
        graded = grade_in_set(rules, protocol, vote, row.answers, of_topic)
        return {"": None if graded is None else graded.grade}

    return grades


def _sums(grades: list[set[int]], n_judges: int) -> set[int]:
    """The sums of the grades of so many judges, each with one grade of a set."""
    if n_judges > len(grades):
        return set()
    sums: list[set[int]] = [{0}, *(set() for _ in range(n_judges))]
    for of_judge in grades:
        for n in range(n_judges, 0, -1):
            sums[n] |= {total + grade for total in sums[n - 1] for grade in of_judge}
    return sums[n_judges]


def _scored_again(
    contents: Contents,
    board: LeaderboardRecord | PhaseRecord,
    judged: JudgedDocuments,
    scores: dict[int, RunScores],
) -> tuple[int, list[str]]:
    """The number of scores that were computed again, and where they differ from those that are stored."""
    measures = parse_measures(board.measures)
    again = {
        (run, row.topic, row.measure): row.value
        for run, of_run in scores.items()
        for row in of_run.rows(judged, measures, board.average, per_topic=True)
    }
    stored = contents.stored_scores(board)
    if stored.keys() != again.keys():
        return len(again), [
            f"{plural(len(stored), 'score')}, and {len(again):,} computed again: not of the same runs and topics"
        ]
    problems: list[str] = []
    for (run, topic, measure), value in stored.items():
        where = f"{measure} of {contents.runs[run].tag} for {topic}"
        problems += differences(value, again[run, topic, measure], where)
    return len(again), problems


def _phase(contents: Contents, board: PhaseRecord) -> Finding:
    """Score the runs of a phase again, and compare every value."""
    judged = contents.judged(board)
    scores = {number: scored for number, _, scored in contents.scored(board, judged)}
    n_scores, problems = _scored_again(contents, board, judged, scores)
    for run in board.runs:
        counts = int(scores[run.run].averaged(board.average).sum()), scores[run.run].n_missing
        where = f"the topics of {contents.runs[run.run].tag}"
        problems += differences([run.n_topics, run.n_missing], list(counts), where)
    size = f"{plural(len(scores), 'run')}, {plural(n_scores, 'score')}"
    content = f"{size}, computed again against qrels version {board.qrels}"
    return Finding(f"phase {board.phase}", content, few(problems))


def _leaderboard(contents: Contents, board: LeaderboardRecord) -> Finding:
    """Score the runs of a leaderboard again, and compare every value."""
    check_intervals(board)
    judged, scores, evaluated = contents.judged(board), dict[int, RunScores](), list[EvaluationRecord]()
    protocol = contents.protocol(board.protocol)
    for number, ranking, scored in contents.scored(board, judged):
        scores[number] = scored
        values = counted(
            judged.hits(ranking),
            judged,
            scored,
            parse_measures(board.measures),
            level=protocol.scoring.level_of(contents.qrels[board.qrels].report),
            judged_only=protocol.scoring.judged_only,
            average=board.average,
            of_answers=protocol.is_of_answers,
        )
        evaluated.append(EvaluationRecord(run=number, **values))
    n_scores, problems = _scored_again(contents, board, judged, scores)
    for evaluation, computed in zip(board.evaluations, evaluated, strict=True):
        if not evaluation.first_grades:
            computed = replace(computed, first_grades={})
        if not evaluation.first_hits:
            computed = replace(computed, first_hits={})
        tag = contents.runs[evaluation.run].tag
        problems += differences(asdict(evaluation), asdict(computed), f"the evaluation of {tag}")
    again = leaderboard_statistics(
        list(scores.values()),
        parse_measures(board.measures),
        average=board.average,
        seed=board.seed,
        method=stored_method(board.statistics),
    )
    statistics: dict[str, Any] = {}
    if again is not None:
        by_measure = {
            name: {**of_measure.stored, "p": above_diagonal(of_measure.test.p) if of_measure.test else None}
            for name, of_measure in again.measures.items()
        }
        statistics = {**again.stored, "measures": by_measure}
    problems += differences(board.statistics, statistics, "statistics")
    size = f"{plural(len(scores), 'run')}, {plural(n_scores, 'score')}"
    content = f"{size}, computed again against qrels version {board.qrels}"
    return Finding(f"leaderboard {board.number}", content, few(problems))


def _analyses(contents: Contents, board: LeaderboardRecord) -> Iterator[Finding]:
    part = ARCHIVE_PARTS.get(ANALYSES)
    if part is None and board.analyses:
        problem = f"the extension {ANALYSES} is not installed, or ASSAY_EXTENSIONS leaves it out"
        yield Finding(f"analyses of leaderboard {board.number}", f"{len(board.analyses)}", problem)
    elif part is not None:
        verify_file = ARCHIVE_PARTS.function(ANALYSES, part.verify)
        yield from (verify_file(contents, board, name) for name in board.analyses)


def _track_parts(contents: Contents) -> Iterator[Finding]:
    """The parts of extensions. One whose files nobody here can check is a problem."""
    added = (name.removeprefix(EXTENSIONS) for name in contents.reader.names if name.startswith(EXTENSIONS))
    for name in sorted({*TRACK_PARTS, *(rest.partition("/")[0] for rest in added)}):
        if (part := TRACK_PARTS.get(name)) is None:
            problem = f"the extension {name[:80]} is not installed, or ASSAY_EXTENSIONS leaves it out"
            yield Finding(f"files of {name[:80]}", "not checked", problem)
        else:
            yield from TRACK_PARTS.function(name, part.verify)(contents)


def score_line(run: int, topic: str, measure: str, value: float) -> str:
    """A line of `scores.tsv`: number of the run, topic, measure, value with all its digits."""
    return f"{run}\t{topic}\t{measure}\t{value!r}\n"


def differences(stored: object, again: object, where: str = "") -> Iterator[str]:
    """Yield where two plain values differ, in words; numbers may differ by `TOLERANCE`, as they do between processors.

    >>> list(differences({"tau": [1.0, 0.5]}, {"tau": [1.0, 0.25]}))
    ['tau[1] is 0.5, computed again 0.25']
    """
    if isinstance(stored, dict) and isinstance(again, dict) and stored.keys() == again.keys():
        for key in stored:
            yield from differences(stored[key], again[key], f"{where}.{key}" if where else str(key))
    elif isinstance(stored, list | tuple) and isinstance(again, list | tuple) and len(stored) == len(again):
        for place, pair in enumerate(zip(stored, again, strict=True)):
            yield from differences(*pair, f"{where}[{place}]")
    elif isinstance(stored, float | int) and isinstance(again, float | int):
        if not abs(stored - again) <= TOLERANCE:
            yield f"{where} is {stored!r}, computed again {again!r}"
    elif stored != again:
        texts = (textwrap.shorten(repr(value), SHORT, placeholder=" …") for value in (stored, again))
        yield f"{where} is {', computed again '.join(texts)}"
