"""Measures of searchers: values by the methods of ubire (3f1971e) and ir_metrics (058b0c1), and values by hand."""

import re
from math import log, log2

import pytest

from assay.errors import InputError, NotMeasurable
from assay.measures.scores import RunScores, score_run
from assay.protocols.measures import parse_measures
from tests.assay.measures.test_other_qrels import one_topic, read
from tests.helpers.real_files import make_judged, make_run

# Relevance a 1, b 0, c 2, d 1, e 1; understandability a 3, b 3, c 1, d 2, and none of e
HEALTH = "1 1 a 1\n1 2 a 3\n1 1 b 0\n1 2 b 3\n1 1 c 2\n1 2 c 1\n1 1 d 1\n1 2 d 2\n1 1 e 1\n"
GRADES = {"a": 2, "b": 1, "c": 1, "d": 0}
SESSION = [["x", "a", "d"], ["b", "a"], ["c", "y", "a", "b"]]  # the rankings of three queries


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("uRBP", 0.225536),  # ubire: uRBP(0.8)
        ("uRBP(p=0.5)", 0.265625),
        ("uRBP(percent={1:40,2:80,3:100})", 0.2533888),  # ubire: uRBPgr(0.8); e counts 1 in CLEF2017_urbp
        ("uRBP(p=0.5,percent={1:40,2:80,3:100})", 0.2875),
        ("uRBP(from=3)", 0.2 * 0.8),
        ("uRBP(from=1)", 0.2 * (0.8 + 0.8**3 + 0.8**5)),
        ("uRBP(rel=2,from=1)", 0.2 * 0.8**3),
        ("uRBP@5", 0.2 * 0.8),
        ("uRBP'", 0.2 * (1 + 0.8**4)),
    ],
)
def test_understood_precision_follows_the_formulas_of_its_programs(name: str, value: float) -> None:
    scores = score_run(one_topic("x a b c e d"), read(HEALTH, "subtopics"), parse_measures([name]))

    assert scores.values[0, 0] == pytest.approx(value, abs=1e-12)


def test_a_protocol_can_make_the_product_itself() -> None:
    product = make_judged({"1": {"a": 5, "b": 0, "c": 2, "d": 4, "e": 0}})  # 5 is 100 %

    scores = score_run(one_topic("x a b c e d"), product, parse_measures(["RBP(max_rel=5)"]))

    assert scores.values[0, 0] == pytest.approx(0.2533888, abs=1e-12)


def test_other_subtopics_are_refused() -> None:
    with pytest.raises(NotMeasurable, match=r"uRBP needs the subtopics 1, .* got 3"):
        score_run(one_topic("a"), read("1 3 a 1\n", "subtopics"), parse_measures(["uRBP"]))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # x, then a until 2 * 200 + 1000, then d, then b until 4 * 200 + 2000
        ("U(text=1000)", 3 / 4 * (1 - 1400 / 132_000) + 1 / 4 * (1 - 2800 / 132_000)),
        ("U(text=1000)@3", 3 / 4 * (1 - 1400 / 132_000)),
        ("U(L=2000,text=1000)", 3 / 4 * (1 - 1400 / 2000)),
        ("U(snippet=66000)", 0.0),
        ("U(snippet=33000)", 3 / 4 * (1 - 66 / 132)),
        ("U(text=1000,max_rel=3)", 3 / 8 * (1 - 1400 / 132_000) + 1 / 8 * (1 - 2800 / 132_000)),
        ("U(rel=2,text=1000)", 3 / 4 * (1 - 1400 / 132_000)),
    ],
)
def test_u_measure_by_hand(name: str, value: float) -> None:
    scores = score_run(one_topic("x a d b"), make_judged({"1": GRADES}), parse_measures([name]))

    assert scores.values[0, 0] == pytest.approx(value, abs=1e-12)


def session_scores(name: str) -> RunScores:
    """Of a session of three queries, the second number of which is 10, and of a topic alone."""
    codes = ["s-1_2", "s-1_9", "s-1_10"]
    rows = [
        (code, docno, -float(rank))
        for code, documents in zip(codes, SESSION, strict=True)
        for rank, docno in enumerate(documents)
    ]
    judged = make_judged({**dict.fromkeys(codes, GRADES), "alone": {"a": 1}})
    return score_run(make_run([*rows, ("alone", "a", 1.0)]), judged, parse_measures([name]))


@pytest.mark.parametrize(
    ("name", "of_session", "alone"),
    [
        ("SessionDCG@2", 5.158207919255737, 1.0),
        ("SessionDCG(b=3,bq=2)@2", 5.008373504653193, 1.0),
        ("SessionDCG@10", 6.651983211960966, 1.0),
        ("SessionDCG(b=3,bq=2)@10", 6.3388563927648995, 1.0),
        ("nSessionDCG@2", 0.539126522690191, 1.0),
        ("nSessionDCG(b=3,bq=2)@10", 0.6647223074631808, 1.0),
    ],
)
def test_sessions_follow_the_formulas_of_ir_metrics(name: str, of_session: float, alone: float) -> None:
    scores = session_scores(name)

    assert scores.values[:, 0].tolist() == pytest.approx([alone, *[of_session] * 3])
    assert scores.means("judged").tolist() == pytest.approx([(of_session + alone) / 2])  # of two sessions


def test_documents_without_a_judgment_leave_a_primed_session() -> None:
    first = 3 + 0  # a is at rank 1 without x
    second = (1 + 3 / log2(3)) * log(4) / log(5)
    third = (1 + 3 / log2(3)) * log(4) / log(6)

    assert session_scores("SessionDCG@2'").values[1, 0] == pytest.approx(first + second + third)


def test_grades_without_a_finite_gain_are_refused() -> None:
    with pytest.raises(InputError, match="too large"):
        score_run(one_topic("a"), make_judged({"1": {"a": 1000}}), parse_measures(["SessionDCG@1"]))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("U-measure", "did you mean U?"),
        ("uRBPgr", "did you mean uRBP(percent={1:40,2:80,3:100})?"),
        ("sDCG@5", "did you mean SDCG@5, of one query, or SessionDCG@5, of the queries of a session?"),
    ],
)
def test_name_of_another_tool_gets_the_name_here(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=re.escape(hint)):
        parse_measures([name])
