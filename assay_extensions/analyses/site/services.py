"""Analyses of how reliable a leaderboard is: an organizer requests one, a job computes and stores it."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.runs.columns import Ranked
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.measures.units import collapse_instances, several_instances, to_distinct_formulas
from assay.pools.depth import PooledUnits
from assay.pools.strategies import PoolError
from assay.protocols.measures import parse_measures, with_level
from assay.protocols.schema import Average
from assay.statistics.qrels_summary import grades_by_topic, summarize_qrels
from assay.statistics.ranking_comparison import DISTINCT, EVERYBODY, INSTANCES
from assay.tables import plain
from assay_extensions.analyses.board_analyses import (
    Version,
    by_topics,
    by_versions,
    compared,
    deepest,
    means_among,
    pools_by_depth,
    reuse,
)
from assay_extensions.analyses.reusability import Scoring
from assay_extensions.analyses.site.judges import sides_of
from corpus.formulas.selectors import formulas_of
from jobs import services as jobs
from pooling.models import Pool, PoolRun, Run
from pooling.pools import inputs
from pooling.pools.selectors import chain, runs_to_pool
from scoring.errors import analysis_refused
from scoring.evaluations.stored_runs import columns_of, judged_documents, ranking_of
from scoring.models import Analysis, Evaluation, Leaderboard, Qrels
from scoring.qrels.frozen import instances_of
from scoring.qrels.selectors import group_versions, qrels_columns
from scoring.selectors import stored_measures
from scoring.stored_analyses import evaluated, has_instances, other_versions, scores_of
from tracks.models import Track

Result = dict[str, Any]


@transaction.atomic
def request(*, leaderboard: Leaderboard, kind: str, by: User, versions: Sequence[Qrels] = ()) -> Analysis:
    """Create an analysis and queue its work.

    `versions` are other versions of the track's qrels, which `Analysis.Kind.COMPARE` needs.

    Raises:
        Refused: The leaderboard is not scored yet, the same analysis is being computed, or there is nothing to
            compare.
    """
    board = Leaderboard.objects.select_for_update(of=("self",)).select_related("track").get(pk=leaderboard.pk)
    if kind not in Analysis.Kind.values:
        raise analysis_refused(
            f"There is no analysis {kind!r}. Use one of: {', '.join(Analysis.Kind.values)}."
        )
    if board.status != Leaderboard.Status.READY:
        raise analysis_refused(
            f"The leaderboard is {board.get_status_display()}. You can analyze it when it is ready."
        )
    _refuse_while_computing(board, kind)
    if kind == Analysis.Kind.INSTANCES and not has_instances(board):
        raise analysis_refused("The qrels have no judgments of instances of formulas with a visual id.")
    chosen = other_versions(board).filter(pk__in=[version.pk for version in versions])
    if kind == Analysis.Kind.COMPARE and not chosen:
        raise analysis_refused("Choose at least one other version of the track's qrels.")
    analysis = Analysis.objects.create(
        leaderboard=board,
        kind=kind,
        seed=secrets.randbelow(10**9),
        arguments={"qrels": [version.pk for version in chosen]} if kind == Analysis.Kind.COMPARE else {},
        created_by=by,
    )
    title = f"Analyze {board}: {analysis.get_kind_display()}"
    jobs.request_for(analysis, "analysis_id", kind="scoring.analyze", title=title, by=by, subject=board.track)
    details = {"analysis": analysis.get_kind_display(), "seed": analysis.seed}
    audit.record(action="analysis.requested", subject=board, track=board.track, details=details, by=by)
    return analysis


def _refuse_while_computing(board: Leaderboard, kind: str) -> None:
    if board.analyses.filter(kind=kind, status=Analysis.Status.COMPUTING).exists():
        raise analysis_refused("This analysis is already being computed. Wait until it has finished.")


def _analysis_retried(*, analysis_id: int) -> None:
    analysis = Analysis.objects.get(pk=analysis_id)
    board = Leaderboard.objects.select_for_update(of=("self",)).get(pk=analysis.leaderboard_id)
    _refuse_while_computing(board, analysis.kind)
    failed = Analysis.objects.filter(pk=analysis_id, status=Analysis.Status.FAILED)
    failed.update(status=Analysis.Status.COMPUTING)


@jobs.handler(
    "scoring.analyze",
    failed=jobs.changing_status(Analysis, "analysis_id", Analysis.Status.COMPUTING, Analysis.Status.FAILED),
    retried=_analysis_retried,
    words=lambda _: "The analysis is computed.",
)
def compute(progress: jobs.Progress, *, analysis_id: int) -> dict[str, Any]:
    """Compute an analysis, and store its complete result in one transaction.

    Raises:
        LeaderboardRefused, Refused: A run cannot be read, or the protocol needs a missing
            collection.
        ExtensionMissing: A measure of the leaderboard needs an extension that is not installed.
        JobLost: Another worker has taken over the job.
    """
    analysis = Analysis.objects.select_related(
        "leaderboard__track__protocol", "leaderboard__qrels__track"
    ).get(pk=analysis_id)
    stored_measures(analysis.leaderboard)
    result = ANALYSES[analysis.kind](analysis, progress)
    with progress.storing():
        analysis = Analysis.objects.select_for_update().get(pk=analysis_id)
        # READY if an earlier attempt stored it, but was killed before it could report that
        if analysis.status != Analysis.Status.READY:
            analysis.result, analysis.status = result, Analysis.Status.READY
            analysis.save(update_fields=["result", "status"])
    return {"analysis": analysis.pk}


@dataclass(frozen=True)
class _Rankings:
    """The runs of evaluations as they are scored; each is read when the iteration reaches it."""

    track: Track
    runs: Sequence[Run]

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Ranked]:
        return (ranking_of(run, self.track) for run in self.runs)


def _reusability(analysis: Analysis, progress: jobs.Progress) -> Result:
    board = analysis.leaderboard
    evaluations = evaluated(board)
    scoring = Scoring(
        _Rankings(board.track, [evaluation.run for evaluation in evaluations]),
        qrels_columns(board.qrels),
        parse_measures(board.measures),
        cast(Average, board.average),
        board.relevant_from,
        partial(judged_documents, board.qrels),
    )
    # the submitted runs, without those that a limit of runs per team kept out of the pools of the qrels
    pools_of_qrels = _pools_of(board.qrels)
    left_out = {run["run"] for pool in pools_of_qrels for run in pool.left_out}
    was_pooled = PoolRun.objects.filter(pool__in=pools_of_qrels).values_list("run_id", flat=True)
    pooled = list(runs_to_pool(board.track).exclude(pk__in=left_out - set(was_pooled)))
    result = reuse(
        scoring,
        _pools(analysis, pooled, progress),
        pooled_by=[run.team.name for run in pooled],
        teams=[evaluation.run.team.name for evaluation in evaluations],
        report=progress.update,
    )
    return {
        **_head(board, evaluations),
        **result,
        "pooled": [{"run": run.pk, "sha256": run.sha256} for run in pooled],
    }


def _pools_of(qrels: Qrels) -> list[Pool]:
    """The pools whose judgments are in the qrels; none for an imported file."""
    return chain(qrels.pool) if qrels.pool else []


def _pools(analysis: Analysis, runs: Sequence[Run], progress: jobs.Progress) -> list[tuple[str, PooledUnits]]:
    """Pools of the track's runs to ten parts of the judged depths; a single complete pool if there are no depths."""
    track = analysis.leaderboard.track
    protocol, judged_pools = track.protocol.parsed, _pools_of(analysis.leaderboard.qrels)
    read = inputs.read(
        track,
        protocol,
        runs,
        tops_up=None,
        report=lambda n, step: progress.update(n, len(runs) + 2, step),
        makes_ids=False,
    )
    try:
        return pools_by_depth(
            read.inputs,
            protocol=protocol,
            depths=deepest(pool.depth for pool in judged_pools) or protocol.runs.depths,
            seed=analysis.seed,
            formulas=read.formulas,
            known=read.known,
            report=progress.update,
        )
    except PoolError as error:
        raise analysis_refused(f"{error}.") from error


def _topics(analysis: Analysis, progress: jobs.Progress) -> Result:
    board = analysis.leaderboard
    evaluations = evaluated(board)
    measures = means_among(board.measures)
    if not measures:
        raise analysis_refused(
            "No measure of the leaderboard is a mean over topics; only means are analyzed."
        )
    scores = {measure: scores_of(board, evaluations, measure) for measure in measures}
    if not all(values.shape[1] for values in scores.values()):
        raise analysis_refused("No topic is in all runs, so the runs cannot be ranked by fewer topics.")
    return {
        **_head(board, evaluations),
        **by_topics(scores, seed=analysis.seed, report=progress.update),
    }


def _compare(analysis: Analysis, progress: jobs.Progress) -> Result:
    board = analysis.leaderboard
    evaluations = evaluated(board)
    versions = [board.qrels, *other_versions(board).filter(pk__in=analysis.arguments["qrels"])]
    scoring, inputs_of_versions = board.track.protocol.parsed.scoring, []
    for version in versions:
        columns = qrels_columns(version)
        judged = judged_documents(version, columns)
        inputs_of_versions.append(Version(str(version), columns, judged, scoring.level_of(version.report)))
    result = by_versions(
        _Rankings(board.track, [evaluation.run for evaluation in evaluations]),
        inputs_of_versions,
        measures=board.measures,
        average=cast(Average, board.average),
        report=progress.update,
    )
    return {
        **_head(board, evaluations),
        **result,
        "qrels": [
            {"id": version.pk, "version": version.version, "name": version.name} for version in versions
        ],
    }


def _instances(analysis: Analysis, progress: jobs.Progress) -> Result:
    """The runs over instances and over distinct formulas; by each group of assessors where the units are instances."""
    board = analysis.leaderboard
    track, evaluations, measures = board.track, evaluated(board), parse_measures(board.measures)
    rules, level = track.protocol.parsed.scoring, board.relevant_from
    versions = {EVERYBODY: board.qrels}
    if not rules.collapse_instances:
        versions |= {version.report["group"]: version for version in group_versions(board.qrels)}
    levels = [rules.level_of(version.report) for version in versions.values()]
    columns = [_both_forms(version, track) for version in versions.values()]
    judged = [[JudgedDocuments(instances), JudgedDocuments(distinct)] for instances, distinct in columns]
    means = np.empty((2, len(measures), len(versions), len(evaluations)))
    for place, evaluation in enumerate(evaluations):
        progress.update(place, len(evaluations), evaluation.run.tag)
        submitted = columns_of(evaluation.run)
        formulas = formulas_of(track.collection_id or 0, submitted.docno)
        runs = (submitted, collapse_instances(submitted, formulas)[0])
        for version, (of_version, own) in enumerate(zip(judged, levels, strict=True)):
            for form, (run, documents) in enumerate(zip(runs, of_version, strict=True)):
                scored = score_run(run, documents, with_level(measures, level, own))
                means[form, :, version, place] = scored.means(cast(Average, board.average))
    names = [INSTANCES, DISTINCT]
    rankings = [(name, len(rows.topics)) for name, rows in zip(names, columns[0], strict=True)]
    other = names.index(INSTANCES if rules.collapse_instances else DISTINCT)
    result = {
        **_head(board, evaluations),
        "level": level,
        "names": names,
        "units": [plain(summarize_qrels(rows, level=level)) for rows in columns[0]],
        "grades": {names[other]: grades_by_topic(columns[0][other])},
        "several": several_instances(
            columns[0][0], formulas_of(track.collection_id or 0, columns[0][0].docno)
        ),
        "measures": compared(board.measures, means[:, :, 0].swapaxes(0, 1), rankings),
    }
    if len(versions) > 1:
        result["group_grades"] = {
            group: grades_by_topic(distinct)
            for group, (_, distinct) in zip(versions, columns, strict=True)
            if group != EVERYBODY
        }
        result["groups"] = {
            name: compared(
                board.measures,
                means[form],
                [
                    (group, len(by_form[form].topics))
                    for group, by_form in zip(versions, columns, strict=True)
                ],
            )
            for form, name in enumerate(names)
        }
    return result


def _both_forms(version: Qrels, track: Track) -> tuple[QrelsColumns, QrelsColumns]:
    """Qrels over instances, and over distinct formulas."""
    columns = qrels_columns(version)
    if track.protocol.parsed.scoring.collapse_instances:
        return instances_of(version), columns
    return columns, to_distinct_formulas(columns, formulas_of(track.collection_id or 0, columns.docno))[0]


def _judges(analysis: Analysis, progress: jobs.Progress) -> Result:
    board = analysis.leaderboard
    evaluations, measures = evaluated(board), parse_measures(board.measures)
    sides = sides_of(board.track)
    if not sides:
        raise analysis_refused(
            "No document has the grades of two assessors yet. Second judgments, and main batches with several judges, "
            "give them."
        )
    judged = [[judged_documents(board.qrels, columns) for columns in side.columns] for side in sides]
    means = np.empty((len(sides), len(measures), 2, len(evaluations)))
    for place, ranking in enumerate(_Rankings(board.track, [evaluation.run for evaluation in evaluations])):
        progress.update(place, len(evaluations), evaluations[place].run.tag)
        for row, documents in enumerate(judged):
            for side, of_side in enumerate(documents):
                scored = score_run(ranking, of_side, measures)
                means[row, :, side, place] = scored.means(cast(Average, board.average))
    return {
        **_head(board, evaluations),
        "judges": [
            {
                "names": side.names,
                "topics": side.n_topics,
                "units": side.n_units,
                "measures": compared(
                    board.measures, means[row], [(name, side.n_topics) for name in side.names]
                ),
            }
            for row, side in enumerate(sides)
        ],
    }


def _head(board: Leaderboard, evaluations: Sequence[Evaluation]) -> Result:
    """The measures and the runs, in the order of every array of measures or runs."""
    return {
        "measures": board.measures,
        "runs": [
            {
                "evaluation": evaluation.pk,
                "run": evaluation.run_id,
                "team": evaluation.run.team.name,
                "tag": evaluation.run.tag,
            }
            for evaluation in evaluations
        ],
    }


ANALYSES: Mapping[str, Callable[[Analysis, jobs.Progress], Result]] = {
    Analysis.Kind.REUSABILITY: _reusability,
    Analysis.Kind.TOPICS: _topics,
    Analysis.Kind.COMPARE: _compare,
    Analysis.Kind.INSTANCES: _instances,
    Analysis.Kind.JUDGES: _judges,
}
