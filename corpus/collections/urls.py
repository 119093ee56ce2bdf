"""URLs of collections."""

from django.urls import path

from corpus.collections import views

urlpatterns = [
    path("collections/", views.collections, name="collections"),
    path("collections/<slug:slug>/", views.collection, name="collection"),
    path("collections/<slug:slug>/find/", views.find, name="find"),
]
