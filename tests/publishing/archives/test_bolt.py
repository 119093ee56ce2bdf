"""Archives of BOLT's campaigns: citations of the topic developers, and the interaction."""

import json
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from uuid import uuid4

import pytest
from django.db.models import F

from assay import samples
from assay.archive.contents import Reader
from assay.formats.declaration import Declaration
from assay.protocols.schema import InteractionRules
from assessment.judging import services as task_services
from assessment.judgments import services as judgment_services
from jobs import services as jobs
from participation.interaction import services as interaction
from participation.models import Interaction, Nomination, Team, TeamDocument
from participation.teams import services as team_services
from pooling.runs import services as run_services
from publishing.models import LoadedArchive
from scoring.leaderboards import services as leaderboard_services
from scoring.leaderboards.files import leaderboard_file
from scoring.leaderboards.interaction import interaction_file
from scoring.models import Leaderboard
from scoring.qrels import services as qrels_services
from tests.helpers.bolt_campaign import build_campaign
from tests.helpers.factories import make_organizer
from tests.helpers.judging import make_batch, make_team_document
from tests.publishing.archives.conftest import archive_of, written
from tests.publishing.archives.test_services import findings_of, load, rewritten
from tracks.assessors.selectors import code_names
from tracks.models import Topic, Track

CITE = '<rules><cite rel="yes" thread="bolt-arz-DF-2-202" post="p2" offset="105" length="20">owls</cite>'


@pytest.fixture
def board(db: None) -> Leaderboard:
    """Nobody judges anything relevant, but the developers of a topic cite a relevant passage."""
    bolt = build_campaign()
    topic = bolt.track.topics.get(code="BIR_2")
    Topic.objects.filter(pk=topic.pk).update(source=topic.source.replace("<rules>", CITE))
    batch = make_batch(bolt.pool, {bolt.ada: list(bolt.track.topics.all())})
    while task := task_services.accept_next(batch=batch, assessor=bolt.ada):
        is_arabic = task.entry.document is not None and task.entry.document.language == "arz"
        answers = {"dialect": "yes"} if is_arabic else {}
        judgment_services.submit(task=task, choice="no", answers=answers, request_id=uuid4())
    team, by = bolt.track.teams.get(name="Owls"), bolt.organizer
    team_services.write_documents(team=team, documents={"preprocessing": "We drop\nquotations."})
    make_team_document(team, by, title="Our notes", word="preprocessing", is_public=True)
    make_team_document(team, by, title="A draft")
    interaction.nominate(team=team, codes=["BIR_2", "BIR_1"], by=by)
    interaction.set_address(
        team=team, address="https://owls.example.org", by=by, site="https://assay.example.org"
    )
    interaction.plan(team=team, n=1, assessor=bolt.ada, by=by)
    session = interaction.start(nomination=team.nominations.get(topic=topic), by=bolt.ada)
    Nomination.objects.filter(pk=session.pk).update(started_at=F("started_at") - timedelta(seconds=61))
    interaction.end(nomination=session, by=bolt.ada)
    interaction.log(team=team, file=BytesIO(b"BIR_1 30.5\n"), by=by)
    interaction.store_data(team=team, file=BytesIO(b"owls,owls\n"), file_name="clicks of Olive.csv", by=by)
    run = (
        samples.path("runs/bolt-owls.xml")
        .read_bytes()
        .replace(b'run="evaluation"', b'run="post-interaction"')
    )
    run_services.submit(
        track=bolt.track, team=team, by=by, file=BytesIO(run), file_name="post.xml",
        declared=Declaration(kind="post-interaction"),
    )  # fmt: skip
    qrels = qrels_services.freeze_judgments(pool=bolt.pool, by=by)
    board = leaderboard_services.request(qrels=qrels, by=by)
    jobs.run(board.job_id)  # type: ignore[arg-type]
    board.refresh_from_db()
    return board


def files_of(board: Leaderboard, rules: InteractionRules) -> list[str]:
    tables = [leaderboard_file(board, kind) for kind in ("tsv", "csv")]
    return [*tables, "".join(interaction_file(board.created_by, board, rules))]


def test_a_campaign_of_bolt_is_verified_and_loaded_with_its_interaction(
    board: Leaderboard, tmp_path: Path
) -> None:
    rules = board.track.protocol.parsed.interaction
    assert rules is not None
    path = written(archive_of(board.track, board.created_by), tmp_path)
    _made.append(path.read_bytes())

    findings = findings_of(path)
    loaded = load(path, board.created_by, slug="again")

    assert [finding for finding in findings if not finding.is_right] == []
    assert "2 nominated, 2 held, files of data: 1" in {finding.content for finding in findings}
    assert loaded.status == LoadedArchive.Status.LOADED
    again = Track.objects.get(slug="again").leaderboards.get()
    assert files_of(again, rules) == files_of(board, rules)
    sessions = Nomination.objects.filter(team__track=again.track).order_by("place")
    code = code_names(board.track)[Nomination.objects.get(team__track=board.track, place=1).assessor_id]
    assert [(each.logged_seconds, str(each.assessor or "")) for each in sessions] == [
        (None, f"again-{code.lower()}"),
        (30.5, ""),
    ]
    assert _documents(again.track) == {"Harbor": {}, "Owls": {"preprocessing": "We drop\nquotations."}}
    data = Interaction.objects.get(team__track=again.track)
    with data.data.open("rb") as file:
        assert (file.read(), data.data_name) == (b"owls,owls\n", "clicks of Olive.csv")
    document = TeamDocument.objects.get(team__track=again.track)
    with document.file.open("rb") as file:
        assert (file.read(), document.size) == (b"%PDF-1.7", 8)
    runs = [each.track.runs.get(kind="evaluation") for each in (board, again)]
    stored = []
    for run in runs:
        with run.original.open() as original:
            stored.append(original.read())
    assert [{"eval", "contact"} <= run.report["metadata"].keys() for run in runs] == [True, True]
    assert b'eval="P3"' in stored[1] == stored[0]
    assert (document.title, document.word, document.is_public) == ("Our notes", "preprocessing", True)
    with (
        Reader.of(path) as first,
        Reader.of(written(archive_of(again.track, board.created_by), tmp_path / "..")) as second,
    ):
        assert "interaction/001.csv" in first.names
        assert first.index.sessions == second.index.sessions
        assert first.index.session_data == second.index.session_data
        assert first.index.team_documents == second.index.team_documents
        assert "documents/001.pdf" in first.names
        assert first.index.documents == second.index.documents != {}


def _documents(track: Track) -> dict[str, dict[str, str]]:
    return dict(Team.objects.filter(track=track).values_list("name", "documents"))


def test_loading_keeps_the_documents_that_the_protocol_asks_for(archive: Path, db: None) -> None:
    """They are texts without characters that PostgreSQL cannot store; a reminder has the limits of the page."""

    def change(name: str, data: bytes) -> bytes:
        if name != "archive.json":
            return data
        index = json.loads(data)
        index["documents"] = {"Owls": {"preprocessing": "a\0b", "poem": "O."}, "Mice": {}, "Harbor": "no"}
        index["track"]["reminder_days"] = 1 << 40
        return json.dumps(index).encode()

    loaded = load(rewritten(archive, change), make_organizer(), slug="again")

    assert loaded.track is not None, loaded.job and loaded.job.error
    assert _documents(loaded.track) == {"Harbor": {}, "Owls": {"preprocessing": "ab"}}
    assert loaded.track.reminder_days is None


@pytest.fixture
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The archive of the campaign, which is made once."""
    if not _made:
        board = request.getfixturevalue("board")
        _made.append(written(archive_of(board.track, board.created_by), tmp_path).read_bytes())
    path = tmp_path / "campaign.zip"
    path.write_bytes(_made[0])
    return path


_made: list[bytes] = []


@pytest.mark.parametrize(
    ("key", "values", "problem"),
    [
        ("sessions", {"seconds": 121.0}, "Owls, topic BIR_2: 121 seconds, of at most 120"),
        ("sessions", {"assessor": "A999"}, "Owls, topic BIR_2: no assessor A999"),
        ("sessions", {"started_at": "", "team": "Mice"}, "Mice, topic BIR_2: no such team"),
        ("sessions", {"place": 2}, "Owls has the place 2 2 times"),
        ("session_data", {"sha256": "0"}, "interaction/001.csv does not have the digest of the index"),
        ("team_documents", {"sha256": "0"}, "documents/001.pdf does not have the digest of the index"),
        ("team_documents", {"team": "Mice"}, "documents/001.pdf of Mice: no such team"),
        ("session_data", {"team": "Mice"}, "data of Mice: no such team"),
    ],
)
def test_wrong_sessions_are_named(key: str, values: dict[str, object], problem: str, archive: Path) -> None:
    def change(name: str, data: bytes) -> bytes:
        if name != "archive.json":
            return data
        index = json.loads(data)
        index[key][0] |= values
        return json.dumps(index).encode()

    [wrong] = [finding for finding in findings_of(rewritten(archive, change)) if not finding.is_right]

    part = "documents of teams" if key == "team_documents" else "sessions"
    assert (wrong.part, problem in wrong.problem) == (part, True)
