"""The order of runs by a judge, compared with the truth: correlations, also of the best runs, with intervals.

The means are those of the tables (topic `all`). If topics are chosen, or the tables have other topics or no means, they
are computed from the topics for which both have a value of each run. Intervals are percentiles of a bootstrap over
these topics: they show how much the number depends on the topics. There are none for fewer than five topics. Runs that
tie are in the order of their names.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from assay.errors import InputError, plural
from assay.measures.scores import ALL
from assay.statistics.rank_correlation import ranks
from assay.statistics.significance import ALPHA, check_draws, randomization
from assay.tables import Table, Undefinable
from assay_extensions.metaevaluation.correlation import correlations
from assay_extensions.metaevaluation.scores import Scores, Values

Missing = Literal["refuse", "common", "zero"]
MISSING: tuple[Missing, ...] = ("refuse", "common", "zero")
TOPS = (5, 10)
LEAST_RUNS = 3
LEAST_TOPICS = 5  # of intervals
N_RESAMPLES = 1000
SHOWN_PROBLEMS = 5
CLOSE = 1e-3  # of a mean that is written with few decimals


class Coefficient(NamedTuple):
    """One correlation of all runs (`k` is None), or of the k best runs of the truth, with its interval."""

    name: str
    k: int | None
    n_runs: int
    value: Undefinable
    low: Undefinable
    high: Undefinable

    @property
    def title(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}"


class Fidelity(NamedTuple):
    """Pairs of runs by what a significance test finds with the truth and with the judge."""

    alike: int
    reversed: int
    only_truth: int
    only_judge: int
    neither: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A judge's measure against a measure of the truth.

    Args:
        runs: those that are compared.
        truth, judge: (runs,) their means.
        coefficients: each correlation, of all runs and at each top k.
        overlaps: number of runs in the top k of both, by k.
        drop: the run that loses most places with the judge, and how many; None if none does.
        n_topics: number of topics of the intervals and of the significance; 0 without values by topic.
        fidelity: None without values by topic.
        notes: what was left out, or set to 0.
    """

    truth_measure: str
    judge_measure: str
    runs: tuple[str, ...]
    truth: Values
    judge: Values
    coefficients: tuple[Coefficient, ...]
    overlaps: dict[int, int]
    drop: tuple[str, int] | None
    n_topics: int
    fidelity: Fidelity | None
    notes: tuple[str, ...]

    @property
    def is_constant(self) -> bool:
        """Return if the judge or the truth has the same mean for all runs, so that there is no order."""
        return not np.ptp(ranks(self.judge)) or not np.ptp(ranks(self.truth))


def compare(
    truth: Scores,
    judge: Scores,
    *,
    missing: Missing = "refuse",
    topics: Collection[str] | None = None,
    tops: Sequence[int] = TOPS,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    alpha: float = ALPHA,
) -> Comparison:
    """Compare the order of runs by a judge with that by the truth.

    Args:
        missing: what a run that only one of the two has does: "refuse" is an error; "common" leaves it out; "zero"
            gives it 0 by the judge, and leaves it out if the truth lacks it.
        topics: only these, such as held-out topics; then means are computed again.
        tops: the numbers of best runs of the truth that are also compared by themselves.

    Raises:
        InputError: Runs are missing, fewer than three runs are left, or there are no topics in common.
    """
    check_draws(n_resamples, seed)
    runs, notes = _runs_of(truth, judge, missing)
    shared = sorted(
        truth.topics & judge.topics if topics is None else truth.topics & judge.topics & {*topics}
    )
    if topics is not None and not shared:
        raise InputError(
            f"none of the {plural(len(topics), 'topic')} is in {truth.source} and {judge.source}"
        )
    by_topic = [scores.matrix(runs, shared) for scores in (truth, judge)]
    if missing == "zero":
        is_absent = [run not in set(judge.runs) for run in runs]
        by_topic[1][is_absent] = 0.0
    is_whole = ~np.isnan(by_topic[0]).any(axis=0) & ~np.isnan(by_topic[1]).any(axis=0)
    of_truth, of_judge = (values[:, is_whole] for values in by_topic)
    means = [np.array([scores.means.get(run, np.nan) for run in runs]) for scores in (truth, judge)]
    if missing == "zero":
        means[1][is_absent] = 0.0
    n_topics = int(is_whole.sum())
    is_other = bool(shared) and not n_topics == len(truth.topics) == len(judge.topics)
    if topics is not None or is_other or np.isnan(means).any():
        if not n_topics:
            raise InputError(f"{judge.source}: no topic has a value of each run in both tables")
        means = [of_truth.mean(axis=1), of_judge.mean(axis=1)]
        notes.append(f"means of the {plural(n_topics, 'topic')} with a value of each run in both tables")
    elif n_topics:
        for scores, own, values in zip((truth, judge), means, (of_truth, of_judge), strict=True):
            if not np.allclose(own, values.mean(axis=1), rtol=CLOSE, atol=CLOSE):
                notes.append(
                    f"{scores.source}: {scores.measure} of {ALL} is not the mean of the topics, as in the intervals"
                )
    coefficients = _coefficients(means[0], means[1], (of_truth, of_judge), tops, n_resamples, seed)
    best_first = [np.argsort(-values, kind="stable") for values in means]
    falls = ranks(means[1]) - ranks(means[0])
    worst = int(np.argmax(falls))
    return Comparison(
        truth_measure=truth.measure,
        judge_measure=judge.measure,
        runs=tuple(runs),
        truth=means[0],
        judge=means[1],
        coefficients=tuple(coefficients),
        overlaps={
            k: len({*best_first[0][:k].tolist()} & {*best_first[1][:k].tolist()})
            for k in tops
            if k < len(runs)
        },
        drop=(runs[worst], int(falls[worst])) if falls[worst] > 0 else None,
        n_topics=n_topics,
        fidelity=_fidelity(of_truth, of_judge, alpha, seed) if n_topics > 1 else None,
        notes=tuple(notes),
    )


def _runs_of(truth: Scores, judge: Scores, missing: Missing) -> tuple[list[str], list[str]]:
    """The runs that are compared, by name, and notes on the others."""
    of_truth, of_judge = {*truth.runs}, {*judge.runs}
    absent, unknown = sorted(of_truth - of_judge), sorted(of_judge - of_truth)
    words = [
        f"{plural(len(names), 'run is,runs are')} missing from {scores.source}: {_some(names)}"
        for names, scores in ((absent, judge), (unknown, truth))
        if names
    ]
    if words and missing == "refuse":
        raise InputError("; ".join(words))
    runs = sorted(of_truth if missing == "zero" else of_truth & of_judge)
    if len(runs) < LEAST_RUNS:
        raise InputError(
            f"{plural(len(runs), 'run is,runs are')} in both {truth.source} ({truth.measure}) and {judge.source} "
            f"({judge.measure}); a comparison needs at least {LEAST_RUNS}"
        )
    return runs, words


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN_PROBLEMS} more" if len(names) > SHOWN_PROBLEMS else ""
    return ", ".join(names[:SHOWN_PROBLEMS]) + more


def _coefficients(
    truth: Values,
    judge: Values,
    by_topic: tuple[Values, Values],
    tops: Sequence[int],
    n_resamples: int,
    seed: int,
) -> list[Coefficient]:
    # the same runs are the best ones in each resample: those of the truth
    best = np.argsort(-truth, kind="stable")
    groups = {None: np.arange(len(truth))} | {
        k: np.sort(best[:k]) for k in tops if LEAST_RUNS <= k < len(truth)
    }
    n_topics = by_topic[0].shape[1]
    resampled = None
    if n_topics >= LEAST_TOPICS:
        random = np.random.Generator(np.random.PCG64(seed))
        drawn = np.array([random.integers(n_topics, size=n_topics) for _ in range(n_resamples)])
        resampled = [np.array([values[:, topics].mean(axis=1) for topics in drawn]) for values in by_topic]
    coefficients = []
    for k, rows in groups.items():
        of_all = correlations(truth[None, rows], judge[None, rows])
        of_samples = correlations(*(means[:, rows] for means in resampled)) if resampled else {}
        for name, (value,) in of_all.items():
            sampled = of_samples.get(name, np.array([np.nan]))
            is_defined = not math.isnan(value) and not np.isnan(sampled).any()
            low, high = np.quantile(sampled, (0.025, 0.975)) if is_defined else (math.nan, math.nan)
            coefficients.append(Coefficient(name, k, len(rows), float(value), float(low), float(high)))
    return coefficients


def _fidelity(truth: Values, judge: Values, alpha: float, seed: int) -> Fidelity:
    """Compare the pairs that differ significantly by the randomization test, with Holm's adjustment."""
    pairs = np.triu_indices(len(truth), 1)
    signs = []
    for values in (truth, judge):
        means = values.mean(axis=1)
        is_significant = _p_values(values.tobytes(), values.shape, seed)[pairs] <= alpha
        signs.append(np.sign(means[pairs[0]] - means[pairs[1]]) * is_significant)
    left, right = signs
    return Fidelity(
        alike=int((left * right > 0).sum()),
        reversed=int((left * right < 0).sum()),
        only_truth=int(((left != 0) & (right == 0)).sum()),
        only_judge=int(((left == 0) & (right != 0)).sum()),
        neither=int(((left == 0) & (right == 0)).sum()),
    )


@lru_cache(maxsize=4)  # all judges of a board are compared with the same truth
def _p_values(values: bytes, shape: tuple[int, int], seed: int) -> Values:
    """(runs, runs) adjusted p-values of (runs, topics) values."""
    return randomization(np.frombuffer(values).reshape(shape), seed=seed).adjusted


def tables(compared: Sequence[Comparison]) -> list[Table]:
    """The comparisons of several judges as tables: judges, correlations, significance, places of runs."""
    judges = Table(
        "judges",
        "judges by Kendall's tau-b with the truth: number of runs and topics, tau-b of all runs and of the best runs "
        "of the truth, runs in the top k of both, and the run that loses most places",
        ("truth", "judge", "runs", "topics", "kendall", "low", "high", "best", "kendall_of_best", "top_in_common",
         "largest_drop", "places"),
    )  # fmt: skip
    correlations = Table(
        "correlations",
        "correlation of all runs, and of the k best runs of the truth, with 95 % intervals over topics",
        ("truth", "judge", "correlation", "runs", "value", "low", "high"),
    )
    significance = Table(
        "significance",
        f"pairs of runs that differ significantly (randomization test, Holm, {ALPHA:g}) by the truth and the judge",
        ("truth", "judge", "alike", "reversed", "only_truth", "only_judge", "neither"),
    )
    places = Table(
        "runs",
        "mean and place of each run by the truth and by the judge",
        ("truth", "judge", "run", "mean_truth", "mean_judge", "place_truth", "place_judge"),
    )
    for comparison in sorted(compared, key=lambda row: -_order(row.coefficients[0].value)):
        names = (comparison.truth_measure, comparison.judge_measure)
        of_all = comparison.coefficients[0]
        of_best = [row for row in comparison.coefficients if row.name == of_all.name and row.k is not None]
        best = of_best[-1] if of_best else None
        judges.rows.append(
            (
                *(*names, len(comparison.runs), comparison.n_topics, *of_all[3:]),
                *((best.k, best.value, comparison.overlaps[best.n_runs]) if best else (None, None, None)),
                *(comparison.drop or (None, None)),
            )
        )
        correlations.rows.extend((*names, row.title, row.n_runs, *row[3:]) for row in comparison.coefficients)
        if comparison.fidelity is not None:
            significance.rows.append((*names, *comparison.fidelity))
        columns = (comparison.truth, comparison.judge, ranks(comparison.truth), ranks(comparison.judge))
        rows = zip(comparison.runs, *(column.tolist() for column in columns), strict=True)
        places.rows.extend((*names, *row) for row in sorted(rows, key=lambda row: (row[3], row[0])))
    return [judges, correlations, significance, places]


def _order(value: float) -> float:
    return -2.0 if math.isnan(value) else value
