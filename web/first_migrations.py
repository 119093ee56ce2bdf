"""First migrations that need a fifth of the time.

After each operation, Django makes new classes for all models that are related to the model of the operation, which are
nearly all. Two thirds of the processor time of a migration of an empty database were spent on such classes. Here
consecutive operations become one, and only the models that it creates get classes.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import AddConstraint, AddIndex, CreateModel, Migration
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

JOINED = (CreateModel, AddIndex, AddConstraint)  # the class of a model needs no index to get another one


class Additions(Operation):
    """Create several models, each with its indexes and constraints; add others to earlier models."""

    def __init__(self, operations: Sequence[Any]) -> None:
        self.operations = operations
        self.created = [operation.name_lower for operation in operations if type(operation) is CreateModel]
        self.of_tables = [
            operation
            for operation in operations
            if type(operation) is CreateModel or operation.model_name.lower() not in self.created
        ]

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        apps = vars(state).pop("apps", None)
        for operation in self.operations:
            operation.state_forwards(app_label, state)
        if apps is not None:  # otherwise, all classes are made when the first table needs one
            vars(state)["apps"] = apps
            apps.render_multiple([state.models[app_label, name] for name in self.created])

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for operation in self.of_tables:
            operation.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for operation in reversed(self.of_tables):
            operation.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return "; ".join(operation.describe() for operation in self.operations)


class FirstMigration(Migration):
    """A migration whose consecutive additions become one operation."""

    def __init_subclass__(cls) -> None:
        cls.operations = list(_together(cls.operations))


def _together(operations: Sequence[Any]) -> Iterator[Operation]:
    for is_joined, group in groupby(operations, key=lambda operation: type(operation) in JOINED):
        if is_joined:
            yield Additions(list(group))
        else:
            yield from group
