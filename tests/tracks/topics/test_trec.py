"""TREC's own topics: marked text, XML and lines; on the page, in the command, for assessors and in the downloads."""

import gzip
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from assay import samples
from assay.cli.main import main
from assay.errors import BadFile
from assay.formats.topics.reader import read_topic_file
from scoring.models import QrelsEntry
from tests.helpers.factories import make_assessor, make_organizer, make_track, make_user
from tests.helpers.judging import make_batch, make_pool
from tracks.models import StoredProtocol, Track

SAMPLE = samples.path("trec-topics.txt").read_bytes()
FIRST = """<!-- topics of TREC-1 -->
<top>
<head> Tipster Topic Description
<num> Number:  051
<dom> Domain:  International Economics
<title> Topic:  Airbus Subsidies

<desc> Description:
R&amp;D, AT&T, a café and
what <b>is</b> 1 < 2.

<narr> Narrative:
Two lines
of one paragraph.

Another one, from $5 to $6.

<con> Concept(s):
1. Airbus
2. European aircraft

<fac> Factor(s):
<nat> Nationality: U.S.
</fac>
</top>
<top><num>Number: 052</num><title>Only a title</title></top>
"""
WEB = """<?xml version="1.0" encoding="ISO-8859-1"?>
<webtrack2009>
<topic number="1" type="faceted"><query>café tree</query><description>Find it.</description>
<subtopic number="1" type="nav">Find a map.</subtopic></topic>
</webtrack2009>"""
COVID = """<topics task="round 1"><topic number="1"><query>origin</query><question>What is it?</question>
<narrative>Relevant is anything.</narrative></topic></topics>"""


@pytest.mark.parametrize(
    ("data", "notes"),
    [
        (FIRST.encode(), []),
        (
            FIRST.replace("\n", "\r\n").encode("latin-1"),
            ["line 9 is not UTF-8 and is read as Windows-1252"],
        ),
        (FIRST.encode("utf-16"), []),
        (gzip.compress(FIRST.encode()), []),
    ],
    ids=["UTF-8", "Latin-1 and CRLF", "UTF-16", "gz"],
)
def test_every_section_of_a_topic_is_kept(data: bytes, notes: list[str]) -> None:
    content = read_topic_file(data, "topics.051-100")
    first, second = content.topics

    assert (first.code, first.line, first.title) == ("51", 2, "Airbus Subsidies")
    assert first.body == (
        "<p>R&amp;D, AT&amp;T, a café and what &lt;b&gt;is&lt;/b&gt; 1 &lt; 2.</p>"
        "<p><b>Head:</b> Tipster Topic Description</p><p><b>Domain:</b> International Economics</p>"
        "<p><b>Concepts:</b> 1. Airbus<br>2. European aircraft</p><p><b>Nationality:</b> U.S.</p>"
    )
    assert first.narrative == "<p>Two lines of one paragraph.</p><p>Another one, from $5 to $6.</p>"
    assert (second.code, second.line, second.title, second.body) == ("52", 26, "Only a title", "")
    assert content.notes == [
        *notes,
        "leading zeros dropped as in TREC's qrels: 051 and 1 more (now 51)",
        "no description in topic 52 (line 26)",
        "no narrative in topic 52 (line 26)",
    ]


def test_topics_in_xml_keep_subtopics_and_have_attributes_as_labels() -> None:
    [web] = read_topic_file(WEB.encode("latin-1"), "wt09.xml").topics
    [covid] = read_topic_file(COVID.encode(), "topics-rnd1.xml").topics

    assert (web.code, web.line, web.title, web.labels) == ("1", 3, "café tree", {"type": "faceted"})
    assert web.body == "<p>Find it.</p>"
    assert web.subtopics == ({"number": "1", "text": "Find a map.", "type": "nav"},)
    assert (covid.title, covid.body) == ("origin", "<p>What is it?</p>")
    assert covid.narrative == "<p>Relevant is anything.</p>"


@pytest.mark.parametrize("text", ["301:tidal power\n302:owls\n", "301\ttidal power\n\n302\towls"])
def test_topics_may_be_lines_of_a_number_and_a_title(text: str) -> None:
    topics = read_topic_file(text.encode(), "queries.tsv", is_formula=False).topics

    assert [(each.code, each.title, each.latex) for each in topics] == [
        ("301", "tidal power", ""),
        ("302", "owls", ""),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FIRST[:-7], "line 26: <top> is not closed; expected </top> before the end of the file"),
        (FIRST.replace("</top>", "", 1), "line 2: <top> is not closed; expected </top> before the next topic, in line"),
        (FIRST.replace("052", "051"), "line 26: topic 51 is already in line 2"),
        (FIRST.replace("<num> Number:  051", ""), "line 2: the topic has no number; expected <num>"),
        (FIRST.replace("<fac>", "<narr> again\n<fac>"), "line 22: a second <narr>; the first is in line 12"),
        (FIRST.replace("<top>", "<top>\nlost", 1), "line 3: text outside of a section, such as <desc>: 'lost'"),
        (FIRST + "lost </top>", "line 27: text outside of <top>: 'lost'"),
        (FIRST + "\n</top>", "line 28: </top> without <top>"),
        (b"<top>\n<num>1<title>caf\xe9 \x81</top>", "Line 2 is neither UTF-8 nor Windows-1252 (byte 0x81)"),
        (WEB.replace("ISO-8859-1", "GBK").encode("latin-1"), "Line 3 is not GBK"),
        (WEB.replace("ISO-8859-1", "ISO-8859-99"), "the encoding iso-8859-99, which is not known"),
    ],
)  # fmt: skip
def test_error_in_the_topics_is_named_with_its_line(text: str | bytes, message: str) -> None:
    with pytest.raises(BadFile) as refusal:
        read_topic_file(text if isinstance(text, bytes) else text.encode(), "topics.txt")

    assert message in refusal.value.message


def test_runs_are_checked_against_these_topics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run.txt"
    run.write_text("51 Q0 d1 1 2.5 watch\n53 Q0 d1 1 2.5 watch\n")
    for name, data in (("t.xml", FIRST.encode()), ("t.txt", b"51:Airbus Subsidies\n52:owls\n")):
        topics = tmp_path / name
        topics.write_bytes(data)

        assert main(["check", "--protocol", "trec-adhoc", "--topics", str(topics), str(run)]) == 1
        assert "line 2: unknown topic “53”" in capsys.readouterr().out

    topics.write_text("<top>\n<num>51")
    assert main(["check", "--protocol", "trec-adhoc", "--topics", str(topics), str(run)]) != 0
    assert "line 1: <top> is not closed" in capsys.readouterr().err


def signed_in(user: object) -> Client:
    client = Client()
    client.force_login(user)  # type: ignore[arg-type]
    return client


def posted(track: Track, data: bytes, name: str, *, removed: int = 0) -> str:
    address = reverse("tracks:import_topics", args=[track.slug])
    upload = SimpleUploadedFile(name, data)
    response = signed_in(make_organizer()).post(
        address, {"holds": "all topics", "upload": upload, "removed": removed}, follow=True
    )
    return response.content.decode()


def content_of(response: HttpResponse) -> bytes:
    return b"".join(response) if response.streaming else response.content


@pytest.fixture
def track(db: None) -> Track:
    return make_track("adhoc", protocol="trec-adhoc", status=Track.Status.DRAFT)


def test_organizer_imports_the_topics_and_assessors_judge_by_the_narrative(track: Track) -> None:
    posted(track, WEB.encode("latin-1"), "wt09.xml")
    page = posted(track, gzip.compress(SAMPLE), "topics.801-802.gz", removed=1)
    Track.objects.update(status=Track.Status.OPEN)
    topic = track.topics.get(code="801")
    ada = make_assessor(track, "ada")
    batch = make_batch(make_pool(track, {topic: 1}), {ada: [topic]})

    task = signed_in(ada).post(reverse("assessment:next", args=[batch.pk]), follow=True).content.decode()

    assert "2 topics: 2 new, 0 changed, 0 unchanged; 1 removed" in page
    assert "Which owls live at the harbor, and who counts them?" in task
    assert "Narrative</div>" in task
    assert "A relevant document names a kind of owl" in task


def test_attributes_that_the_protocol_has_no_label_for_are_reported(track: Track) -> None:
    assert "not stored, because trec-adhoc has no such labels: type" in posted(
        track, WEB.encode("latin-1"), "w.xml"
    )


def test_downloads_have_the_topics_as_imported_and_in_our_forms(track: Track) -> None:
    posted(track, SAMPLE, "topics.801-802")
    Track.objects.update(status=Track.Status.OPEN)
    client = signed_in(make_user())

    files = {
        name: content_of(client.get(reverse("tracks:download", args=["adhoc", name])))
        for name in ("topics.801-802", "adhoc-topics.xml", "adhoc-topics.tsv")
    }

    assert files["topics.801-802"] == SAMPLE
    [again, _] = read_topic_file(files["adhoc-topics.xml"], "topics.xml").topics
    assert (again.code, again.title) == ("801", "Owls at the harbor")
    assert again.narrative.startswith("<p>A relevant document names")
    assert b"Which owls live" in files["adhoc-topics.tsv"]


def test_participants_see_the_parts_that_the_protocol_names(track: Track) -> None:
    text = track.protocol.text.replace(
        "[runs]", '[topics]\nparticipants_see = ["number", "title"]\n\n[runs]', 1
    )
    text = text.replace('slug = "trec-adhoc"', 'slug = "titles"')
    track.protocol = StoredProtocol.objects.create(slug="titles", title="Titles", text=text)
    track.save()
    posted(track, SAMPLE, "topics.801-802")
    Track.objects.update(status=Track.Status.OPEN)
    address = reverse("tracks:topic", args=["adhoc", "801"])

    seen = {
        user.username: signed_in(user).get(address).content.decode()
        for user in (make_user("pat"), make_assessor(track, "jane"))
    }

    assert "Owls at the harbor" in seen["pat"]
    assert "Which owls" not in seen["pat"]
    assert "A relevant document" not in seen["pat"]
    assert "A relevant document" in seen["jane"]
    assert (
        signed_in(make_user()).get(reverse("tracks:download", args=["adhoc", "topics.801-802"])).status_code
        == 404
    )


@pytest.mark.parametrize(
    ("text", "titles", "note"),
    [
        (
            '{"topic_id": "1", "topics": [{"lang": "eng", "topic_title": "Owls"}], "report": {}}',
            {"1": "Owls"},
            "unknown columns or keys were left out: report",
        ),
        ("20001:1:Owls\n20002:4:At sea", {"20001": "Owls", "20002": "At sea"}, "has no such labels: priority"),
        ('{"qid": "1", "query": null}\n{"qid": "2", "query": "Tides"}', {"1": "", "2": "Tides"}, "1 topic has no text"),
        (b"1\tCaf\xe9\n2\tcaf\xc3\xa9", {"1": "Café", "2": "café"}, "line 1 is not UTF-8 and is read as Windows-1252"),
        ("1\tOwls\n\ufeff2\tTides\x1a", {"1": "Owls", "2": "Tides"}, "U+FEFF, a byte-order mark, was removed"),
        ('{"qid": "1", "query_zz": "Owls"}', {}, "none of these is a usual name of one: query_zz"),
    ],
)  # fmt: skip
def test_page_imports_forms_of_the_field_and_says_what_it_left_out(
    track: Track, text: str | bytes, titles: dict[str, str], note: str
) -> None:
    page = posted(track, text if isinstance(text, bytes) else text.encode(), "topics")

    assert dict(track.topics.values_list("code", "title")) == titles
    assert note in page


CAR = "enwiki:Owl/" + "Food%20web/" * 35  # titles of sections, as in TREC CAR


def test_codes_of_400_bytes_are_imported_shown_and_scored(track: Track) -> None:
    code = CAR + "a" * (400 - len(CAR))
    page = posted(track, f"{code}\tOwls at sea\n".encode(), "car.tsv")
    Track.objects.update(status=Track.Status.OPEN)
    organizer = signed_in(make_organizer())
    qrels = SimpleUploadedFile("q.txt", f"{code} 0 d1 1\n".encode())

    shown = organizer.get(reverse("tracks:topic", args=[track.slug, code]))
    organizer.post(reverse("scoring:import_qrels", args=[track.slug]), {"file": qrels}, follow=True)

    assert "1 topic: 1 new" in page
    assert "Owls at sea" in shown.content.decode()
    assert QrelsEntry.objects.get().topic == code
