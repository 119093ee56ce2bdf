import json

import numpy as np
import pytest

from assay.formats.qrels.reader import columns_from
from assay.formats.runs.columns import RunColumns
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.pools.depth import top_k
from assay.protocols.measures import parse_measures
from assay.statistics.reusability import Scoring, depth_curve, leave_one_team_out
from assay.tables import plain
from tests.helpers.real_files import make_run

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
