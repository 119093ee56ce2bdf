"""Sets of qrels: further qrels of the same judgments, by the answers to a question or by rules.

If the question has several choices, its choices are subtopics, and a document has a grade for each of them. A subtopic
of a document is then decided as a unit of its own, whose id is its number, a space and the docno. Reports count
documents.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from assay.formats.qrels.columns import PartRow
from assay.protocols.qrels import is_of_subtopics
from assay.protocols.questions import NO_LABELS, Answers, Condition
from assay.protocols.schema import Protocol, QrelsRules, QrelsSet
from assay.qrels.freezing import (
    ALWAYS,
    NO_MEMBERS,
    Answered,
    Conflict,
    DocumentVote,
    Frozen,
    Member,
    Tally,
    Undecided,
    Unit,
    Vote,
    grade_units,
    tallied,
    without_poor_topics,
)

NO_SUBTOPICS: Mapping[str, Sequence[str]] = MappingProxyType({})


def grade_set(
    units: Iterable[Unit],
    judgments: Sequence[Answered],
    *,
    rules: QrelsSet,
    protocol: Protocol,
    labels: Mapping[str, Mapping[str, str]],
    subtopics: Mapping[str, Sequence[str]] = NO_SUBTOPICS,
    also: Sequence[str] = (),
    members: Mapping[Unit, Member] = NO_MEMBERS,
) -> Frozen:
    """Freeze a set of qrels. A unit whose judgments the set leaves out is not in it.

    Args:
        labels: those of each topic, by its code.
        subtopics: the numbers of those of each topic, by its code.
        also, members: as for `grade_units`.

    Raises Undecided: for some units, judgments of equal precedence give different grades.
    """
    of_subtopics = is_of_subtopics(protocol, rules)
    numbers = subtopics_of(protocol, rules, subtopics)
    own: list[DocumentVote] = []
    judged: set[Unit] = set()
    for unit, vote, answers in judgments:
        of_topic = labels.get(unit.topic, NO_LABELS)
        if of_subtopics:
            votes = votes_on_subtopics(rules, vote, answers, of_topic, numbers(unit.topic))
            graded = [(part_of(unit, number), vote) for number, vote in votes.items()]
        else:
            of_set = grade_in_set(rules, protocol, vote, answers, of_topic)
            graded = [] if of_set is None else [(unit, of_set)]
        own += graded
        judged |= {members[unit].unit if unit in members else unit} if graded else set()
    others = {members[unit].unit if unit in members else unit for unit, *_ in judgments} - judged
    wanted = [unit for unit in units if unit not in others]
    of_rules = QrelsRules(rules.aggregate, rules.min_relevant, rules.relevant_from)
    judges = protocol.judging.judges
    if of_subtopics:
        return _grade_parts(wanted, own, numbers, rules=of_rules, judges=judges, also=also, members=members)
    return grade_units(wanted, own, rules=of_rules, judges=judges, also=also, members=members)


def subtopics_of(
    protocol: Protocol, rules: QrelsSet, of_topics: Mapping[str, Sequence[str]]
) -> Callable[[str], Sequence[str]]:
    """The function that returns the subtopics of a topic in a set: its own, or the choices of the question."""
    question = next(
        (question for question in protocol.judging.questions if question.key == rules.question), None
    )
    if question is None or question.choices_from:
        return lambda topic: of_topics.get(topic, ())
    choices = [choice.key for choice in question.choices]
    return lambda topic: choices


def votes_on_subtopics(
    rules: QrelsSet, vote: Vote, answers: Answers, labels: Mapping[str, str], numbers: Iterable[str]
) -> dict[str, Vote]:
    """A judgment as a vote on each subtopic, by its number: covered or not; empty if the set leaves it out.

    A judgment that meets no condition of `only`, or has no answer to the question, covers no subtopic if the set has
    `otherwise`. A non-answer stays one.
    """
    if vote.grade is None:
        return dict.fromkeys(numbers, vote)
    is_in = not rules.only or any(
        Condition.parse(text).holds(vote.choice, answers, labels) for text in rules.only
    )
    chosen = answers.get(rules.question) if is_in else None
    if chosen is None and rules.otherwise is None:
        return {}
    covered, others = vote._replace(choice="covered", grade=1), vote._replace(choice="not covered", grade=0)
    return {number: covered if number in (chosen or ()) else others for number in numbers}


def grade_in_set(
    rules: QrelsSet, protocol: Protocol, vote: Vote, answers: Answers, labels: Mapping[str, str]
) -> Vote | None:
    """A judgment with its grade in a set of qrels; None if the set leaves it out. A non-answer stays one.

    A rule whose conditions all hold comes first. Then a judgment that meets no condition of `only`, or has no answer to
    the question, has the grade `otherwise`.
    """
    if vote.grade is None:
        return vote

    def holds(text: str) -> bool:
        return Condition.parse(text).holds(vote.choice, answers, labels)

    grade = next((rule.grade for rule in rules.rules if all(map(holds, rule.when))), None)
    if grade is None and (not rules.only or any(map(holds, rules.only))):
        grade = _grade_of_choice(rules, protocol, vote, answers)
    grade = rules.otherwise if grade is None else grade
    return None if grade is None else vote._replace(choice=f"grade {grade}", grade=grade)


def _grade_of_choice(rules: QrelsSet, protocol: Protocol, vote: Vote, answers: Answers) -> int | None:
    """The grade of the answer to the question of a set, or of the choice if it names none."""
    if not rules.question:
        return rules.grades.get(vote.choice) if rules.grades else None if rules.rules else vote.grade
    key = answers.get(rules.question, "")
    if rules.grades:
        return rules.grades.get(key)
    question = next(question for question in protocol.judging.questions if question.key == rules.question)
    return next((choice.value for choice in question.choices if choice.key == key), None)


def part_of(unit: Unit, number: str) -> Unit:
    """A subtopic of a document as a unit. Numbers have no space."""
    return Unit(unit.topic, f"{number} {unit.docno}")


def _whole(part: Unit) -> Unit:
    return Unit(part.topic, part.docno.partition(" ")[2])


def _grade_parts(
    units: Iterable[Unit],
    votes: Sequence[DocumentVote],
    numbers: Callable[[str], Sequence[str]],
    *,
    rules: QrelsRules,
    judges: int,
    also: Sequence[str],
    members: Mapping[Unit, Member],
) -> Frozen:
    """Decide each subtopic of each unit alone; `votes` are on subtopics of documents. The report counts documents."""
    parts = [part_of(unit, number) for unit in units for number in numbers(unit.topic)]
    of_members = {
        part_of(document, number): Member(part_of(member.unit, number), member.is_shown)
        for document, member in members.items()
        for number in numbers(document.topic)
    }
    try:
        tally, _ = tallied(parts, votes, rules, judges, also, of_members)
    except Undecided as undecided:
        raise Undecided(
            [
                Conflict(_whole(part), f"subtopic {part.docno.partition(' ')[0]}: {reason}")
                for part, reason in undecided.conflicts
            ]
        ) from None
    graded: dict[Unit, int] = {}
    for part, grade in tally.graded.items():
        graded[_whole(part)] = max(grade, graded.get(_whole(part), 0))
    documents = Tally(
        graded,
        list(
            {
                (unit := _whole(Unit(non_answer["topic"], non_answer["docno"]))): non_answer | unit._asdict()
                for non_answer in tally.non_answers
            }.values()
        ),
        list(dict.fromkeys(map(_whole, tally.unjudged))),
        list(dict.fromkeys(map(_whole, tally.partly))),
        decided=defaultdict(set, {how: set(map(_whole, units)) for how, units in tally.decided.items()}),
    )
    others = {
        (_whole(part), vote.kind, vote.assessor) for part, vote in votes if vote.kind not in {*ALWAYS, *also}
    }
    frozen = without_poor_topics(documents, rules, dict(Counter(kind for _, kind, _ in others)))
    kept = {topic for topic, *_ in frozen.rows}
    rows = (
        PartRow(part.topic.encode(), _whole(part).docno.encode(), grade, (part.docno.split()[0].encode(),))
        for part, grade in tally.graded.items()
    )
    return replace(frozen, parts=[row for row in rows if row.topic in kept])
