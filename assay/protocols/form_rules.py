"""The rules of the questions of a protocol and of the sets of qrels that their answers become: see `rules`."""

import re
from collections.abc import Iterator, Sequence

from assay.protocols import schema
from assay.protocols.qrels import HIGHEST_GRADE, highest_of, is_of_subtopics
from assay.protocols.questions import CLOSED, LIMITS, LISTS, MARKS, MAX_CHARACTERS, Condition
from assay.protocols.schema import JudgingRules, Protocol, Question
from assay.structure import shown
from assay.templates import MAX_TEMPLATE, Template, read_template

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
NOT_A_SLUG = "is not accepted; use lower-case letters, digits and single hyphens"
MAX_KIND = 40  # characters of the key of a kind of run or of a set, the limit of the database column
KEY = re.compile(r"[A-Za-z0-9_-]{1,50}")
VALUE = re.compile(r"[^\s\0-\x1f](?:[^\r\n\t\0-\x1f]{0,98}[^\s\0-\x1f])?")  # of a control in a frame
LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})?")
MOST_SUBTOPICS = 100  # of a topic
MARKABLE = ("topic-document", "question-answer")  # layouts that show one document, whose text can be marked
FIELD = re.compile(r"[^\W\d][\w .-]{0,98}\w|[^\W\d]")
NOT_A_FIELD = (
    "a field is a letter, and then letters, digits, spaces, dots, hyphens or underscores; not topic or docno"
)
ROW_COLUMNS = ("topic", "docno")  # of a table, besides the fields
NOT_A_KEY = "is not 1 to 50 letters, digits, hyphens or underscores"
NOT_A_VALUE = "is not 1 to 100 characters in one line without spaces around them"


def is_slug(key: str) -> bool:
    """Return whether a text can be the key of a kind of run, of a phase or of a set."""
    return SLUG.fullmatch(key) is not None and len(key) <= MAX_KIND


def question_and_set_complaints(protocol: Protocol) -> Iterator[str]:
    """Yield each error of the questions and of the sets of qrels, with its key."""
    for n, question in enumerate(protocol.judging.questions):
        yield from _question_complaints(question, protocol, n)
    for n, of_set in enumerate(protocol.qrels.sets):
        yield from _set_complaints(of_set, protocol, n)


def form_table_complaints(protocol: Protocol) -> Iterator[str]:
    """Yield each error of the form that shows rows: its fields, and its HTML with the line there."""
    form, key = protocol.judging.form, "judging.form"
    if (protocol.judging.layout == "form") != (form is not None):
        yield f"{key}: the table describes the page of the layout form; use both, or neither"
    if form is None:
        return
    yield from _repeated(f"{key}.fields", form.fields)
    for name in form.fields:
        if not FIELD.fullmatch(name) or name in ROW_COLUMNS:
            yield f"{key}.fields: {shown(name)} is not accepted; {NOT_A_FIELD}"
    if len(form.html) > MAX_TEMPLATE:
        yield f"{key}.html: {len(form.html):,} characters; at most {MAX_TEMPLATE:,} are accepted"
        return
    template = read_template(form.html)
    for place in template.variables:
        if place.name not in (*form.fields, *ROW_COLUMNS):
            accepted = ", ".join((*form.fields, *ROW_COLUMNS))
            yield f"{key}.html: line {place.line} of the HTML: ${{{place.name}}} is not a field; use {accepted}"
    yield from (
        _framed_page_complaints(protocol.judging, template)
        if form.frame
        else _page_complaints(protocol.judging, template)
    )


def _page_complaints(judging: JudgingRules, template: Template) -> Iterator[str]:
    """Complaints about the HTML of a form whose controls Assay makes."""
    for name, line in template.raw:
        yield f"judging.form.html: line {line} of the HTML: ${{{name}|raw}} needs frame = true; use ${{{name}}}"
    place_of: dict[str, int] = {}
    questions = [question.key for question in judging.questions]
    for name, line in template.questions:
        at = f"judging.form.html: line {line} of the HTML: ${{question.{name}}}"
        if name not in questions:
            yield f"{at} is not a question; use {', '.join(questions) or '[[judging.question]] to add it'}"
        elif name in place_of:
            yield f"{at} is there twice, first in line {place_of[name]}; a question has one place"
        place_of.setdefault(name, line)
    for key in questions:
        if key not in place_of:
            yield f"judging.form.html: ${{question.{key}}} is missing; give each question a place"
    for name, line in template.refused:
        yield (
            f"judging.form.html: line {line} of the HTML: {name} is not accepted; Assay makes the controls; scripts "
            "need frame = true"
        )


def frame_complaints(template: Template) -> Iterator[tuple[int, str]]:
    """Yield each error of a template with controls of its own, with its line."""
    for name, line in template.questions:
        yield line, f"${{question.{name}}} has no effect in a frame"
    if not template.controls and not template.scripts:
        yield 1, "nothing to answer; add an input, select or textarea with a name"


def _framed_page_complaints(judging: JudgingRules, template: Template) -> Iterator[str]:
    """Complaints about a form that is shown in a frame."""
    for line, problem in frame_complaints(template):
        yield f"judging.form.html: line {line} of the HTML: {problem}"
    for n, question in enumerate(judging.questions, 1):
        if question.key not in template.controls and not template.scripts:
            accepted = ", ".join(template.controls)
            yield f"judging.question[{n}].key: no control of the HTML has the name {question.key!r}; use {accepted}"
        if question.after or question.after_all:
            yield f"judging.question[{n}].after: has no effect in a frame, whose HTML decides what it asks"


def _question_complaints(question: Question, protocol: Protocol, n: int) -> Iterator[str]:
    """Complaints about a question; `judging.question[2]` is the second one of the file."""
    place, others = f"judging.question[{n + 1}]", protocol.judging.questions[:n]
    yield from _key_and_label_complaints(
        question, others, place, "questions", "the question", "is asked twice"
    )
    yield from _choice_complaints(question, protocol.judging, n)
    yield from _kind_complaints(question, protocol.judging, place)
    yield from _limit_complaints(question, place)
    for key in ("after", "after_all"):
        conditions: tuple[str, ...] = getattr(question, key)
        yield from _repeated(f"{place}.{key}", conditions)
        for text in conditions:
            if problem := _condition_problem(Condition.parse(text), protocol, n):
                yield f"{place}.{key}: {problem}"
    wrong = [code for code in question.languages if not LANGUAGE.fullmatch(code)]
    yield from (
        f"{place}.languages: {shown(code)} is not a code such as eng, arz or zh-Hans" for code in wrong
    )
    yield from _repeated(f"{place}.languages", question.languages)


def _key_and_label_complaints(
    part: Question | schema.QuestionChoice,
    others: Sequence[Question | schema.QuestionChoice],
    place: str,
    noun: str,
    text: str,
    twice: str,
    *,
    is_value: bool = False,
) -> Iterator[str]:
    label = part.label.strip()
    if not (VALUE if is_value else KEY).fullmatch(part.key):
        yield f"{place}.key: {shown(part.key)} {NOT_A_VALUE if is_value else NOT_A_KEY}"
    if part.key in [other.key for other in others]:
        yield f"{place}.key: {part.key!r} is used by two {noun}"
    if not label:
        yield f"{place}.label: empty; write {text}"
    if label and label in [other.label.strip() for other in others]:
        yield f"{place}.label: {shown(part.label)} {twice}"


def _condition_problem(condition: Condition, protocol: Protocol, n: int) -> str:
    """The problem with a condition of the question that `n` questions precede; nothing if it can be met."""
    judging, of, value = protocol.judging, condition.of, condition.value
    if label := condition.label:
        labels = protocol.topics.labels
        if label not in labels:
            return f"{label!r} is not a label of topics; use {', '.join(labels) or 'topics.labels to add it'}"
        is_known = not labels[label] or value in labels[label]
        return "" if is_known else f"{value!r} is not a value of {label}; use {', '.join(labels[label])}"
    if not of:
        grades = [grade.key for grade in judging.grades]
        accepted = f"{', '.join(grades)}, or question:choice"
        return "" if value in grades else f"{value!r} is not the key of a grade; use {accepted}"
    asked_before = {question.key: question for question in judging.questions[:n] if question.kind in CLOSED}
    if of not in asked_before:
        later = any(question.key == of for question in judging.questions[n:])
        why = "is not asked before this question" if later else "has no choices that a condition can name"
        return (
            f"{of!r} {why}; use {', '.join(asked_before) or 'a grade, or put the other question before it'}"
        )
    if asked_before[of].choices_from:
        return f"the choices of {of!r} depend on the topic, so no condition can name one"
    choices = asked_before[of].labels
    return "" if value in choices else f"{value!r} is not a choice of {of}; use {', '.join(choices)}"


def _kind_complaints(question: Question, judging: JudgingRules, place: str) -> Iterator[str]:
    form = judging.form
    if question.field and (question.kind != "span" or form is None):
        yield f"{place}.field: has an effect on the kind span in the layout form only; leave it out"
    if question.kind != "span" or judging.layout in MARKABLE:
        return
    if form is None or form.frame:
        layouts = f"{', '.join(MARKABLE)} or form without frame"
        yield f"{place}.kind: the kind span marks parts of one text; use the layout {layouts}, or another kind"
    elif question.field not in form.fields:
        yield f"{place}.field: {shown(question.field)} is not a field; use {', '.join(form.fields)}"
    elif question.field not in {variable.name for variable in read_template(form.html).variables}:
        yield f"{place}.field: judging.form.html does not show ${{{question.field}}}, so nothing could be marked"


def _limit_complaints(question: Question, place: str) -> Iterator[str]:
    """Complaints about keys that the kind of a question does not have, or that cannot be met."""
    for key, accepted in LIMITS.items():
        if getattr(question, key) not in (None, "") and question.kind not in accepted:
            kinds = " and ".join(accepted)
            yield f"{place}.{key}: has no effect on the kind {question.kind}; it is a key of the kind {kinds}"
    if question.min is not None and question.max is not None and question.min > question.max:
        yield f"{place}.min: {question.min:g} is above max, {question.max:g}"
    if question.max_characters is not None and not 1 <= question.max_characters <= MAX_CHARACTERS:
        yield f"{place}.max_characters: {question.max_characters} is not between 1 and {MAX_CHARACTERS}"
    n_choices = MOST_SUBTOPICS if question.choices_from else len(question.choices)
    n_choices, most_in_words = (
        (MARKS, "") if question.kind == "span" else (n_choices, "the number of choices, ")
    )
    least, most = question.at_least or 1, n_choices if question.at_most is None else question.at_most
    for key in ("at_least", "at_most"):
        n = getattr(question, key)
        if n is not None and question.kind in {*LISTS, "span"} and not 1 <= n <= n_choices:
            yield f"{place}.{key}: {n} is not between 1 and {most_in_words}{n_choices}"
    if question.at_least is not None and least > most:
        yield f"{place}.at_least: {least} is above at_most, {most}"


def _repeated(key: str, values: Sequence[str]) -> Iterator[str]:
    return (f"{key}: {value!r} is listed twice" for n, value in enumerate(values) if value in values[:n])


def _choice_complaints(question: Question, judging: JudgingRules, n: int) -> Iterator[str]:
    place, choices = f"judging.question[{n + 1}].choice", question.given_choices
    if question.choices_from:
        if question.kind != "any-of":
            yield f"{place}s_from: has no effect on {question.kind}; it is a key of any-of"
        if question.given_choices:
            yield f"{place}: has no effect, because the choices are those of choices_from; leave one of them out"
        return
    if question.kind in {"yes-no", "number", "text"}:
        if choices:
            yield f"{place}: has no effect on {question.kind}; use one-of, any-of, span or ranking, or leave it out"
        return
    fewest = 1 if question.kind == "span" else 2
    if len(choices) < fewest:
        at_least = f"at least {'two choices' if fewest > 1 else 'one choice'}"
        yield f"{place}: a question of the kind {question.kind} needs {at_least}, got {len(choices)}"
    earlier = [choice for other in judging.questions[:n] for choice in other.choices]
    is_value = judging.form is not None and judging.form.frame and question.kind in CLOSED
    for m, choice in enumerate(choices, 1):
        taken = [choice.shortcut for choice in (*judging.choices, *earlier, *choices[: m - 1])]
        words = ("choices", "the text of the button", "is the label of two choices")
        yield from _key_and_label_complaints(
            choice, choices[: m - 1], f"{place}[{m}]", *words, is_value=is_value
        )
        yield from _value_complaints(choice, question, f"{place}[{m}].value")
        if len(choice.shortcut) > 1:
            yield f"{place}[{m}].shortcut: {choice.shortcut!r} is not one key, such as 1 or x"
        if choice.shortcut and choice.shortcut in taken:
            yield f"{place}[{m}].shortcut: {choice.shortcut!r} is used by two choices of the page"


def _value_complaints(choice: schema.QuestionChoice, question: Question, place: str) -> Iterator[str]:
    values = [choice.value for choice in question.given_choices]
    if choice.value is None:
        if any(value is not None for value in values):
            yield f"{place}: missing; give every choice of the question a value, or none"
        return
    if question.kind != "one-of":
        yield f"{place}: has no effect on {question.kind}; it is a key of one-of"
    if values.count(choice.value) > 1:
        yield f"{place}: two choices have the same value, {choice.value}"
    if not 0 <= choice.value <= HIGHEST_GRADE:
        yield f"{place}: {choice.value} is not between 0 and {HIGHEST_GRADE}"


def _set_complaints(rules: schema.QrelsSet, protocol: Protocol, n: int) -> Iterator[str]:
    """Complaints about a set of qrels; `qrels.set[2]` is the second one of the file."""
    place, judging = f"qrels.set[{n + 1}]", protocol.judging
    if rules.key in [other.key for other in protocol.qrels.sets[:n]]:
        yield f"{place}.key: {rules.key!r} is used by two sets"
    if not is_slug(rules.key):
        yield f"{place}.key: {shown(rules.key)} {NOT_A_SLUG}"
    if judging.judged.has_votes:
        return
    closed = {question.key: question for question in judging.questions if question.kind in CLOSED}
    if rules.question and rules.question not in closed:
        accepted = f"use {', '.join(closed)}" if closed else "the protocol has none"
        if any(question.key == rules.question and question.kind == "span" for question in judging.questions):
            yield f"{place}.question: marked parts are exported with the judgments and feed no qrels; {accepted}"
            return
        yield f"{place}.question: {rules.question!r} is not a question with choices; {accepted}"
        return
    if is_of_subtopics(protocol, rules):  # it has the grade 1 or 0 for each choice
        why = "has no effect on an any-of question: a chosen subtopic has the grade 1, the others 0"
        yield from (
            f"{place}.{key}: {why}"
            for key, given in (("grades", rules.grades), ("rule", rules.rules))
            if given
        )
        if rules.otherwise not in (None, 0):
            yield f"{place}.otherwise: {rules.otherwise} is not 0, the grade of subtopics that are not covered"
    else:
        question = closed.get(rules.question)
        choices = list(question.labels) if question else [grade.key for grade in judging.grades]
        for key in rules.grades:
            if key not in choices:
                yield f"{place}.grades: {key!r} is not a choice; use {', '.join(choices)}"
        has_values = question is None or any(choice.value is not None for choice in question.choices)
        if choices and not (rules.grades or rules.rules or has_values):
            yield f"{place}.grades: missing; give each of {', '.join(choices)} its grade, or its choice a value"
    yield from _set_grade_complaints(rules, protocol, place)


def _set_grade_complaints(rules: schema.QrelsSet, protocol: Protocol, place: str) -> Iterator[str]:
    """Complaints about conditions and grades of a set of qrels."""
    conditions = [
        ("only", rules.only),
        *((f"rule[{m}].when", rule.when) for m, rule in enumerate(rules.rules, 1)),
    ]
    for key, texts in conditions:
        for text in texts:
            if problem := _condition_problem(
                Condition.parse(text), protocol, len(protocol.judging.questions)
            ):
                yield f"{place}.{key}: {problem}"
    named = {f"grades.{key}": grade for key, grade in rules.grades.items()}
    named |= {f"rule[{m}].grade": rule.grade for m, rule in enumerate(rules.rules, 1)}
    named |= {} if rules.otherwise is None else {"otherwise": rules.otherwise}
    for key, grade in named.items():
        if not 0 <= grade <= HIGHEST_GRADE:
            yield f"{place}.{key}: {grade} is not between 0 and {HIGHEST_GRADE}"
    if rules.otherwise is not None and not (rules.only or rules.question or rules.rules or rules.grades):
        yield f"{place}.otherwise: has no effect, because every unit has its grade; use only, question or rule"
    if rules.relevant_from > max(1, highest_of(protocol, rules)):
        yield f"{place}.relevant_from: {rules.relevant_from} is above the highest grade of the set"
