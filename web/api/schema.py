"""The OpenAPI description of the endpoints: what every endpoint has in common is added here."""

import inspect
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent, is_list_serializer
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.permissions import SAFE_METHODS

from web.api.idempotency import HEADER
from web.api.pagination import Pages
from web.api.permissions import (
    Administrator,
    Creator,
    Everyone,
    LoggedIn,
    OfInvitations,
    OfPeople,
    Organizer,
    WithRole,
    scopes_of,
)
from web.api.problems import CONTENT_TYPE
from web.api.serializers import ProblemSerializer
from web.api.views import Endpoints

PROBLEMS = {
    400: "The request is not valid: see `errors`.",
    401: "The token is missing, wrong, expired or revoked.",
    403: "You may not do this, or the token lacks the scope.",
    404: "It does not exist, or you may not see it.",
    406: "Only JSON is available.",
    409: "The state of something does not allow this: see `detail`.",
    412: "Somebody changed this since you read it (`If-Match`).",
    413: "The content is larger than the site accepts.",
    415: "The content has another type than the endpoint reads.",
    422: "The content cannot be used: see `errors`, with line numbers. Or the `Idempotency-Key` was used before.",
    429: "Too many requests. Wait for the seconds of `Retry-After`.",
    507: "The disk of the server is full.",
}
SUCCESSES = {
    "200": "What was asked for.",
    "201": "It was created. `Location` has its address.",
    "202": "A job does the work. `Location` has its address: ask there until its `status` is `done` or `failed`.",
    "204": "It was done. There is nothing to send.",
}
_TEXT = {"type": "string"}
RATE_LIMIT = {
    "RateLimit-Policy": {
        "description": "Requests per window: `q` in `w` seconds, of the user or of the address.",
        "schema": _TEXT,
    },
    "RateLimit": {"description": "`r` requests are left for `t` seconds.", "schema": _TEXT},
}
HEADERS = {
    "ETag": {
        "ETag": {"description": "Of this content, for `If-None-Match` and `If-Match`.", "schema": _TEXT},
        "Repr-Digest": {
            "description": "SHA-256 of this content (RFC 9530), if it is known.",
            "schema": _TEXT,
        },
    },
    "201": {"Location": {"description": "The address of what was created.", "schema": _TEXT}},
    "202": {"Location": {"description": "The address of the job.", "schema": _TEXT}},
    "429": {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}},
}
WHO: dict[Any, str] = {
    Everyone: "Everyone",
    LoggedIn: "Everyone with a token",
    Organizer: "Organizers of the track; its chairs for what only reads",
    OfPeople: "Organizers of the track and administrators; its chairs for what only reads",
    OfInvitations: "Organizers of the track and administrators",
    Creator: "Organizers of any track and administrators",
    WithRole: "Organizers and chairs of any track",
    Administrator: "Administrators",
}


class Schema(AutoSchema):
    """Adds to each operation its scopes, its error answers and the headers that it understands."""

    view: Endpoints  # type: ignore[override]  # every endpoint is one

    def _is_list_view(self, serializer: object = None) -> bool:
        """Return whether the answer is an array, in pages or not."""
        return self._is_paged() or is_list_serializer(serializer)

    def _get_paginator(self) -> Any:
        return Pages()  # a whole list looks like a page

    def _get_pagination_parameters(self) -> list[Any]:
        return super()._get_pagination_parameters() if self._is_paged() else []  # type: ignore[no-untyped-call]

    def _map_basic_serializer(self, serializer: object, direction: object) -> dict[str, Any]:
        """Describe an object. Every property of an answer is there, unless its serializer names it as `optional`."""
        schema: dict[str, Any] = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        if direction == "response" and "properties" in schema:
            optional = getattr(serializer, "optional", ())
            schema["required"] = [name for name in schema["properties"] if name not in optional]
        return schema

    def _is_paged(self) -> bool:
        return self.view.is_list and self.method == "GET"

    def get_tags(self) -> list[str]:
        return [self.view.tag]

    def get_summary(self) -> str | None:
        return _docstring(self).partition("\n")[0].removesuffix(".")

    def get_description(self) -> str:  # type: ignore[override]
        """The rest of the docstring, who may call the operation, and the scope that a token needs."""
        rest = _docstring(self).partition("\n")[2].strip()
        who = WHO[self.view.who[0]]
        scopes = " or ".join(f"`{scope}`" for scope in scopes_of(self.view, self.method))
        return "\n\n".join(part for part in (rest, f"{who}. Scope: {scopes}.") if part)

    def get_override_parameters(self) -> list[Any]:
        parameters = []
        if self.method == "POST":
            parameters.append(
                _header(HEADER, "A key of your choice, such as a UUID. Repeated, it changes nothing.")
            )
        if self.method in {"PATCH", "PUT", "DELETE"}:
            parameters.append(
                _header("If-Match", "The ETag of what you read: refuses to overwrite a later change.")
            )
        if self.method == "GET":
            parameters.append(_header("If-None-Match", "The ETag of what you have: 304 if nothing changed."))
        return parameters

    def _get_request_body(self, direction: object = "request") -> dict[str, Any] | None:
        """Declared contents. JSON has no files: with the schema of a form, generated clients would send files in it."""
        body: dict[str, Any] | None = super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        content = body["content"] if body else {}
        if {"multipart/form-data", "application/json"} <= content.keys():
            name = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
            schema = self.registry[name, ResolvedComponent.SCHEMA].schema
            fields = {
                name: field for name, field in schema["properties"].items() if "binary" not in str(field)
            }
            content["application/json"] = {"schema": {**schema, "properties": fields}}
        return body

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        """Declared answers, and the problems that this operation can answer with."""
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        for code, body in bodies.items():
            body["description"] = body.get("description") or SUCCESSES[code]
            if header := HEADERS.get("ETag" if self.method == "GET" else code):
                body["headers"] = header
        if self.method == "GET":
            bodies["304"] = {"description": "Nothing changed since the ETag.", "headers": HEADERS["ETag"]}
        codes = {400, 401, 403, 406, 429}
        if "{" in self.path:
            codes.add(404)
        if self.method not in SAFE_METHODS:
            codes |= {409, 413, 415, 422}
        if self.method in {"PATCH", "PUT", "DELETE"}:
            codes.add(412)
        if self.view.stores_files and self.method not in SAFE_METHODS:
            codes.add(507)
        for body in bodies.values():
            body["headers"] = RATE_LIMIT | body.get("headers", {})
        for code in map(str, sorted(codes)):
            answer = OpenApiResponse(ProblemSerializer, PROBLEMS[int(code)])
            body = self._get_response_for_code(answer, code, [CONTENT_TYPE], direction)  # type: ignore[no-untyped-call]
            limit = {} if code == "401" else RATE_LIMIT
            bodies[code] = body | ({"headers": limit | HEADERS.get(code, {})})
        return bodies


def in_order(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """Sort the methods of each path; the framework keeps them in sets, whose order differs between processes."""
    places = {path: place for place, path in enumerate(dict.fromkeys(path for path, *_ in endpoints))}
    return sorted(
        endpoints, key=lambda item: (places[item[0]], Endpoints.http_method_names.index(item[2].lower()))
    )


def for_generated_clients(result: object, **more: Any) -> Any:
    """Leave out what generated clients would send or refuse.

    They would send the default "" of fields that may be left out, but not be blank. They refuse choices without a
    value: the parts of an archive where no extension is installed.
    """
    for part in result.values() if isinstance(result, dict) else result if isinstance(result, list) else ():
        if isinstance(part, dict) and "type" in part and part.get("default") == "":
            del part["default"]
        if isinstance(part, dict) and part.get("enum") == []:
            del part["enum"]
        for_generated_clients(part)
    return result


def _docstring(schema: AutoSchema) -> str:
    handler = getattr(schema.view, getattr(schema.view, "action", ""), None)
    return inspect.getdoc(handler) or inspect.getdoc(type(schema.view)) or ""


def _header(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(name, OpenApiTypes.STR, OpenApiParameter.HEADER, description=description)


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "accounts.backends.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "A token from your account page."}
