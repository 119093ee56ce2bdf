"""Messages and help of the loader in the words of the form: labels in place of keys, meanings in place of values.

A key has a dot or an underscore, or is followed by its value, as in `frame = true` and `max, 5`. A value is in
quotation marks or has a hyphen, or follows the name of its key, as in `the kind span`.
"""

import re
from collections import ChainMap
from collections.abc import Mapping
from functools import cache, lru_cache

from tracks.drafts.schema import (
    is_key,
    order,
    parent_of,
    section_of,
    spec_of,
    without_numbers,
)

PHRASES = {
    "leave the key out": "leave it empty",
    "it is a key of": "it is for",
    "is not the key of a grade": "is not a grade",
    ", or question:choice": "",
    " (its key)": "",
    " (`question:choice`)": "",
    " (`topic.LABEL:value`)": "",
    "missing; this key is required": "to fill in",
    "the table describes": "this describes",
    "If left out:": "If it is empty:",
    "Left out:": "If it is empty:",
    "Without the key,": "If it is empty,",
}
EMPTY = re.compile(r"^(['\"])\s*\1 is not (accepted(?=;))?")
MEASURE = re.compile(r"^(?:'[^']*'|\"[^\"]*\"): (there is no measure) ['\"](.*?)['\"](?=;|$)")
SWITCH = {"true": "yes", "false": "no"}
KEY = r"[a-z_]++(?:(?:\[\d++\])?\.[a-z_]++)*+"
START = r"(?<![\w.\]])"  # of a key, not of one of its parts
PARTS = re.compile(
    rf"`?{START}({KEY})( = | is (?=['\"]))('[^']*'|\"[^\"]*\"|[\w-]+)`?"
    rf"|\[\[?({KEY})\]\]?|{START}({KEY})(?=, -?\d)"
    rf"|`?{START}([a-z]+_[a-z_]+|[a-z_]++(?:(?:\[\d++\])?\.[a-z_]++)+)`?"
)
VALUE = r"['`]?[a-z][\w-]*['`]?(?!\w|\.\w)"


@lru_cache(maxsize=2048)
def in_form_words(text: str, path: str) -> str:
    """Return a message or help about a key with the words of the form in place of those of files."""
    for phrase, replacement in PHRASES.items():
        text = text.replace(phrase, replacement)
    text = MEASURE.sub(r"\1 \2", text)
    text = EMPTY.sub(lambda match: "to fill in" if match[2] else "to fill in with ", text)
    place = without_numbers(path)
    text = _values().sub(lambda match: _value_in_words(match, place), text)
    return PARTS.sub(lambda match: _key_in_words(match, place), text)


@cache
def _meanings() -> Mapping[str, Mapping[str, str]]:
    """The meanings of the values of lists, by the last word of their keys without an s."""
    meanings: dict[str, dict[str, str]] = {}
    for path in order():
        if values := spec_of(path).key.values:
            meanings.setdefault(path.rpartition(".")[2].removesuffix("s"), {}).update(values)
    return meanings


@cache
def _values() -> re.Pattern[str]:
    nouns = "|".join(_meanings())
    return re.compile(
        rf"\b({nouns}|[Uu]se|on|of)s? ({VALUE}(?:(?:, | and | or ){VALUE})*)"
        r"|(?<!= )(?<! is )(['`])([\w-]+)\3|\b(?<!['\"])([a-z]+-[\w-]+)"
    )


def _value_in_words(match: re.Match[str], place: str) -> str:
    noun, listed, mark, quoted, hyphenated = match.groups()
    is_own = mark == "`" or (is_key(place) and spec_of(place).hint in (str, tuple[str, ...]))
    known = spec_of(place).key.values if is_own else _values_in(place)
    if noun:
        meanings = _meanings().get(noun, known)
        words = re.sub(r"['`]?([\w-]+)['`]?", lambda match: _quoted(match, match[1], meanings), listed)
        return f"{match[0].removesuffix(listed)}{words}"
    if hyphenated:
        return _quoted(match, hyphenated, ChainMap(*map(dict, (_values_in(place), *_meanings().values()))))
    return _quoted(match, quoted, {**SWITCH, **known})


@cache
def _values_in(place: str) -> Mapping[str, str]:
    """The meanings of the values of a key, of the others in its table, and of those in it."""
    places = [place, *(key for key in order() if parent_of(key) in (place, parent_of(place)))]
    return ChainMap(*(dict(spec_of(key).key.values) for key in places if is_key(key)))


def _quoted(match: re.Match[str], value: str, meanings: Mapping[str, str]) -> str:
    return f"“{meanings[value].rstrip('.')}”" if value in meanings else match[0]


def _key_in_words(match: re.Match[str], place: str) -> str:
    name, link, value, *others = match.groups()
    name = name or next(filter(None, others))
    paths = (f"{table}.{name}".lstrip(".") for table in (place, parent_of(place), ""))
    path = next(filter(is_key, paths), "")
    if not path:
        return match[0]
    spec, section = spec_of(path), section_of(path)
    label = f"“{spec.key.label}”{'' if section == section_of(place) else f' in {section.title}'}"
    bare = (value or "").strip("'\"")
    meaning = ChainMap({**spec.key.values}, SWITCH).get(bare, "")
    return f"{label}{link}{f'“{meaning}”' if meaning else value}" if link else label
