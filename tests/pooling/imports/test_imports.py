"""All runs of a manifest in one upload: preview, then each run on its own."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from jobs import services as jobs
from pooling.imports import services
from pooling.models import Run, RunImport, Team
from pooling.runs import services as run_services
from tests.helpers.run_archives import run_zip, tar_gz
from tests.helpers.runs import BROKEN, GOOD, run_bytes
from tests.pooling.conftest import Scene
from tracks.tracks import services as track_services

HEADER = "file,team,tag,kind,pooled_as,made,uses,description\n"
MANIFEST = (
    HEADER
    + "a.tsv,ours,one,primary,,manual,math,By hand\n"
    + "b.tsv,Newcomers,two,alternate,,,,\n"
    + "bad.tsv,Never,three,primary,,,,\n"
    + "base.tsv,Organizers,four,baseline,alternate,automatic,text,BM25\n"
)
FILES = {
    "a_tsv": GOOD,
    "b_tsv": run_bytes(first=101),
    "bad_tsv": BROKEN["score NaN"].make(),
    "base_tsv": run_bytes(first=102),
}


def browser(scene: Scene) -> Client:
    client = Client()
    client.force_login(scene.organizer)
    return client


def upload(scene: Scene, data: bytes, name: str = "runs.zip") -> Any:
    address = reverse("pooling:run_imports", args=[scene.track.slug])
    return browser(scene).post(address, {"upload": SimpleUploadedFile(name, data)})


def submit(scene: Scene) -> RunImport:
    source = RunImport.objects.latest("pk")
    response = browser(scene).post(reverse("pooling:import_runs", args=[source.pk]))
    source.refresh_from_db()
    if response.status_code == 302:
        assert source.job is not None
        jobs.run(source.job.pk)
        source.refresh_from_db()
    return source


def states(source: RunImport) -> list[str]:
    return [source.results[str(n)]["state"] for n in range(len(source.plan["rows"]))]


def test_runs_are_previewed_then_each_is_accepted_or_refused(scene: Scene) -> None:
    response = upload(scene, run_zip(MANIFEST, **FILES))
    preview = browser(scene).get(response["Location"]).content.decode()
    n_before = (Run.objects.count(), Team.objects.count())

    source = submit(scene)

    page = browser(scene).get(source.get_absolute_url()).content.decode()
    assert n_before == (0, 2)
    assert "Never, Newcomers, Organizers" in preview
    assert states(source) == ["accepted", "accepted", "refused", "accepted"]
    assert "score “NaN” is not a finite number" in page
    runs = {run.tag: run for run in Run.objects.select_related("team")}
    assert {tag: run.team.name for tag, run in runs.items()} == {
        "one": "Ours",
        "two": "Newcomers",
        "four": "Organizers",
    }
    first, four = runs["one"], runs["four"]
    assert (first.is_manual, first.uses, first.description, first.priority) == (True, "math", "By hand", 1)
    assert (four.kind, four.pooled_as, four.uses) == ("baseline", "alternate", "text")
    assert not Team.objects.filter(name="Never").exists()  # none of its runs is good
    assert source.file.name == ""


def test_import_goes_on_after_a_lost_worker_and_submits_nothing_twice(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(
        scene, tar_gz(*((f"x/{n}", d) for n, d in (("manifest.csv", MANIFEST.encode()), *TAR))), "runs.tar.gz"
    )
    stored = services.run_services.submit

    def die_after_the_second(**options: Any) -> Run:
        run = stored(**options)
        if run.tag == "two":
            raise KeyboardInterrupt
        return run

    with monkeypatch.context() as dying:
        dying.setattr(run_services, "submit", die_after_the_second)
        with pytest.raises(KeyboardInterrupt):
            submit(scene)
    source = RunImport.objects.get()
    half = list(source.results)
    assert source.job is not None
    type(source.job).objects.filter(pk=source.job.pk).update(state="queued")

    jobs.run(source.job.pk)

    source.refresh_from_db()
    assert half == ["0"]
    assert states(source) == ["accepted", "present", "refused", "accepted"]
    assert Run.objects.count() == 3


TAR = [(name.replace("_", "."), data) for name, data in FILES.items()]


@pytest.mark.parametrize(
    ("manifest", "complaint"),
    [
        (HEADER + "missing.tsv,t,r,primary,,,,\n", "line 2: there is no file missing.tsv"),
        (HEADER + "../a.tsv,t,r,primary,,,,\n", "there is no file ../a.tsv"),
        (HEADER + "a.tsv,t,r,first,,,,\n", "kind &#x27;first&#x27; is not one of"),
        (HEADER + "a.tsv,t,r,primary,,magic,,\n", "made &#x27;magic&#x27;: use automatic or manual"),
    ],
)
def test_manifest_with_an_error_imports_nothing(scene: Scene, manifest: str, complaint: str) -> None:
    response = upload(scene, run_zip(manifest, **FILES))

    page = browser(scene).get(response["Location"]).content.decode()
    source = submit(scene)

    assert complaint in page
    assert source.requested_at is None
    assert not Run.objects.exists()


def test_archive_without_a_manifest_is_refused_and_deleted(
    scene: Scene, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        page = upload(scene, tar_gz(("a.tsv", GOOD))).content.decode()

    assert "The archive has no manifest.csv" in page
    assert not RunImport.objects.exists()
    assert scene.files() == []


def test_closed_track_imports_nothing(scene: Scene) -> None:
    upload(scene, run_zip(MANIFEST, **FILES))
    track_services.close(track=scene.track)

    source = submit(scene)

    assert source.requested_at is None
    assert not Run.objects.exists()
