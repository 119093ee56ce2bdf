"""URLs of a user's keys."""

from django.urls import path

from assessment.keys import views

urlpatterns = [path("account/keys/", views.keys, name="keys")]
