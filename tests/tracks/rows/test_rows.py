"""Rows are imported by page, API and command, and seen before anything is published."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from assay.errors import Refused
from tests.helpers.api import api
from tests.helpers.factories import make_assessor, make_organizer
from tests.helpers.row_scenes import ROWS, TURKLE, build_pool, make_row_track
from tracks.models import Row, TopicImport
from tracks.rows.services import import_rows

pytestmark = pytest.mark.django_db


def client_of(user: object) -> Client:
    client = Client()
    client.force_login(user)  # type: ignore[arg-type]
    return client


def test_page_imports_rows_with_their_topics_and_names_wrong_lines() -> None:
    track = make_row_track(rows="")
    organizer = client_of(make_organizer())
    address = reverse("tracks:import_topics", args=[track.slug])

    def post(text: str) -> str:
        upload = SimpleUploadedFile("rows.csv", text.encode())
        return organizer.post(address, {"holds": "rows", "upload": upload}, follow=True).content.decode()

    wrong = post(ROWS.replace("translation", "translated"))
    first = post(ROWS)
    again = post(ROWS + "news,n2,Nein,No\n")
    changed = post(ROWS.replace("Good day", "Hello"))
    unknown = post(ROWS + "sport,s1,Nein,No\n")

    assert "the protocol has no field &#x27;translated&#x27;" in wrong
    assert "3 new rows." in first
    assert "1 new row; 3 were here already." in again
    assert "line 2: films f1 is here already with another translation" in changed
    assert "line 5: there is no topic sport" in unknown
    assert Row.objects.count() == 4
    assert sorted(track.topics.values_list("code", flat=True)) == ["films", "news"]
    assert TopicImport.objects.filter(format="rows").count() == 2


def test_api_and_command_import_rows(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    track = make_row_track(rows="")
    path = tmp_path / "rows.csv"  # type: ignore[operator]
    path.write_text(ROWS)
    data = {"file": SimpleUploadedFile("rows.csv", ROWS.encode()), "holds": "rows"}

    answer = api(make_organizer()).post(reverse("api:import_topics", args=[track.slug]), data)
    call_command("import_topics", track.slug, str(path), "--rows")

    assert answer.json()["result"] == "3 new rows."
    assert "0 new rows; 3 were here already." in capsys.readouterr().out
    path.write_text("source\nx\n")
    with pytest.raises(CommandError, match="the column translation is missing"):
        call_command("import_topics", track.slug, str(path), "--rows")


def test_organizer_sees_rows_as_assessors_will_and_others_do_not() -> None:
    track, frames = make_row_track(), make_row_track(TURKLE, "text\n<i>Lovely</i>\n")
    organizer, ada = client_of(make_organizer()), client_of(make_assessor(track))
    address, row = (
        reverse("tracks:rows", args=[track.slug]),
        Row.objects.filter(topic__track=track).latest("pk"),
    )
    frame = reverse("tracks:row_frame", args=[frames.slug, Row.objects.get(topic__track=frames).pk])

    page = organizer.get(address, {"row": row.pk}).content.decode()
    framed = organizer.get(frame)
    as_a_page = organizer.get(frame, headers={"Sec-Fetch-Dest": "document"})

    assert "<h3>Caption n1</h3>" in page
    assert "<p>Ja &lt;b&gt;</p>" in page
    assert frame in organizer.get(reverse("tracks:rows", args=[frames.slug])).content.decode()
    assert '<p id="text">&lt;i&gt;Lovely&lt;/i&gt;</p>' in framed.content.decode()
    assert "no-store" in framed.headers["Cache-Control"]
    assert as_a_page.status_code == 403
    assert organizer.get(frame, headers={"Sec-Fetch-Dest": "iframe"}).status_code == 200
    assert "sandbox" in framed.headers["Content-Security-Policy"]
    assert [ada.get(each).status_code for each in (address, frame)] == [403, 403]
    assert organizer.get(frame.replace(frames.slug, track.slug)).status_code == 404


def test_later_rows_belong_to_a_later_pool() -> None:
    track, organizer = make_row_track(rows=""), make_organizer()
    with pytest.raises(Refused, match="has no rows yet"):
        build_pool(track, organizer)
    for text in (ROWS, ROWS + "news,n2,Nein,No\n"):
        import_rows(track=track, data=text.encode(), name="rows.csv")
        if not track.pools.exists():
            first = build_pool(track, organizer)

    second = build_pool(track, organizer, "Second", tops_up=first)

    assert first.entries.count() == 3
    assert list(second.entries.values_list("docno", flat=True)) == ["n2"]
