"""The context of the frame of every page, with the page of the documentation that its link *Help* opens."""

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from jobs.selectors import n_running
from tracks.assessors.selectors import judges_anywhere
from web.links import address_of

START = "index.html"

# Path in the built documentation, with an anchor where a section helps -> the views that it explains. Downloads and
# buttons have none.
EXPLAINED = {
    START: "home all_tracks login password_change sessions request_link login_link tracks:site_page",
    "roles/assessor.html#the-judging-page": "account assessment:guidelines assessment:task",
    "reference/api.html#tokens": "tokens",
    "extending.html#on-a-site": "extensions",
    "explanation/jobs.html": "jobs:jobs jobs:job",
    "howto/archive-a-track.html": "publishing:archives",
    "howto/archive-a-track.html#load-an-archive": (
        "publishing:load_archive publishing:fetch_collection publishing:loaded_archive"
    ),
    "howto/move-from-turkle.html#import-it": "turkle:projects turkle:project_import",
    "howto/import-a-collection.html": (
        "corpus:collections corpus:collection corpus:imports corpus:start_import"
    ),
    "howto/import-a-collection.html#what-happens": "corpus:import corpus:collection_imports",
    "glossary.html#glossary-collection": "corpus:thread tracks:topic",
    "explanation/visual-ids.html#for-a-whole-collection": "corpus:formulas",
    "explanation/visual-ids.html": "corpus:formula",
    "howto/run-a-campaign.html": "tracks:track",
    "howto/run-a-campaign.html#open-the-track": "tracks:open_track tracks:back_to_draft",
    "howto/undo.html": "tracks:correct_topic",
    "howto/undo.html#correct-qrels": "scoring:supersede",
    "howto/undo.html#delete": (
        "tracks:delete_track tracks:delete_topic tracks:delete_protocol assessment:delete_batch pooling:delete_pool "
        "participation:delete_team corpus:delete_collection building:delete_build publishing:delete_archive "
        "tracks:remove_download"
    ),
    "howto/run-a-campaign.html#set-the-deadlines": "tracks:deadlines",
    "howto/run-a-campaign.html#announce-something": (
        "participation:announcements participation:new_announcement participation:edit_announcement "
        "participation:announcement_mails participation:withdraw_announcement"
    ),
    "howto/run-a-campaign.html#collect-documents-of-teams": (
        "publishing:documents publishing:documents_zip publishing:document_file"
    ),
    "howto/run-a-campaign.html#hold-the-interaction": "participation:interaction scoring:interaction",
    "roles/assessor.html#sessions-with-systems": "participation:session",
    "howto/run-a-campaign.html#who-did-what": "tracks:history tracks:site_history",
    "roles/participant.html#download-the-data": "tracks:downloads",
    "howto/run-a-campaign.html#offer-downloads": "tracks:attach tracks:edit_download tracks:fetches",
    "howto/run-a-campaign.html#import-the-topics": "tracks:topics",
    "howto/judge-rows.html#import-the-rows": "tracks:rows",
    "howto/judge-rows.html#work-by-a-link-without-an-account": "assessment:batch_link assessment:revoke_link",
    "reference/formats.html#topics": "tracks:import_topics",
    "howto/build-a-collection.html#on-the-site": (
        "building:start_build building:build building:change_build building:leaks"
    ),
    "howto/baselines.html#on-the-site": "baselines:baselines",
    "howto/choose-topics.html": "tracks:candidates tracks:candidate",
    "howto/choose-topics.html#write-topics": "tracks:new_topic",
    "howto/choose-topics.html#derive-the-topics-of-a-formula-task": "tracks:derive_topics",
    "reference/formats.html#candidates": "tracks:import_candidates",
    "howto/choose-topics.html#draw-a-sample": "tracks:new_sample",
    "howto/choose-topics.html#decide-with-two-people": "tracks:candidate_sample tracks:decide tracks:settle",
    "howto/run-an-ntcir-campaign.html#write-scenario-and-criteria": "tracks:edit_topic",
    "howto/run-a-campaign.html#create-the-track": (
        "tracks:new_track tracks:edit_track participation:clone_track"
    ),
    "reference/protocols.html": "tracks:protocols tracks:protocol",
    "howto/own-protocol.html": "tracks:new_protocol",
    "howto/own-protocol.html#in-the-browser": "tracks:draft tracks:discard_draft assessment:preview_draft",
    "howto/run-a-campaign.html#write-the-guidelines": (
        "tracks:guidelines tracks:guidelines_version tracks:guidelines_versions tracks:guidelines_changes "
        "tracks:edit_guidelines assessment:examples"
    ),
    "reference/api.html#webhooks": "tracks:webhooks tracks:webhook tracks:renew_secret tracks:remove_webhook",
    "roles/organizer.html#pages-about-the-site": "tracks:edit_site_page",
    "roles/participant.html#join-a-track": (
        "tracks:agreement tracks:agreement_version participation:join participation:ask_to_join"
    ),
    "howto/run-a-campaign.html#invite-assessors-and-teams": (
        "tracks:edit_agreement participation:people participation:add_people participation:invite_person "
        "participation:make_login_link participation:remove_assessor participation:leave_organizers"
    ),
    "roles/participant.html#submit-a-run": "pooling:runs pooling:withdraw",
    "roles/participant.html#write-a-run": "pooling:submit pooling:programs",
    "roles/participant.html#check-a-run": "pooling:run",
    "howto/run-a-campaign.html#publish-the-runs": "publishing:publication",
    "roles/participant.html#your-runs": (
        "pooling:team_runs pooling:describe pooling:choose_run pooling:compare_runs"
    ),
    "howto/run-a-campaign.html#disqualify-a-run": "pooling:disqualify pooling:reinstate",
    "roles/participant.html#your-team": (
        "participation:team participation:edit_team participation:invite_member publishing:upload_document "
        "publishing:change_document publishing:remove_document participation:leave_team participation:remove_member"
    ),
    "howto/run-a-campaign.html#build-the-pool": "pooling:pools pooling:new_pool",
    "explanation/pools.html#what-it-will-cost": "pooling:preview",
    "explanation/pools.html": "pooling:pool",
    "explanation/pools.html#which-units-are-pooled": "pooling:pool_depths pooling:pool_topic",
    "explanation/pools.html#what-each-team-alone-contributed": "pooling:pool_overlap",
    "explanation/pools.html#which-instances-of-a-formula-are-shown": "pooling:pool_entry",
    "roles/assessor.html#start-judging": "assessment:mine",
    "roles/assessor.html#join-a-batch": "assessment:preview assessment:link assessment:link_unit",
    "roles/assessor.html#judge-with-the-keyboard": "assessment:keys",
    "roles/assessor.html#one-task-at-a-time": "assessment:stored",
    "roles/assessor.html#undo-or-change-a-judgment": "assessment:done assessment:own_judgments",
    "roles/assessor.html#your-work-is-safe": "assessment:back",
    "roles/assessor.html#your-statistics": "assessment:own_statistics",
    "howto/run-a-campaign.html#create-batches-and-judge": (
        "assessment:judging assessment:batch assessment:edit_batch assessment:new_batch"
    ),
    "howto/run-a-campaign.html#take-judgments-out-and-in": (
        "assessment:export assessment:imports assessment:import"
    ),
    "howto/run-a-campaign.html#plan-who-judges-what": "assessment:plan",
    "howto/run-a-campaign.html#train-and-judge-some-topics-twice": (
        "assessment:new_training assessment:discussion assessment:new_dual"
    ),
    "howto/run-a-campaign.html#hidden-checks": "assessment:checks assessment:gold assessment:check_results",
    "howto/run-a-campaign.html#watch-agreement-and-adjudicate": (
        "assessment:agreement assessment:disagreements assessment:new_adjudication"
    ),
    "howto/judge-with-a-program.html": "machines:machines machines:machine machines:new_machine "
    "machines:register_judge machines:evidence machines:reply machines:erase_evidence",
    "howto/blind-runs.html": "blinding:blinding",
    "howto/compare-judges.html": "metaevaluation:judges metaevaluation:judge metaevaluation:withdraw",
    "howto/compare-judges.html#accept-judges": "metaevaluation:accept",
    "howto/compare-judges.html#submit-judgments": "metaevaluation:submit",
    "howto/compare-judges.html#compare": "metaevaluation:compare metaevaluation:board metaevaluation:result",
    "howto/compare-judges.html#release": "metaevaluation:release",
    "howto/estimate-with-a-machine.html#on-a-site": "estimates:estimates estimates:new_sample estimates:next_sample "
    "estimates:compute",
    "howto/estimate-with-a-machine.html#whether-a-machine-may-take-the-place-of-people": "estimates:alt_test",
    "howto/judge-with-a-model.html#read-the-judge-card": "machines:card machines:board_card",
    "howto/judge-with-a-model.html#correct-grades": "machines:correct",
    "howto/judge-answers.html#write-nuggets": "assessment:nuggets assessment:nugget_list",
    "howto/run-a-campaign.html#watch-the-judging": (
        "assessment:board assessment:return_non_answer assessment:differences"
    ),
    "howto/run-a-campaign.html#freeze-the-qrels": "scoring:qrels_list scoring:freeze",
    "reference/formats.html#qrels": "scoring:import_qrels",
    "roles/organizer.html#what-counts": "scoring:qrels",
    "reference/commands/qrels.html": "scoring:qrels_export",
    "howto/run-a-campaign.html#score-the-runs": "scoring:leaderboards",
    "howto/run-a-campaign.html#release": "scoring:release",
    "roles/assessor.html#judged-examples": "scoring:judged_examples",
    "roles/participant.html#score-a-run-on-an-earlier-track": "scoring:later_runs",
    "howto/run-a-campaign.html#phases": "scoring:phase",
    "explanation/numbers.html#read-a-leaderboard": "scoring:leaderboard",
    "explanation/numbers.html#how-alike-two-rankings-are": (
        "scoring:choose_leaderboard scoring:compare_leaderboards"
    ),
    "howto/run-an-ntcir-campaign.html#freeze-the-qrels-and-score-by-group": "scoring:groups",
    "explanation/numbers.html#means-by-topic-class": "scoring:classes",
    "explanation/numbers.html": "scoring:topics scoring:topic",
    "explanation/numbers.html#whether-the-qrels-can-be-reused": "analyses:reports",
    "howto/judge-battles.html": "battles:board battles:systems",
    "howto/judge-rubrics.html": "rubrics:impact rubrics:criteria",
    "howto/paper-tables.html": "papers:tables",
    "howto/paper-tables.html#compare-test-collections": "papers:comparison",
    "reference/measures.html": "scoring:evaluation",
    "explanation/numbers.html#two-runs-paired-randomization-paired-t-wilcoxon-holm": (
        "scoring:choose_run scoring:compare_runs"
    ),
}
HELP = {view: page for page, views in EXPLAINED.items() for view in views.split()}


def frame(request: HttpRequest) -> dict[str, object]:
    """`is_assessor`, whether the user judges in any track; `n_running`, the number of unfinished jobs that an organizer
    or administrator sees; and `help_address`, the documentation of this page.

    The first two take one query each, and only on a page that shows the site's header.
    """
    # An error page may have no view.
    match = request.resolver_match
    page, _, anchor = HELP.get(match.view_name if match else "", START).partition("#")
    address = address_of("documentation", page)
    return {
        "is_assessor": SimpleLazyObject(lambda: judges_anywhere(request.user)),
        "n_running": SimpleLazyObject(lambda: n_running(request.user)),
        "help_address": f"{address}#{anchor}" if anchor else address,
    }
