from django.urls import path

from assay_extensions.machines.site import correction_views, views
from tracks.tabs import Page, Section, register
from web.slots import fill

app_name = "machines"
urlpatterns = [
    path("tracks/<slug:slug>/machines/", views.machines, name="machines"),
    path("tracks/<slug:slug>/machines/new/", views.new, name="new_machine"),
    path("judge/machines/<int:machine_id>/", views.show_machine, name="machine"),
    path("judge/machines/<int:machine_id>/card/", views.card, name="card"),
    path("leaderboards/<int:board_id>/judge/", views.board_card, name="board_card"),
    path("judge/machines/<int:machine_id>/start/", views.start, name="start_machine"),
    path("judge/machines/<int:machine_id>/tokens/", views.create_token, name="machine_token"),
    path("judge/machines/<int:machine_id>/judge/", views.register_judge, name="register_judge"),
    path("judge/machines/<int:machine_id>/run/", views.run, name="run_machine"),
    path("judge/machines/<int:machine_id>/correct/<int:batch_id>/", correction_views.correct, name="correct"),
    path("judge/machines/<int:machine_id>/evidence/", views.evidence, name="evidence"),
    path("judge/machines/<int:machine_id>/evidence/export/", views.export_evidence, name="export_evidence"),
    path("judge/machines/<int:machine_id>/evidence/erase/", views.erase_evidence, name="erase_evidence"),
    path("judge/machines/<int:machine_id>/evidence/<int:evidence_id>/", views.reply, name="reply"),
    path(
        "judge/machines/<int:machine_id>/tokens/<int:token_id>/revoke/",
        views.revoke_token,
        name="revoke_machine_token",
    ),
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
