"""Pages of a run on its leaderboard, of the comparison of two runs, and of topics."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from assay.statistics.tukey import tukey_hsd
from pooling.models import Contribution, Run
from scoring.evaluations import selectors as evaluation_selectors
from scoring.leaderboards import topic_pages
from scoring.models import Evaluation, Leaderboard
from scoring.stored_analyses import evaluated, scores_of
from tests.helpers.factories import make_topic
from tests.scoring.conftest import Scene
from tracks.models import Download


@pytest.fixture
def board(scored: Scene) -> Leaderboard:
    """Three runs: a good one, a poor one, and one in the middle."""
    scored.submit(scored.theirs, "middling", "9 10 é")
    return scored.leaderboard()


def of(board: Leaderboard, tag: str) -> Evaluation:
    return board.evaluations.select_related("leaderboard__track__protocol", "run__team").get(run__tag=tag)


def organizer(scene: Scene) -> Client:
    client = Client()
    client.force_login(scene.organizer)
    return client


def test_run_is_compared_with_the_median_and_the_best_of_all_runs(scored: Scene, board: Leaderboard) -> None:
    pages = {
        tag: evaluation_selectors.evaluation_page(scored.organizer, of(board, tag))
        for tag in ("good", "poor", "middling")
    }

    values = sorted(float(page.rows[0].values[0]) for page in pages.values())
    for page in pages.values():
        row = page.rows[0]
        assert (float(row.median), float(row.best)) == (values[1], values[2])
        assert float(row.above) == pytest.approx(float(row.values[0]) - values[1], abs=1e-4)


def test_topics_far_from_the_median_are_named(scored: Scene, board: Leaderboard) -> None:
    wins, losses = evaluation_selectors.evaluation_page(scored.organizer, of(board, "good")).extremes

    assert "A.1" in [topic.topic for topic in wins[1]]
    assert all(float(topic.above) > 0 for topic in wins[1])
    assert all(float(topic.above) < 0 for topic in losses[1])


@pytest.mark.parametrize(("n_lines", "cutoffs"), [(6, ["5", "10"]), (36, ["5", "10", "15"])])
def test_curve_of_precision_ends_where_the_ranks_of_the_run_do(
    scored: Scene, board: Leaderboard, n_lines: int, cutoffs: list[str]
) -> None:
    Run.objects.filter(tag="good").update(n_lines=n_lines, n_topics=3)

    html = organizer(scored).get(of(board, "good").get_absolute_url()).content.decode()

    table = html.partition("<caption>Precision at cutoffs")[2].partition("</table>")[0]
    assert re.findall(r'<th scope="row" class="num">(\d+)</th>', table) == cutoffs


def test_curves_are_those_of_the_protocol(scored: Scene, board: Leaderboard) -> None:
    evaluation = of(board, "good")

    page = evaluation_selectors.evaluation_page(scored.organizer, evaluation)

    # relevant from grade 2: first in A.1 and A.10, second in A.2; all documents are judged
    assert evaluation.curves["precision"][0] == pytest.approx((1 / 5 + 1 / 5 + 1 / 5) / 3)
    assert evaluation.curves["by_recall"][0] == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert page.curves is not None
    assert page.curves.by_recall[0] == ("0.0", "0.8333")


def test_two_runs_are_compared_topic_by_topic(scored: Scene, board: Leaderboard) -> None:
    first, second = of(board, "good"), of(board, "poor")

    page = evaluation_selectors.compare_page(scored.organizer, first, second.pk)
    turned = evaluation_selectors.compare_page(scored.organizer, second, first.pk)

    assert page.tests is not None
    assert turned.tests is not None
    assert page.n_better + page.n_worse + page.n_equal == 3
    assert (page.n_better, page.n_worse) == (turned.n_worse, turned.n_better)
    assert page.tests.randomization == turned.tests.randomization
    assert page.tests.is_exact
    assert 0 < float(page.overlap) < 1
    text = organizer(scored).get(reverse("scoring:compare_runs", args=[first.pk, second.pk])).content.decode()
    assert "Paired randomization" in text
    assert f"<dt>Wilcoxon signed-rank test</dt><dd>p = {page.tests.wilcoxon:.4f}</dd>" in text
    assert page.tests.wilcoxon == turned.tests.wilcoxon == 2 / 8  # better on all three topics
    assert "Among all pairs" in text


def test_comparison_writes_minus_signs_and_a_bare_zero(scored: Scene) -> None:
    scored.submit(scored.ours, "same", "10 é 9")
    board = scored.leaderboard()
    good, same, poor = (of(board, tag) for tag in ("good", "same", "poor"))

    def differences(first: Evaluation, second: Evaluation) -> list[str]:
        address = reverse("scoring:compare_runs", args=[first.pk, second.pk])
        text = " ".join(organizer(scored).get(address).content.decode().split())
        [mean] = re.findall(r'Difference in [^<]*</span><span class="big">([^<]*)<', text)
        return [mean, *re.findall(r'<td class="num">([^<]*)</td> </tr>', text)]

    assert differences(good, same) == ["0"] * 4
    assert {difference[0] for difference in differences(good, poor)} == {"+"}
    assert {difference[0] for difference in differences(poor, good)} == {"\N{MINUS SIGN}"}


def test_pair_has_its_p_value_in_the_test_of_all_pairs(scored: Scene) -> None:
    scored.submit(scored.ours, "middle", "9 10 x")
    board = scored.leaderboard()
    first, second = of(board, "good"), of(board, "poor")
    runs = evaluated(board)
    places = [runs.index(first), runs.index(second)]

    page = evaluation_selectors.compare_page(scored.organizer, first, second.pk)

    test = tukey_hsd(scores_of(board, runs, page.charted), seed=board.seed)
    assert page.tests is not None
    assert page.tests.tukey == test.p[places[0], places[1]]


def test_a_run_against_itself_differs_nowhere(scored: Scene, board: Leaderboard) -> None:
    page = evaluation_selectors.compare_page(scored.organizer, of(board, "good"), of(board, "good").pk)

    assert page.tests is not None
    assert (page.n_equal, page.overlap, page.tests.randomization) == (3, "1.0000", 1.0)
    assert page.tests.t is None


def test_run_without_a_file_is_compared_without_the_overlap(scored: Scene, board: Leaderboard) -> None:
    second = of(board, "poor")
    second.run.columns.storage.delete(second.run.columns.name)

    page = evaluation_selectors.compare_page(scored.organizer, of(board, "good"), second.pk)

    assert page.overlap == ""
    assert len(page.rows) == 3


def test_team_compares_only_its_own_runs(scored: Scene, board: Leaderboard) -> None:
    scored.submit(scored.ours, "second", "9 é")
    released = scored.leaderboard(board.qrels, release="participants")
    client = Client()
    client.force_login(scored.member)
    good, second, poor = (of(released, tag).pk for tag in ("good", "second", "poor"))

    assert client.get(reverse("scoring:compare_runs", args=[good, second])).status_code == 200
    assert client.get(reverse("scoring:compare_runs", args=[good, poor])).status_code == 404
    assert "poor" not in client.get(of(released, "good").get_absolute_url()).content.decode()


def test_the_form_leads_to_the_comparison_and_junk_back(scored: Scene, board: Leaderboard) -> None:
    first, second = of(board, "good"), of(board, "poor")
    address = reverse("scoring:choose_run", args=[first.pk])

    chosen = organizer(scored).get(address, {"other": second.pk})
    junk = organizer(scored).get(address, {"other": "-1"})

    assert chosen["Location"] == reverse("scoring:compare_runs", args=[first.pk, second.pk])
    assert junk["Location"] == first.get_absolute_url()


# -- topics


def test_hardest_topic_is_first(scored: Scene, board: Leaderboard) -> None:
    rows = topic_pages.topics_page(scored.organizer, board).rows
    easiest = topic_pages.topics_page(scored.organizer, board, sort="-mean").rows

    assert [row.mean for row in rows] == sorted(row.mean for row in rows)
    assert [row.label for row in easiest] == [row.label for row in reversed(rows)]
    assert {row.label: (row.n_judged, row.n_relevant) for row in rows} == {
        "A.1": (2, 1),
        "A.10": (2, 1),
        "A.2": (2, 1),
    }


def test_a_topic_shows_every_run_best_first_and_the_grades(scored: Scene, board: Leaderboard) -> None:
    page = topic_pages.topic_page(scored.organizer, board, "A.1")

    values = [float(run.value) for run in page.rows]
    assert len(values) == 3
    assert values == sorted(values, reverse=True)
    assert page.grades == [(3, "High", 1), (0, "Not relevant", 1)]


def test_organizer_sees_units_that_only_one_team_contributed(scored: Scene, board: Leaderboard) -> None:
    entries = {entry.docno: entry for entry in scored.pool.entries.filter(topic=scored.topics["A.1"])}
    runs = {run.tag: run for run in scored.track.runs.all()}
    Contribution.objects.create(entry=entries["10"], run=runs["good"], rank=1)
    Contribution.objects.create(entry=entries["9"], run=runs["good"], rank=2)
    Contribution.objects.create(entry=entries["9"], run=runs["poor"], rank=1)

    page = topic_pages.topic_page(scored.organizer, board, "A.1")

    assert page.unique is not None
    assert [tuple(units) for units in page.unique] == [("Ours", 1, 1), ("Theirs", 0, 0)]


def test_topic_lists_its_documents_with_the_ranks_that_the_reader_may_see(
    scored: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = scored.leaderboard(release="participants")
    entries = {entry.docno: entry for entry in scored.pool.entries.filter(topic=scored.topics["A.1"])}
    for run, ranks in (("good", (1, 2)), ("poor", (2, 1))):
        for docno, rank in zip(("10", "9"), ranks, strict=True):
            Contribution.objects.create(entry=entries[docno], run=scored.track.runs.get(tag=run), rank=rank)
    address = reverse("scoring:topic", args=[board.pk, "A.1"])
    member = Client()
    member.force_login(scored.member)

    of_all, of_team = (
        [(row.docno, row.label, [(run.tag, run.rank) for run in row.runs]) for row in page.context["ranked"]]
        for page in (organizer(scored).get(address), member.get(address))
    )

    assert of_all == [
        ("9", "Not relevant", [("poor", 1), ("good", 2)]),
        ("10", "High", [("good", 1), ("poor", 2)]),
    ]
    assert of_team == [("10", "High", [("good", 1)]), ("9", "Not relevant", [("good", 2)])]
    assert "Rank in each run" in member.get(address).content.decode()
    monkeypatch.setattr(topic_pages, "SHOWN_RUNS", 1)
    monkeypatch.setattr(topic_pages, "ROWS_ON_PAGE", 1)
    short, whole = (organizer(scored).get(address + query) for query in ("", "?runs=all"))
    assert [[run.tag for run in row.runs] for row in short.context["ranked"]] == [["poor"], ["good"]]
    assert len(short.context["rows"]) == 1
    assert short.content.decode().count('href="?runs=all') == 3
    assert [[run.tag for run in row.runs] for row in whole.context["ranked"]] == [
        ["poor", "good"],
        ["good", "poor"],
    ]
    assert len(whole.context["rows"]) == 2


def test_a_team_sees_its_own_runs_on_a_topic_and_no_contributions(scored: Scene) -> None:
    board = scored.leaderboard(release="participants")

    page = topic_pages.topic_page(scored.member, board, "A.1")

    assert [run.row.run.tag for run in page.rows] == ["good"]
    assert page.unique is None
    assert page.n_runs == 2


def test_reader_without_runs_sees_no_ranks_on_the_page_of_a_topic(scored: Scene) -> None:
    address = reverse("scoring:topic", args=[scored.leaderboard(release="public").pk, "A.1"])
    member = Client()
    member.force_login(scored.member)

    own, others = (client.get(address).content.decode() for client in (member, Client()))

    assert "Rank in each run" in own
    assert "The judged units. The ranks of your own runs appear here" in others
    assert "Rank in each run" not in others
    assert '>3 <span class="grade-label">High</span></th>' in " ".join(others.split())
    assert ">Leaderboard</a></li>" in others, "the crumb, without the only version"


def test_titles_of_topics_are_shown_to_those_who_may_see_the_topics(scored: Scene) -> None:
    board = scored.leaderboard(release="participants")
    Download.objects.create(track=scored.track, kind="topics", audience="teams")
    member = Client()
    member.force_login(scored.member)

    for address in (
        reverse("scoring:topics", args=[board.pk]),
        of(board, "good").get_absolute_url(),
        board.qrels.get_absolute_url(),
    ):
        assert "Title of A.10" in organizer(scored).get(address).content.decode()
        page = member.get(address).content.decode()
        assert "A.10" in page
        assert "Title of A.10" not in page


def test_topic_missing_from_the_qrels_is_not_found(scored: Scene, board: Leaderboard) -> None:
    assert (
        organizer(scored).get(reverse("scoring:topic", args=[board.pk, "no such/topic"])).status_code == 404
    )


def test_topics_with_odd_codes_have_their_page(scored: Scene) -> None:
    make_topic(scored.track, "a/b?c")
    board = scored.leaderboard(scored.qrels(b"a/b?c 0 10 3\nA.1 0 10 3\n"))
    client = organizer(scored)

    assert client.get(reverse("scoring:topics", args=[board.pk])).status_code == 200
    assert client.get(of(board, "good").get_absolute_url()).status_code == 200
    assert client.get(reverse("scoring:topic", args=[board.pk, "a/b?c"])).status_code == 200
