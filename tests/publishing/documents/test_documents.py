"""Documents of teams: who uploads, gets and misses them, and what is refused."""

import io
import random
import zipfile
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import Event, User
from participation.models import Team, TeamDocument
from pooling.runs.selectors import owing_teams
from publishing.documents import services
from scoring.models import Leaderboard
from tests.helpers.api import api, call
from tests.scoring.conftest import Scene, build_scene

PDF = b"%PDF-1.7\n%%EOF\n"


@pytest.fixture
def lab(db: None) -> Scene:
    return build_scene()


def client_of(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def read(response: Any) -> tuple[int, bytes]:
    """The status and the content of a response."""
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return response.status_code, content


def upload(user: User, team: Team, content: bytes = PDF, **form: Any) -> Any:
    file = SimpleUploadedFile("notes.pdf", content, "text/html")
    return client_of(user).post(f"/teams/{team.pk}/documents/", {"title": "Owls", "file": file} | form)


def test_document_is_for_the_team_and_the_organizers_until_it_is_released(lab: Scene) -> None:
    upload(lab.member, lab.ours, is_public="on")
    upload(lab.member, lab.ours, title="Draft")
    public, draft = TeamDocument.objects.order_by("pk")
    people = (None, lab.stranger, lab.other, lab.ada, lab.member, lab.organizer)

    def getting(document: TeamDocument) -> list[int]:
        return [read(client_of(user).get(f"/documents/{document.pk}/file/"))[0] for user in people]

    before = getting(public)
    lab.submit(lab.ours, "good", "10 9")
    lab.leaderboard(release="participants")
    shared = getting(public)
    Leaderboard.objects.update(release="public")

    assert before == shared == [404, 404, 404, 404, 200, 200]
    assert getting(public) == [200] * 6
    assert getting(draft) == [404, 404, 404, 404, 200, 200]
    page = client_of(None).get("/tracks/arq/documents/").content.decode()
    assert "Owls" in page
    assert "Draft" not in page
    assert [each["title"] for each in call(api(None), "GET", "team_documents", "arq").json()["results"]] == [
        "Owls"
    ]


def test_file_is_an_attachment_that_no_browser_opens_here(lab: Scene) -> None:
    upload(lab.member, lab.ours, title="<b>../a</b>")

    response = client_of(lab.member).get(f"/documents/{TeamDocument.objects.get().pk}/file/")

    assert read(response)[1] == PDF
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"].startswith("attachment;")
    assert "/" not in response["Content-Disposition"]
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response["Content-Security-Policy"]
    assert "script-src" not in response["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"<html>%PDF-", "The file is not a PDF"),
        (b"", "empty"),
        (PDF + bytes(1 << 20), "The file has 1.0 MB; use a file of at most 1 MB."),
    ],
)
def test_other_and_large_files_are_refused_and_nothing_is_kept(
    content: bytes, reason: str, lab: Scene, settings: Any
) -> None:
    settings.TEAM_DOCUMENT_MAX_BYTES = 1 << 20

    response = upload(lab.member, lab.ours, content)

    assert response.status_code == 422
    assert reason in response.content.decode()
    assert not TeamDocument.objects.exists()


def test_who_may_not_submit_for_a_team_uploads_nothing(lab: Scene) -> None:
    lab.ours.memberships.filter(user=lab.member).update(may_submit=False)
    upload(lab.organizer, lab.ours)
    document = TeamDocument.objects.get()

    assert upload(lab.member, lab.ours).status_code == 404
    assert upload(lab.other, lab.ours).status_code == 404
    change = client_of(lab.member).post(f"/documents/{document.pk}/remove/")
    assert change.status_code == 404
    assert TeamDocument.objects.exists()


def test_title_and_release_are_changed_and_a_removed_file_is_deleted(lab: Scene) -> None:
    upload(lab.member, lab.ours)
    document = TeamDocument.objects.get()
    client, address = client_of(lab.member), f"/documents/{document.pk}/"

    client.post(address, {"title": "Larks", "is_public": "on"})
    client.post(address, {"title": " "})
    document.refresh_from_db()
    changed = (document.title, document.is_public)
    assert "Its file is deleted" in client.get(f"{address}remove/").content.decode()
    assert TeamDocument.objects.exists()
    client.post(f"{address}remove/")

    assert changed == ("Larks", True)
    assert not TeamDocument.objects.exists()
    actions = (
        Event.objects.filter(action__startswith="document.").order_by("pk").values_list("action", flat=True)
    )
    assert list(actions) == ["document.uploaded", "document.changed", "document.removed"]


def test_organizers_see_who_lacks_a_document_and_get_all_as_zip(lab: Scene) -> None:
    upload(lab.member, lab.ours)
    client = client_of(lab.organizer)

    page = client.get("/tracks/arq/documents/").content.decode()
    archive = zipfile.ZipFile(io.BytesIO(read(client.get("/tracks/arq/documents.zip"))[1]))

    assert "1 team with missing documents" in page
    assert "any document" in page
    names = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    assert names[f"team-{lab.ours.pk}/{TeamDocument.objects.get().pk}.pdf"] == PDF
    assert b"\tOwls\tnotes.pdf\tno\n" in names["documents.tsv"]
    assert "SHA256SUMS" in names


@pytest.mark.parametrize("address", ["/tracks/arq/documents.zip", "/api/v1/tracks/arq/documents/file/"])
def test_zip_is_sent_while_it_is_written(address: str, lab: Scene) -> None:
    content = PDF + random.Random(1).randbytes(3 << 20)
    for title in ("First", "Second", "Third", "Fourth"):
        upload(lab.member, lab.ours, content, title=title)
    first, second, third, fourth = TeamDocument.objects.order_by("pk")

    response = client_of(lab.organizer).get(address)
    pieces = iter(response.streaming_content)
    sent = next(pieces)
    services.remove(document=second)
    default_storage.delete(str(second.file))
    rest = list(pieces)

    assert len(sent) < 2 << 20
    assert max(map(len, rest)) < 2 << 20
    archive = zipfile.ZipFile(io.BytesIO(b"".join([sent, *rest])))
    assert archive.testzip() is None
    pdfs = [name for name in archive.namelist() if name.endswith(".pdf")]
    assert pdfs == [f"arq-documents/team-{lab.ours.pk}/{each.pk}.pdf" for each in (first, third, fourth)]
    assert archive.read(pdfs[0]) == content
    assert b"Second" not in archive.read("arq-documents/documents.tsv")


def test_file_is_the_document_that_the_protocol_asks_for_and_is_replaced(
    db: None, django_capture_on_commit_callbacks: Any
) -> None:
    lab = build_scene("bolt-ir-p3")
    word, title = next(iter(lab.track.protocol.parsed.runs.documents.items()))

    def missing() -> dict[str, bool]:
        return {each.team.name: title in each.documents for each in owing_teams(lab.track)}

    before = missing()
    upload(lab.member, lab.ours, word=word)
    first = TeamDocument.objects.get()
    with django_capture_on_commit_callbacks(execute=True):
        upload(lab.member, lab.ours, PDF + b"2", word=word)

    document = TeamDocument.objects.get()
    assert before == {lab.ours.name: True, lab.theirs.name: True}
    assert missing() == {lab.ours.name: False, lab.theirs.name: True}
    assert document.size == len(PDF) + 1
    assert not default_storage.exists(first.file.name)
    assert upload(lab.member, lab.ours, word="poem").status_code == 422


def test_program_uploads_changes_and_removes(lab: Scene) -> None:
    client = api(lab.member, "read", "runs")
    form = {"file": SimpleUploadedFile("a.pdf", PDF), "title": "Owls", "is_public": "true"}

    made = client.post(f"/api/v1/teams/{lab.ours.pk}/documents/", form)
    number = made.json()["id"]
    changed = call(client, "PATCH", "team_document", number, data={"is_public": False})
    file = call(client, "GET", "team_document_file", number)
    zipped = call(api(lab.organizer), "GET", "team_documents_zip", "arq")
    wrong = client.post(
        f"/api/v1/teams/{lab.ours.pk}/documents/", form | {"file": SimpleUploadedFile("a", b"x")}
    )
    removed = call(client, "DELETE", "team_document", number)

    assert (made.status_code, made["Location"], made.json()["n_bytes"]) == (201, made.json()["url"], len(PDF))
    assert (changed.json()["is_public"], changed.json()["title"]) == (False, "Owls")
    assert read(file)[1] == PDF
    assert read(zipped)[0] == 200
    assert (wrong.status_code, "is not a PDF" in wrong.json()["detail"]) == (409, True)
    assert (removed.status_code, TeamDocument.objects.exists()) == (204, False)
