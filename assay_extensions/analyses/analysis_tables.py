"""Tables of the stored results of analyses, for pages and files of the site."""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from assay.errors import plural
from assay.tables import Cell, Table

Result = Mapping[str, Any]  # plain values of the statistics


def units_table(counts: Sequence[tuple[str, Result]], level: int) -> Table:
    """Judged and relevant units per topic.

    Args:
        counts: name of each qrels, and the plain values of their `QrelsSummary`.
        level: grade from which a unit is relevant.
    """
    rows: list[tuple[Cell, ...]] = []
    for name, summary in counts:
        numbers = (
            itemgetter("minimum", "maximum", "mean", "total")(summary[units])
            for units in ("judged", "relevant")
        )
        rows.append((name, summary["n_topics"], *next(numbers), *next(numbers)))
    header = ("qrels", "topics", "judged min", "judged max", "judged mean", "judged",
              "relevant min", "relevant max", "relevant mean", "relevant")  # fmt: skip
    description = f"a unit is relevant from grade {level}"
    return Table("units", description, header, rows, title="Judged and relevant units per topic")


def comparison_tables(
    name: str, title: str, measure: str, runs: Sequence[str], comparison: Result
) -> Iterator[Table]:
    """Means and places of the same runs in several columns, then the correlation of every two columns.

    Args:
        name, title: prefix of the names, and of the titles.
        runs: tags, in the order of the comparison.
        comparison: the plain values of a `RankingComparison`.
    """
    columns = list(zip(comparison["names"], comparison["n_topics"], strict=True))
    means = tuple(f"{column} ({plural(n, 'topic')})" for column, n in columns)
    places = tuple(f"place, {column}" for column, _ in columns)
    rows: list[tuple[Cell, ...]] = [
        (run, *(of_runs[n] for of_runs in comparison["means"]), *(ranks[n] for ranks in comparison["ranks"]))
        for n, run in enumerate(runs)
    ]
    rows.append(("mean gap between neighbors", *comparison["gap"], *(None for _ in columns)))
    description = "mean of each run, and its place"
    yield Table(name, description, ("run", *means, *places), rows, title=f"{title}: {measure}")
    pairs: list[tuple[Cell, ...]] = [
        (columns[i][0], columns[j][0], comparison["tau"][i][j], comparison["tau_ap"][i][j])
        for i in range(len(columns))
        for j in range(i + 1, len(columns))
    ]
    yield Table(
        f"{name}_tau",
        "Kendall's tau-b, and AP correlation with ties: 1 for equal rankings, 0 for unrelated, -1 for reversed",
        ("first", "second", "tau", "tau AP"),
        pairs,
        title=f"{title}: correlation of the rankings by {measure}",
    )


def qrels_comparison_tables(result: Result) -> Iterator[Table]:
    """The same runs scored with several qrels."""
    names = [
        f"version {qrels['version']}" + (f" ({qrels['name']})" if qrels["name"] else "")
        for qrels in result["qrels"]
    ]
    yield units_table(list(zip(names, result["units"], strict=True)), result["level"])
    runs = _tags(result)
    for n, (measure, columns) in enumerate(result["measures"].items(), 1):
        comparison = {**columns, "names": names}
        yield from comparison_tables(f"qrels_{n}", "By each qrels", measure, runs, comparison)


def instance_tables(result: Result) -> Iterator[Table]:
    """The same runs scored over instances of formulas, and over visually distinct formulas."""
    yield units_table(list(zip(result["names"], result["units"], strict=True)), result["level"])
    for n, (measure, columns) in enumerate(result["measures"].items(), 1):
        yield from comparison_tables(
            f"instances_{n}", "Instances and distinct formulas", measure, _tags(result), columns
        )


def _tags(result: Result) -> list[str]:
    return [run["tag"] for run in result["runs"]]


def reusability_tables(result: Result) -> Iterator[Table]:
    """The effect of leaving out each team, and of shallower pools."""
    runs, measures, teams = _tags(result), result["measures"], result["teams"]
    yield Table(
        "teams",
        f"units that only the runs of this team contributed to the pool; relevant from grade {result['level']}",
        ("team", "runs scored", "pooled", "judged", "relevant"),
        [
            (team["team"], len(team["changes"]), team["n_pooled"], team["n_judged"], team["n_relevant"])
            for team in teams
        ],
        title="Units that only one team contributed",
    )
    yield Table(
        "left_out",
        "each run scored without the judgments of units that only its team contributed, and its place among all runs",
        ("team", "run", "measure", "with", "without", "change", "place with", "place without"),
        [
            (team["team"], runs[change["run"]], measure, before, after, after - before, *places)
            for team in teams
            for change in team["changes"]
            for measure, before, after, *places in zip(
                measures, *itemgetter("before", "after", "rank_before", "rank_after")(change), strict=True
            )
        ],
        title="A team left out: its scores and places",
    )
    yield Table(
        "left_out_tau",
        "Kendall's tau-b of the rankings with and without the units that only this team contributed",
        ("team", *measures),
        [(team["team"], *team["tau"]) for team in teams],
        title="A team left out: the ranking of all runs",
    )
    n_relevant = result["units"]["relevant"]["total"]
    yield Table(
        "depths",
        "units in less deep pools of the same runs, and the ranking by them compared with that by all qrels",
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
                *itemgetter("label", "n_pooled", "n_judged", "n_relevant")(point),
                point["n_relevant"] / n_relevant if n_relevant else 0.0,
                *of_measure,
            )
            for point in result["depths"]
            for of_measure in zip(measures, *itemgetter("tau", "tau_ap", "largest_move")(point), strict=True)
        ],
        title="Shallower pools",
    )


def topic_tables(result: Result) -> Iterator[Table]:
    """Rankings by fewer topics, and how many pairs of runs differ significantly."""
    yield Table(
        "topics",
        "rankings by random samples of topics: Kendall's tau-b with the ranking by all topics, the range of 95 % of "
        "these, tau-b with a ranking by as many other topics, and the share of pairs that these two order differently",
        ("measure", "topics", "tau", "low", "high", "tau of two halves", "swaps"),
        [
            (measure, *itemgetter("n_topics", "tau", "tau_low", "tau_high", "split_tau", "swaps")(point))
            for measure, statistics in result["measures"].items()
            for point in statistics["points"]
        ],
        title="Fewer topics",
    )
    n_runs = len(result["runs"])
    yield Table(
        "discrimination",
        "share of pairs of runs that differ significantly at 0.05 (randomized Tukey HSD), and the difference it takes",
        ("measure", "pairs", "share significant", "difference needed"),
        [
            (measure, n_runs * (n_runs - 1) // 2, statistics["share_significant"], statistics["critical"])
            for measure, statistics in result["measures"].items()
        ],
        title="Discriminative power",
    )


def judge_tables(result: Result) -> list[Table]:
    """The rankings by either judge: how similar they are, and the ranking by the first and second judge."""
    correlations: list[tuple[Cell, ...]] = []
    places: list[tuple[Cell, ...]] = []
    for side in result["judges"]:
        for measure, ranking in side["measures"].items():
            numbers = (side["topics"], side["units"], ranking["tau"][0][1], ranking["tau_ap"][0][1])
            correlations.append((*side["names"], measure, *numbers))
    first = result["judges"][0]
    for measure, ranking in first["measures"].items():
        for n, run in enumerate(result["runs"]):
            columns = [
                value for side in (0, 1) for value in (ranking["means"][side][n], ranking["ranks"][side][n])
            ]
            places.append((measure, run["team"], run["tag"], *columns))
    return [
        Table(
            "judges",
            "Kendall's tau-b and tau_AP of the rankings by the grades of two judges, on the units that both graded",
            ("judge", "other judge", "measure", "topics", "units", "tau", "tau AP"),
            correlations,
            title="Rankings by two judges",
        ),
        Table(
            "judge_ranks",
            "means and ranks of the runs by the grades of the first and of the second judge of each unit",
            (
                "measure",
                "team",
                "run",
                "mean by the first",
                "rank",
                "mean by the second",
                "rank by the second",
            ),
            places,
            title="The leaderboard by either judge",
        ),
    ]


TABLES = {
    "reusability": reusability_tables,
    "topics": topic_tables,
    "compare": qrels_comparison_tables,
    "instances": instance_tables,
    "judges": judge_tables,
}


def tables_of(kind: str, result: Result) -> list[Table]:
    """The tables of a finished analysis; `kind` is a key of `TABLES`."""
    return list(TABLES[kind](result))
