"""The comparison of test collections, from facts about them."""

from dataclasses import replace

import numpy as np
import pytest
from lxml import etree

from assay.plots import groups
from assay.protocols.loader import load_protocol
from assay.statistics.ranking_comparison import compare_by_label, compare_rankings
from assay.tables.figures import as_pgfplots, as_svg
from assay.tables.paper import PaperTable, rows_of
from assay_extensions.papers.comparison import class_label, comparison_tables, relevant_plot
from assay_extensions.papers.facts import (
    AgreementFacts,
    Example,
    PaperCollection,
    PaperRun,
    PaperTopic,
    PaperTrack,
    Rankings,
    UnitFacts,
)

LEVELS = ("low", "low", "high", "high")


def collection(name: str, relevant: tuple[int, ...] = (4, 2, 1, 0)) -> PaperCollection:
    topics = {
        f"B.{n}": PaperTopic({"complexity": level}, {0: 1, 1: 9 - count, 3: count})
        for n, (level, count) in enumerate(zip(LEVELS, relevant, strict=True))
    }
    runs = (PaperRun("Ours", "a", "primary"), PaperRun("Org", "tf", "baseline", is_baseline=True))
    track = PaperTrack(name, load_protocol("arqmath-2021-task2"), runs, ("AP",), 4, topics)
    scores = np.array([[0.9, 0.7, 0.1, 0.1], [0.5, 0.3, 0.6, 0.4], [0.2, 0.0, 0.9, 0.9]])
    labels = {code: topic.labels["complexity"] for code, topic in topics.items()}
    means = np.array([[0.5, 0.4, 0.3], [0.1, 0.2, 0.3]])
    columns = compare_rankings(["instances", "distinct formulas"], means, [4, 4])
    return PaperCollection(
        track,
        source="Posts",
        n_documents=1000,
        by_label={"complexity": {"AP": compare_by_label(scores, list(topics), labels)}},
        instances=Rankings(("a", "b", "c"), {"AP": columns}),
    )


def named(tables: list[PaperTable], name: str) -> PaperTable:
    return next(table for table in tables if table.name == name)


def test_collections_are_side_by_side() -> None:
    tables = comparison_tables([collection("One"), collection("Two", (0, 0, 0, 8))])

    assert [table.name for table in tables] == [
        "classes", "collections", "judging", "units", "extremes", "complexity", "relevant", "instances"
    ]  # fmt: skip
    assert rows_of(named(tables, "collections"))[0] == [
        "One", "Posts", "visually distinct formulas", "1", "2", "4", "4", "1000"
    ]  # fmt: skip
    assert ["Judged instances", "at most 5", "at most 5"] in rows_of(named(tables, "judging"))
    assert rows_of(named(tables, "units"))[1][2:] == ["4", "10", "10", "10.0", "40", "0", "8", "2.0", "8"]


def test_splits_have_rows_of_their_own_and_classes_an_example() -> None:
    facts = collection("One")
    topics = {
        code: topic._replace(split="train" if code == "B.3" else "test", text=rf"$\frac{{{code}}}{{2}}$")
        for code, topic in facts.track.topics.items()
    }
    tables = comparison_tables([replace(facts, track=replace(facts.track, topics=topics)), collection("Two")])

    assert rows_of(named(tables, "classes")) == [
        ["One, test", "3", "2", "1", "67", "33", r"B.0: $\frac{B.0}{2}$", r"B.2: $\frac{B.2}{2}$"],
        ["One, train", "1", "0", "1", "0", "100", "", r"B.3: $\frac{B.3}{2}$"],
        ["Two", "4", "2", "2", "50", "50", "", ""],
        ["All", "8", "4", "4", "50", "50", "", ""],
    ]
    assert [(row[0], row[2], row[-2]) for row in rows_of(named(tables, "units"))] == [
        ("One, test", "3", "2.3"), ("One, train", "1", "0.0"), ("Two", "4", "1.8")
    ]  # fmt: skip
    assert rows_of(named(tables, "extremes"))[:4] == [
        ["One, test", "Fewest judged", "10", "B.0 and 2 more", r"$\frac{B.0}{2}$"],
        ["One, test", "Most judged", "10", "B.0 and 2 more", r"$\frac{B.0}{2}$"],
        ["One, test", "Fewest relevant", "1", "B.2", r"$\frac{B.2}{2}$"],
        ["One, test", "Most relevant", "4", "B.0", r"$\frac{B.0}{2}$"],
    ]


def test_rankings_by_complexity_are_compared_pair_by_pair_with_their_gaps() -> None:
    rows = rows_of(named(comparison_tables([collection("One")]), "complexity"))

    assert rows == [
        ["Ranked", "Teams", "0"],
        ["Ranked", "Runs", "3"],
        ["Kendall's tau", "low – high", "-1.0000"],
        ["AP correlation", "low – high", "-1.0000"],
        ["Swapped pairs of runs", "low – high", "3"],
        ["Mean places moved", "low – high", "1.3333"],
        ["Mean gap between neighbors", "low", "0.3500"],
        ["Mean gap between neighbors", "high", "0.4000"],
        ["Mean gap between neighbors", "all topics", "0.0250"],
    ]


def test_runs_are_ranked_by_instances_and_by_distinct_formulas() -> None:
    table = named(comparison_tables([collection("One")], digits=2), "instances")

    assert [column.over for column in table.columns] == ["", "AP", "AP"]
    assert rows_of(table) == [
        ["One", "a", "0.50", "0.10"], ["One", "b", "0.40", "0.20"], ["One", "c", "0.30", "0.30"],
        ["One", "Kendall's tau with instances", "", "-1.00"],
        ["One", "AP correlation with instances", "", "-1.00"],
    ]  # fmt: skip


def test_rankings_by_groups_are_compared_pair_by_pair() -> None:
    means = np.array([[0.5, 0.4, 0.3], [0.5, 0.3, 0.4], [0.1, 0.2, 0.3]])
    groups = compare_rankings(["all judgments", "graduate", "undergraduate"], means, [4, 4, 3])
    facts = replace(collection("One"), groups={"": Rankings(("a", "b", "c"), {"AP": groups})})

    rows = rows_of(named(comparison_tables([facts], digits=2), "groups"))

    assert rows[3:] == [
        ["One", "Topics", "4", "4", "3"],
        ["One", "Kendall's tau with all judgments", "", "0.33", "-1.00"],
        ["One", "Kendall's tau with graduate", "", "", "-0.33"],
        ["One", "AP correlation with all judgments", "", "0.50", "-1.00"],
        ["One", "AP correlation with graduate", "", "", "-0.25"],
    ]


def test_figure_stacks_relevant_units_by_grade_and_group() -> None:
    both = collection("One & <only>")
    students = UnitFacts({"B.0": {1: 2, 3: 5}}, 1)
    plot = relevant_plot([replace(both, by_group={"students": students}), collection("Two", (0, 0, 0, 8))])

    assert plot is not None
    assert plot.labels == ["low", "high"]
    assert [(series["name"], series["stack"], series["values"]) for series in plot.series] == [
        ("High", "One & <only>", [3.0, 0.5]),
        ("High", "One & <only>, students", [5.0, None]),
        ("Low", "One & <only>, students", [2.0, None]),
        ("High", "Two", [0.0, 4.0]),
    ]
    picture = etree.fromstring(as_svg(plot))
    texts = [element.text for element in picture.iter("{*}text")]
    assert {"low", "high", "Complexity", "Relevant units", "4"} <= set(texts)
    assert [texts.count(name) for name in ("High", "Low", "One & <only>", "Two")] == [1, 1, 2, 2], (
        "each grade once in the legend, each bar by its name"
    )
    bars = {bar.findtext("{*}title"): bar for bar in picture.findall("{*}rect") if len(bar)}
    high, low = (bars[f"One & <only>, students, {grade}, low: {n}"] for grade, n in (("High", 5), ("Low", 2)))
    assert bars["Two, High, high: 4"].get("fill") == high.get("fill") != low.get("fill"), "a color per grade"
    assert high.get("x") == low.get("x")
    top = float(low.get("y", "")) + float(low.get("height", ""))
    assert top == pytest.approx(float(high.get("y", "")), abs=0.2), "one stands on the other"
    latex = as_pgfplots(plot)
    assert latex.count(r"\addlegendentry{High}") == latex.count(r"\addlegendentry{Low}") == 1
    assert r"xticklabels={{One \& \textless{}only\textgreater{}}, {One" in latex
    assert "extra x ticks={0,...,1}, extra x tick labels={{low}, {high}}" in latex
    assert r"\addplot[fill=relevant1, draw=none] coordinates {(0.267,0) (1.267,4)};" in latex
    assert latex.index("relevant2, draw=none] coordinates {(0.000,7)};") < latex.index(
        "relevant1, draw=none, forget plot] coordinates {(0.000,5)};"
    )
    assert r"\definecolor{relevant2}{HTML}{B3541E}" in latex


def test_legend_of_the_figure_has_as_many_lines_as_its_names_need() -> None:
    names = [f"A rather long name {n}" for n in range(4)]
    plot = groups("kappa", "Kappa", ["a"], [(name, [0.5]) for name in names], across="Assessor", up="Kappa")

    picture = etree.fromstring(as_svg(plot))
    names = [each for each in picture.iter("{*}text") if (each.text or "").startswith("A rather")]
    places = [(float(each.get("x", "")), float(each.get("y", ""))) for each in names]
    assert places[0][0] == places[3][0], "three in a line"
    assert max(y for _, y in places) < float(picture.get("height", ""))


def test_figure_is_over_distinct_formulas_where_they_are_known() -> None:
    facts = collection("One")
    of_all = UnitFacts({"B.0": {3: 2}, "B.1": {3: 1}}, 2)
    facts = replace(
        facts,
        units={"distinct formulas": of_all},
        by_group={"students": UnitFacts({"B.0": {3: 5}}, 2)},
        distinct_by_group={"students": UnitFacts({"B.0": {3: 4}}, 2)},
    )

    plot = relevant_plot([facts])

    assert plot is not None
    assert [series["values"] for series in plot.series] == [[1.5, None], [4.0, None]]


def test_first_hits_that_look_like_the_formula_of_the_topic_are_counted() -> None:
    facts = collection("One")
    queries = (r"\int_0^\infty \frac{\sin x}{x}\,dx", "a^2+b^2", "x", "y")
    topics = {
        code: topic._replace(latex=latex)
        for (code, topic), latex in zip(facts.track.topics.items(), queries, strict=True)
    }
    hits = {"B.0": ["1", 0], "B.1": ["2", 1], "B.2": ["3", 3]}  # no document of B.3 is judged
    ours, theirs = facts.track.runs
    runs = (ours._replace(first={"0": 1, "1": 1, "-1": 2}, first_hits=hits), theirs._replace(first={"0": 4}))
    track = replace(facts.track, topics=topics, runs=runs)
    latex = {"1": r"\int_0^{\infty}\frac{\cos x}{x}dx", "2": r"\sum_{n} n", "3": "x"}

    known, unknown = (
        named(comparison_tables([replace(facts, track=track, latex=given)]), "first") for given in (latex, {})
    )

    assert rows_of(known) == [
        ["One", "Org: tf", "4", "", "", "4", "0"],
        ["One", "Ours: a", "4", "2", "1", "2", "2"],
    ]
    assert rows_of(unknown)[1][4] == "", "without LaTeX, nobody knows"


def test_agreement_and_several_instances_are_side_by_side() -> None:
    first = replace(collection("One"), agreement=AgreementFacts(3, 40, 0.48, None, 0.5), several=(609, 5800))

    tables = comparison_tables([first, collection("Two")], digits=2)

    assert rows_of(named(tables, "agreement")) == [["One", "3", "40", "0.48", "", "0.50"]]
    assert [
        "Several instances judged", "609 of 5,800 formulas (10.5 %)", "–"
    ] in rows_of(named(tables, "judging"))  # fmt: skip


def test_examples_are_of_a_topic_with_comments_on_most_grades() -> None:
    examples = [
        Example("B.0", "7", 3, "same integral"),
        Example("B.1", "8", 3, "good", "x^2"),
        Example("B.1", "9", 3, "a good one", "y^2"),
        Example("B.1", "10", 0, "other <b>", "z"),
    ]
    facts = replace(collection("One"), examples=examples)

    own, wanted = (named(comparison_tables([facts], topic=topic), "examples") for topic in ("", "B.0"))

    assert rows_of(own) == [
        ["One, B.1", "High", "9", "$y^2$", "a good one"],
        ["One, B.1", "Not relevant", "10", "$z$", "other <b>"],
    ]
    assert rows_of(wanted) == [["One, B.0", "High", "7", "", "same integral"]]


def test_classes_are_those_of_a_label_that_most_collections_have() -> None:
    def labeled(name: str, *labels: str) -> PaperCollection:
        topics = {
            f"{n}": PaperTopic(dict.fromkeys(labels, value), {0: 2 - n, 2: n})
            for n, value in enumerate(("low", "High"))
        }
        return PaperCollection(PaperTrack(name, load_protocol("trec-adhoc"), (), (), 2, topics))

    collections = [
        labeled("One", "category", "Difficulty"),
        labeled("Two", "difficulty"),
        labeled("Three", "color"),
    ]

    assert class_label(collections) == "difficulty"
    assert class_label([*collections, labeled("Four", "Complexity")]) == "complexity"
    assert class_label(collections, "color") == "color"
    plot = relevant_plot(collections)
    assert plot is not None
    assert (plot.across, plot.labels) == ("Difficulty", ["low", "High"])
    assert [series["stack"] for series in plot.series] == ["One", "Two"]


def test_without_labels_there_is_no_figure() -> None:
    bare = PaperCollection(PaperTrack("Bare", load_protocol("trec-adhoc")))

    assert relevant_plot([bare]) is None
    assert [table.name for table in comparison_tables([bare])] == ["collections", "judging"]


def test_beginning_of_a_topic_has_whole_formulas() -> None:
    long = "x" * 200
    texts = {
        "Which?": "Which?",
        f"Why is ${long} y$ so?": f"Why is ${long} y$ so?",
        "word " * 40: "word " * 15 + "word …",
        f"${'x' * 900}$": " …",
    }

    assert {text: PaperTopic({}, text=text).shown for text in texts} == texts
