"""Make a lab of a project of Label Studio, or write rows and judgments, or votes, for Label Studio.

`import` reads the labeling configuration and the export in JSON. It makes a protocol, rows and judgments; of a pairwise
control, it makes votes for assay preferences, and the compared documents. `export` writes a configuration and tasks.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.cli.main import add, add_actions
from assay.errors import InputError, plural
from assay.formats.compression import read_file
from assay.formats.documents.jsonl import with_usual_names
from assay.formats.judgments.reader import parse_judgments
from assay.formats.moving import make_folder, slug_of, write_project
from assay.formats.rows import read_rows
from assay.formats.text import lines_of, read_text
from assay.preferences.votes import as_lines, read_votes
from assay.protocols.loader import load_protocol
from assay_extensions.label_studio.config import read_config
from assay_extensions.label_studio.moves import documents_lines, move
from assay_extensions.label_studio.tasks import read_tasks
from assay_extensions.label_studio.writing import write_rows, write_votes

EXAMPLE = "assay label-studio import label-studio/config.xml label-studio/tasks.json --to answers"
FOR_EXPORT = "assay label-studio export --protocol captions-lab.toml --rows captions.csv --to captions"
QUESTION = "Which one is better?"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = add_actions(parser)
    incoming = actions.add_parser("import", help="make a lab of a project", example=EXAMPLE)
    incoming.add_argument(
        "config", metavar="CONFIG", help="the labeling configuration of the project, in XML"
    )
    incoming.add_argument("tasks", metavar="TASKS", help="its export in JSON")
    incoming.add_argument(
        "--title", default="", help="title of the protocol (default: the name of the folder)"
    )
    outgoing = actions.add_parser("export", help="write a configuration and tasks", example=FOR_EXPORT)
    add(outgoing, "--protocol", required=False)
    outgoing.add_argument("--rows", metavar="FILE", help="the table of its rows")
    outgoing.add_argument("--judgments", metavar="FILE", help="judgments of the rows, as Assay exports them")
    outgoing.add_argument(
        "--votes", metavar="FILE", help="instead of rows: votes, as assay preferences reads them"
    )
    outgoing.add_argument(
        "--documents", metavar="FILE", help="the texts of the compared documents, in JSON lines"
    )
    outgoing.add_argument(
        "--question", default=QUESTION, help=f"what a comparison asks (default: {QUESTION})"
    )
    for action in (incoming, outgoing):
        action.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="folder to make")


def run(arguments: argparse.Namespace) -> int:
    return _import(arguments) if arguments.action == "import" else _export(arguments)


def _import(arguments: argparse.Namespace) -> int:
    folder: Path = arguments.to
    config = read_config(read_file(arguments.config), Path(arguments.config).name)
    name = Path(arguments.tasks).name
    file = read_tasks(read_file(arguments.tasks), name, config)
    moved = move(
        config,
        file,
        slug=slug_of(folder, otherwise="label-studio"),
        title=arguments.title or folder.resolve().name,
        batch=Path(name).stem,
    )
    if moved.project is not None:
        write_project(folder, moved.project)
    else:
        make_folder(folder)
    if moved.documents:
        (folder / "votes.txt").write_text("".join(as_lines(moved.votes)), encoding="utf-8")
        (folder / "documents.jsonl").write_text("".join(documents_lines(moved.documents)), encoding="utf-8")
    lines = []
    if moved.project is not None:
        people = sorted({judgment["assessor"] for judgment in moved.project.judgments})
        counts = f"{plural(len(file.tasks), 'row')}; {plural(len(moved.project.judgments), 'judgment')}"
        lines.append(f"{counts} by {', '.join(people) or 'nobody'}")
    if moved.documents:
        lines.append(f"{plural(len(moved.votes), 'vote')} on {plural(len(moved.documents), 'document')}")
    _print([*moved.notes, *lines])
    return 0


def _export(arguments: argparse.Namespace) -> int:
    has_rows = bool(arguments.protocol and arguments.rows)
    if has_rows == bool(arguments.votes):
        raise InputError("give --protocol and --rows, or --votes")
    others = ("documents",) if has_rows else ("protocol", "rows", "judgments")
    for name in others:
        if getattr(arguments, name):
            raise InputError(f"--{name} has no effect {'with --rows' if has_rows else 'with --votes'}")
    if has_rows:
        protocol = load_protocol(arguments.protocol)
        fields = protocol.judging.form.fields if protocol.judging.form else ()
        rows = read_rows(read_file(arguments.rows), arguments.rows, fields=fields)
        path = arguments.judgments
        written = write_rows(protocol, rows, parse_judgments(read_file(path), path).rows if path else [])
    else:
        texts, is_html = _texts(arguments.documents) if arguments.documents else ({}, False)
        votes = read_votes(arguments.votes)
        written = write_votes(votes, texts, question=arguments.question, is_html=is_html)
    folder: Path = arguments.to
    make_folder(folder)
    (folder / "config.xml").write_text(written.config, encoding="utf-8")
    (folder / "tasks.json").write_text(written.tasks_json, encoding="utf-8")
    n_annotations = sum(len(task["annotations"]) for task in written.tasks)
    _print([*written.notes, f"{plural(len(written.tasks), 'task')}; {plural(n_annotations, 'annotation')}"])
    return 0


def _texts(path: str) -> tuple[Mapping[str, str], bool]:
    """The text of each document, or its HTML, and whether there is HTML."""
    texts: dict[str, str] = {}
    is_html = False
    for number, line in enumerate(lines_of(read_text(path)), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        row = with_usual_names(row) if isinstance(row, dict) else {}
        is_html |= "body" in row
        docno, text = row.get("docno"), row.get("body", row.get("text", row.get("title")))
        if not isinstance(docno, str) or not isinstance(text, str):
            raise InputError(f"{path}: line {number}: expected an object with docno, and with text or body")
        texts[docno] = text
    return texts, is_html


def _print(lines: Sequence[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
