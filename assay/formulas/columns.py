"""What pooling and scoring need to know of formula instances, as columns: where each stands, and what it looks like.

A *formula* is one instance, known by its id. Instances that look alike are one *visually distinct* formula, known by
its visual id. Ids are text of any kind, kept and compared as bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assay.formulas.places import PLACES, Place

__all__ = ["PLACES", "Formulas", "Place"]


@dataclass(frozen=True, slots=True)
class Formulas:
    """Formula instances, sorted by id. Arrays of one length.

    Attributes
    ----------
    formula : (n,) bytes, UTF-8, ids of the instances, sorted by bytes, each once.
    post : (n,) bytes, docno of the post that the instance stands in (of a comment: the post that it is under).
    thread : (n,) bytes, docno of the question that heads the post's thread.
    place : (n,) uint8 index into `PLACES`.
    visual : (n,) bytes, id of the visually distinct formula; empty where it has none.
    """

    formula: NDArray[np.bytes_]
    post: NDArray[np.bytes_]
    thread: NDArray[np.bytes_]
    place: NDArray[np.uint8]
    visual: NDArray[np.bytes_]

    def __len__(self) -> int:
        return len(self.formula)

    @classmethod
    def of(cls, rows: Sequence[tuple[str, str, str, str, str]]) -> Self:
        """Formulas from rows of id, post, thread, place and visual id, in any order.

        Raises
        ------
        ValueError
            An id stands twice, or a place is none of `PLACES`.
        """
        ordered = sorted(rows, key=lambda row: row[0].encode())
        columns = [[row[i].encode() for row in ordered] for i in (0, 1, 2, 4)]
        formula, post, thread, visual = (np.array(column, dtype=np.bytes_) for column in columns)
        if len(ordered) > 1 and (formula[1:] == formula[:-1]).any():
            raise ValueError("a formula id stands twice")
        place = np.array([PLACES.index(row[3]) for row in ordered], dtype=np.uint8)
        return cls(formula, post, thread, place, visual)

    def rows(self, formula: NDArray[np.bytes_]) -> NDArray[np.intp]:
        """(m,) row of each of some ids, -1 for one that is not there."""
        if not len(self.formula):
            return np.full(len(formula), -1, dtype=np.intp)
        at = np.minimum(np.searchsorted(self.formula, formula), len(self.formula) - 1)
        return np.where(self.formula[at] == formula, at, -1)
