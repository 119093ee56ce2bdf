from django.urls import path

from assay_extensions.building.site.builds import views as builds
from assay_extensions.building.site.leaks import views as leaks
from corpus.urls import COLLECTION
from web.slots import fill

app_name = "building"
urlpatterns = [
    path("builds/new/", builds.start_build, name="start_build"),
    path(f"{COLLECTION}/build/", builds.build, name="build"),
    path(f"{COLLECTION}/build/again/", builds.change_build, name="change_build"),
    path(f"{COLLECTION}/build/delete/", builds.delete_build, name="delete_build"),
    path(f"{COLLECTION}/build/<str:name>", builds.build_file, name="build_file"),
    path("tracks/<slug:slug>/leaks/", leaks.leaks, name="leaks"),
    path("tracks/<slug:slug>/leaks/accept/", leaks.accept_leaks, name="accept_leaks"),
    path("tracks/<slug:slug>/leaks/leaks.tsv", leaks.leaks_tsv, name="leaks_tsv"),
]

fill("topics-menu", "building/_leaks_link.html")
fill("collections-actions", "building/_build_link.html")
