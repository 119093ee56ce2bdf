"""What the import pages show: imports, the jobs that do them, and the files that stand ready on the server."""

from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db.models import QuerySet

from corpus.models import Collection, Import, Job

# in the order in which people think of them
KINDS_OF_COUNTS = [
    "topics",
    "questions",
    "answers",
    "documents",
    "comments",
    "links",
    "users",
    "tags",
    "votes",
]
MAX_OFFERED = 500


class FileRow(NamedTuple):
    """A file of an import, as its page shows it."""

    file: Import
    counts: list[str]
    skipped: list[tuple[str, int]]


def in_order(counts: dict[str, int]) -> list[tuple[str, int]]:
    """Words and numbers for a page; what is nought is left out."""
    return [(word, counts[word]) for word in KINDS_OF_COUNTS if counts.get(word)]


def in_words(counts: dict[str, int]) -> list[str]:
    """Counts as people say them, such as `3 questions`."""
    return [f"{n:,} {word.removesuffix('s') if n == 1 else word}" for word, n in in_order(counts)]


def import_jobs(collection: Collection | None = None) -> QuerySet[Job]:
    """Imports into a collection, or into any, newest first."""
    jobs = Job.objects.filter(imports__isnull=False).distinct()
    jobs = jobs.select_related("collection", "created_by").prefetch_related("imports")
    return jobs.filter(collection=collection) if collection else jobs


def file_rows(job: Job) -> list[FileRow]:
    """The files of an import, with what each brought and what was skipped and why."""
    return [
        FileRow(
            file, in_words(file.counts), sorted(file.skipped.items(), key=lambda item: (-item[1], item[0]))
        )
        for file in job.imports.order_by("id")
    ]


def import_page(job: Job) -> dict[str, object]:
    """All that the page of an import shows."""
    return {
        "job": job,
        "collection": job.collection,
        "rows": file_rows(job),
        "totals": in_words(job.result.get("counts", {})),
        "n_orphans": job.result.get("answers_without_question", 0),
    }


def import_dir() -> Path | None:
    """The folder whose files organizers may import; None if the server names none."""
    return Path(settings.IMPORT_DIR).resolve() if settings.IMPORT_DIR else None


def offered_paths() -> list[str]:
    """Files and folders that stand ready, relative to the import folder."""
    root = import_dir()
    if root is None or not root.is_dir():
        return []
    paths = (
        path for path in sorted(root.rglob("*")) if not path.name.startswith(".") and _within(path, root)
    )
    return [path.relative_to(root).as_posix() for path, _ in zip(paths, range(MAX_OFFERED), strict=False)]


def offered_path(name: str) -> Path | None:
    """The path that a name within the import folder means; None if it leads out of it or nowhere."""
    root = import_dir()
    if root is None or not name or "\x00" in name:
        return None
    path = (root / name).resolve()
    return path if path.exists() and _within(path, root) else None


def _within(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root)
