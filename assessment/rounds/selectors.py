"""Read what an organizer needs to plan a training round or an adjudication."""

from collections.abc import Collection

from django.db.models import Count, Min, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Coalesce

from assay.html.sanitize import plain
from assessment.judgments.disagreements import Difference, Round, disagreements
from assessment.models import Batch, BatchEntry, Judgment
from corpus.models import Formula
from pooling.models import Pool, PoolEntry
from tracks.models import Topic, Track

MOST_FOUND = 50
LABEL_LENGTH = 100


def topics_to_train(pool: Pool) -> QuerySet[Topic]:
    """The topics that have units in a pool, by code, each with its number of units as `n_units`."""
    topics = Topic.objects.filter(pool_entries__pool=pool).annotate(n_units=Count("pool_entries"))
    return topics.order_by("natural_code", "code")  # a GROUP BY ignores the ordering of the model


def training_topics(pool: Pool) -> list[Topic]:
    """The topics that a training round starts with: as many as the protocol states, by code; all if it states none."""
    return list(topics_to_train(pool)[: pool.protocol.parsed.judging.training_topics or None])


def spread_entries(pool: Pool, topics: list[Topic], n: int) -> list[int]:
    """`n` entries of each topic, spread evenly over the best ranks at which runs retrieved them."""
    entries = PoolEntry.objects.filter(pool=pool, topic__in=topics)
    rows = entries.annotate(rank=Min("contributions__rank")).order_by("topic", "rank", "position")
    by_topic: dict[int, list[int]] = {}
    for topic, pk in rows.values_list("topic", "pk"):
        by_topic.setdefault(topic, []).append(pk)
    return [entries[place] for entries in by_topic.values() for place in spread(len(entries), n)]


def units_to_pick(pool: Pool) -> QuerySet[PoolEntry]:
    """The entries of a pool, by topic and order of judging; `latex` of a visually distinct formula, or empty."""
    latex: Value | Coalesce = Value("", output_field=TextField())
    if pool.protocol.parsed.unit == "visually-distinct-formula":  # other docnos may equal a visual id
        formulas = Formula.objects.filter(collection=pool.track.collection, visual=OuterRef("docno"))
        latex = Coalesce(
            Subquery(formulas.exclude(visual="").values("latex")[:1]), Value(""), output_field=TextField()
        )
    entries = PoolEntry.objects.filter(pool=pool).select_related("topic", "document").annotate(latex=latex)
    return entries.order_by("topic", "position")


def found_units(pool: Pool, text: str, topics: Collection[int], ticked: Collection[int]) -> list[PoolEntry]:
    """The ticked entries, then the first entries of some topics with a text in their document or formula, or a docno
    like it."""
    entries = units_to_pick(pool)
    chosen = list(entries.filter(pk__in=ticked)) if ticked else []
    if not text:
        return chosen
    of_text = (
        Q(docno__startswith=text)
        | Q(document__title__icontains=text)
        | Q(document__body__icontains=text)
        | Q(latex__icontains=text)
    )
    others = entries.filter(of_text, topic__in=topics).exclude(pk__in=ticked)
    return [*chosen, *others[:MOST_FOUND]]


def unit_label(entry: PoolEntry) -> str:
    """The start of the text of an entry of `units_to_pick`, with its formulas between dollars."""
    latex = getattr(entry, "latex", "")
    if entry.document is None:
        return f"${latex}$" if latex else ""
    return plain(entry.document.title or entry.document.body)[:LABEL_LENGTH]


def entries_to_adjudicate(track: Track, of_round: Round, difference: Difference) -> dict[int, int]:
    """The entries of units that differ as asked, each with its pool, without those in an adjudication batch."""
    ids = [unit.votes[0].judgment for unit in disagreements(track, of_round, difference)]
    rows = Judgment.objects.filter(pk__in=ids).order_by("pk").values_list("task__entry", "batch__pool")
    of_track = BatchEntry.objects.filter(batch__pool__track=track, batch__kind=Batch.Kind.ADJUDICATION)
    adjudicated = set(of_track.values_list("entry", flat=True))
    return {entry: pool for entry, pool in rows if entry not in adjudicated}


def spread(n_units: int, n: int) -> list[int]:
    """The places of `n` units spread evenly over `n_units`, from the first to the last; all if there are too few.

    >>> spread(9, 3), spread(2, 5), spread(9, 1)
    ([0, 4, 8], [0, 1], [0])
    """
    if n >= n_units:
        return list(range(n_units))
    return [round(place * (n_units - 1) / (n - 1)) for place in range(n)] if n > 1 else [0]
