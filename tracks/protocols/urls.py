"""URLs of protocols."""

from django.urls import path

from tracks.protocols import views

urlpatterns = [path("protocols/<slug:slug>/", views.protocol, name="protocol")]
