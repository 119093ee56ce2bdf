"""Broken runs of formulas, NTCIR and BOLT are refused with a complaint and a line, in little memory."""

import gzip
import io
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formats.compression import Limits
from assay.formats.reports import Report
from assay.formats.runs import columns
from assay.formats.runs.reader import check_run
from assay.protocols.loader import load_protocol
from assay.protocols.schema import Protocol
from tests.helpers.form_checks import BOLT, FORMULAS, NTCIR, accepted, as_lists, check, warnings
from tests.helpers.form_runs import (
    BOLT_CASES,
    FORMULA_CASES,
    NTCIR_CASES,
    Case,
    bolt_run,
    formula_lines,
    formula_run,
    ntcir_run,
)
from tests.helpers.runs import run_bytes

REFUSED = [
    pytest.param(protocol, case, id=f"{protocol.slug}: {name}")
    for protocol, cases in ((FORMULAS, FORMULA_CASES), (NTCIR, NTCIR_CASES), (BOLT, BOLT_CASES))
    for name, case in cases.items()
]


# ---- refusals


@pytest.mark.parametrize(("protocol", "case"), REFUSED)
def test_broken_run_is_refused_on_its_line(protocol: Protocol, case: Case) -> None:
    checked = check(case.make(), protocol)

    errors = {error.code: error for error in checked.report.errors}
    assert case.code in errors
    assert [line.number for line in errors[case.code].lines][:1] == ([case.line] if case.line else [])
    assert checked.columns is None
    assert checked.repaired() is None or case.code == "rank"
    for error in checked.report.errors:
        assert error.accepted


def test_there_are_more_than_eighty_broken_runs() -> None:
    assert len(REFUSED) > 80


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_xml_are_those_of_an_editor_even_inside_a_tag(end: str) -> None:
    text = '<results>\n<run\n runtag="a">\n<result for="M-1">\n<hit\n xref="a"\n score="x"/></result></run></results>'

    (error,) = check(text.replace("\n", end).encode(), NTCIR).report.errors

    assert (error.code, [line.number for line in error.lines]) == ("score", [5])
    assert error.lines[0].text == "<hit"


def test_lines_beyond_65535_are_exact() -> None:
    data = ntcir_run("<run ", "\n" * 70_000 + "<run ").replace(b'score="0.7"', b'score="?"', 1)

    (error,) = check(data, NTCIR).report.errors

    assert error.lines[0].number == 70_007


def test_citation_with_two_errors_has_two_complaints() -> None:
    data = bolt_run('offset="0"', 'offset="x"').replace(b"The owls", b"x" * 300, 1)

    codes = [error.code for error in check(data, BOLT).report.errors]

    assert codes == ["offset", "passage-too-long"]


def test_a_billion_laughs_expand_to_nothing() -> None:
    tracemalloc.start()
    checked = check(NTCIR_CASES["a billion laughs"].make(), NTCIR)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert str(checked.report.errors[0]) == "line 2: the file declares a document type"
    assert peak < 5 << 20


@pytest.mark.parametrize("element", [b"<a/>", b"<hit xref='a' score='1'/>", b"<cite/>"])
def test_elements_without_number_are_not_read_to_their_end(element: bytes) -> None:
    data = b"<results><run runtag='a'><result for='M-1'>" + element * 20_000 + b"</result></run></results>"

    checked = check(data, NTCIR, limits=Limits(max_lines=5_000))

    assert checked.columns is None
    assert {error.code for error in checked.report.errors} & {"xml", "too-many-lines"}
    assert checked.report.n_lines <= 5_000


def test_hits_too_many_are_not_read_to_their_end() -> None:
    hits = "".join(f'<hit xref="d{n}" score="1"/>' for n in range(6_000))

    checked = check(ntcir_run("</result>", hits + "</result>"), NTCIR)

    assert [error.code for error in checked.report.errors] == ["too-many-lines"]
    assert checked.report.n_lines == 2 * 2 * 1000 + 1000


def test_hits_that_are_all_wrong_are_not_read_to_their_end_either() -> None:
    checked = check(ntcir_run("</result>", "<hit/>" * 6_000 + "</result>"), NTCIR)

    assert [(error.code, error.n) for error in checked.report.errors] == [
        ("attribute", 4_997),
        ("score", 4_997),
        ("too-many-lines", 1),
    ]


def test_elements_without_ranks_are_limited_too() -> None:
    checked = check(ntcir_run("</result>", "<note/>" * 110_000 + "</result>"), NTCIR)

    assert [error.message for error in checked.report.errors] == ["the file has more than 100,000 elements"]


def test_text_without_end_takes_little_memory() -> None:
    data = gzip.compress(bolt_run("The owls", "owl " * 4_000_000))

    tracemalloc.start()
    checked = check(data, BOLT, limits=Limits(max_ratio=10_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert [error.code for error in checked.report.errors] == ["passage-too-long"]
    assert peak < 20 << 20


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_no_bytes_crash_the_check(data: bytes) -> None:
    for protocol, start in (
        (NTCIR, b"<results>"),
        (BOLT, b"<bolt-ir-submission>"),
        (BOLT, b""),
        (FORMULAS, b""),
    ):
        report = check(start + data, protocol).report

        assert report.errors or report.n_lines
        assert Report.from_json(report.as_json()) == report


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_any_damaged_run_gets_a_report(data: st.DataObject) -> None:
    protocol, good = data.draw(st.sampled_from([(NTCIR, ntcir_run()), (BOLT, bolt_run())]))
    start = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(start, min(start + 40, len(good))))

    report = check(good[:start] + data.draw(st.binary(max_size=20)) + good[end:], protocol).report

    assert report.errors or report.n_lines
    for error in report.errors:
        assert error.message
        assert all(1 <= line.number <= good.count(b"\n") + 22 for line in error.lines)


def test_run_of_formulas_keeps_the_post_of_each() -> None:
    checked = check(formula_run(), FORMULAS)

    run = accepted(checked)
    assert checked.report.format == "arqmath-6"
    assert run.docno.tolist() == [b"901", b"902", b"903"] * 2
    assert run.post is not None
    assert run.post.tolist() == [b"40", b"41", b"41"] * 2
    assert warnings(checked) == []


def test_posts_stay_with_their_formulas_when_rows_are_sorted() -> None:
    run = accepted(check(run_bytes(formula_lines()[::-1]), FORMULAS))

    assert run.post is not None
    assert list(zip(run.docno.tolist(), run.post.tolist(), strict=True))[:3] == [
        (b"901", b"40"),
        (b"902", b"41"),
        (b"903", b"41"),
    ]


def test_posts_are_stored_with_the_columns() -> None:
    run = accepted(check(formula_run(), FORMULAS))

    again = columns.load(io.BytesIO(columns.save(run)))

    assert again.post is not None
    assert again.post.tolist() == [b"40", b"41", b"41"] * 2


def test_slow_path_keeps_the_same_posts(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = accepted(check(formula_run(), FORMULAS))
    monkeypatch.setattr("assay.formats.runs.text.read_fast_path", lambda *_: None)

    slow = accepted(check(formula_run(), FORMULAS))

    assert as_lists(slow) == as_lists(fast)


def test_run_of_formulas_is_repaired_with_its_posts() -> None:
    checked = check(formula_run().replace(b"\n", b"\r\n"), FORMULAS)

    assert checked.repaired() == formula_run()


def test_header_of_a_run_of_formulas_is_skipped() -> None:
    header = b"Query_Id\tFormula_Id\tPost_Id\tRank\tScore\tRun_Number\n"

    assert warnings(check(header + formula_run(), FORMULAS)) == ["header"]


def test_messages_name_formulas() -> None:
    (error,) = check(FORMULA_CASES["repeated formula"].make(), FORMULAS).report.errors

    assert str(error) == "line 3: the topic already contains the formula"
    assert error.accepted == "Each formula once per topic."


def test_real_run_of_formulas_is_accepted(data: Path) -> None:
    path = data / "arqmath" / "runs" / "scm_ensemble-task2.tsv.gz"

    checked = check_run(path, protocol=load_protocol("arqmath-2020-task2"), name=path.name)

    run = accepted(checked)
    assert (checked.report.format, checked.report.tag) == ("arqmath-6", "Run_Ensemble_0")
    assert (checked.report.n_lines, checked.report.n_topics) == (85_000, 85)
    first = run.topics.tolist().index("B.1")
    row = int(run.offsets[first])
    assert run.post is not None
    assert (run.docno[row], run.post[row], run.score[row]) == (b"10159237", b"1075828", 0.075)


def test_lines_of_trec_are_distinguished_from_lines_of_formulas() -> None:
    lines = [f"B.1 Q0 {900 + n} {n} {9 - n} ours" for n in range(1, 5)]

    (error,) = check(run_bytes(lines), FORMULAS).report.errors

    assert (error.code, error.n) == ("form", 4)
    assert error.message == "the second column is the same in all lines, as in the format of TREC"


def test_a_run_may_have_one_formula_per_topic() -> None:
    lines = ["B.1\t901\t40\t1\t9\tours", "B.2\t901\t40\t1\t9\tours"]

    assert accepted(check(run_bytes(lines), FORMULAS)).docno.tolist() == [b"901", b"901"]
