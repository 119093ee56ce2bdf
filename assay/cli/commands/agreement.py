"""Measure how far assessors agree: kappa of every two, and Krippendorff's alpha of all, also by topic.

The CSV is an export of judgments, or any file with the columns topic, docno, assessor and grade. If it has the column
is_current, replaced judgments are left out. A judgment without a grade is a non-answer and is left out.
"""

import argparse
import csv
import re
import sys
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cli.options import add_level, add_protocol
from assay.cli.tables import add_table_options, print_tables
from assay.errors import InputError
from assay.formats.compression import read_text
from assay.protocols.loader import load_protocol
from assay.statistics.agreement import Metric, cohen_kappa, krippendorff_alpha, shared_units
from assay.tables import Cell, Table

NEEDED = ("topic", "docno", "assessor", "grade")
METRICS: tuple[Metric, ...] = ("nominal", "ordinal", "interval")
ALPHA = "Krippendorff's alpha with nominal, ordinal and interval differences of grades"
COLUMNS = ("judgments", "units_judged_twice", *(f"alpha_{metric}" for metric in METRICS), "alpha_two_way")
WHOLE = re.compile(r"[+-]?\d{1,4}")

EXAMPLE = "assay agreement --protocol arqmath-2020-task1 judgments.csv"


class Graded(NamedTuple):
    """Judgments with a grade, one per assessor and unit: arrays of one length, with indexes of assessors and topics."""

    assessors: list[str]
    topics: list[str]
    unit: NDArray[np.int64]
    topic: NDArray[np.int64]
    assessor: NDArray[np.int64]
    grade: NDArray[np.int64]
    n_without_grade: int
    n_repeated: int


class Row(NamedTuple):
    """A judgment in the file."""

    topic: str
    docno: str
    assessor: str
    grade: int | None
    kind: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_protocol(parser, is_required=False)
    add_level(parser)
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        metavar="KIND",
        help="only judgments from batches of this kind, such as dual; repeat it for more kinds",
    )
    add_table_options(parser)
    parser.add_argument(
        "judgments",
        metavar="CSV",
        help="judgments with the columns topic, docno, assessor, grade; - for standard input",
    )


def run(arguments: argparse.Namespace) -> int:
    protocol = load_protocol(arguments.protocol) if arguments.protocol else None
    level = arguments.level or (protocol.agreement.binary_from if protocol else 1)
    rows = _read(arguments.judgments)
    kinds = {row.kind for row in rows}
    unknown = [kind for kind in arguments.kind if kind not in kinds]
    if unknown:
        raise InputError(
            f"{arguments.judgments}: no batch of the kind {unknown[0]!r}; the kinds are {', '.join(sorted(kinds))}"
        )
    graded = _graded(row for row in rows if not arguments.kind or row.kind in arguments.kind)
    if not arguments.quiet and not _n_judged_twice(graded.unit):
        print(_why_empty(graded), file=sys.stderr)  # noqa: T201
    return print_tables([_all(graded, level), _pairs(graded, level), _topics(graded, level)], arguments)


def _read(path: str) -> list[Row]:
    """Current judgments, in the order of the file.

    Raises
    ------
    InputError
        The file is not a CSV of judgments. The message names the line.
    """
    text = read_text(path)
    try:
        reader = csv.DictReader(StringIO(text, newline=""), strict=True)
        missing = [name for name in NEEDED if name not in (reader.fieldnames or [])]
        if missing:
            raise InputError(
                f"{path}: line 1: expected the columns {', '.join(NEEDED)}; {missing[0]} is missing"
            )
        rows = [_row(path, reader.line_num, cells) for cells in reader if _is_current(cells)]
    except csv.Error as error:
        # the reader counts the lines before the wrong one
        line = min(reader.line_num + 1, text.count("\n") + 1)
        raise InputError(f"{path}: line {line}: {error}") from None
    return rows


def _is_current(cells: dict[str, str | None]) -> bool:
    return (cells.get("is_current") or "True").strip().casefold() not in {"false", "0", "no"}


def _row(path: str, line: int, cells: dict[str, str | None]) -> Row:
    topic, docno, assessor, grade = ((cells[name] or "").strip() for name in NEEDED)
    if None in cells or not (topic and docno and assessor):
        raise InputError(
            f"{path}: line {line}: expected a topic, a docno and an assessor in the columns of the header"
        )
    if grade and not WHOLE.fullmatch(grade):
        raise InputError(
            f"{path}: line {line}: grade {grade!r} is not a whole number; leave it empty for a non-answer"
        )
    return Row(topic, docno, assessor, int(grade) if grade else None, (cells.get("kind") or "").strip())


def _graded(rows: Iterable[Row]) -> Graded:
    """The last judgment of each assessor for each unit, if it has a grade."""
    last: dict[tuple[str, str, str], int | None] = {}
    n_rows = 0
    for row in rows:
        n_rows += 1
        last[row.topic, row.docno, row.assessor] = row.grade
    graded = {key: grade for key, grade in last.items() if grade is not None}
    units = {key: n for n, key in enumerate(dict.fromkeys(key[:2] for key in graded))}
    assessors, topics = sorted({key[2] for key in graded}), sorted({key[0] for key in graded}, key=str.encode)
    columns = [
        (units[key[:2]], topics.index(key[0]), assessors.index(key[2]), grade)
        for key, grade in graded.items()
    ]
    unit, topic, assessor, grade = np.array(columns, dtype=np.int64).reshape(-1, 4).T
    n_without_grade, n_repeated = len(last) - len(graded), n_rows - len(last)
    return Graded(assessors, topics, unit, topic, assessor, grade, n_without_grade, n_repeated)


def _all(graded: Graded, level: int) -> Table:
    everything = np.ones(len(graded.unit), dtype=np.bool_)
    left_out = (graded.n_without_grade, graded.n_repeated)
    return Table(
        "all",
        f"{ALPHA}; two-way from grade {level}; without non-answers, and without earlier judgments by the same assessor",
        ("judges", *COLUMNS, "without_grade", "repeated"),
        [(len(graded.assessors), *_agreement(graded, everything, level), *left_out)],
    )


def _topics(graded: Graded, level: int) -> Table:
    rows = [(code, *_agreement(graded, graded.topic == n, level)) for n, code in enumerate(graded.topics)]
    return Table("topics", f"{ALPHA}; two-way from grade {level}", ("topic", *COLUMNS), rows)


def _agreement(graded: Graded, of: NDArray[np.bool_], level: int) -> tuple[Cell, ...]:
    unit, grade = graded.unit[of], graded.grade[of]
    n_twice = _n_judged_twice(unit)
    two_way = krippendorff_alpha(unit, (grade >= level).astype(np.int64), metric="nominal")
    return (
        len(unit),
        n_twice,
        *(krippendorff_alpha(unit, grade, metric=metric) for metric in METRICS),
        two_way,
    )


def _n_judged_twice(unit: NDArray[np.int64]) -> int:
    """The number of units with grades from several assessors."""
    return int((np.unique(unit, return_counts=True)[1] > 1).sum())


def _why_empty(graded: Graded) -> str:
    n = len(graded.unit)
    text = "no unit has grades from two assessors, so there is no agreement: "
    text += f"{n} grades by {len(graded.assessors)} assessors"
    return text + (f", {graded.n_without_grade} judgments without a grade" if graded.n_without_grade else "")


def _pairs(graded: Graded, level: int) -> Table:
    return Table(
        "pairs",
        f"Cohen's kappa of every two assessors: unweighted, linear and quadratic weights, two-way from grade {level}",
        ("first", "second", "units", "agreement", "kappa", "kappa_linear", "kappa_quadratic",
         "agreement_two_way", "kappa_two_way"),
        list(_pair_rows(graded, level)),
    )  # fmt: skip


def _pair_rows(graded: Graded, level: int) -> Iterator[tuple[Cell, ...]]:
    for pair in shared_units(graded.unit, graded.assessor):
        first, second = graded.grade[pair.of_first], graded.grade[pair.of_second]
        plain = cohen_kappa(first, second)
        two_way = cohen_kappa((first >= level).astype(np.int64), (second >= level).astype(np.int64))
        yield (
            graded.assessors[pair.first],
            graded.assessors[pair.second],
            plain.n,
            plain.observed,
            plain.value,
            cohen_kappa(first, second, weights="linear").value,
            cohen_kappa(first, second, weights="quadratic").value,
            two_way.observed,
            two_way.value,
        )
