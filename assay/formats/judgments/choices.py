"""The meaning of a judgment of a file in a protocol: one of its grades or non-answers."""

from assay.formats.judgments.rows import JudgmentRow
from assay.protocols.schema import Grade, JudgingRules, NonAnswer


def choice_of(row: JudgmentRow, rules: JudgingRules) -> Grade | NonAnswer:
    """The choice that a row names: by its key or label, or by the number of the grade.

    Raises `ValueError` if the protocol has no such choice, or the choice has another grade.
    """
    if row.choice:
        folded = row.choice.strip().casefold()
        named = rules.choice(row.choice) or next(
            (each for each in rules.choices if folded in {each.key.casefold(), each.label.casefold()}), None
        )
        if named is None:
            raise ValueError(f"{row.choice!r} is not a choice of the protocol; use {_accepted(rules)}")
        grade = named.value if isinstance(named, Grade) else None
        if row.grade is not None and row.grade != grade:
            raise ValueError(f"{row.choice!r} has the grade {grade}, not {row.grade}")
        return named
    if row.grade is None:
        raise ValueError(f"neither choice nor grade is given; use {_accepted(rules)}")
    graded = _of_number(row.grade, rules)
    if graded is None:
        raise ValueError(f"grade {row.grade} is not in the protocol; use {_accepted(rules)}")
    return graded


def _of_number(number: int, rules: JudgingRules) -> Grade | NonAnswer | None:
    grade = next((each for each in rules.grades if each.value == number), None)
    return grade or next((each for each in rules.non_answers if each.qrels_code == number), None)


def _accepted(rules: JudgingRules) -> str:
    grades = [f"{grade.key} ({grade.value})" for grade in rules.grades]
    return ", ".join([*grades, *(choice.key for choice in rules.non_answers)])


def grade_of(row: JudgmentRow, rules: JudgingRules | None, *, is_named: bool) -> int | None:
    """The grade of a row, None for a non-answer. If it `is_named`, the file has names of choices instead of numbers.

    Raises `ValueError` if the protocol has no such choice; without a protocol, names mean nothing.
    """
    if row.grade is not None:
        return row.grade if rules is None or not isinstance(_of_number(row.grade, rules), NonAnswer) else None
    if not is_named:
        return None
    if rules is None:
        raise ValueError(
            f"the answer {row.choice!r} is not a whole number; with --protocol, keys and labels of its choices are "
            "accepted"
        )
    choice = choice_of(row, rules)
    return choice.value if isinstance(choice, Grade) else None
