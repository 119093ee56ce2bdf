"""URLs of the audit log."""

from django.urls import path

from tracks.history import views

urlpatterns = [
    path("audit-log/", views.history, name="site_history"),
    path("audit-log/events.csv", views.history_csv, name="site_history_csv"),
    path("tracks/<slug:slug>/audit-log/", views.history, name="history"),
    path("tracks/<slug:slug>/audit-log/events.csv", views.history_csv, name="history_csv"),
]
