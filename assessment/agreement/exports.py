"""Files of the pages of agreement."""

import math
from collections.abc import Iterable

from assay.evaluation.score_table import as_tsv, shown
from assay.formats.spreadsheet import as_csv
from assay.statistics import agreement_report as report
from assay.tables import Cell
from assessment.agreement.selectors import ShownDisagreement
from assessment.machines.comparison import Comparison

MACHINES = ("machine", *report.PAIR_HEADER[2:])
TABLES = ("alpha", "pairs", "assessors", "topics")


def machines_tsv(compared: Iterable[Comparison]) -> str:
    """A line per machine that shares documents with people."""
    rows = [(each, each.pair) for each in compared]
    cells = [(str(each.machine), *report.pair_cells(pair)) for each, pair in rows if pair is not None]
    return as_tsv(MACHINES, [[_text(cell) for cell in row] for row in cells])


def tsv(graded: report.Graded, level: int, name: str) -> str:
    """One of `TABLES`; undefined values are empty."""
    table = next(table for table in report.tables(graded, level) if table.name == name)
    return as_tsv(table.header, [[_text(cell) for cell in row] for row in table.rows])


def _text(cell: Cell) -> str:
    if isinstance(cell, float):
        return shown(cell) if math.isfinite(cell) else ""
    return "" if cell is None else str(cell)


def disagreements_csv(units: Iterable[ShownDisagreement]) -> str:
    """A line per judgment of each unit."""
    rows = [
        (
            unit.topic,
            unit.docno,
            vote.assessor,
            vote.label,
            "" if vote.grade is None else str(vote.grade),
            comment,
        )
        for unit in units
        for vote, comment in unit.votes
    ]
    return as_csv(("topic", "docno", "assessor", "choice", "grade", "comment"), rows)
