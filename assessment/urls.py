"""URLs of the assessment app."""

from django.db.models import F, OuterRef
from django.urls import path
from django.utils.translation import gettext_noop

from assessment.agreement import views as agreement
from assessment.batches import views as batches
from assessment.board import views as board
from assessment.checks import views as checks
from assessment.imports import views as imports
from assessment.joining import views as joining
from assessment.judging import desk_views as desk
from assessment.judging import views as judging
from assessment.judgments import views as judgments
from assessment.models import Batch
from assessment.nuggets import views as nuggets
from assessment.nuggets.selectors import has_nuggets
from assessment.nuggets.words import page_words
from assessment.planning import views as planning
from assessment.rounds import views as rounds
from tracks.tabs import Page, Section, register

app_name = "assessment"
urlpatterns = [
    path("judge/tasks/<int:task_id>/", judging.judge_task, name="task"),
    path("judge/tasks/<int:task_id>/frame/", judging.task_frame, name="task_frame"),
    path("judge/tasks/<int:task_id>/skip/", judging.skip, name="skip"),
    path("judge/tasks/<int:task_id>/return/", judging.give_back, name="give_back"),
    path("judge/tasks/<int:task_id>/undo/", judging.undo, name="undo"),
    path("judge/tasks/<int:task_id>/extend/", judging.extend, name="extend"),
    path("judge/", desk.mine, name="mine"),
    path("judge/back/", desk.back, name="back"),
    path("judge/highlighting/", desk.highlighting, name="highlighting"),
    path("judge/batches/<int:batch_id>/next/", judging.next_task, name="next"),
    path("protocol/drafts/<int:draft_id>/preview/", joining.preview_draft, name="preview_draft"),
    path("protocol/drafts/<int:draft_id>/preview/frame/", joining.draft_frame, name="draft_frame"),
    path("judge/batches/<int:batch_id>/preview/", joining.preview_batch, name="preview"),
    path("judge/batches/<int:batch_id>/preview/frame/", joining.preview_frame, name="preview_frame"),
    path("judge/batches/<int:batch_id>/join/", joining.join, name="join"),
    path("judge/batches/<int:batch_id>/link/", joining.batch_link, name="batch_link"),
    path("judge/batches/<int:batch_id>/link/revoke/", joining.revoke_link, name="revoke_link"),
    path("judge/batches/<int:batch_id>/link/<int:user_id>/exclude/", joining.exclude, name="exclude"),
    path("judge/link/", joining.link_page, name="link"),
    path("judge/link/unit/", joining.link_unit, name="link_unit"),
    path("judge/link/unit/frame/", joining.link_frame, name="link_frame"),
    path("judge/next/", desk.accepting, name="accepting"),
    path("judge/batches/<int:batch_id>/stored/", desk.stored, name="stored"),
    path("judge/batches/<int:batch_id>/done/", desk.done, name="done"),
    path("judge/batches/<int:batch_id>/guidelines/", desk.guidelines, name="guidelines"),
    path(
        "judge/batches/<int:batch_id>/guidelines/panel/",
        desk.guidelines,
        {"template": "_panel"},
        name="guidelines_panel",
    ),
    path("tracks/<slug:slug>/guidelines/examples/", desk.examples, name="examples"),
    path("account/keys/", desk.edit_keys, name="keys"),
    path("tracks/<slug:slug>/judging/", desk.judging, name="judging"),
    path("judge/statistics/", judgments.own_statistics, name="own_statistics"),
    path("tracks/<slug:slug>/judging/export/", judgments.export, name="export"),
    path("judge/batches/<int:batch_id>/judgments/", judgments.own_judgments, name="own_judgments"),
    path("judge/batches/<int:batch_id>/judgments.csv", judgments.judgments_csv, name="judgments_csv"),
    path("tracks/<slug:slug>/judging/imports/", imports.imports, name="imports"),
    path("judge/imports/<int:import_id>/", imports.import_judgments, name="import"),
    path("judge/imports/<int:import_id>/run/", imports.run_import, name="run_import"),
    path("judge/imports/<int:import_id>/discard/", imports.discard_import, name="discard_import"),
    path("tracks/<slug:slug>/judging/new/", planning.new, name="new_batch"),
    path("judge/batches/<int:batch_id>/", batches.show_batch, name="batch"),
    path("judge/batches/<int:batch_id>/edit/", batches.edit, name="edit_batch"),
    path("judge/batches/<int:batch_id>/open/", batches.open_batch, name="open"),
    path("judge/batches/<int:batch_id>/close/", batches.close_batch, name="close"),
    path("tracks/<slug:slug>/judging/close/", batches.close_finished, name="close_finished"),
    path("judge/batches/<int:batch_id>/delete/", batches.delete, name="delete_batch"),
    path("tracks/<slug:slug>/agreement/", agreement.agreement, name="agreement"),
    path("tracks/<slug:slug>/agreement/disagreements/", agreement.disagreements, name="disagreements"),
    path(
        "tracks/<slug:slug>/agreement/disagreements.csv",
        agreement.disagreements_file,
        name="disagreements_csv",
    ),
    path("tracks/<slug:slug>/agreement/<slug:name>.tsv", agreement.agreement_file, name="agreement_tsv"),
    path("judge/batches/<int:batch_id>/discussion/", agreement.discussion, name="discussion"),
    path("judge/batches/<int:batch_id>/discussion.csv", agreement.discussion_file, name="discussion_csv"),
    path("judge/batches/<int:batch_id>/discussion/share/", agreement.share, name="share_discussion"),
    path("judge/batches/<int:batch_id>/discussion/note/", agreement.note, name="note"),
    path("tracks/<slug:slug>/board/", board.board, name="board"),
    path("judge/judgments/<int:judgment_id>/return/", board.return_non_answer, name="return_non_answer"),
    path("tracks/<slug:slug>/board/differences/", board.differences, name="differences"),
    path("tracks/<slug:slug>/board/differences.csv", board.differences_file, name="differences_csv"),
    path("tracks/<slug:slug>/board/<slug:table>.tsv", board.board_file, name="board_tsv"),
    path("tracks/<slug:slug>/adjudication/", rounds.adjudication, name="new_adjudication"),
    path("pools/<int:pool_id>/dual/", rounds.dual, name="new_dual"),
    path("pools/<int:pool_id>/training/", rounds.training, name="new_training"),
    path("judge/batches/<int:batch_id>/checks/", checks.checks, name="checks"),
    path("tracks/<slug:slug>/gold/", checks.gold, name="gold"),
    path("tracks/<slug:slug>/gold/agreed/", checks.add_agreed, name="add_agreed"),
    path("tracks/<slug:slug>/gold/remove/", checks.remove_gold, name="remove_gold"),
    path("tracks/<slug:slug>/agreement/checks/", checks.results, name="check_results"),
    path("tracks/<slug:slug>/agreement/checks/results.tsv", checks.results_file, name="check_results_tsv"),
    path("tracks/<slug:slug>/nuggets/", nuggets.nuggets, name="nuggets"),
    path("tracks/<slug:slug>/nuggets/topics/<path:code>/", nuggets.nugget_list, name="nugget_list"),
    path("tracks/<slug:slug>/nuggets/<slug:form>.jsonl", nuggets.nuggets_file, name="nuggets_file"),
    path("judge/batches/<int:batch_id>/plan/", planning.plan, name="plan"),
    path("judge/batches/<int:batch_id>/plan/change/", planning.change, name="change_plan"),
]

register(
    Page(
        "Batches",
        "assessment:judging",
        Section.JUDGING,
        1,
        "batch close delete_batch new_batch edit_batch plan change_plan batch_link revoke_link new_training new_dual "
        "checks gold export imports import",
        Batch.objects.filter(pool__track=OuterRef("pk")).annotate(track=F("pool__track")),
        tab=6,
        tab_label=gettext_noop("Judge"),
        is_for=lambda visitor: visitor.judges,
    ),
    Page(
        gettext_noop("Nuggets"),
        "assessment:nuggets",
        Section.JUDGING,
        2,
        "nugget_list",
        is_in=has_nuggets,
        tab=6,
        is_for=lambda visitor: visitor.judges,
        label_in=lambda track: page_words(track).title,
    ),
    Page("Live board", "assessment:board", Section.JUDGING, 3, "return_non_answer differences"),
    Page(
        "Agreement",
        "assessment:agreement",
        Section.JUDGING,
        4,
        "disagreements discussion new_adjudication check_results analyses:effect",
    ),
)
