"""Runs are accepted or refused, with a report."""

import bz2
import gzip
import io
import lzma
import re
import tracemalloc
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formats.compression import Limits
from assay.formats.reports import Report
from assay.formats.runs import columns
from assay.formats.runs.columns import RunColumns
from assay.formats.runs.examples import placeholders, sample_run
from assay.formats.runs.reader import CheckedRun, check_run
from assay.formats.runs.rules import ABSENT, FIT, FORMS, OTHER_UNIT, XmlForm
from assay.formats.runs.xml import ELEMENTS
from assay.protocols.loader import load_protocol, shipped_slugs
from assay.protocols.schema import RUN_FORMATS
from tests.helpers.runs import BROKEN, GOOD, TOPICS, Broken, changed, lines_of, run_bytes, trec_bytes, zipped

SHIPPED = load_protocol("arqmath-2020-task1")
PROTOCOL = replace(SHIPPED, runs=replace(SHIPPED.runs, out_of_range_ranks="warning"))


def check(data: bytes, **options: Any) -> CheckedRun:
    options = {"topics": TOPICS, "protocol": PROTOCOL, "name": "run.tsv"} | options
    return check_run(io.BytesIO(data), **options)


def codes(checked: CheckedRun) -> tuple[list[str], list[str]]:
    return [error.code for error in checked.report.errors], [
        warning.code for warning in checked.report.warnings
    ]


def rows(run: RunColumns | None) -> list[tuple[str, bytes, int, float]]:
    assert run is not None
    codes = run.topics.tolist()
    return [
        (codes[topic], docno, rank, score)
        for topic, docno, rank, score in zip(
            run.topic_index.tolist(),
            run.docno.tolist(),
            run.rank.tolist(),
            run.score.tolist(),
            strict=True,
        )
    ]


# ---- files that must be refused


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_broken_file_is_refused_with_its_complaint(broken: Broken) -> None:
    checked = check(broken.make(), name=broken.file_name)

    assert broken.code in codes(checked)[0]
    assert checked.columns is None
    for error in checked.report.errors:
        assert error.message
        assert error.accepted
        assert error.n >= 1
        assert str(error)


def test_run_of_more_topics_than_the_track_has_is_refused_for_its_topics() -> None:
    lines = (f"B.{i // 1000}\t{i}\t{i % 1000 + 1}\t{-i}\trun-1" for i in range(120_000))

    checked = check(run_bytes(list(lines)))

    [error] = [each for each in checked.report.errors if each.code == "too-many-lines"]
    assert re.match(r"(\d+) of the first \1 topics are not in the track, such as “B\.0”\. ", error.message)
    assert error.accepted == f"At most 1,000 lines for each of the {len(TOPICS)} topics of the track."


def test_there_are_more_than_forty_broken_files() -> None:
    assert len(BROKEN) > 40


def test_wrong_number_of_columns_is_named_by_line() -> None:
    checked = check(changed(3, "A.1\t103\t3\t9.5"))

    (error,) = checked.report.errors
    assert str(error) == "line 3: expected 5 or 6 columns, got 4"
    assert error.lines[0].text == "A.1\t103\t3\t9.5"
    assert error.accepted == (
        "Query_Id Post_Id Rank Score Run_Number, or topic Q0 docno rank score tag, separated by tabs or spaces."
    )


def test_each_distinct_complaint_is_counted_with_its_first_lines() -> None:
    lines = lines_of(20)
    for i in range(10):
        lines[i] = lines[i].rsplit("\t", 1)[0]
    lines[15] = "A.1\t900\t16\tNaN\trun-1"
    lines[25] = "A.2\t900\tsix\t1.5\trun-1"

    columns_error, score, rank = check(run_bytes(lines)).report.errors

    assert (columns_error.n, [line.number for line in columns_error.lines]) == (10, [1, 2, 3, 4, 5])
    assert columns_error.where == "lines 1, 2, 3, 4, 5 and 5 more"
    assert (score.code, score.lines[0].number) == ("score", 16)
    assert (rank.code, rank.lines[0].number) == ("rank", 26)


def test_one_fault_on_many_values_is_one_error() -> None:
    lines = [f"A.1\t{i}\tr{i}\tbad{i}\trun-1" for i in range(1, 1001)]

    score, rank = check(run_bytes(lines)).report.errors

    assert (score.message, score.n) == ("the score is not a finite number", 1000)
    assert (rank.message, rank.n) == ("the rank is not a whole number of at most nine digits", 1000)


def test_unknown_topics_are_one_error_with_a_line_of_each() -> None:
    lines = [f"T{i}\t{docno}\t1\t1\trun-1" for i in range(1000) for docno in (1, 2)]

    [error] = check(run_bytes(lines)).report.errors

    assert (error.message, error.n) == ("1,000 unknown topics: T0, T1, T2 and 997 more", 2000)
    assert [line.number for line in error.lines] == [1, 3, 5, 7, 9]
    assert error.accepted.endswith("The run has none of them: is it of another track?")


def test_few_unknown_topics_are_named_one_by_one() -> None:
    lines = [*GOOD.decode().splitlines(), *(f"T{i}\t1\t1\t1\trun-1" for i in range(3))]

    errors = check(run_bytes(lines)).report.errors

    assert [error.message for error in errors] == [f"unknown topic “T{i}”" for i in range(3)]
    assert "another track" not in errors[0].accepted


def test_many_topics_with_too_many_documents_are_one_error() -> None:
    topics = [f"A.{i}" for i in range(1, 5)]
    lines = [f"{topic}\t{n}\t{n}\t{2000 - n}\trun-1" for topic in topics for n in range(1, 1003)]

    [error] = check(run_bytes(lines), topics=topics).report.errors

    assert error.message == (
        "4 topics have more than 1,000 documents: A.1 (1,002), A.2 (1,002), A.3 (1,002) and 1 more"
    )
    assert error.n == 8
    assert [line.number for line in error.lines] == [1001, 2003, 3005, 4007]


def test_byte_order_mark_after_an_empty_member_is_detected() -> None:
    data = gzip.compress(b"") + gzip.compress(b"\xef\xbb\xbf" + GOOD)

    assert codes(check(data)) == ([], ["bom"])


def test_line_with_two_errors_has_two_complaints() -> None:
    checked = check(b"A.1\t1\t1\t5\tr\nA.99\t2\t1\tnan\tr\nA.1\t1\t2\tinf\tr\n", topics=["A.1"])

    assert codes(checked)[0] == ["score", "unknown-topic", "repeated"]
    assert checked.columns is None


def test_repeated_document_names_both_lines() -> None:
    (error,) = check(changed(3, "A.1\t101\t3\t9.5\trun-1")).report.errors

    assert error.lines[0].number == 3
    assert error.lines[0].note == "101 of A.1 is first in line 1"


def test_line_numbers_are_those_of_an_editor_for_every_line_end() -> None:
    for end in ("\n", "\r\n", "\r"):
        data = end.join([*lines_of(50), "A.3\t1\t51"]).encode()

        (error,) = check(data).report.errors

        assert error.lines[0].number == 151, repr(end)


def test_shown_line_is_escaped_and_cut() -> None:
    (error,) = check(changed(2, b"A.1\t10\x1b[2J<script>" + b"x" * 3000 + b"\t2\t9.5\trun-1")).report.errors

    assert "\\x1b[2J<script>xxx" in error.lines[0].text
    assert len(error.lines[0].text) == 160


def test_200_megabytes_of_one_line_are_refused_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.tsv"
    with path.open("wb") as file:
        for _ in range(200):
            file.write(b"x" * (1 << 20))

    tracemalloc.start()
    checked = check_run(path, protocol=PROTOCOL, topics=TOPICS, name="long.tsv")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert codes(checked)[0] == ["line-too-long"]
    assert checked.report.errors[0].lines[0].number == 1
    assert peak < 20 << 20


def test_bomb_is_stopped_in_little_memory() -> None:
    data = BROKEN["gz bomb"].make()

    tracemalloc.start()
    checked = check(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert "ratio" in codes(checked)[0]
    assert peak < 60 << 20


def test_file_above_the_limit_is_refused_before_it_is_read() -> None:
    checked = check(GOOD, limits=Limits(max_file=100))

    assert codes(checked)[0] == ["file-too-large"]


def test_text_above_the_limit_is_refused() -> None:
    checked = check(gzip.compress(GOOD), limits=Limits(max_text=100))

    assert codes(checked)[0] == ["text-too-large"]


def test_scores_outside_the_protocols_range_are_refused() -> None:
    protocol = replace(PROTOCOL, runs=replace(PROTOCOL.runs, max_score=9.5))

    (error,) = check(GOOD, protocol=protocol).report.errors

    assert (error.code, error.n) == ("score-range", 9)
    assert error.accepted == "Scores from -inf to 9.5."


def test_ids_are_looked_up_if_the_collection_is_known() -> None:
    def units(docno: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        states = {b"101": FIT, b"102": ABSENT, b"103": OTHER_UNIT, b"104": FIT}
        return np.array([states[code] for code in docno.tolist()], dtype=np.uint8)

    absent, other = check(GOOD, units=units).report.errors

    assert (absent.code, absent.n, absent.where) == ("unknown-document", 3, "lines 2, 6, 10")
    assert (other.code, other.n) == ("wrong-unit", 3)
    assert "of the kind answer" in other.message


def test_every_form_that_a_protocol_may_name_has_a_reader() -> None:
    assert set(FORMS) | {"columns"} == set(RUN_FORMATS)  # a protocol describes the columns
    assert {name for name, form in FORMS.items() if isinstance(form, XmlForm)} == set(ELEMENTS)


# ---- accepted files


def test_rank_in_another_notation_is_a_warning() -> None:
    checked = check(changed(2, "A.1\t102\t0.00E+00\t9.5\trun-1"))

    assert codes(checked)[0] == []
    assert "rank-notation" in codes(checked)[1]
    assert checked.columns is not None


def test_good_run_has_no_complaints() -> None:
    checked = check(GOOD)

    assert codes(checked) == ([], [])
    assert checked.report.format == "arqmath-5"
    assert checked.report.tag == "run-1"
    assert checked.report.topic_lines == {"A.1": 4, "A.2": 4, "A.3": 4}
    assert checked.report.n_lines == 12
    assert rows(checked.columns)[:2] == [("A.1", b"101", 1, 9.875), ("A.1", b"102", 2, 9.75)]
    assert checked.repaired() is None


def test_both_forms_give_the_same_columns() -> None:
    five, six = check(GOOD), check(trec_bytes())

    assert six.report.format == "trec-6"
    assert rows(five.columns) == rows(six.columns)


ODD = 'd#1,"x":y\'z;é中\u0301'
WRAPPED = {
    "gz": gzip.compress(GOOD),
    "gz of two members": gzip.compress(GOOD[:100]) + gzip.compress(GOOD[100:]),
    "xz": lzma.compress(GOOD),
    "xz of two streams": lzma.compress(GOOD[:100]) + lzma.compress(GOOD[100:]),
    "bz2": bz2.compress(GOOD),
    "bz2 of two streams": bz2.compress(GOOD[:100]) + bz2.compress(GOOD[100:]),
    "zip": zipped(("any name.doc", GOOD)),
    "zip from a Mac": zipped(("run.tsv", GOOD), ("__MACOSX/._run.tsv", b"\0\5\x16\7")),
}
BOM = "\ufeff".encode()
SAME: dict[str, tuple[bytes, list[str]]] = {
    "CR LF": (GOOD.replace(b"\n", b"\r\n"), ["line-ends"]),
    "CR": (GOOD.replace(b"\n", b"\r"), ["line-ends-cr"]),
    "mixed ends": (GOOD.replace(b"\n", b"\r\n", 5), ["line-ends"]),
    "byte-order mark": (BOM + GOOD, ["bom"]),
    "marks of several files": (b"".join(BOM + line for line in GOOD.splitlines(keepends=True)), ["bom"]),
    "mark after CR": (GOOD.replace(b"\n", b"\r" + BOM).removesuffix(BOM), ["bom", "line-ends-cr"]),
    "Ctrl-Z": (GOOD + b"\x1a", ["ctrl-z"]),
    "Ctrl-Z in a line": (GOOD.replace(b"\n", b"\r\n") + b"\x1a\0\x1a\r\n", ["line-ends", "ctrl-z"]),
    "Ctrl-Z after a tag": (GOOD[:-1] + b"\x1a", ["ctrl-z", "final-newline"]),
    "UTF-16, little end first": (GOOD.decode().encode("utf-16"), ["encoding-converted"]),
    "UTF-16 without a mark": (GOOD.decode().encode("utf-16-le"), ["encoding-converted"]),
    "UTF-16, big end first": (b"\xfe\xff" + GOOD.decode().encode("utf-16-be"), ["encoding-converted"]),
    "no final line end": (GOOD[:-1], ["final-newline"]),
    "blanks": (GOOD.replace(b"\t", b"   "), []),
    "tabs and blanks mixed": (GOOD.replace(b"\t", b" \t ", 7), []),
    "leading and trailing blanks": (b"".join(b"  " + line + b" \t\n" for line in GOOD.splitlines()), []),
    "blank lines": (GOOD.replace(b"\n", b"\n\n"), []),
    "form feeds": (GOOD.replace(b"\t", b"\f"), []),
    "header": (b"Query_Id\tPost_Id\tRank\tScore\tRun_Number\n" + GOOD, ["header"]),
    "blank line and header": (b"\n\nQUERY_ID POST_ID RANK SCORE RUN_NUMBER\n" + GOOD, ["header"]),
    "plus signs": (GOOD.replace(b"\t9.", b"\t+9."), []),
    "exponents": (GOOD.replace(b"\t9.5\t", b"\t95e-1\t"), []),
    **{name: (data, []) for name, data in WRAPPED.items()},
}


@pytest.mark.parametrize(("data", "expected"), SAME.values(), ids=SAME.keys())
def test_harmless_variation_gives_the_same_columns(data: bytes, expected: list[str]) -> None:
    checked = check(data)

    assert codes(checked) == ([], expected)
    assert rows(checked.columns) == rows(check(GOOD).columns)


def test_ids_are_text_even_if_they_look_like_numbers() -> None:
    ids = [ODD, "0012", "1e5", "12.0", "#", '"', "A,B", "NaN"]
    lines = [f"A.1 {docno} {i} {20 - i} run-1" for i, docno in enumerate(ids, 1)]

    checked = check(run_bytes(lines))

    assert codes(checked) == ([], ["missing-topics"])
    assert [docno.decode() for _, docno, _, _ in rows(checked.columns)] == ids


def test_line_that_is_not_utf_8_is_windows_1252_and_the_others_stay_utf_8() -> None:
    lines = run_bytes([f"A.1\té{i}\t{i}\t{-i}\trun-1" for i in range(1, 8)])
    damaged = lines.replace("é3".encode(), "é3 ".encode("cp1252").strip())

    checked = check(damaged, topics=["A.1"])

    assert codes(checked) == ([], ["encoding-windows"])
    (warning,) = checked.report.warnings
    assert str(warning) == "line 3: the line is not UTF-8, and was read as Windows-1252"
    assert [docno.decode() for _, docno, _, _ in rows(checked.columns)] == [f"é{i}" for i in range(1, 8)]


def test_other_characters_than_cr_and_lf_end_no_line() -> None:
    odd = "a\x85\u2028b"

    checked = check(run_bytes([f"A.1\t{odd}\t1\t1\trun-1"]), topics=["A.1"])

    assert [docno.decode() for _, docno, _, _ in rows(checked.columns)] == [odd]


def test_cr_lf_cut_between_two_blocks_stays_one_line_end() -> None:
    filler = lines_of(1000, topics=["A.1"])
    data = "\r\n".join(filler).encode() + b"\r\n"

    class Slow(io.BytesIO):
        """Gives every block an odd length."""

        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(97 if size and size > 97 else size)

    checked = check_run(Slow(data), protocol=PROTOCOL, topics=TOPICS, name="run.tsv")

    assert codes(checked) == ([], ["line-ends", "missing-topics"])
    assert checked.report.n_lines == 1000
    assert checked.report.warnings[0].n == 1000


# ---- warnings


def test_ties_are_counted_and_ordered_by_docno_descending() -> None:
    lines = [
        f"A.1 {docno} {rank} {score} r"
        for rank, (docno, score) in enumerate([("9", 1), ("10", 1), ("b", 1)], 1)
    ]

    checked = check(run_bytes([*lines, *(f"{t} x 1 1 r" for t in TOPICS[1:])]))

    assert [docno for _, docno, _, _ in rows(checked.columns)][:3] == [b"b", b"9", b"10"]
    (ties,) = checked.report.warnings
    assert ties.message == "2 of 5 lines have the same score as a line above them in their topic"


def test_minus_zero_ties_zero() -> None:
    checked = check(b"A.1 a 1 0.0 r\nA.1 b 2 -0.0 r\n")

    assert [docno for _, docno, _, _ in rows(checked.columns)] == [b"b", b"a"]


def test_scores_are_doubles() -> None:
    checked = check(b"A.1 a 1 0.30000000000000001 r\nA.1 b 2 0.30000000000000004 r\n")

    assert [docno for _, docno, _, _ in rows(checked.columns)] == [b"b", b"a"]


def test_rank_that_disagrees_with_the_score_gives_a_warning() -> None:
    data = b"A.1 a 2 9 r\nA.1 b 1 8 r\nA.1 c 3 7 r\n"

    warnings = {warning.code: warning for warning in check(data).report.warnings}

    assert (warnings["rank-disagrees"].n, warnings["rank-disagrees"].where) == (2, "lines 1, 2")


def test_ranks_from_zero_are_a_warning_or_an_error_as_the_protocol_says() -> None:
    from_0 = b"A.1 a 0 9 r\nA.1 b 1 8 r\n"

    assert codes(check(from_0, topics=["A.1"])) == ([], ["rank-range", "rank-gaps"])
    assert codes(check(from_0, topics=["A.1"], protocol=SHIPPED)) == (["rank-range"], ["rank-gaps"])


def test_lines_out_of_order_give_a_warning() -> None:
    data = b"A.1 a 1 9 r\nA.2 a 1 9 r\nA.1 b 2 8 r\n"

    (order,) = check(data, topics=["A.1", "A.2"]).report.warnings

    assert (order.code, order.where) == ("order", "line 3")


def test_missing_topics_are_named() -> None:
    (missing,) = check(b"A.2 a 1 9 r\n", topics=["A.10", "A.2", "A.3"]).report.warnings

    assert missing.message == "no line for 2 of 3 topics: A.3, A.10"


def test_invisible_characters_in_ids_give_a_warning() -> None:
    checked = check("A.1 a\u200b 1 9 r\n".encode(), topics=["A.1"])

    assert codes(checked) == ([], ["invisible"])
    assert "\\u200b" in checked.report.warnings[0].lines[0].text


def test_any_topic_is_accepted_if_the_topics_are_unknown() -> None:
    assert codes(check(GOOD, topics=None)) == ([], [])


# ---- repair


REPAIRABLE = {
    "CR LF": GOOD.replace(b"\n", b"\r\n"),
    "everything": b"\xef\xbb\xbfQuery_Id\tPost_Id\tRank\tScore\tRun_Number\r\n"
    + b"\r\n".join(sorted(GOOD.splitlines(), key=lambda line: line[::-1])),
    "ranks from zero, TREC": b"A.1 Q0 b 1 1e-7 t\nA.1 Q0 a 0 0.1 t\nA.2 Q0 a 7 3 t\nA.3 Q0 a 1 3 t\n",
    "a rank that is no number": changed(2, "A.1\t102\t2.0\t9.75\trun-1"),
    "UTF-16": GOOD.decode().encode("utf-16"),
}


@pytest.mark.parametrize("data", REPAIRABLE.values(), ids=REPAIRABLE.keys())
def test_repaired_file_has_no_complaints_and_the_same_rows(data: bytes) -> None:
    first = check(data)
    repaired = first.repaired()
    assert repaired is not None

    second = check(repaired)

    assert codes(second) == ([], [])
    assert second.report.format == first.report.format
    assert second.report.tag == first.report.tag
    assert second.repaired() is None
    if first.columns is not None:
        assert [(t, d, s) for t, d, _, s in rows(second.columns)] == [
            (t, d, s) for t, d, _, s in rows(first.columns)
        ]


@pytest.mark.parametrize(
    "name", ["repeated document", "score NaN", "unknown topic", "two tags", "gz cut off"]
)
def test_errors_of_content_are_never_repaired(name: str) -> None:
    assert (
        check(
            BROKEN[name].make().replace(b"\n", b"\r\n") if name != "gz cut off" else BROKEN[name].make()
        ).repaired()
        is None
    )


# ---- properties


NAMES = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp", "Cf")), min_size=1, max_size=12
)
SCORES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-999, 999, places=2, allow_nan=False).map(str),
    st.integers(-5, 5).map(str),
)


@st.composite
def good_rows(draw: st.DrawFn) -> list[tuple[str, str, int, str]]:
    keys = draw(st.lists(st.tuples(st.sampled_from(TOPICS), NAMES), min_size=1, max_size=30, unique=True))
    return [(topic, docno, draw(st.integers(-3, 2000)), draw(SCORES)) for topic, docno in keys]


def plain_order(lines: list[tuple[str, str, int, str]]) -> list[tuple[str, bytes, int, float]]:
    """The slow, obvious reference."""
    read = [(topic, docno.encode(), rank, float(score)) for topic, docno, rank, score in lines]
    read.sort(key=lambda row: row[1], reverse=True)
    read.sort(key=lambda row: -row[3] + 0.0)
    read.sort(key=lambda row: row[0].encode())
    return read


@given(good_rows(), st.data())
@settings(max_examples=150, deadline=None)
def test_columns_equal_a_plain_reference_for_any_order_and_white_space(
    lines: list[tuple[str, str, int, str]], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(lines))
    form = data.draw(
        st.sampled_from(["{} {} {} {} tag", "{}\tQ0\t{}\t{}\t{}\ttag", "  {}   {} \t {}\t{} tag "])
    )
    end = data.draw(st.sampled_from(["\n", "\r\n", "\r"]))

    checked = check(end.join(form.format(*line) for line in shuffled).encode())

    assert codes(checked)[0] == []
    assert rows(checked.columns) == plain_order(lines)


TOKENS = st.sampled_from(
    [b"A.1", b"A.2", b"d1", b"d2", b"1", b"2", b"0.5", b"NaN", b"1_0", b"1e5", b"tag", b"-0", b"x,y"]
)
SEPARATORS = st.sampled_from([b" ", b"\t", b"  ", b"\x0b"])


@given(
    st.lists(
        st.tuples(st.lists(TOKENS, max_size=7), SEPARATORS, st.sampled_from([b"\n", b"\r\n", b"\n\n"])),
        max_size=12,
    )
)
@settings(max_examples=300, deadline=None)
def test_random_lines_are_accepted_exactly_if_a_plain_reader_accepts_them(
    lines: list[tuple[list[bytes], bytes, bytes]],
) -> None:
    data = b"".join(separator.join(words) + end for words, separator, end in lines)

    checked = check(data, topics=["A.1", "A.2"])

    assert checked.report.is_acceptable == plainly_good(data)


def plainly_good(data: bytes) -> bool:
    lines = [line.split() for line in data.split(b"\n") if line.split()]
    widths = {len(words) for words in lines}
    if len(widths) != 1 or not widths <= {5, 6}:
        return False
    shift = widths.pop() - 5
    seen = set()
    for words in lines:
        topic, docno, rank, score = words[0], words[1 + shift], words[2 + shift], words[3 + shift]
        is_whole = rank.removeprefix(b"-").isdigit() or rank == b"1e5"  # with a warning
        numbers_are_good = is_whole and score not in {
            b"A.1",
            b"A.2",
            b"d1",
            b"d2",
            b"NaN",
            b"1_0",
            b"tag",
            b"x,y",
        }
        if topic not in {b"A.1", b"A.2"} or (topic, docno) in seen or not numbers_are_good:
            return False
        seen.add((topic, docno))
    return len({words[-1] for words in lines}) == 1


@given(st.binary(max_size=400))
@settings(max_examples=300, deadline=None)
def test_no_bytes_crash_the_check(data: bytes) -> None:
    report = check(data).report

    assert report.errors or report.n_lines
    assert Report.from_json(report.as_json()) == report


@pytest.fixture
def fast_and_slow(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Read twice: normally, and without the fast path."""

    def both(data: bytes) -> tuple[CheckedRun, CheckedRun]:
        fast = check(data)
        with monkeypatch.context() as patch:
            patch.setattr("assay.formats.runs.text.read_fast_path", lambda *_: None)
            return fast, check(data)

    return both


def test_fast_and_slow_reader_agree(fast_and_slow: Any) -> None:
    for data in (GOOD, trec_bytes(200), *REPAIRABLE.values(), run_bytes(n=700)):
        fast, slow = fast_and_slow(data)

        assert fast.report == slow.report
        if fast.columns is not None:
            assert rows(fast.columns) == rows(slow.columns)


# ---- columns


def test_saved_columns_are_loaded_and_saved_with_the_same_bytes() -> None:
    run = check(GOOD).columns
    assert run is not None

    data = columns.save(run)

    assert rows(columns.load(io.BytesIO(data))) == rows(run)
    assert columns.save(columns.load(io.BytesIO(data))) == data


def test_topics_sort_by_bytes() -> None:
    data = run_bytes([f"{topic} d 1 1 r" for topic in ("A.2", "A.10", "A.1", "é", "z")])

    run = check(data, topics=None).columns

    assert run is not None
    assert run.topics.tolist() == ["A.1", "A.10", "A.2", "z", "é"]


# ---- real runs


@pytest.mark.parametrize(
    ("name", "n_lines", "n_topics", "tied"),
    [
        ("scm_ensemble-task1.tsv.gz", 98_000, 98, 93_476),
        ("psu-task1-auto-both-A.tsv.gz", 98_000, 98, 977),
        ("prim_Approach0.tsv", 3_044, 76, 497),
        ("prim_MIRMU-task1-Ensemble-auto-both-A.tsv", 13_905, 77, 11_664),
        ("prim_MathDowsers-task1-alpha05noReRank-auto-both-A.tsv", 8_421, 77, 5),
        ("prim_zbMATH-task1-auto-both-P.tsv", 32, 32, 0),
    ],
)
def test_real_runs_are_accepted(data: Path, name: str, n_lines: int, n_topics: int, tied: int) -> None:
    checked = check_run(data / "arqmath" / "runs" / name, protocol=PROTOCOL, name=name)

    ties = {warning.code: warning.n for warning in checked.report.warnings}.get("ties", 0)
    assert (checked.report.n_lines, checked.report.n_topics, ties) == (n_lines, n_topics, tied)
    assert checked.columns is not None


@pytest.mark.parametrize("n", [1, 40_000])
def test_a_document_repeated_far_away_is_found_in_long_runs(n: int, tmp_path: Path) -> None:
    """Rows are searched part by part. A part never ends inside a topic; rows of alternating topics are one part."""
    lines = [
        f"A.{topic}\t{doc}\t{doc + 1}\t{-doc}\tr\n" for topic in range(n // 1000 + 1) for doc in range(1000)
    ]
    again = "A.0\t999\t1\t-2000\tr\n"

    for place in (1000, len(lines)):
        path = tmp_path / "r.tsv"
        path.write_text("".join([*lines[:place], again, *lines[place:]]))
        report = check_run(path, protocol=load_protocol("arqmath-2021-task1"), name="r").report
        assert [error.code for error in report.errors] == ["repeated", "too-many-ranks"]
        assert report.errors[0].lines[0].number == place + 1


@pytest.mark.parametrize("slug", shipped_slugs())
def test_sample_run_is_accepted(slug: str) -> None:
    protocol, topics = load_protocol(slug), ["T.1", "T<2>&", "ä.10"]

    extension, content = sample_run(protocol, topics, placeholders(protocol))
    checked = check_run(BytesIO(content), protocol=protocol, topics=topics, name=f"sample.{extension}")

    assert checked.report.is_acceptable, checked.report.errors
    assert (
        list(checked.report.topic_lines) == sorted(topics, key=str.encode)
        or len(checked.report.topic_lines) == 3
    )
    has_tag = protocol.runs.columns is None  # the described columns have none
    assert not has_tag or (checked.report.tag or checked.report.kind) in {"sample-run", "evaluation"}
