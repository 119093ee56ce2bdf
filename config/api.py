"""The addresses of the API. Each noun has its own `api`.

`/api/v1/` contains the endpoints, and `/api/schema/` their description in OpenAPI.
"""

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularJSONAPIView

import accounts.api
import assessment.agreement.api
import assessment.batches.api
import assessment.judgments.api
import assessment.machines.api
import assessment.tasks.api
import corpus.collections.api
import corpus.threads.api
import jobs.api
import pooling.pools.api
import pooling.runs.api
import pooling.teams.api
import scoring.leaderboards.api
import scoring.qrels.api
import tracks.topics.api
import tracks.tracks.api


def missing(request: HttpRequest) -> HttpResponse:
    """Any other address, so that one without its last slash is an error: a redirect would lose what a POST sends."""
    raise Http404


app_name = "api"

endpoints = [
    *accounts.api.urlpatterns,
    *jobs.api.urlpatterns,
    *assessment.batches.api.urlpatterns,
    *assessment.tasks.api.urlpatterns,
    *assessment.judgments.api.urlpatterns,
    *assessment.agreement.api.urlpatterns,
    *assessment.machines.api.urlpatterns,
    *scoring.qrels.api.urlpatterns,
    *scoring.leaderboards.api.urlpatterns,
    *corpus.collections.api.urlpatterns,
    *corpus.threads.api.urlpatterns,
    *tracks.tracks.api.urlpatterns,
    *tracks.topics.api.urlpatterns,
    *pooling.teams.api.urlpatterns,
    *pooling.runs.api.urlpatterns,
    *pooling.pools.api.urlpatterns,
]

urlpatterns = [
    path("schema/", SpectacularJSONAPIView.as_view(), name="schema"),
    path("v1/", include(endpoints)),
    re_path("", missing),
]
