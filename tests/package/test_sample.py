"""An extension of somebody else: built, installed, listed, used by commands and in a track, archived, uninstalled."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.files import File
from django.test import Client
from django.urls import reverse

from assay import samples
from assay.extensions import installed
from assay.protocols.loader import shipped_text
from jobs import services as jobs
from publishing.archives import services as archives
from server.paths import ROOT
from tests.helpers.api import api
from tests.publishing.archives.conftest import archive_of, written
from tests.scoring.conftest import build_scene
from tracks.models import Track
from tracks.protocols import services as protocol_services

SAMPLE = Path(__file__).parent / "sample"
OLD = """measures = ["nDCG'", "AP(rel=2)'", "P(rel=2)@10'", "bpref(rel=2)", "judged@10"]"""
LAB = shipped_text("arqmath-2020-task1").replace('"arqmath-2020-task1"', '"utility-lab"', 1)
LAB = 'extensions = ["utility"]\n' + LAB.replace(OLD, 'measures = ["Utility(rel=2)@2", "nDCG"]')


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the wheel is installed."""
    folder = tmp_path_factory.mktemp("sample")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, SAMPLE]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = folder.glob("assay_utility-1.0-*.whl")
    target = folder / "packages"
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", target, wheel], check=True)
    return target


@pytest.fixture
def assay(tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run `assay` with the packages of some folders. A protocol of the lab is in `lab.toml`."""
    (tmp_path / "lab.toml").write_text(LAB)

    def run(*words: str, packages: str = "", extensions: str = "all") -> "subprocess.CompletedProcess[str]":
        path = os.pathsep.join(filter(None, [str(ROOT), packages]))
        return subprocess.run(
            [sys.executable, "-m", "assay", *words],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": path, "ASSAY_EXTENSIONS": extensions},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@contextmanager
def in_process(packages: Path) -> Iterator[None]:
    """This process with the packages of a folder."""
    installed.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(packages)
        try:
            yield
        finally:
            installed.cache_clear()


def test_command_lists_the_extension_and_computes_its_measure(
    packages: Path, assay: Callable[..., "subprocess.CompletedProcess[str]"]
) -> None:
    files = ["--qrels", str(samples.path("qrels.txt")), str(samples.path("runs/abacus.tsv"))]

    listed = assay("extensions", packages=str(packages))
    measured = assay("evaluate", "--measure", "Utility(cost=0.25,rel=2)@2", *files, packages=str(packages))
    by_lab = assay("evaluate", "--protocol", "lab.toml", *files, packages=str(packages))

    row = "utility\t1.0\tassay-utility\tassay_utility:EXTENSION\tmeasure Utility"
    assert row in listed.stdout.splitlines()
    assert "abacus\tall\tUtility(rel=2,cost=0.25)@2\t" in measured.stdout
    assert "abacus\tall\tUtility(rel=2)@2\t" in by_lab.stdout
    for absent in (
        assay("evaluate", "--protocol", "lab.toml", *files),
        assay("evaluate", "--protocol", "lab.toml", *files, packages=str(packages), extensions="none"),
    ):
        assert (absent.returncode, absent.stdout) == (2, "")
        assert "lab.toml: line 1: extensions[1]: the extension utility is not installed" in absent.stderr


@pytest.mark.parametrize("name", ["pyproject.toml", "assay_utility.py"])
def test_page_has_the_files_of_the_sample(name: str) -> None:
    assert f"\n{(SAMPLE / name).read_text()}```\n" in (ROOT / "docs" / "extending.md").read_text()


def test_documentation_describes_the_names_of_assay_alone(packages: Path) -> None:
    code = "import runpy; runpy.run_path('maintenance/docs/conf.py')\n"
    code += "from maintenance.docs.generated_tables import measures; print(*measures(''))"
    environment = os.environ | {"PYTHONPATH": str(packages), "ASSAY_EXTENSIONS": "all"}
    table = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout

    assert "`nDCG`" in table
    assert "Utility" not in table


@pytest.mark.django_db
def test_track_uses_the_measure_and_says_what_it_needs_once_it_is_uninstalled(
    packages: Path,
    assay: Callable[..., "subprocess.CompletedProcess[str]"],
    tmp_path: Path,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    scene, client = build_scene(), Client(raise_request_exception=False)
    client.force_login(scene.organizer)
    with in_process(packages):
        stored = protocol_services.store(text=LAB, by=scene.organizer)
        Track.objects.filter(pk=scene.track.pk).update(protocol=stored)
        scene.pool.entries.all().delete()
        scene.pool.delete()
        scene.track.refresh_from_db()
        scene.submit(scene.ours, "good", "10 é 9")
        board = scene.leaderboard()
        page = client.get(reverse("scoring:leaderboard", args=[board.pk])).content.decode()
        archive = str(written(archive_of(scene.track, scene.organizer), tmp_path))

        assert "Utility(rel=2)@2" in page
        assert "assay evaluate --protocol utility-lab.toml --qrels" in page
        assert "0.33" in page  # (2 - 1) / 2 for one topic, (1 - 0.5) / 2 for the two others

    track = client.get(reverse("tracks:track", args=[scene.track.slug]))
    by_program = api(scene.organizer).get(reverse("api:track", args=[scene.track.slug]))
    needs = "The protocol utility-lab needs the extension utility, which this site does not have."
    assert (track.status_code, by_program.status_code) == (409, 409)
    assert needs in track.content.decode()
    assert needs in by_program.json()["detail"]
    assert assay("archive", "verify", archive, packages=str(packages)).returncode == 0
    absent = assay("archive", "verify", archive)
    assert absent.returncode == 2
    assert "utility-lab.toml: it needs the extension utility; install it first" in absent.stderr
    with Path(archive).open("rb") as file:
        loaded = archives.load_upload(upload=File(file, name="a.zip"), by=scene.organizer, slug="again")
    jobs.run(loaded.job_id)
    loaded.job.refresh_from_db()
    assert "it needs the extension utility; install it first" in loaded.job.error
