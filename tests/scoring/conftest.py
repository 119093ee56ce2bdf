"""The scene of most tests of scoring: a track with a pool of three topics, two teams, and users of every role."""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import pytest
from django.conf import LazySettings

from accounts.models import User
from assay.formats.qrels.reader import parse_qrels
from assessment.judging import services as task_services
from assessment.models import Batch
from jobs import services as jobs
from participation.models import Team
from participation.teams import services as team_services
from pooling.models import Pool, PoolEntry, Run
from pooling.runs import services as run_services
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard, Qrels
from scoring.qrels import services as qrels_services
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track, make_user
from tests.helpers.judging import judge, make_batch
from tests.helpers.remembered import remembered
from tracks.models import Topic, Track

UNITS = ["10", "9", "é"]  # pooled for every topic
QRELS = b"A.1 0 10 3\nA.1 0 9 0\nA.10 0 10 2\nA.10 0 9 1\nA.2 0 10 0\nA.2 0 \xc3\xa9 2\n"


@dataclass
class Scene:
    """`ours` has the good run and `theirs` the poor run. Ada and Bob judge. The stranger has no role."""

    track: Track
    topics: dict[str, Topic]
    pool: Pool
    ours: Team
    theirs: Team
    member: User
    other: User
    organizer: User
    ada: User
    bob: User
    stranger: User

    def submit(self, team: Team, tag: str, ranking: str, kind: str = "primary") -> Run:
        """A run with one ranking for all topics: docnos separated by spaces."""
        lines = [
            f"{code}\t{docno}\t{rank}\t{100 - rank}\t{tag}\n"
            for code in self.topics
            for rank, docno in enumerate(ranking.split(), 1)
        ]
        return self.submit_lines(team, tag, lines, kind)

    def submit_lines(self, team: Team, tag: str, lines: list[str], kind: str = "primary") -> Run:
        return run_services.submit(
            track=self.track,
            team=team,
            by=self.organizer,
            file=BytesIO("".join(lines).encode()),
            file_name=f"{tag}.tsv",
            declared=run_services.Declaration(kind=kind),
        )

    def batch(self, given: dict[User, list[str]], kind: str = Batch.Kind.MAIN) -> Batch:
        return make_batch(
            self.pool, {user: [self.topics[c] for c in codes] for user, codes in given.items()}, kind=kind
        )

    def judge(self, batch: Batch, assessor: User, *choices: str) -> None:
        """Submit one choice per task, in order: topics by code, units as in `UNITS`."""
        for choice in choices:
            task = task_services.accept_next(batch=batch, assessor=assessor)
            assert task is not None
            judge(task, choice, comment="why")

    def judged(self, *choices: str) -> Batch:
        """A main batch in which Ada judges all three topics."""
        batch = self.batch({self.ada: list(self.topics)})
        self.judge(batch, self.ada, *choices)
        return batch

    def qrels(self, text: bytes = QRELS, name: str = "") -> Qrels:
        columns = parse_qrels(text)
        return qrels_services.import_file(
            track=self.track, columns=columns, file_name="q.txt", by=self.organizer, name=name
        )

    def leaderboard(self, qrels: Qrels | None = None, release: str = "") -> Leaderboard:
        """A leaderboard, scored by a job in this process."""
        board = leaderboard_services.request(qrels=qrels or self.qrels(), by=self.organizer)
        assert board.job is not None
        jobs.run(board.job.pk)
        if release:
            leaderboard_services.release(
                leaderboard=board, level=release, by=self.organizer, reason="A test."
            )
        board.refresh_from_db()
        return board


@remembered
def build_scene(protocol: str = "arqmath-2020-task1") -> Scene:
    track = make_track("arq", protocol=protocol, name="ARQ", collection=None)
    topics = {code: make_topic(track, code) for code in ("A.1", "A.10", "A.2")}
    organizer, member, other = make_organizer("olga"), make_user("mia"), make_user("otto")
    pool = Pool.objects.create(
        track=track,
        name="Pool 1",
        protocol=track.protocol,
        protocol_digest=track.protocol.digest,
        seed=7,
        sha256="f" * 64,
        status=Pool.Status.READY,
        created_by=organizer,
    )
    PoolEntry.objects.bulk_create(
        PoolEntry(pool=pool, topic=topic, docno=docno, position=position)
        for topic in topics.values()
        for position, docno in enumerate(UNITS)
    )
    return Scene(
        track=track,
        topics=topics,
        pool=pool,
        ours=team_services.create(track=track, name="Ours", members=[member]),
        theirs=team_services.create(track=track, name="Theirs", members=[other]),
        member=member,
        other=other,
        organizer=organizer,
        ada=make_assessor(track, "ada"),
        bob=make_assessor(track, "bob"),
        stranger=make_user("sam"),
    )


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, settings: LazySettings, tmp_path: Path) -> None:
    """Tests run jobs themselves, without a worker. Each test has its own folder for files."""
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    settings.MEDIA_ROOT = tmp_path / "files"


@remembered
def build_scored() -> Scene:
    """The scene with a good run of ours and a poor baseline of theirs."""
    scene = build_scene()
    scene.submit(scene.ours, "good", "10 é 9")
    scene.submit(scene.theirs, "poor", "x 9 10", kind="baseline")
    return scene


@pytest.fixture
def scene(db: None, request: pytest.FixtureRequest) -> Scene:
    """The scene, with two runs if the test also has the fixture `scored`."""
    return build_scored() if "scored" in request.fixturenames else build_scene()


@pytest.fixture
def scored(scene: Scene) -> Scene:
    return scene
