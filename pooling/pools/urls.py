"""URLs of pools."""

from django.urls import path

from pooling.pools import views

urlpatterns = [
    path("tracks/<slug:slug>/pools/", views.pools, name="pools"),
    path("tracks/<slug:slug>/pools/new/", views.new_pool, name="new_pool"),
    path("tracks/<slug:slug>/pools/preview/", views.preview, name="preview"),
    path("tracks/<slug:slug>/pools/preview/compute/", views.compute_preview, name="compute_preview"),
    path("tracks/<slug:slug>/pools/visual-ids/", views.make_ids, name="make_ids"),
    path("pools/<int:pool_id>/", views.pool, name="pool"),
    path("pools/<int:pool_id>/pool.tsv", views.pool_file, name="pool_file"),
    path("pools/<int:pool_id>/contributions.tsv", views.pool_contributions, name="pool_contributions"),
    path("pools/<int:pool_id>/members.tsv", views.pool_members, name="pool_members"),
    path(
        "pools/<int:pool_id>/member-contributions.tsv",
        views.pool_member_contributions,
        name="pool_member_contributions",
    ),
    path("pools/<int:pool_id>/record.json", views.pool_record, name="pool_record"),
    path("pools/<int:pool_id>/depths/", views.pool_depths, name="pool_depths"),
    path("pools/<int:pool_id>/overlap/", views.pool_overlap, name="pool_overlap"),
    path("pools/<int:pool_id>/overlap.tsv", views.pool_overlap_file, name="pool_overlap_file"),
    path("pools/<int:pool_id>/topics/<path:code>/", views.pool_topic, name="pool_topic"),
    path("pools/<int:pool_id>/entries/<int:entry_id>/", views.pool_entry, name="pool_entry"),
]
