"""Which topics a second assessor judges, and which units a training round has, by the rules of a protocol."""

from collections.abc import Collection, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from assay.pools.random_draws import random_numbers, stream_starts


class JudgedTopic(NamedTuple):
    """A topic of the main round. `able` can judge it a second time; `has_second` if somebody does already."""

    code: str
    assessors: tuple[str, ...]
    n_relevant: int
    n_units: int
    able: frozenset[str]
    is_done: bool = True
    has_second: bool = False


def topics_of_others(
    topics: Sequence[JudgedTopic], assessors: Sequence[str], n: int, given: Mapping[str, int]
) -> dict[str, str]:
    """Give each assessor `n` topics of others: those with the fewest relevant units (ARQMath 2020, 2021).

    Assessors are in a circle. Each gets a topic of the next one, then of the one after that, and so on. No topic is
    given twice, and none that is not judged completely: its relevant units are not known. With too few topics, some
    assessors get fewer. `given` counts the topics that assessors have got in earlier batches.

    >>> both = frozenset(["ana", "ben"])
    >>> topics = [
    ...     JudgedTopic("A.1", ("ana",), 9, 50, both - {"ana"}),
    ...     JudgedTopic("A.2", ("ana",), 2, 50, both - {"ana"}),
    ...     JudgedTopic("A.3", ("ben",), 5, 50, both - {"ben"}),
    ... ]
    >>> topics_of_others(topics, ["ana", "ben"], 1, {})
    {'A.3': 'ana', 'A.2': 'ben'}
    """
    open_topics = {topic.code: topic for topic in topics if topic.is_done and not topic.has_second}
    chosen: dict[str, str] = {}
    for turn in range(n):
        for place, assessor in enumerate(assessors):
            others = [assessors[(place + 1 + turn + step) % len(assessors)] for step in range(len(assessors))]
            has = given.get(assessor, 0) + sum(name == assessor for name in chosen.values())
            topic = _fewest_relevant(open_topics.values(), others, assessor) if has < n else None
            if topic is not None:
                chosen[topic.code] = assessor
                del open_topics[topic.code]
    return chosen


def _fewest_relevant(
    topics: Collection[JudgedTopic], others: Sequence[str], assessor: str
) -> JudgedTopic | None:
    """The topic with the fewest relevant units of the first of the others who still has one to give."""
    for other in others:
        left = [topic for topic in topics if other in topic.assessors and assessor in topic.able]
        if left:
            return min(left, key=lambda topic: (topic.n_relevant, topic.code))
    return None


def share_of_topics(
    topics: Sequence[JudgedTopic], assessors: Sequence[str], share: float, seed: int
) -> dict[str, str]:
    """Choose a share of the topics at random, rounded up, and give each to the assessor with the least load (BOLT).

    Topics that nobody is able to judge again are left out. The load is the number of units. Topics that have a second
    assessor already count toward the share.

    >>> topics = [JudgedTopic(f"Q{n}", ("ana",), 0, 50, frozenset(["ben"])) for n in range(4)]
    >>> sorted(share_of_topics(topics, ["ana", "ben"], 0.5, seed=1).values())
    ['ben', 'ben']
    """
    starts = stream_starts(seed, [(topic.code.encode(), b"dual") for topic in topics])
    draws = random_numbers(starts, starts * 0).tolist()
    drawn = [topic for _, topic in sorted(zip(draws, topics, strict=True), key=lambda pair: pair[0])]
    n_missing = ceil(share * len(topics)) - sum(topic.has_second for topic in topics)
    able = [topic for topic in drawn if not topic.has_second and topic.able.intersection(assessors)]
    load = dict.fromkeys(assessors, 0)
    chosen: dict[str, str] = {}
    for topic in able[: max(0, n_missing)]:
        chosen[topic.code] = min(topic.able.intersection(assessors), key=lambda name: (load[name], name))
        load[chosen[topic.code]] += topic.n_units
    return chosen


def spread(n_units: int, n: int) -> list[int]:
    """The places of `n` units spread evenly over `n_units`, from the first to the last; all if there are too few.

    >>> spread(9, 3), spread(2, 5), spread(9, 1)
    ([0, 4, 8], [0, 1], [0])
    """
    if n >= n_units:
        return list(range(n_units))
    return [round(place * (n_units - 1) / (n - 1)) for place in range(n)] if n > 1 else [0]
