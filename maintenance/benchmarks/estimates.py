"""A simulation of how often intervals from people and a machine contain the true value: a table for the documentation.

The data are half of the topics of TREC RAG 2025 with the grades of people and of a machine for the same units, and six
made runs, as the tests of the extension have them. Topics are drawn from these, and units of each topic sampled.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.statistics.intervals import t_quantile
from assay_extensions.estimates import designs
from assay_extensions.estimates.difference import corrected, t_interval
from assay_extensions.estimates.next_units import next_units
from assay_extensions.estimates.tests.conftest import rows_of
from assay_extensions.estimates.weights import Units
from assay_extensions.estimates.whole_topics import prediction_powered
from maintenance.benchmarks.harness import SHARED, case

Floats = NDArray[np.float64]
N_TOPICS = 50  # drawn in each repetition
SHARES = (0.02, 0.05, 0.1)


class Data(NamedTuple):
    """Units of a measure with their topics, the machine's grades, and the gains by people and by the machine."""

    units: Units
    grade: NDArray[np.int64]
    gain: Floats


def data(measure: str) -> Data:
    rows = rows_of(SHARED / "data")
    _, topic = np.unique([row["topic"] for row in rows], return_inverse=True)
    people, machine = (np.array([int(row[name]) for row in rows]) for name in ("people", "machine"))
    rank = np.array([[int(row[f"r{n}"] or 0) for row in rows] for n in range(1, 7)])
    is_top = (rank > 0) & (rank <= 20)
    if measure == "DCG@20":
        weight, gains = is_top / np.log2(rank + 1.0 + (rank == 0)), (people, machine)
    else:  # P(rel=2)@20
        weight, gains = is_top / 20, (people >= 2, machine >= 2)
    of_people, of_machine = (gain.astype(np.float64) for gain in gains)
    return Data(Units(topic, int(topic.max()) + 1, weight, of_machine), machine, of_people)


class Coverage(NamedTuple):
    """The least and the greatest coverage of the runs; the width of their intervals, relative to people who judge all.

    `tau` is Kendall's, of the order of the runs by the estimates and their true order; `alone` by the machine alone.
    """

    least: float
    most: float
    width: float
    tau: float
    alone: float


def coverage(measure: str, share: float, *, is_by_weight: bool, samples: int, seed: int) -> Coverage:
    (units, _, gain), rng = data(measure), np.random.default_rng(seed)
    truth_by_topic = np.array([np.bincount(units.topic, row * gain, units.n_topics) for row in units.weight])
    drawn = rng.integers(units.n_topics, size=(samples, N_TOPICS))
    values = np.empty((len(truth_by_topic), samples, N_TOPICS))
    for topic in range(units.n_topics):
        rows = np.flatnonzero(units.topic == topic)
        n = max(1, round(share * len(rows)))
        largest = units.weight[:, rows].max(axis=0)
        probability = designs.probabilities(largest, n) if is_by_weight else np.full(len(rows), n / len(rows))
        correction = units.weight[:, rows] / probability * (gain - units.gain)[rows]
        by_machine = units.by_machine[:, topic]
        places = np.nonzero(drawn == topic)
        of_samples = [correction[:, designs.systematic(probability, rng)].sum(axis=1) for _ in places[0]]
        values[:, places[0], places[1]] = by_machine[:, None] + np.array(of_samples).T
    half = t_quantile(0.95, N_TOPICS - 1) * values.std(axis=2, ddof=1) / np.sqrt(N_TOPICS)
    truth = truth_by_topic.mean(axis=1, keepdims=True)
    covers = (np.abs(values.mean(axis=2) - truth) <= half).mean(axis=1)
    of_people = (
        truth_by_topic[:, drawn].std(axis=2, ddof=1) * t_quantile(0.95, N_TOPICS - 1) / np.sqrt(N_TOPICS)
    )
    width = half.mean(axis=1) / of_people.mean(axis=1)
    first, second = np.triu_indices(len(truth), 1)
    order = np.sign(truth[first] - truth[second])

    def tau(means: Floats) -> float:
        return float((np.sign(means[first] - means[second]) * order).mean())

    alone = tau(units.by_machine[:, drawn].mean(axis=2))
    return Coverage(
        float(covers.min()), float(covers.max()), float(np.median(width)), tau(values.mean(axis=2)), alone
    )


def whole_topics(n: int, *, samples: int, seed: int) -> tuple[float, float, float, float]:
    """Coverage and half width of cross-fitted estimates with n topics of people, and of people alone.

    The measure is the share of units of grade 2 or more; 77 topics are drawn.
    """
    (units, grade, gain), rng = data("P"), np.random.default_rng(seed)
    sizes = np.bincount(units.topic)
    people = np.bincount(units.topic, gain) / sizes
    machine = np.bincount(units.topic, grade >= 2) / sizes
    truth, counts, halves = float(people.mean()), [0, 0], [0.0, 0.0]
    for _ in range(samples):
        own, others = np.split(rng.integers(units.n_topics, size=77), [n])
        estimates = prediction_powered(people[own], machine[own], machine[others]), t_interval(people[own])
        for number, estimate in enumerate(estimates):
            counts[number] += estimate.low <= truth <= estimate.high
            halves[number] += (estimate.high - estimate.low) / 2
    return counts[0] / samples, halves[0] / samples, counts[1] / samples, halves[1] / samples


def next_hour(measure: str, share: float, n: int, *, samples: int, seed: int) -> tuple[float, float]:
    """Width of the interval after n more units, relative to the width before: as expected, and as it came."""
    units, grade, gain = data(measure)
    expected, actual = [], []
    for number in range(samples):
        sample = designs.by_weight(units.weight, units.topic, units.n_topics, share=share, seed=seed + number)
        chosen = next_units(units, grade, sample.units, sample.probability, gain[sample.units], n)
        judged = np.union1d(sample.units, chosen.order)
        values = corrected(units, judged, chosen.probability[judged], gain[judged])
        intervals = [t_interval(row) for row in values]
        half = np.array([interval.high - interval.mean for interval in intervals])
        expected.append(chosen.expected / chosen.half_width)
        actual.append(half / chosen.half_width)
    return float(np.mean(expected)), float(np.mean(actual))


def figure(rows: Sequence[tuple[str, str, float, float]], error: float) -> str:
    """An SVG image of coverages: a line of each sample from the least to the greatest of the runs.

    Args:
        rows: measure with the share of units, how they were sampled, and the two coverages.
        error: two standard errors around 95 %, which are shaded.
    """

    def place(share: float) -> float:
        return 220 + 3600 * (share - 0.86)

    height = 24 * len(rows) + 60
    marks = [
        f'<rect width="640" height="{height}" fill="#fff"/>',
        f'<rect x="{place(0.95 - error):.1f}" y="8" width="{7200 * error:.1f}" height="{height - 52}" fill="#e3e8ef"/>',
        f'<line x1="{place(0.95):.1f}" y1="8" x2="{place(0.95):.1f}" y2="{height - 44}" stroke="#555"/>',
    ]
    for n, (sample, how, low, high) in enumerate(rows):
        y, color = 24 * n + 24, "#0b5cad" if how == "by weight" else "#b3460a"
        dashes = "" if how == "by weight" else ' stroke-dasharray="5 3"'
        marks.append(f'<text x="205" y="{y + 4}" text-anchor="end">{escape(sample)}, {how}</text>')
        line = f'x1="{place(low):.1f}" y1="{y}" x2="{place(high):.1f}" y2="{y}"'
        marks.append(f'<line {line} stroke="{color}" stroke-width="4"{dashes}/>')
        marks += [f'<circle cx="{place(end):.1f}" cy="{y}" r="5" fill="{color}"/>' for end in (low, high)]
    for percent in range(86, 98, 2):
        label = f"{percent} %</text>"
        marks.append(f'<text x="{place(percent / 100):.1f}" y="{height - 24}" text-anchor="middle">{label}')
    marks.append(
        f'<text x="436" y="{height - 6}" text-anchor="middle">coverage of the intervals of six runs</text>'
    )
    content = "\n".join(marks)
    head = f'viewBox="0 0 640 {height}" font-family="sans-serif" font-size="13"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {head}>\n{content}\n</svg>\n'


@case
def estimates(*, samples: int = 2000, seed: int = 1, image: str = "") -> None:
    """Simulate how many intervals of the level 0.95 from people and a machine contain the true value.

    The standard error of a coverage of 95 % is 0.5 % with 2,000 samples. The documentation has the tables, and with
    `image` as the name of an SVG file, the figure.
    """
    rows = []
    print("| measure | units of people | sampled | coverage of six runs | width | order | of machine alone |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: |")
    for measure in ("DCG@20", "P(rel=2)@20"):
        for share in SHARES:
            for is_by_weight in (True, False):
                low, high, *numbers = coverage(
                    measure, share, is_by_weight=is_by_weight, samples=samples, seed=seed
                )
                how = "by weight" if is_by_weight else "alike"
                rows.append((f"{measure}, {100 * share:.0f} %", how, low, high))
                others = " | ".join(f"{number:.2f}" for number in numbers)
                print(f"| {measure} | {share:.0%} | {how} | {low:.1%} to {high:.1%} | {others} |")
    if image:
        Path(image).write_text(figure(rows, 2 * (0.95 * 0.05 / samples) ** 0.5))
    print("\n| topics of people | coverage, both | width | coverage, people alone | width |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for n in (4, 8, 16, 32):
        both, half, alone, half_alone = whole_topics(n, samples=2 * samples, seed=seed)
        print(f"| {n} | {both:.1%} | ±{half:.3f} | {alone:.1%} | ±{half_alone:.3f} |")
    print(
        "\n| measure | units before | more units | expected | actual |\n| --- | ---: | ---: | ---: | ---: |"
    )
    for measure in ("DCG@20", "P(rel=2)@20"):
        for share in SHARES:
            for n in (60, 200):
                expected, actual = next_hour(measure, share, n, samples=samples // 4, seed=seed)
                print(f"| {measure} | {share:.0%} | {n} | {expected:.2f} | {actual:.2f} |")
