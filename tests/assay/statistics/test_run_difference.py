"""Two runs compared by their documents."""

import numpy as np
import pytest

from assay.formats.runs.columns import RunColumns
from assay.statistics.rank_correlation import topics_of_both
from assay.statistics.run_difference import DEPTHS, difference_of_topic, moves_of_topic


def run(ranking: dict[str, str]) -> RunColumns:
    """A run with the documents of each topic, separated by spaces."""
    rows = [(n, docno) for n, topic in enumerate(sorted(ranking)) for docno in ranking[topic].split()]
    n = len(rows)
    return RunColumns(
        topics=np.array(sorted(ranking), dtype=np.str_),
        topic_index=np.array([topic for topic, _ in rows], dtype=np.int32),
        docno=np.array([docno.encode() for _, docno in rows]),
        rank=np.zeros(n, dtype=np.int32),
        score=-np.arange(n, dtype=np.float64),
    )


def test_equal_rankings_overlap_completely() -> None:
    difference = difference_of_topic(run({"1": "a b c"}), run({"1": "a b c"}), "1")

    assert difference.is_equal
    assert difference.overlap == (1.0,) * len(DEPTHS)
    assert difference.rbo == pytest.approx(1.0)


def test_overlap_is_a_share_of_the_longer_ranking_to_that_depth() -> None:
    difference = difference_of_topic(run({"1": "a b c d e f"}), run({"1": "b a x"}), "1")

    assert dict(zip(DEPTHS, difference.overlap, strict=True)) == pytest.approx(
        {1: 0.0, 5: 2 / 5, 10: 2 / 6, 20: 2 / 6, 50: 2 / 6, 100: 2 / 6, 1000: 2 / 6}
    )
    assert (difference.n_first, difference.n_second, difference.n_common) == (6, 3, 2)


def test_topic_of_one_run_has_nothing_in_common() -> None:
    first, second = run({"1": "a"}), run({"2": "a"})

    assert topics_of_both(first, second) == ["1", "2"]
    difference = difference_of_topic(first, second, "2")
    assert (difference.n_common, difference.rbo, difference.overlap[0]) == (0, 0.0, 0.0)


def test_moves_name_the_ranks_of_both_runs() -> None:
    moves = moves_of_topic(run({"1": "a b c"}), run({"1": "c d a"}), "1", k=2)

    assert moves == [("a", 1, 3), ("b", 2, None), ("c", 3, 1), ("d", None, 2)]
