import numpy as np
import pytest

from assay.formats.qrels.columns import columns_from
from assay.measures.matching import JudgedDocuments
from assay_extensions.estimates import bias
from tests.helpers.real_files import make_run


def both(lenience: list[int], topic: list[int], probability: list[float] | None = None) -> bias.Both:
    people = np.ones(len(lenience), dtype=np.int64)
    chance = np.array(probability or [1.0] * len(lenience))
    return bias.Both(np.array(topic), max(topic) + 1, people + np.array(lenience), people, chance)


def test_leniency_counts_units_by_the_inverse_of_their_probability() -> None:
    judged = both([1, 0, 1, 0, 2, 0], [0, 0, 1, 1, 2, 2], [0.5, 1.0, 1.0, 1.0, 0.5, 1.0])
    everything = np.ones(6, dtype=np.bool_)
    measured = bias.leniency(judged, everything)
    assert measured.value == pytest.approx((2 + 1 + 4) / (3 + 2 + 3))
    assert measured.low < measured.value < measured.high
    assert measured.units == 6
    nothing = bias.leniency(judged, ~everything)
    assert np.isnan(nothing.value)
    assert np.isnan(nothing.low)


def test_a_planted_slope_is_found_within_topics() -> None:
    rng = np.random.default_rng(1)
    topic = np.repeat(np.arange(20), 30)
    x = rng.normal(size=600) + topic  # topics differ in x, and in leniency the other way
    lenience = np.round(3 * (x - topic) - topic + rng.normal(size=600)).astype(np.int64)
    slope = bias.slope(both(lenience.tolist(), topic.tolist()), x)
    assert slope.value == pytest.approx(3, abs=0.15)
    assert slope.low < 3 < slope.high
    assert slope.high - slope.low < 0.4
    x[:300] = np.nan
    assert bias.slope(both(lenience.tolist(), topic.tolist()), x).units == 300


def test_planted_self_preference_is_found() -> None:
    rng = np.random.default_rng(2)
    topic = np.repeat(np.arange(30), 20)
    is_own = np.tile([1, 0], 300)
    lenience = is_own + rng.integers(-1, 2, 600)
    measured = bias.preference(both(lenience.tolist(), topic.tolist()), is_own, 1 - is_own)
    assert measured.value == pytest.approx(1, abs=0.15)
    assert measured.low > 0.7
    assert measured.units == 600


def test_confusion_has_the_number_of_units_that_a_sample_represents() -> None:
    rows = bias.confusion(both([0, 0, 2], [0, 0, 0], [0.5, 0.25, 1.0]))
    assert rows == [(1, 1, 2, 6.0), (3, 1, 1, 1.0)]


def test_a_run_in_the_order_of_the_machine() -> None:
    run = make_run([("t", name, 9.0 - place) for place, name in enumerate("abcd")] + [("u", "a", 1.0)])
    judged = JudgedDocuments(columns_from([(b"t", b"b", 1), (b"t", b"d", 3), (b"t", b"c", 1)]))
    order = bias.reranked(run, judged)
    assert order.docno.tolist() == [b"d", b"b", b"c", b"a", b"a"]
    assert order.topics.tolist() == ["t", "u"]
