"""URLs of planned rounds."""

from django.urls import path

from assessment.planning import views

urlpatterns = [
    path("pools/<int:pool_id>/dual/", views.dual, name="new_dual"),
    path("pools/<int:pool_id>/training/", views.training, name="new_training"),
]
