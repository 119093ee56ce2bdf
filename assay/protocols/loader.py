"""Turns a protocol's TOML into a `Protocol`, or refuses it with file, key and allowed values.

The dataclasses of `schema` define the format: their fields are the keys, their annotations the types, and a field
with a default may be left out. `_check_rules` has the rules on ranges and on several keys.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from assay.errors import InputError
from assay.protocols import schema
from assay.protocols.former import FORMER, former_keys, upgraded
from assay.protocols.measures import Measure, MeasureError, parse_measure
from assay.protocols.schema import JudgingRules, Protocol

DIRECTORY = Path(__file__).parent / "shipped"
SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MAX_SIZE = 50_000  # characters; tomllib needs time that grows with the square of the length of a dotted key
MAX_SLUG = 100  # characters, the limit of the database column
MAX_KIND = 40  # characters of the key of a kind of run, the limit of the database column
WORD = re.compile(r"[^\s,;]{1,50}")
KEY = re.compile(r"[A-Za-z0-9_-]{1,50}")
LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})?")
MOST = 2**31 - 1  # the limit of a database column of whole numbers
HIGHEST_GRADE = 999  # as in qrels
# TOML names a list of tables in the singular.
SINGULAR = {"grades": "grade", "non_answers": "non_answer", "follow_ups": "follow_up", "kinds": "kind"}


class ProtocolError(InputError):
    """A protocol has an error. The message: `file: key: what is wrong; what is accepted`."""


def shipped_slugs() -> list[str]:
    """The slugs of the protocols that ship with Assay, sorted."""
    return sorted(path.stem for path in DIRECTORY.glob("*.toml"))


def shipped_text(slug: str) -> str:
    """The text of a shipped protocol's file."""
    if slug not in shipped_slugs():
        raise ProtocolError(f"no protocol {slug!r}; use one of {', '.join(shipped_slugs())}")
    return (DIRECTORY / f"{slug}.toml").read_bytes().decode()


def load_protocol(name: str) -> Protocol:
    """Load a shipped protocol by its slug, or any protocol by the path of its TOML file.

    Raises
    ------
    ProtocolError
        There is no such protocol or file, or it has an error.
    """
    if name in shipped_slugs():
        return parse_protocol(shipped_text(name), name=f"{name}.toml")
    path = Path(name)
    if path.suffix != ".toml" or not path.is_file():
        raise ProtocolError(
            f"no protocol {name!r}; use the path of a .toml file or one of {', '.join(shipped_slugs())}"
        )
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise ProtocolError(f"{name}: not UTF-8 (byte {error.start + 1}); TOML files are UTF-8") from None
    return parse_protocol(text, name=path.name)


def parse_protocol(text: str, *, name: str, accepts_earlier: bool = False) -> Protocol:
    """Parse and check the TOML of a protocol; messages cite `name` as the file name.

    With `accepts_earlier`, also a file that an earlier version of Assay accepted and stored.
    """
    if len(text) > MAX_SIZE:
        raise ProtocolError(f"{name}: {len(text):,} characters; a protocol has at most {MAX_SIZE:,}")
    try:
        data = tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise ProtocolError(f"{name}: not TOML: {error}") from None
    except RecursionError:
        raise ProtocolError(f"{name}: not TOML: nested too deeply") from None
    except ValueError:  # Python reads no decimal number of more than 4300 digits
        raise ProtocolError(f"{name}: not TOML: a number is too long") from None
    if "text" in data:
        raise ProtocolError(f"{name}: text: unknown key")
    data = upgraded(data) if accepts_earlier else _without_former(data, name)
    protocol: Protocol = _table(Protocol, {**data, "text": text}, name, "")
    for complaint in _check_rules(protocol):
        raise ProtocolError(f"{name}: {complaint}")
    return protocol


def _without_former(data: dict[str, object], name: str) -> dict[str, object]:
    for key in former_keys(data):
        raise ProtocolError(f"{name}: {key}: a key of Assay 0.1; {FORMER[key]}")
    return data


def _key(parent: str, child: str) -> str:
    return f"{parent}.{child}" if parent else child


def _table(kind: type, given: object, name: str, key: str) -> Any:
    """A dataclass from a TOML table; raises for unknown and missing keys."""
    data: dict[str, object] = _expect(dict, given, name, key)
    known = {SINGULAR.get(field.name, field.name): field for field in fields(kind)}
    for child in data:
        if child not in known:
            allowed = ", ".join(sorted(set(known) - {"text"}))
            raise ProtocolError(f"{name}: {_key(key, child)}: unknown key; allowed here: {allowed}")
    hints = _hints(kind)
    values = {}
    for child, field in known.items():
        if child in data:
            values[field.name] = _value(hints[field.name], data[child], name, _key(key, child))
        elif _may_be_empty(field, hints[field.name]):
            values[field.name] = _empty(field, hints[field.name], name, _key(key, child))
        else:
            raise ProtocolError(f"{name}: {_key(key, child)}: missing; this key is required")
    return kind(**values)


def _may_be_empty(field: "Field[Any]", hint: Any) -> bool:
    """Whether a key may be left out: it has a default, may be None, or is a table with only such keys."""
    if field.default is not MISSING or field.default_factory is not MISSING or NoneType in get_args(hint):
        return True
    return (
        isinstance(hint, type)
        and is_dataclass(hint)
        and all(_may_be_empty(inner, _hints(hint)[inner.name]) for inner in fields(hint))
    )


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _empty(field: "Field[Any]", hint: Any, name: str, key: str) -> Any:
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return field.default_factory()
    return None if NoneType in get_args(hint) else _table(hint, {}, name, key)


def _value(hint: Any, value: object, name: str, key: str) -> Any:
    """A value of the annotated type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _value(next(kind for kind in arguments if kind is not NoneType), value, name, key)
    if origin is Literal:
        if value not in arguments:
            raise ProtocolError(f"{name}: {key}: {_shown(value)} is not allowed; use {', '.join(arguments)}")
        return value
    if origin is tuple:
        items = _expect(list, value, name, key)
        return tuple(_value(arguments[0], item, name, f"{key}[{n}]") for n, item in enumerate(items, 1))
    if origin is Mapping:
        table = _expect(dict, value, name, key)
        return MappingProxyType(
            {item: _value(arguments[1], table[item], name, _key(key, item)) for item in table}
        )
    kind: type = hint
    return _table(kind, value, name, key) if is_dataclass(kind) else _scalar(kind, value, name, key)


def _expect(kind: type, value: object, name: str, key: str) -> Any:
    if not isinstance(value, kind):
        wanted = "a list" if kind is list else "a table"
        raise ProtocolError(f"{name}: {key}: expected {wanted}, got {_shown(value)}")
    return value


def _scalar(kind: type, value: object, name: str, key: str) -> Any:
    words = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
    is_fit = type(value) is kind or (kind is float and type(value) is int)
    if not is_fit:
        raise ProtocolError(f"{name}: {key}: expected {words[kind]}, got {_shown(value)}")
    # `not <=` also refuses NaN.
    if isinstance(value, (int, float)) and not abs(value) <= MOST:
        raise ProtocolError(f"{name}: {key}: the number must be finite and at most {MOST}")
    return kind(value)


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # a hexadecimal number that is too long to write in decimals
        return "a number that is too long to show"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _check_rules(protocol: Protocol) -> Iterator[str]:
    """Complaints about ranges, and about keys that contradict each other."""
    if not SLUG.fullmatch(protocol.slug):
        yield f"slug: {protocol.slug!r} is not a slug; use lower-case letters, digits and single hyphens"
    if len(protocol.slug) > MAX_SLUG:
        yield f"slug: {len(protocol.slug)} characters long; at most {MAX_SLUG} are accepted"
    if not protocol.title.strip() or not protocol.title.isprintable():
        yield f"title: {_shown(protocol.title)} is not one line of text"
    if not protocol.source.strip():
        yield "source: empty; cite the publication with the figures"
    yield from _check_runs(protocol)
    yield from _check_qrels_lines(protocol)
    yield from _check_pool(protocol)
    yield from _check_judging(protocol)


def _check_runs(protocol: Protocol) -> Iterator[str]:
    runs = protocol.runs
    yield from _check_formats(runs.formats)
    yield from _check_lines(runs)
    if runs.max_ranks < 1:
        yield f"runs.max_ranks: {runs.max_ranks} is below 1"
    if not runs.kinds:
        yield "runs.kind: empty; describe at least one kind of run"
    elif not runs.scored_keys:
        yield "runs.kind: no kind is scored; leave out `scored = false` in at least one"
    for n, kind in enumerate(runs.kinds):
        place = f"runs.kind[{n + 1}]"
        if kind.key in runs.keys[:n]:
            yield f"{place}.key: {kind.key!r} is the key of two kinds"
        yield from (f"{place}.{complaint}" for complaint in _check_kind(kind, runs))
    interaction = protocol.interaction
    if interaction is not None and interaction.run_kind not in runs.keys:
        yield f"interaction.run_kind: {interaction.run_kind!r} is not a kind of run; use {', '.join(runs.keys)}"


def _check_lines(runs: schema.RunRules) -> Iterator[str]:
    """Complaints about the columns of runs, and about the order of ties."""
    lines = runs.columns
    if (lines is not None) != ("columns" in runs.formats):
        yield "runs.columns: the table describes the format columns of runs.formats; use both, or neither"
    if runs.ties == "rank" and "bolt-xml" in runs.formats:
        yield "runs.ties: bolt-xml has no ranks; use docno or file"
    if lines is None:
        return
    yield from _check_order("runs.columns.order", lines.order)
    if "score" not in lines.order and "rank" not in lines.order:
        yield "runs.columns.order: names neither score nor rank, which order the documents"
    if runs.ties == "rank" and "rank" not in lines.order:
        yield "runs.ties: runs.columns.order has no rank; use docno or file"
    if ("label" in lines.order) != bool(lines.labels):
        yield "runs.columns.labels: name the words of the column label, or use neither"
    yield from _check_words("runs.columns.labels", lines.labels)


def _check_order(key: str, order: tuple[str, ...]) -> Iterator[str]:
    named = [column for column in order if column != "skip"]
    for column in dict.fromkeys(named):
        if named.count(column) > 1:
            yield f"{key}: {column} is listed twice"
    for column in ("topic", "docno"):
        if column not in named:
            yield f"{key}: {column} is missing"


def _check_words(key: str, words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if not WORD.fullmatch(word):
            yield f"{key}: {_shown(word)} is not one word of at most 50 characters without separators"


def _check_qrels_lines(protocol: Protocol) -> Iterator[str]:
    lines = protocol.qrels.columns
    if lines is None:
        return
    yield from _check_order("qrels.columns.order", lines.order)
    if "grade" not in lines.order:
        yield "qrels.columns.order: grade is missing"
    yield from _check_words("qrels.columns.words", lines.words)
    values = {grade.value for grade in protocol.judging.grades}
    for word, value in lines.words.items():
        if value not in values:
            accepted = ", ".join(map(str, sorted(values)))
            yield f"qrels.columns.words.{word}: {value} is not the value of a grade; use {accepted}"


def _check_kind(kind: schema.RunKind, runs: schema.RunRules) -> Iterator[str]:
    """Complaints about a kind of run, each with the key."""
    if not SLUG.fullmatch(kind.key) or len(kind.key) > MAX_KIND:
        yield (
            f"key: {_shown(kind.key)} is not accepted; use lower-case letters, digits and single hyphens, at most "
            f"{MAX_KIND} characters"
        )
    if not kind.title.isprintable() or kind.title != kind.title.strip():
        yield f"title: {_shown(kind.title)} is not one line of text"
    if kind.depth is not None and not 0 <= kind.depth <= runs.max_ranks:
        yield f"depth: {kind.depth} is below 0 or above runs.max_ranks, {runs.max_ranks}"
    if kind.max_per_team is not None and kind.max_per_team < 1:
        yield f"max_per_team: {kind.max_per_team} is below 1"
    yield from _check_pooled_as(kind, runs)


def _check_pooled_as(kind: schema.RunKind, runs: schema.RunRules) -> Iterator[str]:
    if kind.depth is not None and kind.pooled_as:
        yield "pooled_as: the kind has a depth of its own; use one of the two keys"
    if kind.pooled_as_by_tag and not kind.pooled_as:
        yield "pooled_as_by_tag: state in pooled_as how the runs with other tags are pooled"
    named = {"pooled_as": kind.pooled_as} if kind.pooled_as else {}
    named |= {f"pooled_as_by_tag.{tag}": other for tag, other in kind.pooled_as_by_tag.items()}
    for place, other in named.items():
        if other not in runs.depths:
            accepted = f"use {', '.join(runs.depths)}" if runs.depths else "no kind has one"
            yield f"{place}: {other!r} is not a kind with a depth; {accepted}"


def _check_formats(formats: tuple[str, ...]) -> Iterator[str]:
    if not formats:
        yield f"runs.formats: empty; use some of {', '.join(schema.RUN_FORMATS)}"
    if len(set(formats)) != len(formats):
        yield "runs.formats: a format is listed twice"
    if {"arqmath-6", "trec-6"} <= set(formats):
        yield "runs.formats: arqmath-6 and trec-6 both have six columns and cannot be distinguished; use one"


def _check_pool(protocol: Protocol) -> Iterator[str]:
    pool = protocol.pool
    needs_depth = pool.strategy in {"top-k", "distinct-units", "top-k-by-score"}
    if needs_depth and not any(protocol.runs.depths.values()):
        yield f"runs.kind: the strategy {pool.strategy} needs a depth above 0 for some kind of run"
    if pool.strategy == "round-robin-until" and not (pool.target and pool.target > 0):
        yield "pool.target: the strategy round-robin-until needs a number of units above 0"
    overlap = pool.near_duplicate_overlap
    if overlap is not None and not 0 < overlap <= 1:
        yield f"pool.near_duplicate_overlap: {overlap} is not above 0 and at most 1"
    if protocol.instances.strategy is not None and not (protocol.instances.limit or 0) > 0:
        yield f"instances.limit: the strategy {protocol.instances.strategy} needs a limit above 0"


def _check_judging(protocol: Protocol) -> Iterator[str]:
    judging = protocol.judging
    yield from _check_grades(judging)
    yield from _check_codes(protocol)
    yield from _check_follow_ups(judging)
    if judging.judges < 1:
        yield f"judging.judges: {judging.judges} is below 1"
    yield from _check_measures(protocol)


def _check_measures(protocol: Protocol) -> Iterator[str]:
    if not protocol.scoring.measures:
        yield "scoring.measures: empty; name at least one measure"
    for n, name in enumerate(protocol.scoring.measures, 1):
        try:
            measure = parse_measure(name)
        except MeasureError as error:
            yield f"scoring.measures[{n}]: {error}"
        else:
            yield from _check_counted(protocol, measure, f"scoring.measures[{n}]")
    yield from _check_compared(protocol)


def _check_compared(protocol: Protocol) -> Iterator[str]:
    """Complaints about the measure whose change is reported."""
    if protocol.interaction is None:
        return
    measure, accepted = protocol.interaction.measure, protocol.scoring.measures
    if measure and measure not in accepted:
        yield f"interaction.measure: {measure} is not one of scoring.measures: {', '.join(accepted)}"


def _check_counted(protocol: Protocol, measure: Measure, place: str) -> Iterator[str]:
    """Complaints about a measure in characters that the protocol cannot compute."""
    if measure.in_characters and protocol.unit != "passage":
        yield f"{place}: {measure} counts characters of citations; it needs unit = 'passage'"
    elif measure.in_characters and protocol.scoring.judged_only:
        yield f"{place}: {measure} counts every citation, judged or not; remove scoring.judged_only"


def _check_grades(judging: JudgingRules) -> Iterator[str]:
    if not judging.grades:
        yield "judging.grade: a protocol needs at least one grade"
    choices: tuple[schema.Grade | schema.NonAnswer, ...] = (*judging.grades, *judging.non_answers)
    for field in ("key", "shortcut"):
        words = [getattr(choice, field) for choice in choices if getattr(choice, field)]
        yield from (
            f"judging: the {field} {word!r} is used by two choices"
            for word in set(words)
            if words.count(word) > 1
        )
    for choice in choices:
        if not KEY.fullmatch(choice.key):
            yield f"judging: the key {_shown(choice.key)} is not 1 to 50 letters, digits, hyphens or underscores"
    values = [grade.value for grade in judging.grades]
    if len(set(values)) != len(values):
        yield "judging.grade: two grades have the same value"
    if any(value < 0 for value in values):
        yield "judging.grade: a value is below 0; a choice that is not a grade is a non_answer"
    if any(value > HIGHEST_GRADE for value in values):
        yield f"judging.grade: the value {max(values)} is above {HIGHEST_GRADE}"


def _check_follow_ups(judging: JudgingRules) -> Iterator[str]:
    """Complaints about follow-up questions; `judging.follow_up[2]` is the second one of the file."""
    keys = [question.key for question in judging.follow_ups]
    labels = [question.label.strip() for question in judging.follow_ups]
    for n, question in enumerate(judging.follow_ups, 1):
        place = f"judging.follow_up[{n}]"
        if not KEY.fullmatch(question.key):
            yield f"{place}.key: {_shown(question.key)} is not 1 to 50 letters, digits, hyphens or underscores"
        if question.key in keys[: n - 1]:
            yield f"{place}.key: {question.key!r} is used by two questions"
        if not question.label.strip():
            yield f"{place}.label: empty; write the question"
        elif question.label.strip() in labels[: n - 1]:
            yield f"{place}.label: {_shown(question.label)} is asked twice"
        yield from _check_answers(question, f"{place}.choices")
        yield from _check_conditions(question, place, [grade.key for grade in judging.grades])


def _check_answers(question: schema.FollowUp, place: str) -> Iterator[str]:
    if len(question.choices) < 2:
        yield f"{place}: a question needs at least two answers, got {len(question.choices)}"
    labels = [label.strip() for label in question.choices.values()]
    for n, key in enumerate(question.choices):
        if not KEY.fullmatch(key):
            yield f"{place}: the key {_shown(key)} is not 1 to 50 letters, digits, hyphens or underscores"
        if not labels[n]:
            yield f"{place}.{key}: empty; write the text of the answer"
        elif labels[n] in labels[:n]:
            yield f"{place}.{key}: {_shown(labels[n])} is the label of two answers"


def _check_conditions(question: schema.FollowUp, place: str, grades: list[str]) -> Iterator[str]:
    if not question.after:
        yield f"{place}.after: empty, so the question is never asked; use some of {', '.join(sorted(grades))}"
    for n, key in enumerate(question.after):
        if key not in grades:
            yield f"{place}.after: {key!r} is not a grade; use {', '.join(sorted(grades))}"
        if key in question.after[:n]:
            yield f"{place}.after: {key!r} is listed twice"
    for n, language in enumerate(question.languages):
        if not LANGUAGE.fullmatch(language):
            yield f"{place}.languages: {_shown(language)} is not a code such as eng, arz or zh-Hans"
        if language in question.languages[:n]:
            yield f"{place}.languages: {language!r} is listed twice"


def _check_codes(protocol: Protocol) -> Iterator[str]:
    """Complaints about codes of non-answers, which must differ from each other and from all grades."""
    is_sum, grades = protocol.qrels.aggregate == "sum", {grade.value for grade in protocol.judging.grades}
    if is_sum and grades:
        grades = set(range(protocol.judging.judges * max(grades) + 1))
    codes = [choice.qrels_code for choice in protocol.judging.non_answers if choice.qrels_code is not None]
    if len(set(codes)) != len(codes):
        yield "judging.non_answer: two non-answers have the same qrels_code"
    for code in codes:
        if not 0 <= code <= HIGHEST_GRADE:
            yield f"judging.non_answer: the qrels_code {code} is below 0 or above {HIGHEST_GRADE}"
        elif code in grades:
            yield f"judging.non_answer: the qrels_code {code} is a grade of the qrels"
