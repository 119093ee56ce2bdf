"""Archives for tests of pages, without a job."""

from django.core.files.base import ContentFile

from accounts.models import User
from jobs.models import Job
from publishing.models import Archive, LoadedArchive
from tracks.models import Track


def make_archive(track: Track, by: User) -> Archive:
    """An archive that is ready. Its file is not a real one."""
    archive = Archive(track=track, status=Archive.Status.READY, size=3, sha256="0" * 64, created_by=by)
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
