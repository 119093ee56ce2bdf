"""Check, submit and withdraw runs. The pages, the admin and the commands all use these services. Decision: ADR 30."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain, count
from typing import Any, BinaryIO, NamedTuple

from django.conf import settings
from django.core.files import File
from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import InputError, Refused
from assay.formats.declaration import Declaration, values_of
from assay.formats.models import PATH as MODELS
from assay.formats.models import WrongModels, stated_models
from assay.formats.reports import file_facts
from assay.formats.runs import columns
from assay.formats.runs.metadata import fields_of_file
from assay.formats.runs.reader import CheckedRun, check_run
from assay.formats.runs.rows import MAX_NAME
from assay.formats.runs.rules import characters_of
from assay.formats.runs.timing import check_seconds, with_seconds
from assay.protocols.questions import WrongAnswer
from assay.protocols.run_answers import Stated, answers_of_run
from assay.tables import natural
from jobs.files import storage
from participation.interaction.selectors import interacted_topics
from participation.models import Team
from participation.teams import services as team_services
from participation.teams.selectors import disk_limit, disk_use, may_submit_for
from pooling.errors import (
    RunRefused,
    SameBytes,
    SubmissionRefused,
    TagTaken,
)
from pooling.models import Run
from pooling.runs.selectors import Owing, n_of_kinds, owing_teams, today_of
from pooling.runs.units import formula_lookup, narratives, post_lookup, unit_lookup
from tracks import deadline_acceptance
from tracks.agreements.services import check_accepted
from tracks.announcements import announce
from tracks.models import Track
from tracks.tracks import services as track_services
from web import times
from web.pages import counted, size

_checking = threading.Lock()  # one check at a time in a process: more are not faster, and slow its pages down
MAX_ENDING = 50  # bytes of a kind and a number at the end of a tag
ACCEPTED, REJECTED, OWED = "runs.accepted", "runs.rejected", "runs.owed"  # kinds of letters
MAX_ERRORS = 20  # in one letter


SubmittedHook = Callable[..., None]  # (run): in the transaction that stores it
_submitted_hooks: list[SubmittedHook] = []


def on_submission(hook: SubmittedHook) -> SubmittedHook:
    """Register a function of an app above this one that is called for each new run."""
    _submitted_hooks.append(hook)
    return hook


def check(
    *, track: Track, file: BinaryIO, file_name: str, kind: str = "", team: Team | None = None
) -> CheckedRun:
    """Check a run file as `submit` does, and store nothing. `kind` and `team` are the declared ones, if known."""
    protocol = track.protocol.parsed
    labels_of = dict(track.topics.filter(**_in_split(track, kind)).values_list("code", "labels"))
    units, formulas = unit_lookup(track, protocol), formula_lookup(track, protocol)
    posts, characters = post_lookup(track, protocol), _characters(track, labels_of)
    with _checking:
        return check_run(
            file,
            protocol=protocol,
            topics=list(labels_of),
            units=units,
            formulas=formulas,
            posts=posts,
            characters=characters,
            narratives=narratives(track, protocol),
            name=file_name[-255:],
            kind=kind,
            team=team.name if team else "",
            is_named=True,
        )


def _in_split(track: Track, kind: str) -> dict[str, str]:
    """The condition on the topics of runs of a kind."""
    split = track.protocol.parsed.runs.phase_of(kind).split
    return {"split": split} if split else {}


def _characters(track: Track, labels_of: Mapping[str, Mapping[str, str]]) -> dict[str, int]:
    """The characters that the answers to each topic may have, if the protocol limits them by a label."""
    label = track.protocol.parsed.runs.answers.characters_label
    try:
        return characters_of({code: labels[label] for code, labels in labels_of.items() if label in labels})
    except InputError as error:
        raise SubmissionRefused(f"The topics of {track} are wrong: {error}. Tell an organizer.") from error


def check_submission(
    *,
    track: Track,
    team: Team,
    by: User,
    file: BinaryIO,
    file_name: str,
    declared: Declaration,
    seconds: BinaryIO | None = None,
    metadata: BinaryIO | None = None,
    arrived_at: datetime | None = None,
    replaces: str = "",
) -> CheckedRun:
    """Check everything that `submit` checks, with the same refusals, and store nothing."""
    at = arrived_at or times.now()
    files = file, seconds, metadata
    return _check(track, team, by, files, file_name, declared, at=at, replaces=replaces).checked


Files = tuple[BinaryIO, BinaryIO | None, BinaryIO | None]  # the run, its seconds, its ir_metadata


class _Checked(NamedTuple):
    checked: CheckedRun
    packed: bytes  # its columns
    n_bytes: int  # of both files


def _check(
    track: Track,
    team: Team,
    by: User,
    files: Files,
    file_name: str,
    declared: Declaration,
    *,
    at: datetime,
    replaces: str,
) -> _Checked:
    """Check a submission. Everything that is wrong is refused together."""
    _check_allowed(track=track, team=team, by=by, declared=declared, at=at)
    refused = None
    try:
        checked = _check_files(track, team, files, file_name, declared)
    except RunRefused as refusal:
        refused, checked = refusal, refusal.checked
    packed = columns.save(checked.columns) if checked.columns is not None else b""
    n_bytes = files[0].seek(0, os.SEEK_END) + len(packed)
    others = list(_refusals(track, team, by, declared, checked, n_bytes=n_bytes, at=at, replaces=replaces))
    if refused is None and len(others) == 1:
        raise others[0]
    if refused or others:
        raise RunRefused(checked, others)
    return _Checked(checked, packed, n_bytes)


def _refusals(
    track: Track,
    team: Team,
    by: User,
    declared: Declaration,
    checked: CheckedRun,
    *,
    n_bytes: int,
    at: datetime,
    replaces: str,
) -> Iterator[SubmissionRefused]:
    """Yield what refuses a run, except for the errors of its file."""
    earlier = None
    try:
        earlier = _to_replace(track, team, by, replaces, at)
    except SubmissionRefused as refusal:
        yield refusal
    checks = (
        lambda: _answers(track, declared.answers, checked),
        lambda: models_of(declared.models_used, checked),
        lambda: _accepted_tag(track, team, declared, checked, n_bytes=n_bytes, earlier=earlier),
        lambda: _check_today(track, team, by, declared, at),
    )
    for rule in checks:
        try:
            rule()
        except SubmissionRefused as refusal:
            yield refusal


def _check_files(track: Track, team: Team, files: Files, file_name: str, declared: Declaration) -> CheckedRun:
    """Check a run with its other files, and whether it has every topic on which its team had a session."""
    file, seconds, metadata = files
    protocol, needed, times_taken = track.protocol.parsed, set[str](), None
    if protocol.interaction is not None and declared.kind == protocol.interaction.run_kind:
        needed = interacted_topics(team)
        if not needed:
            raise SubmissionRefused(
                f"{team} had no session yet, and runs of the kind {declared.kind} follow one."
            )
    checked = check(track=track, file=file, file_name=file_name, kind=declared.kind, team=team)
    if checked.columns is None:
        raise RunRefused(checked)
    if missing := sorted(needed - set(checked.columns.topics.tolist()), key=natural):
        raise SubmissionRefused(
            f"The run omits {', '.join(missing)}: a run of the kind {declared.kind} has every topic on which "
            f"{team} had a session."
        )
    if seconds is not None:
        if protocol.runs.max_seconds_per_topic is None:
            raise SubmissionRefused(
                f"{track} does not limit the time per topic, so it accepts no file of seconds."
            )
        topics = list(track.topics.filter(**_in_split(track, declared.kind)).values_list("code", flat=True))
        times_taken = check_seconds(seconds, protocol=protocol, topics=topics, name="file of seconds")
        if times_taken.errors:
            raise RunRefused(CheckedRun(times_taken, None, None))
    report = with_seconds(checked.report, times_taken, protocol=protocol)
    if metadata is None:
        return replace(checked, report=report)
    fields = metadata_in(metadata)
    lines = {path: line for path, line in checked.header_lines.items() if path not in fields}
    return replace(
        checked, report=replace(report, metadata={**report.metadata, **fields}), header_lines=lines
    )


def metadata_in(file: BinaryIO) -> Mapping[str, str]:
    """The fields of a file of ir_metadata, which are kept as those of the header of a run.

    Raises:
        SubmissionRefused: It cannot be read.
    """
    try:
        return fields_of_file(file, "file of ir_metadata")
    except InputError as error:
        raise SubmissionRefused(f"{error}.") from None


def submit(
    *,
    track: Track,
    team: Team,
    by: User,
    file: BinaryIO,
    file_name: str,
    declared: Declaration,
    seconds: BinaryIO | None = None,
    metadata: BinaryIO | None = None,
    arrived_at: datetime | None = None,
    replaces: str = "",
    on_stored: Callable[[Run], None] = lambda run: None,
) -> Run:
    """Store a run of a team: its original bytes and its columns. A refused run leaves no row and no file.

    `replaces` is the tag of a submitted run of the team, which is withdrawn in the same transaction; the new run takes
    its place in the team's order, and limits count as after the replacement.

    The file is checked and stored before the track is locked, so that a large file does not block other teams. The lock
    then covers whether the track is open, the tag is free and the file is new. `on_stored` is called in the transaction
    that stores the run.

    For deadlines and for the time of the submission, it counts when the file arrived, by default now: not when it was
    checked and stored. `seconds` is the file of seconds for each topic, if the protocol limits them. The fields of
    `metadata`, a file of ir_metadata, count as those of the header of the run, and replace these.

    Raises:
        RunRefused: The file has errors.
        SubmissionRefused: The track is not open, the user may not submit this run, the tag is taken (`TagTaken`), the
            team has already submitted the file (`SameBytes`), has no room for it, or cannot replace the run.
        Refused: The storage is full or does not answer.
    """
    arrived_at = arrived_at or times.now()
    try:
        checked, packed, n_bytes = _check(
            track,
            team,
            by,
            (file, seconds, metadata),
            file_name,
            declared,
            at=arrived_at,
            replaces=replaces,
        )
    except RunRefused as refusal:
        data = {
            "team": team.pk,
            "by": by.username,
            "file": refusal.checked.report.file_name,
            "errors": refusal.lines[:MAX_ERRORS],
            "n_more": max(0, len(refusal.lines) - MAX_ERRORS),
        }
        team_services.notify_members(team=team, kind=REJECTED, data=data)
        raise
    with ExitStack() as stack:
        store = stack.enter_context(storage.storing())
        file.seek(0)
        original = store("runs/original", File(file))
        stored_columns = store("runs/columns", ContentFile(packed))
        stack.enter_context(transaction.atomic())
        track = track_services.lock(track.pk)
        state = _check_open(track, by, declared, arrived_at)
        earlier = _to_replace(track, team, by, replaces, arrived_at)
        tag = _accepted_tag(track, team, declared, checked, n_bytes=n_bytes, earlier=earlier)
        _check_today(track, team, by, declared, arrived_at)
        storage.claim(original, stored_columns)
        usual, answers = track.protocol.parsed.runs.usual_use, _answers(track, declared.answers, checked)
        if earlier is not None:
            _withdraw(earlier, track, by, replaced_by=tag)
        run = Run.objects.create(
            **values_of(declared)
            | {
                "tag": tag,
                "uses": declared.uses or usual,
                "answers": answers,
                "models_used": models_of(declared.models_used, checked),
            },
            track=track,
            team=team,
            file_name=file_name[-255:],
            original=original,
            columns=stored_columns,
            **file_facts(checked.report),
            n_bytes=n_bytes,
            report=checked.report.as_json(),
            is_late=state.is_late,
            priority=earlier.priority
            if earlier
            else 1 + (team.runs.aggregate(last=Max("priority"))["last"] or 0),
            submitted_by=by,
            submitted_at=arrived_at,
        )
        team_services.notify_members(team=run.team, kind=ACCEPTED, data={"run": run.pk, "replaced": replaces})
        for hook in _submitted_hooks:
            hook(run=run)
        announce(event="run.submitted", track_id=track.pk, subject=run)
        if not team.memberships.filter(user=by).exists():
            details = {"team": team.name, "sha256": run.sha256, "replaced": replaces}
            audit.record(action="run.submitted-for-team", subject=run, track=track, details=details, by=by)
        on_stored(run)
        return run


def _check_allowed(*, track: Track, team: Team, by: User, declared: Declaration, at: datetime | None) -> None:
    """Refuse a run that this user may not submit for this team now, or that arrived at a time outside the deadlines."""
    if team.track_id != track.pk:
        raise SubmissionRefused(f"{team} is not a team of {track}.")
    if not may_submit_for(by, team):
        raise SubmissionRefused(f"{by.named} is not a member of {team} with the right to submit runs.")
    check_accepted(track=track, user=by)
    _check_open(track, by, declared, at)


def _check_open(
    track: Track, by: User, declared: Declaration, at: datetime | None
) -> deadline_acceptance.Acceptance:
    """Refuse a run that arrived outside the deadlines, or is of a kind that the protocol or the user may not have."""
    state = deadline_acceptance.acceptance_of(track, declared.kind, at)
    if not state.is_accepting:
        raise SubmissionRefused(f"{track} does not accept runs: {state.reason}.")
    rules = track.protocol.parsed.runs
    if track.status == Track.Status.CLOSED and not rules.phase_of(declared.kind).after_closing:
        track_services.check_opening(track=track)  # closed since the file arrived
    if problem := rules.why_not_used(declared.uses):
        raise SubmissionRefused(f"Uses {problem}.")
    _answers(track, declared.answers)  # of which the file may have more
    if declared.kind not in rules.keys:
        raise SubmissionRefused(
            f"Unknown kind of run {declared.kind!r}; {track} accepts {', '.join(rules.keys)}."
        )
    kind = rules.kind(declared.kind)
    if kind.submitted_by == "organizers" and not by.organizes(track.pk):
        raise SubmissionRefused(f"Only organizers submit {kind.name} runs.")
    if declared.pooled_as and (complaint := rules.why_not_pooled_as(declared.kind, declared.pooled_as)):
        raise SubmissionRefused(f"The run cannot be pooled as {declared.pooled_as!r}: {complaint}.")
    return state


def _answers(track: Track, text: str, checked: CheckedRun | None = None) -> dict[str, Any]:
    """The answers to the questions of the protocol about runs, also those of the header of a checked file."""
    header = None
    if checked is not None:
        lines = checked.header_lines
        header = {path: Stated(value, lines.get(path, 0)) for path, value in checked.report.metadata.items()}
    try:
        return answers_of_run(track.protocol.parsed.runs, text, header)
    except WrongAnswer as error:
        raise SubmissionRefused(str(error)) from None


def models_of(stated: str, checked: CheckedRun) -> str:
    """The models of a run as stated, or else those of the header of its file.

    Raises:
        SubmissionRefused: A line is not a model.
    """
    try:
        return stated_models(stated, checked.report.metadata.get(MODELS, ""))
    except WrongModels as error:
        raise SubmissionRefused(str(error)) from None


def check_tag(tag: str, refusal: Callable[[str], Refused]) -> None:
    """Refuse a tag that runs cannot have."""
    if not tag.isprintable() or len(tag.split()) != 1 or len(tag.encode()) > MAX_NAME:
        raise refusal(
            f"The tag “{tag[:120]}” is not accepted; use one word of at most {MAX_NAME} bytes, without spaces."
        )


def _tag(track: Track, team: Team, declared: Declaration, checked: CheckedRun) -> str:
    """The tag of a run; without one, the next one of the naming scheme, or its team and kind with a number."""
    if tag := declared.tag or checked.report.tag:
        check_tag(tag, SubmissionRefused)
        rules = track.protocol.parsed.runs
        reason = rules.why_not_tag(tag) or rules.why_not_named(tag, team=team.name, kind=declared.kind)
        if reason:
            raise SubmissionRefused(f"The tag “{tag}” {reason}.")
        return tag
    taken, rules = set(_kept(track).values_list("tag", flat=True)), track.protocol.parsed.runs
    if rules.tag_pattern and rules.kind(declared.kind).submitted_by == "teams":
        numbered = (rules.example_tag(team.name, declared.kind, n) for n in range(1, len(taken) + 2))
        tag = next((tag for tag in numbered if tag not in taken), rules.example_tag(team.name, declared.kind))
        check_tag(tag, SubmissionRefused)
        return tag
    name = "-".join(team.name.split())
    while len(name.encode()) > MAX_NAME - MAX_ENDING:
        name = name[:-1]
    numbered = (f"{name}-{declared.kind}-{n}" for n in count(2))
    return next(tag for tag in chain([f"{name}-{declared.kind}"], numbered) if tag not in taken)


def _check_today(track: Track, team: Team, by: User, declared: Declaration, at: datetime) -> None:
    """Refuse a run beyond the daily limit of its phase. Organizers have none."""
    if by.organizes(track.pk):
        return
    phase = track.protocol.parsed.runs.phase_of(declared.kind)
    for today in today_of(track, [team], at)[team.pk] if phase.max_per_day else ():
        if today.phase == phase and not today.left:
            raise SubmissionRefused(
                f"{team} cannot submit another run today: {today}.", code="daily-limit-reached"
            )


def _kept(track: Track) -> QuerySet[Run]:
    return Run.objects.filter(track=track).exclude(status=Run.Status.WITHDRAWN)


def _to_replace(track: Track, team: Team, by: User, tag: str, at: datetime) -> Run | None:
    """The team's submitted run with a tag, which may be withdrawn; None without a tag."""
    if not tag:
        return None
    run = team.runs.filter(tag=tag, status=Run.Status.SUBMITTED).first()
    if run is None:
        raise SubmissionRefused(f"{team} has no submitted run “{tag[:120]}” to replace.")
    if reason := _why_not_withdrawn(run, by, track, at):
        raise SubmissionRefused(reason)
    return run


def _accepted_tag(
    track: Track,
    team: Team,
    declared: Declaration,
    checked: CheckedRun,
    *,
    n_bytes: int,
    earlier: Run | None = None,
) -> str:
    """The tag of a run. A file or a tag that is there is refused, and a run beyond the limits of its team.

    A run that it replaces is not there any more, but uses the disk.
    """
    tag, kept = _tag(track, team, declared, checked), _kept(track)
    kept = kept.exclude(pk=earlier.pk) if earlier else kept
    if same := kept.filter(team=team, sha256=checked.report.sha256).first():
        raise SameBytes(same)
    if taken := kept.filter(tag=tag).first():
        raise TagTaken(tag, own=taken if taken.team_id == team.pk else None)
    rule = track.protocol.parsed.runs.kind(declared.kind)
    most, is_of_kind = rule.max_per_team, earlier is not None and earlier.kind == declared.kind
    if most is not None and n_of_kinds(team)[declared.kind] - is_of_kind >= most:
        raise SubmissionRefused(
            f"{team} already has {counted(most, f'{rule.name} run')}, and {track} accepts no more. "
            f"Withdraw {'it' if most == 1 else 'one of them'} first."
        )
    team = Team.objects.get(pk=team.pk)  # its limit may have changed since the page was opened
    used, limit = disk_use(team), disk_limit(team)
    if used + n_bytes > limit:
        raise SubmissionRefused(
            f"{team} may use {size(limit)} on the disk. Its runs use {size(used)}, and this one needs "
            f"{size(n_bytes)}. Withdrawn runs count, because they are kept. Ask an organizer for a higher limit.",
            code="disk-limit-reached",
        )
    return tag


@transaction.atomic
def remind(*, track: Track, by: User) -> list[Owing]:
    """Write to the members of each team that owes something, if they want e-mails about runs; these teams.

    Raises:
        Refused: No team owes anything, or the site sends no e-mails.
    """
    owing, problem = owing_teams(track), ""
    if not owing:
        problem = f"No team of {track} lacks a run or document that it owes."
    elif not settings.SENDS_MAIL:
        problem = "The site sends no e-mails, because no mail server is set."
    if problem:
        raise Refused(problem, code="reminders-refused", title="No reminder was sent")
    _remind(track, owing, by)
    return owing


def _remind(track: Track, owing: Sequence[Owing], by: User | None) -> None:
    for owed in owing:
        team_services.notify_members(team=owed.team, kind=OWED, data={"team": owed.team.pk})
    details = {owed.team.name: owed.missing for owed in owing}
    audit.record(action="teams.reminded", subject=track, track=track, details=details, by=by)


def remind_due() -> int:
    """Remind each team once before a closing time, as many days before as the track says; how many teams.

    A later closing time, such as a postponed one, reminds again those who still owe something.
    """
    if not settings.SENDS_MAIL:
        return 0
    tracks = Track.objects.filter(status=Track.Status.OPEN, reminder_days__isnull=False)
    with_deadlines = tracks.filter(deadlines__closes_at__gt=times.now()).distinct().order_by("pk")
    return sum(map(_remind_before_closing, with_deadlines.values_list("pk", flat=True)))


@transaction.atomic
def _remind_before_closing(track_id: int) -> int:
    track, now = track_services.lock(track_id), times.now()
    if track.reminder_days is None or track.status != Track.Status.OPEN:
        return 0
    latest = now + timedelta(days=track.reminder_days)
    closings = {
        acceptance.kind: acceptance.closes_at
        for acceptance in deadline_acceptance.acceptances(track)
        if acceptance.closes_at and now < acceptance.closes_at <= latest
    }
    due = []
    for owed in owing_teams(track) if closings else ():
        moments = [closings[owed.kind] for owed in owed.runs if owed.kind in closings]
        moments += [max(closings.values())] if owed.documents else []
        if moments and (owed.team.reminded_for is None or owed.team.reminded_for < max(moments)):
            owed.team.reminded_for = max(moments)
            owed.team.save(update_fields=["reminded_for"])
            due.append(owed)
    if due:
        _remind(track, due, None)
    return len(due)


@track_services.checks_draft
def check_draft(*, track: Track) -> None:
    """Refuse to make a track a draft again that has a run, whatever its state: runs were checked against the draft."""
    if n := track.runs.count():
        raise track_services.track_refused(
            f"{track} has received {counted(n, 'run')}, checked against its topics. "
            "Correct the text of a topic instead."
        )


@transaction.atomic
def withdraw(*, run: Run, by: User) -> Run:
    """Withdraw a run. Its row, files and report are kept; its team and organizers see them."""
    track = track_services.lock(run.track_id)
    run = Run.objects.select_for_update(of=("self",)).select_related("team", "track").get(pk=run.pk)
    check_withdrawal(run=run, by=by)
    return _withdraw(run, track, by)


def check_withdrawal(*, run: Run, by: User) -> None:
    """Refuse if a user cannot withdraw a run, or not any more."""
    if reason := _why_not_withdrawn(run, by, run.track):
        raise Refused(reason, code="withdrawal-refused", title="The run was not withdrawn")


def _why_not_withdrawn(run: Run, by: User, track: Track, at: datetime | None = None) -> str:
    """The reason why a user cannot withdraw a run now, or when a file that replaces it arrived; otherwise empty."""
    if not may_submit_for(by, run.team):
        return f"{by.named} is not a member of {run.team} with the right to submit runs."
    if run.status != Run.Status.SUBMITTED:
        return f"{run.tag} is already {run.get_status_display()}."
    state = deadline_acceptance.acceptance_of(track, run.kind, at)
    return "" if state.is_accepting else f"Runs of {track} can no longer be withdrawn: {state.reason}."


def _withdraw(run: Run, track: Track, by: User, *, replaced_by: str = "") -> Run:
    run.status = Run.Status.WITHDRAWN
    run.withdrawn_by = by
    run.withdrawn_at = timezone.now()
    run.save(update_fields=["status", "withdrawn_by", "withdrawn_at"])
    details = {"team": run.team.name} | ({"replaced_by": replaced_by} if replaced_by else {})
    audit.record(action="run.withdrawn", subject=run, track=track, details=details, by=by)
    return run
