"""URLs of requests to join."""

from django.urls import path

from pooling.requests import views

urlpatterns = [
    path("tracks/<slug:slug>/join/", views.ask, name="ask_to_join"),
    path("requests/<int:request_id>/accept/", views.accept, name="accept_request"),
    path("requests/<int:request_id>/refuse/", views.refuse, name="refuse_request"),
]
