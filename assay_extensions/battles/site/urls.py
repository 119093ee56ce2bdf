from django.urls import path

from assay_extensions.battles.site import views
from web.slots import fill

app_name = "battles"
urlpatterns = [
    path("leaderboards/<int:board_id>/battles/", views.board, name="board"),
    path(
        "leaderboards/<int:board_id>/battles/<slug:name>.<table:kind>", views.board_table, name="board_table"
    ),
    path("leaderboards/<int:board_id>/battles/as/<slug:form>/", views.battles_file, name="file"),
    path("leaderboards/<int:board_id>/systems/", views.systems_table, name="systems"),
    path(
        "leaderboards/<int:board_id>/systems/<slug:name>.<table:kind>",
        views.systems_file,
        name="systems_file",
    ),
]

fill("leaderboard-top", "battles/_top.html")
fill("leaderboard-links", "battles/_more.html")
fill("import-forms", "battles/_import.html")
