"""Blinded runs of a track: names are decided about and gone from the package; only organizers get the map."""

import csv
import json
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from accounts.models import Event
from assay_extensions.blinding.pseudonyms import parse_map
from assay_extensions.blinding.site.models import Blinding
from assay_extensions.blinding.unblinding import Unblinder
from jobs import services as jobs
from participation.models import Team
from pooling.models import Run
from tests.helpers.api import api
from tests.scoring.conftest import Scene, build_scene

ADDRESS = "/tracks/arq/blinding/"


@pytest.fixture
def track(db: None, settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A document of a run has the name of a person of the team."""
    settings.MEDIA_ROOT = tmp_path / "files"
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    scene = build_scene()
    Team.objects.filter(pk=scene.ours.pk).update(organization="Wisdom U")
    scene.submit(scene.ours, "of-mia", "9 mia 10")
    return scene


@pytest.fixture
def organizer(track: Scene) -> Client:
    client = Client()
    client.force_login(track.organizer)
    return client


def run_job() -> Blinding:
    row = Blinding.objects.select_related("job").get()
    assert row.job is not None
    jobs.run(row.job.pk)
    return Blinding.objects.select_related("job").get()


def package_of(client: Client) -> dict[str, str]:
    with ZipFile(BytesIO(client.get(f"{ADDRESS}package/").getvalue())) as archive:
        return {name.partition("/")[2]: archive.read(name).decode() for name in archive.namelist()}


def test_organizer_looks_decides_and_downloads(track: Scene, organizer: Client) -> None:
    client = organizer
    assert "Look for names" in client.get(ADDRESS).content.decode()
    client.post(ADDRESS, {"words": "poor"})
    row = run_job()

    assert not row.file
    assert client.get(f"{ADDRESS}package/").status_code == 404
    page = client.get(ADDRESS).content.decode()
    (term,) = [term for term in row.give_aways if term.term == "mia"]
    assert f'name="decision {term.run} mia"' in page
    assert "1 word without a decision" in page

    client.post(ADDRESS, {"words": "", f"decision {term.run} mia": "replace"})
    row = run_job()
    files, names = package_of(client), json.loads(client.get(f"{ADDRESS}map/").getvalue())

    assert row.n_runs == Run.objects.count() == len(names["runs"])
    text = "".join(files.values()).lower()
    assert [name for name in ("mia", "good", "poor", "ours", "theirs", "of-mia") if name in text] == []
    manifest = list(csv.DictReader(StringIO(files["manifest.csv"])))
    assert {row["tag"] for row in manifest} == set(names["runs"].values())
    unblinded = Unblinder(parse_map(json.dumps(names), "map")).file(files["manifest.csv"], "manifest.csv")
    assert {row["team"] for row in csv.DictReader(StringIO(unblinded))} == set(names["teams"])
    assert Event.objects.filter(action="blinding.map-taken").exists()
    assert "Download package" in client.get(ADDRESS).content.decode()


def test_a_repeat_keeps_pseudonyms_and_priority_limits_the_runs(track: Scene, organizer: Client) -> None:
    organizer.post(ADDRESS, {"words": "", "first": "1"})
    first = run_job()
    assert len(first.map["runs"]) == Team.objects.filter(runs__isnull=False).distinct().count()

    organizer.post(ADDRESS, {"words": ""})
    again = run_job()

    assert first.map["runs"].items() <= again.map["runs"].items()
    assert len(again.map["runs"]) == Run.objects.count()


def test_api_does_the_same(track: Scene) -> None:
    client = api(track.organizer)
    address = reverse("api:blinding", args=["arq"])
    assert client.get(address).status_code == 404
    asked = client.put(address, {}, content_type="application/json")
    row = run_job()
    (term,) = client.get(address).json()["terms"]
    decisions = [{"run": term["run"], "term": term["term"], "decision": "keep"}]
    client.put(address, {"decisions": decisions}, content_type="application/json")
    row = run_job()
    read = client.get(address).json()

    assert asked.status_code == 202
    assert asked["Location"].endswith(f"/jobs/{asked.json()['job'].rstrip('/').rpartition('/')[2]}/")
    assert (read["n_undecided"], read["n_runs"], read["sha256"]) == (0, Run.objects.count(), row.sha256)
    package = client.get(reverse("api:blinding_package", args=["arq"]))
    assert package.getvalue()[:2] == b"PK"
    assert "runs" in json.loads(client.get(reverse("api:blinding_map", args=["arq"])).getvalue())


@pytest.mark.parametrize(
    ("content", "status", "says"),
    [
        ({"decisions": [{"run": "other", "term": "a", "decision": "keep"}]}, 409, "for a run of the map"),
        ({"decisions": [{"run": "other", "term": "a", "decision": "maybe"}]}, 400, "maybe"),
        ({"first": 0}, 400, "greater than or equal to 1"),
    ],
)
def test_wrong_input_is_refused(track: Scene, content: dict[str, Any], status: int, says: str) -> None:
    answer = api(track.organizer).put(
        reverse("api:blinding", args=["arq"]), content, content_type="application/json"
    )

    assert answer.status_code == status
    assert says in answer.content.decode()


def test_a_second_job_is_refused_and_runs_without_text_fail_with_a_reason(
    track: Scene, organizer: Client
) -> None:
    organizer.post(ADDRESS, {"words": ""})
    second = organizer.post(ADDRESS, {"words": ""})
    Run.objects.update(status="disqualified")
    row = run_job()

    assert second.status_code == 422
    assert "A job is already blinding the runs" in second.content.decode()
    assert row.job is not None
    assert row.job.error == "There are no submitted runs."


@pytest.mark.parametrize("part", ["member", "ada", "stranger"])
def test_others_get_neither_page_nor_map(track: Scene, organizer: Client, part: str) -> None:
    organizer.post(ADDRESS, {"words": ""})
    run_job()
    client = Client()
    client.force_login(getattr(track, part))

    assert {client.get(f"{ADDRESS}{page}").status_code for page in ("", "package/", "map/")} <= {403, 404}
