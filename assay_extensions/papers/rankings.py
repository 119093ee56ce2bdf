"""Rankings of the same runs, as tables: by class of topics, over instances, and by group of assessors.

They are tables 6 to 8 of the paper that `comparison` follows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assay.statistics.ranking_comparison import ALL, UNLABELED, RankingComparison
from assay.tables.paper import Column, Group, PaperTable, Row, Value, number
from assay_extensions.papers.facts import PaperCollection, Rankings, in_order
from assay_extensions.papers.overview import default_measures

Statistic = Callable[[RankingComparison], NDArray[np.float64] | NDArray[np.int64]]

CORRELATIONS: dict[str, Statistic] = {
    "Kendall's tau": lambda table: table.tau,
    "AP correlation": lambda table: table.tau_ap,
}
DIFFERENCES: dict[str, Statistic] = {
    "Swapped pairs of runs": lambda table: table.swaps,
    "Mean places moved": lambda table: table.moves,
}


def complexity_table(
    collections: Sequence[PaperCollection], *, measures: Sequence[str] = (), label: str = "", digits: int = 4
) -> PaperTable:
    """Table 6: how the rankings by every two classes of topics differ, and the mean gap between neighbors.

    The baselines are runs and teams.
    """
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
    classes = in_order([name for name in names if name not in {ALL, UNLABELED}])
    pairs = tuple(combinations(classes, 2))
    n_teams = [
        len({run.team.casefold() for run in collection.track.runs if run.means}) for collection, _ in shown
    ]
    counts = {"Teams": n_teams, "Runs": [table.means.shape[1] for table in tables]}
    ranked = tuple((Value(name), *map(number, of_tables)) for name, of_tables in counts.items())
    groups = [Group("Ranked", ranked)]
    for name, statistic in (CORRELATIONS | DIFFERENCES).items():  # empty if a table lacks one of two rankings
        rows = [
            (
                Value(" – ".join(pair)),
                *(_cell_of_rankings(table, statistic(table), pair, digits) for table in tables),
            )
            for pair in pairs
        ]
        groups.append(Group(name, tuple(rows)))
    gaps = [
        (Value(name), *(_cell_of_rankings(table, table.gap, (name,), digits) for table in tables))
        for name in (*classes, ALL)
    ]
    groups.append(Group("Mean gap between neighbors", tuple(gaps)))
    return PaperTable(
        "complexity",
        "Rankings by topic class",
        f"Rankings of runs by the {label.lower() or 'class'} of topics: Kendall's tau-b and AP correlation of "
        "every two rankings, the pairs of runs that they order differently, the places that a run moves on average, "
        "and the mean difference of neighbors in each ranking. Where it is small, small changes of "
        "means change the ranking.",
        tuple(columns),
        tuple(groups) if pairs else (),
        "statistic",
    )


def _cell_of_rankings(
    table: RankingComparison,
    values: NDArray[np.float64] | NDArray[np.int64],
    names: tuple[str, ...],
    digits: int,
) -> Value:
    """The value for these rankings as a cell; empty where it is not defined, or a ranking is missing."""
    is_there = {*names} <= {*table.names}
    return _defined(values[tuple(map(table.names.index, names))], digits) if is_there else Value("")


def _defined(value: np.float64 | np.int64, digits: int) -> Value:
    return number(value.item() if np.isfinite(value) else None, digits)


CAPTIONS = {
    "instances": "The same runs scored over all instances of formulas, and over visually distinct formulas, each at "
    "the rank of its first instance.",
    "groups": "The same runs scored by the judgments of all assessors, and by those of each group, over all instances "
    "of formulas and over visually distinct formulas where both are known.",
}


def instances_tables(
    collections: Sequence[PaperCollection], measures: Sequence[str], digits: int
) -> Iterator[PaperTable]:
    """Table 8: the runs over all instances of formulas, and over distinct formulas."""
    return _rankings(
        "instances",
        "Instances and distinct formulas",
        lambda collection: {"": collection.instances} if collection.instances else {},
        collections,
        measures,
        digits,
    )


def groups_tables(
    collections: Sequence[PaperCollection], measures: Sequence[str], digits: int
) -> Iterator[PaperTable]:
    """Table 7: the runs by group of assessors, over all instances of formulas and over distinct formulas."""
    return _rankings(
        "groups", "Groups of assessors", lambda collection: collection.groups, collections, measures, digits
    )


def _rankings(
    name: str,
    title: str,
    of_collection: Callable[[PaperCollection], Mapping[str, Rankings]],
    collections: Sequence[PaperCollection],
    wanted: Sequence[str],
    digits: int,
) -> Iterator[PaperTable]:
    """Tables of the same runs in several rankings. Collections with equal columns share a table."""
    by_columns: dict[tuple[Column, ...], list[Group]] = {}
    named = [
        (collection, units, rankings)
        for collection in collections
        for units, rankings in of_collection(collection).items()
    ]
    for collection, units, rankings in named:
        wanted_here = default_measures(collection.track, wanted)
        measures = [measure for measure in wanted_here if measure in rankings.by_measure]
        tables = [rankings.by_measure[measure] for measure in measures]
        columns = tuple(
            Column(column, measure, is_number=True, is_over_measure=True)
            for measure, table in zip(measures, tables, strict=True)
            for column in table.names
        )
        rows = tuple(_ranking_rows(rankings.runs, tables, digits)) if tables else ()
        over = f"{collection.track.name}, {units}" if units else collection.track.name
        by_columns.setdefault(columns, []).append(Group(over, rows))
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
