"""Change tracks. Page, admin and command call these functions."""

from collections.abc import Callable, Collection
from functools import partial

from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts.audit import services as audit
from accounts.models import Role, User
from assay.errors import Refused
from jobs.files.deletion import check_unused, delete_unused, parts_in_words
from tracks import deadline_acceptance
from tracks.models import Deadline, Organizer, Track
from web import times
from web.pages import counted

PARTS = frozenset({  # what only describes a draft: it is deleted with it
    "metaevaluation.JudgeCall",
    "participation.Announcement", "participation.AnnouncementMail", "participation.EndedMembership",
    "participation.Invitation", "participation.InvitationUse", "participation.JoinRequest",
    "participation.Membership", "participation.Team",
    "tracks.Assessor", "tracks.Candidate", "tracks.CandidateChooser",
    "tracks.CandidateFile", "tracks.CandidateSample", "tracks.Deadline",
    "tracks.Delivery", "tracks.Download", "tracks.Fetch", "tracks.GuidelinesDraft",
    "tracks.LeakCheck", "tracks.Machine",
    "tracks.Milestone", "tracks.Organizer", "tracks.Row", "tracks.SampledCandidate", "tracks.Topic",
    "tracks.TopicCorrection", "tracks.TopicImport", "tracks.Webhook",
})  # fmt: skip
FIXED_ONCE_OPENED = {"slug", "protocol", "collection"}  # runs are checked against these fields

# The state of the track does not allow the change.
track_refused = partial(Refused, code="track-refused")

OpeningCheck = Callable[..., None]  # (track): refuses to open it for runs
_opening_checks: list[OpeningCheck] = []


def checks_opening(check_with: OpeningCheck) -> OpeningCheck:
    """Register a function that refuses to open a track for a reason of an app above this one."""
    _opening_checks.append(check_with)
    return check_with


DraftCheck = Callable[..., None]  # (track): refuses to make an opened track a draft again
_draft_checks: list[DraftCheck] = []


def checks_draft(check_with: DraftCheck) -> DraftCheck:
    """Register a function of an app above this one that refuses to make an opened track a draft again."""
    _draft_checks.append(check_with)
    return check_with


CollectionCheck = Callable[..., None]  # (track): refuses to give an opened track its first collection
_collection_checks: list[CollectionCheck] = []


def checks_collection(check_with: CollectionCheck) -> CollectionCheck:
    """Register a function of an app above this one that refuses to choose the collection of an opened track."""
    _collection_checks.append(check_with)
    return check_with


def fixed_fields(track: Track) -> set[str]:
    """The fields that cannot change any more.

    An opened track without a collection can still get one: no run was checked against another one.
    """
    if track.status == Track.Status.DRAFT:
        return set()
    return FIXED_ONCE_OPENED - ({"collection"} if _lacks_collection(track) else set())


def _lacks_collection(track: Track) -> bool:
    """Return whether a track has no collection, and no app above this one refuses to choose one."""
    if track.collection_id is not None:
        return False
    try:
        for check_with in _collection_checks:
            check_with(track=track)
    except Refused:
        return False
    return True


def lock(track_id: int) -> Track:
    """The track with its protocol, locked until the transaction ends. Other rows may still refer to it.

    Take this lock to open or close the track, to accept or withdraw a run, to create a pool, or to number qrels. A
    track whose opening or closing time has come is opened or closed first, so its status is that of this instant.
    """
    has_deadlines = Exists(Deadline.objects.filter(track=OuterRef("pk")))
    tracks = Track.objects.select_for_update(no_key=True, of=("self",)).select_related("protocol")
    track = tracks.annotate(has_deadlines=has_deadlines).get(pk=track_id)
    if track.has_deadlines:
        # Open or close a locked track if the time has come. Repeating it changes nothing
        status = track.status
        if (
            status == Track.Status.DRAFT
            and Track.objects.filter(deadline_acceptance.is_due(), pk=track.pk).exists()
        ):
            track.status = Track.Status.OPEN
        if deadline_acceptance.has_ended(track, deadline_acceptance.acceptances(track)):
            track.status, track.is_closed_by_deadline = Track.Status.CLOSED, True
        if track.status != status:
            track.save(update_fields=["status", "is_closed_by_deadline"])
            opened_or_closed = "opened" if track.status == Track.Status.OPEN else "closed"
            audit.record(
                action=f"track.{opened_or_closed}", subject=track, track=track, details={"by": "deadline"}
            )
    return track


@transaction.atomic
def create(*, track: Track, by: User, cloned_from: Track | None = None) -> Track:
    """Store a new track, as a draft that only its organizers see. Who creates it is the first of them.

    Raises:
        Refused: There is a track with this short name.
    """
    if Track.objects.filter(slug=track.slug).exists():
        raise track_refused(f"There is already a track with the short name {track.slug}; choose another one.")
    track.status = Track.Status.DRAFT
    track.save(force_insert=True)
    Organizer.objects.create(track=track, user=by)
    if by.known_roles is not None:  # the request that creates the track may also show it
        by.known_roles = {**by.known_roles, track.pk: Role(track.slug, is_chair=False)}
    details = {"protocol": track.protocol.slug, "cloned from": cloned_from.slug if cloned_from else ""}
    audit.record(action="track.created", subject=track, track=track, details=details, by=by)
    return track


@transaction.atomic
def edit(*, track: Track, changed: Collection[str]) -> Track:
    """Save the changed fields of a track, and no others, because its status may change at the same time.

    Raises:
        Refused: The track was opened, and runs may have been checked against one of the fields.
    """
    current = lock(track.pk)
    if fixed := fixed_fields(current) & set(changed):
        raise track_refused(
            f"{current} was opened and runs were checked against it: its {', '.join(sorted(fixed))} cannot change."
        )
    if {"collection", "topic_collection"} & set(changed):
        check_not_settled(current)
    if changed:
        differences = audit.changes(current, track, changed)
        track.save(update_fields=list(changed))
        audit.record(action="track.edited", subject=track, track=track, details=differences)
    return track


def check_not_settled(track: Track) -> None:
    """Refuse to change what a check for leaks read in a draft that opens by itself: nobody would check again.

    Raises:
        Refused: The draft was checked for leaks, and its opening time is set.
    """
    opening = track.deadlines.filter(kind="", opens_at__isnull=False)
    if track.status == Track.Status.DRAFT and track.leak_checks.exists() and opening.exists():
        raise track_refused(
            f"{track} was checked for leaks and opens at a set time. Remove its opening time, make the change, check "
            "again, and set the time again."
        )


def check_opening(track: Track) -> None:
    """Refuse to open a track, now or at a set time.

    Raises:
        Refused: The track takes no runs or has no topics, or an app above this one refuses.
    """
    if not track.protocol.parsed.takes_runs:
        raise track_refused(
            f"{track} takes no runs, so there is nothing to open: open a batch, in which people judge."
        )
    if not track.topics.exists():
        raise track_refused(f"{track} has no topics yet. Import its topic file first.")
    splits = set(track.topics.values_list("split", flat=True))
    for phase in track.protocol.parsed.runs.phases:
        if phase.split and phase.split not in splits:
            raise track_refused(
                f"The phase {phase.name} is about the split “{phase.split}”, and no topic of {track} has it. Set the "
                "split of its topics first."
            )
    for check_with in _opening_checks:
        check_with(track=track)


@transaction.atomic
def open_for_runs(*, track: Track) -> Track:
    """Let teams submit runs.

    Raises:
        Refused: The track takes no runs or has no topics, its closing time has passed, or a leaderboard is released.
    """
    current = lock(track.pk)
    check_opening(current)
    current.status = Track.Status.OPEN
    if deadline_acceptance.has_ended(current, deadline_acceptance.acceptances(current)):
        raise track_refused(
            f"The closing time of {current} has passed. Set a later time or none, then open it."
        )
    current.is_closed_by_deadline = False
    current.save(update_fields=["status", "is_closed_by_deadline"])
    audit.record(action="track.opened", subject=current, track=current)
    return current


def check_draft(track: Track) -> None:
    """Refuse to make an opened track a draft again: somebody may have begun to work with it.

    Raises:
        Refused: It is a draft, somebody who does not organize it downloaded a file, or an app above this one refuses.
    """
    if track.status == Track.Status.DRAFT:
        raise track_refused(f"{track} is a draft.")
    own = track.organizers.values("user")
    if n := track.fetches.exclude(user__in=own).count():
        raise track_refused(
            f"{counted(n, 'file was,files were')} downloaded from {track}. Close it for runs instead of hiding it."
        )
    for check_with in _draft_checks:
        check_with(track=track)


@transaction.atomic
def back_to_draft(*, track: Track) -> Track:
    """Hide an opened track from all but its organizers, so that its topics and protocol can change again.

    An opening time that has passed is removed, because it would open the track again at once.

    Raises:
        Refused: As `check_draft`.
    """
    current = lock(track.pk)
    check_draft(current)
    current.status, current.is_closed_by_deadline = Track.Status.DRAFT, False
    current.save(update_fields=["status", "is_closed_by_deadline"])
    past = current.deadlines.filter(kind="", opens_at__lte=times.now())
    past.filter(closes_at=None).delete()
    past.update(opens_at=None)
    audit.record(action="track.hidden", subject=current, track=current)
    return current


def check_deletion(track: Track) -> None:
    """Refuse to delete a track that was opened, or that runs, pools, judgments, qrels or archives refer to.

    Raises:
        Refused: It was opened, or something refers to it.
    """
    if track.status != Track.Status.DRAFT:
        raise track_refused(f"{track} was opened, so it cannot be deleted. Only a draft can be deleted.")
    check_unused(track, PARTS)


@transaction.atomic
def delete(*, track: Track, by: User) -> None:
    """Delete a draft with its topics, people, files and texts.

    Raises:
        Refused: As `check_deletion`.
    """
    current = lock(track.pk)
    check_deletion(current)
    details = {"deleted": parts_in_words(current, PARTS), "protocol": current.protocol.slug}
    audit.record(
        action="track.deleted", subject=f"{current} ({current.slug})", track=current, details=details, by=by
    )
    delete_unused(current, PARTS)


def check_closing(track: Track) -> None:
    """Refuse to close a draft."""
    if track.status == Track.Status.DRAFT:
        raise track_refused(f"{track} is a draft. Only an open track can be closed.")


@transaction.atomic
def close(*, track: Track) -> Track:
    """Accept no more runs, also none that has arrived and is being checked, and let no run be withdrawn.

    Raises:
        Refused: The track is a draft.
    """
    current = lock(track.pk)
    check_closing(current)
    current.status, current.is_closed_by_deadline = Track.Status.CLOSED, False
    current.save(update_fields=["status", "is_closed_by_deadline"])
    audit.record(action="track.closed", subject=current, track=current)
    return current
