"""Topics that are left out at freezing, corrected versions, and runs made after the qrels were known."""

import csv

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from accounts.models import Event, User
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard, Qrels
from scoring.qrels.exports import qrels_package
from scoring.qrels.selectors import qrels_tsv
from tests.helpers.api import api, call
from tests.helpers.confirming import confirm
from tests.helpers.qrels_pages import freeze_on_page
from tests.scoring.conftest import Scene
from tests.tracks.checklist.test_checklist import points

CHOICES = ("high", "low", "medium") * 3
REASON = "Two readings of the question."


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_topic_is_left_out_at_freezing_with_a_reason_that_page_and_files_keep(scene: Scene) -> None:
    scene.judged(*CHOICES)
    client = client_of(scene.organizer)

    address = freeze_on_page(client, scene.pool, left_out=f"A.2: {REASON}")

    version = Qrels.objects.get()
    assert b"A.2\t" not in qrels_tsv(version)
    assert version.report["left_out_topics"] == [{"topic": "A.2", "reason": REASON, "units": 3}]
    assert "A.2" not in {each["topic"] for each in version.report["dropped"]}
    page = client.get(address).content.decode()
    topics = client.get(reverse("tracks:topics", args=[version.track.slug])).content.decode()
    assert 'colspan="2" data-label="Judged">left out</td>' in topics
    assert (REASON in page, "1 left out\n" in page, "none dropped" in page) == (True, True, False)
    event = Event.objects.get(action="qrels.frozen")
    assert event.details["left out"] == {"A.2": REASON}
    scene.submit(scene.ours, "run-1", "10 9")
    board = scene.leaderboard(version)
    release = client.get(reverse("scoring:release", args=[board.pk]), {"level": "public"}).content.decode()
    assert "and the 1 topic left out, with the reason" in release
    leaderboard_services.release(leaderboard=board, level="public", by=scene.organizer, reason="A test.")
    assert REASON in Client().get(address).content.decode()


@pytest.mark.parametrize(
    ("left_out", "message"),
    [
        ("A.10\nA.2", "Give a reason to leave out the topic A.2, A.10."),
        ("X.9 no", "The pool has no topic X.9"),
        ("A.2 a\nA.2 b", "A topic is there twice."),
    ],
)
def test_topic_that_cannot_be_left_out_is_named(scene: Scene, left_out: str, message: str) -> None:
    scene.judged(*CHOICES)

    page = client_of(scene.organizer).get(
        reverse("scoring:freeze", args=["arq"]), {"pool": scene.pool.pk, "left_out": left_out}
    )

    assert message in page.content.decode()


def test_program_leaves_a_topic_out(scene: Scene) -> None:
    scene.judged(*CHOICES)
    data = {"pool": scene.pool.pk, "left_out": {"A.2": REASON}}

    preview = call(api(scene.organizer), "POST", "preview_qrels", "arq", data=data).json()
    version = call(api(scene.organizer), "POST", "freeze_qrels", "arq", data=data).json()

    assert preview["report"]["left_out_topics"][0]["topic"] == "A.2"
    assert version["n_topics"] == 2


def test_command_leaves_a_topic_out(scene: Scene) -> None:
    scene.judged(*CHOICES)
    words = ["freeze_qrels", "arq", "--pool", scene.pool.name, "--by", "olga"]

    with pytest.raises(CommandError, match="Give a reason to leave out the topic"):
        call_command(*words, "--leave-out", "A.2")
    call_command(*words, "--leave-out", f"A.2={REASON}")

    assert Qrels.objects.get().report["left_out_topics"][0]["reason"] == REASON


def test_corrected_version_and_the_earlier_one_name_each_other_on_pages_boards_and_files(
    scored: Scene,
) -> None:
    old = scored.leaderboard(release="public").qrels
    new = scored.qrels(b"A.1 0 10 2\nA.10 0 10 2\n")
    board = scored.leaderboard(new)
    client = client_of(scored.organizer)
    release = client.get(reverse("scoring:release", args=[board.pk]), {"level": "public"}).content.decode()

    hidden = client_of(scored.member).get(reverse("scoring:supersede", args=[new.pk]))
    answer = confirm(
        client, reverse("scoring:supersede", args=[new.pk]), old=old.pk, reason="Grades were swapped."
    )

    assert "The qrels version 1 are visible to everybody already" in release
    assert (hidden.status_code, answer.status_code) == (403, 302)
    release = client.get(reverse("scoring:release", args=[board.pk]), {"level": "public"}).content.decode()
    assert "Both name the correction: Grades were swapped." in release
    assert points(scored.track)["Newer leaderboard"].problems[-1].action == "Release to everybody"
    old_board = Leaderboard.objects.get(qrels=old)
    assert "Superseded by" not in Client().get(old.get_absolute_url()).content.decode(), "2 is not released"
    pages = [client.get(each.get_absolute_url()).content.decode() for each in (old, new, old_board, board)]
    assert ["Grades were swapped." in page for page in pages] == [True] * 4
    assert "Superseded by" in pages[0]
    file = client.get(reverse("scoring:leaderboard_file", args=[board.pk, "json"])).json()
    assert file["qrels"]["corrects"] == {"version": 1, "reason": "Grades were swapped."}
    new.refresh_from_db()
    assert b"It corrects version 1: Grades were swapped." in unzipped(
        qrels_package(new, to="tsv", test_share=None, seed=None)
    )
    assert Event.objects.get(action="qrels.superseded").by == scored.organizer


def unzipped(data: bytes) -> bytes:
    from io import BytesIO
    from zipfile import ZipFile

    with ZipFile(BytesIO(data)) as file:
        return b"".join(file.read(name) for name in file.namelist())


def test_program_states_a_correction_once_and_in_order(scored: Scene) -> None:
    old, new = scored.qrels(), scored.qrels(b"A.1 0 10 2\n")
    organizer = api(scored.organizer)

    def state(newer: Qrels, older: Qrels, reason: str = "Wrong.") -> int:
        data = {"supersedes": older.pk, "reason": reason}
        answer = call(organizer, "POST", "supersede_qrels", newer.pk, data=data)
        return int(answer.status_code)

    assert [state(old, new), state(new, old), state(new, old)] == [409, 200, 409]
    shown = call(organizer, "GET", "qrels", new.pk).json()["qrels"]
    assert (shown["supersedes"], shown["supersedes_reason"]) == (old.pk, "Wrong.")


def test_run_that_was_submitted_after_the_qrels_were_known_is_marked_on_every_board(scored: Scene) -> None:
    first = scored.leaderboard(release="participants")
    scored.submit(scored.ours, "late", "10 9")
    second = scored.leaderboard(first.qrels)
    newer = scored.leaderboard(scored.qrels(b"A.1 0 10 2\n"))
    look = points(scored.track)["Newer leaderboard"].problems[-1]
    client = client_of(scored.organizer)

    before = client.get(first.get_absolute_url()).content.decode()
    after = client.get(second.get_absolute_url()).content.decode()
    files = {
        kind: client.get(reverse("scoring:leaderboard_file", args=[second.pk, kind]))
        for kind in ("json", "csv", "tex")
    }
    rows = files["json"].json()["runs"]
    table = list(csv.DictReader(files["csv"].content.decode().splitlines()))
    old_table = client.get(reverse("scoring:leaderboard_file", args=[first.pk, "csv"])).content.decode()

    assert look.text == "Released is the leaderboard against version 1, not the one against version 2."
    assert (look.address, look.action) == (f"{newer.get_absolute_url()}release/?level=participants", "")
    assert "after the qrels" not in before
    assert "1 run was submitted after the qrels were known" in after
    assert after.count("after the qrels</span>") == 1
    assert [row["run"] for row in rows if row.get("after_release")] == ["late"]
    assert {row["run"]: row["after the qrels"] for row in table} == {
        "good": "no",
        "late": "yes",
        "poor": "no",
    }
    assert "A: submitted after the qrels were known." in files["tex"].content.decode()
    assert "after the qrels" not in old_table
