"""Store the rows of a formula index: directly by COPY if all of them are new, or else by a merge.

Everything runs inside the transaction of the caller, who stores a checkpoint in it. A merge writes only values that
differ, and only the columns that the index provides: LaTeX is added to MathML that was imported before, and an index
without visual ids does not delete them.

The database index of formulas by visual id is missing while the first formulas are imported. Maintaining it takes a
third of the time of each row; building it at the end takes a tenth of that. If some collection has formulas already,
the index stays, because pages would take minutes without it.
"""

import io
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db import connection, models, transaction

from assay.formats.documents.batch import AGAIN, FIRST_LINES, Packed
from assay.formats.documents.dump import Chunk
from assay.formats.documents.index_rows import COLUMNS
from assay.formats.documents.indexes import Index
from corpus.models import Formula
from corpus.staging import Cursor, copy_new

MIN_NEW = 0.5  # of the rows of a chunk: if fewer are new, the next chunk is merged without trying COPY
MAX_ID = 2**63 - 1  # of any key
VISUAL_INDEX = "formula_visual"


class FormulaTable(NamedTuple):
    """A table, with the columns of its lines; `keys` is the condition for the rows with the same constants."""

    name: str
    columns: str
    types: str
    constant: str  # columns with one value for all lines of a file
    keys: str


FORMULA = FormulaTable(
    "corpus_formula",
    COLUMNS,
    'code text COLLATE "C", post text COLLATE "C", thread text COLLATE "C", comment text COLLATE "C", '
    'place smallint, visual text COLLATE "C", is_visual_given boolean, old_visual text, issue text, latex text',
    "collection_id",
    "old.collection_id = %(collection)s",
)
MATHML = FormulaTable(
    "corpus_formulamathml",
    "code, content",
    'code text COLLATE "C", content text',
    "collection_id, form",
    "old.collection_id = %(collection)s AND old.form = %(form)s",
)


def table_of(index: Index) -> FormulaTable:
    """The table that has one row per formula of an index."""
    return FORMULA if index.representation == "latex" else MATHML


def columns_provided_by(index: Index) -> dict[str, str]:
    """The columns of `FORMULA` that an index provides, each with the SQL of its value in a row that exists."""
    columns = {name: f"new.{name}" for name in ("post", "thread", "place")}
    if index.version >= 2:
        columns["visual"] = "CASE WHEN new.visual <> '' THEN new.visual ELSE old.visual END"
        columns["is_visual_given"] = "old.is_visual_given OR new.is_visual_given"
    if index.version == 3:
        columns |= {name: f"new.{name}" for name in ("comment", "old_visual", "issue")}
    return columns | ({"latex": "new.latex"} if index.representation == "latex" else {})


@dataclass
class FormulaStore:
    """Stores the chunks of one file.

    `last_id` is the highest key of the table of its formulas when the job was requested. A row of this collection with
    a higher key was stored by the job itself, so a second row with its id is a repetition.
    """

    collection_id: int
    index: Index
    last_id: int
    merging: set[str] = field(default_factory=set)

    def store(
        self, cursor: Cursor, chunk: Chunk, batch: Packed
    ) -> tuple[dict[str, int], dict[str, list[int]]]:
        """Store a chunk. Returns the number of skipped rows by reason, and the first lines of each reason."""
        # A crash of the server loses rows and checkpoint together. The commit that ends the job waits for both.
        cursor.execute("SET LOCAL synchronous_commit = off")
        own = table_of(self.index)
        repeated: list[bytes] = []
        n_repeated = 0
        for table, key in ((FORMULA, "formula"), (MATHML, "formula_mathml")):
            lines = batch.tables.get(key)
            if not lines:
                continue
            start = b"%d\t" % self.collection_id
            if table is MATHML:
                start += self.index.representation.encode() + b"\t"
            columns = f"{table.name} ({table.constant}, {table.columns})"
            if table.name in self.merging or not copy_new(cursor, columns, start, lines):
                n, codes = self._merge(cursor, table, lines)
                if table is own:
                    n_repeated, repeated = n, codes
        at = [chunk.data.count(b"\n", 0, max(0, chunk.data.find(code + b"\t"))) for code in repeated]
        if not n_repeated:
            return {}, {}
        return {AGAIN: n_repeated}, {AGAIN: at}

    def _merge(self, cursor: Cursor, table: FormulaTable, lines: bytes) -> tuple[int, list[bytes]]:
        """Update existing rows and add the others. Returns how many repeat rows of this job, and the first of these."""
        columns = columns_provided_by(self.index) if table is FORMULA else {"content": "new.content"}
        values = {
            "collection": self.collection_id,
            "form": self.index.representation,
            "last": self.last_id if table is table_of(self.index) else MAX_ID,
        }
        cursor.execute(f"CREATE TEMP TABLE stage_lines ({table.types})")
        cursor.copy_expert(f"COPY stage_lines ({table.columns}) FROM STDIN", io.BytesIO(lines))
        cursor.execute(_select(table, columns), values)
        # by the primary key, as `_select` looks rows up: PostgreSQL may believe the table to be small, or empty
        cursor.execute(
            "SET LOCAL enable_nestloop = off; SET LOCAL enable_seqscan = off; "  # noqa: S608
            f"UPDATE {table.name} old SET ({', '.join(columns)}) = ROW ({', '.join(columns.values())}) "
            "FROM stage_formula new WHERE old.id = new.old_id AND new.differs "
            "AND old.id = ANY (ARRAY (SELECT old_id FROM stage_formula WHERE differs)); "
            "SET LOCAL enable_nestloop = on; SET LOCAL enable_seqscan = on"
        )
        constants = ", ".join(f"%({name.removesuffix('_id')})s" for name in table.constant.split(", "))
        cursor.execute(
            f"INSERT INTO {table.name} ({table.constant}, {table.columns}) "  # noqa: S608 - our own names
            f"SELECT {constants}, {table.columns} FROM stage_formula WHERE old_id IS NULL",
            values,
        )
        n_new = cursor.rowcount
        if n_new < lines.count(b"\n") * MIN_NEW:
            self.merging.add(table.name)
        else:
            self.merging.discard(table.name)
        cursor.execute(_REPEATED, values)
        n_repeated, codes = cursor.fetchone()
        cursor.execute("DROP TABLE stage_formula")
        return int(n_repeated), [code.encode() for code in codes or ()]


def _select(table: FormulaTable, columns: dict[str, str]) -> str:
    """SQL that selects the lines that are new, differ from their row, or repeat a row of this job: usually very few.

    The database has statistics that are older than most of the rows. Given an array of the ids, it looks them up by
    the unique index in one pass, in half the time of one look-up for each line. Without the settings, it would compare
    every line with every row that it has found, or read the whole table because it believes it to be small.
    """
    old = ", ".join(f"old.{name}" for name in columns)
    differs = f"ROW ({old}) IS DISTINCT FROM ROW ({', '.join(columns.values())})"
    return f"""
        SET LOCAL enable_nestloop = off;
        SET LOCAL enable_seqscan = off;
        CREATE TEMP TABLE stage_formula AS
            SELECT new.*, old.id AS old_id, {differs} AS differs
            FROM stage_lines new LEFT JOIN (
                SELECT * FROM {table.name} old
                WHERE {table.keys} AND old.code = ANY (ARRAY (SELECT code FROM stage_lines))
            ) old ON old.code = new.code
            WHERE old.id IS NULL OR {differs} OR old.id > %(last)s;
        SET LOCAL enable_nestloop = on;
        SET LOCAL enable_seqscan = on;
        DROP TABLE stage_lines
    """  # noqa: S608 - our own names


_REPEATED = f"SELECT count(*), (array_agg(code))[:{FIRST_LINES}] FROM stage_formula WHERE old_id > %(last)s"  # noqa: S608


def drop_visual_index_if_empty() -> None:
    """Drop the database index by visual id if there are no formulas at all."""
    with transaction.atomic():
        if not Formula.objects.exists() and _has_visual_index():
            with connection.schema_editor() as editor:
                editor.remove_index(Formula, _visual_index())


def ensure_visual_index() -> None:
    """Build the index if it is missing. Two imports may end at the same time, so this takes a lock."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [VISUAL_INDEX])
        if not _has_visual_index():
            with connection.schema_editor() as editor:
                editor.add_index(Formula, _visual_index())


def _has_visual_index() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [VISUAL_INDEX])
        return bool(cursor.fetchone()[0])


def _visual_index() -> models.Index:
    index: models.Index = next(index for index in Formula._meta.indexes if index.name == VISUAL_INDEX)
    return index
