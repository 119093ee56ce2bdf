"""Candidates of a track, and what pages show of them. Only organizers see all; the people of a sample see its own."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual
from django.shortcuts import get_object_or_404
from django.utils.safestring import SafeString

from accounts.access import AnyUser
from accounts.models import User
from assay import plots
from assay.candidates.conditions import LINKED, LISTS, NUMBERS, Condition
from assay.candidates.distributions import SHOWN_TAGS, bins
from assay.formats.spreadsheet import as_csv
from corpus.threads.selectors import addresses, resolve_links, safe_html
from jobs.models import Job
from tracks.models import (
    Candidate,
    CandidateChooser,
    CandidateDecision,
    CandidateFile,
    CandidateSample,
    Seat,
    Track,
)

PAGE_SIZE = 50
SORTED = ("docno", "date", *NUMBERS)
PLOTTED = (*NUMBERS, "date", "tags")
DECISION = "decision"  # the name of the label that says what was decided
ARQMATH_LABELS: Mapping[str, tuple[str, ...]] = {
    "category": ("computation", "concept", "proof"),
    "difficulty": ("easy", "medium", "hard"),
    "dependence": ("text", "formula", "both"),
    "complexity": ("low", "medium", "high"),
}


class Column(NamedTuple):
    """A column of the table: the address that sorts by it, and how it is sorted now."""

    label: str
    sort: str
    direction: str


@dataclass(frozen=True)
class CandidatesPage:
    """`conditions` are those of the filters as they are written; `facts` are the numbers of the plot as a table."""

    track: Track
    file: CandidateFile | None
    job: Job | None
    n: int
    rows: Page[Candidate]
    columns: list[Column]
    conditions: str
    plot: plots.Plot | None
    plotted: str
    plottable: tuple[str, ...]
    facts: list[tuple[str, int]]
    samples: list[CandidateSample]


class Shown(NamedTuple):
    """A candidate as HTML, with links to those of its duplicates and related posts that the reader may read."""

    candidate: Candidate
    title: SafeString
    body: SafeString
    duplicates: list[tuple[str, str]]
    related: list[tuple[str, str]]


@dataclass(frozen=True)
class CandidatePage:
    track: Track
    shown: Shown
    samples: list[CandidateSample]


def column_of(name: str) -> str:
    """The column of a field of the library."""
    return f"n_{name}" if name in LISTS else name


def meeting(candidates: QuerySet[Candidate], conditions: Iterable[Condition]) -> QuerySet[Candidate]:
    """The candidates that meet all conditions on fields; the same ones as for `assay.candidates.conditions`."""
    for condition in conditions:
        candidates = candidates.filter(_filter_for(condition))
    return candidates


def _filter_for(condition: Condition) -> Q:
    if condition.name == "text":
        words = Q()
        for word in condition.values:
            words &= Q(text__contains=word)
        return words
    if condition.name == "tags":
        return Q(tags__overlap=list(condition.values))
    low, high, column = condition.low, condition.high, column_of(condition.name)
    if condition.name == "date":
        low = _midnight(low) if low else None
        high = _midnight(high) + (timedelta(days=1) - timedelta(microseconds=1)) if high else None
    if condition.name == LINKED:
        total = F("n_duplicates") + F("n_related")
        met = Q(GreaterThanOrEqual(total, low or 0))
        return met & Q(LessThanOrEqual(total, high)) if high is not None else met
    met = Q(**{f"{column}__gte": low}) if low is not None else Q(**{f"{column}__isnull": False})
    return met & Q(**{f"{column}__lte": high}) if high is not None else met


def _midnight(day: Any) -> Any:
    return datetime.combine(date.fromisoformat(day), datetime.min.time(), UTC)


def candidates_page(
    track: Track, conditions: Sequence[Condition], *, sort: str, plotted: str, page: str | None
) -> CandidatesPage:
    """The table of the candidates that meet the conditions, and the plot of one of their fields. Ten queries."""
    candidates = meeting(track.candidates.all(), conditions)
    sort = sort if sort.removeprefix("-") in SORTED else "docno"
    name = sort.removeprefix("-")
    order = F(column_of(name)).desc(nulls_last=True) if sort.startswith("-") else F(column_of(name)).asc()
    rows = Paginator(candidates.defer("body", "text").order_by(order, "docno"), PAGE_SIZE).get_page(page)
    plotted = plotted if plotted in PLOTTED else "score"
    facts = distribution(candidates, plotted)
    plot = plots.bars(
        f"candidates-{plotted}",
        f"Candidates by {plotted}",
        facts,
        up="Candidates",
        across=plotted.capitalize(),
        digits=0,
    )
    jobs = Job.objects.filter(kind="tracks.candidates.import", arguments__track_id=track.pk)
    return CandidatesPage(
        track=track,
        file=CandidateFile.objects.filter(track=track).first(),
        job=jobs.exclude(state=Job.State.DONE).order_by("-pk").first(),
        n=rows.paginator.count,
        rows=rows,
        columns=[_column(key, sort) for key in SORTED],
        conditions=", ".join(map(str, conditions)),
        plot=plot if any(n for _, n in facts) else None,
        plotted=plotted,
        plottable=PLOTTED,
        facts=facts,
        samples=list(track.candidate_samples.annotate(n_rows=Count("rows")).order_by("-number")),
    )


def _column(name: str, sort: str) -> Column:
    direction = {name: "ascending", f"-{name}": "descending"}.get(sort, "")
    first = name if name in {"docno", "date"} else f"-{name}"
    other = name if first.startswith("-") else f"-{name}"
    return Column("id" if name == "docno" else name, other if sort == first else first, direction)


def distribution(candidates: QuerySet[Candidate], name: str) -> list[tuple[str, int]]:
    """The number of candidates in each range of a number, in each month, or with each of the most frequent tags."""
    if name == "date":
        months = (
            candidates.exclude(date=None)
            .values_list("date__year", "date__month")
            .order_by("date__year", "date__month")
        )
        return [(f"{year}-{month:02}", n) for year, month, n in months.annotate(n=Count("pk"))]
    if name == "tags":
        tags = Counter(tag for tags in candidates.values_list("tags", flat=True) for tag in tags)
        return sorted(tags.items(), key=lambda item: (-item[1], item[0]))[:SHOWN_TAGS]
    counted = candidates.order_by().values_list(column_of(name)).annotate(n=Count("pk"))
    numbers = dict(counted)
    ranges = [(0, 0)] if not numbers else bins(max(numbers))
    below = [("below 0", sum(n for value, n in numbers.items() if value < 0))]
    return (below if below[0][1] else []) + [
        (
            _range(low, high),
            sum(n for value, n in numbers.items() if low <= value and (high is None or value <= high)),
        )
        for low, high in ranges
    ]


def _range(low: int, high: int | None) -> str:
    if high is None:
        return f"{low:,} or more"
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def shown(candidate: Candidate) -> Shown:
    """A candidate as HTML. Its links and duplicates lead into the collection of the track. Three queries."""
    collection = candidate.track.collection
    collections = [collection] if collection else []
    [body] = resolve_links([candidate.body], collections)
    linked = [*candidate.duplicates, *candidate.related]
    known = addresses(collection, linked) if collection and linked else {}
    pairs = [(docno, known.get(docno, "")) for docno in linked]
    n = len(candidate.duplicates)
    return Shown(candidate, safe_html(candidate.title), body, pairs[:n], pairs[n:])


def candidate_page(track: Track, candidate: Candidate) -> CandidatePage:
    samples = track.candidate_samples.filter(rows__candidate=candidate).order_by("number")
    return CandidatePage(track, shown(candidate), list(samples))


def samples_for(user: AnyUser) -> QuerySet[CandidateSample]:
    """The samples that a user may see: organizers all, others those that they decide on, until the track is opened."""
    samples = CandidateSample.objects.select_related("track__protocol", "track__collection")
    if not isinstance(user, User) or not user.is_active:
        return samples.none()
    chosen = CandidateChooser.objects.filter(user=user, sample__track__status=Track.Status.DRAFT)
    return samples.filter(Q(pk__in=chosen.values("sample")) | Q(track__in=[*user.roles]))


def sample_or_404(user: AnyUser, slug: str, number: int) -> CandidateSample:
    """The sample with a number of a track.

    Raises:
        Http404: There is none that the user may see.
    """
    return get_object_or_404(samples_for(user), track__slug=slug, number=number)


def samples_of(user: User) -> QuerySet[CandidateSample]:
    """The samples of drafts on which a person decides."""
    return samples_for(user).filter(choosers__user=user, track__status=Track.Status.DRAFT).order_by("-pk")


def people_who_may_choose(track: Track) -> QuerySet[User]:
    """Organizers, and the people who judge for the track. No member of a team is among the latter."""
    judges = track.assessors.filter(user=OuterRef("pk"), machine=None, ended_at=None)
    organizers = track.organizers.filter(user=OuterRef("pk"), is_chair=False)
    return User.objects.filter(Exists(organizers) | Exists(judges), is_active=True).order_by("username")


def label_words(track: Track) -> Mapping[str, Sequence[str]]:
    """The labels that people give: those of the protocol that have values, or else ARQMath's."""
    own = {name: values for name, values in track.protocol.parsed.topics.labels.items() if values}
    return own or ARQMATH_LABELS


class Outcome(NamedTuple):
    """The decision on a candidate: by two people who agree, or by the settlement."""

    is_accepted: bool
    labels: Mapping[str, str]
    is_settled: bool


def outcome_of(decisions: Iterable[CandidateDecision]) -> Outcome | None:
    """The outcome of the current decisions on a candidate; None if one is missing, or they are not settled."""
    by_seat = {decision.seat: decision for decision in decisions if decision.is_current}
    if settled := by_seat.get(Seat.SETTLEMENT):
        return Outcome(settled.is_accepted, settled.labels, True)
    first, second = by_seat.get(Seat.FIRST), by_seat.get(Seat.SECOND)
    if first is None or second is None or disagree(first, second):
        return None
    return Outcome(first.is_accepted, first.labels, False)


def disagree(first: CandidateDecision, second: CandidateDecision) -> bool:
    """Return whether two people differ: one accepts, or both do with different labels."""
    if first.is_accepted != second.is_accepted:
        return True
    return first.is_accepted and first.labels != second.labels


def outcomes(track: Track, docnos: Iterable[str] | None = None) -> dict[str, Outcome]:
    """The outcomes of the candidates that have one, by docno. One query."""
    decisions = CandidateDecision.objects.filter(candidate__track=track, is_current=True)
    if docnos is not None:
        decisions = decisions.filter(candidate__docno__in=docnos)
    grouped: dict[str, list[CandidateDecision]] = {}
    for decision in decisions.select_related("candidate").defer("candidate__body", "candidate__text"):
        grouped.setdefault(decision.candidate.docno, []).append(decision)
    decided = {docno: outcome_of(own) for docno, own in grouped.items()}
    return {docno: outcome for docno, outcome in sorted(decided.items()) if outcome is not None}


def label_file(track: Track, docnos: Iterable[str] | None = None) -> str:
    """The labels and decisions of the candidates on which two people agree, as CSV that `assay candidates` reads."""
    decided = outcomes(track, docnos)
    names = list(dict.fromkeys(name for outcome in decided.values() for name in outcome.labels))
    rows = [
        [
            docno,
            "accepted" if decision.is_accepted else "rejected",
            *(decision.labels.get(name, "") for name in names),
        ]
        for docno, decision in decided.items()
    ]
    return as_csv(["id", DECISION, *names], rows)
