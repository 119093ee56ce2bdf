"""Reports of errors to Sentry, off without SENTRY_DSN.

Every unexpected error is logged with its traceback, so the log is what is reported: of pages by Django, of jobs by
`jobs.services`. The package would add addresses, headers and values of variables, and those of login links are secrets.
So an event is reduced to what is listed here; the message of an error, which may quote a row, stays in the log.
"""

import logging
from typing import Any

import sentry_sdk
from sentry_sdk.integrations.atexit import AtexitIntegration
from sentry_sdk.integrations.logging import LoggingIntegration

from assay.version import VERSION
from web import logs

KEPT = {"event_id", "timestamp", "platform", "level", "logger", "release", "server_name"}
KEPT_OF_ERRORS = {"type", "module", "mechanism", "stacktrace"}


def start(*, dsn: str, machine: str) -> None:
    """Report from now on."""
    sentry_sdk.init(
        dsn=dsn,
        release=f"assay@{VERSION}",
        server_name=machine,
        default_integrations=False,
        integrations=[
            LoggingIntegration(level=None, event_level=logging.ERROR),
            # a process that ends sends its last errors
            AtexitIntegration(callback=lambda pending, timeout: None),
        ],
        shutdown_timeout=10,
        send_default_pii=False,
        include_local_variables=False,
        max_breadcrumbs=0,
        before_send=reduced,
    )


def reduced(event: Any, hint: dict[str, Any]) -> Any:
    """The event without anything about a person: type and place of the error, route and id of the request."""
    kept = {key: value for key, value in event.items() if key in KEPT}
    errors = event.get("exception", {}).get("values", [])
    kept["exception"] = {
        "values": [{key: error[key] for key in KEPT_OF_ERRORS & error.keys()} for error in errors]
    }
    record: Any = hint.get("log_record")
    request = getattr(record, "request", None)
    if hasattr(request, "path_info"):
        kept["transaction"] = logs.route_of(request)
    if not errors and record is not None:
        kept["logentry"] = {"message": str(record.msg)}  # without its values
    if identity := logs.request_id():
        kept["tags"] = {"request_id": identity}
    return kept
