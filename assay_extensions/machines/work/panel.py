"""Panels: several judges of the same units, whose grades become one, and how far they disagree."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

Way = Literal["median", "majority", "mean"]
WAYS: tuple[Way, ...] = ("median", "majority", "mean")


def median(grades: Sequence[int]) -> int:
    """The middle grade; the lower one of two in the middle.

    >>> median([3, 0, 2]), median([0, 1, 2, 3])
    (2, 1)
    """
    return sorted(grades)[(len(grades) - 1) // 2]


def majority(grades: Sequence[int]) -> int | None:
    """The grade of more than half of the judges; None if there is none.

    >>> majority([2, 2, 0]), majority([2, 1, 0]), majority([2, 2, 0, 0])
    (2, None, None)
    """
    grade, n = Counter(grades).most_common(1)[0]
    return grade if 2 * n > len(grades) else None


def most_probable(members: Sequence[Mapping[int, float]]) -> int:
    """The grade with the highest mean probability; the lower one of several. A grade that a member lacks has 0.

    >>> most_probable([{0: 0.9, 1: 0.1}, {1: 0.6, 2: 0.4}])
    0
    """
    grades = sorted({grade for member in members for grade in member})
    return max(grades, key=lambda grade: math.fsum(member.get(grade, 0.0) for member in members))


def entropy(grades: Sequence[int]) -> float:
    """The disagreement of judges: the entropy of their grades, in bits. 0 if all are equal.

    >>> entropy([1, 1, 1]), entropy([1, 2])
    (0.0, 1.0)
    """
    shares = [n / len(grades) for n in Counter(grades).values()]
    return abs(math.fsum(share * math.log2(share) for share in shares))
