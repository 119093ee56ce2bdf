"""Formula instances as columns: the place and the visual id of each, for pooling and scoring.

A *formula* is one instance, with an id. Instances that look alike are one *visually distinct* formula, with a visual
id. Ids are text, stored and compared as bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assay.formulas import PLACES


@dataclass(frozen=True, slots=True)
class Formulas:
    """Formula instances, sorted by id. Arrays of one length.

    Args:
        formula: (n,) bytes, UTF-8, ids of the instances, sorted by bytes, each once.
        post: (n,) bytes, docno of the post that contains the instance (for a comment: of the commented post).
        thread: (n,) bytes, docno of the question of the post's thread.
        place: (n,) uint8 index into `PLACES`.
        visual: (n,) bytes, id of the visually distinct formula; empty if there is none.
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

        Raises `ValueError` if an id occurs twice, or a place is not in `PLACES`.
        """
        ordered = sorted(rows, key=lambda row: row[0].encode())
        columns = [[row[i].encode() for row in ordered] for i in (0, 1, 2, 4)]
        formula, post, thread, visual = (np.array(column, dtype=np.bytes_) for column in columns)
        if len(ordered) > 1 and (formula[1:] == formula[:-1]).any():
            raise ValueError("a formula id occurs twice")
        place = np.array([PLACES.index(row[3]) for row in ordered], dtype=np.uint8)
        return cls(formula, post, thread, place, visual)

    def rows(self, formula: NDArray[np.bytes_]) -> NDArray[np.intp]:
        """(m,) the row of each id, -1 if it is unknown."""
        if not len(self.formula):
            return np.full(len(formula), -1, dtype=np.intp)
        at = np.minimum(np.searchsorted(self.formula, formula), len(self.formula) - 1)
        return np.where(self.formula[at] == formula, at, -1)
