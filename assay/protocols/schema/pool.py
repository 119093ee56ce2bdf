"""The tables `pool` and `instances`: what is pooled, and in which order it is judged."""

from dataclasses import dataclass
from typing import Annotated, Literal

from assay.protocols.schema.common import OF_FORMULAS, OF_PAIRS
from assay.protocols.strategies import POOL_STRATEGIES
from assay.structure import Key, OneOf

JudgingOrder = Literal["random", "by-run-votes", "move-to-front", "by-answer"]
ORDERS = {
    "random": "Units are judged in random order.",
    "by-run-votes": "Units that the most runs retrieved are judged first.",
    "move-to-front": "Units are judged in move-to-front order.",
    "by-answer": "Answers are judged in random order, all nuggets of each one after the other; then citations, "
    "document by document.",
}
Clustering = Literal["none", "submitted", "collection"]
CLUSTERINGS = {
    "none": "none",
    "submitted": "formulas that runs submit",
    "collection": "all formulas of the collection",
}
InstanceStrategy = Literal["thread-random", "most-runs", "reciprocal-rank-vote"]
SAMPLING = {
    "thread-random": "chosen at random, from as many threads as possible",
    "most-runs": "those that the most runs submitted",
    "reciprocal-rank-vote": "those with the highest sum of reciprocal ranks",
}
PairSelection = Literal["all", "tournament", "pooled-best"]
PAIR_SELECTIONS = {
    "all": "all pairs",
    "tournament": "pairs of a tournament in rounds",
    "pooled-best": "the best unseen document of each run against the winner so far",
}


@dataclass(frozen=True, slots=True)
class PairRules:
    """The pairs of pooled documents of a topic that are judged."""

    selection: Annotated[
        PairSelection,
        Key(
            "Judged pairs",
            "All pairs; or pairs in rounds: a tournament, or the best unseen document of each run against"
            " the winner so far.",
            values=PAIR_SELECTIONS,
        ),
    ] = "all"
    k: Annotated[
        int | None,
        Key(
            "Best documents",
            "The number of documents that a tournament makes the best. If left out: 5.",
            when={".selection": ("tournament",)},
        ),
    ] = None
    partners: Annotated[
        int | None,
        Key(
            "Pairs per document and round",
            "The pairs of each document in a round of a tournament, above `pool.pairs.k`. If left out: 7.",
            when={".selection": ("tournament",)},
        ),
    ] = None
    few: Annotated[
        int | None,
        Key(
            "Documents of the last round",
            "The number of documents of which all pairs are judged at last, above "
            "`pool.pairs.partners`. If left out: 9.",
            when={".selection": ("tournament",)},
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class PoolRules:
    """The way from runs to a pool, and the order in which it is judged."""

    strategy: Annotated[
        str,
        OneOf(POOL_STRATEGIES),
        Key(
            "How ranks become a pool",
            "How ranks become a pool: see [How pools are "
            "made](../explanation/pools.md#which-units-are-pooled).",
        ),
    ]
    depth_is_default: Annotated[
        bool,
        Key(
            "Organizers may choose other depths",
            "The publication leaves the depth open. Pages then say that organizers may choose another.",
            is_rare=True,
        ),
    ] = False
    target: Annotated[
        int | None,
        Key(
            "Units per topic",
            "The number of units at which a topic is complete, or of the battles of a topic in a pool. Required by "
            "`round-robin-until` and `battles`.",
            when={"pool.strategy": ("round-robin-until", "battles")},
        ),
    ] = None
    near_duplicate_overlap: Annotated[
        float | None,
        Key(
            "Overlap of near-duplicates",
            "The share of word bigrams, above 0 and at most 1, from which two passages are near-duplicates.",
            when={"unit": ("passage",)},
        ),
    ] = None
    order: Annotated[
        JudgingOrder,
        Key(
            "Order of judging",
            "The order of judging: see [In which order a topic is "
            "judged](../explanation/pools.md#in-which-order-a-topic-is-judged).",
            values=ORDERS,
        ),
    ] = "random"
    pairs: Annotated[
        PairRules | None,
        Key(
            "Pairs",
            "Which pairs of the pooled documents of a topic are judged, for the layout `pair`: see "
            "[Pairs](../explanation/pools.md#pairs).",
            when=OF_PAIRS,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class InstanceRules:
    """The clustering of formulas, and the choice of the judged instances of a visually distinct formula."""

    clustering: Annotated[
        Clustering,
        Key(
            "Formulas that are compared",
            "Which formulas are compared by their looks: those of the whole collection, those that runs "
            "submit, or none.",
            values=CLUSTERINGS,
            when=OF_FORMULAS,
        ),
    ] = "none"
    strategy: Annotated[
        InstanceStrategy | None,
        Key(
            "Choice of instances",
            "Which instances of a formula are shown: see [Which instances of a formula are "
            "shown](../explanation/pools.md#which-instances-of-a-formula-are-shown).",
            values=SAMPLING,
            when=OF_FORMULAS,
        ),
    ] = None
    limit: Annotated[
        int | None,
        Key(
            "Instances per formula",
            "The most instances of a formula that are shown. Required with a strategy.",
            when=OF_FORMULAS,
        ),
    ] = None
