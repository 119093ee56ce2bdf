from django.urls import path

from assay_extensions.blinding.site import views
from tracks.tabs import Page, Section, register

app_name = "blinding"
urlpatterns = [
    path("tracks/<slug:slug>/blinding/", views.blinding, name="blinding"),
    path("tracks/<slug:slug>/blinding/package/", views.package, name="package"),
    path("tracks/<slug:slug>/blinding/map/", views.blinding_map, name="map"),
]

register(Page("Runs without names", "blinding:blinding", Section.RUNS, 9))
