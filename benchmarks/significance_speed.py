"""Speed of significance tests of all pairs of 36 runs on 100 topics, compared with SciPy.

    python benchmarks/significance_speed.py
    python benchmarks/significance_speed.py --runs 500 --topics 50

Scores are random: topics differ much, runs differ little. SciPy's `permutation_test` tests one pair at a time; some
pairs are measured, and the time for all pairs is calculated. Its `tukey_hsd`, which ranx uses too, is **another test**:
it is one-way and treats the differences between topics as noise; the output shows how many pairs it misses.
Each number is the median of `--repeats`, of elapsed time and of CPU time, with one thread. Ratios are of CPU time,
which other work of the machine changes less.
"""

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported: one core

import numpy as np
import scipy
from scipy import stats
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.statistics.intervals import bootstrap
from assay.statistics.significance import paired_t, randomization
from assay.statistics.topic_stability import topic_stability
from assay.statistics.tukey import tukey_hsd

N = 10_000
PAIRS_OF_SCIPY = 5


def made_scores(n_runs: int, n_topics: int) -> np.ndarray:
    """Scores like average precision: most topics are hard, runs differ little."""
    rng = np.random.default_rng(1)
    topic = rng.beta(1.0, 2.5, n_topics)
    noise = rng.normal(0.0, 0.1, (n_runs, n_topics))
    return np.clip(topic + noise + np.linspace(0.0, 0.12, n_runs)[:, None], 0.0, 1.0)


def scipys_pairs(scores: np.ndarray) -> None:
    for run in range(1, PAIRS_OF_SCIPY + 1):
        stats.permutation_test(
            (scores[0] - scores[run % len(scores)],),
            lambda values, axis: values.mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=N - 1,
            rng=np.random.default_rng(1),
        )


def median_seconds(label: str, work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Seconds of elapsed time, and of CPU time."""
    elapsed, cpu = [], []
    for _ in tqdm(range(repeats), desc=label, leave=False, disable=None):
        start, start_cpu = time.perf_counter(), time.process_time()
        work()
        elapsed.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
    return statistics.median(elapsed), statistics.median(cpu)


def measure(n_runs: int, n_topics: int, repeats: int) -> None:
    scores = made_scores(n_runs, n_topics)
    n_pairs = n_runs * (n_runs - 1) // 2
    print(
        f"{n_runs} runs, {n_topics} topics, {n_pairs:,} pairs, {N:,} permutations; {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, medians of {repeats}"
    )
    ours: dict[str, Callable[[], object]] = {
        "randomized Tukey HSD, all pairs": lambda: tukey_hsd(scores, n_permutations=N, seed=1),
        "paired randomization, all pairs": lambda: randomization(scores, n_permutations=N, seed=1),
        "paired t, all pairs": lambda: paired_t(scores),
        "bootstrap intervals, all runs": lambda: bootstrap(scores, n_resamples=N, seed=1),
        "stability by topics, 1,000 samples": lambda: topic_stability(scores, seed=1),
    }
    print(f"{'Assay':36} {'elapsed':>9}   {'CPU':>9}")
    seconds = {label: median_seconds(label, work, repeats) for label, work in ours.items()}
    for label, (elapsed, cpu) in seconds.items():
        print(f"{label:36} {elapsed:9.3f} s {cpu:9.3f} s")
    _, some = median_seconds("scipy", lambda: scipys_pairs(scores), repeats)
    per_pair = some / PAIRS_OF_SCIPY
    print(f"SciPy's permutation_test: {per_pair:.3f} s per pair, so {per_pair * n_pairs:.1f} s for all pairs")
    mine = seconds["paired randomization, all pairs"][1]
    print(f"Assay's paired randomization is {per_pair * n_pairs / mine:.0f} times as fast")
    _, one_way = median_seconds("one-way", lambda: stats.tukey_hsd(*scores), 1)
    ours_significant = (
        tukey_hsd(scores, n_permutations=N, seed=1).is_significant()[np.triu_indices(n_runs, 1)].sum()
    )
    theirs_significant = (stats.tukey_hsd(*scores).pvalue <= 0.05)[np.triu_indices(n_runs, 1)].sum()
    print(
        f"significant at 0.05: {ours_significant:,} of {n_pairs:,} pairs by the randomized test; "
        f"{theirs_significant:,} by SciPy's tukey_hsd, "
        f"a one-way test that ignores topics ({one_way:.3f} s)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=36)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    measure(arguments.runs, arguments.topics, arguments.repeats)


if __name__ == "__main__":
    main()
