"""Store an imported file of a track, and record what was imported from it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.core.files.base import ContentFile
from django.db import transaction

from accounts.audit import services as audit
from assay.digests import sha256_of
from assay.errors import Refused
from jobs.files import storage
from tracks.models import TopicImport, Track
from tracks.tracks import services as track_services


@dataclass(frozen=True, slots=True)
class RowReport:
    """The result of an import of labels, known items or rows: the number of topics, and all of it in a sentence."""

    n_topics: int
    text: str
    notes: Sequence[str] = ()  # on the encoding of the file

    def __str__(self) -> str:
        return " ".join([self.text, *self.notes])


OnStored = Callable[[Any], None]  # called in the transaction of an import with its report

NOT_IMPORTED = "These topics cannot be imported"
topics_refused = partial(Refused, code="topics-refused", title=NOT_IMPORTED)


@contextmanager
def storing(track: Track, data: bytes) -> Iterator[tuple[Track, str]]:
    """Store a file, then lock the track in a transaction."""
    with storage.storing() as store:
        file = store("topics", ContentFile(data))
        with transaction.atomic():
            yield track_services.lock(track.pk), file


def record(
    track: Track,
    data: bytes,
    name: str,
    form: str,
    n_topics: int,
    file: str,
    *,
    is_private: bool,
    n_removed: int = 0,
) -> None:
    """Record what was imported, with the stored file."""
    storage.claim(file)
    counts, sha256 = {"topics": n_topics}, sha256_of(data)
    TopicImport.objects.create(
        track=track,
        format=form,
        name=name,
        sha256=sha256,
        size=len(data),
        counts=counts,
        file=file,
        has_private_parts=is_private,
    )
    details = counts | ({"removed": n_removed} if n_removed else {}) | {"sha256": sha256}
    audit.record(action=f"{form}.imported", subject=name, track=track, details=details)
