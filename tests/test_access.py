"""Access to pages: every address of the site, requested by every kind of person.

The columns are those of `PEOPLE`. 0: the page; 3: forbidden; 4: not found, as if it did not exist; 5: an address that
only takes forms; 9: a link that is no longer valid; L: redirected to the login; R: redirected to another page. A new
address without a row fails a test. Staff whose account is deactivated must get what a visitor gets.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import UUID

import pytest
from django.conf import LazySettings
from django.contrib.admin import site
from django.contrib.staticfiles import finders
from django.http import HttpResponseForbidden, HttpResponseNotFound
from django.test import Client
from django.urls import Resolver404, URLPattern, URLResolver, get_resolver, resolve, reverse
from django.views import defaults
from playwright.sync_api import Browser, Route

from accounts.models import User
from accounts.services import tokens
from assay_extensions.analyses.site import services as analysis_services
from corpus.models import Formula, Import
from home import documentation
from jobs import services as jobs
from jobs.models import Job
from participation.teams import services as team_services
from pooling.models import Nugget, NuggetVersion
from pooling.pools import services as pool_services
from scoring.leaderboards import services as leaderboard_services
from tests.helpers.browser import on_screens, violations
from tests.helpers.candidates import make_candidate
from tests.helpers.database import n_written
from tests.helpers.factories import (
    make_archive,
    make_collection,
    make_document,
    make_image,
    make_loaded_archive,
    make_organizer,
    make_role,
    make_track,
    make_user,
    make_webhook,
)
from tests.helpers.judging import (
    make_announcement,
    make_import,
    make_machine,
    make_project_import,
    make_team_document,
)
from tests.helpers.remembered import remembered
from tests.helpers.team_judges import make_judge, make_judge_board
from tests.helpers.translated import ENGLISH
from tests.scoring.conftest import Scene, build_scene
from tracks.agreements import services as agreement_services
from tracks.drafts import services as draft_services
from tracks.guidelines import services as guidelines_services
from tracks.models import TopicImport, Track
from web.translation import EVERYBODY, readers_of

pytestmark = pytest.mark.django_db

PEOPLE = (
    "visitor",
    "stranger",
    "member",
    "member of another team",
    "assessor",
    "other assessor",
    "organizer",
    "chair",
    "organizer of another track",
    "administrator",
)
UNUSED_LINK = {"login_link": "0"}  # is valid until its user logs in, as in the matrix
FORM = re.compile(r'<form\b[^>]*method="post"[^>]*>')
TARGET = re.compile(r'\baction="([^"?]*)|<a\b[^>]*\bhref="(/[^"?#]*)')
NOTED = {  # the tables in which the site notes who was here, read guidelines, or downloaded what
    *("django_session", "accounts_token", "accounts_event", "tracks_fetch", "tracks_guidelinesreading"),
}
# The missing fields that an empty form does not focus. Forms with a script of their own check themselves.
UNFOCUSED = """() => [...document.querySelectorAll("main form")].flatMap((form) => {
  if (form.noValidate || form.closest("[hidden]")) return [];
  for (const field of form.elements) {
    if (["radio", "checkbox"].includes(field.type)) field.checked = false;
    else if (field.required) field.value = "";
  }
  const missing = [...form.elements].find((field) => field.willValidate && !field.validity.valid);
  if (!missing || (form.reportValidity() || document.activeElement === missing)) return [];
  return [`${form.id || form.action}: ${missing.name} is not focused`];
})"""
LETTERS = {200: "0", 403: "3", 404: "4", 405: "5", 410: "9"}

MATRIX = """
account                                 L000000000
publishing:archives                       L333330043
publishing:delete_archive                         L333330343
publishing:offer_archive                          5555555555
publishing:archive_file                           L333330043
publishing:load_archive                           L333330300
publishing:fetch_collection                       L333330300
publishing:loaded_archive                         L444440440
assessment:accepting                    5555555555
assessment:add_agreed                   5555555555
assessment:agreement                    L333330043
assessment:agreement_tsv                L333330043
assessment:back                         L000000000
assessment:batch                        L333330043
assessment:board                        L333330043
assessment:board_tsv                    L333330043
assessment:change_plan                  5555555555
assessment:check_results                L333330043
assessment:check_results_tsv            L333330043
assessment:checks                       L333330043
assessment:close                        L333330343
assessment:close_finished               5555555555
assessment:differences                  L333330043
assessment:differences_csv              L333330043
assessment:disagreements                L333330043
assessment:disagreements_csv            L333330043
assessment:discussion                   L444444444
assessment:discussion_csv               L333334443
assessment:discard_import               5555555555
turkle:discard_project_import           5555555555
assessment:done                         L444044444
assessment:edit_batch                   L333330343
assessment:export                       L333330043
assessment:examples                     L333330043
assessment:extend                       5555555555
assessment:give_back                    5555555555
assessment:gold                         L333330043
assessment:guidelines                   L444040044
assessment:highlighting                 5555555555
assessment:import                       L333330043
assessment:imports                      L333330043
assessment:guidelines_panel             L444040044
assessment:judging                      L333000033
assessment:judgments_csv                L333330043
assessment:keys                         L000000000
assessment:mine                         L000000000
metaevaluation:judges                   0000000000
metaevaluation:accept                   L333330343
metaevaluation:submit                   L300330333
metaevaluation:compare                  L333330343
metaevaluation:judge                    L404440044
metaevaluation:judge_file               L404440044
metaevaluation:withdraw                 L404440044
metaevaluation:board                    4444440044
metaevaluation:board_table              4444440044
metaevaluation:release                  L33333R343
metaevaluation:result                   4444440044
estimates:alt_test                    L333330043
estimates:alt_test_file               L333334443
estimates:compute                     5555555555
estimates:estimates                   L333330043
estimates:new_sample                  L333330343
estimates:next_sample                 L333334343
estimates:sample_file                 L333334443
estimates:table                       L333334443
machines:machine                      L333330043
machines:machine_token                5555555555
machines:card                         L333330043
machines:board_card                   4444444444
machines:evidence                     L333330043
machines:erase_evidence               L333330343
machines:correct                      L333334343
machines:export_evidence              L333330043
machines:register_judge               L333330343
machines:reply                        L333334443
machines:run_machine                  5555555555
machines:machines                     L333330043
machines:new_machine                  L333330343
machines:start_machine                5555555555
blinding:blinding                       L333330043
blinding:map                            L333334443
blinding:package                        L333334443
turkle:project_import                   L333330340
turkle:projects                         L333330300
turkle:run_project_import               5555555555
assessment:new_adjudication             L333330343
assessment:new_batch                    L333330343
assessment:new_dual                     L333330343
assessment:new_training                 L333330343
assessment:next                         5555555555
assessment:preview                      L444440044
assessment:preview_draft                L333330344
assessment:draft_frame                  L333334344
assessment:preview_frame                L444444444
assessment:join                         5555555555
assessment:batch_link                   L333330043
assessment:revoke_link                  L333330343
assessment:exclude                      5555555555
assessment:link                         9999999999
assessment:link_unit                    4444444444
assessment:link_frame                   4444444444
assessment:note                         5555555555
assessment:nuggets                      L444444444
assessment:nugget_list                  L444444444
assessment:nuggets_file                 L333334443
assessment:open                         5555555555
assessment:own_judgments                L444040044
assessment:own_statistics               L000000000
assessment:plan                         L333330043
assessment:remove_gold                  5555555555
assessment:return_non_answer            L333330343
machines:revoke_machine_token         5555555555
assessment:share_discussion             5555555555
assessment:run_import                   5555555555
assessment:skip                         5555555555
assessment:stored                       L444044444
assessment:task                         L444044444
assessment:task_frame                   L444444444
assessment:undo                         5555555555
building:build                            L333334344
building:build_file                       L333334344
building:change_build                     L333334344
building:delete_build                     L333334344
corpus:collection                       L000000000
corpus:collection, of topics            L444000040
corpus:collection_imports               L333330300
corpus:collections                      L000000000
corpus:disagreements                    L333330300
corpus:find                             L444444444
corpus:find_formula                     L444444444
corpus:formula                          L000000000
corpus:formulas                         L333330300
corpus:image                            L000000000
corpus:image, of topics                 L444000040
corpus:import                           L333334344
corpus:imports                          L333330300
corpus:start_clustering                 5555555555
building:start_build                      L333330300
corpus:start_import                     L333330300
corpus:thread                           L000000000
corpus:thread, of topics                L444000040
documentation                           0000000000
all_tracks                              0000000000
extensions                              L333330330
health                                  0000000000
llms                                    0000000000
home                                    0000000000
jobs:job                                L444440440
jobs:jobs                               L000000000
jobs:cancel                             5555555555
jobs:retry                              5555555555
login                                   0000000000
login_link                              9999999999
logout                                  5555555555
password_change                         L000000000
participation:interaction                     L444444444
participation:interaction_data                5555555555
participation:interaction_file                L444444444
participation:log_sessions                    5555555555
participation:nominate                        5555555555
participation:plan_sessions                   5555555555
participation:session                         L444444444
participation:set_address                     5555555555
participation:start_session                   5555555555
participation:practice_session                5555555555
participation:take_back_session               5555555555
participation:end_session                     5555555555
scoring:interaction                     4444444444
scoring:interaction_tsv                 4444444444
baselines:baselines                     L333330043
pooling:choose_run                      L4R444RR44
pooling:compare_runs                    L404440044
participation:clone_track                     L333330343
publishing:consent                         5555555555
participation:accept_request                  5555555555
participation:add_people                      L333330340
participation:announcements             0000000000
participation:new_announcement          L333330343
participation:edit_announcement         L333330343
participation:announcement_mails        L333330043
participation:withdraw_announcement     5555555555
publishing:documents                    0000000000
publishing:documents_zip                L333330043
publishing:upload_document              L404440444
publishing:change_document              5555555555
publishing:remove_document              L404440444
publishing:document_file                4404440044
participation:ask_to_join                     0000000000
participation:change_member                   5555555555
participation:remove_member             L404440440
participation:create_team                     5555555555
participation:edit_team                       5555555555
participation:invitation_link                 9999999999
participation:invite_member                   5555555555
participation:invite_person                   5555555555
participation:invitation_links                L333330340
participation:join                            9999999999
participation:leave_team                      L404444444
participation:make_login_link                 5555555555
participation:people                          L333330040
participation:remove_assessor                 L333330340
participation:leave_organizers                L333330340
participation:set_groups                      5555555555
participation:refuse_request                  5555555555
participation:revoke_invitation               5555555555
participation:team                            L404440040
start                                   LRRRRRRRRR
tracks:edit_site_page                   L333330330
tracks:site_page                        0000000000
pooling:compute_preview                 5555555555
pooling:describe                        L404440044
pooling:disqualify                      L333330343
pooling:make_ids                        5555555555
pooling:move                            5555555555
pooling:remind                          5555555555
pooling:new_pool                        L333330343
baselines:offer_baseline                5555555555
battles:board                           4444444444
battles:board_table                     4444444444
battles:file                            L333334443
battles:systems                         4444444444
battles:systems_file                    4444444444
rubrics:impact                          L444444444
rubrics:criteria                        L333334443
rubrics:criteria_table                  L333334443
rubrics:graded                          L333334443
pooling:pool                            L333330043
pooling:pool_contributions              L333330043
pooling:pool_depths                     L333330043
pooling:pool_entry                      L333330043
pooling:pool_file                       L333330043
pooling:pool_citations                  L333334443
pooling:pool_member_contributions       L333330043
pooling:pool_members                    L333330043
pooling:pool_overlap                    L333330043
pooling:pool_overlap_file               L333330043
pooling:pool_record                     L333330043
pooling:pool_topic                      L333330043
pooling:pools                           L333330043
pooling:preview                         L333330043
publishing:publication                     0000000000
publishing:publish_runs                    5555555555
publishing:published_runs                  4444444444
pooling:reinstate                       L333330343
pooling:run                             L404440044
pooling:run_file                        L404440044
pooling:runs                            L0RR330000
pooling:read_start                      5555555555
pooling:programs                        0000000000
pooling:submit                          L300330333
pooling:team_runs                       L404330044
pooling:withdraw                        L404440044
publishing:withdraw_publication            5555555555
request_link                            0000000000
revoke_token                            5555555555
sessions                                L000000000
end_session                             5555555555
end_other_sessions                      5555555555
analyses:analysis_json                   L333330043
analyses:analysis_table                  L333330043
analyses:analyze                         5555555555
scoring:archive_qrels                   5555555555
scoring:choose_leaderboard              444444RR44
scoring:choose_run                      444444RR44
scoring:compare_leaderboards            4444440044
scoring:compare_runs                    4444440044
papers:comparison                      L333330003
papers:comparison_file                 L333334443
analyses:effect                          L33333RR43
analyses:reliability                     L33333RR43
scoring:evaluation                      4444440044
scoring:evaluation_file                 4444440044
scoring:freeze                          L333330343
scoring:import_qrels                    L333330343
scoring:leaderboard                     4444440044
scoring:leaderboard_file                4444440044
scoring:leaderboards                    0000000000
scoring:later_runs                      L444440044
scoring:later_runs_file                 L444440044
scoring:offer_qrels                     5555555555
scoring:train                           5555555555
scoring:judged_examples                 L444000044
scoring:qrels                           4444440044
scoring:qrels_export                    4444440044
scoring:qrels_file                      4444440044
scoring:complete_topics                 4444440044
scoring:qrels_judgments                 L333330043
scoring:qrels_list                      0000000000
scoring:cancel_release                  5555555555
scoring:release                         L33333R343
analyses:report_table                    L333330043
analyses:reports                         L333330043
scoring:score                           5555555555
scoring:score_phase                     5555555555
scoring:phase                           4444444444
scoring:phase_file                      4444444444
papers:table_file                      L333330043
papers:tables                          L333330043
scoring:topic                           4444440044
scoring:groups                          4444444444
scoring:groups_file                     4444444444
scoring:supersede                       L333330343
scoring:classes                         4444440044
scoring:classes_file                    4444440044
scoring:topics                          4444440044
scoring:topics_file                     4444440044
tokens                                  L000000000
tracks:accept_agreement                 5555555555
tracks:agreement                        0000000000
tracks:agreement_version                0000000000
tracks:candidate                        L333330043
tracks:candidate_sample                 L444440044
tracks:candidates                       L333330043
tracks:close_track                      L333330343
tracks:skip                             5555555555
tracks:decide                           L444440344
tracks:import_candidates                L333330343
building:accept_leaks                     5555555555
building:leaks                            L333330043
building:leaks_tsv                        L333334443
tracks:make_topics                      5555555555
tracks:name_people                      5555555555
tracks:new_topic                        L333330343
tracks:derive_topics                    L333330343
tracks:delete_topic                     L333330343
tracks:correct_topic                    L333330343
tracks:delete_track                     L333330343
tracks:delete_protocol                  L333330340
assessment:delete_batch                 L333330343
pooling:delete_pool                     L333330343
participation:delete_team               L333330343
corpus:delete_collection                L333330340
tracks:new_sample                       L333330343
tracks:sample_file                      L333330043
tracks:settle                           L44444RR44
tracks:undo_decision                    5555555555
tracks:attach                           L333330343
tracks:checksums                        0000000000
tracks:download                         0000000000
tracks:downloads                        0000000000
tracks:edit_agreement                   L333330343
tracks:edit_download                    L333330343
tracks:export_collection                5555555555
tracks:fetches                          L333330043
tracks:fetches_csv                      L333330043
tracks:remove_download                  L333334343
tracks:edit_guidelines                  L333330343
tracks:deadlines                        L333330343
tracks:calendar                         0000000000
tracks:guidelines                       L444000044
tracks:guidelines_changes               L444000044
tracks:guidelines_version               L444000044
tracks:guidelines_versions              L444000044
tracks:history                          L333330043
tracks:history_csv                      L333330043
tracks:webhooks                         L333330043
tracks:webhook                          L333330043
tracks:test_webhook                     5555555555
tracks:renew_secret                     L333330343
tracks:send_again                       5555555555
tracks:remove_webhook                   L333330343
tracks:import_topics                    L333330343
tracks:open_track                       L333330343
tracks:back_to_draft                    L333330343
tracks:edit_topic                       L333330343
tracks:edit_track                       L333330343
tracks:new_protocol                     L333330300
tracks:draft                            L333330344
tracks:change_draft                     5555555555
tracks:change_text                      5555555555
tracks:add_draft                        5555555555
tracks:discard_draft                    L333330344
tracks:new_track                        L333330300
tracks:protocols                        0000000000
tracks:protocol                         0000000000
tracks:site_history                     L333330330
tracks:site_history_csv                 L333330330
tracks:topic                            0000000000
tracks:row_frame                        L333334443
tracks:rows                             L333334443
tracks:topics                           0000000000
tracks:track                            0000000000
participation:set_organizer                   5555555555
"""
OF_COLLECTIONS = {
    "corpus:collection",
    "corpus:delete_collection",
    "corpus:collection_imports",
    "corpus:disagreements",
    "corpus:find",
    "corpus:find_formula",
    "corpus:formulas",
    "corpus:start_clustering",
}
# After a leaderboard is released: first to the teams of the track, who open their own runs, then to everybody.
RELEASED = {
    "participants": """
scoring:choose_leaderboard              44RR44RR44
scoring:choose_run                      44R444RR44
scoring:compare_leaderboards            4400440044
scoring:compare_runs                    4404440044
scoring:evaluation                      4404440044
scoring:evaluation_file                 4404440044
scoring:leaderboard                     4400440044
scoring:leaderboard_file                4400440044
scoring:later_runs                      L400440044
scoring:later_runs_file                 L400440044
scoring:qrels                           4400440044
scoring:qrels_export                    4400440044
scoring:qrels_file                      4400440044
scoring:complete_topics                 4400440044
scoring:topic                           4400440044
scoring:groups                          4444444444
scoring:groups_file                     4444444444
scoring:classes                         4400440044
scoring:classes_file                    4400440044
scoring:topics                          4400440044
scoring:topics_file                     4400440044
""",
    "public": """
scoring:choose_leaderboard              RRRRRRRRRR
scoring:choose_run                      RRRRRRRRRR
scoring:compare_leaderboards            0000000000
scoring:compare_runs                    0000000000
scoring:evaluation                      0000000000
scoring:evaluation_file                 0000000000
scoring:leaderboard                     0000000000
scoring:leaderboard_file                0000000000
scoring:later_runs                      L000000000
scoring:later_runs_file                 L000000000
scoring:qrels                           0000000000
scoring:qrels_file                      0000000000
scoring:complete_topics                 0000000000
scoring:topic                           0000000000
scoring:groups                          4444444444
scoring:groups_file                     4444444444
scoring:classes                         0000000000
scoring:classes_file                    0000000000
scoring:topics                          0000000000
scoring:topics_file                     0000000000
""",
}


@dataclass
class Visited(Scene):
    """The scene with an object of every kind, and one address for each name, of these objects."""

    addresses: dict[str, str]


@pytest.fixture
def own_files(db: None, settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEDIA_ROOT = tmp_path
    (tmp_path / "index.html").write_text("The documentation")
    monkeypatch.setattr(documentation, "folder", lambda: tmp_path)
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)


@pytest.fixture
def scene(own_files: None, request: pytest.FixtureRequest) -> Scene:
    """The scene; with an object of every kind if the test also has the fixture `addresses`."""
    return build_visited() if "addresses" in request.fixturenames else build_scene()


@pytest.fixture
def addresses(scene: Scene) -> dict[str, str]:
    assert isinstance(scene, Visited)
    link = reverse("login_link", args=[scene.ada.pk, tokens.make_token(scene.ada)])  # valid for half an hour
    return scene.addresses | {"login_link": link}


def named() -> Iterator[str]:
    """The names of all addresses except those of the admin and of the API, which `test_api_access` covers."""

    def walk(patterns: list[URLPattern | URLResolver], space: str) -> Iterator[str]:
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                yield f"{space}{pattern.name}"
            elif pattern.namespace not in {"admin", "api"}:
                yield from walk(pattern.url_patterns, f"{pattern.namespace}:" if pattern.namespace else space)

    yield from walk(get_resolver().url_patterns, "")


def rows_of(matrix: str) -> dict[str, str]:
    return {name.rstrip(): row for name, row in (line.rsplit(" ", 1) for line in matrix.strip().splitlines())}


def expected_of(matrix: str) -> dict[str, str]:
    """The rows; where visitors do not enter, with the answer to staff whose account is deactivated: the same."""
    return {name: row if row[0] == "0" else row + row[0] for name, row in rows_of(matrix).items()}


def test_every_address_is_in_the_matrix() -> None:
    listed = {name for name in rows_of(MATRIX) if ", " not in name}

    assert set(named()) == listed


@pytest.fixture
def empty_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text in the pages of errors: thousands of requests end in one. `test_roles` gets the real ones."""
    monkeypatch.setattr(defaults, "page_not_found", lambda *_: HttpResponseNotFound())
    monkeypatch.setattr(defaults, "permission_denied", lambda *_: HttpResponseForbidden())


@remembered
def build_visited() -> Visited:
    """Our team's run, Ada's task, a hidden leaderboard, and so on."""
    scene = build_scene()
    for revision, text in enumerate(("One", "Two")):
        guidelines_services.publish(track=scene.track, text=text, revision=revision, by=scene.organizer)
        agreement_services.publish(track=scene.track, text=text, revision=revision, by=scene.organizer)
    agreement_services.withdraw(track=scene.track, revision=2)
    scene.track.refresh_from_db()
    searched, own = make_collection("posts"), make_collection("topics")
    document = make_document(searched, "1")
    Formula.objects.create(collection=searched, code="f.1", post="1", thread="1", place=Formula.Place.TITLE)
    make_document(own, "1")
    images = [make_image(collection) for collection in (searched, own)]
    scene.track.topic_collection = own
    make_candidate(scene.track, scene.organizer, scene.ada)
    run = scene.submit(scene.ours, "good", "10 é 9")
    batch = scene.judged("high", "medium", "low")
    task = batch.tasks.earliest("pk")
    scene.judge(batch, scene.ada, "do-not-know")
    board = scene.leaderboard()
    second = scene.submit(scene.ours, "second", "9 10 é")
    analysis = analysis_services.request(leaderboard=board, kind="topics", by=scene.organizer)
    jobs.run(analysis.job_id)
    judge = make_judge(scene.ours, scene.member)
    on_board = make_judge_board(judge, board)
    job = Job.objects.create(kind="tests.work", title="Work")
    pool = pool_services.request(track=scene.track, name="built", seed=1, depth={}, by=scene.organizer)
    jobs.run(pool.job_id)
    scene.track.collection = searched
    scene.track.save()
    track = [scene.track.slug]
    machine = make_machine(scene.track, scene.organizer)
    arguments: dict[str, list[object]] = {
        "page": ["index.html"],
        "token_id": [1],
        "draft_id": [draft_services.create(owner=scene.organizer, base=scene.track.protocol).pk],
        "login_id": [1],
        "token": ["unknown"],
        "team_id": [scene.ours.pk],
        "batch_id user_id": [batch.pk, scene.ada.pk],
        "team_id user_id": [scene.ours.pk, scene.member.pk],
        "slug user_id": [*track, scene.member.pk],
        "document_id": [make_team_document(scene.ours, scene.member).pk],
        "announcement_id": [make_announcement(scene.track, scene.organizer).pk],
        "invitation_id": [1],
        "request_id": [1],
        "nugget_id": [1],
        "name": ["about"],
        "user_id token": [scene.ada.pk, "unknown"],
        "docno": [searched.slug, document.docno],
        "slug sha256": [searched.slug, images[0].sha256],
        "slug code": [*track, "A.1"],
        "slug number": [*track, 2],
        "slug old new": [*track, 1, 2],
        "slug file": [*track, f"{scene.track.slug}-topics.tsv"],
        "slug docno": [*track, "9"],
        "slug row_id": [*track, 1],
        "slug webhook_id": [*track, make_webhook(scene.track, scene.organizer).pk],
        "slug webhook_id delivery_key": [*track, 1, UUID(int=1)],
        "slug sample": [*track, 1],
        "slug sample file": [*track, 1, "sample.json"],
        "slug sample docno": [*track, 1, "9"],
        "slug form": [*track, "nuggetizer"],
        "slug key": [*track, "topics"],
        "slug key kind": [*track, "topics", "csv"],
        "slug name": [*track, "pairs"],
        "slug name kind": [*track, "runs", "tex"],
        "name kind": ["units", "csv"],
        "slug judge_run_id": [*track, judge.pk],
        "slug judge_board_id": [*track, on_board.board_id],
        "slug judge_board_id kind": [*track, on_board.board_id, "csv"],
        "slug judge_board_id result_id": [*track, on_board.board_id, on_board.pk],
        "machine_id": [machine.pk],
        "machine_id token_id": [machine.pk, 1],
        "machine_id batch_id": [machine.pk, batch.pk],
        "machine_id evidence_id": [machine.pk, 1],
        "machine_id name kind": [machine.pk, "people", "csv"],
        "slug sample_id": [*track, 1],
        "slug estimate_id name kind": [*track, 1, "ranking", "csv"],
        "import_id": [make_import(scene.track, scene.organizer).pk],
        "slug table": [*track, "topics"],
        "archive_id": [make_archive(scene.track, scene.organizer).pk],
        "loaded_id": [make_loaded_archive(scene.organizer).pk],
        "upload_id": [make_project_import(scene.organizer).pk],
        "job_id": [job.pk],
        "run_id": [run.pk],
        "run_id other_id": [run.pk, second.pk],
        "slug team_id": [*track, scene.ours.pk],
        "pool_id": [pool.pk],
        "pool_id code": [pool.pk, "A.1"],
        "pool_id entry_id": [pool.pk, pool.entries.earliest("pk").pk],
        "batch_id": [batch.pk],
        "task_id": [task.pk],
        "judgment_id": [batch.judgments.latest("pk").pk],
        "qrels_id": [board.qrels_id],
        "nomination_id": [1],
        "board_id": [board.pk],
        "board_id kind": [board.pk, "tsv"],
        "board_id form": [board.pk, "tsv"],
        "board_id other_id": [board.pk, board.pk],
        "board_id code": [board.pk, "A.1"],
        "board_id name kind": [board.pk, "units", "tsv"],
        "analysis_id": [analysis.pk],
        "analysis_id name kind": [analysis.pk, "topics", "csv"],
        "evaluation_id other_id": [board.evaluations.get().pk] * 2,
        "evaluation_id": [board.evaluations.get().pk],
        "evaluation_id kind": [board.evaluations.get().pk, "csv"],
    }
    urls = {}
    for name in named():
        parameters = _parameters(name)
        if name in {"tracks:protocol", "tracks:delete_protocol"}:
            urls[name] = reverse(name, args=[scene.track.protocol.slug])
        elif name in OF_COLLECTIONS:
            urls[name] = reverse(name, args=[searched.slug])
        elif name == "corpus:formula":
            urls[name] = reverse(name, args=[searched.slug, "f.1"])
        elif name == "corpus:thread":
            urls[name] = reverse(name, args=[searched.slug, document.docno])
        elif not parameters:
            urls[name] = reverse(name)
        else:
            urls[name] = reverse(name, args=track if parameters == "slug" else arguments[parameters])
    more = {
        "pooling:choose_run": f"{urls['pooling:choose_run']}?other={second.pk}",
        "corpus:collection, of topics": reverse("corpus:collection", args=[own.slug]),
        "corpus:image, of topics": reverse("corpus:image", args=[own.slug, images[1].sha256]),
        "corpus:thread, of topics": reverse("corpus:thread", args=[own.slug, "1"]),
    }
    return Visited(**vars(scene), addresses=urls | more)


def _parameters(name: str) -> str:
    """The parameters of an address, separated by spaces."""
    space, _, short = name.rpartition(":")
    resolver = get_resolver()
    lookup = resolver.namespace_dict[space][1] if space else resolver
    return " ".join(lookup.reverse_dict[short][0][0][1])


def known(scene: Scene) -> tuple[User, ...]:
    """The people of the columns, without the visitor. Who organizes only another track must see what strangers see."""
    own = (scene.stranger, scene.member, scene.other, scene.ada, scene.bob, scene.organizer)
    if not User.objects.filter(username="chair").exists():
        make_role(scene.track, "chair", is_chair=True)
        make_role(make_track("elsewhere"), "foreign")
        make_user("administrator", is_staff=True)
    others = (User.objects.get(username=name) for name in ("chair", "foreign", "administrator"))
    return (*own, *others)


class Reader(Client):
    """A client that keeps the pages that it gets, by path."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, bytes] = {}

    def request(self, **request: Any) -> Any:
        response: Any = super().request(**request)
        if response.status_code == 200 and response.get("Content-Type", "").startswith("text/html"):
            self.pages[request["PATH_INFO"]] = b"".join(response)
        return response

    def named(self, addresses: Mapping[str, str]) -> dict[str, bytes]:
        """The pages by the names of their addresses, without the documentation."""
        paths = {name: unquote(address) for name, address in addresses.items() if name != "documentation"}
        return {name: self.pages[path] for name, path in paths.items() if path in self.pages}


def readers(scene: Scene) -> list[Reader]:
    """The clients of all people, and of staff without rights."""
    gone = make_organizer()
    people = (None, *known(scene), gone)
    clients = [Reader() for _ in people]
    for client, user in zip(clients, people, strict=True):
        if user is not None:
            client.force_login(user)
    gone.is_active = False
    gone.save()
    return clients


def answers(
    clients: Sequence[Client], addresses: Mapping[str, str], expected: Mapping[str, str]
) -> dict[str, str]:
    """The answer that each person gets at each address, one character per person; the last for staff without rights.

    A reader changes no row: only sessions, and the audit log of what was downloaded, may have new ones.
    """
    letters, writing = {}, {}
    for name, row in expected.items():
        before = n_written()
        letters[name] = "".join(letter(client.get(addresses[name])) for client in clients[: len(row)])
        if written := {*(n_written() - before)} - NOTED:
            writing[name] = written
    assert writing == {}
    return letters


def letter(response: Any) -> str:
    """The letter of a response in the matrix. A file is read to its end, which closes it."""
    for _ in response:
        pass
    if response.status_code == 302:
        return "L" if response["Location"].startswith("/login/") else "R"
    return LETTERS[response.status_code]


@pytest.mark.usefixtures("empty_refusals")
@pytest.mark.long
def test_each_person_opens_what_they_may_and_each_page_suits_its_reader(
    scene: Scene, addresses: dict[str, str]
) -> None:
    """Assessors read it in their language, or it is named as English. Chairs are offered nothing that is refused."""
    expected, clients = expected_of(MATRIX), dict(zip((*PEOPLE, "gone"), readers(scene), strict=True))
    User.objects.filter(pk=scene.ada.pk).update(language="de")

    assert answers([*clients.values()], addresses, expected) == expected

    read = clients["assessor"].named(addresses)
    english = {name for name, page in read.items() if not is_german(addresses[name], page)}
    assert {name.partition(",")[0] for name in english} <= ENGLISH
    assert {"tracks:track", "scoring:qrels_list", "corpus:thread", "assessment:task"} <= read.keys()
    of_chair, of_organizer = (clients[person].named(addresses) for person in ("chair", "organizer"))
    offered = {
        name: refused for name, page in of_chair.items() if (refused := for_organizers(page, addresses[name]))
    }
    assert offered == {}
    navs = {name: page.partition(b'<nav class="track-nav"')[2] for name, page in of_organizer.items()}
    lost = {
        name
        for name, nav in navs.items()
        if nav and b'aria-current="page"' not in nav.partition(b"</nav>")[0]
    }
    assert lost == set(), "register these views below a page: tracks.tabs"
    for name in ("pooling:pools", "assessment:judging", "participation:people", "tracks:track"):
        assert for_organizers(of_organizer[name], addresses[name]), name


@pytest.mark.usefixtures("empty_refusals")
@pytest.mark.long
def test_draft_is_named_to_nobody_who_only_takes_part(scene: Scene, addresses: dict[str, str]) -> None:
    """Before the track opens, its name and its address reach no member or former member of a team, and no stranger."""
    addresses = addresses | {
        f"api:{name}": f"/api/v1/{name}/" for name in ("me", "tracks", "teams", "tokens")
    }
    Track.objects.filter(pk=scene.track.pk).update(status=Track.Status.DRAFT, name="Unannounced", slug="hush")
    team_services.end_membership(team=scene.theirs, user=scene.other, by=scene.organizer)
    for person in (scene.member, scene.other, scene.stranger):
        client = Client()
        client.force_login(person)

        answers = {name: client.get(address) for name, address in addresses.items()}

        texts = {name: b"".join(answer) for name, answer in answers.items() if answer.status_code == 200}
        assert {name for name, text in texts.items() if b"Unannounced" in text or b"hush" in text} == set()


@pytest.mark.usefixtures("empty_refusals")
@pytest.mark.nightly
def test_names_of_people_do_not_turn_the_text_around_them(scene: Scene, addresses: dict[str, str]) -> None:
    """A name from right to left is isolated, or alone in its element, on each page of an organizer and an assessor."""
    names = ("דנה", "נועה", "יעל")
    for user, name in zip((scene.member, scene.ada, scene.organizer), names, strict=True):
        User.objects.filter(pk=user.pk).update(username=name, first_name="", last_name="")
    apart = re.compile(
        rf"""<bdi[^>]*>[^<]*</bdi>|\u2068[^\u2069]*\u2069|="[^"]*"|>\s*(?:{"|".join(names)})\s*<|<(option|title)\b.*?</\1>"""
    )
    bad = {}
    for person in (scene.organizer, scene.ada):
        reader = Reader()
        reader.force_login(person)
        for address in addresses.values():
            letter(reader.get(address))
        for name, page in reader.named(addresses).items():
            rest = apart.sub("", page.decode())
            if mixed := [line.strip() for line in rest.splitlines() if any(each in line for each in names)]:
                bad[name] = mixed

    assert bad == {}


def for_organizers(page: bytes, address: str) -> set[str]:
    """The places to which a page leads that refuse chairs: of its forms that change something, and its links."""
    text = page.decode()
    forms = [TARGET.search(tag) for tag in FORM.findall(text)]
    sent = {match[1] if match and match[1] else address for match in forms}
    links = {link for _, link in TARGET.findall(text) if link and not link.startswith(("/static", "/help"))}
    return {each for each in sent if _has(each, "is_of_organizers")} | {
        each for each in links if _has(each, "is_form")
    }


@cache
def _has(address: str, mark: str) -> bool:
    try:
        return bool(vars(resolve(address).func).get(mark))
    except (Resolver404, ValueError):
        return False


def is_german(address: str, content: bytes) -> bool:
    """Return whether a page says that it is German, and whether a part of one is translated."""
    if content.startswith(b"<!doctype"):
        return b'lang="de"' in content[:200]
    return readers_of(resolve(urlsplit(address).path).func) == EVERYBODY


@pytest.mark.usefixtures("empty_refusals")
def test_release_opens_a_leaderboard_and_its_pages(scene: Scene, addresses: dict[str, str]) -> None:
    """To all but organizers and chairs, who saw them before; what everybody sees, three people look at."""
    board, clients = scene.track.leaderboards.get(), dict(zip((*PEOPLE, "gone"), readers(scene), strict=True))
    asked = {"public": ["visitor", "member", "assessor"]}

    for level, matrix in RELEASED.items():
        leaderboard_services.release(leaderboard=board, level=level, by=scene.organizer, reason="A test.")
        people = asked.get(level, [person for person in PEOPLE if person not in {"organizer", "chair"}])
        places = [PEOPLE.index(person) for person in people]
        expected = {
            name: "".join(row[place] for place in places) for name, row in expected_of(matrix).items()
        }
        opened = answers([clients[person] for person in people], addresses, expected)
        assert opened == expected, level


def test_every_page_of_the_admin_opens_with_data(scene: Scene, addresses: dict[str, str]) -> None:
    """Lists, and the pages to add and change a row: each shows a page, leads to one of the site, or may not be used."""
    named = {"format": "jsonl", "name": "a.jsonl"}
    Import.objects.create(collection=scene.track.collection, **named)
    TopicImport.objects.create(track=scene.track, size=1, **named)
    topic, by = scene.topics["A.1"], scene.organizer
    Nugget.objects.create(topic=topic, key="k", text="It dances.", creator=by.username, created_by=by)
    NuggetVersion.objects.create(topic=topic, version=1, nuggets=[], frozen_by=by)
    administrator = make_organizer(is_superuser=True)
    for user in (scene.organizer, administrator):
        client = Client()
        client.force_login(user)
        for model, admin in site._registry.items():
            row = model._default_manager.order_by("pk").first()
            assert row is not None, f"no {model.__name__} to open"
            name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
            assert client.get(reverse(f"{name}_changelist")).status_code == 200
            shown = client.get(reverse(f"{name}_change", args=[row.pk]), follow=True)
            assert shown.status_code == 200, model
            added = client.get(reverse(f"{name}_add"), follow=True)
            assert added.status_code == (200 if admin.has_add_permission(added.wsgi_request) else 403), model


def test_admin_is_for_administrators_only(scene: Scene) -> None:
    lists = [
        reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        for model in site._registry
    ]
    addresses = {address: address for address in [reverse("admin:index"), *lists]}
    expected = dict.fromkeys(addresses, "RRRRRR0RR0R")

    assert answers(readers(scene), addresses, expected) == expected


@pytest.mark.browser
@pytest.mark.usefixtures("_chromium", "empty_refusals")  # its start ends the connections of a test
@pytest.mark.nightly
@pytest.mark.parametrize("person", ["ada", "member", "organizer"])
def test_axe_finds_no_fault_on_any_page(
    scene: Scene, addresses: dict[str, str], request: pytest.FixtureRequest, person: str
) -> None:
    """The pages are read first, and shown from there, with their own styles and scripts.

    Targets have 24 x 24 px, and an empty form focuses its first missing field.
    """
    reader = Reader()
    reader.force_login(getattr(scene, person))
    for address in addresses.values():
        letter(reader.get(address))
    pages = {f"http://testserver{addresses[name]}": page for name, page in reader.named(addresses).items()}
    browser: Browser = request.getfixturevalue("_chromium")
    page = browser.new_context(reduced_motion="reduce").new_page()

    def answer(route: Route) -> None:
        path = urlsplit(route.request.url).path
        file = finders.find(path.removeprefix("/static/")) if path.startswith("/static/") else None
        if file:
            route.fulfill(path=str(file))
        elif route.request.url in pages and "hx-request" not in route.request.headers:  # for a part of it
            route.fulfill(body=pages[route.request.url], content_type="text/html")
        else:
            route.fulfill(status=404)

    page.route("**", answer)
    faults: dict[str, list[str]] = {}
    for address, content in pages.items():
        if not content.startswith(b"<!doctype"):
            continue
        page.goto(address)
        for width in on_screens(page):
            broken = violations(page) + violations(page, ["target-size"])
            faults |= {f"{address} {width}": broken} if broken else {}
        if silent := page.evaluate(UNFOCUSED):
            faults[address] = silent
    page.context.close()

    assert not faults, "\n".join(f"{where}: {' '.join(broken)}" for where, broken in faults.items())
