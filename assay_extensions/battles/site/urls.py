from django.urls import include, path

from assay_extensions.battles.site import views
from web.slots import fill

app_name = "battles"
board_urls = [
    path("battles/", views.board, name="board"),
    path("battles/<slug:name>.<table:kind>", views.board_table, name="board_table"),
    path("battles/as/<slug:form>/", views.battles_file, name="file"),
    path("systems/", views.systems_table, name="systems"),
    path("systems/<slug:name>.<table:kind>", views.systems_file, name="systems_file"),
]
urlpatterns = [
    path("leaderboards/<int:board_id>/", include(board_urls)),
]

fill("leaderboard-top", "battles/_top.html")
fill("leaderboard-links", "battles/_more.html")
fill("import-forms", "battles/_import.html")
