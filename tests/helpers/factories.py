"""Functions that create the rows that tests need. Values that a test does not give have defaults."""

from datetime import timedelta
from functools import cache
from itertools import count
from typing import Any

from django.contrib.auth.hashers import make_password
from django.core.files.base import ContentFile

from accounts.models import User
from assay.digests import sha256_of
from assay.protocols.loader import parse_protocol, shipped_text
from corpus.models import Collection, Comment, Document, Image
from jobs.models import Job
from publishing.models import Archive, LoadedArchive
from tracks.models import Assessor, Deadline, Organizer, StoredProtocol, Topic, Track, Webhook
from web.times import now

PASSWORD = "correct horse battery staple"  # of every user
_number = count(1)


@cache
def _hash() -> str:
    """The hash of the password, computed once because it is slow."""
    return make_password(PASSWORD)


def make_user(username: str = "", **fields: Any) -> User:
    """A user without a role in any track."""
    username = username or f"user-{next(_number)}"
    return User.objects.create(username=username, password=_hash(), **fields)


def make_organizer(username: str = "", **fields: Any) -> User:
    """An administrator who organizes every track that there is, and every one that `make_track` makes later."""
    user = make_user(username or f"organizer-{next(_number)}", is_staff=True, **fields)
    Organizer.objects.bulk_create(Organizer(track=track, user=user) for track in Track.objects.all())
    return user


def make_role(track: Track, username: str, *, is_chair: bool = False) -> User:
    """An organizer or a chair of one track, who is no administrator."""
    user = make_user(username)
    Organizer.objects.create(track=track, user=user, is_chair=is_chair)
    return user


def make_assessor(track: Track, username: str = "", **fields: Any) -> User:
    """A user who judges for the track."""
    user = make_user(username or f"assessor-{next(_number)}", **fields)
    Assessor.objects.create(track=track, user=user)
    return user


def make_protocol(slug: str = "arqmath-2020-task1") -> StoredProtocol:
    """The stored row of a shipped protocol; the same row on every call."""
    text = shipped_text(slug)
    parsed = parse_protocol(text, name=f"{slug}.toml")
    fields = {"title": parsed.title, "text": text, "digest": parsed.digest, "is_shipped": True}
    return StoredProtocol.objects.get_or_create(slug=slug, defaults=fields)[0]


def make_collection(slug: str = "", **fields: Any) -> Collection:
    """A collection that readers see."""
    slug = slug or f"collection-{next(_number)}"
    fields = {"name": slug, "status": Collection.Status.READY, "hosts": ["math.stackexchange.com"]} | fields
    return Collection.objects.create(slug=slug, **fields)


def make_document(collection: Collection, docno: str = "", **fields: Any) -> Document:
    """A question with its own thread, unless `kind` and `thread` are given."""
    docno = docno or str(next(_number))
    fields = {"kind": Document.Kind.QUESTION, "thread": docno, "body": f"<p>Body of {docno}.</p>"} | fields
    if fields["kind"] == Document.Kind.QUESTION:
        fields.setdefault("title", f"Title of {docno}")
    return Document.objects.create(collection=collection, docno=docno, **fields)


def make_answer(question: Document, docno: str = "", **fields: Any) -> Document:
    fields = {"kind": Document.Kind.ANSWER, "thread": question.docno} | fields
    return make_document(question.collection, docno, **fields)


def make_comment(document: Document, code: str = "", **fields: Any) -> Comment:
    fields = {"code": code or str(next(_number)), "text": "A remark."} | fields
    return Comment.objects.create(document=document, **fields)


def make_image(collection: Collection, name: str = "") -> Image:
    """An image of one pixel, with its file in the storage."""
    content = b"\x89PNG\r\n\x1a\n"  # no test decodes it
    fields = {"content_type": Image.ContentType.PNG, "width": 1, "height": 1, "n_bytes": len(content)}
    image = Image(
        collection=collection, name=name or f"{next(_number)}.png", sha256=f"{next(_number):064x}", **fields
    )
    image.file.save("images/one", ContentFile(content), save=False)
    image.save()
    return image


def make_track(slug: str = "", *, protocol: str = "arqmath-2020-task1", **fields: Any) -> Track:
    """A track that is open for runs, over a collection of its own unless one is given; what can be skipped is."""
    slug = slug or f"track-{next(_number)}"
    if "collection" not in fields:
        fields["collection"] = make_collection(f"{slug}-posts")
    skipped = ["collection", "data", "deadlines", "description", "dual", "guidelines", "leaks", "training"]
    fields = {"name": slug, "status": Track.Status.OPEN, "skipped": skipped} | fields
    track = Track.objects.create(slug=slug, protocol=make_protocol(protocol), **fields)
    staff = User.objects.filter(is_staff=True)
    Organizer.objects.bulk_create(Organizer(track=track, user=user) for user in staff)
    return track


def make_webhook(track: Track, by: User, url: str = "https://lab.example.org/hook", *events: str) -> Webhook:
    """A webhook of a track, by default for closed batches."""
    return Webhook.objects.create(track=track, url=url, events=events or ["batch.closed"], created_by=by)


def make_deadline(track: Track, kind: str = "", **fields: Any) -> Deadline:
    """A deadline of a track; times are seconds from now by the clock of the database."""
    times = {
        name: now() + timedelta(seconds=seconds) for name, seconds in fields.items() if name.endswith("_at")
    }
    return Deadline.objects.create(track=track, kind=kind, **fields | times)


def make_topic(track: Track, code: str = "", **fields: Any) -> Topic:
    code = code or f"A.{next(_number)}"
    fields = {"title": f"Title of {code}", "body": f"<p>Body of {code}.</p>", "tags": ["algebra"]} | fields
    return Topic.objects.create(track=track, code=code, **fields)


def make_archive(track: Track, by: User) -> Archive:
    """An archive that is ready. Its file is not a real one."""
    archive = Archive(
        track=track, status=Archive.Status.READY, size=3, sha256=sha256_of(b"zip"), created_by=by
    )
    archive.file.save("archives/one", ContentFile(b"zip"), save=False)
    archive.counts = {"runs": 1, "judgments": 2, "qrels": 1, "leaderboards": 1}
    archive.save()
    return archive


def make_loaded_archive(by: User) -> LoadedArchive:
    """An archive that was refused."""
    job = Job.objects.create(kind="archives.load", title="Load a.zip", state=Job.State.FAILED, error="Wrong.")
    finding = {"part": "topics", "content": "3", "problem": "the index says 4"}
    fields = {
        "name": "a.zip",
        "size": 3,
        "sha256": "0" * 64,
        "status": LoadedArchive.Status.FAILED,
        "job": job,
    }
    return LoadedArchive.objects.create(**fields, findings=[finding], created_by=by)
