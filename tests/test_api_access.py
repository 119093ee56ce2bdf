"""Access to the API, with a token: every method of every endpoint, for every kind of person.

The columns are those of `PEOPLE`, then those of `SCOPES`: tokens of an organizer with one scope. 0: let in, whatever
the endpoint then says about the content; 1: not authenticated; 3: forbidden; 4: not found, as if it did not exist. An
endpoint without a row fails a test.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.urls import ResolverMatch, URLPattern, URLResolver, get_resolver, resolve, reverse
from django.utils import timezone

from accounts.models import Token, User
from accounts.tokens import digest_of
from assay_extensions.estimates.site.models import Estimate, Sample
from assay_extensions.machines.site.models import JudgeRecord
from assessment.models import GoldUnit
from jobs import services as jobs
from jobs.models import Job
from participation.invitations.services import Place, Terms, invite
from participation.models import JoinRequest
from pooling.models import Nugget
from scoring.models import Analysis
from tests.helpers.api import api, call, make_token
from tests.helpers.candidates import make_candidate
from tests.helpers.database import n_written
from tests.helpers.factories import (
    make_archive,
    make_collection,
    make_document,
    make_loaded_archive,
    make_organizer,
    make_track,
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
from tests.scoring.conftest import Scene, build_scene
from tests.test_access import NOTED, Visited, known
from tracks.models import Download, Organizer, Track
from web.addresses import OF_TRACK, WAYS, belongs_to_track, names_job
from web.models import Scope

pytestmark = pytest.mark.django_db

PEOPLE = (
    "visitor",
    "stranger",
    "member",
    "member of another team",
    "assessor",
    "other assessor",
    "organizer",
    "deactivated organizer",
    "chair",
    "organizer of another track",
    "administrator",
)
SCOPES = Scope.values
LETTERS = {401: "1", 403: "3", 404: "4"}
LET_IN = {200, 201, 202, 204, 400, 409, 415, 422}

# method, name                           people   scopes
MATRIX = """
GET build                                13333341344 4333
GET build_file                           13333341344 4333
GET collection                           10000001000 0333
GET collections                          10000001000 0333
GET document                             10000001000 0333
GET job                                  14444401440 0333
GET jobs                                 10000001000 0333
GET me                                   10000001000 0000
GET people                               13333301330 0333
GET person                               13333301330 0333
GET pool                                 13333301043 0333
GET pool_entries                         13333301043 0333
GET pools                                13333301043 0333
GET run                                  14044401044 0033
GET run_file                             14044401044 0033
GET run_report                           14044401044 0033
GET runs                                 10003301000 0033
GET team                                 14044401040 0333
GET teams                                10000001000 0333
GET thread                               10000001000 0333
GET threads                              10000001000 0333
GET topic                                00000001000 0333
GET topics                               00000001000 0333
GET downloads                            00000001000 0333
GET download                             00000001000 0333
GET track                                00000001000 0333
GET tracks                               00000001000 0333
PATCH me                                 10000001000 3330
PATCH run                                14044401344 3033
PATCH topic                              13333301343 3330
PATCH team                               14044401340 3330
POST check_run                           13003301333 3033
POST close_track                         13333301343 3330
POST baselines                           13333301343 3330
DELETE build                             13333341344 3334
POST change_build                        13333341344 3334
POST build_collection                    13333301300 3330
POST disqualify_run                      13333301343 3330
POST fusions                             13333301343 3330
POST offer_baseline                      13333301343 3330
POST move_run                            14044401344 3033
POST open_track                          13333301343 3330
POST back_to_draft                       13333301343 3330
POST reinstate_run                       13333301343 3330
POST pools                               13333301343 3330
POST cancel_job                          14444401440 3330
POST retry_job                           14444401440 3330
GET tokens                               10000001000 0333
POST tokens                              10000001000 3330
POST revoke_token                        14444401444 3330
GET machine_tokens                       13333301043 0333
POST machine_tokens                      13333301343 3330
POST revoke_machine_token                13333301343 3330
GET blinding                             13333341443 4333
PUT blinding                             13333301343 3330
GET blinding_package                     13333341443 4333
GET blinding_map                         13333341443 4333
GET machine_judge                        13333301043 0333
PUT machine_judge                        13333301343 3300
GET machine_card                         13333301043 0333
PUT machine_probes                       13333301343 3300
GET leaderboard_judge                    44444441444 4333
GET machine_evidence                     13333301043 0333
DELETE machine_evidence                  13333301343 3330
POST run_machine                         13333301343 3330
POST correct_machine                     13333301343 3330
POST leases                              14440441444 3343
POST renew_lease                         14444441444 3343
POST release_lease                       14444441444 3343
POST lease_judgments                     14444441444 3343
GET assessors                            13333301040 0333
GET protocol                             00000001000 0333
GET protocols                            00000001000 0333
PATCH track                              13333301343 3330
POST assessors                           13333301340 3330
POST import_collection                   13333301300 3330
POST import_topics                       13333301343 3330
POST protocols                           13333301300 3330
POST tracks                              13333301300 3330
GET batches                              10000001000 0333
GET batches_of_track                     13333301043 0333
POST batches_of_track                    13333301343 3330
GET batch                                14440401044 0333
PATCH batch                              13333301343 3330
POST open_batch                          13333301343 3330
POST close_batch                         13333301343 3330
GET assignments                          13333301043 0333
POST assign_topics                       13333301343 3330
POST share_topics                        13333301343 3330
POST submissions                         14440441444 3343
POST next_task                           14440441444 3343
GET open_batches                         10000001000 0303
GET preview                              14444401044 0303
POST join_batch                          14444441444 3343
GET batch_link                           13333301043 0333
POST batch_link                          13333301343 3330
POST revoke_link                         13333341343 3334
GET workers                              13333301043 0333
POST exclude_worker                      13333301343 3330
GET task                                 14440441444 4343
GET task_judgments                       14440441444 4343
POST task_judgments                      14440441444 3343
POST skip_task                           14440441444 3343
POST give_back_task                      14440441444 3343
POST extend_task                         14440441444 3343
POST undo_judgment                       14440441444 3343
GET own_judgments                        14440441444 4333
GET judgments                            13333301043 0333
GET agreement                            13333301043 0333
GET judge_call                           00000001000 0333
PUT judge_call                           13333301343 3330
GET judges                               10000001000 0033
POST judges                              13003301333 3033
GET judge                                14044401044 0033
GET judge_file                           14044401044 0033
POST withdraw_judge                      14044401344 3033
GET judge_boards                         00000001000 0333
POST judge_boards                        13333301343 3330
GET judge_board                          44444401044 0333
GET judge_board_file                     44444401044 0333
POST release_judge_board                 13333301343 3330
GET alt_test                             13333301043 0333
GET estimate_samples                     13333301043 0333
POST estimate_samples                    13333301343 3330
GET estimate_sample_file                 13333301043 0333
GET estimates                            13333301043 0333
POST estimates                           13333301343 3330
GET estimate                             13333301043 0333
GET machines                             13333301043 0333
POST machines                            13333301343 3330
GET machine                              13333301043 0333
POST start_machine                       13333301343 3330
GET qrels_of_track                       00000001000 0333
GET qrels                                44444401044 0333
GET qrels_file                           44444401044 0333
GET complete_topics                      44444401044 0333
POST preview_qrels                       13333301343 3330
POST freeze_qrels                        13333301343 3330
POST score_runs                          13333301343 3330
GET leaderboards                         00000001000 0333
GET leaderboard                          44444401044 0333
GET leaderboard_file                     44444401044 0333
GET battles                              44444441444 4333
GET battles_file                         13333341443 4333
GET systems                              44444441444 4333
GET rubrics                              13333341443 4333
GET graded_answers                       13333341443 4333
GET evaluations                          44444401044 0333
GET later_runs                           14444401044 0033
POST later_runs                          14444401344 3033
GET phases                               00000001000 0033
GET phase_scores                         44444441444 4433
PUT phase_qrels                          13333301343 3330
POST release_leaderboard                 13333301343 3330
GET paper_tables                         13333301043 0333
GET compare_collections                  13333301003 0333
GET evaluation                           44444401044 0333
POST runs                                13003301333 3033
GET owed_runs                            13333301043 0033
POST remind_teams                        13333301343 3033
POST teams                               13333301343 3330
POST withdraw_run                        14044401344 3033
GET people_of_track                      13333301040 0333
POST people_of_track                     13333301340 3330
POST check_people                        13333301340 3330
GET invitations                          13333301340 0333
POST invitations                         13333301340 3330
GET invitation                           13333301340 0333
POST revoke_invitation                   13333301340 3330
POST accept_invitation                   10000001000 3000
GET join_requests                        10000001000 0333
POST join_requests                       10000001300 3030
GET join_request                         14444401040 0333
POST accept_join_request                 14444401340 3330
POST refuse_join_request                 14444401340 3330
GET deadlines                            00000001000 0333
GET sessions                             14444441444 4433
PUT deadlines                            13333301343 3330
GET milestones                           00000001000 0333
PUT milestones                           13333301343 3330
GET dual_batches                         13333301043 0333
POST dual_batches                        13333301343 3330
POST training_batches                    13333301343 3330
POST adjudication_batches                13333301343 3330
GET team_documents                       00000001000 0333
GET team_documents_zip                   13333301043 0333
POST upload_team_document                14044401344 3030
GET team_document                        44044401044 0333
GET team_document_file                   44044401044 0333
PATCH team_document                      14044401344 3030
DELETE team_document                     14044401344 3030
GET announcements                        00000001000 0333
POST announcements                       13333301343 3330
GET announcement                         00000001000 0333
PATCH announcement                       13333301343 3330
POST withdraw_announcement               13333301343 3330
GET announcement_mails                   13333301043 0333
GET data_agreement                       00000001000 0333
POST publish_data_agreement              13333301343 3330
POST withdraw_data_agreement             13333301343 3330
POST accept_data_agreement               10000001300 3030
GET guidelines                           14440001044 0333
GET guidelines_draft                     13333301043 0333
PUT guidelines_draft                     13333301343 3330
POST publish_guidelines                  13333301343 3330
POST clone_track                         13333301343 3330
GET archives                             13333301043 0333
POST archives                            13333301343 3330
GET archive                              13333301043 0333
DELETE archive                           13333301343 3330
GET archive_file                         13333301043 0333
POST load_archive                        13333301300 3330
POST fetch_collection                    13333301300 3330
GET loaded_archive                       14444401440 0333
GET published_runs                       00000001000 0333
GET published_runs_file                  44444441444 4333
POST publish_runs                        13333301343 3330
POST withdraw_published_runs             13333301343 3330
PUT consent                              14044401340 3030
GET project_imports                      13333301300 0333
POST project_imports                     13333301300 3330
GET project_import                       13333301340 0333
PATCH project_import                     13333301340 3330
DELETE project_import                    13333301340 3330
POST run_project_import                  13333301340 3330
GET judgment_imports                     13333301043 0333
POST judgment_imports                    13333301343 3330
GET judgment_import                      13333301043 0333
PATCH judgment_import                    13333301343 3330
DELETE judgment_import                   13333301343 3330
POST run_judgment_import                 13333301343 3330
GET download_parts                       13333301043 0333
POST download_parts                      13333301343 3330
GET download_part                        13333301043 0333
PATCH download_part                      13333301343 3330
DELETE download_part                     13333301343 3330
POST export_collection                   13333301343 3330
GET webhooks                             13333301043 0333
POST webhooks                            13333301343 3330
GET webhook                              13333301043 0333
PATCH webhook                            13333301343 3330
DELETE webhook                           13333301343 3330
POST test_webhook                        13333301343 3330
POST renew_webhook_secret                13333301343 3330
POST resend_delivery                     13333301343 3330
GET deliveries                           13333301043 0333
GET fetches                              13333301043 0333
POST cluster_formulas                    13333301330 3330
GET preview_pool                         13333301043 0333
POST preview_pool                        13333301343 3330
POST make_visual_ids                     13333301343 3330
PUT assessor_groups                      13333301340 3330
DELETE assessor                          13333341344 3334
POST plan_sessions                       13333341343 3334
POST take_back_session                   13333341443 3334
POST share_discussion                    13333301343 3330
POST set_outcome                         13333301343 3330
POST return_non_answer                   13333341343 3334
GET board                                13333301043 0333
GET events                               10000001000 0333
GET checks                               13333301043 0333
PUT checks                               13333301343 3330
GET known_grades                         13333301043 0333
POST import_known_grades                 13333301343 3330
POST add_agreed_grades                   13333301343 3330
DELETE known_grade                       13333301343 3330
GET nuggets                              14444441444 4333
POST nuggets                             14444441344 3344
POST merge_nuggets                       14444441344 3344
PATCH nugget                             14444441344 3344
DELETE nugget                            14444441344 3344
POST restore_nugget                      14444441344 3344
GET impact                               14444441444 4333
PUT draft_grade                          14444441344 3344
GET nugget_versions                      13333341443 4333
POST nugget_versions                     13333341343 3334
POST import_nuggets                      13333341343 3334
GET nugget_segments                      13333341443 4333
PUT nugget_segments                      13333341343 3334
GET nuggets_file                         13333341443 4333
POST import_qrels                        13333301343 3330
POST archive_qrels                       13333301343 3330
POST restore_qrels                       13333301343 3330
POST train_with_qrels                    13333301343 3330
POST offer_qrels                         13333301343 3330
GET qrels_judgments                      13333301043 0333
GET scheduled_release                    13333341443 4333
PUT scheduled_release                    13333301343 3330
DELETE scheduled_release                 13333301343 3330
GET analyses                             13333301043 0333
POST analyses                            13333301343 3330
GET analysis                             13333301043 0333
GET export_qrels                         44444401044 0333
POST leave_team                          14044401340 3330
PATCH team_member                        14044401340 3330
DELETE team_member                       14044401340 3330
PUT nominations                          14444441344 3434
PUT system                               14444441344 3434
POST log_sessions                        14444441344 3434
POST session_data                        14444441344 3434
GET session_data                         14444441444 4433
GET discussion                           14444441444 4333
GET disagreements                        13333301043 0333
GET judged_differently                   13333301043 0333
GET board_table                          13333301043 0333
GET check_results                        13333301043 0333
GET export_judgments                     13333301043 0333
GET visual_id_disagreements              13333301300 0333
GET leaderboard_groups                   44444441444 4333
GET leaderboard_classes                  44444401044 0333
GET leaderboard_interaction              44444441444 4333
GET report                               13333301043 0333
GET candidates                           13333301043 0333
POST import_candidates                   13333301343 3330
GET candidate_samples                    10000001000 0333
POST candidate_samples                   13333301343 3330
GET leaks                                13333341443 4333
POST check_leaks                         13333301343 3330
POST accept_leaks                        13333301343 3330
PUT choosers                             13333301343 3330
GET candidate_file                       13333301043 0333
GET next_candidate                       14444401344 0333
POST decide                              14444401344 3300
POST undo_decision                       14444401344 3300
POST settle                              14444401344 3300
POST make_topics                         13333301343 3330
POST topics                              13333301343 3330
POST derive_topics                       13333301343 3330
POST supersede_qrels                     13333301343 3330
DELETE topic                             13333301343 3330
DELETE track                             13333301343 3330
DELETE protocol                          13333301340 3330
DELETE batch                             13333301343 3330
DELETE pool                              13333301343 3330
DELETE team                              13333301343 3330
DELETE collection                        13333301340 3330
GET organizers                           13333301040 0333
PUT organizer                            13333301340 3330
DELETE organizer                         13333341344 3334
"""
OF_COLLECTIONS = (
    "collection",
    "threads",
    "thread",
    "document",
    "cluster_formulas",
    "visual_id_disagreements",
)
# The names of addresses that belong to no track, so that a token of one track is refused there
OUTSIDE = {
    name: reason
    for reason, names in {
        "of the site": "tracks protocols protocol people person me tokens revoke_token events",
        "collections are shared by tracks": "collections collection threads thread document import_collection "
        "build_collection build change_build build_file cluster_formulas visual_id_disagreements",
        "the batches of all tracks": "batches open_batches",
        "the jobs of all tracks": "jobs",
        "a machine sees its own": "renew_lease release_lease lease_judgments",
        "it becomes a track": "load_archive fetch_collection loaded_archive project_imports project_import "
        "run_project_import",
        "several tracks": "compare_collections",
        "it says itself where it leads": "accept_invitation",
    }.items()
    for name in names.split()
}
# but lets it in: these show one track, or what is the same for all
LIMITED = [
    *(("GET", name) for name in ("tracks", "batches", "open_batches", "events")),
    *(("GET", name) for name in ("me", "protocol", "protocols")),
]
ELSEWHERE = {"docs", "schema", "missing"}  # for everyone


@pytest.fixture
def scene(db: None, settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Visited:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    cache.clear()  # of wrong tokens
    return build_called()


@pytest.fixture
def addresses(scene: Visited) -> dict[str, str]:
    return scene.addresses


def patterns(within: URLPattern | URLResolver) -> Iterator[URLPattern]:
    return (pattern for _, pattern in routes(within))


def routes(within: URLPattern | URLResolver, before: str = "") -> Iterator[tuple[str, URLPattern]]:
    """The routes of all patterns, each with that of the groups that it is in."""
    route = before + str(within.pattern)
    if isinstance(within, URLPattern):
        yield route, within
        return
    for pattern in within.url_patterns:
        yield from routes(pattern, route)


def endpoints() -> Iterator[tuple[str, str]]:
    """Method and name of every endpoint."""
    for pattern in patterns(_api()):
        if pattern.name not in ELSEWHERE:
            methods = set(pattern.callback.actions) - {"head"}
            yield from ((method.upper(), str(pattern.name)) for method in methods)


def _api() -> URLResolver:
    return next(p for p in get_resolver().url_patterns if getattr(p, "namespace", "") == "api")


def rows() -> dict[tuple[str, str], str]:
    split = (line.split() for line in MATRIX.strip().splitlines())
    return {(method, name): people + scopes for method, name, people, scopes in split}


def test_every_endpoint_is_in_the_matrix() -> None:
    assert sorted(endpoints()) == sorted(rows())


@remembered
def build_called() -> Visited:
    """The scene with an object of every kind, and one address for each name of an endpoint."""
    scene = build_scene()
    job = Job.objects.create(kind="tests.work", title="Work")
    batch = scene.judged("high", "medium", "low")
    run = scene.submit(scene.ours, "good", "10 é 9")
    board = scene.leaderboard()
    machine = make_machine(scene.track, scene.organizer)
    judged = make_judge(scene.ours, scene.member)
    judge = {"machine": machine, "record": {"model": "made-70b"}, "created_by": scene.organizer}
    JudgeRecord.objects.create(**judge)
    of_sample = {"track": scene.track, "machine": machine, "pool": scene.pool, "created_by": scene.organizer}
    of_machine = Token.objects.get(digest=digest_of(make_token(machine.assessor.user)))
    searched = make_collection("posts")
    document = make_document(searched, "1")
    make_candidate(scene.track, scene.organizer, scene.ada)
    webhook = make_webhook(scene.track, scene.organizer)
    arguments: dict[str, object] = {
        "sample": 1,
        "run_id": run.pk,
        "team_id": scene.ours.pk,
        "pool_id": scene.pool.pk,
        "username": "mia",
        "slug": scene.track.slug,
        "job_id": job.pk,
        "batch_id": batch.pk,
        "task_id": batch.tasks.earliest("pk").pk,
        "document_id": make_team_document(scene.ours, scene.member).pk,
        "announcement_id": make_announcement(scene.track, scene.organizer).pk,
        "invitation_id": invite(place=Place(track=scene.track), terms=Terms(), by=scene.organizer).pk,
        "request_id": JoinRequest.objects.create(track=scene.track, name="Zoe", email="z@example.org").pk,
        "archive_id": make_archive(scene.track, scene.organizer).pk,
        "loaded_id": make_loaded_archive(scene.organizer).pk,
        "upload_id": make_project_import(scene.organizer).pk,
        "import_id": make_import(scene.track, scene.organizer).pk,
        "machine_id": machine.pk,
        "judge_run_id": judged.pk,
        "judge_board_id": make_judge_board(judged, board).board_id,
        "lease_id": 1,
        "sample_id": Sample.objects.create(**of_sample, design="weight", seed=1, batch=batch).pk,
        "estimate_id": Estimate.objects.create(**of_sample).pk,
        "qrels_id": board.qrels_id,
        "board_id": board.pk,
        "evaluation_id": board.evaluations.get().pk,
        "token_id": Token.objects.get(digest=digest_of(make_token(scene.organizer))).pk,
        "code": "A.1",
        "file": f"{scene.track.slug}-topics.tsv",
        "docno": document.docno,
        "key": Download.objects.create(
            track=scene.track, kind="other", name="x", url="https://example.org/x"
        ).pk,
        "unit_id": GoldUnit.objects.create(
            track=scene.track,
            topic=scene.track.topics.get(code="A.1"),
            docno="10",
            grade=1,
            created_by=scene.organizer,
        ).pk,
        "judgment_id": batch.judgments.earliest("pk").pk,
        "analysis_id": Analysis.objects.create(
            leaderboard=board, kind="topics", seed=1, created_by=scene.organizer
        ).pk,
        "session_id": 1,
        "webhook_id": webhook.pk,
        "delivery_key": webhook.deliveries.create(event="webhook.tested").key,
        "nugget_id": Nugget.objects.create(
            topic=scene.track.topics.get(code="A.1"), key="a", text="A", created_by=scene.organizer
        ).pk,
        "answer": "0f",
        "to": "nuggetizer",
        "table": "topics",
        "name": "units",
    }
    scene.track.collection = searched
    scene.track.save()
    slugs = dict.fromkeys(OF_COLLECTIONS, searched.slug) | {"protocol": scene.track.protocol.slug}

    others = {"candidate_file": {"file": "sample.json"}, "revoke_machine_token": {"token_id": of_machine.pk}}

    def address(name: str) -> str:
        own = arguments | {"slug": slugs.get(name, scene.track.slug)} | others.get(name, {})
        return reverse(f"api:{name}", args=[own[parameter] for parameter in _parameters(name)])

    return Visited(**vars(scene), addresses={name: address(name) for _, name in rows()})


def _parameters(name: str) -> list[str]:
    lookup = _api()
    return list(lookup.reverse_dict[name][0][0][1])


@pytest.mark.long
def test_each_person_and_token_does_what_it_may_and_nothing_else(
    scene: Scene, addresses: dict[str, str]
) -> None:
    gone = make_organizer("gone")
    people = (None, *known(scene)[:6], gone, *known(scene)[6:])
    clients = [api(person) for person in people] + [api(scene.organizer, scope) for scope in SCOPES]
    gone.is_active = False
    gone.save()
    Token.objects.update(
        last_used_at=timezone.now()
    )  # or each request, being undone, would note its use again

    answers = {}
    for method, name in rows():
        cache.clear()  # of the wrong token of the deactivated organizer
        before = n_written()
        answers[method, name] = "".join(answer(client, method, addresses[name]) for client in clients)
        assert method != "GET" or {*(n_written() - before)} <= NOTED, name

    assert answers == rows()


def test_token_of_a_track_stays_in_it(scene: Scene, addresses: dict[str, str]) -> None:
    elsewhere = make_track("elsewhere")
    Organizer.objects.get_or_create(track=elsewhere, user=scene.organizer)
    Job.objects.update(subject_path=f"tracks/{scene.track.slug}/")
    own, other = (limited(scene.organizer, track) for track in (scene.track, elsewhere))

    of_organizer = {key: digits[PEOPLE.index("organizer")] for key, digits in rows().items()}
    refused = {key for key in rows() if key[1] in OUTSIDE} - set(LIMITED) | {("POST", "clone_track")}

    in_own = {
        key: answer(own, key[0], addresses[key[1]]) for key in rows() if key in refused or key[0] == "GET"
    }
    in_other = {key: answer(other, key[0], addresses[key[1]]) for key in rows()}

    assert in_own == {key: "3" if key in refused else of_organizer[key] for key in in_own}
    assert in_other == {key: "0" if key in LIMITED else "3" for key in rows()}
    assert [row["slug"] for row in call(other, "GET", "tracks").json()["results"]] == ["elsewhere"]
    assert call(other, "GET", "batches").json()["results"] == []
    assert len(call(own, "GET", "batches").json()["results"]) == 1
    assert [role["track"] for role in call(other, "GET", "me").json()["roles"]] == ["elsewhere"]
    assert call(other, "GET", "track", scene.track.slug).json()["code"] == "token-of-track"


def test_every_operation_and_every_page_of_organizers_names_a_track_or_says_why_not(
    addresses: dict[str, str],
) -> None:
    matches = {name: resolve(address) for name, address in addresses.items()}
    outside = {name for name, match in matches.items() if not (belongs_to_track(match) or names_job(match))}
    pages = {
        pattern.name
        for route, pattern in routes(get_resolver())
        if vars(pattern.callback).get("is_of_organizers")
        and not any(f":{way}>" in route for way in WAYS)
        and OF_TRACK not in route
    }

    assert outside == set(OUTSIDE)
    assert pages == set()


def limited(user: User, track: Track) -> Client:
    """A client with a token of one track."""
    client = api(user)
    Token.objects.filter(user=user, track_id=None).update(track_id=track.pk)
    return client


def answer(client: Client, method: str, address: str) -> str:
    """The letter of an answer to a request without content. Whatever it changes is undone."""
    with transaction.atomic() if method != "GET" else nullcontext():
        response = client.generic(method, address, b"", content_type="application/json")
        for _ in response:
            pass
        if method != "GET":
            transaction.set_rollback(True)
    if "attachment" in response.get("Content-Disposition", ""):  # so that `test_files` finds it
        assert sends_files(response.resolver_match), address
    return "0" if response.status_code in LET_IN else LETTERS[response.status_code]


def sends_files(match: ResolverMatch) -> bool:
    """Return whether an operation states that it answers with something other than JSON."""
    return "renderer_classes" in match.func.initkwargs
