"""Tokens of words and formulas, and documents that are read from files of each form."""

from collections import Counter
from pathlib import Path

import pytest

from assay import samples
from assay.baselines.tokens import LONGEST, tokenize
from assay.errors import BadFile, InputError
from assay.formats.documents.reading import Document, document_files, map_documents

HTML = (
    "<p>The Sums of R&amp;D, naïve: "
    '<span class="math-container" data-display="block">\\sum_{i=1}^{10} x_i\' &lt; \\{a\\}</span></p>'
)


@pytest.mark.parametrize(
    ("tokenizer", "text", "formula"),
    [
        ("english-latex", "sum r d naïv", r"\sum _ { i = 1 } ^ { 10 } x _ i ' < \{ a \}"),
        ("words-latex", "the sums of r d naïve", r"\sum _ { i = 1 } ^ { 10 } x _ i ' < \{ a \}"),
        ("words", "the sums of r d naïve", "sum i 1 10 x i a"),
    ],
)
def test_tokens_are_those_of_the_tokenizer(tokenizer: str, text: str, formula: str) -> None:
    assert [token.decode() for token in tokenize(HTML, tokenizer)] == [*text.split(), *formula.split()]


def test_long_token_is_cut_off() -> None:
    assert tokenize(f"<p>{'z' * 99}</p>", "words") == [b"z" * LONGEST]


def passed(documents: list[Document]) -> list[Document]:
    return documents


def read(path: Path, skipped: Counter[str] | None = None) -> list[Document]:
    parts = map_documents(passed, document_files(path), skipped=skipped)
    return [document for part in parts for document in part]


def test_documents_of_json_lines_have_kind_thread_and_votes() -> None:
    documents = {document.docno: document for document in read(samples.path("documents.jsonl"))}

    assert len(documents) == 29
    assert documents["21"][1:3] == ("answer", "20")
    assert documents["31"].score == 12
    assert '<span class="math-container"' in documents["20"].title


def test_documents_of_trec_are_read() -> None:
    assert len(read(samples.path("trec-documents.txt"))) == 4


def test_posts_of_a_dump_are_read_and_others_are_counted(data: Path) -> None:
    skipped: Counter[str] = Counter()

    documents = read(data / "stackexchange" / "conlang_meta" / "Posts.xml", skipped)

    assert Counter(document.kind for document in documents).keys() == {"question", "answer"}
    assert any("tag wiki" in reason for reason in skipped)


def test_folder_of_a_build_has_its_posts(tmp_path: Path) -> None:
    (tmp_path / "collection").mkdir()
    for name in ("posts.jsonl", "Users.xml"):
        (tmp_path / "collection" / name).write_bytes(samples.path("documents.jsonl").read_bytes())

    assert [file.name for file in document_files(tmp_path)] == ["posts.jsonl"]


def test_file_without_documents_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Users.xml").write_text('<users><row Id="1"/></users>')
    (tmp_path / "empty").mkdir()

    with pytest.raises(BadFile, match=r"Users\.xml contains users"):
        read(tmp_path / "Users.xml")
    with pytest.raises(InputError, match="has no files"):
        document_files(tmp_path / "empty")


def test_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "posts.jsonl").write_text('{"docno": "1", "text": "a"}\n{"docno": \n')

    with pytest.raises(BadFile, match=r"posts\.jsonl, line 2"):
        read(tmp_path / "posts.jsonl")


def test_line_end_in_a_formula_is_a_space() -> None:
    """In the XML of a dump, each text is on one line; in lines of JSON, it has its line ends."""
    formula = '<span class="math-container">a\\\nb \\\\\nc</span>'

    assert tokenize(formula, "english-latex") == tokenize(formula.replace("\n", " "), "english-latex")
    assert tokenize(formula, "english-latex") == [b"a", b"\\ ", b"b", b"\\\\", b"c"]
