"""A limit of runs per team: which runs are left out of a pool."""

from collections import Counter
from collections.abc import Sequence


def beyond_limit(
    teams: Sequence[str], is_baseline: Sequence[bool], depths: Sequence[int], *, most: int | None
) -> list[bool]:
    """(runs,) whether each run comes after the first `most` runs of its team that would be pooled.

    Runs of depth 0 do not count. Baselines neither count nor are left out.

    Parameters
    ----------
    teams, is_baseline, depths : (runs,) in the order of each team's priorities.
    most : the limit; None: no run is left out.

    Raises
    ------
    ValueError
        The limit is below 1.

    Examples
    --------
    >>> beyond_limit(["A", "A", "B"], [False, False, False], [20, 10, 20], most=1)
    [False, True, False]
    """
    if most is None:
        return [False] * len(teams)
    if most < 1:
        raise ValueError(f"the limit of runs per team must be at least 1, got {most}")
    n_of: Counter[str] = Counter()
    beyond = []
    for team, is_outside, depth in zip(teams, is_baseline, depths, strict=True):
        is_counted = depth > 0 and not is_outside
        n_of[team] += is_counted
        beyond.append(is_counted and n_of[team] > most)
    return beyond
