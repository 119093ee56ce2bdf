"""The analyses of leaderboards in archives: their results, with the runs and qrels of the archive instead of ids."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from accounts.models import User
from assay.archive.records import AnalysisRecord, LeaderboardRecord, as_json, parsed
from assay_extensions.analyses.site.report_pages import reports_page
from pooling.models import Run
from publishing.archives.loading import Loading
from publishing.archives.records import record_of, row_of, save
from publishing.models import Archive
from scoring.models import Analysis, Evaluation, Leaderboard, Qrels

RENAMED = ("runs", "pooled", "qrels")  # parts of a result with rows that name runs, evaluations or qrels


def analyses_of(board: Leaderboard, *, has_names: bool) -> list[Analysis]:
    """The latest finished analysis of each kind. That of the judges names them, so only with names."""
    ready = board.analyses.filter(status=Analysis.Status.READY).order_by("kind", "-pk").distinct("kind")
    return [analysis for analysis in ready if has_names or analysis.kind != Analysis.Kind.JUDGES]


def gather(board: Leaderboard, archive: Archive, runs: Mapping[int, int]) -> list[Callable[[], str]]:
    return [partial(_text_of, analysis, runs) for analysis in analyses_of(board, has_names=archive.has_names)]


def _text_of(analysis: Analysis, runs: Mapping[int, int]) -> str:
    return as_json(analysis_record(analysis, runs))


def load(
    loading: Loading, board: Leaderboard, record: LeaderboardRecord, evaluations: list[Evaluation]
) -> None:
    """Store the analyses of a verified archive, and read the page that shows them once: an error is a fault of ours."""
    for name in record.analyses:
        store(
            board,
            parsed(AnalysisRecord, loading.contents.reader.read(name), name),
            runs=loading.runs,
            evaluations=evaluations,
            qrels=loading.qrels,
            by=loading.by,
        )
    reports_page(loading.by, board)


def analysis_record(analysis: Analysis, runs: Mapping[int, int]) -> AnalysisRecord:
    """An analysis with the numbers of the archive; `runs` are numbers by id."""
    board = analysis.leaderboard
    versions = dict(Qrels.objects.filter(track=board.track_id).values_list("pk", "version"))
    places = {pk: place for place, pk in enumerate(board.statistics["evaluations"])}
    return record_of(
        AnalysisRecord,
        analysis,
        result=_renamed(analysis.result, {"run": runs, "evaluation": places, "id": versions}),
        qrels=[versions[pk] for pk in analysis.arguments.get("qrels", [])],
    )


def store(
    board: Leaderboard,
    record: AnalysisRecord,
    *,
    runs: Mapping[int, Run],
    evaluations: list[Evaluation],
    qrels: Mapping[int, Qrels],
    by: User,
) -> None:
    """Store an analysis of a verified archive, by the numbers of the archive."""
    ids = {
        "run": {number: run.pk for number, run in runs.items()},
        "evaluation": {place: evaluation.pk for place, evaluation in enumerate(evaluations)},
        "id": {version: stored.pk for version, stored in qrels.items()},
    }
    arguments = {"qrels": [ids["id"][version] for version in record.qrels]} if record.qrels else {}
    save(
        row_of(
            Analysis,
            record,
            leaderboard=board,
            arguments=arguments,
            status=Analysis.Status.READY,
            result=_renamed(record.result, ids),
            created_by=by,
        )
    )


def _renamed(result: Mapping[str, Any], names: Mapping[str, Mapping[int, int]]) -> dict[str, Any]:
    """A result in which the numbers of runs, evaluations and qrels are replaced; other lists have places of rows."""
    return dict(result) | {
        part: [
            {key: names[key][value] if key in names else value for key, value in row.items()}
            for row in result[part]
        ]
        for part in RENAMED
        if part in result
    }
