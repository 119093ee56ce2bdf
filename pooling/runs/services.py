"""Check, submit and withdraw runs. The pages, the admin and the commands all use these services."""

import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, count
from typing import BinaryIO

from django.core.files import File
from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from accounts.models import User
from assay.formats.runs import columns
from assay.formats.runs.reader import CheckedRun, check_run
from assay.formats.runs.timing import NoSeconds, check_seconds, with_seconds
from assay.formats.runs.words import MAX_NAME
from audit import services as audit
from files import services as file_services
from pooling.interaction.selectors import has_interacted
from pooling.models import Run, Team
from pooling.runs import notices
from pooling.runs.errors import (
    DiskLimitReached,
    RunRefused,
    SameBytes,
    SubmissionRefused,
    TagTaken,
    WithdrawalRefused,
)
from pooling.runs.selectors import n_of_kinds
from pooling.runs.units import formula_lookup, post_lookup, unit_lookup
from pooling.teams.selectors import disk_limit, disk_use, may_submit_for
from tracks.agreements.services import check_accepted
from tracks.deadlines import selectors as deadlines
from tracks.models import Track
from tracks.tracks import services as track_services
from web import times

_checking = threading.Lock()  # one check at a time in a process: more are not faster, and slow its pages down
MAX_ENDING = 50  # bytes of a kind and a number at the end of a tag


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a team declares about a run. `pooled_as` is for kinds that the protocol pools as another one.

    If the tag is empty, the file's tag is used; if it has none, the run is named after its team and kind.

    `seconds` is the file of seconds for each topic, if the protocol limits them.
    """

    kind: str
    tag: str = ""
    pooled_as: str = ""
    is_manual: bool = False
    uses: str = ""  # empty: what is usual in the protocol
    description: str = ""
    seconds: BinaryIO | None = None


def check(
    *, track: Track, file: BinaryIO, file_name: str, kind: str = "", team: Team | None = None
) -> CheckedRun:
    """Check a run file as `submit` does, and store nothing. `kind` and `team` are the declared ones, if known."""
    protocol = track.protocol.parsed
    topics = list(track.topics.values_list("code", flat=True))
    units, formulas = unit_lookup(track, protocol), formula_lookup(track, protocol)
    posts = post_lookup(track, protocol)
    with _checking:
        return check_run(
            file,
            protocol=protocol,
            topics=topics,
            units=units,
            formulas=formulas,
            posts=posts,
            name=file_name[-255:],
            kind=kind,
            team=team.name if team else "",
        )


def check_submission(
    *,
    track: Track,
    team: Team,
    by: User,
    file: BinaryIO,
    file_name: str,
    declared: Declaration,
    arrived_at: datetime | None = None,
) -> CheckedRun:
    """Check everything that `submit` checks, and store nothing.

    Raises
    ------
    RunRefused, SameBytes, TagTaken, SubmissionRefused
        As in `submit`.
    """
    _check_allowed(track=track, team=team, by=by, declared=declared, at=arrived_at)
    checked = check(track=track, file=file, file_name=file_name, kind=declared.kind, team=team)
    if checked.columns is None:
        raise RunRefused(checked)
    checked = _with_seconds(track=track, checked=checked, file=declared.seconds)
    tag = declared.tag or checked.report.tag or _free_tag(track, team, declared.kind)
    _check_tag(tag)
    _check_new(track=track, team=team, tag=tag, sha256=checked.report.sha256)
    _check_number(track=track, team=team, kind=declared.kind)
    _check_disk(team=team, n_bytes=file.seek(0, os.SEEK_END))
    return checked


def _with_seconds(*, track: Track, checked: CheckedRun, file: BinaryIO | None) -> CheckedRun:
    protocol, seconds = track.protocol.parsed, None
    if file is not None:
        topics = list(track.topics.values_list("code", flat=True))
        try:
            seconds = check_seconds(file, protocol=protocol, topics=topics, name="file of seconds")
        except NoSeconds as error:
            raise SubmissionRefused(
                f"{track} does not limit the time per topic, so it accepts no file of seconds."
            ) from error
        if seconds.errors:
            raise RunRefused(CheckedRun(seconds, None, None))
    return replace(checked, report=with_seconds(checked.report, seconds, protocol=protocol))


def submit(
    *,
    track: Track,
    team: Team,
    by: User,
    file: BinaryIO,
    file_name: str,
    declared: Declaration,
    arrived_at: datetime | None = None,
    on_stored: Callable[[Run], None] = lambda run: None,
) -> Run:
    """Store a run of a team: its original bytes and its columns. A refused run leaves no row and no file.

    The file is checked and stored before the track is locked, so that a large file does not block other teams. The lock
    then covers whether the track is open, the tag is free and the file is new. `on_stored` is called in the transaction
    that stores the run.

    For deadlines and for the time of the submission, it counts when the file arrived, by default now: not when it was
    checked and stored.

    Raises
    ------
    RunRefused
        The file has errors.
    SameBytes
        The team has already submitted the same file.
    TagTaken
        Another run of the track has the tag.
    DiskLimitReached
        The runs of the team use too much disk space.
    SubmissionRefused
        The track is not open, or the user may not submit this run.
    NotStored
        The storage is full or does not answer.
    """
    arrived_at = arrived_at or times.now()
    try:
        checked = check_submission(
            track=track,
            team=team,
            by=by,
            file=file,
            file_name=file_name,
            declared=declared,
            arrived_at=arrived_at,
        )
    except RunRefused as refusal:
        notices.rejected(team, report=refusal.checked.report, by=by)
        raise
    assert checked.columns is not None
    with ExitStack() as stack:
        store = stack.enter_context(file_services.storing())
        packed = columns.save(checked.columns)
        n_bytes = file.seek(0, os.SEEK_END) + len(packed)
        file.seek(0)
        original = store("runs/original", File(file))
        stored_columns = store("runs/columns", ContentFile(packed))
        stack.enter_context(transaction.atomic())
        track = track_services.lock(track.pk)
        state = _check_allowed(track=track, team=team, by=by, declared=declared, at=arrived_at)
        tag = declared.tag or checked.report.tag or _free_tag(track, team, declared.kind)
        _check_new(track=track, team=team, tag=tag, sha256=checked.report.sha256)
        _check_number(track=track, team=team, kind=declared.kind)
        _check_disk(team=team, n_bytes=n_bytes)
        file_services.claim(original, stored_columns)
        run = Run.objects.create(
            track=track,
            team=team,
            tag=tag,
            kind=declared.kind,
            pooled_as=declared.pooled_as,
            is_manual=declared.is_manual,
            uses=declared.uses or track.protocol.parsed.runs.usual_use,
            description=declared.description,
            file_name=file_name[-255:],
            original=original,
            columns=stored_columns,
            sha256=checked.report.sha256,
            n_bytes=n_bytes,
            n_lines=checked.report.n_lines,
            n_topics=checked.report.n_topics,
            report=checked.report.as_json(),
            is_late=state.is_late,
            priority=1 + (team.runs.aggregate(last=Max("priority"))["last"] or 0),
            submitted_by=by,
            submitted_at=arrived_at,
        )
        notices.accepted(run)
        on_stored(run)
        return run


def _check_allowed(
    *, track: Track, team: Team, by: User, declared: Declaration, at: datetime | None
) -> deadlines.State:
    """Refuse a run that this user may not submit for this team now, or that arrived at a time outside the deadlines."""
    if team.track_id != track.pk:
        raise SubmissionRefused(f"{team} is not a team of {track}.")
    if not may_submit_for(by, team):
        raise SubmissionRefused(f"{by} is not a member of {team} with the right to submit runs.")
    check_accepted(track=track, user=by)
    state = deadlines.state(track, declared.kind, at)
    if not state.is_accepting:
        raise SubmissionRefused(f"{track} does not accept runs: {state.reason}.")
    if track.status == Track.Status.CLOSED:  # since the file arrived
        track_services.check_opening(track=track)
    _check_kind(track=track, by=by, declared=declared)
    rules = track.protocol.parsed.interaction
    if rules is not None and declared.kind == rules.run_kind and not has_interacted(team):
        raise SubmissionRefused(
            f"{team} had no session yet, and runs of the kind {declared.kind} follow one."
        )
    return state


def _check_kind(*, track: Track, by: User, declared: Declaration) -> None:
    """Refuse a kind or use that the protocol does not have, and a kind that the user may not submit."""
    rules = track.protocol.parsed.runs
    if problem := rules.why_not_used(declared.uses):
        raise SubmissionRefused(f"Uses {problem}.")
    if declared.kind not in rules.keys:
        raise SubmissionRefused(
            f"Unknown kind of run {declared.kind!r}; {track} accepts {', '.join(rules.keys)}."
        )
    kind = rules.kind(declared.kind)
    if kind.submitted_by == "organizers" and not by.is_organizer:
        raise SubmissionRefused(f"Only organizers submit {kind.name} runs.")
    if declared.pooled_as and (complaint := rules.why_not_pooled_as(declared.kind, declared.pooled_as)):
        raise SubmissionRefused(f"The run cannot be pooled as {declared.pooled_as!r}: {complaint}.")


def _free_tag(track: Track, team: Team, kind: str) -> str:
    """The tag of a run that names none: its team and kind, with a number if the team has several."""
    kept = Run.objects.filter(track=track).exclude(status=Run.Status.WITHDRAWN)
    taken = set(kept.values_list("tag", flat=True))
    name = "-".join(team.name.split())
    while len(name.encode()) > MAX_NAME - MAX_ENDING:
        name = name[:-1]
    numbered = (f"{name}-{kind}-{n}" for n in count(2))
    return next(tag for tag in chain([f"{name}-{kind}"], numbered) if tag not in taken)


def _check_tag(tag: str) -> None:
    if not tag.isprintable() or len(tag.split()) != 1 or len(tag.encode()) > MAX_NAME:
        raise SubmissionRefused(
            f"The tag “{tag[:120]}” is not accepted; use one word of at most {MAX_NAME} bytes, without spaces."
        )


def _check_new(*, track: Track, team: Team, tag: str, sha256: str) -> None:
    kept = Run.objects.filter(track=track).exclude(status=Run.Status.WITHDRAWN)
    earlier = kept.filter(team=team, sha256=sha256).first()
    if earlier is not None:
        raise SameBytes(earlier)
    if kept.filter(tag=tag).exists():
        raise TagTaken(tag)


def _check_disk(*, team: Team, n_bytes: int) -> None:
    """Refuse a run for which the team has too little disk space left."""
    team = Team.objects.get(pk=team.pk)  # its limit may have changed since the page was opened
    used, limit = disk_use(team), disk_limit(team)
    if used + n_bytes > limit:
        raise DiskLimitReached(team, used=used, needed=n_bytes, limit=limit)


def _check_number(*, track: Track, team: Team, kind: str) -> None:
    """Refuse a run of a kind of which the team has as many as the protocol allows."""
    rule = track.protocol.parsed.runs.kind(kind)
    most = rule.max_per_team
    if most is None:
        return
    if n_of_kinds(team)[kind] >= most:
        runs = "one" if most == 1 else str(most)
        raise SubmissionRefused(
            f"{team} already has {runs} {rule.name} run{'' if most == 1 else 's'}, and {track} accepts no more. "
            "Withdraw one of them first."
        )


@transaction.atomic
def withdraw(*, run: Run, by: User) -> Run:
    """Withdraw a run. Its row, files and report are kept; its team and organizers see them.

    Raises
    ------
    WithdrawalRefused
        The track is closed, the run is already withdrawn or disqualified, or the user may not submit for its team.
    """
    track = track_services.lock(run.track_id)
    run = Run.objects.select_for_update(of=("self",)).select_related("team").get(pk=run.pk)
    if not may_submit_for(by, run.team):
        raise WithdrawalRefused(f"{by} is not a member of {run.team} with the right to submit runs.")
    if run.status != Run.Status.SUBMITTED:
        raise WithdrawalRefused(f"{run.tag} is already {run.get_status_display()}.")
    state = deadlines.state(track, run.kind)
    if not state.is_accepting:
        raise WithdrawalRefused(f"Runs of {track} can no longer be withdrawn: {state.reason}.")
    run.status = Run.Status.WITHDRAWN
    run.withdrawn_by = by
    run.withdrawn_at = timezone.now()
    run.save(update_fields=["status", "withdrawn_by", "withdrawn_at"])
    audit.record(action="run.withdrawn", subject=run, track=track, details={"team": run.team.name}, by=by)
    return run
