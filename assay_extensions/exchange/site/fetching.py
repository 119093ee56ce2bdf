"""Data sets of ir_datasets: which ones a site may fetch, and the file that one becomes.

The command `assay collection export` fetches a data set in a process of its own, so that it can be ended: when it takes
too much space, when the job is canceled, or when its worker is killed. Its downloads and its result are in one folder,
which is deleted at the end.
"""

import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from django.conf import settings
from django.core.files import File

from assay import processes
from assay.digests import sha256_of_file
from assay_extensions.exchange.library import PREFIX
from jobs import services as jobs
from jobs.files import storage
from jobs.models import Job
from publishing.errors import load_refused
from publishing.models import LoadedArchive
from web.folders import size_of

PROGRAM = "assay collection export: "
KILLED = "The process that fetches the data set was killed."
POLL_SECONDS = 0.2
WORDS = {"IR_DATASETS_DL_DISABLE_PBAR": "true", "IR_DATASETS_SKIP_DEPRECATED_WARNING": "true"}


def check_dataset(dataset: str) -> None:
    """Refuse a data set that this site may not fetch.

    Raises:
        Refused: The setting names neither it nor a pattern of it, or is not set.
    """
    if not settings.IR_DATASETS:
        raise load_refused(
            "This site fetches no data sets of ir_datasets. An administrator can allow them: the setting IR_DATASETS."
        )
    if not any(fnmatchcase(dataset, pattern) for pattern in settings.IR_DATASETS):
        allowed = ", ".join(settings.IR_DATASETS)
        raise load_refused(f"This site may not fetch {dataset}. The setting IR_DATASETS allows {allowed}.")


def short_name(dataset: str) -> str:
    """The short name of the track and collection of a data set: beir-scifact-test for beir/scifact/test."""
    return re.sub(r"[^a-z0-9]+", "-", dataset.lower()).strip("-")[:100]


def file_name(loaded: LoadedArchive) -> str:
    """The name of a test collection's file, after which the collection and track are named."""
    dataset = loaded.name.removeprefix(PREFIX)
    return loaded.name if dataset == loaded.name else f"{short_name(dataset)}.zip"


def fetch(progress: jobs.Progress, loaded: LoadedArchive) -> None:
    """Store a data set as the file of a test collection, as if somebody had uploaded it.

    Raises:
        Refused: It cannot be fetched, or is larger than the site accepts.
    """
    with _folder(progress) as folder, storage.storing() as store:
        path = folder / "collection.zip"
        _export(progress, loaded.name, folder, path)
        with path.open("rb") as file:
            digest = sha256_of_file(file)
            file.seek(0)
            name = store("archives", File(file, name="archive.zip"))
        with progress.storing():
            loaded.file.name, loaded.size, loaded.sha256 = name, path.stat().st_size, digest
            loaded.save(update_fields=["file", "size", "sha256"])
            storage.claim(name)


def _export(progress: jobs.Progress, source: str, folder: Path, path: Path) -> None:
    words = ["collection", "export", source, "--to", "assay", "--output", str(path), "--quiet"]
    homes = {"IR_DATASETS_HOME": folder / "home", "IR_DATASETS_TMP": folder / "tmp", "TMPDIR": folder}
    environment = WORDS | {name: str(place) for name, place in homes.items()}
    with (folder / "errors").open("w+b") as errors:
        with processes.command(words, errors=errors, environment=environment) as process:
            while process.poll() is None:
                size, most = size_of(folder), settings.IR_DATASETS_MAX_BYTES
                progress.update(size, None, f"bytes: fetching {source}")
                if size > most:
                    raise load_refused(
                        f"{source} has more than {most >> 20:,} MB with its downloads (IR_DATASETS_MAX_MB), and was "
                        "not fetched."
                    )
                time.sleep(POLL_SECONDS)
        # The reason is the error that the command printed, or its last line if it ended otherwise.
        if process.returncode:
            errors.seek(0)
            output = errors.read()[-10_000:].decode(errors="replace")
            lines = [line.strip() for line in output.splitlines() if line.strip()]
            own = [line.removeprefix(PROGRAM) for line in lines if line.startswith(PROGRAM)]
            raise load_refused([KILLED, *lines, *own][-1][:500])


@contextmanager
def _folder(progress: jobs.Progress) -> Iterator[Path]:
    """A folder of this attempt. Those of attempts whose worker was killed are deleted."""
    folders = Path(settings.VAR_DIR, "fetched")
    everything = list(folders.glob("*"))  # before the query: a folder is made after its attempt has begun
    running = Job.objects.filter(state=Job.State.RUNNING).values_list("pk", "attempt")
    names = {f"{job}-{attempt}" for job, attempt in running}
    for folder in everything:
        if folder.name not in names:
            shutil.rmtree(folder, ignore_errors=True)
    folder = folders / f"{progress.job_id}-{progress.attempt}"
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
