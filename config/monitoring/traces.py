"""Traces by OpenTelemetry, off without OTEL_EXPORTER_OTLP_ENDPOINT: a span for each request and each task of a worker.

The spans are made here, not by the instrumentations of OpenTelemetry: those record addresses, and those of login links
are secrets. The package reads its own variables, such as OTEL_EXPORTER_OTLP_HEADERS and OTEL_TRACES_SAMPLER.
"""

from functools import lru_cache
from typing import Any

from celery.signals import task_postrun, task_prerun
from django.http import HttpRequest, HttpResponse
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from assay.version import VERSION
from config.middleware import Middleware
from config.monitoring.requests import method_of
from web import logs

FAILED = Status(StatusCode.ERROR)
_tasks: dict[str, Span] = {}


@lru_cache(maxsize=1)
def provider() -> TracerProvider:
    """The provider of this process, which sends spans in the background."""
    made = TracerProvider(resource=Resource.create({SERVICE_NAME: "assay", SERVICE_VERSION: VERSION}))
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return made


class TraceMiddleware(Middleware):
    """Makes a span for each request, with its method, route, status and id."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with provider().get_tracer("assay").start_as_current_span("request", kind=SpanKind.SERVER) as span:
            response = self.get_response(request)
            method, route = method_of(request), logs.route_of(request)
            span.update_name(f"{method} {route}")
            span.set_attributes(
                {
                    "http.request.method": method,
                    "http.route": route,
                    "http.response.status_code": response.status_code,
                    "assay.request_id": logs.request_id(),
                }
            )
            if response.status_code >= 500:
                span.set_status(FAILED)
        return response


@task_prerun.connect
def begin(task_id: str, task: Any, **_: object) -> None:
    """Begin the span of a task, with the name of the task and the number of its job."""
    span = provider().get_tracer("assay").start_span(task.name, kind=SpanKind.CONSUMER)
    if task.name == "jobs.tasks.run_job" and task.request.args:
        span.set_attribute("assay.job", task.request.args[0])
    _tasks[task_id] = span


@task_postrun.connect
def end(task_id: str, state: str, **_: object) -> None:
    span = _tasks.pop(task_id, None)
    if span is not None:
        if state == "FAILURE":
            span.set_status(FAILED)
        span.end()
