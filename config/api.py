"""The addresses of the API. Each noun has its own `api`.

`/api/v1/` contains the endpoints, `/api/schema/` their description in OpenAPI, and `/api/docs/` a page that shows it.
"""

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path, re_path
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.views import SpectacularJSONAPIView

from config.pages import views


@csrf_exempt  # so that a POST without it gets the same answer
def missing(request: HttpRequest) -> HttpResponse:
    """Any other address, so that one without its last slash is an error: a redirect would lose what a POST sends."""
    raise Http404


app_name = "api"

# In the order of the page that shows them
NOUNS = [
    "tracks.tracks",
    "tracks.deadlines",
    "tracks.agreements",
    "tracks.guidelines",
    "tracks.protocols",
    "tracks.topics",
    "tracks.candidates",
    "tracks.leaks",
    "tracks.choosing",
    "tracks.downloads",
    "tracks.assessors",
    "tracks.webhooks",
    "corpus.imports",
    "corpus.builds",
    "corpus.collections",
    "corpus.threads",
    "corpus.clusterings",
    "participation.teams",
    "pooling.runs",
    "pooling.baselines",
    "participation.interaction",
    "publishing.published_runs",
    "pooling.pools",
    "assessment.planning",
    "assessment.rounds",
    "assessment.joining",
    "assessment.judging",
    "assessment.judgments",
    "assessment.imports",
    "assessment.projects",
    "assessment.agreement",
    "assessment.checks",
    "assessment.board",
    "assessment.machines",
    "assessment.nuggets",
    "scoring.qrels",
    "scoring.leaderboards",
    "scoring.analyses",
    "scoring.later",
    "scoring.phases",
    "publishing.papers",
    "publishing.archives",
    "jobs",
    "participation.people",
    "participation.requests",
    "participation.invitations",
    "accounts",
]

urlpatterns = [
    path("schema/", SpectacularJSONAPIView.as_view(), name="schema"),
    path("docs/", views.api_docs, name="docs"),
    path("v1/", include([path("", include(f"{noun}.api")) for noun in NOUNS])),
    re_path("", missing, name="missing"),
]
