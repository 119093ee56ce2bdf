"""Tables of values of runs, from the machine's judgments and people's."""

from itertools import combinations, pairwise

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
from assay_extensions.estimates.next_units import Next, hour_sentence, next_units
from assay_extensions.estimates.reading import Drawn, Machine
from assay_extensions.estimates.shares import adjusted_share, calibration_sizes
from assay_extensions.estimates.weights import Floats, gains
from assay_extensions.estimates.whole_topics import check_topics, prediction_powered

PILOT = 10
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
        gain = gains(measure, drawn.grade)
        values = corrected(units, drawn.units, probability, gain)
        estimates = [t_interval(row, level=tests.level) for row in values]
        letter = _tiers(values, tests.alpha, tests.permutations, tests.seed)
        alone = corrected(units._replace(gain=np.zeros_like(units.gain)), drawn.units, probability, gain)
        people = [
            (of_people.mean, of_people.low, of_people.high)
            for of_people in (t_interval(row, level=tests.level) for row in alone)
        ]
        estimated += _ranking(measure, inputs, estimates, letter, units.by_machine.mean(axis=1), people)
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
    people: list[tuple[float, float, float]],
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
            *(letter[run], float(by_machine[run]), place[run], *people[run]),
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


def share_tables(machine: Machine, people: Drawn, level: int, plan: int | None = None) -> list[Table]:
    """The share of units of a grade or more among those that people did not judge, by the machine's errors on the rest.

    Args:
        people: what people judged; each unit of a topic had the same chance.
        plan: number of further units for people, to divide into yes and no.

    Raises:
        InputError: People said only yes or no, or judged all units; or the machine is no better than chance.
    """
    says_yes = machine.judged.grade >= level
    is_yes = people.grade >= level
    is_other = np.ones(len(says_yes), dtype=np.bool_)
    is_other[people.units] = False
    n_yes, n_no, n = int(is_yes.sum()), int((~is_yes).sum()), int(is_other.sum())
    if not (n and n_yes and n_no):
        raise InputError(
            f"people say yes to {plural(n_yes, 'unit')} and no to {n_no:,}, and "
            f"{n:,} are left for the machine alone; at least one of each is needed"
        )
    by_machine = float(says_yes[is_other].mean())
    sensitivity = float(says_yes[people.units][is_yes].mean())
    specificity = float((~says_yes[people.units][~is_yes]).mean())
    adjusted = adjusted_share(
        by_machine, n, specificity=specificity, n_no=n_no, sensitivity=sensitivity, n_yes=n_yes
    )
    tables = [
        Table(
            "share",
            f"share of units of grade {level} or more among those that only the machine judged, with its "
            "0.95 interval",
            ("units", "machine", "specificity", "no", "sensitivity", "yes", "share", "low", "high"),
            [(n, by_machine, specificity, n_no, sensitivity, n_yes, *adjusted)],
        )
    ]
    if plan:
        pilot = min(PILOT, n_yes, n_no, plan // 2)
        sizes = calibration_sizes(
            plan, by_machine, specificity=specificity, sensitivity=sensitivity, pilot=pilot
        )
        tables.append(Table("plan", f"how {plural(plan, 'unit')} should be divided", ("no", "yes"), [sizes]))
    return tables


def next_tables(
    machine: Machine, drawn: Drawn, measure: Measure, n: int, *, of_differences: bool = False
) -> tuple[list[Table], Next]:
    """The next units for people, and the intervals that are expected then: of runs, or of neighboring ones.

    Raises:
        InputError: There is no difference, because there are fewer than two runs.
    """
    units, labels = machine.units(measure), [(name, "") for name in machine.inputs.names]
    gain = gains(measure, drawn.grade)
    if of_differences:
        values = corrected(units, drawn.units, drawn.probability[drawn.units], gain)
        order = np.argsort(-values.mean(axis=1), kind="stable")
        if len(order) < 2:
            raise InputError("--differences needs two runs or more")
        labels = [(machine.inputs.names[a], machine.inputs.names[b]) for a, b in pairwise(order.tolist())]
        units = units._replace(weight=units.weight[order[:-1]] - units.weight[order[1:]])
    chosen = next_units(units, machine.judged.grade, drawn.units, drawn.probability, gain, n)
    codes = machine.judged.topics.tolist()
    tables = [
        Table(
            "intervals",
            "half of the 0.95 interval of each run now, and after the units of the table units",
            ("run", "minus", "now", "expected", "sentence"),
            [
                (*label, now, expected, hour_sentence(len(chosen.order), now, expected))
                for label, now, expected in zip(
                    labels, chosen.half_width.tolist(), chosen.expected.tolist(), strict=True
                )
            ],
        ),
        Table(
            "units",
            "units to judge next, the most useful first; judge all of them before the next estimate",
            ("topic", "docno", "machine"),
            [
                (
                    codes[machine.judged.topic[row]],
                    machine.judged.docno[row].decode(),
                    int(machine.judged.grade[row]),
                )
                for row in chosen.order.tolist()
            ],
        ),
    ]
    return tables, chosen
