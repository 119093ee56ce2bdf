"""Rows, tiers and intervals of a leaderboard, its files, and the comparison of two leaderboards."""

import csv
import json
import re
from html import unescape
from io import StringIO
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from assay.formats.qrels.reader import format_qrels, parse_qrels
from jobs import services as jobs
from participation.teams import services as team_services
from pooling.models import Run
from pooling.runs import changes as run_changes
from scoring.leaderboards import comparison
from scoring.leaderboards import selectors as leaderboard_selectors
from scoring.leaderboards.files import leaderboard_file
from scoring.leaderboards.rows import BoardRow
from scoring.leaderboards.services import rescore
from scoring.models import Evaluation, Leaderboard
from scoring.qrels import services as qrels_services
from tests.helpers.database import unguarded
from tests.helpers.factories import make_track
from tests.helpers.remembered import remembered
from tests.scoring.conftest import QRELS, Scene, build_scene, build_scored

N_TOPICS = 12
CODES = [f"T.{n:02}" for n in range(N_TOPICS)]


@remembered
def build_board() -> tuple[Scene, Leaderboard]:
    """Twelve topics with one relevant document each. Two runs retrieve it first, two retrieve it third."""
    scene = build_scene()
    text = "".join(f"{code} 0 hit 3\n{code} 0 miss 0\n{code} 0 junk 0\n" for code in CODES)
    for code in CODES:
        scene.topics[code] = scene.track.topics.create(code=code)
    scene.submit(scene.ours, "first", "hit miss junk other")
    scene.submit(scene.ours, "again", "hit junk miss")
    scene.submit(scene.theirs, "third", "junk miss hit")
    scene.submit(scene.theirs, "base", "junk miss", kind="baseline")
    return scene, scene.leaderboard(scene.qrels(text.encode()))


@pytest.fixture
def built(db: None) -> tuple[Scene, Leaderboard]:
    return build_board()


@pytest.fixture
def scene(db: None, request: pytest.FixtureRequest) -> Scene:
    return request.getfixturevalue("built")[0] if "board" in request.fixturenames else build_scored()


@pytest.fixture
def board(built: tuple[Scene, Leaderboard]) -> Leaderboard:
    return built[1]


def row_of(scene: Scene, board: Leaderboard, tag: str) -> BoardRow:
    return next(row for row in leaderboard_selectors.board_rows(scene.organizer, board) if row.run.tag == tag)


def tags(scene: Scene, board: Leaderboard, show: str, sort: str = "") -> list[str]:
    return [
        row.run.tag for row in leaderboard_selectors.leaderboard_page(scene.organizer, board, sort, show).rows
    ]


def test_runs_that_differ_on_every_topic_are_in_tiers_of_their_own(scene: Scene, board: Leaderboard) -> None:
    tiers = {tag: row_of(scene, board, tag).cells[0].tier for tag in ("first", "again", "third", "base")}

    assert tiers["first"] == tiers["again"]
    assert len({tiers["first"], tiers["third"], tiers["base"]}) == 3


def submit_mixed(scene: Scene) -> None:
    """A run whose values differ from topic to topic."""
    orders = ("hit miss junk", "miss hit junk", "junk miss hit", "hit junk miss")
    lines = [
        f"{code}\t{docno}\t{rank}\t{10 - rank}\tmixed\n"
        for n, code in enumerate(CODES)
        for rank, docno in enumerate(orders[n % len(orders)].split(), 1)
    ]
    scene.submit_lines(scene.ours, "mixed", lines)


def test_interval_contains_its_mean_and_equal_values_have_none(scene: Scene, board: Leaderboard) -> None:
    submit_mixed(scene)

    mixed, third = (row_of(scene, scene.leaderboard(board.qrels), tag).cells[0] for tag in ("mixed", "third"))

    assert float(mixed.low) < float(mixed.text) < float(mixed.high)
    assert (third.low, third.high) == ("", "")


def test_a_run_without_a_judged_document_is_not_comparable(scene: Scene, board: Leaderboard) -> None:
    scene.submit(scene.ours, "alien", "unknown")
    client = Client()
    client.force_login(scene.organizer)

    board = scene.leaderboard(board.qrels)

    cells = row_of(scene, board, "alien").cells
    assert {(cell.low, cell.high, cell.tier) for cell in cells} == {("", "", "not comparable")}
    assert (
        '<td class="tier"><span class="chip">not comparable</span></td>'
        in client.get(board.get_absolute_url()).content.decode()
    )


def test_gain_can_be_over_the_strongest_automatic_baseline_other_than_oracles(
    scene: Scene, board: Leaderboard
) -> None:
    client = Client()
    scene.submit(scene.theirs, "linked-posts", "junk hit", kind="baseline")
    scene.submit(scene.theirs, "tf", "junk miss hit", kind="baseline")
    address = scene.leaderboard(board.qrels).get_absolute_url()
    tables = reverse("papers:tables", args=[scene.track.slug])
    client.force_login(scene.organizer)

    over_all, automatic, of_papers = (
        " ".join(client.get(path).content.decode().split())
        for path in (address, f"{address}?baselines=automatic", f"{tables}?baselines=automatic")
    )

    assert "Above the strongest baseline<" in over_all
    assert "baselines=automatic" in over_all
    assert "Above the strongest automatic baseline without oracles<" in automatic
    assert re.search(r"\+100.0 %</span> <div[^>]*> tf, ", automatic)
    assert "its distance to the strongest automatic baseline without oracles in percent" in of_papers


def test_page_plot_api_and_file_state_the_method_of_the_intervals_and_what_they_are_worth(
    scene: Scene, board: Leaderboard
) -> None:
    submit_mixed(scene)
    board = scene.leaderboard(board.qrels)
    client = Client()
    client.force_login(scene.organizer)
    simulations = "in simulations with 10 topics"
    note = f"Student's t, corrected for skew; {simulations}, 90 to 100 of 100 intervals contain the true mean"

    page = client.get(board.get_absolute_url())
    old = leaderboard_statistics_note(board, n_resamples=10_000)

    assert note in page.context["plot"].title
    assert unescape(" ".join(page.content.decode().split())).count(f"intervals: {note}.") == 1
    assert client.get(f"/api/v1/leaderboards/{board.pk}/").json()["intervals"] == note
    assert json.loads(file_of(scene, board, "json"))["intervals"] == note
    assert (
        old == f"bootstrap over topics, BCa; {simulations}, 80 to 98 of 100 intervals contain the true mean"
    )


def leaderboard_statistics_note(board: Leaderboard, **statistics: Any) -> str:
    """The note of a leaderboard that was made before a method was recorded."""
    shared = {name: board.statistics[name] for name in ("n_topics", "level")}
    return Leaderboard(statistics=shared | statistics).interval_note


def stored_statistics(board: Leaderboard) -> dict[str, list[Any]]:
    return {
        row.measure: [row.low, row.high, row.critical, bytes(row.pairs)] for row in board.by_measure.all()
    }


def test_statistics_depend_on_the_recorded_seed_alone(
    scene: Scene, board: Leaderboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit_mixed(scene)

    def scored_with(seed: int) -> Leaderboard:
        monkeypatch.setattr("scoring.leaderboards.services.secrets.randbelow", lambda n: seed)
        return scene.leaderboard(board.qrels)

    first, again, other = scored_with(7), scored_with(7), scored_with(8)

    assert (first.seed, again.seed, other.seed) == (7, 7, 8)
    assert {row.measure for row in first.by_measure.all()} == set(first.measures)
    assert stored_statistics(first) == stored_statistics(again)
    assert stored_statistics(first) != stored_statistics(other)


def test_shares_of_judged_documents_are_with_the_scores(scene: Scene, board: Leaderboard) -> None:
    first, third = row_of(scene, board, "first"), row_of(scene, board, "third")

    assert (first.judged_at_10, first.unjudged) == ("0.7500", "0.2500")
    assert (third.judged_at_10, third.unjudged) == ("1.0000", "0.0000")


def test_a_baseline_is_marked_with_what_it_is_pooled_as_in_parentheses(
    scene: Scene, board: Leaderboard
) -> None:
    assert row_of(scene, board, "base").pooled_as == "pooled as primary"
    assert row_of(scene, board, "first").pooled_as == "primary"
    rows = csv.DictReader(StringIO(leaderboard_file(board, "tsv")), delimiter="\t")
    kinds = {row["run"]: (row["kind"], row["pooled as"]) for row in rows}
    assert (kinds["base"], kinds["first"]) == (("baseline", "primary"), ("primary", "primary"))


def test_the_best_of_each_team_is_by_the_measure_that_sorts(scene: Scene, board: Leaderboard) -> None:
    assert tags(scene, board, "best") == ["again", "third"]
    assert tags(scene, board, "nonsense") == ["again", "first", "third", "base"]


def test_the_first_of_each_team_is_the_run_that_it_put_first(scene: Scene, board: Leaderboard) -> None:
    assert tags(scene, board, "first") == ["first", "third", "base"]
    again = Run.objects.get(track=scene.track, tag="again")
    run_changes.move(run=again, is_up=True, by=scene.organizer)
    with CaptureQueriesContext(connection) as of_all:
        tags(scene, board, "all")

    with CaptureQueriesContext(connection) as of_first:
        tags(scene, board, "first")

    assert len(of_first) == len(of_all)

    assert tags(scene, board, "first") == ["again", "third", "base"]


def test_runs_of_a_kind_are_shown_with_the_baselines(scene: Scene, board: Leaderboard) -> None:
    scene.submit(scene.ours, "second", "miss hit", kind="alternate")
    with_alternate = scene.leaderboard(board.qrels)

    assert "second" in tags(scene, with_alternate, "all")
    assert tags(scene, with_alternate, "kind-primary") == ["again", "first", "third", "base"]
    kinds = [
        {*leaderboard_selectors.leaderboard_page(scene.organizer, each).filters}
        - {*leaderboard_selectors.FILTERS}
        for each in (with_alternate, board)
    ]
    assert kinds == [{"kind-primary", "kind-alternate"}, set()], "kinds without runs are not offered"


def test_the_page_shows_tiers_intervals_and_how_they_were_made(scene: Scene, board: Leaderboard) -> None:
    client = Client()
    client.force_login(scene.organizer)

    page = client.get(board.get_absolute_url()).content.decode()

    assert "95 % confidence interval" in page
    assert f"seed {board.seed}" in page
    stored = board.by_measure.get(measure=board.measures[0]).tier
    assert sorted(re.findall(r'<td class="tier"><span class="chip(?: gold)?">(\w+)</span>', page)) == sorted(
        stored
    )


def test_a_leaderboard_from_before_there_were_statistics_is_shown_without(
    scene: Scene, board: Leaderboard
) -> None:
    with unguarded():
        board.by_measure.all().delete()
    Leaderboard.objects.filter(pk=board.pk).update(statistics={})
    client = Client()
    client.force_login(scene.organizer)

    page = client.get(board.get_absolute_url()).content.decode()

    assert "confidence interval" not in page
    assert "first" in page


# -- files


def file_of(scene: Scene, board: Leaderboard, kind: str) -> str:
    client = Client()
    client.force_login(scene.organizer)
    answer = client.get(reverse("scoring:leaderboard_file", args=[board.pk, kind]))
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_every_file_has_the_values_of_the_page(scene: Scene, board: Leaderboard) -> None:
    shown = [
        cell.text for row in leaderboard_selectors.board_rows(scene.organizer, board) for cell in row.cells
    ]

    content = json.loads(file_of(scene, board, "json"))
    in_json = [
        f"{run['measures'][name]['value']:.4f}"
        for run in sorted(content["runs"], key=lambda run: (run["team"], run["run"]))
        for name in board.measures
    ]
    in_tex = re.findall(r"\d\.\d{4}", file_of(scene, board, "tex"))

    assert in_json == shown
    assert sorted(in_tex) == sorted(shown)


def test_json_has_the_inputs_of_the_leaderboard(scene: Scene, board: Leaderboard) -> None:
    content = json.loads(file_of(scene, board, "json"))

    qrels = {"version": 1, "machine": None, "sha256": board.qrels.sha256, "topics": N_TOPICS}
    assert content["qrels"] == qrels
    assert (content["seed"], content["protocol"]["sha256"]) == (board.seed, board.protocol_digest)


def test_latex_escapes_names_and_marks_primary_runs_and_baselines(scene: Scene, board: Leaderboard) -> None:
    evil = team_services.create(track=scene.track, name=r"A&B_{50%} \input{x} ~^$#")
    scene.submit(evil, "m_1", "hit")
    written = file_of(scene, scene.leaderboard(board.qrels), "tex")

    assert r"A\&B\_\{50\%\} \textbackslash{}input\{x\} \textasciitilde{}\textasciicircum{}\$\#" in written
    assert r"m\_1 & $\checkmark$ & " in written
    assert r"base & ($\checkmark$) & " in written
    assert r"\toprule" in written
    assert r"nDCG$^\prime$" in written


def test_latex_reads_no_name_as_an_option_of_the_previous_row(scene: Scene, board: Leaderboard) -> None:
    for tag, name in (("m_2", "[9cm]"), ("m_3", "*")):
        team = team_services.create(track=scene.track, name=name)
        scene.submit(team, tag, "hit")
    written = file_of(scene, scene.leaderboard(board.qrels), "tex")

    assert "{[}9cm{]} & m" in written
    assert "{*} & m" in written


# -- comparison


@pytest.fixture
def corrected(scene: Scene, board: Leaderboard) -> Leaderboard:
    """The same runs after a correction: hit and miss of T.00 change places, T.11 is removed, T.01 has a new unit."""
    text = format_qrels(
        parse_qrels(
            "".join(
                f"{code} 0 hit {0 if code == 'T.00' else 3}\n{code} 0 miss {3 if code == 'T.00' else 0}\n"
                f"{code} 0 junk 0\n"
                for code in CODES[:-1]
            ).encode()
            + b"T.01 0 new 1\n"
        )
    )
    return scene.leaderboard(scene.qrels(text))


def test_what_a_new_version_changed_is_counted_by_topic_and_grade(
    scene: Scene, board: Leaderboard, corrected: Leaderboard
) -> None:
    changes = comparison.qrels_changes(board.qrels, corrected.qrels)

    assert (changes.n_added, changes.n_removed, changes.n_regraded) == (1, 3, 2)
    assert (changes.topics_added, changes.topics_removed) == ([], ["T.11"])
    assert [tuple(topic) for topic in changes.by_topic] == [
        ("T.00", 0, 0, 2),
        ("T.01", 1, 0, 0),
        ("T.11", 0, 3, 0),
    ]
    assert dict(changes.grade_changes)[(0, 3)] == 1


def test_changed_units_come_as_people_read_their_ids(scene: Scene) -> None:
    old, new = (
        scene.qrels("".join(f"A.1 0 f{n} {grade}\n" for n in (10, 9, 100)).encode()) for grade in (0, 3)
    )

    changes = comparison.qrels_changes(old, new)

    assert [unit.docno for unit in changes.units] == ["f9", "f10", "f100"]


def test_page_read_while_scores_are_stored_has_no_rows(scene: Scene, board: Leaderboard) -> None:
    board.status, board.statistics = Leaderboard.Status.SCORING, {}  # as read just before the job stored them

    page = leaderboard_selectors.leaderboard_page(scene.organizer, board)

    assert page.rows == []


def test_two_leaderboards_are_compared_run_by_run(
    scene: Scene, board: Leaderboard, corrected: Leaderboard
) -> None:
    client = Client()
    client.force_login(scene.organizer)

    answer = client.get(reverse("scoring:compare_leaderboards", args=[board.pk, corrected.pk]))

    row = next(row for row in answer.context["rows"] if row.tag == "first")
    before, after = row_of(scene, board, "first").cells[0], row_of(scene, corrected, "first").cells[0]
    assert (row.pairs[0].left, row.pairs[0].right) == (before.text, after.text)
    assert float(row.pairs[0].difference) == pytest.approx(after.value - before.value, abs=1e-4)
    assert "Changes of the qrels" in answer.content.decode()


def test_run_on_only_one_leaderboard_has_no_difference(scene: Scene, board: Leaderboard) -> None:
    scene.submit(scene.ours, "late", "hit")
    later = scene.leaderboard(board.qrels)

    page = comparison.comparison_page(scene.organizer, board, later.pk)

    assert (page.n_both, len(page.rows)) == (4, 5)
    assert page.rows[-1].pairs[0].difference == ""
    assert page.changes is None


def test_only_leaderboards_of_the_track_or_with_the_same_runs_are_offered_for_comparison(
    scene: Scene, board: Leaderboard, corrected: Leaderboard
) -> None:
    client = Client()
    client.force_login(scene.organizer)
    offered = []

    def note() -> None:
        offered.append(
            f'<option value="{corrected.pk}"'
            in client.get(board.get_absolute_url()).content.decode().partition('id="other-board"')[2]
        )

    note()
    Leaderboard.objects.filter(pk=corrected.pk).update(track=make_track("trec", protocol="trec-adhoc"))
    note()
    for evaluation in corrected.evaluations.select_related("run"):
        run = evaluation.run
        run.pk, run.tag, run.sha256 = None, f"other-{run.tag}", f"{run.pk:064}"
        run.save()
        Evaluation.objects.filter(pk=evaluation.pk).update(run=run)
    note()

    assert offered == [True, True, False]


def test_team_cannot_compare_its_leaderboard_with_a_hidden_one(
    scene: Scene, board: Leaderboard, corrected: Leaderboard
) -> None:
    Leaderboard.objects.filter(pk=board.pk).update(release="participants", released_at="2026-01-01T00:00Z")
    client = Client()
    client.force_login(scene.member)

    assert (
        client.get(reverse("scoring:compare_leaderboards", args=[board.pk, corrected.pk])).status_code == 404
    )
    assert (
        client.get(reverse("scoring:compare_leaderboards", args=[corrected.pk, board.pk])).status_code == 404
    )
    assert "Compare leaderboards" not in client.get(board.get_absolute_url()).content.decode()


def test_the_form_leads_to_the_page_of_both_the_older_first_and_junk_back(
    scene: Scene, board: Leaderboard, corrected: Leaderboard
) -> None:
    client = Client()
    client.force_login(scene.organizer)
    address = reverse("scoring:choose_leaderboard", args=[board.pk])
    from_newer = reverse("scoring:choose_leaderboard", args=[corrected.pk])

    older = client.get(address, {"other": corrected.pk})
    turned = client.get(from_newer, {"other": board.pk})
    junk = client.get(address, {"other": "1 OR 1"})

    assert older["Location"] == reverse("scoring:compare_leaderboards", args=[board.pk, corrected.pk])
    assert turned["Location"] == older["Location"]
    assert junk["Location"] == board.get_absolute_url()


# -- a new version is scored automatically


def test_new_version_is_scored_if_runs_were_scored_before_and_old_scores_stay(
    scene: Scene, board: Leaderboard
) -> None:
    before = list(board.evaluations.values_list("scores__topic", "scores__measure", "scores__value"))
    made = qrels_services.import_file(
        track=scene.track, columns=parse_qrels(QRELS), file_name="q.txt", by=scene.organizer, name="2"
    )

    again = rescore(qrels=made, by=scene.organizer)
    assert again is not None
    assert again.job is not None
    jobs.run(again.job.pk)

    again.refresh_from_db()
    assert (again.status, again.qrels) == (Leaderboard.Status.READY, made)
    assert again.release == Leaderboard.Release.HIDDEN
    after = list(board.evaluations.values_list("scores__topic", "scores__measure", "scores__value"))
    assert sorted(after) == sorted(before)


def test_the_first_version_waits_until_an_organizer_asks_for_scores(scored: Scene) -> None:
    assert rescore(qrels=scored.qrels(), by=scored.organizer) is None
    assert not Leaderboard.objects.exists()


def test_importing_a_second_version_in_the_browser_begins_its_scoring(
    scene: Scene, board: Leaderboard
) -> None:
    client = Client()
    client.force_login(scene.organizer)
    answer = client.post(
        reverse("scoring:import_qrels", args=[scene.track.slug]),
        {"file": SimpleUploadedFile("q.txt", QRELS), "name": "second"},
        follow=True,
    )

    assert "The runs are being scored against them. Older leaderboards stay" in answer.content.decode()
    assert Leaderboard.objects.filter(qrels__name="second", status="scoring").count() == 1


def test_topics_have_the_units_of_the_newest_qrels_that_the_reader_may_see(scored: Scene) -> None:
    client, visitor = Client(), Client()
    client.force_login(scored.organizer)
    scored.qrels(b"A.1 0 10 3\nA.1 0 9 0\nA.1 0 11 1\n")

    page, of_visitor = (
        " ".join(reader.get(f"/tracks/{scored.track.slug}/topics/").content.decode().split())
        for reader in (client, visitor)
    )

    assert '<td class="num" data-label="Judged">3</td> <td class="num" data-label="Relevant">1</td>' in page
    assert page.count('data-label="Judged">0</td>') == 2
    assert "Judged and relevant units are those of version 1 of the qrels." in page
    assert "Judged" not in of_visitor
