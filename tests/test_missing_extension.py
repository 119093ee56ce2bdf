"""A track whose protocol needs an extension that is not installed: its pages and endpoints say so, the others work."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import resolve, reverse
from django.utils import timezone

from assay.protocols.measures import FAMILIES
from assessment.models import Task
from jobs import services as jobs
from jobs.models import Job
from participation.teams import services as team_services
from scoring.models import Analysis, LaterRun, Leaderboard
from tests.assay.cli.test_extensions import WASTED
from tests.helpers.api import api
from tests.helpers.extensions import other_packages
from tests.helpers.factories import make_track
from tests.scoring.conftest import Scene, build_scene, build_scored
from tests.scoring.later.test_views import run_file
from tests.scoring.phases.test_phases import protocol as phases
from tests.test_access import Visited, build_visited
from tests.test_api_access import build_called, endpoints
from tracks.drafts import checks
from tracks.models import StoredProtocol
from tracks.tracks import services as track_services
from web.addresses import belongs_to_track, names_job

pytestmark = [pytest.mark.django_db, pytest.mark.long]

NEEDS = b"The protocol arqmath-2020-task1 needs the extension reading, which this site does not have."


@pytest.fixture(autouse=True)
def own_files(settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)


@pytest.fixture
def uninstall(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Scene], None]]:
    """Let the measure nDCG be of an extension that is uninstalled after leaderboards were scored and released."""

    def uninstalled(scene: Scene) -> None:
        stored = scene.track.protocol
        StoredProtocol.objects.filter(pk=stored.pk).update(text=f'extensions = ["reading"]\n{stored.text}')
        Leaderboard.objects.update(release=Leaderboard.Release.PUBLIC, released_at=timezone.now())
        own = (name for name in FAMILIES if not FAMILIES.extension_of(name) and name != "nDCG")
        others = {name: FAMILIES[name] for name in own}
        for name, value in (("_own", others), ("_all", {}), ("_read", None)):
            monkeypatch.setattr(FAMILIES, name, value)
        cache.clear()
        checks.check.cache_clear()  # as a restart does

    yield uninstalled
    checks.check.cache_clear()  # of what was found without the measure


def opened(client: Client, addresses: Mapping[str, str]) -> dict[int, set[str]]:
    """The names of addresses by the status of the answer. Each 409 names the extension."""
    client.raise_request_exception = False
    names = defaultdict(set)
    for name, address in addresses.items():
        response = client.get(address)
        content = b"".join(response)
        assert response.status_code != 409 or NEEDS in content, name
        names[response.status_code].add(name)
    return names


def outside(names: set[str], scene: Visited) -> set[str]:
    """The addresses that do not belong to a track."""
    matches = {name: resolve(scene.addresses[name]) for name in names}
    return {name for name, match in matches.items() if not belongs_to_track(match) and not names_job(match)}


def test_pages_of_the_track_name_the_extension(
    uninstall: Callable[[Scene], None], pytestconfig: pytest.Config
) -> None:
    """By day, one person opens each page that names it: the page of the track is opened by all."""
    scene = build_visited()
    uninstall(scene)
    addresses = scene.addresses
    for user in (scene.organizer, scene.ada, scene.member, None):
        client = Client()
        if user:
            client.force_login(user)

        names = opened(client, addresses)
        if not pytestconfig.getoption("--nightly"):
            named = names[409] - {"tracks:track"}
            addresses = {name: address for name, address in addresses.items() if name not in named}

        assert names[500] == set()
        assert outside(names[409], scene) <= {"tracks:protocol"}
        assert "tracks:track" in names[409]
        assert {"home", "all_tracks", "tracks:protocols"} <= names[200]
        page = client.get(scene.addresses["tracks:protocols"]).content
        assert b"needs the extension reading" in page
        assert b"Needs the extension reading" in client.get("/tracks/").content


def test_commands_on_the_track_name_the_extension(uninstall: Callable[[Scene], None]) -> None:
    uninstall(build_scene())

    with pytest.raises(CommandError, match=NEEDS.decode()):
        call_command("export_judgments", "arq", "-")


def test_endpoints_of_the_track_name_the_extension(uninstall: Callable[[Scene], None]) -> None:
    scene = build_called()
    uninstall(scene)
    read = {name for method, name in endpoints() if method == "GET"}
    addresses = {name: address for name, address in scene.addresses.items() if name in read}

    names = opened(api(scene.organizer), addresses)

    assert names[500] == set()
    assert outside(names[409], scene) == set()
    assert {"track", "leaderboard"} <= names[409]
    assert {"tracks", "me"} <= names[200]


def test_front_page_leaves_out_the_results_of_the_track(uninstall: Callable[[Scene], None]) -> None:
    scene = build_scored()
    scene.leaderboard(release="public")
    assert b'id="results"' in Client().get("/").content
    uninstall(scene)

    page = Client().get("/")

    assert page.status_code == 200
    assert b'id="results"' not in page.content
    assert scene.track.name.encode() in page.content


@pytest.mark.parametrize("kind", Analysis.Kind.values)
def test_retried_analysis_names_the_extension(kind: str, uninstall: Callable[[Scene], None]) -> None:
    scene = build_scored()
    board = scene.leaderboard()
    analysis = Analysis.objects.create(leaderboard=board, kind=kind, seed=1, created_by=scene.organizer)
    jobs.request_for(
        analysis, "analysis_id", kind="scoring.analyze", title="A", by=scene.organizer, subject=scene.track
    )
    job = analysis.job
    uninstall(scene)

    jobs.run(job.pk)

    job.refresh_from_db()
    assert NEEDS.decode() in job.error

    client = Client()
    client.force_login(scene.organizer)
    client.post(reverse("jobs:retry", args=[job.pk]))
    job.refresh_from_db()
    assert (job.state, job.error) == (Job.State.QUEUED, "")
    jobs.run(job.pk)
    job.refresh_from_db()
    assert NEEDS.decode() in job.error


def test_kernel_that_fails_in_a_job_is_named(tmp_path: Path) -> None:
    scene = build_scored()
    stored = scene.track.protocol
    measure = """measures = ["nDCG'", """
    assert measure in stored.text
    text = stored.text.replace(measure, """measures = ["Wasted", """)
    StoredProtocol.objects.filter(pk=stored.pk).update(text=f'extensions = ["wasted"]\n{text}')
    scene.track.protocol.refresh_from_db()

    with other_packages(tmp_path, wasted=WASTED.replace("CHANGE", "def kernel(*_):\n    return 1 / 0")):
        board = scene.leaderboard()

    assert board.job is not None
    error = board.job.error
    assert (
        "the extension wasted: measure Wasted: wasted:kernel fails: ZeroDivisionError: division by zero"
        in error
    )


def test_phases_and_later_runs_name_the_extension(uninstall: Callable[[Scene], None]) -> None:
    scene = build_scored()
    board = scene.leaderboard(release="public")
    track_services.close(track=scene.track)
    team = team_services.create(track=make_track("arq-2"), name="Ours", members=[scene.stranger])
    StoredProtocol.objects.filter(pk=scene.track.protocol_id).update(text=phases())
    scene.track.protocol.refresh_from_db()
    uninstall(scene)
    client = Client()
    client.force_login(scene.stranger)

    answers = [
        client.get(reverse("scoring:phase", args=["arq", "later"])),
        client.get(reverse("scoring:phase_file", args=["arq", "later", "tsv"])),
        client.get(reverse("scoring:later_runs", args=[board.pk])),
        client.post(reverse("scoring:later_runs", args=[board.pk]), {"team": team.pk, "file": run_file()}),
    ]

    assert [answer.status_code for answer in answers] == [409] * 4
    assert all(NEEDS in answer.content for answer in answers)
    assert not LaterRun.objects.exists()


def test_no_task_begins_that_no_page_can_show(uninstall: Callable[[Scene], None]) -> None:
    scene = build_scene()
    batch = scene.judged("high")
    uninstall(scene)
    client = Client()
    client.force_login(scene.ada)
    before = list(Task.objects.order_by("pk").values_list("pk", "accepted_at"))

    refused = client.post(reverse("assessment:next", args=[batch.pk]))

    assert refused.status_code == 409
    assert list(Task.objects.order_by("pk").values_list("pk", "accepted_at")) == before


def test_refusal_after_a_change_does_not_deny_the_change(uninstall: Callable[[Scene], None]) -> None:
    scene = build_visited()
    uninstall(scene)
    client = Client()
    client.force_login(scene.organizer)

    page = client.get(scene.addresses["tracks:track"])

    assert page.status_code == 409
    assert b"Nothing was changed" not in page.content
