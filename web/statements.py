"""SQL statements of hot paths, which each connection parses and plans once.

PostgreSQL takes several times longer to plan such a statement than to run it, and the ORM longer to build it. Use them
where a measurement shows it: everything else uses the ORM (ADR 28).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from hashlib import sha256
from inspect import signature
from io import StringIO
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BigAutoField, BooleanField, F, Func, Model, QuerySet, Value
from django.db.models.base import ModelState
from psycopg2 import sql
from psycopg2.extensions import AsIs

from assay.formats.documents.batch import copy_line

M = TypeVar("M", bound=Model)
PARAMETER = re.compile(r"%\((\w+)\)s")
# PostgreSQL plans the first executions for their values, and then may keep a plan, even one for a table that was empty.
PLANNED_AGAIN_AFTER = 100  # executions
# The executions of each statement, by the connection of the driver that has prepared it. A rollback changes nothing.
_prepared: WeakKeyDictionary[Any, dict[str, int]] = WeakKeyDictionary()


def plan_for_all_rows(connection: BaseDatabaseWrapper, **_: object) -> None:
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


def read_rows(text: str, **parameters: Any) -> list[tuple[Any, ...]]:
    """Run a statement with parameters such as `%(batch)s`; returns the rows of its result."""
    with connection.cursor() as cursor:
        cursor.execute(text, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


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

    def _prepare(self, own: BaseDatabaseWrapper) -> None:
        """Prepare the statement on the open connection, unless that has been done, and not too often executed since."""
        executions = _prepared.setdefault(own.connection, {})
        n = executions.get(self.name, 0)
        if n % PLANNED_AGAIN_AFTER == 0:
            with own.connection.cursor() as cursor:
                cursor.execute(f"DEALLOCATE {self.name}; {self._definition}" if n else self._definition)
        executions[self.name] = n + 1


class Prepared(Generic[M]):
    """A query set that is compiled once per process. It is built from its parameters, as placeholders of values.

    `locking` is a clause that the ORM lacks.
    """

    def __init__(self, build: Callable[..., QuerySet[M]], *, locking: str = "") -> None:
        self._build = build
        self._locking = locking

    def __call__(self, **parameters: Any) -> list[M]:
        """The objects of the query set, but without the signals of their models."""
        if any(isinstance(value, int) and value > BigAutoField.MAX_BIGINT for value in parameters.values()):
            return []  # as the ORM answers: no row has such a number, and PostgreSQL refuses it
        statement, converters, annotations, make = self._compiled
        objects = []
        for row in map(list, statement.rows(**parameters)):
            for place, convert, expression in converters:
                row[place] = convert(row[place], expression, connection)
            objects.append(make(row))
            vars(objects[-1]).update((name, row[place]) for name, place in annotations)
        return objects

    def first(self, **parameters: Any) -> M | None:
        return next(iter(self(**parameters)), None)

    @cached_property
    def _compiled(self) -> tuple[Statement, list[Any], list[tuple[str, int]], Callable[[Sequence[Any]], Any]]:
        values = {name: Value(AsIs(f"%({name})s")) for name in signature(self._build).parameters}
        compiler: Any = self._build(**values).query.get_compiler(DEFAULT_DB_ALIAS)
        with connection.cursor() as cursor:
            text = cursor.mogrify(*compiler.as_sql()).decode()
        expressions = [expression for expression, *_ in compiler.select]
        converters = [
            (place, convert, expression)
            for place, (converts, expression) in compiler.get_converters(expressions).items()
            for convert in converts
        ]
        statement, annotations = Statement(f"{text} {self._locking}"), [*compiler.annotation_col_map.items()]
        return statement, converters, annotations, _maker(compiler.klass_info, expressions)


def is_among(field: str, values: Value) -> Func:
    """The condition that a field has one of the values in a list, which is a parameter of a `Prepared`."""
    return Func(
        F(field), values, template="%(expressions)s)", arg_joiner=" = ANY(", output_field=BooleanField()
    )


def stored(model: type[M], values: Iterable[tuple[str, object]]) -> M:
    """An object of a row, from its columns by name. `from_db` would assign each field, and send two signals."""
    instance = model.__new__(model)
    instance._state = ModelState()
    instance._state.adding, instance._state.db = False, DEFAULT_DB_ALIAS
    vars(instance).update(values)
    return instance


def _maker(info: dict[str, Any], expressions: Sequence[object]) -> Callable[[Sequence[Any]], Any]:
    """Return a function that makes an object of a row, with the related objects that were selected."""
    model = info["model"]
    columns = [(expressions[place].target.attname, place) for place in info["select_fields"]]
    key = dict(columns)[model._meta.pk.attname]
    related = [
        (_maker(each, expressions), each["local_setter"], each["remote_setter"])
        for each in info.get("related_klass_infos", ())
    ]

    def make(row: Sequence[object]) -> Any:
        if row[key] is None:
            return None
        instance = stored(model, [(name, row[place]) for name, place in columns])
        for make_related, set_local, set_remote in related:
            other = make_related(row)
            set_local(instance, other)
            if other is not None:
                set_remote(other, instance)
        return instance

    return make


def insert(instance: M) -> M:
    """Store a new object, like its `save`, but without signals; its id is made by the database."""
    own = connections[DEFAULT_DB_ALIAS]
    fields, statement = _insertion(type(instance))
    values = {each.attname: each.get_db_prep_save(each.pre_save(instance, add=True), own) for each in fields}
    [(instance.pk,)] = statement.rows(**values)
    instance._state.adding, instance._state.db = False, DEFAULT_DB_ALIAS
    return instance


@cache
def _insertion(model: type[Model]) -> tuple[list[Any], Statement]:
    """The fields of a model that are stored, and the statement that stores a row."""
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    values = ", ".join(f"%({field.attname})s" for field in fields)
    table, key = model._meta.db_table, model._meta.pk.column
    return fields, Statement(f'INSERT INTO {table} ({columns}) VALUES ({values}) RETURNING "{key}"')  # noqa: S608 - of the model
