"""URLs of topics."""

from django.urls import path

from tracks.topics import views

urlpatterns = [
    path("tracks/<slug:slug>/import-topics/", views.import_topics, name="import_topics"),
    path("tracks/<slug:slug>/edit-topic/<path:code>/", views.edit, name="edit_topic"),
    path("tracks/<slug:slug>/topics/", views.topics, name="topics"),
    path("tracks/<slug:slug>/topics/<path:code>/", views.topic, name="topic"),
]
