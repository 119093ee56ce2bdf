"""The qrels that a protocol makes of judgments: their kind, and the grades in them."""

from assay.protocols import schema
from assay.protocols.measures import QrelsKind, parse_measures, qrels_of
from assay.protocols.schema import Protocol

HIGHEST_GRADE = 999  # as in files of qrels


def is_of_subtopics(protocol: Protocol, rules: schema.QrelsSet) -> bool:
    """True if a set of qrels has a grade for each subtopic of a document: its question is any-of."""
    return any(
        question.key == rules.question and question.kind == "any-of"
        for question in protocol.judging.questions
    )


def kind_in(protocol: Protocol, rules: schema.QrelsRules | schema.QrelsSet) -> QrelsKind:
    """The kind of qrels that judgments become: those of a set, or the main ones."""
    if rules.preferences == "votes":
        return "preferences"
    if protocol.judged.has_nuggets and isinstance(rules, schema.QrelsRules):
        return "nuggets"
    has_subtopics = isinstance(rules, schema.QrelsSet) and is_of_subtopics(protocol, rules)
    return "subtopics" if has_subtopics else "grades"


def grades_in(protocol: Protocol, rules: schema.QrelsSet) -> list[int]:
    """The grades that a judgment can have in a set of qrels, ascending; of subtopics, those of each."""
    if rules.preferences:
        return list(range(HIGHEST_GRADE + 1))
    questions = [question for question in protocol.judging.questions if question.key == rules.question]
    if is_of_subtopics(protocol, rules):
        return [0, 1]
    choices = [choice for question in questions for choice in question.choices]
    values = [choice.value for choice in choices if choice.value is not None]
    grades = [] if rules.question or rules.rules else [grade.value for grade in protocol.judging.grades]
    own = list(rules.grades.values()) or [*values, *grades]
    others = [] if rules.otherwise is None else [rules.otherwise]
    return sorted({*own, *(rule.grade for rule in rules.rules), *others})


def highest_of(protocol: Protocol, rules: schema.QrelsSet) -> int:
    judges = protocol.judging.judges if rules.aggregate == "sum" else 1
    return judges * max(grades_in(protocol, rules), default=0)


def kind_of(protocol: Protocol, key: str = "") -> QrelsKind:
    """The kind of qrels that the measures of a protocol need; with the key of a set, the kind that it has."""
    if of_set := protocol.qrels.set_of(key):
        return kind_in(protocol, of_set)
    if protocol.qrels.preferences:
        return kind_in(protocol, protocol.qrels)
    return qrels_of(parse_measures(protocol.scoring.measures))
