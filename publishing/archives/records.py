"""Records of archives from rows of the database, and rows from records.

The fields of a record are declared once, in `assay.archive.records`. A field that the model has under the same name has
its value; both directions pass only the others.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.dateparse import parse_datetime

from publishing.errors import load_refused
from web.models import UNSTORABLE

Record = TypeVar("Record")
Row = TypeVar("Row", bound=models.Model)


def text_of(moment: datetime | None) -> str:
    """A time in ISO 8601; empty if there is none."""
    return "" if moment is None else moment.isoformat()


def moment_of(text: str) -> datetime:
    """A time in ISO 8601.

    Raises:
        Refused: It is not a time with a zone.
    """
    try:
        moment = parse_datetime(text)
    except ValueError:  # a time that no calendar has
        moment = None
    if moment is None or moment.tzinfo is None:
        raise load_refused(f"“{text[:40]}” is not a time with a zone.")
    return moment


def record_of(kind: type[Record], row: models.Model, **others: Any) -> Record:
    """A record of a row. `others` are the values that the row does not have under the name of the field."""
    values = dict(others)
    for field in fields(kind):  # type: ignore[arg-type]  # every record is a dataclass
        if field.name not in others:
            value = getattr(row, field.name)
            is_time = isinstance(row._meta.get_field(field.name), models.DateTimeField)
            values[field.name] = text_of(value) if is_time else value
    return kind(**values)


def row_of(model: type[Row], record: object, **others: Any) -> Row:
    """A row with the values of a record, not saved yet. Texts are cut to the length of their fields.

    `others` are the values that are not those of the record. `save` stores the row with its times.

    Raises:
        Refused: A time cannot be read.
    """
    values = dict(others)
    for field in model._meta.concrete_fields:
        if field.name in others or not hasattr(record, field.name):
            continue
        value = getattr(record, field.name)
        if isinstance(field, models.DateTimeField):
            value = moment_of(value) if value else None
        elif isinstance(field, models.CharField):
            value = value[: field.max_length]
        values[field.name] = value
    return model(**values)


def checked(row: Row, name: str) -> Row:
    """A row of a file of somebody else's archive, if the database takes it.

    Raises:
        Refused: A value is too large, or has characters that cannot be stored.
    """
    own = [field for field in row._meta.concrete_fields if not field.is_relation and not field.primary_key]
    filled = {field.name for field in own if getattr(row, field.name) not in field.empty_values}
    try:
        row.clean_fields(exclude={field.name for field in row._meta.concrete_fields} - filled)
    except ValidationError as error:
        raise load_refused(f"{name}: {'; '.join(error.messages)}") from None
    if any(UNSTORABLE.search(text) for text in _texts([getattr(row, field.name) for field in own])):
        raise load_refused(f"{name}: a text has a character that cannot be stored.")
    return row


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def save(row: Row) -> Row:
    """Save a row with the times that it has, also where the model would set that of today."""
    times = {
        field.name: getattr(row, field.name)
        for field in row._meta.concrete_fields
        if (getattr(field, "auto_now_add", False) or getattr(field, "auto_now", False))
        and getattr(row, field.name) is not None
    }
    row.save()
    if times:
        type(row)._default_manager.filter(pk=row.pk).update(**times)
    return row
