"""Bringing topics and their labels into a track."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from django.core.files import File
from django.db import transaction

from assay.errors import Refused
from assay.formats.topics.reader import MAX_SIZE, BadTopics, TopicRow, comparable, read_labels, read_topics
from corpus.models import Collection, Document
from tracks.models import Topic, TopicImport, Track
from tracks.tracks import services as track_services

FORMULA_UNITS = {"formula", "visually-distinct-formula"}


class TopicsRefused(Refused):
    """Topics that the track does not take."""

    title = "These topics cannot be imported"


@dataclass
class TopicReport:
    """What an import of topics did. `matched` tells how each topic found its own thread."""

    n_new: int = 0
    n_changed: int = 0
    n_unchanged: int = 0
    n_removed: int = 0
    matched: Counter[str] = field(default_factory=Counter)
    unmatched: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        n = self.n_new + self.n_changed + self.n_unchanged
        parts = [
            f"{n} topic{'s' * (n != 1)}: {self.n_new} new, {self.n_changed} changed, {self.n_unchanged} as before"
        ]
        if self.n_removed:
            parts.append(f"{self.n_removed} removed that the file has not")
        parts += [f"{matched} found their own thread {how}" for how, matched in self.matched.items()]
        if self.unmatched:
            parts.append(f"no thread was found for {', '.join(self.unmatched)}")
        return "; ".join(parts) + "."


def import_upload(*, track: Track, upload: "File[bytes]", holds: str) -> str:
    """`import_topics` or `import_labels` of an uploaded file; what came of it, in a sentence."""
    if upload.size > MAX_SIZE:
        raise TopicsRefused(f"The file has {upload.size:,} bytes; a topic file has at most {MAX_SIZE:,}.")
    name = upload.name or "the file"
    if holds == "labels":
        return str(import_labels(track=track, data=upload.read(), name=name))
    return str(import_topics(track=track, data=upload.read(), name=name, replace=holds == "all topics"))


def import_topics(*, track: Track, data: bytes, name: str, replace: bool = False) -> TopicReport:
    """Take the topics of a file. A topic whose code is there already is brought up to date.

    With `replace`, topics that the file has not are removed: a draft has no runs that could rest on them.

    A topic finds its own thread in the topic collection by the docno that the file names, or else by its title if
    just one question has it.

    Raises
    ------
    BadFile
        The file cannot be used; every fault is named.
    TopicsRefused
        The track is no draft, or its protocol judges another unit.
    """
    rows = read_topics(data, name)
    with transaction.atomic():
        current = _draft(track)
        _check(rows, current, name)
        threads = _threads(rows, current.topic_collection)
        report = TopicReport()
        standing = {topic.code: topic for topic in current.topics.all()}
        for row in rows:
            _save(row, threads[row.code][0], current, standing.get(row.code), report)
        if replace:
            gone = current.topics.exclude(code__in=[row.code for row in rows])
            report.n_removed = gone.delete()[0]
        _count_threads(threads, current, report)
        _record(current, data, name, "topics", {"topics": len(rows)})
    return report


def _draft(track: Track) -> Track:
    """The track, locked, if its topics may still change: runs rest on them from its opening on."""
    current = track_services.lock(track.pk)
    if current.status != Track.Status.DRAFT:
        raise TopicsRefused(
            f"{current} is {current.get_status_display()}: its topics do not change any more."
        )
    return current


def _check(rows: Sequence[TopicRow], track: Track, name: str) -> None:
    protocol = track.protocol.parsed
    is_formula = protocol.unit in FORMULA_UNITS
    wrong = [row for row in rows if bool(row.latex or row.formula_id) != is_formula]
    if wrong:
        what = "is no formula" if is_formula else "is a formula"
        asked = "formulas" if is_formula else f"no formulas, but something to find a {protocol.unit} for"
        raise TopicsRefused(
            f"{name}: topic {wrong[0].code} {what}; the topics of {protocol.slug} are {asked}."
        )
    complaints = [
        f"line {row.line}: {complaint}"
        for row in rows
        for complaint in _label_faults(row.code, row.labels, protocol.topics.labels)
    ]
    if complaints:
        raise BadTopics(name, complaints)


def checked_labels(*, topic: Topic, labels: object) -> dict[str, str]:
    """Labels as they are kept, if the protocol of the topic's track allows each.

    Raises
    ------
    TopicsRefused
        They are no object of words, or the protocol has not such a label or value.
    """
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        raise TopicsRefused(
            'Labels are an object of words, such as {"category": "proof"}; {} if there are none.'
        )
    for fault in _label_faults(topic.code, labels, topic.track.protocol.parsed.topics.labels):
        raise TopicsRefused(f"{fault[0].upper()}{fault[1:]}.")
    return _normal(labels)


def _label_faults(
    code: str, labels: Mapping[str, str], allowed: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    for label, value in labels.items():
        if label.lower() not in allowed:
            yield f"topic {code}: no label {label!r}; there are {', '.join(allowed) or 'none'}"
        elif allowed[label.lower()] and value.strip().lower() not in allowed[label.lower()]:
            yield f"topic {code}: {label} {value!r} is not allowed; use {', '.join(allowed[label.lower()])}"


def _normal(labels: Mapping[str, str]) -> dict[str, str]:
    return {label.lower(): value.strip().lower() for label, value in labels.items()}


Found = tuple[str, str]  # docno of the thread or "", and how it was found


def _threads(rows: Sequence[TopicRow], collection: Collection | None) -> dict[str, Found]:
    """Each topic's own question in the topic collection."""
    if collection is None:
        return {row.code: ("", "") for row in rows}
    questions = Document.objects.filter(collection=collection, kind=Document.Kind.QUESTION)
    named = set(questions.filter(docno__in=[row.thread for row in rows]).values_list("docno", flat=True))
    by_title = _by_title(
        {comparable(row.title) for row in rows} - {""}, questions.values_list("docno", "title")
    )
    return {row.code: _thread(row, named, by_title) for row in rows}


def _by_title(wanted: set[str], questions: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found = defaultdict(list)
    for docno, title in questions:
        if (key := comparable(title)) in wanted:
            found[key].append(docno)
    return found


def _thread(row: TopicRow, named: set[str], by_title: Mapping[str, list[str]]) -> Found:
    if row.thread:
        return (row.thread, "by the docno in the file") if row.thread in named else ("", "")
    same = by_title.get(comparable(row.title), [])
    return (same[0], "by their title") if len(same) == 1 else ("", "")


def _save(row: TopicRow, thread: str, track: Track, standing: Topic | None, report: TopicReport) -> None:
    topic = standing or Topic(track=track, code=row.code)
    before = _values(topic)
    topic.title, topic.body, topic.narrative = row.title, row.body, row.narrative
    topic.tags, topic.formula_id, topic.latex = list(row.tags), row.formula_id, row.latex
    topic.thread = thread or topic.thread
    topic.labels = topic.labels | _normal(row.labels)
    if standing is None:
        report.n_new += 1
    elif _values(topic) == before:
        report.n_unchanged += 1
        return
    else:
        report.n_changed += 1
    topic.save()


def _values(topic: Topic) -> tuple[object, ...]:
    texts = (topic.title, topic.body, topic.narrative, topic.formula_id, topic.latex, topic.thread)
    return (*texts, list(topic.tags), dict(topic.labels))


def _count_threads(threads: Mapping[str, Found], track: Track, report: TopicReport) -> None:
    if track.topic_collection is not None:
        report.matched = Counter(how for _, how in threads.values() if how)
        report.unmatched = [code for code, (_, how) in threads.items() if not how]


def _record(track: Track, data: bytes, name: str, form: str, counts: dict[str, int]) -> None:
    """Keep a trace of what was imported; the file itself is not kept."""
    sha256 = hashlib.sha256(data).hexdigest()
    TopicImport.objects.create(
        track=track, format=form, name=name, sha256=sha256, size=len(data), counts=counts
    )


@dataclass(frozen=True)
class LabelReport:
    """What an import of labels did. `ignored` are columns that the protocol does not know."""

    n_topics: int
    ignored: tuple[str, ...]

    def __str__(self) -> str:
        ignored = f"; left out, for they are no labels: {', '.join(self.ignored)}" if self.ignored else ""
        return f"{self.n_topics} topic{'s' * (self.n_topics != 1)} labeled{ignored}."


@transaction.atomic
def import_labels(*, track: Track, data: bytes, name: str) -> LabelReport:
    """Put labels on topics, as the protocol allows. Other columns are left out and named.

    Raises
    ------
    BadFile
        The file cannot be used, or names a topic or a value that there is not; every fault is named.
    """
    labels = read_labels(data, name)
    current = track_services.lock(track.pk)
    allowed = current.protocol.parsed.topics.labels
    topics = {topic.code: topic for topic in current.topics.all()}
    known = {
        code: {k: v for k, v in row.items() if k.strip().lower() in allowed} for code, row in labels.items()
    }
    ignored = sorted(
        {label for row in labels.values() for label in row if label.strip().lower() not in allowed}
    )
    complaints = [f"there is no topic {code} in {current}" for code in labels if code not in topics]
    complaints += [fault for code, row in known.items() for fault in _label_faults(code, row, allowed)]
    if not any(known.values()):
        complaints.append(f"none of its columns is a label; there are {', '.join(allowed) or 'none'}")
    if complaints:
        raise BadTopics(name, complaints)
    for code, row in known.items():
        topics[code].labels = topics[code].labels | _normal(row)
    Topic.objects.bulk_update([topics[code] for code in known], ["labels"])
    _record(current, data, name, "labels", {"topics": len(known)})
    return LabelReport(len(known), tuple(ignored))
