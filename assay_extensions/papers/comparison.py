"""A comparison of test collections: their size, how they were judged, and what that does to the ranking of runs.

The tables and the figure follow Mansouri, Oard, Agarwal and Zanibbi, Effects of Context, Complexity, and Clustering on
Evaluation for Math Formula Retrieval (2021): tables 1 (topics by complexity), 2 (collections) and 5 (judged and
relevant units), and figure 2 (relevant units by complexity). `rankings` has tables 6 to 8, `examples` table 4.
Collections are side by side; a collection whose topics have splits, such as train and test, has a row for each.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from assay import plots
from assay.errors import plural
from assay.protocols.description import label_title
from assay.protocols.schema import UNITS
from assay.protocols.strategies import POOL_STRATEGIES
from assay.statistics.qrels_summary import Grades, summarize
from assay.statistics.ranking_comparison import DISTINCT
from assay.tables.paper import Column, Group, PaperTable, Value, mean_count, number, words
from assay_extensions.papers.examples import agreement_table, examples_table, first_table, relevance
from assay_extensions.papers.facts import PaperCollection, PaperTopic, in_order
from assay_extensions.papers.overview import label_values, teams_of
from assay_extensions.papers.rankings import complexity_table, groups_tables, instances_tables

COMPLEXITY = "complexity"


def class_label(collections: Sequence[PaperCollection], wanted: str = "") -> str:
    """The label that divides the topics of all collections into classes; empty if there is none.

    It is the wanted one, the complexity if a collection has it, or else the first one that most collections have.
    """
    names = [name.casefold() for collection in collections for name in collection.track.labels]
    if wanted:
        return wanted
    if COMPLEXITY in names:
        return COMPLEXITY
    return max(names, key=names.count, default="")


def comparison_tables(
    collections: Sequence[PaperCollection],
    *,
    measures: Sequence[str] = (),
    label: str = "",
    level: int | None = None,
    digits: int = 4,
    topic: str = "",
) -> list[PaperTable]:
    """All tables that have something to compare.

    Args:
        measures: to print; if empty, all of the tracks but the shares of judged documents.
        label: of topics; if empty, their complexity, or the first label that most tracks have.
        level: grade from which a unit counts as relevant; if None, that of each protocol.
        digits: decimals of the values.
        topic: whose units are examples of the grades; if empty, or without comments, one with comments on most grades.
    """
    label = class_label(collections, label)
    tables = [
        classes_table(collections, label=label),
        collections_table(collections),
        judging_table(collections),
        agreement_table(collections, digits=digits),
        units_table(collections, level=level),
        extremes_table(collections, level=level),
        first_table(collections, level=level),
        examples_table(collections, topic=topic),
        complexity_table(collections, measures=measures, label=label, digits=digits),
        relevant_table(collections, label=label, level=level),
        *instances_tables(collections, measures, digits),
        *groups_tables(collections, measures, digits),
    ]
    return [table for table in tables if table.n_rows]


def classes_table(collections: Sequence[PaperCollection], *, label: str = "") -> PaperTable:
    """Table 1: topics by class, with an example of each class. Topics without qrels count if no topic has them."""
    classes = _classes(collections, label)
    counted: dict[str, list[int]] = {}
    examples: dict[str, list[str]] = {}
    for collection in collections:
        track, members = collection.track, [_members(collection, label, value) for value in classes]
        for part, topics in track.parts.items():
            of_class = [
                {code: topic for code, topic in by_code.items() if code in topics} for by_code in members
            ]
            if any(of_class):
                n_used = sum(topic.grades is not None or not track.n_topics for topic in topics.values())
                counted[part] = [n_used, *map(len, of_class)]
                examples[part] = [
                    next(
                        (f"{code}: {topic.shown}" for code, topic in by_code.items() if topic.text),
                        "",
                    )
                    for by_code in of_class
                ]
    columns = [Column("Collection"), Column("Topics", is_number=True)]
    columns += [Column(value, label_title(label).capitalize(), is_number=True) for value in classes]
    columns += [Column(value, "Percent", is_number=True) for value in classes]
    columns += [Column(value, "Example", is_topic=True) for value in classes]
    if len(counted) > 1:
        counted["All"] = [sum(column) for column in zip(*counted.values(), strict=True)]
        examples["All"] = [""] * len(classes)
    rows = [
        (
            *(Value(part), *map(number, numbers)),
            *(number(100 * n / max(numbers[0], 1), 0) for n in numbers[1:]),
            *words(*examples[part]),
        )
        for part, numbers in counted.items()
    ]
    title = f"Topics by {label_title(label.lower()) or 'class'}"
    caption = f"{title}: those that the qrels have, or all if there are none, with an example of each class."
    return PaperTable("classes", title, caption, tuple(columns), (Group("", tuple(rows)),))


def collections_table(collections: Sequence[PaperCollection]) -> PaperTable:
    """Table 2: what each collection consists of. A number that nobody stated has no column; baselines are no team."""
    sizes: dict[str, list[int | None]] = {
        "Teams": [len(teams_of(collection.track.runs)) for collection in collections],
        "Runs": [len(collection.track.runs) for collection in collections],
        "Topics": [len(collection.track.topics) for collection in collections],
        "Assessed": [collection.track.n_topics for collection in collections],
        "Documents": [collection.n_documents for collection in collections],
        "Formulas": [collection.n_formulas for collection in collections],
    }
    known = {name: numbers for name, numbers in sizes.items() if any(n is not None for n in numbers)}
    columns = (
        *(Column("Collection"), Column("Content source"), Column("Unit")),
        *(Column(name, is_number=True) for name in known),
    )
    rows = tuple(
        (
            *words(collection.track.name, collection.source, UNITS[collection.track.protocol.unit]),
            *map(number, of_collection),
        )
        for collection, *of_collection in zip(collections, *known.values(), strict=True)
    )
    return PaperTable(
        "collections",
        "Test collections",
        "Test collections: where the documents come from, what runs retrieve, teams, submitted runs with the "
        "baselines, topics and those that the qrels have, and documents and formulas to search if they are known.",
        columns,
        (Group("", rows),),
    )


def judging_table(collections: Sequence[PaperCollection]) -> PaperTable:
    """The way each collection was judged. A column for each collection, because the answers are words."""
    columns = (Column("Rule"), *(Column(collection.track.name) for collection in collections))
    rules = [_judging(collection) for collection in collections]
    rows = tuple(words(name, *(of_collection[name] for of_collection in rules)) for name in rules[0])
    caption = "How the units of each test collection were chosen and judged."
    return PaperTable("judging", "Pools and judging", caption, columns, (Group("", rows),))


def _judging(collection: PaperCollection) -> dict[str, str]:
    protocol = collection.track.protocol
    pool, judging, instances = protocol.pool, protocol.judging, protocol.instances
    depths = protocol.runs.depths if collection.depths is None else collection.depths
    if len(set(depths.values())) == 1:
        depth = str(next(iter(depths.values())))
    else:
        depth = ", ".join(f"{protocol.runs.name_of(kind)} {k}" for kind, k in depths.items())
    clustered = {"none": "no", "submitted": "submitted formulas", "collection": "all formulas"}
    ranks = "one answer" if protocol.is_of_answers else f"{protocol.runs.max_ranks:,}"
    n_several, n_formulas = collection.several or (0, 0)
    several = f"{n_several:,} of {n_formulas:,} formulas ({100 * n_several / (n_formulas or 1):.1f} %)"
    has_context = judging.form is None and not judging.judged.has_votes and not protocol.is_of_answers
    context = "in context" if judging.in_context else "alone"
    return {
        "Ranks of a run": ranks if protocol.runs.kinds else "–",
        "Pool": POOL_STRATEGIES[pool.strategy].cell,
        "Pool depth": depth or (plural(pool.target, "unit") if pool.target else "–"),
        "Shown": context if has_context else "–",
        "Clustered": clustered[instances.clustering],
        "Judged instances": f"at most {instances.limit}" if instances.limit else "all",
        "Judged in part": collection.partly or "–",
        "Several instances judged": several if n_formulas else "–",
        "Grades": ", ".join(f"{grade.label} {grade.value}" for grade in judging.grades),
        "Assessors per unit": f"{judging.judges}{', summed' * (protocol.qrels.aggregate == 'sum')}",
        "Groups": ", ".join(judging.groups) or "–",
        "Relevant from": str(protocol.scoring.relevant_from),
        "Unjudged units": "removed" if protocol.scoring.judged_only else "not relevant",
    }


def units_table(collections: Sequence[PaperCollection], *, level: int | None = None) -> PaperTable:
    """Table 5: judged and relevant units per topic, of the qrels, their instances, and groups of assessors."""
    parts = ("Min", "Max", "Mean", "Total")
    columns = [Column("Units"), Column("Topics", is_number=True)]
    columns += [Column(part, of, is_number=True) for of in ("Judged", "Relevant") for part in parts]
    groups = []
    for collection in collections:
        track = collection.track
        counts = {UNITS[track.protocol.unit]: track.units, **collection.units, **collection.by_group}
        for part, topics in track.parts.items():
            rows = []
            for name, units in counts.items():
                counted = [units.by_topic[code] for code in topics if code in units.by_topic]
                counts_of_units = summarize(counted, level=units.level(level))
                spreads = [
                    (
                        number(spread.minimum),
                        number(spread.maximum),
                        mean_count(spread.mean),
                        number(spread.total),
                    )
                    for spread in (counts_of_units.judged, counts_of_units.relevant)
                ]
                if counted:
                    rows.append((Value(name), number(counts_of_units.n_topics), *spreads[0], *spreads[1]))
            if rows:
                groups.append(Group(part, tuple(rows)))
    caption = f"Judged and relevant units per topic. {relevance(level)}"
    return PaperTable(
        "units", "Judged and relevant units", caption, tuple(columns), tuple(groups), "collection"
    )


def extremes_table(collections: Sequence[PaperCollection], *, level: int | None = None) -> PaperTable:
    """The topics with the fewest and the most judged and relevant units, by name: the ends of table 5."""
    groups = []
    for collection in collections:
        levels = {"judged": 0, "relevant": collection.track.units.level(level)}
        for part, topics in collection.track.parts.items():
            assessed = {code: topic for code, topic in topics.items() if topic.grades is not None}
            rows = []
            for kind, lowest in levels.items() if assessed else ():
                counts = {code: topic.n_from(lowest) for code, topic in assessed.items()}
                for which, end in {"Fewest": min(counts.values()), "Most": max(counts.values())}.items():
                    first, *others = (code for code, n in counts.items() if n == end)
                    name = f"{first} and {len(others)} more" if others else first
                    rows.append((Value(f"{which} {kind}"), number(end), *words(name, assessed[first].shown)))
            if rows:
                groups.append(Group(part, tuple(rows)))
    columns = (
        *(Column("Extreme"), Column("Units", is_number=True)),
        *(Column("Topic"), Column("Text", is_topic=True)),
    )
    caption = f"The topics with the fewest and the most judged and relevant units. {relevance(level)}"
    title = "Topics with the fewest and the most units"
    return PaperTable("extremes", title, caption, columns, tuple(groups), "collection")


class Bar(NamedTuple):
    """The units of the topics of each class, by all judgments of a collection or by those of a group of assessors.

    `grades` are the relevant ones with their labels, the highest first; `by_class` has the counts of each topic.
    """

    name: str
    level: int
    grades: Mapping[int, str]
    by_class: Sequence[Sequence[Grades]]

    def means(self, lowest: int, highest: float = inf) -> list[float | None]:
        """The mean number of units with grades within limits, over the topics of each class; None without topics."""
        counts = [
            [sum(n for grade, n in units.items() if lowest <= grade <= highest) for units in topics]
            for topics in self.by_class
        ]
        return [sum(numbers) / len(numbers) if numbers else None for numbers in counts]

    @property
    def by_grade(self) -> dict[str, list[float | None]]:
        """The mean units of each relevant grade, by its label."""
        return {label: self.means(grade, grade) for grade, label in self.grades.items()}


def _bars(
    collections: Sequence[PaperCollection], label: str, classes: Sequence[str], level: int | None
) -> Iterator[Bar]:
    for collection in collections:
        track = collection.track
        members = [_members(collection, label, value) for value in classes]
        # over distinct formulas where they are known
        by_group = collection.distinct_by_group or collection.by_group
        groups = {f"{track.name}, {group}": units for group, units in by_group.items()}
        is_sum = track.protocol.qrels.aggregate == "sum"
        names = {grade.value: grade.label for grade in track.protocol.judging.grades}
        for name, units in ({track.name: collection.units.get(DISTINCT, track.units)} | groups).items():
            by_class = [
                [units.by_topic[code] for code in codes if code in units.by_topic] for codes in members
            ]
            counts, lowest = [grades for topics in by_class for grades in topics], units.level(level)
            labels = {} if is_sum and name not in groups else names
            used = {grade for grades in counts for grade in grades if grade >= max(lowest, 0)}
            if counts:
                shown = {grade: labels.get(grade, f"Grade {grade}") for grade in sorted(used, reverse=True)}
                yield Bar(name, lowest, shown, by_class)


def relevant_table(
    collections: Sequence[PaperCollection], *, label: str = "", level: int | None = None
) -> PaperTable:
    """The values of figure 2: relevant units of a topic, by class of topics, grade and group of assessors."""
    columns = [Column("Topics")]
    classes, name = _classes(collections, label), label_title(label.lower()) or "class"
    rows = [[Value(value)] for value in classes]
    for bar in _bars(collections, label, classes, level):
        means = {"Judged": bar.means(0), **bar.by_grade, "Relevant": bar.means(max(bar.level, 0))}
        columns += [Column(part, bar.name, is_number=True) for part in ("Topics", *means)]
        for row, topics, *of_class in zip(rows, bar.by_class, *means.values(), strict=True):
            row += [number(len(topics) or None), *map(mean_count, of_class)]
    counted = [tuple(row) for row in rows if any(cell.text for cell in row[1:])]
    return PaperTable(
        "relevant",
        "Relevant units by topic class",
        f"Judged units of a topic, relevant ones by grade: means over the topics of each {name}; over visually "
        f"distinct formulas where they are known. {relevance(level)}",
        tuple(columns),
        (Group("", tuple(counted)),),
    )


def _classes(collections: Sequence[PaperCollection], label: str) -> list[str]:
    """The values of the labels by which the collections are compared, in their order."""
    names = dict.fromkeys(collection.label(label) for collection in collections)
    tracks = [collection.track for collection in collections]
    values = dict.fromkeys(value for name in names if name for value in label_values(tracks, name) if value)
    return in_order(
        [value for value in values if any(_members(collection, label, value) for collection in collections)]
    )


def _members(collection: PaperCollection, label: str, value: str) -> dict[str, PaperTopic]:
    """The topics of a class that count: those of the qrels, or all if there are no qrels."""
    name, track = collection.label(label), collection.track
    return {
        code: topic
        for code, topic in (track.topics.items() if name else ())
        if track.label(topic, name) == value and (topic.grades is not None or not track.n_topics)
    }


def relevant_plot(
    collections: Sequence[PaperCollection], *, label: str = "", level: int | None = None
) -> plots.Plot | None:
    """Figure 2: mean relevant units of a topic, by class of topics, stacked by grade; None without labels."""
    label = class_label(collections, label)
    classes = _classes(collections, label)
    bars = list(_bars(collections, label, classes, level))
    if not bars:
        return None
    parts = [(bar.name, grade, means) for bar in bars for grade, means in bar.by_grade.items()]
    series, stacks = [(grade, means) for _, grade, means in parts], [name for name, *_ in parts]
    name = label_title(label.lower())
    title = f"Relevant units of a topic by {name}"
    return plots.groups(
        "relevant", title, classes, series, across=name.capitalize(), up="Relevant units", stacks=stacks
    )
