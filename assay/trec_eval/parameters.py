"""The parameters of a measure, which follow its name and a full stop: `P.5,10`, `ndcg.1=3,2=9`."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from assay.trec_eval.options import UNREADABLE, TrecEvalError

WHOLE = r"\s*([+-]?\d{1,18})(?:\.\d*)?"
GRADE = r"\+?\d{1,9}"

# A measure has a value for each rank or for each share; or one value, computed from numbers or from named numbers.
Kind = Literal["none", "ranks", "shares", "numbers", "pairs"]


class Parameters(NamedTuple):
    """Numbers in the order that the measure expects, named numbers, and the names of the values."""

    names: tuple[str, ...]
    numbers: tuple[float, ...] = ()
    named: Mapping[str, float] = MappingProxyType({})

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(int(number) for number in self.numbers)

    @property
    def gains(self) -> dict[int, float]:
        """Gains by grade, for grades whose gain is not the grade itself."""
        return {int(name): gain for name, gain in self.named.items() if re.fullmatch(GRADE, name)}


def parse_parameters(measure: str, kind: Kind, default: tuple[float, ...], text: str | None) -> Parameters:
    """Parse the text after the full stop; the default if there is none.

    Raises TrecEvalError: a rank or share is repeated, a rank is below 1, or a word is not a number.
    """
    if kind == "none":
        return Parameters((measure,))
    if kind == "pairs" and text is None:
        return Parameters((measure,))
    if kind == "pairs" and text is not None:
        named: dict[str, float] = {}
        for pair in text.split(","):
            name, is_there, word = pair.partition("=")
            if not (name and is_there):
                raise _refused(measure, text, f"{pair!r} is not a pair; write pairs like 1=3,2=9")
            gain = _number(measure, text, word, False)
            if name != "p" and not re.fullmatch(GRADE, name):
                raise _refused(measure, text, f"{name!r} is not a grade; write gains like GRADE=GAIN")
            named.setdefault(name, gain)
        return Parameters((f"{measure}_{text}",), named=named)
    if kind == "numbers":
        name = measure if text is None else f"{measure}_{text}"
        return Parameters((name,), default if text is None else _numbers(measure, text))
    numbers = tuple(default if text is None else sorted(_numbers(measure, text, is_whole=kind == "ranks")))
    if kind == "ranks" and numbers[0] < 1:
        raise _refused(measure, text, "a rank is at least 1")
    if len(set(numbers)) < len(numbers):
        raise _refused(measure, text, "a number is repeated")
    name = "{}_{:.0f}" if kind == "ranks" else "{}_{:3.2f}"
    return Parameters(tuple(name.format(measure, number) for number in numbers), numbers)


def _numbers(measure: str, text: str, *, is_whole: bool = False) -> tuple[float, ...]:
    return tuple(_number(measure, text, word, is_whole) for word in text.split(","))


def _number(measure: str, text: str, word: str, is_whole: bool) -> float:
    try:
        match = re.fullmatch(WHOLE, word) if is_whole else None
        number = float(match[1] if match else word)
    except ValueError:
        raise _refused(measure, text, f"{word!r} is not a number") from None
    if not abs(number) < 1e15 or (is_whole and match is None):
        raise _refused(measure, text, f"{word!r} is not a number that is accepted")
    return number


def _refused(measure: str, text: str | None, reason: str) -> TrecEvalError:
    return TrecEvalError(f"measure {measure}.{text}: {reason}", status=UNREADABLE)
