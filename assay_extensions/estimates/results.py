"""The tables of an estimate, as plain values that a site stores and an archive has."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from assay.errors import InputError, plural
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.runs.columns import Ranked
from assay.research.comparison import Inputs, Randomness
from assay.tables import Table, plain
from assay_extensions.estimates.bias_tables import bias_tables, reranked_table
from assay_extensions.estimates.reading import Drawn, Machine
from assay_extensions.estimates.value_tables import next_tables, sampled_values, share_tables, whole_values
from assay_extensions.estimates.weights import Floats, is_linear

NO_RUNS = "No run or no measure that is a sum over ranks, so only shares and bias are estimated."
NO_SHARES = "Shares of units need a uniform sample, or topics of which people judged all units."
NOTHING: Mapping[str, Floats] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class RankedInputs(Inputs):
    """Inputs whose runs are already as they are scored.

    `same_family` names the runs that declare a model of the machine's family.
    """

    rankings: Sequence[Ranked] = ()
    same_family: Sequence[str] = ()

    @property
    def runs(self) -> list[Ranked]:
        return list(self.rankings)


@dataclass
class Result:
    """Tables with the part of the page to which each belongs, and remarks about what is missing."""

    tables: list[dict[str, Any]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    n_people: int = 0

    def add(self, part: str, tables: Sequence[Table]) -> None:
        for table in tables:
            rows = [tuple(row) for row in table.rows]  # a named tuple would become an object
            self.tables.append({"part": part, **plain(replace(table, rows=rows))})

    def add_if(self, part: str, tables: Callable[[], Sequence[Table]]) -> None:
        """Add what can be computed; otherwise, a remark says why not."""
        try:
            self.add(part, tables())
        except InputError as error:
            self.remarks.append(f"{str(error)[:1].upper()}{str(error)[1:]}.")


def of_sample(
    machine: Machine,
    drawn: Drawn,
    *,
    seed: int,
    is_uniform: bool,
    n_next: int = 0,
    n_missing: int = 0,
    attributes: Mapping[str, Floats] = NOTHING,
) -> Result:
    """Values of runs, what to judge next, shares and bias, from a sample.

    Args:
        n_next: number of units that people judge in an hour; 0 for no table of them.
        n_missing: number of units of the sample that people could not grade.
        attributes: numbers of units, such as the length of documents.
    """
    result = Result(n_people=len(drawn.units) - n_missing)
    if n_missing:
        units = plural(n_missing, "unit of the sample. It counts,units of the sample. They count")
        result.remarks.append(f"People could not grade {units} with the machine's grade.")
    if machine.runs and machine.inputs.measures:
        result.add("values", sampled_values(machine, drawn, Randomness(seed=seed)))
        if n_next:
            result.add("next", next_tables(machine, drawn, machine.inputs.measures[0], n_next)[0])
    else:
        result.remarks.append(NO_RUNS)
    if is_uniform:
        result.add_if("share", lambda: share_tables(machine, drawn, machine.inputs.level))
    else:
        result.remarks.append(NO_SHARES)
    _add_bias(result, machine, drawn, attributes)
    return result


def of_topics(
    machine: Machine, people: QrelsColumns, *, attributes: Mapping[str, Floats] = NOTHING
) -> Result:
    """Values of runs, shares and bias, from topics of which people judged all units."""
    drawn = machine.drawn_by(people)
    result = Result(n_people=len(drawn.units))
    if machine.runs and machine.inputs.measures:
        result.add_if("values", lambda: whole_values(machine, people, Randomness()))
    result.add_if("share", lambda: share_tables(machine, drawn, machine.inputs.level))
    _add_bias(result, machine, drawn, attributes)
    return result


def _add_bias(result: Result, machine: Machine, drawn: Drawn, attributes: Mapping[str, Floats]) -> None:
    family = machine.inputs.same_family if isinstance(machine.inputs, RankedInputs) else []
    is_compared = len(family) < len(machine.runs)
    result.add("bias", bias_tables(machine, drawn, attributes, family if is_compared else []))
    sums = [measure for measure in machine.inputs.measures if is_linear(measure)]
    if machine.runs and sums:
        of_sums = Machine(replace(machine.inputs, measures=sums), machine.path)
        runs = dict(zip(machine.inputs.names, machine.runs, strict=True))
        result.add("reranked", [reranked_table(of_sums, drawn, runs)])
