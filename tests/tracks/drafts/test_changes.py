"""Changes of one key keep all other bytes of a file: proved with the shipped protocols."""

import random
import tomllib
from collections.abc import Iterator
from typing import Any, get_origin

import pytest

from assay import structure
from assay.errors import Refused
from assay.protocols.loader import shipped_slugs, shipped_text
from assay.protocols.schema import Protocol
from tracks.drafts.changes import Change, changed
from tracks.drafts.fields import Form
from tracks.drafts.lines import lines_of, text_of
from tracks.drafts.schema import SECTIONS, order, without_numbers

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


def test_text_of_several_lines_keeps_its_form_without_a_base() -> None:
    source = tomllib.loads(TEXT)["source"]

    text = changed(TEXT, Change("source", "set", f"{source} Changed."))

    assert text.count(" \\\n") == TEXT.count(" \\\n") > 0
    assert changed(text, Change("source", "set", source)).splitlines()[-1] == TEXT.splitlines()[-1]
    assert tomllib.loads(changed(TEXT, Change("source", "set", "a  b\nc")))["source"] == "a  b\nc"


def test_table_that_is_not_there_is_refused() -> None:
    with pytest.raises(Refused, match="Change it in the TOML"):
        changed(TEXT, Change("judging.grade[9]", "remove"))


def test_each_key_of_the_schema_has_a_field_in_tables_too() -> None:
    form = Form(with_all_tables(Protocol))

    shown = {without_numbers(path) for each in SECTIONS.values() for path in paths(form.section(each))}

    always = {key for key, (_, hint) in structure.keys(Protocol).items() if structure.table_in(hint)}
    assert shown | always == set(order())


def with_all_tables(kind: type) -> dict[str, Any]:
    """Data with each table that a file may have, and one table in each list; questions are of a kind with choices."""
    tables = {key: (structure.table_in(hint), hint) for key, (_, hint) in structure.keys(kind).items()}
    made = {key: (with_all_tables(inner), hint) for key, (inner, hint) in tables.items() if inner}
    data = {key: [table] if get_origin(hint) is tuple else table for key, (table, hint) in made.items()}
    return data | ({"kind": "one-of"} if "kind" in tables and "choice" in tables else {})


def paths(fields: object) -> Iterator[str]:
    for each in fields:  # type: ignore[attr-defined]
        yield each.path
        yield from paths(each.fields)
        for item in each.items:
            yield from paths(item.fields)
