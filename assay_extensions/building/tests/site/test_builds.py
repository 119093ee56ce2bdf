"""Building a collection on the site: the files of the command, the import, candidates for organizers only, refusals."""

import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, TestCase
from django.urls import reverse

from assay.cli.main import main
from assay.formulas.conversion import Converter
from assay_extensions.building.site.builds import folders, parts
from corpus.models import Build, BuildFile, Collection, ConversionPart
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
def disk(tmp_path: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> None:
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
    return client.post(reverse("building:start_build"), fields | {"upload": [source()]} | data)


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
    assert f'<a href="{build.get_absolute_url()}">Show the build</a>' in collection
    assert answer.status_code == 302
    assert list(track.candidates.values_list("docno", "duplicates")) == [("3", ["1"])]


def test_working_folder_goes_once_the_collection_is_imported(client: Client, tmp_path: Path) -> None:
    start(client)
    build = Build.objects.get()
    jobs.run(build.job_id)

    n_before_import = folders.delete_work_folders()
    build.refresh_from_db()
    jobs.run(build.import_job_id)

    assert (n_before_import, folders.delete_work_folders()) == (0, 1)
    assert not folders.work_folder(build).exists()


def test_working_folder_without_a_build_goes(client: Client) -> None:
    start(client)
    build = Build.objects.get()
    own = [folders.work_folder(build), folders.work_folder(Build(pk=build.pk + 1))]
    for folder in own:  # the other one was left by a build that a restored backup does not have
        folder.mkdir(parents=True)

    assert folders.delete_work_folders() == 1
    assert [folder.exists() for folder in own] == [True, False]


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
        ({"upload": []}, "Choose files to upload."),
        ({"has_formulas": "", "converter": "latex2mathml"}, "Without formulas there is nothing to convert."),
        ({"slug": ""}, "Enter a short name: none can be made from the name."),
        ({"overlap": "1.5"}, "Enter a number of at most 1"),
        ({"removed": "kind\tx\n1\t2"}, "The list, line 1: expected one docno per line"),
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


BROKEN = {"upload": [SimpleUploadedFile("Posts.xml", POSTS.replace("</posts>", "<row").encode())]}


def failed_build(client: Client, **data: Any) -> Build:
    """A build whose job has failed."""
    start(client, **data)
    build = Build.objects.latest("pk")
    jobs.run(build.job_id)
    build.refresh_from_db()
    assert build.job is not None
    assert build.job.state == Job.State.FAILED
    return build


def test_failed_build_is_built_again_with_other_options(client: Client) -> None:
    build = failed_build(client, last="2015", first="2014")
    before = folders.work_folder(build)
    page = client.get(build.get_absolute_url()).content.decode()
    address = reverse("building:change_build", args=["math"])

    form = client.get(address).context["form"]
    options = {"has_formulas": "on", "duplicates": "near", "overlap": "0.5", "first": "2016", "last": "2018"}
    wrong = client.post(address, options | {"last": "2018-13"})
    answer = client.post(address, options)
    built = finish()

    assert "Nothing of the source is in the period" in page
    assert address in page
    assert (form.initial["first"], form.initial["last"]) == ("2014-01-01", "2015-12-31")
    assert (wrong.status_code, answer.status_code) == (422, 302)
    assert (built.pk, built.settings["overlap"], built.settings["duplicates"]) == (build.pk, 0.5, "near")
    assert "0.5 of their" in client.get(build.get_absolute_url()).content.decode()
    assert built.collection.documents.count() == 2
    assert folders.delete_work_folders() == 2  # that of the earlier options, and that of the finished build
    assert not before.exists()


def test_failed_build_is_deleted_with_all_its_files_and_its_name_is_free(
    client: Client, tmp_path: Path
) -> None:
    build = failed_build(client, **BROKEN)
    page = client.get(build.get_absolute_url()).content.decode()

    with_callbacks(lambda: client.post(reverse("building:delete_build", args=["math"])))

    assert re.search(r"[\d.]+\s(bytes|kB) of uploads", page)
    assert f"working files on {build.work_host}" in page
    assert not Collection.objects.exists()
    assert not Build.objects.exists()
    assert folders.delete_work_folders() == 1
    assert [path for path in (tmp_path / "files").rglob("*") if path.is_file()] == []
    assert start(client).status_code == 302
    jobs.run(build.job_id)  # of the deleted build: nothing happens
    assert "deleted" in retried(build.job_id).error


def retried(job_id: int) -> Job:
    """A failed job after it was restarted and run."""
    job = Job.objects.get(pk=job_id)
    jobs.retry(job=job)
    jobs.run(job_id)
    job.refresh_from_db()
    return job


def with_callbacks(act: Any) -> Any:
    with TestCase.captureOnCommitCallbacks(execute=True):
        return act()


def test_running_or_imported_build_is_neither_deleted_nor_changed(client: Client) -> None:
    start(client)
    build = Build.objects.get()
    delete = reverse("building:delete_build", args=["math"])
    waiting = client.post(delete)
    build = finish()
    make_track("lab", collection=build.collection)

    imported = client.post(delete)
    changed = client.post(reverse("building:change_build", args=["math"]), {"duplicates": "keep"})

    assert (waiting.status_code, imported.status_code, changed.status_code) == (409, 409, 422)
    assert "is not finished. Cancel its job first." in waiting.content.decode()
    assert "has documents" in imported.content.decode()
    assert "Only a failed build" in changed.content.decode()
    assert "Delete build" not in client.get(build.get_absolute_url()).content.decode()


def test_second_build_of_a_name_is_refused(client: Client) -> None:
    start(client)

    answer = start(client)

    assert answer.status_code == 422
    assert "There is already a collection math." in answer.content.decode()
    assert Build.objects.count() == 1


def test_posts_to_leave_out_are_not_published(client: Client) -> None:
    start(client, removed="topic\tkind\tdocno\nA.1\tmention\t2\n")
    build = finish()

    documents = build.collection.documents.values_list("docno", flat=True)
    assert (build.removed, list(documents), build.manifest["removed"]) == (["2"], ["1"], 1)


def test_unknown_post_to_leave_out_fails_the_build(client: Client) -> None:
    build = failed_build(client, removed="77")

    assert build.job is not None
    assert build.job.error == "The posts to leave out, line 1: 77 is not in the collection."


def test_build_waits_for_an_earlier_worker_that_still_runs(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other worker is a process that holds the lock and is killed, as by the system."""
    start(client)
    build = Build.objects.get()
    folder = folders.work_folder(build)
    folder.mkdir(parents=True)
    script = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print(flush=True); sys.stdin.read()"
    command, pipe = [sys.executable, "-c", script, folder / folders.LOCK], subprocess.PIPE
    messages: list[str] = []
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as other:
        assert other.stdout is not None
        other.stdout.readline()

        def wait(_seconds: float) -> None:
            messages.append(Job.objects.get(pk=build.job_id).message)
            other.kill()
            other.wait()

        monkeypatch.setattr(folders.time, "sleep", wait)
        built = finish()

    assert messages == ["waiting for the earlier worker, which still runs, to stop"]
    assert built.collection.documents.count() == 2


def test_links_out_of_the_import_folder_are_not_followed(
    client: Client, tmp_path: Path, settings: LazySettings
) -> None:
    (tmp_path / "import/dump").mkdir(parents=True)
    (tmp_path / "secret.xml").write_text(POSTS)
    (tmp_path / "import/dump/Posts.xml").symlink_to(tmp_path / "secret.xml")
    settings.IMPORT_DIR = str(tmp_path / "import")

    build = failed_build(client, upload=[], path="dump")

    assert build.job is not None
    assert build.job.error.startswith("Posts.xml is a link that leads out of the import folder.")


def test_full_disk_is_a_failure_in_a_sentence_and_the_build_goes_on(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("assay_extensions.building.site.builds.jobs.shutil.copyfileobj", full)
        build = failed_build(client)
    assert build.job is not None
    error = build.job.error
    jobs.retry(job=build.job)

    built = finish()

    assert error.startswith("The disk of ")
    assert error.endswith(" is full. Free some space and start the same build again: it continues.")
    assert built.collection.documents.count() == 2


def test_results_of_an_earlier_attempt_and_of_helpers_are_used(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part that was converted is not converted again; one that a lost helper held is."""
    monkeypatch.setattr(parts, "FORMULAS", {"latex2mathml": 1})
    start(client, converter="latex2mathml")
    build = Build.objects.get()
    helper = Job.objects.create(kind=parts.HELP, title="", state=Job.State.FAILED)
    result = ["<math>ours</math>", "", ""]
    ConversionPart.objects.create(build=build, formulas=parts.pack(["x^2"]), results=parts.pack([result]))
    ConversionPart.objects.create(build=build, formulas=parts.pack(["x"]), holder=helper, holder_attempt=0)

    build = finish()

    stored = build.files.get(name="math-formulas-slt.zip")
    with zipfile.ZipFile(io.BytesIO(content_of(stored))) as archive:
        rows = [archive.read(f"formulas/slt/{n}.tsv").decode().splitlines()[1] for n in (1, 2, 3)]
    assert [row.endswith("\t<math>ours</math>") for row in rows] == [True, False, False]
    assert not ConversionPart.objects.exists()
    assert Job.objects.filter(kind=parts.HELP, state=Job.State.QUEUED).exists()


def test_leader_reports_the_formulas_that_it_has_converted_of_a_part(client: Client) -> None:
    start(client, converter="latex2mathml")
    build, seen = Build.objects.get(), list[int]()
    Job.objects.filter(pk=build.job_id).update(state=Job.State.RUNNING, attempt=1)
    formulas = [f"x_{{{n}}}" for n in range(120)]

    list(parts.convert(jobs.Progress(build.job_id, 1), build, formulas, seen.append))

    assert seen == [100, 120]


def test_helper_without_the_converter_of_the_leader_converts_nothing(client: Client) -> None:
    start(client, converter="latex2mathml")
    build = Build.objects.get()
    part = ConversionPart.objects.create(build=build, formulas=parts.pack(["x"]))
    arguments = {"build_id": build.pk, "converter": "latex2mathml 0.0"}
    helper = jobs.request(kind=parts.HELP, title="", arguments=arguments, by=None, subject=build)
    jobs.run(helper.pk)
    helper.refresh_from_db()

    assert (helper.state, helper.result) == (Job.State.DONE, {"parts": 0})
    arguments["converter"] = Converter.named("latex2mathml").full_name
    helper = jobs.request(kind=parts.HELP, title="", arguments=arguments, by=None, subject=build)
    jobs.run(helper.pk)
    helper.refresh_from_db()
    part.refresh_from_db()
    assert helper.result == {"parts": 1}
    assert "<math" in parts.unpack(part.results)[0][0]


def test_programs_change_and_delete_failed_builds(client: Client) -> None:
    failed_build(client, first="2014", last="2015")
    organizer = api(make_organizer("olga"))

    changed = call(organizer, "post", "change_build", "math", data=DATES | {"overlap": 0.4})
    Job.objects.update(state=Job.State.FAILED)
    deleted = call(organizer, "delete", "build", "math")

    assert (changed.status_code, changed.json()["settings"]["overlap"]) == (202, 0.4)
    assert deleted.status_code == 204
    assert not Collection.objects.exists()
