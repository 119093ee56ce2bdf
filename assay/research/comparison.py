"""Differences between runs: two of them topic by topic, or all of them ranked in tiers."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, InputWarning
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.runs.columns import Ranked, RunColumns
from assay.formulas.columns import Formulas
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import ALL, Prepared, RunScores, Scored, judged_documents, prepare, score_prepared
from assay.plots import Interval, groups, intervals
from assay.protocols.measures import FAMILIES, Measure, qrels_of
from assay.protocols.schema import Average, Protocol
from assay.research.evaluation import (
    Names,
    PathLike,
    Runs,
    Scoring,
    Values,
    measures_of,
    named_runs,
    qrels_from_any,
    run_from_any,
    warn_of_missing,
)
from assay.research.results import Figure, Result
from assay.statistics.intervals import METHODS, coverage, intervals_of_means
from assay.statistics.leaderboard import NOT_COMPARABLE, possible_range
from assay.statistics.rank_correlation import (
    common_ranks,
    documents_of,
    overlap_of_runs,
    ranks,
    topics_of_both,
)
from assay.statistics.significance import (
    TAIL,
    PairTest,
    paired_t,
    randomization,
    t_statistics,
    wilcoxon,
)
from assay.statistics.tukey import letters, tukey_of_measures
from assay.statistics.tukey import tiers as tiers_of
from assay.tables import Cell, Table

TOP = 10  # ranks of the number of common documents
Progress = Callable[[str], Callable[[int, int], None]]


def no_progress(label: str) -> Callable[[int, int], None]:
    """A progress bar that shows nothing."""
    return lambda done, total: None


@dataclass(frozen=True)
class Randomness:
    """The seed and the sizes of tests.

    Args:
        permutations: of a randomization test.
        alpha: significance level of tests; intervals have the level 1 - alpha.
    """

    seed: int = 1
    permutations: int = 10_000
    alpha: float = 0.05

    @property
    def level(self) -> float:
        return round(1 - self.alpha, 12)

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha {self.alpha}: use a number between 0 and 1")
        if self.seed < 0 or self.permutations < 1:
            raise InputError("seed and permutations: use whole numbers from 0 and 1")


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of an analysis of runs. Arrays of runs are in the order of `names`.

    `rows` are the runs as in their files; `runs` consist of the units that are scored. There are none if the runs were
    scored one by one when they were read (`scored`), so that one at a time is in memory.
    """

    protocol: Protocol
    qrels: QrelsColumns
    names: list[str]
    rows: list[RunColumns]
    formulas: Formulas | None
    measures: list[Measure]
    average: Average
    level: int
    duplicates: str | None = None
    scored: list[Scored] = field(default_factory=list)

    @cached_property
    def _prepared(self) -> list[Prepared]:
        return [prepare(run, self.formulas) for run in self.rows]

    @cached_property
    def runs(self) -> list[Ranked]:
        return [run.ranking for run in self._prepared]

    @cached_property
    def judged(self) -> JudgedDocuments:
        return self.judged_by(self.qrels)

    def judged_by(self, qrels: QrelsColumns) -> JudgedDocuments:
        """Qrels of documents, with the near-duplicates of the file that the arguments name."""
        return judged_documents(qrels, self.duplicates)

    @property
    def in_characters(self) -> bool:
        """True if a measure counts characters of citations; curves then do too."""
        return any(measure.in_characters for measure in self.measures)

    @cached_property
    def _results(self) -> list[Scored]:
        results = self.scored or [score_prepared(run, self.judged, self.measures) for run in self._prepared]
        for name, result in zip(self.names, results, strict=True):
            if result.problem:
                warnings.warn(f"{name}: {result.problem}", InputWarning, stacklevel=2)
        scored = [result.scores for result in results]
        warn_of_missing(self.judged.topics.tolist(), scored, self.average)
        return results

    @property
    def _scored(self) -> list[RunScores]:
        return [result.scores for result in self._results]

    @cached_property
    def comparable(self) -> list[int]:
        """The runs with a judged document. The values of the others are 0 because nothing is known of them."""
        return [n for n, result in enumerate(self._results) if not result.problem]

    @cached_property
    def is_counted(self) -> NDArray[np.bool_]:
        """(topics of the qrels,) whether runs are compared on the topic.

        Raises:
            InputError: No topic of the qrels is in every run.
        """
        counted = np.ones(self.judged.n_topics, dtype=np.bool_)
        for scores in self._scored:
            counted &= scores.averaged(self.average)
        if not counted.any():
            raise InputError(
                "no topic of the qrels is in every run; --average judged counts a missing topic as 0"
            )
        return counted

    @property
    def topics(self) -> list[str]:
        """Codes of the topics that runs are compared on."""
        codes: list[str] = self.judged.topics[self.is_counted].tolist()
        return codes

    def scores(self, measure: Measure) -> NDArray[np.float64]:
        """(runs, topics) values of a measure, for the topics that runs are compared on."""
        column = self.measures.index(measure)
        return np.array([scores.values[self.is_counted, column] for scores in self._scored])


def read_inputs(
    qrels: Values,
    runs: Mapping[str, Values],
    measures: Names,
    scoring: Scoring,
    *,
    shown: Callable[..., Any] = lambda runs: runs,
    keeps_rows: bool = True,
) -> Inputs:
    """Read qrels and runs for an analysis; `shown` wraps the runs to show how many are read.

    Without `keeps_rows`, each run is scored when it is read, and only its scores are kept.

    Raises:
        InputError: A file, the protocol or a measure cannot be used.
    """
    protocol = scoring.rules
    parsed = _tested(measures_of(measures, protocol), are_named=bool(measures))
    units = scoring.read_units(protocol)
    inputs = Inputs(
        protocol,
        qrels_from_any(qrels, protocol, kind=qrels_of(parsed)),
        list(runs),
        [],
        units.formulas,
        parsed,
        scoring.average or protocol.scoring.average,
        scoring.level or protocol.scoring.relevant_from,
        scoring.duplicates_path,
    )
    for name, run in shown(runs.items()):
        rows = run_from_any(run, name, protocol, units.formats)
        if keeps_rows:
            inputs.rows.append(rows)
        else:
            inputs.scored.append(score_prepared(prepare(rows, units.formulas), inputs.judged, parsed))
    return inputs


def _tested(measures: Sequence[Measure], *, are_named: bool) -> list[Measure]:
    """The measures that are means over topics. Others of a protocol are left out with a warning.

    Raises:
        InputError: There is none, or one that is not a mean was asked for by its name.
    """
    tested = [measure for measure in measures if FAMILIES[measure.family].summary == "mean"]
    others = [str(measure) for measure in measures if measure not in tested]
    if others and (are_named or not tested):
        raise InputError(f"{others[0]} is not a mean over topics; tests and intervals only compare means")
    for name in others:
        text = f"{name} is left out: it is not a mean over topics, and tests and intervals only compare means"
        warnings.warn(text, InputWarning, stacklevel=2)
    return tested


def compare(
    qrels: Values,
    runs: Runs,
    measures: Names = (),
    *,
    protocol: PathLike | Protocol | None = None,
    average: Average | None = None,
    units: str | None = None,
    formulas: Sequence[PathLike] = (),
    duplicates: PathLike | None = None,
    seed: int = 1,
    permutations: int = 10_000,
    alpha: float = 0.05,
    persistence: float = 0.9,
) -> "Comparison":
    """Compare two runs topic by topic, as `assay compare` does: differences, their significance, and rank overlap.

    Args:
        qrels, runs, measures, protocol, average, units, formulas, duplicates: as for `assay.evaluate`.
        seed, permutations, alpha: of tests; intervals have the level 1 - alpha.
        persistence: the probability that a reader goes to the next rank, for rank-biased overlap.

    Raises:
        InputError: There are not two runs, or something cannot be used.
    """
    named = named_runs(runs)
    if len(named) != 2:
        raise InputError(f"compare takes two runs, got {len(named)}; assay.tiers ranks any number of runs")
    if not 0 < persistence < 1:
        raise InputError(f"persistence {persistence}: use a number between 0 and 1")
    tests = Randomness(seed, permutations, alpha)
    scoring = Scoring(
        protocol=protocol, average=average, units=units, formulas=formulas, duplicates=duplicates
    )
    return Comparison(read_inputs(qrels, named, measures, scoring), tests, persistence)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Two runs compared. Its tables are `summary`, `overlap` and `topics`."""

    inputs: Inputs
    tests: Randomness
    persistence: float

    @cached_property
    def tables(self) -> list[Table]:
        """Means and tests by measure; rank-biased overlap by topic; values by measure and topic."""
        inputs = self.inputs
        first, second = inputs.names
        overlap = overlap_of_runs(*inputs.runs, p=self.persistence)
        counted = {code: values for code, values in overlap.items() if code in set(inputs.topics)}
        rows: list[tuple[Cell, ...]] = [(code, *values) for code, values in counted.items()]
        if counted:
            rows.insert(0, (ALL, *np.mean(list(counted.values()), axis=0).tolist()))
        return [
            Table(
                "summary",
                f"means of {first} and {second}; {self.tests.level:g} interval of the difference "
                f"({_worth(inputs, self.tests)}); p-values, seed {self.tests.seed}{_not_comparable(inputs)}",
                ("measure", "topics", "first", "second", "mean_first", "mean_second", "difference", "low", "high",
                 "wins", "ties", "losses", "t", "p_t", "p_randomization", "p_wilcoxon"),
                [_summary(inputs, measure, self.tests) for measure in inputs.measures],
            ),
            Table(
                "overlap",
                f"rank-biased overlap of the runs, p = {self.persistence:g}: lower bound, residual, point estimate",
                ("topic", "minimum", "residual", "extrapolated"),
                rows,
            ),
            Table(
                "topics",
                f"values by topic: first {first}, second {second}; a positive difference favors the first",
                ("measure", "topic", "first", "second", "difference"),
                [
                    (str(measure), topic, value, other, value - other)
                    for measure in inputs.measures
                    for topic, value, other in zip(inputs.topics, *inputs.scores(measure).tolist(), strict=True)
                ],
            ),
        ]  # fmt: skip

    def plot(self) -> Figure:
        """The first measure of both runs on each topic."""
        measure = self.inputs.measures[0]
        series = list(zip(self.inputs.names, self.inputs.scores(measure).tolist(), strict=True))
        title = f"{measure} of {' and '.join(self.inputs.names)} by topic"
        return Figure(groups("topics", title, self.inputs.topics, series, across="Topic", up=str(measure)))


def overlap_table(first: Ranked, second: Ranked, *, persistence: float) -> Table:
    """Similarity of two runs on each topic of either, and in the mean, without qrels."""
    rows = []
    for code, values in overlap_of_runs(first, second, p=persistence).items():
        lists = documents_of(first, code), documents_of(second, code)
        in_both = common_ranks(*lists)
        numbers = (len(lists[0]), len(lists[1]), len(in_both), int((in_both <= TOP).all(axis=1).sum()))
        rows.append((*numbers, *values))
    means = np.mean(rows, axis=0).tolist()
    codes = topics_of_both(first, second)
    return Table(
        "overlap",
        f"numbers of documents, in both, and among the top {TOP} of both; rank-biased overlap, p = {persistence:g}: "
        "lower bound, residual, point estimate",
        ("topic", "first", "second", "common", f"common_{TOP}", "minimum", "residual", "extrapolated"),
        [(ALL, *means), *((code, *row) for code, row in zip(codes, rows, strict=True))],
    )


def _worth(inputs: Inputs, tests: Randomness) -> str:
    """The method of the intervals, and how often they contain the mean with this number of topics."""
    return "; ".join(filter(None, (METHODS["skewed-t"], coverage(len(inputs.topics), level=tests.level))))


def _not_comparable(inputs: Inputs) -> str:
    names = [name for n, name in enumerate(inputs.names) if n not in inputs.comparable]
    return f"; {', '.join(names)}: no judged document, so not comparable" if names else ""


def _summary(inputs: Inputs, measure: Measure, tests: Randomness) -> tuple[Cell, ...]:
    scores = inputs.scores(measure)
    n, (differences,) = scores.shape[1], scores[:1] - scores[1:]
    is_tied = np.isclose(differences, 0.0, atol=1e-12)
    wins, ties = int(((differences > 0) & ~is_tied).sum()), int(is_tied.sum())
    row: tuple[Cell, ...] = (
        str(measure),
        n,
        *inputs.names,
        *scores.mean(axis=1).tolist(),
        float(differences.mean()),
    )
    counts = (wins, ties, n - wins - ties)
    if n < 2 or len(inputs.comparable) < 2:
        return (*row, None, None, *counts, None, None, None, None)
    lowest, highest = possible_range(scores, measure)
    within = (lowest - highest, highest - lowest)
    interval = intervals_of_means(differences[np.newaxis], level=tests.level, within=within)
    permuted = randomization(scores, n_permutations=tests.permutations, seed=tests.seed)
    p_values = (float(test.p[0, 1]) for test in (paired_t(scores), permuted, wilcoxon(scores)))
    ends = float(interval.low[0]), float(interval.high[0])
    return (*row, *ends, *counts, float(t_statistics(scores)[0, 1]), *p_values)


def tiers(
    qrels: Values,
    runs: Runs,
    measures: Names = (),
    *,
    protocol: PathLike | Protocol | None = None,
    average: Average | None = None,
    units: str | None = None,
    formulas: Sequence[PathLike] = (),
    duplicates: PathLike | None = None,
    seed: int = 1,
    permutations: int = 10_000,
    alpha: float = 0.05,
    pairs: bool = False,
) -> "Tiers":
    """Rank runs with confidence intervals and tiers, as `assay tiers` does.

    Args:
        qrels, runs, measures, protocol, average, units, formulas, duplicates: as for `assay.evaluate`.
        seed, permutations, alpha: of tests; intervals have the level 1 - alpha.
        pairs: also a table of every two runs, with the p-values of each test.

    Raises:
        InputError: Something cannot be used.
    """
    tests = Randomness(seed, permutations, alpha)
    scoring = Scoring(
        protocol=protocol, average=average, units=units, formulas=formulas, duplicates=duplicates
    )
    inputs = read_inputs(qrels, named_runs(runs), measures, scoring, keeps_rows=False)
    return Tiers(inputs, tests, has_pairs=pairs)


@dataclass(frozen=True, eq=False, repr=False)
class Tiers(Result):
    """Runs ranked. Its tables are `ranking`, `tests` and, if wanted, `pairs`.

    Runs of a tier do not differ significantly (randomized Tukey HSD).
    """

    inputs: Inputs
    tests: Randomness
    has_pairs: bool = False
    progress: Progress = no_progress

    @cached_property
    def _compared(self) -> list[int]:
        """The runs that are tested: none on a single topic, which does not show how much values vary."""
        return self.inputs.comparable if len(self.inputs.topics) > 1 else []

    @cached_property
    def _tukey(self) -> dict[Measure, PairTest]:
        measures = self.inputs.measures
        tests = tukey_of_measures(
            [self.inputs.scores(measure)[self._compared] for measure in measures],
            n_permutations=self.tests.permutations,
            seed=self.tests.seed,
            progress=self.progress(", ".join(map(str, measures))),
        )
        return dict(zip(measures, tests, strict=True))

    @cached_property
    def tables(self) -> list[Table]:
        """Ranks, means, intervals and letters of tiers by measure; how many pairs differ; and the pairs."""
        n_pairs, alpha = len(self._compared) * (len(self._compared) - 1) // 2, self.tests.alpha
        rows: list[tuple[Cell, ...]] = []
        for measure, tukey in self._tukey.items():
            n_apart = int(np.triu(tukey.is_significant(alpha), 1).sum())
            counts = (n_apart, tukey.share_significant(alpha), tukey.critical) if n_pairs else (0, None, None)
            rows.append((str(measure), len(self.inputs.topics), n_pairs, *counts))
        tables = [
            self._ranking(),
            Table(
                "tests",
                f"pairs that differ significantly by randomized Tukey HSD at {alpha:g} ({self._permutations})",
                ("measure", "topics", "pairs", "significant", "share", "critical_0.05"),
                rows,
            ),
        ]
        return [*tables, self._pairs()] if self.has_pairs else tables

    @property
    def _permutations(self) -> str:
        return f"{self.tests.permutations} permutations, seed {self.tests.seed}"

    def _ranking(self) -> Table:
        """The runs by their means; those that are not comparable are last."""
        inputs, alpha = self.inputs, self.tests.alpha
        rows: list[tuple[Cell, ...]] = []
        for measure, tukey in self._tukey.items():
            scores = inputs.scores(measure)
            within = possible_range(scores, measure)
            bounds = intervals_of_means(scores, level=self.tests.level, within=within)
            tier_of = dict(
                zip(self._compared, letters(tiers_of(tukey, alpha), len(self._compared)), strict=True)
            )
            ranked = sorted(inputs.comparable, key=lambda n: -bounds.means[n])
            for rank, n in zip(ranks(bounds.means[ranked]).tolist(), ranked, strict=True):
                numbers = (float(column[n]) for column in (bounds.means, bounds.low, bounds.high))
                rows.append((str(measure), rank, inputs.names[n], *numbers, tier_of.get(n, "")))
            rows += [
                (str(measure), None, name, float(bounds.means[n]), None, None, NOT_COMPARABLE)
                for n, name in enumerate(inputs.names)
                if n not in inputs.comparable
            ]
        return Table(
            "ranking",
            f"mean with its {self.tests.level:g} interval ({_worth(inputs, self.tests)}); runs that share a letter do "
            f"not differ significantly{_not_comparable(inputs)}",
            ("measure", "rank", "run", "mean", "low", "high", "tier"),
            rows,
        )

    def _pairs(self) -> Table:
        names = [self.inputs.names[n] for n in self._compared]
        rows: list[tuple[Cell, ...]] = []
        of_holm = ""
        for measure, tukey in self._tukey.items():
            scores = self.inputs.scores(measure)[self._compared]
            permuted = randomization(scores, least=self.tests.permutations, seed=self.tests.seed)
            tests = (permuted, paired_t(scores), wilcoxon(scores))
            order = np.argsort(-tukey.means, kind="stable")
            places = np.triu_indices(len(order), 1)
            pairs = order[places[0]], order[places[1]]
            values = (tukey.difference, tukey.p, *(p for test in tests for p in (test.p, test.adjusted)))
            named = ([names[n] for n in rows_of_side.tolist()] for rows_of_side in pairs)
            columns = (value[pairs].tolist() for value in values)
            rows += zip([str(measure)] * len(pairs[0]), *named, *columns, strict=True)
            if permuted.n_tilted:
                of_holm = (
                    f"; p_randomization below {TAIL / permuted.n_permutations:g} estimated by importance sampling, "
                    f"{permuted.n_tilted} patterns"
                )
            elif permuted.n_permutations > self.tests.permutations:
                of_holm = f", {permuted.n_permutations} for Holm"
        return Table(
            "pairs",
            "every two runs; the p-values of Holm and Tukey are adjusted for all pairs "
            f"({self._permutations}{of_holm})",
            ("measure", "first", "second", "difference", "p_tukey",
             "p_randomization", "p_randomization_holm",
             "p_t", "p_t_holm", "p_wilcoxon", "p_wilcoxon_holm"),
            rows,
        )  # fmt: skip

    def plot(self) -> Figure:
        """The mean of each run with its interval, for the first measure."""
        measure = str(self.inputs.measures[0])
        rows = [
            Interval(f"{row[2]}", float(row[3] or 0), _number(row[4]), _number(row[5]))
            for row in self.table("ranking").rows
            if row[0] == measure
        ]
        title = f"Mean {measure} with its {self.tests.level:.0%} interval ({_worth(self.inputs, self.tests)})"
        return Figure(intervals("ranking", title, rows, across=measure))


def _number(cell: Cell) -> float | None:
    return float(cell) if isinstance(cell, float) and np.isfinite(cell) else None
