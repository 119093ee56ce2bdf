"""The measures: a kernel for each family of `assay.measures.names`, per topic, before any mean.

Layout: a kernel takes the hits of a run (flat, ordered by topic and rank), the judged documents of the qrels, and
the `Measure` with its level and cutoff; it gives one float64 per topic of the qrels, 0.0 for a topic that the run
has not or that has nothing relevant. A primed measure gets hits that are ranked among themselves; no kernel asks.
A document is relevant from the measure's level; its gain is its grade. Sums run in rank order, as trec_eval's do,
so that values are equal to its last digit; where nothing else is said, a value equals that of trec_eval 10.0.

Every module of this package is loaded here, and registers its kernels itself: a new measure is a new file.
"""

import os
from importlib import import_module

from assay.measures.registry import KERNELS, Kernel, Values, kernel
from assay.measures.scores import RunScores, score_run

__all__ = ["KERNELS", "Kernel", "RunScores", "Values", "kernel", "score_run"]

for _file in sorted(os.listdir(__path__[0])):  # noqa: PTH208 (pathlib's way takes as long as loading ten of them)
    if _file.endswith(".py") and not _file.startswith("_"):
        import_module(f"{__name__}.{_file.removesuffix('.py')}")
