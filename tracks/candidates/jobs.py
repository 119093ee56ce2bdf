"""Import the candidates of a track in a job, from an upload, a file of the import folder or an imported collection.

The questions of a collection are first written to a file of candidates, which is kept like an upload. The file is read
outside a transaction, into lines for COPY in a temporary file; they are stored in one transaction. A second attempt, or
a later import, replaces all candidates.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.core.files import File
from django.db import connection, transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.candidates.reader import Candidate as Row
from assay.candidates.reader import CandidateLines
from assay.errors import Refused
from assay.formats.documents.batch import array, copy_line
from corpus.imports.selectors import is_folder_here, offered_path
from corpus.locations import FOLDER, UPLOAD, open_file, place_of
from corpus.models import Collection
from jobs import services as jobs
from jobs.files import storage
from jobs.models import Job, UnclaimedFile
from tracks.candidates import from_collection
from tracks.models import Candidate, CandidateDecision, CandidateFile, Track
from tracks.tracks import services as track_services
from web.pages import counted

KIND = "tracks.candidates.import"
QUESTIONS = "questions:"  # begins the location of the questions of a collection; its key follows
BLOCK = 1 << 20
REPORTED = 500  # candidates between two reports of the progress
COLUMNS = (
    *("docno", "date", "title", "body", "tags", "score", "answers", "formulas"),
    *("duplicates", "related", "reputation", "length", "text"),
)


candidates_refused = partial(Refused, code="candidates-refused", title="These candidates cannot be imported")


def request_import(
    *,
    track: Track,
    upload: "File[bytes] | None" = None,
    path: str = "",
    questions: Collection | None = None,
    by: User,
) -> Job:
    """Import candidates from an upload, from a path in the import folder, or from the questions of a collection.

    A job does it. They replace earlier ones.

    Raises:
        Refused: The track is not a draft, somebody has decided on its candidates, or there is no such file.
        Refused: The storage is full or does not answer.
    """
    if questions is not None:
        return _request(track, f"{QUESTIONS}{questions.pk}", f"{questions.slug}-candidates.jsonl", by)
    if upload is None:
        if is_folder_here() and offered_path(path) is None:
            raise candidates_refused(f"The import folder has no file {path}.")
        return _request(track, FOLDER + path, path, by)
    with storage.storing() as store, upload:
        name = store("candidates", upload)
        return _request(track, UPLOAD + name, upload.name or "candidates.jsonl", by)


@transaction.atomic
def _request(track: Track, location: str, name: str, by: User) -> Job:
    _check(track_services.lock(track.pk))
    arguments = {"track_id": track.pk, "location": location, "name": name, "by_id": by.pk}
    title = f"Import candidates for {track} from {name}"
    place = "" if location.startswith(QUESTIONS) else place_of([location])
    job = jobs.request(kind=KIND, title=title, arguments=arguments, by=by, subject=track, place=place)
    if location.startswith(UPLOAD):
        storage.claim(location.removeprefix(UPLOAD))
    return job


def _check(track: Track) -> None:
    if track.status != Track.Status.DRAFT:
        raise candidates_refused(
            f"{track} is {track.get_status_display()}; topics are chosen for a draft only."
        )
    n = CandidateDecision.objects.filter(candidate__track=track).count()
    if n:
        raise candidates_refused(
            f"Another file would take away {counted(n, 'decision')} on the candidates of {track}."
        )


def _discard(*, location: str, **_: object) -> None:
    """Delete the upload of an import that failed: its file has errors, or it is uploaded again."""
    if location.startswith(UPLOAD):
        storage.discard([location.removeprefix(UPLOAD)])


@jobs.handler(
    KIND, failed=_discard, words=lambda result: f"{counted(result['candidates'], 'candidate')} imported."
)
def import_candidates(
    progress: jobs.Progress, *, track_id: int, location: str, name: str, by_id: int
) -> dict[str, Any]:
    """Import the candidates of a file, or the questions of a collection.

    Raises:
        BadFile: The file cannot be read, or a line has an error; the message has all of them.
        Refused: As `request_import`.
    """
    with (
        _stored(track_id, location, progress) as place,
        open_file(place, name) as (text, raw),
        tempfile.TemporaryFile() as lines,
    ):
        rows = CandidateLines(iter(lambda: text.read(BLOCK), b""), name, has_text=True)
        size = raw.seek(0, 2)
        for n, row in enumerate(rows):
            if n % REPORTED == 0:
                n_read = min(raw.tell(), size)  # prose: allow a method of files
                progress.update(n_read, size, counted(n, "candidate"))
            lines.write(_line(track_id, row).encode())
        lines.seek(0)
        with progress.storing():
            track = track_services.lock(track_id)
            _check(track)
            track.candidate_samples.all().delete()
            track.candidates.all().delete()
            with connection.cursor() as cursor:
                columns = ", ".join(("track_id", *COLUMNS))
                cursor.copy_expert(f"COPY {Candidate._meta.db_table} ({columns}) FROM STDIN", lines)
            # Name the file of the candidates in place of an earlier one, which is deleted
            earlier = CandidateFile.objects.filter(track=track).first()
            file = place.removeprefix(UPLOAD) if place.startswith(UPLOAD) else ""
            if earlier and earlier.file and earlier.file.name != file:
                storage.discard([str(earlier.file.name)])
            fields = {"name": rows.name, "sha256": rows.sha256, "n_candidates": rows.n, "file": file}
            CandidateFile.objects.update_or_create(track=track, defaults=fields)
            details = {"file": rows.name, "candidates": rows.n, "sha256": rows.sha256}
            by = User.objects.get(pk=by_id)
            audit.record(action="candidates.imported", subject=track, track=track, details=details, by=by)
            if file and UnclaimedFile.objects.filter(name=file).exists():
                storage.claim(file)
    return {"candidates": rows.n, "sha256": rows.sha256}


@contextmanager
def _stored(track_id: int, location: str, progress: jobs.Progress) -> Iterator[str]:
    """The path of the file of candidates; one of the questions of a collection is written first."""
    if not location.startswith(QUESTIONS):
        yield location
        return
    track = Track.objects.select_related("collection").get(pk=track_id)
    collection = Collection.objects.filter(pk=location.removeprefix(QUESTIONS)).first()
    if collection is None:
        raise candidates_refused("The collection of the questions was deleted meanwhile.")
    total = from_collection.questions_of(track, collection).count()
    with storage.storing() as store, tempfile.TemporaryFile() as file:
        lines = from_collection.lines(track, collection)
        for line in progress.counting(lines, total, f"reading questions of {collection}", every=REPORTED):
            file.write(line.encode())
        file.seek(0)
        yield UPLOAD + store("candidates", File(file))


def _line(track_id: int, row: Row) -> str:
    numbers = {
        name: str(getattr(row, name)) for name in ("score", "answers", "formulas", "reputation", "length")
    }
    lists = {name: array(getattr(row, name)) for name in ("tags", "duplicates", "related")}
    texts = {
        "docno": row.id,
        "date": row.date or None,
        "title": row.title,
        "body": row.body,
        "text": row.text,
    }
    values: dict[str, str | None] = numbers | lists | texts  # type: ignore[operator]
    return copy_line([str(track_id), *(values[name] for name in COLUMNS)])
