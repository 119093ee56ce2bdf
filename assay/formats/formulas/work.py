"""What the commands on formulas compute from rows. A process that computes it imports this module only."""

from collections.abc import Sequence

from assay.formats.formulas.rows import Row
from assay.formulas.slt import slt
from assay.formulas.visual_ids import key_of, latex_key


def strings_of(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Id and SLT string of each row with MathML; the string is empty if the MathML has none."""
    return [(row.code, slt(row.mathml) or "") for row in rows if row.mathml is not None]


def keys_of(rows: Sequence[Row]) -> list[tuple[str, bytes, bytes, str]]:
    """Id, SLT key, LaTeX key and visual id of each row; empty if the row does not have them."""
    return [
        (row.code, key_of(slt(row.mathml) or "") if row.mathml else b"", latex_key(row.latex), row.visual)
        for row in rows
    ]
