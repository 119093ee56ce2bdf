from django.urls import path

from assay_extensions.metaevaluation.site import views
from tracks.tabs import Page, Section, register
from web.slots import fill

app_name = "metaevaluation"
JUDGES = "tracks/<slug:slug>/judges"
JUDGE, BOARD = f"{JUDGES}/<int:judge_run_id>", f"{JUDGES}/boards/<int:judge_board_id>"
urlpatterns = [
    path(f"{JUDGES}/", views.judges, name="judges"),
    path(f"{JUDGES}/accept/", views.accept, name="accept"),
    path(f"{JUDGES}/submit/", views.submit, name="submit"),
    path(f"{JUDGES}/compare/", views.compare, name="compare"),
    path(f"{JUDGE}/", views.judge, name="judge"),
    path(f"{JUDGE}/file/", views.judge_file, name="judge_file"),
    path(f"{JUDGE}/withdraw/", views.withdraw, name="withdraw"),
    path(f"{BOARD}/", views.board, name="board"),
    path(f"{BOARD}/board.<table:kind>", views.board_table, name="board_table"),
    path(f"{BOARD}/release/", views.release, name="release"),
    path(f"{BOARD}/judges/<int:result_id>/", views.result, name="result"),
]

register(
    Page(
        "Judges",
        "metaevaluation:judges",
        Section.RESULTS,
        3,
        "accept submit compare judge withdraw board release result",
        is_in=lambda track: track.protocol.parsed.takes_runs,
    ),
)

fill("team-runs-menu", "metaevaluation/_link.html")
fill("leaderboards-foot", "metaevaluation/_foot.html")
fill("track-results", "metaevaluation/_of_track.html")
