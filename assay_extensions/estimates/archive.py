"""Samples and estimates in archives of tracks, and their check: estimates are computed again from what they name."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.archive.contents import Contents
from assay.archive.files import refusing
from assay.archive.parts import part_file
from assay.archive.records import JUDGMENTS, PoolRecord, parsed
from assay.archive.verify import Finding, differences, few
from assay.errors import InputError, plural
from assay.formats.judgments.reader import open_judgments
from assay.formats.qrels.columns import columns_from
from assay.formats.runs.columns import Ranked
from assay.measures.units import collapse_instances
from assay.protocols.measures import parse_measures
from assay.tables import plain
from assay_extensions.estimates import results
from assay_extensions.estimates.reading import Drawn, Machine
from assay_extensions.estimates.results import RankedInputs, Result

NAME = "estimates"  # of the part
AGAIN = ("ranking", "differences", "topics", "share", "leniency", "confusion", "reranked")  # tables
PEOPLE = ""  # in the place of the name of a machine


@dataclass(frozen=True)
class SampleRecord:
    """A sample that was drawn. `after` is the number of the sample that its units were added to."""

    machine: str
    pool: str
    name: str
    design: str
    arguments: dict[str, Any]
    seed: int
    batch: str
    created_at: str
    after: int | None = None
    fit: list[str] = field(default_factory=list)
    units: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class EstimateRecord:
    """An estimate with its tables, and the units with both grades from which it was computed."""

    machine: str
    pool: str
    measures: list[str]
    result: dict[str, Any]
    created_at: str
    sample: int | None = None
    units: list[Any] = field(default_factory=list)


def sample_file(number: int) -> str:
    return f"samples/{number:03d}.json"


def estimate_file(number: int) -> str:
    return f"estimates/{number:03d}.json"


def samples_in(contents: Contents) -> dict[int, SampleRecord]:
    """By number.

    Raises:
        BadArchive: One is not of this form.
    """
    return _numbered(contents, sample_file, SampleRecord)


def estimates_in(contents: Contents) -> dict[int, EstimateRecord]:
    """By number.

    Raises:
        BadArchive: One is not of this form.
    """
    return _numbered(contents, estimate_file, EstimateRecord)


def _numbered(contents: Contents, name_of: Any, kind: type) -> dict[int, Any]:
    records, number = {}, 1
    while (path := part_file(NAME, name_of(number))) in contents.reader.names:
        records[number] = parsed(kind, contents.reader.read(path), path)
        number += 1
    return records


def verify(contents: Contents) -> Iterator[Finding]:
    """Compute the tables of each estimate again, and look for its grades in the judgments."""
    samples, estimates = samples_in(contents), estimates_in(contents)
    if not samples and not estimates:
        return
    yield Finding(
        "samples for people", plural(len(samples), "sample"), few(_wrong_samples(contents, samples))
    )
    judged = _grades(contents)
    for number, estimate in estimates.items():
        yield _checked(contents, number, estimate, samples, judged)


def _wrong_samples(contents: Contents, samples: Mapping[int, SampleRecord]) -> Iterator[str]:
    for number, sample in samples.items():
        place = part_file(NAME, sample_file(number))
        if sample.after is not None and not 0 < sample.after < number:
            yield f"{place}: no earlier sample {sample.after}"
        pool = _pool(contents, sample.pool)
        if pool is None:
            yield f"{place}: no pool {sample.pool[:80]}"
            continue
        pooled = {tuple(cells[:2]) for cells in contents.rows(pool.file("pool.tsv"), 3)}
        for row in sample.units:
            if (
                not _is_unit(row)
                or (row[0], row[1]) not in pooled
                or not 0 < row[2] <= 1
                or row[3] not in {0, 1}
            ):
                yield f"{place}: {str(row)[:80]} is not a unit of the pool with its probability"


def _is_unit(row: object) -> bool:
    return (
        isinstance(row, list)
        and len(row) == 4
        and all(isinstance(cell, str) for cell in row[:2])
        and all(isinstance(cell, int | float) for cell in row[2:])
    )


def _pool(contents: Contents, name: str) -> PoolRecord | None:
    return next((pool for pool in contents.pools.values() if pool.name == name), None)


Grades = Mapping[tuple[str, str, str, str], set[int]]  # by pool, machine, topic and unit


def _grades(contents: Contents) -> Grades:
    """Every grade that a unit of a pool ever had, by each machine, and by people together."""
    machines = {assessor.name for assessor in contents.index.assessors if assessor.machine}
    grades: defaultdict[tuple[str, str, str, str], set[int]] = defaultdict(set)
    with contents.reader.opened(JUDGMENTS) as file:
        for row in open_judgments(file, JUDGMENTS).rows if file.seek(0, 2) else ():
            if row.grade is not None:
                by = row.assessor if row.assessor in machines else PEOPLE
                for docno in {row.docno, row.unit} - {""}:
                    grades[row.pool, by, row.topic, docno].add(row.grade)
    return grades


def _checked(
    contents: Contents,
    number: int,
    estimate: EstimateRecord,
    samples: Mapping[int, SampleRecord],
    judged: Grades,
) -> Finding:
    part, place = f"estimate {number}", part_file(NAME, estimate_file(number))
    pool, sample = _pool(contents, estimate.pool), samples.get(estimate.sample or 0)
    if pool is None or (sample is None) != (estimate.sample is None):
        return Finding(
            part, "not computed again", f"{place}: no pool {estimate.pool[:80]}, or not its sample"
        )
    if not estimate.units:
        return Finding(part, "not computed again: it does not have the grades that it was computed from")
    problems = [*_wrong_units(place, estimate, contents.protocol(pool.protocol).qrels.aggregate, judged)]
    if problems:
        return Finding(part, "not computed again", few(problems))
    with refusing(place, InputError, KeyError, TypeError, IndexError):
        stored = {table["name"]: table for table in estimate.result["tables"] if table["name"] in AGAIN}
        again = {
            table["name"]: table
            for table in _again(contents, estimate, sample, stored).tables
            if table["name"] in AGAIN
        }
    problems = (
        [] if stored.keys() == again.keys() else [f"{place}: other tables, computed again {', '.join(again)}"]
    )
    for name in stored.keys() & again.keys():
        problems += [
            f"{place}: {name}: {difference}"
            for difference in differences(stored[name]["rows"], plain(again[name]["rows"]))
        ]
    return Finding(part, f"{', '.join(stored)}: computed again from both grades", few(problems))


def _wrong_units(place: str, estimate: EstimateRecord, aggregate: str, judged: Grades) -> Iterator[str]:
    """The units whose grades no judgment gives. Sums and means of several people are not looked for."""
    for row in estimate.units:
        if not (
            isinstance(row, list)
            and len(row) == 4
            and all(isinstance(cell, str) for cell in row[:2])
            and isinstance(row[2], int)
            and isinstance(row[3], int | None)
        ):
            yield f"{place}: {str(row)[:80]} is not a unit with two grades"
            continue
        topic, docno, machine, people = row
        unit = f"{place}: {topic[:80]} {docno[:80]}"
        if machine >= 0 and machine not in judged.get((estimate.pool, estimate.machine, topic, docno), ()):
            yield f"{unit}: the machine did not give grade {machine}"
        given = judged.get((estimate.pool, PEOPLE, topic, docno))
        is_known = people in given if given else people in {None, max(0, machine)}
        if people is not None and not is_known and aggregate not in {"mean", "sum"}:
            yield f"{unit}: people did not give grade {people}"


def _again(
    contents: Contents, estimate: EstimateRecord, sample: SampleRecord | None, stored: Mapping[str, Any]
) -> Result:
    rows = [(row[0].encode(), row[1].encode(), row[2], row[3]) for row in estimate.units]
    names = {row[2] for row in stored.get("topics", stored.get("ranking", {"rows": []}))["rows"]}
    machine = Machine(
        _inputs(contents, estimate, columns_from(row[:3] for row in rows), names), estimate.machine
    )
    if sample is None:
        people = columns_from((topic, docno, grade) for topic, docno, _, grade in rows if grade is not None)
        return results.of_topics(machine, people)
    chance = {(row[0].encode(), row[1].encode()): row[2] for row in sample.units}
    probability = np.full(len(machine.judged.topic), np.nan)
    for unit, row in machine.row_of.items():
        probability[row] = chance[unit]
    graded = {machine.row_of[topic, docno]: grade for topic, docno, _, grade in rows if grade is not None}
    units = np.array(sorted(graded))
    drawn = Drawn(units, probability, np.array([graded[row] for row in units.tolist()]))
    return results.of_sample(machine, drawn, seed=sample.seed, is_uniform=sample.design == "uniform")


def _inputs(contents: Contents, estimate: EstimateRecord, columns: Any, names: set[str]) -> RankedInputs:
    """The runs that an estimate names, as they are scored, with the grades of the machine."""
    protocol = contents.protocol(contents.index.track.protocol)
    tags = [run.tag for run in contents.index.runs]
    runs: dict[str, Ranked] = {}
    for run in contents.index.runs:
        name = next((name for name in (run.tag, f"{run.team} {run.tag}") if name in names), "")
        if run.status != "submitted" or not name or (name == run.tag and tags.count(name) > 1):
            continue
        rows: Ranked = contents.columns(run.number)
        if protocol.scoring.collapse_instances and contents.formulas is not None:
            rows = collapse_instances(contents.columns(run.number), contents.formulas)[0]
        runs[name] = rows
    if missing := names - runs.keys():
        raise InputError(f"the archive has no run {', '.join(sorted(missing))[:80]}")
    return RankedInputs(
        protocol=protocol,
        qrels=columns,
        names=[*runs],
        rows=[],
        formulas=None,
        measures=list(parse_measures(estimate.measures)) if estimate.measures else [],
        average=protocol.scoring.average,
        level=protocol.scoring.relevant_from,
        rankings=[*runs.values()],
    )
