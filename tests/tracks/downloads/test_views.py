"""The page of downloads: what it offers, who gets it and when, and the log of downloads."""

import csv
import hashlib
import json
import re
import subprocess
from datetime import UTC, datetime, timedelta
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assay.errors import Refused
from assay.formats.topics.reader import read_topics
from assay.protocols.loader import parse_protocol, shipped_text
from jobs import services as job_services
from jobs.models import Job
from pooling.runs import services as run_services
from tests.helpers.api import api, call
from tests.helpers.bolt_campaign import build_campaign
from tests.helpers.factories import (
    make_answer,
    make_assessor,
    make_collection,
    make_document,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tests.helpers.judging import make_team
from tracks.agreements import services as agreements
from tracks.checklist.selectors import Kind, checklist
from tracks.downloads import services
from tracks.downloads.services import Release
from tracks.models import Download, Fetch, StoredProtocol, Track
from tracks.topics.services import import_topics
from web.times import now

pytestmark = pytest.mark.django_db

CONTROL = "\x01\x0b\ufffe"
CONTENT = bytes(range(256)) * 40
JSON = b'{"code": "A.1", "title": "t"}\n'
OPEN = Release(released_at=datetime(2020, 1, 1, tzinfo=UTC))


@pytest.fixture
def track(settings: Any, tmp_path: Path) -> Track:
    settings.MEDIA_ROOT = tmp_path
    track = make_track("lab", name="Lab", status=Track.Status.DRAFT)
    assert track.collection is not None
    question = make_document(track.collection, "1")
    for docno in ("10", "9", "8", "7"):
        make_answer(question, docno)
    import_topics(track=track, data=JSON, name="topics-2026.jsonl")
    track.topics.update(labels={"difficulty": "hard"})
    Track.objects.update(status=Track.Status.OPEN)
    track.refresh_from_db()
    return track


def browser(user: User | None = None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def page(client: Client, track: Track) -> str:
    return client.get(reverse("tracks:downloads", args=[track.slug])).content.decode()


def fetch(client: Client, track: Track, name: str, **headers: str) -> Any:
    return client.get(reverse("tracks:download", args=[track.slug, name]), headers=headers)


def attach(track: Track, name: str = "big.gz", release: Release = OPEN, **fields: Any) -> Download:
    fields = {"kind": "collection", "by": make_organizer()} | fields
    return services.attach_file(track=track, file=BytesIO(CONTENT), name=name, release=release, **fields)


def test_formulas_of_topics_are_offered_in_each_imported_representation(track: Track, tmp_path: Path) -> None:
    body = '<p><span class="math-container" data-formula-id="q_1" data-display="inline">x</span></p>'
    track.topics.update(body=body)
    later = make_collection("later")
    Track.objects.update(topic_collection=later)
    head, row = "id\ttopic_id\tthread_id\ttype", "q_1\tA.1\t77\tquestion"
    for name, formula in (("slt", "<math><mi>x</mi></math>"), ("opt", "<math><ci>x</ci></math>")):
        (tmp_path / f"{name}.tsv").write_text(f"{head}\t{name}\n{row}\t{formula}\n")
        call_command("import_collection", "later", str(tmp_path / f"{name}.tsv"))

    files = {form: fetch(browser(), track, f"lab-topic-formulas-{form}.tsv") for form in ("slt", "opt")}
    latex = fetch(browser(), track, "lab-topic-formulas.tsv").getvalue().decode()

    assert latex.splitlines()[1] == "q_1\tA.1\tA.1\tquestion\tx"
    assert (
        files["slt"].getvalue().decode().splitlines()[1] == "q_1\tA.1\tA.1\tquestion\t<math><mi>x</mi></math>"
    )
    assert files["opt"].getvalue().decode().splitlines() == [
        f"{head}\topt",
        "q_1\tA.1\tA.1\tquestion\t<math><ci>x</ci></math>",
    ]
    later_form = form_data(release="later", released_at="2036-05-01T23:59", zone="AoE")
    browser(make_organizer()).post(reverse("tracks:edit_download", args=["lab", "topics"]), later_form)
    assert fetch(browser(), track, "lab-topic-formulas-opt.tsv").status_code == 404


def test_topics_are_offered_as_imported_and_in_every_format(track: Track) -> None:
    visitor = browser()

    assert fetch(visitor, track, "topics-2026.jsonl").getvalue() == JSON
    for ending in ("jsonl", "xml"):
        content = fetch(visitor, track, f"lab-topics.{ending}").getvalue()
        (topic,) = read_topics(content, ending)
        assert (topic.code, topic.title, topic.labels) == ("A.1", "t", {})
    assert fetch(visitor, track, "lab-topic-labels.csv").status_code == 404


def test_public_labels_are_in_the_files(track: Track) -> None:
    services.show_labels(track=track, shows_labels=True)

    (topic,) = read_topics(fetch(browser(), track, "lab-topics.jsonl").getvalue(), "t.jsonl")
    labels = fetch(browser(), track, "lab-topic-labels.csv").getvalue()

    assert topic.labels == {"difficulty": "hard"}
    assert labels == b"topic,difficulty\r\nA.1,hard\r\n"


def test_only_organizers_get_an_imported_file_with_labels(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    track = make_track("lab", status=Track.Status.DRAFT)
    data = b'{"code": "A.1", "labels": {"difficulty": "hard"}}\n'
    import_topics(track=track, data=data, name="topics.jsonl")
    Track.objects.update(status=Track.Status.OPEN)

    assert fetch(browser(make_organizer()), track, "topics.jsonl").status_code == 200
    assert fetch(browser(make_user("pat")), track, "topics.jsonl").status_code == 404
    assert b"hard" not in fetch(browser(), track, "lab-topics.jsonl").getvalue()


def test_sample_run_is_accepted_when_it_is_submitted(track: Track) -> None:
    content = fetch(browser(), track, "lab-sample-run.tsv").getvalue()

    checked = run_services.check(track=track, file=BytesIO(content), file_name="run.tsv")

    assert checked.report.is_acceptable
    assert (checked.report.n_lines, checked.report.warnings) == (3, ())


def test_sample_run_of_citations_cites_posts_of_the_collection(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    campaign = build_campaign()
    name = f"{campaign.track.slug}-sample-run.xml"
    content = fetch(browser(), campaign.track, name).getvalue()

    checked = run_services.check(track=campaign.track, file=BytesIO(content), file_name=name)

    assert b'subtask="citations"' in content
    assert (checked.report.is_acceptable, checked.report.errors) == (True, ())


def test_sample_run_of_rag_2026_repeats_the_texts_of_topics(track: Track) -> None:
    text = shipped_text("trec-rag-2024").replace('formats = ["rag-2024"]', 'formats = ["rag-2026"]')
    parsed = parse_protocol(text, name="own.toml")
    own = StoredProtocol.objects.create(slug="own", title="Own", text=text, digest=parsed.digest)
    rag = make_track("rag", protocol="trec-rag-2024", collection=None)
    Track.objects.filter(pk=rag.pk).update(protocol=own)
    rag.refresh_from_db()
    make_topic(rag, "T1", title="Why do owls &amp; crows sing?", body="")
    content = fetch(browser(), rag, "rag-sample-run.jsonl").getvalue()

    good = run_services.check(track=rag, file=BytesIO(content), file_name="run.jsonl")
    bad = run_services.check(track=rag, file=BytesIO(content.replace(b"Why", b"How")), file_name="run.jsonl")

    assert good.report.errors == ()
    assert [error.code for error in bad.report.errors] == ["narrative"]


def test_checksums_are_accepted_by_sha256sum(track: Track, tmp_path: Path) -> None:
    attach(track, "größe 1.gz")
    sums = browser().get(reverse("tracks:checksums", args=[track.slug])).content
    folder = tmp_path / "fetched"
    folder.mkdir()
    names = [line.partition("  ")[2] for line in sums.decode().splitlines()]
    for name in names:
        (folder / name).write_bytes(fetch(browser(), track, name).getvalue())
    (folder / "SHA256SUMS").write_bytes(sums)

    check = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (check.returncode, check.stdout.count(": OK")) == (0, len(names))
    assert {"größe 1.gz", "lab-topics.xml", "lab-sample-run.tsv", "topics-2026.jsonl"} <= set(names)


def test_download_can_be_resumed(track: Track) -> None:
    row = attach(track)
    first = fetch(browser(), track, "big.gz", range="bytes=0-99")
    rest = fetch(browser(), track, "big.gz", range="bytes=100-", if_range=first["ETag"])

    assert (first.status_code, rest.status_code) == (206, 206)
    assert first.getvalue() + rest.getvalue() == CONTENT
    assert first["ETag"] == f'"{row.sha256}"' == f'"{hashlib.sha256(CONTENT).hexdigest()}"'
    assert Fetch.objects.count() == 1


@pytest.mark.parametrize(
    ("release", "statuses"),
    [
        (Release(), [404, 404, 404, 404, 200]),
        (OPEN, [200, 200, 200, 200, 200]),
        (Release("teams", OPEN.released_at), [404, 404, 200, 404, 200]),
        (Release("teams", datetime(2036, 1, 1, tzinfo=UTC)), [404, 404, 404, 404, 200]),
    ],
    ids=["not released", "everyone", "teams", "later"],
)
def test_file_is_for_those_who_may_have_it(track: Track, release: Release, statuses: list[int]) -> None:
    attach(track, release=release)
    make_team(track, member := make_user())
    make_team(make_track(), other := make_user())
    people = [None, other, member, make_assessor(track), make_organizer()]

    assert [fetch(browser(user), track, "big.gz").status_code for user in people] == statuses
    listed = ["big.gz" in page(browser(user), track) for user in people]
    assert listed == [status == 200 for status in statuses]
    sums = reverse("tracks:checksums", args=[track.slug])
    assert [b"big.gz" in browser(user).get(sums).content for user in people] == listed


def test_release_time_needs_no_beat(track: Track) -> None:
    row = attach(track, release=Release(released_at=now() + timedelta(hours=1)))
    assert fetch(browser(), track, "big.gz").status_code == 404

    Download.objects.filter(pk=row.pk).update(released_at=now())

    assert fetch(browser(), track, "big.gz").status_code == 200


def test_draft_offers_nothing(track: Track) -> None:
    attach(track)
    Track.objects.update(status=Track.Status.DRAFT)

    assert fetch(browser(), track, "big.gz").status_code == 404
    assert browser().get(reverse("tracks:checksums", args=[track.slug])).status_code == 404


def test_files_need_the_data_agreement(track: Track) -> None:
    attach(track)
    agreements.publish(track=track, text="Do not share.", revision=0, by=make_organizer())
    user = make_user()

    visitor = fetch(browser(), track, "big.gz")
    refused = fetch(browser(user), track, "lab-topics.xml")
    shown = page(browser(user), track)
    agreements.accept(track=track, user=user, revision=1)

    assert visitor["Location"].startswith(reverse("login"))
    assert refused["Location"] == "/tracks/lab/data-agreement/?next=/tracks/lab/downloads/"
    assert "data agreement" in shown
    assert fetch(browser(user), track, "big.gz").getvalue() == CONTENT


def test_organizer_sees_who_fetched_what(track: Track) -> None:
    attach(track, "=1+1.gz")
    fetch(browser(user := make_user("sofia")), track, "=1+1.gz").getvalue()
    fetch(browser(), track, "lab-topics.xml").getvalue()
    browser(user).head(reverse("tracks:download", args=[track.slug, "lab-topics.xml"]))
    organizer = browser(make_organizer())

    shown = organizer.get(reverse("tracks:fetches", args=[track.slug])).content.decode()
    table = organizer.get(reverse("tracks:fetches_csv", args=[track.slug])).getvalue().decode()

    assert shown.index("a visitor") < shown.index("sofia")
    header, first, second = csv.reader(StringIO(table))
    assert header == ["created_at", "created_by", "file_name", "sha256"]
    assert first[1:] == ["sofia", "'=1+1.gz", hashlib.sha256(CONTENT).hexdigest()]
    assert second[1:3] == ["", "lab-topics.xml"]


def form_data(**fields: Any) -> dict[str, Any]:
    usual = {"kind": "collection", "audience": "everyone", "release": "now", "zone": "UTC"}
    return usual | fields


def test_organizer_attaches_a_file_and_a_link(track: Track) -> None:
    organizer, address = browser(make_organizer()), reverse("tracks:attach", args=[track.slug])
    upload = SimpleUploadedFile("posts.xml.gz", CONTENT)

    organizer.post(address, form_data(upload=upload, description="All posts."))
    organizer.post(
        address, form_data(kind="qrels", url="https://example.org/a/qrels.txt?x=1", sha256="A" * 64)
    )

    file, link = Download.objects.order_by("pk")
    assert (file.name, file.n_bytes, file.sha256) == (
        "posts.xml.gz",
        10240,
        hashlib.sha256(CONTENT).hexdigest(),
    )
    assert (link.name, link.url, link.sha256) == (
        "qrels.txt",
        "https://example.org/a/qrels.txt?x=1",
        "a" * 64,
    )
    text = page(browser(), track)
    assert "All posts." in text
    assert 'href="https://example.org/a/qrels.txt?x=1"' in text


def test_shared_annotations_of_teams_have_a_place_and_external_resources_a_date(track: Track) -> None:
    """As the guide for BOLT describes: a link for members of teams, and a milestone."""
    organizer, member = browser(make_organizer()), make_user("olive")
    make_team(track, member)
    words = {"audience": "teams", "description": "Translations by Owls, shared with all teams."}

    organizer.post(
        reverse("tracks:attach", args=[track.slug]),
        form_data(kind="other", url="https://example.org/shared.zip", sha256="b" * 64, **words),
    )
    organizer.post(
        reverse("tracks:deadlines", args=[track.slug]),
        {"zone": "UTC", "title-0": "External resources are stated", "first-0": "2036-05-03"},
    )

    assert words["description"] in page(browser(member), track)
    assert 'href="https://example.org/shared.zip"' in page(browser(member), track)
    assert 'href="https://example.org/shared.zip"' not in page(browser(), track)
    overview = browser(member).get(track.get_absolute_url()).content.decode()
    assert "External resources are stated" in overview


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "only one of them"),
        ({"url": "https://a.example/x", "sha256": "12"}, "it has 64 digits"),
        ({"url": "https://a.example/"}, "enter one"),
        ({"url": "javascript:alert(1)"}, "Enter a valid URL"),
        ({"url": "https://a.example/lab-topics.xml"}, "already has a file lab-topics.xml"),
        ({"url": "https://a.example/x", "release": "later"}, "Enter the time of the release"),
    ],
)
def test_attachment_that_cannot_be_is_refused(track: Track, fields: dict[str, str], message: str) -> None:
    address = reverse("tracks:attach", args=[track.slug])

    answer = browser(make_organizer()).post(address, form_data(**fields))

    assert message in answer.content.decode()
    assert not Download.objects.exists()
    if "already" in message or "digits" in message:
        assert [*answer.context["form"].errors] == ["name" if "already" in message else "sha256"]


def test_instructions_are_shown_when_they_are_released(track: Track) -> None:
    organizer = browser(make_organizer())
    address = reverse("tracks:edit_download", args=[track.slug, "instructions"])

    organizer.post(address, form_data(text="# Read me\n<script>", release="hidden"))
    hidden = page(browser(), track)
    organizer.post(address, form_data(text="# Read me\n<script>", release="now"))
    shown = page(browser(), track)

    assert "Read me" not in hidden
    assert "Read me</h" in shown
    assert "<script>" not in shown.split('id="main"')[1].split("</main>")[0]
    assert fetch(browser(), track, "lab-instructions.md").getvalue() == b"# Read me\n<script>"


def test_part_that_is_not_released_has_a_button_that_releases_it(track: Track) -> None:
    organizer = browser(make_organizer())
    address = reverse("tracks:edit_download", args=[track.slug, "instructions"])
    hidden = organizer.post(address, form_data(text="Read", release="hidden"), follow=True).content.decode()
    response = organizer.get(address)

    # As a browser does: the name of the button that is pressed comes after the fields
    fields = {field.html_name: field.value() or "" for field in response.context["form"]}
    released = organizer.post(address, fields | {"release": [fields["release"], "now"]}, follow=True)

    assert re.search(r'btn-primary" name="release" value="now">\s*Release now<', response.content.decode())
    pressed = re.findall(r'<button type="submit"[^>]*name="release" value="(\w+)"', response.content.decode())
    assert pressed[:3] == ["hidden", "now", "hidden"], "the key Enter saves; the main button stands first"
    assert "saved, but not released." in hidden
    assert "is released to everyone." in released.content.decode()
    assert "Read" in page(browser(), track)


def test_saving_a_release_without_a_change_changes_nothing(track: Track) -> None:
    instant = datetime(2036, 10, 26, 0, 30, 15, 7, UTC)  # the first of two times in Prague
    row = attach(track, release=Release("teams", instant, "Europe/Prague"))
    organizer = browser(make_organizer())
    address = reverse("tracks:edit_download", args=[track.slug, row.pk])
    form = organizer.get(address).context["form"]

    organizer.post(address, {field.html_name: field.value() or "" for field in form})

    after = Download.objects.get(pk=row.pk)
    assert (after.released_at, after.zone, after.audience) == (instant, "Europe/Prague", "teams")


def test_topics_released_later_are_in_no_download(track: Track) -> None:
    organizer = browser(make_organizer())
    address = reverse("tracks:edit_download", args=[track.slug, "topics"])

    organizer.post(address, form_data(release="later", released_at="2036-05-01T23:59", zone="AoE"))

    assert Download.objects.get().released_at == datetime(2036, 5, 2, 11, 59, tzinfo=UTC)
    for name in ("topics-2026.jsonl", "lab-topics.xml"):
        assert fetch(browser(), track, name).status_code == 404
    assert browser().get(reverse("tracks:topic", args=[track.slug, "A.1"])).status_code == 404


def test_removed_file_is_deleted_and_its_log_stays(
    track: Track, django_capture_on_commit_callbacks: Any
) -> None:
    row = attach(track)
    fetch(browser(), track, "big.gz").getvalue()
    stored = Path(row.file.path)
    assert stored.exists()

    with django_capture_on_commit_callbacks(execute=True):
        browser(make_organizer()).post(reverse("tracks:remove_download", args=[track.slug, row.pk]))

    assert not stored.exists()
    assert not Download.objects.exists()
    assert Fetch.objects.get().name == "big.gz"


def test_name_that_is_taken_is_refused(track: Track) -> None:
    attach(track, "a.gz")

    with pytest.raises(Refused, match=r"already has a file a\.gz"):
        attach(track, "x/a.gz")


def test_number_of_queries_does_not_grow(track: Track, django_assert_num_queries: Any) -> None:
    def queries() -> int:
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        with CaptureQueriesContext(connection) as context:
            page(browser(), track)
        return len(context)

    attach(track, "0.gz")
    few = queries()
    for number in range(1, 5):
        attach(track, f"{number}.gz")
        make_topic(track)

    assert queries() == few


def test_program_lists_and_fetches_what_is_released_to_it(settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path
    track, user, olga = make_track("lab"), make_user(), make_organizer()
    make_topic(track, "A.1")
    for name, release in (("open.gz", Release(released_at=now())), ("hidden.gz", Release())):
        services.attach_file(
            track=track, kind="other", file=BytesIO(b"0123456789"), name=name, release=release, by=olga
        )

    listed = {
        item["file_name"]: item for item in call(api(user), "GET", "downloads", "lab").json()["results"]
    }
    part = api(user).get(listed["open.gz"]["url"], headers={"range": "bytes=4-"})
    whole = call(api(user), "GET", "download", "lab", "lab-topics.xml")

    assert "hidden.gz" not in listed
    assert (part.status_code, part.getvalue(), part["ETag"]) == (
        206,
        b"456789",
        f'"{listed["open.gz"]["sha256"]}"',
    )
    assert len(whole.getvalue()) == listed["lab-topics.xml"]["n_bytes"]
    assert call(api(user), "GET", "download", "lab", "hidden.gz").status_code == 404
    assert list(Fetch.objects.values_list("user", "name")) == [(user.pk, "lab-topics.xml")]


def test_program_needs_the_data_agreement_for_files() -> None:
    track, user = make_track("lab"), make_user()
    make_topic(track, "A.1")
    agreements.publish(track=track, text="Do not share.", revision=0, by=make_organizer())

    refused = call(api(user), "GET", "download", "lab", "lab-topics.xml")
    agreements.accept(track=track, user=user, revision=1)

    assert (refused.status_code, refused.json()["title"]) == (409, "Accept the data agreement first")
    assert call(api(user), "GET", "download", "lab", "lab-topics.xml").status_code == 200


def test_control_characters_close_no_download(track: Track) -> None:
    """The import removes them, and the files of a track that stored them before can still be made."""
    row = {"code": "A.2", "title": "t", "tags": [f"a{CONTROL}b"], "criteria": f"c{CONTROL}", "labels": {}}
    Track.objects.update(status=Track.Status.DRAFT)
    import_topics(track=track, data=json.dumps(row).encode(), name="more.jsonl")
    topic = track.topics.get(code="A.2")
    assert (topic.tags, topic.criteria) == (["ab"], "c")

    track.topics.update(tags=[f"x{CONTROL}y"], latex=f"z{CONTROL}")
    Track.objects.update(status=Track.Status.OPEN)
    organizer = browser(make_organizer())

    page = organizer.get(reverse("tracks:downloads", args=[track.slug]))
    file = fetch(organizer, track, "lab-topics.xml")

    assert page.status_code == 200
    assert b"<Tags>xy</Tags>" in file.getvalue()


def test_programs_attach_release_change_and_remove_parts(track: Track) -> None:
    organizer, visitor, slug = api(make_organizer()), api(None), track.slug

    attached = organizer.post(
        reverse("api:download_parts", args=[slug]),
        {"kind": "other", "upload": SimpleUploadedFile("notes.txt", b"Notes"), "description": "Read me"},
    )
    part = attached.json()
    nothing = call(organizer, "POST", "download_parts", slug, data={"kind": "other"})
    before = call(visitor, "GET", "download", slug, "notes.txt")
    released = call(organizer, "PATCH", "download_part", slug, part["key"], data={"release": "now"})
    late = call(organizer, "PATCH", "download_part", slug, "instructions", data={"release": "later"})
    wrong = call(organizer, "PATCH", "download_part", slug, "sample-run", data={"text": "Hello"})
    [labels] = call(
        organizer, "PATCH", "download_part", slug, "sample-run", data={"has_labels": True}
    ).json()["errors"]

    assert (attached.status_code, attached["Location"], part["n_bytes"]) == (201, part["url"], 5)
    assert (nothing.status_code, nothing.json()["errors"][0]["field"]) == (400, "upload")
    assert (before.status_code, released.json()["description"]) == (404, "Read me")
    assert (late.json()["errors"][0]["field"], wrong.json()["errors"][0]["field"]) == ("released_at", "text")
    assert (labels["field"], "Accepted: released_to, release" in labels["message"]) == ("has_labels", True)
    assert b"".join(call(visitor, "GET", "download", slug, "notes.txt").streaming_content) == b"Notes"
    [fetch] = call(organizer, "GET", "fetches", slug).json()["results"]
    assert (fetch["file_name"], fetch["created_by"]) == ("notes.txt", None)
    assert call(organizer, "DELETE", "download_part", slug, part["key"]).status_code == 204
    assert call(organizer, "DELETE", "download_part", slug, "topics").status_code == 404
    parts = call(organizer, "GET", "download_parts", slug).json()["results"]
    assert [each["kind"] for each in parts] == ["instructions", "sample-run", "topics"]
    assert call(organizer, "POST", "export_collection", slug).status_code == 202
    assert call(organizer, "POST", "cluster_formulas", track.collection.slug).status_code == 409


def test_next_step_exports_the_collection_and_leads_to_the_page_that_releases_it(
    track: Track, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_services, "nudge", lambda job_id: None)
    organizer, address = browser(make_organizer()), reverse("tracks:downloads", args=[track.slug])
    make_assessor(track, "ann")
    track.teams.create(name="T")
    Track.objects.update(
        skipped=["leaks", "description", "guidelines", "deadlines"], status=Track.Status.DRAFT
    )
    track.refresh_from_db()

    export = checklist(track).next
    before = page(organizer, track)
    during = organizer.post(export.address, follow=True).content.decode()
    waits = checklist(track).next
    polled = organizer.get(address, headers={"HX-Request": "true"})
    job_services.run(Job.objects.get().pk)
    reloaded = organizer.get(address, headers={"HX-Request": "true"})
    after, release = page(organizer, track), checklist(track).next
    edit = organizer.get(release.address).content.decode()
    closed = Track.objects.get(pk=track.pk)
    closed.status = Track.Status.CLOSED
    remarks = [problem.text for problem in checklist(closed).problems]
    fields = {"audience": "everyone", "zone": "UTC", "description": ""}
    organizer.post(release.address, fields | {"release": ["hidden", "now"]})

    assert (export.text, export.is_form) == ("Export the collection", True)
    assert 'class="btn btn-sm btn-primary">Export the collection<' in before
    assert before.count(">Export the collection</button>") == 1, "the line of the step has the button"
    assert 'class="btn btn-plain" href="/tracks/lab/downloads/attach/">' in before
    assert 'id="jobs" hx-get=""' in during
    assert waits[:2] == (Kind.WAIT, "The collection is being exported.")
    assert "HX-Refresh" not in polled
    assert reloaded["HX-Refresh"] == "true"
    assert f'class="btn btn-sm btn-primary" href="{release.address}">Release the documents…<' in after
    assert after.count(f'href="{release.address}"') == 1
    sections = re.findall(r'scope="rowgroup">(\w+)', after)
    assert sections[0] == "Collection", "what waits for its release is first"
    assert re.search(r'btn-primary" name="release" value="now">\s*Release the documents<', edit)
    assert checklist(track).next.text not in {"Release the documents", "Export the collection"}
    assert "The documents are among the downloads, but not released to the teams." in remarks
