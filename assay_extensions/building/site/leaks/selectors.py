"""The checks of a track for leaks, and their page."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from django.contrib.postgres.aggregates import StringAgg
from django.db.models import F, TextField, Value
from django.db.models.functions import MD5, Concat
from django.urls import reverse

from assay.digests import sha256_of
from assay_extensions.building.leaks import Leak, Report
from corpus.collections.selectors import has_threads
from corpus.models import Collection, Import
from jobs.models import Job
from tracks.checklist.points import Problem
from tracks.models import CandidateFile, LeakCheck, Track
from tracks.tracks.selectors import says_before
from web.confirmation import Check
from web.pages import counted

SHOWN = 200  # leaks on the page; the file has all


class KindRow(NamedTuple):
    """A kind of leaks with its meaning, and how many there are; `is_checked`, whether they could be for some topic."""

    kind: str
    meaning: str
    n: int
    is_forbidden: bool
    is_checked: bool


@dataclass(frozen=True)
class LeaksPage:
    """`check` is the latest complete one; `running` is a later job. `n_removed` posts are left out by the build.

    `has_threads`: the collection has threads, from which topics can be made.
    """

    track: Track
    check: LeakCheck | None
    running: Job | None
    kinds: list[KindRow]
    leaks: list[Leak]
    n_removed: int
    is_outdated: bool
    has_threads: bool


MEANINGS = {
    "own thread": "A post of the thread from which the topic was made. Remove it.",
    "published link": "A post with a link to that thread, or linked from it. Remove it.",
    "mention": "A post whose text has the address of that thread. Remove it.",
    "same title": "A document with the title of the topic. Remove it if the topic was made from it.",
    "near-duplicate": "A document with nearly the words of the topic. Remove it if the topic was made from it.",
    "linked duplicate": "A question that users marked as a duplicate of the topic. Keep it: its answers are relevant.",
}

OF_TEXTS = ("same title", "near-duplicate")  # the other kinds need the thread from which a topic was made


def latest_check(track: Track) -> LeakCheck | None:
    """The latest complete check of a track."""
    return track.leak_checks.filter(is_complete=True).first()


def verdict(check: LeakCheck, n_leaks: int, n_unknown: int) -> Check:
    """The result of a check in words, for the checklist, the page before the opening, and the end of the job. No query.

    A check by the texts alone is something to look at: most kinds of leaks need the thread of the topic.
    """
    forbidden = counted(check.n_forbidden, "leak")
    if check.n_forbidden and not check.reason:
        return Check("stop", forbidden)
    words = f"none forbidden, {n_leaks:,} reported" if n_leaks else "none found"
    words = f"{forbidden}, accepted" if check.n_forbidden else words
    if not n_unknown:
        return Check("ok", words, check.reason)
    detail = (
        f"The topic file does not name the thread of {n_unknown:,} of {counted(check.n_topics, 'topic')}. Import the "
        "topics again with it and check again, or open the track as it is."
    )
    return Check("look", f"{words} by text, threads of {counted(n_unknown, 'topic')} not checked", detail)


def report_of(check: LeakCheck) -> Report:
    """The report of a check, as the library has it."""
    return Report([Leak(*leak) for leak in check.leaks], check.unknown)


def is_outdated(check: LeakCheck) -> bool:
    """Return whether topics, collections or candidates changed after a check. Four queries."""
    return check.digest != checked_digest(check.track)


def checked_digest(track: Track) -> str:
    """A digest of what a check for leaks reads: the words of the topics, and what was imported into the collections.

    The database computes the part of the topics, because a track may have many.
    """
    parts = (part for name in ("code", "title", "body", "thread") for part in (F(name), Value("\x1f")))
    texts = MD5(Concat(*parts, output_field=TextField()))
    topics = track.topics.aggregate(all=StringAgg(texts, "", order_by="code"))["all"]
    collections = Collection.objects.filter(pk__in=[track.collection_id, track.topic_collection_id])
    imports = Import.objects.filter(collection__in=collections).order_by("pk")
    files = CandidateFile.objects.filter(track=track)
    read = [
        topics,
        track.collection_id,
        track.topic_collection_id,
        list(collections.order_by("pk").values_list("pk", "counts")),
        list(imports.values_list("collection", "sha256", "position", "is_complete")),
        list(files.values_list("sha256", flat=True)),
    ]
    return sha256_of(json.dumps(read, sort_keys=True).encode())


@says_before("opening")
def check_of_opening(track: Track) -> Iterator[Check]:
    """Say before the opening whether the topics were searched in the collection. The service says what blocks."""
    address = reverse("building:leaks", args=[track.slug])
    check = latest_check(track) if track.collection_id else None
    if track.collection_id and check is None:
        detail = "Topics could be in the collection."
        yield Check("look", "Leaks are not checked", detail, address, "Check for leaks", "leaks")
    elif check is not None:
        result = verdict(check, len(check.leaks), len(check.unknown))
        link = (address, "See it") if check.leaks or check.unknown else ("", "")
        if result.state != "stop":
            skip = Problem(result.detail).accept if result.state == "look" else ""
            yield Check(result.state, f"Leaked topics: {result.label}", result.detail, *link, skip)


def leaks_page(track: Track) -> LeaksPage:
    """The page of the latest check, with the leaks that matter first."""
    # The newest first: one that is completed between the two queries would else appear to have failed
    newest = track.leak_checks.select_related("job").first()
    check = latest_check(track)
    running = newest.job if newest is not None and newest != check else None
    build = getattr(track.collection, "build", None)
    n_removed = build.manifest.get("removed", 0) if build else 0
    of_threads = track.collection is not None and has_threads(track.collection)
    if check is None:
        return LeaksPage(
            track=track,
            check=None,
            running=running,
            kinds=[],
            leaks=[],
            n_removed=n_removed,
            is_outdated=False,
            has_threads=of_threads,
        )
    report = report_of(check)
    counts = report.counts()
    forbidden = {leak.kind for leak in report.leaks if leak.is_forbidden}
    is_known = len(check.unknown) < check.n_topics  # the thread of a topic
    kinds = [
        KindRow(kind, meaning, counts[kind][0], kind in forbidden, is_known or kind in OF_TEXTS)
        for kind, meaning in MEANINGS.items()
        if of_threads or kind in OF_TEXTS or counts[kind][0]
    ]
    ordered = sorted(report.leaks, key=lambda leak: not leak.is_forbidden)
    return LeaksPage(
        track=track,
        check=check,
        running=running,
        kinds=kinds,
        leaks=ordered[:SHOWN],
        n_removed=n_removed,
        is_outdated=is_outdated(check),
        has_threads=of_threads,
    )
