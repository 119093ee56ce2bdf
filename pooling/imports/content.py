"""What an uploaded archive of runs contains: its manifest, compared with the track."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

from assay.formats.archives import Archive, opened_archive
from assay.formats.manifest import ManifestError, ManifestRun, parse_manifest
from pooling.imports.errors import ImportRefused
from pooling.models import Run, RunImport
from tracks.models import Track

MANIFEST = "manifest.csv"
MAX_MANIFEST = 16 << 20  # bytes
MAX_COMPLAINTS = 100  # listed


@contextmanager
def opened(source: RunImport) -> Iterator[Archive]:
    """The archive of an import, with paths relative to its manifest."""
    with source.file.open("rb") as file, opened_archive(cast("BinaryIO", file)) as archive:
        folder = _folder_of_manifest(archive)
        prefix = f"{folder}/" if folder else ""
        files = {
            path.removeprefix(prefix): size for path, size in archive.files.items() if path.startswith(prefix)
        }
        yield Archive(files, lambda path: archive.open(prefix + path))


def _folder_of_manifest(archive: Archive) -> str:
    """The folder of `manifest.csv`: the top of the archive, or its only folder.

    Raises
    ------
    ImportRefused
        There is no manifest, or there are several.
    """
    folders = [
        str(PurePosixPath(path).parent) for path in archive.files if PurePosixPath(path).name == MANIFEST
    ]
    at_top = [folder for folder in folders if "/" not in folder]
    if len(at_top) != 1:
        n = "no" if not at_top else "more than one"
        raise ImportRefused(
            f"The archive has {n} {MANIFEST} at its top or in its only folder. It lists the runs: file,team,tag,kind."
        )
    return "" if at_top[0] == "." else at_top[0]


def plan_of(source: RunImport) -> dict[str, Any]:
    """The rows of the manifest, and what is wrong with it, as plain values.

    Raises
    ------
    Unreadable, ImportRefused
        The file is no archive, or has no manifest.
    """
    track = source.track
    with opened(source) as archive:
        if archive.files[MANIFEST] > MAX_MANIFEST:
            raise ImportRefused(f"{MANIFEST} is larger than 16 MB.")
        with archive.open(MANIFEST) as file:
            data = file.read()
        try:
            runs = parse_manifest(
                data, MANIFEST, track.protocol.parsed, has_file=lambda path: _clean(path) in archive.files
            )
        except ManifestError as error:
            return {"complaints": str(error).split("\n")[:MAX_COMPLAINTS]}
        return {"rows": _rows(track, runs, archive.files)}


def _clean(path: str) -> str:
    return str(PurePosixPath(path.replace("\\", "/")))


def _rows(track: Track, runs: list[ManifestRun], sizes: dict[str, int]) -> list[dict[str, Any]]:
    teams = {team.name.casefold(): team.name for team in track.teams.all()}
    kept = track.runs.exclude(status=Run.Status.WITHDRAWN).select_related("team").defer("report")
    owners = {run.tag: run.team.name for run in kept}
    return [
        {
            "file": (path := _clean(run.file.as_posix())),
            "n_bytes": sizes[path],
            "team": teams.get(run.team.casefold(), run.team),
            "is_new_team": run.team.casefold() not in teams,
            "tag": run.tag,
            "kind": run.kind,
            "pooled_as": run.pooled_as,
            "made": run.made,
            "uses": run.uses,
            "description": run.description,
            "tag_of": owners.get(run.tag, ""),
        }
        for run in runs
    ]
