"""Accept the judgments of programs as runs: open a track for them, check, store, replace and withdraw them."""

import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, BinaryIO, cast

from django.core.files import File
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from accounts.audit import services as audit
from accounts.models import User
from assay.digests import sha256_of_file
from assay.errors import Refused
from assay.formats.runs.rows import MAX_NAME
from assay.formats.text import listed
from assay.tables import plain
from assay_extensions.metaevaluation.judgments import Checked, Kind, check_all, files_of
from assay_extensions.metaevaluation.site.models import JudgeCall, JudgeRun
from jobs.files import storage
from participation.models import Team
from participation.teams.selectors import disk_limit, disk_use, may_submit_for
from tracks.agreements.services import check_accepted
from tracks.models import Track
from tracks.tracks import services as track_services
from web import times
from web.pages import counted, size

MOST_SHOWN = 100  # problems of one submission
_checking = threading.Lock()  # one check at a time in a process: a file is in memory as a whole

judges_refused = partial(Refused, code="judges-refused", title="The judgments were not accepted")


@transaction.atomic
def accept(
    *,
    track: Track,
    closes_at: datetime,
    zone: str,
    max_per_team: int = 5,
    topics: Sequence[str] = (),
    by: User,
) -> JudgeCall:
    """Accept judgments of programs until a time, instead of what was set before. A time in the past closes it.

    Raises:
        Refused: A topic is not one of the track.
    """
    track = track_services.lock(track.pk)
    check_topics(track, topics)
    before = JudgeCall.objects.filter(track=track).first()
    values = {"closes_at": closes_at, "zone": zone, "max_per_team": max_per_team, "topics": [*topics]}
    call, _ = JudgeCall.objects.update_or_create(
        track=track, defaults=values, create_defaults=values | {"created_by": by}
    )
    if before is None:
        details: dict[str, object] = {"until": times.in_words(closes_at, zone)}
    else:
        details = {**audit.changes(before, call, [*values])}
    if details:
        audit.record(action="judges.accepted", subject=track, track=track, details=details, by=by)
    return call


def check_topics(track: Track, topics: Sequence[str]) -> None:
    """Refuse codes that are not topics of a track."""
    known = set(track.topics.values_list("code", flat=True))
    if unknown := [code for code in dict.fromkeys(topics) if code not in known]:
        raise judges_refused(f"{listed(unknown)}: not among the topics of {track}.", code="unknown-topics")


def check(
    *,
    track: Track,
    team: Team,
    by: User,
    tag: str,
    file: BinaryIO,
    file_name: str,
    kind: str = "",
    form: str = "",
    arrived_at: datetime | None = None,
) -> list[Checked]:
    """Check everything that `submit` checks, with the same refusals, and store nothing."""
    _check_allowed(track, team, by, tag, arrived_at or times.now(), file.seek(0, 2))
    call = track.judge_call
    topics = call.topics or list(track.topics.values_list("code", flat=True))
    grades = [grade.value for grade in track.protocol.parsed.judging.grades]
    with _checking:
        files = [*files_of(file, file_name)]
        checked, problems = check_all(
            files,
            kind=cast("Kind", kind) or None,
            form=form,
            topics=topics,
            grades=grades,
            runs=pseudonyms_of(track).values(),
        )
    if problems:
        raise judges_refused(
            f"{counted(len(problems), 'problem')}. The first: {problems[0]}",
            code="judgments-refused",
            errors=[{"code": "judgments", "message": problem} for problem in problems[:MOST_SHOWN]],
        )
    return checked


def pseudonyms_of(track: Track) -> dict[str, str]:
    """The pseudonyms of runs by tag, if the extension `blinding` released runs of the track without names."""
    blinding: Any = getattr(track, "blinding", None)
    return dict(blinding.blind.runs) if blinding else {}


def _check_allowed(track: Track, team: Team, by: User, tag: str, at: datetime, n_bytes: int) -> None:
    """Refuse judgments that this user may not submit for this team now under this name."""
    if team.track_id != track.pk:
        raise judges_refused(f"{team} is not a team of {track}.")
    if not may_submit_for(by, team):
        raise judges_refused(f"{by.named} is not a member of {team} with the right to submit runs.")
    check_accepted(track=track, user=by)
    call = JudgeCall.objects.filter(track=track).first()
    if call is None or not call.is_open(at):
        when = f": it closed at {times.in_words(call.closes_at, call.zone)}" if call else ""
        raise judges_refused(f"{track} does not accept judgments of programs{when}.", code="judges-closed")
    if not tag.isprintable() or len(tag.split()) != 1 or len(tag.encode()) > MAX_NAME:
        raise judges_refused(
            f"The name “{tag[:120]}” is not accepted; use one word of at most {MAX_NAME} bytes, without spaces."
        )
    judges = track.judge_runs.filter(status=JudgeRun.Status.SUBMITTED)
    if judges.filter(tag=tag).exclude(team=team).exists():
        raise judges_refused(f"The track already has a judge with the name {tag}; choose another name.")
    if judges.filter(team=team).exclude(tag=tag).count() >= call.max_per_team:
        raise judges_refused(
            f"{team} already has {counted(call.max_per_team, 'judge')}, and {track} accepts no more. "
            "Withdraw one first, or submit under its name to replace it."
        )
    used = disk_use(team) + (team.judge_runs.aggregate(n=Sum("n_bytes"))["n"] or 0)
    if used + n_bytes > disk_limit(team):
        raise judges_refused(
            f"{team} may use {size(disk_limit(team))} on the disk. Its runs and judges use {size(used)}, and this file "
            f"needs {size(n_bytes)}. Ask an organizer for a higher limit.",
            code="disk-limit-reached",
        )


def submit(
    *,
    track: Track,
    team: Team,
    by: User,
    tag: str,
    file: BinaryIO,
    file_name: str,
    kind: str = "",
    form: str = "",
    description: str = "",
    arrived_at: datetime | None = None,
    on_stored: Callable[[JudgeRun], object] = lambda _: None,
) -> JudgeRun:
    """Store the judgments of a program. A judge of the team with the same name is replaced: it is withdrawn.

    The file is checked and stored before the track is locked. `on_stored` is called in the transaction that stores it.

    Raises:
        Refused: The file has problems, the track does not accept judgments, the user may not submit for the team,
            the name is taken, or the team has no room for it.
        Unreadable: The file cannot be read.
    """
    at = arrived_at or times.now()
    checked = check(
        track=track,
        team=team,
        by=by,
        tag=tag,
        file=file,
        file_name=file_name,
        kind=kind,
        form=form,
        arrived_at=at,
    )
    parts = [
        {"name": part.name, "kind": part.kind, "rows": part.n_rows, "topics": len(part.topics)}
        for part in checked
    ]
    n_bytes, sha256 = file.seek(0, 2), sha256_of_file(file)
    with storage.storing() as store:
        file.seek(0)
        name = store("judges", File(file))
        with transaction.atomic():
            track = track_services.lock(track.pk)
            _check_allowed(track, team, by, tag, at, n_bytes)
            storage.claim(name)
            earlier = track.judge_runs.filter(team=team, tag=tag, status=JudgeRun.Status.SUBMITTED).first()
            if earlier is not None:
                _withdraw(earlier, track, by, replaced=True)
            judge_run = JudgeRun.objects.create(
                track=track,
                team=team,
                tag=tag,
                description=description,
                file_name=file_name[-255:],
                file=name,
                sha256=sha256,
                n_bytes=n_bytes,
                kind=kind,
                form=form,
                parts=plain(parts),
                submitted_by=by,
                submitted_at=at,
            )
            details = {"team": team.name, "sha256": sha256, "replaces": earlier.pk if earlier else ""}
            audit.record(action="judge.submitted", subject=judge_run, track=track, details=details, by=by)
            on_stored(judge_run)
    return judge_run


@transaction.atomic
def withdraw(*, judge_run: JudgeRun, by: User) -> JudgeRun:
    """Withdraw a judge: its team until the deadline, organizers always. The row and the file are kept.

    Raises Refused.
    """
    track = track_services.lock(judge_run.track_id)
    judge_run = (
        JudgeRun.objects.select_for_update(of=("self",)).select_related("team", "track").get(pk=judge_run.pk)
    )
    check_withdrawal(judge_run, by)
    return _withdraw(judge_run, track, by)


def check_withdrawal(judge_run: JudgeRun, by: User) -> None:
    """Refuse if a user cannot withdraw a judge, or not any more."""
    if reason := why_not_withdrawn(judge_run, by, times.now()):
        raise judges_refused(reason, title="The judge was not withdrawn")


def why_not_withdrawn(judge_run: JudgeRun, by: User, at: datetime) -> str:
    """The reason why a user cannot withdraw a judge at an instant; empty if it is possible."""
    if not may_submit_for(by, judge_run.team):
        return f"{by.named} is not a member of {judge_run.team} with the right to submit runs."
    if not judge_run.is_submitted:
        return f"{judge_run.tag} is already withdrawn."
    call = JudgeCall.objects.filter(track=judge_run.track_id).first()
    is_open = call is not None and call.is_open(at)
    return (
        ""
        if is_open or by.organizes(judge_run.track_id)
        else "The deadline for judges is over. Ask an organizer."
    )


def _withdraw(judge_run: JudgeRun, track: Track, by: User, *, replaced: bool = False) -> JudgeRun:
    judge_run.status, judge_run.withdrawn_by = JudgeRun.Status.WITHDRAWN, by
    judge_run.withdrawn_at = timezone.now()
    judge_run.save(update_fields=["status", "withdrawn_by", "withdrawn_at"])
    details = {"team": judge_run.team.name} | ({"replaced": True} if replaced else {})
    audit.record(action="judge.withdrawn", subject=judge_run, track=track, details=details, by=by)
    return judge_run
