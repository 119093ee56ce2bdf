"""URLs of threads."""

from django.urls import path

from corpus.threads import views

urlpatterns = [path("collections/<slug:slug>/threads/<path:docno>/", views.thread, name="thread")]
