"""Dataclasses from data: what is accepted, and that everything wrong is named."""

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import pytest

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
        ({"word": "tab"}, "word: 'tab' is not allowed; did you mean white-space? Use comma, white-space"),
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
