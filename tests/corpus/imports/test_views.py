"""The import pages: organizers only, files of the server from its import folder only, refusals on the page."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from corpus.models import Collection, Document, Import
from jobs import services as jobs
from jobs.models import Job
from tests.helpers.dumps import answer, dump, question, row, write
from tests.helpers.factories import (
    make_assessor,
    make_collection,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tracks.models import Track

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


def test_organizer_imports_an_upload_into_a_new_collection(organizer: Client) -> None:
    given = {"slug": "math", "name": "Math", "hosts": "https://Math.StackExchange.com/ meta.example.org"}

    response = start(organizer, **given, upload=upload())
    job = Job.objects.get()
    jobs.run(job.pk)
    page = organizer.get(response["Location"]).content.decode()

    collection = Collection.objects.get(slug="math")
    assert collection.hosts == ["math.stackexchange.com", "meta.example.org"]
    assert collection.status == Collection.Status.READY
    assert "1 question, 1 answer" in page
    assert "1: a post that is no question or answer: a tag wiki" in page


def test_progress_is_shown_while_the_import_runs(organizer: Client) -> None:
    response = start(organizer, slug="math", upload=upload())

    page = organizer.get(response["Location"]).content.decode()

    assert "hx-get" in page
    assert "Readers see the collection when all of it is in" in page


def test_failed_import_says_why(organizer: Client) -> None:
    response = start(organizer, slug="math", upload=upload(POSTS[:-3]))
    jobs.run(Job.objects.get().pk)

    page = organizer.get(response["Location"]).content.decode()

    assert "ends without &lt;/posts&gt;" in page
    assert "stays out of sight" in page


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"slug": "math"}, "Give a file"),
        ({"upload": POSTS}, "A new collection needs a short name"),
        ({"slug": "not a slug", "upload": POSTS}, "valid"),
        ({"slug": "taken", "upload": POSTS}, "There is a collection taken already"),
        ({"slug": "math", "upload": b"%PDF-1.7"}, "The file is a PDF document."),
        ({"slug": "math", "upload": b"PK\x03\x04"}, "The zip file is damaged"),
        ({"slug": "math", "path": "../../etc"}, "Give a file"),
    ],
)
def test_what_cannot_be_imported_shows_the_form_again(
    organizer: Client, data: dict[str, Any], said: str
) -> None:
    make_collection("taken")
    if "upload" in data:
        data = data | {"upload": upload(data["upload"])}

    response = start(organizer, **data)

    assert response.status_code == 200
    assert said in response.content.decode()
    assert not Job.objects.exists()
    assert not Collection.objects.filter(slug="math").exists()


def test_file_in_the_import_folder_is_imported(organizer: Client, tmp_path: Path, settings: Any) -> None:
    settings.IMPORT_DIR = str(tmp_path)
    (tmp_path / "dump").mkdir()
    write(tmp_path / "dump", "Posts.xml", POSTS)
    collection = make_collection("math")

    start(organizer, collection=collection.pk, path="dump")
    jobs.run(Job.objects.get().pk)

    assert Document.objects.filter(collection=collection).count() == 2


@pytest.mark.parametrize(
    "path", ["../outside.xml", "/etc/passwd", "link.xml", "linked", "inner/../../outside.xml"]
)
def test_nothing_outside_the_import_folder_is_read(
    organizer: Client, tmp_path: Path, settings: Any, path: str
) -> None:
    inside = tmp_path / "inside"
    (inside / "inner").mkdir(parents=True)
    outside = write(tmp_path, "outside.xml", POSTS)
    (inside / "link.xml").symlink_to(outside)
    (inside / "linked").symlink_to(tmp_path)
    settings.IMPORT_DIR = str(inside)

    response = start(organizer, slug="math", path=path)

    assert "not one of the available choices" in response.content.decode()
    assert not Import.objects.exists()


def test_link_in_a_folder_that_leads_out_is_left_out(
    organizer: Client, tmp_path: Path, settings: Any
) -> None:
    inside = tmp_path / "inside"
    (inside / "dump").mkdir(parents=True)
    (inside / "dump" / "Posts.xml").symlink_to(write(tmp_path, "outside.xml", POSTS))
    settings.IMPORT_DIR = str(inside)

    response = start(organizer, slug="math", path="dump")

    assert "There is no file" in response.content.decode()
    assert not Import.objects.exists()


def test_history_lists_imports_of_the_collection_alone(organizer: Client) -> None:
    start(organizer, slug="one", upload=upload(name="One.xml"))
    start(organizer, slug="two", upload=upload(name="Two.xml"))

    everything = organizer.get(reverse("corpus:imports")).content.decode()
    of_one = organizer.get(reverse("corpus:collection_imports", args=["one"])).content.decode()

    assert "One.xml" in everything
    assert "Two.xml" in everything
    assert "One.xml" in of_one
    assert "Two.xml" not in of_one


def test_empty_history_says_what_will_be_here(organizer: Client) -> None:
    assert "Nothing was imported" in organizer.get(reverse("corpus:imports")).content.decode()


def topics_file(code: str = "A.1") -> bytes:
    return f'<Topics><Topic number="{code}"><Title>t</Title><Question>q</Question></Topic></Topics>'.encode()


def test_organizer_imports_topics_and_labels(organizer: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    address = reverse("tracks:import_topics", args=[track.slug])

    first = organizer.post(
        address, {"holds": "topics", "upload": upload(topics_file(), "t.xml")}, follow=True
    )
    labels = upload(b"topic,category\nA.1,proof\n", "l.csv")
    second = organizer.post(address, {"holds": "labels", "upload": labels}, follow=True)

    assert "1 topic: 1 new" in first.content.decode()
    assert "1 topic labeled" in second.content.decode()
    assert track.topics.get().labels == {"category": "proof"}


def test_faulty_topic_file_names_every_fault_on_the_page(organizer: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    content = b'{"code": "a b"}\n{"code": "c d"}'

    page = organizer.post(
        reverse("tracks:import_topics", args=[track.slug]),
        {"holds": "topics", "upload": upload(content, "t.jsonl")},
    ).content.decode()

    assert "line 1: " in page
    assert "line 2: " in page


def test_topic_page_says_that_an_open_track_takes_none(organizer: Client) -> None:
    track = make_track()

    page = organizer.get(reverse("tracks:import_topics", args=[track.slug])).content.decode()

    assert "only the topics of a draft can change" in page


def test_hostile_names_are_shown_as_text(organizer: Client) -> None:
    evil = "<img src=x onerror=alert(1)>"

    response = start(organizer, slug="math", name=evil, license=evil, upload=upload(name=f"{evil}.xml"))
    page = organizer.get(response["Location"]).content.decode()

    assert "<img src=x" not in page
    assert "&lt;img src=x" in page


def addresses() -> list[str]:
    track = make_track("t")
    make_topic(track)
    collection = make_collection("c")
    job = Job.objects.create(kind="corpus.imports.files", title="x", collection=collection)
    Import.objects.create(collection=collection, job=job, format="posts", name="Posts.xml", location="x")
    return [
        reverse("corpus:imports"),
        reverse("corpus:start_import"),
        reverse("corpus:import", args=[job.pk]),
        reverse("corpus:collection_imports", args=["c"]),
        reverse("tracks:import_topics", args=["t"]),
    ]


def test_only_organizers_enter(client: Client) -> None:
    cast = {"stranger": make_user(), "assessor": make_assessor(make_track()), "organizer": make_organizer()}
    statuses = {}

    pages = addresses()
    statuses["visitor"] = {client.get(page).status_code for page in pages}
    for name, user in cast.items():
        client.force_login(user)
        statuses[name] = {client.get(page).status_code for page in pages}

    assert statuses == {"visitor": {302}, "stranger": {403}, "assessor": {403}, "organizer": {200}}


def test_nobody_else_starts_an_import(client: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    client.force_login(make_user())

    assert start(client, slug="math", upload=upload()).status_code == 403
    topics = {"holds": "topics", "upload": upload(topics_file(), "t.xml")}
    assert client.post(reverse("tracks:import_topics", args=[track.slug]), topics).status_code == 403

    assert not Job.objects.exists()
    assert not track.topics.exists()
