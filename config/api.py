"""The addresses of the API. Each noun has its own `api`.

`/api/v1/` contains the endpoints, and `/api/schema/` their description in OpenAPI.
"""

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularJSONAPIView

import jobs.api


def missing(request: HttpRequest) -> HttpResponse:
    """Any other address, so that one without its last slash is an error: a redirect would lose what a POST sends."""
    raise Http404


app_name = "api"

endpoints = [
    *jobs.api.urlpatterns,
]

urlpatterns = [
    path("schema/", SpectacularJSONAPIView.as_view(), name="schema"),
    path("v1/", include(endpoints)),
    re_path("", missing),
]
