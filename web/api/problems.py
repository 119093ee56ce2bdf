"""Every error of the API as `application/problem+json` (RFC 9457)."""

import errno
import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.db import IntegrityError
from django.http import Http404, HttpRequest, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.urls import NoReverseMatch, reverse
from psycopg2.errors import UniqueViolation
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import set_rollback

from assay.errors import BadFile, InputError, Refused, kebab

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Conflict(exceptions.APIException):
    """The state of something does not allow the request."""

    status_code = status.HTTP_409_CONFLICT
    default_detail = "The request conflicts with another one."
    default_code = "conflict"


class PreconditionFailed(exceptions.APIException):
    """`If-Match` names another version than the current one."""

    status_code = status.HTTP_412_PRECONDITION_FAILED
    default_detail = "Somebody changed this since you read it. Read it again, then repeat your change."
    default_code = "precondition-failed"


class TooLarge(exceptions.APIException):
    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too-large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The upload is larger than {limit // 1024 // 1024} MB, the largest size accepted.")


class Unprocessable(exceptions.APIException):
    """The request is well formed, but its content cannot be used."""

    status_code = status.HTTP_422_UNPROCESSABLE_ENTITY
    default_code = "unprocessable"


def problem(
    status_code: int,
    *,
    detail: str,
    code: str,
    title: str = "",
    errors: Iterable[Mapping[str, object]] = (),
) -> dict[str, Any]:
    """The members of a problem. `code` names the error for programs, `detail` explains it to people.

    The type is the section of the documentation about the status.
    """
    try:
        about = f"{reverse('documentation', args=['reference/api.html'])}#status-{status_code}"
    except NoReverseMatch:
        about = "about:blank"
    members: dict[str, Any] = {
        "type": about,
        "title": title or HTTPStatus(status_code).phrase,
        "status": status_code,
        "code": code,
        "detail": detail,
    }
    errors = list(errors)
    return members | ({"errors": errors} if errors else {})


def refusal_of(exception: Exception) -> Refused | None:
    """The refusal that an exception is, also that of the database if two people store one name; else None."""
    if isinstance(exception, IntegrityError) and isinstance(exception.__cause__, UniqueViolation):
        logger.warning("two requests stored the same", exc_info=exception)
        return Refused(
            "Somebody stored something with the same name at the same moment. Look at it, then repeat your change "
            "or choose another name.",
            code="taken-meanwhile",
            title="Somebody was faster",
        )
    return exception if isinstance(exception, Refused) else None


def too_large(exception: Exception) -> str:
    """The sentence about a form or a body that is larger than Django reads into memory; empty for another exception."""
    megabytes = (settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0) / 1024 / 1024
    if isinstance(exception, RequestDataTooBig):
        return f"The request has more than {megabytes:g} MB outside of files. Send less at once, or a file."
    if isinstance(exception, TooManyFieldsSent):
        return f"The form has more than {settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:,} fields. Send less at once."
    if isinstance(exception, TooManyFilesSent):
        return f"The form has more than {settings.DATA_UPLOAD_MAX_NUMBER_FILES:,} files. Send them in parts."
    return ""


def is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/")


def problem_response(status_code: int, *, detail: str, code: str, title: str = "") -> JsonResponse:
    """A problem as a response of Django, for middleware and error pages."""
    members = problem(status_code, detail=detail, code=code, title=title)
    return JsonResponse(members, status=status_code, content_type=CONTENT_TYPE)


def handle(exception: Exception, context: Mapping[str, object]) -> Response | None:
    """The response to an exception of an endpoint; None for a fault of ours, which becomes a 500."""
    members, headers = _members(exception)
    if members is None:
        return None
    set_rollback()
    return Response(members, status=members["status"], headers=headers, content_type=CONTENT_TYPE)


def _members(exception: Exception) -> tuple[dict[str, Any] | None, dict[str, str]]:
    if refusal := refusal_of(exception):
        return problem_of_refusal(refusal), {}
    if sentence := too_large(exception):
        return problem(status.HTTP_413_REQUEST_ENTITY_TOO_LARGE, detail=sentence, code="too-large"), {}
    if isinstance(exception, InputError):
        code = kebab(type(exception).__name__)
        members = problem(
            status.HTTP_422_UNPROCESSABLE_ENTITY, detail=str(exception), code=code, errors=exception.errors
        )
        return members, {}
    if isinstance(exception, OSError) and exception.errno in FULL:
        detail = "The disk of the server is full. Tell an organizer, and try again later."
        return problem(status.HTTP_507_INSUFFICIENT_STORAGE, detail=detail, code="disk-full"), {}
    exception = _as_api_exception(exception)
    if isinstance(exception, exceptions.ValidationError):
        errors = list(_field_errors(exception.detail))
        first = errors[0]
        where = f"{first['field']}: " if first["field"] else ""
        more = f" And {len(errors) - 1} more." if len(errors) > 1 else ""
        return problem(
            status.HTTP_400_BAD_REQUEST,
            title="The request is not valid",
            detail=f"{where}{first['message']}{more}",
            code="invalid",
            errors=errors,
        ), {}
    if isinstance(exception, exceptions.APIException):
        words = exception.get_codes()
        code = words.replace("_", "-") if isinstance(words, str) else "error"
        headers = {}
        if header := getattr(exception, "auth_header", ""):
            headers["WWW-Authenticate"] = header
        if (wait := getattr(exception, "wait", None)) is not None:
            headers["Retry-After"] = str(max(1, round(wait)))
        return problem(exception.status_code, detail=str(exception.detail), code=code), headers
    return None, {}


def _as_api_exception(exception: Exception) -> Exception:
    if isinstance(exception, Http404):
        return exceptions.NotFound("It does not exist, or you may not see it.")
    if isinstance(exception, DjangoPermissionDenied):
        return exceptions.PermissionDenied(str(exception) or None)
    if isinstance(exception, MultiPartParserError):
        return exceptions.ParseError(str(exception))
    return exception


def problem_of_refusal(refusal: Refused) -> dict[str, Any]:
    """The problem of a refusal: 422 if a file cannot be used as it is, otherwise 409."""
    is_about_content = isinstance(refusal, BadFile) or bool(refusal.errors)
    return problem(
        status.HTTP_422_UNPROCESSABLE_ENTITY if is_about_content else status.HTTP_409_CONFLICT,
        title=refusal.title,
        detail=refusal.message,
        code=refusal.code,
        errors=refusal.errors,
    )


def _field_errors(detail: object, field: str = "") -> Iterable[dict[str, str]]:
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            is_general = name == "non_field_errors"
            yield from _field_errors(inner, field if is_general else f"{field}.{name}".lstrip("."))
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            nested = f"{field}[{index}]" if isinstance(inner, Mapping) else field
            yield from _field_errors(inner, nested)
    else:
        code = getattr(detail, "code", "invalid").replace("_", "-")
        yield {"field": field, "code": code, "message": str(detail)}
