"""The import pages: for organizers only, with files from the import folder only, and errors on the page."""

import gzip
import os
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect

from assay import samples
from assay.formats.documents.indexes import FORMS
from assay.formats.documents.sources import DUMPS, FORUM, TREC
from corpus.articles import reading as articles
from corpus.images import reading as images
from corpus.imports import selectors
from corpus.imports.recognition import ORDER, TABLE
from corpus.models import Collection, Document, Import
from jobs import services as jobs
from jobs.models import Job
from tests.helpers.browser import excess_width, log_in
from tests.helpers.dumps import answer, dump, many_posts, question, row, write
from tests.helpers.factories import (
    make_assessor,
    make_collection,
    make_organizer,
    make_track,
    make_user,
)

pytestmark = pytest.mark.django_db

POSTS = dump("posts", question(1), answer(2, 1), row(Id=3, PostTypeId=5)).encode()


@pytest.fixture
def organizer(client: Client) -> Client:
    client.force_login(make_organizer())
    return client


def start(client: Client, **data: Any) -> Any:
    return client.post(reverse("corpus:start_import"), data)


def upload(content: bytes = POSTS, name: str = "Posts.xml") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def test_page_of_an_import_describes_every_form(organizer: Client) -> None:
    described = {
        ("jsonl",): "one JSON object per line",
        (TABLE,): "table of documents",
        (FORUM,): "BOLT’s XML",
        (TREC,): "&lt;DOCNO&gt;",
        DUMPS: "Stack Exchange dump",
        (articles.FORM,): "XHTML with MathML",
        tuple(FORMS): "Formula indexes",
        (images.FORM,): "<strong>Images</strong>",
    }

    page = organizer.get(reverse("corpus:start_import")).content.decode()

    assert {form for forms in described for form in forms} == {*ORDER}
    assert [words for words in described.values() if words not in page] == []


def test_organizer_imports_an_upload_into_a_new_collection(organizer: Client) -> None:
    fields = {"slug": "math", "name": "Math", "hosts": "https://Math.StackExchange.com/ meta.example.org"}

    response = start(organizer, **fields, upload=upload())
    job = Job.objects.get()
    jobs.run(job.pk)
    page = organizer.get(response["Location"]).content.decode()

    collection = Collection.objects.get(slug="math")
    assert collection.hosts == ["math.stackexchange.com", "meta.example.org"]
    assert collection.status == Collection.Status.READY
    assert "1 question, 1 answer" in page
    assert "1: a post that is not a question or answer: a tag wiki" in page


@pytest.mark.parametrize(
    ("content", "kind", "texts"),
    [
        (
            b'11\tIs 5 < 6 & "so"?\n007\tb\n',
            "tsv docno=1 text=2 of=2",
            {"11": '<p>Is 5 &lt; 6 &amp; "so"?</p>', "007": "<p>b</p>"},
        ),
        (
            b'topic_id\tTweet-ID\turl\ttweet_text\nt\t1\tu\t"say ""hi"""\nt\t2\nt\t3\tu\t\xff\n',
            "tsv docno=2 text=4 of=4",
            {"1": '<p>say "hi"</p>', "3": "<p>ÿ</p>"},
        ),
        (
            b'\xef\xbb\xbf"text","id"\r\n"a, ""b""\n\nc",d1\r\nx,d2,\r\ny, z,d3\r\n',
            "csv docno=2 text=1 of=2",
            {"d1": '<p>a, "b"</p><p>c</p>', "d2": "<p>x</p>"},
        ),
        (
            b'sep=;\r\nid;text\r\nd1;"a; ""b"""\r\nd2;x, y\r\n',
            "ssv docno=1 text=2 of=2",
            {"d1": '<p>a; "b"</p>', "d2": "<p>x, y</p>"},
        ),
        (
            b'{"_id": "d1", "contents": "a"}\n{"id": 7, "passage": "b"}\n{"docid": "e"}\n',
            "jsonl",
            {"d1": "<p>a</p>", "7": "<p>b</p>", "e": ""},
        ),
    ],
)
def test_tables_and_other_names_of_fields_are_imported(
    organizer: Client, content: bytes, kind: str, texts: dict[str, str]
) -> None:
    response = start(organizer, slug="tweets", upload=upload(content, "tweets.txt"))
    jobs.run(Job.objects.get().pk)
    page = organizer.get(response["Location"]).content.decode()

    stored = {document.docno: "".join(document.body.splitlines()) for document in Document.objects.all()}
    assert (stored, Import.objects.get().format) == (texts, kind)
    if b"url" in content:
        assert "1: fewer columns than the header or first row" in page
        assert "1 read as Windows-1252" in page
    if kind.startswith("csv"):
        assert "1: more columns than the header or first row" in page
    assert ("1 empty document" in page) == ("" in texts.values())


def test_file_without_docnos_is_refused_with_the_names_that_are_read(organizer: Client) -> None:
    response = start(organizer, slug="args", upload=upload(b'{"key": "a", "text": "b"}\n', "args.jsonl"))
    jobs.run(Job.objects.get().pk)
    page = organizer.get(response["Location"]).content.decode()

    assert "args.jsonl, line 1: docno is missing; it may also be named doc_id, docid" in page
    assert "No row can be imported" in page


def test_lines_whose_keys_are_all_unknown_are_left_out(organizer: Client) -> None:
    argilla = b'{"id": "rec-1", "fields": {"text": "An owl."}, "responses": {}}\n{"id": "2", "text": "b"}\n'
    response = start(organizer, slug="owls", upload=upload(argilla, "argilla.jsonl"))
    jobs.run(Job.objects.get().pk)
    page = organizer.get(response["Location"]).content.decode()

    assert "1: it has no title and no text, but fields, responses, which are not read" in page
    assert Document.objects.get().docno == "2"


def test_organizer_imports_documents_of_trec_in_several_compressed_files(organizer: Client) -> None:
    sample = samples.path("trec-documents.txt").read_bytes()
    other = sample.replace(b"HN", b"LA").replace(b"harbor", b"caf\xe9")
    files = [
        upload(gzip.compress(sample), "hn890101.gz"),
        upload(other, "la890101"),
        upload(b"notes", "readme"),
    ]

    response = start(organizer, slug="news", upload=files)
    jobs.run(Job.objects.get().pk)
    page = organizer.get(response["Location"]).content.decode()
    document = Document.objects.get(docno="LA010189-0001")
    shown = organizer.get(reverse("corpus:thread", args=["news", document.docno])).content.decode()

    assert Document.objects.count() == 8
    assert "4 documents" in page
    assert "4 documents, 1 read as Windows-1252" in page
    assert "readme" in page
    assert "at the old café" in shown
    assert "Volunteers of R&amp;S" in shown


def test_progress_is_shown_while_the_import_runs(organizer: Client) -> None:
    response = start(organizer, slug="math", upload=upload())

    page = organizer.get(response["Location"]).content.decode()

    assert "hx-get" in page
    assert "Readers see the collection when the import is complete." in page


def test_page_of_an_import_names_the_format_in_words(organizer: Client) -> None:
    content = b"id\tpost_id\tthread_id\ttype\tformula\n1\t2\t2\ttitle\tx^2\n"
    response = start(organizer, slug="math", upload=upload(content, "latex.tsv"), representation="latex")

    page = organizer.get(response["Location"]).content.decode()

    assert "(index of formulas in LaTeX, 5 columns)" in page
    assert "formulas-latex" not in page


def test_import_leads_on_to_the_track_that_waits_for_the_collection(organizer: Client) -> None:
    address = start(organizer, slug="math", upload=upload())["Location"]
    jobs.run(Job.objects.get().pk)
    alone = organizer.get(address).content.decode()
    track = make_track(collection=Collection.objects.get())

    page = organizer.get(address).content.decode()

    assert "Create a track" in alone
    assert f'class="btn btn-primary" href="{track.get_absolute_url()}">Go on with' in page


def test_page_of_a_failed_import_shows_the_error(organizer: Client) -> None:
    response = start(organizer, slug="math", upload=upload(POSTS[:-3]))
    jobs.run(Job.objects.get().pk)

    page = organizer.get(response["Location"]).content.decode()

    assert "ends without &lt;/posts&gt;" in page
    assert "Readers do not see the collection" in page


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"slug": "math"}, "Choose files to upload."),
        ({"upload": POSTS}, "Enter a name for the new collection"),
        (
            {"slug": "not a slug", "upload": POSTS},
            "Use the letters a to z, digits, hyphens and underscores, without spaces.",
        ),
        ({"slug": "taken", "upload": POSTS}, "There is already a collection taken"),
        ({"slug": "math", "upload": b"%PDF-1.7"}, "The file is a PDF document."),
        ({"slug": "math", "upload": b"PK\x03\x04"}, "The zip file is damaged"),
        ({"slug": "math", "path": "../../etc"}, "Choose files to upload."),
    ],
)
def test_refused_import_shows_the_form_again(organizer: Client, data: dict[str, Any], message: str) -> None:
    make_collection("taken")
    if "upload" in data:
        data = data | {"upload": upload(data["upload"])}

    response = start(organizer, **data)

    assert response.status_code == 200
    assert message in response.content.decode()
    assert not Job.objects.exists()
    assert not Collection.objects.filter(slug="math").exists()


def test_refused_file_has_its_reason_at_its_field(organizer: Client) -> None:
    page = start(organizer, slug="math", upload=upload(b"%PDF-1.7")).content.decode()

    field = page.partition('name="upload"')[2].partition('name="representation"')[0]
    assert "The file is a PDF document." in field
    assert 'role="alert">' not in page.partition("<form")[2], "no error of the form as a whole"


def test_file_in_the_import_folder_is_imported(organizer: Client, tmp_path: Path, settings: Any) -> None:
    settings.IMPORT_DIR = str(tmp_path)
    (tmp_path / "dump").mkdir()
    write(tmp_path / "dump", "Posts.xml", POSTS)
    collection = make_collection("math")

    start(organizer, collection=collection.pk, path="dump")
    jobs.run(Job.objects.get().pk)

    assert Document.objects.filter(collection=collection).count() == 2


def test_path_that_is_not_offered_is_typed(
    organizer: Client, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page looks at a limited number of entries, folders before their contents, in each folder a part of them."""
    monkeypatch.setattr(selectors, "MAX_LOOKED_AT", 20)
    monkeypatch.setattr(selectors, "MAX_OFFERED", 8)
    settings.IMPORT_DIR = str(tmp_path)
    looked_at: list[str] = []

    def noted(name: str) -> bool:
        looked_at.append(name)
        return images.is_image(name)

    monkeypatch.setattr(selectors, "is_image", noted)
    for name in ("a", "a/deep", "b", "c"):
        (tmp_path / name).mkdir()
        for n in range(30):
            (tmp_path / name / f"{name[-1]}{n}.xml").touch()
    write(tmp_path / "a" / "deep", "Posts.xml", POSTS)

    page = organizer.get(reverse("corpus:start_import")).content.decode()
    n_looked_at = len(looked_at)
    response = start(organizer, slug="math", path="a/deep/Posts.xml")

    offered = re.findall('<option value="([^"]+)"></option>', page)
    assert {"a", "b", "c"} <= set(offered)
    assert (len(offered), n_looked_at) == (8, 20)
    assert "There may be more: type them." in page
    assert response.status_code == 302


@pytest.mark.parametrize(
    "path", ["../outside.xml", "/etc/passwd", "link.xml", "linked", "inner/../../outside.xml"]
)
def test_files_outside_the_import_folder_are_not_read(
    organizer: Client, tmp_path: Path, settings: Any, path: str
) -> None:
    inside = tmp_path / "inside"
    (inside / "inner").mkdir(parents=True)
    outside = write(tmp_path, "outside.xml", POSTS)
    (inside / "link.xml").symlink_to(outside)
    (inside / "linked").symlink_to(tmp_path)
    settings.IMPORT_DIR = str(inside)

    response = start(organizer, slug="math", path=path)

    assert "There is no such file or folder in the import folder" in response.content.decode()
    assert not Import.objects.exists()


def test_name_that_is_not_utf_8_is_not_offered(organizer: Client, tmp_path: Path, settings: Any) -> None:
    settings.IMPORT_DIR = str(tmp_path)
    for name in (b"caf\xe9.xml", b"posts.xml"):
        (tmp_path / os.fsdecode(name)).touch()

    page = organizer.get(reverse("corpus:start_import")).content.decode()

    assert re.findall('<option value="([^"]+)"></option>', page) == ["posts.xml"]


def test_link_that_leads_out_of_the_import_folder_is_ignored(
    organizer: Client, tmp_path: Path, settings: Any
) -> None:
    inside = tmp_path / "inside"
    (inside / "dump").mkdir(parents=True)
    (inside / "dump" / "Posts.xml").symlink_to(write(tmp_path, "outside.xml", POSTS))
    settings.IMPORT_DIR = str(inside)

    response = start(organizer, slug="math", path="dump")

    assert "There is no file" in response.content.decode()
    assert not Import.objects.exists()


def test_list_has_only_the_imports_of_the_collection(organizer: Client) -> None:
    start(organizer, slug="one", upload=upload(name="One.xml"))
    start(organizer, slug="two", upload=upload(name="Two.xml"))

    all_imports = organizer.get(reverse("corpus:imports")).content.decode()
    of_one = organizer.get(reverse("corpus:collection_imports", args=["one"])).content.decode()

    assert "One.xml" in all_imports
    assert "Two.xml" in all_imports
    assert "One.xml" in of_one
    assert "Two.xml" not in of_one


def test_empty_list_says_what_to_import(organizer: Client) -> None:
    assert "No imports yet" in organizer.get(reverse("corpus:imports")).content.decode()


def test_hostile_names_are_shown_as_text(organizer: Client) -> None:
    evil = "<img src=x onerror=alert(1)>"

    response = start(organizer, slug="math", name=evil, license=evil, upload=upload(name=f"{evil}.xml"))
    page = organizer.get(response["Location"]).content.decode()

    assert "<img src=x" not in page
    assert "&lt;img src=x" in page


def addresses() -> list[str]:
    collection = make_collection("c")
    job = Job.objects.create(kind="corpus.imports.files", title="x")
    Import.objects.create(collection=collection, job=job, format="posts", name="Posts.xml", location="x")
    return [
        reverse("corpus:imports"),
        reverse("corpus:start_import"),
        reverse("corpus:import", args=[job.pk]),
        reverse("corpus:collection_imports", args=["c"]),
    ]


def test_only_organizers_see_the_import_pages(client: Client) -> None:
    cast = {"stranger": make_user(), "assessor": make_assessor(make_track()), "organizer": make_organizer()}
    statuses = {}

    pages = addresses()
    statuses["visitor"] = {client.get(page).status_code for page in pages}
    for name, user in cast.items():
        client.force_login(user)
        statuses[name] = {client.get(page).status_code for page in pages}

    assert statuses == {"visitor": {302}, "stranger": {403}, "assessor": {403}, "organizer": {200}}


def test_only_organizers_start_an_import(client: Client) -> None:
    client.force_login(make_user())

    assert start(client, slug="math", upload=upload()).status_code == 403
    assert not Job.objects.exists()


def test_worker_that_sees_the_import_folder_looks_files_up(
    organizer: Client, tmp_path: Path, settings: Any
) -> None:
    folder = tmp_path / "dumps"
    settings.IMPORT_DIR = str(folder)  # the web server does not see it
    assert b"which this server does not see" in organizer.get(reverse("corpus:start_import")).content

    response = start(organizer, slug="math", path="2018/Posts.xml")
    job = Job.objects.get()
    waiting = organizer.get(response["Location"]).content.decode()
    jobs.run(job.pk)
    job.refresh_from_db()
    assert "Waiting for a worker that sees the import folder" in " ".join(waiting.split())
    assert (job.state, job.place) == ("queued", "import-folder"), "no worker without the folder takes it"

    (folder / "2018").mkdir(parents=True)
    (folder / "2018" / "Posts.xml").write_bytes(POSTS)
    jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.error) == ("done", "")
    assert job.imports.get().location == "folder:2018/Posts.xml"
    assert b"Posts.xml" in organizer.get(response["Location"]).content


def test_worker_names_itself_if_its_import_folder_lacks_the_file(
    organizer: Client, tmp_path: Path, settings: Any
) -> None:
    settings.IMPORT_DIR = str(tmp_path / "dumps")
    settings.HOST_NAME = "worker-1"
    response = start(organizer, slug="math", path="../Posts.xml")
    (tmp_path / "dumps").mkdir()
    (tmp_path / "Posts.xml").write_bytes(POSTS)

    jobs.run(Job.objects.get().pk)

    page = organizer.get(response["Location"]).content.decode()
    assert "There is no file or folder ../Posts.xml in the import folder of worker-1." in page


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_organizer_uploads_a_dump_and_follows_the_import(
    live_server: Any, browser_page: Page, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)  # the test runs the job
    path = write(tmp_path, "Posts.xml", many_posts(3000))
    page = browser_page
    log_in(page, live_server.url, make_organizer())
    page.goto(f"{live_server.url}/imports/new/")

    page.set_input_files("[name=upload]", path)
    page.click("#import-form button")
    expect(page.get_by_text("Enter a name for the new collection.")).to_be_visible()
    page.fill("[name=slug]", "math")
    page.set_input_files("[name=upload]", path)
    page.click("#import-form button")
    expect(page.locator(".job")).to_contain_text("queued")
    jobs.run(Job.objects.get().pk)

    expect(page.get_by_text("1,000 questions, 2,000 answers.")).to_be_visible(timeout=60_000)
    expect(page.locator(".job")).to_contain_text("done")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert excess_width(page) <= 0
    assert Collection.objects.get().status == Collection.Status.READY
    assert Document.objects.count() == 3000
