"""Published runs: only of teams that agree, as an archive that can be checked and used."""

import hashlib
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from assay.errors import Refused
from assay.formats.manifest import read_manifest
from jobs import services as jobs
from pooling.models import Run
from pooling.runs import changes
from pooling.runs import services as run_services
from publishing.models import Publication
from publishing.published_runs import archive, services
from tests.helpers.api import api, call
from tests.helpers.runs import GOOD, run_bytes
from tests.pooling.conftest import Scene
from tracks.tracks import services as track_services


def browser(user: Any = None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def submit(scene: Scene, team: Any, tag: str, data: bytes) -> Run:
    return run_services.submit(
        track=scene.track,
        team=team,
        by=scene.organizer,
        file=io.BytesIO(data),
        file_name="run.tsv",
        declared=run_services.Declaration(kind="primary", tag=tag, description="BM25, “tuned”"),
    )


def answer(scene: Scene, user: Any, team: Any, text: str) -> int:
    address = reverse("publishing:consent", args=[scene.track.slug, team.pk])
    return browser(user).post(address, {"answer": text}).status_code


def publish(scene: Scene) -> Publication:
    browser(scene.organizer).post(reverse("publishing:publish_runs", args=[scene.track.slug]))
    publication = Publication.objects.latest("pk")
    jobs.run(publication.job_id)  # type: ignore[arg-type]
    publication.refresh_from_db()
    return publication


def archive_of(scene: Scene) -> bytes:
    address = reverse("publishing:published_runs", args=[scene.track.slug])
    response = browser().get(address)
    again = browser().get(address, headers={"If-None-Match": response["ETag"]})
    assert (again.status_code, again["Cache-Control"]) == (304, "public, max-age=300")
    return b"".join(response)


def test_archive_has_the_runs_of_agreeing_teams_with_checksums_and_a_manifest(
    scene: Scene, tmp_path: Path
) -> None:
    submit(scene, scene.ours, "a/b", GOOD)
    submit(scene, scene.ours, "a_b", run_bytes(first=101))
    submit(scene, scene.theirs, "secret", run_bytes(first=102))
    bad = submit(scene, scene.ours, "bad", run_bytes(first=103))
    track_services.close(track=scene.track)
    changes.disqualify(run=bad, reason="Late data.", by=scene.organizer)
    answers = [
        answer(scene, scene.member, scene.ours, "yes"),
        answer(scene, scene.member, scene.theirs, "yes"),
    ]

    publication = publish(scene)
    data = archive_of(scene)

    assert answers == [302, 404]  # nobody answers for another team
    assert hashlib.sha256(data).hexdigest() == publication.sha256
    subprocess.run(["tar", "-xzf-", "-C", str(tmp_path)], input=data, check=True)
    folder = tmp_path / "arq-runs"
    sums = [line.split("  ") for line in (folder / "SHA256SUMS").read_text().splitlines()]
    assert all(hashlib.sha256((folder / path).read_bytes()).hexdigest() == digest for digest, path in sums)
    runs = read_manifest(folder / "manifest.csv", scene.track.protocol.parsed)
    assert [(run.team, run.tag, run.is_manual, run.description) for run in runs] == [
        ("Ours", tag, False, "BM25, “tuned”") for tag in ("a/b", "a_b")
    ]
    assert runs[0].file.read_bytes() == GOOD
    content = json.loads((folder / "runs.json").read_text())
    assert content["left_out"] == {
        "teams": [{"team": "Theirs", "runs": 1}],
        "disqualified": [{"team": "Ours", "tag": "bad"}],
    }
    assert "secret" not in data.decode("latin-1") + (folder / "README.txt").read_text()
    page = browser().get(reverse("publishing:publication", args=[scene.track.slug])).content.decode()
    assert "Theirs" in page
    published = (
        f'Published runs: <a href="{reverse("publishing:publication", args=[scene.track.slug])}">2 runs</a>'
    )
    assert published in browser().get(scene.track.get_absolute_url()).content.decode()
    downloads = browser().get(reverse("tracks:downloads", args=[scene.track.slug])).content.decode()
    assert publication.sha256 in downloads


def test_same_runs_give_the_same_bytes_and_a_withdrawn_consent_leaves_with_the_next_archive(
    scene: Scene, django_capture_on_commit_callbacks: Any
) -> None:
    submit(scene, scene.ours, "ours", GOOD)
    submit(scene, scene.theirs, "theirs", run_bytes(first=101))
    track_services.close(track=scene.track)
    for team in (scene.ours, scene.theirs):
        answer(scene, scene.organizer, team, "yes")

    with django_capture_on_commit_callbacks(execute=True):
        first, again = publish(scene), publish(scene)
    answer(scene, scene.other, scene.theirs, "no")
    warned = browser(scene.organizer).get(reverse("publishing:publication", args=["arq"])).content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        last = publish(scene)

    assert (first.sha256, len(first.runs)) == (again.sha256, 2)
    assert "no longer agree: Theirs" in warned
    assert [run["tag"] for run in last.runs] == ["ours"]
    stored = [path for path in scene.files() if "publications" in path.parts]
    assert len(stored) == 1  # the files of earlier archives are deleted
    browser(scene.organizer).post(reverse("publishing:withdraw_publication", args=["arq"]))
    assert browser().get(reverse("publishing:published_runs", args=["arq"])).status_code == 404


def test_consent_that_is_withdrawn_while_the_archive_is_made_is_respected(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(scene, scene.ours, "ours", GOOD)
    track_services.close(track=scene.track)
    answer(scene, scene.member, scene.ours, "yes")
    write = archive.write_tar_gz

    def write_slowly(*arguments: Any) -> None:
        write(*arguments)
        services.record_consent(team=scene.ours, is_given=False, by=scene.member)

    monkeypatch.setattr(archive, "write_tar_gz", write_slowly)

    publication = publish(scene)

    assert publication.status == Publication.Status.FAILED
    assert [path for path in scene.files() if "publications" in path.parts] == []
    with pytest.raises(Refused, match="No team"):
        services.request(track=scene.track, by=scene.organizer)


def test_open_track_publishes_nothing(scene: Scene) -> None:
    submit(scene, scene.ours, "ours", GOOD)
    answer(scene, scene.member, scene.ours, "yes")

    with pytest.raises(Refused, match="not closed"):
        services.request(track=scene.track, by=scene.organizer)


def test_program_records_the_consent_and_publishes_the_runs(scene: Scene) -> None:
    slug, organizer, member = scene.track.slug, api(scene.organizer), api(scene.member, "read", "runs")
    submit(scene, scene.ours, "bm25", GOOD)
    track_services.close(track=scene.track)
    early = call(organizer, "POST", "publish_runs", slug)

    consent = call(member, "PUT", "consent", scene.ours.pk, data={"is_given": True})
    publishing = call(organizer, "POST", "publish_runs", slug)
    jobs.run(int(publishing["Location"].split("/")[-2]))
    shown = call(api(None), "GET", "published_runs", slug).json()
    answers = call(member, "GET", "published_runs", slug).json()["consents"]
    data = b"".join(api(None).get(shown["publication"]["file"]))
    withdrawn = call(organizer, "POST", "withdraw_published_runs", slug)

    assert (early.status_code, consent.json()["is_given"], publishing.status_code) == (409, True, 202)
    assert hashlib.sha256(data).hexdigest() == shown["publication"]["sha256"]
    assert (shown["consents"], answers[0]["is_given"]) == ([], True)
    assert withdrawn.status_code == 204
    assert call(api(None), "GET", "published_runs", slug).json()["publication"] is None
