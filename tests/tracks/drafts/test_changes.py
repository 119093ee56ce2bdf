"""Changes of one key keep all other bytes of a file: proved with the shipped protocols."""

import random
import tomllib
from collections.abc import Iterator

import pytest

from assay import structure
from assay.protocols.loader import shipped_slugs, shipped_text
from assay.protocols.schema import Protocol
from tracks.drafts.changes import CannotChange, Change, changed
from tracks.drafts.fields import SECTIONS, Form
from tracks.drafts.lines import lines_of, text_of

TEXT = shipped_text("trec-adhoc")


def keys_in(kind: type, data: object, path: str = "") -> Iterator[tuple[str, object, type | None]]:
    """The keys that a file has: path, value, and the class of its tables."""
    for key, (_, hint) in structure.keys(kind).items():
        value = data.get(key) if isinstance(data, dict) else None
        place, inner = f"{path}.{key}".lstrip("."), structure.table_in(hint)
        if value is not None:
            yield place, value, inner
        if inner is not None and isinstance(value, list):
            for n, each in enumerate(value, 1):
                yield from keys_in(inner, each, f"{place}[{n}]")
        elif inner is not None:
            yield from keys_in(inner, value, place)


def changes_of(path: str, value: object, inner: type | None) -> Iterator[list[Change]]:
    """Changes of a key, each with the one that takes it back."""
    if inner is None:
        other = {bool: not value, int: 7, float: 0.25, list: ["zz"], dict: {"x": 1}}.get(type(value), "zz")
        yield [Change(path, "set", other), Change(path, "set", value)]
        yield [Change(path, "unset"), Change(path, "set", value)]
    elif isinstance(value, list):
        yield [Change(path, "add", {"key": "n"}), Change(f"{path}[{len(value) + 1}]", "remove")]
        for n in range(1, len(value)):
            yield [Change(f"{path}[{n}]", "move", 1), Change(f"{path}[{n + 1}]", "move", -1)]


@pytest.mark.parametrize("slug", shipped_slugs())
def test_change_and_back_gives_the_same_bytes(slug: str) -> None:
    text = shipped_text(slug)
    assert text_of(lines_of(text)) == text
    steps = [pair for key in keys_in(Protocol, tomllib.loads(text)) for pair in changes_of(*key)]

    for there, back in random.Random(slug).sample(steps, 12):
        other = changed(text, there, text)
        assert other != text, there
        assert changed(other, back, text) == text, there


def test_only_the_line_of_a_key_changes() -> None:
    text = changed(TEXT, Change("runs.max_ranks", "set", 50))

    assert text == TEXT.replace("max_ranks = 1000", "max_ranks = 50")


def test_new_table_is_put_where_files_have_it_with_its_comments_around() -> None:
    commented = TEXT.replace("[pool]", "# How deep\n[pool]")

    text = changed(commented, Change("runs.columns.order", "set", ["topic", "docno"]))

    assert '\n[runs.columns]\norder = ["topic", "docno"]\n' in text
    assert "\n\n# How deep\n[pool]\n" in text


def test_table_that_is_not_there_is_refused() -> None:
    with pytest.raises(CannotChange):
        changed(TEXT, Change("judging.grade[9]", "remove"))


def test_each_key_of_the_schema_has_a_field() -> None:
    shown = {path for section in SECTIONS.values() for path in paths(Form({}).section(section))}

    assert shown >= {
        key
        for key in structure.keys(Protocol)
        if structure.table_in(structure.keys(Protocol)[key][1]) is None
    }
    for table in ("topics", "runs", "pool", "judging", "qrels", "scoring", "agreement"):
        kind = structure.table_in(structure.keys(Protocol)[table][1])
        assert {f"{table}.{key}" for key in structure.keys(kind)} <= shown, table


def paths(fields: object) -> Iterator[str]:
    for each in fields:  # type: ignore[attr-defined]
        yield each.path
        yield from paths(each.fields)
