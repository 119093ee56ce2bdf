"""Parse the command line like trec_eval: `-q -l2 -m P.5,10 QRELS RUN`, with options before or after the files.

The parameters of a measure follow its name and a full stop: `P.5,10`, `ndcg.1=3,2=9`.
"""

import re
from collections.abc import Mapping, Sequence
from getopt import GetoptError, gnu_getopt
from types import MappingProxyType
from typing import Literal, NamedTuple

USAGE, UNREADABLE, NOT_COMPUTED, NOTHING_COMMON = 1, 2, 4, 7  # exit statuses of trec_eval
SHORT = "hvqm:cl:nD:JN:M:R:T:oZ:"
LONG = {
    "help": "h",
    "version": "v",
    "query_eval_wanted": "q",
    "measure=": "m",
    "complete_rel_info_wanted": "c",
    "level_for_rel=": "l",
    "nosummary": "n",
    "Debug_level=": "D",
    "Judged_docs_only": "J",
    "Number_docs_in_coll=": "N",
    "Max_retrieved_per_topic=": "M",
    "Rel_info_format=": "R",
    "Results_format=": "T",
    "Output_old_results_format=": "o",
    "Zscore=": "Z",
}
FORMATS = ("qrels", "qrels_jg", "prefs", "qrels_prefs")
USAGE_LINE = (
    "usage: trec_eval [-h] [-q] [-c] [-J] [-n] [-l LEVEL] [-M DEPTH] [-m MEASURE[.PARAMETERS]]... QRELS RUN"
)


class TrecEvalError(Exception):
    """A message for standard error, and the exit status that trec_eval has for it."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class Options(NamedTuple):
    """The options of the command line.

    Args:
        depth: number of documents of each topic that are used; None for all.
        topic: the only topic to evaluate; None for all.
    """

    files: list[str]
    measures: Sequence[str] = ()
    is_help: bool = False
    is_version: bool = False
    is_per_topic: bool = False
    is_complete: bool = False
    is_summed_up: bool = True
    is_judged_only: bool = False
    level: int = 1
    depth: int | None = None
    n_documents: int = 0
    format: str = "qrels"
    zscores: str | None = None
    topic: str | None = None


def parse(words: Sequence[str]) -> Options:
    """Parse the words after the name of the command.

    Raises TrecEvalError: an option is unknown or misused, or there are not two files.
    """
    try:
        parsed, files = gnu_getopt(list(words), SHORT, list(LONG))
    except GetoptError as error:
        raise TrecEvalError(f"{error.msg}\n{USAGE_LINE}", status=USAGE) from None
    letters = {f"--{name.rstrip('=')}": letter for name, letter in LONG.items()}
    values = [(letters.get(name, name.removeprefix("-")), value) for name, value in parsed]
    last, flags = dict(values), {letter for letter, _ in values}
    options = Options(
        files=files,
        measures=[value for letter, value in values if letter == "m"],
        is_help="h" in flags,
        is_version="v" in flags,
        is_per_topic="q" in flags,
        is_complete="c" in flags,
        is_summed_up="n" not in flags,
        is_judged_only="J" in flags,
        level=_number("-l", last.get("l", "1")),
        depth=_number("-M", last["M"]) if "M" in flags else None,
        n_documents=_number("-N", last.get("N", "0")),
        format=last.get("R", "qrels"),
        zscores=last.get("Z"),
        topic=last.get("D", "").partition(".")[2] or None,
    )
    if options.is_help or options.is_version:
        return options
    if len(files) != 2:
        raise TrecEvalError(
            f"expected two files, QRELS and RUN; got {len(files)}\n{USAGE_LINE}", status=USAGE
        )
    if files == ["-", "-"]:
        raise TrecEvalError("standard input (-) can be read only once", status=USAGE)
    refusal = "no such format; use"
    if options.format not in FORMATS:
        raise TrecEvalError(f"-R {options.format}: {refusal} {', '.join(FORMATS)}", status=UNREADABLE)
    if (results_format := last.get("T", "trec_results")) != "trec_results":
        raise TrecEvalError(f"-T {results_format}: {refusal} trec_results", status=UNREADABLE)
    return options


def _number(option: str, text: str) -> int:
    if not re.fullmatch(r"\s*[+-]?\d{1,18}\s*", text) or int(text) < 0:
        raise TrecEvalError(f"{option} takes a whole number from 0, got {text!r}\n{USAGE_LINE}", status=USAGE)
    return int(text)


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
            gain = _parameter(measure, text, word, False)
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
    return tuple(_parameter(measure, text, word, is_whole) for word in text.split(","))


def _parameter(measure: str, text: str, word: str, is_whole: bool) -> float:
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
