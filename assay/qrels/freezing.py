"""Qrels from judgments: which judgments of a unit count, what is left out, and a report on both.

The input is units and votes, the output rows and a report. Non-answers never become grades. If several kinds of batches
judged a unit, an adjudication counts before a main judgment, and a main judgment before the other kinds. Within a kind,
the assessor of the topic counts before former ones. If members of a unit are judged (instances of a
formula), the rule of the protocol combines their grades.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from assay.errors import plural
from assay.formats.qrels.columns import PartRow, QrelsColumns, Row, columns_from, columns_of
from assay.formats.topics.bolt import citations
from assay.protocols.measures import QrelsKind
from assay.protocols.questions import Answers
from assay.protocols.schema import Protocol, QrelsRules, QrelsSet
from assay.tables import natural

PRECEDENCE = ("adjudication", "main", "dual", "training")
ALWAYS = ("adjudication", "main")
MAX_NAMED = 100  # unjudged units that the report names; it counts all


class Unit(NamedTuple):
    """A document of a topic."""

    topic: str
    docno: str

    def __str__(self) -> str:
        return f"{self.docno} of topic {self.topic}"


class Vote(NamedTuple):
    """A current judgment of a unit.

    Args:
        kind: kind of the batch.
        is_assigned: whether the topic is assigned to the assessor now.
        grade: None for a non-answer.
    """

    kind: str
    is_assigned: bool
    assessor: str
    choice: str
    grade: int | None


class Member(NamedTuple):
    """The unit that a judged document is a member of, and whether the member is shown to assessors."""

    unit: Unit
    is_shown: bool


class Answered(NamedTuple):
    """A current judgment of a document with its answers to questions."""

    unit: Unit
    vote: Vote
    answers: Answers


DocumentVote = tuple[Unit, Vote]  # a document, which can be a member of a unit, and a judgment of it
Votes = tuple[Vote, ...]
NO_MEMBERS: Mapping[Unit, Member] = MappingProxyType({})
NO_GRADES: Mapping[Unit, int] = MappingProxyType({})


class Conflict(NamedTuple):
    """A unit whose grade its judgments do not decide."""

    unit: Unit
    reason: str

    def __str__(self) -> str:
        return f"{self.unit} ({self.reason})"


class Undecided(Exception):
    """Judgments contradict one another, so an adjudication is needed first."""

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        super().__init__(f"{plural(len(conflicts), 'unit is,units are')} undecided")
        self.conflicts = conflicts


@dataclass(frozen=True, slots=True)
class Frozen:
    """Rows of qrels, and a report on what was left out and why, as plain values for JSON.

    `parts` has the grade of each subtopic of a document, if the qrels have subtopics; its row has the highest. Of
    preferences, it has those themselves.
    """

    rows: list[Row]
    report: dict[str, Any]
    parts: Sequence[PartRow] = ()
    kind: QrelsKind = "subtopics"  # of the parts

    @property
    def columns(self) -> QrelsColumns:
        has_parts = bool(self.parts) or self.kind == "preferences"
        return columns_of(self.parts, self.kind) if has_parts else columns_from(self.rows)


@dataclass(slots=True)
class Tally:
    """The decided grade of each unit, and the reasons why the others have none."""

    graded: dict[Unit, int] = field(default_factory=dict)
    non_answers: list[dict[str, str]] = field(default_factory=list)
    unjudged: list[Unit] = field(default_factory=list)
    partly: list[Unit] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    decided: defaultdict[str, set[Unit]] = field(default_factory=lambda: defaultdict(set))


def grade_units(
    units: Iterable[Unit],
    votes: Iterable[DocumentVote],
    *,
    rules: QrelsRules,
    judges: int,
    also: Sequence[str] = (),
    members: Mapping[Unit, Member] = NO_MEMBERS,
    given: Mapping[Unit, int] = NO_GRADES,
) -> Frozen:
    """Decide the grade of every unit, and drop the topics that have too few relevant units.

    Args:
        rules: rules of the protocol for aggregation and for topics.
        judges: number of judgments that are summed, if the rule is a sum.
        also: kinds of batches that count in addition to main and adjudication: dual, training.
        members: the unit of each document that is a member; a vote on the document is a vote on the unit.
        given: grades that the topics' developers gave, for documents of these topics that nobody graded.

    Raises Undecided: for some units, judgments of equal precedence have different choices.
    """
    tally, left_out = tallied(units, votes, rules, judges, also, members)
    # The grades of the topics' developers count in the topics that have units.
    non_answered = {Unit(non_answer["topic"], non_answer["docno"]) for non_answer in tally.non_answers}
    topics = {unit.topic for unit in (*tally.graded, *tally.unjudged, *non_answered)}
    new = {
        unit: grade
        for unit, grade in given.items()
        if unit.topic in topics and unit not in tally.graded and unit not in non_answered
    }
    tally.graded |= new
    tally.unjudged = [unit for unit in tally.unjudged if unit not in new]
    tally.decided["by the developers of the topics"] |= set(new)
    return without_poor_topics(tally, rules, left_out)


def tallied(
    units: Iterable[Unit],
    votes: Iterable[DocumentVote],
    rules: QrelsRules,
    judges: int,
    also: Sequence[str],
    members: Mapping[Unit, Member],
) -> tuple[Tally, dict[str, int]]:
    """The grades that the votes decide, and the number of votes of other kinds."""
    ordered = sorted(units)
    judged, left_out = votes_by_document(ordered, votes, {*ALWAYS, *also})
    documents: defaultdict[Unit, list[Unit]] = defaultdict(list)
    for document in judged if members else ():
        if document in members:
            documents[members[document].unit].append(document)
    shown = Counter(member.unit for member in members.values() if member.is_shown)
    tally = Tally()
    for unit in ordered:
        of_unit = [(document, judged[document]) for document in documents.get(unit, ())]
        if unit in judged and unit not in members:
            of_unit.append((unit, judged[unit]))
        _decide(unit, of_unit, rules, judges, tally)
        if 0 < len(of_unit) < shown.get(unit, 0):
            tally.partly.append(unit)
    if tally.conflicts:
        raise Undecided(tally.conflicts)
    return tally, left_out


def grade_group(units: Iterable[Unit], votes: Iterable[DocumentVote], assessors: Collection[str]) -> Frozen:
    """Freeze the judgments of some assessors only. No topic is dropped for having too few relevant units.

    Raises Undecided: several of these assessors judged a unit, and their choices differ.
    """
    of_group = [(unit, vote) for unit, vote in votes if vote.assessor in assessors]
    return grade_units(units, of_group, rules=QrelsRules(), judges=1)


def known_items(units: Iterable[Unit], grade: int) -> Frozen:
    """Qrels of a known-item task: all units with the same grade, without judgments."""
    rows = sorted((unit.topic.encode(), unit.docno.encode(), grade) for unit in units)
    return Frozen(rows, {"known_items": len(rows)})


def given_grades(sources: Iterable[tuple[str, str]], protocol: Protocol) -> dict[Unit, int]:
    """Grades that the developers of topics gave to citations, from codes and sources of the topics.

    Empty if the protocol does not use them.

    Raises Unusable: a source is not the XML of a topic.
    """
    if not protocol.qrels.topic_citations:
        return {}
    grades = {grade.key: grade.value for grade in protocol.judging.grades}
    return {
        Unit(code, citation.docno): grades[citation.rel]
        for code, source in sources
        for citation in citations(source)
        if citation.rel in grades
    }


def votes_by_document(
    units: Iterable[Unit], votes: Iterable[DocumentVote], kinds: Collection[str]
) -> tuple[dict[Unit, Votes], dict[str, int]]:
    """The votes of some kinds on each document, in their order; and how many votes of other kinds there are.

    Hundreds of thousands of votes differ in little but their documents, so equal ones are one object.
    """
    same = {unit: unit for unit in units}
    with_vote = cache(lambda votes, vote: (*votes, vote))
    judged: dict[Unit, Votes] = {}
    left_out: Counter[str] = Counter()
    for document, vote in votes:
        if vote.kind in kinds:
            document = same.get(document, document)
            judged[document] = with_vote(judged.get(document, ()), vote)
        else:
            left_out[vote.kind] += 1
    return judged, dict(left_out)


def _decide(
    unit: Unit, of_unit: Sequence[tuple[Unit, Votes]], rules: QrelsRules, judges: int, tally: Tally
) -> None:
    """Note the grade of a unit, or why it has none."""
    is_sum = rules.aggregate == "sum"
    if is_sum:
        counted: Sequence[Vote] = _each_judge(
            unit, [vote for _, votes in of_unit for vote in votes], judges, tally
        )
    elif len(of_unit) == 1 and len(of_unit[0][1]) == 1:
        counted = of_unit[0][1]
    else:
        counted = [vote for document, votes in of_unit for vote in _counted(document, votes, rules, tally)]
    grades = [vote.grade for vote in counted if vote.grade is not None]
    if not counted:
        tally.unjudged.append(unit)
    elif len(grades) == len(counted) if is_sum else grades:
        tally.graded[unit] = sum(grades) if is_sum else max(grades)
        if any(vote.kind == "adjudication" for vote in counted):
            tally.decided["by adjudication"].add(unit)
    else:
        choice = next(vote.choice for vote in counted if vote.grade is None)
        tally.non_answers.append({"topic": unit.topic, "docno": unit.docno, "choice": choice})


# One grade of several: the lower one in the middle; the most frequent one, of several the lowest; the mean, rounded
# half up.
COMBINED: Mapping[str, Callable[[Sequence[int]], int]] = {
    "median": lambda grades: sorted(grades)[(len(grades) - 1) // 2],
    "majority": lambda grades: min(Counter(grades).items(), key=lambda item: (-item[1], item[0]))[0],
    "mean": lambda grades: (2 * sum(grades) + len(grades)) // (2 * len(grades)),
}


def _counted(unit: Unit, votes: Votes, rules: QrelsRules, tally: Tally) -> list[Vote]:
    """The votes on a document that count; none if they conflict."""
    if rules.aggregate in COMBINED:  # all judgments together give one grade; an adjudication decides alone
        last = [vote for vote in votes if vote.kind == "adjudication"] or list(votes)
        combined = [vote for vote in last if vote.is_assigned] or last
        graded = [vote for vote in combined if vote.grade is not None]
        grades = [vote.grade for vote in graded if vote.grade is not None]
        grade_of = COMBINED[rules.aggregate]
        return [graded[0]._replace(grade=grade_of(grades))] if graded else combined[:1]
    by_kind = ([vote for vote in votes if vote.kind == kind] for kind in PRECEDENCE)
    of_kind: list[Vote] = next(filter(None, by_kind), [])
    counted = [vote for vote in of_kind if vote.is_assigned] or of_kind
    if rules.aggregate == "single" and len({vote.choice for vote in counted}) > 1:
        choices = ", ".join(f"{vote.assessor}: {vote.choice}" for vote in counted)
        tally.conflicts.append(Conflict(unit, choices))
        return []
    if len(counted) < len(of_kind):
        tally.decided["by the assessor assigned now"].add(unit)
    return counted


def _each_judge(unit: Unit, votes: list[Vote], judges: int, tally: Tally) -> list[Vote]:
    """The judgments to sum, one of each judge; none as long as some are missing. An adjudication replaces none."""
    summed = [vote for vote in votes if vote.kind != "adjudication"]
    if len(summed) < len(votes):
        tally.decided["by the sum, although adjudicated"].add(unit)
    counted = summed if len(summed) <= judges else [vote for vote in summed if vote.is_assigned]
    if len(counted) > judges:
        tally.conflicts.append(Conflict(unit, f"{plural(len(counted), 'judgment')}, but {judges} are summed"))
    return counted if len(counted) == judges else []


def without_poor_topics(tally: Tally, rules: QrelsRules | QrelsSet, left_out: dict[str, int]) -> Frozen:
    """Rows of all topics that have enough relevant units, and the report."""
    unjudged = Counter(unit.topic for unit in tally.unjudged)
    non_answers = Counter(non_answer["topic"] for non_answer in tally.non_answers)
    judged = Counter(unit.topic for unit in tally.graded)
    relevant = Counter(unit.topic for unit, grade in tally.graded.items() if grade >= rules.relevant_from)
    topics = sorted({*judged, *unjudged, *non_answers}, key=lambda code: (natural(code), code))
    poor = [topic for topic in topics if not judged[topic] or relevant[topic] < rules.min_relevant]
    dropped = [{"topic": topic, "judged": judged[topic], "relevant": relevant[topic]} for topic in poor]
    is_poor = set(poor)
    rows = [
        (unit.topic.encode(), unit.docno.encode(), grade)
        for unit, grade in tally.graded.items()
        if unit.topic not in is_poor
    ]
    report = {
        "dropped": dropped,
        "min_relevant": rules.min_relevant,
        "relevant_from": rules.relevant_from,
        "non_answers": tally.non_answers,
        "unjudged": {
            "n": len(tally.unjudged),
            "topics": {topic: unjudged[topic] for topic in topics if unjudged[topic]},
            "first": [[unit.topic, unit.docno] for unit in tally.unjudged[:MAX_NAMED]],
        },
        "partly": len(tally.partly),
        "decided": {how: len(units) for how, units in tally.decided.items() if units},
        "left_out": left_out,
    }
    return Frozen(rows, report)
