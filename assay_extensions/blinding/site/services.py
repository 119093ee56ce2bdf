"""Blind the runs of a track in a job, and give out the map."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from tempfile import TemporaryFile
from typing import Any, BinaryIO, cast
from zipfile import ZIP_DEFLATED, ZipFile

from django.core.files import File
from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.digests import sha256_of_file
from assay.errors import InputError, Refused
from assay.formats.compression import Limits, Unreadable, unpack
from assay.formats.text import decoded, lines_of
from assay_extensions.blinding.package import NamedRun, blind_runs
from assay_extensions.blinding.pseudonyms import KEPT, REPLACED, new_map
from assay_extensions.blinding.site.models import Blinding
from jobs import services as jobs
from jobs.files import storage
from pooling.models import Run
from pooling.runs.names import Pseudonyms, source_of_pseudonyms
from tracks.models import Track
from tracks.tracks import services as track_services

KIND = "blinding.make"
MOST_BYTES = 1 << 30  # of all runs together, uncompressed

blinding_refused = partial(Refused, code="blinding-refused", title="The runs were not blinded")


@transaction.atomic
def request(
    *,
    track: Track,
    words: str,
    first: int | None,
    by: User,
    decisions: Mapping[tuple[str, str], str] | None = None,
) -> Blinding:
    """Queue the job that looks for names in the runs of a track, and makes the package once all are decided.

    Args:
        decisions: `keep` or `replace` by pseudonym and term, besides the earlier ones.

    Raises:
        Refused: A job is doing it already, or a decision is of no run or neither of both words.
    """
    track = track_services.lock(track.pk)
    row, _ = Blinding.objects.get_or_create(
        track=track, defaults={"map": asdict(new_map()), "created_by": by}
    )
    if row.job is not None and not row.job.is_finished:
        raise blinding_refused("A job is already blinding the runs. Wait until it ends.")
    pseudonyms = {*row.blind.runs.values()}
    for (run, term), decision in (decisions or {}).items():
        if run not in pseudonyms or decision not in {KEPT, REPLACED}:
            raise blinding_refused(
                f"{run[:40]}, {decision[:40]!r}: use {KEPT} or {REPLACED}, for a run of the map."
            )
        row.decisions.setdefault(run, {})[term] = decision
    row.words, row.first = words, first
    row.save()
    jobs.request_for(row, "blinding_id", kind=KIND, title=f"Blind runs of {track}", by=by, subject=row)
    audit.record(action="blinding.requested", subject=row, track=track, details={"first": first}, by=by)
    return row


@jobs.handler(KIND, words=lambda _: "The runs under pseudonyms are made.")
def make(progress: jobs.Progress, *, blinding_id: int) -> dict[str, Any]:
    """Blind the runs that are submitted now. The package is replaced, or removed if a decision is missing."""
    row = Blinding.objects.select_related("track").get(pk=blinding_id)
    decisions = {
        (run, term): decision for run, terms in row.decisions.items() for term, decision in terms.items()
    }
    runs = list(_named_runs(row, progress))
    if not runs:
        raise blinding_refused("There are no submitted runs.")
    try:
        blinded = blind_runs(
            runs, row.blind, decisions, title=f"{row.track}: runs under pseudonyms", words=_words(row)
        )
    except InputError as error:
        raise blinding_refused(f"{error}.") from None
    with TemporaryFile() as file, storage.storing() as store:
        with ZipFile(file, "w", ZIP_DEFLATED) as archive:
            for name, text in blinded.files.items():
                archive.writestr(f"{row.track.slug}-blinded/{name}", text)
        name = store("blinding", File(file, name="blinded.zip")) if blinded.files else ""
        size, digest = file.seek(0, 2), sha256_of_file(file)
        with progress.storing():
            current = Blinding.objects.select_for_update().get(pk=row.pk)
            if current.file:
                storage.discard([str(current.file)])
            current.map = asdict(blinded.blind)
            current.terms = [list(row[:4]) for row in blinded.give_aways]
            current.file.name, current.n_runs = name, len(runs) if name else 0
            current.size, current.sha256 = (size, digest) if name else (0, "")
            current.save(update_fields=["map", "terms", "file", "n_runs", "size", "sha256"])
            if name:
                storage.claim(name)
    return {"undecided": len(blinded.undecided)}


def _words(row: Blinding) -> list[str]:
    return [line.strip() for line in lines_of(row.words) if line.strip()]


def _named_runs(row: Blinding, progress: jobs.Progress) -> Iterator[NamedRun]:
    """The runs with their texts, and the names of the people and organizations of their teams."""
    submitted = Run.objects.filter(track=row.track, status=Run.Status.SUBMITTED)
    chosen, counts = list[Run](), dict[int, int]()
    for run in submitted.select_related("team").order_by("team", "priority", "pk"):
        counts[run.team_id] = counts.get(run.team_id, 0) + 1
        if row.first is None or counts[run.team_id] <= row.first:
            chosen.append(run)
    n_bytes, words = 0, {run.team_id: _words_of_team(run) for run in chosen}
    for number, run in enumerate(chosen):
        progress.update(number, len(chosen), "reading runs")
        limits = Limits()
        with run.original.open("rb") as file:
            try:
                data = b"".join(unpack(cast("BinaryIO", file), limits, name=run.file_name))
            except Unreadable as error:
                raise blinding_refused(f"{run.tag}: {error.reason}") from None
        n_bytes += len(data)
        if n_bytes > MOST_BYTES:
            raise blinding_refused(
                f"The runs have more than {MOST_BYTES >> 20} MB together. Choose fewer runs of each team, or use "
                "“assay blind”."
            )
        yield NamedRun(
            run.team.name, run.tag, run.kind, decoded(data, run.file_name).text, words[run.team_id]
        )


def _words_of_team(run: Run) -> tuple[str, ...]:
    members = run.team.members.values_list("username", "first_name", "last_name")
    people = [name for names in members for name in (*names, " ".join(names[1:]))]
    return tuple(filter(None, map(str.strip, [run.team.organization, *people])))


@source_of_pseudonyms
def pseudonyms_of(track: Track) -> Pseudonyms:
    """Those of the map, under which leaderboards show the runs as long as names are hidden. One query."""
    row = Blinding.objects.filter(track=track).only("map").first()
    return Pseudonyms(row.blind.teams, row.blind.runs) if row is not None else Pseudonyms()


@transaction.atomic
def map_of(*, blinding: Blinding) -> str:
    """The map as `assay unblind` reads it. The audit log keeps who took it."""
    audit.record(action="blinding.map-taken", subject=blinding, track=blinding.track)
    return blinding.blind.as_json()
