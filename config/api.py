"""The addresses of the API. Each noun has its own `api`.

`/api/v1/` contains the endpoints, `/api/schema/` their description in OpenAPI, and `/api/docs/` a page that shows it.
"""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path, re_path
from django.utils import translation
from django.utils.module_loading import import_string
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import condition, require_safe
from drf_spectacular.generators import SchemaGenerator

from home import views
from web.api.conditional import etag_of


@lru_cache(maxsize=1)
def _description() -> tuple[bytes, str]:
    """The description of the API in English, and its ETag. A process makes it once, in about a second."""
    with translation.override("en"):
        schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
        content = json.dumps(schema, default=str, ensure_ascii=False).encode()
    return content, etag_of(content)


def with_examples(result: Any, **_more: object) -> Any:
    """Give the content of each request its example. Those of extensions that are left out are missing."""
    schemas = result["components"]["schemas"]
    for name, example in json.loads(Path(__file__).with_name("api_examples.json").read_bytes()).items():
        if name in schemas:
            schemas[name]["examples"] = [example]
    return result


@require_safe
@gzip_page
@condition(etag_func=lambda _request: _description()[1])
def describe(_request: HttpRequest) -> HttpResponse:
    """The description of the API in OpenAPI 3.1. Everyone."""
    return HttpResponse(_description()[0], content_type="application/json")


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
    "assay_extensions.building.site.leaks",
    "tracks.choosing",
    "tracks.downloads",
    "tracks.assessors",
    "tracks.webhooks",
    "corpus.imports",
    "assay_extensions.building.site.builds",
    "corpus.collections",
    "corpus.threads",
    "corpus.clusterings",
    "participation.announcements",
    "participation.teams",
    "pooling.runs",
    "assay_extensions.baselines.site",
    "assay_extensions.blinding.site",
    "participation.interaction",
    "publishing.published_runs",
    "publishing.documents",
    "pooling.pools",
    "assessment.planning",
    "assessment.rounds",
    "assessment.joining",
    "assessment.judging",
    "assessment.judgments",
    "assessment.imports",
    "assay_extensions.turkle.site",
    "assessment.agreement",
    "assessment.checks",
    "assessment.board",
    "assay_extensions.machines.site",
    "assay_extensions.estimates.site",
    "assessment.nuggets",
    "scoring.qrels",
    "scoring.leaderboards",
    "assay_extensions.analyses.site",
    "assay_extensions.metaevaluation.site",
    "assay_extensions.battles.site",
    "assay_extensions.answers.site",
    "scoring.later",
    "scoring.phases",
    "assay_extensions.papers.site",
    "publishing.archives",
    "jobs",
    "participation.people",
    "participation.requests",
    "participation.invitations",
    "accounts",
]

# without those of extensions that are left out
HERE = [
    noun
    for noun in NOUNS
    if not noun.startswith("assay_extensions.") or noun.split(".")[1] in settings.EXTENSIONS
]

urlpatterns = [
    path("schema/", describe, name="schema"),
    path("docs/", views.api_docs, name="docs"),
    # one list: a resolver for each noun would take longer to leave than its addresses take to try
    path("v1/", include([pattern for noun in HERE for pattern in import_string(f"{noun}.api.urlpatterns")])),
    re_path("", missing, name="missing"),
]
