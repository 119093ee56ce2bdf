"""First migrations that need a third of the time.

After each model that a migration creates, Django makes new classes for all models that are related to it, which are
nearly all. Of the processor time of a migration of an empty database, two thirds were spent on such classes. Here the
models of consecutive operations are known before the first table is made.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import CreateModel, Migration
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState


class CreateModels(Operation):
    """Create several models. Each may refer to those before it."""

    def __init__(self, creations: Sequence[CreateModel]) -> None:
        self.creations = creations

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        vars(state).pop("apps", None)  # classes are made when the first table needs them
        for creation in self.creations:
            creation.state_forwards(app_label, state)

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for creation in self.creations:
            creation.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for creation in reversed(self.creations):
            creation.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return "; ".join(creation.describe() for creation in self.creations)


class FirstMigration(Migration):
    """A migration whose consecutive `CreateModel` become one operation."""

    def __init_subclass__(cls) -> None:
        cls.operations = list(_together(cls.operations))


def _together(operations: Sequence[Any]) -> Iterator[Operation]:
    for is_creation, group in groupby(operations, key=lambda operation: type(operation) is CreateModel):
        if is_creation:
            yield CreateModels(list(group))
        else:
            yield from group
