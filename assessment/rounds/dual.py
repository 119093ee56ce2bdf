"""Choose the topics that a second assessor judges, by the rule of a protocol."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from accounts.models import User
from assay.protocols.description import those_judged_again
from assay.random_draws import random_numbers, stream_starts
from assessment.batches.other_batches import judged_units
from assessment.models import Batch, Judgment, TopicAssignment
from assessment.planning.proposals import may_get
from assessment.planning.rules import Plan
from assessment.planning.selectors import plan_of
from pooling.models import Pool
from tracks.models import Topic


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
            able = [topic for topic in open_topics.values() if assessor in topic.able and has < n]
            # Of the first of the others who still has a topic to give
            lefts = ([topic for topic in able if other in topic.assessors] for other in others)
            if left := next(filter(None, lefts), None):
                topic = min(left, key=lambda topic: (topic.n_relevant, topic.code))
                chosen[topic.code] = assessor
                del open_topics[topic.code]
    return chosen


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


@dataclass(frozen=True)
class DualTopic:
    """A topic with the people who may judge it a second time, and the one that the protocol's rule proposes.

    `judged_by` have it in a main batch, `second` in other second judgments. `judged` and `total` count units; those
    that main batches of other pools have judged count too.
    """

    topic: Topic
    judged_by: list[User]
    second: list[User]
    judged: int
    total: int
    n_relevant: int
    able: list[User]
    proposed: User | None

    @property
    def is_done(self) -> bool:
        return self.judged >= self.total


def dual_proposal(pool: Pool) -> list[DualTopic]:
    """The topics of a pool's main batches, by code, with a second assessor for those that the protocol's rule selects.

    The rules are `dual_topics` and `dual_share` of the protocol; without either, nobody is proposed. A topic that
    other second judgments have is not proposed again. The number of queries does not depend on topics and assessors.
    """
    plan = plan_of(Batch(pool=pool, kind=Batch.Kind.DUAL))
    main, second = _holders(pool, Batch.Kind.MAIN), _holders(pool, Batch.Kind.DUAL)
    protocol = pool.protocol.parsed
    done, has_scale = (
        judged_units(pool, relevant_from=protocol.agreement.binary_from),
        protocol.judging.has_scale,
    )
    users = sorted((judge.user for judge in plan.judges.values()), key=lambda user: user.username)
    able = {
        pk: [user for user in users if may_get(plan.copy_of(topic), topic, user)]
        for pk, topic in plan.topics.items()
        if pk in main
    }
    judged = {
        topic: JudgedTopic(
            code=plan.topics[topic].code,
            assessors=tuple(sorted(user.username for user in main[topic])),
            n_relevant=done[topic].n_relevant if has_scale else 0,
            n_units=plan.sizes[topic],
            able=frozenset(user.username for user in who),
            is_done=done[topic].n_judged >= plan.sizes[topic],
            has_second=topic in second,
        )
        for topic, who in able.items()
    }
    topics = sorted(judged, key=lambda topic: plan.topics[topic].natural_code)
    proposed = _proposed(pool, [judged[topic] for topic in topics], plan, second)
    return [
        DualTopic(
            topic=plan.topics[topic],
            judged_by=main[topic],
            second=second.get(topic, []),
            judged=done[topic].n_judged,
            total=plan.sizes[topic],
            n_relevant=judged[topic].n_relevant,
            able=able[topic],
            proposed=proposed.get(judged[topic].code),
        )
        for topic in topics
    ]


def _holders(pool: Pool, kind: str) -> dict[int, list[User]]:
    """The people who have each topic in a kind of batch of the pool, or have judged in it, by name."""
    held = TopicAssignment.objects.filter(batch__pool=pool, batch__kind=kind, is_withdrawn=False)
    judgments = Judgment.objects.filter(batch__pool=pool, batch__kind=kind, is_current=True).order_by()
    pairs = {*held.values_list("topic", "assessor"), *judgments.values_list("topic", "assessor").distinct()}
    people = User.objects.in_bulk({assessor for _, assessor in pairs})
    holders: dict[int, list[User]] = {}
    for topic, assessor in pairs:
        holders.setdefault(topic, []).append(people[assessor])
    return {topic: sorted(users, key=lambda user: user.username) for topic, users in holders.items()}


def _proposed(
    pool: Pool, topics: list[JudgedTopic], plan: Plan, second: Mapping[int, list[User]]
) -> dict[str, User]:
    """The second assessor of each topic that the rule selects, by the topic's code."""
    rules = pool.protocol.parsed.judging
    people = {judge.user.username: judge.user for judge in plan.judges.values()}
    given = Counter(user.username for users in second.values() for user in users)
    names = sorted(people)
    if rules.dual_topics:
        judges = [name for name in names if any(name in topic.assessors for topic in topics)]
        chosen = topics_of_others(topics, judges, rules.dual_topics, given)
    else:
        chosen = share_of_topics(topics, names, rules.dual_share, pool.seed)
    return {code: people[name] for code, name in chosen.items()}


def rule_in_words(pool: Pool) -> str:
    """The rule of the pool's protocol for dual judging, or that it has none."""
    protocol = pool.protocol.parsed
    rules = protocol.judging
    if rules.dual_topics:
        n = "one topic" if rules.dual_topics == 1 else f"{rules.dual_topics} topics"
        return (
            f"The protocol gives each assessor {n} of another: {those_judged_again(protocol)}. "
            "Topics that are not judged completely are left out."
        )
    if rules.dual_share:
        return (
            f"The protocol has {rules.dual_share:.0%} of the topics judged twice. They are chosen at random."
        )
    return "The protocol has no rule for second judgments. Choose the topics yourself."
