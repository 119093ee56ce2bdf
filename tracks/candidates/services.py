"""Draw samples of candidates, and name the two people who decide on them."""

from collections.abc import Mapping, Sequence
from datetime import UTC
from functools import partial

from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.candidates.reader import Candidate as Row
from assay.candidates.samples import Settings, as_record, draw
from assay.digests import sha256_of
from assay.errors import Refused
from assay.formats.topics.reader import read_labels
from tracks.candidates.selectors import label_file, people_who_may_choose
from tracks.models import Candidate, CandidateFile, CandidateSample, SampledCandidate, Seat, Track
from tracks.tracks import services as track_services

NAMES = (
    "docno",
    "date",
    "tags",
    "score",
    "answers",
    "formulas",
    "duplicates",
    "related",
    "reputation",
    "length",
)


sample_refused = partial(Refused, code="sample-refused", title="This sample cannot be drawn")


def rows_for(track: Track, *, has_text: bool) -> list[Row]:
    """The candidates of a track as the library reads them, without the texts that conditions do not need."""
    names = (*NAMES, "text") if has_text else NAMES
    rows = Candidate.objects.filter(track=track).order_by("pk").values_list(*names)
    return [
        Row(
            id=docno,
            date=date.astimezone(UTC).isoformat() if date else "",
            tags=tuple(tags),
            score=score,
            answers=answers,
            formulas=formulas,
            duplicates=tuple(duplicates),
            related=tuple(related),
            reputation=reputation,
            length=length,
            text=text[0] if text else "",
        )
        for docno, date, tags, score, answers, formulas, duplicates, related, reputation, length, *text in rows
    ]


def draw_sample(
    *,
    track: Track,
    settings: Settings,
    labels: Mapping[str, Sequence[str]],
    people: Sequence[User],
    by: User,
) -> CandidateSample:
    """Draw a sample with the library, whose file the command makes again to the byte.

    `labels` are those that the `people` give, with their values. Quotas by labels or decisions are drawn by those that
    the candidates have now.

    Raises:
        Refused: The candidates do not suffice for a quota.
        Refused: There are no candidates, the track is not a draft, its protocol has other values for a label, or
            somebody cannot be one of the two people.
    """
    _check_labels(track, labels)
    with transaction.atomic():
        current = track_services.lock(track.pk)
        file = CandidateFile.objects.filter(track=current).first()
        if file is None or current.status != Track.Status.DRAFT:
            reason = "has no candidates yet" if file is None else f"is {current.get_status_display()}"
            raise sample_refused(f"{current} {reason}, so no sample can be drawn.")
        text = label_file(current) if settings.needs_labels else ""
        given = read_labels(text.encode(), "labels.csv") if text.count("\n") > 1 else {}
        sample = draw(rows_for(current, has_text=settings.needs_text), settings, given)
        labels_sha256 = sha256_of(text.encode()) if text else ""
        content = as_record(sample, sha256=file.sha256, labels_sha256=labels_sha256)
        number = (current.candidate_samples.values_list("number", flat=True).first() or 0) + 1
        stored = CandidateSample.objects.create(
            track=current,
            number=number,
            content=content.decode(),
            label_file=text,
            label_words=[[name, list(values)] for name, values in labels.items()],
            created_by=by,
        )
        ids = dict(
            Candidate.objects.filter(
                track=stored.track, docno__in=[row.id for row in sample.rows]
            ).values_list("docno", "pk")
        )
        SampledCandidate.objects.bulk_create(
            SampledCandidate(sample=stored, candidate_id=ids[row.id], position=position, stratum=row.stratum)
            for position, row in enumerate(sample.rows, 1)
        )
        _name(stored, people)
        details = {"number": number, "candidates": len(sample.rows), "sha256": stored.sha256}
        audit.record(action="candidates.drawn", subject=stored, track=current, details=details, by=by)
    return stored


def _check_labels(track: Track, labels: Mapping[str, Sequence[str]]) -> None:
    """Refuse what could not become a label of a topic. A label that the protocol does not name stays private."""
    allowed = track.protocol.parsed.topics.labels
    for name, values in labels.items():
        wrong = [value for value in values if value not in allowed.get(name, ())]
        if allowed.get(name) and wrong:
            raise sample_refused(
                f"{track.protocol.slug} has no {name} {wrong[0]!r}; use {', '.join(allowed[name])}, or another name."
            )


def _name(sample: CandidateSample, people: Sequence[User]) -> None:
    if len(people) != 2 or people[0] == people[1]:
        raise sample_refused("Name two different people: each decides without seeing the other’s decision.")
    allowed = {user.pk for user in people_who_may_choose(sample.track)}
    for user in people:
        if user.pk not in allowed:
            raise sample_refused(
                f"{user} cannot choose topics of {sample.track}: organizers and its assessors can."
            )
    sample.choosers.all().delete()
    for seat, user in zip((Seat.FIRST, Seat.SECOND), people, strict=True):
        sample.choosers.create(user=user, seat=seat)


@transaction.atomic
def name_people(*, sample: CandidateSample, people: Sequence[User], by: User) -> CandidateSample:
    """Let these two people decide on a sample. The second one goes on where the second one before stopped.

    Raises:
        Refused: They are the same, or one of them is neither an organizer nor an assessor of the track.
    """
    current = (
        CandidateSample.objects.select_for_update(of=("self",)).select_related("track").get(pk=sample.pk)
    )
    _name(current, people)
    details = {"people": [user.username for user in people]}
    audit.record(action="choosers.named", subject=current, track=current.track, details=details, by=by)
    return current
