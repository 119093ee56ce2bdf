"""The data of plots: what the script on the page gets."""

from assay import plots


def test_bars_have_their_values_and_those_of_all_runs() -> None:
    plot = plots.bars(
        "t", "By topic", [("A.1", 0.123456), ("A.2", 0.0)], up="AP", mean=0.5, others=[(0.1, 0.9), (0.2, 0.3)]
    )

    assert plot.data["labels"] == ["A.1", "A.2"]
    assert {series["name"]: series["values"] for series in plot.data["series"]} == {
        "value": [0.1235, 0.0],
        "median": [0.1, 0.2],
        "best": [0.9, 0.3],
        "mean": [0.5],
    }


def test_a_mean_without_an_interval_has_no_ends() -> None:
    rows = [plots.Interval("a", 0.5, 0.4, 0.6, is_own=True), plots.Interval("b", 0.2, None, None)]

    mean, low, high = plots.intervals("b", "Board", rows, across="AP").data["series"]

    assert (mean["values"], mean["own"]) == ([0.5, 0.2], [True, False])
    assert (low["values"], high["values"]) == ([0.4, None], [0.6, None])


def test_a_line_is_interrupted_where_there_is_no_value() -> None:
    plot = plots.lines("l", "Lines", ["1", "2"], [("x", [0.25, None])], across="k", up="P")

    assert plot.data["series"] == [{"name": "x", "values": [0.25, None]}]
    assert plot.script_id == "plot-l"


def test_costs_mark_depths_of_the_curve_only() -> None:
    plot = plots.costs(
        "c", "Costs", [3, 5], [0.12345, 0.2], [(2, "the protocol"), (9, "the budget")], across="Depth"
    )

    assert plot.data["labels"] == ["1", "2"]
    assert plot.data["series"] == [
        {"name": "units", "values": [3, 5]},
        {"name": "hours", "values": [0.1235, 0.2]},
        {"name": "marks", "values": [2], "texts": ["the protocol"]},
    ]


def test_shares_have_the_numbers_of_each_part() -> None:
    rows = [("ada", [("High", 3), ("Low", 1)]), ("bob", [("High", 0), ("Low", 2)])]

    plot = plots.shares("s", "Choices", rows, across="Percent", up="Assessor")

    assert plot.data["labels"] == ["ada", "bob"]
    assert plot.data["series"] == [{"name": "High", "values": [3, 0]}, {"name": "Low", "values": [1, 2]}]
    assert plots.shares("s", "Choices", [], across="Percent", up="Assessor").data["series"] == []
