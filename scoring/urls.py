"""Addresses of qrels, leaderboards and evaluations."""

from django.urls import include, path
from django.utils.translation import gettext_noop

from scoring.evaluations import views as evaluations
from scoring.later import views as later
from scoring.leaderboards import views as leaderboards
from scoring.models import Leaderboard, Qrels
from scoring.phases import views as phases
from scoring.qrels import views as qrels
from tracks.tabs import Page, Section, register, rows_of_track

app_name = "scoring"

track_urls = [
    path("qrels/", qrels.qrels_list, name="qrels_list"),
    path("qrels/freeze/", qrels.freeze, name="freeze"),
    path("qrels/import/", qrels.import_qrels, name="import_qrels"),
    path("judged-examples/", qrels.judged_examples, name="judged_examples"),
    path("leaderboards/", leaderboards.leaderboards, name="leaderboards"),
    path("phases/<slug:key>/", phases.show_phase, name="phase"),
    path("phases/<slug:key>/score/", phases.score_phase, name="score_phase"),
    path("phases/<slug:key>/board.<board:kind>", phases.phase_file, name="phase_file"),
]
qrels_urls = [
    path("", qrels.qrels, name="qrels"),
    path("supersede/", qrels.supersede, name="supersede"),
    path("qrels.tsv", qrels.qrels_file, name="qrels_file"),
    path("topics.zip", qrels.complete_topics, name="complete_topics"),
    path("export/", qrels.export, name="qrels_export"),
    path("judgments.zip", qrels.judgments, name="qrels_judgments"),
    path("offer/", qrels.offer, name="offer_qrels"),
    path("train/", qrels.train, name="train"),
    path("archive/", qrels.archive, name="archive_qrels"),
    path("score/", leaderboards.score, name="score"),
]
board_urls = [
    path("", leaderboards.leaderboard, name="leaderboard"),
    path("leaderboard.<board:kind>", leaderboards.leaderboard_file, name="leaderboard_file"),
    path("topics.<table:kind>", leaderboards.topics_file, name="topics_file"),
    path("compare/", leaderboards.choose_other, name="choose_leaderboard"),
    path("compare/<int:other_id>/", leaderboards.compare, name="compare_leaderboards"),
    path("groups/", leaderboards.groups, name="groups"),
    path("groups.csv", leaderboards.groups_file, name="groups_file"),
    path("classes/", leaderboards.classes, name="classes"),
    path("classes.csv", leaderboards.classes_file, name="classes_file"),
    path("topics/", leaderboards.topics, name="topics"),
    path("topics/<path:code>/", leaderboards.topic, name="topic"),
    path("release/", leaderboards.release, name="release"),
    path("release/cancel/", leaderboards.cancel_release, name="cancel_release"),
    path("later-runs/", later.later_runs, name="later_runs"),
    path("later-runs.tsv", later.later_runs_file, name="later_runs_file"),
    path("interaction/", leaderboards.interaction, name="interaction"),
    path("interaction.tsv", leaderboards.interaction_tsv, name="interaction_tsv"),
]
evaluation_urls = [
    path("", evaluations.show_evaluation, name="evaluation"),
    path("compare/", evaluations.choose_other, name="choose_run"),
    path("compare/<int:other_id>/", evaluations.compare, name="compare_runs"),
    path("scores.<table:kind>", evaluations.evaluation_file, name="evaluation_file"),
]
urlpatterns = [
    path("tracks/<slug:slug>/", include(track_urls)),
    path("qrels/<int:qrels_id>/", include(qrels_urls)),
    path("leaderboards/<int:board_id>/", include(board_urls)),
    path("evaluations/<int:evaluation_id>/", include(evaluation_urls)),
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
