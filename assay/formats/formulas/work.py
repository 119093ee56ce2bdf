"""SLT strings and keys of formulas from files, made by several processes. No Django.

A module of its own, because a process that is started afresh can import it, as it cannot `__main__`.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

from assay.formats.formulas.rows import Row
from assay.formulas.slt import slt
from assay.formulas.visual_ids import key_of, latex_key

R = TypeVar("R")


def strings_of(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Id and SLT string of the rows with MathML; the string is empty where there is none."""
    return [(row.code, slt(row.mathml) or "") for row in rows if row.mathml is not None]


def keys_of(rows: Sequence[Row]) -> list[tuple[str, bytes, bytes, str]]:
    """Id, SLT key, LaTeX key and visual id of some rows; empty where a row says nothing."""
    return [
        (row.code, key_of(slt(row.mathml) or "") if row.mathml else b"", latex_key(row.latex), row.visual)
        for row in rows
    ]


def in_order(
    work: Callable[[Sequence[Row]], R], pieces: Iterable[Sequence[Row]], n_processes: int
) -> Iterator[R]:
    """The work on each piece, in order. Each process has at most two pieces waiting, so that memory stays flat."""
    if n_processes == 1:
        yield from map(work, pieces)
        return
    waiting: deque[Future[R]] = deque()
    with ProcessPoolExecutor(n_processes, mp_context=get_context("spawn")) as processes:
        for piece in pieces:
            waiting.append(processes.submit(work, piece))
            if len(waiting) > 2 * n_processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
