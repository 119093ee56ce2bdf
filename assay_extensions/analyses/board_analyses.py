"""The analyses of a leaderboard, computed from its inputs: by the jobs of the site, and again from an archive.

Each function returns plain values. Arrays of runs and measures are in the order in which these are given.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.formats.qrels.reader import QrelsColumns
from assay.formulas.columns import Formulas
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.pools.depth import PooledUnits
from assay.pools.strategies import ByTopic, PoolInput, build_pool
from assay.protocols.measures import FAMILIES, parse_measure, parse_measures, with_level
from assay.protocols.schema import Average, Protocol
from assay.statistics.qrels_summary import summarize_qrels
from assay.statistics.ranking_comparison import compare_rankings
from assay.statistics.tukey import tukey_of_measures
from assay.tables import plain
from assay_extensions.analyses.reusability import Runs, Scoring, depth_curve, leave_one_team_out
from assay_extensions.analyses.topic_stability import topic_stability

PARTS = 10  # depths of the curve, in equal parts of the deepest

Result = dict[str, Any]
Report = Callable[[int, int, str], None]  # done, total, step


def silent(done: int, total: int, step: str) -> None:
    """Report nothing."""


def means_among(measures: Sequence[str]) -> list[str]:
    """The measures that are means over topics, which `by_topics` takes."""
    return [name for name in measures if FAMILIES[parse_measure(name).family].summary == "mean"]


def by_topics(scores: Mapping[str, NDArray[np.float64]], *, seed: int, report: Report = silent) -> Result:
    """Rankings by fewer topics, and the pairs that differ significantly.

    Args:
        scores: for each measure, (runs, topics) values, of at least one topic.
    """
    testing = _reporter(report, f"testing differences in {', '.join(scores)}")
    tests = tukey_of_measures(list(scores.values()), seed=seed, progress=testing)
    by_measure, n_topics = {}, 0
    for (measure, values), test in zip(scores.items(), tests, strict=True):
        n_topics = values.shape[1]
        ranking = _reporter(report, f"ranking by fewer topics, {measure}")
        points = topic_stability(values, seed=seed, progress=ranking)
        by_measure[measure] = {
            "points": [point._asdict() for point in points],
            "share_significant": test.share_significant(),
            "critical": test.critical,
        }
    return {"n_topics": n_topics, "measures": by_measure}


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the qrels; `level` is the grade from which its documents are relevant."""

    name: str
    columns: QrelsColumns
    judged: JudgedDocuments
    level: int


def by_versions(
    runs: Runs,
    versions: Sequence[Version],
    *,
    measures: Sequence[str],
    average: Average,
    report: Report = silent,
) -> Result:
    """The same runs scored with each version of the qrels; the first is that of the leaderboard."""
    level, wanted = versions[0].level, parse_measures(list(measures))
    means = np.empty((len(wanted), len(versions), len(runs)))
    for place, ranking in enumerate(runs):
        report(place, len(runs), "scoring with each version")
        for column, version in enumerate(versions):
            scored = score_run(ranking, version.judged, with_level(wanted, level, version.level))
            means[:, column, place] = scored.means(average)
    return {
        "level": level,
        "units": [plain(summarize_qrels(version.columns, level=version.level)) for version in versions],
        "measures": compared(
            measures, means, [(version.name, len(version.columns.topics)) for version in versions]
        ),
    }


def compared(
    measures: Sequence[str], means: NDArray[np.float64], rankings: Sequence[tuple[str, int]]
) -> dict[str, Any]:
    """Rankings of the same runs, for each measure.

    Args:
        means: (measures, rankings, runs).
        rankings: name and number of topics of each.
    """
    names, n_topics = [name for name, _ in rankings], [n for _, n in rankings]
    return {measure: plain(compare_rankings(names, means[n], n_topics)) for n, measure in enumerate(measures)}


def pools_by_depth(
    inputs: Sequence[PoolInput],
    *,
    protocol: Protocol,
    depths: Mapping[str, int],
    seed: int,
    formulas: Formulas | None,
    known: ByTopic,
    report: Report = silent,
) -> list[tuple[str, PooledUnits]]:
    """Pools to ten parts of the depths, each with its depth in words; one complete pool if there are no depths.

    Raises PoolError: a pool cannot be built.
    """
    parts: list[dict[str, int]] = []  # a tenth, two tenths ... of the depths, each once
    for tenth in range(1, PARTS + 1):
        depth = {kind: math.ceil(tenth / PARTS * k) for kind, k in depths.items()}
        if depth not in parts:
            parts.append(depth)
    pools = []
    for n, depth in enumerate(parts, 1):
        report(n, len(parts), f"pooling to {_shown(depth) or 'the end'}")
        built = build_pool(inputs, protocol=protocol, seed=seed, depth=depth, formulas=formulas, known=known)
        pools.append((_shown(depth), built.units))
    return pools


def deepest(depths: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The largest of some depths for each kind of run.

    >>> deepest([{"primary": 45, "alternate": 15}, {"alternate": 20}])
    {'primary': 45, 'alternate': 20}
    """
    largest: dict[str, int] = {}
    for depth in depths:
        for kind, k in depth.items():
            largest[kind] = max(k, largest.get(kind, 0))
    return largest


def _shown(depth: Mapping[str, int]) -> str:
    """Depths in words: `50`, or `primary 45, alternate 15` if kinds differ."""
    used = {kind: k for kind, k in depth.items() if k}
    if len(set(used.values())) == 1:
        return str(next(iter(used.values())))
    return ", ".join(f"{kind} {k}" for kind, k in used.items())


def reuse(
    scoring: Scoring,
    pools: Sequence[tuple[str, PooledUnits]],
    *,
    pooled_by: Sequence[str],
    teams: Sequence[str],
    report: Report = silent,
) -> Result:
    """One team left out at a time, and shallower pools; `pooled_by` and `teams` are those of `leave_one_team_out`."""
    leaving = _reporter(report, "leaving each team out")
    left_out = leave_one_team_out(scoring, pools[-1][1], pooled_by, teams=teams, progress=leaving)
    depths = depth_curve(scoring, pools, progress=_reporter(report, "judging shallower pools"))
    return {
        "level": scoring.level,
        "units": plain(summarize_qrels(scoring.qrels, level=scoring.level)),
        "teams": plain(left_out),
        "depths": plain(depths),
    }


def _reporter(report: Report, step: str) -> Callable[[int, int], None]:
    return lambda done, total: report(done, total, step)
