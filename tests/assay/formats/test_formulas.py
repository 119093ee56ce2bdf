"""Formulas are read from indexes, from maps of visual ids, and from several files together."""

import gzip
import random
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadFile
from assay.formats.documents.dump import INDEX_CHUNK, Reader
from assay.formats.documents.index_rows import NO_WIDTH
from assay.formats.formulas import read_files, read_index
from assay.formats.runs.columns import has_equal
from assay.formats.tokens import Text, as_bytes, decimals, spans, whole_numbers
from assay.formulas import PLACES
from assay.formulas.columns import Formulas
from tests.helpers.dumps import write


def rows(formulas: Formulas) -> list[tuple[str, str, str, str, str]]:
    return [
        (code.decode(), post.decode(), thread.decode(), PLACES[place], visual.decode())
        for code, post, thread, place, visual in zip(
            formulas.formula, formulas.post, formulas.thread, formulas.place, formulas.visual, strict=True
        )
    ]


def test_index_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, "i.tsv", "10\t5\t4\tcomment\t9\tx\n2\t6\t4\ttitle\t\t\\frac\n")

    assert rows(read_index(path)) == [("10", "5", "4", "comment", "9"), ("2", "6", "4", "title", "")]


def test_ids_may_contain_backslashes(tmp_path: Path) -> None:
    path = write(tmp_path, "i.tsv", "a\\b\t5\t4\ttitle\t9\tx\n")

    assert rows(read_index(path)) == [("a\\b", "5", "4", "title", "9")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("formula_id\tvisual_id\n1\t9\n", ("1", "", "", "answer", "9")),
        ("formula_id\tvisual_id_v2\tsha1\n1\t9\tffee\n", ("1", "", "", "answer", "9")),
        ("id\tpost\tthread\ttype\tvisual\n1\t5\t4\ttitle\t9\n", ("1", "5", "4", "title", "9")),
        ("visual_id\tpost_id\tformula_id\r\n9\t5\t1\r\n", ("1", "5", "", "answer", "9")),
        ("1\t9\n", ("1", "", "", "answer", "9")),
        ("\ufeff1\t9", ("1", "", "", "answer", "9")),
    ],
)
def test_map_is_read(tmp_path: Path, text: str, expected: tuple[str, ...]) -> None:
    assert rows(read_index([write(tmp_path, "map.tsv", text)])) == [expected]


def test_files_complete_each_other(tmp_path: Path) -> None:
    index = write(tmp_path, "i.tsv", "1\t5\t4\tcomment\tx\n2\t5\t4\tanswer\tx\n")
    visual = write(tmp_path, "map.tsv", "2\tb\n3\tc\n1\ta\n1\tlast\n")

    in_both_orders = [rows(read_index(paths)) for paths in ([index, visual], [visual, index])]

    assert in_both_orders[0] == in_both_orders[1]
    assert in_both_orders[0] == [
        ("1", "5", "4", "comment", "last"),
        ("2", "5", "4", "answer", "b"),
        ("3", "", "", "answer", "c"),
    ]


def test_folder_represents_its_files(tmp_path: Path) -> None:
    write(tmp_path, "1.tsv", "1\t5\t4\ttitle\tx\n")
    (tmp_path / "2.tsv.gz").write_bytes(gzip.compress(b"2\t5\t4\ttitle\tx\n"))

    assert [code for code, *_ in rows(read_index([tmp_path]))] == ["1", "2"]


def test_skipped_rows_are_counted(tmp_path: Path) -> None:
    read = read_files([write(tmp_path, "i.tsv", "1\t5\t4\ttitle\tx\nnothing\n")])

    assert (len(read.formulas), read.skipped) == (1, {NO_WIDTH: 1})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("formula_id\tvisual_id\n1\t9\n2\n", "map.tsv, line 3: expected 2 columns; got 1."),
        ("1\t9\n\t9\n", "map.tsv, line 2: expected 2 columns; the id is empty."),
        ('{"docno": "1"}\n', "map.tsv contains jsonl; use a formula index or a map of visual ids."),
        ("<posts><row/></posts>", "map.tsv contains posts"),
        ("", "neither XML nor"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadFile) as refusal:
        read_index([write(tmp_path, "map.tsv", text)])

    assert message in str(refusal.value)


def test_no_files_give_no_formulas() -> None:
    assert len(read_index([])) == 0


def test_real_map_has_its_known_counts(data: Path) -> None:
    folder = data / "arqmath" / "formulas"

    mapped = read_index(folder / "formula_id_visual_id.tsv.gz")
    index = read_index(folder / "formula_index_v2_sample.tsv")

    assert (len(mapped), len(np.unique(mapped.visual))) == (81_103, 40_592)
    assert mapped.visual[mapped.rows(np.array([b"1294"]))[0]] == b"8230016"
    assert (len(index), len(np.unique(index.visual))) == (1000, 760)


def test_index_of_unusable_rows_is_read_in_small_pieces(tmp_path: Path) -> None:
    path = tmp_path / "index.tsv"
    n = 400_000
    path.write_text("id\tpost_id\tthread_id\ttype\tformula\n" + "1\t1\t1\tnowhere\tx\n" * n)

    with path.open("rb") as file:
        sizes = [len(chunk.data) for chunk in Reader(file, path.name)]
    read = read_files([path])

    assert max(sizes) <= 2 * INDEX_CHUNK
    assert (len(read.formulas), sum(read.skipped.values())) == (0, n)


PLAIN = st.from_regex(r"-?[0-9]{0,9}(\.[0-9]{0,20})?|-?0?\.0{0,3}[0-9]{0,18}", fullmatch=True).filter(
    lambda word: any(map(str.isdigit, word))
)
ANY_SCORE = PLAIN | st.floats(allow_nan=False, allow_infinity=False).map(repr)


def read(words: list[str]) -> "np.ndarray | None":
    text = Text(("\n".join(words) + "\n").encode())
    word_spans = spans(text.codes, 1)
    assert word_spans is not None
    starts, lengths = word_spans
    return decimals(text, starts[:, 0], lengths[:, 0])


def halfway(rng: random.Random) -> str:
    """A decimal exactly in the middle between two doubles, or next to it."""
    middle = Decimal(rng.randrange(2**53, 2**55) | 1) / 2 ** rng.randrange(3)
    return f"{middle:f}"


@given(st.lists(ANY_SCORE, min_size=1, max_size=50))
def test_decimals_equal_those_of_float_to_the_last_bit(words: list[str]) -> None:
    values = read(words)

    assert values is not None
    assert values.tobytes() == np.array([float(word) for word in words]).tobytes()


def test_decimals_between_two_doubles_are_rounded_as_float_rounds_them() -> None:
    rng = random.Random(3)
    words = [halfway(rng) for _ in range(5_000)]

    values = read(words)

    assert values is not None
    assert values.tobytes() == np.array([float(word) for word in words]).tobytes()


@pytest.mark.parametrize(
    "word",
    [
        "x",
        "1.2.3",
        "-",
        ".",
        "1_0",
        "nan",
        "inf",
        "1e999",
        "--1",
        "1-2",
        "0x1",
        "１",
        "1,5",
        "12345678x",
        "e5",
    ],
)
def test_words_that_are_not_finite_numbers_take_the_slow_path(word: str) -> None:
    assert read(["1.5", word, "2"]) is None


@pytest.mark.parametrize(
    "word", ["+1.5", "1e5", "-2.5E-3", "123456789012345678901234567890", "0." + "3" * 40]
)
def test_other_notations_of_numbers_are_read(word: str) -> None:
    values = read(["1.5", word, "2"])

    assert values is not None
    assert values.tolist() == [1.5, float(word), 2]


@given(st.lists(st.text("ab1.é", min_size=1, max_size=30).map(str.encode), min_size=1, max_size=20))
def test_words_of_any_width_are_unchanged(words: list[bytes]) -> None:
    text = Text(b"\n".join(words) + b"\n")
    word_spans = spans(text.codes, 1)
    assert word_spans is not None
    starts, lengths = word_spans

    pieces = text.words(starts[:, 0], lengths[:, 0])

    assert as_bytes(pieces).tolist() == words
    assert text.slices(starts[:, 0], lengths[:, 0]) == words


@pytest.mark.parametrize("line", ["a\tb\n", "a b c d\n", "a\tb\tc d\te\n", "a\x01b\tc\td\n"])
def test_lines_with_other_numbers_of_words_have_no_spans(line: str) -> None:
    text = Text(b"1 2 3\n" + line.encode() + b"4 5 6\n")

    assert spans(text.codes, 3) is None


@pytest.mark.parametrize(
    "text", ["1 2  3\n4 5 6\n", " 1 2 3\n4 5 6\n", "1 2 3\r\n4 5 6\r\n", "1 2 3\n4\t5\v6 \n"]
)
def test_any_white_space_separates_words(text: str) -> None:
    given_text = Text(text.encode())
    word_spans = spans(given_text.codes, 3)
    assert word_spans is not None
    starts, lengths = (by_line.ravel() for by_line in word_spans)

    assert given_text.slices(starts, lengths) == [b"1", b"2", b"3", b"4", b"5", b"6"]
    assert whole_numbers(given_text, starts, lengths) is not None


def test_words_that_break_across_lines_have_no_spans() -> None:
    assert spans(Text(b"1 2\n3 4 5 6\n").codes, 3) is None


@given(st.lists(st.integers(0, 300), max_size=200))
def test_equal_numbers_are_found_at_any_place(values: list[int]) -> None:
    digests = np.array(values, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)

    assert has_equal(digests) == (len(set(values)) < len(values))


def test_two_equal_numbers_among_many_are_found() -> None:
    digests = np.random.default_rng(5).integers(0, 2**63, 50_000).astype(np.uint64)
    assert not has_equal(digests)

    digests[40_000] = digests[7]

    assert has_equal(digests)
