"""The analyses of an archive, and its qrels that are derived from preferences, computed again from what it contains."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.archive.contents import Contents
from assay.archive.files import BadArchive, refusing
from assay.archive.records import AnalysisRecord, LeaderboardRecord, QrelsRecord
from assay.digests import sha256_of
from assay.errors import InputError
from assay.formats.judgments.rows import JudgmentRow
from assay.formats.qrels.reader import format_qrels
from assay.formats.runs.columns import Ranked
from assay.measures.scores import ALL
from assay.pools.strategies import PoolInput
from assay.protocols.measures import parse_measures
from assay.qrels.derived import derive, numbers_in
from assay.qrels.freezing import Unit, Vote
from assay.statistics.board_analyses import (
    Result,
    Version,
    by_topics,
    by_versions,
    deepest,
    means_among,
    pools_by_depth,
    reuse,
)
from assay.statistics.reusability import Scoring


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


def is_derived(contents: Contents, qrels: QrelsRecord, judgments: Sequence[JudgmentRow]) -> bool:
    """Return whether the judgments from which a version was derived give its grades, derived again.

    The report of the version has the numbers of the judgments that counted when it was frozen, as ranges. Which ones
    count can have changed since: a judgment can be revised or undone.
    """
    if qrels.pool is None:
        return False
    with refusing(f"The judgments of the qrels version {qrels.version}", ValueError):
        counted = set(numbers_in(qrels.report.get("judgments", []), len(judgments)))
    protocol, chain = contents.protocol(qrels.protocol), contents.chain(contents.pools[qrels.pool])
    left_out = {row.get("topic") for row in qrels.report.get("left_out_topics", ())}
    pairs = {
        Unit(topic, docno)
        for pool in chain
        for topic, docno, _ in contents.rows(pool.file("pool.tsv"), 3)
        if topic not in left_out
    }
    kind = "main" if qrels.machine else ""
    derived = derive(
        pairs,
        [
            (Unit(row.topic, row.docno), Vote(kind or row.kind, True, row.assessor, row.choice, row.grade))
            for row in judgments
            if row.number in counted
        ],
        rules=protocol.qrels.set_of(qrels.report.get("set", "")) or protocol.qrels,
        protocol=protocol,
        seed=chain[-1].seed,
        also=qrels.report.get("also", ()),
    )
    return sha256_of(format_qrels(derived.columns)) == qrels.sha256
