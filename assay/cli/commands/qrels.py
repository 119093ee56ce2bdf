"""Convert qrels, split them into train and test topics, or remove the names of assessors from judgments.

`convert` and `split` write a folder, or a zip if the name ends in .zip, with a README.md and SHA256SUMS.
"""

import argparse
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from assay.cli.main import add, add_actions, add_seed, input_path, share
from assay.errors import InputError, plural
from assay.formats.compression import names_of_files
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.exports import (
    CITES,
    FORMS,
    Part,
    code_names,
    forms_of,
    package,
    split_at_random,
    split_given,
    zipped,
)
from assay.formats.qrels.reader import GradeScale, QrelsError, QrelsForm, parse_qrels
from assay.formats.sheets import read_sheet
from assay.formats.spreadsheet import as_csv, original
from assay.formats.text import read_data, read_text
from assay.formats.topics.codes import read_topic_codes
from assay.measures.units import read_formulas, to_distinct_formulas
from assay.protocols.loader import load_protocol

ASSESSOR_COLUMNS = ("assessor", "assessor_id", "workerid", "turkle.username", "username", "user", "judge")
PROTOCOL = "protocol"  # the format of the columns that a protocol describes
DROPPED_COLUMNS = ["comment", "request_id"]

EXAMPLE = "assay qrels convert qrels.txt --to csv --output converted"
SPLIT_EXAMPLE = "assay qrels split qrels.txt --test-share 0.4 --seed 7 --output split.zip"
ANONYMIZE_EXAMPLE = "assay qrels anonymize judgments.csv --output anonymous.csv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = add_actions(parser)
    convert = actions.add_parser("convert", help="write qrels in another format", example=EXAMPLE)
    _add_qrels_options(convert)
    add(convert, "--topics", "--formulas")
    split = actions.add_parser(
        "split", help="split qrels by topic into train and test", example=SPLIT_EXAMPLE
    )
    _add_qrels_options(split)
    test = split.add_mutually_exclusive_group(required=True)
    test.add_argument(
        "--test-topics",
        type=input_path,
        metavar="FILE",
        help="test topics: XML, or one code per line; plain, gz, xz, bz2 or zip",
    )
    test.add_argument(
        "--test-share", type=share, metavar="X", help="share of topics to choose at random, such as 0.3"
    )
    add_seed(split)
    anonymize = actions.add_parser(
        "anonymize",
        help="replace assessors in a CSV of judgments by the codes A1, A2, ...",
        example=ANONYMIZE_EXAMPLE,
    )
    anonymize.add_argument(
        "judgments",
        metavar="CSV",
        help="judgments with a header and a column of assessors; - for standard input",
    )
    anonymize.add_argument("--column", metavar="COLUMN", help="name of the column of assessors")
    anonymize.add_argument(
        "--drop",
        action="append",
        metavar="COLUMN",
        help=f"column to leave out; repeat it for more (default: {' and '.join(DROPPED_COLUMNS)})",
    )
    add_seed(anonymize)
    anonymize.add_argument("--output", type=Path, required=True, metavar="FILE", help="file to write")


def _add_qrels_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "qrels",
        metavar="QRELS",
        help="qrels: four columns, or a table with a header; plain, gz, xz, bz2 or zip; - for standard input",
    )
    parser.add_argument(
        "--to",
        choices=[*FORMS, PROTOCOL, CITES],
        default="trec",
        help="format to write; units is topic and docno without grades, protocol the columns of --protocol, "
        "bolt XML of judged citations with their answers (default: trec)",
    )
    add(parser, "--protocol", required=False)
    add(parser, "--scale")
    parser.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="folder or .zip to write; the folder must not exist",
    )


def run(arguments: argparse.Namespace) -> int:
    {"convert": _convert, "split": _split, "anonymize": _anonymize}[arguments.action](arguments)
    return 0


def _convert(arguments: argparse.Namespace) -> None:
    qrels = _read(arguments)
    if arguments.topics:
        topics = read_topic_codes(arguments.topics)
        missing = sorted(set(topics) - set(qrels.topics.tolist()))
        if missing:
            raise InputError(f"{arguments.topics}: the qrels have no topic {', '.join(missing[:5])}")
        qrels = qrels.keep_topics(topics)
    notes = []
    if arguments.formulas:
        n_instances = len(qrels.grade)
        qrels, n_skipped = to_distinct_formulas(qrels, read_formulas(arguments.formulas))
        if not len(qrels.grade):
            raise InputError(f"{arguments.qrels}: no line has a formula with a visual id")
        notes.append(
            "Formula instances became visually distinct formulas, each with the highest grade of its instances: "
            f"{plural(n_instances - n_skipped, 'instance')}; left out without a visual id: {n_skipped}."
        )
    _write([Part("qrels", "All judgments.", qrels)], arguments, notes)


def _split(arguments: argparse.Namespace) -> None:
    qrels = _read(arguments)
    if arguments.test_topics:
        train, test = split_given(qrels, read_topic_codes(arguments.test_topics))
        how = "The test topics are from a list."
    else:
        train, test = split_at_random(qrels, arguments.test_share, arguments.seed)
        how = (
            f"A share of {arguments.test_share:g} of the topics was chosen at random for the test "
            f"(seed {arguments.seed})."
        )
    parts = [Part("train", "Topics to train on.", train), Part("test", "Topics to test on.", test)]
    _write(parts, arguments, [how])


def _anonymize(arguments: argparse.Namespace) -> None:
    sheet = read_sheet(StringIO(read_text(arguments.judgments), newline=""))
    header, rows = sheet.header, []
    for number, cells in sheet.rows:
        if isinstance(cells, str):
            raise InputError(f"{arguments.judgments}: line {number}: {cells}")
        rows.append(dict(zip(header, cells, strict=True)))
    column = arguments.column or next((name for name in header if name.lower() in ASSESSOR_COLUMNS), "")
    if column not in header:
        problem = f"no column {column}" if column else "no column of assessors; name it with --column"
        raise InputError(f"{arguments.judgments}: {problem}; the columns are {', '.join(header) or 'none'}")
    codes = code_names({row[column] for row in rows if row[column]}, arguments.seed)
    dropped = DROPPED_COLUMNS if arguments.drop is None else arguments.drop
    kept = [name for name in header if name not in dropped]
    coded = (row | {column: codes.get(row[column], "")} for row in rows)
    table = as_csv(kept, ([original(row[name]) for name in kept] for row in coded))
    arguments.output.write_text(table, encoding="utf-8", newline="")


def _read(arguments: argparse.Namespace) -> QrelsColumns:
    if arguments.scale < 1:
        raise InputError(f"--scale {arguments.scale}: use a whole number from 1")
    protocol = load_protocol(arguments.protocol) if arguments.protocol else None
    form = QrelsForm.of(protocol) if protocol else QrelsForm()
    grades = GradeScale.of(protocol, arguments.scale) if protocol and protocol.cites_posts else None
    data = read_data(arguments.qrels)
    if not protocol and data.lstrip().startswith(b"<"):
        needed = "give the --protocol whose runs cite posts, such as bolt-ir-p3"
        raise InputError(f"{arguments.qrels}: the file is XML, as of judged citations; {needed}")
    try:
        return parse_qrels(data, scale=arguments.scale, grades=grades, form=form)
    except QrelsError as error:
        raise InputError(f"{arguments.qrels}: {error}") from None


def _write(parts: Sequence[Part], arguments: argparse.Namespace, notes: Sequence[str]) -> None:
    source = names_of_files([arguments.qrels])[arguments.qrels]
    notes = [f"Made from {source}.", *notes]
    if arguments.scale != 1:
        notes.append(
            f"Every grade of the source was multiplied by {arguments.scale}; multiply relevance levels likewise."
        )
    forms = forms_of(load_protocol(arguments.protocol)) if arguments.protocol else FORMS
    if arguments.to not in forms:
        needs = {PROTOCOL: "that describes columns of qrels", CITES: "whose runs cite posts"}
        how = f"; {arguments.to} needs a protocol {needs[arguments.to]}" if arguments.to in needs else ""
        raise InputError(f"--to {arguments.to}: these qrels are written as {' or '.join(forms)}{how}")
    files = package(parts, forms[arguments.to], title=f"Qrels {source}", notes=notes)
    output: Path = arguments.output
    if output.suffix == ".zip":
        output.write_bytes(zipped(files, output.stem.encode(errors="backslashreplace").decode()))
        return
    output.mkdir(parents=True)
    for name, content in files.items():
        (output / name).write_bytes(content)
