"""Reports on the reliability of a leaderboard: tables of stored scores, and the analyses that jobs computed."""

import json
import re
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from accounts.access import AnyUser
from assay import plots
from assay.protocols.description import label_title
from assay.statistics.qrels_summary import summarize_qrels
from assay.tables import Cell, Table, plain
from assay_extensions.analyses.analysis_tables import comparison_tables, tables_of, units_table
from scoring.models import Analysis, Leaderboard, Qrels
from scoring.qrels.selectors import qrels_columns
from scoring.selectors import LeaderboardPage, charted_measure, provenance, shared_page
from scoring.stored_analyses import evaluated, has_instances, newest, other_versions, rankings_by_label
from web.tables import ShownTable, file_of, shown_table

DESCRIPTIONS = {
    "reusability": "Can the qrels score runs that were not pooled? The effects of leaving out one team, and of "
    "shallower pools.",
    "topics": "How much does the ranking depend on the choice of topics? Rankings by fewer topics, and the share "
    "of pairs of runs that differ significantly.",
    "compare": "The same runs scored with other qrels of the track, such as those of each group of assessors.",
    "instances": "What does clustering do to the ranking? The runs scored over all judged instances of formulas, and "
    "over visually distinct formulas.",
    "judges": "What does disagreement do to the ranking? The runs scored with the grades of the first and of the "
    "second judge, on the documents that both graded, and with those of every two assessors. Kendall's tau is empty "
    "if a side ties all runs, or if there is only one run.",
}


class Section(NamedTuple):
    """A kind of analysis with its newest result, if there is one."""

    kind: str
    title: str
    description: str
    analysis: Analysis | None
    tables: list[ShownTable]
    plots: list[tuple[str, plots.Plot]]


@dataclass(frozen=True, kw_only=True)
class ReportsPage(LeaderboardPage):
    """All reports. `labels` are the labels of topics in the protocol; `versions` are other qrels of the track."""

    tables: list[ShownTable]
    labels: list[str]
    sections: list[Section]
    versions: list[Qrels]

    @property
    def startable(self) -> list[str]:
        """The kinds of analyses that need no choice and were not started yet."""
        return [
            section.kind
            for section in self.sections
            if not section.analysis and section.kind != Analysis.Kind.COMPARE
        ]


def reports_page(user: AnyUser, board: Leaderboard, measure: str = "") -> ReportsPage:
    """Units per topic, rankings by the labels of topics, and the newest analysis of each kind."""
    shared = shared_page(user, board, measure)
    charted = shared.charted
    analyses = newest(user, board)
    return ReportsPage(
        **vars(shared),
        tables=[shown_table(table) for table in _stored_tables(board, charted)],
        labels=[label_title(label) for label in board.track.protocol.parsed.topics.labels],
        sections=[
            _section(Analysis.Kind(kind), analyses.get(kind), charted)
            for kind in Analysis.Kind.values
            if kind != Analysis.Kind.INSTANCES or has_instances(board)
        ],
        versions=list(other_versions(board).filter(archived_at=None)),
    )


def _stored_tables(board: Leaderboard, measure: str) -> list[Table]:
    level = board.relevant_from
    counts = plain(summarize_qrels(qrels_columns(board.qrels), level=level))
    tables = [units_table([(str(board.qrels), counts)], level)]
    tags = [evaluation.run.tag for evaluation in evaluated(board)]
    for label, ranking in rankings_by_label(board, measure).items():
        tables += comparison_tables(
            f"label_{label}", f"By {label_title(label)}", measure, tags, plain(ranking)
        )
    return tables


def _section(kind: Analysis.Kind, analysis: Analysis | None, measure: str) -> Section:
    is_ready = analysis is not None and analysis.status == Analysis.Status.READY
    tables = tables_of(kind.value, analysis.result) if analysis and is_ready else []
    of_measure = []  # the rows of the measure that the page shows; files have all rows
    for table in tables:
        place = table.header.index("measure") if "measure" in table.header else None
        rows = [row for row in table.rows if place is None or row[place] == measure]
        of_measure.append(replace(table, rows=rows))
    # Name of the table and its plot: pools by depth, and rankings by number of topics
    by_name = {table.name: table for table in tables}
    drawn = []
    depths = _rows(by_name.get("depths"), measure)
    if len(depths) > 1:
        lines = [
            ("relevant units found", [_height(row["of all relevant"]) for row in depths]),
            (f"Kendall's tau by {measure}", [_height(row["tau"]) for row in depths]),
        ]
        # the first of several depths: a chart has no space for more
        labels = [number[0] if (number := re.search(r"\d+", str(row["depth"]))) else "" for row in depths]
        title = "Shallower pools by depth"
        drawn.append(("depths", plots.lines("depths", title, labels, lines, across="Depth", up="Share, tau")))
    topics = _rows(by_name.get("topics"), measure)
    if len(topics) > 1:
        names = {"tau": "mean", "low": "2.5 % of the draws", "high": "97.5 % of the draws"}
        lines = [(words, [_height(row[name]) for row in topics]) for name, words in names.items()]
        title = f"Fewer topics: Kendall's tau with the ranking by all topics, by {measure}"
        labels = [str(row["topics"]) for row in topics]
        drawn.append(("topics", plots.lines("topics", title, labels, lines, across="Topics", up="Tau")))
    return Section(
        kind.value,
        str(kind.label).capitalize(),
        DESCRIPTIONS[kind.value],
        analysis,
        [shown_table(table) for table in of_measure],
        drawn,
    )


def _height(value: Cell) -> float:
    """A value for a chart from 0 to 1; a negative one becomes 0."""
    return max(0.0, float(value or 0.0)) if not isinstance(value, str) else 0.0


def _rows(table: Table | None, measure: str) -> list[dict[str, Cell]]:
    if table is None:
        return []
    rows = [dict(zip(table.header, row, strict=True)) for row in table.rows]
    return [row for row in rows if row["measure"] == measure]


def report_file(board: Leaderboard, name: str, kind: str, measure: str = "") -> str | None:
    """A table of stored scores as TSV or CSV; None if no table has the name."""
    charted = charted_measure(board, measure)
    return file_of(_stored_tables(board, charted), name, kind)


def analysis_file(analysis: Analysis, name: str, kind: str) -> str | None:
    """A table of a finished analysis as TSV or CSV; None if no table has the name."""
    if analysis.status != Analysis.Status.READY:
        return None
    return file_of(tables_of(analysis.kind, analysis.result), name, kind)


def analysis_content(analysis: Analysis) -> dict[str, Any]:
    """The complete result, with its inputs."""
    return {
        **provenance(analysis.leaderboard),
        "analysis": analysis.kind,
        "seed": analysis.seed,
        **analysis.result,
    }


def analysis_json(analysis: Analysis) -> str:
    """The complete result as a file."""
    return json.dumps(analysis_content(analysis), ensure_ascii=False, indent=1) + "\n"
