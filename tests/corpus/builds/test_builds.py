"""Building a collection on the site: the files of the command, the import, candidates for organizers only, refusals."""

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from assay.cli.main import main
from corpus.builds import services
from corpus.models import Build, BuildFile, Collection
from jobs import services as jobs
from jobs.models import Job
from tests.helpers.api import api, call
from tests.helpers.dumps import answer, dump, question, row
from tests.helpers.factories import make_organizer, make_track, make_user
from tracks.models import Download

pytestmark = pytest.mark.django_db

POSTS = dump(
    "posts",
    question(
        1, Title="Why is $x^2$ even?", Body="<p>Let $x$ be even.</p>", CreationDate="2017-05-01T00:00:00"
    ),
    answer(2, 1, Body="<p>Because $\\frac{x}{2}$ is whole.</p>", CreationDate="2017-05-02T00:00:00"),
    question(3, Title="Why is $x^2$ odd?", Body="<p>Let $x$ be odd.</p>", CreationDate="2019-05-01T00:00:00"),
    row(Id=4, PostTypeId=5),
)
LINKS = dump(
    "postlinks", row(Id=1, CreationDate="2019-06-01T00:00:00", PostId=3, RelatedPostId=1, LinkTypeId=3)
)
DATES = {"first": "2016", "last": "2018"}


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEDIA_ROOT, settings.VAR_DIR = tmp_path / "files", tmp_path / "var"
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)


@pytest.fixture
def client(client: Client) -> Client:
    client.force_login(make_organizer("maud"))
    return client


def source() -> SimpleUploadedFile:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("Posts.xml", POSTS)
        archive.writestr("PostLinks.xml", LINKS)
    return SimpleUploadedFile("dump.zip", packed.getvalue())


def start(client: Client, **data: Any) -> Any:
    fields = {"slug": "math", "has_formulas": "on", "has_pages": "on", "duplicates": "keep", **DATES}
    return client.post(reverse("corpus:start_build"), fields | {"upload": [source()]} | data)


def finish() -> Build:
    """The newest build after its jobs ran."""
    build = Build.objects.latest("pk")
    jobs.run(build.job_id)
    build.refresh_from_db()
    assert Job.objects.get(pk=build.job_id).error == ""
    jobs.run(build.import_job_id)
    return build


def content_of(file: BuildFile) -> bytes:
    with file.file.open("rb") as stored:
        content: bytes = stored.read()
    return content


def test_build_of_the_page_has_the_files_of_the_command_to_the_byte(client: Client, tmp_path: Path) -> None:
    (tmp_path / "dump.zip").write_bytes(source().read())

    answer = start(client, converter="latex2mathml")
    build = finish()
    built = tmp_path / "built"
    dates = ["--from", DATES["first"], "--until", DATES["last"]]
    main(["collection", "build", str(tmp_path / "dump.zip"), "--output", str(built), *dates, "--quiet"])
    main(["collection", "convert", str(built), "--converter", "latex2mathml", "--quiet"])

    stored: dict[str, bytes] = {}
    for file in build.files.all():
        if file.name.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(content_of(file))) as archive:
                stored |= {name: archive.read(name) for name in archive.namelist()}
    assert answer.status_code == 302
    assert {"collection/Posts.xml", "html/SHA256SUMS", "formulas/slt/1.tsv"} <= set(stored)
    assert {name: (built / name).read_bytes() for name in stored} == stored
    candidates = content_of(build.files.get(name="math-candidates.jsonl"))
    assert candidates == (built / "private/candidates.jsonl").read_bytes()
    assert [json.loads(line)["id"] for line in candidates.splitlines()] == ["3"]


def test_built_collection_is_imported_with_its_formulas_and_without_later_posts(client: Client) -> None:
    start(client, converter="latex2mathml")

    build = finish()
    page = client.get(build.get_absolute_url()).content.decode()

    collection = build.collection
    assert list(collection.documents.order_by("docno").values_list("docno", flat=True)) == ["1", "2"]
    assert list(collection.formulas.order_by("pk").values_list("latex", flat=True)) == [
        "x^2",
        "x",
        "\\frac{x}{2}",
    ]
    assert collection.mathml.count() == 3
    assert Collection.objects.get(pk=collection.pk).status == Collection.Status.READY
    assert "from 2016-01-01 until 2018-12-31" in page
    assert "math-candidates.jsonl" in page
    rows = re.findall(
        r'fw-normal">([^<]*)</th>\s*<td class="num">(\w*)</td>\s*<td class="num">(\w*)</td>', page
    )
    assert {("candidates for topics", "", "1"), ("other posts: a tag wiki", "1", "0")} <= set(rows)


def test_participants_get_the_public_files_of_the_build(client: Client) -> None:
    start(client)
    build = finish()
    track = make_track("lab", collection=build.collection)

    client.post(reverse("tracks:export_collection", args=[track.slug]))
    jobs.run(Job.objects.latest("pk").pk)

    digests = dict(Download.objects.filter(track=track).values_list("name", "sha256"))
    assert digests == dict(build.files.filter(is_private=False).values_list("name", "sha256"))
    assert "math-candidates.jsonl" not in digests
    assert "math-xml.zip" in digests


def test_candidates_of_the_build_become_those_of_a_track_without_another_upload(client: Client) -> None:
    start(client)
    build = finish()
    track = make_track("lab", collection=build.collection, status="draft")
    address = reverse("tracks:import_candidates", args=[track.slug])

    page = client.get(address).content.decode()
    collection = client.get(build.collection.get_absolute_url()).content.decode()
    answer = client.post(address, {"path": ""})
    jobs.run(Job.objects.latest("pk").pk)

    assert "Without a file: math-candidates.jsonl" in page
    assert f'<a class="btn btn-outline-primary" href="{build.get_absolute_url()}">' in collection
    assert answer.status_code == 302
    assert list(track.candidates.values_list("docno", "duplicates")) == [("3", ["1"])]


def test_working_folder_goes_once_the_collection_is_imported(client: Client, tmp_path: Path) -> None:
    start(client)
    build = Build.objects.get()
    jobs.run(build.job_id)

    n_before_import = services.delete_work_folders()
    build.refresh_from_db()
    jobs.run(build.import_job_id)

    assert (n_before_import, services.delete_work_folders()) == (0, 1)
    assert not services.work_folder(build).exists()


def test_working_folder_without_a_build_goes(client: Client) -> None:
    start(client)
    build = Build.objects.get()
    folders = [services.work_folder(build), services.work_folder(Build(pk=build.pk + 1))]
    for folder in folders:  # the other one was left by a build that a restored backup does not have
        folder.mkdir(parents=True)

    assert services.delete_work_folders() == 1
    assert [folder.exists() for folder in folders] == [True, False]


def test_repeated_attempt_imports_once(client: Client) -> None:
    start(client)
    build = finish()

    Job.objects.filter(pk=build.job_id).update(
        state=Job.State.QUEUED
    )  # killed before the job was marked as done
    jobs.run(build.job_id)

    build.refresh_from_db()
    assert Job.objects.count() == 2
    assert build.files.count() == len({file.name for file in build.files.all()})


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({"last": "2018-13"}, "is not a date; use a year, month or day"),
        ({"topics_first": "2017", "topics_last": "2017"}, "overlap"),
        ({"upload": [source(), source()]}, "Two files are named dump.zip; choose one of them."),
        ({"upload": []}, "This field is required."),
        ({"has_formulas": "", "converter": "latex2mathml"}, "Without formulas there is nothing to convert."),
        ({"slug": ""}, "This field is required."),
    ],
)
def test_wrong_field_is_named_and_nothing_is_made(
    client: Client, data: dict[str, Any], complaint: str
) -> None:
    answer = start(client, **data)

    assert answer.status_code == 422
    assert complaint in answer.content.decode()
    assert not Collection.objects.exists()
    assert not Job.objects.exists()


def test_broken_dump_fails_with_its_line(client: Client) -> None:
    start(client, upload=[SimpleUploadedFile("Posts.xml", POSTS.replace("</posts>", "<row").encode())])
    build = Build.objects.get()

    jobs.run(build.job_id)

    assert "Posts.xml, line" in Job.objects.get(pk=build.job_id).error
    assert not build.files.exists()
    assert "Posts.xml, line" in client.get(build.get_absolute_url()).content.decode()


def test_programs_build_and_read_files_and_others_may_not(client: Client) -> None:
    organizer, stranger = make_organizer("olga"), make_user("sam")
    data = {"slug": "math", "files": [source()], **DATES}

    made = api(organizer).post(reverse("api:build_collection"), data)
    build = finish()
    shown = call(api(organizer), "get", "build", "math").json()
    file = next(each for each in shown["files"] if each["name"] == "math-candidates.jsonl")
    fetched = api(organizer).get(file["url"])
    as_stranger = [api(stranger).get(file["url"]), call(api(stranger), "get", "build", "math")]

    assert made.status_code == 202
    assert made.json()["collection"] == "math"
    assert shown["manifest"]["candidates"] == 1
    assert b"".join(fetched.streaming_content) == content_of(build.files.get(name="math-candidates.jsonl"))
    assert {answer.status_code for answer in as_stranger} == {403}
