"""Qrels and runs from files or memory, and the scores of all runs by topic."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, InputWarning
from assay.formats.names import names_of_files
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.reader import GradeScale, QrelsForm, read_qrels
from assay.formats.runs.columns import Ranked, RunColumns
from assay.formats.runs.reader import read_run
from assay.formulas.columns import Formulas
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import RunScores
from assay.measures.units import (
    VISUAL_IDS,
    Prepared,
    Units,
    judged_documents,
    prepare,
    read_units,
    score_prepared,
)
from assay.protocols.loader import load_protocol
from assay.protocols.measures import FAMILIES, Measure, QrelsKind, parse_measures, qrels_of
from assay.protocols.schema import Average, Protocol, RunFormat

DEEPEST = 10**9  # ranks per topic of a run without a protocol
FORMATS: tuple[RunFormat, ...] = ("trec-6", "arqmath-5")

PathLike = str | Path
Values = Any  # a path, a nested dictionary, a table with named columns, or named tuples
Runs = Any  # the values of a run, a list of paths, or values by the name of the run
Names = str | Measure | Iterable[str | Measure]


def same(items: Iterable[Any]) -> Iterable[Any]:
    """The items themselves: no progress is shown."""
    return items


# -- protocol and measures


@cache
def without_protocol() -> Protocol:
    """The rules for files if no protocol is named: runs in lines of any depth, and any grade."""
    adhoc = load_protocol("trec-adhoc")
    return replace(adhoc, slug="", runs=replace(adhoc.runs, formats=FORMATS, max_ranks=DEEPEST))


def protocol_of(protocol: str | Path | Protocol | None) -> Protocol:
    """A protocol by its slug, or by the path of its file; without one, the usual files are read."""
    if protocol is None:
        return without_protocol()
    return protocol if isinstance(protocol, Protocol) else load_protocol(str(protocol))


def measures_of(names: Names, protocol: Protocol) -> list[Measure]:
    """The measures with some names, or those of the protocol.

    Raises:
        InputError: A name is not a measure, or there are no names and no protocol.
    """
    given = [names] if isinstance(names, (str, Measure)) else list(names)
    if not given and not protocol.slug:
        raise InputError("name the measures, such as nDCG@10, or a protocol, which has its own")
    return list(parse_measures(map(str, given) if given else protocol.scoring.measures))


# -- qrels


def qrels_from_any(
    qrels: Values, protocol: Protocol, *, scale: int = 1, kind: QrelsKind = "grades"
) -> QrelsColumns:
    """Qrels of a file or from memory, with every grade multiplied by `scale`; `kind` is that of the measures.

    Raises:
        InputError: They cannot be read, or have errors; the message has the first ones.
    """
    has_scale = bool(protocol.slug)
    if isinstance(qrels, (str, Path)):
        return read_qrels(str(qrels), protocol, scale=scale, kind=kind, has_scale=has_scale)
    if kind != "grades":
        columns = QrelsForm.of_kind(kind).title
        raise InputError(
            f"these measures need qrels with {kind}, which only files have; give a file of {columns}"
        )
    from assay.formats.values import qrels_from  # noqa: PLC0415 -- commands only read files

    return qrels_from(qrels, grades=GradeScale.of(protocol, scale) if has_scale else None, scale=scale)


# -- runs


def named_runs(runs: Runs) -> dict[str, Values]:
    """The values of each run by its name.

    Files are named by `names_of_files`, and a single run from memory is called run.

    Raises:
        InputError: There are no runs, or they have no names.
    """
    if isinstance(runs, (str, Path)):
        runs = [runs]
    if isinstance(runs, Mapping):
        from assay.formats.values import is_nested  # noqa: PLC0415 -- commands only read files

        named = {"run": runs} if is_nested(runs) else {str(name): run for name, run in runs.items()}
    elif (
        isinstance(runs, Sequence)
        and not hasattr(runs, "_fields")
        and (not runs or not hasattr(runs[0], "_fields"))
    ):
        unnamed = next((run for run in runs if not isinstance(run, (str, Path))), None)
        if unnamed is not None:
            kind = type(unnamed).__name__
            raise InputError(
                f"a run of a list is a {kind}, which has no name; give runs from memory as {{name: run}}"
            )
        paths = list(map(str, runs))
        repeated = {path for path in paths if paths.count(path) > 1}
        if repeated:
            raise InputError(f"{min(repeated)}: the run is given twice; give each run once")
        named = {name: path for path, name in names_of_files(paths).items()}
    else:
        named = {"run": runs}
    if not named:
        raise InputError("there are no runs; give at least one")
    return named


def run_from_any(run: Values, name: str, protocol: Protocol, formats: Sequence[RunFormat] = ()) -> RunColumns:
    """A run of a file or from memory. `formats` of files are accepted instead of those of the protocol.

    Raises:
        InputError: It cannot be read, or has errors; the message has the first one.
    """
    if isinstance(run, (str, Path)):
        return read_run(str(run), protocol, formats)
    from assay.formats.values import run_from  # noqa: PLC0415 -- commands only read files

    return run_from(run, protocol, name=name)


# -- all of them, for analyses


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of an analysis of runs. Arrays of runs are in the order of `names`.

    `rows` are the runs as in their files; `runs` consist of the units that are scored.
    """

    protocol: Protocol
    qrels: QrelsColumns
    names: list[str]
    rows: list[RunColumns]
    formulas: Formulas | None
    measures: list[Measure]
    average: Average
    level: int
    duplicates: str | None = None

    @cached_property
    def _prepared(self) -> list[Prepared]:
        return [prepare(run, self.formulas) for run in self.rows]

    @cached_property
    def runs(self) -> list[Ranked]:
        return [run.ranking for run in self._prepared]

    @cached_property
    def judged(self) -> JudgedDocuments:
        return self.judged_by(self.qrels)

    def judged_by(self, qrels: QrelsColumns) -> JudgedDocuments:
        """Qrels of documents, with the near-duplicates of the file that the arguments name."""
        return judged_documents(qrels, self.duplicates)

    @property
    def in_characters(self) -> bool:
        """True if a measure counts characters of citations; curves then do too."""
        return any(measure.in_characters for measure in self.measures)

    @cached_property
    def _scored(self) -> list[RunScores]:
        scored = []
        for name, run in zip(self.names, self._prepared, strict=True):
            result = score_prepared(run, self.judged, self.measures)
            if result.problem:
                warnings.warn(f"{name}: {result.problem}", InputWarning, stacklevel=2)
            scored.append(result.scores)
        return scored

    @cached_property
    def is_counted(self) -> NDArray[np.bool_]:
        """(topics of the qrels,) whether runs are compared on the topic.

        Raises:
            InputError: No topic of the qrels is in every run.
        """
        counted = np.ones(self.judged.n_topics, dtype=np.bool_)
        for scores in self._scored:
            counted &= scores.averaged(self.average)
        if not counted.any():
            raise InputError(
                "no topic of the qrels is in every run; --average judged counts a missing topic as 0"
            )
        return counted

    @property
    def topics(self) -> list[str]:
        """Codes of the topics that runs are compared on."""
        codes: list[str] = self.judged.topics[self.is_counted].tolist()
        return codes

    def scores(self, measure: Measure) -> NDArray[np.float64]:
        """(runs, topics) values of a measure, for the topics that runs are compared on."""
        column = self.measures.index(measure)
        return np.array([scores.values[self.is_counted, column] for scores in self._scored])


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """How runs are scored; the fields are options of commands and arguments of functions.

    Args:
        protocol: slug of a shipped protocol or path of a TOML file; None: usual files, and measures must be named.
        average: topics to average over: "judged", all of the qrels; or "common", those that every run has.
        level: the lowest grade that counts as relevant.
        units: "distinct", "instances" or "visual-ids".
        formulas: formula indexes and maps of visual ids.
        duplicates: path of a file of near-duplicates.
    """

    protocol: str | Path | Protocol | None = None
    average: Average | None = None
    level: int | None = None
    units: str | None = None
    formulas: Sequence[PathLike] = ()
    duplicates: PathLike | None = None

    def __post_init__(self) -> None:
        for name, value, accepted in (
            ("average", self.average, get_args(Average)),
            ("units", self.units, ("distinct", "instances", VISUAL_IDS)),
        ):
            if value is not None and value not in accepted:
                raise InputError(f"{name} {value!r}: use {' or '.join(accepted)}")

    def read_units(self, protocol: Protocol) -> Units:
        """The units that runs are scored by."""
        return read_units(protocol, self.units, [Path(path) for path in self.formulas])

    @property
    def duplicates_path(self) -> str | None:
        return None if self.duplicates is None else str(self.duplicates)


def read_inputs(
    qrels: Values,
    runs: Mapping[str, Values],
    measures: Names,
    scoring: Scoring,
    *,
    shown: Callable[..., Any] = same,
) -> Inputs:
    """Read qrels and runs for an analysis; `shown` wraps the runs to show how many are read.

    Raises:
        InputError: A file, the protocol or a measure cannot be used.
    """
    protocol = protocol_of(scoring.protocol)
    parsed = measures_of(measures, protocol)
    for measure in parsed:
        if FAMILIES[measure.family].summary != "mean":
            raise InputError(f"{measure} is not a mean over topics; tests and intervals only compare means")
    units = scoring.read_units(protocol)
    return Inputs(
        protocol,
        qrels_from_any(qrels, protocol, kind=qrels_of(parsed)),
        list(runs),
        [run_from_any(run, name, protocol, units.formats) for name, run in shown(runs.items())],
        units.formulas,
        parsed,
        scoring.average or protocol.scoring.average,
        scoring.level or protocol.scoring.relevant_from,
        scoring.duplicates_path,
    )
