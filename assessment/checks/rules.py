"""How many hidden checks an assessor gets, and when."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

from assessment.models import Batch

KINDS = (Batch.Kind.MAIN, Batch.Kind.DUAL)  # of batches that can have hidden checks


def n_checks(percent: int, n_units: int) -> int:
    """The number of checks for some units, rounded.

    >>> n_checks(10, 24), n_checks(10, 25), n_checks(0, 25)
    (2, 3, 0)
    """
    return (percent * n_units + 50) // 100


def places(n: int, n_tasks: int, rng: Random) -> list[int]:
    """After how many of the coming tasks each of `n` checks is due: one in each of `n` equal stretches, at random.

    The first task is a check only if there are no others.

    >>> places(2, 2, Random(1)), places(0, 9, Random(1)), places(1, 1, Random(1))
    ([1, 1], [], [0])
    """
    least = int(n_tasks > 1)
    stretches = [(i * n_tasks // n, (i + 1) * n_tasks // n) for i in range(n)]
    return [max(least, rng.randrange(start, max(end, start + 1))) for start, end in stretches]


def gaps(n: int, least: int, rng: Random) -> list[int]:
    """After how many further tasks each of `n` units is repeated: from `least` to half as many more, at random.

    >>> gaps(1, 1, Random(1))
    [1]
    """
    return [least + rng.randrange(least // 2 + 1) for _ in range(n)]


def parts(values: Sequence[bool], n: int) -> list[tuple[int, int]]:
    """`n` consecutive parts of almost equal length: how many values are true, of how many.

    >>> parts([True, False, True, True], 2)
    [(1, 2), (2, 2)]
    """
    ends = [len(values) * i // n for i in range(n + 1)]
    return [(sum(values[start:end]), end - start) for start, end in pairwise(ends)]
