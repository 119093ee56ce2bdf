"""Stamps of what agreement and qrels are computed from: pages keep their numbers while these stay the same.

Decision: ADR 92.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.digests import sha256_of
from tracks.models import Track
from web.caches import remembered, remembered_parts
from web.statements import read_rows

# Judgments are only appended, and a current one only ceases to be current. So each of their changes changes a count.
_STAMPS = """
WITH judged AS (
    SELECT topic_id, count(*) AS n, count(*) FILTER (WHERE is_current) AS n_current, max(id) AS last
    FROM assessment_judgment WHERE track_id = %(track)s {of_topics} GROUP BY topic_id
), pools AS (SELECT * FROM pooling_pool WHERE track_id = %(track)s), assigned AS (
    SELECT topic_id, string_agg(concat_ws(' ', assigned.*), ' ' ORDER BY assigned.id) AS words
    FROM assessment_topicassignment assigned JOIN assessment_batch batch ON batch.id = assigned.batch_id
    WHERE batch.pool_id IN (SELECT id FROM pools) {of_topics} GROUP BY topic_id
), common AS MATERIALIZED (SELECT md5(concat_ws(' ',
    (SELECT concat_ws(' ', track.protocol_id, protocol.digest)
        FROM tracks_track track JOIN tracks_storedprotocol protocol ON protocol.id = track.protocol_id
        WHERE track.id = %(track)s),
    (SELECT string_agg(concat_ws(' ', assessor.*, person.username, person.guest_until), ' ' ORDER BY assessor.id)
        FROM tracks_assessor assessor JOIN accounts_user person ON person.id = assessor.user_id
        WHERE assessor.track_id = %(track)s),
    (SELECT string_agg(concat_ws(' ', id, name, protocol_id, seed, depth, tops_up_id, status, nuggets, sha256), ' '
        ORDER BY id) FROM pools),
    (SELECT string_agg(batch::text, ' ' ORDER BY id)
        FROM assessment_batch batch WHERE pool_id IN (SELECT id FROM pools))
)) AS words)
SELECT topic.id::text, md5(concat_ws(' ', common.words, topic.id, topic.code, topic.source, topic.labels,
    topic.subtopics, topic.known_item, judged.n, judged.n_current, newest.request_id, assigned.words))
FROM tracks_topic topic CROSS JOIN common LEFT JOIN judged ON judged.topic_id = topic.id
    LEFT JOIN assessment_judgment newest ON newest.id = judged.last LEFT JOIN assigned ON assigned.topic_id = topic.id
WHERE topic.track_id = %(track)s {of_these} ORDER BY topic.id
"""
_RUNS = """
SELECT string_agg(concat_ws(' ', run.id, run.tag, run.status, team.name), ' ' ORDER BY run.id)
FROM pooling_run run JOIN participation_team team ON team.id = run.team_id WHERE run.track_id = %(track)s
"""


def stamps_of(track: Track, topics: Sequence[str] | None = None) -> dict[str, str]:
    """A digest of the judgments of each topic of a track, with its assignments and the track's people and batches.

    Topics have their ids as text.
    """
    ids = [] if topics is None else [int(topic) for topic in topics]
    wanted = ("", "") if topics is None else ("AND topic_id = ANY(%(ids)s)", "AND topic.id = ANY(%(ids)s)")
    text = _STAMPS.format(of_topics=wanted[0], of_these=wanted[1])
    return dict(read_rows(text, track=track.pk, ids=ids))


def stamp_of(track: Track) -> str:
    """A digest of the stamps of all topics of a track, and of its runs."""
    return sha256_of(repr([stamps_of(track), read_rows(_RUNS, track=track.pk)]).encode())


def while_unchanged(track: Track, key: Sequence[object], compute: Callable[[], Any]) -> Any:
    """A JSON value that is computed from the judgments of a track; it is computed again when its stamp has changed."""
    return remembered([track.pk, *key], lambda: stamp_of(track), compute)


def by_topic(
    track: Track, key: Sequence[object], compute: Callable[[list[int]], Mapping[int, Any]]
) -> list[Any]:
    """A JSON value of each topic of a track that has one, computed from its judgments; only for topics that changed.

    `compute` gets the ids of topics, and need not return a value of each. The values come by topic id.
    """

    def values(topics: list[str]) -> dict[str, Any]:
        computed = compute([int(topic) for topic in topics])
        return {topic: computed.get(int(topic)) for topic in topics}

    parts = remembered_parts([track.pk, *key], lambda topics: stamps_of(track, topics), values)
    return [value for value in parts.values() if value is not None]
