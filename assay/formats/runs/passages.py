"""What a submitter is told of passages that say the same: they count as false alarms, so one of them is enough."""

import numpy as np
from numpy.typing import NDArray

from assay.formats.reports import FIRST_LINES, Tally
from assay.formats.runs.columns import RunColumns
from assay.formats.runs.rules import NearDuplicates
from assay.passages import leaders
from assay.protocols.schema import Protocol


def near_duplicates_of(protocol: Protocol) -> NearDuplicates | None:
    """What the protocol says of near-duplicates; looked for as deep as runs are pooled."""
    overlap, depths = protocol.pool.near_duplicate_overlap, protocol.pool.depth.values()
    return None if overlap is None else NearDuplicates(overlap, max(depths, default=0))


def warn_of_near_duplicates(
    columns: RunColumns, number: NDArray[np.int64], near: NearDuplicates | None, tally: Tally
) -> None:
    """Count the citations that nearly repeat a better one of their topic. `number` is the line of each row."""
    if near is None or columns.passage is None:
        return
    n, numbers = 0, []
    for start, end in zip(columns.offsets[:-1].tolist(), columns.offsets[1:].tolist(), strict=True):
        top = columns.passage[start : min(end, start + near.depth)].tolist()
        found = leaders([passage.decode() for passage in top], near.overlap)
        repeats = [row for row, leader in enumerate(found, start) if leader != row - start]
        n += len(repeats)
        numbers += number[repeats[:FIRST_LINES]].tolist()
    if n:
        tally.warning(
            "near-duplicates",
            f"the citation nearly repeats a better one among the first {near.depth} of its topic",
            f"One of those that share {near.overlap:.0%} of their word pairs: the others count as false alarms.",
            n=n,
            numbers=sorted(numbers),
        )
