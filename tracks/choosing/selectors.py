"""Decisions of two people on the candidates of a sample. Each sees the other's decision only after their own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.core.files import File
from django.db.models import Count, Exists, OuterRef, Prefetch
from django.utils.translation import gettext_noop

from accounts.models import User
from assay.candidates.samples import Settings, conditions_text, read_record
from assay.formats.spreadsheet import as_csv
from tracks.candidates.selectors import Outcome, Shown, disagree, label_file, outcome_of, shown
from tracks.models import (
    Candidate,
    CandidateDecision,
    CandidateFile,
    CandidateSample,
    SampledCandidate,
    Seat,
    Track,
)

KEYS = "123456789wetyopfghjkbm"  # of the values of labels; a, r, u, c and ? are those of actions
MOST_REASONS = 20


class Value(NamedTuple):
    """A value of a label, with its key."""

    value: str
    key: str
    is_chosen: bool


class Label(NamedTuple):
    """A label to give: the values that it may have."""

    name: str
    values: list[Value]


class Entered(NamedTuple):
    """The values in the form: a choice, or none yet, and the reason."""

    choice: str = ""
    reason: str = ""

    @classmethod
    def of(cls, decision: CandidateDecision | None) -> "Entered":
        return cls(decision.choice, decision.reason) if decision else cls()


class Bar(NamedTuple):
    """The progress of a quota. `n_open` candidates of the stratum may still be accepted."""

    conditions: str
    quota: int
    n_accepted: int
    n_open: int

    @property
    def is_short(self) -> bool:
        """Return whether the quota cannot be reached any more."""
        return self.n_accepted + self.n_open < self.quota


class Row(NamedTuple):
    """A candidate of a sample, with the decisions that the reader may see."""

    place: SampledCandidate
    first: CandidateDecision | None
    second: CandidateDecision | None
    settlement: CandidateDecision | None
    outcome: Outcome | None
    is_disagreement: bool
    topic: str


@dataclass(frozen=True)
class SamplePage:
    track: Track
    sample: CandidateSample
    settings: Settings
    people: list[User]
    seat: int | None
    bars: list[Bar]
    rows: list[Row]
    n_rows: int
    show: str
    shows: tuple[str, ...]
    n_disagreements: int
    n_accepted: int
    n_new: int
    done: list[tuple[User, int]]
    may_decide: bool


@dataclass(frozen=True)
class DecidePage:
    """`chosen` is the latest decision of the person on the candidate; `other` is shown only after their own.

    `has_seen_other`: a new decision is one that was changed after seeing the other's.
    """

    track: Track
    sample: CandidateSample
    shown: Shown | None
    ahead: Shown | None
    labels: list[Label]
    entered: Entered
    chosen: CandidateDecision | None
    is_decided: bool
    other: CandidateDecision | None
    last: CandidateDecision | None
    last_other: CandidateDecision | None
    is_disagreement: bool
    reasons: list[str]
    has_seen_other: bool
    n_done: int
    n_rows: int
    bars: list[Bar]


@dataclass(frozen=True)
class SettlePage:
    track: Track
    sample: CandidateSample
    shown: Shown
    decisions: list[CandidateDecision]
    labels: list[Label]
    entered: Entered
    settlement: CandidateDecision | None


def seat_of(user: User, sample: CandidateSample) -> int | None:
    """The seat of a person in a sample; None if they do not decide on it."""
    return sample.choosers.filter(user=user).values_list("seat", flat=True).first()


def _current() -> Prefetch[Any]:
    decisions = CandidateDecision.objects.filter(is_current=True).select_related("by")
    return Prefetch("candidate__decisions", decisions, to_attr="current_decisions")


def _places(sample: CandidateSample) -> list[SampledCandidate]:
    places = sample.rows.select_related("candidate").defer("candidate__body", "candidate__text")
    return list(places.prefetch_related(_current()))


def sample_page(user: User, sample: CandidateSample, *, show: str) -> SamplePage:
    """The candidates of a sample with their decisions, and how far its quotas are."""
    track, seat = sample.track, seat_of(user, sample)
    settings = read_record(sample.content.encode(), "sample").settings
    topics = dict(track.topics.exclude(thread="").values_list("thread", "code"))
    places = _places(sample)
    rows = [_row(place, seat, topics) for place in places]
    people = [chooser.user for chooser in sample.choosers.select_related("user")]
    accepted_rows = [row for row in rows if row.outcome and row.outcome.is_accepted]
    rows_by_choice = {
        gettext_noop("all"): rows,
        gettext_noop("open"): [row for row in rows if row.outcome is None and not row.is_disagreement],
        gettext_noop("disagreements"): [row for row in rows if row.is_disagreement],
        gettext_noop("accepted"): accepted_rows,
        gettext_noop("rejected"): [row for row in rows if row.outcome and not row.outcome.is_accepted],
    }
    show = show if show in rows_by_choice else "all"
    seats = [decision.seat for place in places for decision in place.candidate.current_decisions]  # type: ignore[attr-defined]
    return SamplePage(
        track=track,
        sample=sample,
        settings=settings,
        people=people,
        seat=seat,
        bars=quota_bars(settings, rows),
        rows=rows_by_choice[show],
        n_rows=len(rows),
        show=show,
        shows=tuple(rows_by_choice),
        n_disagreements=len(rows_by_choice["disagreements"]),
        n_accepted=len(accepted_rows),
        n_new=sum(not row.topic for row in accepted_rows),
        done=[(person, seats.count(number)) for number, person in enumerate(people, 1)],
        may_decide=seat is not None and track.status == Track.Status.DRAFT,
    )


def _row(place: SampledCandidate, seat: int | None, topics: Mapping[str, str]) -> Row:
    """The row of a candidate. Other decisions are hidden from a person until their own."""
    decisions: list[CandidateDecision] = place.candidate.current_decisions  # type: ignore[attr-defined]
    by_seat = {decision.seat: decision for decision in decisions}
    outcome = outcome_of(decisions)
    first, second = by_seat.get(Seat.FIRST), by_seat.get(Seat.SECOND)
    is_open = first is not None and second is not None and outcome is None
    may_see = seat is None or seat in by_seat
    return Row(
        place=place,
        first=first if may_see else None,
        second=second if may_see else None,
        settlement=by_seat.get(Seat.SETTLEMENT) if may_see else None,
        outcome=outcome if may_see else None,
        is_disagreement=is_open and may_see,
        topic=topics.get(place.candidate.docno, ""),
    )


def quota_bars(settings: Settings, rows: Iterable[Row]) -> list[Bar]:
    counts = [[0, 0] for _ in settings.strata]
    for row in rows:
        number = row.place.stratum - 1
        if row.outcome is None:
            counts[number][1] += 1
        elif row.outcome.is_accepted:
            counts[number][0] += 1
    return [
        Bar(conditions_text(stratum.where) or gettext_noop("all others"), stratum.quota, n_accepted, n_open)
        for stratum, (n_accepted, n_open) in zip(settings.strata, counts, strict=True)
    ]


def next_places(sample: CandidateSample, seat: int, n: int = 2) -> list[SampledCandidate]:
    """The next undecided candidates of a seat, in the order of the sample."""
    decided = CandidateDecision.objects.filter(
        candidate=OuterRef("candidate"), is_current=True, seat__in=[seat, Seat.SETTLEMENT]
    )
    places = sample.rows.filter(~Exists(decided)).select_related("candidate__track__collection")
    return list(places.order_by("position")[:n])


def decide_page(user: User, sample: CandidateSample, seat: int, *, docno: str = "") -> DecidePage:
    """The next candidate of a person, or the one with a docno, and the one after it to be typeset ahead."""
    places = next_places(sample, seat)
    if docno:
        asked = sample.rows.select_related("candidate__track__collection").filter(candidate__docno=docno)
        places = [*asked, *(place for place in places if place.candidate.docno != docno)]
    candidates = [place.candidate for place in places]
    settings = read_record(sample.content.encode(), "sample").settings
    rows = [_row(place, seat, {}) for place in _places(sample)]
    decided = [row.place.candidate.current_decisions for row in rows]  # type: ignore[attr-defined]
    current = candidates[0] if candidates else None
    # The latest decision of the person on the candidate, also one that they have undone
    own = current.decisions.filter(by=user).exclude(seat=Seat.SETTLEMENT) if current else None
    chosen = None if own is None else own.order_by("-pk").first()
    is_decided = bool(chosen and chosen.is_current)
    last = last_decision(user, sample)
    last_other = _decision_of_other(last.candidate, seat) if last else None
    # The reasons that a person gave before, the most frequent first
    with_reason = CandidateDecision.objects.filter(by=user, candidate__sampled__sample=sample)
    counted = with_reason.exclude(reason="").order_by().values_list("reason").annotate(n=Count("pk"))
    return DecidePage(
        track=sample.track,
        sample=sample,
        shown=shown(current) if current else None,
        ahead=shown(candidates[1]) if len(candidates) > 1 else None,
        labels=labels_of(sample, chosen.labels if chosen else {}),
        entered=Entered.of(chosen),
        chosen=chosen,
        is_decided=is_decided,
        other=_decision_of_other(current, seat) if current and is_decided else None,
        last=last,
        last_other=last_other,
        is_disagreement=bool(last and last_other and disagree(last, last_other)),
        reasons=[reason for reason, _ in counted.order_by("-n", "reason")[:MOST_REASONS]],
        has_seen_other=bool(chosen and current and has_seen_other(user, current)),
        n_done=sum(any(decision.seat == seat for decision in decisions) for decisions in decided),
        n_rows=len(rows),
        bars=quota_bars(settings, rows),
    )


def labels_of(sample: CandidateSample, chosen: Mapping[str, str]) -> list[Label]:
    """The labels to give, with a key for each value while there are keys."""
    keys = iter(KEYS)
    return [
        Label(name, [Value(value, next(keys, ""), chosen.get(name) == value) for value in values])
        for name, values in sample.labels.items()
    ]


def last_decision(user: User, sample: CandidateSample) -> CandidateDecision | None:
    """The latest decision of a person in a sample, which can be undone unless it is settled."""
    own = CandidateDecision.objects.filter(by=user, is_current=True, candidate__sampled__sample=sample)
    return own.exclude(seat=Seat.SETTLEMENT).select_related("candidate").order_by("-pk").first()


def _decision_of_other(candidate: Candidate, seat: int) -> CandidateDecision | None:
    decisions = candidate.decisions.filter(is_current=True).exclude(seat__in=[seat, Seat.SETTLEMENT])
    return decisions.select_related("by").first()


def has_seen_other(user: User, candidate: Candidate) -> bool:
    """Return whether a person could see the other's decision: both had decided at the same time. One query."""
    decisions = list(candidate.decisions.exclude(seat=Seat.SETTLEMENT).order_by("pk"))
    own = [decision for decision in decisions if decision.by_id == user.pk]
    first = own[0].pk if own else None
    later = (decision for decision in decisions if first is not None and decision.pk > first)
    return any(decision.is_second for decision in own) or any(decision.is_second for decision in later)


def may_be_settled(decisions: Iterable[CandidateDecision]) -> bool:
    """Return whether two people differ on a candidate by their current decisions."""
    by_seat = {decision.seat: decision for decision in decisions}
    first, second = by_seat.get(Seat.FIRST), by_seat.get(Seat.SECOND)
    return first is not None and second is not None and disagree(first, second)


def settle_page(sample: CandidateSample, candidate: Candidate) -> SettlePage:
    """Both decisions on a candidate, and the labels on which they agree."""
    decisions = list(candidate.decisions.filter(is_current=True).select_related("by").order_by("seat"))
    settlement = next((decision for decision in decisions if decision.seat == Seat.SETTLEMENT), None)
    both = [decision for decision in decisions if decision.seat != Seat.SETTLEMENT]
    agreed = set.intersection(*(set(decision.labels.items()) for decision in both)) if both else set()
    chosen = settlement.labels if settlement else dict(agreed)
    return SettlePage(
        track=sample.track,
        sample=sample,
        shown=shown(candidate),
        decisions=both,
        labels=labels_of(sample, chosen),
        entered=Entered.of(settlement),
        settlement=settlement,
    )


def accepted_candidates(sample: CandidateSample) -> list[tuple[Candidate, Outcome]]:
    """The accepted candidates of a sample with their texts, in its order."""
    places = sample.rows.select_related("candidate").prefetch_related(_current())
    decided = ((place.candidate, outcome_of(place.candidate.current_decisions)) for place in places)  # type: ignore[attr-defined]
    return [(candidate, outcome) for candidate, outcome in decided if outcome and outcome.is_accepted]


def decisions_csv(user: User, sample: CandidateSample) -> str:
    """Every decision on the candidates of a sample, also those that do not count any more, in the order of time.

    Of the others' decisions, a person of the sample gets those on candidates on which they have decided.
    """
    seat = seat_of(user, sample)
    decisions = CandidateDecision.objects.filter(candidate__sampled__sample=sample).select_related(
        "candidate", "by"
    )
    rows = list(decisions.order_by("pk"))
    own = {row.candidate_id for row in rows if row.is_current and row.seat == seat}
    names = list(sample.labels)
    header = ["candidate", "seat", "person", "decision", "reason", *names]
    header += ["changed_after_seeing", "is_current", "time"]
    return as_csv(
        header,
        [
            [
                *(row.candidate.docno, row.get_seat_display(), row.by.username, row.choice, row.reason),
                *(row.labels.get(name, "") for name in names),
                *(row.changed_after_seeing, row.is_current, row.created_at.isoformat()),
            ]
            for row in rows
            if seat is None or row.by_id == user.pk or row.candidate_id in own
        ],
    )


def file_of(user: User, sample: CandidateSample, name: str) -> "str | bytes | File[bytes]":
    """A file of a sample but its topics; empty if there is none with the name, or nothing is in it.

    `sample.json` and `labels.csv` are what the command draws the sample from again. `decided.csv` has the outcomes, as
    labels of candidates, and `decisions.csv` each decision.
    """
    if name == "candidates.jsonl":
        file = CandidateFile.objects.filter(track=sample.track).exclude(file="").first()
        return file.file.open("rb") if file else ""
    if name == "sample.json":
        return sample.content
    if name == "labels.csv":
        return sample.label_file
    if name == "decided.csv":
        return label_file(sample.track, sample.rows.values_list("candidate__docno", flat=True))
    return decisions_csv(user, sample) if name == "decisions.csv" else ""
