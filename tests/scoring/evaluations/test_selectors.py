import hashlib

import pytest
from pytest_django import DjangoAssertNumQueries

from participation.models import Team
from scoring.evaluations import selectors as evaluation_selectors
from scoring.leaderboards import selectors as leaderboard_selectors
from scoring.qrels import selectors as qrels_selectors
from scoring.selectors import leaderboards_for
from tests.helpers.factories import make_user
from tests.scoring.conftest import Scene


def shown_runs(page: dict[str, object]) -> list[str]:
    rows = page.rows
    assert isinstance(rows, list)
    return [row.run.tag for row in rows]


@pytest.fixture
def many(scored: Scene) -> Scene:
    """The good and the poor run and ten that tie with the good one, by team and tag before and after it."""
    for n in range(10):
        team = scored.ours if n % 2 else scored.theirs
        scored.submit(team, f"tie-{n}", f"10 é 9 extra-{n}")
    return scored


def test_the_leaderboard_is_sorted_by_its_first_measure_and_ties_by_team_and_tag(many: Scene) -> None:
    page = leaderboard_selectors.leaderboard_page(many.organizer, many.leaderboard())

    assert shown_runs(page) == [
        "good",
        *(f"tie-{n}" for n in (1, 3, 5, 7, 9)),
        *(f"tie-{n}" for n in (0, 2, 4, 6, 8)),
        "poor",
    ]


@pytest.mark.parametrize(
    ("sort", "first", "direction"),
    [
        ("", "good", "descending"),
        ("-nDCG'", "poor", "ascending"),
        ("run", "good", "ascending"),
        ("-run", "tie-9", "descending"),
        ("team", "good", "ascending"),
        ("-team", "poor", "descending"),
        ("missing", "good", "descending"),
        ("no such column", "good", "descending"),
    ],
)
def test_the_leaderboard_is_sorted_by_any_column_either_way(
    many: Scene, sort: str, first: str, direction: str
) -> None:
    page = leaderboard_selectors.leaderboard_page(many.organizer, many.leaderboard(), sort)

    assert shown_runs(page)[0] == first
    assert [column.direction for column in page.columns if column.direction] == [direction]


def test_a_heading_asks_for_the_reverse_of_what_is_shown(many: Scene) -> None:
    board = many.leaderboard()

    links = {
        sort: {
            column.label: column.link
            for column in leaderboard_selectors.leaderboard_page(many.organizer, board, sort).columns
        }
        for sort in ("run", "-run")
    }

    assert (links["run"]["Run"], links["-run"]["Run"]) == ("-run", "run")
    assert links["run"]["nDCG'"] == "nDCG'"


def test_every_run_with_the_best_value_is_marked(many: Scene) -> None:
    rows = leaderboard_selectors.leaderboard_page(many.organizer, many.leaderboard()).rows

    assert [row.run.tag for row in rows if not row.cells[0].is_best] == ["poor"]


def test_a_leaderboard_takes_as_many_queries_for_many_runs_as_for_few(
    many: Scene, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    board = leaderboards_for(many.organizer).get(pk=many.leaderboard().pk)

    many.organizer.known_roles = many.organizer.roles  # as those of the user of a request
    with django_assert_num_queries(14):  # one reads the curves that are drawn, which all runs have
        page = leaderboard_selectors.leaderboard_page(many.organizer, board)
    with django_assert_num_queries(11):  # without means, intervals and tiers, which the process has kept
        again = leaderboard_selectors.leaderboard_page(many.organizer, board)

    assert len(page.rows) == 12
    assert [row.cells for row in again.rows] == [row.cells for row in page.rows]


def test_team_sees_its_own_rows_marked_and_opens_only_those(scored: Scene) -> None:
    rows = leaderboard_selectors.leaderboard_page(
        scored.member, scored.leaderboard(release="participants")
    ).rows

    assert [(row.run.tag, row.is_own, row.may_open) for row in rows] == [
        ("good", True, True),
        ("poor", False, False),
    ]


def test_members_of_a_team_of_another_track_are_strangers(scored: Scene) -> None:
    board = scored.leaderboard(release="participants")
    outsider = make_user()
    other = Team.objects.create(track=scored.track, name="Late")
    other.members.add(outsider)
    assert leaderboards_for(outsider).filter(pk=board.pk).exists()

    other.members.remove(outsider)

    assert not leaderboards_for(outsider).exists()


def test_score_file_is_in_the_order_of_runs_topics_and_measures(scored: Scene) -> None:
    board = scored.leaderboard()

    evaluations = evaluation_selectors.evaluations_for(scored.organizer).filter(leaderboard=board)

    content = "".join(evaluation_selectors.score_file(scored.organizer, board, evaluations, "tsv"))

    header, *written = [line.split("\t") for line in content.splitlines()]
    assert header == ["run", "topic", "measure", "value"]
    assert [row[1] for row in written[:20:5]] == ["A.1", "A.10", "A.2", "all"]
    assert [row[2] for row in written[:5]] == board.measures
    assert [row[0] for row in written] == ["good"] * 20 + ["poor"] * 20


def test_a_qrels_page_counts_grades_by_topic(scored: Scene) -> None:
    page = qrels_selectors.qrels_page(
        scored.organizer, scored.qrels(b"A.1 0 a 3\nA.1 0 b 0\nA.1 0 c 0\nA.2 0 a -1\n")
    )

    assert page.grades == [(3, "High"), (0, "Not relevant"), (-1, "pooled, not judged")]
    assert [tuple(row) for row in page.rows] == [("A.1", 3, [1, 2, 0]), ("A.2", 1, [0, 0, 1])]
    assert (page.n_units, page.totals) == (4, [1, 2, 1])


def test_the_file_of_an_imported_version_is_that_of_its_sha256(scored: Scene) -> None:
    qrels = scored.qrels()

    assert hashlib.sha256(qrels_selectors.qrels_tsv(qrels)).hexdigest() == qrels.sha256
