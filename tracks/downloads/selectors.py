"""The downloads of a track that a user gets, the page of them, and the log of downloads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_noop

from accounts.access import AnyUser, oversees
from corpus.collections.selectors import counts_in_words
from jobs.models import Job
from tracks.agreements.selectors import has_accepted
from tracks.downloads.contents import Item, is_private, original_name, originals, sample_runs, topic_files
from tracks.markdown import plain_html
from tracks.models import Download, Fetch, Track
from tracks.tracks.selectors import parts_for, says_before
from web import times
from web.confirmation import Check

MADE = {Download.Kind.TOPICS, Download.Kind.SAMPLE_RUN}  # released to everyone unless a row states otherwise
SINGLE = (Download.Kind.INSTRUCTIONS, *sorted(MADE))  # at most one row per track
JOBS = ("tracks.downloads.export", "tracks.downloads.attach")
SHOWN_FETCHES = 200
SHOWN_OFFERS = 8
NAMED_COUNTS = 2  # of a collection: the first ones are of documents


class Terms(NamedTuple):
    """The audience of a part, and its start; `state` says it in words, `is_open` is true once it has started."""

    key: str
    state: str
    is_open: bool
    is_hidden: bool = False


class Section(NamedTuple):
    """The items of a kind. `terms` are those of the whole kind, if it has one row at most."""

    kind: str
    title: str
    items: list[tuple[Item, Terms | None]]
    terms: Terms | None


class Offer(NamedTuple):
    """A part of the downloads in a short list, which makes no file. `name` is that of an attached one, else empty."""

    title: str
    description: str
    n_bytes: int | None
    audience: str
    name: str = ""
    url: str = ""


@dataclass(frozen=True)
class DownloadsPage:
    """`may_fetch` is whether the user accepted the data agreement. Terms and jobs are for organizers."""

    track: Track
    sections: list[Section]
    instructions: SafeString
    may_fetch: bool
    has_files: bool
    has_labels: bool
    is_organizer: bool
    jobs: list[Job]
    is_working: bool


def downloads_page(user: AnyUser, track: Track) -> DownloadsPage:
    """The page of downloads for a user. The number of queries does not grow with the files."""
    parts = parts_for(user, track)
    rows, kinds = _rows(parts), _kinds_in(parts)
    items = list(_items(user, track, parts))
    text = rows["instructions"].text if "instructions" in rows and "instructions" in kinds else ""
    organizes, now = oversees(user, track.pk), times.now()
    sections = [_section(kind, items, rows, organizes=organizes, now=now) for kind in Download.Kind]
    subject = track.get_absolute_url().lstrip("/")
    recent = Job.objects.filter(kind__in=JOBS, subject_path__endswith=subject).order_by("-pk")
    shown = [job for job in recent[:3] if job.state != Job.State.DONE] if organizes else []
    return DownloadsPage(
        track=track,
        sections=sorted(
            (section for section in sections if section.items or section.terms), key=_is_released
        ),
        instructions=mark_safe(plain_html(text)),  # noqa: S308  sanitized
        may_fetch=has_accepted(user, track),
        has_files=any(item.is_file for item in items),
        has_labels=bool(track.protocol.parsed.topics.labels),
        is_organizer=organizes,
        jobs=shown,
        is_working=any(job.state in Job.UNFINISHED for job in shown),
    )


def _is_released(section: Section) -> bool:
    """Return whether nothing in a section waits for its release: what somebody has just made comes first."""
    return not any(terms and terms.is_hidden for _, terms in section.items)


def items_for(user: AnyUser, track: Track) -> Iterator[Item]:
    """The items that a user gets, in the order of the page; organizers see all."""
    return _items(user, track, parts_for(user, track))


def _items(user: AnyUser, track: Track, parts: Sequence[Any]) -> Iterator[Item]:
    rows, kinds = _rows(parts), _kinds_in(parts)
    if "instructions" in kinds and rows["instructions"].text:
        text = rows["instructions"].text.encode()
        yield Item.generated(Download.Kind.INSTRUCTIONS, f"{track.slug}-instructions.md", "", text)
    if Download.Kind.TOPICS in kinds:
        for original in originals(track, with_private=oversees(user, track.pk)):
            about = (
                "As imported; only organizers get it."
                if is_private(original)
                else gettext_noop("As imported.")
            )
            yield Item(
                "topics", original_name(original), about, original.size, original.sha256, str(original.file)
            )
        yield from topic_files(track)
    if Download.Kind.SAMPLE_RUN in kinds:
        yield from sample_runs(track)
    for row in _attached_parts(parts):
        yield _attached_item(row, track)


def offers(user: AnyUser, track: Track) -> list[Offer]:
    """The parts that a user gets, for a page that only mentions the downloads. Three queries."""
    parts = parts_for(user, track)
    rows, kinds = _rows(parts), _kinds_in(parts)
    about = {Download.Kind.TOPICS: gettext_noop("in several formats")}
    if track.protocol.parsed.takes_runs:
        about[Download.Kind.SAMPLE_RUN] = gettext_noop("a run in the right format")
    made = [
        Offer(kind.label, text, None, rows.get(kind, Download(kind=kind)).get_audience_display())
        for kind, text in about.items()
        if kind in kinds
    ]
    attached = [
        Offer(row.name, _about(row, track), row.n_bytes, row.get_audience_display(), row.name, row.url)
        for row in _attached_parts(parts)[:SHOWN_OFFERS]
    ]
    return [*made, *attached] if attached or track.topics.exists() else []


def _about(row: Download, track: Track) -> str:
    """The description of an attached part; without one, what the collection has, or its kind."""
    if row.kind == Download.Kind.COLLECTION and track.collection is not None:
        return row.description or ", ".join(counts_in_words(track.collection.counts)[:NAMED_COUNTS])
    return row.description or gettext(row.get_kind_display())


def item_named(user: AnyUser, track: Track, name: str) -> Item | None:
    """The file of a name that a user gets. An attached file costs no work for the others."""
    attached = _attached_parts(parts_for(user, track))
    row = next((row for row in attached if row.name == name and not row.url), None)
    if row is not None:
        return _attached_item(row, track)
    return next((item for item in items_for(user, track) if item.is_file and item.name == name), None)


def download_of(track: Track, key: str) -> Download | None:
    """The row of a key: a kind with one row at most, whose row may not be stored yet, or the id of an attached one."""
    if key in SINGLE:
        default = Download(track=track, kind=key, released_at=track.created_at if key in MADE else None)
        return track.downloads.filter(kind=key).first() or default
    is_id = key.isascii() and key.isdigit() and len(key) < 19
    return track.downloads.exclude(kind__in=SINGLE).filter(pk=int(key)).first() if is_id else None


def part_or_404(track: Track, key: str) -> Download:
    """The row of a key, as `download_of`.

    Raises:
        Http404: The track has no download with this key.
    """
    row = download_of(track, key)
    if row is None:
        raise Http404
    return row


def parts_of(track: Track) -> list[Download]:
    """All parts for organizers, released or not; rows of made parts may not be stored yet."""
    single = [row for row in (download_of(track, key) for key in SINGLE) if row is not None]
    return [*single, *track.downloads.exclude(kind__in=SINGLE)]


@says_before("opening")
def check_of_opening(track: Track) -> Iterator[Check]:
    """Say before the opening whether teams get the documents. What organizers alone get does not count."""
    if track.collection_id is None:
        return
    released = Download.objects.filter(track=track, kind=Download.Kind.COLLECTION)
    address = reverse("tracks:downloads", args=[track.slug])
    if not released.exists():
        detail = "The downloads have no file or link of the collection."
        label = "Teams cannot download the documents"
        yield Check("look", label, detail, address, "Export the collection", "data")
    elif not released.exclude(released_at=None).exists():
        if released.count() == 1:
            address = reverse("tracks:edit_download", args=[track.slug, released.get().key])
        yield Check("look", "The documents are not released", "", address, "Release them", "data")
    else:
        yield Check("ok", "The documents are in the downloads")


def checksums(user: AnyUser, track: Track) -> str:
    """The digests of all files that a user gets, in the form of `sha256sum`."""
    return "".join(f"{item.sha256}  {item.name}\n" for item in items_for(user, track) if item.is_file)


def fetches_of(track: Track) -> QuerySet[Fetch]:
    """The downloads of files by users, newest first."""
    return track.fetches.select_related("user").order_by("-pk")


def log_rows(track: Track) -> Iterator[tuple[str, ...]]:
    """The log as rows of a table, oldest first."""
    for fetch in fetches_of(track).order_by("pk").iterator(chunk_size=2000):
        moment = fetch.created_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        yield moment, fetch.user.username if fetch.user else "", fetch.name, fetch.sha256


def terms_of(row: Download, now: datetime) -> Terms:
    """The audience of a part, and its start."""
    if row.released_at is None:
        return Terms(row.key, "not released", False, is_hidden=True)
    is_open = row.released_at <= now
    if row.pk is None:
        return Terms(row.key, "for everyone who sees the track", is_open)
    # what has started needs no zone of its own: the rows of a table are easier to compare in one
    start = (
        f"{'since' if is_open else 'from'} {times.in_words(row.released_at, 'UTC' if is_open else row.zone)}"
    )
    return Terms(row.key, f"for {row.get_audience_display()} {start}", is_open)


def _rows(parts: Iterable[Download]) -> dict[str, Download]:
    """The rows of the kinds that have one at most."""
    return {part.kind: part for part in parts if part.kind in SINGLE}


def _kinds_in(parts: Iterable[Any]) -> set[str]:
    """The kinds with one row at most that the user gets."""
    rows: dict[str, Any] = _rows(parts)
    return {kind for kind in SINGLE if (rows[kind].is_released if kind in rows else kind in MADE)}


def _attached_parts(parts: Iterable[Any]) -> list[Download]:
    return [part for part in parts if part.is_released and part.kind not in SINGLE]


def _attached_item(row: Download, track: Track) -> Item:
    about, file = _about(row, track), str(row.file)
    return Item(row.kind, row.name, about, row.n_bytes, row.sha256, file, url=row.url, row=row)


def _section(
    kind: Download.Kind, items: list[Item], rows: Mapping[str, Download], *, organizes: bool, now: datetime
) -> Section:
    shown = [
        (item, terms_of(item.row, now) if organizes and item.row else None)
        for item in items
        if item.kind == kind
    ]
    terms = None
    if organizes and kind in SINGLE:
        default = Download(kind=kind, released_at=now if kind in MADE else None)
        terms = terms_of(rows.get(kind, default), now)
    return Section(kind, kind.label, shown, terms)
