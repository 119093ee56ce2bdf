"""URLs of an assessor's own statistics."""

from django.urls import path

from assessment.statistics import views

urlpatterns = [path("judge/statistics/", views.own_statistics, name="own_statistics")]
