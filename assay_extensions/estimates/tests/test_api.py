from pathlib import Path
from typing import Any

import pytest

from assay_extensions.estimates.site.models import Sample
from assay_extensions.estimates.tests.scene import build_rag_track
from assessment.models import Batch
from jobs import services as jobs
from jobs.models import Job
from tests.helpers.api import api

pytestmark = pytest.mark.django_db


def test_a_program_draws_a_sample_and_estimates_from_it(data: Path) -> None:
    rag = build_rag_track(data)
    client = api(rag.organizer)
    samples, estimates = f"tracks/{rag.track.slug}/estimate-samples/", f"tracks/{rag.track.slug}/estimates/"

    def post(path: str, content: dict[str, Any], status: int = 202) -> Any:
        answer = client.post(f"/api/v1/{path}", content, content_type="application/json")
        assert answer.status_code == status, answer.content
        return answer.json()

    def run() -> None:
        job = Job.objects.latest("pk")
        jobs.run(job.pk)
        job.refresh_from_db()
        assert job.state == Job.State.DONE, job.error

    chosen = {"machine": rag.machine.pk, "pool": rag.pool.pk}
    drawn = post(samples, chosen | {"name": "Audit", "design": "uniform", "share": 0.05, "seed": 3})
    run()
    sample = Sample.objects.get(pk=drawn["id"])
    assert sample.batch is not None
    Batch.objects.update(status=Batch.Status.OPEN)
    rag.judge(
        sample.batch,
        rag.ada,
        {(row[0], row[1]): rag.people[row[0], row[1]] for row in sample.units if row[3]},
    )
    estimate = post(estimates, {"sample": sample.pk, "measures": ["DCG@20"]})
    run()
    post(
        samples,
        chosen
        | {"name": "More", "design": "next", "n_units": 40, "measures": ["DCG@20"], "after": sample.pk},
    )
    run()

    detail = client.get(f"/api/v1/{estimates}{estimate['id']}/").json()
    tables = {table["name"]: table for table in detail["result"]["tables"]}
    assert {"ranking", "differences", "topics", "intervals", "units", "share", "leniency"} <= set(tables)
    [row] = tables["share"]["rows"]
    values = dict(zip(tables["share"]["header"], row, strict=True))
    assert values["low"] < values["share"] < values["high"]
    assert (values["no"] + values["yes"], values["units"]) == (259, 5163 - 259)
    listed = client.get(f"/api/v1/{samples}?design=next").json()["results"]
    assert [(each["name"], each["after"], each["arguments"]["n_units"]) for each in listed] == [
        ("More", sample.pk, 40)
    ]
    file = client.get(f"/api/v1/{samples}{sample.pk}/file/").content.decode().splitlines()
    assert len(file) == 5163
    assert sum(line.split("\t")[3] == "sample" and line.split("\t")[2] != "-1" for line in file) == 259
    test = client.get(f"/api/v1/machines/{rag.machine.pk}/alt-test/?epsilon=0.2").json()
    assert (test["epsilon"], test["omega"], test["tests"]) == (0.2, None, [])

    for path, content, field in (
        (samples, chosen | {"name": "x", "design": "strata"}, "n_units"),
        (samples, chosen | {"name": "x", "machine": 10**9}, "machine"),
        (samples, chosen | {"name": "x", "pool": 10**9}, "pool"),
        (samples, chosen | {"name": "x", "design": "next", "n_units": 4, "after": 10**9}, "after"),
        (estimates, {"measures": []}, "sample"),
        (estimates, {"sample": 10**9}, "sample"),
        (estimates, {"machine": rag.machine.pk, "pool": 10**9}, "pool"),
    ):
        assert post(path, content, 400)["errors"][0]["field"] == field
    post(estimates, {"sample": sample.pk, "measures": ["nDCG@10"]}, 409)
    assert client.get(f"/api/v1/machines/{rag.machine.pk}/alt-test/?epsilon=x").status_code == 400
