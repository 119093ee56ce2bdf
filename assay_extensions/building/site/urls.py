from django.urls import include, path

from assay_extensions.building.site.builds import views as builds
from assay_extensions.building.site.leaks import views as leaks
from web.slots import fill

app_name = "building"
build_urls = [
    path("", builds.build, name="build"),
    path("again/", builds.change_build, name="change_build"),
    path("delete/", builds.delete_build, name="delete_build"),
    path("<str:name>", builds.build_file, name="build_file"),
]
leak_urls = [
    path("", leaks.leaks, name="leaks"),
    path("accept/", leaks.accept_leaks, name="accept_leaks"),
    path("leaks.tsv", leaks.leaks_tsv, name="leaks_tsv"),
]
urlpatterns = [
    path("builds/new/", builds.start_build, name="start_build"),
    path("collections/<slug:slug>/build/", include(build_urls)),
    path("tracks/<slug:slug>/leaks/", include(leak_urls)),
]

fill("topics-menu", "building/_leaks_link.html")
fill("collections-actions", "building/_build_link.html")
