"""SQL statements that every request of a hot path needs. Each connection parses and plans them once.

PostgreSQL takes several times longer to plan such a statement than to run it, and the ORM longer to build it. A
`Statement` is prepared by the first execution on a connection. A `Table` reads and inserts complete rows of a model.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import sha256
from io import StringIO
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import DateTimeField, Model
from django.db.models.base import ModelState
from psycopg2 import sql

from assay.formats.documents.batch import copy_line

M = TypeVar("M", bound=Model)
PARAMETER = re.compile(r"%\((\w+)\)s")
# PostgreSQL plans the first executions for their values, and then may keep a plan, even one for a table that was empty.
PLANNED_AGAIN_AFTER = 100  # executions
# The executions of each statement, by the connection of the driver that has prepared it. A rollback changes nothing.
_prepared: WeakKeyDictionary[Any, dict[str, int]] = WeakKeyDictionary()


def plan_for_all_rows(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Let a new connection plan cursors for all of their rows, because files have all of them.

    By default, PostgreSQL plans for the first tenth: it reads a table in the order of the file, even for few rows.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET cursor_tuple_fraction = 1")


def analyze(*tables: str) -> None:
    """Collect the statistics with which PostgreSQL plans queries. Autovacuum would do so a minute or more later.

    Call it after the transaction that stored many rows: it would keep a lock until the end of that one.
    """
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("ANALYZE {}").format(sql.SQL(", ").join(map(sql.Identifier, tables))))


def copy_rows(model: type[Model], names: Sequence[str], *columns: Iterable[object]) -> None:
    """Store rows of a model by COPY, from the values of each of the named columns. All of them are text in memory."""
    rows = zip(*columns, strict=True)
    text = "".join(copy_line(None if cell is None else str(cell) for cell in row) for row in rows)
    with connection.cursor() as cursor:
        cursor.copy_expert(f"COPY {model._meta.db_table} ({', '.join(names)}) FROM STDIN", StringIO(text))


class Statement:
    """A statement with parameters such as `%(batch)s`.

    Name the columns of the result: `*` stops working on open connections when a migration adds a column.
    """

    def __init__(self, sql: str) -> None:
        names = list(dict.fromkeys(PARAMETER.findall(sql)))
        numbers = {name: f"${number}" for number, name in enumerate(names, 1)}
        self.name = f"assay_{sha256(sql.encode()).hexdigest()[:16]}"
        self._definition = f"PREPARE {self.name} AS {PARAMETER.sub(lambda match: numbers[match[1]], sql)}"
        arguments = ", ".join(f"%({name})s" for name in names)
        self._execution = f"EXECUTE {self.name} ({arguments})" if names else f"EXECUTE {self.name}"

    def rows(self, **parameters: Any) -> list[tuple[Any, ...]]:
        """Run the statement; returns the rows of its result."""
        own = connections[DEFAULT_DB_ALIAS]  # the proxy `connection` makes ten calls for each attribute
        with own.cursor() as cursor:
            self._prepare(own)
            cursor.execute(self._execution, parameters or None)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows

    def run(self, **parameters: Any) -> None:
        """Run a statement that has no result."""
        own = connections[DEFAULT_DB_ALIAS]
        with own.cursor() as cursor:
            self._prepare(own)
            cursor.execute(self._execution, parameters or None)

    def _prepare(self, own: BaseDatabaseWrapper) -> None:
        """Prepare the statement on the open connection, unless that has been done, and not too often executed since."""
        executions = _prepared.setdefault(own.connection, {})
        n = executions.get(self.name, 0)
        if n % PLANNED_AGAIN_AFTER == 0:
            with own.connection.cursor() as cursor:
                cursor.execute(f"DEALLOCATE {self.name}; {self._definition}" if n else self._definition)
        executions[self.name] = n + 1


class Table(Generic[M]):
    """The columns of a model in a statement, under the alias of its table there.

    The values of fields that are left out are read from the database when they are used.
    """

    def __init__(
        self, model: type[M], alias: str, *, only: Sequence[str] = (), without: Sequence[str] = ()
    ) -> None:
        fields = [
            field
            for field in model._meta.concrete_fields
            if field.name not in without and (not only or field.name in only)
        ]
        self.model = model
        self.fields = fields
        self.names = [field.attname for field in fields]
        self.columns = ", ".join(f'{alias}."{field.column}"' for field in fields)
        self._converters = [
            (place, convert)
            for place, field in enumerate(fields)
            for convert in field.get_db_converters(connection)
        ]

    def __len__(self) -> int:
        return len(self.fields)

    def read(self, row: Sequence[Any]) -> M:
        """The object of a row, which may have more columns after those of the table."""
        values = list(row[: len(self.fields)])
        for place, convert in self._converters:
            values[place] = convert(values[place], None, connection)
        return self._instance(zip(self.names, values, strict=True))

    def read_all(self, rows: Iterable[dict[str, Any]]) -> list[M]:
        """The objects of rows that came as JSON, by the names of the columns. Further values become attributes."""
        instances = [self._instance(row) for row in rows]
        for field in self.fields:
            if isinstance(field, DateTimeField):
                for instance in instances:
                    vars(instance)[field.attname] = field.to_python(vars(instance)[field.attname])
        return instances

    def _instance(self, values: Any) -> M:
        instance = self.model.__new__(self.model)  # `from_db` would assign each field, and send two signals
        instance._state = ModelState()
        instance._state.adding, instance._state.db = False, DEFAULT_DB_ALIAS
        instance.__dict__.update(values)
        return instance

    def insert(self, instance: M) -> M:
        """Store a new object, like its `save`, but without signals; its id is made by the database."""
        own = connections[DEFAULT_DB_ALIAS]
        values = {
            field.attname: field.get_db_prep_save(field.pre_save(instance, add=True), own)
            for field in self._stored
        }
        [(instance.pk,)] = self._insertion.rows(**values)
        instance._state.adding, instance._state.db = False, DEFAULT_DB_ALIAS
        return instance

    @cached_property
    def _stored(self) -> list[Any]:
        return [field for field in self.fields if not field.primary_key]

    @cached_property
    def _insertion(self) -> Statement:
        meta = self.model._meta
        columns = ", ".join(f'"{field.column}"' for field in self._stored)
        values = ", ".join(f"%({field.attname})s" for field in self._stored)
        key = meta.pk.column
        return Statement(
            f'INSERT INTO {meta.db_table} ({columns}) VALUES ({values}) RETURNING "{key}"'  # noqa: S608 - of the model
        )


def joined(row: Sequence[Any], *tables: Table[Any]) -> list[Any]:
    """The objects of a row with the columns of several tables, in their order; None where an outer join found none."""
    objects, start = [], 0
    for table in tables:
        values = row[start : start + len(table)]
        objects.append(None if values[0] is None else table.read(values))
        start += len(table)
    return objects
