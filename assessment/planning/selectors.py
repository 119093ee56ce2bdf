"""What an organizer needs to plan a round: the topics of the main round, and the units of a training round."""

from typing import NamedTuple

from django.db.models import Count, Min, Q, QuerySet

from accounts.models import User
from assessment.agreement.selectors import training_batches
from assessment.batches.selectors import assessors_of
from assessment.judgments.rules import judging_rules, relevant_from
from assessment.models import Batch, Judgment, TopicAssignment
from assessment.planning.rules import JudgedTopic, share_of_topics, spread, topics_of_others
from pooling.models import Pool, PoolEntry
from tracks.models import Topic, Track


def pools_to_plan() -> QuerySet[Pool]:
    """The pools that are ready, newest first."""
    ready = Pool.objects.filter(status=Pool.Status.READY)
    return ready.select_related("track__protocol", "protocol").defer("statistics")


def n_training_rounds(track: Track) -> int:
    """How many training batches a track has."""
    return training_batches(track).count()


class DualTopic(NamedTuple):
    """A topic with the people who may judge it a second time, and the one that the protocol's rule proposes."""

    topic: Topic
    judged_by: list[User]
    n_relevant: int
    able: list[User]
    proposed: User | None


def dual_proposal(pool: Pool) -> list[DualTopic]:
    """The topics of a pool's main batches, by code, with a second assessor for those that the protocol's rule selects.

    The rules are `dual_topics` and `dual_share` of the protocol; without either, nobody is proposed.
    """
    people = {user.username: user for user in assessors_of(pool.track)}
    judged = _judged_topics(pool)
    topics = {
        topic.code: topic for topic in pool.track.topics.filter(code__in=[each.code for each in judged])
    }
    proposed = _proposed(pool, judged, list(people))
    return [
        DualTopic(
            topic=topics[each.code],
            judged_by=[people[name] for name in each.assessors if name in people],
            n_relevant=each.n_relevant,
            able=[user for name, user in people.items() if name not in each.assessors],
            proposed=people.get(proposed.get(each.code, "")),
        )
        for each in judged
    ]


def _judged_topics(pool: Pool) -> list[JudgedTopic]:
    main = TopicAssignment.objects.filter(batch__pool=pool, batch__kind=Batch.Kind.MAIN, is_withdrawn=False)
    names: dict[str, set[str]] = {}
    for code, name in main.values_list("topic__code", "assessor__username"):
        names.setdefault(code, set()).add(name)
    judgments = Judgment.objects.filter(
        batch__pool=pool, batch__kind=Batch.Kind.MAIN, is_current=True
    ).order_by()
    is_relevant = Q(grade__gte=relevant_from(pool.protocol))
    relevant = dict(
        judgments.values_list("topic__code").annotate(n=Count("docno", filter=is_relevant, distinct=True))
    )
    for code, name in judgments.values_list("topic__code", "assessor__username").distinct():
        names.setdefault(code, set()).add(name)
    return [JudgedTopic(code, tuple(sorted(names[code])), relevant.get(code, 0)) for code in sorted(names)]


def _proposed(pool: Pool, topics: list[JudgedTopic], people: list[str]) -> dict[str, str]:
    rules = judging_rules(pool.protocol)
    if rules.dual_topics:
        judges = [name for name in people if any(name in topic.assessors for topic in topics)]
        return topics_of_others(topics, judges, rules.dual_topics)
    return share_of_topics(topics, people, rules.dual_share, pool.seed) if rules.dual_share else {}


def rule_in_words(pool: Pool) -> str:
    """The rule of the pool's protocol for dual judging, or that it has none."""
    rules = judging_rules(pool.protocol)
    if rules.dual_topics:
        n = "one topic" if rules.dual_topics == 1 else f"{rules.dual_topics} topics"
        return f"The protocol gives each assessor {n} of another: those with the fewest relevant units."
    if rules.dual_share:
        return (
            f"The protocol has {rules.dual_share:.0%} of the topics judged twice. They are chosen at random."
        )
    return "The protocol has no rule for dual judging. Choose the topics yourself."


def training_topics(pool: Pool) -> list[Topic]:
    """The topics that a training round starts with: as many as the protocol states, by code; all if it states none."""
    topics = Topic.objects.filter(pk__in=PoolEntry.objects.filter(pool=pool).values("topic")).order_by("code")
    return list(topics[: judging_rules(pool.protocol).training_topics or None])


def spread_entries(pool: Pool, topics: list[Topic], n: int) -> list[int]:
    """`n` entries of each topic, spread evenly over the best ranks at which runs retrieved them."""
    entries = PoolEntry.objects.filter(pool=pool, topic__in=topics)
    rows = entries.annotate(rank=Min("contributions__rank")).order_by("topic", "rank", "position")
    by_topic: dict[int, list[int]] = {}
    for topic, pk in rows.values_list("topic", "pk"):
        by_topic.setdefault(topic, []).append(pk)
    return [entries[place] for entries in by_topic.values() for place in spread(len(entries), n)]
