"""Store rows in the corpus through staging tables: COPY, then INSERT ... ON CONFLICT.

Everything runs inside the transaction of the caller, who stores a checkpoint in it. Every statement can be repeated: an
existing row is updated if it differs, and never duplicated. Only votes are counted: each job counts them in rows of its
own, which become valid when all files are imported.
"""

import io
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import psycopg2.errors

from web.statements import analyze

VOTES_PART = 100_000  # keys of counts of votes, of which one transaction deletes the old ones


class Cursor(Protocol):
    """The methods of a database cursor that are used here; psycopg2 and Django have them."""

    rowcount: int

    def execute(self, sql: object, params: object = ..., /) -> Any: ...
    def fetchone(self) -> Any: ...
    def copy_expert(self, sql: str, file: object, /) -> Any: ...


class Staging(NamedTuple):
    """A staging table, and the statement that inserts its rows into the corpus."""

    columns: str
    insert: str
    counted_as: str = ""  # the name under which its rows are counted, if the conversion has not counted them
    orphans: str = ""  # SQL that counts staged rows whose document is missing
    reason: str = ""


def _upsert(table: str, keys: str, columns: str, select: str) -> str:
    """SQL that inserts the rows of `select` (keys, then columns) and updates existing rows that differ."""
    names = columns.split(", ")
    new = ", ".join(f"excluded.{name}" for name in names)
    old = ", ".join(f"old.{name}" for name in names)
    return f"""
        INSERT INTO {table} AS old ({keys}, {columns}) {select}
        ON CONFLICT ({keys}) DO UPDATE SET ({columns}) = ROW ({new})
        WHERE ({old}) IS DISTINCT FROM ({new})
    """


STAGING = {
    "document": Staging(
        columns='docno text COLLATE "C", kind text, thread text COLLATE "C", title text, body text, tags text[], '
        "score integer, accepted text, author_code text, author_name text, published_at timestamptz, "
        "language text, source text",
        insert=_upsert(
            "corpus_document",
            "collection_id, docno",
            "kind, thread, title, body, tags, score, accepted, author_code, author_name, published_at, language, "
            "source",
            "SELECT %(collection)s, stage_document.* FROM stage_document",
        ),
    ),
    "author": Staging(
        columns='code text COLLATE "C", name text, reputation integer',
        insert=_upsert(
            "corpus_author",
            "collection_id, code",
            "name, reputation",
            "SELECT %(collection)s, stage_author.* FROM stage_author",
        ),
        counted_as="users",
    ),
    "tag": Staging(
        columns="name text, n integer",
        insert="""
            INSERT INTO corpus_tag AS old (collection_id, name, n) SELECT %(collection)s, name, n FROM stage_tag
            ON CONFLICT (collection_id, name) DO UPDATE SET n = excluded.n WHERE old.n <> excluded.n
        """,
        counted_as="tags",
    ),
    "comment": Staging(
        columns='docno text COLLATE "C", code text, text text, score integer, author_code text, author_name text, '
        "published_at timestamptz",
        insert=_upsert(
            "corpus_comment",
            "document_id, code",
            "text, score, author_code, author_name, published_at",
            """
            SELECT document.id, stage.code, stage.text, stage.score, stage.author_code, stage.author_name,
            stage.published_at
            FROM stage_comment stage JOIN corpus_document document USING (docno)
            WHERE document.collection_id = %(collection)s
            """,
        ),
        counted_as="comments",
        orphans="""
            SELECT count(*) FROM stage_comment WHERE NOT EXISTS (
                SELECT FROM corpus_document d WHERE collection_id = %(collection)s AND d.docno = stage_comment.docno)
        """,
        reason="a comment on a post that is not in the collection",
    ),
    "link": Staging(
        columns='source text COLLATE "C", target text COLLATE "C", kind text',
        insert="""
            INSERT INTO corpus_documentlink (source_id, target_id, kind)
            SELECT source.id, target.id, link.kind FROM stage_link link
            JOIN corpus_document source ON source.collection_id = %(collection)s AND source.docno = link.source
            JOIN corpus_document target ON target.collection_id = %(collection)s AND target.docno = link.target
            ON CONFLICT DO NOTHING
        """,
        counted_as="links",
        orphans="""
            SELECT count(*) FROM stage_link
            LEFT JOIN corpus_document s ON s.collection_id = %(collection)s AND s.docno = stage_link.source
            LEFT JOIN corpus_document t ON t.collection_id = %(collection)s AND t.docno = stage_link.target
            WHERE s.id IS NULL OR t.id IS NULL
        """,
        reason="a link from or to a post that is not in the collection",
    ),
    "vote": Staging(
        columns='docno text COLLATE "C", vote_type smallint, n integer',
        insert="""
            INSERT INTO corpus_votecount AS old (document_id, vote_type, n, counted_by)
            SELECT document.id, vote_type, stage_vote.n, %(job)s
            FROM stage_vote JOIN corpus_document document USING (docno) WHERE collection_id = %(collection)s
            ON CONFLICT (document_id, vote_type, counted_by) DO UPDATE SET n = old.n + excluded.n
        """,
        counted_as="votes",
        orphans="""
            SELECT coalesce(sum(n), 0) FROM stage_vote WHERE NOT EXISTS (
                SELECT FROM corpus_document d WHERE collection_id = %(collection)s AND d.docno = stage_vote.docno)
        """,
        reason="a vote on a post that is not in the collection",
    ),
}


class Target(NamedTuple):
    """The collection that rows are stored in, and the job that stores them."""

    collection: int
    job: int


def store(
    cursor: Cursor, tables: Mapping[str, bytes], target: Target, *, is_new: bool = False
) -> tuple[dict[str, int], dict[str, int]]:
    """Store a batch. Returns the numbers of imported rows by name, and of skipped rows by reason.

    `is_new`: the collection had no documents when the import began. Then documents are copied directly into their
    table, unless the batch repeats one.
    """
    counts: dict[str, int] = {}
    skipped: dict[str, int] = {}
    # A crash of the server loses rows and checkpoint together. The commit that ends the job waits for both.
    cursor.execute("SET LOCAL synchronous_commit = off")
    for table, staging in STAGING.items():
        lines = tables.get(table)
        if not lines:
            continue
        if table == "document" and is_new:  # which saves a quarter of the time
            names = ", ".join(name.split()[0] for name in staging.columns.split(", "))
            columns = f"corpus_document (collection_id, {names})"
            if copy_new(cursor, columns, b"%d\t" % target.collection, lines):
                continue
        values = target._asdict()
        cursor.execute(f"CREATE TEMP TABLE stage_{table} ({staging.columns})")
        cursor.copy_expert(f"COPY stage_{table} FROM STDIN", io.BytesIO(lines))
        if staging.orphans:
            cursor.execute(staging.orphans, values)
            n_orphans = int(cursor.fetchone()[0])
            if n_orphans:
                skipped[staging.reason] = n_orphans
        cursor.execute(staging.insert, values)
        if staging.counted_as:
            number = "coalesce(sum(n), 0)" if table == "vote" else "count(*)"
            cursor.execute(f"SELECT {number} FROM stage_{table}")  # noqa: S608 - our own names
            counts[staging.counted_as] = int(cursor.fetchone()[0]) - skipped.get(staging.reason, 0)
        cursor.execute(f"DROP TABLE stage_{table}")
    return counts, skipped


def copy_new(cursor: Cursor, table: str, start: bytes, lines: bytes) -> bool:
    """Copy lines directly into the columns of a table, each after the same `start`; False if it has one already."""
    whole = start + lines.replace(b"\n", b"\n" + start)[: -len(start)]
    cursor.execute("SAVEPOINT straight")
    try:
        cursor.copy_expert(f"COPY {table} FROM STDIN", io.BytesIO(whole))
    except psycopg2.errors.UniqueViolation:
        cursor.execute("ROLLBACK TO SAVEPOINT straight")
        return False
    cursor.execute("RELEASE SAVEPOINT straight")
    return True


def delete_other_votes(cursor: Cursor, target: Target, *, after: int) -> int | None:
    """Delete the votes that other jobs counted, from one part of the table. Returns where the next part begins, if any.

    The table is divided by its keys, so each call takes about the same short time.
    """
    values = target._asdict() | {"after": after, "end": after + VOTES_PART}
    cursor.execute(
        """
        DELETE FROM corpus_votecount WHERE id > %(after)s AND id <= %(end)s AND counted_by <> %(job)s
        AND (SELECT collection_id FROM corpus_document WHERE id = document_id) = %(collection)s
        """,
        values,
    )
    cursor.execute("SELECT EXISTS (SELECT FROM corpus_votecount WHERE id > %(end)s)", values)
    return after + VOTES_PART if cursor.fetchone()[0] else None


def orphaned_answers(cursor: Cursor, collection_id: int) -> int:
    """The number of answers without a question in the collection."""
    analyze("corpus_document")
    cursor.execute(
        """
        SELECT count(*) FROM corpus_document answer WHERE collection_id = %(collection)s AND kind = 'answer'
        AND NOT EXISTS (SELECT FROM corpus_document question WHERE question.collection_id = answer.collection_id
                        AND question.docno = answer.thread AND question.kind <> 'answer')
        """,
        {"collection": collection_id},
    )
    return int(cursor.fetchone()[0])
