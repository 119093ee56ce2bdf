"""Judges as participants: what a track accepts, and the judgments that teams submit, replace and withdraw."""

from datetime import timedelta
from io import BytesIO
from zipfile import ZipFile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event, User
from assay.errors import Refused
from assay_extensions.metaevaluation.site import services
from assay_extensions.metaevaluation.site.models import JudgeCall, JudgeRun
from participation.teams import services as team_services
from tests.helpers.factories import make_track
from tests.helpers.team_judges import make_judge
from tests.scoring.conftest import Scene
from tracks.tracks import services as track_services

pytestmark = pytest.mark.django_db

QRELS = "A.1 Q0 10 3 0.9 made\nA.10 Q0 10 2 0.5 made\nA.2 Q0 é 2 1 made\n".encode()
SCORES = b"good 1 M 1\npoor 1 M 0\n"


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def address(scene: Scene, name: str, *arguments: object) -> str:
    return reverse(f"metaevaluation:{name}", args=[scene.track.slug, *arguments])


def accept(scene: Scene, hours: float = 1, **options: object) -> JudgeCall:
    closes_at = timezone.now() + timedelta(hours=hours)
    return services.accept(track=scene.track, closes_at=closes_at, zone="UTC", by=scene.organizer, **options)


def zipped(**files: bytes) -> bytes:
    content = BytesIO()
    with ZipFile(content, "w") as archive:
        for name, data in files.items():
            archive.writestr(f"out/made.{name.replace('_', '.')}", data)
    return content.getvalue()


def send(
    scene: Scene, user: User, data: bytes, name: str = "made.qrels.txt", **fields: object
) -> JudgeRun | str:
    """Submit through the page: the judge, or the page with its errors."""
    team = {scene.member: scene.ours, scene.other: scene.theirs}.get(user, scene.ours)
    values = {"team": team.pk, "tag": "made", "file": SimpleUploadedFile(name, data)} | fields
    response = client_of(user).post(address(scene, "submit"), values, follow=True)
    if response.status_code == 200:
        return JudgeRun.objects.latest("pk")
    assert response.status_code == 422
    return response.content.decode()


def test_team_submits_qrels_with_confidence(scene: Scene) -> None:
    accept(scene)

    judge = send(scene, scene.member, QRELS, description="a model")

    assert isinstance(judge, JudgeRun)
    assert judge.parts == [{"name": "made.qrels.txt", "kind": "qrels", "rows": 3, "topics": 3}]
    assert (judge.team, judge.tag, judge.is_submitted, judge.description) == (
        scene.ours,
        "made",
        True,
        "a model",
    )
    own = client_of(scene.member)
    assert b"".join(own.get(address(scene, "judge_file", judge.pk)).streaming_content) == QRELS
    for user, status in ((scene.organizer, 200), (scene.other, 404), (scene.ada, 404)):
        assert client_of(user).get(address(scene, "judge", judge.pk)).status_code == status
    assert ">made</a>" in own.get(address(scene, "judges")).content.decode()
    assert ">made</a>" not in client_of(scene.other).get(address(scene, "judges")).content.decode()
    assert Event.objects.filter(action="judge.submitted", by=scene.member).exists()


@pytest.mark.parametrize(
    ("data", "name", "fields", "message"),
    [
        (QRELS.replace(b" 2 0.5", b" 7 0.5"), "x.qrels", {}, "x.qrels: line 2: grade: got 7; use 0, 1, 2, 3"),
        (QRELS.replace(b"A.2", b"A.3"), "x.qrels", {}, "x.qrels: no judgments of topic A.2"),
        (QRELS, "x.tsv", {}, "x.tsv: no file has judgments by its name."),
        (QRELS, "tmp-x.qrels", {}, "tmp-x.qrels: a partial run"),
        (b"", "x.qrels", {}, "The submitted file is empty."),
        (b"%PDF-1.7", "x.qrels", {}, "The file is a PDF document."),
        (b"PK\x03\x04broken", "x.zip", {}, "The zip file is damaged or cut off"),
        (zipped(qrels=QRELS, qrels_txt=QRELS), "x.zip", {}, "2 files have qrels; a judge has one"),
        (zipped(config_yml=b"name: made"), "x.zip", {}, "no file has judgments by its name"),
        (QRELS, "x.qrels", {"form": "tot"}, "A form was chosen, but no file is a table of scores"),
        (b"1 1 M 1\n1 2 M 1\n", "x.eval.txt", {}, "name the form: ir_measures, tot"),
        (QRELS, "x.qrels", {"tag": "two words"}, "use one word of at most"),
    ],
)
def test_wrong_file_is_refused_with_line_and_key(
    scene: Scene, data: bytes, name: str, fields: dict[str, object], message: str
) -> None:
    accept(scene)

    page = send(scene, scene.member, data, name, **fields)

    assert isinstance(page, str)
    assert message in page
    assert not JudgeRun.objects.exists()


def test_every_problem_of_a_file_is_shown(scene: Scene) -> None:
    accept(scene)

    page = send(scene, scene.member, QRELS.replace(b" 3 0.9", b" 8 0.9").replace(b" 2 0.5", b" 2 5"))

    assert isinstance(page, str)
    assert "line 1: grade: got 8" in page
    assert "line 2: confidence: got 5" in page


def test_folder_of_autojudge_is_one_judge(scene: Scene) -> None:
    accept(scene)
    folder = zipped(
        qrels_txt=QRELS, eval_txt=b"r A.1 M 1\nr A.2 M 1\nr A.10 M 0\nr all M 1\n", config_yml=b"name: made"
    )

    judge = send(scene, scene.member, folder, "made.zip")

    assert isinstance(judge, JudgeRun)
    assert [(part["kind"], part["rows"], part["topics"]) for part in judge.parts] == [
        ("qrels", 3, 3), ("scores", 1, 3), ("other", 0, 0),
    ]  # fmt: skip
    page = client_of(scene.member).get(address(scene, "judges")).content.decode()
    assert "Qrels, a table of scores" in page


def test_kind_is_chosen_if_the_name_says_nothing(scene: Scene) -> None:
    accept(scene)

    judge = send(scene, scene.member, QRELS, "x.tsv", kind="qrels")

    assert isinstance(judge, JudgeRun)
    assert (judge.kind, judge.parts[0]["kind"]) == ("qrels", "qrels")


def test_topics_of_the_call_are_expected_instead_of_all(scene: Scene) -> None:
    page = client_of(scene.organizer).post(
        address(scene, "accept"),
        {"closes": "2099-01-01T00:00", "zone": "UTC", "max_per_team": 1, "topics": "A.1\nA.9"},
    )
    assert "A.9”: not among the topics of ARQ." in page.content.decode()
    client_of(scene.organizer).post(
        address(scene, "accept"),
        {"closes": "2099-01-01T00:00", "zone": "UTC", "max_per_team": 1, "topics": "A.1 A.2 A.1"},
    )

    unknown = send(scene, scene.member, QRELS)
    judge = send(scene, scene.member, QRELS.replace(b"A.10 Q0 10 2 0.5 made\n", b""))

    assert isinstance(unknown, str)
    assert "unknown topic A.10" in unknown
    assert isinstance(judge, JudgeRun)
    assert JudgeCall.objects.get().topics == ["A.1", "A.2"]


def test_judge_of_the_same_name_is_replaced(scene: Scene) -> None:
    accept(scene, max_per_team=1)
    first = send(scene, scene.member, QRELS)
    second = send(scene, scene.member, QRELS.replace(b" 3 ", b" 1 "))

    page = send(scene, scene.member, QRELS, tag="other")
    taken = send(scene, scene.other, QRELS)

    assert isinstance(first, JudgeRun)
    assert isinstance(second, JudgeRun)
    first.refresh_from_db()
    assert (first.status, second.status) == ("withdrawn", "submitted")
    assert isinstance(page, str)
    assert "Ours already has 1 judge, and ARQ accepts no more." in page
    assert isinstance(taken, str)
    assert "The track already has a judge with the name made" in taken


def test_judge_is_withdrawn_by_its_team_until_the_deadline(scene: Scene) -> None:
    accept(scene)
    judge = send(scene, scene.member, QRELS)
    assert isinstance(judge, JudgeRun)
    page = address(scene, "withdraw", judge.pk)
    assert client_of(scene.other).post(page).status_code == 404
    accept(scene, hours=-1)

    late = client_of(scene.member).post(page)
    client_of(scene.organizer).post(page)

    assert "The deadline for judges is over." in late.content.decode()
    judge.refresh_from_db()
    assert (judge.status, judge.withdrawn_by) == ("withdrawn", scene.organizer)


@pytest.mark.parametrize("hours", [None, -1])
def test_closed_track_takes_no_judge(scene: Scene, hours: float | None) -> None:
    if hours is not None:
        accept(scene, hours)

    page = send(scene, scene.member, QRELS)

    assert isinstance(page, str)
    assert "ARQ does not accept judgments of programs" in page
    assert client_of(scene.ada).get(address(scene, "submit")).status_code == 403


def test_team_without_room_submits_no_judge(scene: Scene) -> None:
    accept(scene)
    scene.ours.max_megabytes = 0
    scene.ours.save()

    page = send(scene, scene.member, QRELS)

    assert isinstance(page, str)
    assert "may use 0 kB on the disk" in page


def test_draft_that_accepts_judges_is_deleted_and_one_with_judges_is_not(scene: Scene) -> None:
    track = make_track("new", status="draft", collection=None, skipped=[])
    services.accept(track=track, closes_at=timezone.now(), zone="UTC", by=scene.organizer)
    track_services.delete(track=track, by=scene.organizer)
    other = make_track("other", status="draft", collection=None)
    make_judge(team_services.create(track=other, name="Owls", members=[]), scene.organizer)

    with pytest.raises(Refused):
        track_services.delete(track=other, by=scene.organizer)

    assert list(JudgeCall.objects.values_list("track__slug", flat=True)) == ["other"]
