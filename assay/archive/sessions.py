"""Checks the interaction of an archive: its sessions and their data."""

from collections import Counter
from collections.abc import Iterator

from assay.archive.contents import Contents
from assay.archive.records import SessionRecord

LONGEST = 1e9  # seconds of a session under a protocol without interaction


def session_problems(contents: Contents) -> Iterator[str]:
    """What is wrong with the sessions and with the files of their data."""
    index = contents.index
    teams, topics = set(index.teams), {topic.code for topic in contents.topics}
    people = {assessor.name for assessor in index.assessors}
    rules = contents.protocol(index.track.protocol).interaction
    limit = LONGEST if rules is None else rules.seconds_per_topic
    for session in index.sessions:
        for problem in _problems(session, teams, topics, people, limit):
            yield f"{session.team[:80]}, topic {session.topic[:80]}: {problem}"
    for name, pairs in (
        ("topic", [(each.team, each.topic) for each in index.sessions]),
        ("place", [(each.team, each.place) for each in index.sessions]),
    ):
        for (team, repeated), n in Counter(pairs).items():
            if n > 1:
                yield f"{team[:80]} has the {name} {str(repeated)[:80]} {n} times"
    yield from _data_problems(contents, teams)


def _problems(
    session: SessionRecord, teams: set[str], topics: set[str], people: set[str], limit: float
) -> Iterator[str]:
    if session.team not in teams:
        yield "no such team"
    if session.topic not in topics:
        yield "no such topic"
    if session.place < 1:
        yield f"the place {session.place} is below 1"
    if session.seconds is not None and not 0 <= session.seconds <= limit:
        yield f"{session.seconds:g} seconds, of at most {limit:g}"
    if session.assessor and session.assessor not in people:
        yield f"no assessor {session.assessor[:80]}"
    if session.assessor and not session.started_at:
        yield "an assessor, but no start"


def _data_problems(contents: Contents, teams: set[str]) -> Iterator[str]:
    records = contents.index.session_data
    for team, n in Counter(record.team for record in records).items():
        if team not in teams:
            yield f"data of {team[:80]}: no such team"
        if n > 1:
            yield f"data of {team[:80]}: {n} files"
    for record in records:
        if contents.reader.sums.get(record.file) != record.sha256:
            yield f"{record.file[:80]} does not have the digest of the index"
