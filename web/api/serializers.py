"""Serializers that all endpoints share."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, TypeVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.forms import BaseForm
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from assay.errors import BadFile
from assay.formats.qrels.reader import Complaint
from web import times
from web.names import check_line
from web.pages import counted

MOST_NAMED = 20
T = TypeVar("T")


MAX_WHOLE = 2**31 - 1  # what a column of PostgreSQL takes
MAX_LINE = 300  # a text that may be longer may have several lines


class Strict(serializers.Serializer[Any]):
    """The content of a request. A field that the endpoint does not know is an error, not ignored.

    A whole number whose field sets no bounds is one that the database takes. A wrong choice names the accepted ones.
    A short text has one line.
    """

    def get_fields(self) -> dict[str, Any]:
        """The fields, with bounds for all whole numbers, one line for short texts, and choices in their message."""
        fields = super().get_fields()
        for field in fields.values():
            child = getattr(field, "child", field)
            if isinstance(child, serializers.ChoiceField):
                accepted = ", ".join(str(choice) for choice in child.choices if choice != "")
                child.error_messages["invalid_choice"] = f"“{{input}}” is not accepted. Accepted: {accepted}."
            if isinstance(child, serializers.CharField) and (child.max_length or MAX_LINE + 1) <= MAX_LINE:
                child.validators.append(check_line)
            if not isinstance(child, serializers.IntegerField):
                continue
            if child.max_value is None:
                child.max_value = MAX_WHOLE
                child.validators.append(MaxValueValidator(MAX_WHOLE))
            if child.min_value is None:
                child.min_value = -MAX_WHOLE
                child.validators.append(MinValueValidator(-MAX_WHOLE))
        return fields

    def to_internal_value(self, data: object) -> Any:
        """Read the content.

        Raises:
            ValidationError: It has unknown fields, known ones are wrong, or both.
        """
        unknown = sorted(map(str, set(data) - set(self.fields))) if isinstance(data, Mapping) else []
        message = ErrorDetail(f"Unknown field. Accepted: {', '.join(self.fields)}.", "unknown")
        errors: dict[str, Any] = {name[:100]: [message] for name in unknown[:MOST_NAMED]}
        try:
            content = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if not isinstance(error.detail, dict):
                raise
            errors |= error.detail
        if errors:
            raise serializers.ValidationError(errors)
        return content


def named(rows: Mapping[str, T], name: str, field: str) -> T:
    """The row that a field of a request names.

    Raises:
        ValidationError: There is none; names some that are accepted.
    """
    if name not in rows:
        accepted = ", ".join(sorted(rows)[:MOST_NAMED]) or "none"
        raise serializers.ValidationError({field: f"There is no {name} here. Accepted: {accepted}."})
    return rows[name]


class BadLines(BadFile):
    def __init__(self, complaints: Sequence[Complaint], n: int) -> None:
        super().__init__(f"The file has {counted(n, 'error')}. The first: {complaints[0]}")
        self.errors = [
            {"line": complaint.line or None, "code": "line", "message": complaint.message}
            for complaint in complaints
        ]


def require_valid(form: BaseForm) -> None:
    """Refuse what the form of a page refuses, so that both have the same rules.

    Raises:
        BadLines: The form has the `complaints` about a file (`n_complaints` of them, of which it shows the first).
        ValidationError: With the errors of the form, by field.
    """
    if form.is_valid():
        return
    if complaints := getattr(form, "complaints", ()):
        raise BadLines(complaints, getattr(form, "n_complaints", len(complaints)))
    errors = {
        "non_field_errors" if field == "__all__" else field: [
            ErrorDetail(str(error["message"]), str(error["code"] or "invalid")) for error in problems
        ]
        for field, problems in form.errors.get_json_data().items()
    }
    raise serializers.ValidationError(errors)


def instant(text: str, zone: str, field: str) -> datetime:
    """The instant of a text, with its own offset or in the zone.

    Raises:
        ValidationError: It cannot be read, or the clocks of the zone skip it.
    """
    try:
        return times.instant_with_offset(text) or times.instant_of(text, zone)
    except times.NoSuchTime as error:
        raise serializers.ValidationError({field: str(error)}) from error


def check_zone(zone: str) -> None:
    """Refuse a time zone that pages do not offer.

    Raises:
        ValidationError: There is no such zone.
    """
    if zone not in times.zone_names():
        raise serializers.ValidationError(
            "Use AoE, UTC, or a name of the IANA database such as Europe/Prague."
        )


@extend_schema_field(OpenApiTypes.STR)
class Address(serializers.Field[Any, Any, str, Any]):
    """The address in the API of what is shown. `fields` name the values in the address: by default its key."""

    def __init__(self, name: str, *fields: str, **options: Any) -> None:
        super().__init__(source="*", read_only=True, **options)
        self.name, self.fields = name, fields or ("pk",)

    def to_representation(self, value: object) -> str:
        return reverse(self.name, args=[attrgetter(field)(value) for field in self.fields])


class JobAddress(Address):
    """The address of the job that makes what is shown; null if there is none."""

    def __init__(self, **options: Any) -> None:
        super().__init__("api:job", "job_id", allow_null=True, **options)

    def to_representation(self, value: Any) -> Any:
        return super().to_representation(value) if value.job_id else None


class ErrorSerializer(serializers.Serializer[Any]):
    """One thing that is wrong: in a line of a file, or in a field of the request."""

    optional = ("line", "field", "accepted", "n")

    line = serializers.IntegerField(
        required=False, allow_null=True, help_text="Of the file; null if it is about the whole file."
    )
    field = serializers.CharField(required=False, help_text="Of the request; empty if it is about several.")
    code = serializers.CharField(help_text="The kind of error, for programs.")
    message = serializers.CharField(help_text="What is wrong.")
    accepted = serializers.CharField(required=False, help_text="What is accepted instead.")
    n = serializers.IntegerField(required=False, help_text="On how many lines it occurs.")


class ProblemSerializer(serializers.Serializer[Any]):
    """An error, by RFC 9457."""

    optional = ("errors",)

    type = serializers.CharField(help_text="The section of the documentation about this status.")
    title = serializers.CharField(help_text="The kind of problem, in a few words.")
    status = serializers.IntegerField(help_text="The status of the response.")
    code = serializers.CharField(help_text="The kind of problem, for programs.")
    detail = serializers.CharField(help_text="What is wrong, in a sentence.")
    errors = ErrorSerializer(  # type: ignore[assignment]  # the name of the errors of a serializer itself
        many=True, required=False, help_text="What is wrong, one by one."
    )
