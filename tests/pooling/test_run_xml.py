"""Runs of formulae, of NTCIR and of BOLT: what is taken, what is refused and on which line."""

import gzip
import io
import re
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pooling import columns
from pooling.columns import RunColumns
from pooling.containers import Limits
from pooling.reports import Report
from pooling.run_format import CheckedRun, check_run
from protocols.loader import load_protocol
from tests.pooling.form_runs import (
    BOLT_CASES,
    BOLT_TOPICS,
    FORMULA_CASES,
    FORMULA_TOPICS,
    NTCIR_CASES,
    NTCIR_HITS,
    NTCIR_TOPICS,
    Case,
    bolt_run,
    formula_lines,
    formula_run,
    ntcir_run,
)
from tests.pooling.runs import run_bytes

FORMULAE = load_protocol("arqmath-2021-task2")
NTCIR = load_protocol("ntcir-12-wikipedia")
BOLT = load_protocol("bolt-ir-p3")
TOPICS = {FORMULAE.slug: FORMULA_TOPICS, NTCIR.slug: NTCIR_TOPICS, BOLT.slug: BOLT_TOPICS}
REFUSED = [
    pytest.param(protocol, case, id=f"{protocol.slug}: {name}")
    for protocol, cases in ((FORMULAE, FORMULA_CASES), (NTCIR, NTCIR_CASES), (BOLT, BOLT_CASES))
    for name, case in cases.items()
]


def check(data: bytes, protocol: Any, **options: Any) -> CheckedRun:
    options = {"topics": TOPICS[protocol.slug], "name": "run"} | options
    return check_run(io.BytesIO(data), protocol=protocol, **options)


def taken(checked: CheckedRun) -> RunColumns:
    assert checked.report.errors == ()
    assert checked.columns is not None
    return checked.columns


def as_lists(found: RunColumns) -> list[object]:
    arrays = (
        found.topics,
        found.topic_index,
        found.docno,
        found.rank,
        found.score,
        found.post,
        found.passage,
    )
    return [None if array is None else array.tolist() for array in arrays]


def warnings(checked: CheckedRun) -> list[str]:
    return [one.code for one in checked.report.warnings]


# ---- refusals


@pytest.mark.parametrize(("protocol", "case"), REFUSED)
def test_broken_run_is_refused_on_its_line(protocol: Any, case: Case) -> None:
    checked = check(case.make(), protocol)

    found = {one.code: one for one in checked.report.errors}
    assert case.code in found
    assert [line.number for line in found[case.code].lines][:1] == ([case.line] if case.line else [])
    assert checked.columns is None
    assert checked.repaired() is None or case.code == "rank"
    for error in checked.report.errors:
        assert error.accepted


def test_there_are_more_than_eighty_broken_runs() -> None:
    assert len(REFUSED) > 80


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_xml_are_those_of_an_editor_also_within_a_tag(end: str) -> None:
    text = '<results>\n<run\n runtag="a">\n<result for="M-1">\n<hit\n xref="a"\n score="x"/></result></run></results>'

    (error,) = check(text.replace("\n", end).encode(), NTCIR).report.errors

    assert (error.code, [line.number for line in error.lines]) == ("score", [5])
    assert error.lines[0].text == "<hit"


def test_lines_beyond_65535_are_exact() -> None:
    data = ntcir_run("<run ", "\n" * 70_000 + "<run ").replace(b'score="0.7"', b'score="?"', 1)

    (error,) = check(data, NTCIR).report.errors

    assert error.lines[0].number == 70_007


def test_citation_with_two_faults_is_complained_of_twice() -> None:
    data = bolt_run('offset="0"', 'offset="x"').replace(b"The owls", b"x" * 300, 1)

    codes = [one.code for one in check(data, BOLT).report.errors]

    assert codes == ["offset", "passage-too-long"]


def test_a_billion_laughs_expand_to_nothing() -> None:
    tracemalloc.start()
    checked = check(NTCIR_CASES["a billion laughs"].make(), NTCIR)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert str(checked.report.errors[0]) == "line 2: the file declares its document type in itself"
    assert peak < 5 << 20


@pytest.mark.parametrize("element", [b"<a/>", b"<hit xref='a' score='1'/>", b"<cite/>"])
def test_elements_without_number_are_not_read_to_their_end(element: bytes) -> None:
    data = b"<results><run runtag='a'><result for='M-1'>" + element * 20_000 + b"</result></run></results>"

    checked = check(data, NTCIR, limits=Limits(max_lines=5_000))

    assert checked.columns is None
    assert {one.code for one in checked.report.errors} & {"xml", "too-many-lines"}
    assert checked.report.n_lines <= 5_000


def test_hits_too_many_are_not_read_to_their_end() -> None:
    hits = "".join(f'<hit xref="d{n}" score="1"/>' for n in range(6_000))

    checked = check(ntcir_run("</result>", hits + "</result>"), NTCIR)

    assert [one.code for one in checked.report.errors] == ["too-many-lines"]
    assert checked.report.n_lines == 2 * 2 * 1000 + 1000


def test_text_without_end_takes_little_memory() -> None:
    data = gzip.compress(bolt_run("The owls", "owl " * 4_000_000))

    tracemalloc.start()
    checked = check(data, BOLT, limits=Limits(max_ratio=10_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert [one.code for one in checked.report.errors] == ["passage-too-long"]
    assert peak < 20 << 20


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_no_bytes_break_the_check(data: bytes) -> None:
    for protocol, start in (
        (NTCIR, b"<results>"),
        (BOLT, b"<bolt-ir-submission>"),
        (BOLT, b""),
        (FORMULAE, b""),
    ):
        report = check(start + data, protocol).report

        assert report.errors or report.n_lines
        assert Report.from_json(report.as_json()) == report


# ---- formulae


def test_run_of_formulae_keeps_the_post_of_each() -> None:
    checked = check(formula_run(), FORMULAE)

    found = taken(checked)
    assert checked.report.form == "arqmath-6"
    assert found.docno.tolist() == [b"901", b"902", b"903"] * 2
    assert found.post is not None
    assert found.post.tolist() == [b"40", b"41", b"41"] * 2
    assert warnings(checked) == []


def test_posts_stay_with_their_formulae_when_rows_are_put_in_order() -> None:
    found = taken(check(run_bytes(formula_lines()[::-1]), FORMULAE))

    assert found.post is not None
    assert list(zip(found.docno.tolist(), found.post.tolist(), strict=True))[:3] == [
        (b"901", b"40"),
        (b"902", b"41"),
        (b"903", b"41"),
    ]


def test_posts_are_stored_with_the_columns() -> None:
    found = taken(check(formula_run(), FORMULAE))

    again = columns.load(io.BytesIO(columns.save(found)))

    assert again.post is not None
    assert again.post.tolist() == [b"40", b"41", b"41"] * 2


def test_patient_reader_keeps_the_same_posts(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = taken(check(formula_run(), FORMULAE))
    monkeypatch.setattr("pooling.run_lines.read_regular", lambda *_: None)

    patient = taken(check(formula_run(), FORMULAE))

    assert as_lists(patient) == as_lists(fast)


def test_run_of_formulae_is_repaired_with_its_posts() -> None:
    checked = check(formula_run().replace(b"\n", b"\r\n"), FORMULAE)

    assert checked.repaired() == formula_run()


def test_header_of_a_run_of_formulae_is_skipped() -> None:
    header = b"Query_Id\tFormula_Id\tPost_Id\tRank\tScore\tRun_Number\n"

    assert warnings(check(header + formula_run(), FORMULAE)) == ["header"]


def test_refusals_speak_of_formulae() -> None:
    (error,) = check(FORMULA_CASES["repeated formula"].make(), FORMULAE).report.errors

    assert str(error) == "line 3: the formula stands in its topic already"
    assert error.accepted == "Each formula once in a topic."


def test_real_run_of_formulae_is_taken(data: Path) -> None:
    path = data / "arqmath" / "runs" / "scm_ensemble-task2.tsv.gz"

    checked = check_run(path, protocol=load_protocol("arqmath-2020-task2"), name=path.name)

    found = taken(checked)
    assert (checked.report.form, checked.report.tag) == ("arqmath-6", "Run_Ensemble_0")
    assert (checked.report.n_lines, checked.report.n_topics) == (85_000, 85)
    first = found.topics.tolist().index("B.1")
    row = int(found.offsets[first])
    assert found.post is not None
    assert (found.docno[row], found.post[row], found.score[row]) == (b"10159237", b"1075828", 0.075)


# ---- NTCIR


def test_results_xml_becomes_rows() -> None:
    checked = check(ntcir_run(), NTCIR)

    found = taken(checked)
    assert (checked.report.form, checked.report.tag) == ("ntcir-xml", "ours")
    assert found.topics.tolist() == NTCIR_TOPICS
    assert [one.decode() for one in found.docno[:3].tolist()] == [hit[0] for hit in NTCIR_HITS]
    assert found.rank.tolist() == [1, 2, 3] * 2
    assert found.score.tolist() == [0.9, 0.8, 0.7] * 2
    assert warnings(checked) == []


def test_text_form_of_ntcir_gives_the_same_rows() -> None:
    lines = [
        f"{topic} 1 {docno} {rank} {score} ours"
        for topic in NTCIR_TOPICS
        for docno, score, rank in NTCIR_HITS
    ]

    text, xml = check(run_bytes(lines), NTCIR), check(ntcir_run(), NTCIR)

    assert text.report.form == "trec-6"
    assert as_lists(taken(text)) == as_lists(taken(xml))


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + ntcir_run(),
        ntcir_run().decode().replace("UTF-8", "UTF-16").encode("utf-16"),
        ntcir_run("UTF-8", "ISO-8859-1").decode().encode("latin-1"),
        ntcir_run().replace(b"\n", b"\r\n"),
        ntcir_run().replace(b"\n", b""),
        gzip.compress(ntcir_run()),
        ntcir_run("<results xmlns=", "<n:results xmlns:n=").replace(b"</results>", b"</n:results>"),
        ntcir_run("<results ", '<!DOCTYPE results SYSTEM "http://127.0.0.1:9/results.dtd">\n<results '),
        ntcir_run("Ring:1", "&#82;ing:1"),
    ],
    ids=[
        "BOM",
        "UTF-16",
        "Latin-1",
        "CR LF",
        "one line",
        "gz",
        "prefix",
        "DTD named",
        "number of a character",
    ],
)
def test_harmless_variation_of_xml_gives_the_same_rows(data: bytes) -> None:
    found = taken(check(data, NTCIR))

    assert [one.decode() for one in found.docno[:3].tolist()] == [hit[0] for hit in NTCIR_HITS]
    assert found.score.tolist() == [0.9, 0.8, 0.7] * 2


@pytest.mark.parametrize("root", ["run", "result"])
def test_a_run_or_a_result_alone_is_taken(root: str) -> None:
    whole = ntcir_run().decode()
    start, end = whole.index(f"<{root} "), whole.index(f"</{root}>") + len(f"</{root}>")

    checked = check(whole[start:end].encode(), NTCIR)

    taken(checked)
    assert checked.report.tag == ("ours" if root == "run" else "")
    assert ("no-tag" in warnings(checked)) == (root == "result")


def test_hit_of_a_formula_is_known_by_the_formula() -> None:
    data = ntcir_run(
        '<hit xref="Ring:1" score="0.9" rank="1"/>',
        '<hit xref="Ring.html" score="0.9" rank="1"><formula for="q" xref="Ring:1"><qvar xref="y"/></formula></hit>',
    )

    assert taken(check(data, NTCIR)).docno[0] == b"Ring:1"


def test_hit_of_several_formulae_is_known_by_the_first() -> None:
    data = ntcir_run(
        '<hit xref="Ring:1" score="0.9" rank="1"/>',
        '<hit xref="R" score="0.9" rank="1"><formula xref="Ring:1"/><formula xref="Ring:2"/></hit>',
    )

    checked = check(data, NTCIR)

    assert taken(checked).docno[0] == b"Ring:1"
    assert warnings(checked) == ["several-formulae"]


def test_hits_without_scores_are_ordered_by_their_ranks() -> None:
    data = re.sub(rb'score="[^"]*" ', b"", ntcir_run())

    checked = check(data.replace(b'rank="1"', b'rank="9"'), NTCIR)

    assert taken(checked).docno[0] == b"Field_(mathematics):2"
    assert "no-scores" in warnings(checked)


def test_rank_that_is_left_out_is_the_place_in_the_result() -> None:
    checked = check(ntcir_run(' rank="2"'), NTCIR)

    assert taken(checked).rank.tolist() == [1, 2, 3] * 2


def test_xml_is_never_repaired() -> None:
    checked = check(ntcir_run('rank="2"', 'rank="7"'), NTCIR)

    assert warnings(checked) == ["rank-disagrees", "rank-gaps"]
    assert not checked.report.is_repairable
    assert checked.repaired() is None


def test_ids_of_ntcir_are_any_unicode() -> None:
    ids = ["Gauß,_Carl:0", "ℝ:3", "A#b:1", "数学:2", "Zorn's_lemma:4"]
    lines = [f"M-1 1 {docno} {n} {9 - n} ours" for n, docno in enumerate(ids, 1)]

    found = taken(check(run_bytes(lines), NTCIR))

    assert [one.decode() for one in found.docno.tolist()] == ids


def test_example_of_the_results_xml_is_taken(data: Path) -> None:
    path = data / "ntcir" / "results_xml_example.xml"

    checked = check_run(path, protocol=NTCIR, name=path.name)

    assert (checked.report.form, checked.report.tag, checked.report.n_lines) == ("ntcir-xml", "runtag", 1)
    assert taken(checked).docno.tolist() == [b"filename#formulaID"]


def test_example_of_hits_is_read_and_its_gaps_are_named(data: Path) -> None:
    """It is a pattern to be filled in: no hit has a score or a rank, and formulae come back with other bindings."""
    path = data / "ntcir" / "result_xml_hits_example.xml"

    checked = check_run(path, protocol=NTCIR, name=path.name)

    assert (checked.report.form, checked.report.n_lines) == ("ntcir-xml", 37)
    assert [(one.code, one.n, one.lines[0].number) for one in checked.report.errors] == [
        ("score", 37, 2),
        ("repeated", 18, 32),
    ]


def test_example_of_hits_is_taken_once_its_gaps_are_filled(data: Path) -> None:
    text = (data / "ntcir" / "result_xml_hits_example.xml").read_text()
    hits = text.split("<hit ")
    filled = "<hit ".join(hit.replace('rank=""', f'rank="{n}"', 1) for n, hit in enumerate(hits)).encode()

    checked = check_run(io.BytesIO(filled), protocol=replace(NTCIR, unit="document"), name="hits")

    assert [one.code for one in checked.report.errors] == ["repeated"]  # 37 hits of one document
    assert checked.report.n_lines == 37


def test_real_run_of_ntcir_is_taken(data: Path) -> None:
    path = data / "ntcir" / "TangentCFT_ntcir12_wikiformula.txt.gz"

    checked = check_run(path, protocol=NTCIR, name=path.name)

    taken(checked)
    assert (checked.report.n_lines, checked.report.n_topics, checked.report.tag) == (20_000, 20, "Run_Tan")


# ---- BOLT


def test_citations_become_rows_with_their_passages() -> None:
    checked = check(bolt_run(), BOLT)

    found = taken(checked)
    assert (checked.report.form, checked.report.tag) == ("bolt-xml", "owls-1")
    assert found.docno[0] == b"bolt-eng-DF-1:0:p0:0:20"
    assert found.passage is not None
    assert found.passage[0].decode() == "The owls of the harbour sing at 0 o'clock."
    assert warnings(checked) == []


def test_passages_are_stored_with_the_columns() -> None:
    found = taken(check(bolt_run(), BOLT))

    again = columns.load(io.BytesIO(columns.save(found)))

    assert again.passage is not None
    assert again.passage.tolist() == found.passage.tolist()  # type: ignore[union-attr]


def test_citations_that_tie_stay_in_the_order_of_the_file() -> None:
    data = bolt_run().replace(b'score="0.8"', b'score="0.9"').replace(b'score="0.7"', b'score="0.9"')

    checked = check(data, BOLT)

    assert [one[-5:] for one in taken(checked).docno[:3].tolist()] == [b":0:20", b"10:20", b"20:20"]
    (ties,) = checked.report.warnings
    assert (ties.code, ties.accepted) == ("ties", "Ties stay in the order of the file.")


def test_passage_of_250_characters_is_taken_and_white_space_counts_once() -> None:
    data = bolt_run(
        "The owls of the harbour sing at 0 o'clock.", "\n\t " + "é" * 200 + " \n  " + "y" * 49 + "\n"
    )

    found = taken(check(data, BOLT))

    assert found.passage is not None
    assert found.passage[0].decode() == "é" * 200 + " " + "y" * 49


def test_numbers_of_a_citation_are_known_without_leading_zeros() -> None:
    assert taken(check(bolt_run('offset="0"', 'offset="000"'), BOLT)).docno[0] == b"bolt-eng-DF-1:0:p0:0:20"


def test_entities_of_xml_itself_are_read() -> None:
    found = taken(check(bolt_run("The owls", "Owls &amp; &lt;others&gt; &#x263A;"), BOLT))

    assert found.passage is not None
    assert found.passage[0].decode().startswith("Owls & <others> ☺ of")


@pytest.mark.parametrize("score", ["0", "1", "1.0", "0.000001", "1e-3"])
def test_scores_from_0_to_1_are_taken(score: str) -> None:
    taken(check(bolt_run('score="0.9"', f'score="{score}"'), BOLT))


def test_a_thousand_citations_of_a_topic_are_taken() -> None:
    more = "".join(
        f'<cite score="0.1" thread="t" post="p" offset="{n}" length="2">Owl {n}.</cite>' for n in range(997)
    )

    checked = check(bolt_run("</response>", more + "</response>"), BOLT)

    taken(checked)
    assert checked.report.topic_lines == {"T1": 1000, "T2": 3}
