"""Stores the contents of a verified archive as a new track. The caller opens the transaction."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.core.files.base import ContentFile
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from accounts.models import User
from archives import analyses
from archives.errors import LoadRefused
from assay.archive.contents import Contents
from assay.archive.records import (
    JUDGMENTS,
    AnalysisRecord,
    AssessorRecord,
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
from pooling.models import Nomination, Pool, PoolRun, Run, RunChange, Team
from pooling.pools import citations
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


class StoredFiles(NamedTuple):
    """The names under which the files of a run are stored, and their size."""

    original: str
    columns: str
    n_bytes: int


def store_files(contents: Contents, store: file_services.Store) -> dict[int, StoredFiles]:
    """Store the files of all runs, by the numbers of the runs. The transaction of `store_track` claims them."""
    stored = {}
    for run in contents.index.runs:
        data, checked = contents.reader.read(run.file), contents.checked(run)
        assert checked.columns is not None  # it is verified
        packed = columns.save(checked.columns)
        original = store("runs/original", ContentFile(data))
        stored[run.number] = StoredFiles(
            original, store("runs/columns", ContentFile(packed)), len(data) + len(packed)
        )
    return stored


def store_track(contents: Contents, files: Mapping[int, StoredFiles], *, slug: str, by: User) -> Track:
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
    track = _track(contents, protocols, slug)
    _topics(track, contents.topics)
    _guidelines(track, contents, by)
    teams = Team.objects.bulk_create(Team(track=track, name=name[:100]) for name in contents.index.teams)
    _sessions(contents, {team.name: team for team in teams}, track)
    assessors = _assessors(track, contents, by)
    runs = _runs(track, contents, files, {team.name: team for team in teams}, by)
    pools = _pools(track, contents, protocols, runs, by)
    if contents.index.n_judgments:
        data = contents.reader.read(JUDGMENTS)
        import_services.import_file(track=track, name=JUDGMENTS, data=data, assessors=assessors, by=by)
    qrels = _qrels(track, contents, protocols, pools, assessors, by)
    for board in contents.index.leaderboards:
        _leaderboard(track, contents, board, qrels, runs, by)
    _check_pages(track, by)
    return track


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


def _topics(track: Track, topics: Iterable[TopicRecord]) -> None:
    """Topics. Their texts are sanitized again, since anybody can have written the archive."""
    Topic.objects.bulk_create(
        (
            Topic(
                track=track,
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
            for topic in topics
        ),
        batch_size=AT_ONCE,
    )


def _sessions(contents: Contents, teams: Mapping[str, Team], track: Track) -> None:
    """The nominations of the interaction; the seconds are those of the archive, wherever the session was held."""
    topics = {topic.code: topic for topic in track.topics.all()}
    records = contents.index.sessions
    for each in records:
        is_known = each.team in teams and each.topic in topics
        if not is_known or each.place < 1 or not 0 <= (each.seconds or 0.0) < math.inf:
            raise LoadRefused(
                f"The session of “{each.team[:80]}” on the topic “{each.topic[:80]}” cannot be loaded: it needs a team "
                "and a topic of the archive, a place from 1, and seconds of at least 0."
            )
    for names in (
        [(each.team, each.topic) for each in records],
        [(each.team, each.place) for each in records],
    ):
        if len(set(names)) < len(names):
            raise LoadRefused("The archive has two sessions of a team with the same topic or place.")
    Nomination.objects.bulk_create(
        Nomination(
            team=teams[each.team], topic=topics[each.topic], place=each.place, logged_seconds=each.seconds
        )
        for each in records
    )


def _guidelines(track: Track, contents: Contents, by: User) -> None:
    """The versions of the guidelines; the last one is in force. Examples whose documents are not here are left out."""
    for record in contents.index.guidelines:
        text = contents.reader.read(record.file).decode()
        track.guidelines = GuidelinesVersion.objects.create(
            track=track,
            number=record.number,
            text=text,
            html=rendered(track, text).html,
            summary=record.summary[:500],
            published_by=by,
        )
    track.save(update_fields=["guidelines"])


def _assessors(track: Track, contents: Contents, by: User) -> dict[str, str]:
    """An account for each assessor, with which nobody can log in. Returns the usernames by the names of the archive."""
    usernames = {each.name: _username(track, each) for each in contents.index.assessors}
    taken = User.objects.filter(username__in=usernames.values()).values_list("username", flat=True)
    if taken:
        raise LoadRefused(f"There are already accounts named {', '.join(sorted(taken)[:5])}.")
    for place, record in enumerate(contents.index.assessors, 1):
        _assessor(track, record, usernames[record.name], place, by)
    return usernames


def _username(track: Track, record: AssessorRecord) -> str:
    if record.machine is not None:
        return user_name(record.machine.name, record.machine.version, track.slug)
    return f"{track.slug}-{record.name}".lower()[:150]


def _assessor(track: Track, record: AssessorRecord, username: str, place: int, by: User) -> None:
    is_machine = record.machine is not None
    user = User(username=username, is_active=False, is_machine=is_machine)
    user.set_unusable_password()
    user.save()
    pseudonym = None if is_machine else place
    assessor = Assessor.objects.create(track=track, user=user, group=record.group[:50], pseudonym=pseudonym)
    if record.machine is not None:
        name, version = record.machine.name[:60], record.machine.version[:60]
        Machine.objects.create(
            assessor=assessor,
            name=name,
            version=version,
            description=record.machine.description,
            owner=by,
            created_by=by,
        )


def _runs(
    track: Track, contents: Contents, files: Mapping[int, StoredFiles], teams: Mapping[str, Team], by: User
) -> dict[int, Run]:
    return {
        record.number: _run(track, record, files[record.number], teams[record.team], by)
        for record in contents.index.runs
    }


def _run(track: Track, record: RunRecord, files: StoredFiles, team: Team, by: User) -> Run:
    file_services.claim(files.original, files.columns)
    is_withdrawn = record.status == Run.Status.WITHDRAWN
    status = record.status if record.status in Run.Status.values else Run.Status.SUBMITTED
    run = Run.objects.create(
        track=track,
        team=team,
        tag=record.tag,
        kind=record.kind,
        pooled_as=record.pooled_as,
        is_manual=record.is_manual,
        uses=record.uses,
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
        submitted_by=by,
        withdrawn_by=by if is_withdrawn else None,
        withdrawn_at=_time(record.withdrawn_at or record.submitted_at) if is_withdrawn else None,
    )
    Run.objects.filter(pk=run.pk).update(submitted_at=_time(record.submitted_at))
    if record.status == Run.Status.DISQUALIFIED:
        RunChange.objects.create(run=run, kind=RunChange.Kind.DISQUALIFIED, text=record.reason, by=by)
    return run


def _report(record: RunRecord) -> dict[str, Any]:
    try:
        return Report.from_json(record.report).as_json()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LoadRefused(f"The report of the run {record.tag} cannot be read: {error}.") from None


def _time(text: str) -> datetime:
    moment = parse_datetime(text)
    if moment is None or moment.tzinfo is None:
        raise LoadRefused(f"“{text[:40]}” is not a time with a zone.")
    return moment


def _pools(
    track: Track,
    contents: Contents,
    protocols: Mapping[str, StoredProtocol],
    runs: Mapping[int, Run],
    by: User,
) -> dict[int, Pool]:
    pools: dict[int, Pool] = {}
    for record in contents.index.pools:
        pools[record.number] = _pool(track, contents, record, protocols, pools, runs, by)
    return pools


def _pool(
    track: Track,
    contents: Contents,
    record: PoolRecord,
    protocols: Mapping[str, StoredProtocol],
    earlier: Mapping[int, Pool],
    runs: Mapping[int, Run],
    by: User,
) -> Pool:
    """A pool, built again from its runs, as the site builds it."""
    built = contents.built(record)
    protocol = protocols[record.protocol]
    computed = statistics(built, contents.inputs(record))
    pooled = [runs[each.run] for each in record.runs]
    for of_run, run in zip(computed["runs"], pooled, strict=True):
        of_run["run"], of_run["sha256"] = run.pk, run.sha256
    if built.members is not None:
        computed["members"]["sha256"] = members_digest(built)
    pool = Pool.objects.create(
        track=track,
        name=record.name[:100],
        protocol=protocol,
        protocol_digest=protocol.digest,
        seed=record.seed,
        depth=record.depth,
        order=record.order,
        max_runs_per_team=record.max_runs_per_team,
        left_out=[_as_left_out(runs[number]) for number in record.left_out],
        tops_up=None if record.tops_up is None else earlier[record.tops_up],
        status=Pool.Status.READY,
        sha256=record.sha256,
        statistics=computed,
        created_by=by,
    )
    PoolRun.objects.bulk_create(
        PoolRun(pool=pool, run=run, sha256=run.sha256, depth=each.depth)
        for each, run in zip(record.runs, pooled, strict=True)
    )
    columns_of = [each.columns for each in contents.inputs(record)]
    passages = citations.passages(protocol.parsed, built, columns_of)
    pool_rows.store(pool, built, passages=passages, run_ids=[run.pk for run in pooled])
    return pool


def _as_left_out(run: Run) -> dict[str, Any]:
    return {"run": run.pk, "team": run.team.name, "tag": run.tag, "sha256": run.sha256}


def _qrels(
    track: Track,
    contents: Contents,
    protocols: Mapping[str, StoredProtocol],
    pools: Mapping[int, Pool],
    usernames: Mapping[str, str],
    by: User,
) -> dict[int, Qrels]:
    return {
        record.version: _version(track, contents, record, protocols, pools, usernames, by)
        for record in contents.index.qrels
    }


def _version(
    track: Track,
    contents: Contents,
    record: QrelsRecord,
    protocols: Mapping[str, StoredProtocol],
    pools: Mapping[int, Pool],
    usernames: Mapping[str, str],
    by: User,
) -> Qrels:
    """A version under its number."""
    machine = usernames.get(record.machine, "")
    qrels = Qrels(
        track=track,
        version=record.version,
        name=record.name[:100],
        source=record.source if record.source in Qrels.Source.values else Qrels.Source.IMPORTED,
        pool=None if record.pool is None else pools[record.pool],
        protocol=protocols[record.protocol],
        report=record.report,
        machine=Machine.objects.filter(assessor__track=track, assessor__user__username=machine).first(),
        machine_name=record.machine_name[:130],
        archived_at=timezone.now() if record.is_archived else None,
        created_by=by,
    )
    return qrels_services.store_loaded(qrels, contents.qrels_columns(record))


def _leaderboard(
    track: Track,
    contents: Contents,
    record: LeaderboardRecord,
    qrels: Mapping[int, Qrels],
    runs: Mapping[int, Run],
    by: User,
) -> None:
    """A leaderboard with the values of the archive, hidden until it is released here."""
    board = Leaderboard.objects.create(
        track=track,
        qrels=qrels[record.qrels],
        protocol_digest=contents.protocol(record.protocol).digest,
        measures=record.measures,
        average=record.average,
        status=Leaderboard.Status.READY,
        seed=record.seed,
        created_by=by,
    )
    evaluations = Evaluation.objects.bulk_create(
        Evaluation(
            leaderboard=board,
            run=runs[each.run],
            run_sha256=runs[each.run].sha256,
            n_topics=each.n_topics,
            n_missing=each.n_missing,
            judged_at_10=each.judged_at_10,
            unjudged=each.unjudged,
            curves=each.curves,
        )
        for each in record.evaluations
    )
    of_run = {each.run: evaluation for each, evaluation in zip(record.evaluations, evaluations, strict=True)}
    scores = contents.stored_scores(record).items()
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
        "disqualified": [_as_left_out(runs[number]) for number in record.disqualified],
        **shared,
    }
    board.save(update_fields=["statistics"])
    for name in record.analyses:
        analysis = parsed(AnalysisRecord, contents.reader.read(name), name)
        created_at = _time(analysis.created_at)
        analyses.store(
            board, analysis, runs=runs, evaluations=evaluations, qrels=qrels, created_at=created_at, by=by
        )
    MeasureStatistics.objects.bulk_create(
        _of_measure(board, name, values, len(evaluations))
        for name, values in record.statistics.get("measures", {}).items()
    )


def _of_measure(board: Leaderboard, name: str, values: Mapping[str, Any], n_runs: int) -> MeasureStatistics:
    given = {key: value for key, value in values.items() if key != "p"}
    pairs = None if values["p"] is None else packed_pairs(from_above_diagonal(values["p"], n_runs))
    return MeasureStatistics(leaderboard=board, measure=name, pairs=pairs, **given)


def _check_pages(track: Track, by: User) -> None:
    """Refuse reports of another form, which a page could not show."""
    try:
        for qrels in track.qrels.all():
            qrels_page(by, qrels)
        for board in track.leaderboards.all():
            leaderboard_page(by, board)
            reports_page(by, board)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LoadRefused(
            f"A report in the archive is not of the form that Assay writes: {error!r}."
        ) from error
