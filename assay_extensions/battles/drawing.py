"""The battles to judge: pairs of systems for each topic, and the system on the left.

Sources: RAGDoll 1f06719 for the sides and for the number of pairs of a topic.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from itertools import combinations
from math import ceil
from typing import NamedTuple

import numpy as np

from assay_extensions.battles.ratings import Board

Pair = tuple[str, str]  # in the order of their names


class Drawn(NamedTuple):
    """A battle to judge."""

    topic: str
    model_a: str
    model_b: str


def on_sides(first: str, second: str, *, topic: str, seed: str) -> tuple[str, str]:
    """The systems on the left and on the right, drawn by the digest of seed, systems and topic.

    >>> on_sides("alpha", "beta", topic="t1", seed="0")
    ('alpha', 'beta')
    """
    text = "\0".join((seed, *sorted((first, second)), topic))
    is_turned = sha256(text.encode()).digest()[0] % 2 == 1
    return (second, first) if is_turned else (first, second)


def draw(
    systems_of: Mapping[str, Sequence[str]], *, per_system: int, seed: str, board: Board | None = None
) -> list[Drawn]:
    """Draw battles for each topic: ceil(systems * per_system / 2) pairs of its systems, or all of them if fewer.

    The first pairs are a circle through all systems in random order, so that each system has a battle and all are
    connected. The others are drawn at random; with a `board`, those come first whose difference is least certain.

    Args:
        systems_of: the systems that answered each topic; topics with fewer than two are left out.
        per_system: battles of each system on a topic, on average.
    """
    drawn, doubt = [], {} if board is None else doubts(board)
    for topic, names in systems_of.items():
        n = ceil(len(names) * per_system / 2)
        pairs = draw_pairs(topic, names, n=n, seed=seed, doubt=doubt)
        drawn += [Drawn(topic, *on_sides(*pair, topic=topic, seed=seed)) for pair in pairs]
    return drawn


def draw_pairs(
    topic: str,
    names: Sequence[str],
    *,
    n: int,
    seed: str,
    doubt: Mapping[Pair, float],
    done: Collection[tuple[str, ...]] = (),
) -> list[Pair]:
    """The first `n` pairs of systems of a topic that are not `done`, drawn as in `draw`."""
    if len(names) < 2:
        return []
    generator = random.Random(f"{seed}\0{topic}")  # noqa: S311
    order = sorted(names)
    generator.shuffle(order)
    circle = {_pair(order[place], order[place - 1]) for place in range(len(order))}
    pairs = [pair for pair in combinations(sorted(names), 2) if pair not in circle]
    generator.shuffle(pairs)
    if doubt:
        pairs.sort(key=lambda pair: -doubt.get(pair, np.inf))
    chosen = [*sorted(circle, key=lambda pair: (order.index(pair[0]), pair)), *pairs]
    return [pair for pair in chosen if pair not in done][:n]


def doubts(board: Board) -> dict[Pair, float]:
    """The uncertainty of each pair whose difference has a standard error: the error minus the difference."""
    doubt = {}
    for group in board.groups:
        for n, m in combinations(range(len(group.members)), 2):
            difference = group.difference(n, m)
            names = [board.outcomes.systems[group.members[place]] for place in (n, m)]
            if not np.isnan(difference.error):
                doubt[_pair(*names)] = difference.error - abs(difference.value)
    return doubt


def _pair(first: str, second: str) -> Pair:
    return (first, second) if first < second else (second, first)
