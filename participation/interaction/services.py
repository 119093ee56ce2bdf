"""Nominate topics, plan and hold sessions, and take logs and data of the interaction."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import BinaryIO
from urllib.parse import SplitResult, urlsplit

from django.core.files import File
from django.db import transaction
from django.utils.translation import gettext

from accounts.audit import services as audit
from accounts.models import User
from assay.digests import sha256_of_file
from assay.formats.runs.timing import read_seconds
from assay.protocols.schema import InteractionRules
from jobs.files import storage
from participation.errors import interaction_refused
from participation.interaction import selectors
from participation.interaction.selectors import SessionState
from participation.models import Interaction, Nomination, Team
from participation.teams import services as team_services
from participation.teams.selectors import may_submit_for
from tracks import deadline_acceptance
from tracks.assessors import services as assessor_services
from tracks.assessors.selectors import is_assessor
from tracks.models import Track
from tracks.tracks import services as track_services
from web import times

MAX_DATA = 200 << 20  # bytes
NAMED = 5  # topics in a message
PLANNED, HELD = "interaction.planned", "interaction.held"  # kinds of letters
FREED = ["assessor", "opens_at", "closes_at", "practice_ends_at"]  # fields of a session that is taken back
AFTER = timedelta(seconds=1)  # the end of a session


def _rules(track: Track) -> InteractionRules:
    rules = selectors.rules_of(track)
    if rules is None:
        raise interaction_refused(f"The protocol of {track} has no interaction.")
    return rules


def _check_member(team: Team, by: User) -> None:
    if not may_submit_for(by, team):
        raise interaction_refused(f"{by.named} is not a member of {team} with the right to submit runs.")


@transaction.atomic
def nominate(*, team: Team, codes: Sequence[str], by: User) -> list[Nomination]:
    """Replace the topics that a team nominates, in the order of its preference."""
    track = track_services.lock(team.track_id)
    _rules(track)
    _check_member(team, by)
    runs = deadline_acceptance.acceptance_of(track, track.protocol.parsed.runs.keys[0])
    if not runs.is_accepting:
        raise interaction_refused(f"Topics are nominated while runs are accepted: {runs.reason}.")
    held = team.nominations.exclude(assessor__isnull=True, logged_seconds__isnull=True)
    if held.exists():
        raise interaction_refused(f"Sessions of {team} are planned or held, so its nominations stay.")
    repeated = sorted({code for code in codes if codes.count(code) > 1})
    if repeated:
        raise interaction_refused(f"Name each topic once; repeated: {', '.join(repeated[:NAMED])}.")
    by_code = {topic.code: topic for topic in track.topics.filter(code__in=codes)}
    unknown = [code for code in codes if code not in by_code]
    if unknown:
        raise interaction_refused(f"{track} does not have the topics {', '.join(unknown[:NAMED])}.")
    team.nominations.all().delete()
    rows = [Nomination(team=team, topic=by_code[code], place=place) for place, code in enumerate(codes, 1)]
    audit.record(action="topics.nominated", subject=team, track=track, by=by, details={"topics": list(codes)})
    return Nomination.objects.bulk_create(rows)


@transaction.atomic
def set_address(*, team: Team, address: str, by: User, site: str) -> Interaction:
    """Set the page of a team's system, which its sessions show. `site` is the origin of this site."""
    track = track_services.lock(team.track_id)
    limit = _rules(track).seconds_per_topic
    _check_member(team, by)
    now = times.now()
    if any(
        selectors.state_of(session, limit, now) == SessionState.RUNNING for session in team.nominations.all()
    ):
        raise interaction_refused(f"A session of {team} runs; change the address after it.")
    _check_address(address, site)
    interaction, _ = Interaction.objects.update_or_create(team=team, defaults={"address": address})
    audit.record(
        action="interaction.declared", subject=team, track=track, by=by, details={"address": address}
    )
    return interaction


def _check_address(address: str, site: str) -> None:
    if not address:
        return
    parts, own = urlsplit(address), urlsplit(site)
    if parts.scheme != "https" and (parts.scheme != "http" or own.scheme == "https"):
        raise interaction_refused(f"{address} is not encrypted; use an address that begins with https://.")
    # a host with perhaps a port, so that it can be a source of a policy
    host = parts.netloc
    if (
        not host
        or not host.isascii()
        or not all(character.isalnum() or character in ".-:[]" for character in host)
    ):
        raise interaction_refused(
            f"{address} is not accepted; use https://, a host, perhaps a port, and a path."
        )
    if _host(parts) == _host(own):  # whatever the port: the cookies of a host are sent to all of its ports
        raise interaction_refused("The page of a session must be on another host than this site.")


def _host(address: SplitResult) -> str:
    return (address.hostname or "").rstrip(".")


@transaction.atomic
def plan(
    *,
    team: Team,
    n: int,
    assessor: User,
    by: User,
    opens_at: datetime | None = None,
    closes_at: datetime | None = None,
) -> int:
    """Give the first `n` nominated topics without a session to an assessor; how many there were.

    The sessions can start from `opens_at` on and before `closes_at`.
    """
    track = track_services.lock(team.track_id)
    _rules(track)
    if opens_at and closes_at and closes_at <= opens_at:
        raise interaction_refused("The sessions would end before they can start; choose a later end.")
    if not is_assessor(assessor, track) or team.members.filter(pk=assessor.pk).exists():
        raise interaction_refused(f"{assessor} is not an assessor of {track}, or is a member of {team}.")
    free = team.nominations.filter(assessor__isnull=True, logged_seconds__isnull=True).order_by("place")
    chosen = dict(free.values_list("pk", "topic__code")[:n])
    if not chosen:
        raise interaction_refused(f"{team} has no nominated topic without a session.")
    rows = team.nominations.filter(pk__in=chosen)
    rows.update(assessor=assessor, opens_at=opens_at, closes_at=closes_at)
    window = selectors.window_in_words(opens_at, closes_at, selectors.zone_of(track))
    data = {"team": team.pk, "topics": list(chosen.values()), "window": window}
    team_services.notify_members(team=team, kind=PLANNED, data=data)
    details = {"assessor": str(assessor), "topics": len(chosen), "window": window}
    audit.record(action="sessions.planned", subject=team, track=track, by=by, details=details)
    return len(chosen)


@transaction.atomic
def take_back(*, nomination: Nomination, by: User) -> Nomination:
    """Take a planned session from its assessor, so that it can be planned again. The topic stays nominated."""
    track = track_services.lock(nomination.team.track_id)
    limit = _rules(track).seconds_per_topic
    nomination = Nomination.objects.select_related("team", "topic", "assessor").get(pk=nomination.pk)
    state = selectors.state_of(nomination, limit, times.now())
    if state != SessionState.PLANNED:
        raise interaction_refused(
            f"Only a planned session is taken back; that of {nomination.team} on {nomination.topic.code} is {state}."
        )
    details = {"assessor": str(nomination.assessor), "topic": nomination.topic.code}
    for field in FREED:
        setattr(nomination, field, None)
    nomination.save(update_fields=FREED)
    audit.record(action="session.taken-back", subject=nomination.team, track=track, by=by, details=details)
    return nomination


@assessor_services.at_end
def take_back_all(*, track: Track, user: User) -> bool:
    """Take back the sessions that an assessor has not started. Return whether they have started another one."""
    own = Nomination.objects.filter(team__track=track, assessor=user)
    own.filter(started_at=None).update(**dict.fromkeys(FREED))
    return own.exists()


@transaction.atomic
def practice(*, nomination: Nomination, by: User) -> Nomination:
    """Start the practice of an assessor with the system of a team, before their first session with it."""
    nomination, limit = _locked(nomination, by)
    now = times.now()
    _check_startable(nomination, limit, now)
    if selectors.has_tried(nomination):
        raise interaction_refused(
            gettext("You practice once with the system of a team, before the first session with it.")
        )
    nomination.practice_ends_at = now + timedelta(seconds=limit)
    nomination.save(update_fields=["practice_ends_at"])
    audit.record(action="session.practiced", subject=nomination, track=nomination.team.track, by=by)
    return nomination


def _check_startable(nomination: Nomination, limit: int, now: datetime) -> None:
    """Refuse a session that was started, is outside its window, or has no page to show."""
    if selectors.state_of(nomination, limit, now) != SessionState.PLANNED:
        raise interaction_refused(gettext("This session was started already. Each topic has one session."))
    opens_at, closes_at = nomination.opens_at, nomination.closes_at
    if (opens_at and now < opens_at) or (closes_at and now >= closes_at):
        zone = selectors.zone_of(nomination.team.track)
        window = selectors.window_in_words(opens_at, closes_at, zone)
        refusal = gettext("This session can start {window}. Ask the organizers for another time.")
        raise interaction_refused(refusal.format(window=window))
    if not selectors.frame_address(nomination):
        raise interaction_refused(gettext("The team has not declared the page of its system yet."))


@transaction.atomic
def start(*, nomination: Nomination, by: User) -> Nomination:
    """Start a session: its time runs from now on."""
    nomination, limit = _locked(nomination, by)
    _check_startable(nomination, limit, times.now())
    unended = Nomination.objects.filter(assessor=by, started_at__isnull=False, ended_at__isnull=True)
    for session in unended:  # sessions whose time is over, though nobody ended them
        latest = selectors.ends_at(session, limit)
        if latest is not None and latest <= times.now():
            _end(session, limit)
    if unended.all().exists():
        raise interaction_refused(gettext("Another session of yours runs. End it first."))
    nomination.started_at = times.now()
    nomination.save(update_fields=["started_at"])
    wait = timedelta(seconds=limit) + AFTER  # however the session ends
    team_services.notify_members(
        team=nomination.team, kind=HELD, data={"nomination": nomination.pk}, wait=wait
    )
    audit.record(action="session.started", subject=nomination, track=nomination.team.track, by=by)
    return nomination


@transaction.atomic
def end(*, nomination: Nomination, by: User) -> Nomination:
    """End a session, or the practice before it. Ending one that is over changes nothing."""
    nomination, limit = _locked(nomination, by)
    if nomination.started_at is None and nomination.practice_ends_at is not None:
        nomination.practice_ends_at = min(times.now(), nomination.practice_ends_at)
        nomination.save(update_fields=["practice_ends_at"])
        return nomination
    if nomination.started_at is None:
        raise interaction_refused(gettext("This session was not started."))
    _end(nomination, limit)
    return nomination


def _locked(nomination: Nomination, by: User) -> tuple[Nomination, int]:
    track = track_services.lock(nomination.team.track_id)
    limit = _rules(track).seconds_per_topic
    nomination = Nomination.objects.select_related("team__interaction", "topic").get(pk=nomination.pk)
    if nomination.assessor_id != by.pk:
        raise interaction_refused(gettext("This is not a session of {person}.").format(person=by))
    return nomination, limit


def _end(nomination: Nomination, limit: int) -> None:
    latest = selectors.ends_at(nomination, limit)
    if nomination.ended_at is None and latest is not None:
        nomination.ended_at = min(times.now(), latest)
        nomination.save(update_fields=["ended_at"])


@transaction.atomic
def log(*, team: Team, file: BinaryIO, by: User) -> int:
    """Take the seconds of sessions that a team held elsewhere; the number of topics."""
    track = track_services.lock(team.track_id)
    limit = _rules(track).seconds_per_topic
    _check_member(team, by)
    by_code = {session.topic.code: session for session in team.nominations.select_related("topic")}
    report = read_seconds(
        file, most=limit, name="time log", topics=set(track.topics.values_list("code", flat=True))
    )
    if report.errors:
        raise interaction_refused(
            " ".join(f"{complaint}. Accepted: {complaint.accepted}" for complaint in report.errors),
            errors=[complaint.as_error() for complaint in report.errors],
        )
    unknown = sorted(report.seconds.keys() - by_code.keys())
    if unknown:
        raise interaction_refused(f"{team} did not nominate the topics {', '.join(unknown[:NAMED])}.")
    held = sorted(code for code in report.seconds if by_code[code].assessor_id)
    if held:
        raise interaction_refused(f"The topics {', '.join(held[:NAMED])} have sessions on this site.")
    for code, seconds in report.seconds.items():
        team.nominations.filter(pk=by_code[code].pk).update(logged_seconds=seconds)
    audit.record(
        action="sessions.logged", subject=team, track=track, by=by, details={"topics": len(report.seconds)}
    )
    return len(report.seconds)


def store_data(*, team: Team, file: BinaryIO, file_name: str, by: User) -> Interaction:
    """Store the data of a team's sessions; an earlier file is replaced."""
    _rules(team.track)
    _check_member(team, by)
    if not selectors.interacted_topics(team):
        raise interaction_refused(f"{team} had no session yet; the data follow the sessions.")
    n_bytes = file.seek(0, 2)
    if not 0 < n_bytes <= MAX_DATA:
        raise interaction_refused(f"The file has {n_bytes:,} bytes; use a file of 1 to {MAX_DATA:,} bytes.")
    digest = sha256_of_file(file)
    file.seek(0)
    with storage.storing() as store:
        name = store("interaction", File(file))
        with transaction.atomic():
            track = track_services.lock(team.track_id)
            earlier = Interaction.objects.filter(team=team).first()
            if earlier is not None and earlier.data:
                storage.discard([str(earlier.data.name)])
            storage.claim(name)
            stored = {
                "data": name,
                "data_name": file_name[-255:],
                "data_sha256": digest,
                "data_at": times.now(),
            }
            interaction, _ = Interaction.objects.update_or_create(team=team, defaults=stored)
            audit.record(action="interaction.stored", subject=team, track=track, by=by)
    return interaction
