"""The kernels, by the family that each computes. A family's module is imported when its kernel is first asked for."""

from collections.abc import Callable
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import FAMILIES, Measure

Values = NDArray[np.float64]
Kernel = Callable[[Hits, JudgedDocuments, Measure], Values]

_kernels: dict[str, Kernel] = {}


def kernel(*families: str) -> Callable[[Kernel], Kernel]:
    """Register the function that computes one or several families.

    Raises
    ------
    ValueError
        A family is missing from `assay.protocols.measures.FAMILIES`.
    """
    for family in families:
        if family not in FAMILIES:
            raise ValueError(f"{family} is missing from assay.protocols.measures.FAMILIES")

    def register(function: Kernel) -> Kernel:
        for family in families:
            _kernels[family] = function
        return function

    return register


def kernel_of(family: str) -> Kernel:
    """The kernel of a family of `FAMILIES`."""
    if family not in _kernels:
        import_module(f"assay.measures.families.{FAMILIES[family].module}")
    return _kernels[family]
