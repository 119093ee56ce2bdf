"""The preferences between two documents that assessors expressed and that a ranking fulfills.

The rated documents of a topic are put in order: first those that the run returned, in its order, then the others. A
group of assessors (one information need) rates documents by levels. Its parts are separate lists; preferences that
follow from several parts together count too. A preference is fulfilled if the preferred document was returned and comes
first. No preference between two documents that were not returned is fulfilled.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.trec_eval.errors import NOT_COMPUTED, TrecEvalError
from assay.trec_eval.inputs.files import Preference

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

    prefers : (n, n) whether it prefers the document of the row to that of the column.
    level : (n,) level of each document; nan if the group does not rate it.
    has_parts : whether it consists of several parts.
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

    def of_pairs(self) -> NDArray[np.int64]:
        """(n, n) number of groups that prefer the document of the row to that of the column."""
        counts = np.zeros(self.groups[0].prefers.shape, dtype=np.int64)
        for group in self.groups:
            counts += group.prefers
        return counts


def preferences_of(topic: str, rated: Sequence[Preference], ranking: Sequence[bytes]) -> Preferences:
    """The preferences of the groups of a topic, in the order of a ranking.

    Raises
    ------
    TrecEvalError
        A part rates a document twice, a group rates a document both 0 and higher, or the parts of a group contradict.
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
        _check_nonrelevant(label, level[at], levels)
        level[at] = levels
        prefers[np.ix_(at, at)] |= levels[:, None] > levels
    if len(by_part) > 1:
        prefers = _with_implied(label, prefers)
    return Group(prefers, level, len(by_part) > 1)


def _check_nonrelevant(label: str, before: NDArray[np.float64], now: NDArray[np.float64]) -> None:
    if (((before > 0) & (now == 0)) | ((before == 0) & (now > 0))).any():
        raise _error(label, "a document has level 0 in one part and a higher level in another")


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
