"""Stores the interaction of a verified archive: nominations, sessions and their data."""

from collections.abc import Mapping
from datetime import timedelta

from accounts.models import User
from archives.times import moment_of
from assay.archive.contents import Contents
from assay.archive.records import SessionRecord
from files import services as file_services
from pooling.models import Interaction, Nomination, Team
from tracks.models import Topic, Track


def store(
    contents: Contents,
    track: Track,
    *,
    teams: Mapping[str, Team],
    usernames: Mapping[str, str],
    files: Mapping[str, str],
) -> None:
    """Store the sessions with their assessors, and the data. `files` has the name of the stored file by team."""
    topics = {topic.code: topic for topic in track.topics.all()}
    users = {user.username: user for user in User.objects.filter(username__in=usernames.values())}
    people = {name: users[username] for name, username in usernames.items()}
    Nomination.objects.bulk_create(
        _nomination(record, teams[record.team], topics[record.topic], people)
        for record in contents.index.sessions
    )
    file_services.claim(*files.values())
    Interaction.objects.bulk_create(
        Interaction(
            team=teams[record.team],
            data=files[record.team],
            data_name=record.file_name[-255:],
            data_sha256=record.sha256,
            data_at=moment_of(record.uploaded_at),
        )
        for record in contents.index.session_data
    )


def _nomination(record: SessionRecord, team: Team, topic: Topic, people: Mapping[str, User]) -> Nomination:
    """A session that an assessor held has their time; the seconds of any other one are those of the team's log."""
    nomination = Nomination(team=team, topic=topic, place=record.place)
    if record.seconds is None or not record.assessor:
        nomination.logged_seconds = record.seconds
        return nomination
    nomination.assessor, nomination.started_at = people[record.assessor], moment_of(record.started_at)
    nomination.ended_at = nomination.started_at + timedelta(seconds=record.seconds)
    return nomination
