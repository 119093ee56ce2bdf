"""Reads what an archive of a track contains from the database, and writes it into the file."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from django.db import connection, transaction
from django.db.models.fields.files import FieldFile

from assay.archive.contents import formula_lines
from assay.archive.description import bibtex, datacite, metadata, readme
from assay.archive.files import CHECKSUMS, PIECE, Writer
from assay.archive.parts import ANALYSES, ARCHIVE_PARTS, TRACK_PARTS, part_file
from assay.archive.records import (
    CITATION,
    DATACITE,
    FORMAT,
    FORMULAS,
    INDEX,
    JUDGMENTS,
    MAX_JSON,
    METADATA,
    NUGGETS,
    README,
    ROWS,
    TOPICS,
    AssessorRecord,
    BatchRecord,
    DocumentRecord,
    EvaluationRecord,
    GuidelinesRecord,
    Index,
    LeaderboardRecord,
    MachineRecord,
    PhaseRecord,
    PhaseRunRecord,
    PooledRun,
    PoolRecord,
    ProtocolRecord,
    QrelsRecord,
    RowRecord,
    RunRecord,
    SessionDataRecord,
    SessionRecord,
    TrackRecord,
    UnassignedRun,
    as_json,
    as_line,
)
from assay.archive.verify import SCORES_HEADER, score_line
from assay.formats.qrels.reader import QrelsForm
from assay.formats.runs.reader import check_run
from assay.formats.text import lines_of as lines_in
from assay.formats.topics.facts import TopicFacts
from assay.nuggets.records import line_of_nuggets
from assay.qrels.derived import renumbered
from assay.statistics.significance import above_diagonal, unpacked_pairs
from assay.version import VERSION
from assessment.judgments.exports import lines_of
from assessment.models import Batch, Judgment
from participation.interaction import selectors as interaction
from participation.models import Nomination
from pooling.models import NuggetVersion, Pool, Run, RunChange
from pooling.pools import exports as pool_exports
from pooling.runs.units import formula_lookup
from publishing.archives import nuggets
from publishing.archives.records import record_of, text_of
from publishing.documents.selectors import public_documents
from publishing.errors import archive_refused
from publishing.models import Archive, LoadedArchive
from scoring.leaderboards.files import leaderboard_file
from scoring.models import Leaderboard, PhaseBoard, PhaseScore, Qrels, Score
from scoring.phases.selectors import boards_of
from scoring.qrels.selectors import qrels_tsv
from tracks.assessors.selectors import code_names
from tracks.models import Assessor, StoredProtocol, Track
from tracks.rows.selectors import rows_of

CHUNK = 5_000
EXTENSION = re.compile(r"(\.[A-Za-z0-9]{1,6}){1,2}$")
Report = Callable[[int, int, str], None]  # done, total, step


class _Numbers(NamedTuple):
    """The numbers of rows in the archive, by their ids."""

    runs: Mapping[int, int]
    pools: Mapping[int, int]
    judgments: Mapping[int, int]  # empty unless qrels name judgments


def write(archive: Archive, file: BinaryIO, report: Report) -> Index:
    """Write the archive of a track. What the database has is of one moment; files of runs never change."""
    track = archive.track
    named = Assessor.objects.filter(track=track).values_list("user_id", "user__username")
    names = dict(named) if archive.has_names else code_names(track)
    with _snapshot():
        runs = list(
            Run.objects.filter(track=track).select_related("team").order_by("team__name", "tag", "id")
        )
        index = _index(archive, runs, names)
        index_text = as_json(index).encode()
        if len(index_text) > MAX_JSON:
            sizes = f"{len(index_text) >> 20} MB, and at most {MAX_JSON >> 20} MB can be read again"
            raise archive_refused(
                f"The index of the archive would have {sizes}. Leaderboards of many runs take most of it."
            )
        writer = Writer(file, f"{track.slug}-archive")
        _write_rows(writer, archive, index, names)
        for document_record, document in zip(index.team_documents, public_documents(track), strict=True):
            writer.add(document_record.file, pieces_of(document.file))
        for data_record, stored in zip(index.session_data, interaction.stored_data(track), strict=True):
            writer.add(data_record.file, pieces_of(stored.data))
        scored = Leaderboard.objects.filter(track=track, status=Leaderboard.Status.READY).order_by("id")
        numbers = {run.pk: number for number, run in enumerate(runs, 1)}
        for record, board in zip(index.leaderboards, scored.select_related("track", "qrels"), strict=True):
            _write_leaderboard(writer, archive, record, board, numbers)
        for phase in index.phases:
            _write_phase(writer, track, phase, numbers)
        _write_parts(writer, archive, names)
        formulas = formula_lookup(track, track.protocol.parsed)
    ids: list[np.ndarray[Any, Any]] = []
    for number, (record_of_run, run) in enumerate(zip(index.runs, runs, strict=True)):
        report(number, len(runs), f"storing {run.tag}")
        writer.add(record_of_run.file, pieces_of(run.original))
        if formulas is not None:  # that the file names, also those of comments, which its columns do not have
            with run.original.open("rb") as original:
                checked = check_run(
                    cast("BinaryIO", original), protocol=track.protocol.parsed, name=run.file_name
                )
            if checked.columns is not None:
                ids.append(np.unique(checked.columns.docno))
    if formulas is not None:
        every = np.unique(np.concatenate([np.empty(0, dtype="S1"), *ids]))
        writer.add(FORMULAS, _in_pieces(formula_lines(formulas(every))))
    elif loaded := LoadedArchive.objects.filter(track=track).exclude(formulas="").first():
        writer.add(FORMULAS, pieces_of(loaded.formulas))
    writer.add(INDEX, [index_text])
    described = dict(writer.sums)
    writer.add(METADATA, [metadata(index, described).encode()])
    writer.add(CITATION, [bibtex(index).encode()])
    writer.add(DATACITE, [datacite(index).encode()])
    writer.add(README, [readme(index, [*writer.sums, CHECKSUMS]).encode()])
    writer.close()
    return index


@contextmanager
def _snapshot() -> Iterator[None]:
    """A transaction that sees the database as it is at its first query."""
    is_outermost = not connection.in_atomic_block
    with transaction.atomic(), connection.cursor() as cursor:
        if is_outermost:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield


# --- The index


def _index(archive: Archive, runs: list[Run], names: Mapping[int, str]) -> Index:
    track = archive.track
    pools = list(Pool.objects.filter(track=track, status=Pool.Status.READY).order_by("id"))
    qrels = list(Qrels.objects.filter(track=track).order_by("version").select_related("machine__assessor"))
    judgments = Judgment.objects.filter(track=track).order_by("pk").values_list("pk", flat=True)
    numbers = _Numbers(
        {run.pk: number for number, run in enumerate(runs, 1)},
        {pool.pk: number for number, pool in enumerate(pools, 1)},
        {pk: number for number, pk in enumerate(judgments.iterator(), 1)}  # as in `judgments.jsonl`
        if any("judgments" in version.report for version in qrels)
        else {},
    )
    boards = Leaderboard.objects.filter(track=track, status=Leaderboard.Status.READY).order_by("id")
    # the protocol of the track, and those of its pools and qrels if they are others
    protocols = {track.protocol_id, *(pool.protocol_id for pool in pools)}
    protocols |= {version.protocol_id for version in qrels}
    teams = track.teams.order_by("name", "id")
    return Index(
        format=FORMAT,
        assay=VERSION,
        created_at=text_of(archive.created_at),
        track=record_of(
            TrackRecord,
            track,
            protocol=track.protocol.slug,
            collection=track.collection.name if track.collection else "",
        ),
        has_names=archive.has_names,
        has_comments=archive.has_comments,
        protocols=[
            ProtocolRecord(stored.slug, stored.digest, f"protocols/{stored.slug}.toml")
            for stored in StoredProtocol.objects.filter(pk__in=protocols).order_by("slug")
        ],
        guidelines=[
            record_of(GuidelinesRecord, version, file=f"guidelines/{version.number}.md")
            for version in track.guidelines_versions.order_by("number")
        ],
        teams=list(teams.values_list("name", flat=True)),
        documents=dict(teams.exclude(documents={}).values_list("name", "documents")),
        organizations=dict(teams.exclude(organization="").values_list("name", "organization")),
        assessors=_assessors(track, names),
        runs=[_run(number, run) for number, run in enumerate(runs, 1)],
        pools=[_pool(pool, numbers) for pool in pools],
        qrels=[_qrels(version, numbers, names) for version in qrels],
        leaderboards=[
            _leaderboard(n, board, numbers, archive)
            for n, board in enumerate(boards.select_related("qrels"), 1)
        ],
        sessions=[_session(*held, names) for held in interaction.sessions_with_seconds(track)],
        session_data=[
            SessionDataRecord(
                team=stored.team.name,
                file=f"interaction/{number:03d}{_extension(stored.data_name)}",
                file_name=stored.data_name,
                sha256=stored.data_sha256,
                uploaded_at=text_of(stored.data_at),
            )
            for number, stored in enumerate(interaction.stored_data(track), 1)
        ],
        team_documents=[
            record_of(DocumentRecord, document, team=document.team.name, file=f"documents/{number:03d}.pdf")
            for number, document in enumerate(public_documents(track), 1)
        ],
        batches=[
            record_of(BatchRecord, batch, pool=batch.pool.name)
            for batch in Batch.objects.filter(pool__in=pools)
            .exclude(judges=None, is_shared=False)
            .select_related("pool")
            .order_by("id")
        ],
        phases=[_phase(board, numbers) for board in boards_of(track).values()],
        n_topics=track.topics.count(),
        n_nugget_lists=NuggetVersion.objects.filter(topic__track=track).count(),
        n_judgments=judgments.count(),
        authors=[line.strip() for line in lines_in(archive.authors) if line.strip()],
        license=archive.license,
        url=archive.url,
        doi=archive.doi,
    )


def _assessors(track: Track, names: Mapping[int, str]) -> list[AssessorRecord]:
    """The assessors by name, A2 before A10."""
    assessors = {
        assessor.user_id: assessor
        for assessor in Assessor.objects.filter(track=track).select_related("machine", "user")
    }
    records = []
    for pk, name in sorted(names.items(), key=lambda item: (len(item[1]), item[1])):
        machine = getattr(assessors[pk], "machine", None)
        record = machine and record_of(MachineRecord, machine)
        is_by_link = assessors[pk].user.guest_until is not None
        records.append(
            record_of(AssessorRecord, assessors[pk], name=name, machine=record, is_by_link=is_by_link)
        )
    return records


def _run(number: int, run: Run) -> RunRecord:
    change = None
    if run.status in RunChange.REASONED:
        change = run.changes.filter(kind=RunChange.REASONED[run.status]).last()
    return record_of(
        RunRecord,
        run,
        number=number,
        team=run.team.name,
        file=f"runs/{number:03d}{_extension(run.file_name) or '.txt'}",
        reason=change.text if change else "",
    )


def _extension(name: str) -> str:
    extension = EXTENSION.search(name)
    return extension[0] if extension else ""


def _session(nomination: Nomination, seconds: float | None, names: Mapping[int, str]) -> SessionRecord:
    record = SessionRecord(nomination.team.name, nomination.topic.code, nomination.place, seconds)
    assessor = names.get(nomination.assessor_id or 0)
    if seconds is None or nomination.started_at is None or assessor is None:
        return record
    return replace(record, assessor=assessor, started_at=text_of(nomination.started_at))


def _pool(pool: Pool, numbers: _Numbers) -> PoolRecord:
    depths = {pool_run.run_id: pool_run.depth for pool_run in pool.pool_runs.all()}
    order = [run["run"] for run in pool.statistics["runs"]]
    return record_of(
        PoolRecord,
        pool,
        number=numbers.pools[pool.pk],
        protocol=pool.protocol.slug,
        tops_up=None if pool.tops_up_id is None else numbers.pools[pool.tops_up_id],
        runs=[PooledRun(numbers.runs[pk], depths[pk]) for pk in order],
        has_members="members" in pool.statistics,
        has_votes=bool(pool.votes),
        left_out=[numbers.runs[run["run"]] for run in pool.left_out],
    )


def _qrels(qrels: Qrels, numbers: _Numbers, names: Mapping[int, str]) -> QrelsRecord:
    report = qrels.report
    if "judgments" in report:
        report = report | {"judgments": renumbered(report["judgments"], numbers.judgments)}
    return record_of(
        QrelsRecord,
        qrels,
        report=report,
        pool=None if qrels.pool_id is None else numbers.pools[qrels.pool_id],
        protocol=qrels.protocol.slug,
        columns=QrelsForm.for_version(
            qrels.protocol.parsed, qrels.report, is_frozen=qrels.source == Qrels.Source.FROZEN
        ).title,
        machine=names[qrels.machine.assessor.user_id] if qrels.machine else "",
        is_archived=qrels.archived_at is not None,
        corrects=None if qrels.supersedes is None else qrels.supersedes.version,
    )


def _leaderboard(number: int, board: Leaderboard, numbers: _Numbers, archive: Archive) -> LeaderboardRecord:
    evaluations = {evaluation.pk: evaluation for evaluation in board.evaluations.all()}
    ordered = [evaluations[pk] for pk in board.statistics["evaluations"]]
    return record_of(
        LeaderboardRecord,
        board,
        number=number,
        qrels=board.qrels.version,
        protocol=board.track.protocol.slug,
        evaluations=[
            record_of(EvaluationRecord, evaluation, run=numbers.runs[evaluation.run_id])
            for evaluation in ordered
        ],
        statistics=_statistics(board),
        disqualified=[numbers.runs[run["run"]] for run in board.statistics.get("disqualified", [])],
        unassigned=[
            UnassignedRun(numbers.runs[run["run"]], run["units"])
            for run in board.statistics.get("unassigned", [])
        ],
        analyses=[
            f"leaderboards/{number}/analyses/{n}.json"
            for n, _ in enumerate(_analyses(board, archive, numbers.runs), 1)
        ],
    )


def _analyses(board: Leaderboard, archive: Archive, runs: Mapping[int, int]) -> list[Callable[[], str]]:
    """A function for the text of each analysis; none without the extension."""
    part = ARCHIVE_PARTS.get(ANALYSES)
    return ARCHIVE_PARTS.function(ANALYSES, part.gather)(board, archive, runs) if part else []


def _phase(board: PhaseBoard, numbers: _Numbers) -> PhaseRecord:
    scored = board.scores.filter(status=PhaseScore.Status.READY).order_by("run__pk")
    return record_of(
        PhaseRecord,
        board,
        qrels=board.qrels.version,
        protocol=board.track.protocol.slug,
        runs=[record_of(PhaseRunRecord, score, run=numbers.runs[score.run_id]) for score in scored],
    )


def _statistics(board: Leaderboard) -> dict[str, Any]:
    if "level" not in board.statistics:
        return {}
    names = ("n_topics", "level", "n_resamples", "intervals")
    shared = {name: board.statistics[name] for name in names if name in board.statistics}
    n_runs = len(board.statistics["evaluations"])
    measures = {
        row.measure: {
            "low": row.low,
            "high": row.high,
            "tier": row.tier,
            "means": row.means,
            "critical": row.critical,
            "n_permutations": row.n_permutations,
            "p": None if row.pairs is None else above_diagonal(unpacked_pairs(bytes(row.pairs), n_runs)),
        }
        for row in board.by_measure.order_by("id")
    }
    return {**shared, "measures": measures}


# --- The files


def _write_rows(writer: Writer, archive: Archive, index: Index, names: Mapping[int, str]) -> None:
    """Write everything of the database but the leaderboards."""
    track = archive.track
    for stored in StoredProtocol.objects.filter(slug__in=[protocol.slug for protocol in index.protocols]):
        writer.add(f"protocols/{stored.slug}.toml", [stored.text.encode()])
    topics = track.topics.order_by("code").values(*TopicFacts.__dataclass_fields__).iterator(chunk_size=CHUNK)
    writer.add(TOPICS, _in_pieces(as_line(TopicFacts(**topic)).encode() for topic in topics))
    if track.protocol.parsed.judging.form is not None:
        rows = rows_of(track).values_list("topic__code", "docno", "fields").iterator(chunk_size=CHUNK)
        writer.add(ROWS, _in_pieces(as_line(RowRecord(*row)).encode() for row in rows))
    for record, version in zip(index.guidelines, track.guidelines_versions.order_by("number"), strict=True):
        writer.add(record.file, [version.text.encode()])
    if index.n_nugget_lists:
        lists = nuggets.archived_lists(track, names, has_names=archive.has_names)
        writer.add(NUGGETS, (line_of_nuggets(record).encode() for record in lists))
    pools = Pool.objects.filter(track=track, status=Pool.Status.READY).order_by("id")
    for pool_record, pool in zip(index.pools, pools, strict=True):
        _write_pool(writer, pool_record, pool)
    lines = lines_of(
        Judgment.objects.filter(track=track), "jsonl", names=names, has_comments=archive.has_comments
    )
    writer.add(JUDGMENTS, (part.encode() for part in lines))
    for qrels_record, qrels in zip(
        index.qrels, Qrels.objects.filter(track=track).order_by("version"), strict=True
    ):
        writer.add(qrels_record.file, [qrels_tsv(qrels)])


def _write_pool(writer: Writer, record: PoolRecord, pool: Pool) -> None:
    files = {"pool.tsv": pool_exports.pool_lines, "contributions.tsv": pool_exports.contribution_lines}
    if record.has_members:
        files["members.tsv"] = pool_exports.member_lines
        files["member-contributions.tsv"] = pool_exports.member_contribution_lines
    for name, lines in files.items():
        writer.add(record.file(name), _in_pieces(lines(pool)))
    if record.has_votes:
        writer.add(record.file("votes.tsv"), [pool.votes.encode()])
    text = json.dumps(pool_exports.pool_record(pool), ensure_ascii=False, indent=1) + "\n"
    writer.add(record.file("record.json"), [text.encode()])


def _write_leaderboard(
    writer: Writer,
    archive: Archive,
    record: LeaderboardRecord,
    board: Leaderboard,
    numbers: Mapping[int, int],
) -> None:
    scores = Score.objects.filter(evaluation__leaderboard=board).order_by("id")
    rows = scores.values_list("evaluation__run_id", "topic", "measure", "value").iterator(chunk_size=CHUNK)
    lines = (score_line(numbers[run], topic, measure, value) for run, topic, measure, value in rows)
    encoded = (line.encode() for line in chain([SCORES_HEADER], lines))
    writer.add(record.file("scores.tsv"), _in_pieces(encoded))
    for kind in ("tsv", "csv", "json"):
        table = leaderboard_file(board, kind)
        writer.add(record.file(f"leaderboard.{kind}"), [table.encode()])
    for name, text_of_analysis in zip(record.analyses, _analyses(board, archive, numbers), strict=True):
        writer.add(name, [text_of_analysis().encode()])


def _write_phase(writer: Writer, track: Track, record: PhaseRecord, numbers: Mapping[int, int]) -> None:
    scored = PhaseScore.objects.filter(board__track=track, board__phase=record.phase).order_by("run__pk")
    lines = (
        score_line(numbers[score.run_id], topic, measure, value)
        for score in scored.filter(status=PhaseScore.Status.READY)
        for topic, of_topic in score.values.items()
        for measure, value in of_topic.items()
    )
    writer.add(record.scores, _in_pieces(line.encode() for line in chain([SCORES_HEADER], lines)))


def _write_parts(writer: Writer, archive: Archive, names: Mapping[int, str]) -> None:
    """Write the files of extensions that the archive is made with."""
    for part in archive.parts:
        for name, contents in TRACK_PARTS.function(part, TRACK_PARTS[part].gather)(archive, names):
            pieces = (piece.encode() if isinstance(piece, str) else piece for piece in contents)
            writer.add(part_file(part, name), _in_pieces(pieces))


def pieces_of(stored: FieldFile) -> Iterator[bytes]:
    """The content of a stored file."""
    with stored.open("rb") as file:
        while part := file.read(PIECE):
            yield part


def _in_pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines together, so that each piece has some size."""
    piece, size = [], 0
    for line in lines:
        piece.append(line)
        size += len(line)
        if size >= PIECE:
            yield b"".join(piece)
            piece, size = [], 0
    yield b"".join(piece)
