"""The folders in which builds work, on the disk of the worker that has the job.

A folder belongs to one build with its sources and options: after a change of options there is another one. It is kept
until the collection is imported, or the build is changed or deleted.
"""

import fcntl
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from django.conf import settings

from corpus.models import Build
from jobs import services as jobs
from jobs.models import Job
from web.folders import size_of

LOCK = "lock"
WAIT_SECONDS = 0.5


def _work_folders() -> Path:
    return Path(settings.VAR_DIR, "builds")


def work_folder(build: Build) -> Path:
    """The folder on the disk of this worker in which a build works."""
    options = [build.sources, build.settings, build.removed, build.converter]
    digest = sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()
    return _work_folders() / f"{build.pk}-{digest[:12]}"


@contextmanager
def alone_in(folder: Path, progress: jobs.Progress) -> Iterator[None]:
    """Wait until no other process works in a folder, which is made.

    A worker that was taken for lost may still run. It stops at its next report, and a killed one holds no lock.

    Raises:
        JobLost: This job was canceled, or another worker took it over.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("w") as file:
        while not _is_locked(file.fileno()):
            progress.update(0, None, "waiting for the earlier worker, which still runs, to stop")
            time.sleep(WAIT_SECONDS)
        yield


def _is_locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def measure(build: Build) -> None:
    """Store the size of the folder of a build, if it is on this machine."""
    folder = work_folder(build)
    if folder.exists():
        host = settings.HOST_NAME
        Build.objects.filter(pk=build.pk).update(work_bytes=size_of(folder), work_host=host)
    else:
        Build.objects.filter(pk=build.pk, work_host=settings.HOST_NAME).update(work_bytes=0, work_host="")


def delete_work_folders() -> int:
    """Delete the folders on this machine of builds that are imported, changed or not known here. Return their number.

    The sizes of the others are measured again.
    """
    everything = list(_work_folders().glob("*"))  # before the query: a folder is made after its row
    waiting = list(Build.objects.exclude(import_job__state=Job.State.DONE))
    names = {work_folder(build).name for build in waiting}
    folders = [folder for folder in everything if folder.name not in names]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    here = Build.objects.filter(work_host=settings.HOST_NAME, import_job__state=Job.State.DONE)
    for build in [*waiting, *here]:
        measure(build)
    return len(folders)
