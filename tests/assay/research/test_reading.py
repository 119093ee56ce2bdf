"""Readers of topics, threads, formulas and qrels."""

from pathlib import Path

import pytest

import assay
from assay.samples import path

MATH = '<span class="math-container" data-formula-id="q_1" data-display="inline">\\sqrt{3}</span>'


def test_topics_have_their_sanitized_texts() -> None:
    topics = assay.read_topics(path("topics.xml"))

    assert [topic.code for topic in topics] == ["A.1", "A.2", "A.3", "A.4", "A.5"]
    assert topics[0].title == f"Proof that {MATH} is irrational"


def test_dump_is_read_as_threads_with_comments(data: Path) -> None:
    threads = assay.read_threads(data / "stackexchange" / "conlang_meta")

    comments = [each for thread in threads.values() for own in thread.comments.values() for each in own]
    assert sum(thread.question is not None for thread in threads.values()) == 54
    assert sum(len(thread.answers) for thread in threads.values()) == 115
    assert len(comments) == 230
    assert all(answer.thread == docno for docno, thread in threads.items() for answer in thread.answers)


def test_threads_of_lines_of_json_have_their_comments() -> None:
    threads = assay.read_threads(path("documents.jsonl"))

    [(docno, comments)] = [pair for thread in threads.values() for pair in thread.comments.items()]
    assert len(threads) == 8
    assert comments[0].docno == docno
    assert comments[0].text


def test_comment_on_a_post_outside_the_collection_is_left_out(tmp_path: Path) -> None:
    row = (
        '<row Id="1" PostTypeId="1" Title="Owls" Body="Why?" Score="3" CreationDate="2020-01-01T00:00:00" />'
    )
    (tmp_path / "Posts.xml").write_text(f"<posts>\n{row}\n</posts>")
    comments = "".join(f'<row Id="{n}" PostId="{n}" Text="Good." Score="0" />\n' for n in (1, 2))
    (tmp_path / "Comments.xml").write_text(f"<comments>\n{comments}</comments>")

    [thread] = assay.read_threads(tmp_path).values()

    assert thread.question is not None
    assert (thread.question.title, thread.question.score) == ("Owls", 3)
    assert {docno: [each.code for each in own] for docno, own in thread.comments.items()} == {"1": ["1"]}


def test_formulas_have_latex_visual_id_and_post() -> None:
    first = next(assay.read_formulas(path("formulas-latex.tsv")))

    assert (first.code, first.latex, first.visual, first.post, first.place) == (
        "1001",
        "p",
        "1",
        "10",
        "question",
    )


def test_qrels_of_a_protocol_have_its_grades(data: Path) -> None:
    official = assay.read_qrels(data / "arqmath" / "qrels" / "qrels.arqmath-2020-task1.txt")

    assert (len(official), sum(map(len, official.values()))) == (77, 39_124)
    assert assay.read_qrels(path("qrels.txt"), protocol="arqmath-2020-task1")["A.1"]["22"] == 2


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (assay.read_topics, "none: No such file"),
        (assay.read_threads, "none: there is no such file"),
        (lambda file: list(assay.read_formulas(file)), "none: there is no such file"),
        (assay.read_qrels, "none: No such file"),
    ],
)
def test_missing_file_is_named(read: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(assay.AssayError) as refusal:
        read(tmp_path / "none")

    assert message in str(refusal.value)


def test_broken_dump_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "Posts.xml").write_text('<posts>\n<row Id="1" PostTypeId="1"\n</posts>')

    with pytest.raises(assay.AssayError, match=r"Posts.xml, line 2"):
        assay.read_threads(tmp_path)
