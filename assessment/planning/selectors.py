"""What an organizer needs to plan a training round."""

from collections.abc import Collection

from django.db.models import Min, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Coalesce

from assay.html.sanitize import plain
from assessment.agreement.selectors import training_batches
from assessment.judgments.rules import judging_rules
from assessment.planning.rules import spread
from corpus.models import Formula
from pooling.models import Pool, PoolEntry
from tracks.models import Topic, Track

MOST_FOUND = 50
LABEL_LENGTH = 100


def pools_to_plan() -> QuerySet[Pool]:
    """The pools that are ready, newest first."""
    ready = Pool.objects.filter(status=Pool.Status.READY)
    return ready.select_related("track__protocol", "protocol").defer("statistics")


def n_training_rounds(track: Track) -> int:
    """How many training batches a track has."""
    return training_batches(track).count()


def topics_to_train(pool: Pool) -> QuerySet[Topic]:
    """The topics that have units in a pool, by code."""
    return Topic.objects.filter(pk__in=PoolEntry.objects.filter(pool=pool).values("topic")).order_by("code")


def training_topics(pool: Pool) -> list[Topic]:
    """The topics that a training round starts with: as many as the protocol states, by code; all if it states none."""
    return list(topics_to_train(pool)[: judging_rules(pool.protocol).training_topics or None])


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
    return entries.order_by("topic__code", "position")


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
    """The topic, the docno and the start of the text of an entry."""
    document = entry.document
    text = getattr(entry, "latex", "") if document is None else plain(document.title or document.body)
    return f"{entry.topic.code}, {entry.docno}" + (f": {text[:LABEL_LENGTH]}" if text else "")
