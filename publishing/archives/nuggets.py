"""Frozen lists of nuggets in an archive, and as rows of a loaded track."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from accounts.models import User
from assay.archive.contents import Contents
from assay.nuggets.lists import NuggetList
from assay.nuggets.records import NuggetListRecord
from assessment.nuggets.selectors import data_of, digest_of, fields_of, frozen_list, versions_of
from pooling.models import Nugget, NuggetVersion
from publishing.archives.records import moment_of, text_of
from tracks.models import Track

SOMEBODY = "organizer"  # the creator of a nugget who is no assessor, in an archive without names


def archived_lists(track: Track, names: Mapping[int, str], *, has_names: bool) -> Iterator[NuggetListRecord]:
    """The frozen lists of a track, oldest first. Programs keep their names, and people those of the archive."""
    people = dict(User.objects.filter(is_machine=False).values_list("username", "pk"))
    for version in reversed(versions_of(track)):
        nuggets = [
            replace(nugget, creator=names.get(people[nugget.creator], SOMEBODY))
            if nugget.creator in people and not has_names
            else nugget
            for nugget in frozen_list(version).nuggets
        ]
        yield NuggetListRecord(version.topic.code, version.version, text_of(version.frozen_at), nuggets)


def store_lists(contents: Contents, track: Track, *, by: User) -> None:
    """Store the frozen lists of a verified archive; the latest of each topic is also the list that people edit."""
    topics = {topic.code: topic for topic in track.topics.all()}
    latest: dict[str, NuggetList] = {}
    for (code, version), record in sorted(contents.nugget_lists.items()):
        latest[code] = NuggetList(code, nuggets=tuple(record.nuggets))
        data = data_of(latest[code])
        NuggetVersion.objects.create(
            topic=topics[code],
            version=version,
            nuggets=data,
            sha256=digest_of(data),
            frozen_by=by,
            frozen_at=moment_of(record.frozen_at),
        )
    Nugget.objects.bulk_create(
        Nugget(topic=topics[code], created_by=by, **fields_of(nugget))
        for code, of_topic in latest.items()
        for nugget in of_topic.nuggets
    )
