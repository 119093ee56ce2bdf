"""TF-IDF and BM25: values computed by hand, rank-bm25 and bm25s as oracles, and an index built in many small blocks."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from assay import samples
from assay.errors import BadFile, InputError
from assay.formats.documents.reading import Document, document_files, map_documents
from assay_extensions.baselines.postings import Builder, Postings, TokenBatch
from assay_extensions.baselines.tokens import LONGEST, tokenize

HAND = {"d1": "a a b", "d2": "b", "d3": "c c"}


def index(folder: Path, texts: dict[str, str], *, block: int = 8, batch: int = 3) -> Postings:
    builder = Builder(folder, block=block)
    rows = [(docno.encode(), text.encode().split()) for docno, text in texts.items()]
    for start in range(0, len(rows), batch):
        builder.add(TokenBatch.of(rows[start : start + batch]))
    return builder.finish()


@pytest.fixture
def random_texts() -> dict[str, str]:
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 60, 200)
    return {
        f"d{n}": " ".join(f"w{word}" for word in rng.zipf(1.5, size) % 90) for n, size in enumerate(lengths)
    }


def test_tf_idf_has_the_values_computed_by_hand(tmp_path: Path) -> None:
    # The mean length is 2. a in d1: 1.2 * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2)) * log2(3 / 1 + 1) = 1.315068
    # b, twice in the topic: in d1 2 * 1.2 / (1 + 1.65) * log2(3 / 2 + 1) = 1.197218, in d2 2.4 / 1.75 * 1.321928
    scores = index(tmp_path, HAND).scorer("tf-idf", k1=1.2, b=0.75).scores([b"b", b"a", b"b", b"unknown"])

    assert scores.tolist() == pytest.approx([2.512287, 1.812930, 0.0], abs=1e-6)


def test_bm25_has_the_values_computed_by_hand(tmp_path: Path) -> None:
    # idf of a: ln(1 + 2.5 / 1.5) = 0.980829; times 2 / (2 + 1.65). idf of b: ln(1 + 1.5 / 2.5) = 0.470004
    scores = index(tmp_path, HAND).scorer("bm25", k1=1.2, b=0.75).scores([b"a", b"b"])

    assert scores.tolist() == pytest.approx([0.537441 + 0.177360, 0.268574, 0.0], abs=1e-6)


def test_bm25_equals_rank_bm25_where_idf_is_the_same(tmp_path: Path, random_texts: dict[str, str]) -> None:
    # rank-bm25 multiplies by k1 + 1, and has another idf: each token is compared after division by it.
    postings = index(tmp_path, random_texts)
    oracle = BM25Okapi([text.split() for text in random_texts.values()], k1=1.2, b=0.75)
    scorer = postings.scorer("bm25", k1=1.2, b=0.75)
    n = len(random_texts)

    for word in ("w1", "w7", "w33"):
        df = sum(word in text.split() for text in random_texts.values())
        ours = scorer.scores([word.encode()]) / np.log(1 + (n - df + 0.5) / (df + 0.5))
        theirs = oracle.get_scores([word]) / oracle.idf[word] / 2.2
        assert np.allclose(ours, theirs, atol=1e-6)


def test_bm25_equals_the_index_of_bm25s(tmp_path: Path, random_texts: dict[str, str]) -> None:
    import bm25s  # a third of a second, in every process of the tests

    words = ["w1", "w2", "w1", "w50", "w9"]
    model = bm25s.BM25(k1=1.5, b=0.6)
    model.index([text.split() for text in random_texts.values()], show_progress=False)

    ours = index(tmp_path, random_texts).scorer("bm25", k1=1.5, b=0.6).scores([w.encode() for w in words])

    assert np.allclose(ours, model.get_scores(words), atol=1e-5)


@pytest.mark.parametrize(("block", "batch"), [(1, 1), (50, 7), (10_000, 200)])
def test_index_does_not_depend_on_blocks_and_batches(
    tmp_path: Path, random_texts: dict[str, str], block: int, batch: int
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    index(tmp_path / "one", random_texts).scorer("tf-idf", k1=1.2, b=0.75)

    index(tmp_path / "other", random_texts, block=block, batch=batch).scorer("tf-idf", k1=1.2, b=0.75)

    contents = [
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "other")
    ]
    assert contents[0] == contents[1]
    assert "tf-idf-1.2-0.75.npy" in contents[0]


def test_token_that_only_begins_like_one_of_the_index_is_unknown(tmp_path: Path) -> None:
    postings = index(tmp_path, HAND)

    assert postings.numbers_of([b"a", b"ab", b"a", b"0"]) == {0: 2}
    assert postings.numbers_of([]) == {}


def test_docno_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    builder = Builder(tmp_path)
    builder.add(TokenBatch.of([(b"7", [b"a"]), (b"8", []), (b"7", [b"b"])]))

    with pytest.raises(InputError, match="the docno 7 twice"):
        builder.finish()


def test_collection_without_documents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no documents of the kind"):
        Builder(tmp_path).finish()


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
