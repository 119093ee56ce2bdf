"""Tables of values of runs, from the machine's judgments and people's."""

from itertools import combinations

import numpy as np

from assay.errors import InputError, plural
from assay.formats.qrels.columns import QrelsColumns
from assay.measures.scores import score_run
from assay.protocols.measures import Measure
from assay.research.comparison import Inputs, Randomness
from assay.statistics.intervals import intervals_of_means
from assay.statistics.leaderboard import possible_range
from assay.statistics.rank_correlation import ranks
from assay.statistics.tukey import letters, tiers, tukey_hsd
from assay.tables import Cell, Table
from assay_extensions.estimates.difference import Estimate, corrected, t_interval
from assay_extensions.estimates.reading import Drawn, Machine
from assay_extensions.estimates.weights import Floats, gains
from assay_extensions.estimates.whole_topics import check_topics, prediction_powered

Rows = list[tuple[Cell, ...]]


def sampled_values(machine: Machine, drawn: Drawn, tests: Randomness) -> list[Table]:
    """Values from a sample of every topic, by the difference estimator.

    Raises:
        InputError: A topic has no unit in the sample.
    """
    inputs = machine.inputs
    estimated: Rows = []
    pairs: Rows = []
    topics: Rows = []
    without = set(range(machine.n_topics)) - set(machine.judged.topic[drawn.units].tolist())
    if without:
        codes = [inputs.judged.topics.tolist()[topic] for topic in sorted(without)]
        raise InputError(
            f"no unit of topic {codes[0]} is in the sample; it must have units of every topic "
            "that the machine judged"
        )
    for measure in inputs.measures:
        units = machine.units(measure)
        probability = drawn.probability[drawn.units]
        values = corrected(units, drawn.units, probability, gains(measure, drawn.grade))
        estimates = [t_interval(row, level=tests.level) for row in values]
        letter = _tiers(values, tests.alpha, tests.permutations, tests.seed)
        estimated += _ranking(
            measure, inputs, estimates, letter, units.by_machine.mean(axis=1), [None] * len(values)
        )
        pairs += [
            (
                str(measure),
                inputs.names[a],
                inputs.names[b],
                *t_interval(values[a] - values[b], level=tests.level),
            )
            for a, b in combinations(range(len(values)), 2)
        ]
        topics += [
            (str(measure), code, name, value)
            for name, row in zip(inputs.names, values.tolist(), strict=True)
            for code, value in zip(inputs.judged.topics.tolist(), row, strict=True)
        ]
    n_units = plural(len(drawn.units), "unit")
    return [
        _ranking_table(
            f"{n_units} judged by people, {len(machine.row_of):,} by the machine", tests.level, estimated
        ),
        _pairs_table(tests.level, pairs),
        Table(
            "topics",
            "estimate of each topic; a single one can be outside of the range of the measure",
            ("measure", "topic", "run", "value"),
            topics,
        ),
    ]


def whole_values(machine: Machine, people: QrelsColumns, tests: Randomness) -> list[Table]:
    """Values from topics that people judged, and others that only the machine judged.

    Raises:
        InputError: People judged too few topics.
    """
    inputs = machine.inputs
    by_people = inputs.judged_by(people)
    place = {code: n for n, code in enumerate(inputs.judged.topics.tolist())}
    own = np.array([place[code] for code in by_people.topics.tolist()], dtype=np.int64)
    others = np.setdiff1d(np.arange(machine.n_topics), own)
    if len(others):
        check_topics(len(own))
    scores = [
        (
            score_run(run, by_people, inputs.measures).values,
            score_run(run, inputs.judged, inputs.measures).values,
        )
        for run in machine.runs
    ]
    estimated: Rows = []
    pairs: Rows = []
    for column, measure in enumerate(inputs.measures):
        of_people = np.array([values[:, column] for values, _ in scores])
        of_machine = np.array([values[:, column] for _, values in scores])

        def combined(people: Floats, machine: Floats) -> Estimate:
            return prediction_powered(people, machine[own], machine[others], level=tests.level)

        alone = intervals_of_means(of_people, level=tests.level, within=possible_range(of_people, measure))
        bounds = list(zip(alone.means.tolist(), alone.low.tolist(), alone.high.tolist(), strict=True))
        if len(others):
            estimates = [combined(*values) for values in zip(of_people, of_machine, strict=True)]
            letter = [""] * len(estimates)
        else:
            estimates = [Estimate(mean, np.nan, low, high) for mean, low, high in bounds]
            letter = _tiers(of_people, tests.alpha, tests.permutations, tests.seed)
        estimated += _ranking(measure, inputs, estimates, letter, of_machine.mean(axis=1), bounds)
        pairs += [
            (
                *(str(measure), inputs.names[a], inputs.names[b]),
                *combined(of_people[a] - of_people[b], of_machine[a] - of_machine[b]),
            )
            for a, b in combinations(range(len(of_people)), 2)
        ]
    judged = f"{plural(len(own), 'topic')} judged by people, {len(others)} by the machine alone"
    return [_ranking_table(judged, tests.level, estimated), _pairs_table(tests.level, pairs)]


def _tiers(values: Floats, alpha: float, permutations: int, seed: int) -> list[str]:
    if len(values) < 2 or values.shape[1] < 2:
        return [""] * len(values)
    test = tukey_hsd(values, n_permutations=permutations, seed=seed)
    return letters(tiers(test, alpha), len(values))


def _ranking(
    measure: Measure,
    inputs: Inputs,
    estimates: list[Estimate],
    letter: list[str],
    by_machine: Floats,
    people: list[tuple[float, float, float]] | list[None],
) -> Rows:
    means = np.array([estimate.mean for estimate in estimates])
    order = np.argsort(-means, kind="stable")
    rank = ranks(means[order]).tolist()
    place = ranks(by_machine).tolist()
    return [
        (
            *(
                str(measure),
                number,
                inputs.names[run],
                estimates[run].mean,
                estimates[run].low,
                estimates[run].high,
            ),
            *(letter[run], float(by_machine[run]), place[run], *(people[run] or (None, None, None))),
        )
        for number, run in zip(rank, order.tolist(), strict=True)
    ]


def _ranking_table(judged: str, level: float, rows: Rows) -> Table:
    return Table(
        "ranking",
        f"estimate with its {level:g} interval from {judged}; runs that share a letter do not differ significantly; "
        "mean and rank by the machine alone; mean and interval by people alone",
        ("measure", "rank", "run", "estimate", "low", "high", "tier", "machine", "machine_rank", "people",
         "people_low", "people_high"),
        rows,
    )  # fmt: skip


def _pairs_table(level: float, rows: Rows) -> Table:
    return Table(
        "differences",
        f"difference of every two runs with its standard error and {level:g} interval, not corrected for their number",
        ("measure", "first", "second", "difference", "error", "low", "high"),
        rows,
    )
