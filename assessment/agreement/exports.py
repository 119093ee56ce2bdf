"""Files of the pages of agreement and of discussions."""

from collections.abc import Iterable

from assay.formats.judgments.rows import cell_of
from assay.formats.spreadsheet import as_csv
from assay.judging.scales import Scale
from assay.statistics import agreement_report as report
from assay.tables import as_tsv, text_of
from assessment.agreement.discussions import DiscussedUnit
from assessment.agreement.machines import Comparison
from assessment.judgments.disagreements import Disagreement

MACHINES = ("machine", *report.PAIR_HEADER[2:])
TABLES = ("alpha", "pairs", "assessors", "topics")


def machines_tsv(compared: Iterable[Comparison]) -> str:
    """A line per machine that shares documents with people."""
    rows = [(each, each.pair) for each in compared]
    cells = [(str(each.machine), *report.pair_cells(pair)) for each, pair in rows if pair is not None]
    return as_tsv(MACHINES, [[text_of(cell) for cell in row] for row in cells])


def tsv(graded: report.Graded, scale: Scale, name: str) -> str:
    """One of `TABLES`; undefined values are empty."""
    of_scale = report.tables(graded, scale.level, is_nominal=scale.is_nominal)
    table = next(table for table in of_scale if table.name == name)
    return as_tsv(table.header, [[text_of(cell) for cell in row] for row in table.rows])


def disagreements_csv(units: Iterable[Disagreement]) -> str:
    """A line per judgment of each unit."""
    rows = [
        (unit.topic, unit.docno, vote.assessor, vote.label, vote.grade, vote.comment)
        for unit in units
        for vote in unit.votes
    ]
    return as_csv(("topic", "docno", "assessor", "choice", "grade", "comment"), rows)


HEADER = ("topic", "docno", "assessor", "choice", "grade", "comment", "answers", "agreed_grade", "note")


def discussion_csv(units: Iterable[DiscussedUnit]) -> str:
    """A line per answer; the agreed grade and the note of a unit are on each of its lines."""
    rows = []
    for unit in units:
        outcome = (unit.note.grade, unit.note.text) if unit.note else ("", "")
        rows += [
            (
                *(unit.topic, unit.docno, column.name, reply.label, reply.grade, reply.comment),
                cell_of(reply.given),
                *outcome,
            )
            for column, reply in unit.answers
            if reply is not None
        ]
    return as_csv(HEADER, rows)
