"""Addresses of the pooling room."""

from django.urls import path

from pooling import pool_views, views

app_name = "pooling"

urlpatterns = [
    path("tracks/<slug:slug>/runs/", views.runs, name="runs"),
    path("tracks/<slug:slug>/runs/submit/", views.submit, name="submit"),
    path("tracks/<slug:slug>/pools/", pool_views.pools, name="pools"),
    path("tracks/<slug:slug>/pools/new/", pool_views.new_pool, name="new_pool"),
    path("tracks/<slug:slug>/pools/preview/", pool_views.preview, name="preview"),
    path("tracks/<slug:slug>/pools/visual-ids/", pool_views.make_ids, name="make_ids"),
    path("runs/<int:run_id>/", views.run, name="run"),
    path("runs/<int:run_id>/file/", views.run_file, name="run_file"),
    path("runs/<int:run_id>/withdraw/", views.withdraw, name="withdraw"),
    path("pools/<int:pool_id>/", pool_views.pool, name="pool"),
    path("pools/<int:pool_id>/pool.tsv", pool_views.pool_file, name="pool_file"),
    path("pools/<int:pool_id>/contributions.tsv", pool_views.pool_contributions, name="pool_contributions"),
    path("pools/<int:pool_id>/members.tsv", pool_views.pool_members, name="pool_members"),
    path(
        "pools/<int:pool_id>/member-contributions.tsv",
        pool_views.pool_member_contributions,
        name="pool_member_contributions",
    ),
    path("pools/<int:pool_id>/record.json", pool_views.pool_record, name="pool_record"),
    path("pools/<int:pool_id>/depths/", pool_views.pool_depths, name="pool_depths"),
    path("pools/<int:pool_id>/overlap/", pool_views.pool_overlap, name="pool_overlap"),
    path("pools/<int:pool_id>/overlap.tsv", pool_views.pool_overlap_file, name="pool_overlap_file"),
    path("pools/<int:pool_id>/topics/<path:code>/", pool_views.pool_topic, name="pool_topic"),
    path("pools/<int:pool_id>/entries/<int:entry_id>/", pool_views.pool_entry, name="pool_entry"),
]
