"""Write, merge, freeze and import nuggets. The lock of a topic covers its list and the number of its next version.

Decisions: ADR 60, 112.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from django.db import transaction
from django.utils.formats import number_format
from django.utils.translation import gettext

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import InputError
from assay.formats.qrels.columns import MAX_WEIGHT
from assay.formats.text import keep_notes
from assay.html.sanitize import without_controls
from assay.nuggets import lists
from assay.nuggets.files import read_nuggets
from assessment.errors import NuggetRefused
from assessment.nuggets.selectors import (
    as_list,
    as_nugget,
    data_of,
    digest_of,
    fields_of,
    is_changed,
    latest_version,
    listed,
    problems_of,
)
from corpus.models import Collection, Document
from pooling.models import Nugget, NuggetSources, NuggetVersion
from tracks.models import Topic, Track

MAX_TEXT, MAX_CREATOR, MAX_KIND = 1_000, 150, 40  # characters


@transaction.atomic
def add(
    *,
    topic: Topic,
    text: str,
    importance: str,
    sources: Sequence[str] = (),
    creator: str = "",
    weight: float | None = None,
    kind: str = "",
    made_from: str = "",
    by: User,
) -> Nugget:
    """Add a nugget to the list of a topic. `creator` is the program that wrote it, if no person did.

    A criterion of a rubric has a weight, which is 1 if it is left out.

    Raises NuggetRefused: the list has it, the protocol does not allow it, or the collection does not have a source.
    """
    nugget = lists.Nugget(
        text,
        _known(importance),
        tuple(sources),
        creator or by.username,
        weight=weight,
        kind=kind,
        made_from=made_from,
    )
    stored = _store(_lock(topic), nugget, by)
    _record("nugget.added", stored, by)
    return stored


@transaction.atomic
def change(
    *,
    nugget: Nugget,
    shown: str,
    text: str,
    importance: str,
    sources: Sequence[str],
    weight: float | None = None,
    kind: str = "",
    made_from: str = "",
    by: User,
) -> Nugget:
    """Rewrite a nugget of a list; another text is another nugget to judge. `shown` is the key that the page showed.

    Raises NuggetRefused: as `add`, or somebody changed it meanwhile.
    """
    topic = _lock(nugget.topic)
    current = listed(topic).filter(pk=nugget.pk, key=shown).first()
    if current is None:
        raise NuggetRefused(
            gettext("Somebody changed this nugget after you opened the page. Read it again, then change it.")
        )
    wanted = replace(
        as_nugget(current),
        text=text,
        importance=_known(importance),
        sources=tuple(sources),
        weight=weight,
        kind=kind,
        made_from=made_from,
    )
    wanted = _fitting(topic, wanted)
    _check(topic, wanted, but=current)
    fields = fields_of(wanted)
    for name, value in fields.items():
        setattr(current, name, value)
    current.save(update_fields=list(fields))
    _record("nugget.changed", current, by)
    return current


@transaction.atomic
def merge(
    *,
    topic: Topic,
    ids: Sequence[int],
    text: str,
    importance: str,
    weight: float | None = None,
    kind: str = "",
    made_from: str = "",
    by: User,
) -> Nugget:
    """Replace nuggets of a list by one that states the same. It has their sources and keeps their keys.

    Without a weight, it has that of the first one.

    Raises NuggetRefused: there are fewer than two nuggets of the list, or as `add`.
    """
    locked = _lock(topic)
    parts = list(listed(locked).filter(pk__in=ids))
    if len(parts) < 2 or len(parts) != len(set(ids)):
        raise NuggetRefused(gettext("Tick at least two nuggets of the list to merge them."))
    nugget = lists.Nugget(
        text,
        _known(importance),
        creator=by.username,
        weight=parts[0].weight if weight is None else weight,
        kind=kind or parts[0].kind,
        made_from=made_from or parts[0].made_from,
    )
    Nugget.objects.filter(pk__in=[part.pk for part in parts]).update(is_removed=True)
    merged = _store(locked, lists.merged(map(as_nugget, parts), nugget), by)
    Nugget.objects.filter(pk__in=[part.pk for part in parts]).update(is_removed=False, replaced_by=merged)
    _record("nugget.merged", merged, by, of=[part.text for part in parts])
    return merged


@transaction.atomic
def remove(*, nugget: Nugget, by: User) -> None:
    """Take a nugget from the list of its topic. It can be restored."""
    topic = _lock(nugget.topic)
    if listed(topic).filter(pk=nugget.pk).update(is_removed=True):
        _record("nugget.removed", nugget, by)


@transaction.atomic
def restore(*, nugget: Nugget, by: User) -> Nugget:
    """Put a nugget that was removed or merged back into the list. A merge of it stays until somebody removes it.

    Raises NuggetRefused: the list has the same text, or the protocol does not allow it any more.
    """
    topic = _lock(nugget.topic)
    _check(topic, as_nugget(nugget), but=nugget)
    nugget.is_removed, nugget.replaced_by = False, None
    nugget.save(update_fields=["is_removed", "replaced_by"])
    _record("nugget.restored", nugget, by)
    return nugget


@transaction.atomic
def freeze(*, topic: Topic, by: User) -> NuggetVersion:
    """Freeze the list of a topic as its next version, which never changes. Pools use the latest version.

    Raises NuggetRefused: the list is empty, breaks a rule of the protocol, or is the latest version already.
    """
    locked = _lock(topic)
    current, latest = as_list(locked), latest_version(locked)
    problems = problems_of(current, locked.track)
    if not current.nuggets:
        problems = [f"Topic {locked.code} has no nuggets to freeze"]
    elif not is_changed(current, latest):
        problems = [f"Nothing changed since version {latest.version if latest else 0} of topic {locked.code}"]
    if problems:
        raise NuggetRefused(f"{'. '.join(problems)}.")
    data = data_of(current)
    version = NuggetVersion.objects.create(
        topic=locked,
        version=latest.version + 1 if latest else 1,
        nuggets=data,
        sha256=digest_of(data),
        frozen_by=by,
    )
    details = {"topic": locked.code, "version": version.version, "nuggets": len(data)}
    audit.record(action="nuggets.frozen", subject=version, track=locked.track, details=details, by=by)
    return version


@transaction.atomic
def import_lists(*, track: Track, data: bytes, name: str, by: User, freezes: bool = False) -> int:
    """Add the nuggets of a file of nuggetizer or AutoJudge to the lists of the track; returns how many were new.

    Nuggets that a list has are skipped. The creator is that of the file, or its name. `freezes` freezes each list that
    changed.

    Raises NuggetRefused: the file is not readable, the track lacks a topic, or as `add`; then nothing is imported.
    """
    try:
        read = read_nuggets(data, name)
    except InputError as error:
        raise NuggetRefused(f"{error}") from error
    topics = {topic.code: topic for topic in track.topics.all()}
    if unknown := [nugget_list.topic for nugget_list in read if nugget_list.topic not in topics]:
        raise NuggetRefused(f"{name}: the track has no topic {', '.join(unknown[:5])}.")
    if not track.protocol.parsed.judged.has_nuggets:
        raise NuggetRefused(f"{track} judges no generated answers, so it has no nuggets.")
    if lost := sorted({key for nugget_list in read for key in nugget_list.more}):
        keep_notes([f"keys about whole topics are not stored: {', '.join(lost)[:200]}"])
    n = sum(_add_all(_lock(topics[nugget_list.topic]), nugget_list, name, by) for nugget_list in read)
    for code in dict.fromkeys(nugget_list.topic for nugget_list in read) if freezes else ():
        if is_changed(as_list(topics[code]), latest_version(topics[code])):
            freeze(topic=topics[code], by=by)
    audit.record(action="nuggets.imported", track=track, details={"file": name, "nuggets": n}, by=by)
    return n


def _add_all(topic: Topic, read: lists.NuggetList, name: str, by: User) -> int:
    known = set(listed(topic).values_list("key", flat=True))
    new = [nugget for nugget in read.nuggets if nugget.key not in known]
    try:
        for nugget in new:
            _store(topic, replace(nugget, creator=nugget.creator or name), by)
    except NuggetRefused as refusal:
        raise NuggetRefused(f"{name}, topic {topic.code}: {refusal.message}") from refusal
    return len(new)


@transaction.atomic
def choose_sources(*, track: Track, judged_in: Track, from_grade: int, by: User) -> NuggetSources:
    """Choose the track whose relevant documents people read while they write nuggets.

    Raises NuggetRefused: it is the track of the answers itself, or its protocol has no such grade.
    """
    if judged_in == track:
        raise NuggetRefused(
            f"{track} judges answers itself; choose the track that judged relevance for its topics."
        )
    grades = [grade.value for grade in judged_in.protocol.parsed.judging.grades]
    if from_grade not in grades:
        accepted = ", ".join(map(str, sorted(grades)))
        raise NuggetRefused(f"{judged_in} has no grade {from_grade}; use {accepted}.")
    values = {"judged_in": judged_in, "from_grade": from_grade}
    sources, _ = NuggetSources.objects.update_or_create(track=track, defaults=values)
    details = {"track": judged_in.slug, "grade": from_grade}
    audit.record(action="nuggets.segments-chosen", track=track, details=details, by=by)
    return sources


def _known(importance: str) -> lists.Importance:
    return cast("lists.Importance", Nugget.Importance(importance).value)


def _lock(topic: Topic) -> Topic:
    topics = Topic.objects.select_for_update(no_key=True, of=("self",))
    return topics.select_related("track__protocol", "track__collection").get(pk=topic.pk)


def _store(topic: Topic, nugget: lists.Nugget, by: User) -> Nugget:
    fitting = _fitting(topic, nugget)
    _check(topic, fitting)
    return Nugget.objects.create(topic=topic, created_by=by, **fields_of(fitting))


def _fitting(topic: Topic, nugget: lists.Nugget) -> lists.Nugget:
    """A criterion with its weight, in a track with rubrics. In other tracks, no nugget has a weight."""
    if topic.track.protocol.parsed.judged.has_weights:
        return replace(nugget, weight=1.0 if nugget.weight is None else nugget.weight)
    if nugget.weight is not None:
        refusal = gettext(
            '“{text}” has a weight, but the protocol has no rubrics (judging.layout = "rubric").'
        )
        raise NuggetRefused(refusal.format(text=nugget.text[:60]))
    return replace(nugget, kind="", made_from="")


def _check(topic: Topic, nugget: lists.Nugget, *, but: Nugget | None = None) -> None:
    """Refuse a nugget that the list has besides `but`, or that breaks a rule, or whose source is not there."""
    others = listed(topic).exclude(pk=but.pk) if but else listed(topic)
    if others.filter(key=nugget.key).exists():
        refusal = gettext("The list of topic {code} already has “{text}”.")
        raise NuggetRefused(refusal.format(code=topic.code, text=nugget.text))
    decided = replace(nugget, importance=nugget.importance or "vital")  # a list without it is not frozen
    if problems := problems_of(lists.NuggetList(topic.code, nuggets=(decided,)), topic.track):
        raise NuggetRefused(f"{problems[0]}.")
    words = [nugget.text, nugget.creator, nugget.kind, nugget.made_from, *nugget.sources]
    words += [word for answer in nugget.answers for word in (answer.text, *answer.sources)]
    if any(word != without_controls(word) for word in words):
        refusal = gettext("“{text}” has control characters; remove them.")
        raise NuggetRefused(refusal.format(text=without_controls(nugget.text)[:60]))
    if max(len(nugget.text), len(nugget.creator) * MAX_TEXT // MAX_CREATOR) > MAX_TEXT:
        raise NuggetRefused(
            gettext("“{text}…”: at most {n} characters are accepted, and {n_creator} of the creator.").format(
                text=nugget.text[:60], n=number_format(MAX_TEXT, force_grouping=True), n_creator=MAX_CREATOR
            )
        )
    if len(nugget.kind) > MAX_KIND or len(nugget.made_from) > MAX_TEXT:
        refusal = gettext("“{text}”: the type may have {n_kind} characters, and the source nugget {n}.")
        raise NuggetRefused(
            refusal.format(
                text=nugget.text[:60], n_kind=MAX_KIND, n=number_format(MAX_TEXT, force_grouping=True)
            )
        )
    if nugget.weight is not None and not abs(nugget.weight) <= MAX_WEIGHT:
        refusal = gettext("“{text}” has the weight {weight}; use a number from -{most} to {most}.")
        raise NuggetRefused(
            refusal.format(text=nugget.text[:60], weight=f"{nugget.weight:g}", most=f"{MAX_WEIGHT:.0f}")
        )
    collection = topic.track.collection
    if collection is None or collection.status != Collection.Status.READY:
        return
    known = Document.objects.filter(collection=collection, docno__in=nugget.sources)
    if missing := sorted(set(nugget.sources) - set(known.values_list("docno", flat=True))):
        refusal = gettext("The collection has no document {docnos}.")
        raise NuggetRefused(refusal.format(docnos=", ".join(missing[:5])))


def _record(action: str, nugget: Nugget, by: User, **details: object) -> None:
    details = {"topic": nugget.topic.code, **details}
    audit.record(action=action, subject=nugget, track=nugget.topic.track, details=details, by=by)
