"""Topics of BOLT IR: read from their XML; participants see only the parts that the protocol lists."""

import pytest
from django.test import Client
from django.urls import reverse

from assay.errors import BadFile
from assay.formats.topics.reader import BadTopics, read_topics
from tests.helpers.factories import make_assessor, make_organizer, make_track, make_user
from tracks.models import Track
from tracks.topics.services import import_topics

TOPICS = b"""<?xml version="1.0" encoding="UTF-8"?>
<bolt-ir-topics>
 <topic number="BIR-1">
  <query>What do harbor people say about owls?</query>
  <language-target lang="arz"/>
  <description>Opinions on owls &amp; their song.</description>
  <properties><asks-about>animal</asks-about><asks-for>opinion</asks-for><languages>arz</languages>
   <languages>eng</languages></properties>
  <rules>Songs count.

Pictures &lt;of owls&gt; do not.</rules>
 </topic>
 <topic number="BIR-2"><query>Who feeds them?</query><properties asks-about="person"/></topic>
</bolt-ir-topics>
"""


def test_topics_are_read_with_all_their_parts() -> None:
    first, second = read_topics(TOPICS, "topics.xml")

    assert (first.code, first.title, first.tags) == (
        "BIR-1",
        "What do harbor people say about owls?",
        ("arz",),
    )
    assert first.body == "<p>Opinions on owls &amp; their song.</p>"
    assert first.narrative == "<p>Songs count.</p><p>Pictures &lt;of owls&gt; do not.</p>"
    assert first.labels == {"asks-about": "animal", "asks-for": "opinion", "languages": "arz, eng"}
    assert (second.tags, second.body, second.labels) == ((), "", {"asks-about": "person"})


def test_topic_without_a_number_is_refused_on_its_line() -> None:
    with pytest.raises(BadTopics, match="line 13: a topic's code"):
        read_topics(TOPICS.replace(b' number="BIR-2"', b""), "topics.xml")


def test_declared_entities_are_refused() -> None:
    with pytest.raises(BadFile, match="DOCTYPE"):
        read_topics(b'<!DOCTYPE x [<!ENTITY a "b">]><bolt-ir-topics/>', "topics.xml")


@pytest.fixture
def track(db: None) -> Track:
    track = make_track("forum", protocol="bolt-ir-p3", collection=None, status=Track.Status.DRAFT)
    import_topics(track=track, data=TOPICS, name="topics.xml")
    Track.objects.filter(pk=track.pk).update(status=Track.Status.OPEN)
    return track


HIDDEN = ("Opinions on owls", "Songs count", "animal")
SEEN = ("What do harbor people say about owls?", "arz")


def pages(client: Client) -> str:
    addresses = (reverse("tracks:topics", args=["forum"]), reverse("tracks:topic", args=["forum", "BIR-1"]))
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


def test_page_view_by_a_participant_changes_no_topic(track: Track) -> None:
    pages(Client())

    assert track.topics.get(code="BIR-1").labels == {
        "asks-about": "animal",
        "asks-for": "opinion",
        "languages": "arz, eng",
    }
