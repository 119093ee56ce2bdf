"""The addresses of the API. Each noun has its own `api`.

`/api/v1/` contains the endpoints, `/api/schema/` their description in OpenAPI, and `/api/docs/` a page that shows it.
"""

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path, re_path
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.views import SpectacularJSONAPIView

import accounts.api
import assessment.agreement.api
import assessment.imports.api
import assessment.judging.api
import assessment.judgments.api
import assessment.machines.api
import assessment.planning.api
import assessment.rounds.api
import corpus.collections.api
import corpus.imports.api
import corpus.threads.api
import jobs.api
import participation.clones.api
import participation.interaction.api
import participation.invitations.api
import participation.people.api
import participation.requests.api
import participation.teams.api
import pooling.pools.api
import pooling.runs.api
import publishing.archives.api
import publishing.papers.api
import publishing.published_runs.api
import scoring.leaderboards.api
import scoring.qrels.api
import tracks.agreements.api
import tracks.assessors.api
import tracks.deadlines.api
import tracks.downloads.api
import tracks.guidelines.api
import tracks.protocols.api
import tracks.topics.api
import tracks.tracks.api
from config.pages import views


@csrf_exempt  # so that a POST without it gets the same answer
def missing(request: HttpRequest) -> HttpResponse:
    """Any other address, so that one without its last slash is an error: a redirect would lose what a POST sends."""
    raise Http404


app_name = "api"

# In the order of the page that shows them
endpoints = [
    *tracks.tracks.api.urlpatterns,
    *participation.clones.api.urlpatterns,
    *tracks.deadlines.api.urlpatterns,
    *tracks.agreements.api.urlpatterns,
    *tracks.guidelines.api.urlpatterns,
    *tracks.protocols.api.urlpatterns,
    *tracks.topics.api.urlpatterns,
    *tracks.downloads.api.urlpatterns,
    *tracks.assessors.api.urlpatterns,
    *corpus.imports.api.urlpatterns,
    *corpus.collections.api.urlpatterns,
    *corpus.threads.api.urlpatterns,
    *participation.teams.api.urlpatterns,
    *pooling.runs.api.urlpatterns,
    *participation.interaction.api.urlpatterns,
    *publishing.published_runs.api.urlpatterns,
    *pooling.pools.api.urlpatterns,
    *assessment.planning.api.urlpatterns,
    *assessment.rounds.api.urlpatterns,
    *assessment.judging.api.urlpatterns,
    *assessment.judgments.api.urlpatterns,
    *assessment.imports.api.urlpatterns,
    *assessment.agreement.api.urlpatterns,
    *assessment.machines.api.urlpatterns,
    *scoring.qrels.api.urlpatterns,
    *scoring.leaderboards.api.urlpatterns,
    *publishing.papers.api.urlpatterns,
    *publishing.archives.api.urlpatterns,
    *jobs.api.urlpatterns,
    *participation.people.api.urlpatterns,
    *participation.requests.api.urlpatterns,
    *participation.invitations.api.urlpatterns,
    *accounts.api.urlpatterns,
]

urlpatterns = [
    path("schema/", SpectacularJSONAPIView.as_view(), name="schema"),
    path("docs/", views.api_docs, name="docs"),
    path("v1/", include(endpoints)),
    re_path("", missing, name="missing"),
]
