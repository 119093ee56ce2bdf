"""The pages of topics, and the page that imports topics and labels."""

import json
import re
from datetime import timedelta
from html import unescape
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse

from accounts.models import Event, User
from tests.corpus.imports.test_services import output_of
from tests.helpers.dumps import write
from tests.helpers.factories import (
    make_assessor,
    make_collection,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tests.helpers.judging import make_team
from tracks.downloads.contents import topic_files
from tracks.models import Download, Topic, Track
from web.times import now

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(client: Client) -> Client:
    client.force_login(make_organizer())
    return client


def upload(content: bytes, name: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def topics_file(code: str = "A.1") -> bytes:
    return f'<Topics><Topic number="{code}"><Title>t</Title><Question>q</Question></Topic></Topics>'.encode()


def test_organizer_imports_topics_and_labels(organizer: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    address = reverse("tracks:import_topics", args=[track.slug])

    first = organizer.post(
        address, {"holds": "topics", "upload": upload(topics_file(), "t.xml")}, follow=True
    )
    labels = upload(b"topic,category,\xe9\nA.1,proof,x\n", "l.csv")
    second = organizer.post(address, {"holds": "labels", "upload": labels}, follow=True)

    assert "1 topic: 1 new" in first.content.decode()
    assert "1 topic labeled" in second.content.decode()
    assert "labels: é. Line 1 is not UTF-8 and is read as Windows-1252." in second.content.decode()
    assert track.topics.get().labels == {"category": "proof"}


def test_import_says_that_a_plain_text_has_tags_of_html(organizer: Client) -> None:
    rows = [
        {"code": "T.1", "text": "a < b and b > c"},
        {"code": "T.2", "text": "<p>Read <em>this</em>.</p>"},
        {"code": "T.3", "body": "<p>Read this.</p>"},
    ]

    address = reverse("tracks:import_topics", args=[make_track(status=Track.Status.DRAFT).slug])
    file = upload("\n".join(map(json.dumps, rows)).encode(), "topics.jsonl")

    page = organizer.post(address, {"holds": "topics", "upload": file}, follow=True).content.decode()

    assert (
        "1 text has tags of HTML, which readers see (first in line 2): in JSON, HTML is the key body." in page
    )


def test_labels_are_in_the_order_of_the_protocol(client: Client) -> None:
    track = make_track()
    make_topic(track, "A.1", labels={"dependence": "both", "difficulty": "hard", "category": "proof"})
    track.shows_labels = True
    track.save()

    for name, arguments in (("topics", [track.slug]), ("topic", [track.slug, "A.1"])):
        page = client.get(reverse(f"tracks:{name}", args=arguments)).content.decode()
        assert page.index("Category") < page.index("Difficulty") < page.index("Dependence")


def test_page_lists_every_error_of_a_topic_file(organizer: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    content = b'{"code": "a b"}\n{"code": "c d"}'

    page = organizer.post(
        reverse("tracks:import_topics", args=[track.slug]),
        {"holds": "topics", "upload": upload(content, "t.jsonl")},
    ).content.decode()

    assert "line 1: " in page
    assert "line 2: " in page


def test_page_offers_only_labels_for_the_topics_of_an_open_track(organizer: Client) -> None:
    track = make_track()
    address = reverse("tracks:import_topics", args=[track.slug])

    page = organizer.get(address).content.decode()
    labels = b"topic,category\nX.1,proof\nX.2,proof\n"
    refused = organizer.post(address, {"holds": "labels", "upload": upload(labels, "l.csv")}).content.decode()

    assert "Only the topics of a draft can change" in page
    assert re.findall(r'<option value="([^"]*)"', page) == ["labels"]
    assert f"2 topics are not in {track}: X.1, X.2; remove them from the file" in refused


def test_only_organizers_import_topics(client: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    address = reverse("tracks:import_topics", args=[track.slug])
    statuses = []

    for user in (make_user(), make_assessor(track)):
        client.force_login(user)
        form = {"holds": "topics", "upload": upload(topics_file(), "t.xml")}
        statuses += [client.get(address).status_code, client.post(address, form).status_code]

    assert statuses == [403] * 4
    assert not track.topics.exists()


def test_pages_list_topics_in_natural_order_and_files_by_bytes(client: Client) -> None:
    track = make_track()
    for code in ("B.1", "A.10", "A.9", "A.123456789012345678901234"):
        make_topic(track, code)

    page = client.get(reverse("tracks:topics", args=[track.slug])).content.decode()
    topic = client.get(reverse("tracks:topic", args=[track.slug, "A.10"])).content.decode()
    file = str(next(topic_files(track)).content)

    assert re.findall(r">([AB]\.\d+)</a>", page) == ["A.9", "A.10", "A.123456789012345678901234", "B.1"]
    assert ">←</span> A.9" in topic
    assert file.index("A.10") < file.index("A.9")


def test_topics_are_searched_with_their_labels_as_columns(client: Client) -> None:
    track = make_track("arq", status=Track.Status.OPEN, shows_labels=True)
    make_topic(
        track, "A.1", title="Groups of <b>order</b> 121", labels={"Difficulty": "easy"}, tags=["rings"]
    )
    make_topic(track, "A.2", title="A limit", labels={"Difficulty": "hard", "Kind": "proof"})

    def shown(text: str) -> list[str]:
        return [topic.code for topic in client.get("/tracks/arq/topics/", {"q": text}).context["topics"]]

    matches = {text: shown(text) for text in ("", "ORDER 121", "hard", "rings", "a.2", "<b>")}
    page = client.get("/tracks/arq/topics/").content.decode()

    assert matches == {
        "": ["A.1", "A.2"], "ORDER 121": ["A.1"], "hard": ["A.2"], "rings": ["A.1"], "a.2": ["A.2"], "<b>": []
    }  # fmt: skip
    assert '<th scope="col" class="c3">Difficulty</th><th scope="col" class="c3">Kind</th>' in page
    assert '<td class="c3" data-label="Kind">–</td>' in page
    assert (
        "No topic contains these words." in client.get("/tracks/arq/topics/", {"q": "<b>"}).content.decode()
    )
    assert 'class="c2">Tags</th>' in page


def test_topics_without_tags_have_no_column_of_tags(client: Client) -> None:
    make_topic(make_track("arq", status=Track.Status.OPEN), "A.1", tags=[])

    assert "Tags" not in client.get("/tracks/arq/topics/").content.decode()


def test_topic_may_have_a_slash_in_its_code(client: Client) -> None:
    track = make_track()
    make_topic(track, "2026/1")

    listed = client.get(reverse("tracks:topics", args=[track.slug])).content.decode()

    assert client.get(reverse("tracks:topic", args=[track.slug, "2026/1"])).status_code == 200
    assert f"/tracks/{track.slug}/topics/2026/1/" in listed


def test_thread_of_a_topic_is_linked_for_those_who_may_read_it(client: Client) -> None:
    own = make_collection()
    track = make_track(topic_collection=own)
    make_topic(track, "A.1", thread="77")
    address = reverse("tracks:topic", args=[track.slug, "A.1"])
    thread = reverse("corpus:thread", args=[own.slug, "77"])

    client.force_login(make_user())
    for_stranger = client.get(address).content.decode()
    client.force_login(make_assessor(track))
    for_assessor = client.get(address).content.decode()

    assert thread not in for_stranger
    assert thread in for_assessor


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (b'{"A.1": {"category": %s}}' % (b"1" * 5000), "a number has too many digits"),
        (b'{"A.1": {"category": %s}}' % (b"[" * 3000 + b"]" * 3000), "nested too deeply"),
        (b'{"A.1": {"category": []}}', "labels is not an object of strings"),
        (b'{"A.1": {"category": "%s"}}' % (b"1" * 5000), "a label is longer than 200 characters"),
        (b"topic,category\nA.1,%s\n" % (b"1" * 5000), "is not allowed"),
        (b"topic,category\nA.1,history\n", "category 'history' is not allowed; use "),
    ],
)
def test_unreadable_labels_are_refused_with_the_reason(
    organizer: Client, labels: bytes, message: str
) -> None:
    track = make_track()
    make_topic(track, "A.1")

    answer = organizer.post(
        reverse("tracks:import_topics", args=[track.slug]),
        {"holds": "labels", "upload": upload(labels, "labels.json")},
        follow=True,
    )

    assert message in unescape(answer.content.decode())


def test_labels_are_for_organizers_and_assessors_until_the_organizer_shows_them(client: Client) -> None:
    track = make_track()
    make_topic(track, "A.1", labels={"difficulty": "hard"})
    make_team(track, member := make_user())
    addresses = [
        reverse("tracks:topics", args=[track.slug]),
        reverse("tracks:topic", args=[track.slug, "A.1"]),
    ]

    def seen_by(user: User | None) -> bool:
        browser = Client()
        if user:
            browser.force_login(user)
        return any("hard" in browser.get(address).content.decode() for address in addresses)

    assert [seen_by(user) for user in (None, make_user(), member)] == [False] * 3
    assert seen_by(make_assessor(track))
    assert seen_by(make_organizer())
    Track.objects.update(shows_labels=True)
    assert seen_by(None)


def test_topics_are_hidden_until_they_are_released(client: Client) -> None:
    track = make_track()
    make_topic(track, "A.1")
    make_team(track, member := make_user())
    row = Download.objects.create(track=track, kind="topics", audience="teams")
    address = reverse("tracks:topic", args=[track.slug, "A.1"])

    def status(user: User | None) -> int:
        browser = Client()
        if user:
            browser.force_login(user)
        return browser.get(address).status_code

    people = (None, make_user(), member, make_assessor(track), make_organizer())
    assert [status(user) for user in people] == [404, 404, 404, 200, 200]
    row.released_at = now() - timedelta(seconds=1)
    row.save()
    assert [status(user) for user in people] == [404, 404, 200, 200, 200]


def test_imported_file_is_kept(organizer: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    for code in ("A.1", "A.2"):
        form = {"holds": "topics", "upload": upload(topics_file(code), "t.xml")}
        organizer.post(reverse("tracks:import_topics", args=[track.slug]), form)

    second, first = track.topic_imports.all()

    assert (first.is_replaced, second.is_replaced) == (True, False)
    with second.file.open("rb") as file:
        assert file.read() == topics_file("A.2")


def test_command_imports_topics_and_labels(tmp_path: Path) -> None:
    track = make_track(status=Track.Status.DRAFT)
    topics = write(tmp_path, "t.jsonl", '{"code": "T.1", "title": "x"}\n')
    labels = write(tmp_path, "l.json", '{"T.1": {"Category": "Proof"}}')

    assert "1 topic: 1 new" in output_of("import_topics", track.slug, topics)
    assert "1 topic labeled." in output_of("import_topics", track.slug, labels, "--labels")
    assert track.topics.get().labels == {"category": "proof"}


def test_command_reports_the_error(tmp_path: Path) -> None:
    track = make_track()
    make_topic(track)
    topics = write(tmp_path, "t.jsonl", '{"code": "T.1"}\n')

    with pytest.raises(CommandError, match="no track nowhere"):
        output_of("import_topics", "nowhere", topics)
    with pytest.raises(CommandError, match="cannot be read"):
        output_of("import_topics", track.slug, tmp_path / "none.xml")
    with pytest.raises(CommandError, match="only the topics of a draft can change"):
        output_of("import_topics", track.slug, topics)


def topics_after(client: Client, content: bytes, protocol: str = "trec-adhoc") -> tuple[str, list[Topic]]:
    """The page after the import of a file, and the topics."""
    client.force_login(make_organizer())
    track = make_track(protocol=protocol, status=Track.Status.DRAFT)
    data = {"upload": SimpleUploadedFile("topics", content), "holds": "topics"}
    page = client.post(reverse("tracks:import_topics", args=[track.slug]), data, follow=True)
    return page.content.decode(), list(track.topics.order_by("code"))


@pytest.mark.parametrize(
    ("content", "code", "title", "body"),
    [
        (b'qid\ttitle\turl\tdescription\nq 1\tx\tu\ty\n', "", "", ""),
        (b'Topic-ID\ttopic_title\turl\tdescription\nt1\t"5" d"\tu\tIs 1 < 2?\n', "t1", '"5" d"', "<p>Is 1 &lt; 2?</p>"),
        (b'\xef\xbb\xbfid,query\r\nt1,"a, ""b"""\r\n', "t1", 'a, "b"', ""),
        (b'{"_id": "t1", "text": "tidal power", "metadata": {}}\n', "t1", "tidal power", ""),
        (b'{"qid": 7, "query": "tides", "description": "All of them."}\n', "7", "tides", "<p>All of them.</p>"),
        (b'{"code": "t1", "text": "tidal power"}\n', "t1", "", "<p>tidal power</p>"),
        (b'{"code": "t1", "title": "a visa, a national id, a long title, and so on"}\n',
         "t1", "a visa, a national id, a long title, and so on", ""),
        (b'\r\nid,title\r\n\r\nt1,a,\r\n', "t1", "a", ""),
    ],
)  # fmt: skip
def test_topics_under_usual_names_are_imported(
    client: Client, content: bytes, code: str, title: str, body: str
) -> None:
    page, topics = topics_after(client, content)

    assert [(topic.code, topic.title, topic.body) for topic in topics] == (
        [(code, title, body)] if code else []
    )
    if b"url" in content and code:
        assert "unknown columns or keys were left out: url" in page
    if not code:
        assert "line 2: a topic&#x27;s code has 1 to 400 bytes without white space" in page


@pytest.mark.parametrize(("start", "end"), [("", ""), ("[", "]")])
def test_keys_that_no_topic_has_are_named(client: Client, start: str, end: str) -> None:
    page, topics = topics_after(
        client, f'{start}{{"qid": "t1", "title": "cats", "side": "pro"}}{end}\n'.encode()
    )

    assert [(topic.code, topic.title, topic.labels) for topic in topics] == [("t1", "cats", {})]
    assert "unknown columns or keys were left out: side; in JSON, labels are an object under" in page


def test_text_with_a_separator_that_is_not_quoted_is_refused(client: Client) -> None:
    page, topics = topics_after(client, b"code,title\n1,cats\n2,cats, dogs and mice\n")

    assert (
        "line 3: expected 2 columns as in the header, got 3; put a text with separators in quotation" in page
    )
    assert topics == []


def test_table_of_formulas_is_imported(client: Client) -> None:
    _, topics = topics_after(client, b"id\tlatex\tquery\nf1\tx^2\tsquares\n", "ntcir-10-math")

    assert [(topic.code, topic.latex, topic.title) for topic in topics] == [("f1", "x^2", "squares")]


def test_import_shows_what_it_adds_changes_and_removes_before_it_does(organizer: Client) -> None:
    track = make_track(protocol="trec-adhoc", status=Track.Status.DRAFT)
    address = reverse("tracks:import_topics", args=[track.slug])
    old = b"".join(b'{"code": "T.%d", "title": "Old"}\n' % n for n in range(3))
    new = b'{"code": "T.0", "title": "New"}\n{"code": "U.1", "title": "Other"}\n'

    def send(data: bytes, **fields: str) -> str:
        form = {"upload": SimpleUploadedFile("topics.jsonl", data), "holds": "topics"} | fields
        return organizer.post(address, form, follow=True).content.decode()

    send(old)
    added = send(new, action="preview")
    replaced = send(new, action="preview", holds="all topics")
    kept = [topic.title for topic in track.topics.order_by("code")]
    stored = send(new)

    assert "1 new, 1 changed, 0 unchanged; 2 topics are not in this file and stay." in added
    assert "<dt>Removed</dt>" not in added
    assert "2 removed because the file does not contain them" in replaced
    assert re.search(r"<dt>Removed</dt>\s*<dd>T.1, T.2</dd>", replaced)
    assert kept == ["Old", "Old", "Old"]
    assert "2 topics are not in this file and stay." in stored
    assert track.topics.count() == 4


def test_import_that_removes_topics_asks_with_the_preview_and_the_log_names_how_many(
    organizer: Client,
) -> None:
    track = make_track(protocol="trec-adhoc", status=Track.Status.DRAFT)
    address = reverse("tracks:import_topics", args=[track.slug])
    for code in ("T.1", "T.2"):
        make_topic(track, code)

    def send(**fields: str) -> str:
        upload = SimpleUploadedFile("topics.jsonl", b'{"code": "T.3", "title": "New"}\n')
        form = {"upload": upload, "holds": "all topics"} | fields
        return organizer.post(address, form, follow=True).content.decode()

    asked = send()
    other = send(removed="1")
    kept = sorted(track.topics.values_list("code", flat=True))
    accepted = send(removed="2")

    for page in (asked, other):
        assert re.search(r"<dt>Removed</dt>\s*<dd>T.1, T.2</dd>", page)
        assert "2 topics are not in the file. Accept below that they are removed" in page
        assert re.search(r'form="import" name="removed" value="2".*\s*<label .*>Remove 2 topics', page)
    assert kept == ["T.1", "T.2"]
    assert "2 removed because the file does not contain them" in accepted
    assert [topic.code for topic in track.topics.all()] == ["T.3"]
    [event] = Event.objects.filter(action="topics.imported")
    assert (event.details["topics"], event.details["removed"]) == (1, 2)
