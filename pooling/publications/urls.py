"""URLs of published runs."""

from django.urls import path

from pooling.publications import views

urlpatterns = [
    path("tracks/<slug:slug>/runs/published/", views.publication, name="publication"),
    path("tracks/<slug:slug>/runs/published/archive/", views.archive_file, name="published_runs"),
    path("tracks/<slug:slug>/runs/published/publish/", views.publish, name="publish_runs"),
    path("tracks/<slug:slug>/runs/published/withdraw/", views.withdraw, name="withdraw_publication"),
    path("tracks/<slug:slug>/teams/<int:team_id>/consent/", views.consent, name="consent"),
]
