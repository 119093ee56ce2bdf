"""Request and carry out the jobs that store large downloads: files of the import folder, exports of collections.

A job writes a temporary file in pieces, stores it, and records it in one short transaction. A second attempt, or a
second export, replaces the file of the first.
"""

import gzip
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

from django.core.files import File
from django.db import transaction
from django.db.models import Count

from accounts.models import User
from corpus.collections.exports import documents, formulas
from corpus.imports.selectors import offered_path
from corpus.locations import FOLDER, open_raw, place_of
from corpus.models import BuildFile, Collection
from jobs import services as jobs
from jobs.files import storage
from jobs.models import Job
from tracks.downloads import services
from tracks.models import Download, Track
from tracks.tracks import services as track_services
from web.pages import counted

Opened = Callable[[], AbstractContextManager[BinaryIO]]


def attach_part(
    *,
    track: Track,
    kind: str,
    name: str,
    description: str,
    release: services.Release,
    path: str,
    url: str,
    sha256: str,
    file: BinaryIO | None,
    by: User,
) -> Download | Job:
    """Attach a file, a link, or in a job a file of the import folder, which is not released yet.

    Raises:
        Refused: As `attach_file` and `attach_link`.
    """
    if path:
        return request_file_of_folder(track=track, kind=kind, path=path, description=description, by=by)
    named: dict[str, Any] = {"kind": kind, "name": name, "description": description, "release": release}
    if file is None:
        return services.attach_link(track=track, url=url, sha256=sha256, by=by, **named)
    return services.attach_file(track=track, file=file, by=by, **named)


@transaction.atomic
def request_file_of_folder(*, track: Track, kind: str, path: str, description: str = "", by: User) -> Job:
    """Attach a file of the import folder in a job. It is not released yet.

    Raises:
        Refused: As `attach_file`.
    """
    services.check(track_services.lock(track.pk), kind, path)
    return jobs.request(
        kind="tracks.downloads.attach",
        title=f"Attach {path} to {track}",
        arguments={
            "track_id": track.pk,
            "kind": kind,
            "path": path,
            "description": description,
            "by_id": by.pk,
        },
        by=by,
        subject=track,
        place=place_of([FOLDER + path]),
    )


@transaction.atomic
def request_export(*, track: Track, by: User) -> Job:
    """Write the documents and formulas of the track's collection to files in a job. They are not released yet.

    If the collection was built on this site, the files are those of the build that are not private. Files of an earlier
    export are replaced, and stay released as they are.

    Raises:
        Refused: The track has no collection, or one that is not imported completely.
    """
    current = track_services.lock(track.pk)
    collection = current.collection
    if collection is None or collection.status != collection.Status.READY:
        raise services.download_refused(
            f"{track} has no collection that is imported completely, so nothing can be exported."
        )
    return jobs.request(
        kind="tracks.downloads.export",
        title=f"Export {collection} for the downloads of {track}",
        arguments={"track_id": track.pk, "by_id": by.pk},
        by=by,
        subject=track,
    )


@jobs.handler("tracks.downloads.attach", words=lambda result: f"{result['file']} is among the downloads.")
def attach(
    progress: jobs.Progress, *, track_id: int, kind: str, path: str, description: str, by_id: int
) -> dict[str, Any]:
    """Attach a file of the import folder.

    Raises:
        Refused: The folder has no such file, or the track has a file of that name.
    """
    track, name = Track.objects.select_related("protocol").get(pk=track_id), PurePosixPath(path).name
    file_path = offered_path(path)
    if file_path is None or not file_path.is_file():
        raise services.download_refused(f"The import folder has no file {path}.")
    with open_raw(FOLDER + path, name) as file:
        progress.update(0, 1, f"storing {name}")
        if Download.objects.filter(track=track, name=name, created_by_id=by_id).exists():
            return {"file": name}  # an earlier attempt stored it
        services.attach_file(
            track=track,
            kind=kind,
            file=file,
            name=name,
            description=description,
            by=User.objects.get(pk=by_id),
        )
    return {"file": name}


@jobs.handler(
    "tracks.downloads.export",
    words=lambda result: f"{counted(len(result['files']), 'file')} exported to the downloads.",
)
def export(progress: jobs.Progress, *, track_id: int, by_id: int) -> dict[str, Any]:
    """Export the documents of a track's collection, and its formulas in each representation that it has."""
    track = Track.objects.select_related("collection").get(pk=track_id)
    collection = track.collection
    if collection is None:
        raise services.download_refused(f"{track} has no collection any more.")
    # The files of its build that participants may have, if it was built here
    built = BuildFile.objects.filter(build__collection=collection, is_private=False)
    files: list[tuple[str, Opened]] = [
        (part.name, partial(cast(Any, part.file.open), "rb")) for part in built
    ]
    names = []
    for name, opened in files or _exported_files(progress, collection):
        with opened() as file:
            progress.update(0, None, f"storing {name}")
            sha256, n_bytes = services.digest_of(file)
            with storage.storing() as store:
                stored = store("downloads", File(file))
                with progress.storing():
                    services.replace_file(
                        track=track, name=name, stored=stored, sha256=sha256, n_bytes=n_bytes, by_id=by_id
                    )
        names.append(name)
    return {"files": sorted(names)}


def _exported_files(progress: jobs.Progress, collection: Collection) -> list[tuple[str, Opened]]:
    n_documents = collection.documents.count()
    parts: dict[str, tuple[Callable[[], Iterator[str]], int]] = {
        f"{collection.slug}-documents.jsonl.gz": (
            lambda: (json.dumps(row, ensure_ascii=False) for row in documents(collection)),
            n_documents,
        )
    }
    if collection.formulas.exists():
        n_formulas = collection.formulas.count()
        parts[f"{collection.slug}-formulas.tsv.gz"] = (partial(formulas, collection), n_formulas)
    mathml = collection.mathml.order_by().values_list("form").annotate(n=Count("pk"))
    for form, n in mathml.order_by("form"):
        parts[f"{collection.slug}-formulas-{form}.tsv.gz"] = (partial(formulas, collection, form), n)
    return [
        (name, partial(_written_file, progress, lines, total, name)) for name, (lines, total) in parts.items()
    ]


@contextmanager
def _written_file(
    progress: jobs.Progress, lines: Callable[[], Iterator[str]], total: int, name: str
) -> Iterator[BinaryIO]:
    with tempfile.TemporaryFile() as file:
        write_packed(cast(BinaryIO, file), progress.counting(lines(), total, name))
        yield cast(BinaryIO, file)


def write_packed(file: BinaryIO, lines: Iterable[str]) -> None:
    """Write lines to a gzip file, which has neither a name nor a time, so that the same lines give the same bytes."""
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed:
        for line in lines:
            packed.write(f"{line}\n".encode())
