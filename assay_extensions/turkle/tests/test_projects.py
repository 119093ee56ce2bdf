"""Projects of Turkle become tracks by one page, as the guide says: all of an upload, or nothing."""

import csv
import html
import re
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.utils import timezone

from accounts.models import User
from assay import samples
from assay.errors import InputError
from assay_extensions.turkle.moves import read_table
from assay_extensions.turkle.projects import Lab, lab_of, projects_in
from assessment.imports import store as import_store
from assessment.imports.seats import Seats
from assessment.models import Batch, Judgment, ProjectImport
from jobs import services as jobs
from jobs.models import Job
from scoring.models import Qrels
from scoring.qrels import services as qrels_services
from scoring.qrels.selectors import qrels_tsv
from tests.helpers.api import api, call
from tests.helpers.database import has_statistics
from tests.helpers.factories import make_organizer, make_track, make_user
from tracks.models import StoredProtocol, Track

pytestmark = pytest.mark.django_db
NAMES = ("template.html", "batch.csv", "results.csv")
FILES = {name: samples.path(f"turkle-project/{name}").read_text() for name in NAMES}


@pytest.fixture
def organizer() -> Client:
    client = Client()
    client.force_login(make_organizer("ona"))
    return client


def uploaded(client: Client, files: dict[str, str | bytes]) -> tuple[HttpResponse, str]:
    """The answer to an upload on the page, and the text of the page that follows."""
    data = {name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()}
    uploads = [SimpleUploadedFile(name, content) for name, content in data.items()]
    answer = client.post("/projects/", {"upload": uploads})
    page = client.get(answer["Location"]).content.decode() if answer.status_code == 302 else ""
    return answer, page


def zipped(files: dict[str, str]) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def names_of(source: ProjectImport, **changed: str) -> dict[str, str]:
    """The fields of the form of names, with other values for some words."""
    projects, people = source.report["projects"], source.report["people"]
    words = [each[key] for each in projects for key in ("title", "slug")]
    words += [person["account"] for person in people]
    kinds = ["titles", "slugs"] * len(projects) + ["accounts"] * len(people)
    return {
        f"{kind}-{n}": changed.get(word, word)
        for n, (kind, word) in enumerate(zip(kinds, words, strict=True))
    }


def imported(client: Client) -> Job:
    """The job of the newest upload, after its button was used."""
    source = ProjectImport.objects.latest("pk")
    answer = client.post(f"/projects/{source.pk}/run/")
    assert answer.status_code == 302, answer.content
    source.refresh_from_db()
    jobs.run(source.job_id or 0)
    return Job.objects.get(pk=source.job_id)


def test_steps_of_the_guide_move_a_project_with_its_people_and_judgments(organizer: Client) -> None:
    _, page = uploaded(organizer, FILES)
    page = " ".join(page.split())
    words = (
        "Passages",
        "batch: 5 judgments",
        "<bdi>ann</bdi>: 3",
        "grade (one of Not at all",
        "a new account",
    )
    assert all(each in page for each in words)
    source = ProjectImport.objects.get()
    names = names_of(source, passages="answers", ben="bea")
    organizer.post(f"/projects/{source.pk}/", names)
    assert not Track.objects.exists()

    job = imported(organizer)

    assert job.state == Job.State.DONE, job.error
    track = Track.objects.get(slug="answers")
    assert (track.name, track.protocol.slug, track.pools.get().name) == ("Passages", "answers", "Rows")
    assert list(track.assessors.order_by("user").values_list("user__username", flat=True)) == ["ann", "bea"]
    assert not User.objects.get(username="ann").has_usable_password()
    assert (Batch.objects.get().name, Batch.objects.get().kind) == ("batch", "dual")
    export = organizer.get(
        f"/tracks/{track.slug}/judging/export/", {"to": "turkle", "names": "usernames", "comments": "without"}
    )
    back = csv.DictReader(StringIO(b"".join(export).decode(), newline=""))
    given = csv.DictReader(StringIO(FILES["results.csv"], newline=""))
    shared = (
        "SubmitTime",
        "WorkTimeInSeconds",
        "MaxAssignments",
        "Input.question",
        "Answer.grade",
        "Answer.clicks",
    )
    assert sorted([row[name] for name in shared] for row in back) == sorted(
        [row[name] for name in shared] for row in given
    )
    ann = Judgment.objects.get(docno="2", assessor__username="ann")
    assert ann.answers == {
        "clicks": "2", "grade": "2", "remark": "clear é", "sentences": "3", "why": ["facts", "style"]
    }  # fmt: skip
    assert (ann.source, ann.created_at.isoformat()) == ("turkle", "2026-11-24T12:52:54+00:00")
    qrels_services.freeze_judgments(pool=track.pools.get(), by=source.created_by, also=["dual"])
    qrels = qrels_tsv(Qrels.objects.get(track=track, report__set="grade")).decode()
    assert qrels.replace("\t", " ").splitlines() == ["rows 0 1 1", "rows 0 2 1", "rows 0 3 0"]
    after = organizer.get(f"/projects/{source.pk}/").content.decode()
    assert after.count(", made") == 2
    assert 'href="/tracks/answers/"' in after
    assert "Check again" not in after
    assert has_statistics("assessment_task", "assessment_judgment", "assessment_topicassignment")
    pool_job = Job.objects.get(kind="pooling.build_pool")
    jobs.run(pool_job.pk)
    pool_job.refresh_from_db()
    assert pool_job.state == Job.State.DONE


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        (
            "results.csv",
            '"0","","","","ann"',
            '"7","","","","ann"',
            "results.csv: line 8: “7” is not an answer",
        ),
        (
            "results.csv",
            '"Tue Nov 24 12:52:54 UTC 2026","0","=1',
            '"soon","0","=1',
            "results.csv: line 8: judged_at 'soon' is not a time",
        ),
        ("results.csv", '"=1+1 units', '"2 units', "results.csv: line 8: of no row of the batch batch"),
        ("results.csv", '"ben"', '"ann"', "line 4: ann judged this row already, in results.csv: line 2"),
        (
            "batch.csv",
            '"passage"',
            '"text"',
            "results.csv: line 1: no batch has the columns passage, question",
        ),
        ("batch.csv", '"=1+1 units to judge.",', "", "batch.csv: line 5: expected 2 columns"),
        ("template.html", "${question}", "${question.x}", "line 1: ${question.x} has no effect in a frame"),
        ("template.html", "passage", "text", "template.html: line 2: no batch has the column text"),
    ],
)
def test_errors_name_file_and_line_and_nothing_is_imported(
    organizer: Client, name: str, old: str, new: str, problem: str
) -> None:
    assert old in FILES[name]

    _, page = uploaded(organizer, FILES | {name: FILES[name].replace(old, new)})

    assert problem in html.unescape(page)
    assert "Import now" not in page
    refused = organizer.post(f"/projects/{ProjectImport.objects.get().pk}/run/")
    assert refused.status_code == 409
    assert not Track.objects.exists()


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"a.zip": b"PK\x03\x04 broken"}, "a.zip: The zip file is damaged or cut off"),
        (
            {"a.zip": zipped({f"{n}{'x' * 1100}": "" for n in range(1000)})},
            "a.zip: The zip contains many files.",
        ),
        ({"a.zip": b"PK\x05\x06" + bytes(18)}, "no files; accepted"),
        ({"batch.csv": "a\n1\n"}, "no template"),
        ({"template.html": "<p>"}, "no batch with it"),
        (
            {"template.html": "<p>${a}", "b.csv": "a\n1\n"},
            "template.html: line 1: nothing to answer; add an input",
        ),
        ({**FILES, "other.html": "<p>"}, "a second template; the first is other.html"),
        ({**FILES, "notes.docx": "x"}, "notes.docx: not a file of a project"),
        ({**FILES, "batch.csv": b"a\n\x81\n"}, "batch.csv: Line 2 is neither UTF-8"),
        ({"lab.toml": "x", "rows.csv": "x", "x.txt": "x"}, "x.txt: not a file of a lab"),
        ({"project.json": "[]", "batch.csv": "a\n1\n"}, "project.json: line 1: expected one project"),
        (
            {"p.json": r'{"name": "a\u0000b", "html_template": "x"}', "b.csv": "a\n1\n"},
            "p.json: line 1: a NUL",
        ),
        ({"p.json": r'{"name": "\ud800", "html_template": "x"}', "b.csv": "a\n1\n"}, "p.json: line 1: a NUL"),
        ({**FILES, "batch.csv": "a\n\0\n"}, "batch.csv: line 2: a NUL character"),
        ({**FILES, "z.zip": zipped({"batch.csv": "a\n1\n"})}, "batch.csv: a second file of this name"),
        ({"a.zip": zipped({"é.csv": "a"}).replace("é".encode(), b"\xff\xff")}, "a damaged or encrypted zip"),
    ],
)
def test_files_of_no_project_are_named(
    organizer: Client, files: dict[str, str | bytes], problem: str
) -> None:
    answer, page = uploaded(organizer, files)

    assert problem in page + answer.content.decode()


def test_names_and_accounts_that_are_taken_are_refused_and_chosen_again(organizer: Client) -> None:
    make_track(slug="passages")
    make_user("ann", is_active=False)
    ben = make_user("Ben")
    make_user("link-1-1", guest_until=timezone.now())
    _, page = uploaded(organizer, FILES)
    assert "there is a track with the short name passages" in page
    assert "the account ann is deactivated" in page
    source = ProjectImport.objects.get()

    organizer.post(f"/projects/{source.pk}/", names_of(source, passages="passages-2", ann="Ben"))
    same = organizer.get(f"/projects/{source.pk}/").content.decode()
    source.refresh_from_db()
    organizer.post(f"/projects/{source.pk}/", names_of(source) | {"accounts-2": "a nn"})
    wrong = organizer.get(f"/projects/{source.pk}/").content.decode()
    organizer.post(f"/projects/{source.pk}/", names_of(source) | {"accounts-2": "link-1-1"})
    guest = organizer.get(f"/projects/{source.pk}/").content.decode()
    organizer.post(f"/projects/{source.pk}/", names_of(source) | {"accounts-2": "anna"})
    imported(organizer)

    assert "ben and ann have the same account, Ben" in same
    assert "a nn cannot be the name of an account" in wrong
    assert "the account link-1-1 is of somebody who judges by a link" in guest
    users = Judgment.objects.order_by("assessor__username").values_list("assessor__username", flat=True)
    assert sorted(set(users)) == ["Ben", "anna"]
    assert ben.judgments.count() == 2


def test_template_of_turkle_with_values_in_words_gets_a_question_that_checks_them() -> None:
    template = """<p>${content}</p>
<label><input name="sentiment" required="" type="radio" value="Strongly Positive"/>Strongly Positive </label>
<label><input name="sentiment" required="" type="radio" value="Neutral"/>Neutral</label>"""
    header, row = (line.split(",") for line in FILES["results.csv"].splitlines()[:2])
    columns = f"{','.join(header[:11])},Input.content,Answer.sentiment,Turkle.Username"
    results = f"{columns}\n{','.join(row[:11])},fine,Strongly Positive,ann\n"

    def lab(answers: str) -> Lab:
        files = {"t.html": template, "b.csv": "content\nfine\n", "r.csv": answers}
        [project] = projects_in({name: text.encode() for name, text in files.items()})
        return lab_of(project)

    [question] = lab(results).protocol.judging.questions
    assert [choice.key for choice in question.choices] == ["Strongly Positive", "Neutral"]
    assert [row.answers for row in lab(results).judgments] == [{"sentiment": "Strongly Positive"}]
    assert lab(results).problems == []
    with pytest.raises(
        InputError, match=r"r\.csv: line 2: Turkle.Username and WorkerId are empty: judged without"
    ):
        lab(results.replace(",ann", ",").replace(row[7], ""))
    [problem] = lab(results.replace("Strongly Positive,", "Strongly,")).problems
    assert problem.startswith("r.csv: line 2: “Strongly” is not an answer")


def test_what_a_template_does_not_show_or_check_is_said() -> None:
    files = {
        "t.html": "<p>${a} ${b|raw} ${c}</p><script>1</script>",
        "b.csv": "a,b,c,d,e\n<i>x</i>,<i>y</i>,2 < 3 & 4,1,2\n&eacute;,y,1,1,2\n",
    }
    [project] = projects_in({name: text.encode() for name, text in files.items()})

    assert lab_of(project).notes[:3] == [
        "no control has a name; what scripts add is stored as given, and nothing checks it",
        "b.csv: the template does not show d, e; stored with the rows",
        "b.csv: a has HTML in 2 rows, which is shown as text; write ${a|raw} in the template to show it as HTML",
    ]


def test_every_row_with_another_number_of_columns_is_named() -> None:
    table = "a,b\n" + "1\n" * 22 + "1,2\n"
    with pytest.raises(InputError) as refusal:
        read_table(table, "b.csv")

    lines = str(refusal.value).splitlines()
    assert lines[0] == "b.csv: line 2: expected 2 columns as in the header, got 1"
    assert len(lines) == 21
    assert lines[-1] == "b.csv: and 2 more lines"


def test_more_workers_of_a_task_than_it_asks_for_are_named_with_their_line(organizer: Client) -> None:
    files = FILES | {"results.csv": FILES["results.csv"].replace('2026","2","7200"', '2026","1","7200"')}

    _, page = uploaded(organizer, files)

    problem = "more assignments than MaxAssignments or the protocol's judges allow, 1"
    assert f"results.csv: line 4: this row has {problem}" in html.unescape(page)
    assert "Import now" not in page


def test_fault_in_the_middle_of_the_import_names_its_line_and_leaves_nothing(
    organizer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploaded(organizer, FILES)
    take = Seats._take
    monkeypatch.setattr(
        Seats, "_take", lambda seats, each: "no seat" if each.row.docno == "3" else take(seats, each)
    )

    job = imported(organizer)

    assert (job.state, job.error) == (Job.State.FAILED, "results.csv: line 8: no seat")
    assert not Track.objects.exists()
    assert not User.objects.filter(username="ann").exists()
    monkeypatch.undo()
    assert imported(organizer).state == Job.State.DONE


@pytest.mark.django_db(transaction=True)
def test_page_counts_tasks_while_one_project_is_stored_and_can_cancel(
    organizer: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.JOB_HEARTBEAT_SECONDS = 0.01
    uploaded(organizer, FILES)
    source = ProjectImport.objects.get()
    store = import_store.store
    pages: list[str] = []

    def seen() -> None:
        job = Job.objects.get(kind="assessment.projects.import")
        deadline = time.monotonic() + 60
        while "8 of 8" not in "".join(pages) and time.monotonic() < deadline:
            pages.append(organizer.get(f"/jobs/{job.pk}/").content.decode())
        organizer.post(f"/jobs/{job.pk}/cancel/")
        connection.close()

    def slow(*arguments: Any) -> None:
        store(*arguments)
        with ThreadPoolExecutor() as threads:
            threads.submit(seen).result()

    monkeypatch.setattr("assessment.imports.services.store", slow)

    job = imported(organizer)

    shown = " ".join(pages[-1].partition('role="status"')[2].partition("</div>")[0].split())
    assert re.fullmatch(r"> 8 of 8 · tasks and judgments; (reading|storing|comparing) Passages", shown)
    assert (job.state, "canceled" in job.error) == (Job.State.FAILED, True)
    assert not Track.objects.exists()
    assert not ProjectImport.objects.get(pk=source.pk).imported_at


def test_projects_of_a_zip_file_come_together_or_not_at_all(organizer: Client) -> None:
    second = FILES["results.csv"].replace('"Passages"', '"Sentences"').replace('"ben"', '"cyd"')
    files = {f"one/{name}": text for name, text in FILES.items()}
    files |= {"two/batch.csv": FILES["batch.csv"], "two/batch-Batch_7_results.csv": second}
    files["two/project.json"] = (
        '{"name": "Of the client", "html_template": "<input name=grade>${question}${passage}"}'
    )
    files["__MACOSX/one/._batch.csv"] = ""
    uploaded(organizer, {"turkle.zip": zipped(files)})
    race = make_track(slug="sentences")

    failed = imported(organizer)

    assert failed.state == Job.State.FAILED
    assert "there is a track with the short name sentences" in failed.error
    assert not StoredProtocol.objects.filter(slug="passages").exists()
    assert not User.objects.filter(username="ann").exists()
    Track.objects.filter(pk=race.pk).update(slug="other")
    done = imported(organizer)
    assert done.state == Job.State.DONE, done.error
    assert Judgment.objects.count() == 10
    people = Track.objects.get(slug="sentences").assessors.values_list("user__username", flat=True)
    assert set(people) == {"ann", "cyd"}


def test_program_imports_the_lab_that_the_command_made(tmp_path: Path) -> None:
    from assay.cli.main import main

    paths = [str(samples.path(f"turkle-project/{name}")) for name in NAMES]
    assert main(["turkle", *paths, "--to", str(tmp_path / "lab")]) == 0
    lab = {f"lab/{path.name}": path.read_text() for path in (tmp_path / "lab").iterdir()}
    client = api(make_organizer())
    form = encode_multipart(BOUNDARY, {"file": SimpleUploadedFile("lab.zip", zipped(lab))})

    started = call(client, "POST", "project_imports", data=form, content_type=MULTIPART_CONTENT)
    address = started["Location"]
    named = client.patch(
        address, {"titles": {"lab": "New"}, "slugs": {"lab": "new"}}, content_type="application/json"
    )
    run = call(client, "POST", "run_project_import", started.json()["id"])
    jobs.run(ProjectImport.objects.get().job_id or 0)
    late = client.delete(address)

    assert (started.status_code, started.json()["is_ready"], run.status_code) == (201, True, 202)
    assert named.json()["report"]["projects"][0]["title"] == "New"
    track = Track.objects.get(slug="new")
    assert (track.name, track.protocol.slug, Judgment.objects.count()) == ("New", "lab", 5)
    assert (late.status_code, late.json()["code"]) == (409, "already-imported")


def test_command_checks_then_imports_and_discards_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_organizer("ona")
    paths = [str(samples.path(f"turkle-project/{name}")) for name in NAMES]
    bad = tmp_path / "results.csv"
    bad.write_text(FILES["results.csv"].replace('"0","","","","ann"', '"7","","","","ann"'))

    call_command("import_projects", *paths, "--by", "ona", "--check")
    with pytest.raises(CommandError, match=r"results\.csv: line 8"):
        call_command("import_projects", *paths[:2], str(bad), "--by", "ona")
    assert not ProjectImport.objects.exists()
    call_command(
        "import_projects",
        *paths,
        "--by",
        "ona",
        "--slug",
        "moved",
        "--title",
        "Moved",
        "--account",
        "ann=zoe",
    )

    assert Track.objects.get().name == "Moved"
    assert Judgment.objects.filter(assessor__username="zoe").count() == 3
    assert capsys.readouterr().out.splitlines() == [
        "track passages would be made: 3 rows, 5 judgments",
        "track moved made: 3 rows, 5 judgments",
    ]


def test_upload_is_deleted_and_only_organizers_see_the_page(organizer: Client) -> None:
    uploaded(organizer, FILES)
    source = ProjectImport.objects.get()
    stranger = Client()
    stranger.force_login(make_user("sue"))

    assert stranger.get(f"/projects/{source.pk}/").status_code == 403
    assert stranger.post(f"/projects/{source.pk}/discard/").status_code == 403
    assert organizer.post(f"/projects/{source.pk}/discard/").status_code == 302
    assert not ProjectImport.objects.exists()
