"""Preferences between two documents that assessors expressed and that a ranking fulfills, and their measures.

The rated documents of a topic are put in order: first those that the run returned, in its order, then the others. A
group of assessors (one information need) rates documents by levels. Its parts are separate lists; preferences that
follow from several parts together count too. A preference is fulfilled if the preferred document was returned and comes
first. No preference between two documents that were not returned is fulfilled.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay_extensions.trec_eval.files import BYTES, Preference, TrecRun, read_preferences, read_run
from assay_extensions.trec_eval.options import NOT_COMPUTED, Options, Parameters, TrecEvalError

Matrix = NDArray[np.bool_]
UNRATED = np.nan


class Counts(NamedTuple):
    """Numbers of preferences, fulfilled and expressed, by how many of the two documents were returned."""

    fulfilled_both: int
    fulfilled_single: int
    both: int
    single: int
    none: int


class Group(NamedTuple):
    """The preferences of a group among n documents.

    Args:
        prefers: (n, n) whether it prefers the document of the row to that of the column.
        level: (n,) level of each document; nan if the group does not rate it.
        has_parts: whether it consists of several parts.
    """

    prefers: Matrix
    level: NDArray[np.float64]
    has_parts: bool

    @property
    def is_relevant(self) -> Matrix:
        return self.level > 0

    @property
    def is_nonrelevant(self) -> Matrix:
        return self.level == 0 if self.has_parts else self.level <= 0

    def counts(self, n_returned: int) -> Counts:
        """Count the preferences; the first `n_returned` documents are those that the run returned."""
        both = self.prefers[:n_returned, :n_returned]
        lost, implied = self.prefers[n_returned:, :n_returned], self.prefers[:n_returned, n_returned:]
        fulfilled = int(np.triu(both, 1).sum())
        n_implied = int(implied.sum())
        none = int(self.prefers[n_returned:, n_returned:].sum())
        return Counts(fulfilled, n_implied, int(both.sum()), n_implied + int(lost.sum()), none)


class Preferences:
    """The groups of a topic, and how many of the documents that they rate were returned."""

    def __init__(self, groups: list[Group], n_returned: int) -> None:
        self.groups = groups
        self.n_returned = n_returned

    @cached_property
    def counts(self) -> list[Counts]:
        return [group.counts(self.n_returned) for group in self.groups]

    def pair_counts(self) -> NDArray[np.int64]:
        """(n, n) number of groups that prefer the document of the row to that of the column."""
        counts = np.zeros(self.groups[0].prefers.shape, dtype=np.int64)
        for group in self.groups:
            counts += group.prefers
        return counts


def preferences_of(topic: str, rated: Sequence[Preference], ranking: Sequence[bytes]) -> Preferences:
    """The preferences of the groups of a topic, in the order of a ranking.

    Raises:
        TrecEvalError: A part rates a document twice, a group rates a document both 0 and higher, or the parts of a
            group contradict.
    """
    documents = {preference.docno for preference in rated}
    returned = [docno for docno in ranking if docno in documents]
    place = {docno: n for n, docno in enumerate([*returned, *sorted(documents - set(returned))])}
    groups = []
    for name, preferences in groupby(sorted(rated, key=attrgetter("group", "part")), key=attrgetter("group")):
        label = f"topic {topic}, group {name.decode(errors='replace')}"
        groups.append(_group(label, list(preferences), place))
    return Preferences(groups, len(returned))


def _group(label: str, rated: list[Preference], place: dict[bytes, int]) -> Group:
    prefers = np.zeros((len(place), len(place)), dtype=np.bool_)
    level = np.full(len(place), UNRATED)
    by_part: dict[bytes, list[Preference]] = defaultdict(list)
    for preference in rated:
        by_part[preference.part].append(preference)
    for part in by_part.values():
        at = np.array([place[preference.docno] for preference in part])
        levels = np.array([preference.level for preference in part])
        if len(set(at.tolist())) < len(at):
            raise _error(label, "a document is repeated in a part")
        before = level[at]
        if (((before > 0) & (levels == 0)) | ((before == 0) & (levels > 0))).any():
            raise _error(label, "a document has level 0 in one part and a higher level in another")
        level[at] = levels
        prefers[np.ix_(at, at)] |= levels[:, None] > levels
    if len(by_part) > 1:
        prefers = _with_implied(label, prefers)
    return Group(prefers, level, len(by_part) > 1)


def _with_implied(label: str, prefers: Matrix) -> Matrix:
    """The preferences and those that they imply: a over c if a is preferred to b, and b to c."""
    while True:
        numbers = prefers.astype(np.float32)  # BLAS multiplies floats, but not whole numbers
        more = prefers | (numbers @ numbers > 0)
        if (more == prefers).all():
            break
        prefers = more
    if (prefers & prefers.T).any():
        raise _error(label, "the parts contradict each other")
    return prefers


def _error(label: str, reason: str) -> TrecEvalError:
    return TrecEvalError(f"{label}: {reason}", status=NOT_COMPUTED)


# Preferences fulfilled and expressed: all; those between two returned documents; those with a returned document.
COUNTED: dict[str, Callable[[Counts], tuple[int, int]]] = {
    "": lambda n: (n.fulfilled_both + n.fulfilled_single, n.both + n.single + n.none),
    "_ret": lambda n: (n.fulfilled_both, n.both),
    "_imp": lambda n: (n.fulfilled_both + n.fulfilled_single, n.both + n.single),
}


def simple(topic: Preferences, suffix: str) -> float:
    """Preferences fulfilled, divided by preferences expressed, for all groups together."""
    counted = [COUNTED[suffix](counts) for counts in topic.counts]
    return _ratio(sum(fulfilled for fulfilled, _ in counted), sum(possible for _, possible in counted))


def mean_over_groups(topic: Preferences, suffix: str) -> float:
    """Mean over groups of preferences fulfilled, divided by preferences expressed."""
    ratios = [_ratio(*COUNTED[suffix](counts)) for counts in topic.counts]
    return sum(ratios) / len(ratios)


def mean_over_pairs(topic: Preferences, suffix: str) -> float:
    """Mean over pairs of documents of the share of groups whose preference is fulfilled."""
    counts, n = topic.pair_counts(), topic.n_returned
    either = np.triu(counts + counts.T, 1)
    last = n if suffix == "_ret" else len(counts)
    expressed = either[:n, :last]
    share = np.divide(counts[:n, :last], expressed, out=np.zeros(expressed.shape), where=expressed > 0)
    n_pairs = int((expressed > 0).sum()) + (int((either[n:, n:] > 0).sum()) if suffix == "" else 0)
    return _ratio(float(share[:, :n].sum()) + float(share[:, n:].sum()), n_pairs)


def with_r_nonrelevant(topic: Preferences, *, is_returned_only: bool) -> float:
    """Mean over groups, using R nonrelevant documents of each, where R is the number of its relevant ones."""
    ratios = []
    for group, counts in zip(topic.groups, topic.counts, strict=True):
        used = slice(topic.n_returned if is_returned_only else None)
        r, n = int(group.is_relevant[used].sum()), int(group.is_nonrelevant[used].sum())
        if r >= n:
            fulfilled, possible = COUNTED["_ret" if is_returned_only else ""](counts)
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
        # Only the first r documents of the lowest level are kept. The others of that level count as preferred to them
        # too: trec_eval counts like this, and its values depend on it.
        is_rated = ~np.isnan(group.level)
        is_last = group.level == np.nanmin(group.level)
        is_first = is_last & (np.cumsum(is_last) <= r)
        prefers = (group.prefers & ~is_last) | (is_rated[:, None] & is_first)
    if is_returned_only:
        prefers = prefers[:n_returned, :n_returned]
    fulfilled = int(np.triu(prefers, 1)[:n_returned].sum())
    return fulfilled, int(prefers.sum())


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


COMPUTED: dict[str, Callable[[Preferences], float]] = {
    "prefs_num_prefs_poss": lambda topic: sum(COUNTED[""](counts)[1] for counts in topic.counts),
    "prefs_num_prefs_ful": lambda topic: sum(COUNTED[""](counts)[0] for counts in topic.counts),
    "prefs_num_prefs_ful_ret": lambda topic: sum(COUNTED["_ret"](counts)[0] for counts in topic.counts),
    "prefs_avgjg_Rnonrel": partial(with_r_nonrelevant, is_returned_only=False),
    "prefs_avgjg_Rnonrel_ret": partial(with_r_nonrelevant, is_returned_only=True),
}
for _suffix in COUNTED:
    COMPUTED[f"prefs_simp{_suffix}"] = partial(simple, suffix=_suffix)
    COMPUTED[f"prefs_pair{_suffix}"] = partial(mean_over_pairs, suffix=_suffix)
    COMPUTED[f"prefs_avgjg{_suffix}"] = partial(mean_over_groups, suffix=_suffix)


def read(options: Options) -> tuple[Sequence[str], TrecRun, Callable[[str, Parameters], list[Any]]]:
    """Read preferences, or qrels as preferences, and a run. Return topics, run, and the function for measures."""
    rated = read_preferences(options.files[0], from_qrels=options.format != "prefs")
    preferences = {topic.decode(BYTES): of_topic for topic, of_topic in rated.items()}
    run = read_run(options.files[1], preferences)
    # for preferences, trec_eval orders tied documents ascending
    offsets, rankings = run.columns.offsets.tolist(), {}
    for n, topic in enumerate(run.columns.topics.tolist()):
        docno = run.columns.docno[offsets[n] : offsets[n + 1]].tolist()
        score = run.columns.score[offsets[n] : offsets[n + 1]].tolist()
        ordered = sorted(zip(score, docno, strict=True), key=lambda line: (-line[0], line[1]))
        rankings[topic] = [docno for _, docno in ordered[: options.depth]]
    topics = list(preferences)
    # a topic that is left out has None: its preferences are not checked either
    is_compared = [n > 0 or options.is_complete for n in run.n_lines(topics).tolist()]
    compared = [
        preferences_of(topic, preferences[topic], rankings.get(topic, [])) if is_there else None
        for topic, is_there in zip(topics, is_compared, strict=True)
    ]

    def compute(name: str, _: Parameters) -> list[Any]:
        return [np.array([COMPUTED[name](topic) if topic else 0.0 for topic in compared], dtype=np.float64)]

    return topics, run, compute
