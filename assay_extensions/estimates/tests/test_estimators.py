from typing import Any

import numpy as np
import pytest

from assay.errors import InputError
from assay.measures.scores import score_run
from assay.protocols.measures import parse_measures
from assay_extensions.estimates import designs
from assay_extensions.estimates.difference import corrected, t_interval
from assay_extensions.estimates.next_units import expected_errors, expected_half_widths, next_units
from assay_extensions.estimates.shares import adjusted_share, calibration_sizes
from assay_extensions.estimates.tests.conftest import RUNS, Rag25
from assay_extensions.estimates.weights import check_linear
from assay_extensions.estimates.whole_topics import check_topics, prediction_powered

NAMES = {
    "P@20": "P(rel=2)@20",
    "DCG@20": "DCG@20",
    "CG@20": "CG@20",
    "RBP(0.8)@100": "RBP(p=0.8,max_rel=4)@100",
}
LINEAR = [
    *NAMES.values(),
    "Grade@5",
    "RBP(rel=3)",
    "DCG(dcg=exp-log2)@10",
    "DCG(gains={2:9})",
    "P@10'",
    "DCG'",
]


@pytest.mark.parametrize("name", LINEAR)
def test_weights_and_gains_give_the_values_of_the_measure(rag25: Rag25, name: str) -> None:
    units, _ = rag25.units(name)
    measures = parse_measures([name])
    values = [score_run(run, rag25.machine.judged, measures).values[:, 0] for run in rag25.machine.runs]
    assert np.allclose(units.by_machine, values, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "words"), [("nDCG@10", "not a sum over ranks"), ("AP", "not a sum"), ("RBP", "RBP(max_rel=4)")]
)
def test_other_measures_are_refused(name: str, words: str) -> None:
    with pytest.raises(InputError) as error:
        check_linear(parse_measures([name])[0])
    assert words in str(error.value)


@pytest.mark.parametrize("name", NAMES)
def test_the_difference_estimator_has_the_known_answers(
    rag25: Rag25, known: dict[str, Any], name: str
) -> None:
    answers = known["difference"][name]
    units, gain = rag25.units(NAMES[name])
    values = corrected(units, rag25.sampled, rag25.probability, gain[rag25.sampled])
    for run, row, by_machine in zip(RUNS, values, units.by_machine, strict=True):
        assert [*t_interval(row), by_machine.mean()] == pytest.approx(answers["runs"][run], abs=1e-8)
    of_topics = dict(zip(rag25.machine.judged.topics.tolist(), values[0], strict=True))
    assert of_topics == pytest.approx(answers["U of r1"], abs=1e-8)
    for pair, answer in answers["differences"].items():
        first, second = (RUNS.index(run) for run in pair.split(" - "))
        assert t_interval(values[first] - values[second]) == pytest.approx(answer, abs=1e-8)


def test_a_sample_by_weight_has_the_known_probabilities(rag25: Rag25) -> None:
    units, _ = rag25.units("DCG@20")
    sample = designs.by_weight(units.weight, units.topic, units.n_topics, share=0.05, seed=1)
    assert sample.probability[rag25.sampled] == pytest.approx(rag25.probability, abs=1e-8)
    assert len(sample.units) == len(rag25.sampled)


def test_each_unit_is_sampled_with_its_probability() -> None:
    probability = designs.probabilities(np.array([5.0, 3.0, 1.0, 0.0, 0.0, 1.0]), 3)
    assert probability.sum() == pytest.approx(3)
    assert probability[0] == 1.0
    assert (probability > 0).all()
    rng = np.random.default_rng(3)
    drawn = [designs.systematic(probability, rng) for _ in range(4000)]
    assert {len(units) for units in drawn} == {3}
    often = np.bincount(np.concatenate(drawn), minlength=6) / 4000
    assert np.abs(often - probability).max() < 0.035  # 4.4 standard errors


def test_a_topic_with_few_units_or_no_weights_is_sampled() -> None:
    sample = designs.by_weight(np.zeros((1, 4)), np.array([0, 1, 1, 1]), 3, share=0.4, seed=1)
    assert sample.probability.tolist() == pytest.approx([1.0, 1 / 3, 1 / 3, 1 / 3])
    assert len(sample.units) == 2


def test_strata_get_units_by_size_and_spread() -> None:
    stratum = np.repeat([0, 1, 2], [90, 9, 1])
    sample = designs.stratified(stratum, np.array([1.0, 1.0, 1.0]), 13, seed=1)
    counts = np.bincount(stratum[sample.units])
    assert counts.tolist() == [10, 2, 1]  # at least two, and the whole of a stratum of one
    assert sample.probability[[0, 90, 99]] == pytest.approx([10 / 90, 2 / 9, 1.0])
    more_of_second = designs.allocate(np.array([90, 90]), np.array([1.0, 3.0]), 40)
    assert more_of_second.tolist() == [10, 30]
    assert designs.allocate(np.array([4, 90]), np.array([100.0, 1.0]), 40).tolist() == [4, 36]
    with pytest.raises(InputError, match="4 units are too few for 3 strata; sample at least 5"):
        designs.allocate(np.array([90, 9, 1]), np.ones(3), 4)


def test_half_of_the_topics_are_for_the_fit() -> None:
    is_for_fit = designs.split(11, seed=1)
    assert is_for_fit.sum() == 5
    assert (is_for_fit == designs.split(11, seed=1)).all()


def test_prediction_powered_means_have_the_known_answers(known: dict[str, Any]) -> None:
    for case in known["ppi"].values():
        people, machine, others = (np.array(case[name]) for name in ("people", "machine", "others"))
        estimate = prediction_powered(people, machine, others)
        assert estimate == pytest.approx(case["cross_fitted"], abs=1e-9)
        alone = prediction_powered(people, machine, others[:0])
        assert alone == pytest.approx(case["people_alone"], abs=1e-9)


def test_few_topics_of_people_are_refused() -> None:
    check_topics(8)
    with pytest.raises(InputError, match="people judged 7 topics, and at least 8 are needed"):
        check_topics(7)


def test_shares_have_the_known_answers(known: dict[str, Any]) -> None:
    n_refused = 0
    for case in known["share"]:
        arguments = {
            "specificity": case["q0"],
            "n_no": case["m0"],
            "sensitivity": case["q1"],
            "n_yes": case["m1"],
        }
        level = 1 - case["alpha"]
        if case["q0"] + case["q1"] <= 1:
            n_refused += 1
            with pytest.raises(InputError, match="not better than chance"):
                adjusted_share(case["p"], case["n"], **arguments, level=level)
        else:
            answer = [case["theta"], case["low"], case["high"]]
            assert adjusted_share(case["p"], case["n"], **arguments, level=level) == pytest.approx(
                answer, abs=1e-9
            )
    assert n_refused == 2
    for case in known["allocation"]:
        sizes = calibration_sizes(
            case["m"],
            case["p"],
            specificity=case["q0_pilot"],
            sensitivity=case["q1_pilot"],
            pilot=case["m_pilot"],
        )
        assert list(sizes) == case["m0_m1"]


def test_a_share_of_few_units_is_refused() -> None:
    with pytest.raises(InputError, match="not better than chance"):  # the smoothed sum is 1
        adjusted_share(0.5, 10, specificity=0.5, n_no=2, sensitivity=0.5, n_yes=2)
    with pytest.raises(InputError, match="at least one of each"):
        adjusted_share(0.5, 10, specificity=1.0, n_no=0, sensitivity=1.0, n_yes=2)
    with pytest.raises(InputError, match=r"the share is 1\.5"):
        adjusted_share(1.5, 10, specificity=1.0, n_no=1, sensitivity=1.0, n_yes=2)


def test_the_expected_interval_is_that_of_judging_the_units(rag25: Rag25) -> None:
    """The benchmark `estimates` has many repetitions: the largest difference of the ratios is 0.05."""
    units, gain = rag25.units("DCG@20")
    truth = (units.weight * gain).sum(axis=1) / units.n_topics
    expected, actual, means = [], [], []
    for seed in range(40):
        sample = designs.by_weight(units.weight, units.topic, units.n_topics, share=0.02, seed=seed)
        chosen = next_units(
            units, rag25.machine.judged.grade, sample.units, sample.probability, gain[sample.units], 100
        )
        assert len(chosen.order) == 100
        assert not np.isin(chosen.order, sample.units).any()
        judged = np.union1d(sample.units, chosen.order)
        values = corrected(units, judged, chosen.probability[judged], gain[judged])
        intervals = [t_interval(row) for row in values]
        now = chosen.half_width
        expected.append(chosen.expected / now)
        actual.append(
            [(interval.high - interval.mean) / half for interval, half in zip(intervals, now, strict=True)]
        )
        means.append(values.mean(axis=1))
    assert np.mean(expected) < 0.95
    assert np.mean(actual) == pytest.approx(np.mean(expected), abs=0.06)
    error = np.std(means, axis=0) / np.sqrt(len(means))
    assert (np.abs(np.mean(means, axis=0) - truth) < 4 * error).all()


def test_the_expected_interval_is_not_narrower_than_that_of_topics(rag25: Rag25) -> None:
    """Topics still differ when people have judged everything that counts, as the preview of a sample says."""
    units, gain = rag25.units("DCG@20")
    grades, all_units = rag25.machine.judged.grade, 10**6
    for seed in range(20):
        sample = designs.by_weight(units.weight, units.topic, units.n_topics, share=0.05, seed=seed)
        chosen = next_units(units, grades, sample.units, sample.probability, gain[sample.units], all_units)
        _, whole = expected_half_widths(units, np.zeros(len(gain)), sample.probability)
        assert (chosen.expected >= np.minimum(whole, chosen.half_width) * (1 - 1e-12)).all()


def test_sample_gives_the_interval_that_was_expected(rag25: Rag25) -> None:
    units, gain = rag25.units("DCG@20")
    judged = rag25.machine.judged
    everything = np.arange(len(gain))
    errors = expected_errors(units, judged.grade, everything, np.ones(len(gain)), gain)
    half = []
    for seed in range(60):
        sample = designs.by_weight(units.weight, units.topic, units.n_topics, share=0.05, seed=seed)
        values = corrected(units, sample.units, sample.probability[sample.units], gain[sample.units])
        half.append([(estimate.high - estimate.low) / 2 for estimate in map(t_interval, values)])
    expected, whole = expected_half_widths(units, errors, sample.probability)

    assert (expected > whole).all()
    assert expected.mean() == pytest.approx(np.mean(half), rel=0.15)


def test_all_units_are_next_if_there_are_few(rag25: Rag25) -> None:
    units, gain = rag25.units("P(rel=2)@5")
    sampled = rag25.sampled
    probability = np.full(len(gain), 0.05)
    chosen = next_units(units, rag25.machine.judged.grade, sampled, probability, gain[sampled], 10**6)
    has_weight = units.weight.any(axis=0)
    assert len(chosen.order) == (has_weight & ~np.isin(np.arange(len(gain)), sampled)).sum()
