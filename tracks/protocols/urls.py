"""URLs of protocols."""

from django.urls import path

from tracks.protocols import views

urlpatterns = [
    path("protocols/", views.protocols, name="protocols"),
    path("protocol/new/", views.new_protocol, name="new_protocol"),
    path("protocols/<slug:slug>/", views.protocol, name="protocol"),
]
