"""The agreement of a track's assessors, and the units on which they disagree. For organizers only."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Count
from django.urls import reverse

from assay import plots
from assay.formats.topics.subtopics import labels_of
from assay.protocols.scales import Scale, scales_of
from assay.statistics import agreement_report as report
from assay.statistics.agreement import Kappa
from assay.tables import natural
from assessment.agreement.machines import Comparison, comparisons
from assessment.agreement.preferences import TopicPreferences, preferences_of
from assessment.judgments.disagreements import (
    Difference,
    Disagreement,
    Round,
    answers_for,
    disagreements,
    judgments_of,
    main_round,
    rounds_of,
    scale_of,
    shared_judgments,
)
from assessment.judgments.stamps import by_topic
from assessment.models import Batch, Judgment
from pooling.models import Pool, PoolEntry
from pooling.pools.entries import ShownDocument, ShownEntry, shown_documents, shown_entries
from tracks.assessors.selectors import names_of, names_of_assessors
from tracks.models import Assessor, Track
from web.confirmation import Check

PAGE = 25


def graded(track: Track, of_round: Round, scale: Scale) -> report.Graded:
    """The judgments of shared units with a number on a scale, as arrays."""
    key = ["graded", of_round.batch_id, scale.key]
    parts = by_topic(track, key, partial(_graded, track, of_round, scale))
    return report.Graded.joined(parts, scale.values(track.protocol.parsed.judging))


def _graded(
    track: Track, of_round: Round, scale: Scale, topics: Collection[int]
) -> dict[int, tuple[list[Any], ...]]:
    """The columns of `Graded` of each of some topics, as lists."""
    rules = track.protocol.parsed.judging
    of_subtopics = track.topics.values_list("code", "subtopics") if scale.is_of_subtopics else ()
    subtopics = {code: [*labels_of(of_topic)] for code, of_topic in of_subtopics}
    rows = shared_judgments(track, of_round).filter(topic__in=topics)
    fields = ("topic", "topic__code", "docno", "assessor__username", "choice", "grade", answers_for(scale))
    numbered: defaultdict[int, list[tuple[str, str, str, int]]] = defaultdict(list)
    for topic, code, docno, assessor, *given in rows.values_list(*fields).iterator(chunk_size=5_000):
        numbers = scale.numbered(rules, code, subtopics.get(code, ()), *given)
        numbered[topic] += [(of_topic, docno, assessor, number) for of_topic, number in numbers]
    return {topic: report.Graded.from_rows(of_topic).as_lists() for topic, of_topic in numbered.items()}


class MatrixCell(NamedTuple):
    """A cell of a confusion matrix; `heat` is its size relative to the largest cell, from 0 to 4."""

    n: int
    heat: int


class Matrix(NamedTuple):
    """The confusion matrix of a pair: a row for each grade by the first assessor, with that grade."""

    pair: report.Pair
    grades: list[int]
    rows: list[tuple[int, list[MatrixCell]]]

    @classmethod
    def from_pair(cls, pair: report.Pair) -> "Matrix":
        most = int(pair.confusion.max(initial=1))
        rows = [
            (int(grade), [MatrixCell(int(n), math.ceil(4 * int(n) / most)) for n in counts])
            for grade, counts in zip(pair.grades, pair.confusion, strict=True)
        ]
        return cls(pair, pair.grades.tolist(), rows)


@dataclass(frozen=True)
class AgreementPage:
    """The agreement in one round on one scale. `level` is the grade from which a unit is relevant in two-way values.

    `main_alpha` is the ordinal one, or the nominal one without an order; `mean_kappa` is that of all pairs, or nan.
    `people` are the assessors with an account, with their full names, as in the pairs of people. Guests, who can be
    many, have a table of their own and no matrices. `machines` are compared with people in the main round only.
    """

    track: Track
    rounds: list[Round]
    current: Round
    scales: list[Scale]
    scale: Scale
    level: int
    n_judgments: int
    n_without_grade: int
    graded: report.Graded
    alphas: list[report.Value]
    acs: list[report.AcValue]
    main_alpha: report.Value | None
    mean_kappa: float
    pairs: list[report.Pair]
    pairs_of_people: list[report.Pair]
    matrices: list[Matrix]
    assessors: list[report.AssessorAgreement]
    people: list[report.AssessorAgreement]
    of_guests: list[report.AssessorAgreement]
    plot: plots.Plot
    topics: list[report.TopicAgreement]
    machines: list[Comparison]
    preferences: list[TopicPreferences]

    @property
    def round_keys(self) -> list[str]:
        return [compared.key for compared in self.rounds]


def agreement_page(track: Track, of_round: Round, scale: Scale) -> AgreementPage:
    """Every measure of agreement in a round; the number of queries is fixed."""
    level, columns = scale.level, graded(track, of_round, scale)
    pairs = report.pairs(columns, level)
    topics = report.by_topic(columns, level)
    if scale.is_nominal:  # what needs an order is undefined
        undefined = Kappa(0, math.nan, math.nan, math.nan, math.nan)
        pairs = [replace(pair, linear=undefined, quadratic=undefined, two_way=undefined) for pair in pairs]
        topics = [row._replace(ordinal=math.nan, two_way=math.nan) for row in topics]
    assessors = report.by_assessor(pairs)
    accounts = [assessor.user for assessor in Assessor.objects.filter(track=track).select_related("user")]
    guests = frozenset(user.username for user in accounts if user.guest_until)
    names = names_of(accounts)
    shown = [row._replace(name=names.get(row.name, row.name)) for row in assessors if row.name not in guests]
    of_people = [
        replace(pair, first=names.get(pair.first, pair.first), second=names.get(pair.second, pair.second))
        for pair in pairs
        if not guests & {pair.first, pair.second}
    ]
    alphas, acs = report.alphas(columns, level), report.acs(columns, level)
    if scale.is_nominal:
        alphas = [value for value in alphas if not report.needs_order(value.name)]
        acs = [value for value in acs if not report.needs_order(value.name)]
    kappas = [pair.kappa.value for pair in pairs if not math.isnan(pair.kappa.value)]
    counts = judgments_of(track, of_round).order_by().aggregate(n=Count("pk"), graded=Count("grade"))
    return AgreementPage(
        track=track,
        rounds=rounds_of(track),
        current=of_round,
        scales=scales_of(track.protocol.parsed),
        scale=scale,
        level=level,
        n_judgments=counts["n"],
        n_without_grade=counts["n"] - counts["graded"],
        graded=columns,
        alphas=alphas,
        acs=acs,
        main_alpha=_main(alphas),
        mean_kappa=sum(kappas) / len(kappas) if kappas else math.nan,
        pairs=pairs,
        pairs_of_people=of_people,
        matrices=[Matrix.from_pair(pair) for pair in of_people],
        assessors=assessors,
        people=shown,
        of_guests=[row for row in assessors if row.name in guests],
        plot=plots.groups(
            f"{track.slug}-kappa",
            f"{track.name}: mean kappa by assessor",
            [row.name for row in shown],
            [
                ("all grades", [_defined(row.kappa) for row in shown]),
                ("two-way", [_defined(row.two_way) for row in shown]),
            ][: 1 if scale.is_nominal else 2],
            across="Assessor",
            up="Kappa",
        ),
        topics=sorted(topics, key=lambda row: natural(row.topic)),
        preferences=preferences_of(track, of_round),
        machines=[] if of_round.batch_id is not None or scale.key else comparisons(track),
    )


def _main(alphas: list[report.Value]) -> report.Value | None:
    return next((alpha for alpha in alphas if alpha.name == "ordinal"), next(iter(alphas), None))


def _alpha_of(columns: report.Graded, scale: Scale) -> report.Value | None:
    alphas = report.alphas(columns, scale.level)
    return _main([alpha for alpha in alphas if not (scale.is_nominal and report.needs_order(alpha.name))])


def chance_remark(track: Track) -> str:
    """A sentence if the grades of the main batches and second judgments agree no better than chance can; else empty."""
    scale = scales_of(track.protocol.parsed)[0]
    alpha = _alpha_of(graded(track, main_round(), scale), scale)
    if alpha is None or not alpha.may_be_chance:
        return ""
    low, high = alpha.interval
    numbers = f"alpha {alpha.value:.3f}, 95 %: {low:.3f} to {high:.3f}"
    return f"The agreement of assessors may be no better than chance ({numbers})."


def remarks(track: Track) -> Iterator[Check]:
    """Yield what a reader of the qrels will ask about the agreement: it is unknown, or may be chance."""
    dual = Judgment.objects.filter(track=track, batch__kind=Batch.Kind.DUAL, is_current=True)
    if track.protocol.parsed.judging.has_dual and not dual.exists():
        detail = "The protocol states second judgments. The agreement of the assessors stays unknown."
        yield Check("look", "No unit was judged twice", detail)
    if text := chance_remark(track):
        address = reverse("assessment:disagreements", args=[track.slug])
        yield Check("look", text.removesuffix("."), "", address, "Disagreements")


def agreement_in_short(track: Track) -> dict[str, object]:
    """The agreement in main batches and second judgments, as qrels keep it. `alpha` is None without shared units."""
    scale = scales_of(track.protocol.parsed)[0]
    of_people = judgments_of(track, main_round()).order_by()
    columns = graded(track, main_round(), scale)
    alpha = _alpha_of(columns, scale)
    return {
        "assessors": of_people.aggregate(n=Count("assessor", distinct=True))["n"],
        "units": columns.n_shared_units,
        "measure": alpha.name if alpha else "",
        "alpha": _rounded(alpha.value) if alpha else None,
        "interval": [*map(_rounded, alpha.interval)] if alpha else [],
    }


def _rounded(number: float) -> float | None:
    return None if math.isnan(number) else round(number, 4)


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


@dataclass(frozen=True)
class DisagreementsPage:
    """One page of the disagreements of a round; `units` has those of the page with what organizers see of each."""

    track: Track
    rounds: list[Round]
    current: Round
    scales: list[Scale]
    scale: Scale
    difference: Difference
    rows: Page[Disagreement]
    units: list[tuple[Disagreement, ShownEntry]]
    documents: dict[str, ShownDocument]
    names: dict[str, str]  # of assessors, by username


def disagreements_page(
    track: Track, of_round: Round, difference: Difference, *, order: str = "topic", number: str | None
) -> DisagreementsPage:
    """One page of the disagreements, with the comments of the assessors."""
    rows = Paginator(disagreements(track, of_round, difference, order), PAGE).get_page(number)
    entries = _entries_of([unit.votes[0].judgment for unit in rows])
    units = list(zip(rows, entries, strict=True))
    documents = shown_documents(track.collection, [unit.docno for unit in rows])
    scales, scale = scales_of(track.protocol.parsed), scale_of(track.protocol.parsed, difference.scale)
    rounds = rounds_of(track)
    names = names_of_assessors(track)
    return DisagreementsPage(
        track, rounds, of_round, scales, scale, difference, rows, units, documents, names
    )


def _entries_of(judgments: list[int]) -> list[ShownEntry]:
    """The entry of each judgment. The number of queries depends on the number of pools only."""
    entry_of = dict(Judgment.objects.filter(pk__in=judgments).values_list("pk", "task__entry"))
    entries = PoolEntry.objects.filter(pk__in=entry_of.values()).select_related("topic", "document")
    shown: dict[int, ShownEntry] = {}
    pools = Pool.objects.filter(pk__in=entries.values("pool")).defer("statistics", "recount")
    for pool in pools.select_related("track__collection"):
        own = [entry for entry in entries if entry.pool_id == pool.pk]
        shown |= {item.entry.pk: item for item in shown_entries(pool, own)}
    return [shown[entry_of[pk]] for pk in judgments]
