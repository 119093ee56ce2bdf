"""Qrels files to hand on: written in another form, split into train and test topics, or without what tells of people.

Each makes a folder, or a zip if the name given ends with .zip, with a README.md and SHA256SUMS.
"""

import argparse
import csv
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from assay.cli.inputs import seed, share
from assay.cli.units import read_formulas
from assay.evaluation.distinct_formulas import of_distinct_formulas
from assay.evaluation.files import InputError, decoded, names, read_qrels, reason
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.exports import (
    FORMS,
    Part,
    SplitError,
    code_names,
    of_topics,
    package,
    split_by_lot,
    split_given,
    zipped,
)

ASSESSOR = ("assessor", "assessor_id", "workerid", "turkle.username", "username", "user", "judge")

EXAMPLE = "assay qrels convert qrels.txt --form trec --output qrels.trec"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `qrels`."""
    actions = parser.add_subparsers(required=True, metavar="ACTION", dest="action")
    convert = actions.add_parser("convert", help="write qrels in another form")
    _add_shared(convert)
    convert.add_argument(
        "--topics", metavar="FILE", help="keep the topics of this list alone, one code a line"
    )
    convert.add_argument(
        "--formulas",
        action="append",
        default=[],
        metavar="INDEX",
        help="formula index or id map: qrels of instances become qrels of distinct formulas, with the highest grade",
    )
    split = actions.add_parser("split", help="split qrels by topic into train and test")
    _add_shared(split)
    how = split.add_mutually_exclusive_group(required=True)
    how.add_argument("--test-topics", metavar="FILE", help="the test topics, one code a line")
    how.add_argument(
        "--test-share", type=share, metavar="X", help="share of the topics drawn for the test, such as 0.3"
    )
    split.add_argument("--seed", type=seed, default=1, help="by which topics are drawn (default: 1)")
    anonymize = actions.add_parser(
        "anonymize", help="give assessors of a judgments CSV the codes A1, A2, ..."
    )
    anonymize.add_argument(
        "judgments", help="CSV with a header and a column of assessors; - for standard input"
    )
    anonymize.add_argument("--column", help="name of the column of assessors, if it is an unusual one")
    anonymize.add_argument(
        "--drop",
        nargs="+",
        default=["comment", "request_id"],
        metavar="COLUMN",
        help="columns left out (default: comment request_id)",
    )
    anonymize.add_argument("--seed", type=seed, default=1, help="by which codes are dealt (default: 1)")
    anonymize.add_argument("--output", required=True, help="file to write")


def _add_shared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "qrels", help="qrels: four columns, or a table with a header; packed or not; - for standard input"
    )
    parser.add_argument(
        "--to", choices=list(FORMS), default="trec", help="form to write; units: topic and docno alone"
    )
    parser.add_argument(
        "--scale",
        type=int,
        default=1,
        metavar="N",
        help="multiply every grade by N, which makes whole numbers of fractions such as 0.667 (3)",
    )
    parser.add_argument(
        "--output", required=True, help="folder or .zip to write; a folder may not be there yet"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write what is asked for; 2 if the input cannot be used, and then nothing is written."""
    try:
        _ACTIONS[arguments.action](arguments)
    except (InputError, SplitError) as error:
        print(f"qrels {arguments.action}: {error}", file=sys.stderr)  # noqa: T201
        return 2
    except OSError as error:
        print(f"qrels {arguments.action}: {error.filename}: {reason(error)}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


def _convert(arguments: argparse.Namespace) -> None:
    columns = _read(arguments)
    if arguments.topics:
        wanted = _codes(arguments.topics)
        missing = sorted(set(wanted) - set(columns.topics.tolist()))
        if missing:
            raise InputError(f"{arguments.topics}: the qrels have no topic {', '.join(missing[:5])}")
        columns = of_topics(columns, wanted)
    notes = []
    if arguments.formulas:
        formulas = read_formulas(arguments.formulas)
        n = len(columns.grade)
        columns, n_skipped = of_distinct_formulas(columns, formulas)
        if not len(columns.grade):
            raise InputError(f"{arguments.qrels}: no line names a formula that has a visual id")
        notes.append(
            f"Each of {n - n_skipped} formula instances became its visually distinct formula, with the highest grade "
            f"of its instances; {n_skipped} without a visual id were left out."
        )
    _write([Part("qrels", "All judgments.", columns)], arguments, notes)


def _split(arguments: argparse.Namespace) -> None:
    columns = _read(arguments)
    if arguments.test_topics:
        train, test = split_given(columns, _codes(arguments.test_topics))
        how = "The test topics were given as a list."
    else:
        train, test = split_by_lot(columns, arguments.test_share, arguments.seed)
        how = f"A share of {arguments.test_share:g} of the topics was drawn for the test (seed {arguments.seed})."
    parts = [Part("train", "Topics to train on.", train), Part("test", "Topics to test on.", test)]
    _write(parts, arguments, [how])


def _anonymize(arguments: argparse.Namespace) -> None:
    text = decoded(arguments.judgments)
    reader = csv.DictReader(StringIO(text, newline=""), strict=True)
    try:
        header, rows = list(reader.fieldnames or []), list(reader)
    except csv.Error as error:
        raise InputError(f"{arguments.judgments}: line {reader.line_num}: {error}") from None
    column = arguments.column or next((name for name in header if name.lower() in ASSESSOR), "")
    if column not in header:
        said = f"no column {column}" if column else "no column of assessors; name it with --column"
        raise InputError(f"{arguments.judgments}: {said}; there are {', '.join(header) or 'none'}")
    codes = code_names({row[column] for row in rows if row[column]}, arguments.seed)
    kept = [name for name in header if name not in arguments.drop]
    file = StringIO()
    writer = csv.DictWriter(file, kept, extrasaction="ignore", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(row | {column: codes.get(row[column], "")} for row in rows)
    Path(arguments.output).write_text(file.getvalue(), encoding="utf-8", newline="")


_ACTIONS = {"convert": _convert, "split": _split, "anonymize": _anonymize}


def _read(arguments: argparse.Namespace) -> QrelsColumns:
    if arguments.scale < 1:
        raise InputError(f"--scale {arguments.scale}: a whole number from 1 is accepted")
    return read_qrels(arguments.qrels, scale=arguments.scale)


def _codes(path: str) -> list[str]:
    codes = [line.split()[0] for line in decoded(path).splitlines() if line.strip()]
    if not codes:
        raise InputError(f"{path}: the list names no topic")
    return codes


def _write(parts: Sequence[Part], arguments: argparse.Namespace, notes: Sequence[str]) -> None:
    source = names([arguments.qrels])[arguments.qrels]
    said = [f"Made from {source}.", *notes]
    if arguments.scale != 1:
        said.append(
            f"Every grade of the source was multiplied by {arguments.scale}; levels of relevance grow with it."
        )
    files = package(parts, arguments.to, title=f"Qrels {source}", notes=said)
    output = Path(arguments.output)
    if output.suffix == ".zip":
        output.write_bytes(zipped(files, output.stem.encode(errors="backslashreplace").decode()))
        return
    output.mkdir(parents=True)
    for name, content in files.items():
        (output / name).write_bytes(content)
