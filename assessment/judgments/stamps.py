"""A stamp of what agreement and qrels are computed from: pages keep their numbers while it stays the same."""

from collections.abc import Callable, Sequence
from typing import Any

from tracks.models import Track
from web.caches import remembered
from web.statements import read_rows

# Judgments are only appended, and a current one only ceases to be current. So each of their changes changes a count.
_STAMP = """
WITH judged AS (
    SELECT count(*) AS n, count(*) FILTER (WHERE is_current) AS n_current, max(id) AS last
    FROM assessment_judgment WHERE track_id = %(track)s
), pools AS (SELECT * FROM pooling_pool WHERE track_id = %(track)s)
SELECT md5(concat_ws(' ', n, n_current, (SELECT request_id FROM assessment_judgment WHERE id = last),
    (SELECT concat_ws(' ', track.protocol_id, protocol.digest)
        FROM tracks_track track JOIN tracks_storedprotocol protocol ON protocol.id = track.protocol_id
        WHERE track.id = %(track)s),
    (SELECT string_agg(concat_ws(' ', id, code, source, labels, subtopics, known_item), ' ' ORDER BY id)
        FROM tracks_topic WHERE track_id = %(track)s),
    (SELECT string_agg(concat_ws(' ', assessor.*, person.username, person.guest_until), ' ' ORDER BY assessor.id)
        FROM tracks_assessor assessor JOIN accounts_user person ON person.id = assessor.user_id
        WHERE assessor.track_id = %(track)s),
    (SELECT string_agg(concat_ws(' ', id, name, protocol_id, seed, depth, tops_up_id, status, nuggets, sha256), ' '
        ORDER BY id) FROM pools),
    (SELECT string_agg(concat_ws(' ', run.id, run.tag, run.status, team.name), ' ' ORDER BY run.id)
        FROM pooling_run run JOIN participation_team team ON team.id = run.team_id WHERE run.track_id = %(track)s),
    (SELECT string_agg(batch::text, ' ' ORDER BY id)
        FROM assessment_batch batch WHERE pool_id IN (SELECT id FROM pools)),
    (SELECT string_agg(concat_ws(' ', assigned.*), ' ' ORDER BY assigned.id)
        FROM assessment_topicassignment assigned JOIN assessment_batch batch ON batch.id = assigned.batch_id
        WHERE batch.pool_id IN (SELECT id FROM pools))
)) FROM judged
"""


def stamp_of(track: Track) -> str:
    """A digest of the judgments of a track, and of its topics, people, runs, pools, batches and assignments."""
    [[stamp]] = read_rows(_STAMP, track=track.pk)
    return str(stamp)


def while_unchanged(track: Track, key: Sequence[object], compute: Callable[[], Any]) -> Any:
    """A JSON value that is computed from the judgments of a track; it is computed again when its stamp has changed."""
    return remembered([track.pk, *key], lambda: stamp_of(track), compute)
