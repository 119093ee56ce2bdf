"""Samples and estimates in archives: they are computed again without a database, and loaded elsewhere."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from assay.archive.contents import Reader
from assay.archive.verify import Finding, verify
from assay_extensions.estimates.site import services
from assay_extensions.estimates.site.models import Estimate, Sample
from assay_extensions.estimates.site.services import Plan
from assessment.models import Batch
from jobs import services as jobs
from jobs.models import Job
from publishing.models import LoadedArchive
from tests.helpers.judging import judge_all, make_batch
from tests.publishing.archives.conftest import archive_of, build_campaign, written
from tests.publishing.archives.test_services import load, rewritten
from tests.scoring.conftest import Scene
from tracks.models import Machine

FOLDER = "extensions/estimates/"


@pytest.fixture
def estimated(db: None, settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A sample of two thirds of the units that a machine judged, one that nobody judged, and two estimates."""
    settings.MEDIA_ROOT = tmp_path / "files"
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    scene = build_campaign().scene
    scene.pool = scene.track.pools.get(name="First")
    machine = Machine.objects.get(assessor__track=scene.track)
    batch = make_batch(
        scene.pool, {machine.assessor.user: list(scene.topics.values())}, kind=Batch.Kind.MACHINE
    )
    judge_all(batch, machine.assessor.user, "medium")
    drawn = _sample(scene, machine, Plan(design="uniform", share=0.67, measures=["P@10", "DCG@5"]))
    _sample(scene, machine, Plan(design="weight", share=0.5, measures=["P@10"]))
    Batch.objects.filter(pk=drawn.batch_id).update(status=Batch.Status.CLOSED)
    for sample, measures in ((drawn, ["P@10", "DCG@5"]), (None, ["nDCG@10"])):
        estimate = services.request_estimate(
            machine=machine, pool=scene.pool, sample=sample, measures=measures, by=scene.organizer
        )
        _done(estimate.job)
    return scene


def _sample(scene: Scene, machine: Machine, plan: Plan) -> Sample:
    sample = services.request_sample(
        machine=machine, pool=scene.pool, name=plan.design, plan=plan, by=scene.organizer, seed=1
    )
    _done(sample.job)
    sample.refresh_from_db()
    return sample


def _done(job: Job | None) -> None:
    assert job is not None
    jobs.run(job.pk)
    job.refresh_from_db()
    assert job.state == Job.State.DONE, job.error


def findings(path: Path) -> list[Finding]:
    with Reader.of(path) as reader:
        return [part for part in verify(reader) if part.part.startswith(("estimate", "samples"))]


def contents(path: Path) -> dict[str, Any]:
    with Reader.of(path) as reader:
        names = [name for name in reader.names if name.startswith(FOLDER)]
        texts = {name: reader.read(name).replace(b"@again", b"@arq") for name in names}
    return {name: json.loads(text) for name, text in texts.items()}


def test_archive_has_samples_and_estimates(estimated: Scene, tmp_path: Path) -> None:
    path = written(archive_of(estimated.track, estimated.organizer, parts=["estimates"]), tmp_path)

    samples, by_sample, by_topics = findings(path)

    assert [samples.content, samples.problem] == ["2 samples", ""]
    assert by_sample.content.startswith("ranking, differences, topics")
    assert by_sample.content.endswith("reranked: computed again from both grades")
    assert [by_sample.problem, by_topics.problem] == ["", ""]

    def problem(name: str, change: Callable[[dict[str, Any]], object]) -> str:
        def changed(file: str, data: bytes) -> bytes:
            if file != FOLDER + name:
                return data
            record = json.loads(data)
            change(record)
            return json.dumps(record).encode()

        return " ".join(part.problem for part in findings(rewritten(path, changed)))

    estimate, unit = "estimates/001.json", estimated.pool.entries.earliest("pk")
    assert "ranking: [0][3] is 9" in problem(
        estimate, lambda row: row["result"]["tables"][0]["rows"][0].__setitem__(3, 9)
    )
    assert "did not give grade 3" in problem(estimate, lambda row: row["units"][0].__setitem__(2, 3))
    assert "people did not give grade" in problem(
        estimate, lambda row: [u.__setitem__(3, 7) for u in row["units"]]
    )
    assert "is not a unit with two grades" in problem(estimate, lambda row: row["units"].append(["A.1"]))
    assert "no pool Other" in problem(estimate, lambda row: row.update(pool="Other"))
    assert "KeyError" not in problem(estimate, lambda row: row.update(units=[], result={"tables": []}))
    assert "not a unit of the pool" in problem(
        "samples/001.json", lambda row: row["units"].append([unit.docno, "x", 2, 1])
    )
    assert "no earlier sample 4" in problem("samples/001.json", lambda row: row.update(after=4))


def test_loaded_track_has_the_same_samples_and_estimates(estimated: Scene, tmp_path: Path) -> None:
    path = written(archive_of(estimated.track, estimated.organizer, parts=["estimates"]), tmp_path)
    before = contents(path)

    loaded = load(path, estimated.organizer, "again")

    assert loaded.track is not None, loaded.job and loaded.job.error
    again = written(archive_of(loaded.track, estimated.organizer, parts=["estimates"]), tmp_path)
    assert contents(again) == before
    assert len(before) == 4
    client = Client()
    client.force_login(estimated.organizer)
    page = client.get("/tracks/again/estimates/").content.decode()
    assert "Values of runs" in page
    assert Estimate.objects.filter(track=loaded.track).count() == 2

    def broken(name: str, data: bytes) -> bytes:
        if not name.endswith("estimates/002.json"):
            return data
        record = json.loads(data) | {"units": []}
        record["result"]["tables"][0] = {"part": "values", "name": "ranking", "header": []}
        return json.dumps(record).encode()

    refused = load(rewritten(path, broken), estimated.organizer, "third")
    assert refused.status == LoadedArchive.Status.FAILED
    assert refused.job is not None
    assert "its tables cannot be shown" in refused.job.error
