"""Parse the command line like trec_eval: `-q -l2 -m P.5,10 QRELS RUN`, with options before or after the files."""

import re
from collections.abc import Sequence
from getopt import GetoptError, gnu_getopt
from typing import NamedTuple

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
