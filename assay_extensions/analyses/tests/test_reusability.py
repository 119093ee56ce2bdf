import json
from pathlib import Path

import numpy as np
import pytest

from assay.formats.qrels.reader import columns_from, parse_qrels
from assay.formats.runs.columns import RunColumns
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.pools.depth import top_k
from assay.protocols.measures import parse_measures
from assay.statistics.qrels_summary import QrelsSummary, Spread, grades_by_topic, n_from, summarize_qrels
from assay.statistics.rank_correlation import kendall_tau
from assay.tables import plain
from assay_extensions.analyses.reusability import Scoring, depth_curve, leave_one_team_out
from assay_extensions.analyses.topic_stability import default_sizes, topic_stability
from tests.assay.statistics.test_significance import some_scores
from tests.helpers.real_files import make_run, real_qrels

MEASURES = parse_measures(["AP'", "P@2"])
TEAMS = ["Ours", "Theirs", "Ours"]
GRADES = {b"a": 1, b"b": 0, b"c": 2, b"d": 1, b"hand": 2}  # no run found "hand"


def ranking(documents: str, topics: str = "A.1 A.2") -> RunColumns:
    return make_run(
        [
            (topic, docno, 100.0 - rank)
            for topic in topics.split()
            for rank, docno in enumerate(documents.split())
        ]
    )


RUNS = [ranking("a b x"), ranking("b c d"), ranking("b d a")]


def scoring(level: int = 1) -> Scoring:
    rows = [(topic, docno, grade) for topic in (b"A.1", b"A.2") for docno, grade in GRADES.items()]
    return Scoring(RUNS, columns_from(rows), MEASURES, level=level)


def test_units_that_only_one_team_found_are_removed() -> None:
    ours, theirs = leave_one_team_out(scoring(), top_k(RUNS, [2, 2, 2]), TEAMS)

    # pooled at depth 2: a b | b c | b d; only ours: a and d of each topic, only theirs: c
    assert (ours.team, ours.n_pooled, ours.n_judged, ours.n_relevant) == ("Ours", 4, 4, 4)
    assert (theirs.team, theirs.n_pooled, theirs.n_judged, theirs.n_relevant) == ("Theirs", 2, 2, 2)
    assert [change.run for change in ours.changes] == [0, 2]
    assert [change.run for change in theirs.changes] == [1]


def test_all_runs_are_scored_again_without_the_units_of_a_team() -> None:
    whole = scoring()

    ours, _ = leave_one_team_out(whole, top_k(RUNS, [2, 2, 2]), TEAMS)

    rest = [(topic, docno, GRADES[docno]) for topic in (b"A.1", b"A.2") for docno in (b"b", b"c", b"hand")]
    judged = JudgedDocuments(columns_from(rest))
    for change in ours.changes:
        run = RUNS[change.run]
        assert change.after == tuple(score_run(run, judged, MEASURES).means("judged").tolist())
        assert change.before == tuple(whole.means()[0][change.run].tolist())
    first, third = ours.changes
    assert (first.rank_before[1], first.rank_after[1]) == (1, 2)
    assert (third.rank_before[1], third.rank_after[1]) == (1, 2)
    assert ours.tau[1] != 1


def test_level_decides_which_units_are_relevant() -> None:
    ours, theirs = leave_one_team_out(scoring(level=2), top_k(RUNS, [2, 2, 2]), TEAMS)

    assert (ours.n_judged, ours.n_relevant, theirs.n_judged, theirs.n_relevant) == (4, 0, 2, 2)


def test_a_team_without_units_of_its_own_changes_nothing() -> None:
    runs = [RUNS[0], RUNS[0], RUNS[1]]
    whole = Scoring(runs, scoring().qrels, MEASURES)

    first, _ = leave_one_team_out(whole, top_k(runs, [2, 2, 2]), ["One", "Other", "Other"])

    assert (first.n_pooled, first.n_judged) == (0, 0)
    assert first.changes[0].before == first.changes[0].after
    assert first.tau[0] == pytest.approx(1)


def test_topic_that_loses_all_units_still_counts() -> None:
    runs = [ranking("a", "A.1"), ranking("b", "A.1 A.2")]
    qrels = columns_from([(b"A.1", b"a", 1), (b"A.2", b"b", 1)])

    first, _ = leave_one_team_out(Scoring(runs, qrels, MEASURES[:1]), top_k(runs, [1, 1]), ["One", "Other"])

    assert first.changes[0].before == (0.5,)
    assert first.changes[0].after == (0.0,)


def test_run_may_be_pooled_and_not_scored() -> None:
    whole = Scoring(RUNS[:1], scoring().qrels, MEASURES)

    teams = leave_one_team_out(whole, top_k(RUNS, [2, 2, 2]), ["Ours", "Theirs", "Base"], teams=["Ours"])

    assert [(team.team, team.n_judged, len(team.changes)) for team in teams] == [
        ("Base", 2, 0), ("Ours", 2, 1), ("Theirs", 2, 0)
    ]  # fmt: skip


def test_pool_of_other_runs_is_refused() -> None:
    with pytest.raises(ValueError, match="3 runs with 2 teams"):
        leave_one_team_out(scoring(), top_k(RUNS, [2, 2, 2]), TEAMS[:2])
    with pytest.raises(ValueError, match="a pool of 3 runs with 2 teams"):
        leave_one_team_out(scoring(), top_k(RUNS, [2, 2, 2]), TEAMS[:2], teams=TEAMS)


def test_shallower_pools_have_fewer_judgments_and_another_ranking() -> None:
    whole = scoring()
    pools = [(str(depth), top_k(RUNS, [depth] * 3)) for depth in (1, 3)]

    shallow, deep = depth_curve(whole, pools)

    # depth 1: a b; depth 3: a b x c d, but x is not judged
    assert (shallow.label, shallow.n_pooled, shallow.n_judged, shallow.n_relevant) == ("1", 4, 4, 2)
    assert (deep.n_pooled, deep.n_judged, deep.n_relevant) == (10, 8, 6)
    judged = JudgedDocuments(
        columns_from([(t, d, GRADES[d]) for t in (b"A.1", b"A.2") for d in (b"a", b"b")])
    )
    assert shallow.means.tolist() == [
        score_run(run, judged, MEASURES).means("judged").tolist() for run in RUNS
    ]
    assert max(shallow.largest_move) > 0
    assert deep.tau[0] == pytest.approx(1)
    assert deep.largest_move == (0, 0)


def test_progress_is_reported() -> None:
    reports: list[tuple[int, int]] = []

    leave_one_team_out(
        scoring(), top_k(RUNS, [1, 1, 1]), TEAMS, progress=lambda *report: reports.append(report)
    )
    depth_curve(scoring(), [("1", top_k(RUNS, [1, 1, 1]))], progress=lambda *report: reports.append(report))

    assert reports == [(1, 3), (2, 3), (3, 3)] * 2


def test_runs_without_topics_of_the_qrels_score_0() -> None:
    runs = [ranking("a", "Z.1"), ranking("b", "Z.2")]

    teams = leave_one_team_out(
        Scoring(runs, scoring().qrels, MEASURES), top_k(runs, [1, 1]), ["One", "Other"]
    )

    assert [team.n_pooled for team in teams] == [0, 0]
    assert np.isnan(teams[0].tau).all()


def test_results_convert_to_plain_values() -> None:
    runs = [ranking("a", "Z.1"), ranking("b", "Z.2")]
    whole = Scoring(runs, scoring().qrels, MEASURES)
    pool = top_k(runs, [1, 1])

    teams = plain(leave_one_team_out(whole, pool, ["One", "Other"]))
    depths = plain(depth_curve(whole, [("1", pool)]))

    read = json.loads(json.dumps([teams, depths], allow_nan=False))
    assert read[0][0]["tau"] == [None, None]
    assert read[0][0]["changes"][0]["before"] == [0.0, 0.0]
    assert read[1][0]["means"] == [[0.0, 0.0], [0.0, 0.0]]


def test_units_are_counted_by_topic() -> None:
    qrels = parse_qrels(b"B.1 0 a 3\nB.1 0 b 1\nB.1 0 c -1\nB.2 0 a 2\n")

    counts = grades_by_topic(qrels)

    assert counts == {"B.1": {-1: 1, 1: 1, 3: 1}, "B.2": {2: 1}}
    assert [n_from(counts["B.1"], level) for level in (-1, 0, 2)] == [2, 2, 1]
    assert summarize_qrels(qrels, level=2) == QrelsSummary(2, Spread(1, 2, 1.5, 3), Spread(1, 1, 1.0, 2))
    assert plain(summarize_qrels(qrels, level=2))["judged"] == {
        "minimum": 1, "maximum": 2, "mean": 1.5, "total": 3
    }  # fmt: skip


def test_empty_qrels_have_no_units() -> None:
    assert summarize_qrels(columns_from([]), level=1) == QrelsSummary(
        0, Spread(0, 0, 0.0, 0), Spread(0, 0, 0.0, 0)
    )


def test_real_qrels_of_2020_have_their_published_size(data: Path) -> None:
    counts = summarize_qrels(parse_qrels(real_qrels(data).read_bytes()), level=2)

    assert (counts.n_topics, counts.judged.total) == (77, 39_124)
    assert round(counts.judged.mean, 1) == 508.1


def test_formulas_of_2021_have_their_published_size(data: Path) -> None:
    official = data / "arqmath" / "qrels" / "qrels.arqmath-2021-task2-official.txt"

    counts = summarize_qrels(parse_qrels(official.read_bytes()), level=2)

    assert (counts.n_topics, counts.judged.total, counts.relevant.minimum) == (58, 8108, 3)


def test_more_topics_rank_more_like_all_topics() -> None:
    points = topic_stability(some_scores(n_runs=8), seed=1, n_samples=200)

    assert [point.n_topics for point in points] == [5, 10, 15, 20, 25, 30, 35, 40]
    taus = [point.tau for point in points]
    assert taus == sorted(taus)
    assert (points[-1].tau, points[-1].tau_low, points[-1].tau_high) == pytest.approx((1, 1, 1))
    assert all(point.tau_low <= point.tau <= point.tau_high for point in points)


def test_halves_are_compared_up_to_half_of_the_topics() -> None:
    points = topic_stability(some_scores(n_runs=8), seed=1, n_samples=200)

    assert [point.swaps is None for point in points] == [False] * 4 + [True] * 4
    assert [point.split_tau is None for point in points] == [False] * 4 + [True] * 4
    swaps = [point.swaps for point in points[:4]]
    assert swaps == sorted(swaps, reverse=True)
    # without ties, a pair is swapped or not
    assert points[0].split_tau == pytest.approx(1 - 2 * swaps[0])


def test_runs_with_the_same_order_on_every_topic_need_one_topic() -> None:
    scores = np.array([[0.3], [0.2], [0.1]]) + np.linspace(0, 0.5, 12)

    (point,) = topic_stability(scores, seed=1, sizes=[1], n_samples=20)

    assert point == pytest.approx((1, 1, 1, 1, 1, 0))


def test_each_sample_ranks_by_some_of_the_topics() -> None:
    scores = some_scores(n_runs=4, n_topics=3)

    (point,) = topic_stability(scores, seed=1, sizes=[1], n_samples=3000)

    every = [kendall_tau(scores[:, topic], scores.mean(axis=1)) for topic in range(3)]
    assert point.tau == pytest.approx(np.mean(every), abs=0.03)


def test_same_seed_chooses_the_same_topics() -> None:
    scores = some_scores()

    first, again, other = (topic_stability(scores, seed=seed, n_samples=20) for seed in (1, 1, 2))

    assert first == again != other


def test_tau_of_a_single_run_and_of_runs_that_tie_is_0() -> None:
    for scores in (np.ones((1, 4)), np.ones((3, 4))):
        (point,) = topic_stability(scores, seed=1, sizes=[2], n_samples=5)

        assert point == (2, 0, 0, 0, 0, 0)


def test_all_topics_are_the_last_size() -> None:
    assert default_sizes(12) == [5, 10, 12]
    assert default_sizes(3) == [3]


@pytest.mark.parametrize(
    ("sizes", "n_samples", "seed"), [([0], 5, 1), ([41], 5, 1), ([5], 0, 1), ([5], 5, -1)]
)
def test_sizes_samples_and_seeds_out_of_range_are_refused(
    sizes: list[int], n_samples: int, seed: int
) -> None:
    with pytest.raises(ValueError, match=r"sizes|random draws|the seed"):
        topic_stability(some_scores(), seed=seed, sizes=sizes, n_samples=n_samples)
