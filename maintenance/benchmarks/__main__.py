"""Measure Assay next to another tool in the same session: `python -m maintenance.benchmarks NAME [OPTIONS]`."""

import os
import sys

# Before NumPy is imported: CPU times are those of one core
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from maintenance.benchmarks import (  # noqa: F401  each module adds its cases
    baselines,
    board_of_judges,
    collection,
    estimates,
    files,
    in_use,
    intervals,
    judging,
    library,
    many_runs,
    model_judges,
    ms_marco,
    real_size,
)
from maintenance.benchmarks.harness import main

main(sys.argv[1:])
