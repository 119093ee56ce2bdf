"""Make a lab of a project of Turkle: a protocol with its template, its rows, and the judgments of its results.

Import them on the site as a protocol, as rows and as judgments.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from assay.errors import InputError
from assay.formats.moving import Project, slug_of, write_project
from assay.formats.turkle import move, read_table

EXAMPLE = (
    "assay turkle turkle-project/template.html --batch turkle-project/batch.csv "
    "--results turkle-project/results.csv --to passages"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("template", type=Path, metavar="TEMPLATE", help="the HTML template of the project")
    parser.add_argument(
        "--batch", action="append", type=Path, default=[], metavar="CSV", help="input of a batch; repeatable"
    )
    parser.add_argument(
        "--results",
        action="append",
        type=Path,
        default=[],
        metavar="CSV",
        help="results of a batch, as its page has them; with --batch, one for each in the same order",
    )
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="folder to make")
    parser.add_argument(
        "--title", default="", help="title of the protocol (default: that in the results, or the folder)"
    )


def run(arguments: argparse.Namespace) -> int:
    files = arguments.batch or arguments.results
    if not files:
        raise InputError("no rows; give the input of a batch with --batch, or its results with --results")
    if arguments.batch and len(arguments.results) > len(arguments.batch):
        raise InputError("--results without a --batch; give the input of each batch, in the same order")
    names = [path.stem for path in files]
    if len(set(names)) < len(names):
        raise InputError("two files have the same name, which names the batch; rename one of them")
    results = {
        name: read_table(_text(path), path.name) for name, path in zip(names, arguments.results, strict=False)
    }
    folder: Path = arguments.to
    title = arguments.title or next((row["Title"] for of in results.values() for row in of), "")
    project = move(
        _text(arguments.template),
        slug=slug_of(folder, otherwise="turkle"),
        title=title or folder.resolve().name,
        batches={path.stem: read_table(_text(path), path.name) for path in arguments.batch},
        results=results,
    )
    write_project(folder, project)
    _print(project, names)
    return 0


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name}: not UTF-8 (byte {error.start + 1}); save it as UTF-8") from None


def _print(project: Project, names: Sequence[str]) -> None:
    people = {judgment["assessor"] for judgment in project.judgments}
    counts = f"{len(project.rows):,} rows of {', '.join(names)}; {len(project.judgments):,} judgments"
    by = ", ".join(sorted(people)) or "nobody"
    sys.stdout.writelines(f"{line}\n" for line in [*project.notes, f"{counts} by {by}"])
