"""Topics of BOLT IR: read from their XML; participants see only the parts that the protocol lists."""

import pytest
from django.test import Client
from django.urls import reverse

from assay import samples
from assay.errors import BadFile
from assay.formats.topics.bolt import Citation, citations
from assay.formats.topics.reader import BadTopics, read_topics
from assay.formats.topics.writer import as_bolt, as_jsonl
from tests.helpers.factories import make_assessor, make_organizer, make_track, make_user
from tracks.models import Track
from tracks.topics.services import import_topics

TOPICS = samples.path("bolt-topics.xml").read_bytes()
DOCTYPE = b'<!DOCTYPE bolt-ir-topics SYSTEM "bolt-ir-topics.dtd">'


@pytest.mark.parametrize("doctype", [b"", DOCTYPE], ids=["none", "without declarations"])
def test_topics_are_read_with_all_their_parts(doctype: bytes) -> None:
    first, second = read_topics(
        TOPICS.replace(b"<bolt-ir-topics>", doctype + b"<bolt-ir-topics>"), "topics.xml"
    )

    assert (first.code, first.title) == ("BIR_1", "What do people at the harbor think of the owl?")
    assert (first.tags, second.tags) == ((), ("arz",))
    assert first.body.startswith("<p>Opinions of any kind")
    assert first.narrative.startswith("<ul><li>An opinion on owls")
    assert "I love the song" not in first.narrative
    assert second.narrative.startswith("<p>Any animal counts.</p><ul><li>A post that only")
    assert first.labels == {
        "language-target": "none",
        "asks-about": "animal",
        "asks-for": "opinion",
        "languages": "arz, cmn, eng",
        "language-condition": "several",
    }


@pytest.mark.parametrize(
    ("old", "new", "condition"),
    [
        (b'cmn="T"', b'cmn="F"', "one"),
        (b'<languages eng="F" arz="T" cmn="T"/>', b"<languages>eng, arz</languages>", "several"),
        (b'<languages eng="F" arz="T" cmn="T"/>', b"", "one"),
        (b'<languages eng="F" arz="T" cmn="T"/>', b'<languages eng="F" arz="F" cmn="F"/>', "one"),
    ],
    ids=["one property", "words", "language of the topic", "no true property"],
)
def test_language_condition_of_a_topic_is_one_or_several(old: bytes, new: bytes, condition: str) -> None:
    head, end = TOPICS.split(b'<topic number="BIR_2">')

    _, second = read_topics(head + b'<topic number="BIR_2">' + end.replace(old, new), "topics.xml")

    assert second.labels["language-condition"] == condition


def test_citations_of_developers_are_read_with_their_grade() -> None:
    first, second = read_topics(TOPICS, "topics.xml")

    assert citations(first.source) == [
        Citation("bolt-eng-DF-1-101:p2:80:27", "yes", "I love the song of the owl."),
        Citation("bolt-eng-DF-1-101:p4:1:23", "no", "The cranes stop at six."),
    ]
    assert citations(second.source) == []


def test_topic_without_a_number_is_refused_on_its_line() -> None:
    with pytest.raises(BadTopics, match="line 16: a topic's code"):
        read_topics(TOPICS.replace(b' number="BIR_2"', b""), "topics.xml")


def test_declared_entities_are_refused() -> None:
    with pytest.raises(BadFile, match="DOCTYPE"):
        read_topics(b'<!DOCTYPE x [<!ENTITY a "b">]><bolt-ir-topics/>', "topics.xml")


@pytest.fixture
def track(db: None) -> Track:
    track = make_track("forum", protocol="bolt-ir-p3", collection=None, status=Track.Status.DRAFT)
    import_topics(track=track, data=TOPICS, name="topics.xml")
    Track.objects.filter(pk=track.pk).update(status=Track.Status.OPEN)
    return track


HIDDEN = ("Opinions of any kind", "That the owl is there", "animal", "I love the song")
SEEN = ("What do people at the harbor think of the owl?", "Egyptian Arabic")


def pages(client: Client) -> str:
    addresses = (reverse("tracks:topics", args=["forum"]), reverse("tracks:topic", args=["forum", "BIR_1"]))
    return "".join(client.get(address).content.decode() for address in addresses)


@pytest.mark.parametrize("is_known", [False, True], ids=["visitor", "participant"])
def test_participants_see_only_number_query_and_language(track: Track, is_known: bool) -> None:
    client = Client()
    if is_known:
        client.force_login(make_user("pat"))

    text = pages(client)

    assert all(part in text for part in SEEN)
    assert not any(part in text for part in HIDDEN)


def test_assessors_and_organizers_see_all_parts_of_topics(track: Track) -> None:
    for user in (make_assessor(track, "jane"), make_organizer("oscar")):
        client = Client()
        client.force_login(user)

        text = pages(client)

        assert all(part in text for part in (*SEEN, *HIDDEN))


def test_downloads_have_the_topics_in_both_forms_and_for_participants_only_their_parts(track: Track) -> None:
    files = {}
    for user in (make_user("pat"), make_organizer("oscar")):
        client = Client()
        client.force_login(user)
        for name in ("topics.xml", "forum-bolt-topics.xml", "forum-topics.jsonl"):
            response = client.get(reverse("tracks:download", args=["forum", name]))
            content = b"".join(response.streaming_content) if response.streaming else response.content
            files[user.username, name] = content if response.status_code == 200 else b""

    assert files["oscar", "topics.xml"] == TOPICS
    assert files["pat", "topics.xml"] == b""
    assert files["oscar", "forum-bolt-topics.xml"] == files["pat", "forum-bolt-topics.xml"]
    for name in ("forum-bolt-topics.xml", "forum-topics.jsonl"):
        again = read_topics(files["pat", name], name)
        assert [(each.code, each.title, each.tags) for each in again] == [
            ("BIR_1", "What do people at the harbor think of the owl?", ()),
            ("BIR_2", "What do owls eat?", ("arz",)),
        ]
        assert not any(part.encode() in files["pat", name] for part in HIDDEN)


def test_export_for_an_archive_loses_nothing(track: Track) -> None:
    stored = list(track.topics.all())

    assert read_topics(as_jsonl(stored), "x.jsonl")[0].source == stored[0].source
    assert [each.labels for each in read_topics(as_bolt(stored), "x.xml")] == [each.labels for each in stored]
