"""Log lines: as text or as JSON, with the id of the request that they belong to, and without secrets.

A request has an id (`config.middleware`), which is stored with the jobs that it asks for. So the log lines of a page
and those of its job, which a worker writes later, have the same id. Decision: ADR 66.
"""

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

TOKEN = re.compile(r"assay_[A-Za-z0-9]{8,}")
HIDDEN = "assay_[hidden]"

_request_id: ContextVar[str] = ContextVar("request_id", default="")


def request_id() -> str:
    """The id of the request that this thread works for; empty if it works for none."""
    return _request_id.get()


@contextmanager
def working_for(identity: str) -> Iterator[None]:
    """Everything that this thread logs in the block belongs to a request."""
    token = _request_id.set(identity)
    try:
        yield
    finally:
        _request_id.reset(token)


def route_of(request: Any) -> str:
    """The pattern of the address, such as `/tracks/<slug:slug>/`: addresses themselves contain login links."""
    if (match := request.resolver_match) is not None:
        return f"/{match.route}"
    return "/static/" if request.path_info.startswith("/static/") else "(unknown)"


class RouteFilter(logging.Filter):
    """Replaces the address of a request by its pattern in Django's own messages, such as `Not Found: /login/…/`."""

    def filter(self, record: logging.LogRecord) -> bool:
        request: Any = getattr(record, "request", None)
        args = record.args
        if hasattr(request, "path_info") and isinstance(args, tuple):
            addresses = {request.path, request.path_info}
            # Django escapes them in its messages: an address may end in a quotation mark that was copied with it.
            addresses |= {address.encode("unicode_escape").decode() for address in addresses}
            record.args = tuple(route_of(request) if arg in addresses else arg for arg in args)
        return True


class RedactingFormatter(logging.Formatter):
    """Formats a record, traceback included, and hides whatever looks like an access token."""

    def format(self, record: logging.LogRecord) -> str:
        return TOKEN.sub(HIDDEN, super().format(record))


class JsonFormatter(logging.Formatter):
    """One JSON object for each record. `extra={"fields": {...}}` adds keys of its own."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if identity := request_id():
            line["request_id"] = identity
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return TOKEN.sub(HIDDEN, json.dumps(line, ensure_ascii=False, default=str))
