"""Lists of the API, page by page: a cursor names a row, so that new rows shift nothing."""

from collections.abc import Mapping
from typing import Any

from django.db import DataError
from django.db.models import QuerySet
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

PAGE_SIZE = 50
MAX_PAGE_SIZE = 500


class Pages(CursorPagination):
    """Pages in the order that the view names as `ordering`, which must end with a unique column."""

    page_size = PAGE_SIZE
    max_page_size = MAX_PAGE_SIZE
    page_size_query_param = "page_size"
    page_size_query_description = f"The number of rows of a page: 1 to {MAX_PAGE_SIZE}."
    cursor_query_description = (
        "Where the page begins. Take it from `next` or `previous` of another page; do not make one yourself."
    )

    def get_paginated_response_schema(self, schema: Mapping[str, object]) -> dict[str, Any]:
        """A page in OpenAPI 3.1; REST framework writes 3.0, in which null has another notation."""
        address = {"type": ["string", "null"], "format": "uri", "description": "Of another page, or null."}
        total = {"type": "integer", "description": "The number of rows in all pages."}
        fields = {"total": total, "next": address, "previous": address, "results": schema}
        return {"type": "object", "properties": fields, "required": list(fields)}

    def get_ordering(self, request: Request, queryset: QuerySet[Any], view: APIView) -> tuple[str, ...]:
        ordering: tuple[str, ...] = view.ordering  # type: ignore[attr-defined]
        return ordering

    @staticmethod
    def wrong_size(asked: Mapping[str, str]) -> dict[str, str]:
        """The problem with the requested size: it is not a number from 1 to the largest size."""
        text = asked.get("page_size", str(PAGE_SIZE))
        if text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= MAX_PAGE_SIZE:
            return {}
        return {"page_size": f"“{text[:20]}” is not a whole number from 1 to {MAX_PAGE_SIZE}."}

    def get_page_size(self, request: Request) -> int:
        """The requested size, which is not a wrong one."""
        return int(request.query_params.get("page_size", str(PAGE_SIZE)))

    def paginate_queryset(
        self, queryset: Any, request: Request, view: APIView | None = None
    ) -> list[Any] | None:
        """The rows of a page.

        Raises:
            ValidationError: The cursor is not one of ours.
        """
        try:
            page: list[Any] | None = super().paginate_queryset(queryset, request, view)
            is_whole = page is not None and self.cursor is None and not self.has_next
            self.total = len(page or ()) if is_whole else queryset.order_by().count()
            return page
        except (NotFound, ValueError, TypeError, OverflowError, DataError) as error:
            raise ValidationError({"cursor": "This is not a cursor of this list."}) from error

    def get_paginated_response(self, data: object) -> Response:
        """Answer with a page; `total` counts the rows of all pages."""
        return Response(page_of(data, self.total, self.get_next_link(), self.get_previous_link()))


def page_of(
    rows: object, total: int, next_page: str | None = None, previous: str | None = None
) -> dict[str, Any]:
    """The content of an answer with a page of a list, or with a whole list."""
    return {"total": total, "next": next_page, "previous": previous, "results": rows}
