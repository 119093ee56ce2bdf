"""URLs of runs."""

from django.urls import path

from pooling.runs import views

urlpatterns = [
    path("tracks/<slug:slug>/runs/", views.runs, name="runs"),
    path("tracks/<slug:slug>/runs/submit/", views.submit, name="submit"),
    path("runs/<int:run_id>/", views.run, name="run"),
    path("runs/<int:run_id>/file/", views.run_file, name="run_file"),
    path("runs/<int:run_id>/withdraw/", views.withdraw, name="withdraw"),
]
