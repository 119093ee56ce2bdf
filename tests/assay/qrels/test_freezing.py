"""Judgments become grades, on plain values."""

from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.protocols.loader import load_protocol, parse_protocol
from assay.protocols.schema import Aggregate, Protocol, QrelsRules
from assay.qrels.freezing import Answered, Frozen, Member, Undecided, Unit, Vote, grade_units, known_items
from assay.qrels.sets import grade_set

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
    return grade_units([FORMULA, OTHER], flat, rules=QrelsRules(aggregate), judges=judges, members=MEMBERS)


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

    qrels = grade_units(
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
        grade_units([FORMULA, OTHER], votes, rules=QrelsRules("maximum"), judges=1, members=MEMBERS)
        for votes in (flat, mixed)
    )

    assert in_order.rows == shuffled.rows


@given(st.lists(CHOICES, max_size=3))
def test_sum_needs_a_grade_of_every_judge(choices: list[int | None]) -> None:
    votes = [(OTHER, vote(grade, assessor=f"a{n}")) for n, grade in enumerate(choices)]
    rules = QrelsRules("sum")
    if len(choices) > 2:
        with pytest.raises(Undecided):
            grade_units([OTHER], votes, rules=rules, judges=2)
        return

    qrels = grade_units([OTHER], votes, rules=rules, judges=2)

    graded = [grade for grade in choices if grade is not None]
    assert grades(qrels) == ({"v2": sum(graded)} if len(graded) == 2 else {})


@given(st.lists(CHOICES, max_size=4))
def test_single_grade_needs_agreement(choices: list[int | None]) -> None:
    votes = [(OTHER, vote(grade, assessor=f"a{n}")) for n, grade in enumerate(choices)]
    if len(set(choices)) > 1:
        with pytest.raises(Undecided):
            grade_units([OTHER], votes, rules=QrelsRules(), judges=1)
        return

    qrels = grade_units([OTHER], votes, rules=QrelsRules(), judges=1)

    assert grades(qrels) == ({"v2": choices[0]} if choices and choices[0] is not None else {})


def test_known_items_are_relevant_without_judgments() -> None:
    qrels = known_items([Unit("Q2", "a"), Unit("Q1", "b")], 1)

    assert qrels.rows == [(b"Q1", b"b", 1), (b"Q2", b"a", 1)]
    assert qrels.report == {"known_items": 2}


def test_grades_of_the_developers_join_those_of_topics_with_units() -> None:
    units = [Unit("1", "judged"), Unit("1", "open"), Unit("2", "open")]
    developers = {Unit("1", "judged"): 2, Unit("1", "open"): 1, Unit("1", "new"): 2, Unit("3", "new"): 2}

    qrels = grade_units(units, [(units[0], vote(0))], rules=QrelsRules(), judges=1, given=developers)

    assert grades(qrels) == {"judged": 0, "open": 1, "new": 2}
    assert qrels.report["decided"] == {"by the developers of the topics": 2}
    assert qrels.report["unjudged"]["topics"] == {"2": 1}


# -- several judgments of a document, and sets of qrels


@pytest.mark.parametrize(
    ("aggregate", "given", "expected"),
    [
        ("median", [0, 1, 3], 1),
        ("median", [0, 3], 0),
        ("majority", [2, 2, 0], 2),
        ("majority", [3, 1, 1, 3], 1),
        ("mean", [0, 1], 1),
        ("mean", [0, 1, 0], 0),
        ("mean", [2, None], 2),
    ],
)
def test_all_judgments_of_a_document_give_one_grade(
    aggregate: Aggregate, given: list[int | None], expected: int
) -> None:
    votes = [vote(grade, assessor=f"judge {n}") for n, grade in enumerate(given)]

    assert grades(frozen({"f1": votes}, aggregate, judges=len(votes))) == {"v1": expected}


@pytest.mark.parametrize("aggregate", ["median", "majority", "mean"])
def test_adjudication_decides_alone(aggregate: Aggregate) -> None:
    votes = [vote(0), vote(0, assessor="bob"), vote(3, "adjudication", "eva")]

    assert grades(frozen({"f1": votes}, aggregate, judges=2)) == {"v1": 3}


HEALTH = """
[[judging.question]]
key = "support"
label = "Which answer does it support?"
after = ["very-useful", "useful"]
choice = [{ key = "yes", label = "Yes" }, { key = "neutral", label = "Neutral" }, { key = "no", label = "No" }]

[[judging.question]]
key = "credibility"
label = "How credible is it?"
required = false
after = ["very-useful", "useful"]
choice = [{ key = "low", label = "Low" }, { key = "good", label = "Good" }, { key = "excellent", label = "Excellent" }]

[[qrels.set]]
key = "helpful"
otherwise = 0
rule = [
RULES
]

[[qrels.set]]
key = "harmful"
otherwise = 0
rule = [
  { when = ["credibility:excellent", "support:no", "topic.answer:yes"], grade = 3 },
  { when = ["credibility:excellent", "support:yes", "topic.answer:no"], grade = 3 },
  { when = ["credibility:good", "support:no", "topic.answer:yes"], grade = 2 },
  { when = ["credibility:good", "support:yes", "topic.answer:no"], grade = 2 },
  { when = ["support:no", "topic.answer:yes"], grade = 1 },
  { when = ["support:yes", "topic.answer:no"], grade = 1 },
]

[qrels]
"""


def health() -> Protocol:
    """TREC Health Misinformation: the answer of the topic says which documents help and which do harm."""
    levels = [("excellent", 11), ("good", 9), ("", 7)]  # of the credibility; low and unknown are the same
    rules: list[tuple[list[str], int]] = []
    for credibility, grade in levels:
        for useful, more in (("very-useful", 1), ("useful", 0)):
            shared = [useful, *([f"credibility:{credibility}"] if credibility else [])]
            rules += [
                ([*shared, "support:yes", "topic.answer:yes"], grade + more),
                ([*shared, "support:no", "topic.answer:no"], grade + more),
                ([*shared, "support:neutral"], grade + more - 6),
            ]
    lines = [f"  {{ when = {when}, grade = {grade} }},".replace("'", '"') for when, grade in rules]
    lines.sort(key=lambda line: "credibility" not in line)  # the rules without credibility are for the others
    text = load_protocol("trec-adhoc").text
    text = text.replace('key = "highly-relevant"', 'key = "very-useful"')
    text = text.replace('key = "relevant"', 'key = "useful"').replace(
        'key = "not-relevant"', 'key = "not-useful"'
    )
    text = text.replace("[qrels]", HEALTH.replace("RULES", "\n".join(lines)), 1)
    text = text.replace("[runs]", '[topics.labels]\nanswer = ["yes", "no"]\n\n[runs]', 1)
    return parse_protocol(text, name="health.toml")


@pytest.mark.parametrize(
    ("topic", "choice", "answers", "expected"),
    [
        ("yes", "very-useful", {"support": "yes", "credibility": "excellent"}, (12, 0)),
        ("yes", "useful", {"support": "yes", "credibility": "good"}, (9, 0)),
        ("no", "very-useful", {"support": "no", "credibility": "low"}, (8, 0)),
        ("no", "useful", {"support": "no"}, (7, 0)),
        ("no", "useful", {"support": "neutral", "credibility": "good"}, (3, 0)),
        ("yes", "very-useful", {"support": "neutral", "credibility": "excellent"}, (6, 0)),
        ("yes", "useful", {"support": "no", "credibility": "excellent"}, (0, 3)),
        ("no", "very-useful", {"support": "yes", "credibility": "good"}, (0, 2)),
        ("no", "very-useful", {"support": "yes"}, (0, 1)),
        ("no", "not-useful", {}, (0, 0)),
    ],
)
def test_rules_give_the_grades_of_health_misinformation(
    topic: str, choice: str, answers: dict[str, str], expected: tuple[int, int]
) -> None:
    protocol, unit = health(), Unit("1", "d")
    value = next(grade.value for grade in protocol.judging.grades if grade.key == choice)
    judged = [Answered(unit, Vote("main", True, "ada", choice, value), answers)]

    helpful, harmful = (
        grade_set([unit], judged, rules=rules, protocol=protocol, labels={"1": {"answer": topic}}).rows
        for rules in protocol.qrels.sets
    )

    assert (helpful[0][2], harmful[0][2]) == expected


def test_set_leaves_out_what_its_question_was_not_asked_about_and_keeps_non_answers() -> None:
    protocol = load_protocol("assay/samples/arguments-lab.toml")
    answers = {"a": {"quality": "high", "stance": "con"}, "b": {}, "c": {}}
    given = {"a": ("relevant", 1), "b": ("not-relevant", 0), "c": ("spam", None)}
    judged = [
        Answered(Unit("1", docno), Vote("main", True, "ada", *given[docno]), answers[docno])
        for docno in given
    ]
    units = [Unit("1", docno) for docno in given]

    quality, stance, good = (
        grade_set(units, judged, rules=rules, protocol=protocol, labels={}) for rules in protocol.qrels.sets
    )

    assert [grades(each) for each in (quality, stance, good)] == [
        {"a": 2, "b": 0},
        {"a": 1},
        {"a": 0, "b": 0},
    ]
    assert all(each.report["non_answers"][0]["choice"] == "spam" for each in (quality, stance, good))
    assert stance.report["unjudged"]["n"] == 0


def test_assessors_who_answer_differently_must_be_adjudicated() -> None:
    protocol, unit = load_protocol("assay/samples/arguments-lab.toml"), Unit("1", "a")
    judged = [
        Answered(unit, Vote("main", True, name, "relevant", 1), {"quality": quality, "stance": "pro"})
        for name, quality in (("ada", "high"), ("bob", "low"))
    ]

    with pytest.raises(Undecided) as refused:
        grade_set([unit], judged, rules=protocol.qrels.sets[0], protocol=protocol, labels={})

    assert "ada: grade 2, bob: grade 0" in str(refused.value.conflicts[0])


def test_assessors_who_choose_other_subtopics_must_be_adjudicated() -> None:
    protocol, unit = load_protocol("assay/samples/diversity-lab.toml"), Unit("1", "a")
    judged = [
        Answered(unit, Vote("main", True, name, "relevant", 1), {"covers": covers})
        for name, covers in (("ada", ["1", "2"]), ("bob", ["2"]))
    ]
    [rules] = protocol.qrels.sets

    with pytest.raises(Undecided) as refused:
        grade_set([unit], judged, rules=rules, protocol=protocol, labels={}, subtopics={"1": ["1", "2"]})
    either = grade_set(
        [unit],
        judged,
        rules=replace(rules, aggregate="majority"),
        protocol=protocol,
        labels={},
        subtopics={"1": ["1", "2"]},
    )

    assert list(map(str, refused.value.conflicts)) == [
        "a of topic 1 (subtopic 1: ada: covered, bob: not covered)"
    ]
    assert [(row.parts, row.grade) for row in either.parts] == [((b"1",), 0), ((b"2",), 1)]


def test_report_on_subtopics_counts_documents() -> None:
    protocol = load_protocol("assay/samples/diversity-lab.toml")
    [rules] = protocol.qrels.sets
    vote = Vote("main", True, "ada", "relevant", 1)
    judged = [
        Answered(Unit("1", "a"), vote, {"covers": ["2"]}),
        Answered(Unit("1", "b"), vote._replace(choice="unreadable", grade=None), {}),
        Answered(Unit("1", "d"), vote._replace(kind="dual"), {"covers": ["1"]}),
        Answered(Unit("2", "a"), vote, {}),
    ]
    units = [Unit("1", docno) for docno in "abcd"] + [Unit("2", "a")]

    frozen = grade_set(
        units,
        judged,
        rules=replace(rules, min_relevant=1),
        protocol=protocol,
        labels={},
        subtopics={"1": ["1", "2"], "2": ["1", "2"]},
    )

    assert [(row.docno, row.parts, row.grade) for row in frozen.parts] == [
        (b"a", (b"1",), 0),
        (b"a", (b"2",), 1),
    ]
    assert frozen.report["unjudged"] == {"n": 2, "topics": {"1": 2}, "first": [["1", "c"], ["1", "d"]]}
    assert frozen.report["non_answers"] == [{"topic": "1", "docno": "b", "choice": "unreadable"}]
    assert frozen.report["left_out"] == {"dual": 1}
    assert frozen.report["dropped"] == [{"topic": "2", "judged": 1, "relevant": 0}]
