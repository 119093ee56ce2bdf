from django.urls import path

from assay_extensions.papers.site import views
from web.slots import fill

app_name = "papers"
urlpatterns = [
    path("tracks/<slug:slug>/tables/", views.tables, name="tables"),
    path("tracks/<slug:slug>/tables/<slug:name>.<board:kind>", views.table_file, name="table_file"),
    path("comparison/", views.comparison, name="comparison"),
    path("comparison/<slug:name>.<board:kind>", views.comparison_file, name="comparison_file"),
]

fill("leaderboards-actions", "papers/_action.html")
fill("downloads-menu", "papers/_link.html")
fill("leaderboard-more", "papers/_more.html")
