"""Decide on candidates, settle disagreements, and make topics of the accepted ones.

A decision is appended. It locks the candidate, so two decisions at the same time wait for each other, and
each seat has at most one that is current, by a constraint.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from django.core.files import File
from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from accounts.audit import services as audit
from accounts.models import User
from assay.candidates.reader import Candidate as Row
from assay.candidates.topics import as_import, codes_from, topics_of
from assay.errors import InputError, Refused
from assay.formats.topics.reader import TopicRow
from assay.formats.topics.writer import as_xml
from tracks.choosing import selectors
from tracks.models import Candidate, CandidateDecision, CandidateSample, Seat, Topic, Track
from tracks.topics import services as topics
from tracks.topics.selectors import FORMULA_UNITS
from web.pages import counted

FORMULA_PREFIX = "q_"
SETTLED = gettext_noop("Candidate {docno} is settled. Settle it again to change what was decided.")


decision_refused = partial(
    Refused, code="decision-refused", title=gettext_noop("This decision was not saved")
)


@dataclass(frozen=True, slots=True)
class Made:
    """The topics that were made: their codes in order, and all of it in a sentence."""

    topics: list[str]
    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def n_topics(self) -> int:
        return len(self.topics)


@transaction.atomic
def decide(
    *,
    sample: CandidateSample,
    docno: str,
    is_accepted: bool,
    reason: str = "",
    labels: Mapping[str, str],
    by: User,
) -> CandidateDecision:
    """Store what one of the two people decides; it replaces their own earlier decision. Repeating it changes nothing.

    A person who changes a decision after they could see the other's may do so, but the decision says it.

    Raises:
        Refused: They are not one of the two people, the candidate is settled, a label or the reason is missing,
            or the seat's person before them has decided.
    """
    seat = selectors.seat_of(by, sample)
    if seat is None:
        refusal = gettext("You are not one of the two people who decide on {sample}.")
        raise decision_refused(refusal.format(sample=sample))
    candidate = _locked(sample, docno)
    values = _checked(sample, is_accepted, reason, labels)
    current = {row.seat: row for row in candidate.decisions.filter(is_current=True).select_related("by")}
    if Seat.SETTLEMENT in current:
        raise decision_refused(gettext(SETTLED).format(docno=docno))
    earlier = current.get(seat)
    if earlier and earlier.by_id != by.pk:
        refusal = gettext("{person} has decided on candidate {docno} in your place already.")
        raise decision_refused(refusal.format(person=earlier.by, docno=docno))
    if any(row.by_id == by.pk and row.seat != seat for row in current.values()):
        refusal = gettext("You have decided on candidate {docno} already, as the other person.")
        raise decision_refused(refusal.format(docno=docno))
    if earlier and (earlier.is_accepted, earlier.reason, earlier.labels) == values:
        return earlier
    return _append(candidate, seat, values, by)


def _locked(sample: CandidateSample, docno: str) -> Candidate:
    """The candidate of a sample, locked until the transaction ends."""
    if Track.objects.get(pk=sample.track_id).status != Track.Status.DRAFT:
        refusal = gettext("{track} is not a draft any more, so its topics are chosen.")
        raise decision_refused(refusal.format(track=sample.track))
    rows = Candidate.objects.select_for_update(no_key=True, of=("self",))
    candidate = rows.filter(track=sample.track_id, docno=docno, sampled__sample=sample).first()
    if candidate is None:
        raise decision_refused(
            gettext("Candidate {docno} is not in {sample}.").format(docno=docno, sample=sample)
        )
    return candidate


Values = tuple[bool, str, dict[str, str]]


def _checked(sample: CandidateSample, is_accepted: bool, reason: str, labels: Mapping[str, str]) -> Values:
    reason = reason.strip()
    if not is_accepted and not reason:
        raise decision_refused(gettext("Say why the candidate is rejected."))
    allowed: Mapping[str, list[str]] = sample.labels
    for name, value in labels.items():
        if name not in allowed or (value and value not in allowed[name]):
            accepted = ", ".join(allowed.get(name, allowed))
            refusal = gettext("{name} {value} is not a label of {sample}; use {accepted}.")
            raise decision_refused(
                refusal.format(
                    name=name, value=repr(value), sample=sample, accepted=accepted or gettext("none")
                )
            )
    given = {name: labels[name] for name in allowed if labels.get(name)}
    if is_accepted and (missing := [name for name in allowed if name not in given]):
        refusal = gettext("An accepted candidate needs each label; choose its {labels}.")
        raise decision_refused(refusal.format(labels=", ".join(missing)))
    return is_accepted, reason, given


def _append(candidate: Candidate, seat: int, values: Values, by: User) -> CandidateDecision:
    others = candidate.decisions.filter(is_current=True).exclude(seat__in=[seat, Seat.SETTLEMENT])
    is_of_two = seat != Seat.SETTLEMENT
    seen = {
        "is_second": is_of_two and others.exists(),
        "changed_after_seeing": is_of_two and selectors.has_seen_other(by, candidate),
    }
    candidate.decisions.filter(seat=seat, is_current=True).update(is_current=False)
    is_accepted, reason, labels = values
    given = {"is_accepted": is_accepted, "reason": reason, "labels": labels}
    return candidate.decisions.create(seat=seat, by=by, **given, **seen)


@transaction.atomic
def undo(*, sample: CandidateSample, by: User) -> CandidateDecision:
    """Take back the person's latest decision that counts. It stays on record.

    Raises:
        Refused: There is none, or it is settled.
    """
    last = selectors.last_decision(by, sample)
    if last is None:
        raise decision_refused(gettext("You have no decision in {sample} to undo.").format(sample=sample))
    candidate = _locked(sample, last.candidate.docno)
    if candidate.decisions.filter(is_current=True, seat=Seat.SETTLEMENT).exists():
        raise decision_refused(gettext(SETTLED).format(docno=candidate))
    candidate.decisions.filter(pk=last.pk, is_current=True).update(is_current=False)
    return last


@transaction.atomic
def settle(
    *,
    sample: CandidateSample,
    docno: str,
    is_accepted: bool,
    reason: str,
    labels: Mapping[str, str],
    by: User,
) -> CandidateDecision:
    """Settle a disagreement of the two people. A later settlement replaces an earlier one.

    Raises:
        Refused: Only one has decided, they agree, or the reason or a label is missing.
    """
    candidate = _locked(sample, docno)
    if not reason.strip():
        raise decision_refused(gettext("Say why it is settled like this."))
    values = _checked(sample, is_accepted, reason, labels)
    current = list(candidate.decisions.filter(is_current=True))
    if not selectors.may_be_settled(current):
        refusal = gettext(
            "Candidate {docno} needs no settlement: a decision is missing, or the two people agree."
        )
        raise decision_refused(refusal.format(docno=docno))
    settlement = _append(candidate, Seat.SETTLEMENT, values, by)
    details = {"candidate": docno, "accepted": is_accepted, "reason": values[1]}
    audit.record(action="candidate.settled", subject=sample, track=sample.track, details=details, by=by)
    return settlement


def _new_topics(sample: CandidateSample, first: str) -> list[TopicRow]:
    """The accepted candidates of which the track has no topic yet, as topics. Codes that it has are left out.

    Raises:
        Refused: The first code cannot be used.
    """
    existing = list(sample.track.topics.values_list("code", "thread"))
    codes, threads = {code for code, _ in existing}, {thread for _, thread in existing}
    chosen = [pair for pair in selectors.accepted_candidates(sample) if pair[0].docno not in threads]
    free = (code for code in _codes(first) if code not in codes)
    # The number after the largest one of the formulas of the track's topics
    numbers = [0]
    for title, body in sample.track.topics.values_list("title", "body"):
        for part in f"{title}{body}".split(f'data-formula-id="{FORMULA_PREFIX}')[1:]:
            number = part.partition('"')[0]
            numbers.append(int(number) if number.isdecimal() else 0)
    made = topics_of([_row(candidate) for candidate, _ in chosen], codes=free, formulas_from=max(numbers) + 1)
    allowed = sample.track.protocol.parsed.topics.labels
    labels = [{name: value for name, value in own.labels.items() if name in allowed} for _, own in chosen]
    return [replace(topic, labels=own) for topic, own in zip(made, labels, strict=True)]


def _codes(first: str) -> Iterator[str]:
    try:
        return codes_from(first)
    except InputError as error:
        raise decision_refused(str(error)) from None


def _row(candidate: Candidate) -> Row:
    return Row(id=candidate.docno, title=candidate.title, body=candidate.body, tags=tuple(candidate.tags))


def store(track: Track, rows: Sequence[TopicRow], name: str, record: Callable[[], None]) -> None:
    """Store topics with their threads, and record it."""

    def keep_threads(_: object) -> None:
        for row in rows:
            Topic.objects.filter(track=track, code=row.code).update(thread=row.thread)
        record()

    topics.import_topics(track=track, data=as_import(rows), name=name, on_stored=keep_threads)


def make_topics(*, sample: CandidateSample, first: str, by: User) -> Made:
    """Make topics of the accepted candidates, with their labels and threads.

    Raises:
        Refused: Nothing new is accepted, the first code cannot be used, or the protocol asks for formulas.
        Refused: The track is not a draft.
    """
    track = sample.track
    if track.protocol.parsed.unit in FORMULA_UNITS:
        raise decision_refused(
            f"{track.protocol.slug} asks for a formula in each topic. Make topics of questions in another track, and "
            "derive the topics of this one from them."
        )
    rows = _new_topics(sample, first)
    if not rows:
        raise decision_refused(
            f"No accepted candidate of {sample} is new: there is nothing to make topics of."
        )

    def record() -> None:
        details = {"topics": len(rows), "first": rows[0].code, "last": rows[-1].code}
        audit.record(action="topics.chosen", subject=sample, track=track, details=details, by=by)

    store(track, rows, f"sample-{sample.number}-{rows[0].code}.jsonl".replace("/", "-"), record)
    others = [name for name in sample.labels if name not in track.protocol.parsed.topics.labels]
    left_out = (
        f" {track.protocol.slug} has no label {', '.join(others)}; the candidates keep it." if others else ""
    )
    text = f"Made {counted(len(rows), 'topic')}, {rows[0].code} to {rows[-1].code}.{left_out}"
    return Made([row.code for row in rows], text)


def file_of(user: User, sample: CandidateSample, name: str, *, first: str) -> "str | bytes | File[bytes]":
    """A file of a sample; empty if there is none with the name, or nothing is in it.

    `topics.xml` has all accepted candidates as topics in the form in which ARQMath published its topics, with codes
    from `first` on. `assay candidates topics` makes the same bytes of the sample, the candidates and their decisions.

    Raises:
        Refused: The first code cannot be used.
    """
    if name != "topics.xml":
        return selectors.file_of(user, sample, name)
    rows = [_row(candidate) for candidate, _ in selectors.accepted_candidates(sample)]
    return as_xml(topics_of(rows, codes=_codes(first)))
