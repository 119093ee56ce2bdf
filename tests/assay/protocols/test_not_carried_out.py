"""Every key of a protocol is used by code that does something, or is listed as not carried out."""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import pytest

from assay.protocols.description import facts
from assay.protocols.loader import SINGULAR, load_protocol, parse_protocol, shipped_text
from assay.protocols.not_carried_out import NOT_CARRIED_OUT
from assay.protocols.schema import Protocol

ROOT = Path(__file__).parents[3]
PACKAGES = ("assay", "corpus", "tracks", "pooling", "assessment", "scoring")
ONLY_READS = {"loader.py", "description.py", "not_carried_out.py", "former.py"}  # of assay/protocols


def keys_of(table: type = Protocol, parent: str = "") -> Iterator[tuple[str, str]]:
    """Each key as it is written in a file, with the attribute that has its value; without keys below listed tables."""
    hints = get_type_hints(table)
    for field in fields(table):
        key = f"{parent}{SINGULAR.get(field.name, field.name)}"
        if key == "text":
            continue
        yield key, field.name
        inner = dataclass_in(hints[field.name])
        if inner and key not in NOT_CARRIED_OUT:
            yield from keys_of(inner, f"{key}.")


def dataclass_in(hint: Any) -> type | None:
    """The dataclass of a table, an optional table or a list of tables."""
    kinds = [kind for kind in (hint, *get_args(hint)) if kind is not NoneType]
    return next((kind for kind in kinds if is_dataclass(kind) and isinstance(kind, type)), None)


@cache
def used_attributes() -> frozenset[str]:
    """The names after a dot in the packages, outside imports and outside the modules that only read protocols."""
    names: set[str] = set()
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        if path.parent != ROOT / "assay" / "protocols" or path.name not in ONLY_READS:
            code = re.sub(r"^\s*(from|import) .*$", "", path.read_text(), flags=re.MULTILINE)
            code = re.sub(r'action="[^"]*"', "", code)  # names of events in the audit log
            names.update(re.findall(r"\.([a-z_]+)\b", code))
    return frozenset(names)


def test_key_has_an_effect_or_is_listed() -> None:
    unused = {key for key, attribute in keys_of() if attribute not in used_attributes()}

    assert unused <= set(NOT_CARRIED_OUT), "list a key without effect"


@pytest.mark.parametrize("reason", NOT_CARRIED_OUT.values())
def test_description_of_a_protocol_says_what_is_not_carried_out(reason: str) -> None:
    bolt = shipped_text("bolt-ir-p3") + "\n[published]\ntopics = 150\n"

    descriptions = dict(facts(parse_protocol(bolt, name="bolt.toml"))).values()

    assert any(reason in words for words in descriptions)


@pytest.mark.parametrize("slug", ["trec-adhoc", "arqmath-2020-task1"])
def test_protocol_without_such_keys_says_nothing_about_them(slug: str) -> None:
    words = " ".join(words for _, words in facts(load_protocol(slug)))

    assert "This version of Assay" not in words
