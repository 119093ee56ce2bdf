"""The analyses of an archive, computed again from what it contains."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.archive.contents import Contents
from assay.archive.files import BadArchive
from assay.archive.forms import check_result
from assay.archive.records import AnalysisRecord, LeaderboardRecord, parsed
from assay.archive.verify import Finding, differences, few
from assay.errors import InputError, plural
from assay.formats.runs.columns import Ranked
from assay.measures.scores import ALL
from assay.pools.strategies import PoolInput
from assay.protocols.measures import parse_measures
from assay_extensions.analyses.board_analyses import (
    Result,
    Version,
    by_topics,
    by_versions,
    deepest,
    means_among,
    pools_by_depth,
    reuse,
)
from assay_extensions.analyses.reusability import Scoring


def verify(contents: Contents, board: LeaderboardRecord, name: str) -> Finding:
    """Compute an analysis again, and compare every value."""
    analysis = parsed(AnalysisRecord, contents.reader.read(name), name)
    check_result(contents, board, analysis, name)
    part = f"analysis “{analysis.kind}” of leaderboard {board.number}"
    again = computed_again(contents, board, analysis)
    if again is None:
        return Finding(part, "not computed again: it depends on the judgments that counted when it was made")
    stored = {key: analysis.result.get(key) for key in again}
    content = f"{plural(len(analysis.result['runs']), 'run')}, computed again with seed {analysis.seed}"
    return Finding(part, content, few(differences(stored, again)))


def computed_again(contents: Contents, board: LeaderboardRecord, analysis: AnalysisRecord) -> Result | None:
    """The values of an analysis of the right form.

    None if it depends on more than the archive has: which judgments counted at its time.

    Raises:
        BadArchive: It cannot be computed.
    """
    compute = KINDS.get(analysis.kind)
    if compute is None:
        return None
    try:
        return compute(contents, board, analysis)
    except InputError as error:
        raise BadArchive(
            f"The analysis “{analysis.kind}” of leaderboard {board.number} cannot be computed again: {error}."
        ) from None


@dataclass(frozen=True)
class _Rankings:
    """Runs as they are scored, prepared when the iteration reaches them."""

    contents: Contents
    board: LeaderboardRecord
    runs: Sequence[int]

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Ranked]:
        return (self.contents.ranking(run, self.board) for run in self.runs)


def _runs(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    return [row["run"] for row in rows]


def _topics(contents: Contents, board: LeaderboardRecord, analysis: AnalysisRecord) -> Result:
    runs = _runs(analysis.result["runs"])
    values: defaultdict[str, defaultdict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for (run, topic, measure), value in contents.stored_scores(board).items():
        if topic != ALL:
            values[measure][topic][run] = value
    scores = {}
    for measure in means_among(board.measures):  # of the topics of all runs, by code
        columns = [of for _, of in sorted(values[measure].items()) if all(run in of for run in runs)]
        rows = [[of_topic[run] for of_topic in columns] for run in runs]
        scores[measure] = np.array(rows, dtype=np.float64).reshape(len(runs), len(columns))
    return by_topics(scores, seed=analysis.seed)


def _compare(contents: Contents, board: LeaderboardRecord, analysis: AnalysisRecord) -> Result:
    scoring, versions = contents.protocol(board.protocol).scoring, []
    for number in (board.qrels, *analysis.qrels):
        qrels = contents.qrels[number]
        machine = f" by machine {qrels.machine_name}" if qrels.machine_name else ""
        columns = contents.qrels_columns(qrels)
        judged = contents.judged_by(board, qrels)(columns)
        name = f"version {qrels.version}{machine}"
        versions.append(Version(name, columns, judged, scoring.level_of(qrels.report)))
    return by_versions(
        _Rankings(contents, board, _runs(analysis.result["runs"])),
        versions,
        measures=board.measures,
        average=board.average,
    )


def _reusability(contents: Contents, board: LeaderboardRecord, analysis: AnalysisRecord) -> Result:
    protocol, qrels = contents.protocol(board.protocol), contents.qrels[board.qrels]
    runs = _runs(analysis.result["runs"])
    pooled = [contents.runs[number] for number in _runs(analysis.result["pooled"])]
    scoring = Scoring(
        _Rankings(contents, board, runs),
        contents.qrels_columns(qrels),
        parse_measures(board.measures),
        board.average,
        protocol.scoring.level_of(qrels.report),
        contents.judged_by(board, qrels),
    )
    chain = [] if qrels.pool is None else contents.chain(contents.pools[qrels.pool])
    pools = pools_by_depth(
        [
            PoolInput(contents.columns(run.number), run.team, run.tag, run.kind, run.pooled_as)
            for run in pooled
        ],
        protocol=protocol,
        depths=deepest(pool.depth for pool in chain) or protocol.runs.depths,
        seed=analysis.seed,
        formulas=contents.formulas,
        known=contents.known_items(protocol),
    )
    teams = [contents.runs[number].team for number in runs]
    return reuse(scoring, pools, pooled_by=[run.team for run in pooled], teams=teams)


KINDS: Mapping[str, Callable[[Contents, LeaderboardRecord, AnalysisRecord], Result]] = {
    "topics": _topics,
    "compare": _compare,
    "reusability": _reusability,
}
