"""How judgments become grades, on plain values."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.protocols.schema import Aggregate, QrelsRules
from assay.qrels import Frozen, Member, Undecided, Unit, Vote, freeze, known_items

FORMULA, OTHER = Unit("B.1", "v1"), Unit("B.1", "v2")
MEMBERS = {
    Unit("B.1", "f1"): Member(FORMULA, True),
    Unit("B.1", "f2"): Member(FORMULA, True),
    Unit("B.1", "f3"): Member(FORMULA, False),
    Unit("B.1", "f4"): Member(OTHER, True),
}


def vote(grade: int | None, kind: str = "main", assessor: str = "ada", is_assigned: bool = True) -> Vote:
    return Vote(kind, is_assigned, assessor, "not-matching" if grade is None else str(grade), grade)


def frozen(votes: dict[str, list[Vote]], aggregate: Aggregate = "maximum", judges: int = 1) -> Frozen:
    flat = [(Unit("B.1", docno), ballot) for docno, ballots in votes.items() for ballot in ballots]
    return freeze([FORMULA, OTHER], flat, rules=QrelsRules(aggregate), judges=judges, members=MEMBERS)


def grades(qrels: Frozen) -> dict[str, int]:
    return {docno.decode(): grade for _, docno, grade in qrels.rows}


def test_formula_has_the_highest_grade_of_its_instances() -> None:
    assert grades(frozen({"f1": [vote(1)], "f2": [vote(3)], "f4": [vote(0)]})) == {"v1": 3, "v2": 0}


def test_non_answer_of_an_instance_leaves_the_others_to_decide() -> None:
    assert grades(frozen({"f1": [vote(None)], "f2": [vote(2)]})) == {"v1": 2}


def test_formula_without_grades_is_reported_as_non_answer() -> None:
    report = frozen({"f1": [vote(None)], "f2": [vote(None)], "f4": [vote(1)]}).report

    assert report["non_answers"] == [{"topic": "B.1", "docno": "v1", "choice": "not-matching"}]


def test_adjudication_decides_only_its_instance() -> None:
    votes = {"f1": [vote(3), vote(0, "adjudication", "eva")], "f2": [vote(1)], "f4": [vote(1)]}

    qrels = frozen(votes)

    assert grades(qrels) == {"v1": 1, "v2": 1}
    assert qrels.report["decided"] == {"by adjudication": 1}


def test_partly_judged_formulas_are_counted() -> None:
    assert frozen({"f1": [vote(1)], "f4": [vote(1)]}).report["partly"] == 1
    assert frozen({"f1": [vote(1)], "f2": [vote(1)], "f4": [vote(1)]}).report["partly"] == 0


def test_formula_without_judged_instances_is_unjudged() -> None:
    assert frozen({"f4": [vote(1)]}).report["unjudged"]["first"] == [["B.1", "v1"]]


def test_id_of_both_a_formula_and_an_instance_counts_as_the_instance() -> None:
    """Visual ids and formula ids are both numbers."""
    members = {Unit("B.1", "v1"): Member(OTHER, True)}

    qrels = freeze(
        [FORMULA, OTHER], [(FORMULA, vote(3))], rules=QrelsRules("maximum"), judges=1, members=members
    )

    assert grades(qrels) == {"v2": 3}


CHOICES = st.sampled_from([None, 0, 1, 2, 3])
BALLOT = st.lists(st.tuples(st.sampled_from(["f1", "f2", "f3", "f4"]), CHOICES), max_size=12)


@given(BALLOT)
def test_maximum_is_the_highest_grade_and_ignores_non_answers(
    ballot: list[tuple[str, int | None]],
) -> None:
    votes: defaultdict[str, list[Vote]] = defaultdict(list)
    for n, (docno, grade) in enumerate(ballot):
        votes[docno].append(vote(grade, assessor=f"a{n}"))
    expected = {}
    for formula, docnos in (("v1", {"f1", "f2", "f3"}), ("v2", {"f4"})):
        given_grades = [grade for docno, grade in ballot if docno in docnos and grade is not None]
        if given_grades:
            expected[formula] = max(given_grades)

    assert grades(frozen(votes)) == expected


@given(BALLOT, st.randoms())
def test_order_of_votes_does_not_matter(ballot: list[tuple[str, int | None]], rng: object) -> None:
    flat = [(Unit("B.1", docno), vote(grade, assessor=f"a{n}")) for n, (docno, grade) in enumerate(ballot)]
    mixed = flat.copy()
    rng.shuffle(mixed)  # type: ignore[attr-defined]

    in_order, shuffled = (
        freeze([FORMULA, OTHER], votes, rules=QrelsRules("maximum"), judges=1, members=MEMBERS)
        for votes in (flat, mixed)
    )

    assert in_order.rows == shuffled.rows


@given(st.lists(CHOICES, max_size=3))
def test_sum_needs_a_grade_of_every_judge(choices: list[int | None]) -> None:
    votes = [(OTHER, vote(grade, assessor=f"a{n}")) for n, grade in enumerate(choices)]
    rules = QrelsRules("sum")
    if len(choices) > 2:
        with pytest.raises(Undecided):
            freeze([OTHER], votes, rules=rules, judges=2)
        return

    qrels = freeze([OTHER], votes, rules=rules, judges=2)

    graded = [grade for grade in choices if grade is not None]
    assert grades(qrels) == ({"v2": sum(graded)} if len(graded) == 2 else {})


@given(st.lists(CHOICES, max_size=4))
def test_single_grade_needs_agreement(choices: list[int | None]) -> None:
    votes = [(OTHER, vote(grade, assessor=f"a{n}")) for n, grade in enumerate(choices)]
    if len(set(choices)) > 1:
        with pytest.raises(Undecided):
            freeze([OTHER], votes, rules=QrelsRules(), judges=1)
        return

    qrels = freeze([OTHER], votes, rules=QrelsRules(), judges=1)

    assert grades(qrels) == ({"v2": choices[0]} if choices and choices[0] is not None else {})


def test_known_items_are_relevant_without_judgments() -> None:
    qrels = known_items([Unit("Q2", "a"), Unit("Q1", "b")], 1)

    assert qrels.rows == [(b"Q1", b"b", 1), (b"Q2", b"a", 1)]
    assert qrels.report == {"known_items": 2}


def test_grades_of_the_developers_join_those_of_topics_with_units() -> None:
    units = [Unit("1", "judged"), Unit("1", "open"), Unit("2", "open")]
    developers = {Unit("1", "judged"): 2, Unit("1", "open"): 1, Unit("1", "new"): 2, Unit("3", "new"): 2}

    qrels = freeze(units, [(units[0], vote(0))], rules=QrelsRules(), judges=1, given=developers)

    assert grades(qrels) == {"judged": 0, "open": 1, "new": 2}
    assert qrels.report["decided"] == {"by the developers of the topics": 2}
    assert qrels.report["unjudged"]["topics"] == {"2": 1}
