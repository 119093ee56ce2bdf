"""What analyses found, as tables: plain values under a head, for pages and files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Cell = str | int | float | None
Found = Mapping[str, Any]


class Table(NamedTuple):
    """Rows under a head. A number that is not defined is None."""

    name: str
    title: str
    says: str
    header: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


def units_table(counts: Sequence[tuple[str, Found]], level: int) -> Table:
    """Judged and relevant units a topic of one or more qrels, each with its name."""
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            one["n_topics"],
            *(
                one[of][what]
                for of in ("judged", "relevant")
                for what in ("minimum", "maximum", "mean", "total")
            ),
        )
        for name, one in counts
    ]
    header = ("qrels", "topics", "judged min", "judged max", "judged mean", "judged",
              "relevant min", "relevant max", "relevant mean", "relevant")  # fmt: skip
    says = f"a unit is relevant from grade {level}"
    return Table("units", "Judged and relevant units a topic", says, header, rows)


def comparison_tables(
    name: str, title: str, measure: str, runs: Sequence[str], found: Found
) -> Iterator[Table]:
    """The same runs in several columns, as `SideBySide.as_json` has them: means, and how alike the rankings are."""
    columns = list(zip(found["names"], found["n_topics"], strict=True))
    heads = tuple(f"{column} ({n} topics)" for column, n in columns)
    places = tuple(f"place, {column}" for column, _ in columns)
    rows: list[tuple[Cell, ...]] = [
        (run, *(means[n] for means in found["means"]), *(ranks[n] for ranks in found["ranks"]))
        for n, run in enumerate(runs)
    ]
    rows.append(("mean gap between neighbors", *found["gap"], *(None for _ in columns)))
    yield Table(
        name, f"{title}: {measure}", "mean of each run, and its place", ("run", *heads, *places), rows
    )
    pairs: list[tuple[Cell, ...]] = [
        (columns[i][0], columns[j][0], found["tau"][i][j], found["tau_ap"][i][j])
        for i in range(len(columns))
        for j in range(i + 1, len(columns))
    ]
    says = "Kendall's tau-b, and AP correlation with ties: 1 the same, 0 unrelated, -1 reversed"
    header = ("first", "second", "tau", "tau AP")
    yield Table(f"{name}_tau", f"{title}: how alike the rankings are by {measure}", says, header, pairs)


def beside_tables(found: Found) -> Iterator[Table]:
    """The same runs by several qrels."""
    named = [
        f"version {one['version']}" + (f" ({one['name']})" if one["name"] else "") for one in found["qrels"]
    ]
    yield units_table(list(zip(named, found["units"], strict=True)), found["level"])
    runs = _tags(found)
    for n, (measure, columns) in enumerate(found["measures"].items(), 1):
        yield from comparison_tables(
            f"qrels_{n}", "By each qrels", measure, runs, {**columns, "names": named}
        )


def _tags(found: Found) -> list[str]:
    return [one["tag"] for one in found["runs"]]


def reusability_tables(found: Found) -> Iterator[Table]:
    """One team left out, and shallower pools."""
    runs, measures, teams = _tags(found), found["measures"], found["teams"]
    yield Table(
        "teams",
        "What each team alone brought",
        f"units that no other team's runs brought to the pool; relevant from grade {found['level']}",
        ("team", "runs scored", "pooled", "judged", "relevant"),
        [
            (one["team"], len(one["changes"]), one["n_pooled"], one["n_judged"], one["n_relevant"])
            for one in teams
        ],
    )
    yield Table(
        "left_out",
        "Had the team not taken part: its scores and places",
        "each run scored without the judgments that its team alone found, and its place among all runs then",
        ("team", "run", "measure", "with", "without", "change", "place with", "place without"),
        [row for one in teams for change in one["changes"] for row in _changes(one, change, runs, measures)],
    )
    yield Table(
        "left_out_tau",
        "Had the team not taken part: the ranking of all runs",
        "Kendall's tau-b of the rankings with and without what the team alone found",
        ("team", *measures),
        [(one["team"], *one["tau"]) for one in teams],
    )
    n_relevant = found["units"]["relevant"]["total"]
    yield Table(
        "depths",
        "Shallower pools",
        "pools of the same runs to less depth: what they hold, and the ranking by them beside that by all qrels",
        (
            "depth",
            "pooled",
            "judged",
            "relevant",
            "of all relevant",
            "measure",
            "tau",
            "tau AP",
            "largest move",
        ),
        [
            (
                point["label"],
                point["n_pooled"],
                point["n_judged"],
                point["n_relevant"],
                point["n_relevant"] / n_relevant if n_relevant else 0.0,
                measure,
                point["tau"][n],
                point["tau_ap"][n],
                point["largest_move"][n],
            )
            for point in found["depths"]
            for n, measure in enumerate(measures)
        ],
    )


def _changes(
    team: Found, change: Found, runs: Sequence[str], measures: Sequence[str]
) -> Iterator[tuple[Cell, ...]]:
    for n, measure in enumerate(measures):
        before, after = change["before"][n], change["after"][n]
        yield (
            team["team"],
            runs[change["run"]],
            measure,
            before,
            after,
            after - before,
            change["rank_before"][n],
            change["rank_after"][n],
        )


def topic_tables(found: Found) -> Iterator[Table]:
    """Fewer topics, and how many pairs of runs are told apart."""
    yield Table(
        "topics",
        "Fewer topics",
        "rankings by some topics, drawn over and over: Kendall's tau-b with the ranking by all, where 95 % of them "
        "lie, that with a ranking by as many other topics, and the share of pairs that the two put in opposite order",
        ("measure", "topics", "tau", "low", "high", "tau of two halves", "swaps"),
        [
            (
                measure,
                point["n_topics"],
                point["tau"],
                point["tau_low"],
                point["tau_high"],
                point["split_tau"],
                point["swaps"],
            )
            for measure, one in found["measures"].items()
            for point in one["points"]
        ],
    )
    n_runs = len(found["runs"])
    yield Table(
        "discrimination",
        "Discriminative power",
        "share of the pairs of runs that randomized Tukey HSD tells apart at 0.05, and the difference that it takes",
        ("measure", "pairs", "share told apart", "difference needed"),
        [
            (measure, n_runs * (n_runs - 1) // 2, one["told_apart"], one["critical"])
            for measure, one in found["measures"].items()
        ],
    )


TABLES = {"reusability": reusability_tables, "topics": topic_tables, "beside": beside_tables}


def tables_of(kind: str, found: Found) -> list[Table]:
    """The tables of a finished analysis."""
    return list(TABLES[kind](found))
