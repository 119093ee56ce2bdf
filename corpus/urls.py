"""URLs of the corpus app."""

from django.urls import include, path

app_name = "corpus"

urlpatterns = [
    path("", include("corpus.images.urls")),
    path("", include("corpus.imports.urls")),
    path("", include("corpus.clusterings.urls")),
    path("", include("corpus.formulas.urls")),
    path("", include("corpus.threads.urls")),
    path("", include("corpus.collections.urls")),
]
