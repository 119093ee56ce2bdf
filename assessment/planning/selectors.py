"""What an organizer needs to plan a training round."""

from django.db.models import Min, QuerySet

from assessment.agreement.selectors import training_batches
from assessment.judgments.rules import judging_rules
from assessment.planning.rules import spread
from pooling.models import Pool, PoolEntry
from tracks.models import Topic, Track


def pools_to_plan() -> QuerySet[Pool]:
    """The pools that are ready, newest first."""
    ready = Pool.objects.filter(status=Pool.Status.READY)
    return ready.select_related("track__protocol", "protocol").defer("statistics")


def n_training_rounds(track: Track) -> int:
    """How many training batches a track has."""
    return training_batches(track).count()


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
