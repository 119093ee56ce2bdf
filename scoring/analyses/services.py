"""What finds out what a leaderboard's numbers rest on: asked for by an organizer, computed by a job, kept."""

import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from django.db import transaction

from accounts.models import User
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.runs.columns import Ranked
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.pools.depth import PooledUnits
from assay.pools.strategies import PoolError, build_pool
from assay.protocols.measures import parse_measures
from assay.protocols.schema import Average
from assay.statistics.qrels_summary import summarize_qrels
from assay.statistics.ranking_comparison import compare_rankings
from assay.statistics.reusability import Scoring, depth_curve, leave_one_team_out
from assay.statistics.topic_stability import topic_stability
from assay.statistics.tukey import tukey_hsd
from jobs import services as jobs
from pooling.models import Run
from pooling.pools import inputs
from pooling.pools.selectors import runs_to_pool
from scoring.analyses.errors import AnalysisRefused
from scoring.analyses.selectors import evaluated, scores_of, versions_beside
from scoring.evaluations.stored_runs import judged_documents, ranking_of
from scoring.models import Analysis, Evaluation, Leaderboard, Qrels
from scoring.qrels.selectors import qrels_columns
from tracks.models import Track

PARTS = 10  # depths of the curve, in equal parts of the deepest

Found = dict[str, Any]


@transaction.atomic
def request(*, leaderboard: Leaderboard, kind: str, by: User, beside: Sequence[Qrels] = ()) -> Analysis:
    """Record what is to be found out, and queue the work.

    `beside` are other versions of the track's qrels, which `Analysis.Kind.BESIDE` needs.

    Raises
    ------
    AnalysisRefused
        The leaderboard is not scored yet, the same is being computed, or there is nothing to compare.
    """
    board = Leaderboard.objects.select_for_update(of=("self",)).select_related("track").get(pk=leaderboard.pk)
    if kind not in Analysis.Kind.values:
        raise AnalysisRefused(f"There is no analysis {kind!r}; use {', '.join(Analysis.Kind.values)}.")
    if board.status != Leaderboard.Status.READY:
        raise AnalysisRefused(
            f"The leaderboard is {board.get_status_display()}; only a finished one is analyzed."
        )
    _refuse_while_computing(board, kind)
    chosen = versions_beside(board).filter(pk__in=[one.pk for one in beside])
    if kind == Analysis.Kind.BESIDE and not chosen:
        raise AnalysisRefused("Choose at least one other version of the track's qrels.")
    analysis = Analysis.objects.create(
        leaderboard=board,
        kind=kind,
        seed=secrets.randbelow(10**9),
        arguments={"qrels": [one.pk for one in chosen]} if kind == Analysis.Kind.BESIDE else {},
        created_by=by,
    )
    analysis.job = jobs.request(
        kind="scoring.analyze",
        title=f"Analyze {board}: {analysis.get_kind_display()}"[:200],
        arguments={"analysis_id": analysis.pk},
        by=by,
        subject=board.track,
    )
    analysis.save(update_fields=["job"])
    return analysis


def _refuse_while_computing(board: Leaderboard, kind: str) -> None:
    if board.analyses.filter(kind=kind, status=Analysis.Status.COMPUTING).exists():
        raise AnalysisRefused("This is being computed at this moment; wait until it is done.")


def _analysis_failed(*, analysis_id: int) -> None:
    computing = Analysis.objects.filter(pk=analysis_id, status=Analysis.Status.COMPUTING)
    computing.update(status=Analysis.Status.FAILED)


def _analysis_retried(*, analysis_id: int) -> None:
    analysis = Analysis.objects.get(pk=analysis_id)
    board = Leaderboard.objects.select_for_update(of=("self",)).get(pk=analysis.leaderboard_id)
    _refuse_while_computing(board, analysis.kind)
    failed = Analysis.objects.filter(pk=analysis_id, status=Analysis.Status.FAILED)
    failed.update(status=Analysis.Status.COMPUTING)


@jobs.handler("scoring.analyze", failed=_analysis_failed, retried=_analysis_retried)
def compute(progress: jobs.Progress, *, analysis_id: int) -> dict[str, Any]:
    """Find out what was asked, and store it whole.

    Raises
    ------
    AnalysisRefused, LeaderboardRefused, PoolRefused
        A run cannot be read, or the protocol cannot be followed.
    JobLost
        Another worker has taken the job over.
    """
    analysis = Analysis.objects.select_related(
        "leaderboard__track__protocol", "leaderboard__qrels__track"
    ).get(pk=analysis_id)
    found = FINDERS[analysis.kind](analysis, progress)
    with progress.storing():
        analysis = Analysis.objects.select_for_update().get(pk=analysis_id)
        if (
            analysis.status != Analysis.Status.READY
        ):  # else an attempt stored it, and died before it could say so
            analysis.result, analysis.status = found, Analysis.Status.READY
            analysis.save(update_fields=["result", "status"])
    return {"analysis": analysis.pk}


@dataclass(frozen=True)
class _Stored:
    """The runs of evaluations as they are scored, each read when it comes."""

    track: Track
    runs: Sequence[Run]

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Ranked]:
        return (ranking_of(run, self.track) for run in self.runs)


def _reusability(analysis: Analysis, progress: jobs.Progress) -> Found:
    board = analysis.leaderboard
    evaluations, rules = evaluated(board), board.track.protocol.parsed.scoring
    scoring = Scoring(
        _Stored(board.track, [one.run for one in evaluations]),
        qrels_columns(board.qrels),
        parse_measures(board.measures),
        cast(Average, board.average),
        rules.relevant_from,
        _judged_of(board.qrels),
    )
    pooled = list(runs_to_pool(board.track))
    pools = _pools(analysis, pooled, progress)
    left_out = leave_one_team_out(
        scoring,
        pools[-1][1],
        [run.team.name for run in pooled],
        teams=[one.run.team.name for one in evaluations],
        progress=_telling(progress, "leaving each team out"),
    )
    depths = depth_curve(scoring, pools, progress=_telling(progress, "judging shallower pools"))
    return {
        **_head(board, evaluations),
        "level": scoring.level,
        "units": summarize_qrels(scoring.qrels, level=scoring.level).as_json(),
        "pooled": [{"run": run.pk, "sha256": run.sha256} for run in pooled],
        "teams": [one.as_json() for one in left_out],
        "depths": [one.as_json() for one in depths],
    }


def _judged_of(qrels: Qrels) -> Callable[[QrelsColumns], JudgedDocuments]:
    def judged(columns: QrelsColumns) -> JudgedDocuments:
        return judged_documents(qrels, columns)

    return judged


def _pools(analysis: Analysis, runs: Sequence[Run], progress: jobs.Progress) -> list[tuple[str, PooledUnits]]:
    """The pool of the track's runs, to each part of the depths that were judged; whole alone, if there are none."""
    track = analysis.leaderboard.track
    protocol = track.protocol.parsed
    read = inputs.read(
        track,
        protocol,
        runs,
        tops_up=None,
        tell=lambda n, said: progress.update(n, len(runs) + 2, said),
        makes_ids=False,
    )
    depths = _parts(_depths_of(analysis.leaderboard.qrels) or protocol.pool.depth)
    pools = []
    for n, depth in enumerate(depths, 1):
        progress.update(n, len(depths), f"pooling to {_shown(depth) or 'the end'}")
        try:
            built = build_pool(
                read.inputs,
                protocol=protocol,
                seed=analysis.seed,
                depth=depth,
                formulas=read.formulas,
                known=read.known,
            )
        except PoolError as error:
            raise AnalysisRefused(f"{error}.") from error
        pools.append((_shown(depth), built.units))
    return pools


def _depths_of(qrels: Qrels) -> dict[str, int]:
    """How deep the pools were, by kind of run, whose judgments are in the qrels; nothing of an imported file."""
    depths: dict[str, int] = {}
    pool = qrels.pool
    while pool is not None:
        for kind, k in pool.depth.items():
            depths[kind] = max(k, depths.get(kind, 0))
        pool = pool.tops_up
    return depths


def _parts(whole: Mapping[str, int]) -> list[dict[str, int]]:
    """A tenth, two tenths ... of depths, each once; no depths are one part, which is all."""
    found: list[dict[str, int]] = []
    for part in range(1, PARTS + 1):
        depth = {kind: math.ceil(part / PARTS * k) for kind, k in whole.items()}
        if depth not in found:
            found.append(depth)
    return found


def _shown(depth: Mapping[str, int]) -> str:
    """Depths in words: `50`, or `primary 45, alternate 15` where kinds differ."""
    used = {kind: k for kind, k in depth.items() if k}
    if len(set(used.values())) == 1:
        return str(next(iter(used.values())))
    return ", ".join(f"{kind} {k}" for kind, k in used.items())


def _topics(analysis: Analysis, progress: jobs.Progress) -> Found:
    board = analysis.leaderboard
    evaluations, by_measure = evaluated(board), {}
    n_topics = 0
    for measure in board.measures:
        scores = scores_of(board, evaluations, measure)
        n_topics = scores.shape[1]
        if not n_topics:
            raise AnalysisRefused("No topic is in all runs: there is nothing to rank them by.")
        ranking = _telling(progress, f"ranking by fewer topics, {measure}")
        points = topic_stability(scores, seed=analysis.seed, progress=ranking)
        telling_apart = _telling(progress, f"telling runs apart by {measure}")
        test = tukey_hsd(scores, seed=analysis.seed, progress=telling_apart)
        by_measure[measure] = {
            "points": [point._asdict() for point in points],
            "share_significant": test.share_significant(),
            "critical": test.critical,
        }
    return {**_head(board, evaluations), "n_topics": n_topics, "measures": by_measure}


def _beside(analysis: Analysis, progress: jobs.Progress) -> Found:
    board = analysis.leaderboard
    evaluations, measures = evaluated(board), parse_measures(board.measures)
    others = versions_beside(board).filter(pk__in=analysis.arguments["qrels"])
    versions = [board.qrels, *others]
    level = board.track.protocol.parsed.scoring.relevant_from
    columns = [qrels_columns(version) for version in versions]
    judged = [judged_documents(version, rows) for version, rows in zip(versions, columns, strict=True)]
    means = np.empty((len(measures), len(versions), len(evaluations)))
    for place, ranking in enumerate(_Stored(board.track, [one.run for one in evaluations])):
        progress.update(place, len(evaluations), evaluations[place].run.tag)
        for version, documents in enumerate(judged):
            scored = score_run(ranking, documents, measures)
            means[:, version, place] = scored.means(cast(Average, board.average))
    names = [str(version) for version in versions]
    n_topics = [len(rows.topics) for rows in columns]
    return {
        **_head(board, evaluations),
        "level": level,
        "qrels": [{"id": one.pk, "version": one.version, "name": one.name} for one in versions],
        "units": [summarize_qrels(rows, level=level).as_json() for rows in columns],
        "measures": {
            measure: compare_rankings(names, means[n], n_topics).as_json()
            for n, measure in enumerate(board.measures)
        },
    }


def _head(board: Leaderboard, evaluations: Sequence[Evaluation]) -> Found:
    """Which runs, in the order of every array of runs, and which measures, in that of every array of measures."""
    return {
        "measures": board.measures,
        "runs": [
            {"evaluation": one.pk, "run": one.run_id, "team": one.run.team.name, "tag": one.run.tag}
            for one in evaluations
        ],
    }


def _telling(progress: jobs.Progress, said: str) -> Callable[[int, int], None]:
    return lambda done, total: progress.update(done, total, said)


FINDERS: Mapping[str, Callable[[Analysis, jobs.Progress], Found]] = {
    Analysis.Kind.REUSABILITY: _reusability,
    Analysis.Kind.TOPICS: _topics,
    Analysis.Kind.BESIDE: _beside,
}
