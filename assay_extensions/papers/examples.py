"""Tables from single judgments: first hits of runs, agreement of assessors, and examples of grades.

They follow the paper that `comparison` follows: first hits that look like the query, kappa, and table 4.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from assay.formulas.source import latex_tokens
from assay.tables.paper import Column, Group, PaperTable, Row, Value, number, words
from assay_extensions.papers.facts import Example, PaperCollection, PaperRun

ALIKE = 0.8  # share of equal tokens from which a formula looks like that of the topic
_LAYOUT = re.compile(r"[{}$]|\\(?:left|right|displaystyle|textstyle|q?quad|[,;:! ])")


def looks_like(topic: str, formula: str) -> bool:
    r"""Return whether two formulas share so many tokens of LaTeX that they look alike.

    Of all tokens of both but braces, spaces and sizes, at least `ALIKE` are in both.

    >>> looks_like(r"\int_0^\infty \frac{\sin x}{x}", r"\int_1^\infty \frac{\sin x}{x}\,")
    True
    >>> looks_like(r"\int_0^\infty \frac{\sin x}{x}", r"\sum_{n=0}^\infty \frac{1}{n}")
    False
    """
    first, second = (
        Counter(token for token in latex_tokens(latex) if not _LAYOUT.fullmatch(token))
        for latex in (topic, formula)
    )
    total = first.total() + second.total()
    return total > 0 and 2 * (first & second).total() >= ALIKE * total


def first_table(collections: Sequence[PaperCollection], *, level: int | None = None) -> PaperTable:
    """For how many topics the first hit of each run is not relevant, among the judged ones and among all."""
    groups = []
    for collection in collections:
        lowest = max(collection.track.units.level(level), 0)
        rows = [_first(run, collection, lowest) for run in collection.track.runs if run.first]
        if rows:
            rows.sort(key=lambda row: (row[2].exact or 0, row[4].exact or 0, row[0].text))
            groups.append(Group(collection.track.name, tuple(rows)))
    columns = (
        *(Column("Run"), Column("Topics", is_number=True)),
        *(
            Column(name, "First judged hit", is_number=True)
            for name in ("Not relevant", "Looks like the topic")
        ),
        *(Column(name, "First hit", is_number=True) for name in ("Not relevant", "Not judged or missing")),
    )
    return PaperTable(
        "first",
        "First hits that are not relevant",
        "Topics for which the first judged document or formula of a run is not relevant, and those of them whose "
        f"formula has at least {100 * ALIKE:.0f} % of its LaTeX in common with that of the topic; topics for which "
        "the very first one is judged and not relevant, and for which it is not judged, or the run lacks the topic. "
        f"{relevance(level)}",
        columns,
        tuple(groups),
        "collection",
    )


def relevance(level: int | None) -> str:
    """From which grade a unit is relevant, as a sentence."""
    if level is None:
        return "Each protocol has the grade from which a unit is relevant."
    return f"A unit is relevant from grade {level}."


def _first(run: PaperRun, collection: PaperCollection, lowest: int) -> Row:
    """A run's numbers of topics; empty where the first judged hits, or their formulas, are not known."""
    wrong = sum(n for grade, n in run.first.items() if 0 <= int(grade) < lowest)
    judged = {topic: docno for topic, (docno, grade) in run.first_hits.items() if grade < lowest}
    topics, formulas = collection.track.topics, collection.latex
    is_known = bool(formulas) and any(topic.latex for topic in topics.values())
    alike = (
        looks_like(topics[code].latex, formulas.get(docno, ""))
        for code, docno in judged.items()
        if code in topics
    )
    counts = (
        sum(run.first.values()),
        len(judged) if run.first_hits else None,
        sum(alike) if run.first_hits and is_known else None,
        wrong,
        run.first.get("-1", 0),
    )
    return (Value(f"{run.team}: {run.tag}"), *map(number, counts))


def agreement_table(collections: Sequence[PaperCollection], *, digits: int = 4) -> PaperTable:
    """Kappa side by side: the agreement of the assessors of each collection."""
    columns = (
        Column("Collection"),
        *(Column(name, is_number=True) for name in ("Assessors", "Units judged twice")),
        *(Column(name, "Kappa", is_number=True) for name in ("All grades", "Relevant or not")),
        Column("Alpha", is_number=True),
    )
    rows = tuple(
        (
            Value(collection.track.name),
            *map(number, (collection.agreement.n_assessors, collection.agreement.n_units)),
            *(number(value, digits) for value in collection.agreement[2:]),
        )
        for collection in collections
        if collection.agreement is not None
    )
    return PaperTable(
        "agreement",
        "Agreement of assessors",
        "Agreement on the units that several assessors judged: the mean of Cohen's kappa over every two assessors, "
        "with all grades and with two classes from the grade from which each protocol counts a unit as relevant, and "
        "Krippendorff's alpha with ordinal differences.",
        columns,
        (Group("", rows),),
    )


def example_topic(collection: PaperCollection, wanted: str = "") -> str:
    """The wanted topic, if it has commented judgments, or else the first one with comments on most grades; or empty."""
    grades: dict[str, set[int]] = {}
    for example in collection.examples:
        grades.setdefault(example.topic, set()).add(example.grade)
    if wanted in grades:
        return wanted
    return min(grades, key=lambda code: (-len(grades[code]), code), default="")


def examples_table(collections: Sequence[PaperCollection], *, topic: str = "") -> PaperTable:
    """Table 4: for one topic of each collection, a unit of each grade with the comment of an assessor."""
    groups = []
    for collection in collections:
        if code := example_topic(collection, topic):
            track = collection.track
            text = track.topics[code].shown if code in track.topics else ""
            title = f"{track.name}, {code}" + f": {text}" * bool(text)
            groups.append(Group(title, tuple(_examples(collection, code))))
    columns = (
        Column("Grade"),
        Column("Unit"),
        Column("Text", is_topic=True),
        Column("Comment", is_topic=True),
    )
    return PaperTable(
        "examples",
        "Examples of grades",
        "For one topic, a unit of each grade with the comment of the assessor who gave it: the one with the longest "
        "comment.",
        columns,
        tuple(groups),
        "topic",
    )


def _examples(collection: PaperCollection, code: str) -> Iterator[Row]:
    labels: Mapping[int, str] = {
        grade.value: grade.label for grade in collection.track.protocol.judging.grades
    }
    best: dict[int, Example] = {}
    for example in sorted(collection.examples, key=lambda example: (-len(example.comment), example.docno)):
        if example.topic == code:
            best.setdefault(example.grade, example)
    for grade, example in sorted(best.items(), reverse=True):
        text = f"${example.latex}$" if example.latex else ""
        yield words(labels.get(grade, str(grade)), example.docno, text, example.comment)
