"""What a kernel is, and which there are."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from assay.evaluation.matching import Hits, JudgedDocuments
from assay.measures.names import FAMILIES, Measure

Values = NDArray[np.float64]
Kernel = Callable[[Hits, JudgedDocuments, Measure], Values]

KERNELS: dict[str, Kernel] = {}


def kernel(*families: str) -> Callable[[Kernel], Kernel]:
    """Register the function that computes a family, or several."""
    for family in families:
        if family not in FAMILIES:
            raise ValueError(f"{family} has no line in assay.measures.names.FAMILIES")

    def register(function: Kernel) -> Kernel:
        for family in families:
            KERNELS[family] = function
        return function

    return register
