"""Files of the pages of agreement and of discussions."""

from collections.abc import Iterable

from assay.formats.judgments.rows import cell_of
from assay.formats.spreadsheet import as_csv
from assay.protocols.scales import Scale
from assay.statistics import agreement_report as report
from assay.tables import as_tsv, text_of
from assessment.agreement.discussions import DiscussedUnit
from assessment.agreement.machines import Comparison
from assessment.judgments.disagreements import Difference, disagreements, round_of
from tracks.models import Track

MACHINES = ("machine", *report.PAIR_HEADER[2:])
TABLES = ("alpha", "ac", "pairs", "assessors", "topics")


def machines_tsv(compared: Iterable[Comparison]) -> str:
    """A line per machine that shares documents with people."""
    rows = [(comparison, comparison.pair) for comparison in compared]
    cells = [
        (str(comparison.machine), *report.pair_cells(pair)) for comparison, pair in rows if pair is not None
    ]
    return as_tsv(MACHINES, [[text_of(cell) for cell in row] for row in cells])


def tsv(graded: report.Graded, scale: Scale, name: str) -> str:
    """One of `TABLES`; undefined values are empty."""
    of_scale = report.tables(graded, scale.level, is_nominal=scale.is_nominal)
    table = next(table for table in of_scale if table.name == name)
    return as_tsv(table.header, [[text_of(cell) for cell in row] for row in table.rows])


def disagreements_file(
    track: Track, of_round: str | None, difference: Difference, order: str
) -> tuple[str, str]:
    """CSV with a line per judgment of each unit on which assessors of a round disagree, and the name of the file."""
    rows = [
        (unit.topic, unit.docno, vote.assessor, vote.label, vote.grade, vote.comment)
        for unit in disagreements(track, round_of(track, of_round), difference, order)
        for vote in unit.votes
    ]
    header = ("topic", "docno", "assessor", "choice", "grade", "comment")
    return as_csv(header, rows), f"{track.slug}-disagreements.csv"


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
