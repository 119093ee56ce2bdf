"""How far the assessors of a track agree, and the units on which they disagree. For organizers only."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, Q, QuerySet, Window
from django.http import Http404

from assay import plots
from assay.statistics import agreement_report as report
from assessment.agreement.rules import Difference, Vote, is_difference
from assessment.judgments.rules import binary_from, judging_rules, label_of
from assessment.machines.comparison import Comparison, comparisons
from assessment.models import Batch, Judgment
from tracks.models import Track

MAIN_ROUND = "main"
KINDS = (Batch.Kind.MAIN, Batch.Kind.DUAL)
PAGE = 25


class Round(NamedTuple):
    """Judgments that are compared: those of all main and dual batches, or of one training batch."""

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
    return [Round(MAIN_ROUND, "Main and dual batches", None), *rounds]


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
    numbered = f"Training round {number}"
    return numbered if name == numbered else f"{numbered}: {name}"


def round_of(track: Track, key: str | None) -> Round:
    """The round with a key; without a key, the main round.

    Raises
    ------
    Http404
        The track has no such round.
    """
    key = key or MAIN_ROUND
    of_round = next((each for each in rounds_of(track) if each.key == key), None)
    if of_round is None:
        raise Http404(f"{track} has no round {key!r}")
    return of_round


def judgments_of(track: Track, of_round: Round) -> QuerySet[Judgment]:
    """The current judgments of a round, made with the track's protocol, oldest first."""
    current = Judgment.objects.filter(
        track=track, is_current=True, batch__pool__protocol=track.protocol_id
    ).order_by("pk")
    if of_round.batch_id is not None:
        return current.filter(batch=of_round.batch_id)
    return current.filter(batch__kind__in=KINDS)


def shared_judgments(track: Track, of_round: Round) -> QuerySet[Judgment]:
    """The judgments of units that have several in the round."""
    n_judges = Window(Count("pk"), partition_by=[F("topic"), F("docno")])
    return judgments_of(track, of_round).annotate(n_judges=n_judges).filter(n_judges__gt=1)


def _compared(track: Track, of_round: Round, difference: Difference) -> QuerySet[Judgment]:
    """The judgments of the units that can differ as asked."""
    if difference.rule != "non-answer":
        return shared_judgments(track, of_round)
    n_without = Window(Count("pk", filter=Q(grade=None)), partition_by=[F("topic"), F("docno")])
    return judgments_of(track, of_round).annotate(n_without=n_without).filter(n_without__gt=0)


def graded(track: Track, of_round: Round) -> report.Graded:
    """The judgments of shared units with a grade, as arrays."""
    rows = shared_judgments(track, of_round).values_list(
        "topic__code", "docno", "assessor__username", "grade"
    )
    return report.Graded.from_rows(
        (topic, docno, assessor, grade)
        for topic, docno, assessor, grade in rows.iterator(chunk_size=5_000)
        if grade is not None
    )


class Disagreement(NamedTuple):
    """A unit with the judgments of its assessors, oldest first."""

    topic: str
    docno: str
    votes: list[Vote]


def disagreements(track: Track, of_round: Round, difference: Difference) -> list[Disagreement]:
    """The units whose judgments differ as asked, by topic and docno."""
    rules, level = judging_rules(track.protocol), binary_from(track.protocol)
    units: dict[tuple[str, str], list[Vote]] = {}
    rows = _compared(track, of_round, difference).values_list(
        "topic__code", "docno", "pk", "assessor__username", "choice", "grade"
    )
    for topic, docno, pk, assessor, choice, grade in rows.iterator(chunk_size=5_000):
        vote = Vote(pk, assessor, label_of(rules, choice), grade)
        units.setdefault((topic, docno), []).append(vote)
    return [
        Disagreement(topic, docno, votes)
        for (topic, docno), votes in sorted(units.items())
        if is_difference(votes, difference, level)
    ]


class Cell(NamedTuple):
    """A cell of a confusion matrix; `heat` is its size relative to the largest cell, from 0 to 4."""

    n: int
    heat: int


class MatrixRow(NamedTuple):
    """The units to which the first assessor gave a grade."""

    grade: int
    cells: list[Cell]


class Matrix(NamedTuple):
    """The confusion matrix of a pair."""

    pair: report.Pair
    grades: list[int]
    rows: list[MatrixRow]


@dataclass(frozen=True)
class AgreementPage:
    """The agreement in one round. `level` is the grade from which a unit is relevant in two-way values.

    `machines` are compared with people in the main round only.
    """

    track: Track
    rounds: list[Round]
    current: Round
    level: int
    n_judgments: int
    n_without_grade: int
    graded: report.Graded
    alphas: list[report.Value]
    pairs: list[report.Pair]
    matrices: list[Matrix]
    assessors: list[report.AssessorAgreement]
    plot: plots.Plot
    topics: list[report.TopicAgreement]
    machines: list[Comparison]
    tab: str = "judging"


def agreement_page(track: Track, of_round: Round) -> AgreementPage:
    """Every measure of agreement in a round; the number of queries is fixed."""
    level, columns = binary_from(track.protocol), graded(track, of_round)
    pairs = report.pairs(columns, level)
    assessors = report.by_assessor(pairs)
    counts = judgments_of(track, of_round).order_by().aggregate(n=Count("pk"), graded=Count("grade"))
    return AgreementPage(
        track=track,
        rounds=rounds_of(track),
        current=of_round,
        level=level,
        n_judgments=counts["n"],
        n_without_grade=counts["n"] - counts["graded"],
        graded=columns,
        alphas=report.alphas(columns, level),
        pairs=pairs,
        matrices=[_matrix(pair) for pair in pairs],
        assessors=assessors,
        plot=_plot(track, assessors),
        topics=report.by_topic(columns, level),
        machines=[] if of_round.batch_id is not None else comparisons(track),
    )


def _plot(track: Track, assessors: Sequence[report.AssessorAgreement]) -> plots.Plot:
    """Mean kappa of each assessor, as in the overview papers."""
    values = [
        ("all grades", [_defined(row.kappa) for row in assessors]),
        ("two-way", [_defined(row.two_way) for row in assessors]),
    ]
    title, labels = f"{track.name}: mean kappa by assessor", [row.name for row in assessors]
    return plots.groups(f"{track.slug}-kappa", title, labels, values, across="Assessor", up="Kappa")


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


def _matrix(pair: report.Pair) -> Matrix:
    most = int(pair.confusion.max(initial=1))
    rows = [
        MatrixRow(int(grade), [Cell(int(n), math.ceil(4 * int(n) / most)) for n in counts])
        for grade, counts in zip(pair.grades, pair.confusion, strict=True)
    ]
    return Matrix(pair, pair.grades.tolist(), rows)


class ShownVote(NamedTuple):
    """A vote with the comment of its judgment."""

    vote: Vote
    comment: str


class ShownDisagreement(NamedTuple):
    """A disagreement on the page, with the comments of its judgments."""

    topic: str
    docno: str
    votes: list[ShownVote]


@dataclass(frozen=True)
class DisagreementsPage:
    """One page of the disagreements of a round."""

    track: Track
    rounds: list[Round]
    current: Round
    difference: Difference
    rows: Page[Disagreement]
    shown: list[ShownDisagreement]
    n_units: int
    tab: str = "judging"


def disagreements_page(
    track: Track, of_round: Round, difference: Difference, *, number: str | None
) -> DisagreementsPage:
    """One page of the disagreements, with the comments of the assessors."""
    units = disagreements(track, of_round, difference)
    rows = Paginator(units, PAGE).get_page(number)
    return DisagreementsPage(
        track=track,
        rounds=rounds_of(track),
        current=of_round,
        difference=difference,
        rows=rows,
        shown=with_comments(rows),
        n_units=len(units),
    )


def with_comments(rows: Iterable[Disagreement]) -> list[ShownDisagreement]:
    """Disagreements with the comments of their judgments."""
    units = list(rows)
    ids = [vote.judgment for unit in units for vote in unit.votes]
    comments = dict(Judgment.objects.filter(pk__in=ids).values_list("pk", "comment"))
    return [
        ShownDisagreement(
            unit.topic, unit.docno, [ShownVote(vote, comments.get(vote.judgment, "")) for vote in unit.votes]
        )
        for unit in units
    ]
