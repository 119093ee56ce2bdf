"""Runs of NTCIR, as results XML and as text."""

import gzip
import io
import re
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formats.runs.reader import check_run
from assay.formats.topics.codes import read_topic_codes
from tests.helpers.form_checks import NTCIR, accepted, as_lists, check, warnings
from tests.helpers.form_runs import NTCIR_HITS, NTCIR_TOPICS, ntcir_run
from tests.helpers.runs import run_bytes


def test_results_xml_becomes_rows() -> None:
    checked = check(ntcir_run(), NTCIR)

    run = accepted(checked)
    assert (checked.report.format, checked.report.tag) == ("ntcir-xml", "ours")
    assert run.topics.tolist() == NTCIR_TOPICS
    assert [docno.decode() for docno in run.docno[:3].tolist()] == [hit[0] for hit in NTCIR_HITS]
    assert run.rank.tolist() == [1, 2, 3] * 2
    assert run.score.tolist() == [0.9, 0.8, 0.7] * 2
    assert warnings(checked) == []


def test_text_form_of_ntcir_gives_the_same_rows() -> None:
    lines = [
        f"{topic} 1 {docno} {rank} {score} ours"
        for topic in NTCIR_TOPICS
        for docno, score, rank in NTCIR_HITS
    ]

    text, xml = check(run_bytes(lines), NTCIR), check(ntcir_run(), NTCIR)

    assert text.report.format == "trec-6"
    assert as_lists(accepted(text)) == as_lists(accepted(xml))


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
    run = accepted(check(data, NTCIR))

    assert [docno.decode() for docno in run.docno[:3].tolist()] == [hit[0] for hit in NTCIR_HITS]
    assert run.score.tolist() == [0.9, 0.8, 0.7] * 2


@pytest.mark.parametrize("root", ["run", "result"])
def test_a_single_run_or_result_is_accepted(root: str) -> None:
    whole = ntcir_run().decode()
    start, end = whole.index(f"<{root} "), whole.index(f"</{root}>") + len(f"</{root}>")

    checked = check(whole[start:end].encode(), NTCIR)

    accepted(checked)
    assert checked.report.tag == ("ours" if root == "run" else "")
    assert ("no-tag" in warnings(checked)) == (root == "result")


def test_hit_with_a_formula_has_the_id_of_the_formula() -> None:
    data = ntcir_run(
        '<hit xref="Ring:1" score="0.9" rank="1"/>',
        '<hit xref="Ring.html" score="0.9" rank="1"><formula for="q" xref="Ring:1"><qvar xref="y"/></formula></hit>',
    )

    assert accepted(check(data, NTCIR)).docno[0] == b"Ring:1"


@pytest.mark.parametrize(
    ("xref", "docno"),
    [
        ("math/0001/0710.3032_1_22.xhtml#p1.m2", b"0710.3032_1_22#p1.m2"),
        ("Abel_equation.html#Abel_equation:3", b"Abel_equation:3"),
        ("C#", b"C#"),
    ],
)
def test_formula_of_a_file_has_the_id_that_its_import_gave_it(xref: str, docno: bytes) -> None:
    data = ntcir_run(
        '<hit xref="Ring:1" score="0.9" rank="1"/>',
        f'<hit xref="R" score="0.9" rank="1"><formula xref="{xref}"/></hit>',
    )

    assert accepted(check(data, NTCIR)).docno[0] == docno


def test_hit_with_several_formulas_has_the_id_of_the_first() -> None:
    data = ntcir_run(
        '<hit xref="Ring:1" score="0.9" rank="1"/>',
        '<hit xref="R" score="0.9" rank="1"><formula xref="Ring:1"/><formula xref="Ring:2"/></hit>',
    )

    checked = check(data, NTCIR)

    assert accepted(checked).docno[0] == b"Ring:1"
    assert warnings(checked) == ["several-formulas"]


def test_hits_without_scores_are_ordered_by_their_ranks() -> None:
    data = re.sub(rb'score="[^"]*" ', b"", ntcir_run())

    checked = check(data.replace(b'rank="1"', b'rank="9"'), NTCIR)

    assert accepted(checked).docno[0] == b"Field_(mathematics):2"
    assert "no-scores" in warnings(checked)


def test_missing_rank_is_the_place_in_the_result() -> None:
    checked = check(ntcir_run(' rank="2"'), NTCIR)

    assert accepted(checked).rank.tolist() == [1, 2, 3] * 2


def test_xml_is_never_repaired() -> None:
    checked = check(ntcir_run('rank="2"', 'rank="7"'), NTCIR)

    assert warnings(checked) == ["rank-disagrees", "rank-gaps"]
    assert not checked.report.is_repairable
    assert checked.repaired() is None


def test_ids_of_ntcir_are_any_unicode() -> None:
    ids = ["Gauß,_Carl:0", "ℝ:3", "A#b:1", "数学:2", "Zorn's_lemma:4"]
    lines = [f"M-1 1 {docno} {n} {9 - n} ours" for n, docno in enumerate(ids, 1)]

    run = accepted(check(run_bytes(lines), NTCIR))

    assert [docno.decode() for docno in run.docno.tolist()] == ids


def test_example_of_the_results_xml_is_accepted(data: Path) -> None:
    path = data / "ntcir" / "results_xml_example.xml"

    checked = check_run(path, protocol=NTCIR, name=path.name)

    assert (checked.report.format, checked.report.tag, checked.report.n_lines) == ("ntcir-xml", "runtag", 1)
    assert accepted(checked).docno.tolist() == [b"filename#formulaID"]


def test_example_of_hits_is_read_and_its_gaps_are_named(data: Path) -> None:
    """It is a pattern to be filled in: no hit has a score or a rank, and formulas come back with other bindings."""
    path = data / "ntcir" / "result_xml_hits_example.xml"

    checked = check_run(path, protocol=NTCIR, name=path.name)

    assert (checked.report.format, checked.report.n_lines) == ("ntcir-xml", 37)
    assert [(error.code, error.n, error.lines[0].number) for error in checked.report.errors] == [
        ("score", 37, 2),
        ("repeated", 18, 32),
    ]


def test_example_of_hits_is_accepted_after_its_gaps_are_filled(data: Path) -> None:
    text = (data / "ntcir" / "result_xml_hits_example.xml").read_text()
    hits = text.split("<hit ")
    filled = "<hit ".join(hit.replace('rank=""', f'rank="{n}"', 1) for n, hit in enumerate(hits)).encode()

    checked = check_run(io.BytesIO(filled), protocol=replace(NTCIR, unit="document"), name="hits")

    assert [error.code for error in checked.report.errors] == ["repeated"]  # 37 hits of one document
    assert checked.report.n_lines == 37


def test_real_run_of_ntcir_is_accepted(data: Path) -> None:
    path = data / "ntcir" / "TangentCFT_ntcir12_wikiformula.txt.gz"

    checked = check_run(path, protocol=NTCIR, name=path.name)

    accepted(checked)
    assert (checked.report.n_lines, checked.report.n_topics, checked.report.tag) == (20_000, 20, "Run_Tan")


@pytest.mark.parametrize(
    ("name", "n", "first"),
    [
        ("NTCIR12-MathIR-simple-queries.xml", 29, "NTCIR12-MathIR-1"),
        ("topics.ntcir12-math-browsing.txt", 40, "NTCIR12-MathWiki-1"),
    ],
)
def test_codes_of_ntcir_topics_are_read_for_the_check(data: Path, name: str, n: int, first: str) -> None:
    codes = read_topic_codes(data / "ntcir" / name)

    assert (len(codes), codes[0]) == (n, first)


WORDS = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp", "Cf", "Cn", "Co")),
    min_size=1,
    max_size=10,
)


@given(
    st.lists(st.tuples(st.sampled_from(NTCIR_TOPICS), WORDS), min_size=1, max_size=20, unique=True),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=20, max_size=20),
)
@settings(max_examples=100, deadline=None)
def test_any_rows_are_the_same_in_xml_and_in_text(names: list[tuple[str, str]], scores: list[float]) -> None:
    rows = [(topic, docno, n, scores[n - 1]) for n, (topic, docno) in enumerate(names, 1)]
    text = "".join(f"{topic} 1 {docno} {n} {score!r} r\n" for topic, docno, n, score in rows)
    hits = "".join(
        f"<result for={quoteattr(topic)}><hit xref={quoteattr(docno)} rank='{n}' score='{score!r}'/></result>"
        for topic, docno, n, score in rows
    )

    from_xml = check(f"<results><run runtag='r'>{hits}</run></results>".encode(), NTCIR)
    from_text = check(text.encode(), NTCIR)

    assert as_lists(accepted(from_xml)) == as_lists(accepted(from_text))
