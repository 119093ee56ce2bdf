"""Builds of collections, and the page of one."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import QuerySet

from accounts.access import AnyUser, is_organizer
from assay.building.settings import Period
from corpus.models import Build, BuildFile


class CountRow(NamedTuple):
    """A number of the source, None where it is not counted there, and of the collection."""

    name: str
    before: int | None
    after: int


@dataclass(frozen=True)
class BuildPage:
    """`periods` are dates in words. `counts`, `failures` and `files` are empty until the build is done."""

    build: Build
    periods: dict[str, str]
    counts: list[CountRow]
    failures: list[tuple[str, int]]
    files: list[BuildFile]


def builds_for(user: AnyUser) -> QuerySet[Build]:
    """The builds that a user may see: organizers all, others none."""
    builds = Build.objects.select_related("collection", "job__created_by", "import_job")
    return builds if is_organizer(user) else builds.none()


def build_page(build: Build) -> BuildPage:
    """The page of a build."""
    settings: dict[str, Any] = build.settings
    periods = {"Collection": str(Period(**settings["collection"]))}
    if settings["topics"]:
        periods["Candidates for topics"] = str(Period(**settings["topics"]))
    return BuildPage(build, periods, _counts(build.manifest), _failures(build), list(build.files.all()))


def _counts(manifest: dict[str, Any]) -> list[CountRow]:
    if not manifest:
        return []
    before, after = manifest["before"], dict(manifest["after"])
    after |= {"formulas": manifest["formulas"]["all"], "candidates for topics": manifest["candidates"]}
    names = sorted({*before, *after})
    return [CountRow(name, before.get(name), after.get(name, 0)) for name in names]


def _failures(build: Build) -> list[tuple[str, int]]:
    """The formulas without MathML, by representation in words."""
    counts = build.conversion
    names = {"without_slt": "Presentation MathML", "without_opt": "Content MathML"}
    has_content = build.converter == "latexml"
    return [
        (name, counts[key])
        for key, name in names.items()
        if key in counts and (has_content or key == "without_slt")
    ]
