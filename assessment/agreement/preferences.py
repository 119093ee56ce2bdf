"""The consistency of the preferences of a round: circular triads, repeats in the other order, and the sides.

A circular triad is of three documents of which the first is preferred to the second, the second to the third, and the
third to the first.
"""

import math
from typing import NamedTuple

from assay.preferences.values import Comparisons, Consistency
from assay.preferences.votes import by_topic
from assay.tables import as_tsv, text_of
from assessment.judgments.disagreements import Round, judgments_of
from assessment.judgments.pairs import votes_of
from assessment.models import MAIN_AND_DUAL, Batch, Judgment
from tracks.models import Track

HEADER = ("topic", *Consistency._fields)


class TopicPreferences(NamedTuple):
    topic: str
    consistency: Consistency

    @property
    def left_percent(self) -> float:
        return 100 * self.consistency.left

    @property
    def has_left(self) -> bool:
        """True if a document was preferred at all."""
        return not math.isnan(self.consistency.left)


def preferences_of(track: Track, of_round: Round) -> list[TopicPreferences]:
    """The topics of a round with preferences; none if the track judges no pairs. Three queries at most.

    Answers to hidden checks count as repeats, and for the share of the left, but decide nothing.
    """
    if not track.protocol.parsed.judged.has_votes:
        return []
    counted = by_topic(votes_of(judgments_of(track, of_round)))
    # The latest answers to the hidden checks of a round
    kinds = MAIN_AND_DUAL if of_round.batch_id is None else (Batch.Kind.TRAINING,)
    checks = Judgment.objects.filter(track=track, is_check=True, replaced_by=None, batch__kind__in=kinds)
    checks = checks.filter(batch__pool__protocol=track.protocol_id)
    every = by_topic(
        [vote for votes in counted.values() for vote in votes]
        + votes_of(checks if of_round.batch_id is None else checks.filter(batch=of_round.batch_id))
    )
    topics = []
    for topic, votes in every.items():
        decided = Comparisons(counted.get(topic, [])).consistency()
        with_checks = Comparisons(votes).consistency()
        consistency = decided._replace(
            repeated=with_checks.repeated, repeated_alike=with_checks.repeated_alike, left=with_checks.left
        )
        topics.append(TopicPreferences(topic, consistency))
    return topics


def preferences_tsv(topics: list[TopicPreferences]) -> str:
    """A line per topic; undefined values are empty."""
    return as_tsv(HEADER, [[text_of(cell) for cell in (topic.topic, *topic.consistency)] for topic in topics])
