"""URLs of images."""

from django.urls import path

from corpus.images import views

urlpatterns = [path("collections/<slug:slug>/images/<slug:sha256>/", views.image, name="image")]
