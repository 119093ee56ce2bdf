"""Tracks from files, for the commands that print tables of papers. A TOML file names the files of each track.

    [[track]]
    name = "ARQMath 2020"
    protocol = "arqmath-2020-task1"
    runs = "2020/runs.csv"              # a manifest, as `assay pool` reads it
    topics = "2020/topics.xml"
    labels = "2020/labels.csv"
    qrels = "2020/qrels.tsv"

Only the name and the protocol are required. Paths are relative to the folder of the TOML file.
"""

import csv
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple, cast, get_type_hints

import numpy as np

from assay.errors import InputError
from assay.evaluation.duplicates import read_duplicates
from assay.evaluation.units import (
    Prepared,
    check_units,
    of_distinct_formulas,
    prepare,
    read_formulas,
    why_unjudged,
    with_visual_ids,
)
from assay.formats.manifest import ManifestRun, read_manifest
from assay.formats.qrels.reader import QrelsColumns, read_qrels
from assay.formats.runs.columns import Ranked, RunColumns
from assay.formats.runs.reader import read_run
from assay.formats.topics.reader import read_labels, read_topics
from assay.formulas.columns import Formulas
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import RunScores, score_hits, score_run
from assay.papers.comparison import (
    DISTINCT,
    EVERYBODY,
    INSTANCES,
    CollectionFacts,
    Rankings,
)
from assay.papers.facts import RunFacts, TopicFacts, TrackFacts
from assay.protocols.loader import load_protocol
from assay.protocols.measures import parse_measures, with_level
from assay.protocols.schema import Protocol
from assay.statistics.qrels_summary import summarize_qrels, units_by_topic
from assay.statistics.ranking_comparison import RankingComparison, compare_by_label, compare_rankings

TEAM_COLUMNS = ["team", "organization"]


@dataclass(frozen=True, kw_only=True)
class TrackFiles:
    """One `[[track]]` of a file; the fields are its keys. Paths are as in the file until it is read."""

    name: str
    protocol: str  # a slug, or the path of a TOML file
    runs: str = ""  # a manifest
    topics: str = ""
    labels: str = ""
    teams: str = ""  # a CSV with the columns team and organization
    qrels: str = ""
    instances: str = ""  # qrels of formula instances
    formulas: tuple[str, ...] = ()  # formula indexes and id maps
    groups: Mapping[str, str] = field(default_factory=dict)  # qrels of each group of assessors
    duplicates: str = ""  # near-duplicates
    documents: int | None = None  # of the collection
    formulas_in_collection: int | None = None


class TrackQrels(NamedTuple):
    """The qrels of a track: of its units, and of instances of formulas.

    Instances that are in no unit are left out if the units are made from them.
    """

    units: QrelsColumns | None = None
    instances: QrelsColumns | None = None
    warning: str = ""


@dataclass(frozen=True, eq=False)
class ScoredRuns:
    """The scored runs of a track: for the tables that need more than means."""

    files: TrackFiles
    facts: TrackFacts
    qrels: TrackQrels
    rows: list[RunColumns]  # as submitted
    runs: list[Ranked]  # as they are scored
    scores: list[RunScores]
    is_judged: bool  # whether a run has a judged unit
    warnings: list[str]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the runs, in the order of the arrays."""
        return tuple(f"{run.team}: {run.tag}" for run in self.facts.runs if run.means)

    def comparison(self) -> CollectionFacts:
        """What a comparison of test collections needs.

        Raises
        ------
        InputError
            Qrels of a group cannot be used.
        """
        files, protocol, instances = self.files, self.facts.protocol, self.qrels.instances
        groups = {name: read_qrels(path, protocol) for name, path in files.groups.items()}
        qrels = ({INSTANCES: instances} if instances is not None else {}) | groups
        level = protocol.scoring.relevant_from
        units = {
            name: summarize_qrels(columns, level=self._group_level if name in groups else level)
            for name, columns in qrels.items()
        }
        return CollectionFacts(
            self.facts,
            n_documents=files.documents,
            n_formulas=files.formulas_in_collection,
            units=units,
            by_label=self._by_label(),
            instances=self._instances(),
            groups=self._groups(groups) if groups and self.scores else None,
        )

    @property
    def _group_level(self) -> int:
        """The grade from which a unit is relevant in the qrels of one group."""
        rules = self.facts.protocol.scoring
        return rules.relevant_from if rules.group_relevant_from is None else rules.group_relevant_from

    def _by_label(self) -> dict[str, dict[str, RankingComparison]]:
        """Rankings by the values of each label, on the topics that count for every run."""
        track = self.facts
        if len(self.scores) < 2 or self.qrels.units is None:
            return {}
        average = track.protocol.scoring.average
        counted = np.logical_and.reduce([run.averaged(average) for run in self.scores])
        topics: list[str] = self.qrels.units.topics[counted].tolist()
        values = np.array([run.values[counted] for run in self.scores])
        return {
            label: {
                measure: compare_by_label(
                    values[:, :, n], topics, {code: track.label(track.topics[code], label) for code in topics}
                )
                for n, measure in enumerate(track.measures)
                if self.scores[0].summaries[n] == "mean"
            }
            for label in (track.labels if topics else ())
        }

    def _instances(self) -> Rankings | None:
        """The runs as they were submitted, by the qrels of instances, and by those of distinct formulas."""
        qrels = self.qrels.instances
        if qrels is None or not self.is_judged:
            return None
        judged, measures = JudgedDocuments(qrels), parse_measures(self.facts.measures)
        scores = [score_run(run, judged, measures) for run in self.rows]
        return self._rankings(
            {INSTANCES: (scores, len(qrels.topics)), DISTINCT: (self.scores, self.facts.n_topics)}
        )

    def _groups(self, groups: Mapping[str, QrelsColumns]) -> Rankings:
        """The runs by all assessors together, and by each group, with its level of relevance."""
        level = self.facts.protocol.scoring.relevant_from
        measures = with_level(parse_measures(self.facts.measures), level, self._group_level)
        scored = {EVERYBODY: (self.scores, self.facts.n_topics)}
        for name, qrels in groups.items():
            judged = _judged(self.files, qrels)
            scored[name] = ([score_run(run, judged, measures) for run in self.runs], len(qrels.topics))
        return self._rankings(scored)

    def _rankings(self, scored: Mapping[str, tuple[list[RunScores], int]]) -> Rankings:
        average = self.facts.protocol.scoring.average
        means = np.array([[run.means(average) for run in runs] for runs, _ in scored.values()])
        n_topics = [n for _, n in scored.values()]
        by_measure = {
            measure: compare_rankings(list(scored), means[:, :, n], n_topics)
            for n, measure in enumerate(self.facts.measures)
        }
        return Rankings(self.names, by_measure)


def read_tracks(path: Path, measures: list[str]) -> list[ScoredRuns]:
    """The tracks of a TOML file, with the scores of their runs.

    Parameters
    ----------
    measures : in the notation of protocols; if empty, those of each protocol.

    Raises
    ------
    InputError
        The file, or a file that it names, cannot be used.
    """
    return [_read(files, measures) for files in read_names(path)]


def read_names(path: Path) -> list[TrackFiles]:
    """What a TOML file names; paths are relative to the working directory."""
    try:
        data = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 (byte {error.start + 1}); TOML files are UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    tables = data.pop("track", [])
    if data or not isinstance(tables, list) or not tables:
        got = ", ".join(data) or "no track"
        raise InputError(f"{path}: expected one [[track]] for each track; got {got}")
    tracks = [_named(table, path, n) for n, table in enumerate(tables, 1)]
    names = [track.name for track in tracks]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise InputError(f"{path}: two tracks have the name {min(repeated)!r}; give each a name of its own")
    return tracks


def _named(table: object, path: Path, n: int) -> TrackFiles:
    place = f"{path}: track {n}"
    if not isinstance(table, dict):
        raise InputError(f"{place}: expected keys with values, got {table!r}")
    known = {each.name for each in fields(TrackFiles)}
    unknown = sorted(table.keys() - known)
    if unknown:
        raise InputError(f"{place}: unknown key {unknown[0]!r}; use {', '.join(sorted(known))}")
    for key in ("name", "protocol"):
        if not table.get(key):
            raise InputError(f"{place}: {key} is missing")
    values = {key: _checked(value, key, place) for key, value in table.items()}
    folder = path.parent
    for key in ("runs", "topics", "labels", "teams", "qrels", "instances", "duplicates"):
        if values.get(key):
            values[key] = str(folder / values[key])
    values["formulas"] = tuple(str(folder / name) for name in values.get("formulas", ()))
    values["groups"] = {group: str(folder / name) for group, name in values.get("groups", {}).items()}
    if str(values["protocol"]).endswith(".toml"):
        values["protocol"] = str(folder / values["protocol"])
    return TrackFiles(**values)


def _checked(value: Any, key: str, place: str) -> Any:
    """A value of the type of its key; a single path is a list too."""
    if key == "formulas":
        value = [value] if isinstance(value, str) else value
        is_right = isinstance(value, list) and all(isinstance(name, str) for name in value)
        wanted = "a path, or a list of paths"
    elif key == "groups":
        is_right = isinstance(value, dict) and all(isinstance(name, str) for name in value.values())
        wanted = "a table of group = path"
    elif get_type_hints(TrackFiles)[key] is str:
        is_right, wanted = isinstance(value, str), "text"
    else:
        is_right, wanted = type(value) is int and value >= 0, "a whole number from 0"
    if not is_right:
        raise InputError(f"{place}: {key}: expected {wanted}, got {value!r}")
    return value


def _read(files: TrackFiles, measures: list[str]) -> ScoredRuns:
    protocol = load_protocol(files.protocol)
    manifest = read_manifest(Path(files.runs), protocol) if files.runs else []
    formulas = read_formulas([Path(name) for name in files.formulas]) if files.formulas else None
    qrels = _qrels(files, protocol, formulas)
    names = tuple(str(measure) for measure in parse_measures(measures or protocol.scoring.measures))
    scored = [run for run in manifest if protocol.runs.kind(run.kind).scored] if qrels.units else []
    rows = [read_run(str(run.file), protocol) for run in scored]
    prepared = _prepared(files, protocol, rows, formulas)
    judged = _judged(files, qrels.units) if qrels.units else None
    scores, problems = _scored(prepared, judged, names)
    means = dict(zip((run.tag for run in scored), _means(scores, protocol, names), strict=True))
    facts = TrackFacts(
        name=files.name,
        protocol=protocol,
        runs=tuple(_run(run, protocol, means.get(run.tag, {})) for run in manifest),
        measures=names if scores else (),
        n_topics=len(qrels.units.topics) if qrels.units else 0,
        topics=_topics(files, qrels.units, protocol),
        organizations=_organizations(Path(files.teams)) if files.teams else {},
    )
    warnings = [qrels.warning] if qrels.warning else []
    warnings += [f"{run.tag}: {problem}" for run, problem in zip(scored, problems, strict=True) if problem]
    rankings = [run.ranking for run in prepared]
    return ScoredRuns(files, facts, qrels, rows, rankings, scores, not all(problems), warnings)


def _qrels(files: TrackFiles, protocol: Protocol, formulas: Formulas | None) -> TrackQrels:
    """The qrels of the files; without those of units, a distinct formula has the highest grade of its instances."""
    units = read_qrels(files.qrels, protocol) if files.qrels else None
    instances = read_qrels(files.instances, protocol) if files.instances else None
    if units is not None or instances is None or formulas is None:
        return TrackQrels(units, instances)
    units, n_skipped = of_distinct_formulas(instances, formulas)
    if not len(units.grade):
        raise InputError(f"{files.instances}: no line has a formula with a visual id")
    warning = (
        f"{n_skipped:,} of {len(instances.grade):,} judged instances have no visual id, so they are in no distinct "
        "formula; the tables have the others"
    )
    return TrackQrels(units, with_visual_ids(instances, formulas), warning if n_skipped else "")


def _prepared(
    files: TrackFiles, protocol: Protocol, rows: list[RunColumns], formulas: Formulas | None
) -> list[Prepared]:
    """The runs as they are scored: by distinct formulas if the protocol says so."""
    if not rows or not protocol.scoring.collapse_instances:
        return [Prepared(row) for row in rows]
    how = f"add formulas, an index or id map, to the track {files.name!r}"
    check_units(protocol, has_formulas=formulas is not None, how=how)
    return [prepare(row, formulas) for row in rows if formulas is not None]


def _judged(files: TrackFiles, qrels: QrelsColumns) -> JudgedDocuments:
    """Qrels of units, with the near-duplicates of the track."""
    if not files.duplicates:
        return JudgedDocuments(qrels)
    return JudgedDocuments(*read_duplicates(files.duplicates, qrels))


def _scored(
    runs: list[Prepared], judged: JudgedDocuments | None, names: tuple[str, ...]
) -> tuple[list[RunScores], list[str]]:
    """The scores of the runs, and for each why no document is judged, or nothing."""
    scores: list[RunScores] = []
    problems: list[str] = []
    if judged is not None:
        measures = parse_measures(names)
        for run in runs:
            hits = judged.hits(run.ranking)
            scores.append(score_hits(hits, judged, measures))
            problems.append(why_unjudged(run, judged, hits))
    return scores, problems


def _means(scores: list[RunScores], protocol: Protocol, names: tuple[str, ...]) -> list[dict[str, float]]:
    return [dict(zip(names, run.means(protocol.scoring.average).tolist(), strict=True)) for run in scores]


def _run(run: ManifestRun, protocol: Protocol, means: Mapping[str, float]) -> RunFacts:
    kind = protocol.runs.kind(run.kind)
    as_kind = protocol.runs.pooled_as(run.kind, run.tag, run.pooled_as)
    pooled_as = as_kind if as_kind != run.kind else ""
    return RunFacts(run.team, run.tag, run.kind, pooled_as, run.made, run.uses, means, kind.baseline)


def _topics(files: TrackFiles, qrels: QrelsColumns | None, protocol: Protocol) -> dict[str, TopicFacts]:
    """The topics of the files with their labels, and the counts of the qrels."""
    labels: dict[str, dict[str, str]] = {}
    if files.topics:
        path = Path(files.topics)
        labels |= {topic.code: dict(topic.labels) for topic in read_topics(path.read_bytes(), path.name)}
    counts = _counts(qrels, protocol.scoring.relevant_from) if qrels is not None else {}
    labels |= {code: {} for code in counts if code not in labels}
    if files.labels:
        path = Path(files.labels)
        is_open = not labels  # neither topics nor qrels say which topics there are
        for code, of_topic in read_labels(path.read_bytes(), path.name).items():
            if is_open or code in labels:
                labels.setdefault(code, {}).update(of_topic)
    return {code: TopicFacts(labels[code], *counts.get(code, (None, None))) for code in sorted(labels)}


def _counts(qrels: QrelsColumns, level: int) -> dict[str, tuple[int, int]]:
    counts = units_by_topic(qrels, level=level)
    codes: list[str] = np.asarray(qrels.topics).tolist()
    return dict(zip(codes, zip(counts.judged.tolist(), counts.relevant.tolist(), strict=True), strict=True))


def _organizations(path: Path) -> dict[str, str]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 (byte {error.start + 1})") from None
    reader = csv.DictReader(StringIO(text, newline=""), strict=True)
    try:
        header = [column.strip() for column in reader.fieldnames or []]
        if header != TEAM_COLUMNS:
            got = ", ".join(header) or "nothing"
            raise InputError(f"{path}: line 1: expected the columns team and organization; got {got}")
        return {row[header[0]]: row[header[1]] or "" for row in _rows(reader, path)}
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num + 1}: {error}") from None


def _rows(reader: "csv.DictReader[str]", path: Path) -> Iterator[dict[str, str]]:
    for row in reader:
        if None in row or None in row.values():
            raise InputError(f"{path}: line {reader.line_num}: expected 2 columns")
        yield cast(dict[str, str], row)
