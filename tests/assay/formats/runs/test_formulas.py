"""Runs of formulas, six columns with the post of each."""

import io
from pathlib import Path

import pytest

from assay.formats.runs import columns
from assay.formats.runs.reader import check_run
from assay.protocols.loader import load_protocol
from tests.helpers.form_checks import FORMULAS, accepted, as_lists, check, warnings
from tests.helpers.form_runs import FORMULA_CASES, formula_lines, formula_run
from tests.helpers.runs import run_bytes


def test_run_of_formulas_keeps_the_post_of_each() -> None:
    checked = check(formula_run(), FORMULAS)

    run = accepted(checked)
    assert checked.report.form == "arqmath-6"
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
    assert (checked.report.form, checked.report.tag) == ("arqmath-6", "Run_Ensemble_0")
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
