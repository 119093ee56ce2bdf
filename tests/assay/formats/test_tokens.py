import random
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.formats.runs.rules import has_equal
from assay.formats.tokens import Text, as_bytes, decimals, spans, whole_numbers

PLAIN = st.from_regex(r"-?[0-9]{0,9}(\.[0-9]{0,17})?", fullmatch=True).filter(
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
