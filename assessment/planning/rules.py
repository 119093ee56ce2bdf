"""Which topics a second assessor judges, and which units a training round has, by the rules of a protocol."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from assay.pools.random_draws import random_numbers, stream_starts


class JudgedTopic(NamedTuple):
    """A topic of the main round: its code, who judges it, and how many relevant units they have found."""

    code: str
    assessors: tuple[str, ...]
    n_relevant: int


def topics_of_others(topics: Sequence[JudgedTopic], assessors: Sequence[str], n: int) -> dict[str, str]:
    """Give each assessor `n` topics of others: those with the fewest relevant units (ARQMath 2020, 2021).

    Assessors are in a circle. Each gets a topic of the next one, then of the one after that, and so on. No topic is
    given twice. With too few topics, some assessors get fewer.

    >>> topics = [JudgedTopic("A.1", ("ana",), 9), JudgedTopic("A.2", ("ana",), 2), JudgedTopic("A.3", ("ben",), 5)]
    >>> topics_of_others(topics, ["ana", "ben"], 1)
    {'A.3': 'ana', 'A.2': 'ben'}
    """
    given: dict[str, str] = {}
    for turn in range(n):
        for place, assessor in enumerate(assessors):
            others = [assessors[(place + 1 + turn + step) % len(assessors)] for step in range(len(assessors))]
            topic = _fewest_relevant(topics, [name for name in others if name != assessor], assessor, given)
            if topic is not None:
                given[topic.code] = assessor
    return given


def _fewest_relevant(
    topics: Sequence[JudgedTopic], others: Sequence[str], assessor: str, given: Mapping[str, str]
) -> JudgedTopic | None:
    """The topic with the fewest relevant units of the first of the others who still has one to give."""
    for other in others:
        left = [
            topic
            for topic in topics
            if other in topic.assessors and assessor not in topic.assessors and topic.code not in given
        ]
        if left:
            return min(left, key=lambda topic: (topic.n_relevant, topic.code))
    return None


def share_of_topics(
    topics: Sequence[JudgedTopic], assessors: Sequence[str], share: float, seed: int
) -> dict[str, str]:
    """Choose a share of the topics at random, rounded up, and give each to the least loaded other assessor (BOLT).

    >>> topics = [JudgedTopic(f"Q{n}", ("ana",), 0) for n in range(4)]
    >>> sorted(share_of_topics(topics, ["ana", "ben"], 0.5, seed=1).values())
    ['ben', 'ben']
    """
    starts = stream_starts(seed, [(topic.code.encode(), b"dual") for topic in topics])
    draws = random_numbers(starts, starts * 0).tolist()
    drawn = [topic for _, topic in sorted(zip(draws, topics, strict=True))]
    given: dict[str, str] = {}
    for topic in drawn[: ceil(share * len(topics))]:
        able = [name for name in assessors if name not in topic.assessors]
        if able:
            load = {name: sum(holder == name for holder in given.values()) for name in able}
            given[topic.code] = min(able, key=lambda name: load[name])
    return given


def spread(n_units: int, n: int) -> list[int]:
    """The places of `n` units spread evenly over `n_units`, from the first to the last; all if there are too few.

    >>> spread(9, 3), spread(2, 5), spread(9, 1)
    ([0, 4, 8], [0, 1], [0])
    """
    if n >= n_units:
        return list(range(n_units))
    return [round(place * (n_units - 1) / (n - 1)) for place in range(n)] if n > 1 else [0]
