"""Leaks of topics in a built collection are listed by kind, and decisions are applied to all published files."""

import csv
import io
from pathlib import Path

import pytest

from assay.formats.topics.reader import TopicRow
from assay.html.sanitize import clean_body
from assay_extensions.building.build import build, opened, publish
from assay_extensions.building.leaks import Report, check, decisions, remove
from assay_extensions.building.settings import NotBuilt, Period, Settings
from tests.helpers.dumps import answer, dump, plain_rows, question, row, write

SETTINGS = Settings(collection=Period("", "2019-01-01"), topics=Period("2019-01-01"))
EARLY, LATE = "2018-06-01T00:00:00", "2019-06-01T00:00:00"
TEXT = "<p>Let $f$ be a continuous function on a compact interval. Why is the function $f$ bounded there?</p>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A build with near-duplicates of question 20, a later question, and texts that name it or its answer."""
    posts = [
        question(1, CreationDate=EARLY, Title="On bounds", Body=TEXT.replace("there", "here"), AcceptedAnswerId=2),
        answer(2, 1, CreationDate=EARLY, Body="<p>By compactness, $x$.</p>"),
        question(3, CreationDate=EARLY, Title="Why bounded?", Body="<p>Something else</p>"),
        question(4, CreationDate=EARLY, Body='<p>See <a href="https://math.example/questions/20/why-bounded">this</a>.</p>'),
        question(5, CreationDate=EARLY, Body="<p>$y$ is not /questions/200</p>"),
        question(20, CreationDate=LATE, Title="Why bounded?", Body=TEXT),
        answer(21, 20, CreationDate=LATE),
    ]  # fmt: skip
    comments = [
        row(Id=1, PostId=5, Text="As in https://math.example/a/21", CreationDate=EARLY),
        row(Id=2, PostId=5, Text="late: https://math.example/q/20", CreationDate=LATE),
    ]
    links = [row(Id=1, PostId=20, RelatedPostId=5, LinkTypeId=3, CreationDate=LATE)]
    source = tmp_path / "dump"
    source.mkdir()
    write(source, "Posts.xml", dump("posts", *posts))
    write(source, "Comments.xml", dump("comments", *comments))
    write(source, "PostLinks.xml", dump("postlinks", *links))
    build(source, tmp_path / "built", SETTINGS, processes=0)
    return tmp_path / "built"


TOPIC = TopicRow("A.1", title="Why bounded?", body=TEXT)


def leaks_of(folder: Path, *topics: TopicRow, overlap: float = 0.6) -> Report:
    with opened(folder) as store:
        return check(store, topics, lambda _done, _total: None, overlap=overlap)


def test_leaks_are_listed_by_kind(folder: Path) -> None:
    report = leaks_of(folder, TOPIC)

    assert [(leak.kind, leak.docno, leak.overlap) for leak in report.leaks] == [
        ("mention", "4", ""),
        ("mention", "5", ""),
        ("same title", "3", ""),
        ("near-duplicate", "1", "0.82"),
        ("linked duplicate", "5", ""),
    ]
    assert report.unknown == []
    assert [leak.kind for leak in report.leaks if leak.is_forbidden] == ["mention", "mention"]


def test_overlap_decides_what_a_near_duplicate_is(folder: Path) -> None:
    assert leaks_of(folder, TOPIC, overlap=0.83).counts()["near-duplicate"] == (0, 0)


def test_own_thread_and_links_to_it_are_leaks(folder: Path, tmp_path: Path) -> None:
    posts = [
        question(1, CreationDate=EARLY),
        answer(2, 1, CreationDate=EARLY),
        question(3, CreationDate=EARLY),
    ]
    source = tmp_path / "other"
    source.mkdir()
    write(source, "Posts.xml", dump("posts", *posts))
    write(
        source,
        "PostLinks.xml",
        dump("postlinks", row(Id=1, PostId=3, RelatedPostId=1, LinkTypeId=1, CreationDate=EARLY)),
    )
    build(source, tmp_path / "built2", SETTINGS, processes=0)

    report = leaks_of(tmp_path / "built2", TopicRow("A.1", title="T", body="", thread="1"))

    assert [(leak.kind, leak.docno) for leak in report.leaks] == [
        ("own thread", "1"),
        ("own thread", "2"),
        ("published link", "3"),
    ]
    assert all(leak.is_forbidden for leak in report.leaks)


def test_question_of_a_topic_with_an_image_is_known(tmp_path: Path) -> None:
    image = (
        '<p>See <a href="https://i.example/b.png"><img src="https://i.example/b.png" alt="a graph"></a></p>'
    )
    posts = [
        question(1, CreationDate=EARLY, Body="<p>See /questions/20/bounded</p>"),
        question(20, CreationDate=LATE, Title="Bounded", Body=TEXT + image),
    ]
    build(write(tmp_path, "Posts.xml", dump("posts", *posts)), tmp_path / "built", SETTINGS, processes=0)
    body = clean_body(TEXT + image)

    report = leaks_of(tmp_path / "built", TopicRow("A.1", title="Bounded", body=body))

    assert "[Image: a graph" in body
    assert report.unknown == []
    assert [(leak.kind, leak.docno) for leak in report.leaks] == [("mention", "1")]


def test_topic_without_a_known_question_is_named(folder: Path) -> None:
    report = leaks_of(folder, TopicRow("A.7", title="Unseen words", body="Of no candidate"))

    assert (report.leaks, report.unknown) == ([], ["A.7"])


def test_removed_threads_leave_every_file(folder: Path) -> None:
    with opened(folder) as store:
        n = remove(store, [(1, "1"), (2, "5")], "decision.txt")
        manifest = publish(store, folder)
        report = check(store, [TOPIC], lambda _done, _total: None)

    posts = plain_rows(folder / "collection/Posts.xml")
    assert n == 3
    assert [post["Id"] for post in posts] == ["3", "4"]
    assert "compact" not in (folder / "collection/posts.jsonl").read_text()
    assert {path.stem for path in (folder / "html").rglob("*.html")} == {"3", "4"}
    assert not (folder / "formulas/latex").exists() or not list((folder / "formulas/latex").iterdir())
    assert plain_rows(folder / "collection/Comments.xml") == []
    assert (manifest["removed"], manifest["after"]["questions"]) == (3, 2)
    assert [(leak.kind, leak.docno) for leak in report.leaks if leak.removed] == [
        ("mention", "5"),
        ("near-duplicate", "1"),
        ("linked duplicate", "5"),
    ]


def test_formulas_keep_their_numbers_after_a_removal(folder: Path) -> None:
    with opened(folder) as store:
        remove(store, [(1, "1")], "decision.txt")
        publish(store, folder)

    assert (
        '<span class="math-container" id="4">y</span>'
        in plain_rows(folder / "collection/Posts.xml")[2]["Body"]
    )
    assert (folder / "formulas/latex/1.tsv").read_text().splitlines()[1].split("\t")[0] == "4"


def test_build_goes_on_after_a_removal_that_was_killed(folder: Path, tmp_path: Path) -> None:
    with opened(folder) as store:
        remove(store, [(1, "1")], "decision.txt")

    manifest = build(tmp_path / "dump", folder, SETTINGS, processes=0)

    assert (manifest["removed"], manifest["after"]["questions"]) == (2, 3)
    assert [post["Id"] for post in plain_rows(folder / "collection/Posts.xml")] == ["3", "4", "5"]


def test_report_is_a_file_of_decisions(folder: Path) -> None:
    report = "".join(leaks_of(folder, TOPIC).text())
    rows = list(csv.DictReader(io.StringIO(report), delimiter="\t"))

    assert [docno for _, docno in decisions(report, "leaks.tsv")] == [each["docno"] for each in rows]
    assert decisions("# decided on Monday\n1\n\n5\n", "d.txt") == [(2, "1"), (4, "5")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "d.txt names no post"),
        ("docno\tcolor\n1\tred\n", "d.txt, line 1: expected one docno per line"),
        ("1\n77\n", "d.txt, line 2: 77 is not in the collection"),
        ("1\n20\n", "d.txt, line 2: 20 is not in the collection"),
    ],
)
def test_unusable_decisions_are_refused_and_nothing_is_removed(folder: Path, text: str, reason: str) -> None:
    with opened(folder) as store:
        with pytest.raises(NotBuilt, match=reason):
            remove(store, decisions(text, "d.txt"), "d.txt")

        assert store.number("SELECT count(*) FROM posts WHERE role = 'removed'") == 0


def test_folder_without_a_build_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotBuilt, match="not the output of a build"), opened(tmp_path):
        pass
