"""The battles to judge: pairs of systems for each topic, and the system on the left.

Sources: RAGDoll 1f06719 for the sides and for the number of pairs of a topic.
"""

import random
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import combinations
from math import ceil
from typing import NamedTuple

import numpy as np

from assay_extensions.battles.ratings import Board


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
        if len(names) < 2:
            continue
        generator = random.Random(f"{seed}\0{topic}")  # noqa: S311
        order = sorted(names)
        generator.shuffle(order)
        circle = {_pair(order[n], order[n - 1]) for n in range(len(order))}
        pairs = [pair for pair in combinations(sorted(names), 2) if pair not in circle]
        generator.shuffle(pairs)
        if doubt:
            pairs.sort(key=lambda pair: -doubt.get(pair, np.inf))
        n = min(ceil(len(order) * per_system / 2), len(pairs) + len(circle))
        chosen = [*sorted(circle, key=lambda pair: (order.index(pair[0]), pair)), *pairs][:n]
        drawn += [Drawn(topic, *on_sides(*pair, topic=topic, seed=seed)) for pair in chosen]
    return drawn


def doubts(board: Board) -> dict[tuple[str, str], float]:
    """The doubt of each pair that can be compared: the standard error of its difference, less the difference."""
    doubt = {}
    for group in board.groups:
        for n, m in combinations(range(len(group.members)), 2):
            difference = group.difference(n, m)
            names = [board.outcomes.systems[group.members[place]] for place in (n, m)]
            doubt[_pair(*names)] = difference.error - abs(difference.value)
    return doubt


def _pair(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first < second else (second, first)
