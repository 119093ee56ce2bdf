"""A simulation of how often intervals contain the true value: simulated, as a table for `docs/explanation/numbers.md`.

Each measure is a made distribution of values over topics, as real runs have them. For each number of topics, samples
are drawn from it, and the intervals that contain its mean are counted. Where the real runs of ARQMath-1 are at hand,
topics are also drawn from their 77, for each measure of each run and for the differences of every two runs. For kappa
and alpha, two assessors judge units: they agree by more than chance on a share of them. Samples without an interval are
left out.
"""

from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assay.formats.qrels.reader import read_qrels
from assay.formats.runs.reader import read_run
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.protocols.loader import load_protocol
from assay.protocols.measures import parse_measures
from assay.statistics.agreement import cohen_kappa
from assay.statistics.intervals import METHODS, Method, bootstrap, intervals_of_means
from maintenance.benchmarks import harness
from maintenance.benchmarks.harness import case

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]
# Judges: the share of units on which they agree, and how often each grade occurs
Judges = tuple[float, tuple[float, ...]]
SIZES = (3, 5, 10, 25, 50)


def _reciprocal(rng: np.random.Generator, size: tuple[int, int], chance: Floats) -> Floats:
    """The reciprocal rank of the first relevant document, if each is relevant with some chance; 0 beyond rank 100."""
    rank = rng.geometric(np.maximum(chance, 1e-9), size)
    return np.where(rank > 100, 0.0, 1.0 / rank)


def _changed(rng: np.random.Generator, values: Floats, by: float) -> Floats:
    """The differences between values and those of a run that is a little better on the whole."""
    better: Floats = np.clip(values + rng.normal(0.02, by, values.shape), 0, 1) - values
    return better


MEASURES: dict[str, Draw] = {
    "AP": lambda rng, size: rng.beta(0.5, 2.0, size),
    "AP, low": lambda rng, size: rng.beta(0.7, 4.0, size),
    "AP, most topics near 0": lambda rng, size: np.where(
        rng.random(size) < 0.3, rng.beta(1.0, 1.5, size), rng.beta(0.4, 8.0, size)
    ),
    "nDCG": lambda rng, size: rng.beta(2.0, 2.5, size),
    "nDCG, high": lambda rng, size: rng.beta(5.0, 2.0, size),
    "P@10": lambda rng, size: rng.binomial(10, rng.beta(0.6, 1.4, size)) / 10,
    "P@10, low": lambda rng, size: rng.binomial(10, rng.beta(0.4, 2.5, size)) / 10,
    "RR": lambda rng, size: _reciprocal(rng, size, rng.beta(1.0, 1.2, size)),
    "RR, low": lambda rng, size: _reciprocal(rng, size, rng.beta(0.4, 1.2, size)),
    "difference of AP": lambda rng, size: _changed(rng, rng.beta(0.5, 2.0, size), 0.1),
    "difference of nDCG": lambda rng, size: _changed(rng, rng.beta(2.0, 2.5, size), 0.15),
    "difference of P@10": lambda rng, size: np.round(_changed(rng, rng.beta(0.6, 1.4, size), 0.15), 1),
}
REAL = harness.SHARED / "data" / "arqmath"
JUDGES: dict[str, Judges] = {
    **{f"kappa of {share}, four grades": (share, (0.5, 0.25, 0.15, 0.1)) for share in (0.3, 0.6, 0.8)},
    "kappa of 0.5, two grades, one of them for 80 % of the units": (0.5, (0.8, 0.2)),
    "kappa of 0.2, two grades, one of them for 80 % of the units": (0.2, (0.8, 0.2)),
}


def covered(
    draw: Draw, n_topics: int, method: Method, *, samples: int, seed: int, mean: float | None = None
) -> float:
    """The share of the intervals of samples that contain the true mean."""
    rng = np.random.default_rng(seed)
    mean = float(draw(rng, (1, 2_000_000)).mean()) if mean is None else mean
    scores = draw(rng, (samples, n_topics))
    scores = scores[np.ptp(scores, axis=1) > 0]
    ends = bootstrap(scores, seed=seed, n_resamples=1000) if method == "bca" else intervals_of_means(scores)
    return float(((ends.low <= mean) & (mean <= ends.high)).mean())


def real_values() -> tuple[list[Floats], list[Floats]]:
    """The values of each measure of each real run over topics, and the differences of every two runs."""
    protocol = load_protocol("arqmath-2020-task1")
    judged = JudgedDocuments(read_qrels(str(REAL / "qrels" / "qrels.arqmath-2020-task1.txt"), protocol))
    paths = [path for path in sorted((REAL / "runs").iterdir()) if "task2" not in path.name]
    measures = parse_measures(("nDCG'", "AP(rel=2)'", "P(rel=2)@10'", "bpref(rel=2)"))
    runs = [score_run(read_run(str(path), protocol), judged, measures).values.T for path in paths]
    scored = [values for values in runs if values.any()]  # runs of this task
    differences = [own for first, second in combinations(scored, 2) for own in first - second]
    return [own for values in scored for own in values], differences


def real_rows(method: Method, *, samples: int, seed: int) -> list[tuple[str, ...]]:
    """The lowest and the highest share of intervals over all real values, and over all differences."""
    rows = []
    for name, values in zip(("values of real runs", "differences of real runs"), real_values(), strict=True):
        ends = []
        for topics in SIZES:
            shares = [
                covered(
                    partial(_drawn, own), topics, method, samples=samples, seed=seed, mean=float(own.mean())
                )
                for own in values
            ]
            ends.append(f"{_percent(min(shares))}-{_percent(max(shares))}")
        rows.append((METHODS[method], f"{len(values)} {name}", *ends))
    return rows


def _drawn(values: Floats, rng: np.random.Generator, size: tuple[int, int]) -> Floats:
    return rng.choice(values, size)


def covered_kappa(n_units: int, judges: Judges, *, samples: int, seed: int) -> float:
    """The share of the intervals of kappa that contain it, for two judges who agree on a share beyond chance."""
    rng, (share, often) = np.random.default_rng(seed), judges
    n_within = n_defined = 0
    for _ in range(samples):
        first, second = rng.choice(len(often), (2, n_units), p=often)
        second = np.where(rng.random(n_units) < share, first, second)
        low, high = cohen_kappa(first, second).interval()
        n_defined += low <= high  # not nan
        n_within += low <= share <= high  # chance agreement is the same for both
    return n_within / n_defined


@case
def intervals(*, samples: int = 4000, seed: int = 1) -> None:
    """Simulate how many of 100 intervals of the level 0.95 contain the true value, by the number of topics or units.

    The true distributions are made, as skewed as those of real runs, or those of real runs; judges agree on a share of
    the units beyond chance. The documentation has the table, `COVERAGE` of the library its lowest and highest numbers.
    """
    rows = [("interval", "of", *map(str, SIZES)), ("---", "---", *("---:" for _ in SIZES))]
    for method, words in METHODS.items():
        n = min(samples, 1000) if method == "bca" else samples
        rows += [
            (
                words,
                name,
                *(_percent(covered(draw, topics, method, samples=n, seed=seed)) for topics in SIZES),
            )
            for name, draw in MEASURES.items()
        ]
        rows += real_rows(method, samples=n, seed=seed) if REAL.exists() else []
    for name, judges in JUDGES.items():
        of_sizes = (covered_kappa(units, judges, samples=samples // 4, seed=seed) for units in SIZES)
        rows.append(("Fisher's z, jackknife", name, *map(_percent, of_sizes)))
    print(*(f"| {' | '.join(row)} |" for row in rows), sep="\n")


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"
