"""Settings of a protocol that other settings leave without effect, or that cannot be meant.

They are looked for in new files only: stored protocols and archives may have them.
"""

from collections.abc import Iterator

from assay.protocols.measures import FAMILIES, Measure, MeasureError, parse_measure
from assay.protocols.schema import Protocol

FORMULAS = frozenset({"formula", "visually-distinct-formula"})
LAYOUTS_OF_FORMULAS = frozenset({"formula", "formula-instances"})


def contradictions(protocol: Protocol) -> Iterator[str]:
    """What contradicts something else, each with its key."""
    yield from _of_texts(protocol)
    yield from _of_layout(protocol)
    yield from _of_levels(protocol)
    for n, name in enumerate(protocol.scoring.measures, 1):
        try:
            measure = parse_measure(name)
        except MeasureError:
            continue
        for problem in _of_measure(protocol, measure, has_level="rel=" in name.replace(" ", "")):
            yield f"scoring.measures[{n}]: {name!r} {problem}"


def _of_texts(protocol: Protocol) -> Iterator[str]:
    for place, choice in protocol.judging.placed_choices:
        if not choice.label.strip():
            yield f"{place}.label: empty; write the text of the button"
        if not choice.definition.strip():
            yield f"{place}.definition: empty; tell assessors when to choose it"
        if len(choice.shortcut) > 1:
            yield f"{place}.shortcut: {choice.shortcut!r} is not one key, such as 1 or x"


def _of_layout(protocol: Protocol) -> Iterator[str]:
    layout, unit = protocol.judging.layout, protocol.unit
    if layout in LAYOUTS_OF_FORMULAS and unit not in FORMULAS:
        accepted = "question-answer or topic-document" + (" or citation" if unit == "passage" else "")
        yield f"judging.layout: {layout!r} shows formulas, but unit is {unit!r}; use {accepted}"
    if layout == "citation" and unit != "passage":
        yield f"judging.layout: 'citation' shows passages, but unit is {unit!r}; use topic-document"


def highest_grade(protocol: Protocol) -> int:
    """The highest grade that qrels of the protocol can have."""
    judges = protocol.judging.judges if protocol.qrels.aggregate == "sum" else 1
    return judges * max((grade.value for grade in protocol.judging.grades), default=0)


def _of_levels(protocol: Protocol) -> Iterator[str]:
    highest = max(1, highest_grade(protocol))
    levels = {
        "qrels.relevant_from": protocol.qrels.relevant_from,
        "scoring.relevant_from": protocol.scoring.relevant_from,
        "agreement.binary_from": protocol.agreement.binary_from,
    }
    for key, level in levels.items():
        if level > highest:
            yield f"{key}: {level} is above the highest grade of the qrels, {highest}"


def _of_measure(protocol: Protocol, measure: Measure, *, has_level: bool) -> Iterator[str]:
    family, highest = FAMILIES[measure.family], highest_grade(protocol)
    relevant_from = protocol.scoring.relevant_from
    if has_level and measure.level > highest:
        yield f"counts from grade {measure.level}, but the highest grade of the qrels is {highest}"
    if family.has_level and family.level and not has_level and relevant_from > family.level:
        other = measure._replace(level=relevant_from)
        yield (
            f"counts from grade {family.level}, but scoring.relevant_from is {relevant_from}; write {other}, or state "
            f"rel={family.level}"
        )
    if measure.in_characters and not protocol.cites_posts:
        yield "counts characters of citations; it needs judging.layout = 'citation' or the format bolt-xml"
    columns = protocol.runs.columns
    if measure.family.startswith("label") and (columns is None or "label" not in columns.order):
        yield "compares the labels of runs; it needs the column label in runs.columns.order"
