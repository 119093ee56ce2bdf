"""Step 6 of the guide *Bring your own lab*: the sample lab on the site, from its protocol to its leaderboard."""

from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from assay import samples
from corpus.models import Collection
from jobs import services as jobs
from jobs.models import Job
from participation.models import Team
from scoring.models import Leaderboard, Qrels
from tests.helpers.factories import make_organizer
from tracks.models import StoredProtocol

pytestmark = pytest.mark.django_db
SAMPLES = samples.path("qrels.txt").parent
RUNS = {
    "cqa-owls": ("Owls", "primary"),
    "cqa-owls-2": ("Owls", "contrastive"),
    "cqa-gulls": ("Gulls", "primary"),
    "cqa-order": ("Organizers", "baseline"),
}
# As step 5 of the guide prints them
VALUES = {
    ("cqa-owls", "AP(norm=retrieved)@10"): "1.0000",
    ("cqa-gulls", "AvgRec@10"): "0.6286",
    ("cqa-order", "labelF"): "0.5185",
}


def test_lab_of_the_guide_goes_from_its_protocol_to_a_released_leaderboard(
    settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    client = Client()
    client.force_login(make_organizer())

    def send(address: str, **data: object) -> str:
        """Post a form, run the jobs that it requests, and return the page that follows."""
        response = client.post(address, data, follow=True)
        assert response.status_code == 200, address
        for job in Job.objects.filter(state=Job.State.QUEUED):
            jobs.run(job.pk)
        return response.content.decode()

    send("/imports/new/", slug="harbor", name="Harbor", upload=file("cqa-comments.jsonl"))
    send("/protocol/new/", text=(SAMPLES / "cqa-lab.toml").read_text())
    protocol = StoredProtocol.objects.get(slug="harbor-forum-2026")
    send("/tracks/new/", name="Harbor 2026", slug="harbor-2026", protocol=protocol.pk,
         collection=Collection.objects.get().pk, topics=file("cqa-topics.jsonl"))  # fmt: skip
    for name in ("Owls", "Gulls", "Organizers"):
        send("/tracks/harbor-2026/people/team/", name=name)
    send("/tracks/harbor-2026/open/")
    page = client.get("/tracks/harbor-2026/runs/submit/").content.decode()
    for name, (team, kind) in RUNS.items():
        text = send("/tracks/harbor-2026/runs/submit/", team=Team.objects.get(name=team).pk, kind=kind,
                    tag=name, made="automatic", file=file(f"runs/{name}.txt"))  # fmt: skip
        assert f"{name} is submitted for {team}." in text
    send("/tracks/harbor-2026/qrels/import/", name="gold", file=file("cqa-gold.txt"))
    version = Qrels.objects.get()
    send(f"/qrels/{version.pk}/score/")
    board = Leaderboard.objects.get()
    send(f"/leaderboards/{board.pk}/release/", level="public", reason="The workshop is today.")

    assert all(word in page for word in ("contrastive", "order of the thread", "label"))
    board.refresh_from_db()
    header, *rows = Client().get(f"/leaderboards/{board.pk}/leaderboard.tsv").content.decode().splitlines()
    names = header.split("\t")
    values = {row.split("\t")[1]: dict(zip(names, row.split("\t"), strict=True)) for row in rows}
    assert {(run, measure): values[run][measure] for run, measure in VALUES} == VALUES
    package = client.get(f"/qrels/{version.pk}/export/", {"to": "protocol"}).content
    with ZipFile(BytesIO(package)) as archive:
        exported = [archive.read(name) for name in archive.namelist()]
    assert any(b"Q1\tQ1_C1\t0\t0\tGood\n" in content for content in exported), exported


def file(name: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name.rpartition("/")[2], (SAMPLES / name).read_bytes())
