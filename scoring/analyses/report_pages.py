"""The reports of a leaderboard: what stands in the database already, and the analyses that jobs computed."""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from accounts.access import Visitor, is_organizer
from assay.charts import CurveChart, curve_chart
from assay.evaluation.scores import as_csv, as_tsv, shown
from assay.protocols.measures import parse_measure
from assay.statistics.analysis_tables import comparison_tables, tables_of, units_table
from assay.statistics.qrels_summary import summarize_qrels
from assay.tables import Cell, Table
from scoring.analyses.selectors import label_page, newest, versions_beside
from scoring.models import Analysis, Leaderboard
from scoring.qrels.selectors import qrels_columns

LONG = 40  # rows that stand open; a longer table is folded
SAYS = {
    "reusability": "Whether the qrels will serve runs that were not pooled: what each team alone brought, what it "
    "would have scored without that, and what shallower pools would have cost.",
    "topics": "How much rests on which topics were taken: rankings by fewer of them, and how many pairs of runs are "
    "told apart.",
    "beside": "The same runs by other qrels of the track, such as those of each group of assessors.",
}


class ShownTable(NamedTuple):
    """A table of the page: texts, each with whether it is a number."""

    name: str
    title: str
    says: str
    header: list[tuple[str, bool]]
    cells: list[list[tuple[str, bool]]]
    is_long: bool


class Section(NamedTuple):
    """A kind of analysis with the newest of it, if there is one."""

    kind: str
    title: str
    says: str
    analysis: Analysis | None
    tables: list[ShownTable]
    charts: list[tuple[str, str, CurveChart]]


def reports_page(user: Visitor, board: Leaderboard, measure: str = "") -> dict[str, Any]:
    """Units a topic, rankings by the labels of topics, and the newest analysis of each kind."""
    charted = measure if measure in board.measures else board.measures[0]
    found = newest(user, board)
    return {
        "track": board.track,
        "board": board,
        "measures": [(name, parse_measure(name).title) for name in board.measures],
        "charted": charted,
        "tables": [_shown(table) for table in _stored_tables(board, charted)],
        "labels": list(board.track.protocol.parsed.topics.labels),
        "sections": [
            _section(Analysis.Kind(kind), found.get(kind), charted) for kind in Analysis.Kind.values
        ],
        "versions": list(versions_beside(board)),
        "is_organizer": is_organizer(user),
        "tab": "leaderboards",
    }


def _stored_tables(board: Leaderboard, measure: str) -> list[Table]:
    level = board.track.protocol.parsed.scoring.relevant_from
    counts = summarize_qrels(qrels_columns(board.qrels), level=level).as_json()
    tables = [units_table([(str(board.qrels), counts)], level)]
    page = label_page(board, measure)
    runs = [run.tag for run in page["runs"]]
    for label, found in page["labels"].items():
        tables += comparison_tables(f"label_{label}", f"By {label}", measure, runs, found.as_json())
    return tables


def _section(kind: Analysis.Kind, analysis: Analysis | None, measure: str) -> Section:
    is_ready = analysis is not None and analysis.status == Analysis.Status.READY
    tables = tables_of(kind.value, analysis.result) if analysis and is_ready else []
    return Section(
        kind.value,
        str(kind.label).capitalize(),
        SAYS[kind.value],
        analysis,
        [_shown(table) for table in tables],
        _charts(tables, measure),
    )


def _shown(table: Table) -> ShownTable:
    is_number = [
        all(row[n] is None or isinstance(row[n], int | float) for row in table.rows)
        for n in range(len(table.header))
    ]
    return ShownTable(
        table.name,
        table.title,
        table.description,
        list(zip(table.header, is_number, strict=True)),
        [[(_text(cell), number) for cell, number in zip(row, is_number, strict=True)] for row in table.rows],
        len(table.rows) > LONG,
    )


def _text(cell: Cell) -> str:
    if isinstance(cell, float):
        return shown(cell)
    return "" if cell is None else f"{cell:,}" if isinstance(cell, int) else cell


def _charts(tables: Sequence[Table], measure: str) -> list[tuple[str, str, CurveChart]]:
    """Name, title and lines: what shallower pools find, and how rankings settle with more topics."""
    by_name = {table.name: table for table in tables}
    charts = []
    depths = _rows(by_name.get("depths"), measure)
    if len(depths) > 1:
        lines = [
            ("relevant units found", [_height(row["of all relevant"]) for row in depths]),
            (f"Kendall's tau by {measure}", [_height(row["tau"]) for row in depths]),
        ]
        title = f"Shallower pools: share of the relevant units (line), Kendall's tau by {measure} (dashes), by depth"
        charts.append(("depths", title, curve_chart([_short(row["depth"]) for row in depths], lines)))
    topics = _rows(by_name.get("topics"), measure)
    if len(topics) > 1:
        lines = [(name, [_height(row[name]) for row in topics]) for name in ("tau", "low", "high")]
        title = f"Fewer topics: Kendall's tau with the ranking by all, by {measure}; mean, and where 95 % lie"
        charts.append(("topics", title, curve_chart([str(row["topics"]) for row in topics], lines)))
    return charts


def _short(depth: Cell) -> str:
    """The first of several depths: a chart has no room for more."""
    found = re.search(r"\d+", str(depth))
    return found[0] if found else ""


def _height(value: Cell) -> float:
    """What a chart from 0 to 1 can show of a value."""
    return max(0.0, float(value or 0.0)) if not isinstance(value, str) else 0.0


def _rows(table: Table | None, measure: str) -> list[dict[str, Cell]]:
    if table is None:
        return []
    rows = [dict(zip(table.header, row, strict=True)) for row in table.rows]
    return [row for row in rows if row["measure"] == measure]


def report_file(board: Leaderboard, name: str, kind: str, measure: str = "") -> str | None:
    """A table of what is stored already, as TSV or CSV; None if there is none of the name."""
    charted = measure if measure in board.measures else board.measures[0]
    return _file(_stored_tables(board, charted), name, kind)


def analysis_file(analysis: Analysis, name: str, kind: str) -> str | None:
    """A table of a finished analysis as TSV or CSV; None if there is none of the name."""
    if analysis.status != Analysis.Status.READY:
        return None
    return _file(tables_of(analysis.kind, analysis.result), name, kind)


def _file(tables: Sequence[Table], name: str, kind: str) -> str | None:
    for table in tables:
        if table.name == name:
            rows = [[_plain(cell) for cell in row] for row in table.rows]
            return as_csv(table.header, rows) if kind == "csv" else as_tsv(table.header, rows)
    return None


def _plain(cell: Cell) -> str:
    return shown(cell) if isinstance(cell, float) else "" if cell is None else " ".join(str(cell).split())


def analysis_json(analysis: Analysis) -> str:
    """All that was found, with what it was computed from."""
    board = analysis.leaderboard
    said = {
        "track": board.track.slug,
        "qrels": {"version": board.qrels.version, "sha256": board.qrels.sha256},
        "protocol": {"slug": board.track.protocol.slug, "sha256": board.protocol_digest},
        "analysis": analysis.kind,
        "seed": analysis.seed,
        **analysis.result,
    }
    return json.dumps(said, ensure_ascii=False, indent=1) + "\n"
