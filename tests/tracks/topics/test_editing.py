"""Scenario, criteria and known item of a topic: who writes them, who sees them, and what an import does to them."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts.models import Event
from assay.errors import BadFile, Refused
from assay.formats.topics.reader import read_known_items, read_topics
from tests.helpers.api import api, call
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track, make_user
from tracks.downloads.contents import originals, topic_files
from tracks.models import Topic, Track
from tracks.topics import services

pytestmark = pytest.mark.django_db

TEXTS = {"scenario": "A student reads $x^2$.\n\nIn a hurry.", "criteria": "Relevant if <b>equal</b>."}
XML = b"""<topics xmlns="http://ntcir-math.nii.ac.jp/" xmlns:m="http://www.w3.org/1998/Math/MathML">
<topic><num>N-1</num><query><formula id="f.0"><m:math><m:semantics><m:ci>x</m:ci>
<m:annotation-xml encoding="MathML-Presentation"><m:mrow><m:mi>x</m:mi><m:mo>+</m:mo>
<mws:qvar xmlns:mws="http://search.mathweb.org/ns" name="y"/></m:mrow></m:annotation-xml></m:semantics></m:math>
</formula></query>
<scenario>Who asks</scenario><criteria>What counts</criteria></topic></topics>"""


def ntcir_topic(protocol: str = "ntcir-10-math", **fields: str) -> Topic:
    return make_topic(make_track(protocol=protocol), "N-1", latex="x", **fields)


def edit(client: Client, topic: Topic, **fields: str) -> str:
    address = reverse("tracks:edit_topic", args=[topic.track.slug, topic.code])
    return client.post(address, fields, follow=True).content.decode()


def test_organizer_writes_scenario_and_criteria_of_an_open_track(client: Client) -> None:
    topic = ntcir_topic()
    client.force_login(make_organizer())

    page = edit(client, topic, **TEXTS)

    assert "Topic N-1 is saved." in page
    assert '<p>A student reads <span class="math-container" data-display="inline">x^2</span>.</p>' in page
    assert "Relevant if &lt;b&gt;equal&lt;/b&gt;." in page
    assert Event.objects.get(action="topic.edited").details == {"changed": ["scenario", "criteria"]}


def test_split_is_set_on_the_page_and_hidden_like_labels(client: Client) -> None:
    topic = ntcir_topic()
    address = reverse("tracks:topic", args=[topic.track.slug, topic.code])
    client.force_login(make_organizer())

    page = edit(client, topic, split=" Train ")
    api = client.get(reverse("api:topic", args=[topic.track.slug, topic.code])).json()
    client.force_login(make_user("sofia"))

    assert "<dt>Split</dt><dd>train</dd>" in page
    assert api["split"] == "train"
    assert "train" not in client.get(address).content.decode()
    assert all(b"train" not in file.content for file in topic_files(topic.track))
    Track.objects.update(shows_labels=True)
    assert "<dt>Split</dt><dd>train</dd>" in client.get(address).content.decode()
    files = {file.name: file.content.decode() for file in topic_files(Track.objects.get())}
    assert "N-1,train" in next(text for name, text in files.items() if name.endswith("labels.csv"))


def test_labels_are_edited_on_the_page_and_through_the_api(client: Client) -> None:
    topic = make_topic(make_track(), "A.1", labels={"category": "proof", "difficulty": "easy"})
    page, api = (reverse(name, args=[topic.track.slug, "A.1"]) for name in ("tracks:edit_topic", "api:topic"))
    client.force_login(make_organizer())

    saved = edit(client, topic, **{"label-category": "concept", "label-dependence": "both"})
    wrong = client.post(page, {"label-category": "joke"}).content.decode()
    answer = client.patch(api, {"labels": {"category": "Proof"}}, content_type="application/json")
    refused = client.patch(api, {"labels": {"mood": "calm"}}, content_type="application/json")
    client.force_login(make_assessor(topic.track))

    assert "<dt>Category</dt><dd>concept</dd>" in saved
    assert "easy" not in saved
    assert "“joke” is not in it" in wrong
    assert answer.json()["labels"] == {"category": "proof"}
    assert "unknown label 'mood'; use category, difficulty, dependence" in refused.json()["detail"]
    assert client.get(page).status_code == 403
    assert [
        event.details["changed"] for event in Event.objects.filter(action="topic.edited").order_by("pk")
    ] == [
        ["labels"],
        ["labels"],
    ]


def test_list_of_topics_leads_organizers_to_the_form_with_the_labels(client: Client) -> None:
    topic = make_topic(make_track("lab", status=Track.Status.DRAFT), "A.1")
    address = reverse("tracks:edit_topic", args=["lab", topic.code])
    pages = []

    for user in (make_organizer(), make_user()):
        client.force_login(user)
        pages.append(client.get(reverse("tracks:topics", args=["lab"])).content.decode())

    assert [f'<a href="{address}">' in page for page in pages] == [True, False]
    client.force_login(make_organizer())
    assert 'name="label-difficulty"' in client.get(address).content.decode()


def test_participants_of_ntcir_10_see_neither_scenario_nor_criteria(client: Client) -> None:
    topic = ntcir_topic(**TEXTS)
    address = reverse("tracks:topic", args=[topic.track.slug, topic.code])

    client.force_login(make_user("sofia"))
    page, files = client.get(address).content.decode(), list(topic_files(topic.track))
    client.force_login(make_assessor(topic.track))

    assert "student" not in page + "".join(file.content.decode() for file in files)
    assert "student" in client.get(address).content.decode()


def test_only_organizers_see_the_known_item(client: Client) -> None:
    topic = ntcir_topic("ntcir-11-math", known_item="Ring:17")
    address = reverse("api:topic", args=[topic.track.slug, topic.code])
    seen = {}

    for user in (make_organizer(), make_assessor(topic.track), make_user("sofia")):
        client.force_login(user)
        seen[user.username] = client.get(address).json()["known_item"]

    assert [item for item in seen.values() if item] == ["Ring:17"]
    assert all(b"Ring:17" not in file.content for file in topic_files(topic.track))


def test_known_items_are_imported_on_the_page(client: Client) -> None:
    topic = ntcir_topic("ntcir-11-math")
    client.force_login(make_organizer())
    topics = reverse("tracks:topics", args=[topic.track.slug])
    file = SimpleUploadedFile("items.txt", b"N-1 1 Ring_(algebra),_\xe2\x80\x93:17 1\nN-1 1 Field:2 0\n")

    warned = client.get(topics).content.decode()
    address = reverse("tracks:import_topics", args=[topic.track.slug])
    page = client.post(address, {"holds": "known items", "upload": file}, follow=True).content.decode()

    assert "1 topic has no known item" in warned
    assert "1 topic with a known item; the collection does not have Ring_(algebra),_–:17." in page
    assert "no known item" not in page
    assert Topic.objects.get().known_item == "Ring_(algebra),_–:17"
    assert originals(topic.track) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"N-1 a\nN-1 b", "line 2: topic N-1 already has the known item a"),
        (b"N-1 a b", "line 1: expected a topic and a docno"),
        (b"", "no known item"),
        (b"\x81", "neither UTF-8 nor Windows-1252"),
    ],
)
def test_file_of_known_items_with_an_error_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(BadFile, match=message):
        read_known_items(content, "items.txt")


def test_import_of_known_items_says_that_a_line_is_not_utf_8() -> None:
    track = ntcir_topic("ntcir-11-math").track

    report = services.import_known_items(track=track, data=b"N-1 caf\xe9", name="items.txt")

    assert "Line 1 is not UTF-8 and is read as Windows-1252." in str(report)


def test_known_items_are_refused_where_runs_are_judged_and_for_unknown_topics() -> None:
    judged, known = ntcir_topic(), ntcir_topic("ntcir-11-math")

    with pytest.raises(Refused, match="ntcir-10-math has no known items"):
        services.import_known_items(track=judged.track, data=b"N-1 a", name="items.txt")
    with pytest.raises(BadFile, match="there is no topic N-2"):
        services.import_known_items(track=known.track, data=b"N-2 a", name="items.txt")


def test_topic_file_brings_scenario_and_criteria_and_a_later_one_keeps_them() -> None:
    track = make_track(protocol="ntcir-10-math", status=Track.Status.DRAFT)
    row = {"code": "N-1", "latex": "x"}

    services.import_topics(track=track, data=json.dumps(row | TEXTS).encode(), name="a.jsonl")
    services.import_topics(track=track, data=json.dumps(row).encode(), name="b.jsonl")

    topic = track.topics.get()
    assert {name: getattr(topic, name) for name in TEXTS} == TEXTS


def test_ntcir_xml_has_scenario_and_criteria_and_needs_no_latex() -> None:
    [topic] = read_topics(XML, "topics.xml")

    assert (topic.scenario, topic.criteria, topic.latex) == ("Who asks", "What counts", r"x + \qvar{y}")


def test_part_of_a_formula_that_results_resemble_is_kept() -> None:
    tex = rb"<m:annotation encoding='application/x-tex'>f \simto@construct{a}{x+\qvar@construct{y}}</m:annotation>"
    marked = XML.replace(
        b"<mws:qvar", b'<mws:simto xmlns:mws="http://search.mathweb.org/ns" name="a"><mws:qvar'
    )
    marked = marked.replace(b'name="y"/>', b'name="y"/></mws:simto>')

    [written], [given] = (
        read_topics(marked, "a.xml"),
        read_topics(XML.replace(b"<m:ci>", tex + b"<m:ci>"), "b.xml"),
    )

    assert written.latex == r"x + \simto{a}{\qvar{y}}"
    assert given.latex == r"f \simto{a}{x+\qvar{y}}"


def test_api_changes_the_texts_that_are_given(client: Client) -> None:
    topic = ntcir_topic(**TEXTS)
    client.force_login(make_organizer())
    address = reverse("api:topic", args=[topic.track.slug, topic.code])

    answer = client.patch(address, {"criteria": "New", "split": "Test"}, content_type="application/json")
    refused = client.patch(address, {"known_item": "Ring:17"}, content_type="application/json")

    assert (answer.json()["scenario"], answer.json()["criteria"]) == (TEXTS["scenario"], "New")
    assert answer.json()["split"] == "test"
    assert refused.status_code == 409


def test_text_of_an_opened_track_is_corrected_with_a_reason_that_everybody_reads(client: Client) -> None:
    track = make_track(protocol="trec-adhoc")
    topic = make_topic(track, "T.1", title="Old title", body="<p>Old.</p>", narrative="<p>One\ntwo.</p>\n")
    client.force_login(make_organizer())
    address = reverse("tracks:correct_topic", args=[track.slug, "T.1"])
    fields = {"title": "New title", "body": "<p>New.</p>", "narrative": "<p>One\r\ntwo.</p>\r\n"}

    unexplained = client.post(address, fields)
    page = client.post(address, fields | {"reason": "A typing error."}, follow=True).content.decode()
    visitors = Client().get(track.get_absolute_url()).content.decode()
    topic.refresh_from_db()

    assert unexplained.status_code == 422
    assert (topic.title, topic.body) == ("New title", "<p>New.</p>")
    kept = topic.corrections.get()
    assert kept.texts == {"title": "Old title", "body": "<p>Old.</p>"}
    assert "Old title" in page
    assert "A typing error." in page
    assert "Topic T.1 is corrected" in visitors
    assert "Old title" not in Client().get(reverse("tracks:topic", args=[track.slug, "T.1"])).content.decode()
    assert Event.objects.get(action="topic.corrected").details["reason"] == "A typing error."


def test_program_corrects_a_text_with_a_reason_and_not_without_one() -> None:
    track = make_track(protocol="trec-adhoc")
    topic = make_topic(track, "T.1")
    client = api(make_organizer())

    refused = call(client, "PATCH", "topic", track.slug, "T.1", data={"title": "New"})
    tags = call(client, "PATCH", "topic", track.slug, "T.1", data={"tags": ["x"], "reason": "No."})
    done = call(
        client, "PATCH", "topic", track.slug, "T.1", data={"title": "New", "reason": "A typing error."}
    )

    assert (refused.status_code, tags.status_code, done.status_code) == (409, 409, 200)
    assert topic.corrections.count() == 1
