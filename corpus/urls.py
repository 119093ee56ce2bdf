"""Addresses of the corpus room."""

from django.urls import path

from corpus import clustering_views, formula_views, import_urls, track_views, views

app_name = "corpus"

urlpatterns = [
    *import_urls.urlpatterns,
    path("collections/", track_views.collections, name="collections"),
    path("collections/<slug:slug>/", views.collection, name="collection"),
    path("collections/<slug:slug>/find/", views.find, name="find"),
    path("collections/<slug:slug>/threads/<path:docno>/", views.thread, name="thread"),
    path("collections/<slug:slug>/formulae/", clustering_views.formulae, name="formulae"),
    path("collections/<slug:slug>/formulae/<path:code>/", formula_views.formula, name="formula"),
    path("collections/<slug:slug>/find-formula/", formula_views.find_formula, name="find_formula"),
    path("collections/<slug:slug>/clustering/", clustering_views.start_clustering, name="start_clustering"),
    path(
        "collections/<slug:slug>/clustering/disagreements.csv",
        clustering_views.disagreements_file,
        name="disagreements",
    ),
    path("tracks/<slug:slug>/", track_views.track, name="track"),
    path("tracks/<slug:slug>/open/", track_views.open_track, name="open_track"),
    path("tracks/<slug:slug>/close/", track_views.close_track, name="close_track"),
    path("tracks/<slug:slug>/topics/", track_views.topics, name="topics"),
    path("tracks/<slug:slug>/topics/<path:code>/", track_views.topic, name="topic"),
    path("protocols/<slug:slug>/", track_views.protocol, name="protocol"),
    path("jobs/", track_views.jobs, name="jobs"),
    path("jobs/<int:job_id>/", track_views.job, name="job"),
    path("jobs/<int:job_id>/retry/", track_views.retry, name="retry"),
]
