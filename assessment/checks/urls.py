"""URLs of hidden checks."""

from django.urls import path

from assessment.checks import views

urlpatterns = [
    path("judge/batches/<int:batch_id>/checks/", views.checks, name="checks"),
    path("tracks/<slug:slug>/gold/", views.gold, name="gold"),
    path("tracks/<slug:slug>/gold/agreed/", views.add_agreed, name="add_agreed"),
    path("tracks/<slug:slug>/gold/remove/", views.remove_gold, name="remove_gold"),
    path("tracks/<slug:slug>/agreement/checks/", views.results, name="check_results"),
    path("tracks/<slug:slug>/agreement/checks/results.tsv", views.results_file, name="check_results_tsv"),
]
