"""Every regular expression of the library and of the apps needs time in proportion to the length of a hostile text.

The expressions are found by introspection: those of modules, and those that calls of `re` contain. The texts are made
from each expression: what it can repeat, repeated, behind what comes before it, with an end at which it fails.
"""

import ast
import gc
import importlib
import re
import re._constants as kinds  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = (
    *("assay", "web", "accounts", "jobs", "corpus", "tracks", "participation", "pooling", "assessment"),
    *("scoring", "publishing", "home", "config", "assay_extensions"),
)
METHODS = ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")
SIZE = 1_000  # characters
FACTOR = 8
BOUND = 20  # between the factor and its square
SHORT = 0.008  # seconds of the longer text
SHORT_TEXTS = {
    r"(\.gz|\.xz|\.bz2|\.zip)+$": "names of files",
    r"    (\w+): .*?(?:  # (.*))?$": "lines of our own source",
}  # what an expression is used for
MOST_REPEATED = 1_000  # of a part that can only be repeated so often is no hostile text made
ENDS = ("", "\0", "\n\0")
CATEGORIES = {
    kinds.CATEGORY_DIGIT: "1",
    kinds.CATEGORY_SPACE: " ",
    kinds.CATEGORY_WORD: "a",
    kinds.CATEGORY_NOT_DIGIT: "a",
    kinds.CATEGORY_NOT_SPACE: "a",
    kinds.CATEGORY_NOT_WORD: "-",
}

Expression = tuple[str | bytes, int]  # with its flags


def modules() -> Iterator[Path]:
    for room in ROOMS:
        yield from (
            path
            for path in sorted((ROOT / room).rglob("*.py"))
            if not {"migrations", "tests"} & {*path.parts}
        )


def expressions() -> dict[Expression, set[str]]:
    """The methods by which each expression is used; all of them if that cannot be seen."""
    uses: defaultdict[Expression, set[str]] = defaultdict(set)
    sources = {path: path.read_text() for path in modules()}
    called = {path: calls_in(source) for path, source in sources.items()}
    for path, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if is_call_of_re(node) and isinstance(node.args[0], ast.Constant) and node.func.attr in METHODS:
                uses[node.args[0].value, 0].add(node.func.attr)
        if "re.compile" not in source:
            continue
        name_of_module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for name, value in patterns_of(vars(importlib.import_module(name_of_module))):
            users = [path] if name.startswith("_") else called
            uses[value.pattern, value.flags].update(*(called[user][name] for user in users))
    return uses


def calls_in(source: str) -> defaultdict[str, set[str]]:
    """The methods that a module calls, by the name of the expression, or of the table that has it."""
    called: defaultdict[str, set[str]] = defaultdict(set)
    for name, method in re.findall(rf"\b(\w+)(?:\[[^\]]*\])?\.({'|'.join(METHODS)})\(", source):
        called[name].add(method)
    return called


def is_call_of_re(node: Any) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and bool(node.args)
    )


def patterns_of(names: dict[str, Any]) -> Iterator[tuple[str, "re.Pattern[Any]"]]:
    """The expressions of a module, also those in its tables."""
    for name, value in names.items():
        inner = (
            value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        )
        yield from ((name, each) for each in (value, *inner) if isinstance(each, re.Pattern))


def sample(parts: Any) -> str:
    """A text that some parts of an expression match; without regard to what must follow or not."""
    return "".join(of_part(kind, value) for kind, value in parts)


def of_part(kind: Any, value: Any) -> str:
    if kind is kinds.LITERAL:
        return chr(value)
    if kind is kinds.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if kind is kinds.ANY:
        return "a"
    if kind is kinds.IN:
        return of_class(value)
    if kind is kinds.BRANCH:
        return sample(value[1][0])
    if kind in {kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT}:
        return sample(value[2]) * max(1, min(value[0], 20))
    if kind is kinds.SUBPATTERN:
        return sample(value[3])
    return sample(value) if kind is kinds.ATOMIC_GROUP else ""


def of_class(items: Any) -> str:
    if items[0][0] is kinds.NEGATE:
        excluded = {value for kind, value in items[1:] if kind is kinds.LITERAL}
        return next(letter for letter in "a1b2-" if ord(letter) not in excluded)
    kind, value = items[0]
    if kind is kinds.CATEGORY:
        return CATEGORIES[value]
    return chr(value if kind is kinds.LITERAL else value[0])


def repeated_parts(parts: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """The text before each part that can be repeated without limit, and each text that it can repeat."""
    for kind, value in parts:
        if kind in {kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT}:
            if value[1] > MOST_REPEATED:
                yield from ((before, unit) for unit in alternatives(value[2]) if unit)
            yield from repeated_parts(value[2], before)
        elif kind is kinds.SUBPATTERN:
            yield from repeated_parts(value[3], before)
        elif kind is kinds.ATOMIC_GROUP:
            yield from repeated_parts(value, before)
        elif kind in {kinds.ASSERT, kinds.ASSERT_NOT}:
            yield from repeated_parts(value[1], before)
        elif kind is kinds.BRANCH:
            yield from chain.from_iterable(repeated_parts(branch, before) for branch in value[1])
        before += of_part(kind, value)


def alternatives(parts: Any) -> list[str]:
    """Texts that some parts match: one of each alternative, and one of each member of a class."""
    if len(parts) != 1:
        return [sample(parts)]
    kind, value = parts[0]
    if kind is kinds.SUBPATTERN:
        return alternatives(value[3])
    if kind is kinds.ATOMIC_GROUP:
        return alternatives(value)
    if kind is kinds.BRANCH:
        return [unit for branch in value[1] for unit in alternatives(branch)]
    if kind is kinds.IN and value[0][0] is not kinds.NEGATE:
        return [of_class([item]) for item in value[:4]]
    return [sample(parts)]


def attacks(expression: Expression) -> list[tuple[str, str]]:
    """The beginnings of the hostile texts, and the parts that they repeat."""
    text = expression[0] if isinstance(expression[0], str) else expression[0].decode("latin-1")
    flags = expression[1] & ~re.UNICODE if isinstance(expression[0], bytes) else expression[1]
    parts = parser.parse(text, flags)
    repeated = list(repeated_parts(parts))
    prefixes = [before for before, _ in repeated if before]
    return list(dict.fromkeys([*repeated, *(("", unit) for unit in (*prefixes, sample(parts)) if unit)]))


def seconds(expression: Expression, method: str, text: str) -> float:
    pattern = re.compile(*expression)
    target: Any = text.encode() if isinstance(expression[0], bytes) else text
    arguments = (target[:0], target) if method in {"sub", "subn"} else (target,)
    start = time.process_time()
    result = getattr(pattern, method)(*arguments)
    if method == "finditer":
        list(result)
    return time.process_time() - start


def is_linear(expression: Expression, method: str, before: str, unit: str, end: str) -> bool:
    def make(size: int) -> str:
        return before + unit * (size // len(unit)) + end

    more = seconds(expression, method, make(FACTOR * SIZE))
    if more < SHORT:
        return True
    once = min(seconds(expression, method, make(SIZE)) for _ in range(3))
    again = (seconds(expression, method, make(FACTOR * SIZE)) for _ in range(3))
    return any(each < max(SHORT, BOUND * once) for each in chain([more], again))


def test_no_regular_expression_needs_more_than_linear_time() -> None:
    uses = expressions()
    gc.disable()

    slow = [
        (expression[0], method, before, unit, end)
        for expression, methods in uses.items()
        if expression[0] not in SHORT_TEXTS
        for before, unit in attacks(expression)
        for method in sorted(methods)
        for end in ENDS
        if not is_linear(expression, method, before, unit, end)
    ]

    gc.enable()
    assert slow == []
    assert len(uses) > 200


@pytest.mark.parametrize(
    ("text", "method"), [(r"\s+$", "search"), (r"<a*a*>", "match"), (r"<(?:x|b*)b*>", "sub")]
)
def test_expressions_that_need_more_are_noticed(text: str, method: str) -> None:
    assert not all(is_linear((text, 0), method, *attack, "\0") for attack in attacks((text, 0)))
