"""Rounds of judgments that are compared, and the units on which assessors disagree."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import partial
from itertools import chain
from typing import Literal, NamedTuple

from django.db.models import Case, Count, F, IntegerField, Max, Min, Q, QuerySet, Value, When, Window
from django.http import Http404
from django.utils.translation import gettext

from assay.errors import InputError
from assay.protocols.scales import Scale, scale_named
from assay.protocols.schema import Protocol
from assay.tables import natural
from assessment.judgments.selectors import current_judgments
from assessment.judgments.stamps import by_topic
from assessment.models import MAIN_AND_DUAL, Batch, Judgment
from tracks.models import Track

Rule = Literal["any", "threshold", "steps", "non-answer"]


class Difference(NamedTuple):
    """A filter of disagreements: any different choice, grades on both sides of the threshold of relevance, or
    grades that are at least `steps` apart; or a non-answer, also of the only judge.

    `scale` is the key of what is compared, one of `scales_of`."""

    rule: Rule = "any"
    steps: int = 2
    scale: str = ""


def scale_of(protocol: Protocol, key: str | None) -> Scale:
    """The scale with a key; without one, the first.

    Raises:
        Http404: The protocol has no such scale.
    """
    try:
        return scale_named(protocol, key or "")
    except InputError as error:
        raise Http404(str(error)) from None


def rules_for(protocol: Protocol, scale: Scale) -> dict[str, str]:
    """The differences that judgments on a scale can have, in words, by rule."""
    others, has_order = protocol.judging.non_answers, scale.has_order
    is_relevance = protocol.judges_relevance and not scale.key
    words = {
        "any": "Any different choice, non-answers included" if others else "Any different choice",
        "threshold": has_order
        and ("One relevant, one not relevant" if is_relevance else f"One {scale.level} or higher, one lower"),
        "steps": has_order and "Grades at least some steps apart",
        "non-answer": bool(others) and "A non-answer, also of the only judge",
    }
    return {rule: label for rule, label in words.items() if label}


class Vote(NamedTuple):
    """A judgment of a unit, by its id; `grade` is None for a non-answer."""

    judgment: int
    assessor: str
    label: str
    grade: int | None
    comment: str = ""


def is_difference(votes: Sequence[Vote], difference: Difference, level: int) -> bool:
    """True if votes differ as asked; `level` is the grade from which a unit is relevant.

    A non-answer differs from every other choice under the rule "any"; the other rules compare grades only.

    >>> votes = [Vote(1, "ana", "High", 3), Vote(2, "ben", "Medium", 2)]
    >>> is_difference(votes, Difference("any"), 2), is_difference(votes, Difference("threshold"), 2)
    (True, False)
    """
    if difference.rule == "non-answer":
        return any(vote.grade is None for vote in votes)
    if difference.rule == "any":
        return len({vote.label for vote in votes}) > 1
    grades = [vote.grade for vote in votes if vote.grade is not None]
    if len(grades) < 2:
        return False
    if difference.rule == "threshold":
        return min(grades) < level <= max(grades)
    return max(grades) - min(grades) >= difference.steps


MAIN_ROUND = "main"


class Round(NamedTuple):
    """Judgments that are compared: those of all main batches and second judgments, or of one training batch."""

    key: str
    label: str
    batch_id: int | None


def rounds_of(track: Track) -> list[Round]:
    """The main round first, then the training rounds, newest first."""
    numbered = list(enumerate(training_batches(track).order_by("pk").values_list("pk", "name", "status"), 1))
    rounds = [
        Round(f"batch-{pk}", round_label(number, name), pk)
        for number, (pk, name, status) in reversed(numbered)
        if status != Batch.Status.DRAFT
    ]
    return [main_round(), *rounds]


def main_round() -> Round:
    """The judgments of all main batches and second judgments."""
    return Round(MAIN_ROUND, "Main and second judgments", None)


def training_batches(track: Track) -> QuerySet[Batch]:
    """The training batches of a track. The n-th that was created is round n."""
    return Batch.objects.filter(pool__track=track, kind=Batch.Kind.TRAINING)


def training_number(batch: Batch) -> int:
    """The number of a training round, from 1, in the order in which the rounds of its track were created."""
    return training_batches(batch.pool.track).filter(pk__lte=batch.pk).count()


def round_label(number: int, name: str) -> str:
    """The number of a training round with its name, unless the name says no more.

    >>> round_label(1, "Training round 1"), round_label(2, "Formulas")
    ('Training round 1', 'Training round 2: Formulas')
    """
    numbered = gettext("Training round {n}").format(n=number)
    return numbered if name == numbered else f"{numbered}: {name}"


def round_of(track: Track, key: str | None) -> Round:
    """The round with a key; without one, the first with units of several judges, or with judgments, or the main round.

    Raises:
        Http404: The track has no such round.
    """
    rounds = rounds_of(track)
    if not key:
        # The most judges of a unit in each round with judgments, by the batch of the round
        parts = by_topic(track, ["judges of units"], partial(_judges_of_units, track))
        n_judges = dict(sorted(map(tuple, chain(*parts)), key=lambda pair: pair[1]))
        tried = [(candidate, n) for n in (2, 1) for candidate in rounds]
        return next(
            (candidate for candidate, n in tried if n_judges.get(candidate.batch_id, 0) >= n), rounds[0]
        )
    of_round = next((candidate for candidate in rounds if candidate.key == key), None)
    if of_round is None:
        raise Http404(f"{track} has no round {key!r}")
    return of_round


def _judges_of_units(track: Track, topics: Collection[int]) -> dict[int, list[tuple[int | None, int]]]:
    """The numbers of judges that units of a topic have, each with the batch of the training round. One query."""
    judgments = current_judgments(track, *MAIN_AND_DUAL, Batch.Kind.TRAINING).filter(topic__in=topics)
    place = Case(When(batch__kind=Batch.Kind.TRAINING, then=F("batch")), default=None)
    units = judgments.order_by().values(place=place, unit=F("docno"), of=F("topic")).annotate(n=Count("pk"))
    numbers: defaultdict[int, list[tuple[int | None, int]]] = defaultdict(list)
    for topic, *pair in units.values_list("of", "place", "n").distinct():
        numbers[topic].append((pair[0], pair[1]))
    return numbers


def judgments_of(track: Track, of_round: Round) -> QuerySet[Judgment]:
    """The current judgments of a round, made with the track's protocol, oldest first."""
    if of_round.batch_id is None:
        return current_judgments(track, *MAIN_AND_DUAL)
    return current_judgments(track, Batch.Kind.TRAINING).filter(batch=of_round.batch_id)


def shared_judgments(track: Track, of_round: Round) -> QuerySet[Judgment]:
    """The judgments of units that have several in the round."""
    n_judges = Window(Count("pk"), partition_by=[F("topic"), F("docno")])
    return judgments_of(track, of_round).annotate(n_judges=n_judges).filter(n_judges__gt=1)


def answers_for(scale: Scale) -> str | Value:
    """The column of answers; nothing for a scale that does not read them, since each one would be parsed."""
    return Value(None, output_field=IntegerField()) if scale.question is None else "answers"


class Disagreement(NamedTuple):
    """A unit with the judgments of its assessors, oldest first."""

    topic: str
    docno: str
    votes: list[Vote]

    @property
    def steps(self) -> int:
        """The distance between the grades; 0 if fewer than two assessors gave one."""
        grades = [vote.grade for vote in self.votes if vote.grade is not None]
        return max(grades) - min(grades) if grades else 0


def disagreements(
    track: Track, of_round: Round, difference: Difference, order: str = "topic"
) -> list[Disagreement]:
    """The units whose judgments differ as asked, by topic and docno, or ("steps") the largest difference first."""
    key = ["disagreements", of_round.batch_id, *difference]
    parts = by_topic(track, key, partial(_different, track, of_round, difference))
    different = [
        Disagreement(topic, docno, [Vote(*vote) for vote in votes]) for topic, docno, votes in chain(*parts)
    ]
    different.sort(key=lambda unit: natural(unit.topic))
    return sorted(different, key=lambda unit: -unit.steps) if order == "steps" else different


def _different(
    track: Track, of_round: Round, difference: Difference, topics: Collection[int]
) -> dict[int, list[Disagreement]]:
    """The disagreements of some topics, by docno."""
    rules, scale = track.protocol.parsed.judging, scale_of(track.protocol.parsed, difference.scale)
    units: defaultdict[int, dict[tuple[str, str], list[Vote]]] = defaultdict(dict)
    judgments, unit = shared_judgments(track, of_round).filter(topic__in=topics), [F("topic"), F("docno")]
    if difference.rule == "non-answer":
        n_without = Window(Count("pk", filter=Q(grade=None)), partition_by=unit)
        judgments = judgments_of(track, of_round).filter(topic__in=topics)
        judgments = judgments.annotate(n_without=n_without).filter(n_without__gt=0)
    elif scale.question is None:  # most judgments are equal, and need not be read
        ends = {"first": Min("choice"), "last": Max("choice"), "low": Min("grade"), "high": Max("grade")}
        judgments = judgments.annotate(**{name: Window(end, partition_by=unit) for name, end in ends.items()})
        judgments = judgments.filter(Q(first__lt=F("last")) | Q(low__lt=F("high")))
    rows = judgments.values_list(
        "topic", "topic__code", "docno", "pk", "assessor__username", "comment", "choice", "grade", answers_for(scale)
    )  # fmt: skip
    for topic, code, docno, pk, assessor, comment, *given in rows.iterator(chunk_size=5_000):
        if (read := scale.read(rules, docno, *given)) is not None:
            units[topic].setdefault((code, docno), []).append(Vote(pk, assessor, *read, comment))
    return {
        topic: [
            Disagreement(code, docno, votes)
            for (code, docno), votes in sorted(of_topic.items(), key=lambda unit: natural(unit[0][1]))
            if is_difference(votes, difference, scale.level)
        ]
        for topic, of_topic in units.items()
    }
