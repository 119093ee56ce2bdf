"""Import topics and their labels into a track."""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.core.files import File
from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused
from assay.formats.documents.batch import Unusable
from assay.formats.text import notes_kept
from assay.formats.topics.reader import (
    MAX_SIZE,
    SPLIT,
    BadTopics,
    TopicFile,
    TopicRow,
    code_of,
    comparable,
    read_known_items,
    read_labels,
    read_topic_file,
)
from assay.formats.topics.subtopics import Subtopics
from assay.html.sanitize import clean_body, clean_title, without_controls
from corpus.models import Collection, Document
from jobs.files.deletion import check_unused, delete_unused
from tracks.imported_files import NOT_IMPORTED, OnStored, RowReport, record, storing, topics_refused
from tracks.models import Topic, TopicCorrection, Track
from tracks.rows.services import import_rows
from tracks.topics.selectors import FORMULA_UNITS
from tracks.tracks import services as track_services
from web.pages import counted

PARTS = frozenset({"tracks.Row", "tracks.TopicCorrection"})  # are deleted with a topic
TOPICS_NAMED = 20  # in one message
WRITTEN: Mapping[str, Callable[[str], str]] = {  # texts of a draft's topic, and how each is sanitized
    "title": clean_title,
    "body": clean_body,
    "narrative": clean_body,
    "formula_id": without_controls,
    "latex": without_controls,
}
CORRECTABLE = {"title", "body", "narrative"}
# parts of a topic that can change in an opened track too
EDITABLE = ("scenario", "criteria", "known_item", "split", "subtopics")


@dataclass
class TopicReport:
    """The result of an import of topics. `matched` counts topics by how their thread was found."""

    n_new: int = 0
    n_changed: int = 0
    n_unchanged: int = 0
    n_removed: int = 0
    n_staying: int = 0
    codes: dict[str, list[str]] = field(default_factory=lambda: {"new": [], "changed": [], "removed": []})
    matched: Counter[str] = field(default_factory=Counter)
    unmatched: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def n_topics(self) -> int:
        return self.n_new + self.n_changed + self.n_unchanged

    def __str__(self) -> str:
        n = self.n_topics
        parts = [
            f"{counted(n, 'topic')}: {self.n_new} new, {self.n_changed} changed, {self.n_unchanged} unchanged"
        ]
        if self.n_removed:
            parts.append(f"{self.n_removed} removed because the file does not contain them")
        if self.n_staying:
            verb = "is" if self.n_staying == 1 else "are"
            stay = "stays" if self.n_staying == 1 else "stay"
            parts.append(f"{counted(self.n_staying, 'topic')} {verb} not in this file and {stay}")
        parts += [f"{matched} matched with a thread by {key}" for key, matched in self.matched.items()]
        if self.unmatched:
            parts.append(f"no thread found for {', '.join(self.unmatched)}")
        parts += self.notes
        return "; ".join(parts) + "."


Report = TopicReport | RowReport


def import_upload(
    *, track: Track, upload: "File[bytes]", holds: str, on_stored: OnStored = lambda report: None
) -> Report:
    """Import an uploaded file by the function for what it holds."""
    if upload.size > MAX_SIZE and holds != "rows":
        raise topics_refused(f"The file has {upload.size:,} bytes; the limit is {MAX_SIZE:,}.")
    data, name = upload.read(), upload.name or "the file"
    if holds == "labels":
        return import_labels(track=track, data=data, name=name, on_stored=on_stored)
    if holds == "rows":
        return import_rows(track=track, data=data, name=name, on_stored=on_stored)
    if holds == "known items":
        return import_known_items(track=track, data=data, name=name, on_stored=on_stored)
    replace = holds == "all topics"
    return import_topics(track=track, data=data, name=name, replace=replace, on_stored=on_stored)


def import_topics(
    *, track: Track, data: bytes, name: str, replace: bool = False, on_stored: OnStored = lambda report: None
) -> TopicReport:
    """Import the topics of a file. A topic whose code exists already is updated.

    With `replace`, topics that are missing from the file are removed. This is safe in a draft, which has no runs.

    The thread of a topic is searched in the topic collection: by the docno in the file, or by the title if exactly
    one question has it.

    Raises:
        BadFile: The file cannot be used; the message lists every error.
        Refused: The track is not a draft, or its protocol needs other topics.
    """
    is_formula = track.protocol.parsed.unit in FORMULA_UNITS
    content = read_topic_file(data, name, is_formula=is_formula)
    with storing(track, data) as (current, file):
        _locked_draft(current)
        rows, dropped = _without_other_labels(content, current)
        _check(rows, current, name)
        threads = _threads(rows, current.topic_collection)
        report = TopicReport(notes=[*content.notes, *dropped])
        for topic in _changed_topics(rows, threads, current, report, replace=replace):
            topic.save()
        for topic in current.topics.filter(code__in=report.codes["removed"]):
            delete_unused(topic, PARTS)
        if current.topic_collection is not None:
            report.matched = Counter(match.key for match in threads.values() if match.key)
            report.unmatched = [code for code, match in threads.items() if not match.key]
        earlier = current.topic_imports.filter(format="topics")
        (earlier if replace else earlier.filter(name=name)).update(is_replaced=True)
        is_private = any(
            row.labels or row.thread or row.source or row.known_item or row.split or row.subtopics
            for row in rows
        )
        n_removed = report.n_removed
        record(current, data, name, "topics", len(rows), file, is_private=is_private, n_removed=n_removed)
        on_stored(report)
    return report


class RemovalRefused(Refused):
    """An import would remove topics, and nobody has accepted that. Nothing is stored."""

    title = NOT_IMPORTED

    def __init__(self, report: TopicReport) -> None:
        topics = counted(report.n_removed, "topic is,topics are")
        super().__init__(
            f"{topics} not in the file. Accept below that they are removed, and choose the file again."
        )
        self.report = report


def accept_removal(report: Report, *, given: str) -> None:
    """Refuse to remove another number of topics than the `given` one.

    Raises:
        RemovalRefused: It is another one.
    """
    if isinstance(report, TopicReport) and report.n_removed and given != str(report.n_removed):
        raise RemovalRefused(report)


class ThreadMatch(NamedTuple):
    """The thread of a topic, and the key by which it was found; both are empty if it was not found."""

    docno: str = ""
    key: str = ""


def preview_upload(*, track: Track, upload: "File[bytes]", holds: str) -> TopicReport | None:
    """The report of an import of topics that stores nothing; None if the file holds something else.

    Raises:
        BadFile, Refused: As `import_topics`.
    """
    if holds not in {"topics", "all topics"}:
        return None
    if upload.size > MAX_SIZE:
        raise topics_refused(f"The file has {upload.size:,} bytes; the limit is {MAX_SIZE:,}.")
    _check_draft(track)
    name = upload.name or "the file"
    is_formula = track.protocol.parsed.unit in FORMULA_UNITS
    content = read_topic_file(upload.read(), name, is_formula=is_formula)
    rows, dropped = _without_other_labels(content, track)
    _check(rows, track, name)
    report = TopicReport(notes=[*content.notes, *dropped])
    threads = _threads(rows, track.topic_collection)
    list(_changed_topics(rows, threads, track, report, replace=holds == "all topics"))
    return report


def _changed_topics(
    rows: Sequence[TopicRow],
    threads: Mapping[str, ThreadMatch],
    track: Track,
    report: TopicReport,
    *,
    replace: bool,
) -> Iterator[Topic]:
    """Yield the topics that a file adds or changes, as they become, and count all of them in the report."""
    existing = {topic.code: topic for topic in track.topics.all()}
    others = [code for code in existing if code not in {row.code for row in rows}]
    if replace:
        report.codes["removed"], report.n_removed = others, len(others)
    else:
        report.n_staying = len(others)
    for row in rows:
        topic = _as_in_file(row, threads[row.code].docno, track, existing.get(row.code), report)
        if topic is not None:
            yield topic


def _without_other_labels(content: TopicFile, track: Track) -> tuple[list[TopicRow], list[str]]:
    """The topics without the form's own labels that the protocol does not list, and a note on these."""
    if not content.has_own_labels:
        return content.topics, []
    allowed = track.protocol.parsed.topics.labels
    others = {key: None for row in content.topics for key in row.labels if key.lower() not in allowed}
    rows = [
        dataclasses.replace(
            row, labels={key: value for key, value in row.labels.items() if key not in others}
        )
        for row in content.topics
    ]
    if not others or any(row.source for row in rows):  # the source of a topic keeps them
        return rows, []
    return rows, [f"not stored, because {track.protocol.slug} has no such labels: {', '.join(others)}"]


def _check(rows: Sequence[TopicRow], track: Track, name: str) -> None:
    """Refuse formulas where the protocol needs other topics, the reverse, and labels that it does not allow."""
    protocol = track.protocol.parsed
    is_formula = protocol.unit in FORMULA_UNITS
    problem = "has no formula" if is_formula else "is a formula"
    needed = (
        "a formula in each topic" if is_formula else f"topics as text, because it judges {protocol.unit}s"
    )
    complaints = [
        f"line {row.line}: topic {row.code} {problem}; {protocol.slug} needs {needed}"
        for row in rows
        if bool(row.latex or row.formula_id) != is_formula
    ]
    complaints += [
        f"line {row.line}: {complaint}"
        for row in rows
        for complaint in _label_errors(row.code, row.labels, protocol.topics.labels)
    ]
    if complaints:
        raise BadTopics(name, complaints)


def checked_labels(*, topic: Topic, labels: object) -> dict[str, str]:
    """Labels in the form that is stored, if the protocol of the track allows each of them.

    Raises:
        Refused: They are not an object of strings, or the protocol does not allow a label or a value.
    """
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        raise topics_refused(
            'Labels must be a JSON object of strings, such as {"category": "proof"}; use {} for none.'
        )
    for error in _label_errors(topic.code, labels, topic.track.protocol.parsed.topics.labels):
        raise topics_refused(f"{error[0].upper()}{error[1:]}.")
    return _normalize(labels)


def _label_errors(
    code: str, labels: Mapping[str, str], allowed: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    for label, value in labels.items():
        if label.lower() not in allowed:
            yield f"topic {code}: unknown label {label!r}; {_accepted_labels(allowed)}"
        elif allowed[label.lower()] and value.strip().lower() not in allowed[label.lower()]:
            yield f"topic {code}: {label} {value!r} is not allowed; use {', '.join(allowed[label.lower()])}"


def _accepted_labels(labels: Iterable[str]) -> str:
    return f"use {', '.join(labels)}" if labels else "the protocol defines no labels"


def _normalize(labels: Mapping[str, str]) -> dict[str, str]:
    return {label.strip().lower(): value.strip().lower() for label, value in labels.items()}


def _threads(rows: Sequence[TopicRow], collection: Collection | None) -> dict[str, ThreadMatch]:
    """The question of each topic in the topic collection, by the code of the topic. Two queries."""
    if collection is None:
        return {row.code: ThreadMatch() for row in rows}
    questions = Document.objects.filter(collection=collection, kind=Document.Kind.QUESTION)
    named = set(questions.filter(docno__in=[row.thread for row in rows]).values_list("docno", flat=True))
    wanted = {comparable(row.title) for row in rows} - {""}
    by_title: dict[str, list[str]] = defaultdict(list)
    for docno, title in questions.values_list("docno", "title"):
        if (key := comparable(title)) in wanted:
            by_title[key].append(docno)
    threads = {row.code: ThreadMatch() for row in rows}
    for row in rows:
        same = by_title.get(comparable(row.title), [])
        if row.thread in named:
            threads[row.code] = ThreadMatch(row.thread, "docno")
        elif not row.thread and len(same) == 1:
            threads[row.code] = ThreadMatch(same[0], "title")
    return threads


def _as_in_file(
    row: TopicRow, thread: str, track: Track, existing: Topic | None, report: TopicReport
) -> Topic | None:
    """The topic with the texts of a file; None if these are its texts already."""
    topic = existing or Topic(track=track, code=row.code)
    before = _values(topic)
    topic.title, topic.body, topic.narrative = row.title, row.body, row.narrative
    topic.tags, topic.formula_id, topic.latex = list(row.tags), row.formula_id, row.latex
    topic.thread = thread or topic.thread
    for name in EDITABLE:  # a file without them keeps what was written on the site
        given = getattr(row, name)
        setattr(topic, name, (list(given) if name == "subtopics" else given) or getattr(topic, name))
    topic.labels = topic.labels | _normalize(row.labels)
    topic.source = row.source
    if existing is None:
        report.n_new += 1
        report.codes["new"].append(row.code)
    elif _values(topic) == before:
        report.n_unchanged += 1
        return None
    else:
        report.n_changed += 1
        report.codes["changed"].append(row.code)
    return topic


def _values(topic: Topic) -> tuple[object, ...]:
    names = ("title", "body", "narrative", "formula_id", "latex", "thread", "source", *EDITABLE)
    texts = [getattr(topic, name) for name in names]
    return (*texts, list(topic.tags), dict(topic.labels))


def import_labels(
    *, track: Track, data: bytes, name: str, on_stored: OnStored = lambda report: None
) -> RowReport:
    """Add labels to topics, and their splits. Columns that are not labels of the protocol are ignored and reported.

    Raises:
        BadFile: The file cannot be used, or contains an unknown topic or value; the message lists every error.
    """
    with notes_kept() as notes:
        labels = read_labels(data, name)
    with storing(track, data) as (current, file):
        known, ignored = _known_labels(current, labels, name)
        topics = {topic.code: topic for topic in current.topics.filter(code__in=known)}
        for code, row in known.items():
            named = _normalize(row)
            topics[code].split = named.pop(SPLIT, topics[code].split)
            topics[code].labels = topics[code].labels | named
        Topic.objects.bulk_update(topics.values(), ["labels", "split"])
        record(current, data, name, "labels", len(known), file, is_private=True)
        columns = f"; ignored columns that are not labels: {', '.join(ignored)}" if ignored else ""
        report = RowReport(len(known), f"{counted(len(known), 'topic')} labeled{columns}.", notes)
        on_stored(report)
    return report


def _known_labels(
    track: Track, labels: Mapping[str, Mapping[str, str]], name: str
) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """The labels that the protocol allows and the split, by topic, and the columns that are neither."""
    allowed = {**track.protocol.parsed.topics.labels, SPLIT: ()}
    codes = set(track.topics.values_list("code", flat=True))
    known = {
        code: {label: value for label, value in row.items() if label.strip().lower() in allowed}
        for code, row in labels.items()
    }
    ignored = sorted(
        {label for row in labels.values() for label in row if label.strip().lower() not in allowed}
    )
    complaints = _unknown_codes([code for code in labels if code not in codes], track)
    complaints += [error for code, row in known.items() for error in _label_errors(code, row, allowed)]
    if not any(known.values()):
        complaints.append(f"no column is a label; {_accepted_labels(allowed)}")
    if complaints:
        raise BadTopics(name, complaints)
    return known, tuple(ignored)


def _unknown_codes(codes: list[str], track: Track) -> list[str]:
    """The complaint about a file that names topics which a track does not have, in one sentence."""
    if len(codes) < 2:
        return [f"there is no topic {code} in {track}" for code in codes]
    named, rest = ", ".join(codes[:TOPICS_NAMED]), len(codes) - TOPICS_NAMED
    more = f" and {rest:,} more" if rest > 0 else ""
    return [f"{len(codes):,} topics are not in {track}: {named}{more}; remove them from the file"]


def import_known_items(
    *, track: Track, data: bytes, name: str, on_stored: OnStored = lambda report: None
) -> RowReport:
    """Set the known items of topics.

    Raises:
        BadFile: The file cannot be used, or contains an unknown topic; the message lists every error.
        Refused: The runs of the protocol are judged.
    """
    with notes_kept() as notes:
        items = read_known_items(data, name)
    with storing(track, data) as (current, file):
        _check_known_items(current)
        topics = {topic.code: topic for topic in current.topics.filter(code__in=items)}
        if unknown := _unknown_codes([code for code in items if code not in topics], current):
            raise BadTopics(name, unknown)
        for code, topic in topics.items():
            topic.known_item = items[code]
        Topic.objects.bulk_update(topics.values(), ["known_item"])
        record(current, data, name, "known-items", len(topics), file, is_private=True)
        text = f"{counted(len(topics), 'topic')} with a known item{_absent_items(current, items)}."
        report = RowReport(len(topics), text, notes)
        on_stored(report)
    return report


def _absent_items(track: Track, items: Mapping[str, str]) -> str:
    """The known items that the collection of a track does not have, as the end of a sentence. One query."""
    if track.collection is None:
        return ""
    wanted = set(items.values())
    is_formula = track.protocol.parsed.unit in FORMULA_UNITS
    rows = (
        track.collection.formulas.filter(code__in=wanted).values_list("code", flat=True)
        if is_formula
        else track.collection.documents.filter(docno__in=wanted).values_list("docno", flat=True)
    )
    absent = sorted(wanted - set(rows))
    named = ", ".join(absent[:5]) + ", …" * (len(absent) > 5)
    return f"; the collection does not have {named}" if absent else ""


def _check_known_items(track: Track) -> None:
    protocol = track.protocol.parsed
    if protocol.pool.strategy != "known-item":
        raise topics_refused(
            f"{protocol.slug} has no known items: its runs are judged, by the strategy {protocol.pool.strategy}."
        )


def _locked_draft(track: Track) -> Track:
    """The locked track, if it is a draft that can change: runs depend on the topics of an opened one."""
    current = track_services.lock(track.pk)
    _check_draft(current)
    return current


def _check_draft(track: Track) -> None:
    if track.status != Track.Status.DRAFT:
        raise topics_refused(
            f"{track} is {track.get_status_display()}; only the topics of a draft can change."
        )
    track_services.check_not_settled(track)


@transaction.atomic
def write(*, track: Track, code: str, by: User, **fields: Any) -> Topic:
    """Write a new topic of a draft. `fields` are those of `edit`.

    Raises:
        Refused: The track is not a draft, it has the code, the code cannot be used, or the protocol needs other
            topics.
    """
    current = _locked_draft(track)
    try:
        usable = code_of(code)
    except Unusable as reason:
        raise topics_refused(f"{str(reason)[0].upper()}{str(reason)[1:]}.") from None
    if current.topics.filter(code=usable).exists():
        raise topics_refused(f"{current} has a topic {usable} already; choose another code.")
    topic = Topic.objects.create(track=current, code=usable)
    written = edit(topic=topic, by=by, **fields)
    _check_form(written, current)
    audit.record(action="topic.written", subject=written, track=current, by=by)
    return written


def _check_form(topic: Topic, track: Track) -> None:
    """Refuse a topic that is empty, or that is a formula or none where the protocol needs the other."""
    is_formula = track.protocol.parsed.unit in FORMULA_UNITS
    if is_formula and not topic.latex:
        raise topics_refused(f"{track.protocol.slug} needs a formula in each topic: enter its LaTeX.")
    if not is_formula and not (topic.title or topic.body):
        raise topics_refused("Enter a title or a body.")


def check_deletion(topic: Topic) -> None:
    """Refuse to delete a topic of an opened track, or one that is pooled, judged or nominated.

    Raises:
        Refused: It is one of these.
    """
    _check_draft(topic.track)
    check_unused(topic, PARTS)


@transaction.atomic
def delete(*, topic: Topic, by: User) -> None:
    """Delete a topic of a draft.

    Raises:
        Refused: As `check_deletion`.
    """
    track = _locked_draft(topic.track)
    check_deletion(topic)
    audit.record(
        action="topic.deleted", subject=topic.code, track=track, details={"title": topic.title}, by=by
    )
    delete_unused(topic, PARTS)


@transaction.atomic
def edit(
    *,
    topic: Topic,
    by: User,
    labels: object = None,
    tags: Sequence[str] | None = None,
    subtopics: Subtopics | None = None,
    reason: str = "",
    **texts: str,
) -> Topic:
    """Set the texts of a topic that are given, all of its tags, of its labels and of its subtopics.

    The `EDITABLE` parts and the labels can change in every state of the track, the `WRITTEN` ones and tags in a draft;
    in an opened track, title, body and narrative with a `reason`: the earlier text is kept, and everybody reads of it.

    Raises:
        Refused: A known item is given, and the protocol has none, it does not allow a label, or a text of a topic
            changes whose track is not a draft, or its subtopics get other numbers there.
    """
    current = Topic.objects.select_for_update(of=("self",)).select_related("track__protocol").get(pk=topic.pk)
    if texts.get("known_item"):
        _check_known_items(current.track)
    given: dict[str, object] = {
        name: WRITTEN.get(name, str)(text.replace("\r\n", "\n")) for name, text in texts.items()
    }
    if tags is not None:
        given["tags"] = list(dict.fromkeys(tags))
    if subtopics is not None:
        # Judgments of an opened track can name the numbers
        old, new = ([subtopic["number"] for subtopic in those] for those in (current.subtopics, subtopics))
        if old and set(old) != set(new) and current.track.status != Track.Status.DRAFT:
            raise topics_refused(
                f"{current.track} was opened, so the subtopics of topic {current} keep their numbers: "
                f"{', '.join(old)}. Their texts can change."
            )
        given["subtopics"] = list(subtopics)
    if labels is not None:
        given["labels"] = checked_labels(topic=current, labels=labels)
    changed = [name for name, value in given.items() if value != getattr(current, name)]
    earlier = {name: getattr(current, name) for name in changed if name in CORRECTABLE}
    for name in changed:
        setattr(current, name, given[name])
    is_correction = bool(reason.strip() and earlier) and current.track.status != Track.Status.DRAFT
    if not ({*WRITTEN, "tags"} - (CORRECTABLE if is_correction else set())).isdisjoint(changed):
        _check_form(current, _locked_draft(current.track))
    if changed:
        current.save(update_fields=changed)
        details: dict[str, object] = {"changed": changed}
        details |= {"reason": reason.strip()} if reason.strip() else {}
        if is_correction:
            _correct(current, earlier, reason.strip(), by)
        action = "topic.corrected" if is_correction else "topic.edited"
        audit.record(action=action, subject=current, track=current.track, details=details, by=by)
    return current


def _correct(topic: Topic, earlier: Mapping[str, str], reason: str, by: User) -> None:
    """Keep the earlier texts, and notify everybody. The files that were imported have other texts since."""
    _check_form(topic, topic.track)
    TopicCorrection.objects.create(topic=topic, texts=dict(earlier), reason=reason, by=by)
    topic.track.topic_imports.filter(format="topics").update(is_replaced=True)
    for hook in _correction_hooks:
        hook(topic=topic, reason=reason, by=by)


CorrectionHook = Callable[..., None]  # (topic, reason, by): in the transaction that corrects it
_correction_hooks: list[CorrectionHook] = []


def on_correction(hook: CorrectionHook) -> CorrectionHook:
    """Register a function of an app above this one that is called for each correction of an opened track's topic."""
    _correction_hooks.append(hook)
    return hook


@transaction.atomic
def create_track(*, track: Track, topics: "File[bytes] | None" = None, by: User) -> str:
    """Store a new track, and import its topics from a file if there is one: both, or neither.

    Returns the result of the import in a sentence; empty without a file.

    Raises:
        BadFile, Refused: The short name is taken, or the file cannot be used.
    """
    track_services.create(track=track, by=by)
    return str(import_upload(track=track, upload=topics, holds="topics")) if topics else ""
