"""Reads manifests: the list of runs that `assay pool` pools, a CSV with a header.

file,team,tag,kind,pooled_as      (pooled_as is optional, and only for baselines)
"""

import csv
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from assay.errors import InputError
from assay.protocols.schema import Protocol

NEEDED = ("file", "team", "tag", "kind")
ALLOWED = (*NEEDED, "pooled_as")


class ManifestError(InputError):
    """A manifest has errors; the message has a line for each."""


@dataclass(frozen=True, slots=True)
class ManifestRun:
    """A run of a manifest."""

    file: Path
    team: str
    tag: str
    kind: str
    pooled_as: str


def read_manifest(path: Path, protocol: Protocol) -> list[ManifestRun]:
    """The runs of a manifest, in its order. Paths are relative to the folder of the manifest.

    Raises
    ------
    ManifestError
        The manifest has errors; each complaint names its line.
    OSError
        The manifest cannot be read.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ManifestError(f"{path.name}: not UTF-8 (byte {error.start + 1})") from None
    reader = csv.DictReader(StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in reader.fieldnames or []]
        _check_header(header, path.name)
        reader.fieldnames = header
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        # The reader counts the lines before the error.
        line = min(reader.line_num + 1, text.count("\n") + 1)
        raise ManifestError(f"{path.name}: line {line}: {error}") from None
    complaints: list[str] = []
    runs = [run for line, row in rows if (run := _run(row, line, path, protocol, complaints))]
    _check_tags(runs, path.name, complaints)
    if not rows:
        complaints.append(f"{path.name}: the manifest lists no runs")
    if complaints:
        raise ManifestError("\n".join(complaints))
    return runs


def _check_header(header: list[str], name: str) -> None:
    missing = [column for column in NEEDED if column not in header]
    unknown = [column for column in header if column not in ALLOWED]
    if missing or unknown or len(set(header)) != len(header):
        got = ", ".join(header) or "nothing"
        raise ManifestError(
            f"{name}: line 1: expected the columns {', '.join(NEEDED)} and optionally pooled_as; got {got}"
        )


def _run(
    row: dict[str, str | None], line: int, path: Path, protocol: Protocol, complaints: list[str]
) -> ManifestRun | None:
    before = len(complaints)
    if None in row or any(row[column] is None for column in NEEDED):
        complaints.append(f"{path.name}: line {line}: the number of columns differs from the header's")
        return None
    cells = {column: (row.get(column) or "").strip() for column in ALLOWED}
    complaints.extend(
        f"{path.name}: line {line}: {column} is empty" for column in NEEDED if not cells[column]
    )
    kind, pooled_as = cells["kind"], cells["pooled_as"]
    if kind and kind not in protocol.runs.kinds:
        complaints.append(
            f"{path.name}: line {line}: kind {kind!r} is not one of {', '.join(protocol.runs.kinds)}"
        )
    if pooled_as not in {"", "primary", "alternate"} or (pooled_as and kind != "baseline"):
        complaints.append(
            f"{path.name}: line {line}: pooled_as {pooled_as!r}: use primary or alternate, and only for a baseline"
        )
    file = path.parent / cells["file"]
    if cells["file"] and not file.is_file():
        complaints.append(f"{path.name}: line {line}: there is no file {cells['file']}")
    if len(complaints) > before:
        return None
    return ManifestRun(file, cells["team"], cells["tag"], kind, pooled_as)


def _check_tags(runs: list[ManifestRun], name: str, complaints: list[str]) -> None:
    seen: set[str] = set()
    for run in runs:
        if run.tag in seen:
            complaints.append(f"{name}: two runs have the tag {run.tag}; a tag names one run in the pool")
        seen.add(run.tag)
