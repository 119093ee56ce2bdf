"""URLs of planned rounds."""

from django.urls import path

from assessment.planning import grid_views, views

urlpatterns = [
    path("judge/batches/<int:batch_id>/plan/", grid_views.plan, name="plan"),
    path("judge/batches/<int:batch_id>/plan/change/", grid_views.change, name="change_plan"),
    path("pools/<int:pool_id>/dual/", views.dual, name="new_dual"),
    path("pools/<int:pool_id>/training/", views.training, name="new_training"),
]
