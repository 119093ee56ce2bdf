from django.urls import include, path

from assay_extensions.machines.site import correction_views, views
from tracks.tabs import Page, Section, register
from web.slots import fill

app_name = "machines"
machine_urls = [
    path("", views.show_machine, name="machine"),
    path("card/", views.card, name="card"),
    path("start/", views.start, name="start_machine"),
    path("tokens/", views.create_token, name="machine_token"),
    path("judge/", views.register_judge, name="register_judge"),
    path("run/", views.run, name="run_machine"),
    path("correct/<int:batch_id>/", correction_views.correct, name="correct"),
    path("evidence/", views.evidence, name="evidence"),
    path("evidence/export/", views.export_evidence, name="export_evidence"),
    path("evidence/erase/", views.erase_evidence, name="erase_evidence"),
    path("evidence/<int:evidence_id>/", views.reply, name="reply"),
    path("tokens/<int:token_id>/revoke/", views.revoke_token, name="revoke_machine_token"),
]
urlpatterns = [
    path("tracks/<slug:slug>/machines/", views.machines, name="machines"),
    path("tracks/<slug:slug>/machines/new/", views.new, name="new_machine"),
    path("leaderboards/<int:board_id>/judge/", views.board_card, name="board_card"),
    path("judge/machines/<int:machine_id>/", include(machine_urls)),
]

register(
    Page(
        "Machines",
        "machines:machines",
        Section.SETTINGS,
        5,
        "new_machine machine start_machine machine_token register_judge correct evidence erase_evidence reply card",
    ),
)

fill("judging-menu", "machines/_link.html")
fill("leaderboard-links", "machines/_card_of_board.html")
