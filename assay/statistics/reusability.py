"""Whether the qrels will serve runs that were not pooled: one team left out, shallower pools, fewer topics.

Layout: `units` is a pool of runs (entries and who brought them, as `assay.pools.depth` gives it), `qrels` the judgments.
Units of the qrels that none of these runs brought to the pool stay judged whatever is left out: other runs, or hands,
brought them. Means are over the topics asked for by `average`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.formats.qrels.reader import QrelsColumns
from assay.formats.runs.columns import Ranked
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.pools.contribution import sole_group
from assay.pools.depth import PooledUnits
from assay.protocols.measures import Measure
from assay.protocols.schema import Average
from assay.statistics.rank_correlation import defined, kendall_tau, ranks, tau_ap
from assay.statistics.significance import Progress, silent

NOBODY = -1


class Runs(Protocol):
    """Runs that can be gone through more than once: a list, or one that reads each as it comes."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Ranked]: ...


@dataclass(frozen=True, slots=True)
class Scoring:
    """What is scored, and how.

    level : the grade from which a unit is relevant, where units are counted.
    judged : makes qrels ready for scoring.
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
        """(1 + subsets, runs, measures) means with all qrels, then with those rows alone that each subset keeps.

        All topics stay. Each run is read once, for all subsets.
        """
        versions = [self.qrels, *(rows_of(self.qrels, is_kept) for is_kept in subsets)]
        judged = [self.judged(qrels) for qrels in versions]
        means = np.empty((len(judged), len(self.runs), len(self.measures)))
        for place, run in enumerate(self.runs):
            for version, documents in enumerate(judged):
                means[version, place] = score_run(run, documents, self.measures).means(self.average)
            progress(place + 1, len(self.runs))
        return means


def rows_of(qrels: QrelsColumns, is_kept: NDArray[np.bool_]) -> QrelsColumns:
    """Some rows of qrels, with all topics: one that has lost its last unit still counts, as 0."""
    return QrelsColumns(qrels.topics, qrels.topic_index[is_kept], qrels.docno[is_kept], qrels.grade[is_kept])


class RunChange(NamedTuple):
    """One run of a team, scored with and without what its team alone found. One value a measure each."""

    run: int
    before: tuple[float, ...]
    after: tuple[float, ...]
    rank_before: tuple[int, ...]
    rank_after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TeamLeftOut:
    """The qrels as they would be had a team not taken part.

    n_pooled, n_judged, n_relevant : units that only this team's runs brought to the pool, in topics of the qrels;
        those judged; those relevant.
    changes : for each of its runs.
    tau : for each measure, how alike the rankings of all runs are before and after; nan where not defined.
    """

    team: str
    n_pooled: int
    n_judged: int
    n_relevant: int
    changes: tuple[RunChange, ...]
    tau: tuple[float, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain values; null where one is not defined."""
        return {
            "team": self.team,
            "n_pooled": self.n_pooled,
            "n_judged": self.n_judged,
            "n_relevant": self.n_relevant,
            "changes": [change._asdict() for change in self.changes],
            "tau": defined(self.tau),
        }


def leave_one_team_out(
    scoring: Scoring,
    units: PooledUnits,
    pooled_by: Sequence[str],
    *,
    teams: Sequence[str] | None = None,
    progress: Progress = silent,
) -> list[TeamLeftOut]:
    """For each team: what it alone found is taken out of the qrels, and all runs are scored again.

    Parameters
    ----------
    pooled_by : (pooled runs,) the team of each run of the pool.
    teams : (scored runs,) the team of each run that is scored; by default these are the runs of the pool.

    Raises
    ------
    ValueError
        The teams are not as many as the runs.

    Source
    ------
    Zobel (1998), doi:10.1145/290941.291014; by team: Voorhees (2001), doi:10.1007/3-540-45691-0_34.
    """
    teams = pooled_by if teams is None else teams
    if len(scoring.runs) != len(teams) or len(pooled_by) != units.n_runs:
        raise ValueError(
            f"{len(scoring.runs)} runs, {len(teams)} teams, and a pool of {units.n_runs} runs of {len(pooled_by)} teams"
        )
    names = sorted({*pooled_by, *teams})
    only = sole_group(units, np.array([names.index(team) for team in pooled_by], dtype=np.int64))
    of_qrels = _entry_of(scoring.qrels, units)
    alone = np.where(of_qrels == NOBODY, NOBODY, np.append(only, NOBODY)[of_qrels])
    lost = [alone == number for number in range(len(names))]
    before, *after = scoring.means([~is_lost for is_lost in lost], progress=progress)
    n_pooled = np.bincount(only[_are_of(scoring.qrels, units) & (only >= 0)], minlength=len(names)).tolist()
    runs = [[place for place, team in enumerate(teams) if team == name] for name in names]
    return [
        _team(scoring, name, n_pooled[number], lost[number], runs[number], before, after[number])
        for number, name in enumerate(names)
    ]


def _team(
    scoring: Scoring,
    name: str,
    n_pooled: int,
    is_lost: NDArray[np.bool_],
    runs: Sequence[int],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
) -> TeamLeftOut:
    grade = scoring.qrels.grade[is_lost]
    place_before, place_after = _ranks(before), _ranks(after)
    changes = tuple(
        RunChange(
            run,
            tuple(before[run].tolist()),
            tuple(after[run].tolist()),
            tuple(place_before[run].tolist()),
            tuple(place_after[run].tolist()),
        )
        for run in runs
    )
    n_judged, n_relevant = int((grade >= 0).sum()), int((grade >= max(scoring.level, 0)).sum())
    return TeamLeftOut(name, n_pooled, n_judged, n_relevant, changes, _taus(before, after))


def _ranks(means: NDArray[np.float64]) -> NDArray[np.int64]:
    """(runs, measures)"""
    return np.column_stack([ranks(column) for column in means.T])


def _taus(before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(kendall_tau(one, other) for one, other in zip(before.T, after.T, strict=True))


def _are_of(qrels: QrelsColumns, units: PooledUnits) -> NDArray[np.bool_]:
    """(entries,) whether the entry's topic is one of the qrels."""
    return np.isin(units.topics, qrels.topics)[units.topic_index]


def _entry_of(qrels: QrelsColumns, units: PooledUnits) -> NDArray[np.int64]:
    """(rows of the qrels,) the pool's entry for each, or -1."""
    codes = units.topics.tolist()
    pooled = zip(units.topic_index.tolist(), units.docno.tolist(), strict=True)
    place = {(codes[topic], docno): entry for entry, (topic, docno) in enumerate(pooled)}
    names = qrels.topics.tolist()
    rows = zip(qrels.topic_index.tolist(), qrels.docno.tolist(), strict=True)
    return np.array([place.get((names[topic], docno), NOBODY) for topic, docno in rows], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class DepthPoint:
    """What a shallower pool would have given.

    label : the depth.
    n_pooled, n_judged, n_relevant : units in it, in topics of the qrels; those judged; those relevant.
    means : (runs, measures) scores with the judgments of its units alone.
    tau, tau_ap : for each measure, how alike the ranking is to that with all qrels; nan where not defined.
    largest_move : for each measure, the most places that a run moves.
    """

    label: str
    n_pooled: int
    n_judged: int
    n_relevant: int
    means: NDArray[np.float64]
    tau: tuple[float, ...]
    tau_ap: tuple[float, ...]
    largest_move: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain values; null where one is not defined."""
        return {
            "label": self.label,
            "n_pooled": self.n_pooled,
            "n_judged": self.n_judged,
            "n_relevant": self.n_relevant,
            "means": self.means.tolist(),
            "tau": defined(self.tau),
            "tau_ap": defined(self.tau_ap),
            "largest_move": list(self.largest_move),
        }


def depth_curve(
    scoring: Scoring, pools: Sequence[tuple[str, PooledUnits]], *, progress: Progress = silent
) -> list[DepthPoint]:
    """What shallower pools would have cost: judgments saved, relevant units missed, and runs that change places.

    Units of the qrels that a pool has not count as unjudged, whoever brought them.

    Parameters
    ----------
    pools : label and pool of each depth.
    """
    kept = [_entry_of(scoring.qrels, units) != NOBODY for _, units in pools]
    full, *means = scoring.means(kept, progress=progress)
    sizes = [int(_are_of(scoring.qrels, units).sum()) for _, units in pools]
    return [
        _depth_point(scoring, label, size, is_kept, full, of_pool)
        for (label, _), size, is_kept, of_pool in zip(pools, sizes, kept, means, strict=True)
    ]


def _depth_point(
    scoring: Scoring,
    label: str,
    n_pooled: int,
    is_kept: NDArray[np.bool_],
    full: NDArray[np.float64],
    means: NDArray[np.float64],
) -> DepthPoint:
    grade = scoring.qrels.grade[is_kept]
    moved = np.abs(_ranks(means) - _ranks(full)).max(axis=0, initial=0)
    return DepthPoint(
        label,
        n_pooled,
        int((grade >= 0).sum()),
        int((grade >= max(scoring.level, 0)).sum()),
        means,
        _taus(full, means),
        tuple(tau_ap(one, other) for one, other in zip(full.T, means.T, strict=True)),
        tuple(moved.tolist()),
    )
