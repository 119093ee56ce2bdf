"""URLs of the assessment app."""

from django.db.models import F, OuterRef
from django.urls import include, path
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
task_urls = [
    path("", judging.judge_task, name="task"),
    path("frame/", judging.task_frame, name="task_frame"),
    path("skip/", judging.skip, name="skip"),
    path("return/", judging.give_back, name="give_back"),
    path("undo/", judging.undo, name="undo"),
    path("extend/", judging.extend, name="extend"),
]
batch_urls = [
    path("next/", judging.next_task, name="next"),
    path("preview/", joining.preview_batch, name="preview"),
    path("preview/frame/", joining.preview_frame, name="preview_frame"),
    path("join/", joining.join, name="join"),
    path("link/", joining.batch_link, name="batch_link"),
    path("link/revoke/", joining.revoke_link, name="revoke_link"),
    path("link/<int:user_id>/exclude/", joining.exclude, name="exclude"),
    path("stored/", desk.stored, name="stored"),
    path("done/", desk.done, name="done"),
    path("guidelines/", desk.guidelines, name="guidelines"),
    path("guidelines/panel/", desk.guidelines, {"template": "_panel"}, name="guidelines_panel"),
    path("judgments/", judgments.own_judgments, name="own_judgments"),
    path("judgments.csv", judgments.judgments_csv, name="judgments_csv"),
    path("", batches.show_batch, name="batch"),
    path("edit/", batches.edit, name="edit_batch"),
    path("open/", batches.open_batch, name="open"),
    path("close/", batches.close_batch, name="close"),
    path("delete/", batches.delete, name="delete_batch"),
    path("discussion/", agreement.discussion, name="discussion"),
    path("discussion.csv", agreement.discussion_file, name="discussion_csv"),
    path("discussion/share/", agreement.share, name="share_discussion"),
    path("discussion/note/", agreement.note, name="note"),
    path("checks/", checks.checks, name="checks"),
    path("plan/", planning.plan, name="plan"),
    path("plan/change/", planning.change, name="change_plan"),
]
track_urls = [
    path("guidelines/examples/", desk.examples, name="examples"),
    path("judging/", desk.judging, name="judging"),
    path("judging/export/", judgments.export, name="export"),
    path("judging/imports/", imports.imports, name="imports"),
    path("judging/new/", planning.new, name="new_batch"),
    path("judging/close/", batches.close_finished, name="close_finished"),
    path("agreement/", agreement.agreement, name="agreement"),
    path("agreement/disagreements/", agreement.disagreements, name="disagreements"),
    path("agreement/disagreements.csv", agreement.disagreements_file, name="disagreements_csv"),
    path("agreement/<slug:name>.tsv", agreement.agreement_file, name="agreement_tsv"),
    path("board/", board.board, name="board"),
    path("board/differences/", board.differences, name="differences"),
    path("board/differences.csv", board.differences_file, name="differences_csv"),
    path("board/<slug:table>.tsv", board.board_file, name="board_tsv"),
    path("adjudication/", rounds.adjudication, name="new_adjudication"),
    path("gold/", checks.gold, name="gold"),
    path("gold/agreed/", checks.add_agreed, name="add_agreed"),
    path("gold/remove/", checks.remove_gold, name="remove_gold"),
    path("agreement/checks/", checks.results, name="check_results"),
    path("agreement/checks/results.tsv", checks.results_file, name="check_results_tsv"),
    path("nuggets/", nuggets.nuggets, name="nuggets"),
    path("nuggets/topics/<path:code>/", nuggets.nugget_list, name="nugget_list"),
    path("nuggets/<slug:form>.jsonl", nuggets.nuggets_file, name="nuggets_file"),
]
urlpatterns = [
    path("judge/", desk.mine, name="mine"),
    path("judge/back/", desk.back, name="back"),
    path("judge/highlighting/", desk.highlighting, name="highlighting"),
    path("protocol/drafts/<int:draft_id>/preview/", joining.preview_draft, name="preview_draft"),
    path("protocol/drafts/<int:draft_id>/preview/frame/", joining.draft_frame, name="draft_frame"),
    path("judge/link/", joining.link_page, name="link"),
    path("judge/link/unit/", joining.link_unit, name="link_unit"),
    path("judge/link/unit/frame/", joining.link_frame, name="link_frame"),
    path("judge/next/", desk.accepting, name="accepting"),
    path("account/keys/", desk.edit_keys, name="keys"),
    path("judge/statistics/", judgments.own_statistics, name="own_statistics"),
    path("judge/imports/<int:import_id>/", imports.import_judgments, name="import"),
    path("judge/imports/<int:import_id>/run/", imports.run_import, name="run_import"),
    path("judge/imports/<int:import_id>/discard/", imports.discard_import, name="discard_import"),
    path("judge/judgments/<int:judgment_id>/return/", board.return_non_answer, name="return_non_answer"),
    path("pools/<int:pool_id>/dual/", rounds.dual, name="new_dual"),
    path("pools/<int:pool_id>/training/", rounds.training, name="new_training"),
    path("judge/tasks/<int:task_id>/", include(task_urls)),
    path("judge/batches/<int:batch_id>/", include(batch_urls)),
    path("tracks/<slug:slug>/", include(track_urls)),
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
