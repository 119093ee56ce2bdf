"""Tables of the bias of a machine."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.formats.qrels.columns import QrelsColumns, documents
from assay.formats.runs.columns import Ranked
from assay.tables import Cell, Table
from assay_extensions.estimates import bias
from assay_extensions.estimates.difference import Estimate, corrected, t_interval
from assay_extensions.estimates.reading import Drawn, Machine, run_names
from assay_extensions.estimates.weights import Floats, gains


def bias_tables(
    machine: Machine, drawn: Drawn, attributes: Mapping[str, Floats], family: Sequence[str]
) -> list[Table]:
    """Leniency by grade and run, its slopes on attributes of units, and the preference for runs of the family.

    Raises:
        InputError: The family has an unknown run, or all runs.
    """
    judged, names = machine.judged, machine.inputs.names
    has_grade = judged.grade[drawn.units] >= 0  # a unit that the machine skipped has no leniency
    rows, people = drawn.units[has_grade], drawn.grade[has_grade]
    both = bias.Both(
        judged.topic[rows], machine.n_topics, judged.grade[rows], people, drawn.probability[rows]
    )
    rank, _ = machine.best_ranks()
    in_run = np.zeros((len(names), len(judged.topic)), dtype=np.bool_)
    for row, ranked in zip(in_run, machine.runs, strict=True):
        row[judged.locate(ranked).entry] = True
    in_run = in_run[:, rows]
    grades = np.concatenate((judged.grade[judged.grade >= 0], people))
    low, high = (float(grades.min()), float(grades.max())) if len(grades) else bias.ANY
    possible = (low - high, high - low)
    kinds: list[tuple[str, NDArray[np.bool_], tuple[float, float]]] = [
        ("all", np.ones(len(rows), dtype=np.bool_), possible)
    ]
    kinds += [
        (f"machine's grade {grade}", both.machine == grade, (grade - high, grade - low))
        for grade in np.unique(both.machine).tolist()
    ]
    kinds += [
        (f"people's grade {grade}", both.people == grade, (low - grade, high - grade))
        for grade in np.unique(people).tolist()
    ]
    kinds += [(f"run {name}", row, possible) for name, row in zip(names, in_run, strict=True)]
    ranks = {"best rank": np.where(rank > 0, rank, np.nan).astype(np.float64)}
    tables = [
        Table(
            "leniency",
            "mean of the machine's grade minus people's, with its 0.95 interval over topics",
            ("of", "units", "leniency", "low", "high"),
            [(name, *bias.leniency(both, counted, within=ends)) for name, counted, ends in kinds],
        ),
        Table(
            "slopes",
            "change of the leniency if the attribute grows by 1, among units of a topic, with its 0.95 interval",
            ("attribute", "units", "slope", "low", "high"),
            [(name, *bias.slope(both, values[rows])) for name, values in {**ranks, **attributes}.items()],
        ),
        Table(
            "confusion",
            "machine's and people's grades: units that people judged, and the number of all units that these represent",
            ("machine", "people", "units", "of_all"),
            bias.confusion(both),
        ),
    ]
    if family:
        own = run_names(family, names, "--family")
        others = [number for number in range(len(names)) if number not in own]
        if not others:
            raise InputError(
                "--family: name some runs, not all; those of the family are compared with the others"
            )
        preference = bias.preference(both, in_run[own].sum(axis=0), in_run[others].sum(axis=0))
        tables.append(
            Table(
                "preference",
                "leniency on units of the runs of the machine's family, minus that on units of other runs",
                ("units", "difference", "low", "high"),
                [preference],
            )
        )
    return tables


def repeat_table(machine: Machine, again: QrelsColumns) -> Table:
    """The share of units to which the machine gives the same grade twice."""
    rows = np.array([machine.row_of[unit] for unit in documents(again)], dtype=np.int64)
    rows, second = rows[machine.judged.grade[rows] >= 0], again.grade[machine.judged.grade[rows] >= 0]
    first, topic = machine.judged.grade[rows], machine.judged.topic[rows]
    certain = np.ones(len(rows))
    everything = np.ones(len(rows), dtype=np.bool_)
    values = {"same grade": (first == second).astype(np.int64), "second minus first": second - first}
    return Table(
        "repeats",
        "the same machine asked twice: share of equal grades, and mean change, with their 0.95 intervals over topics",
        ("of", "units", "value", "low", "high"),
        [
            (
                name,
                *bias.leniency(
                    bias.Both(
                        topic, machine.n_topics, changed.astype(np.int64), np.zeros_like(rows), certain
                    ),
                    everything,
                ),
            )
            for name, changed in values.items()
        ],
    )


def reranked_table(machine: Machine, drawn: Drawn, runs: Mapping[str, Ranked]) -> Table:
    """The gain of each run in the order of the machine's grades: by the machine, by people, and the difference.

    Only the topics count of which people judged units.

    Raises:
        InputError: A measure is not a sum over ranks.
    """
    topics = np.unique(machine.judged.topic[drawn.units])
    rows: list[tuple[Cell, ...]] = []
    for measure in machine.inputs.measures:
        gain = gains(measure, drawn.grade)
        for name, before in runs.items():
            units = machine.units(measure, [before, bias.reranked(before, machine.judged)])
            values = corrected(units, drawn.units, drawn.probability[drawn.units], gain)
            machine_alone = units.by_machine
            by_machine = (machine_alone[1] - machine_alone[0])[topics]
            by_people = (values[1] - values[0])[topics]
            only_machine = t_interval(by_machine - by_people)
            rows.append(
                (
                    str(measure),
                    name,
                    float(by_machine.mean()),
                    *_without_error(t_interval(by_people)),
                    *_without_error(only_machine),
                )
            )
    return Table(
        "reranked",
        "gain of a run in the order of the machine's grades, by the machine and by people, and what only the machine "
        "sees of it; with 0.95 intervals over topics",
        ("measure", "run", "machine", "people", "people_low", "people_high", "difference", "low", "high"),
        rows,
    )


def _without_error(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.mean, estimate.low, estimate.high
