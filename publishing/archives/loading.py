"""Stores the contents of a verified archive as a new track. The caller opens the transaction."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import NamedTuple, TypeVar

from django.core.files.base import ContentFile, File
from django.utils import timezone

from accounts.models import User
from assay.archive.contents import Contents
from assay.archive.parts import ARCHIVE_PARTS, TRACK_PARTS, part_file
from assay.archive.records import (
    FORMULAS,
    JUDGMENTS,
    BatchRecord,
    Index,
    LeaderboardRecord,
    PoolRecord,
    QrelsRecord,
    RunRecord,
)
from assay.formats.documents.batch import Unusable
from assay.formats.reports import Report
from assay.formats.runs import columns
from assay.formats.topics.bolt import parsed_source
from assay.formats.topics.subtopics import subtopics_of
from assay.html.sanitize import clean_body, clean_title, without_controls
from assay.pools.files import members_digest
from assay.pools.statistics import statistics
from assay.qrels.derived import renumbered
from assay.statistics.significance import from_above_diagonal, packed_pairs
from assessment.batches import services as batch_services
from assessment.imports import services as import_services
from assessment.models import Batch, Judgment
from jobs.files import storage
from participation.models import Interaction, Nomination, Team, TeamDocument
from participation.teams.services import MAX_DOCUMENT
from pooling.models import Pool, PoolRun, Run, RunChange
from pooling.pools import answers, recounts
from pooling.pools import rows as pool_rows
from publishing.archives import nuggets
from publishing.archives.records import moment_of, row_of, save
from publishing.errors import load_refused
from scoring.leaderboards.selectors import leaderboard_page
from scoring.models import (
    Evaluation,
    Leaderboard,
    MeasureStatistics,
    PhaseBoard,
    PhaseScore,
    Qrels,
    Score,
)
from scoring.qrels import services as qrels_services
from scoring.qrels.selectors import qrels_page
from tracks.assessors.machines import user_name
from tracks.deadlines.services import MAX_REMINDER_DAYS
from tracks.guidelines.rendering import rendered
from tracks.models import Assessor, GuidelinesVersion, Machine, Organizer, Row, StoredProtocol, Topic, Track
from tracks.protocols import services as protocol_services

PLAIN = ("scenario", "criteria", "split", "formula_id", "latex")  # plain texts of topics
AT_ONCE = 5_000
Key = TypeVar("Key")
Value = TypeVar("Value")
CODE_NAME = re.compile(r"A[1-9][0-9]{0,7}")


class Named(dict[Key, Value]):
    """Rows by their names or numbers in the archive. A name that the archive does not have is refused."""

    def __missing__(self, key: Key) -> Value:
        raise load_refused(f"The archive contradicts itself: it names {key!r}, which it does not have.")


@dataclass(frozen=True)
class Loading:
    """The context of all loaders: the archive, the new track, and its rows by their names or numbers in the archive.

    `assessors` has usernames. `part_files` has the stored files of extensions, by their names in the archive. The
    loaders fill the other mappings, in the order of `store_track`.
    """

    contents: Contents
    track: Track
    by: User
    protocols: Named[str, StoredProtocol]
    teams: Named[str, Team] = field(default_factory=Named)
    assessors: Named[str, str] = field(default_factory=Named)
    runs: Named[int, Run] = field(default_factory=Named)
    pools: Named[int, Pool] = field(default_factory=Named)
    qrels: Named[int, Qrels] = field(default_factory=Named)
    part_files: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def judgments(self) -> dict[int, int]:
        """The ids of the judgments by their numbers."""
        ids = Judgment.objects.filter(track=self.track).order_by("pk").values_list("pk", flat=True)
        return dict(enumerate(ids.iterator(), 1))

    @property
    def index(self) -> Index:
        return self.contents.index


class StoredRun(NamedTuple):
    """The names under which the files of a run are stored, and their size."""

    original: str
    columns: str
    n_bytes: int


class StoredFiles(NamedTuple):
    """The files of an archive that are stored: of runs by number, and the names of those of sessions by team."""

    runs: Mapping[int, StoredRun]
    session_data: Mapping[str, str]
    documents: Mapping[str, tuple[str, int]]  # by the name in the archive: that in the storage, and the size
    formulas: str  # empty if the archive has none
    parts: Mapping[str, str]  # of extensions: by the name in the archive


def store_files(contents: Contents, store: storage.Store) -> StoredFiles:
    """Store the files of runs, sessions, teams, formulas and extensions.

    The transaction that names them in rows claims them.
    """
    session_data = {}
    for record in contents.index.session_data:
        with contents.reader.opened(record.file) as file:
            session_data[record.team] = store("interaction", File(file))
    documents = {}
    for document in contents.index.team_documents:
        with contents.reader.opened(document.file) as file:
            documents[document.file] = store("documents", File(file)), file.seek(0, 2)
    runs = {}
    for run in contents.index.runs:
        checked = contents.checked(run)
        assert checked.columns is not None  # it is verified
        packed = columns.save(checked.columns)
        with contents.reader.opened(run.file) as file:
            original, size = store("runs/original", File(file)), file.seek(0, 2)
        runs[run.number] = StoredRun(original, store("runs/columns", ContentFile(packed)), size + len(packed))
    formulas = ""
    if FORMULAS in contents.reader.names:
        with contents.reader.opened(FORMULAS) as file:
            formulas = store("archives", File(file))
    parts = {}
    for part in TRACK_PARTS.values():
        for name in sorted(contents.reader.names) if part.stored else ():
            if name.startswith(part_file(part.name, "files/")):
                with contents.reader.opened(name) as file:
                    parts[name] = store(part.stored, File(file))
    return StoredFiles(runs, session_data, documents, formulas, parts)


def store_track(contents: Contents, files: StoredFiles, *, slug: str, by: User) -> Track:
    """Store everything but the files.

    Raises:
        Refused: Something here prevents it, such as a track with the same short name.
    """
    protocols: Named[str, StoredProtocol] = Named(
        (
            protocol.slug,
            protocol_services.store_of_archive(text=contents.reader.read(protocol.file).decode(), by=by),
        )
        for protocol in contents.index.protocols
    )
    record = contents.index.track
    slug = slug or record.slug
    if Track.objects.filter(slug=slug).exists():
        raise load_refused(
            f"There is already a track with the short name {slug}. Load the archive under another one."
        )
    track = row_of(
        Track,
        record,
        slug=slug,
        protocol=protocols[record.protocol],
        collection=None,
        status=Track.Status.CLOSED,
        reminder_days=record.reminder_days
        if record.reminder_days in range(1, MAX_REMINDER_DAYS + 1)
        else None,
    )
    track.save()
    Organizer.objects.create(track=track, user=by)
    load = Loading(contents, track, by, protocols, part_files=files.parts)
    _topics(load)
    _rows(load)
    _guidelines(load)
    organizations = load.index.organizations
    teams = Team.objects.bulk_create(
        Team(
            track=load.track,
            name=name[:100],
            organization=str(organizations.get(name, ""))[:200],
            documents=_documents(load, name),
        )
        for name in load.index.teams
    )
    load.teams.update({team.name: team for team in teams})
    _assessors(load)
    _sessions(load, files.session_data)
    _team_documents(load, files.documents)
    nuggets.store_lists(contents, track, by=by)
    for run in load.index.runs:
        load.runs[run.number] = _run(load, run, files.runs[run.number])
    for pool in load.index.pools:
        load.pools[pool.number] = _pool(load, pool)
    for batch in load.index.batches:
        _batch(load, batch)
    if load.index.n_judgments:
        with contents.reader.opened(JUDGMENTS) as file:
            import_services.import_file(
                track=load.track, name=JUDGMENTS, file=file, assessors=load.assessors, by=by
            )
    for qrels in load.index.qrels:
        load.qrels[qrels.version] = _qrels(load, qrels)
    for qrels in load.index.qrels:
        if qrels.corrects is not None:
            corrected = load.qrels[qrels.corrects]
            Qrels.objects.filter(pk=load.qrels[qrels.version].pk).update(supersedes=corrected)
    _boards(load)
    for part in TRACK_PARTS.values():
        TRACK_PARTS.function(part.name, part.load)(load)
    _check_pages(load)
    return load.track


def _topics(load: Loading) -> None:
    """Topics. Their texts are sanitized again, since anybody can have written the archive."""
    subtopics = {}
    for topic in load.contents.topics:
        try:
            subtopics[topic.code] = list(subtopics_of(topic.subtopics))
            if topic.source:  # the XML of a topic of BOLT
                parsed_source(topic.source)
        except Unusable as fault:
            raise load_refused(f"The topic {topic.code} of the archive cannot be loaded: {fault}.") from None
    Topic.objects.bulk_create(
        (
            row_of(
                Topic,
                topic,
                track=load.track,
                title=clean_title(topic.title),
                body=clean_body(topic.body),
                narrative=clean_body(topic.narrative),
                subtopics=subtopics[topic.code],
                tags=[without_controls(str(tag)) for tag in topic.tags],
                labels={
                    without_controls(str(label)): without_controls(str(value))
                    for label, value in topic.labels.items()
                },
                **{name: without_controls(getattr(topic, name)) for name in PLAIN},
            )
            for topic in load.contents.topics
        ),
        batch_size=AT_ONCE,
    )


def _rows(load: Loading) -> None:
    topics: dict[str, int] = dict(load.track.topics.values_list("code", "pk"))
    Row.objects.bulk_create(
        (
            Row(
                topic_id=topics[row.topic],
                docno=row.docno,
                fields={name: without_controls(text) for name, text in row.fields.items()},
            )
            for row in load.contents.table
        ),
        batch_size=AT_ONCE,
    )


def _guidelines(load: Loading) -> None:
    """The versions of the guidelines; the last one is in force. Examples whose documents are not here are left out."""
    track = load.track
    for record in load.index.guidelines:
        text = load.contents.reader.read(record.file).decode()
        track.guidelines = save(
            row_of(
                GuidelinesVersion,
                record,
                track=track,
                text=text,
                html=rendered(track, text).html,
                published_by=load.by,
            )
        )
    track.save(update_fields=["guidelines"])


def _documents(load: Loading, team: str) -> dict[str, str]:
    """The documents of a team that the protocol of the track asks for."""
    stored = load.index.documents.get(team)
    owed = load.track.protocol.parsed.runs.documents
    if not isinstance(stored, dict):
        return {}
    return {word: without_controls(str(stored[word]))[:MAX_DOCUMENT] for word in owed if stored.get(word)}


def _assessors(load: Loading) -> None:
    """An account for each assessor, with which nobody can log in."""
    for record in load.index.assessors:
        name = f"{load.track.slug}-{record.name}".lower()[:150]
        if record.machine is not None:
            name = user_name(record.machine.name, record.machine.version, load.track.slug)
        load.assessors[record.name] = name
    taken = User.objects.filter(username__in=load.assessors.values()).values_list("username", flat=True)
    if taken:
        raise load_refused(f"There are already accounts named {', '.join(sorted(taken)[:5])}.")
    codes = [CODE_NAME.fullmatch(record.name) for record in load.index.assessors if record.machine is None]
    has_codes = all(codes)
    for record in load.index.assessors:
        machine = record.machine
        user = User(username=load.assessors[record.name], is_active=False, is_machine=machine is not None)
        user.guest_until = timezone.now() if record.is_by_link else None  # the work is over
        user.set_unusable_password()
        user.save()
        pseudonym = int(record.name[1:]) if has_codes and machine is None else None
        assessor = save(row_of(Assessor, record, track=load.track, user=user, pseudonym=pseudonym))
        if machine is not None:
            save(row_of(Machine, machine, assessor=assessor, owner=load.by, created_by=load.by))


def _batch(load: Loading, record: BatchRecord) -> None:
    """A batch that cannot be made from its judgments alone."""
    pool = next((pool for pool in load.pools.values() if pool.name == record.pool), None)
    if pool is None:
        raise load_refused(f"The batch “{record.name[:80]}” is of a pool that the archive does not have.")
    batch = batch_services.create(
        pool=pool, name=record.name[:100], judges=record.judges, is_shared=record.is_shared, by=load.by
    )
    batch.status, batch.closed_at = Batch.Status.CLOSED, timezone.now()
    batch.save(update_fields=["status", "closed_at"])


def _sessions(load: Loading, files: Mapping[str, str]) -> None:
    """Nominations and sessions, and their data. `files` has the name of the stored file by team."""
    topics = {topic.code: topic for topic in load.track.topics.all()}
    users = {user.username: user for user in User.objects.filter(username__in=load.assessors.values())}
    nominations = []
    for record in load.index.sessions:
        nomination = row_of(
            Nomination,
            record,
            team=load.teams[record.team],
            topic=topics[record.topic],
            assessor=None,
            started_at=None,
        )
        if record.seconds is None or not record.assessor:  # the seconds of the team's log, if there are some
            nomination.logged_seconds = record.seconds
        else:
            nomination.assessor = users[load.assessors[record.assessor]]
            nomination.started_at = moment_of(record.started_at)
            nomination.ended_at = nomination.started_at + timedelta(seconds=record.seconds)
        nominations.append(nomination)
    Nomination.objects.bulk_create(nominations)
    storage.claim(*files.values())
    Interaction.objects.bulk_create(
        Interaction(
            team=load.teams[record.team],
            data=files[record.team],
            data_name=record.file_name[-255:],
            data_sha256=record.sha256,
            data_at=moment_of(record.uploaded_at),
        )
        for record in load.index.session_data
    )


def _team_documents(load: Loading, files: Mapping[str, tuple[str, int]]) -> None:
    """The public documents of teams. One of a word that the protocol does not have becomes another document."""
    storage.claim(*(name for name, _ in files.values()))
    owed = load.track.protocol.parsed.runs.documents
    for record in load.index.team_documents:
        document = row_of(TeamDocument, record, team=load.teams[record.team], uploaded_by=load.by)
        document.file, document.size = files[record.file]
        document.word = record.word if record.word in owed else ""
        document.title = without_controls(record.title)[:200] or "Document"
        document.name, document.is_public = without_controls(record.name)[-200:], True
        document.save()


def _run(load: Loading, record: RunRecord, files: StoredRun) -> Run:
    storage.claim(files.original, files.columns)
    is_withdrawn = record.status == Run.Status.WITHDRAWN
    run = row_of(
        Run,
        record,
        **files._asdict(),
        track=load.track,
        team=load.teams[record.team],
        status=record.status if record.status in Run.Status.values else Run.Status.SUBMITTED,
        file_name=record.file_name[-255:],
        report=Report.from_json(record.report).as_json(),
        submitted_by=load.by,
        withdrawn_by=load.by if is_withdrawn else None,
        withdrawn_at=moment_of(record.withdrawn_at or record.submitted_at) if is_withdrawn else None,
    )
    run.save()
    if record.status == Run.Status.DISQUALIFIED or (is_withdrawn and record.reason):
        RunChange.objects.create(run=run, kind=RunChange.REASONED[run.status], text=record.reason, by=load.by)
    return run


def _pool(load: Loading, record: PoolRecord) -> Pool:
    """A pool, built again from its runs, as the site builds it."""
    contents, protocol = load.contents, load.protocols[record.protocol]
    built = contents.built(record)
    computed = statistics(built, contents.inputs(record))
    pooled = [load.runs[pooled_run.run] for pooled_run in record.runs]
    for of_run, run in zip(computed["runs"], pooled, strict=True):
        of_run["run"], of_run["sha256"] = run.pk, run.sha256
    if built.members is not None:
        computed["members"]["sha256"] = members_digest(built)
    pool = save(
        row_of(
            Pool,
            record,
            track=load.track,
            protocol=protocol,
            protocol_digest=protocol.digest,
            left_out=[load.runs[number].reference for number in record.left_out],
            tops_up=None if record.tops_up is None else load.pools[record.tops_up],
            status=Pool.Status.READY,
            votes=contents.votes(record),
            statistics=computed,
            created_by=load.by,
        )
    )
    PoolRun.objects.bulk_create(
        PoolRun(pool=pool, run=run, sha256=run.sha256, depth=pooled_run.depth)
        for pooled_run, run in zip(record.runs, pooled, strict=True)
    )
    columns_of = [pooled_run.columns for pooled_run in contents.inputs(record)]
    texts = answers.texts_of(
        built, protocol.parsed, pooled, answers.nuggets_of(load.track, pool.nuggets), columns_of
    )
    pool_rows.store(
        pool,
        built,
        passages=texts.passages,
        answers=texts.store(pool),
        run_ids=[run.pk for run in pooled],
    )
    pool.recount = recounts.recount_of(pool)
    pool.save(update_fields=["recount"])
    return pool


def _qrels(load: Loading, record: QrelsRecord) -> Qrels:
    """A version under its number."""
    machine, report = load.assessors.get(record.machine, ""), record.report
    if "judgments" in report:
        try:
            report = report | {"judgments": renumbered(report["judgments"], load.judgments)}
        except ValueError as error:
            raise load_refused(f"The judgments of the qrels version {record.version}: {error}.") from None
    qrels = row_of(
        Qrels,
        record,
        report=report,
        track=load.track,
        source=record.source if record.source in Qrels.Source.values else Qrels.Source.IMPORTED,
        pool=None if record.pool is None else load.pools[record.pool],
        protocol=load.protocols[record.protocol],
        machine=Machine.objects.filter(assessor__track=load.track, assessor__user__username=machine).first(),
        archived_at=timezone.now() if record.is_archived else None,
        created_by=load.by,
    )
    created_at = qrels.created_at
    qrels = qrels_services.store_loaded(qrels, load.contents.qrels_columns(record))
    Qrels.objects.filter(pk=qrels.pk).update(created_at=created_at)
    return qrels


def _boards(load: Loading) -> None:
    for record in load.index.leaderboards:
        _leaderboard(load, record)
    for phase in load.index.phases:
        # The board of a phase with the values of the archive
        values: defaultdict[int, defaultdict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
        for (run, topic, measure), value in load.contents.stored_scores(phase).items():
            values[run][topic][measure] = value
        qrels = load.qrels[phase.qrels]
        board = save(row_of(PhaseBoard, phase, track=load.track, qrels=qrels, set_by=load.by))
        PhaseScore.objects.bulk_create(
            row_of(
                PhaseScore,
                score,
                board=board,
                run=load.runs[score.run],
                status=PhaseScore.Status.READY,
                values=values[score.run],
            )
            for score in phase.runs
        )


def _leaderboard(load: Loading, record: LeaderboardRecord) -> None:
    """A leaderboard with the values of the archive, hidden until it is released here."""
    board = save(
        row_of(
            Leaderboard,
            record,
            track=load.track,
            qrels=load.qrels[record.qrels],
            protocol_digest=load.contents.protocol(record.protocol).digest,
            status=Leaderboard.Status.READY,
            statistics={},
            created_by=load.by,
        )
    )
    evaluations = Evaluation.objects.bulk_create(
        row_of(
            Evaluation,
            evaluation,
            leaderboard=board,
            run=load.runs[evaluation.run],
            run_sha256=load.runs[evaluation.run].sha256,
        )
        for evaluation in record.evaluations
    )
    of_run = {row.run: evaluation for row, evaluation in zip(record.evaluations, evaluations, strict=True)}
    scores = load.contents.stored_scores(record).items()
    Score.objects.bulk_create(
        (
            Score(evaluation=of_run[run], topic=topic, measure=name, value=value)
            for (run, topic, name), value in scores
        ),
        batch_size=AT_ONCE,
    )
    shared = {name: value for name, value in record.statistics.items() if name != "measures"}
    board.statistics = {
        "evaluations": [evaluation.pk for evaluation in evaluations],
        "disqualified": [load.runs[number].reference for number in record.disqualified],
        "unassigned": [load.runs[row.run].reference | {"units": row.units} for row in record.unassigned],
        **shared,
    }
    board.save(update_fields=["statistics"])
    for name, values in record.statistics.get("measures", {}).items():
        p, given = values["p"], {key: value for key, value in values.items() if key != "p"}
        pairs = None if p is None else packed_pairs(from_above_diagonal(p, len(evaluations)))
        MeasureStatistics.objects.create(leaderboard=board, measure=name, pairs=pairs, **given)
    for part in ARCHIVE_PARTS.values():
        ARCHIVE_PARTS.function(part.name, part.load)(load, board, record, evaluations)


def _check_pages(load: Loading) -> None:
    """Read each page of reports once. The archive is verified: an error is a fault of ours, and nothing is stored."""
    for qrels in load.track.qrels.all():
        qrels_page(load.by, qrels)
    for board in load.track.leaderboards.all():
        leaderboard_page(load.by, board)
