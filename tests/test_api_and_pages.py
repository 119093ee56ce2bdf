"""Every form and every file of the pages has an operation of the API, or a reason why no program needs it.

A page that takes a form is found by asking it with a method that it does not have: it then says which ones it has.
"""

import pytest
from django.test import Client

from tests.scoring.conftest import Scene
from tests.test_access import MATRIX, PEOPLE, UNUSED_LINK, addresses, letter, own_files, rows_of, scene
from tests.test_api_access import endpoints

pytestmark = pytest.mark.django_db
__all__ = ["addresses", "own_files", "scene"]  # fixtures

# The operations of each page, as method and name of the address
OPERATIONS = """
account: PATCH me
tokens: POST tokens
revoke_token: POST revoke_token
jobs:retry: POST retry_job
jobs:cancel: POST cancel_job
corpus:start_import: POST import_collection
building:start_build: POST build_collection
building:change_build: POST change_build
building:delete_build: DELETE build
publishing:upload_document: POST upload_team_document
publishing:change_document: PATCH team_document
publishing:remove_document: DELETE team_document
participation:new_announcement: POST announcements
participation:edit_announcement: PATCH announcement
participation:withdraw_announcement: POST withdraw_announcement
tracks:deadlines: PUT deadlines, PUT milestones
tracks:import_topics: POST import_topics
tracks:edit_topic: PATCH topic
tracks:edit_guidelines: PUT guidelines_draft, POST publish_guidelines
tracks:accept_agreement: POST accept_data_agreement
tracks:edit_agreement: POST publish_data_agreement, POST withdraw_data_agreement
tracks:new_track: POST tracks, POST import_topics
tracks:edit_track: PATCH track
tracks:open_track: POST open_track
tracks:back_to_draft: POST back_to_draft
tracks:close_track: POST close_track
tracks:new_protocol: POST protocols
pooling:submit: POST check_run, POST runs
pooling:remind: POST remind_teams
pooling:withdraw: POST withdraw_run
pooling:describe: PATCH run
pooling:move: POST move_run
pooling:disqualify: POST disqualify_run
pooling:reinstate: POST reinstate_run
pooling:new_pool: POST pools
baselines:baselines: POST baselines, POST fusions
baselines:offer_baseline: POST offer_baseline
participation:clone_track: POST clone_track
participation:edit_team: PATCH team
participation:invite_member: POST invitations
participation:join: POST accept_invitation
participation:revoke_invitation: POST revoke_invitation
participation:ask_to_join: POST join_requests
participation:accept_request: POST accept_join_request
participation:refuse_request: POST refuse_join_request
participation:add_people: POST check_people, POST people_of_track
participation:invite_person: POST invitations
participation:create_team: POST teams
assessment:next: POST next_task
assessment:join: POST join_batch
assessment:batch_link: POST batch_link
assessment:revoke_link: POST revoke_link
assessment:exclude: POST exclude_worker
assessment:task: POST task_judgments
assessment:skip: POST skip_task
assessment:give_back: POST give_back_task
assessment:undo: POST undo_judgment
assessment:extend: POST extend_task
turkle:projects: POST project_imports
turkle:project_import: PATCH project_import
turkle:run_project_import: POST run_project_import
turkle:discard_project_import: DELETE project_import
assessment:imports: POST judgment_imports
assessment:import: PATCH judgment_import
assessment:run_import: POST run_judgment_import
assessment:discard_import: DELETE judgment_import
assessment:new_batch: POST batches_of_track
assessment:open: POST open_batch
assessment:close: POST close_batch
assessment:close_finished: POST close_batch
metaevaluation:accept: PUT judge_call
metaevaluation:submit: POST judges
metaevaluation:withdraw: POST withdraw_judge
metaevaluation:compare: POST judge_boards
metaevaluation:release: POST release_judge_board
estimates:new_sample: POST estimate_samples
estimates:next_sample: POST estimate_samples
estimates:compute: POST estimates
machines:new_machine: POST machines
machines:start_machine: POST start_machine
machines:register_judge: PUT machine_judge
blinding:blinding: PUT blinding
machines:run_machine: POST run_machine
machines:correct: POST correct_machine
machines:erase_evidence: DELETE machine_evidence
machines:machine_token: POST machine_tokens
machines:revoke_machine_token: POST revoke_machine_token
assessment:new_adjudication: POST adjudication_batches
assessment:new_dual: POST dual_batches
assessment:new_training: POST training_batches
assessment:edit_batch: PATCH batch
assessment:plan: POST assign_topics, POST share_topics
assessment:change_plan: POST assign_topics
scoring:freeze: POST preview_qrels, POST freeze_qrels
scoring:score: POST score_runs
scoring:release: POST release_leaderboard, PUT scheduled_release
publishing:publish_runs: POST publish_runs
publishing:withdraw_publication: POST withdraw_published_runs
publishing:consent: PUT consent
publishing:archives: POST archives
publishing:delete_archive: DELETE archive
publishing:load_archive: POST load_archive
publishing:fetch_collection: POST fetch_collection
corpus:start_clustering: POST cluster_formulas
tracks:attach: POST download_parts
tracks:export_collection: POST export_collection
tracks:edit_download: PATCH download_part
tracks:remove_download: DELETE download_part
pooling:compute_preview: POST preview_pool
pooling:make_ids: POST make_visual_ids
participation:leave_team: POST leave_team
participation:change_member: PATCH team_member
participation:remove_member: DELETE team_member
participation:set_groups: PUT assessor_groups
participation:set_organizer: PUT organizer, DELETE organizer
participation:remove_assessor: DELETE assessor
participation:leave_organizers: DELETE organizer
participation:nominate: PUT nominations
participation:set_address: PUT system
participation:plan_sessions: POST plan_sessions
participation:log_sessions: POST log_sessions
participation:interaction_data: POST session_data
participation:take_back_session: POST take_back_session
assessment:examples: PUT guidelines_draft
assessment:share_discussion: POST share_discussion
assessment:note: POST set_outcome
assessment:return_non_answer: POST return_non_answer
assessment:checks: PUT checks
assessment:gold: POST import_known_grades
assessment:add_agreed: POST add_agreed_grades
assessment:remove_gold: DELETE known_grade
assessment:nuggets: POST import_nuggets, PUT nugget_segments
rubrics:impact: PUT draft_grade
assessment:nugget_list: POST nuggets, PATCH nugget, DELETE nugget, POST merge_nuggets, POST nugget_versions
scoring:import_qrels: POST import_qrels
scoring:offer_qrels: POST offer_qrels
scoring:archive_qrels: POST archive_qrels, POST restore_qrels
scoring:cancel_release: DELETE scheduled_release
analyses:analyze: POST analyses
scoring:later_runs: POST later_runs
scoring:score_phase: PUT phase_qrels
scoring:train: POST train_with_qrels
tracks:webhooks: POST webhooks
tracks:webhook: PATCH webhook
tracks:test_webhook: POST test_webhook
tracks:renew_secret: POST renew_webhook_secret
tracks:send_again: POST resend_delivery
tracks:remove_webhook: DELETE webhook
tracks:import_candidates: POST import_candidates
building:leaks: POST check_leaks
building:accept_leaks: POST accept_leaks
tracks:new_sample: POST candidate_samples
tracks:name_people: PUT choosers
tracks:decide: POST decide
tracks:undo_decision: POST undo_decision
tracks:settle: POST settle
tracks:make_topics: POST make_topics
tracks:new_topic: POST topics
tracks:derive_topics: POST derive_topics
tracks:delete_topic: DELETE topic
tracks:correct_topic: PATCH topic
scoring:supersede: POST supersede_qrels
tracks:delete_track: DELETE track
tracks:delete_protocol: DELETE protocol
assessment:delete_batch: DELETE batch
pooling:delete_pool: DELETE pool
participation:delete_team: DELETE team
corpus:delete_collection: DELETE collection
"""

# The operations that have the content of each file
FILES = """
tracks:calendar: GET milestones
machines:export_evidence: GET machine_evidence
metaevaluation:judge_file: GET judge_file
metaevaluation:board_table: GET judge_board_file
estimates:sample_file: GET estimate_sample_file
estimates:table: GET estimate
estimates:alt_test_file: GET alt_test
tracks:sample_file: GET candidate_file
building:leaks_tsv: GET leaks
tracks:checksums: GET downloads
tracks:download: GET download
tracks:fetches_csv: GET fetches
tracks:history_csv: GET events
tracks:site_history_csv: GET events
corpus:disagreements: GET visual_id_disagreements
pooling:run_file: GET run_file
pooling:pool_file: GET pool_entries
pooling:pool_citations: GET pool_entries
pooling:pool_contributions: GET pool_entries
pooling:pool_members: GET pool_entries
pooling:pool_member_contributions: GET pool_entries
pooling:pool_overlap_file: GET pool
pooling:pool_record: GET pool
participation:interaction_file: GET session_data
publishing:document_file: GET team_document_file
publishing:documents_zip: GET team_documents_zip
participation:invitation_links: GET invitations
assessment:judgments_csv: GET judgments
assessment:export: GET export_judgments
assessment:disagreements_csv: GET disagreements
assessment:agreement_tsv: GET agreement
assessment:discussion_csv: GET discussion
assessment:differences_csv: GET judged_differently
assessment:board_tsv: GET board_table
assessment:check_results_tsv: GET check_results
assessment:nuggets_file: GET nuggets_file
scoring:qrels_file: GET qrels_file
scoring:qrels_export: GET export_qrels
scoring:qrels_judgments: GET qrels_judgments
scoring:complete_topics: GET complete_topics
scoring:leaderboard_file: GET leaderboard_file
scoring:topics_file: GET evaluations
scoring:evaluation_file: GET evaluation
scoring:groups_file: GET leaderboard_groups
scoring:classes_file: GET leaderboard_classes
scoring:interaction_tsv: GET leaderboard_interaction
scoring:later_runs_file: GET later_runs
scoring:phase_file: GET phase_scores
analyses:report_table: GET report
analyses:analysis_json: GET analysis
analyses:analysis_table: GET analysis
publishing:published_runs: GET published_runs_file
battles:board_table: GET battles
battles:file: GET battles_file
battles:systems_file: GET systems
rubrics:criteria_table: GET rubrics
rubrics:graded: GET graded_answers
papers:table_file: GET paper_tables
papers:comparison_file: GET compare_collections
publishing:archive_file: GET archive_file
"""

# Why a page has no operation
REASONS = """
login: a session of a browser
login_link: a session of a browser
logout: a session of a browser
request_link: an e-mail to a person who cannot log in
password_change: a password is for people, a program has a token
end_session: a session is of a browser, a program has a token
end_other_sessions: a session is of a browser, a program has a token
participation:make_login_link: a link with which a person logs in, shown to the organizer who sends it
tracks:change_draft: a program sends the whole text of a protocol
tracks:change_text: a program sends the whole text of a protocol
tracks:add_draft: a program sends the whole text of a protocol
tracks:discard_draft: a program sends the whole text of a protocol
assessment:link: a person without an account starts in a browser
assessment:accepting: a switch of the judging page of a person
assessment:highlighting: a switch of the judging page of a person
assessment:keys: the keyboard of a person
participation:start_session: a person holds a session in a browser
participation:end_session: a person holds a session in a browser
participation:practice_session: a person holds a session in a browser
tracks:edit_site_page: a text about the site, which its administrator writes once
tracks:skip: the API names no next step that a program could skip
publishing:offer_archive: a program attaches the archive as it attaches other files
pooling:read_start: it fills fields of the form; a program knows the tag that it sends
"""


def table(text: str) -> dict[str, str]:
    return dict(line.rsplit(": ", 1) for line in text.strip().splitlines())  # type: ignore[arg-type]


def test_every_form_of_the_pages_has_an_operation_or_a_reason(
    scene: Scene, addresses: dict[str, str]
) -> None:
    organizer = Client()
    organizer.force_login(scene.organizer)

    allowed = {name: organizer.generic("DELETE", address) for name, address in addresses.items()}

    forms = {name for name, answer in allowed.items() if "POST" in answer.get("Allow", "POST")}
    assert forms == table(OPERATIONS).keys() | table(REASONS).keys()


def test_every_file_of_the_pages_has_an_operation_and_head_has_the_status_of_get(
    scene: Scene, addresses: dict[str, str]
) -> None:
    organizer = Client()
    organizer.force_login(scene.organizer)
    expected = {name: row[PEOPLE.index("organizer")] for name, row in rows_of(MATRIX).items()}
    expected |= UNUSED_LINK

    answers = {name: organizer.head(addresses[name]) for name in expected}

    files = {
        name for name, answer in answers.items() if "attachment" in answer.get("Content-Disposition", "")
    }
    assert {name: letter(answer) for name, answer in answers.items()} == expected
    assert files - table(FILES).keys() == set()
    assert table(FILES).keys() - addresses.keys() == set()


def test_every_named_operation_exists() -> None:
    lines = [*table(OPERATIONS).values(), *table(FILES).values()]
    named = {each for line in lines for each in line.split(", ")}

    assert named <= {f"{method} {name}" for method, name in endpoints()}
