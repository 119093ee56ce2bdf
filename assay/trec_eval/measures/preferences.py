"""How many of the judges' preferences between two documents a ranking fulfills.

The documents of a topic that anybody judged get a place: those returned first, in the order of the run, then the
others. A group of judges (one information need) prefers documents by levels; its parts are lists of its own, and what
follows from several parts holds as well. A preference is fulfilled if the preferred document has the higher place and
was returned; nothing is fulfilled between two documents that were not returned.
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
    """Preferences by how many of the two documents were returned: fulfilled, and expressed."""

    fulfilled_both: int
    fulfilled_one: int
    both: int
    one: int
    none: int


class Group(NamedTuple):
    """What a group prefers among n documents.

    prefers : (n, n) whether it prefers the document of the row to that of the column.
    level : (n,) at which it rates each document; nan where it does not.
    has_parts : whether it is made of several.
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
        """Count the preferences, where the first `n_returned` documents are those returned."""
        both = self.prefers[:n_returned, :n_returned]
        lost, implied = self.prefers[n_returned:, :n_returned], self.prefers[:n_returned, n_returned:]
        fulfilled = int(np.triu(both, 1).sum())
        n_implied = int(implied.sum())
        none = int(self.prefers[n_returned:, n_returned:].sum())
        return Counts(fulfilled, n_implied, int(both.sum()), n_implied + int(lost.sum()), none)


class Preferences:
    """A topic: its groups, and how many of the documents that they rate were returned."""

    def __init__(self, groups: list[Group], n_returned: int) -> None:
        self.groups = groups
        self.n_returned = n_returned

    @cached_property
    def counts(self) -> list[Counts]:
        return [group.counts(self.n_returned) for group in self.groups]

    def of_pairs(self) -> NDArray[np.int64]:
        """(n, n) how many groups prefer the document of the row to that of the column."""
        counts = np.zeros(self.groups[0].prefers.shape, dtype=np.int64)
        for group in self.groups:
            counts += group.prefers
        return counts


def preferences_of(topic: str, rated: Sequence[Preference], ranking: Sequence[bytes]) -> Preferences:
    """What the groups prefer, put into the order of a ranking.

    Raises
    ------
    TrecEvalError
        A part rates a document twice, a group rates one both as nonrelevant and higher, or its parts contradict.
    """
    known = {preference.docno for preference in rated}
    returned = [docno for docno in ranking if docno in known]
    place = {docno: n for n, docno in enumerate([*returned, *sorted(known - set(returned))])}
    groups = []
    for name, of_group in groupby(sorted(rated, key=attrgetter("group", "part")), key=attrgetter("group")):
        said = f"topic {topic}, group {name.decode(errors='replace')}"
        groups.append(_group(said, list(of_group), place))
    return Preferences(groups, len(returned))


def _group(said: str, rated: list[Preference], place: dict[bytes, int]) -> Group:
    prefers = np.zeros((len(place), len(place)), dtype=np.bool_)
    level = np.full(len(place), UNRATED)
    by_part: dict[bytes, list[Preference]] = defaultdict(list)
    for preference in rated:
        by_part[preference.part].append(preference)
    for part in by_part.values():
        at = np.array([place[preference.docno] for preference in part])
        levels = np.array([preference.level for preference in part])
        if len(set(at.tolist())) < len(at):
            raise _refused(said, "a document stands there twice")
        _check_nonrelevant(said, level[at], levels)
        level[at] = levels
        prefers[np.ix_(at, at)] |= levels[:, None] > levels
    if len(by_part) > 1:
        prefers = _with_what_follows(said, prefers)
    return Group(prefers, level, len(by_part) > 1)


def _check_nonrelevant(said: str, before: NDArray[np.float64], now: NDArray[np.float64]) -> None:
    if (((before > 0) & (now == 0)) | ((before == 0) & (now > 0))).any():
        raise _refused(said, "a document has the level 0 in one part, and a higher one in another")


def _with_what_follows(said: str, prefers: Matrix) -> Matrix:
    """With a preferred to c wherever a is preferred to b, and b to c."""
    while True:
        numbers = prefers.astype(np.float32)  # BLAS multiplies these; whole numbers it does not
        more = prefers | (numbers @ numbers > 0)
        if (more == prefers).all():
            break
        prefers = more
    if (prefers & prefers.T).any():
        raise _refused(said, "the parts contradict each other")
    return prefers


def _refused(said: str, reason: str) -> TrecEvalError:
    return TrecEvalError(f"{said}: {reason}", status=NOT_COMPUTED)
