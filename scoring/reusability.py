"""Whether the qrels will serve runs that were not pooled: one team left out, shallower pools, fewer topics.

Layout: `units` is the pool of the runs (entries and who brought them, as `pooling.depth` gives it), `runs` their
columns in the same order, `qrels` the judgments. Units of the qrels that none of these runs brought to the pool stay
judged whatever is left out: other runs, or hands, brought them. Means are over the topics asked for by `average`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pooling.columns import Ranked
from pooling.contribution import sole_group
from pooling.depth import PooledUnits
from protocols.measure_names import Measure
from protocols.schema import Average
from scoring.matching import JudgedDocuments
from scoring.measures import score_run
from scoring.qrels_format import QrelsColumns
from scoring.rank_correlation import defined, kendall_tau, ranks, tau_ap

NOBODY = -1
Progress = Callable[[int, int], None]


def silent(_done: int, _total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """What is scored, and how."""

    runs: Sequence[Ranked]
    qrels: QrelsColumns
    measures: Sequence[Measure]
    average: Average = "judged"
    level: int = 1  # the grade from which a unit is relevant, where units are counted

    def means(self, is_kept: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """(runs, measures) means, with all qrels or those of the rows that are kept; all topics stay."""
        judged = JudgedDocuments(self.qrels if is_kept is None else rows_of(self.qrels, is_kept))
        scored = [score_run(run, judged, self.measures).means(self.average) for run in self.runs]
        return np.array(scored).reshape(len(self.runs), len(self.measures))


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
    scoring: Scoring, units: PooledUnits, teams: Sequence[str], *, progress: Progress = silent
) -> list[TeamLeftOut]:
    """For each team: what it alone found is taken out of the qrels, and all runs are scored again.

    Parameters
    ----------
    teams : (runs,) the team of each run.

    Raises
    ------
    ValueError
        The pool, the runs and the teams are not of one number.

    Source
    ------
    Zobel (1998), doi:10.1145/290941.291014; by team: Voorhees (2001), doi:10.1007/3-540-45691-0_34.
    """
    if not len(scoring.runs) == len(teams) == units.n_runs:
        raise ValueError(f"{len(scoring.runs)} runs, {len(teams)} teams, and a pool of {units.n_runs} runs")
    names = sorted(set(teams))
    team_of = np.array([names.index(team) for team in teams], dtype=np.int64)
    only = sole_group(units, team_of)
    is_in_qrels = _are_of(scoring.qrels, units)
    of_qrels = _entry_of(scoring.qrels, units)
    alone = np.where(of_qrels == NOBODY, NOBODY, np.append(only, NOBODY)[of_qrels])
    before = scoring.means()
    left_out = []
    for number, name in enumerate(names):
        is_lost = alone == number
        after = scoring.means(~is_lost) if is_lost.any() else before
        n_pooled = int((is_in_qrels & (only == number)).sum())
        left_out.append(
            _team(scoring, name, n_pooled, is_lost, np.flatnonzero(team_of == number), before, after)
        )
        progress(number + 1, len(names))
    return left_out


def _team(
    scoring: Scoring,
    name: str,
    n_pooled: int,
    is_lost: NDArray[np.bool_],
    runs: NDArray[np.intp],
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
        for run in runs.tolist()
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
    full = scoring.means()
    points = []
    for number, (label, units) in enumerate(pools):
        is_kept = _entry_of(scoring.qrels, units) != NOBODY
        n_pooled = int(_are_of(scoring.qrels, units).sum())
        points.append(_depth_point(scoring, label, n_pooled, is_kept, full))
        progress(number + 1, len(pools))
    return points


def _depth_point(
    scoring: Scoring, label: str, n_pooled: int, is_kept: NDArray[np.bool_], full: NDArray[np.float64]
) -> DepthPoint:
    grade = scoring.qrels.grade[is_kept]
    means = scoring.means(is_kept)
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
