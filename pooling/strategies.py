"""How runs become a pool: the strategies that a protocol may name, and the one function that follows it.

A new strategy is a function of the same signature, entered in `STRATEGIES` under its name in `protocols.schema`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pooling.columns import RunColumns
from pooling.depth import PooledUnits, top_k
from pooling.order import ORDERS
from protocols.schema import PoolRules, Protocol


class PoolError(ValueError):
    """Runs that cannot be pooled as the protocol says."""


@dataclass(frozen=True, slots=True)
class PoolInput:
    """A run that goes into a pool. `pooled_as` is for baselines; empty: as the protocol says."""

    columns: RunColumns
    team: str
    tag: str
    kind: str
    pooled_as: str = ""


@dataclass(frozen=True, slots=True)
class BuiltPool:
    """The pooled units, their positions within their topics (from 1), and the depth of each run."""

    units: PooledUnits
    position: NDArray[np.int32]
    depths: tuple[int, ...]


Strategy = Callable[[Sequence[RunColumns], Sequence[int], PoolRules], PooledUnits]


def _top_k(runs: Sequence[RunColumns], depths: Sequence[int], _rules: PoolRules) -> PooledUnits:
    return top_k(runs, depths)


STRATEGIES: dict[str, Strategy] = {"top-k": _top_k}


def depths_of(
    inputs: Sequence[PoolInput], rules: PoolRules, depth: Mapping[str, int] | None = None
) -> list[int]:
    """The depth of each run: the protocol's by its kind, or that of `depth` for the kinds named there."""
    rules = with_depth(rules, depth or {})
    return [rules.depth_of(one.kind, one.tag, one.pooled_as) for one in inputs]


def with_depth(rules: PoolRules, depth: Mapping[str, int]) -> PoolRules:
    """The rules with other depths for some kinds of run.

    Raises
    ------
    PoolError
        A kind that the protocol does not pool, or a depth below 0.
    """
    for kind, k in depth.items():
        if kind not in rules.depth:
            raise PoolError(f"there is no depth for the kind {kind}; use {', '.join(rules.depth)}")
        if k < 0:
            raise PoolError(f"the depth {k} for {kind} is below 0")
    return replace(rules, depth={**rules.depth, **depth})


def check_strategies(protocol: Protocol) -> None:
    """Make sure that everything that the protocol names for its pool is there.

    Raises
    ------
    PoolError
        It names a strategy or an order that this version does not have.
    """
    pool = protocol.pool
    if pool.strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise PoolError(f"{protocol.slug}: pool.strategy: {pool.strategy} is not available; there is {known}")
    if pool.order not in ORDERS:
        raise PoolError(
            f"{protocol.slug}: pool.order: {pool.order} is not available; there is {', '.join(ORDERS)}"
        )
    if pool.near_duplicate_overlap is not None:
        raise PoolError(f"{protocol.slug}: pool.near_duplicate_overlap: near-duplicates cannot be joined yet")


def build_pool(
    inputs: Sequence[PoolInput], *, protocol: Protocol, seed: int, depth: Mapping[str, int] | None = None
) -> BuiltPool:
    """Pool runs as the protocol says. The same inputs in the same order give the same pool.

    Parameters
    ----------
    depth : depths that replace the protocol's, by kind of run.

    Raises
    ------
    PoolError
        The protocol cannot be followed, or no run is pooled to any depth.
    ValueError
        The seed is negative or too large.
    """
    check_strategies(protocol)
    depths = depths_of(inputs, protocol.pool, depth)
    if not any(depths):
        raise PoolError("there is no run of a kind that is pooled to a depth above 0")
    units = STRATEGIES[protocol.pool.strategy]([one.columns for one in inputs], depths, protocol.pool)
    return BuiltPool(units, ORDERS[protocol.pool.order](units, seed), tuple(depths))
