"""Measures of trec_eval in protocols and in `assay evaluate`: equal to trec_eval, called by pytrec_eval, or by hand."""

import warnings
from math import log
from pathlib import Path

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay import samples
from assay.cli.main import main
from tests.assay.cli.test_protocol_keys import OWN_MEASURES, with_change
from tests.assay.measures.test_families import value

NAMES = {
    "binG(rel={})": "binG",
    "relative_P(rel={})@5": "relative_P_5",
    "Rndcg": "Rndcg",
    "utility(rel={})": "utility",
}
DOCUMENTS = st.sampled_from([f"d{n}" for n in range(20)])


@given(
    st.dictionaries(DOCUMENTS, st.integers(0, 3), min_size=2),
    st.lists(DOCUMENTS, min_size=1, unique=True),
    st.sampled_from([1, 2]),
)
def test_values_equal_those_of_trec_eval(grades: dict[str, int], order: list[str], level: int) -> None:
    qrels, run = {"1": grades}, {"1": {docno: -float(rank) for rank, docno in enumerate(order)}}
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, {name.removesuffix("_5") for name in NAMES.values()}, relevance_level=level
    )
    expected = evaluator.evaluate(run)["1"]

    with warnings.catch_warnings(action="ignore", category=assay.InputWarning):
        result = assay.evaluate(qrels, {"ours": run}, [name.format(level) for name in NAMES])

    ours = dict(zip(NAMES.values(), result.means[0], strict=True))
    if level > 1:
        del ours[
            "Rndcg"
        ]  # counts all positive grades, whatever the level; trec_eval gives 0 without a relevant document
    assert ours == pytest.approx({name: expected[name] for name in ours}, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # The relevant a, b, c have grades 1, 3, 2; a is at rank 2, b at rank 4, c is missing; 6 are returned.
        ("yaap", log((1 + 1 / 2 + 2 / 4) / (1 + 3 - 1 / 2 - 2 / 4))),
        ("yaap(rel=3)", log((1 + 1 / 4) / (1 + 1 - 1 / 4))),
        # 10.0 rounds shares of 3 documents, 9.x and pytrec_eval round them up: 0 to 0.8 of 3 are at most two.
        ("11pt_avg", 9 * 0.5 / 11),
        ("utility(gain=3,cost=0.5)", 3 * 2 - 0.5 * 4),
        ("utility(cost=0)", 2.0),
        ("utility'", 2 - 1),
        ("relative_P@2", (1 / 2) / (2 / 2)),
        ("relative_P(rel=3)@4", (1 / 4) / (1 / 4)),
    ],
)
def test_values_by_hand(name: str, expected: float) -> None:
    assert value(name) == pytest.approx(expected, abs=1e-12)


def test_protocol_with_them_lists_the_extension(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    protocol = Path(
        with_change(tmp_path, "arqmath-2020-task1", OWN_MEASURES, 'measures = ["11pt_avg(rel=2)\'"]')
    )
    words = ["evaluate", "--quiet", "--qrels", str(samples.path("qrels.txt")), "--protocol", str(protocol)]
    run = str(samples.path("runs/abacus.tsv"))

    assert main([*words, run]) == 2
    assert (
        '11pt_avg is of the extension trec-eval; write extensions = ["trec-eval"]' in capsys.readouterr().err
    )
    protocol.write_text(f'extensions = ["trec-eval"]\n{protocol.read_text()}')
    assert main([*words, run]) == 0
    assert "abacus\tall\t11pt_avg(rel=2)'\t0." in capsys.readouterr().out


def test_intervals_of_values_below_zero_go_beyond_the_lowest_of_them() -> None:
    """The values by topic are 1, 1, 1, -1 and -1, -1, -1, 1; each interval would end at -1 otherwise."""
    qrels = {str(topic): {"a": 1, "b": 0} for topic in range(4)}
    right, wrong = {"a": 1.0}, {"b": 1.0}
    ours = {"0": wrong} | {str(topic): right for topic in (1, 2, 3)}
    theirs = {"0": right} | {str(topic): wrong for topic in (1, 2, 3)}

    compared = assay.compare(qrels, {"ours": ours, "theirs": theirs}, "utility").tables[0]
    ranking = assay.tiers(qrels, {"ours": ours, "theirs": theirs}, "utility").tables[0]

    (row,) = [dict(zip(compared.header, row, strict=True)) for row in compared.rows]
    assert row["low"] < -2
    assert [dict(zip(ranking.header, row, strict=True))["low"] < -1 for row in ranking.rows] == [True, True]
