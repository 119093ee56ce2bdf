"""Who gets in where: every address of the site, asked for by every sort of person.

The columns are those of `PEOPLE`. 0: the page; 3: forbidden; 4: not found, as if it were not there; 5: an address that
takes forms only; L: sent to the login; R: sent on to another page. A new address without a line here fails a test.
"""

from collections.abc import Iterable, Iterator

import pytest
from django.conf import LazySettings
from django.contrib.admin import site
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from corpus.models import Formula
from jobs import services as jobs
from jobs.models import Job
from pooling.pools import services as pool_services
from scoring.analyses import services as analysis_services
from scoring.leaderboards import services as leaderboard_services
from tests.helpers.factories import make_collection, make_document
from tests.scoring.conftest import Scene, build_scene

pytestmark = pytest.mark.django_db

PEOPLE = ("visitor", "stranger", "member", "rival", "judge", "other judge", "organizer")
LETTERS = {200: "0", 403: "3", 404: "4", 405: "5"}

MATRIX = """
account                                 L000000
assessment:task                   L444044
assessment:back                         L000000
assessment:batch                        L333330
assessment:close                        5555555
assessment:done                         L444044
assessment:guidelines                   L444040
assessment:judging                      L333000
assessment:judgments_csv                L333330
assessment:mine                         L000000
assessment:next                         5555555
assessment:open                         5555555
assessment:own_judgments                L444044
tracks:close_track                      5555555
corpus:collection                       L000000
corpus:collection, of topics            L444000
corpus:collection_imports               L333330
corpus:collections                      L000000
corpus:disagreements                    L333330
corpus:find                             L444444
corpus:find_formula                     L444444
corpus:formula                          L000000
corpus:formulas                         L333330
corpus:import                           L333334
tracks:import_topics                    L333330
corpus:imports                          L333330
jobs:job                              L444440
jobs:jobs                             L000000
tracks:open_track                       5555555
tracks:protocol                         0000000
jobs:retry                            5555555
corpus:start_clustering                 5555555
corpus:start_import                     L333330
corpus:thread                           L000000
corpus:thread, of topics                L444000
tracks:topic                            0000000
tracks:topics                           0000000
tracks:track                            0000000
health                                  0000000
home                                    0000000
login                                   0000000
logout                                  5555555
password_change                         L000000
pooling:make_ids                        5555555
pooling:new_pool                        L333330
pooling:pool                            L333330
pooling:pool_contributions              L333330
pooling:pool_depths                     L333330
pooling:pool_entry                      L333330
pooling:pool_file                       L333330
pooling:pool_member_contributions       L333330
pooling:pool_members                    L333330
pooling:pool_overlap                    L333330
pooling:pool_overlap_file               L333330
pooling:pool_record                     L333330
pooling:pool_topic                      L333330
pooling:pools                           L333330
pooling:preview                         L333330
pooling:run                             L404440
pooling:run_file                        L404440
pooling:runs                            L000330
pooling:submit                          L300330
pooling:withdraw                        L404440
scoring:analyze                         5555555
scoring:analysis_json                   L333330
scoring:analysis_table                  L333330
scoring:compare_leaderboards                          4444440
scoring:reports                         L333330
scoring:report_table                    L333330
scoring:choose_run                    444444R
scoring:compare_runs                         4444440
scoring:topic                           4444440
scoring:topics                          4444440
scoring:choose_leaderboard                   444444R
scoring:evaluation                      4444440
scoring:evaluation_file                 4444440
scoring:freeze                          L333330
scoring:import_qrels                    L333330
scoring:leaderboard                     4444440
scoring:leaderboard_file                4444440
scoring:leaderboards                    0000000
scoring:qrels                           4444440
scoring:qrels_export                    4444440
scoring:qrels_file                      4444440
scoring:qrels_judgments                 L333330
scoring:qrels_list                      0000000
scoring:release                         5555555
scoring:score                           5555555
scoring:topics_file                     4444440
"""
OF_COLLECTIONS = {
    "corpus:collection",
    "corpus:collection_imports",
    "corpus:disagreements",
    "corpus:find",
    "corpus:find_formula",
    "corpus:formulas",
    "corpus:start_clustering",
}
# Once a leaderboard is released: to the track's teams, who open their own runs; then to everybody.
RELEASED = {
    "participants": """
scoring:compare_leaderboards                          4400440
scoring:choose_run                    44R444R
scoring:compare_runs                         4404440
scoring:topic                           4400440
scoring:topics                          4400440
scoring:choose_leaderboard                   44RR44R
scoring:evaluation                      4404440
scoring:evaluation_file                 4404440
scoring:leaderboard                     4400440
scoring:leaderboard_file                4400440
scoring:qrels                           4400440
scoring:qrels_export                    4400440
scoring:qrels_file                      4400440
scoring:topics_file                     4400440
""",
    "public": """
scoring:compare_leaderboards                          0000000
scoring:choose_run                    RRRRRRR
scoring:compare_runs                         0000000
scoring:topic                           0000000
scoring:topics                          0000000
scoring:choose_leaderboard                   RRRRRRR
scoring:evaluation                      0000000
scoring:evaluation_file                 0000000
scoring:leaderboard                     0000000
scoring:leaderboard_file                0000000
scoring:qrels                           0000000
scoring:qrels_file                      0000000
scoring:topics_file                     0000000
""",
}


@pytest.fixture
def scene(db: None, settings: LazySettings, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> Scene:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    return build_scene()


def named() -> Iterator[str]:
    """The names of all addresses but the admin's, which lets nobody but organizers in."""

    def walk(patterns: list[URLPattern | URLResolver], space: str) -> Iterator[str]:
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                yield f"{space}{pattern.name}"
            elif pattern.namespace != "admin":
                yield from walk(pattern.url_patterns, f"{pattern.namespace}:" if pattern.namespace else space)

    yield from walk(get_resolver().url_patterns, "")


def rows_of(matrix: str) -> dict[str, str]:
    return {name.rstrip(): row for name, row in (line.rsplit(" ", 1) for line in matrix.strip().splitlines())}


def test_every_address_is_in_the_matrix() -> None:
    listed = {name for name in rows_of(MATRIX) if ", " not in name}

    assert set(named()) == listed


@pytest.fixture
def addresses(scene: Scene) -> dict[str, str]:
    """One address of each name, of things that are there: our team's run, Ada's task, a leaderboard that is hidden."""
    searched, own = make_collection("posts"), make_collection("topics")
    document = make_document(searched, "1")
    Formula.objects.create(collection=searched, code="f.1", post="1", thread="1", place=Formula.Place.TITLE)
    make_document(own, "1")
    scene.track.topic_collection = own
    run = scene.submit(scene.ours, "good", "10 é 9")
    batch = scene.judged("high", "medium", "low")
    task = batch.tasks.earliest("pk")
    board = scene.leaderboard()
    analysis = analysis_services.request(leaderboard=board, kind="topics", by=scene.organizer)
    jobs.run(analysis.job_id)
    job = Job.objects.create(kind="tests.work", title="Work", collection=searched, track=scene.track)
    pool = pool_services.request(track=scene.track, name="built", seed=1, depth={}, by=scene.organizer)
    jobs.run(pool.job_id)
    scene.track.collection = searched
    scene.track.save()
    track = [scene.track.slug]
    arguments: dict[str, list[object]] = {
        "docno": [searched.slug, document.docno],
        "slug code": [*track, "A.1"],
        "job_id": [job.pk],
        "run_id": [run.pk],
        "pool_id": [pool.pk],
        "pool_id code": [pool.pk, "A.1"],
        "pool_id entry_id": [pool.pk, pool.entries.earliest("pk").pk],
        "batch_id": [batch.pk],
        "task_id": [task.pk],
        "qrels_id": [board.qrels_id],
        "board_id": [board.pk],
        "board_id kind": [board.pk, "tsv"],
        "board_id other_id": [board.pk, board.pk],
        "board_id code": [board.pk, "A.1"],
        "board_id name kind": [board.pk, "units", "tsv"],
        "analysis_id": [analysis.pk],
        "analysis_id name kind": [analysis.pk, "topics", "csv"],
        "evaluation_id other_id": [board.evaluations.get().pk] * 2,
        "evaluation_id": [board.evaluations.get().pk],
        "evaluation_id kind": [board.evaluations.get().pk, "csv"],
    }
    found = {}
    for name in named():
        wanted = _parameters(name)
        if name == "tracks:protocol":
            found[name] = reverse(name, args=[scene.track.protocol.slug])
        elif name in OF_COLLECTIONS:
            found[name] = reverse(name, args=[searched.slug])
        elif name == "corpus:formula":
            found[name] = reverse(name, args=[searched.slug, "f.1"])
        elif name == "corpus:thread":
            found[name] = reverse(name, args=[searched.slug, document.docno])
        elif not wanted:
            found[name] = reverse(name)
        else:
            found[name] = reverse(name, args=track if wanted == "slug" else arguments[wanted])
    return found | {
        "corpus:collection, of topics": reverse("corpus:collection", args=[own.slug]),
        "corpus:thread, of topics": reverse("corpus:thread", args=[own.slug, "1"]),
    }


def _parameters(name: str) -> str:
    """The names of an address's parts that vary."""
    room, _, short = name.rpartition(":")
    resolver = get_resolver()
    lookup = resolver.namespace_dict[room][1] if room else resolver
    return " ".join(lookup.reverse_dict[short][0][0][1])


def answers(scene: Scene, addresses: dict[str, str], names: Iterable[str]) -> dict[str, str]:
    """What each person is answered at each address, as the matrix writes it."""
    people = (None, scene.stranger, scene.member, scene.other, scene.ada, scene.bob, scene.organizer)
    clients = [Client() for _ in people]
    for client, user in zip(clients, people, strict=True):
        if user is not None:
            client.force_login(user)
    return {name: "".join(_answer(client, addresses[name]) for client in clients) for name in names}


def _answer(client: Client, address: str) -> str:
    answer = client.get(address)
    for _ in answer:  # a file is read to its end, and so closed
        pass
    if answer.status_code == 302:
        return "L" if answer["Location"].startswith("/login/") else "R"
    return LETTERS[answer.status_code]


def test_everybody_gets_in_where_they_may_and_nowhere_else(scene: Scene, addresses: dict[str, str]) -> None:
    expected = rows_of(MATRIX)

    assert answers(scene, addresses, expected) == expected


def test_release_opens_a_leaderboard_and_what_belongs_to_it(scene: Scene, addresses: dict[str, str]) -> None:
    board = scene.track.leaderboards.get()

    for level, matrix in RELEASED.items():
        leaderboard_services.release(leaderboard=board, level=level, by=scene.organizer)
        expected = rows_of(matrix)
        assert answers(scene, addresses, expected) == expected, level


def test_admin_lets_nobody_in_but_organizers(scene: Scene) -> None:
    lists = [
        reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        for model in site._registry
    ]
    addresses = {address: address for address in [reverse("admin:index"), *lists]}

    assert set(answers(scene, addresses, addresses).values()) == {"RRRRRR0"}
