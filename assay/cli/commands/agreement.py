"""How far judges agree: kappa of every two, and Krippendorff's alpha of all, by kind of batch and by topic.

The CSV is that of the judgments' export, or any with the columns topic, docno, assessor and grade. Where there is a
column is_current, judgments that were replaced are left out. A judgment without a grade is no answer, and left out.
"""

import argparse
import csv
import re
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cli.inputs import add_printing, positive
from assay.cli.output import run_command
from assay.evaluation.files import InputError, decoded
from assay.protocols.loader import load_protocol
from assay.statistics.agreement import Metric, cohen_kappa, krippendorff_alpha, shared_units
from assay.tables import Cell, Table

NEEDED = ("topic", "docno", "assessor", "grade")
METRICS: tuple[Metric, ...] = ("nominal", "ordinal", "interval")
ALPHA = "Krippendorff's alpha with grades that differ or not, in order, and by number"
COLUMNS = ("judgments", "units_judged_twice", *(f"alpha_{metric}" for metric in METRICS), "alpha_two_way")
WHOLE = re.compile(r"[+-]?\d{1,4}")

EXAMPLE = "assay agreement --protocol arqmath-2021-task1 judgments.csv"


class Judged(NamedTuple):
    """Judgments with a grade, one of a judge for each unit. Arrays of one length; judges and topics are numbers."""

    judges: list[str]
    topics: list[str]
    unit: NDArray[np.int64]
    topic: NDArray[np.int64]
    judge: NDArray[np.int64]
    grade: NDArray[np.int64]
    n_without_grade: int
    n_repeated: int


class Row(NamedTuple):
    """A judgment as the file has it."""

    topic: str
    docno: str
    assessor: str
    grade: int | None
    kind: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `agreement`."""
    parser.add_argument("judgments", metavar="CSV", help="judgments: topic, docno, assessor, grade")
    parser.add_argument("--protocol", help="slug or .toml file: the level is the protocol's")
    parser.add_argument(
        "--level", type=positive, help="grade from which a unit is relevant, for two-way agreement"
    )
    parser.add_argument(
        "--kind", action="append", default=[], help="only batches of this kind, such as dual; several times"
    )
    add_printing(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the agreement."""
    return run_command("agreement", _tables, arguments)


def _tables(arguments: argparse.Namespace) -> list[Table]:
    protocol = load_protocol(arguments.protocol) if arguments.protocol else None
    level = arguments.level or (protocol.agreement.binary_from if protocol else 1)
    rows = _read(arguments.judgments)
    kinds = {row.kind for row in rows}
    unknown = [kind for kind in arguments.kind if kind not in kinds]
    if unknown:
        raise InputError(
            f"{arguments.judgments}: there is no batch of the kind {unknown[0]!r}; there is {', '.join(sorted(kinds))}"
        )
    judged = _judged(row for row in rows if not arguments.kind or row.kind in arguments.kind)
    return [_whole(judged, level), _pairs(judged, level), _topics(judged, level)]


def _read(path: str) -> list[Row]:
    """Current judgments, in the order of the file.

    Raises
    ------
    InputError
        It is no such file: the line is named.
    """
    text = decoded(path)
    try:
        reader = csv.DictReader(StringIO(text, newline=""), strict=True)
        missing = [name for name in NEEDED if name not in (reader.fieldnames or [])]
        if missing:
            raise InputError(
                f"{path}: line 1: expected the columns {', '.join(NEEDED)}; there is no {missing[0]}"
            )
        rows = [_row(path, reader.line_num, cells) for cells in reader if _is_current(cells)]
    except csv.Error as error:
        line = min(
            reader.line_num + 1, text.count("\n") + 1
        )  # the reader counts the lines that it got through
        raise InputError(f"{path}: line {line}: {error}") from None
    return rows


def _is_current(cells: dict[str, str | None]) -> bool:
    return (cells.get("is_current") or "True").strip().casefold() not in {"false", "0", "no"}


def _row(path: str, line: int, cells: dict[str, str | None]) -> Row:
    topic, docno, assessor, grade = ((cells[name] or "").strip() for name in NEEDED)
    if None in cells or not (topic and docno and assessor):
        raise InputError(
            f"{path}: line {line}: topic, docno and assessor are needed in the columns of the head"
        )
    if grade and not WHOLE.fullmatch(grade):
        raise InputError(
            f"{path}: line {line}: grade {grade!r} is no whole number; leave it empty for a non-answer"
        )
    return Row(topic, docno, assessor, int(grade) if grade else None, (cells.get("kind") or "").strip())


def _judged(rows: Iterable[Row]) -> Judged:
    """The last judgment of each judge for each unit, where it is a grade."""
    last: dict[tuple[str, str, str], int | None] = {}
    n_rows = 0
    for row in rows:
        n_rows += 1
        last[row.topic, row.docno, row.assessor] = row.grade
    graded = {key: grade for key, grade in last.items() if grade is not None}
    units = {key: n for n, key in enumerate(dict.fromkeys(key[:2] for key in graded))}
    judges, topics = sorted({key[2] for key in graded}), sorted({key[0] for key in graded}, key=str.encode)
    columns = [
        (units[key[:2]], topics.index(key[0]), judges.index(key[2]), grade) for key, grade in graded.items()
    ]
    unit, topic, judge, grade = np.array(columns, dtype=np.int64).reshape(-1, 4).T
    return Judged(judges, topics, unit, topic, judge, grade, len(last) - len(graded), n_rows - len(last))


def _whole(judged: Judged, level: int) -> Table:
    everything = np.ones(len(judged.unit), dtype=np.bool_)
    left_out = (judged.n_without_grade, judged.n_repeated)
    return Table(
        "all",
        f"{ALPHA}; two-way from grade {level}; judgments without a grade, and repeated by the same judge, left out",
        ("judges", *COLUMNS, "without_grade", "repeated"),
        [(len(judged.judges), *_agreement(judged, everything, level), *left_out)],
    )


def _topics(judged: Judged, level: int) -> Table:
    rows = [(code, *_agreement(judged, judged.topic == n, level)) for n, code in enumerate(judged.topics)]
    return Table("topics", f"{ALPHA}; two-way from grade {level}", ("topic", *COLUMNS), rows)


def _agreement(judged: Judged, of: NDArray[np.bool_], level: int) -> tuple[Cell, ...]:
    unit, grade = judged.unit[of], judged.grade[of]
    n_twice = int((np.unique(unit, return_counts=True)[1] > 1).sum())
    two_way = krippendorff_alpha(unit, (grade >= level).astype(np.int64), metric="nominal")
    return len(unit), n_twice, *(krippendorff_alpha(unit, grade, metric=one) for one in METRICS), two_way


def _pairs(judged: Judged, level: int) -> Table:
    return Table(
        "pairs",
        f"Cohen's kappa of every two judges: every grade, weighted by steps and by their squares, two-way from {level}",
        ("first", "second", "units", "agreement", "kappa", "kappa_linear", "kappa_quadratic",
         "agreement_two_way", "kappa_two_way"),
        list(_pair_rows(judged, level)),
    )  # fmt: skip


def _pair_rows(judged: Judged, level: int) -> Iterator[tuple[Cell, ...]]:
    for pair in shared_units(judged.unit, judged.judge):
        first, second = judged.grade[pair.of_first], judged.grade[pair.of_second]
        plain = cohen_kappa(first, second)
        two_way = cohen_kappa((first >= level).astype(np.int64), (second >= level).astype(np.int64))
        yield (
            judged.judges[pair.first],
            judged.judges[pair.second],
            plain.n,
            plain.observed,
            plain.value,
            cohen_kappa(first, second, weights="linear").value,
            cohen_kappa(first, second, weights="quadratic").value,
            two_way.observed,
            two_way.value,
        )
