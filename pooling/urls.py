"""Addresses of the pooling room."""

from django.urls import path

from pooling import views

app_name = "pooling"

urlpatterns = [
    path("tracks/<slug:slug>/runs/", views.runs, name="runs"),
    path("tracks/<slug:slug>/runs/submit/", views.submit, name="submit"),
    path("tracks/<slug:slug>/pools/", views.pools, name="pools"),
    path("tracks/<slug:slug>/pools/new/", views.new_pool, name="new_pool"),
    path("runs/<int:run_id>/", views.run, name="run"),
    path("runs/<int:run_id>/file/", views.run_file, name="run_file"),
    path("runs/<int:run_id>/withdraw/", views.withdraw, name="withdraw"),
    path("pools/<int:pool_id>/", views.pool, name="pool"),
    path("pools/<int:pool_id>/pool.tsv", views.pool_file, name="pool_file"),
    path("pools/<int:pool_id>/contributions.tsv", views.pool_contributions, name="pool_contributions"),
    path("pools/<int:pool_id>/record.json", views.pool_record, name="pool_record"),
]
