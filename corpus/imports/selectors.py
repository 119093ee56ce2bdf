"""Imports, the jobs that do them, and the files on the server that organizers may import."""

import os
from collections import deque
from collections.abc import Collection as AnyCollection
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Q

from accounts.models import User
from assay.formats.documents.articles import is_article
from corpus.collections.selectors import counts_in_words, unfinished_import
from corpus.images.reading import is_image
from corpus.models import Collection, Import
from jobs.models import Job

MAX_OFFERED = 500  # files and folders that the page offers
MAX_LOOKED_AT = 5_000  # entries of the import folder that are looked at for one page


class OfferedPaths(NamedTuple):
    """Files and folders in the import folder, relative to it, and whether these are all."""

    paths: list[str]
    are_all: bool


class SkippedRows(NamedTuple):
    """Rows or images that were skipped for one reason; `lines` names the first of them."""

    reason: str
    n: int
    lines: str


class FileRow(NamedTuple):
    """A file of an import: how many rows were imported, and which ones were skipped."""

    file: Import
    counts: list[str]
    skipped: list[SkippedRows]


@dataclass(frozen=True)
class ImportPage:
    """`counts` are those of the collection after the import; `n_orphans` answers have no question in it.

    `own_track` is the newest track of the reader whose runs search the collection.
    """

    job: Job
    collection: Collection | None
    files: list[FileRow]
    counts: list[str]
    n_orphans: int
    own_track: Any


def interrupted_import(collection: Collection, locations: AnyCollection[str]) -> Job | None:
    """The unfinished import into a collection, if it imports only files at these locations."""
    job = unfinished_import(collection)
    if job is None:
        return None
    files = job.imports.all()
    return job if files and all(file.location in locations for file in files) else None


def import_page(job: Job, user: User) -> ImportPage:
    """The page of an import: its progress, and what was imported from each file."""
    collection = Collection.objects.filter(
        Q(imports__job=job) | Q(pk=job.arguments.get("collection_id"))
    ).first()
    tracks = collection.tracks.order_by("-pk") if collection else ()
    return ImportPage(
        job=job,
        collection=collection,
        own_track=next((track for track in tracks if user.organizes(track.pk)), None),
        files=[
            FileRow(file, counts_in_words(file.counts), skipped_rows(file))
            for file in job.imports.order_by("id")
        ],
        counts=counts_in_words(job.result.get("counts", {})),
        n_orphans=job.result.get("answers_without_question", 0),
    )


def skipped_rows(file: Import) -> list[SkippedRows]:
    """The skipped rows of a file by reason, the most frequent reason first."""
    rows = []
    for reason, n in sorted(file.skipped.items(), key=lambda item: (-item[1], item[0])):
        first = file.skipped_lines.get(reason, [])  # the numbers of the first lines, or names of files
        words = ", ".join(line if isinstance(line, str) else f"{line:,}" for line in first)
        start = f"line{'s' * (n > 1)} " if first and not isinstance(first[0], str) else ""
        end = ", …" if 0 < len(first) < n else ""
        rows.append(SkippedRows(reason, n, f"{start}{words}{end}"))
    return rows


def import_dir() -> Path | None:
    """The folder from which organizers may import files; None if the settings name none."""
    return Path(settings.IMPORT_DIR).resolve() if settings.IMPORT_DIR else None


def is_folder_here() -> bool:
    """Return whether this machine sees the import folder. Otherwise only the workers that see it know its files."""
    root = import_dir()
    return root is None or root.is_dir()


def offered_paths() -> OfferedPaths:
    """The first files and folders in the import folder. Images and articles count by their folder.

    Folders are listed before what they contain, and a limited number of entries is looked at: an import folder can
    have millions of files.
    """
    root = import_dir()
    if root is None or not root.is_dir():
        return OfferedPaths([], are_all=True)
    names: list[str] = []
    folders, n_left, are_all = deque([root]), MAX_LOOKED_AT, True
    while folders and n_left > 0:
        most = min(n_left, MAX_OFFERED + 1)
        try:
            with os.scandir(folders.popleft()) as listed:
                entries = list(islice(listed, most))  # in no order
        except OSError:  # it cannot be read
            entries = []
        n_left -= max(len(entries), 1)
        are_all &= len(entries) < most
        usual = sorted((entry for entry in entries if _is_offered(entry)), key=lambda entry: entry.name)
        names += [
            Path(entry.path).relative_to(root).as_posix() for entry in usual if _is_within(Path(entry), root)
        ]
        folders.extend(Path(entry) for entry in usual if entry.is_dir(follow_symlinks=False))
    return OfferedPaths(
        sorted(names[:MAX_OFFERED]), are_all=are_all and not folders and len(names) <= MAX_OFFERED
    )


def _is_offered(entry: os.DirEntry[str]) -> bool:
    """Return whether a page can show the entry: a name that is not UTF-8 has characters that no text has."""
    name = entry.name
    is_text = os.fsencode(name) == name.encode(errors="replace")
    return is_text and not name.startswith(".") and not is_image(name) and not is_article(name)


def offered_path(name: str) -> Path | None:
    """The path of a name in the import folder; None if it does not exist or leads out of the folder."""
    root = import_dir()
    if root is None or not name or "\x00" in name:
        return None
    path = (root / name).resolve()
    return path if path.exists() and _is_within(path, root) else None


def _is_within(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root)
