"""Pool strategies: how the ranks of runs become a pool. Protocols name one in `pool.strategy`.

An extension can add others. The functions are named by references, such as `assay.pools.strategies:first_ranks`, so
that a protocol can be read without importing them.
"""

from dataclasses import dataclass
from typing import Literal

from assay.extensions import Point, Reference, Registry


@dataclass(frozen=True, kw_only=True)
class PoolStrategy(Point):
    """A way to build a pool: `pool.strategy` of a protocol.

    Attributes:
        title: the pooled units, as the protocol editor lists them.
        cell: the same in two or three words, for the table that compares collections.
        sentence: the rule in the description of a protocol. `{depths}` and `{k}` are the depths, `{target}` the number
            of units per topic.
        build: reference of `build(runs, depths, material) -> BuiltPool`. `runs` are the `RunColumns` of the runs,
            `depths` is the depth of each, and `material` is the protocol, the seed and other input.
        sizes: reference of `sizes(runs, depths, material) -> PooledUnits`, the units for the preview. In the place of
            ranks, they have what the depth counts. Without it, such a pool has no preview.
        layouts: if its units are of generated answers: the values of `judging.layout` that show them.
        depth: whether kinds of runs have depths: "never": a protocol with depths is refused, "optional", or
            "required": some kind has a depth above 0.
        stops_at_depth: whether it reads no rank below the depth of a run, so that fewer ranks are kept in memory.
    """

    noun = "pool strategy"

    cell: str
    sentence: str
    build: Reference
    sizes: Reference = ""
    layouts: tuple[str, ...] = ()
    depth: Literal["never", "optional", "required"] = "optional"
    stops_at_depth: bool = False


_BUILD, _SIZES = "assay.pools.strategies:", "assay.pools.preview:"
POOL_STRATEGIES = Registry(
    PoolStrategy,
    [
        PoolStrategy(
            "top-k",
            "the first ranks of each run",
            cell="first ranks",
            sentence="The first ranks of the runs are pooled: {depths}.",
            build=f"{_BUILD}first_ranks",
            sizes=f"{_SIZES}by_rank",
            depth="required",
            stops_at_depth=True,
        ),
        PoolStrategy(
            "distinct-units",
            "the first distinct formulas of each run",
            cell="first distinct formulas",
            sentence="Each run is pooled down to the first instance of its k-th distinct formula; k is {k}.",
            build=f"{_BUILD}distinct_units",
            sizes=f"{_SIZES}by_distinct_unit",
            depth="required",
        ),
        PoolStrategy(
            "round-robin-until",
            "one rank of every run at a time, until a topic has enough units",
            cell="round robin",
            sentence="One rank at a time is pooled from every run, until a topic has {target}.",
            build=f"{_BUILD}round_robin_until",
            sizes=f"{_SIZES}by_round",
            stops_at_depth=True,
        ),
        PoolStrategy(
            "top-k-by-score",
            "the units with the highest scores",
            cell="highest scores",
            sentence="The units with the highest scores are pooled: {depths}.",
            build=f"{_BUILD}highest_scores",
            sizes=f"{_SIZES}by_rank",
            depth="required",
            stops_at_depth=True,
        ),
        PoolStrategy(
            "known-item",
            "nothing: the relevant units are known",
            cell="known items",
            sentence="The known items are the only relevant units; nothing is judged.",
            build=f"{_BUILD}known_items",
            stops_at_depth=True,
        ),
        PoolStrategy(
            "answers",
            "all answers of the pooled runs",
            cell="all answers",
            sentence="All answers of the pooled runs are judged.",
            build=f"{_BUILD}answers",
            layouts=("generated-answer", "rubric"),
        ),
        PoolStrategy(
            "rows",
            "the rows of a table that organizers import",
            cell="rows of a table",
            sentence="The units are the rows of a table that organizers import.",
            build=f"{_BUILD}rows",
        ),
    ],
)
