"""URLs of adjudication."""

from django.urls import path

from assessment.adjudication import views

urlpatterns = [path("tracks/<slug:slug>/adjudication/", views.new, name="new_adjudication")]
