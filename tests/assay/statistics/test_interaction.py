"""What an interaction changed, computed by hand."""

import pytest

from assay.statistics.interaction import change_by_time, interaction_change

BEFORE = {"T1": 0.2, "T2": 0.5, "T3": 0.0, "T4": 0.1}
AFTER = {"T1": 0.6, "T2": 0.4, "T3": 0.0}  # T4 is missing from the run: 0
SECONDS = {"T1": 100.0, "T2": 30.0, "T9": 5.0}  # T9 is not in the qrels


def test_change_is_over_the_interacted_topics_and_over_all() -> None:
    change = interaction_change(BEFORE, AFTER, SECONDS)

    assert [(each.topic, each.seconds, round(each.change, 9)) for each in change.sessions] == [
        ("T1", 100.0, 0.4), ("T2", 30.0, -0.1)
    ]  # fmt: skip
    assert change.interacted == (2, pytest.approx(0.35), pytest.approx(0.5))
    assert change.interacted.change == pytest.approx(0.15)
    assert change.all_topics == (4, pytest.approx(0.2), pytest.approx(0.25))
    assert change.mean_seconds == 65.0


def test_change_by_the_time_used() -> None:
    points = change_by_time(interaction_change(BEFORE, AFTER, SECONDS).sessions, 120)

    assert [point.seconds for point in points] == [15, 30, 45, 60, 75, 90, 105, 120]
    assert [point.n_sessions for point in points] == [0, 1, 1, 1, 1, 1, 2, 2]
    assert points[0].change is None
    assert points[1].change == pytest.approx(-0.1)
    assert points[7].change == pytest.approx(0.15)


def test_no_session_changes_nothing() -> None:
    change = interaction_change(BEFORE, AFTER, {})

    assert (change.sessions, change.interacted, change.mean_seconds) == ([], (0, 0.0, 0.0), 0.0)
