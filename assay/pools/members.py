"""Members of the units of a pool: instances of a formula, or near-duplicates of the citation that is judged.

A unit is an *entry* (topic, docno); its members have docnos of their own. Members at positions from 1 are shown to the
assessor; those at position 0 belong to the unit, but are not shown.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Members:
    """All members of all entries, sorted by entry, then docno by bytes.

    Attributes
    ----------
    entry : (m,) entry that the member belongs to.
    docno, post, thread : (m,) bytes; post and thread are empty if unknown.
    position : (m,) place among the members that are shown, from 1; 0 if it is not shown.
    member, run, rank : (c,) contributions: a member, a run that has it (at any rank), and its rank there; sorted by
        member, then run.
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
        """The members of some entries, with entries and members renumbered; `kept` (entries,) marks the entries."""
        is_kept = kept[self.entry]
        is_contribution_kept = is_kept[self.member]
        new_entry, new_member = np.cumsum(kept) - 1, np.cumsum(is_kept) - 1
        return replace(
            self,
            entry=new_entry[self.entry[is_kept]].astype(np.int32),
            docno=self.docno[is_kept],
            post=self.post[is_kept],
            thread=self.thread[is_kept],
            position=self.position[is_kept],
            member=new_member[self.member[is_contribution_kept]].astype(np.int32),
            run=self.run[is_contribution_kept],
            rank=self.rank[is_contribution_kept],
        )
