import json
import math

import numpy as np
import pytest

from assay.statistics.ranking_comparison import ALL, UNLABELED, compare_by_label, compare_rankings
from assay.tables import plain

SCORES = np.array([[0.9, 0.1, 0.5, 0.3], [0.8, 0.3, 0.4, 0.3], [0.1, 0.2, 0.3, 0.3]])
TOPICS = ["A.1", "A.2", "A.3", "A.4"]


def test_runs_are_ranked_by_the_topics_of_each_label() -> None:
    table = compare_by_label(SCORES, TOPICS, {"A.1": "easy", "A.2": "hard", "A.3": "easy", "A.4": "medium"})

    assert table.names == (ALL, "easy", "medium", "hard")
    assert table.n_topics == (4, 2, 1, 1)
    assert table.means[1].tolist() == pytest.approx([0.7, 0.6, 0.2])
    assert table.ranks.tolist() == [[1, 1, 3], [1, 2, 3], [1, 1, 1], [3, 1, 2]]
    assert table.gap.tolist() == pytest.approx([0.1125, 0.25, 0.0, 0.1])
    assert table.tau[1, 3] == pytest.approx(-1 / 3)
    assert math.isnan(table.tau[1, 2])


def test_topics_without_the_label_are_the_last_column() -> None:
    table = compare_by_label(
        SCORES, TOPICS, {"A.1": "proof", "A.2": "concept", "A.9": "not a topic of the runs"}
    )

    assert table.names == (ALL, "concept", "proof", UNLABELED)
    assert table.n_topics == (4, 1, 1, 2)


def test_without_labels_there_is_one_column() -> None:
    assert compare_by_label(SCORES, TOPICS, {}).names == (ALL,)


def test_undefined_values_are_null_in_json() -> None:
    table = compare_rankings(["one", "other"], np.array([[0.5], [0.4]]), [3, 3])

    stored = json.loads(json.dumps(plain(table), allow_nan=False))

    assert stored["tau"] == [[None, None], [None, None]]
    assert stored["gap"] == [None, None]
    assert stored["ranks"] == [[1], [1]]


def test_each_column_needs_a_name() -> None:
    with pytest.raises(ValueError, match="1 names, 2 columns"):
        compare_rankings(["one"], np.zeros((2, 3)), [1, 1])
