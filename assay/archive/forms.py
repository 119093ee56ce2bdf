"""The forms of the plain values in archives: the reports of runs and of qrels, and the results of analyses.

Pages read these values as Assay wrote them, and anybody can have written an archive. What is checked here needs no
guess later: an error in reading is then a fault of the program. Keys of a report that nothing computes with are free.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from assay.archive.contents import Contents
from assay.archive.files import BadArchive
from assay.archive.records import AnalysisRecord, LeaderboardRecord, QrelsRecord, RunRecord
from assay.formats.reports import Report, with_present_names
from assay.statistics.intervals import Method
from assay.statistics.qrels_summary import QrelsSummary
from assay.structure import WrongStructure, structured

Row = list[float | None]


@dataclass(frozen=True)
class _Unjudged:
    n: int = 0
    topics: dict[str, int] = field(default_factory=dict)
    first: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True)
class _Unknown:
    n: int = 0
    first: list[str] = field(default_factory=list)
    n_instances: int = 0


@dataclass(frozen=True)
class _Agreement:
    assessors: int
    units: int
    measure: str
    alpha: float | None
    interval: Row


@dataclass(frozen=True)
class _QrelsReport:
    dropped: list[dict[str, Any]] = field(default_factory=list)
    left_out_topics: list[dict[str, Any]] = field(default_factory=list)
    min_relevant: int = 0
    relevant_from: int = 0
    non_answers: list[dict[str, str]] = field(default_factory=list)
    unjudged: _Unjudged = _Unjudged()
    partly: int = 0
    ungraded: int = 0
    known_items: int = 0
    decided: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    judgments: list[list[int]] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unknown_topics: list[str] = field(default_factory=list)
    absent_topics: list[str] = field(default_factory=list)
    unknown_documents: _Unknown | None = None
    inputs: dict[str, Any] = field(default_factory=dict)
    agreement: _Agreement | None = None
    part_of: int = 0
    group: str = ""
    set: str = ""


@dataclass(frozen=True)
class _Run:
    run: int
    tag: str
    team: str
    evaluation: int


@dataclass(frozen=True)
class _Pooled:
    run: int
    sha256: str


@dataclass(frozen=True)
class _Version:
    id: int
    version: int
    name: str


@dataclass(frozen=True)
class _Ranking:
    names: list[str]
    n_topics: list[int]
    means: list[Row]
    ranks: list[list[int]]
    tau: list[Row]
    tau_ap: list[Row]
    gap: Row

    def is_of(self, n_runs: int) -> bool:
        n = len(self.names)
        by_run = [len(row) == n_runs for rows in (self.means, self.ranks) for row in rows]
        pairs = [len(row) == n for rows in (self.tau, self.tau_ap) for row in rows]
        lengths = {len(column) for column in (self.n_topics, self.means, self.ranks, self.tau, self.tau_ap)}
        return lengths == {n} and n > 1 and all(by_run) and all(pairs)


@dataclass(frozen=True)
class _Result:
    """The parts that every kind of analysis may have. The other parts are compared with those computed again."""

    runs: list[_Run]
    measures: Any
    pooled: list[_Pooled] = field(default_factory=list)
    qrels: list[_Version] = field(default_factory=list)

    def rankings(self) -> Iterator[_Ranking]:
        """All rankings of the runs."""
        return iter(())


@dataclass(frozen=True, kw_only=True)
class _Instances(_Result):
    measures: dict[str, _Ranking]
    level: int
    names: list[str]
    units: list[QrelsSummary]
    grades: dict[str, dict[str, dict[str, int]]]
    groups: dict[str, dict[str, _Ranking]] = field(default_factory=dict)

    def rankings(self) -> Iterator[_Ranking]:
        for rankings in (self.measures, *self.groups.values()):
            yield from rankings.values()


@dataclass(frozen=True)
class _Side:
    names: list[str]
    topics: int
    units: int
    measures: dict[str, _Ranking]


@dataclass(frozen=True, kw_only=True)
class _Judges(_Result):
    judges: list[_Side]

    def rankings(self) -> Iterator[_Ranking]:
        for side in self.judges:
            yield from side.measures.values()


RESULTS: Mapping[str, type[_Result]] = {
    "topics": _Result,
    "compare": _Result,
    "reusability": _Result,
    "instances": _Instances,
    "judges": _Judges,
}


def check_run_report(run: RunRecord) -> None:
    """Raise BadArchive if the report of a run is not of its form."""
    _structured(Report, with_present_names(run.report), f"The report of the run {run.tag}")


def check_qrels_report(contents: Contents, qrels: QrelsRecord) -> None:
    """Raise BadArchive if the report of a version is not of its form, or names what its protocol does not have."""
    where = f"The report of the qrels version {qrels.version}"
    report: _QrelsReport = _structured(_QrelsReport, qrels.report, where)
    protocol = contents.protocol(qrels.protocol)
    choices = {choice.key for choice in protocol.judging.choices}
    if any(unit.get("choice") not in choices for unit in report.non_answers):
        raise BadArchive(f"{where}: non_answers has a choice that the protocol does not have.")
    if "set" in qrels.report and "relevant_from" not in qrels.report:
        raise BadArchive(f"{where}: relevant_from is missing.")
    if any(len(pair) != 2 for pair in report.judgments) or any(
        len(pair) != 2 for pair in report.unjudged.first
    ):
        raise BadArchive(f"{where}: judgments and unjudged.first are lists of two.")


def check_intervals(board: LeaderboardRecord) -> None:
    """Raise BadArchive if the statistics name a method of intervals that does not exist."""
    if (name := board.statistics.get("intervals", "bca")) not in get_args(Method):
        raise BadArchive(f"The statistics of leaderboard {board.number}: there are no intervals {name!r}.")


def check_result(contents: Contents, board: LeaderboardRecord, analysis: AnalysisRecord, where: str) -> None:
    """Raise BadArchive if an analysis is not of the form of its kind, or names what the archive does not have."""
    kind = RESULTS.get(analysis.kind)
    if kind is None:
        raise BadArchive(f"{where}: there is no analysis of the kind {analysis.kind[:80]!r}.")
    result: _Result = _structured(kind, analysis.result, where)
    scored, n = {evaluation.run for evaluation in board.evaluations}, len(result.runs)
    known = {
        "runs": all(row.run in scored and 0 <= row.evaluation < len(scored) for row in result.runs),
        "pooled": all(row.run in contents.runs for row in result.pooled),
        "qrels": {version.id for version in result.qrels}.union(analysis.qrels) <= contents.qrels.keys(),
    }
    for part, is_known in known.items():
        if not is_known:
            raise BadArchive(f"{where}: {part} names what the archive does not have.")
    if analysis.seed < 0 or not all(ranking.is_of(n) for ranking in result.rankings()):
        raise BadArchive(f"{where}: a seed below 0, or a ranking without a value for each of its {n} runs.")
    missing = _missing(analysis, result)
    if missing:
        raise BadArchive(f"{where}: {missing}.")


def _missing(analysis: AnalysisRecord, result: _Result) -> str:
    if isinstance(result, _Judges) and not (result.judges and all(len(s.names) == 2 for s in result.judges)):
        return "judges are pairs, at least one"
    if isinstance(result, _Instances) and len(result.names) != len(result.units):
        return "names and units differ in number"
    if analysis.kind == "compare" and len(result.qrels) != 1 + len(analysis.qrels):
        return "qrels are not those that it compares"
    return ""


def _structured(kind: type, values: Mapping[str, object], where: str) -> Any:
    try:
        return structured(kind, values, is_open=True)
    except WrongStructure as error:
        raise BadArchive(f"{where}: {'; '.join(error.problems[:5])}.") from None
