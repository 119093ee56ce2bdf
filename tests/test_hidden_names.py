"""Names that are hidden until a date: no page, file or operation gives them to others before it, and all do then."""

import csv
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event, User
from assay.digests import sha256_of
from assay_extensions.blinding.pseudonyms import new_map
from assay_extensions.blinding.site.models import Blinding
from assay_extensions.machines.tests.test_closed import pages_of
from assay_extensions.metaevaluation.site.models import JudgeBoard, JudgeResult
from assay_extensions.metaevaluation.site.models import JudgeRun as TeamJudge
from jobs import services as jobs
from participation.models import Team
from pooling.models import Run
from publishing.models import Publication
from scoring.leaderboards.files import leaderboard_file
from scoring.models import Leaderboard
from tests.helpers.api import api
from tests.helpers.factories import make_track
from tests.scoring.conftest import Scene, build_scored
from tests.test_access import Visited, build_visited
from tests.test_api_access import build_called
from tracks.models import Topic, Track

pytestmark = pytest.mark.django_db

TEAM, SECRETS = "Zyxwing", ("Zyxwing", "zyx-good", "zyx-second", "zyx-judge")
OFFICIAL = {"publishing:documents", "publishing:document_file"}  # working notes have the names of their teams
ROLES = ("visitor", "other", "ada")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, settings: LazySettings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    cache.clear()


def hide(track: Track, days: int = 1) -> None:
    Track.objects.filter(pk=track.pk).update(names_hidden_until=timezone.now() + timedelta(days=days))
    cache.clear()


def released(scene: Visited) -> Visited:
    """All results of a scene, for everybody, of a team and runs whose names are words that no page has otherwise."""
    Team.objects.filter(pk=scene.ours.pk).update(name=TEAM)
    for run in Run.objects.filter(team=scene.ours):
        Run.objects.filter(pk=run.pk).update(tag=f"zyx-{run.tag}", description=f"zyx-{run.tag} of {TEAM}")
    now = {"release": "public", "released_at": timezone.now()}
    TeamJudge.objects.update(tag="zyx-judge")
    for board in Leaderboard.objects.all():
        reference = {"run": 1, "team": TEAM, "tag": "zyx-second", "sha256": "0" * 64}
        board.statistics |= {"disqualified": [reference], "unassigned": [reference | {"units": 2}]}
        board.save()
    Leaderboard.objects.update(**now)
    JudgeBoard.objects.update(**now)
    JudgeResult.objects.update(comparison=comparison())
    Topic.objects.filter(code="A.1").update(labels={"type": "proof"})
    Track.objects.filter(pk=scene.track.pk).update(status="closed", shows_labels=True)
    Publication.objects.create(
        track=scene.track,
        status="ready",
        runs=[{"team": TEAM, "tag": "zyx-good"}],
        left_out={"teams": [], "disqualified": [{"team": TEAM, "tag": "zyx-second"}]},
        file=default_storage.save("published", ContentFile(b"zyx-good")),
        sha256=sha256_of(b"zyx-good"),
        created_by=scene.organizer,
    )
    return scene


def comparison() -> dict[str, Any]:
    return {
        "n_topics": 3,
        "runs": ["zyx-good", "zyx-second"],
        "truth": [0.5, 0.4],
        "judge": [0.6, 0.3],
        "drop": ["zyx-good", 1],
        "overlaps": {},
        "coefficients": [],
        "fidelity": None,
        "notes": ["zyx-second is missing"],
    }


def reader(scene: Scene, role: str) -> User | None:
    return None if role == "visitor" else getattr(scene, role)


def texts(scene: Visited, user: User | None, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The pages, files and operations of a scene that a person may read, by name."""
    client = Client()
    if user is not None:
        client.force_login(user)
    for name, address in scene.addresses.items():
        if name in {"logout", "jobs:events"}:
            continue
        answer = client.get(address)
        if answer.status_code == 200:
            content = b"".join(answer) if answer.streaming else answer.content
            headers = str(answer.headers)
            yield prefix + name, unescape(content.decode("utf-8", "replace")) + headers


@pytest.mark.parametrize("role", ROLES)
def test_no_page_or_file_has_a_hidden_name(role: str) -> None:
    scene = released(build_visited())
    hide(scene.track)

    pages = dict(texts(scene, reader(scene, role)))
    linked = dict(pages_of(reader(scene, role), scene.track.get_absolute_url()))

    assert {"scoring:leaderboard", "scoring:evaluation_file", "scoring:topic", "home"} <= pages.keys()
    assert len(linked) > 10
    leaks = {
        (secret, name) for name, text in (pages | linked).items() for secret in SECRETS if secret in text
    }
    assert {name for secret, name in leaks if secret != TEAM} == set()
    assert {name for _, name in leaks} <= OFFICIAL | {"/tracks/arq/documents/"}


@pytest.mark.parametrize("role", ROLES)
def test_no_operation_has_a_hidden_name(role: str) -> None:
    scene = released(build_called())
    hide(scene.track)

    answers = dict(texts(scene, reader(scene, role)))

    assert {"leaderboard", "leaderboard_file", "evaluations", "evaluation", "judge_board"} <= answers.keys()
    leaks = {(secret, name) for name, text in answers.items() for secret in SECRETS if secret in text}
    assert {name for secret, name in leaks if secret != TEAM} == set()
    assert {name for _, name in leaks} <= {"team_documents", "team_document"}


OF_RESULTS = {
    *("home", "tracks:track", "publishing:publication", "publishing:published_runs"),
    *("metaevaluation:board", "metaevaluation:board_table", "metaevaluation:result"),
    *(
        "scoring:compare_leaderboards",
        "scoring:compare_runs",
        "scoring:evaluation",
        "scoring:evaluation_file",
    ),
    *("scoring:leaderboard", "scoring:leaderboard_file", "scoring:topic", "scoring:topics_file"),
    *("scoring:classes", "scoring:classes_file"),
}
OPERATIONS = {
    *("evaluation", "evaluations", "leaderboard", "leaderboard_file", "leaderboard_classes"),
    *("judge_board", "judge_board_file", "published_runs", "published_runs_file"),
}


@pytest.mark.parametrize(("build", "expected"), [(build_visited, OF_RESULTS), (build_called, OPERATIONS)])
def test_names_appear_by_themselves(build: Callable[[], Visited], expected: set[str]) -> None:
    scene = released(build())
    hide(scene.track, days=-1)

    shown = {name for name, text in texts(scene, None) if any(secret in text for secret in SECRETS)}

    assert shown - OFFICIAL - {"team_documents", "team_document"} == expected


@pytest.fixture
def board() -> tuple[Scene, Leaderboard]:
    scene = build_scored()
    board = scene.leaderboard(release="public")
    hide(scene.track)
    return scene, board


def file_for(user: User | None, board: Leaderboard, kind: str = "json") -> Any:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client.get(reverse("scoring:leaderboard_file", args=[board.pk, kind])).getvalue().decode()


def names_for(user: User | None, board: Leaderboard) -> dict[str, str]:
    """The tags of a file by the names of teams."""
    return {run["team"]: run["run"] for run in json.loads(file_for(user, board))["runs"]}


def test_organizer_reads_all_and_a_team_its_own(board: tuple[Scene, Leaderboard]) -> None:
    scene, leaderboard = board

    hidden, own = names_for(None, leaderboard), names_for(scene.member, leaderboard)

    assert names_for(scene.organizer, leaderboard) == {"Ours": "good", "Theirs": "poor"}
    assert own["Ours"] == "good"
    assert own.keys() - {"Ours"} < hidden.keys()
    assert all(name.startswith("anon-") for name in [*hidden, *hidden.values()])
    assert leaderboard_file(leaderboard, "json").count("good") == 1  # of archives
    assert names_for(scene.other, leaderboard).keys() & {"Ours", "Theirs"} == {"Theirs"}


def test_pseudonyms_are_those_under_which_runs_were_released(board: tuple[Scene, Leaderboard]) -> None:
    scene, leaderboard = board
    blind = new_map().extended(["Ours", "Theirs"], ["good"])
    Blinding.objects.create(track=scene.track, map=vars(blind), created_by=scene.organizer)

    hidden = names_for(None, leaderboard)

    assert hidden[blind.teams["Ours"]] == "anon-r001"
    assert hidden[blind.teams["Theirs"]].startswith("anon-r-")  # came after the release


def test_rules_about_tags_hold_for_pseudonyms(board: tuple[Scene, Leaderboard]) -> None:
    """A kind that another is pooled as, and the strongest baseline, are those of the names."""
    scene, leaderboard = board

    def columns(user: User | None) -> list[tuple[str, ...]]:
        rows = csv.DictReader(StringIO(file_for(user, leaderboard, "csv")))
        return [(row["kind"], row["pooled as"], row["manual"]) for row in rows]

    assert columns(None) == columns(scene.organizer)
    assert "anon-r-" in file_for(None, leaderboard, "tex")


def test_filters_and_search_know_only_what_is_read(board: tuple[Scene, Leaderboard]) -> None:
    scene, leaderboard = board
    address = reverse("api:evaluations", args=[leaderboard.pk])
    [pseudonym] = {tag for team, tag in names_for(scene.other, leaderboard).items() if team != "Theirs"}

    def number(user: User | None, query: str) -> int:
        return len(api(user).get(f"{address}?{query}").json()["results"])

    assert number(None, "tag=good") == number(None, "team=Ours") == 0
    assert number(None, f"tag={pseudonym}") == 1
    assert number(scene.member, "tag=good&team=Ours") == number(scene.organizer, "tag=good") == 1
    pages = [
        Client().get(f"{leaderboard.get_absolute_url()}?q={word}&page=all").content.decode()
        for word in ("good", "nobody")
    ]
    assert pages[0].count(pseudonym) == pages[1].count(pseudonym)


def test_leaderboards_of_two_tracks_are_not_compared(board: tuple[Scene, Leaderboard]) -> None:
    """The same run on a leaderboard that shows names would tell whose it is."""
    scene, leaderboard = board
    elsewhere = make_track("elsewhere", protocol=scene.track.protocol.slug, status="closed")
    Leaderboard.objects.filter(pk=leaderboard.pk).update(track=elsewhere)
    other = scene.leaderboard(leaderboard.qrels, release="public")
    address = reverse("scoring:compare_leaderboards", args=[leaderboard.pk, other.pk])

    assert Client().get(address).status_code == 404
    assert address not in Client().get(leaderboard.get_absolute_url()).content.decode()
    hide(scene.track, days=-1)
    assert Client().get(address).status_code == 200


def test_organizer_sets_the_time_by_page_and_api(board: tuple[Scene, Leaderboard]) -> None:
    scene, leaderboard = board
    client, address = Client(), reverse("tracks:deadlines", args=[scene.track.slug])
    client.force_login(scene.organizer)
    form = {"zone": "UTC", "reminder_days": "3"}

    page = client.get(leaderboard.get_absolute_url()).content.decode()
    refused = client.post(address, form | {"names_hidden_until": "2031-13-01T10:00"})
    client.post(address, form | {"names_hidden_until": "2031-05-01T10:00"})
    scene.track.refresh_from_db()

    assert "others read pseudonyms" in page
    assert refused.status_code == 422
    assert "is not a date and time" in refused.content.decode()
    assert scene.track.names_hidden_until == datetime(2031, 5, 1, 10, tzinfo=UTC)
    assert Event.objects.latest("pk").details["names hidden until"] == "2031-05-01 10:00 UTC"
    asked = api(scene.organizer)
    operation = reverse("api:deadlines", args=[scene.track.slug])

    def put(data: dict[str, Any]) -> Any:
        return asked.put(operation, {"zone": "UTC", "deadlines": []} | data, content_type="application/json")

    assert asked.get(operation).json()["names_hidden_until"] == "2031-05-01T10:00:00Z"
    kept = put({})
    assert kept.json()["names_hidden_until"] == "2031-05-01T10:00:00Z"
    wrong = put({"names_hidden_until": "soon"})
    assert (wrong.status_code, "names_hidden_until" in wrong.content.decode()) == (400, True)
    put({"names_hidden_until": None})
    scene.track.refresh_from_db()
    assert scene.track.names_hidden_until is None
