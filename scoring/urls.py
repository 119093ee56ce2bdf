"""Addresses of qrels, leaderboards and evaluations."""

from django.urls import path
from django.utils.translation import gettext_noop

from scoring.evaluations import views as evaluations
from scoring.later import views as later
from scoring.leaderboards import views as leaderboards
from scoring.models import Leaderboard, Qrels
from scoring.phases import views as phases
from scoring.qrels import views as qrels
from tracks.tabs import Page, Section, register, rows_of_track

app_name = "scoring"

urlpatterns = [
    path("tracks/<slug:slug>/qrels/", qrels.qrels_list, name="qrels_list"),
    path("tracks/<slug:slug>/qrels/freeze/", qrels.freeze, name="freeze"),
    path("tracks/<slug:slug>/qrels/import/", qrels.import_qrels, name="import_qrels"),
    path("qrels/<int:qrels_id>/", qrels.qrels, name="qrels"),
    path("qrels/<int:qrels_id>/supersede/", qrels.supersede, name="supersede"),
    path("qrels/<int:qrels_id>/qrels.tsv", qrels.qrels_file, name="qrels_file"),
    path("qrels/<int:qrels_id>/topics.zip", qrels.complete_topics, name="complete_topics"),
    path("qrels/<int:qrels_id>/export/", qrels.export, name="qrels_export"),
    path("qrels/<int:qrels_id>/judgments.zip", qrels.judgments, name="qrels_judgments"),
    path("qrels/<int:qrels_id>/offer/", qrels.offer, name="offer_qrels"),
    path("qrels/<int:qrels_id>/train/", qrels.train, name="train"),
    path("tracks/<slug:slug>/judged-examples/", qrels.judged_examples, name="judged_examples"),
    path("qrels/<int:qrels_id>/archive/", qrels.archive, name="archive_qrels"),
    path("qrels/<int:qrels_id>/score/", leaderboards.score, name="score"),
    path("tracks/<slug:slug>/leaderboards/", leaderboards.leaderboards, name="leaderboards"),
    path("leaderboards/<int:board_id>/", leaderboards.leaderboard, name="leaderboard"),
    path(
        "leaderboards/<int:board_id>/leaderboard.<board:kind>",
        leaderboards.leaderboard_file,
        name="leaderboard_file",
    ),
    path("leaderboards/<int:board_id>/topics.<table:kind>", leaderboards.topics_file, name="topics_file"),
    path("leaderboards/<int:board_id>/compare/", leaderboards.choose_other, name="choose_leaderboard"),
    path(
        "leaderboards/<int:board_id>/compare/<int:other_id>/",
        leaderboards.compare,
        name="compare_leaderboards",
    ),
    path("leaderboards/<int:board_id>/groups/", leaderboards.groups, name="groups"),
    path("leaderboards/<int:board_id>/groups.csv", leaderboards.groups_file, name="groups_file"),
    path("leaderboards/<int:board_id>/classes/", leaderboards.classes, name="classes"),
    path("leaderboards/<int:board_id>/classes.csv", leaderboards.classes_file, name="classes_file"),
    path("leaderboards/<int:board_id>/topics/", leaderboards.topics, name="topics"),
    path("leaderboards/<int:board_id>/topics/<path:code>/", leaderboards.topic, name="topic"),
    path("leaderboards/<int:board_id>/release/", leaderboards.release, name="release"),
    path("leaderboards/<int:board_id>/release/cancel/", leaderboards.cancel_release, name="cancel_release"),
    path("evaluations/<int:evaluation_id>/", evaluations.show_evaluation, name="evaluation"),
    path("evaluations/<int:evaluation_id>/compare/", evaluations.choose_other, name="choose_run"),
    path("evaluations/<int:evaluation_id>/compare/<int:other_id>/", evaluations.compare, name="compare_runs"),
    path(
        "evaluations/<int:evaluation_id>/scores.<table:kind>",
        evaluations.evaluation_file,
        name="evaluation_file",
    ),
    path("tracks/<slug:slug>/phases/<slug:key>/", phases.show_phase, name="phase"),
    path("tracks/<slug:slug>/phases/<slug:key>/score/", phases.score_phase, name="score_phase"),
    path("tracks/<slug:slug>/phases/<slug:key>/board.<board:kind>", phases.phase_file, name="phase_file"),
    path("leaderboards/<int:board_id>/later-runs/", later.later_runs, name="later_runs"),
    path("leaderboards/<int:board_id>/later-runs.tsv", later.later_runs_file, name="later_runs_file"),
    path("leaderboards/<int:board_id>/interaction/", leaderboards.interaction, name="interaction"),
    path("leaderboards/<int:board_id>/interaction.tsv", leaderboards.interaction_tsv, name="interaction_tsv"),
]

register(
    Page(
        gettext_noop("Qrels"),
        "scoring:qrels_list",
        Section.RESULTS,
        1,
        "qrels freeze import_qrels qrels_export train archive_qrels score supersede",
        rows_of_track(Qrels.objects.filter(archived_at=None)),
        tab=10,
    ),
    Page(
        gettext_noop("Leaderboard"),
        "scoring:leaderboards",
        Section.RESULTS,
        2,
        "leaderboard choose_leaderboard compare_leaderboards groups classes topics topic release cancel_release "
        "evaluation choose_run compare_runs phase later_runs interaction papers:tables",
        rows_of_track(Leaderboard.objects.all()),
        is_in=lambda track: track.protocol.parsed.takes_runs,
        tab=9,
    ),
)
