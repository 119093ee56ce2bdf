"""Dataclasses from data: what is accepted, and that everything wrong is named."""

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import pytest

from assay import plots
from assay.digests import RunningSha256, sha256_of, sha256_of_file
from assay.structure import WrongStructure, structured


@dataclass(frozen=True)
class Item:
    name: str
    share: float = 0.5
    only: str | None = None


@dataclass(frozen=True)
class Settings:
    word: Literal["comma", "white-space"]
    items: tuple[Item, ...] = field(metadata={"key": "item"})
    first: Item | None
    files: str | tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    rest: dict[str, Any] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=list)
    source: str = field(default="", metadata={"key": ""})


GOOD = {"word": "comma", "item": [{"name": "a"}]}


def test_data_becomes_a_dataclass() -> None:
    data = {
        **GOOD, "first": {"name": "b", "share": 1, "only": None}, "files": ["x", "y"], "counts": {"n": 3},
        "rest": {"any": [1, None]}, "numbers": [1, 2],
    }  # fmt: skip

    settings = structured(Settings, data, source="file")

    assert settings == Settings(
        "comma", (Item("a"),), Item("b", 1.0), ("x", "y"), {"n": 3}, {"any": [1, None]}, [1, 2], "file"
    )
    assert structured(Settings, GOOD | {"files": "x"}).files == "x"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"word": " "}, "word: ' ' is not allowed; did you mean white-space? Use comma, white-space"),
        ({"word": 1}, "word: 1 is not allowed; use comma, white-space"),
        ({"item": {"name": "a"}}, "item: expected a list of tables; write [[item]] with double brackets"),
        ({"item": "a"}, "item: expected a list, such as [...], got 'a'"),
        ({"item": [{}]}, "item[1].name: missing; this key is required"),
        ({"item": [{"nam": "a"}]}, "item[1].nam: unknown key; did you mean name? Allowed here: name, only, share"),
        ({"first": [{"name": "a"}]}, "first: expected one table; write [first] with single brackets"),
        ({"first": 2}, "first: expected a table, got 2"),
        ({"share": 1}, "share: unknown key; it belongs in [[item]] or [first]; allowed here: counts, files"),
        ({"files": 3}, "files: expected a string, got 3"),
        ({"files": [3]}, "files[1]: expected a string, got 3"),
        ({"counts": {"n": 1.5}}, "counts.n: expected a whole number, got 1.5"),
        ({"counts": {"n": True}}, "counts.n: expected a whole number, got True"),
        ({"counts": {"n": 11}}, "counts.n: the number must be finite and at most 10"),
        ({"item": [{"name": "a", "share": float("nan")}]}, "item[1].share: the number must be finite"),
        ({"source": "x"}, "source: unknown key; allowed here: counts"),
    ],
)  # fmt: skip
def test_wrong_key_or_value_is_named(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(WrongStructure) as wrong:
        structured(Settings, GOOD | change, most=10)

    (only,) = wrong.value.problems
    assert only.startswith(problem)


def test_all_problems_are_named() -> None:
    with pytest.raises(WrongStructure) as wrong:
        structured(Settings, {"item": [{"name": 1}, {}], "color": 1})

    assert [problem.partition(":")[0] for problem in wrong.value.problems] == [
        "color", "word", "item[1].name", "item[2].name"
    ]  # fmt: skip


def test_all_digests_are_sha256_in_hexadecimal() -> None:
    data = b"assay" * 100_000
    file = io.BytesIO(data)
    file.seek(7)
    running = RunningSha256()
    running.update(data[:10])
    running.update(data[10:])

    expected = hashlib.sha256(data).hexdigest()
    assert sha256_of(data) == sha256_of_file(file) == running.value == expected


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

    plot = plots.shares("s", "Choices", rows, across="Percent", up="Assessor", gray={"Low"})

    assert plot.data["labels"] == ["ada", "bob"]
    assert plot.data["series"] == [
        {"name": "High", "values": [3, 0]},
        {"name": "Low", "values": [1, 2], "gray": True},
    ]
    assert plots.shares("s", "Choices", [], across="Percent", up="Assessor").data["series"] == []
