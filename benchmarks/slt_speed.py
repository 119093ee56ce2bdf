"""SLT strings per second from Presentation MathML, with one process and with two; and the clustering of formulas.

    python benchmarks/slt_speed.py [--seconds 5] [--formulas 1000000]

The formulas are those of the reference: 4,639 real formulas of 520 characters on average, with more rare constructs
than usual. The time includes the extraction of the presentation markup, parsing, and the string. There is no tool to
compare with: Tangent-S is on no package index and cannot be installed unchanged. So the second line is the time of
parsing alone, with lxml, of the same formulas. Clustering uses synthetic keys, half of them distinct, as in the real
collection.
"""

import argparse
import contextlib
import csv
import gzip
import itertools
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from lxml import etree

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from assay.formats.formulas.rows import Row  # noqa: E402
from assay.formats.formulas.work import strings_of  # noqa: E402
from assay.formulas.slt import slt  # noqa: E402
from assay.formulas.visual_ids import Keys, visual_ids  # noqa: E402
from assay.processes import map_fresh  # noqa: E402


def reference() -> list[tuple[str, str]]:
    """MathML and string of each formula of the reference."""
    path = (
        Path(os.environ.get("ASSAY_SHARED", ROOT.parent / "shared")) / "data" / "slt" / "slt_reference.tsv.gz"
    )
    if not path.exists():
        sys.exit(f"there is no reference at {path}; set ASSAY_SHARED to the folder that has data/slt")
    csv.field_size_limit(2**31 - 1)
    with gzip.open(path, "rt", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return [(row["presentation_mathml"], row["tangent_slt_string"]) for row in rows]


def rate(work: Callable[[str], object], formulas: Sequence[str], seconds: float) -> float:
    """Formulas per second of CPU time, over whole rounds; other work of the machine does not count."""
    n, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        for formula in formulas:
            work(formula)
        n += len(formulas)
    return n / (time.process_time() - start)


def wall_rate(formulas: Sequence[str], n_processes: int, seconds: float) -> float:
    """Formulas per second of elapsed time, with several processes, as `assay slt` runs them."""
    pieces = [
        [Row(str(n), mathml=formula) for n, formula in enumerate(formulas[i::n_processes])]
        for i in range(n_processes)
    ]
    results = map_fresh(strings_of, itertools.cycle(pieces), processes=n_processes)
    with contextlib.closing(results):
        for _ in pieces:  # every process has started, and imported its modules
            next(results)
        n, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            n += len(next(results)[1])
        return n / (time.perf_counter() - start)


def clustering(n: int) -> tuple[int, float]:
    """Cluster `n` formulas; the number of distinct formulas, and seconds."""
    rng = np.random.default_rng(7)
    slt_keys, latex_keys = (rng.integers(0, n // 2, n).astype("S").astype("S16") for _ in range(2))
    slt_keys[rng.random(n) < 0.01] = b""
    formula = np.arange(1, n + 1).astype("S")
    keys = Keys(formula, slt_keys, latex_keys, np.zeros(n, dtype="S1"))
    start = time.perf_counter()
    visuals = visual_ids(keys)
    return len(np.unique(visuals)), time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--formulas", type=int, default=1_000_000, help="formulas to cluster")
    options = parser.parse_args()
    rows = reference()
    formulas = [mathml for mathml, _ in rows]
    wrong = sum(slt(mathml) != string for mathml, string in rows)
    print(f"{len(rows):,} formulas of the reference, {wrong} strings differ from Tangent's")
    ours = rate(slt, formulas, options.seconds)
    parsing = rate(lambda text: etree.fromstring(text.encode()), formulas, options.seconds)
    print(f"one process   {ours:>9,.0f} formulas per second of CPU time")
    print(f"parsing alone {parsing:>9,.0f}: {parsing / ours:.1f} times as fast")
    for n in (1, 2):
        elapsed = wall_rate(formulas, n, options.seconds)
        print(f"{n} process{'es' * (n > 1):<5}{elapsed:>9,.0f} formulas per second of elapsed time")
    n_distinct, seconds = clustering(options.formulas)
    print(f"clustering    {options.formulas:>9,} formulas into {n_distinct:,} in {seconds:.2f} s")


if __name__ == "__main__":
    main()
