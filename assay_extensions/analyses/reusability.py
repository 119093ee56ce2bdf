"""The reusability of qrels for runs that were not pooled: the effect of leaving out one team, and of shallower pools.

Layout: `units` is a pool of runs (entries and their contributions, see `assay.pools.depth`), `qrels` the judgments.
Units of the qrels that none of these runs contributed stay judged, whatever is left out. Means are over the topics that
`average` selects.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.formats.qrels.reader import QrelsColumns
from assay.formats.runs.columns import Ranked
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_hits
from assay.pools.depth import PooledUnits
from assay.pools.statistics import sole_group
from assay.protocols.measures import Measure
from assay.protocols.schema import Average
from assay.statistics.rank_correlation import kendall_tau, ranks, tau_ap
from assay.statistics.significance import Progress, silent

NONE = -1  # no entry of the pool, or no single team


class Runs(Protocol):
    """Runs that can be iterated more than once: a list, or an object that reads each run when it is needed."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Ranked]: ...


@dataclass(frozen=True, slots=True)
class Scoring:
    """The data that are scored, and the measures.

    Args:
        level: grade from which a unit counts as relevant.
        judged: prepares qrels for scoring.
    """

    runs: Runs
    qrels: QrelsColumns
    measures: Sequence[Measure]
    average: Average = "judged"
    level: int = 1
    judged: Callable[[QrelsColumns], JudgedDocuments] = JudgedDocuments

    def means(
        self, subsets: Sequence[NDArray[np.bool_]] = (), *, progress: Progress = silent
    ) -> NDArray[np.float64]:
        """Means with all qrels, and with subsets of their rows. Each run is read and matched with the qrels once.

        Args:
            subsets: (rows of the qrels,) whether each row is kept, for each subset. All topics stay.

        Returns:
            (1 + subsets, runs, measures) means; the first are those with all qrels.
        """
        versions = [self.qrels, *map(self.qrels.kept, subsets)]
        judged = [self.judged(qrels) for qrels in versions]
        entries = [judged[0].entries_in(part) for part in judged]
        means = np.empty((len(judged), len(self.runs), len(self.measures)))
        for place, run in enumerate(self.runs):
            located = judged[0].locate(run)
            for version, documents in enumerate(judged):
                hits = documents.hits_at(located.renumbered(entries[version])).graded()
                means[version, place] = score_hits(hits, documents, self.measures).means(self.average)
            progress(place + 1, len(self.runs))
        return means


class RunChange(NamedTuple):
    """Scores and places of a run with and without the units that only its team found. One value per measure."""

    run: int
    before: tuple[float, ...]
    after: tuple[float, ...]
    rank_before: tuple[int, ...]
    rank_after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TeamLeftOut:
    """The effect of a team on the qrels.

    Args:
        n_pooled, n_judged, n_relevant: units in topics of the qrels that only this team's runs contributed to the pool,
            how many of them are judged, and how many relevant.
        changes: one for each of its runs.
        tau: for each measure, Kendall's tau-b of the rankings of all runs with and without these units; nan if
            undefined.
    """

    team: str
    n_pooled: int
    n_judged: int
    n_relevant: int
    changes: tuple[RunChange, ...]
    tau: tuple[float, ...]


def leave_one_team_out(
    scoring: Scoring,
    units: PooledUnits,
    pooled_by: Sequence[str],
    *,
    teams: Sequence[str] | None = None,
    progress: Progress = silent,
) -> list[TeamLeftOut]:
    """For each team, remove the units that only this team found from the qrels, and score all runs again.

    Args:
        pooled_by: (pooled runs,) team of each run of the pool.
        teams: (scored runs,) team of each run that is scored; by default these are the runs of the pool.

    Returns:
        One for each team, in the order of their names.

    Raises ValueError: the numbers of teams and of runs differ.

    Source:
        Zobel (1998), doi:10.1145/290941.291014; by team: Voorhees (2001), doi:10.1007/3-540-45691-0_34.
    """
    teams = pooled_by if teams is None else teams
    if len(scoring.runs) != len(teams) or len(pooled_by) != units.n_runs:
        raise InputError(
            f"got {len(scoring.runs)} runs with {len(teams)} teams, "
            f"and a pool of {units.n_runs} runs with {len(pooled_by)} teams"
        )
    names = sorted({*pooled_by, *teams})
    only = sole_group(units, np.array([names.index(team) for team in pooled_by], dtype=np.int64))
    of_qrels = _entry_of(scoring.qrels, units)
    alone = np.where(of_qrels == NONE, NONE, np.append(only, NONE)[of_qrels])
    lost = [alone == number for number in range(len(names))]
    before, *after = scoring.means([~is_lost for is_lost in lost], progress=progress)
    n_pooled = np.bincount(only[_are_of(scoring.qrels, units) & (only >= 0)], minlength=len(names)).tolist()
    place_before, results = _ranks(before), []
    for name, n_of_pool, is_lost, means in zip(names, n_pooled, lost, after, strict=True):
        place_after = _ranks(means)
        changes = tuple(
            RunChange(
                run, *(tuple(of_runs[run].tolist()) for of_runs in (before, means, place_before, place_after))
            )
            for run, team in enumerate(teams)
            if team == name
        )
        counted = _n_judged_and_relevant(scoring, is_lost)
        results.append(TeamLeftOut(name, n_of_pool, *counted, changes, _taus(before, means)))
    return results


def _n_judged_and_relevant(scoring: Scoring, is_counted: NDArray[np.bool_]) -> tuple[int, int]:
    grade = scoring.qrels.grade[is_counted]
    return int((grade >= 0).sum()), int((grade >= max(scoring.level, 0)).sum())


def _ranks(means: NDArray[np.float64]) -> NDArray[np.int64]:
    """(runs, measures)"""
    return np.column_stack([ranks(column) for column in means.T])


def _taus(before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(kendall_tau(first, second) for first, second in zip(before.T, after.T, strict=True))


def _are_of(qrels: QrelsColumns, units: PooledUnits) -> NDArray[np.bool_]:
    """(entries,) whether the entry's topic is one of the qrels."""
    return np.isin(units.topics, qrels.topics)[units.topic_index]


def _entry_of(qrels: QrelsColumns, units: PooledUnits) -> NDArray[np.int64]:
    """(rows of the qrels,) the pool's entry of each row; -1 if the pool does not have it."""
    codes = units.topics.tolist()
    pooled = zip(units.topic_index.tolist(), units.docno.tolist(), strict=True)
    place = {(codes[topic], docno): entry for entry, (topic, docno) in enumerate(pooled)}
    names = qrels.topics.tolist()
    rows = zip(qrels.topic_index.tolist(), qrels.docno.tolist(), strict=True)
    return np.array([place.get((names[topic], docno), NONE) for topic, docno in rows], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class DepthPoint:
    """The effect of a shallower pool.

    Args:
        label: the depth.
        n_pooled, n_judged, n_relevant: its units in topics of the qrels, how many are judged, and how many relevant.
        means: (runs, measures) means with the judgments of its units only.
        tau, tau_ap: for each measure, correlation of the ranking with the one by all qrels; nan if undefined.
        largest_move: for each measure, the largest number of places by which a run moves.
    """

    label: str
    n_pooled: int
    n_judged: int
    n_relevant: int
    means: NDArray[np.float64]
    tau: tuple[float, ...]
    tau_ap: tuple[float, ...]
    largest_move: tuple[int, ...]


def depth_curve(
    scoring: Scoring, pools: Sequence[tuple[str, PooledUnits]], *, progress: Progress = silent
) -> list[DepthPoint]:
    """The effect of shallower pools: judgments saved, relevant units missed, and runs that change places.

    Units of the qrels that are not in a pool count as unjudged.

    Args:
        pools: label and pool of each depth.

    Returns:
        One point for each pool, in their order.
    """
    kept = [_entry_of(scoring.qrels, units) != NONE for _, units in pools]
    full, *means = scoring.means(kept, progress=progress)
    points = []
    for (label, units), is_kept, of_pool in zip(pools, kept, means, strict=True):
        size = int(_are_of(scoring.qrels, units).sum())
        moved = np.abs(_ranks(of_pool) - _ranks(full)).max(axis=0, initial=0)
        correlations = _taus(full, of_pool), tuple(map(tau_ap, full.T, of_pool.T))
        numbers = (size, *_n_judged_and_relevant(scoring, is_kept))
        points.append(DepthPoint(label, *numbers, of_pool, *correlations, tuple(moved.tolist())))
    return points
