"""The other families of measures: values computed by hand, other spellings, and invariants of all families."""

import math
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.protocols.measures import ALIASES, FAMILIES, MeasureFamily, parse_measure, parse_measures
from assay.statistics.leaderboard import leaderboard_statistics
from tests.assay.measures.test_other_qrels import WORKED
from tests.helpers.real_files import Lines, make_judged, make_run

RUN = "xapbny"  # x and y are unjudged, p is pooled without a grade, n is not relevant
GRADES = {"a": 1, "p": -1, "b": 3, "n": 0, "c": 2}


def value(name: str, order: str = RUN, grades: dict[str, int] = GRADES) -> float:
    """The value of a measure for one topic whose documents are ranked in the order of the letters."""
    lines = [("A.1", docno, -float(rank)) for rank, docno in enumerate(order)]
    scores = score_run(make_run(lines), make_judged({"A.1": grades}), parse_measures([name]))
    return float(scores.values[0, 0])


BY_HAND = {
    "nDCG(dcg='exp-log2')@4": (1 / math.log2(3) + 7 / math.log2(5)) / (7 + 3 / math.log2(3) + 1 / 2),
    "AP(norm=best)@2": (1 / 2) / 2,
    "AP(norm=best,rel=3)@4": (1 / 4) / 1,
    "AP(norm=best)": (1 / 2 + 2 / 4) / 3,
    "Success@1": 0.0,
    "Success@2": 1.0,
    "Success(rel=2)@3": 0.0,
    "ERR": (1 / 2) * (1 / 8) + (1 / 4) * (7 / 8) * (7 / 8),
    "ERR(max_rel=4)@2": (1 / 2) * (1 / 16),
    "ERR'": 1 / 8 + (1 / 2) * (7 / 8) * (7 / 8),
    "Q": ((1 + 1) / (2 + 5) + (2 + 4) / (4 + 6)) / 3,  # the best ranking gains 3, 5, 6, 6, ...
    "Q@2": ((1 + 1) / (2 + 5)) / 2,
    "Q(rel=2)": ((1 + 3) / (4 + 5)) / 2,
    "Q(beta=0)": (1 / 2 + 2 / 4) / 3,
    "RBP(p=0.5)": 0.5 * (0.5 * 1 / 3 + 0.125 * 1),
    "RBP": 0.2 * (0.8 / 3 + 0.8**3),
    "RBP(rel=2,p=0.5)": 0.5 * 0.125,
    "RBP(p=0.5,max_rel=6)@2": 0.5 * 0.5 / 6,
    "RBP(p=0.5)'": 0.5 * (1 / 3 + 0.5),
    "RBPresid(p=0.5)": 1 - 0.5 * (0.5 + 0.125 + 0.0625),
    "RBPresid(p=0.5)@3": 1 - 0.5 * 0.5,
    "RBPresid(p=0)": 1.0,  # only the first document counts, and it is unjudged
    "infAP": ((1 / 2 + (1 / 2) * (0 / 1) * (1 / 2)) + (1 / 4 + (3 / 4) * (2 / 3) * ((1 + 1e-5) / (1 + 2e-5))))
    / 3,
    "IPrec@0": 0.5,
    "IPrec@0.66": 0.5,
    "IPrec@0.9": 0.0,
    "IPrec(rel=2)@.5": 0.25,
    "Grade@2": 1 / 2,
    "Grade@4'": (1 + 3 + 0) / 4,
    "P-hit": 2 / 6,
    "P-hit(rel=3)": 1 / 6,
    "SetP": 2 / 6,
    "SetP'": 2 / 3,
    "SetP(relative=True)": 2 / 3,
    "SetR": 2 / 3,
    "SetF": 2 * (2 / 6) * (2 / 3) / (2 / 6 + 2 / 3),
    "SetF(beta=3)": 4 * (2 / 6) * (2 / 3) / (3 * 2 / 6 + 2 / 3),
    "SetAP": 4 / 18,
    "GMAP": (1 / 2 + 2 / 4) / 3,
    "GMbpref": 2 / 3,
    "NumRet": 6.0,
    "NumRet'": 3.0,
    "NumRet(rel=2)": 1.0,
    "NumRel": 3.0,
    "NumRel(rel=3)": 1.0,
    "judged": 3 / 6,
    "judged@2": 1 / 2,
}


@pytest.mark.parametrize("name", BY_HAND)
def test_values_agree_with_those_computed_by_hand(name: str) -> None:
    assert value(name) == pytest.approx(BY_HAND[name], abs=1e-12)


def test_every_family_has_a_value_computed_by_hand() -> None:
    main = {"AP", "P", "R", "Rprec", "RR", "bpref"}
    main |= {name for name, family in FAMILIES.items() if family.in_characters}  # in test_characters.py
    main |= {name for name, family in FAMILIES.items() if family.of_answers}  # in test_answers.py
    main |= {name for name, family in FAMILIES.items() if family.counts}  # in test_pooled.py
    main |= {parse_measure(name).family for name, *_ in WORKED}  # in test_other_qrels.py

    main |= {name for name in FAMILIES if FAMILIES.extension_of(name)}  # in the tests of the extension

    assert {parse_measure(name).family for name in BY_HAND} | main == set(FAMILIES)


def test_run_of_the_best_documents_has_the_best_values() -> None:
    best = ["nDCG", "AP", "Q", "RBP(rel=1,p=0)", "IPrec@1", "SetF", "bpref", "Rprec", "Success@1"]

    assert [value(name, "bca") for name in best] == [pytest.approx(1.0)] * len(best)


def test_err_uses_the_highest_grade_of_all_topics() -> None:
    judged = make_judged({"A.1": {"a": 1}, "A.2": {"b": 3}})

    scores = score_run(make_run([("A.1", "a", 1.0)]), judged, parse_measures(["ERR"]))

    assert scores.values[:, 0].tolist() == [1 / 8, 0.0]


def test_residual_of_a_missing_topic_is_1() -> None:
    scores = score_run(
        make_run([("B.1", "a", 1.0)]), make_judged({"A.1": {"a": 1}}), parse_measures(["RBPresid"])
    )

    assert scores.values.tolist() == [[1.0]]


def test_rank_biased_precision_and_its_residual_are_at_most_one() -> None:
    assert value("RBP(rel=1,p=0.9)") + value("RBPresid(p=0.9)") <= 1.0


def test_geometric_mean_has_a_floor_and_counts_are_summed() -> None:
    run = make_run([("A.1", "a", 1.0), ("A.2", "x", 2.0), ("A.2", "b", 1.0)])
    judged = make_judged({"A.1": {"a": 1}, "A.2": {"b": 1}, "A.3": {"c": 1}})

    scores = score_run(run, judged, parse_measures(["GMAP", "AP", "NumRet", "NumRel"]))

    assert scores.means("judged").tolist() == [
        pytest.approx((1.0 * 0.5 * 1e-5) ** (1 / 3)),
        pytest.approx(0.5),
        3.0,
        3.0,
    ]
    assert scores.means("common").tolist() == [pytest.approx(0.5**0.5), pytest.approx(0.75), 3.0, 2.0]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("NDCG(cutoff=10)", "nDCG@10"),
        ("nDCG(dcg='exp-log2')@5", "nDCG(dcg=exp-log2)@5"),
        ("nDCG(dcg=log2)", "nDCG"),
        ("MAP(rel=2)", "AP(rel=2)"),
        ("P(rel=2,judged_only=True)@10", "P(rel=2)@10'"),
        ("Precision@5", "P@5"),
        ("Recall@100", "R@100"),
        ("MRR@10", "RR@10"),
        ("RPrec", "Rprec"),
        ("Bpref(rel=2)", "bpref(rel=2)"),
        ("BPref", "bpref"),
        ("Judged@10", "judged@10"),
        ("Judged", "judged"),
        ("SetRelP(rel=2)", "SetP(rel=2,relative=True)"),
        ("NumRelRet", "NumRet(rel=1)"),
        ("RBP(p=0.80)", "RBP"),
        ("RBP(p=0.9, rel=1)", "RBP(rel=1,p=0.9)"),
        ("IPrec@0.10", "IPrec@0.1"),
        ("IPrec(recall=.1)", "IPrec@0.1"),
        ("SetF(beta=1.0)", "SetF"),
        ("ERR(cutoff=20)", "ERR@20"),
    ],
)
def test_other_spellings_have_the_same_meaning(theirs: str, ours: str) -> None:
    assert str(parse_measure(theirs)) == ours
    assert parse_measure(ours) == parse_measure(theirs)


@pytest.mark.parametrize("name", BY_HAND)
def test_name_of_a_parsed_measure_is_its_normal_form(name: str) -> None:
    assert parse_measure(str(parse_measure(name))) == parse_measure(name)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        (
            "RBP(p=1)",
            "'p=1' is not accepted; use rel=LEVEL (a grade of at least 1), judged_only=True, cutoff=RANK, p=",
        ),
        ("RBP(q=0.5)", "'q=0.5' is not accepted"),
        ("AP(p=0.5)", "'p=0.5' is not accepted"),
        ("nDCG(dcg=square)", "dcg= log2 or exp-log2"),
        ("nDCG(gains={0:x})", "whole numbers by grade, as in {1:1,2:3}"),
        ("nDCG(gains={})", "is not accepted"),
        ("SetP@5", "SetP does not accept @k"),
        ("IPrec", "IPrec needs a share"),
        ("IPrec@10", "from 0 to 1"),
        ("IPrec(cutoff=10)", "IPrec needs a share"),
        ("IPrec(recall=2)", "'recall=2' is not accepted"),
        ("P@2.5", "the rank after @ must be a whole number"),
        ("ERR(rel=2)", "ERR does not accept rel="),
        ("RBPresid'", "RBPresid does not accept a prime"),
        ("Compat@10", "Compat does not accept @k"),
        ("alpha_nDCG(beta=0.5)", "'beta=0.5' is not accepted"),
        ("NERR8", "NERR8 needs a rank"),
        ("AWRF@5", "there is no measure 'AWRF'"),
        ("alpha-nDCG@5", "is not a measure"),
    ],
)
def test_arguments_that_a_family_does_not_have_are_refused(name: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=r".") as refusal:
        parse_measure(name)

    assert complaint in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("RBP(p=0.9)", "rank-biased precision, p 0.9"),
        ("RBP(rel=2)@5", "rank-biased precision over the top 5 ranks, relevant from grade 2"),
        (
            "IPrec@0.1'",
            "interpolated precision at recall 0.1, relevant from grade 1, unjudged documents removed",
        ),
        ("Success@5", "whether there is a relevant document among the top 5, relevant from grade 1"),
        ("judged@10", "share of the ranks that is judged over the top 10 ranks"),
        ("SetP(relative=True)", "precision of the set returned, relevant from grade 1, relative True"),
    ],
)
def test_title_explains_the_name(name: str, title: str) -> None:
    assert parse_measure(name).title == title


def test_aliases_name_families_and_hide_none() -> None:
    assert {family for family, _ in ALIASES.values()} <= set(FAMILIES)
    assert not set(ALIASES) & set(FAMILIES)


def _some_name(name: str, family: MeasureFamily, *, prime: bool) -> str:
    at = {"never": "", "optional": "", "required": "@3", "share": "@0.5"}[family.cutoff]
    return f"{name}{at}{chr(39) if prime else ''}"


EVERY = [
    _some_name(name, family, prime=False)
    for name, family in FAMILIES.items()
    if not name.startswith("label")  # these need runs with labels
    if not family.in_characters  # test_characters.py compares those with sets of characters
    if family.qrels == "grades" and not family.of_answers
] + [
    "nDCG(dcg=exp-log2)@2",
    "AP(rel=2)@3",
    "Q(beta=2)@3",
    "RBP(rel=2,p=0.5)@4",
]
PRIMED = [
    _some_name(name, family, prime=True)
    for name, family in FAMILIES.items()
    if family.has_prime and family.qrels == "grades"
]
SHARES = [
    name
    for name in [*EVERY, *PRIMED]
    if not name.startswith(("Num", "Grade", "DCG", "CG", "yaap", "utility", "U", "SessionDCG"))
]
DOCNOS = st.sampled_from([*"abcdefgh", "é", "10", "9", "a-name-longer-than-a-word"])
RUNS = st.dictionaries(
    st.tuples(st.sampled_from(["A.1", "A.10", "A.2"]), DOCNOS),
    st.sampled_from([-1.0, 0.0, 0.5, 2.0]),
    min_size=1,
).map(lambda scores: [(topic, docno, score) for (topic, docno), score in scores.items()])
QRELS = st.dictionaries(
    st.sampled_from(["A.1", "A.2", "A.3"]),
    st.dictionaries(DOCNOS, st.integers(-1, 3), min_size=1),
    min_size=1,
)
Grades = dict[str, dict[str, int]]


def test_no_names_differ_only_by_case() -> None:
    assert len({name.lower() for name in FAMILIES}) == len(FAMILIES)


def values_of(lines: Lines, judged: JudgedDocuments, names: list[str]) -> list[list[float]]:
    return cast(list[list[float]], score_run(make_run(lines), judged, parse_measures(names)).values.tolist())


@settings(max_examples=150, deadline=None)
@given(RUNS, QRELS, st.randoms(use_true_random=False))
def test_order_of_lines_and_topics_does_not_change_a_value(lines: Lines, grades: Grades, rng: object) -> None:
    before = values_of(lines, make_judged(grades), [*EVERY, *PRIMED])
    shuffled, topics = list(lines), list(grades)

    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    rng.shuffle(topics)  # type: ignore[attr-defined]
    judged = make_judged({topic: dict(reversed(grades[topic].items())) for topic in topics})

    assert values_of(shuffled, judged, [*EVERY, *PRIMED]) == before


@settings(max_examples=150, deadline=None)
@given(RUNS, QRELS, st.sampled_from([-2.0, 0.0, 0.25, 9.0]))
def test_unjudged_document_does_not_change_a_primed_value(lines: Lines, grades: Grades, score: float) -> None:
    judged = make_judged(grades)
    more = [*lines, ("A.1", "never-judged", score), ("A.2", "~", score)]

    assert values_of(more, judged, PRIMED) == values_of(lines, judged, PRIMED)


@settings(max_examples=150, deadline=None)
@given(RUNS, QRELS)
def test_values_other_than_counts_and_grades_are_between_0_and_1(lines: Lines, grades: Grades) -> None:
    values = np.array(values_of(lines, make_judged(grades), SHARES))

    assert np.isfinite(values).all()
    assert values.min() >= 0.0
    assert values.max() <= 1.0 + 1e-9


def test_leaderboard_has_intervals_of_means_only() -> None:
    measures = parse_measures(["AP", "GMAP", "NumRet"])
    judged = make_judged({"A.1": {"a": 1}, "A.2": {"b": 1}})
    runs = [make_run([("A.1", "a", 1.0)]), make_run([("A.2", "b", 1.0)])]

    statistics = leaderboard_statistics(
        [score_run(run, judged, measures) for run in runs], measures, average="judged", seed=1
    )

    assert statistics is not None
    assert list(statistics.measures) == ["AP"]
