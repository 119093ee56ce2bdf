"""The base of all endpoints."""

from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from rest_framework.exceptions import ValidationError
from rest_framework.generics import GenericAPIView
from rest_framework.permissions import SAFE_METHODS
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from web.api.conditional import with_etag
from web.api.idempotency import idempotent
from web.api.pagination import Pages
from web.api.permissions import LoggedIn
from web.api.problems import TooLarge
from web.api.scopes import Scope


class ApiView(GenericAPIView[Any]):
    """An endpoint. Its methods find through a selector, validate by a serializer, call one service, and answer.

    `permission_classes` names who may enter, `read_scopes` and `write_scopes` the scopes of which a token needs one.
    `tag` is the heading in the documentation. `parameters` are those that the address may have after `?`. A view that
    calls a service that stores files sets `stores_files`, and lets the service call `keep_answer` in its transaction.
    """

    http_method_names = ["get", "post", "patch", "put", "delete", "head"]
    permission_classes = [LoggedIn]
    read_scopes: ClassVar[tuple[Scope, ...]] = (Scope.READ,)
    write_scopes: ClassVar[tuple[Scope, ...]] = (Scope.MANAGE,)
    tag: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]] = ()
    stores_files: ClassVar[bool] = False
    is_list: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if post := vars(cls).get("post"):
            cls.post = idempotent(post)  # type: ignore[attr-defined]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check who asks, how often, how much they send, and that nothing in the address would be ignored."""
        super().initial(request, *args, **kwargs)
        self._check_size(request)
        unknown = sorted(set(request.query_params) - set(self.accepted_parameters()))
        if unknown:
            accepted = ", ".join(self.accepted_parameters()) or "none"
            raise ValidationError({unknown[0][:100]: f"Unknown parameter. Accepted: {accepted}."})

    def keep_answer(self, response: Response) -> None:
        """Keep the answer for a repeated request. Replaced for a request with an `Idempotency-Key`."""

    def accepted_parameters(self) -> tuple[str, ...]:
        """The parameters that the address may have after `?`."""
        return (*self.parameters, *(("cursor", "page_size") if self.is_list else ()))

    def _check_size(self, request: Request) -> None:
        length = request.META.get("CONTENT_LENGTH") or "0"
        limit = settings.ANONYMOUS_UPLOAD_MAX_BYTES
        if request.user.is_authenticated:
            limit = settings.UPLOAD_MAX_BYTES
        if length.isdigit() and int(length) > limit:
            raise TooLarge(limit)

    def finalize_response(
        self, request: HttpRequest | Request, response: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Keep the answer out of all caches, and give what was read its ETag."""
        response = super().finalize_response(request, response, *args, **kwargs)  # type: ignore[arg-type]
        add_never_cache_headers(response)
        patch_vary_headers(response, ["Authorization", "Cookie"])
        is_read = request.method in SAFE_METHODS and response.status_code == 200
        if is_read and isinstance(response, Response) and isinstance(request, Request):
            with_etag(request, response)
        return response

    def validated(self, request: Request) -> dict[str, Any]:
        """The content of the request, as the serializer of the endpoint reads it.

        Raises
        ------
        ValidationError
            Something is missing, unknown or wrong.
        """
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        data: dict[str, Any] = serializer.validated_data
        return data


class ListView(ApiView):
    """An endpoint that lists rows, page by page, in the order `ordering`."""

    is_list = True
    pagination_class = Pages
    ordering: ClassVar[tuple[str, ...]]

    def listed(self, rows: Any, serializer: type[Any]) -> Response:
        """The page of rows that the request asks for."""
        page = self.paginate_queryset(rows)
        context = self.get_serializer_context()
        return self.get_paginated_response(serializer(page, many=True, context=context).data)


class FileRenderer(JSONRenderer):
    """Accepts every type: the file has its own. Problems are JSON."""

    media_type = "*/*"
    format = "file"


class FileView(ApiView):
    """An endpoint that sends a file."""

    renderer_classes = [JSONRenderer, FileRenderer]


def created(data: Any, location: str) -> Response:
    """201 with the address of what was created."""
    return Response(data, status=201, headers={"Location": location})


def accepted(data: Any, job_id: int | None) -> Response:
    """202 with the address of the job that does the work."""
    return Response(data, status=202, headers={"Location": reverse("api:job", args=[job_id])})
