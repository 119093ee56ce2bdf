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
