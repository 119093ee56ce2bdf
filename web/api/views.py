"""The base of all endpoints: a view set for each noun, whose methods are the operations of the API.

Decision: ADR 29.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from types import MappingProxyType
from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, ListSerializer
from rest_framework.viewsets import GenericViewSet

from web.api.conditional import FOREVER, RELEASED, compressed, with_etag
from web.api.filters import (
    KINDS,
    Filter,
    Kind,
    filtered,
    order_of,
    order_parameter,
    search_parameter,
    searched,
    wrong_values,
)
from web.api.idempotency import Repeatable, idempotent
from web.api.pagination import Pages, page_of
from web.api.permissions import LoggedIn
from web.api.problems import TooLarge
from web.api.serializers import MOST_NAMED
from web.models import Scope

OPTIONS = {
    "read_scopes": "read_scopes",
    "write_scopes": "write_scopes",
    "ordering": "ordering",
    "parsers": "parser_classes",
    "renderers": "renderer_classes",
    "stores_files": "stores_files",
    "secrets": "secrets",
    "tag": "tag",
}


@dataclass(frozen=True)
class Endpoint:
    """An operation: its method and address, what it takes and gives, and what its address has of its own."""

    method: str
    address: str
    name: str  # of the address, in the namespace `api`
    takes: type[BaseSerializer[Any]] | None
    gives: Any
    status: int
    parameters: tuple[OpenApiParameter, ...]  # that the address may have after `?`
    filters: tuple[Filter, ...]  # of a list
    orders: tuple[str, ...]
    searches: tuple[str, ...]  # fields of the rows in which words are searched
    who: Sequence[type[BasePermission]]  # may call it; empty: those of the view set
    in_track: str | None  # how it stays in the track of a token, if its address names none
    initial: dict[str, Any]  # attributes of the view set at this address


def _endpoint(
    method: str,
    address: str,
    name: str,
    gives: Any = None,
    *,
    takes: Any = None,
    status: int = 0,
    request: Any = None,
    who: Sequence[type[BasePermission]] = (),
    in_track: str | None = None,
    parameters: Any = (),
    filters: Sequence[Filter] = (),
    orders: Sequence[str] = (),
    searches: Sequence[str] = (),
    examples: Any = None,
    **options: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make an operation of a method of a view set. The name of the method is that in generated clients.

    Args:
        address, name: as of `path`; several methods can share an address.
        gives: the serializer of what the method returns, `Serializer(many=True)` for a list in one page, or None for an
            answer without content. With `ordering`, the method returns a query set, and the answer is a page of it. Or
            responses as in `extend_schema`: the first is for what the method returns, 204 for None.
        takes: the serializer of the content of the request, for `validated`. `request` describes it, if that differs.
        who: may call it, if not those of the view set.
        in_track: lets in tokens of one track where the address names none: the column of a list with the id of the
            track, or `EVERYWHERE` if there is nothing to leave out. `ELSEWHERE` refuses them in spite of the address.
        status: of success; without it 200, or 204 if nothing is given. With 201, `url` of the answer
            is its location, or the address of the request.
        parameters: what the address may have after `?`.
        filters, orders, searches: of a list with `ordering`; the columns of orders are never null, and words are
            searched in the fields of `searches`.
        options: see `OPTIONS`. They hold for all methods of an address.
    """
    initial = {OPTIONS[option]: value for option, value in options.items()}
    if "ordering" in options:
        initial |= {"is_list": True, "pagination_class": Pages}
        gives = gives(many=True)
    status = status or (204 if gives is None else next(iter(gives)) if isinstance(gives, dict) else 200)
    parameters = [*parameters, *(rule.parameter for rule in filters)]
    if orders:
        parameters.append(order_parameter(orders))
    if searches:
        parameters.append(search_parameter(searches))
    query = tuple(row for row in parameters if row.location == OpenApiParameter.QUERY)
    of_list = tuple(filters), tuple(orders), tuple(searches)
    made = Endpoint(method, address, name, takes, gives, status, query, *of_list, who, in_track, initial)

    def decorate(handler: Callable[..., Any]) -> Callable[..., Any]:
        answering = _answering(handler, made)
        described = extend_schema(
            operation_id=handler.__name__,
            request=request or takes,
            responses=gives if isinstance(gives, dict) else {status: gives},
            parameters=parameters,
            examples=examples,
        )(idempotent(answering) if method == "post" else answering)
        vars(described)["endpoint"] = made
        return described

    return decorate


def parameter(
    name: str,
    description: str,
    *,
    values: Sequence[str] = (),
    kind: Kind = "text",
    many: bool = False,
    required: bool = False,
) -> OpenApiParameter:
    """Show what an address may have after `?`: one of some values, or something that is written as a kind."""
    return OpenApiParameter(
        name, KINDS[kind], description=description, enum=list(values) or None, many=many, required=required
    )


def _answering(handler: Callable[..., Any], endpoint: Endpoint) -> Callable[..., Any]:
    """Let a method return what its serializer shows."""

    @wraps(handler)
    def answering(view: "Endpoints", request: Request, **kwargs: Any) -> Any:
        result = handler(view, request, **kwargs)
        if isinstance(result, HttpResponseBase):
            return result
        gives = endpoint.gives
        if isinstance(gives, dict):
            gives = gives[endpoint.status]
        if gives is None or result is None:
            return Response(status=204)
        context = view.get_serializer_context()
        if isinstance(gives, ListSerializer):
            of_one: Any = type(gives.child)
            if "is_list" not in endpoint.initial:
                rows = of_one(result, many=True, context=context).data
                return Response(page_of(rows, len(rows)), status=endpoint.status)
            return view.listed(result, of_one)
        data = gives(result, context=context).data
        if endpoint.status == 201:
            return created(data, data.get("url", request.path))
        return Response(data, status=endpoint.status)

    return answering


get = partial(_endpoint, "get")
post = partial(_endpoint, "post")
put = partial(_endpoint, "put")
patch = partial(_endpoint, "patch")
delete = partial(_endpoint, "delete")


class Endpoints(Repeatable, GenericViewSet[Any]):
    """The operations of a noun. Each finds through a selector, validates by a serializer, and calls one service.

    `permission_classes` names who may enter where an operation does not (`who`), `read_scopes` and `write_scopes` the
    scopes of which a token needs one. `tag` is the heading in the documentation.
    """

    http_method_names = ["get", "post", "patch", "put", "delete", "head"]
    permission_classes = [LoggedIn]
    read_scopes: ClassVar[tuple[Scope, ...]] = (Scope.READ,)
    write_scopes: ClassVar[tuple[Scope, ...]] = (Scope.MANAGE,)
    tag: ClassVar[str]
    ordering: ClassVar[tuple[str, ...]] = ()
    is_list: ClassVar[bool] = False
    pagination_class: Any = None
    rate_limit: Mapping[str, str] = MappingProxyType({})  # headers of the answer

    @classmethod
    def urls(cls) -> list[URLPattern]:
        """The addresses of the operations, in the order in which they are written."""
        addresses: dict[tuple[str, str], dict[str, Any]] = {}
        initial: dict[tuple[str, str], dict[str, Any]] = {}
        for action, handler in vars(cls).items():
            endpoint: Endpoint | None = getattr(handler, "endpoint", None)
            if endpoint is not None:
                key = (endpoint.address, endpoint.name)
                addresses.setdefault(key, {})[endpoint.method] = action
                initial.setdefault(key, {}).update(endpoint.initial)
        return [
            path(address, cls.as_view(actions, **initial[address, name]), name=name)
            for (address, name), actions in addresses.items()
        ]

    @property
    def endpoint(self) -> Endpoint | None:
        """The operation of the request; None for a method that its address does not have."""
        return getattr(getattr(self, self.action or "", None), "endpoint", None)

    @property
    def who(self) -> Sequence[Any]:
        """The people who may call the operation of the request."""
        return (self.endpoint and self.endpoint.who) or self.permission_classes

    def get_permissions(self) -> list[Any]:
        return [permission() for permission in self.who]

    def get_serializer_class(self) -> Any:
        return self.endpoint and self.endpoint.takes

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check who asks, how often, how much they send, and that nothing in the address would be ignored."""
        super().initial(request, *args, **kwargs)
        is_known = request.user.is_authenticated
        limit = settings.UPLOAD_MAX_BYTES if is_known else settings.ANONYMOUS_UPLOAD_MAX_BYTES
        length = request.META.get("CONTENT_LENGTH") or "0"
        if length.isdigit() and int(length) > limit:
            raise TooLarge(limit)
        if wrong := self.wrong_parameters(request):
            raise ValidationError(wrong)

    def handle_exception(self, exc: Exception) -> Response:
        """Name the fields of the request in the errors of a form or a service, where they have other names."""
        takes: Any = self.endpoint and self.endpoint.takes
        if takes and isinstance(exc, ValidationError) and isinstance(exc.detail, dict):
            names = {field.source: name for name, field in takes._declared_fields.items()}
            exc.detail = {names.get(source, source): detail for source, detail in exc.detail.items()}
        return super().handle_exception(exc)

    def wrong_parameters(self, request: Request) -> dict[str, Any]:
        """Problems with what follows `?` in the address, by parameter."""
        known = self.accepted_parameters()
        unknown = set(request.query_params) - set(known)
        message = f"Unknown parameter. Accepted: {', '.join(known) or 'none'}."
        wrong: dict[str, Any] = {name[:100]: message for name in sorted(unknown)[:MOST_NAMED]}
        if self.endpoint is not None:
            wrong |= wrong_values(self.endpoint.parameters, request.query_params)
        if "page_size" in known:
            wrong |= Pages.wrong_size(request.query_params)
        return wrong

    def accepted_parameters(self) -> tuple[str, ...]:
        """The parameters that the address may have after `?`."""
        pages = ("cursor", "page_size") if self.is_list and self.request.method in SAFE_METHODS else ()
        stated = self.endpoint.parameters if self.endpoint else ()
        return (*(row.name for row in stated), *pages)

    def finalize_response(
        self, request: HttpRequest | Request, response: object, *args: Any, **kwargs: Any
    ) -> Any:
        """Keep the answer out of all caches, unless it says that they may keep it, and give what was read its ETag."""
        response = super().finalize_response(request, response, *args, **kwargs)  # type: ignore[arg-type]
        if response.get("Cache-Control") not in (FOREVER, RELEASED):
            add_never_cache_headers(response)
        patch_vary_headers(response, ["Authorization", "Cookie"])
        for name, value in self.rate_limit.items():
            response[name] = value
        is_read = request.method in SAFE_METHODS and response.status_code == 200
        if isinstance(response, Response) and isinstance(request, Request):
            if is_read:
                with_etag(request, response)
            response.add_post_render_callback(partial(compressed, request._request))
        return response

    def validated(self, request: Request) -> dict[str, Any]:
        """The content of the request, as the serializer of the endpoint reads it.

        Raises:
            ValidationError: Something is missing, unknown or wrong.
        """
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        data: dict[str, Any] = serializer.validated_data
        return data

    def paginate_queryset(self, queryset: Any) -> Any:
        """The rows of a page, filtered and ordered as the request says."""
        if self.endpoint is not None:
            asked, track_id = self.request.query_params, getattr(self.request.auth, "track_id", None)
            if track_id is not None and self.endpoint.in_track:
                queryset = queryset.filter(**{self.endpoint.in_track: track_id})
            queryset = filtered(queryset, self.endpoint.filters, asked)
            queryset = searched(queryset, self.endpoint.searches, asked)
            self.ordering = order_of(asked, self.ordering)  # type: ignore[misc]
        return super().paginate_queryset(queryset)

    def listed(self, rows: object, serializer: type[Any]) -> Response:
        """The page of rows that the request asks for."""
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(
            serializer(page, many=True, context=self.get_serializer_context()).data
        )


class FileRenderer(JSONRenderer):
    """Accepts every type: the file has its own. Problems are JSON."""

    media_type = "*/*"
    format = "file"


class TsvRenderer(BaseRenderer):
    """Tab-separated text, as bytes. A problem stays JSON."""

    media_type = "text/tab-separated-values"
    format = "tsv"
    charset = "utf-8"

    def render(
        self,
        data: object,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, object] | None = None,
    ) -> bytes:
        content: bytes = data if isinstance(data, bytes) else JSONRenderer().render(data)
        return content


def get_file(
    address: str, name: str, *content_types: str, **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make an operation that sends a file of one of some types, by default of any."""
    types = content_types or ("application/octet-stream",)
    schemas = {"application/json": OpenApiTypes.OBJECT}
    gives = {
        (200, content_type): OpenApiResponse(schemas.get(content_type, OpenApiTypes.BINARY), "The file.")
        for content_type in types
    }
    return get(address, name, gives, renderers=[JSONRenderer, FileRenderer], **options)


def created(data: object, location: str) -> Response:
    """201 with the address of what was created."""
    return Response(data, status=201, headers={"Location": location})


def accepted(data: object, job_id: int | None) -> Response:
    """202 with the address of the job that does the work."""
    return Response(data, status=202, headers={"Location": reverse("api:job", args=[job_id])})
