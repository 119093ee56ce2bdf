from django.urls import path

from assay_extensions.answers.site import views
from web.slots import fill

app_name = "rubrics"
BOARD = "leaderboards/<int:board_id>/rubrics/"
urlpatterns = [
    path("nuggets/<int:nugget_id>/impact/", views.impact, name="impact"),
    path(BOARD, views.criteria, name="criteria"),
    path(f"{BOARD}graded.jsonl", views.graded_file, name="graded"),
    path(f"{BOARD}<slug:name>.<table:kind>", views.criteria_table, name="criteria_table"),
]

fill("import-forms", "rubrics/_import.html")
fill("nugget", "rubrics/_nugget.html")
fill("leaderboard-links", "rubrics/_more.html")
