"""The units of a sample: their weights for several measures together, and the strata that they are drawn from."""

from collections.abc import Sequence

import numpy as np

from assay.formats.qrels.columns import QrelsColumns, documents
from assay_extensions.estimates.reading import Machine
from assay_extensions.estimates.weights import Floats, Ints

STRATA = ("grade", "rank", "run")
USUAL = ("grade", "rank")
BANDS = (10, 50)  # ranks: up to 10, up to 50, deeper


def weights_together(machine: Machine) -> Floats:
    """(measures x runs, units) the weights for all measures, of which the largest is 1 for each of them."""
    weights = [machine.units(measure).weight for measure in machine.inputs.measures]
    return np.vstack([rows / max(float(rows.max(initial=0.0)), 1e-300) for rows in weights])


def strata_of(machine: Machine, names: Sequence[str]) -> Ints:
    """(units,) the number of the stratum of each unit."""
    rank, first_run = machine.best_ranks()
    band = np.where(rank > 0, np.searchsorted(BANDS, rank), len(BANDS) + 1)
    columns = {"grade": machine.judged.grade, "rank": band, "run": first_run}
    keys = np.column_stack([columns[name] for name in dict.fromkeys(names)])
    return np.unique(keys, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def spread_of(machine: Machine, stratum: Ints, pilot: QrelsColumns | None) -> Floats:
    """(strata,) the standard deviation of people's minus the machine's grade in a pilot; 1 without one.

    It is computed for each grade of the machine, because a pilot has too few units of each stratum.
    """
    n_strata = int(stratum.max(initial=-1)) + 1
    if pilot is None:
        return np.ones(n_strata)
    rows = np.array([machine.row_of[unit] for unit in documents(pilot)], dtype=np.int64)
    machine_grade = machine.judged.grade
    away = pilot.grade - machine_grade[rows]
    overall = float(away.std()) if len(away) else 1.0
    of_grade = {
        grade: float(away[machine_grade[rows] == grade].std())
        if (machine_grade[rows] == grade).sum() > 1
        else overall
        for grade in np.unique(machine_grade).tolist()
    }
    spread = np.array([of_grade[grade] for grade in machine_grade.tolist()])
    means: Floats = np.bincount(stratum, weights=spread, minlength=n_strata) / np.bincount(
        stratum, minlength=n_strata
    )
    return means
