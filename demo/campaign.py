"""The steps of the demo. Each calls the service that the pages use, and each is done once.

A step first checks whether its result exists, so that a demo that was killed continues where it stopped. The judgments
of the current year are the last step, and nobody can delete judgments. When all of them exist, the demo is complete,
and the command leaves later changes alone.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings
from django.core.files import File
from django.db import connection
from django.utils import timezone

from assay.errors import Refused
from assay.formats.declaration import Declaration
from assessment.batches import services as batch_services
from assessment.models import Batch
from assessment.planning import services as assignment_services
from corpus.collections.selectors import unfinished_import
from corpus.imports import services as import_services
from corpus.imports.recognition import Source
from corpus.locations import UPLOAD
from corpus.models import Collection
from demo import content, judging, make_runs, people
from jobs import services as jobs
from jobs.files import storage
from jobs.models import Job
from participation.models import Team
from participation.teams import services as team_services
from pooling.models import Pool, Run
from pooling.pools import services as pool_services
from pooling.runs import services as run_services
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard, Qrels
from scoring.qrels import services as qrels_services
from tracks.assessors import services as assessor_services
from tracks.deadlines import services as deadline_services
from tracks.deadlines.services import NewMilestone
from tracks.downloads import jobs as download_jobs
from tracks.downloads import services as download_services
from tracks.guidelines import services as guidelines_services
from tracks.models import Download, GuidelinesDraft, Organizer, SitePage, StoredProtocol, Topic, Track
from tracks.pages import services as page_services
from tracks.protocols import services as protocol_services
from tracks.topics.services import import_labels, import_topics
from tracks.tracks import services as track_services

COLLECTION = "math"
PROTOCOL = "arqmath-2021-task1"
POOL = "Main pool"
BATCH = "Main round"
DUAL_BATCH = "Second opinion"
BASELINES = ("tf-idf", "bm25") if "baselines" in settings.EXTENSIONS else ()
BASELINE_DEPTH = 12  # documents per topic, as the runs of the teams have
TASK = (
    "Given a question of a mathematics forum, find the answers of earlier threads that help to solve it.\n\n"
    "Teams may use the text, the formulas, or both. Assessors judge the pooled answers with four grades."
)
CREATED_AT, RUNS_AT, RELEASED_AT = (
    datetime(2025, month, day, 12, tzinfo=UTC) for month, day in ((2, 3), (5, 28), (8, 1))
)  # of the track that is over
LICENSE = "Written for Assay, under its license"
WAIT_SECONDS = 120
LOCK = 0x44454D4F  # any number that every demo uses

Say = Callable[[str, bool], None]  # a message, and whether the user must read it


@dataclass(frozen=True)
class Year:
    """One track.

    `depth` replaces depths of the protocol. `given` are the topics of each assessor, `given_twice` the topics of others
    that they judge afterwards. `judged` is the judged share of a topic that is not complete.
    """

    year: int
    seed: int
    depth: Mapping[str, int]
    given: judging.Given
    judged: judging.Judged
    given_twice: judging.Given
    is_over: bool

    @property
    def slug(self) -> str:
        return f"demo-{self.year}"


LAST = Year(
    year=2025,
    seed=2025,
    depth={"primary": 6, "alternate": 5},  # most of the top ten documents are judged
    given={
        name: tuple(f"A.{number}" for number in range(first, 126, 3))
        for first, name in enumerate(people.ASSESSORS, 101)
    },
    judged={},
    given_twice={"ada": ("A.103",), "emmy": ("A.101",), "sofia": ("A.102",)},
    is_over=True,
)
THIS = Year(
    year=2026,
    seed=2026,
    depth={},
    given={"ada": ("A.201", "A.204", "A.207"), "emmy": ("A.202", "A.205"), "sofia": ("A.203", "A.206")},
    judged={"A.204": 0, "A.205": 0.5, "A.206": 0, "A.207": 0},
    given_twice={},
    is_over=False,
)


def make(*, password: str, say: Say) -> bool:
    """Create what is missing in the demo; False if nothing is missing. Two concurrent calls run one after the other.

    Raises:
        Refused: One of the logins belongs to another user, a job failed, or a worker took too long for it.
    """
    with _alone():
        if is_complete():
            return False
        cast, is_new = people.make_people(password)
        if is_new:  # first, because a random password is stored nowhere else
            say(f"created the logins with the password {password}", password != people.PASSWORD)
        protocol_services.load_shipped()
        say("importing the collection", False)
        if not SitePage.objects.exists():
            page_services.publish(
                name=SitePage.Name.CONTACT, text=content.CONTACT, revision=0, by=cast.organizer
            )
        collection = _collection(COLLECTION, content.HOST, content.collection(), cast)
        for year in (LAST, THIS):
            say(f"creating the track {year.slug}", False)
            track = _track(year, collection, cast)
            # An organizer may have begun to write other guidelines.
            if not GuidelinesDraft.objects.filter(track=track).exists():
                guidelines_services.publish(
                    track=track, text=content.guidelines(year.year), revision=0, by=cast.organizer
                )
            _milestones(year, track)
            _runs(year, track, cast)
            if BASELINES:
                _baselines(track, cast)
            _documents(track, cast)
            existing = Pool.objects.filter(track=track, name=POOL).first()
            pool = existing or pool_services.request(
                track=track, name=POOL, seed=year.seed, depth=year.depth, by=cast.organizer
            )
            if pool.status != Pool.Status.READY and pool.job is not None:
                finish(pool_services.request_preview(track=track, tops_up=None, by=cast.organizer))
                finish(pool.job)
                pool.refresh_from_db()
            batch = _batch(pool, BATCH, Batch.Kind.MAIN, year.given, cast)
            if batch.status == Batch.Status.OPEN:
                judging.judge(batch, year.given, year.judged)
            if year.is_over:
                _end(year, pool, batch, cast)
    return True


def is_complete() -> bool:
    """Return whether the last step was ever done."""
    batch = Batch.objects.filter(pool__track__slug=THIS.slug, name=BATCH).first()
    return batch is not None and judging.is_done(batch, THIS.given, THIS.judged)


@contextmanager
def _alone() -> Iterator[None]:
    """Hold a lock, which PostgreSQL releases if the process dies."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


def finish(job: Job) -> None:
    """Run a job in this process, or wait for the worker that runs it."""
    deadline = time.monotonic() + WAIT_SECONDS
    jobs.run(job.pk)
    job.refresh_from_db()
    while not job.is_finished and time.monotonic() < deadline:
        time.sleep(0.2)
        jobs.run(job.pk)
        job.refresh_from_db()
    if not job.is_finished:
        raise Refused(f"“{job.title}” did not finish within {WAIT_SECONDS} seconds. Check its worker.")
    if job.state == Job.State.FAILED:
        raise Refused(f"“{job.title}” failed. {job.error}")


def _collection(slug: str, name: str, posts: list[content.Post], cast: people.People) -> Collection:
    existing = Collection.objects.filter(slug=slug).first()
    collection = existing or import_services.create_collection(
        slug=slug, name=name, hosts=[content.HOST], license=LICENSE
    )
    if collection.status == Collection.Status.READY:
        return collection
    job = unfinished_import(collection)
    if job is None:  # from the storage, so that a worker on any machine can read the files
        with TemporaryDirectory() as folder, storage.storing() as store:
            sources = []
            for path in content.write_dump(posts, Path(folder)):
                with path.open("rb") as file:
                    sources.append(Source(UPLOAD + store("imports", File(file)), path.name))
            job = import_services.start_import(collection=collection, sources=sources, by=cast.organizer)
    finish(job)
    collection.refresh_from_db()
    return collection


def _track(year: Year, collection: Collection, cast: people.People) -> Track:
    posts = content.topic_threads(year.year)
    threads = _collection(
        f"{COLLECTION}-topics-{year.year}", f"{content.HOST}: topics of {year.year}", posts, cast
    )
    track, _ = Track.objects.get_or_create(
        slug=year.slug,
        defaults={
            "name": f"Demo {year.year}",
            "description": TASK,
            "protocol": StoredProtocol.objects.get(slug=PROTOCOL),
            "collection": collection,
            "topic_collection": threads,
        },
    )
    Organizer.objects.get_or_create(track=track, user=cast.organizer)
    if track.status == Track.Status.DRAFT:
        import_topics(track=track, data=content.topic_file(posts), name=f"topics-{year.year}.xml")
        import_labels(track=track, data=content.label_file(posts), name=f"labels-{year.year}.csv")
        for assessor in cast.assessors:
            assessor_services.add(track=track, user=assessor)
        track = track_services.open_for_runs(track=track)
    return track


def _milestones(year: Year, track: Track) -> None:
    """The dates of the current year are around today."""
    if track.milestones.exists():
        return
    today = timezone.now().date()
    dates = [
        NewMilestone(title, today + timedelta(days=start), today + timedelta(days=end) if end else None)
        for title, start, end in content.MILESTONES
    ]
    if year.is_over:
        dates = [NewMilestone(*each) for each in content.MILESTONES_OF_LAST]
    deadline_services.set_milestones(track=track, milestones=dates)


def _runs(year: Year, track: Track, cast: people.People) -> None:
    submitters = {user.username: user for user in cast.members}
    member_of = {team: submitters[username] for username, team in people.MEMBERS.items()}
    for system in make_runs.systems_of(year.year):
        if Run.objects.filter(track=track, tag=system.tag).exists():
            continue
        member = member_of.get(system.team)
        team = Team.objects.filter(track=track, name=system.team).first() or team_services.create(
            track=track, name=system.team, members=[member] if member else []
        )
        run_services.submit(
            track=track,
            team=team,
            by=member or cast.organizer,
            file=BytesIO(make_runs.text_of(system, year.year).encode()),
            file_name=f"{system.tag}.tsv",
            arrived_at=RUNS_AT if year.is_over else None,
            declared=Declaration(
                kind=system.kind,
                is_manual=system.is_manual,
                uses=system.uses,
                description=system.description,
            ),
        )


def _baselines(track: Track, cast: people.People) -> None:
    """Make the organizers' runs as their page does, and give their files to everybody."""
    from assay_extensions.baselines.site import selectors, services  # noqa: PLC0415 -- a site may not have them

    for method in BASELINES:
        if not Run.objects.filter(track=track, tag=method).exists():
            of_run = Job.objects.filter(
                kind=selectors.KIND, arguments__track_id=track.pk, arguments__tag=method
            )
            finish(
                of_run.exclude(state=Job.State.FAILED).first()
                or services.request(
                    track=track,
                    by=cast.organizer,
                    method=method,
                    team=selectors.TEAM,
                    tag=method,
                    depth=BASELINE_DEPTH,
                )
            )
        run = Run.objects.get(track=track, tag=method)
        if not Download.objects.filter(track=track, name=selectors.download_name(run)).exists():
            download = services.offer(run=run, by=cast.organizer)
            release = download_services.Release(Download.Audience.EVERYONE, timezone.now())
            download_services.edit(download=download, release=release)


def _documents(track: Track, cast: people.People) -> None:
    """Export the collection as the page of downloads does, and give its files to everybody."""
    parts = Download.objects.filter(track=track, kind=Download.Kind.COLLECTION)
    if not parts.exists():
        job = Job.objects.filter(kind="tracks.downloads.export", arguments__track_id=track.pk).exclude(
            state=Job.State.FAILED
        )
        finish(job.first() or download_jobs.request_export(track=track, by=cast.organizer))
    for download in parts.filter(released_at=None):
        release = download_services.Release(Download.Audience.EVERYONE, timezone.now())
        download_services.edit(download=download, release=release)


def _batch(pool: Pool, name: str, kind: str, given: judging.Given, cast: people.People) -> Batch:
    existing = Batch.objects.filter(pool=pool, name=name).first()
    batch = existing or batch_services.create(pool=pool, name=name, kind=kind, by=cast.organizer)
    if batch.status == Batch.Status.DRAFT:
        assigned = set(batch.topic_assignments.values_list("topic__code", flat=True))
        for assessor in cast.assessors:
            codes = set(given.get(assessor.username, ())) - assigned
            topics = Topic.objects.filter(track=pool.track, code__in=codes)
            assignment_services.assign(batch=batch, assessor=assessor, topics=topics)
        batch = batch_services.open_for_judging(batch=batch)
    return batch


def _end(year: Year, pool: Pool, main: Batch, cast: people.People) -> None:
    """Close for runs, judge twice, close the batches, freeze the qrels, score and release."""
    if pool.track.status == Track.Status.OPEN:
        track_services.close(track=pool.track)
    dual = _batch(pool, DUAL_BATCH, Batch.Kind.DUAL, year.given_twice, cast)
    if dual.status == Batch.Status.OPEN:
        judging.judge(dual, year.given_twice, {})
    for batch in (main, dual):
        if batch.status == Batch.Status.OPEN:
            batch_services.close(batch=batch)
    qrels = Qrels.objects.filter(pool=pool).first() or qrels_services.freeze_judgments(
        pool=pool, by=cast.organizer
    )
    board = qrels.leaderboards.first() or leaderboard_services.request(
        qrels=qrels, by=cast.organizer, seed=year.seed
    )
    if board.job is not None:
        finish(board.job)
    leaderboard_services.release(leaderboard=board, level=Leaderboard.Release.PUBLIC, by=cast.organizer)
    _put_back(pool.track, board)


def _put_back(track: Track, board: Leaderboard) -> None:
    """Show dates of its year for the track that is over. The audit log keeps the real ones."""
    Track.objects.filter(pk=track.pk).update(created_at=CREATED_AT, is_closed_by_deadline=True)
    Run.objects.filter(track=track).update(submitted_at=RUNS_AT)
    Leaderboard.objects.filter(pk=board.pk).update(released_at=RELEASED_AT)
