"""What changes teams and runs. Browser, admin, command and API all come through here."""

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import BinaryIO

from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import Storage
from django.db import transaction
from django.utils import timezone

from accounts.models import User
from assay.formats.runs import columns
from assay.formats.runs.forms import UnknownForm
from assay.formats.runs.reader import CheckedRun, check_run
from assay.formats.runs.words import MAX_NAME
from assay.formats.runs.timing import NoSeconds, check_seconds, with_seconds
from pooling.models import Run, Team
from pooling.runs.errors import RunRefused, SameBytes, SubmissionRefused, TagTaken, WithdrawalRefused
from pooling.runs.units import formula_lookup, unit_lookup
from tracks.models import Track
from tracks.tracks import services as track_services


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a team says of a run. An empty tag is taken from the file; `pooled_as` is for baselines.

    `seconds` is the file of seconds for each topic, where the protocol bounds them.
    """

    kind: str
    tag: str = ""
    pooled_as: str = ""
    is_manual: bool = False
    uses: str = Run.Uses.BOTH
    description: str = ""
    seconds: BinaryIO | None = None


def check(*, track: Track, file: BinaryIO, file_name: str) -> CheckedRun:
    """Check a run against a track as its submission would, and store nothing.

    Raises
    ------
    SubmissionRefused
        The track's protocol names a form of run that cannot be read.
    """
    protocol = track.protocol.parsed
    topics = list(track.topics.values_list("code", flat=True))
    try:
        return check_run(
            file,
            protocol=protocol,
            topics=topics,
            units=unit_lookup(track, protocol),
            formulas=formula_lookup(track, protocol),
            name=file_name[-255:],
        )
    except UnknownForm as error:
        raise SubmissionRefused(f"Runs of this track cannot be read: {error}.") from error


def check_submission(
    *, track: Track, team: Team, by: User, file: BinaryIO, file_name: str, declared: Declaration
) -> CheckedRun:
    """Everything that `submit_run` checks, but nothing is stored.

    Raises
    ------
    RunRefused, SameBytes, TagTaken, SubmissionRefused
        As `submit_run` would.
    """
    _check_door(track=track, team=team, by=by, declared=declared)
    checked = check(track=track, file=file, file_name=file_name)
    if checked.columns is None:
        raise RunRefused(checked)
    checked = _with_seconds(track=track, checked=checked, file=declared.seconds)
    _check_tag(declared.tag or checked.report.tag)
    _check_new(track=track, team=team, tag=declared.tag or checked.report.tag, sha256=checked.report.sha256)
    _check_room(track=track, team=team, kind=declared.kind)
    return checked


def _with_seconds(*, track: Track, checked: CheckedRun, file: BinaryIO | None) -> CheckedRun:
    protocol, seconds = track.protocol.parsed, None
    if file is not None:
        topics = list(track.topics.values_list("code", flat=True))
        try:
            seconds = check_seconds(file, protocol=protocol, topics=topics, name="file of seconds")
        except NoSeconds as error:
            raise SubmissionRefused(f"{track} bounds no time, so it takes no file of seconds.") from error
        if seconds.errors:
            raise RunRefused(CheckedRun(seconds, None, None))
    return replace(checked, report=with_seconds(checked.report, seconds, protocol=protocol))


def submit(
    *, track: Track, team: Team, by: User, file: BinaryIO, file_name: str, declared: Declaration
) -> Run:
    """Take a run for a team: its original bytes and its columns. A refused run leaves neither row nor file.

    The file is checked and stored before the track is locked, so that a large one keeps nobody waiting; whether the
    track is open, the tag free and the bytes new is decided under the lock.

    Raises
    ------
    RunRefused
        The file has errors.
    SameBytes
        The team has submitted the same file already.
    TagTaken
        Another run of the track has the tag.
    SubmissionRefused
        The track is not open, or the person may not submit this.
    """
    checked = check_submission(
        track=track, team=team, by=by, file=file, file_name=file_name, declared=declared
    )
    assert checked.columns is not None
    tag = declared.tag or checked.report.tag
    with ExitStack() as stack:
        store = stack.enter_context(_stored(Run._meta.get_field("original").storage))
        file.seek(0)
        original = store("runs/original", File(file))
        stored_columns = store("runs/columns", ContentFile(columns.save(checked.columns)))
        stack.enter_context(transaction.atomic())
        track = track_services.lock(track.pk)
        _check_door(track=track, team=team, by=by, declared=declared)
        _check_new(track=track, team=team, tag=tag, sha256=checked.report.sha256)
        _check_room(track=track, team=team, kind=declared.kind)
        return Run.objects.create(
            track=track,
            team=team,
            tag=tag,
            kind=declared.kind,
            pooled_as=declared.pooled_as,
            is_manual=declared.is_manual,
            uses=declared.uses,
            description=declared.description,
            file_name=file_name[-255:],
            original=original,
            columns=stored_columns,
            sha256=checked.report.sha256,
            n_lines=checked.report.n_lines,
            n_topics=checked.report.n_topics,
            report=checked.report.as_json(),
            submitted_by=by,
        )


class _Store:
    """Writes files under random names and remembers them."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.names: list[str] = []

    def __call__(self, folder: str, content: "File[bytes]") -> str:
        self.names.append(f"{folder}/{uuid.uuid4().hex}")
        self.names[-1] = self.storage.save(self.names[-1], content)
        return self.names[-1]


@contextmanager
def _stored(storage: Storage) -> Iterator[_Store]:
    """A store whose files are removed again unless the block ends well."""
    store = _Store(storage)
    is_done = False
    try:
        yield store
        is_done = True
    finally:
        if not is_done:
            for name in store.names:
                storage.delete(name)


def _check_door(*, track: Track, team: Team, by: User, declared: Declaration) -> None:
    """Whether this person may submit such a run for this team now."""
    if team.track_id != track.pk:
        raise SubmissionRefused(f"{team} is not a team of {track}.")
    if not by.is_organizer and not team.members.filter(pk=by.pk).exists():
        raise SubmissionRefused(f"{by} is not a member of {team}.")
    if not is_taking_runs(track):
        raise SubmissionRefused(f"{track} takes no runs: {why_closed(track)}.")
    kinds = track.protocol.parsed.runs.kinds
    if declared.kind not in kinds:
        raise SubmissionRefused(
            f"A run of {track} is of one of the kinds {', '.join(kinds)}; got {declared.kind!r}."
        )
    is_baseline = declared.kind == Run.Kind.BASELINE.value
    if is_baseline and not by.is_organizer:
        raise SubmissionRefused("Baselines are submitted by the organizers.")
    if declared.pooled_as and not is_baseline:
        raise SubmissionRefused("Only a baseline is pooled as another kind.")


def is_taking_runs(track: Track) -> bool:
    """Whether runs can be submitted and withdrawn at this moment."""
    is_over = track.closes_at is not None and track.closes_at <= timezone.now()
    return track.status == Track.Status.OPEN and not is_over


def why_closed(track: Track) -> str:
    """Half a sentence on why a track takes no runs."""
    if track.status == Track.Status.OPEN and track.closes_at is not None:
        return f"its time ended on {track.closes_at.strftime('%Y-%m-%d %H:%M')} UTC"
    return "it has not been opened yet" if track.status == Track.Status.DRAFT else "it is closed"


def _check_tag(tag: str) -> None:
    if not tag.isprintable() or len(tag.split()) != 1 or len(tag.encode()) > MAX_NAME:
        raise SubmissionRefused(
            f"A tag is one word of at most {MAX_NAME} bytes, without blanks; got “{tag[:120]}”."
        )


def _check_new(*, track: Track, team: Team, tag: str, sha256: str) -> None:
    standing = Run.objects.filter(track=track, status=Run.Status.SUBMITTED)
    earlier = standing.filter(team=team, sha256=sha256).first()
    if earlier is not None:
        raise SameBytes(earlier)
    if standing.filter(tag=tag).exists():
        raise TagTaken(tag)


def _check_room(*, track: Track, team: Team, kind: str) -> None:
    """Whether the protocol lets the team have one more run of a kind."""
    most = track.protocol.parsed.runs.max_of_kind.get(kind)
    if most is None:
        return
    standing = Run.objects.filter(track=track, team=team, kind=kind, status=Run.Status.SUBMITTED)
    if standing.count() >= most:
        raise SubmissionRefused(
            f"{team} has {most} {kind} runs already, and {track} takes no more. Withdraw one of them first."
        )


@transaction.atomic
def withdraw(*, run: Run, by: User) -> Run:
    """Take a run out of the campaign. Its row, files and report stay; organizers see them.

    Raises
    ------
    WithdrawalRefused
        The track is closed, the run is withdrawn already, or the person is not of its team.
    """
    track = track_services.lock(run.track_id)
    run = Run.objects.select_for_update(of=("self",)).select_related("team").get(pk=run.pk)
    if not by.is_organizer and not run.team.members.filter(pk=by.pk).exists():
        raise WithdrawalRefused(f"{by} is not a member of {run.team}.")
    if run.status == Run.Status.WITHDRAWN:
        raise WithdrawalRefused(f"{run.tag} is withdrawn already.")
    if not is_taking_runs(track):
        raise WithdrawalRefused(f"Runs of {track} stand as they are: {why_closed(track)}.")
    run.status = Run.Status.WITHDRAWN
    run.withdrawn_by = by
    run.withdrawn_at = timezone.now()
    run.save(update_fields=["status", "withdrawn_by", "withdrawn_at"])
    return run
