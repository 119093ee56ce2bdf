"""Measures of preferences."""

from collections.abc import Callable

import numpy as np

from assay.trec_eval.measures.preferences import Counts, Group, Matrix, Preferences

OfTopic = Callable[[Preferences], float]


def n_possible(topic: Preferences) -> float:
    return sum(counts.both + counts.single + counts.none for counts in topic.counts)


def n_fulfilled(topic: Preferences) -> float:
    return sum(counts.fulfilled_both + counts.fulfilled_single for counts in topic.counts)


def n_fulfilled_returned(topic: Preferences) -> float:
    return sum(counts.fulfilled_both for counts in topic.counts)


def _everything(counts: Counts) -> tuple[int, int]:
    return counts.fulfilled_both + counts.fulfilled_single, counts.both + counts.single + counts.none


def _returned(counts: Counts) -> tuple[int, int]:
    return counts.fulfilled_both, counts.both


def _implied(counts: Counts) -> tuple[int, int]:
    return counts.fulfilled_both + counts.fulfilled_single, counts.both + counts.single


COUNTED = {"": _everything, "_ret": _returned, "_imp": _implied}


def simple(suffix: str) -> OfTopic:
    """Preferences fulfilled, divided by preferences expressed, for all groups together."""

    def compute(topic: Preferences) -> float:
        counted = [COUNTED[suffix](counts) for counts in topic.counts]
        return _ratio(sum(fulfilled for fulfilled, _ in counted), sum(possible for _, possible in counted))

    return compute


def mean_over_groups(suffix: str) -> OfTopic:
    """Mean over groups of preferences fulfilled, divided by preferences expressed."""

    def compute(topic: Preferences) -> float:
        ratios = [_ratio(*COUNTED[suffix](counts)) for counts in topic.counts]
        return sum(ratios) / len(ratios)

    return compute


def mean_over_pairs(suffix: str) -> OfTopic:
    """Mean over pairs of documents of the share of groups whose preference is fulfilled."""

    def compute(topic: Preferences) -> float:
        counts, n = topic.of_pairs(), topic.n_returned
        either = np.triu(counts + counts.T, 1)
        first = {"": n, "_imp": n, "_ret": n}[suffix]
        last = n if suffix == "_ret" else len(counts)
        expressed = either[:first, :last]
        share = np.divide(
            counts[:first, :last], expressed, out=np.zeros(expressed.shape), where=expressed > 0
        )
        n_pairs = int((expressed > 0).sum()) + (int((either[n:, n:] > 0).sum()) if suffix == "" else 0)
        total = float(share[:, :n].sum()) + float(share[:, n:].sum())
        return _ratio(total, n_pairs)

    return compute


def with_r_nonrelevant(topic: Preferences) -> float:
    """Mean over groups, using R nonrelevant documents of each, where R is the number of its relevant ones."""
    return _mean_with_r_nonrelevant(topic, is_returned_only=False)


def with_r_nonrelevant_returned(topic: Preferences) -> float:
    """The same, for only the returned documents."""
    return _mean_with_r_nonrelevant(topic, is_returned_only=True)


def _mean_with_r_nonrelevant(topic: Preferences, *, is_returned_only: bool) -> float:
    ratios = []
    for group, counts in zip(topic.groups, topic.counts, strict=True):
        used = slice(topic.n_returned if is_returned_only else None)
        r, n = int(group.is_relevant[used].sum()), int(group.is_nonrelevant[used].sum())
        if r >= n:
            fulfilled, possible = (_returned if is_returned_only else _everything)(counts)
            fulfilled += int(group.is_relevant[: topic.n_returned].sum()) * (r - n)
            possible += int(group.is_relevant.sum()) * (r - n)
        else:
            fulfilled, possible = _counted_with_first(group, r, topic.n_returned, is_returned_only)
        ratios.append(_ratio(fulfilled, possible))
    return sum(ratios) / len(ratios)


def _counted_with_first(group: Group, r: int, n_returned: int, is_returned_only: bool) -> tuple[int, int]:
    """Preferences fulfilled and expressed, without the nonrelevant documents after the first r."""
    if group.has_parts:
        r = int(group.is_relevant.sum())
        is_left_out = group.is_nonrelevant & (np.cumsum(group.is_nonrelevant) > r)
        prefers = group.prefers & ~is_left_out & ~is_left_out[:, None]
    else:
        prefers = _with_last_class_cut(group, r)
    if is_returned_only:
        prefers = prefers[:n_returned, :n_returned]
    fulfilled = int(np.triu(prefers, 1)[:n_returned].sum())
    return fulfilled, int(prefers.sum())


def _with_last_class_cut(group: Group, r: int) -> Matrix:
    """The preferences over only the first r documents of the lowest level.

    The others of that level count as preferred to them too: trec_eval counts like this, and its values depend on it.
    """
    is_rated = ~np.isnan(group.level)
    is_last = group.level == np.nanmin(group.level)
    is_first = is_last & (np.cumsum(is_last) <= r)
    prefers = group.prefers & ~is_last
    cut: Matrix = prefers | (is_rated[:, None] & is_first)
    return cut


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


COMPUTED: dict[str, OfTopic] = {
    "prefs_num_prefs_poss": n_possible,
    "prefs_num_prefs_ful": n_fulfilled,
    "prefs_num_prefs_ful_ret": n_fulfilled_returned,
    "prefs_avgjg_Rnonrel": with_r_nonrelevant,
    "prefs_avgjg_Rnonrel_ret": with_r_nonrelevant_returned,
}
for _suffix in COUNTED:
    COMPUTED[f"prefs_simp{_suffix}"] = simple(_suffix)
    COMPUTED[f"prefs_pair{_suffix}"] = mean_over_pairs(_suffix)
    COMPUTED[f"prefs_avgjg{_suffix}"] = mean_over_groups(_suffix)
