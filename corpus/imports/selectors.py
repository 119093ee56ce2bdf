"""What the import pages show: imports, the jobs that do them, and the files that stand ready on the server."""

from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db.models import QuerySet

from corpus.models import Collection, Import
from jobs.models import Job

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
    "formulas",
]
MAX_OFFERED = 500


class FileRow(NamedTuple):
    """A file of an import, as its page shows it."""

    file: Import
    counts: list[str]
    skipped: list[tuple[str, int, str]]  # reason, how many, the first lines


def in_order(counts: dict[str, int]) -> list[tuple[str, int]]:
    """Words and numbers for a page; what is nought is left out."""
    return [(word, counts[word]) for word in KINDS_OF_COUNTS if counts.get(word)]


def in_words(counts: dict[str, int]) -> list[str]:
    """Counts as people say them, such as `3 questions`."""
    return [f"{n:,} {_one_of(word) if n == 1 else word}" for word, n in in_order(counts)]


def _one_of(word: str) -> str:
    return "formula" if word == "formulas" else word.removesuffix("s")


def import_jobs(collection: Collection | None = None) -> QuerySet[Job]:
    """Imports into a collection, or into any, newest first."""
    jobs = Job.objects.filter(imports__isnull=False).distinct()
    jobs = jobs.select_related("created_by").prefetch_related("imports")
    return jobs.filter(imports__collection=collection) if collection else jobs


def file_rows(job: Job) -> list[FileRow]:
    """The files of an import, with what each brought and what was skipped and why."""
    return [FileRow(file, in_words(file.counts), skipped_rows(file)) for file in job.imports.order_by("id")]


def skipped_rows(file: Import) -> list[tuple[str, int, str]]:
    """Why rows were skipped, how many, and in which lines the first of them stand; the most frequent first."""
    by_number = sorted(file.skipped.items(), key=lambda item: (-item[1], item[0]))
    return [(reason, n, _lines(file.skipped_lines.get(reason, []), n)) for reason, n in by_number]


def _lines(lines: list[int], n: int) -> str:
    if not lines:
        return ""
    named = ", ".join(f"{line:,}" for line in lines)
    return f"line{'s' * (n > 1)} {named}{', …' * (n > len(lines))}"


def import_page(job: Job) -> dict[str, object]:
    """All that the page of an import shows."""
    return {
        "job": job,
        "collection": Collection.objects.filter(imports__job=job).first(),
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
