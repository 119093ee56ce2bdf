"""Builds of collections, and the page of one."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.core.files.storage import default_storage
from django.db.models import QuerySet

from accounts.access import AnyUser
from accounts.models import User
from assay_extensions.building.settings import Period
from corpus.locations import UPLOAD
from corpus.models import Build, BuildFile, Collection


class CountRow(NamedTuple):
    """A number of the source, None where it is not counted there, and of the collection."""

    name: str
    before: int | None
    after: int


class Disk(NamedTuple):
    """The bytes of the files of a build in the storage: those that were uploaded, and those that it made."""

    uploads: int
    stored: int


@dataclass(frozen=True)
class BuildPage:
    """`periods` are dates in words. `counts`, `failures` and `files` are empty until the build is done.

    `is_deletable` says that the build has ended without a collection.
    """

    build: Build
    periods: dict[str, str]
    counts: list[CountRow]
    failures: list[tuple[str, int]]
    files: list[BuildFile]
    disk: Disk
    is_deletable: bool


def builds_for(user: AnyUser) -> QuerySet[Build]:
    """The builds that a user may see: administrators all, others those that they requested."""
    builds = Build.objects.select_related("collection", "job__created_by", "import_job")
    if not isinstance(user, User):
        return builds.none()
    return builds if user.is_administrator else builds.filter(job__created_by=user)


def build_page(build: Build) -> BuildPage:
    settings: dict[str, Any] = build.settings
    periods = {"Collection": str(Period(**settings["collection"]))}
    if settings["topics"]:
        periods["Candidates for topics"] = str(Period(**settings["topics"]))
    files = list(build.files.all())
    # The bytes of the uploads, which are kept until the collection is built
    total = 0
    for location, _ in build.sources if build.import_job_id is None else ():
        if location.startswith(UPLOAD):
            with suppress(OSError):  # it is gone, or the storage does not answer
                total += default_storage.size(location.removeprefix(UPLOAD))
    disk = Disk(total, sum(file.n_bytes for file in files))
    jobs = [job for job in (build.job, build.import_job) if job]
    has_ended = all(job.is_finished for job in jobs) and build.collection.status != Collection.Status.READY
    numbers = []
    if build.manifest:
        before, after = build.manifest["before"], dict(build.manifest["after"])
        after |= {
            "formulas": build.manifest["formulas"]["all"],
            "candidates for topics": build.manifest["candidates"],
        }
        numbers = [CountRow(name, before.get(name), after.get(name, 0)) for name in sorted({*before, *after})]
    # The formulas without MathML, by representation in words
    counts = build.conversion
    names = {"without_slt": "Presentation MathML", "without_opt": "Content MathML"}
    has_content = build.converter == "latexml"
    return BuildPage(
        build=build,
        periods=periods,
        counts=numbers,
        failures=[
            (name, counts[key])
            for key, name in names.items()
            if key in counts and (has_content or key == "without_slt")
        ],
        files=files,
        disk=disk,
        is_deletable=has_ended,
    )
