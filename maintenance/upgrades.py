"""Operations of migrations that the previous release cannot live with.

During a rolling upgrade, processes of the previous release still read and write the new tables. So a change that they
cannot bear takes two releases: the first stops using the column, the second removes it. A migration says that it is the
second step by `second_step = True`, with a comment that names the release of the first. Decision: ADR 20.
"""

from collections.abc import Iterator
from typing import Any

from django.db import models
from django.db.migrations import Migration
from django.db.migrations import operations as ops
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from web.migration_guard import in_database

REMOVING = (ops.DeleteModel, ops.RenameModel, ops.RemoveField, ops.RenameField, ops.AlterModelTable)
CONSTRAINING = (ops.AddConstraint, ops.AlterUniqueTogether)
WIDER = {
    ("CharField", "TextField"),
    ("SmallIntegerField", "IntegerField"),
    ("SmallIntegerField", "BigIntegerField"),
    ("IntegerField", "BigIntegerField"),
}


def problems(migration: Migration, before: ProjectState) -> list[str]:
    """Changes that the previous release could not live with, each in a sentence; none for a first or a second step.

    `before` is the state of the models before the migration, of which a copy is changed.
    """
    if migration.initial or getattr(migration, "second_step", False):
        return []
    state, lines, created = before.clone(), [], set()
    for operation in in_database(migration.operations):
        if isinstance(operation, ops.CreateModel):
            created.add(operation.name_lower)
        elif getattr(operation, "model_name_lower", None) not in created:
            lines += [
                f"{migration}: {problem}" for problem in _problems(operation, state, migration.app_label)
            ]
        operation.state_forwards(migration.app_label, state)
    return lines


def _problems(operation: Operation, state: ProjectState, app: str) -> Iterator[str]:
    step = f"“{operation.describe()}”"
    if isinstance(operation, REMOVING):
        yield f"{step}: the previous release still uses it. Do it one release later."
    elif isinstance(operation, CONSTRAINING):
        yield f"{step}: the previous release may store rows that break it. Add it one release later."
    elif isinstance(operation, ops.RunSQL):
        yield f"{step}: nobody can tell whether the previous release can live with it. Check it."
    elif isinstance(operation, ops.AddField):
        field: Any = operation.field
        if not (isinstance(field, models.ManyToManyField) or field.null or field.has_db_default()):
            yield f"{step}: the previous release stores rows without it. Give it null=True or a db_default."
    elif isinstance(operation, ops.AlterField):
        old = state.models[app, operation.model_name_lower].fields[operation.name]
        yield from (f"{step}: {reason}. Widen a field only." for reason in _narrowed(old, operation.field))


def _narrowed(old: Any, new: Any) -> Iterator[str]:
    """The values that the previous release may store in a field and the new one does not accept."""
    kinds = (type(old).__name__, type(new).__name__)
    if kinds[0] != kinds[1] and kinds not in WIDER:
        yield f"its type changes from {kinds[0]} to {kinds[1]}"
    if old.null and not new.null:
        yield "it no longer accepts null"
    if new.unique and not old.unique:
        yield "it becomes unique"
    if new.max_length and (old.max_length is None or old.max_length > new.max_length):
        yield f"it accepts at most {new.max_length} characters"
    if old.has_db_default() and not new.has_db_default():
        yield "the previous release relies on the default of the database"
