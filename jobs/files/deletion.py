"""Delete a row that nothing refers to, with the rows that only describe it, and their files.

Each noun lists the models that are parts of its rows. A row of any other model that refers to the row or to its parts
refuses the deletion, so a model that is added later protects what it refers to. Decision: ADR 74.
"""

from collections.abc import Collection, Iterator
from functools import partial
from typing import Any

from django.db import IntegrityError, connection
from django.db.models import FileField, Model, QuerySet
from django.urls import get_script_prefix
from django.utils.text import get_text_list

from assay.errors import Refused
from jobs.files import storage
from jobs.models import Job
from web.pages import counted

# What an organizer can delete, as long as nothing refers to it.
DELETABLE = frozenset({"assessment.Batch", "participation.Team", "pooling.Pool", "tracks.Topic"})

# Other rows refer to a row.
still_used = partial(Refused, code="still-used", title="Nothing was deleted")


def check_unused(row: Model, parts: Collection[str] = ()) -> None:
    """Refuse to delete a row that something refers to.

    `parts` are labels of models, such as `tracks.Deadline`, whose rows go with it.

    Raises:
        Refused: Rows of other models refer to it, or a job for it is not finished.
    """
    _closure(row, parts)
    if jobs_of(row).filter(state__in=Job.UNFINISHED).exists():
        raise still_used(f"A job for {row} is not finished. Wait for it, or cancel it.")


def delete_unused(row: Model, parts: Collection[str] = (), *, later: Collection[str] = ()) -> None:
    """Delete a row with its parts, in the transaction of the caller, who has locked and checked it.

    The caller deletes the parts in `later`, which have no constraint in the database, in a job.

    Raises:
        Refused: As `check_unused`; or something began to refer to it at this moment.
    """
    rows = _closure(row, parts)
    names: list[str] = []
    for queryset in reversed(rows):
        if queryset.model._meta.label in later:
            continue
        for field in queryset.model._meta.get_fields():
            if isinstance(field, FileField):
                names += queryset.exclude(**{field.name: ""}).values_list(field.name, flat=True)
        queryset._raw_delete(queryset.db)
    try:
        connection.check_constraints()
    except IntegrityError as error:
        raise still_used(f"{row} has just come into use. Nothing was deleted.") from error
    jobs_of(row).update(subject_path="")
    storage.discard(names)


def _closure(row: Model, parts: Collection[str]) -> list[QuerySet[Any]]:
    """The rows that are deleted, those that refer to others after them."""
    rows: list[QuerySet[Any]] = [type(row)._base_manager.filter(pk=row.pk)]
    seen: set[tuple[str, str]] = set()
    users: list[str] = []
    are_deletable = True
    for queryset in rows:  # grows
        for model, name in _references(queryset.model):
            if (model._meta.label, name) in seen:
                continue
            seen.add((model._meta.label, name))
            referring = model._base_manager.filter(**{f"{name}__in": queryset})
            if model._meta.label in parts or model._meta.auto_created:
                rows.append(referring)
            elif n := (referring.exclude(pk=row.pk) if isinstance(row, model) else referring).count():
                users.append(_counted(n, model))
                are_deletable &= model._meta.label in DELETABLE
    if users:
        first = " Delete what uses it first." if are_deletable else ""
        raise still_used(f"{row} is used by {get_text_list(users, 'and')}, so it cannot be deleted.{first}")
    return rows


def jobs_of(row: Model) -> QuerySet[Job]:
    """The jobs whose page leads to the page of a row."""
    address = getattr(row, "get_absolute_url", str)()
    path = address.removeprefix(get_script_prefix())
    return Job.objects.filter(subject_path=path) if path else Job.objects.none()


def parts_in_words(row: Model, parts: Collection[str]) -> list[str]:
    """The rows that are deleted with a row, such as `7 topics`: of the models that refer to it directly."""
    words = []
    for model, name in _references(type(row)):
        n = model._base_manager.filter(**{name: row}).count() if model._meta.label in parts else 0
        words += [_counted(n, model)] if n else []
    return words


def _counted(n: int, model: type[Model]) -> str:
    return counted(n, f"{model._meta.verbose_name},{model._meta.verbose_name_plural}")


def _references(model: type[Model]) -> Iterator[tuple[type[Model], str]]:
    """The models that refer to a model, each with the name of its field."""
    for relation in model._meta.get_fields(include_hidden=True):
        if (
            relation.auto_created
            and not relation.concrete
            and relation.is_relation
            and not relation.many_to_many
        ):
            yield relation.related_model, relation.field.name  # type: ignore[union-attr,misc]
