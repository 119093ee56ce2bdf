"""Make a lab of a project of Turkle: a protocol with its template, its rows, and the judgments of its results.

The page "Import projects" of the site takes the same files, or those of the lab, for example after you changed them.
"""

import argparse
import sys
from pathlib import Path

from assay.errors import InputError, plural
from assay.formats.moving import JUDGMENTS_FILE, LAB_FILE, ROWS_FILE, make_folder, slug_of
from assay_extensions.turkle.projects import lab_of, projects_in

EXAMPLE = "assay turkle turkle-project/template.html turkle-project/batch.csv turkle-project/results.csv --to passages"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="the HTML template of a project, inputs and results of its batches in CSV; or a zip file with a folder "
        "for each project",
    )
    parser.add_argument(
        "--to",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="folder to make; of several projects, one folder in it each",
    )
    parser.add_argument(
        "--title", default="", help="title of the protocol (default: that in the results, or the folder)"
    )


def run(arguments: argparse.Namespace) -> int:
    names = [path.name for path in arguments.files]
    if len(set(names)) < len(names):
        raise InputError("two files have the same name, which names the batch; rename one of them")
    contents = {}
    for path in arguments.files:
        try:
            contents[path.name] = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
    projects = projects_in(contents)
    folder: Path = arguments.to
    if len(projects) > 1 and arguments.title:
        raise InputError("--title has no effect on several projects, which have titles of their own")
    folders = [folder / project.slug if len(projects) > 1 else folder for project in projects]
    labs = [
        lab_of(
            project,
            slug=slug_of(own, otherwise="turkle"),
            title=arguments.title or project.title,
        )
        for project, own in zip(projects, folders, strict=True)
    ]
    if len(set(folders)) < len(folders):
        raise InputError("two projects have the same title, which names their folder; move them one by one")
    if problems := [problem for lab in labs for problem in lab.problems]:
        raise InputError("\n".join(problems))
    for own, lab in zip(folders, labs, strict=True):
        make_folder(own)
        (own / LAB_FILE).write_text(lab.text, encoding="utf-8")
        (own / ROWS_FILE).write_bytes(lab.rows_csv)
        if lab.judgments_csv:
            (own / JUDGMENTS_FILE).write_bytes(lab.judgments_csv)
        batches = ", ".join(dict.fromkeys(row.batch for row in lab.judgments)) or "no judged batch"
        people = ", ".join(sorted({row.assessor for row in lab.judgments})) or "nobody"
        counts = f"{plural(len(lab.rows), 'row')}; {plural(len(lab.judgments), 'judgment')} of {batches} by {people}"
        sys.stdout.writelines(f"{line}\n" for line in [*lab.notes, counts])
    return 0
