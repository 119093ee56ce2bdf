"""Reads manifests: the list of runs that `assay pool` pools, a CSV with a header.

file,team,tag,kind,pooled_as,made,uses,description

The last four are optional; pooled_as is for kinds that the protocol pools as another one. What the team states about
a run (made, uses, description) does not change a pool.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.formats.declaration import COLUMNS, MADE, STATEMENTS, Declaration
from assay.formats.models import WrongModels, stated_models
from assay.formats.names import normal
from assay.formats.sheets import read_sheet
from assay.formats.spreadsheet import original
from assay.formats.text import decoded, read_data
from assay.protocols.questions import WrongAnswer
from assay.protocols.run_answers import answers_of_run
from assay.protocols.schema import Protocol

NEEDED = ("file", "team", "tag", "kind")
ALLOWED = ("file", "team", *COLUMNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestRun(Declaration):
    """A run of a manifest, with what its team states about it."""

    file: Path
    team: str


def read_manifest(path: Path, protocol: Protocol) -> list[ManifestRun]:
    """The runs of a manifest, in its order. Paths are relative to the folder of the manifest.

    Raises `InputError` if the manifest has errors; each complaint names its line; `OSError` if the manifest cannot
    be read.
    """
    folder = path.parent
    data = read_data(str(path))
    runs = parse_manifest(data, path.name, protocol, has_file=lambda file: (folder / file).is_file())
    return [replace(run, file=folder / run.file) for run in runs]


def parse_manifest(
    data: bytes, name: str, protocol: Protocol, *, has_file: Callable[[str], bool]
) -> list[ManifestRun]:
    """The runs of a manifest that has been read; their paths are as the manifest has them.

    Args:
        name: of the manifest, for the messages.
        has_file: whether there is a file with a path of the manifest.

    Raises:
        InputError: The manifest has errors; each complaint names its line.
    """
    text = decoded(data, name).text
    sheet = read_sheet(StringIO(text, newline=""))
    header = [normal(column) for column in sheet.header]
    unknown = [column for column in header if column not in ALLOWED]
    if unknown or not set(NEEDED) <= set(header) or len(set(header)) != len(header):
        raise InputError(
            f"{name}: line {sheet.number or 1}: expected the columns {', '.join(NEEDED)} and optionally "
            f"{', '.join(ALLOWED[len(NEEDED) :])}; got {', '.join(sheet.header) or 'nothing'}"
        )
    complaints: list[str] = []
    rows = list(sheet.rows)
    runs = [
        run
        for line, cells in rows
        if (run := _run(header, cells, f"{name}: line {line}", protocol, has_file, complaints))
    ]
    seen: set[str] = set()
    for run in runs:
        if run.tag in seen:
            complaints.append(f"{name}: two runs have the tag {run.tag}; a tag names one run in the pool")
        seen.add(run.tag)
    if not rows:
        complaints.append(f"{name}: the manifest lists no runs")
    if complaints:
        raise InputError("\n".join(complaints))
    return runs


def _run(
    header: Sequence[str],
    row: Sequence[str] | str,
    place: str,
    protocol: Protocol,
    has_file: Callable[[str], bool],
    complaints: list[str],
) -> ManifestRun | None:
    if isinstance(row, str):
        complaints.append(f"{place}: {row}")
        return None
    given = dict(zip(header, row, strict=True))
    cells = {column: original(given.get(column, "").strip()) for column in ALLOWED}
    if not has_file(cells["file"]) and has_file(cells["file"].replace("\\", "/")):
        cells["file"] = cells["file"].replace("\\", "/")  # written on Windows
    for column in ("kind", "pooled_as", "made"):
        if cells[column].lower() in {*protocol.runs.keys, *MADE}:
            cells[column] = cells[column].lower()
    wrong = [f"{column} is empty" for column in NEEDED if not cells[column]]
    wrong += _wrong_values(cells, protocol)
    if cells["file"] and not has_file(cells["file"]):
        wrong.append(f"there is no file {cells['file']}")
    complaints.extend(f"{place}: {problem}" for problem in wrong)
    if wrong:
        return None
    stated: dict[str, Any] = {name: cells[column] for name, column in zip(STATEMENTS, COLUMNS, strict=True)}
    stated["is_manual"] = cells["made"] == "manual"
    return ManifestRun(file=Path(cells["file"]), team=cells["team"], **stated)


def _wrong_values(cells: dict[str, str], protocol: Protocol) -> list[str]:
    kind, pooled_as, wrong = cells["kind"], cells["pooled_as"], []
    if kind and kind not in protocol.runs.keys:
        wrong.append(f"kind {kind!r} is not one of {', '.join(protocol.runs.keys)}")
    elif pooled_as and (complaint := protocol.runs.why_not_pooled_as(kind, pooled_as)):
        wrong.append(f"pooled_as {pooled_as!r}: {complaint}")
    if cells["made"] not in {"", *MADE}:
        wrong.append(f"made {cells['made']!r}: use {' or '.join(MADE)}")
    if problem := protocol.runs.why_not_used(cells["uses"]):
        wrong.append(f"uses {problem}")
    try:
        stated_models(cells["models"])
    except WrongModels as error:
        wrong.append(str(error))
    try:
        if cells["answers"]:
            answers_of_run(protocol.runs, cells["answers"])
    except WrongAnswer as error:
        wrong.append(f"answers: {error}")
    return wrong
