"""Topic files and label files: what is read, what is refused, and how the thread of a topic is found."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from lxml import etree

from assay.errors import BadFile, Refused
from assay.formats.topics.reader import BadTopics, comparable, read_labels, read_topic_file, read_topics
from tests.helpers.factories import make_collection, make_document, make_organizer, make_topic, make_track
from tracks.models import Topic, TopicImport, Track
from tracks.topics.services import import_labels, import_topics

XML = '<?xml version="1.0" ?>\n<Topics>\n%s</Topics>'
TOPIC = """<Topic number="{code}">
<Title>{title}</Title>
<Question>&lt;p&gt;Why is &lt;span class="math-container" id="q_1"&gt;$x$&lt;/span&gt;?&lt;/p&gt;</Question>
<Tags>limits,real-analysis</Tags></Topic>
"""
FORMULA = (
    '<Topic number="B.1"><Formula_Id>q_1</Formula_Id><Latex>x &lt; 2</Latex>'
    "<Title>t</Title><Question>q</Question></Topic>"
)


def xml(*codes: str, title: str = "A title") -> bytes:
    return (XML % "".join(TOPIC.format(code=code, title=title) for code in codes)).encode()


def draft(**fields: Any) -> Track:
    return make_track(status=Track.Status.DRAFT, **fields)


def test_topic_of_arqmath_is_read() -> None:
    (topic,) = read_topics(xml("A.1"), "topics.xml")

    assert (topic.code, topic.title, topic.tags) == ("A.1", "A title", ("limits", "real-analysis"))
    assert 'data-formula-id="q_1"' in topic.body


def test_formula_topic_is_read() -> None:
    (topic,) = read_topics((XML % FORMULA).encode(), "topics.xml")

    assert (topic.formula_id, topic.latex) == ("q_1", "x < 2")


def test_json_topics_are_read() -> None:
    lines = [
        {"code": "T.1", "text": "a <b>", "tags": ["x"], "labels": {"category": "proof"}, "split": "Test"},
        {"code": "T.2"},
    ]

    first, second = read_topic_file("\n".join(map(json.dumps, lines)).encode(), "topics.jsonl").topics

    assert first.body.startswith("<p>a &lt;b&gt;")
    assert (first.labels, first.split, second.body) == ({"category": "proof"}, "test", "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (xml("A.1", "A.2", "A.1"), "topic A.1 is already in line 3"),
        (xml("A 1"), "without white space"),
        (xml(""), "without white space"),
        (xml("é" * 201), "1 to 400 bytes"),
        (xml("all"), "line 3: a topic cannot be named 'all'"),
        (XML.replace("%s", "").encode(), "there are no topics in the file"),
        (xml("A.1")[:-3], "not well-formed XML"),
        (b"<posts></posts>", "<posts>"),
        (b"Query,Text", "begins with 'Query,Text'. A topic file contains <Topics>"),
        (b'{"code": "A.1"}\n{"code": ', "line 2: not a JSON object"),
        (b'{"code": "A.1"}\n[]{', "line 2: not a JSON object"),
        (b'{"code": "A.1", "tags": "x"}', "line 1: tags is not a list"),
        (b'{"code": "A.1", "labels": {"a": 1}}', "labels is not an object of strings"),
        (b'{"code": "A.1\\u0000"}', "NUL"),
        ("<Topics>".encode("utf-16")[:-1], "Line 1 is not UTF-16"),
    ],
)
def test_topic_file_with_an_error_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(Refused) as refusal:
        read_topics(content, "topics.xml")

    assert message in refusal.value.message


def test_entities_are_never_expanded(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    external = f'<!DOCTYPE Topics [<!ENTITY x SYSTEM "file://{secret}">]>'
    laughs = '<!DOCTYPE Topics [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'

    for doctype in (external, laughs, f"<!--{'-' * 70_000 + ' '}-->{external}".replace("--" * 10, "")):
        content = doctype + xml("A.1", title="&x;").decode().partition("?>\n")[2]
        with pytest.raises(Refused) as refusal:
            read_topics(content.encode(), "topics.xml")
        assert "secret" not in refusal.value.message


@pytest.mark.parametrize("name", ["2020-task1", "2021-task1", "2020-task2", "2021-task2"])
def test_real_topics_are_all_read(data: Path, name: str) -> None:
    path = data / "arqmath" / "topics" / f"topics.arqmath-{name}-origin.xml"

    topics = read_topics(path.read_bytes(), path.name)

    plain = etree.parse(path).getroot().findall("Topic")
    assert [topic.code for topic in topics] == [element.get("number") for element in plain]
    assert [",".join(topic.tags) for topic in topics] == [element.findtext("Tags") for element in plain]
    assert all(topic.title and topic.body for topic in topics)
    assert all(bool(topic.latex) == name.endswith("2") for topic in topics)
    spans = sum((element.findtext("Question") or "").count("math-container") for element in plain)
    # In each file one span is empty, or is inside another.
    assert sum(topic.body.count('class="math-container"') for topic in topics) == spans - 1


@pytest.mark.django_db
def test_second_import_updates_topics_and_adds_no_duplicates() -> None:
    track = draft()

    first = import_topics(track=track, data=xml("A.1", "A.2"), name="topics.xml")
    again = import_topics(track=track, data=xml("A.2", "A.3", title="New"), name="topics.xml")

    assert (first.n_new, again.n_new, again.n_changed) == (2, 1, 1)
    assert list(track.topics.values_list("code", "title")) == [
        ("A.1", "A title"),
        ("A.2", "New"),
        ("A.3", "New"),
    ]
    assert import_topics(track=track, data=xml("A.1"), name="topics.xml").n_unchanged == 1
    assert TopicImport.objects.filter(track=track, format="topics").count() == 3


@pytest.mark.django_db
@pytest.mark.parametrize("status", [Track.Status.OPEN, Track.Status.CLOSED])
def test_topics_do_not_change_once_the_track_was_opened(status: Track.Status) -> None:
    track = make_track(status=status)
    make_topic(track, "A.1", title="Original")

    with pytest.raises(Refused) as refusal:
        import_topics(track=track, data=xml("A.1", "A.2"), name="topics.xml")

    assert refusal.value.code == "topics-refused"
    assert list(track.topics.values_list("title", flat=True)) == ["Original"]


@pytest.mark.django_db
def test_file_of_all_topics_removes_the_others() -> None:
    track = draft()
    import_topics(track=track, data=xml("A.1", "A.2", "X.9"), name="wrong.xml")

    report = import_topics(track=track, data=xml("A.1", "A.3"), name="right.xml", replace=True)

    assert list(track.topics.values_list("code", flat=True)) == ["A.1", "A.3"]
    assert (report.n_new, report.n_unchanged, report.n_removed) == (1, 1, 2)
    assert "2 removed because the file does not contain them" in str(report)


@pytest.mark.django_db
def test_track_of_answers_refuses_formula_topics() -> None:
    with pytest.raises(BadTopics, match=r"line \d+: topic B\.1 is a formula"):
        import_topics(track=draft(), data=(XML % FORMULA).encode(), name="topics.xml")

    assert not Topic.objects.exists()


@pytest.mark.django_db
def test_thread_of_a_topic_is_found_by_docno_or_else_by_title() -> None:
    threads = make_collection("later-questions")
    title = 'Is <span class="math-container" data-display="inline">x</span> &lt; 2?'
    for docno, question in (("11", "Named"), ("12", title), ("13", "Twice"), ("14", "Twice")):
        make_document(threads, docno, title=question)
    rows = [
        {"code": "A.1", "title": "Something else", "thread": "11"},
        {"code": "A.2", "title": "Is  $x$ < 2?"},
        {"code": "A.3", "title": "Twice"},
        {"code": "A.4", "title": "Named", "thread": "99"},
    ]
    track = draft(topic_collection=threads)

    report = import_topics(track=track, data="\n".join(map(json.dumps, rows)).encode(), name="t.jsonl")

    assert dict(track.topics.values_list("code", "thread")) == {
        "A.1": "11",
        "A.2": "12",
        "A.3": "",
        "A.4": "",
    }
    assert report.unmatched == ["A.3", "A.4"]
    assert "1 matched with a thread by title" in str(report)


def test_titles_are_compared_by_their_words_and_latex() -> None:
    marked = '<span class="math-container" data-formula-id="q_1" data-display="block">a &lt; b</span> holds'

    assert comparable(marked) == comparable("$$a &lt; b$$  Holds") == "a < b holds"


@pytest.mark.django_db
def test_labels_in_csv_are_added_to_the_topics() -> None:
    track = make_track()
    for code in ("A.1", "A.2"):
        make_topic(track, code, labels={"difficulty": "easy"})
    content = "\ufeffTopic,Category,Difficulty,Split,Assessor\r\nA.1,Proof,hard,Train,2\r\n".encode()

    report = import_labels(track=track, data=content, name="labels.csv")

    assert dict(track.topics.values_list("code", "split")) == {"A.1": "train", "A.2": ""}
    labels = dict(track.topics.values_list("code", "labels"))
    assert labels == {"A.1": {"category": "proof", "difficulty": "hard"}, "A.2": {"difficulty": "easy"}}
    assert str(report) == "1 topic labeled; ignored columns that are not labels: Assessor."


@pytest.mark.django_db
def test_labels_are_read_from_a_topic_file_whose_topics_are_not_imported() -> None:
    track = make_track("arqmath")
    make_topic(track, "A.1")
    lines = (
        b'{"code": "A.1", "title": "changed", "labels": {"category": "proof"}}\n'
        b'{"code": "A.2", "title": "without labels"}\n'
    )

    import_labels(track=track, data=lines, name="topics.jsonl")

    topic = track.topics.get()
    assert topic.labels == {"category": "proof"}
    assert topic.title != "changed"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"A.9": {"category": "proof"}}', "there is no topic A.9"),
        ('{"A.1": {"category": "poem"}}', "use computation, concept, proof"),
        ('{"A.1": {"length": "9"}}', "no column is a label; use "),
        ('{"A.1": "proof"}', "must contain an object"),
        ('{"A.1": ', "not JSON"),
        ("topic,category\nA.1,proof,hard\n", "line 2: expected 2 columns as in the header, got 3"),
        ("topic\nA.1\n", "needs a header"),
        ("", "needs a header"),
    ],
)
def test_label_file_with_an_error_changes_nothing(content: str, message: str) -> None:
    track = make_track()
    make_topic(track, "A.1")

    with pytest.raises(Refused) as refusal:
        import_labels(track=track, data=content.encode(), name="labels")

    assert message in refusal.value.message
    assert track.topics.get().labels == {}


@pytest.mark.parametrize("codec", ["latin-1", "utf-16"])
def test_labels_of_spreadsheets_are_read(codec: str) -> None:
    assert read_labels("topic,category\nÉ,x\n".encode(codec), "labels.csv") == {"É": {"category": "x"}}


NTCIR = """<?xml version="1.0"?>
<topics xmlns="http://ntcir-math.nii.ac.jp/" xmlns:m="http://www.w3.org/1998/Math/MathML">
<topic><num>N-1</num><query>
<formula id="f.0"><m:math><m:semantics><m:ci>x</m:ci>
<m:annotation encoding="application/x-tex">x+%
 \\qvar@construct{y}</m:annotation></m:semantics></m:math></formula>
<formula id="f.1"><m:math><m:mi>z</m:mi></m:math></formula>
<keyword id="w.0">a mean &amp; more</keyword><keyword id="w.1">sums</keyword></query></topic>
</topics>"""


def test_topic_of_ntcir_is_read() -> None:
    (topic,) = read_topics(NTCIR.encode(), "topics.xml")

    assert (topic.code, topic.line) == ("N-1", 3)
    assert (topic.formula_id, topic.latex) == ("f.0", r"x+\qvar{y}")
    assert topic.title == "a mean &amp; more, sums"
    assert 'data-formula-id="f.0"' in topic.body


def test_topics_may_be_lines_of_code_and_formula() -> None:
    topics = read_topics(b"\xef\xbb\xbfN-1\tx^2\r\n\r\nN-2\t\\qvar{*1*} < 3\r\n", "topics.txt")

    assert [(topic.line, topic.code, topic.latex) for topic in topics] == [
        (1, "N-1", "x^2"),
        (3, "N-2", r"\qvar{*1*} < 3"),
    ]


def test_lines_with_one_code_twice_are_refused() -> None:
    with pytest.raises(BadFile, match="line 2: topic N-1 is already in line 1"):
        read_topics(b"N-1\tx\nN-1\ty\n", "topics.txt")


@pytest.mark.parametrize(
    ("name", "n", "code", "latex"),
    [
        ("arqmath/topics/topics.arqmath-2020-task2-origin.xml", 85, "B.1", None),
        ("arqmath/topics/topics.arqmath-2021-task2-origin.xml", 100, "B.201", r"n\times n"),
        ("ntcir/NTCIR12-MathIR-simple-queries.xml", 29, "NTCIR12-MathIR-1", r"x+\qvar{y}"),
        ("ntcir/topics.ntcir12-math-browsing.txt", 40, "NTCIR12-MathWiki-2", r"\mathfrak{P}"),
    ],
)
def test_real_formula_topics_have_their_formulas(
    data: Path, name: str, n: int, code: str, latex: str | None
) -> None:
    topics = read_topics((data / name).read_bytes(), name)

    assert len(topics) == n
    assert all(topic.latex for topic in topics)
    assert latex in {None, next(topic.latex for topic in topics if topic.code == code)}
    if "arqmath" in name:
        unmarked = [topic.code for topic in topics if topic.formula_id not in topic.title + topic.body]
        assert unmarked == []


@pytest.mark.django_db
def test_topic_formula_is_marked_in_its_question(client: Client) -> None:
    collection = make_collection()
    track = draft(protocol="arqmath-2021-task2", collection=collection)
    body = "&lt;p&gt;Why &lt;span class='math-container' id='q_1'&gt;$x$&lt;/span&gt;?&lt;/p&gt;"
    topic = (
        f'<Topic number="B.1"><Formula_Id>q_1</Formula_Id><Latex>x</Latex><Question>{body}</Question></Topic>'
    )
    import_topics(track=track, data=(XML % topic).encode(), name="topics.xml")
    import_labels(track=track, data=b"topic,complexity\nB.1,Low\n", name="labels.csv")
    client.force_login(make_organizer())

    page = client.get(reverse("tracks:topic", args=[track.slug, "B.1"])).content.decode()
    listed = client.get(reverse("tracks:topics", args=[track.slug])).content.decode()

    assert 'class="math-container is-marked" data-formula-id="q_1"' in page
    assert "Topic formula" in page
    assert "<dt>Complexity</dt><dd>low</dd>" in page
    assert "Topic formula" in listed
    assert '<th scope="col" class="c3">Complexity</th>' in listed
    assert '<td class="c3" data-label="Complexity">low</td>' in listed


@pytest.mark.django_db
def test_list_of_topics_without_formulas_and_labels_has_no_columns_for_them(client: Client) -> None:
    track = make_track()
    make_topic(track)

    listed = client.get(reverse("tracks:topics", args=[track.slug])).content.decode()

    assert "Topic formula" not in listed
    assert "Labels" not in listed
