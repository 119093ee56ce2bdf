"""What belongs to the units of a pool: instances of a formula, or near-duplicates of the citation that is judged.

A unit with members is an *entry* (topic, docno), and members of it have docnos of their own. The assessor is shown the
members at positions from 1; those at 0 belong to the unit, and are not shown.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Members:
    """All members of all entries, sorted by entry, then docno by bytes.

    Attributes
    ----------
    entry : (m,) index of the entry that it belongs to.
    docno, post, thread : (m,) bytes; post and thread are empty where they are not known.
    position : (m,) its place among those shown, from 1; 0: not shown.
    member, run, rank : (c,) contributions: a member, the run that brought it (at any rank), and its rank there; sorted
        by member, then run.
    """

    entry: NDArray[np.int32]
    docno: NDArray[np.bytes_]
    post: NDArray[np.bytes_]
    thread: NDArray[np.bytes_]
    position: NDArray[np.int32]
    member: NDArray[np.int32]
    run: NDArray[np.int32]
    rank: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.entry)

    def of_entries(self, kept: NDArray[np.bool_]) -> "Members":
        """The members of some entries, which are renumbered; `kept` (entries,) tells which."""
        return self._only(kept[self.entry], kept)

    def _only(self, stays: NDArray[np.bool_], kept: NDArray[np.bool_]) -> "Members":
        given = stays[self.member]
        entries, members = np.cumsum(kept) - 1, np.cumsum(stays) - 1
        return replace(
            self,
            entry=entries[self.entry[stays]].astype(np.int32),
            docno=self.docno[stays],
            post=self.post[stays],
            thread=self.thread[stays],
            position=self.position[stays],
            member=members[self.member[given]].astype(np.int32),
            run=self.run[given],
            rank=self.rank[given],
        )
