"""A comparison of test collections: their size, how they were judged, and what that does to the ranking of runs.

The tables and the figure follow Mansouri, Oard, Agarwal and Zanibbi, Effects of Context, Complexity, and Clustering on
Evaluation for Math Formula Retrieval (2021): tables 1 and 2 (collections and judging), 5 (judged and relevant units),
6 (rankings by topic complexity), 7 (instances and distinct formulas), 8 (groups of assessors), and figure 2 (relevant
units by complexity). Collections are side by side.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import plots
from assay.measures.scores import STEPS, step_or_name
from assay.papers.facts import TopicFacts, TrackFacts
from assay.papers.overview import NO_LABEL, default_measures, label_values
from assay.papers.tables import Column, Group, PaperTable, Row, Value, mean_count, number, words
from assay.protocols.description import UNITS
from assay.statistics.qrels_summary import Grades, summarize
from assay.statistics.ranking_comparison import ALL, UNLABELED, RankingComparison

COMPLEXITY = "complexity"
INSTANCES, DISTINCT = "instances", "distinct formulas"
EVERYBODY = "all judgments"

ByMeasure = Mapping[str, RankingComparison]
Correlation = Callable[[RankingComparison], NDArray[np.float64]]

CORRELATIONS: dict[str, Correlation] = {
    "Kendall's tau": lambda table: table.tau,
    "AP correlation": lambda table: table.tau_ap,
}


class Rankings(NamedTuple):
    """The same runs in several rankings, by measure; `runs` has their names in the order of the arrays."""

    runs: tuple[str, ...]
    by_measure: ByMeasure


class UnitFacts(NamedTuple):
    """How many units have each grade, by topic, and the grade from which the protocol counts one as relevant."""

    by_topic: Mapping[str, Grades]
    relevant_from: int


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """A test collection: a track, its documents, and the comparisons of its runs that are known.

    Attributes
    ----------
    n_documents, n_formulas : of the collection that runs search; None if unknown.
    depths : to which each kind of run was pooled; None for those of the protocol.
    units : further qrels with their units per topic: instances, and each group of assessors.
    by_label : rankings by the values of each label, by measure.
    instances : scored over instances, and over distinct formulas.
    groups : scored by all assessors together, and by each group.
    """

    track: TrackFacts
    n_documents: int | None = None
    n_formulas: int | None = None
    depths: Mapping[str, int] | None = None
    units: Mapping[str, UnitFacts] = field(default_factory=dict)
    by_label: Mapping[str, ByMeasure] = field(default_factory=dict)
    instances: Rankings | None = None
    groups: Rankings | None = None

    def label(self, name: str) -> str:
        """A label as this collection spells it; empty if its topics do not have it."""
        names = {own.casefold(): own for own in self.track.labels}
        return names.get(name.casefold(), "")

    def level(self, wanted: int | None) -> int:
        """The grade from which a unit is relevant: the wanted one, or that of the protocol."""
        return self.track.protocol.scoring.relevant_from if wanted is None else wanted


def class_label(collections: Sequence[CollectionFacts], wanted: str = "") -> str:
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
    collections: Sequence[CollectionFacts],
    *,
    measures: Sequence[str] = (),
    label: str = "",
    level: int | None = None,
    digits: int = 4,
) -> list[PaperTable]:
    """All tables that have something to compare.

    Parameters
    ----------
    measures : to print; if empty, all of the tracks but the shares of judged documents.
    label : of topics; if empty, their complexity, or the first label that most tracks have.
    level : grade from which a unit counts as relevant; if None, that of each protocol.
    digits : decimals of the values.
    """
    label = class_label(collections, label)
    tables = [
        collections_table(collections),
        judging_table(collections),
        units_table(collections, level=level),
        complexity_table(collections, measures=measures, label=label, digits=digits),
        relevant_table(collections, label=label, level=level),
        *_rankings("instances", "Instances and distinct formulas", collections, measures, digits),
        *_rankings("groups", "Groups of assessors", collections, measures, digits),
    ]
    return [table for table in tables if table.n_rows]


def collections_table(collections: Sequence[CollectionFacts]) -> PaperTable:
    """Table 1: what each collection consists of. A number that nobody stated has no column."""
    sizes: dict[str, list[int | None]] = {
        "Topics": [len(each.track.topics) for each in collections],
        "Assessed": [each.track.n_topics for each in collections],
        "Documents": [each.n_documents for each in collections],
        "Formulas": [each.n_formulas for each in collections],
        "Runs": [len(each.track.runs) for each in collections],
        "Teams": [len({run.team.casefold() for run in each.track.runs}) for each in collections],
    }
    known = {name: numbers for name, numbers in sizes.items() if any(n is not None for n in numbers)}
    columns = (Column("Collection"), Column("Unit"), *(Column(name, is_number=True) for name in known))
    rows = tuple(
        (*words(each.track.name, UNITS[each.track.protocol.unit]), *map(number, of_collection))
        for each, *of_collection in zip(collections, *known.values(), strict=True)
    )
    return PaperTable(
        "collections",
        "Test collections",
        "Test collections: what runs retrieve, topics and those that the qrels have, documents and formulas to search "
        "if they are known, and submitted runs with their teams.",
        columns,
        (Group("", rows),),
    )


def judging_table(collections: Sequence[CollectionFacts]) -> PaperTable:
    """Table 2: how each collection was judged. A column for each collection, because the answers are words."""
    columns = (Column("Rule"), *(Column(collection.track.name) for collection in collections))
    rules = [_judging(collection) for collection in collections]
    rows = tuple(words(name, *(of_collection[name] for of_collection in rules)) for name in rules[0])
    caption = "How the units of each test collection were chosen and judged."
    return PaperTable("judging", "Pools and judging", caption, columns, (Group("", rows),))


def _judging(collection: CollectionFacts) -> dict[str, str]:
    protocol = collection.track.protocol
    pool, judging, instances = protocol.pool, protocol.judging, protocol.instances
    depths = protocol.runs.depths if collection.depths is None else collection.depths
    if len(set(depths.values())) == 1:
        depth = str(next(iter(depths.values())))
    else:
        depth = ", ".join(f"{kind} {k}" for kind, k in depths.items())
    strategies = {
        "top-k": "top k",
        "distinct-units": "top k distinct formulas",
        "round-robin-until": "round robin",
        "top-k-by-score": "top k by score",
        "known-item": "known items",
    }
    clustered = {"none": "no", "submitted": "submitted formulas", "collection": "all formulas"}
    return {
        "Ranks of a run": f"{protocol.runs.max_ranks:,}",
        "Pool": strategies[pool.strategy],
        "Pool depth": depth or (f"{pool.target} units" if pool.target else "–"),
        "Shown": "in context" if judging.in_context else "alone",
        "Clustered": clustered[instances.clustering],
        "Judged instances": f"at most {instances.limit}" if instances.limit else "all",
        "Grades": ", ".join(f"{grade.label} {grade.value}" for grade in judging.grades),
        "Assessors per unit": f"{judging.judges}{', summed' * (protocol.qrels.aggregate == 'sum')}",
        "Groups": ", ".join(judging.groups) or "–",
        "Relevant from": str(protocol.scoring.relevant_from),
        "Unjudged units": "removed" if protocol.scoring.judged_only else "not relevant",
    }


def units_table(collections: Sequence[CollectionFacts], *, level: int | None = None) -> PaperTable:
    """Table 5: judged and relevant units per topic, of the qrels, their instances, and groups of assessors."""
    parts = ("Min", "Max", "Mean", "Total")
    columns = [Column("Units"), Column("Topics", is_number=True)]
    columns += [Column(part, of, is_number=True) for of in ("Judged", "Relevant") for part in parts]
    groups = []
    for collection in collections:
        track = collection.track
        if track.n_topics:
            rows = []
            grades = {code: topic.grades for code, topic in track.topics.items() if topic.grades is not None}
            own = {UNITS[track.protocol.unit]: UnitFacts(grades, track.protocol.scoring.relevant_from)}
            for name, units in (own | dict(collection.units)).items():
                of = summarize(units.by_topic.values(), level=units.relevant_from if level is None else level)
                spreads = [
                    (number(each.minimum), number(each.maximum), mean_count(each.mean), number(each.total))
                    for each in (of.judged, of.relevant)
                ]
                rows.append((Value(name), number(of.n_topics), *spreads[0], *spreads[1]))
            groups.append(Group(track.name, tuple(rows)))
    caption = f"Judged and relevant units per topic. {_relevance(level)}"
    return PaperTable(
        "units", "Judged and relevant units", caption, tuple(columns), tuple(groups), "collection"
    )


def _relevance(level: int | None) -> str:
    """From which grade a unit is relevant, as a sentence."""
    if level is None:
        return "Each protocol has the grade from which a unit is relevant."
    return f"A unit is relevant from grade {level}."


def complexity_table(
    collections: Sequence[CollectionFacts], *, measures: Sequence[str] = (), label: str = "", digits: int = 4
) -> PaperTable:
    """Table 6: correlations of the rankings by every two classes of topics, and the mean gap between neighbors."""
    shown = [
        (collection, measure)
        for collection in collections
        if collection.label(label) in collection.by_label
        for measure in default_measures(collection.track, measures)
        if measure in collection.by_label[collection.label(label)]
    ]
    tables = [collection.by_label[collection.label(label)][measure] for collection, measure in shown]
    columns = [Column("Topics")]
    columns += [
        Column(measure, collection.track.name, is_number=True, is_measure=True)
        for collection, measure in shown
    ]
    names = dict.fromkeys(name for table in tables for name in table.names)
    classes = _in_order([name for name in names if name not in {ALL, UNLABELED}])
    pairs = tuple(combinations(classes, 2))
    groups = []
    for name, correlation in CORRELATIONS.items():  # a table that lacks one of two rankings has an empty cell
        rows = [
            (
                Value(" – ".join(pair)),
                *(_of_names(table, correlation(table), pair, digits) for table in tables),
            )
            for pair in pairs
        ]
        groups.append(Group(name, tuple(rows)))
    gaps = [
        (Value(name), *(_of_names(table, table.gap, (name,), digits) for table in tables))
        for name in (*classes, ALL)
    ]
    groups.append(Group("Mean gap between neighbors", tuple(gaps)))
    return PaperTable(
        "complexity",
        "Rankings by topic class",
        f"Rankings of runs by the {label.lower() or 'class'} of topics: Kendall's tau-b and AP correlation of "
        "every two rankings, and the mean difference of neighbors in each. Where it is small, small changes of "
        "means change the ranking.",
        tuple(columns),
        tuple(groups) if pairs else (),
        "statistic",
    )


def _of_names(
    table: RankingComparison, values: NDArray[np.float64], names: tuple[str, ...], digits: int
) -> Value:
    """The value for these rankings as a cell; empty where it is not defined, or a ranking is missing."""
    is_there = {*names} <= {*table.names}
    return _defined(values[tuple(map(table.names.index, names))], digits) if is_there else Value("")


def _defined(value: float, digits: int) -> Value:
    return number(float(value) if np.isfinite(value) else None, digits)


def relevant_table(
    collections: Sequence[CollectionFacts], *, label: str = "", level: int | None = None
) -> PaperTable:
    """The values of figure 2: relevant units of a topic, by class of topics."""
    columns = [Column("Topics")]
    parts = ("Topics", "Judged", "Relevant")
    classes = _classes(collections, label)
    labeled = [each for each in collections if any(_topics_of(each, label, value) for value in classes)]
    columns += [Column(part, each.track.name, is_number=True) for each in labeled for part in parts]
    rows = []
    for value in classes:
        cells = []
        for collection in labeled:
            topics = _topics_of(collection, label, value)
            means = [_mean(topics, lowest) for lowest in (0, collection.level(level))]
            cells += [number(len(topics) or None), *map(mean_count, means)]
        rows.append((Value(value or NO_LABEL), *cells))
    return PaperTable(
        "relevant",
        "Relevant units by topic class",
        f"Judged and relevant units of a topic, mean over the topics of each {label.lower() or 'class'}. "
        f"{_relevance(level)}",
        tuple(columns),
        (Group("", tuple(rows)),),
    )


def _mean(topics: Sequence[TopicFacts], level: int) -> float | None:
    return sum(topic.n_from(level) for topic in topics) / len(topics) if topics else None


def _classes(collections: Sequence[CollectionFacts], label: str) -> list[str]:
    """The values of the labels by which the collections are compared, in their order."""
    names = dict.fromkeys(collection.label(label) for collection in collections)
    tracks = [collection.track for collection in collections]
    values = dict.fromkeys(value for name in names if name for value in label_values(tracks, name) if value)
    used = [value for value in values if any(_topics_of(each, label, value) for each in collections)]
    return _in_order(used)


def _in_order(values: list[str]) -> list[str]:
    """Steps such as easy and high in one order, also if each collection has words of its own; others as they are."""
    are_steps = all(value.casefold() in STEPS for value in values)
    return sorted(values, key=step_or_name) if are_steps else values


def _topics_of(collection: CollectionFacts, label: str, value: str) -> list[TopicFacts]:
    """The assessed topics of a class."""
    name, track = collection.label(label), collection.track
    topics = [topic for topic in track.topics.values() if topic.grades is not None] if name else []
    return [topic for topic in topics if track.label(topic, name) == value]


def relevant_plot(
    collections: Sequence[CollectionFacts], *, label: str = "", level: int | None = None
) -> plots.Plot | None:
    """Figure 2: mean relevant units of a topic, by class of topics; None if no topic has the label."""
    label = class_label(collections, label)
    classes = _classes(collections, label)
    if not classes:
        return None
    series = [
        (
            collection.track.name,
            [_mean(_topics_of(collection, label, value), collection.level(level)) for value in classes],
        )
        for collection in collections
        if any(_topics_of(collection, label, value) for value in classes)
    ]
    name = label.lower()
    title = f"Relevant units of a topic by {name}"
    return plots.groups("relevant", title, classes, series, across=name.capitalize(), up="Relevant units")


CAPTIONS = {
    "instances": "The same runs scored over all instances of formulas, and over visually distinct formulas, each at "
    "the rank of its first instance.",
    "groups": "The same runs scored by the judgments of all assessors, and by those of each group.",
}


def _rankings(
    name: str, title: str, collections: Sequence[CollectionFacts], wanted: Sequence[str], digits: int
) -> Iterator[PaperTable]:
    """Tables 7 and 8: the same runs in several rankings. Collections with equal columns share a table."""
    by_columns: dict[tuple[Column, ...], list[Group]] = {}
    for collection in collections:
        rankings: Rankings | None = getattr(collection, name)
        if rankings is None:
            continue
        wanted_here = default_measures(collection.track, wanted)
        measures = [each for each in wanted_here if each in rankings.by_measure]
        tables = [rankings.by_measure[measure] for measure in measures]
        columns = tuple(
            Column(column, measure, is_number=True, is_over_measure=True)
            for measure, table in zip(measures, tables, strict=True)
            for column in table.names
        )
        rows = tuple(_ranking_rows(rankings.runs, tables, digits)) if tables else ()
        by_columns.setdefault(columns, []).append(Group(collection.track.name, rows))
    for n, (columns, groups) in enumerate(by_columns.items(), 1):
        own_name = f"{name}-{n}" if n > 1 else name
        table_columns = (Column("Run"), *columns)
        yield PaperTable(own_name, title, CAPTIONS[name], table_columns, tuple(groups), "collection")


def _ranking_rows(runs: Sequence[str], tables: Sequence[RankingComparison], digits: int) -> Iterator[Row]:
    """The runs, best first by the first column; then the topics if they differ, and the correlations of the columns."""
    for n in sorted(range(len(runs)), key=lambda n: (int(tables[0].ranks[0, n]), runs[n])):
        means = [float(mean) for table in tables for mean in table.means[:, n]]
        yield (Value(runs[n]), *(number(mean, digits) for mean in means))
    n_topics = [n for table in tables for n in table.n_topics]
    if len(set(n_topics)) > 1:
        yield (Value("Topics"), *map(number, n_topics))
    names = tables[0].names if len(runs) > 1 else ()
    for title, correlation in CORRELATIONS.items():
        for first, name in enumerate(names[:-1]):  # every two rankings, in the column of the second
            values = [
                _defined(correlation(table)[first, second], digits) if second > first else Value("")
                for table in tables
                for second in range(len(names))
            ]
            yield (Value(f"{title} with {name}"), *values)
