"""Derive the topics of a formula task from those of a track of questions: B.201 is a formula of A.201.

At most one formula is picked of each topic. The title is proposed before the body, and in either its longest formula.
The tracks then know each other, and a topic keeps the number, the texts, the tags and the thread of its question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Count, QuerySet

from accounts.access import AnyUser
from accounts.audit import services as audit
from accounts.models import User
from assay.formats.topics.reader import TopicRow, number_of
from assay.formats.topics.writer import formulas_of
from tracks.choosing.services import Made, decision_refused, store
from tracks.models import Topic, Track
from tracks.topics.selectors import FORMULA_UNITS
from tracks.tracks.selectors import tracks_overseen_by
from web.pages import counted

PREFIX = "B."
FORMULA, LABEL = "formula-", "label-"  # before the code of a topic, in names of fields


class Formula(NamedTuple):
    """A formula of a topic of questions, by its id."""

    id: str
    place: str
    latex: str
    is_chosen: bool


class SourceTopic(NamedTuple):
    """A topic of questions with its formulas, and the topic that was derived from it before."""

    topic: Topic
    formulas: list[Formula]
    labels: list[tuple[str, Sequence[str], str]]
    derived: str


@dataclass(frozen=True)
class DerivePage:
    """`sources` are the tracks of questions that have topics."""

    track: Track
    source: Track | None
    sources: list[Track]
    rows: list[SourceTopic]
    n_without: int
    prefix: str


def sources_for(user: AnyUser, track: Track) -> QuerySet[Track]:
    """The tracks overseen whose topics are questions, and that have some."""
    tracks = (
        tracks_overseen_by(user)
        .exclude(pk=track.pk)
        .annotate(n_topics=Count("topics"))
        .filter(n_topics__gt=0)
        .order_by("name")
    )
    formulas = [track.pk for track in tracks if track.protocol.parsed.unit in FORMULA_UNITS]
    return tracks.exclude(pk__in=formulas)


def derive_page(user: AnyUser, track: Track, source: Track | None, *, prefix: str = PREFIX) -> DerivePage:
    """The topics of the source with their formulas. Four queries."""
    derived = {topic.code: topic for topic in track.topics.all()}
    words = track.protocol.parsed.topics.labels
    rows = [_row(topic, derived, words, prefix) for topic in source.topics.all()] if source else []
    with_formulas = [row for row in rows if row.formulas]
    n_without = len(rows) - len(with_formulas)
    return DerivePage(track, source, list(sources_for(user, track)), with_formulas, n_without, prefix)


def _row(
    topic: Topic, derived: Mapping[str, Topic], words: Mapping[str, Sequence[str]], prefix: str
) -> SourceTopic:
    own_formulas = [(code, place, latex) for code, _, _, place, latex in formulas_of(topic.facts)]
    earlier = derived.get(code_of(topic, prefix))
    chosen = earlier.formula_id if earlier else proposed_formula(own_formulas)
    formulas = [Formula(code, place, latex, code == chosen) for code, place, latex in own_formulas]
    own = earlier.labels if earlier else {}
    labels = [(name, values, own.get(name, "")) for name, values in words.items()]
    return SourceTopic(topic, formulas, labels, earlier.code if earlier else "")


def proposed_formula(formulas: Sequence[tuple[str, str, str]]) -> str:
    """The id of the longest formula of the title, or else of the body; the first of equally long ones."""
    in_title = [formula for formula in formulas if formula[1] == "title"]
    longest = max(in_title or formulas, key=lambda formula: len(formula[2]), default=("", "", ""))
    return longest[0]


def code_of(topic: Topic, prefix: str) -> str:
    """The code of the topic that is derived from a topic: the same number after another prefix."""
    return f"{prefix}{number_of(topic.code)}"


def picked_formulas(
    data: Mapping[str, object], source: Track, labels: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """The formulas and labels that a posted form picks, as the arguments of `derive`."""
    codes = list(source.topics.values_list("code", flat=True))
    formulas = {code: data[FORMULA + code] for code in codes if data.get(FORMULA + code)}
    given = {
        code: {name: value for name in labels if (value := data.get(f"{LABEL}{name}-{code}"))}
        for code in formulas
    }
    return {"formulas": formulas, "labels": given}


def derive(
    *,
    track: Track,
    source: Track,
    formulas: Mapping[str, str],
    labels: Mapping[str, Mapping[str, str]],
    prefix: str = PREFIX,
    by: User,
) -> Made:
    """Make topics of formulas: by the code of their topic in the source, their ids and their labels.

    A topic that was derived before is updated.

    Raises:
        Refused: The protocol asks for no formulas, nothing is picked, or a topic has no such formula.
        BadFile, Refused: A label or a code cannot be used, or the track is not a draft.
    """
    if track.protocol.parsed.unit not in FORMULA_UNITS:
        raise decision_refused(f"{track.protocol.slug} asks for topics as text, not for formulas.")
    if not formulas:
        raise decision_refused("No formula is picked: there is nothing to make topics of.")
    originals = {topic.code: topic for topic in source.topics.filter(code__in=formulas)}
    rows = [
        _derived(originals.get(code), code, formulas[code], labels.get(code, {}), prefix) for code in formulas
    ]

    def record() -> None:
        Track.objects.filter(pk=track.pk).update(derived_from=source)
        details = {"from": source.slug, "topics": len(rows)}
        audit.record(action="topics.derived", subject=track, track=track, details=details, by=by)

    store(track, rows, f"derived-from-{source.slug}.jsonl", record)
    return Made([row.code for row in rows], f"{counted(len(rows), 'topic')} derived from {source}.")


def _derived(
    topic: Topic | None, code: str, formula_id: str, labels: Mapping[str, str], prefix: str
) -> TopicRow:
    latex = {row[0]: row[-1] for row in formulas_of(topic.facts)} if topic else {}
    if topic is None or formula_id not in latex:
        raise decision_refused(f"Topic {code} has no formula {formula_id}.")
    return TopicRow(
        code=code_of(topic, prefix),
        title=topic.title,
        body=topic.body,
        tags=tuple(topic.tags),
        thread=topic.thread,
        formula_id=formula_id,
        latex=latex[formula_id],
        labels=labels,
    )
