"""The addresses of the site. Each app has its own `urls`.

An app includes the pages of a track, of a run and so on as a list, so that one comparison skips all of them. A request
for a page of a track was compared with 250 patterns, which took a tenth of the time of a plain page.
"""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path, register_converter
from django.urls.converters import StringConverter

from home import documentation, errors, views


class TableExtension(StringConverter):
    """The extension of a file with a table: `<table:...>`."""

    regex = "tsv|csv"


class LeaderboardExtension(StringConverter):
    """The extension of a file with a leaderboard: `<board:...>`."""

    regex = "tsv|csv|json|tex"


register_converter(TableExtension, "table")
register_converter(LeaderboardExtension, "board")

urlpatterns = [
    # each takes one comparison where it is not asked for; below the others, hundreds of patterns would come before it
    path("api/", include("config.api")),
    path("admin/", admin.site.urls),
    path("", include("assessment.urls")),  # first, because nothing is asked for as often as the next task
    path("", views.home, name="home"),
    path("tracks/", views.all_tracks, name="all_tracks"),
    path("start/", views.start, name="start"),
    path("extensions/", views.extensions, name="extensions"),
    path("llms.txt", views.programs, name="llms"),
    path("health/", views.health_check, name="health"),
    path("help/", documentation.documentation, name="documentation"),
    path("help/<path:page>", documentation.documentation, name="documentation"),
    path("account/", views.account, name="account"),
    path("", include("accounts.urls")),
    path("", include("jobs.urls")),
    path("", include("corpus.urls")),
    path("", include("tracks.urls")),
    path("", include("pooling.urls")),
    path("", include("participation.urls")),
    path("", include("scoring.urls")),
    path("", include("publishing.urls")),
    *(path("", include(f"assay_extensions.{name}.site.urls")) for name in settings.EXTENSIONS),
]

if settings.SIGN_IN:  # before the others: its login page takes the place of theirs
    urlpatterns.insert(0, path("", include("accounts.signin.urls")))

handler400 = errors.bad_request
handler403 = errors.permission_denied
handler404 = errors.not_found
handler429 = errors.too_many
handler500 = errors.server_error
