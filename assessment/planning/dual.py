"""Which topics of a pool a second assessor judges, as the protocol's rule proposes it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from accounts.models import User
from assay.errors import Refused
from assessment.assignments.rules import Plan
from assessment.assignments.selectors import plan_of
from assessment.judgments.other_batches import judged_units
from assessment.judgments.rules import binary_from, judging_rules
from assessment.models import Batch, Judgment, TopicAssignment
from assessment.planning.rules import JudgedTopic, share_of_topics, topics_of_others
from pooling.models import Pool
from tracks.models import Topic


@dataclass(frozen=True)
class DualTopic:
    """A topic with the people who may judge it a second time, and the one that the protocol's rule proposes.

    `judged_by` have it in a main batch, `second` in another dual batch. `judged` and `total` count units; those that
    main batches of other pools have judged count too.
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
    another dual batch has is not proposed again. The number of queries does not depend on the topics and assessors.
    """
    plan = plan_of(Batch(pool=pool, kind=Batch.Kind.DUAL))
    main, second = _holders(pool, Batch.Kind.MAIN), _holders(pool, Batch.Kind.DUAL)
    done = judged_units(pool, relevant_from=binary_from(pool.protocol))
    able = {topic: _able(plan, plan.topics[topic]) for topic in main if topic in plan.topics}
    judged = {
        topic: JudgedTopic(
            code=plan.topics[topic].code,
            assessors=tuple(sorted(user.username for user in main[topic])),
            n_relevant=done[topic].n_relevant,
            n_units=plan.sizes[topic],
            able=frozenset(user.username for user in users),
            is_done=done[topic].n_judged >= plan.sizes[topic],
            has_second=topic in second,
        )
        for topic, users in able.items()
    }
    topics = sorted(judged, key=lambda topic: judged[topic].code)
    proposed = _proposed(pool, [judged[topic] for topic in topics], plan, second)
    return [
        DualTopic(
            topic=plan.topics[topic],
            judged_by=main[topic],
            second=second.get(topic, []),
            judged=done[topic].n_judged,
            total=plan.sizes[topic],
            n_relevant=done[topic].n_relevant,
            able=able[topic],
            proposed=proposed.get(judged[topic].code),
        )
        for topic in topics
    ]


def _holders(pool: Pool, kind: str) -> dict[int, list[User]]:
    """Who has each topic in a kind of batch of the pool, or has judged in it, by name."""
    held = TopicAssignment.objects.filter(batch__pool=pool, batch__kind=kind, is_withdrawn=False)
    judgments = Judgment.objects.filter(batch__pool=pool, batch__kind=kind, is_current=True).order_by()
    pairs = {*held.values_list("topic", "assessor"), *judgments.values_list("topic", "assessor").distinct()}
    people = User.objects.in_bulk({assessor for _, assessor in pairs})
    holders: dict[int, list[User]] = {}
    for topic, assessor in pairs:
        holders.setdefault(topic, []).append(people[assessor])
    return {topic: sorted(users, key=lambda user: user.username) for topic, users in holders.items()}


def _able(plan: Plan, topic: Topic) -> list[User]:
    """The assessors who can get the topic in a dual batch, by name."""
    users = sorted((judge.user for judge in plan.judges.values()), key=lambda user: user.username)
    return [user for user in users if _may(plan, topic, user)]


def _may(plan: Plan, topic: Topic, user: User) -> bool:
    try:
        plan.copy_of(topic).assign(topic, user)
    except Refused:
        return False
    return True


def _proposed(
    pool: Pool, topics: list[JudgedTopic], plan: Plan, second: Mapping[int, list[User]]
) -> dict[str, User]:
    """The second assessor of each topic that the rule selects, by the topic's code."""
    rules = judging_rules(pool.protocol)
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
    rules = judging_rules(pool.protocol)
    if rules.dual_topics:
        n = "one topic" if rules.dual_topics == 1 else f"{rules.dual_topics} topics"
        return (
            f"The protocol gives each assessor {n} of another: those with the fewest relevant units, "
            "of the topics that are judged completely."
        )
    if rules.dual_share:
        return (
            f"The protocol has {rules.dual_share:.0%} of the topics judged twice. They are chosen at random."
        )
    return "The protocol has no rule for dual judging. Choose the topics yourself."
