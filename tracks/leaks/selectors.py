"""The checks of a track for leaks, and their page."""

from dataclasses import dataclass
from typing import NamedTuple

from assay.building.leaks import KINDS, Leak, Report
from jobs.models import Job
from tracks.models import LeakCheck, Track

SHOWN = 200  # leaks on the page; the file has all


class KindRow(NamedTuple):
    """A kind of leaks with its meaning, and how many there are."""

    kind: str
    meaning: str
    n: int
    is_forbidden: bool


@dataclass(frozen=True)
class LeaksPage:
    """`check` is the latest complete one; `running` is a later job. `n_removed` posts are left out by the build."""

    track: Track
    check: LeakCheck | None
    running: Job | None
    kinds: list[KindRow]
    leaks: list[Leak]
    n_removed: int
    is_outdated: bool


MEANINGS = {
    "own thread": "a post of the topic’s own thread",
    "published link": "a link from or to a post of the topic’s thread",
    "mention": "a text with the address of a post of the topic’s thread",
    "same title": "a question with the words of the topic’s title",
    "near-duplicate": "a question that shares most of its words with the topic",
    "linked duplicate": "a question that users marked as a duplicate: wanted, because it holds relevant answers",
}


def latest_check(track: Track) -> LeakCheck | None:
    """The latest complete check of a track."""
    return track.leak_checks.filter(is_complete=True).first()


def report_of(check: LeakCheck) -> Report:
    """The report of a check, as the library has it."""
    return Report([Leak(*leak) for leak in check.leaks], check.unknown)


def is_outdated(check: LeakCheck) -> bool:
    """Return whether topics were added or removed after a check."""
    return check.track.topics.count() != check.n_topics


def leaks_page(track: Track) -> LeaksPage:
    """The page of the latest check, with the leaks that matter first."""
    check, newest = latest_check(track), track.leak_checks.select_related("job").first()
    running = newest.job if newest is not None and newest != check else None
    build = getattr(track.collection, "build", None)
    n_removed = build.manifest.get("removed", 0) if build else 0
    if check is None:
        return LeaksPage(track, None, running, [], [], n_removed, is_outdated=False)
    report = report_of(check)
    counts = report.counts()
    forbidden = {leak.kind for leak in report.leaks if leak.is_forbidden}
    kinds = [KindRow(kind, MEANINGS[kind], counts[kind][0], kind in forbidden) for kind in KINDS]
    ordered = sorted(report.leaks, key=lambda leak: not leak.is_forbidden)
    return LeaksPage(track, check, running, kinds, ordered[:SHOWN], n_removed, is_outdated(check))
