"""Refuses to reverse migrations if that would drop data. It looks at the operations of every app."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import apps as installed
from django.apps.registry import Apps
from django.core.management.base import CommandError
from django.db import models
from django.db.migrations import Migration
from django.db.migrations import operations as ops
from django.db.migrations.operations.base import Operation
from django.db.models.signals import pre_migrate

Plan = Sequence[tuple[Migration, bool]]  # each migration, and whether it is reversed


def connect() -> None:
    """Check each plan of `migrate` before it is carried out."""
    pre_migrate.connect(_check, sender=installed.get_app_config("accounts"))  # once, not for every app


def _check(*, plan: Plan, using: str, apps: Apps, **_: object) -> None:
    reversed_migrations = [migration for migration, is_reversed in plan if is_reversed]
    lost = list(losses(reversed_migrations, apps=apps, using=using))
    if lost:
        raise CommandError(
            f"Nothing was migrated: reversing would drop data: {'; '.join(lost)}. To return to an earlier version, "
            "install it and restore a backup made with it. To drop the data, delete them first."
        )


def losses(migrations: Sequence[Migration], *, apps: Apps, using: str) -> Iterator[str]:
    """Yield what the reversal of migrations would drop although it contains data.

    `migrations` are in the order of reversal, latest first. `apps` has the models of the database as it is now; a model
    that it lacks was deleted by a later migration, with its data. The reversal of a migration with `keeps_data = True`
    moves the data elsewhere before it drops something.
    """
    names: dict[tuple[str, ...], str] = {}  # of models and fields that later migrations renamed
    for migration in migrations:
        for operation in reversed(list(in_database(migration.operations))):
            app = migration.app_label
            if isinstance(operation, ops.RenameModel):
                new = operation.new_name_lower
                names[app, operation.old_name_lower] = names.get((app, new), new)
            if isinstance(operation, ops.RenameField):
                model, new = operation.model_name_lower, operation.new_name_lower
                names[app, model, operation.old_name_lower] = names.get((app, model, new), new)
            loss = _loss(names, app, operation, apps, using)
            if loss and not getattr(migration, "keeps_data", False):
                yield f"{migration} drops {loss}"


def in_database(operations: Sequence[Operation]) -> Iterator[Operation]:
    """The operations that change the database, each by itself."""
    for operation in operations:
        if isinstance(operation, ops.SeparateDatabaseAndState):
            yield from in_database(operation.database_operations)
        else:
            yield operation


def _loss(names: dict[tuple[str, ...], str], app: str, operation: Operation, apps: Apps, using: str) -> str:
    """The table or column that the reversal of an operation drops, if it contains data."""
    if not isinstance(operation, (ops.CreateModel, ops.AddField)):
        return ""
    written = operation.name_lower if isinstance(operation, ops.CreateModel) else operation.model_name_lower
    try:
        model = apps.get_model(app, names.get((app, written), written))
    except LookupError:
        return ""
    rows = model._base_manager.using(using)
    if isinstance(operation, ops.CreateModel):
        is_table = model._meta.managed and not model._meta.proxy
        return f"the table {model._meta.db_table}" if is_table and rows.exists() else ""
    name = names.get((app, written, operation.name_lower), operation.name_lower)
    return _column(model, name, rows)


def _column(model: type[models.Model], name: str, rows: models.QuerySet[Any]) -> str:
    """The column of a field, if a row has a value in it that is not the default.

    The default of a text that may be blank is the empty text: rows get it when the column is added.
    """
    field = next((field for field in model._meta.get_fields() if field.name.lower() == name), None)
    if not isinstance(field, models.Field):
        return ""
    valued = rows.exclude(**{f"{field.name}__isnull": True})
    if field.has_default():
        valued = valued.exclude(**{field.name: field.get_default()})
    elif field.blank and isinstance(field, (models.CharField, models.TextField)):
        valued = valued.exclude(**{field.name: ""})
    return f"{model._meta.db_table}.{field.name}" if valued.exists() else ""
