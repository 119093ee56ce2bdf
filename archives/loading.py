"""Stores the contents of a verified archive as a new track. The caller opens the transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.core.files.base import ContentFile
from django.utils import timezone

from accounts.models import User
from archives import analyses, sessions
from archives.errors import LoadRefused
from archives.times import moment_of
from assay.archive.contents import Contents
from assay.archive.records import (
    JUDGMENTS,
    AnalysisRecord,
    AssessorRecord,
    Index,
    LeaderboardRecord,
    PoolRecord,
    QrelsRecord,
    RunRecord,
    TopicRecord,
    parsed,
)
from assay.formats.documents.batch import Unusable
from assay.formats.reports import Report
from assay.formats.runs import columns
from assay.formats.topics.bolt import parsed_source
from assay.html.sanitize import clean_body, clean_title
from assay.pools.files import members_digest
from assay.pools.statistics import statistics
from assay.statistics.significance import from_above_diagonal, packed_pairs
from assessment.imports import services as import_services
from files import services as file_services
from pooling.models import Pool, PoolRun, Run, RunChange, Team
from pooling.pools import citations, recounts
from pooling.pools import rows as pool_rows
from scoring.analyses.report_pages import reports_page
from scoring.leaderboards.selectors import leaderboard_page
from scoring.models import Evaluation, Leaderboard, MeasureStatistics, Qrels, Score
from scoring.qrels import services as qrels_services
from scoring.qrels.selectors import qrels_page
from tracks.guidelines.rendering import rendered
from tracks.machines.services import user_name
from tracks.models import Assessor, GuidelinesVersion, Machine, StoredProtocol, Topic, Track
from tracks.protocols import services as protocol_services

AT_ONCE = 5_000


@dataclass(frozen=True)
class Loading:
    """What all loaders need: the archive, the new track, and its rows by their names or numbers in the archive.

    `assessors` has usernames. The loaders fill the mappings, in the order of `store_track`.
    """

    contents: Contents
    track: Track
    by: User
    protocols: Mapping[str, StoredProtocol]
    teams: dict[str, Team] = field(default_factory=dict)
    assessors: dict[str, str] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    pools: dict[int, Pool] = field(default_factory=dict)
    qrels: dict[int, Qrels] = field(default_factory=dict)

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


def store_files(contents: Contents, store: file_services.Store) -> StoredFiles:
    """Store the files of runs and sessions. The transaction of `store_track` claims them."""
    session_data = {
        record.team: store("interaction", ContentFile(contents.reader.read(record.file)))
        for record in contents.index.session_data
    }
    return StoredFiles(_store_runs(contents, store), session_data)


def _store_runs(contents: Contents, store: file_services.Store) -> dict[int, StoredRun]:
    stored = {}
    for run in contents.index.runs:
        data, checked = contents.reader.read(run.file), contents.checked(run)
        assert checked.columns is not None  # it is verified
        packed = columns.save(checked.columns)
        original = store("runs/original", ContentFile(data))
        stored[run.number] = StoredRun(
            original, store("runs/columns", ContentFile(packed)), len(data) + len(packed)
        )
    return stored


def store_track(contents: Contents, files: StoredFiles, *, slug: str, by: User) -> Track:
    """Store everything but the files.

    Raises
    ------
    LoadRefused, Refused
        Something here prevents it, such as a track with the same short name.
    """
    protocols = {
        slug: protocol_services.store(
            text=contents.reader.read(record.file).decode(), by=by, accepts_earlier=True
        )
        for slug, record in ((each.slug, each) for each in contents.index.protocols)
    }
    load = Loading(contents, _track(contents, protocols, slug), by, protocols)
    _topics(load)
    _guidelines(load)
    _teams(load)
    _assessors(load)
    sessions.store(contents, load.track, teams=load.teams, usernames=load.assessors, files=files.session_data)
    load.runs.update({each.number: _run(load, each, files.runs[each.number]) for each in load.index.runs})
    for pool in load.index.pools:
        load.pools[pool.number] = _pool(load, pool)
    if load.index.n_judgments:
        data = contents.reader.read(JUDGMENTS)
        import_services.import_file(
            track=load.track, name=JUDGMENTS, data=data, assessors=load.assessors, by=by
        )
    load.qrels.update({each.version: _qrels(load, each) for each in load.index.qrels})
    for board in load.index.leaderboards:
        _leaderboard(load, board)
    _check_pages(load)
    return load.track


def _track(contents: Contents, protocols: Mapping[str, StoredProtocol], slug: str) -> Track:
    record = contents.index.track
    slug = slug or record.slug
    if Track.objects.filter(slug=slug).exists():
        raise LoadRefused(
            f"There is already a track with the short name {slug}. Load the archive under another one."
        )
    return Track.objects.create(
        slug=slug,
        name=record.name[:200],
        description=record.description,
        protocol=protocols[record.protocol],
        status=Track.Status.CLOSED,
    )


def _source(topic: TopicRecord) -> str:
    """The XML of a topic of BOLT, if it is such an element."""
    if topic.source:
        try:
            parsed_source(topic.source)
        except Unusable as fault:
            raise LoadRefused(f"The topic {topic.code} of the archive cannot be loaded: {fault}.") from None
    return topic.source


def _topics(load: Loading) -> None:
    """Topics. Their texts are sanitized again, since anybody can have written the archive."""
    Topic.objects.bulk_create(
        (
            Topic(
                track=load.track,
                code=topic.code,
                title=clean_title(topic.title),
                body=clean_body(topic.body),
                narrative=clean_body(topic.narrative),
                tags=[str(tag) for tag in topic.tags],
                labels={str(label): str(value) for label, value in topic.labels.items()},
                formula_id=topic.formula_id,
                latex=topic.latex,
                thread=topic.thread,
                source=_source(topic),
                scenario=topic.scenario,
                criteria=topic.criteria,
                known_item=topic.known_item,
            )
            for topic in load.contents.topics
        ),
        batch_size=AT_ONCE,
    )


def _teams(load: Loading) -> None:
    organizations = load.index.organizations
    teams = Team.objects.bulk_create(
        Team(track=load.track, name=name[:100], organization=str(organizations.get(name, ""))[:200])
        for name in load.index.teams
    )
    load.teams.update({team.name: team for team in teams})


def _guidelines(load: Loading) -> None:
    """The versions of the guidelines; the last one is in force. Examples whose documents are not here are left out."""
    track = load.track
    for record in load.index.guidelines:
        text = load.contents.reader.read(record.file).decode()
        track.guidelines = GuidelinesVersion.objects.create(
            track=track,
            number=record.number,
            text=text,
            html=rendered(track, text).html,
            summary=record.summary[:500],
            published_by=load.by,
            published_at=moment_of(record.published_at),
        )
    track.save(update_fields=["guidelines"])


def _assessors(load: Loading) -> None:
    """An account for each assessor, with which nobody can log in."""
    usernames = {each.name: _username(load.track, each) for each in load.index.assessors}
    taken = User.objects.filter(username__in=usernames.values()).values_list("username", flat=True)
    if taken:
        raise LoadRefused(f"There are already accounts named {', '.join(sorted(taken)[:5])}.")
    for place, record in enumerate(load.index.assessors, 1):
        _assessor(load, record, usernames[record.name], place)
    load.assessors.update(usernames)


def _username(track: Track, record: AssessorRecord) -> str:
    if record.machine is not None:
        return user_name(record.machine.name, record.machine.version, track.slug)
    return f"{track.slug}-{record.name}".lower()[:150]


def _assessor(load: Loading, record: AssessorRecord, username: str, place: int) -> None:
    is_machine = record.machine is not None
    user = User(username=username, is_active=False, is_machine=is_machine)
    user.set_unusable_password()
    user.save()
    pseudonym = None if is_machine else place
    assessor = Assessor.objects.create(
        track=load.track,
        user=user,
        group=record.group[:50],
        ended_at=moment_of(record.ended_at) if record.ended_at else None,
        pseudonym=pseudonym,
    )
    if record.machine is not None:
        name, version = record.machine.name[:60], record.machine.version[:60]
        Machine.objects.create(
            assessor=assessor,
            name=name,
            version=version,
            description=record.machine.description,
            owner=load.by,
            created_by=load.by,
        )


def _run(load: Loading, record: RunRecord, files: StoredRun) -> Run:
    file_services.claim(files.original, files.columns)
    is_withdrawn = record.status == Run.Status.WITHDRAWN
    status = record.status if record.status in Run.Status.values else Run.Status.SUBMITTED
    run = Run.objects.create(
        track=load.track,
        team=load.teams[record.team],
        tag=record.tag,
        kind=record.kind,
        pooled_as=record.pooled_as,
        is_manual=record.is_manual,
        uses=record.uses[:40],
        description=record.description,
        status=status,
        priority=record.priority,
        is_late=record.is_late,
        file_name=record.file_name[-255:],
        original=files.original,
        columns=files.columns,
        n_bytes=files.n_bytes,
        sha256=record.sha256,
        n_lines=record.n_lines,
        n_topics=record.n_topics,
        report=_report(record),
        submitted_by=load.by,
        withdrawn_by=load.by if is_withdrawn else None,
        withdrawn_at=moment_of(record.withdrawn_at or record.submitted_at) if is_withdrawn else None,
    )
    Run.objects.filter(pk=run.pk).update(submitted_at=moment_of(record.submitted_at))
    if record.status == Run.Status.DISQUALIFIED:
        RunChange.objects.create(run=run, kind=RunChange.Kind.DISQUALIFIED, text=record.reason, by=load.by)
    return run


def _report(record: RunRecord) -> dict[str, Any]:
    try:
        return Report.from_json(record.report).as_json()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LoadRefused(f"The report of the run {record.tag} cannot be read: {error}.") from None


def _pool(load: Loading, record: PoolRecord) -> Pool:
    """A pool, built again from its runs, as the site builds it."""
    contents, protocol = load.contents, load.protocols[record.protocol]
    built = contents.built(record)
    computed = statistics(built, contents.inputs(record))
    pooled = [load.runs[each.run] for each in record.runs]
    for of_run, run in zip(computed["runs"], pooled, strict=True):
        of_run["run"], of_run["sha256"] = run.pk, run.sha256
    if built.members is not None:
        computed["members"]["sha256"] = members_digest(built)
    pool = Pool.objects.create(
        track=load.track,
        name=record.name[:100],
        protocol=protocol,
        protocol_digest=protocol.digest,
        seed=record.seed,
        depth=record.depth,
        order=record.order,
        max_runs_per_team=record.max_runs_per_team,
        left_out=[_as_left_out(load.runs[number]) for number in record.left_out],
        tops_up=None if record.tops_up is None else load.pools[record.tops_up],
        status=Pool.Status.READY,
        sha256=record.sha256,
        statistics=computed,
        created_by=load.by,
    )
    PoolRun.objects.bulk_create(
        PoolRun(pool=pool, run=run, sha256=run.sha256, depth=each.depth)
        for each, run in zip(record.runs, pooled, strict=True)
    )
    columns_of = [each.columns for each in contents.inputs(record)]
    passages = citations.passages(protocol.parsed, built, columns_of)
    pool_rows.store(pool, built, passages=passages, run_ids=[run.pk for run in pooled])
    pool.recount, pool.created_at = recounts.recount_of(pool), moment_of(record.created_at)
    pool.save(update_fields=["recount", "created_at"])
    return pool


def _as_left_out(run: Run) -> dict[str, Any]:
    return {"run": run.pk, "team": run.team.name, "tag": run.tag, "sha256": run.sha256}


def _qrels(load: Loading, record: QrelsRecord) -> Qrels:
    """A version under its number."""
    machine = load.assessors.get(record.machine, "")
    qrels = Qrels(
        track=load.track,
        version=record.version,
        name=record.name[:100],
        source=record.source if record.source in Qrels.Source.values else Qrels.Source.IMPORTED,
        pool=None if record.pool is None else load.pools[record.pool],
        protocol=load.protocols[record.protocol],
        report=record.report,
        machine=Machine.objects.filter(assessor__track=load.track, assessor__user__username=machine).first(),
        machine_name=record.machine_name[:130],
        archived_at=timezone.now() if record.is_archived else None,
        created_by=load.by,
    )
    qrels = qrels_services.store_loaded(qrels, load.contents.qrels_columns(record))
    Qrels.objects.filter(pk=qrels.pk).update(created_at=moment_of(record.created_at))
    return qrels


def _leaderboard(load: Loading, record: LeaderboardRecord) -> None:
    """A leaderboard with the values of the archive, hidden until it is released here."""
    board = Leaderboard.objects.create(
        track=load.track,
        qrels=load.qrels[record.qrels],
        protocol_digest=load.contents.protocol(record.protocol).digest,
        measures=record.measures,
        average=record.average,
        status=Leaderboard.Status.READY,
        seed=record.seed,
        created_by=load.by,
    )
    evaluations = Evaluation.objects.bulk_create(
        Evaluation(
            leaderboard=board,
            run=load.runs[each.run],
            run_sha256=load.runs[each.run].sha256,
            n_topics=each.n_topics,
            n_missing=each.n_missing,
            judged_at_10=each.judged_at_10,
            unjudged=each.unjudged,
            curves=each.curves,
        )
        for each in record.evaluations
    )
    of_run = {each.run: evaluation for each, evaluation in zip(record.evaluations, evaluations, strict=True)}
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
        "evaluations": [each.pk for each in evaluations],
        "disqualified": [_as_left_out(load.runs[number]) for number in record.disqualified],
        **shared,
    }
    board.created_at = moment_of(record.created_at)
    board.save(update_fields=["statistics", "created_at"])
    for name in record.analyses:
        analysis = parsed(AnalysisRecord, load.contents.reader.read(name), name)
        analyses.store(
            board,
            analysis,
            runs=load.runs,
            evaluations=evaluations,
            qrels=load.qrels,
            created_at=moment_of(analysis.created_at),
            by=load.by,
        )
    MeasureStatistics.objects.bulk_create(
        _of_measure(board, name, values, len(evaluations))
        for name, values in record.statistics.get("measures", {}).items()
    )


def _of_measure(board: Leaderboard, name: str, values: Mapping[str, Any], n_runs: int) -> MeasureStatistics:
    given = {key: value for key, value in values.items() if key != "p"}
    pairs = None if values["p"] is None else packed_pairs(from_above_diagonal(values["p"], n_runs))
    return MeasureStatistics(leaderboard=board, measure=name, pairs=pairs, **given)


def _check_pages(load: Loading) -> None:
    """Refuse reports of another form, which a page could not show."""
    try:
        for qrels in load.track.qrels.all():
            qrels_page(load.by, qrels)
        for board in load.track.leaderboards.all():
            leaderboard_page(load.by, board)
            reports_page(load.by, board)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LoadRefused(
            f"A report in the archive is not of the form that Assay writes: {error!r}."
        ) from error
