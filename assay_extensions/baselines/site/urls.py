from django.urls import path

from assay_extensions.baselines.site import views
from tracks.tabs import Page, Section, register
from web.slots import fill

app_name = "baselines"
urlpatterns = [
    path("tracks/<slug:slug>/baselines/", views.baselines, name="baselines"),
    path("runs/<int:run_id>/offer/", views.offer, name="offer_baseline"),
]

register(
    Page(
        "Baselines",
        "baselines:baselines",
        Section.RUNS,
        2,
        is_in=lambda track: track.protocol.parsed.takes_runs,
    ),
)

fill("pool-notes", "baselines/_note.html")
