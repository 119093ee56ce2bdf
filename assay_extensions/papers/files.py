"""Tracks from files, for the commands that print tables of papers. A TOML file names the files of each track::

    [[track]]
    name = "ARQMath 2020"
    protocol = "arqmath-2020-task1"
    runs = "2020/runs.csv"              # a manifest, as `assay pool` reads it
    topics = "2020/topics.xml"
    labels = "2020/labels.csv"
    qrels = "2020/qrels.tsv"

Only the name and the protocol are required. Paths are relative to the folder of the TOML file.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assay.errors import BadFile, InputError
from assay.formats.declaration import columns_of
from assay.formats.formulas import Source
from assay.formats.judgments.graded import read_graded
from assay.formats.judgments.rows import JudgmentRow
from assay.formats.manifest import read_manifest
from assay.formats.names import normal
from assay.formats.qrels.reader import QrelsColumns, read_qrels
from assay.formats.runs.columns import Ranked, RunColumns
from assay.formats.runs.reader import read_run
from assay.formats.sheets import read_sheet
from assay.formats.text import read_text
from assay.formats.topics.reader import SPLIT, TopicRow, read_labels, read_topics, split_of
from assay.formulas.columns import Formulas
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import RunScores, judged_documents, prepare, score_prepared, score_run
from assay.measures.units import (
    check_units,
    collapse_instances,
    read_formulas,
    several_instances,
    to_distinct_formulas,
    with_visual_ids,
)
from assay.pools.files import PoolSummary, read_summary
from assay.protocols.loader import load_protocol
from assay.protocols.measures import Measure, parse_measures, with_level
from assay.protocols.run_answers import answers_of_run, public_answers
from assay.protocols.schema import Protocol
from assay.statistics.agreement_report import Graded
from assay.statistics.leaderboard import first_grades, first_hits
from assay.statistics.qrels_summary import grades_by_topic
from assay.statistics.ranking_comparison import (
    DISTINCT,
    EVERYBODY,
    INSTANCES,
    RankingComparison,
    compare_by_label,
    compare_rankings,
)
from assay.structure import decoded, read_toml
from assay_extensions.papers.facts import (
    AgreementFacts,
    Example,
    PaperCollection,
    PaperRun,
    PaperTopic,
    PaperTrack,
    Rankings,
    UnitFacts,
    text_of,
)

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
    formulas: str | tuple[str, ...] = ()  # formula indexes and id maps
    groups: Mapping[str, str] = field(default_factory=dict)  # qrels of each group of assessors
    duplicates: str = ""  # near-duplicates
    pool: str = ""  # the record of `assay pool`
    judgments: str | tuple[str, ...] = ()  # of single assessors, as `assay agreement` reads them
    source: str = ""  # what the documents are
    documents: int | None = None  # of the collection
    formulas_in_collection: int | None = None


@dataclass(frozen=True)
class TracksFile:
    """The TOML file."""

    tracks: tuple[TrackFiles, ...] = field(metadata={"key": "track"})


class TrackQrels(NamedTuple):
    """The qrels of a track: of its units, and of the other units of formulas, instances or distinct formulas.

    Instances that are in no distinct formula are left out if the units are made from them.
    """

    units: QrelsColumns | None = None
    instances: QrelsColumns | None = None  # where the units are distinct formulas
    distinct: QrelsColumns | None = None  # where the units are instances
    warning: str = ""


class Form(NamedTuple):
    """One way to count formulas: the qrels, those of each group of assessors, and the runs to score."""

    qrels: QrelsColumns
    groups: Mapping[str, QrelsColumns]
    runs: Sequence[Ranked]


@dataclass(frozen=True, eq=False)
class ScoredRuns:
    """The scored runs of a track: for the tables that need more than means."""

    files: TrackFiles
    facts: PaperTrack
    qrels: TrackQrels
    rows: list[RunColumns]  # as submitted
    runs: list[Ranked]  # as they are scored
    scores: list[RunScores]
    formulas: Formulas | None
    is_judged: bool  # whether a run has a judged unit
    warnings: list[str]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the runs, in the order of the arrays."""
        return tuple(f"{run.team}: {run.tag}" for run in self.facts.runs if run.means)

    def comparison(self) -> PaperCollection:
        """Return what a comparison of test collections needs.

        Raises:
            InputError: Qrels of a group or the record of the pool cannot be used.
        """
        rules, measures = self.facts.protocol.scoring, parse_measures(self.facts.measures)
        level, group_level = rules.relevant_from, rules.level_of({"group": ""})
        of_groups = with_level(measures, level, group_level)  # each group has its level of relevance
        forms = self._forms()
        units: dict[str, UnitFacts] = {}
        by_group: dict[str, UnitFacts] = {}
        distinct_by_group: dict[str, UnitFacts] = {}
        everybody: dict[str, tuple[list[RunScores], int]] = {}
        groups = {}
        pool, judgments = self._pool(), self._judgments()
        commented = [
            Example(row.topic, row.docno, row.grade, row.comment)
            for row in judgments
            if row.comment and row.grade is not None
        ]
        hits = {docno for run in self.facts.runs for docno, _ in run.first_hits.values()}
        of_hits, latex = self._latex(hits, {example.docno for example in commented})
        for name, form in forms.items():
            is_own = form.runs is self.runs
            everybody[name] = (
                (self.scores, self.facts.n_topics)
                if is_own
                else _scored(form.runs, JudgedDocuments(form.qrels), measures)
            )
            of_form = {
                group: UnitFacts(grades_by_topic(qrels), group_level) for group, qrels in form.groups.items()
            }
            if is_own:
                by_group = of_form
            else:
                units[name] = UnitFacts(grades_by_topic(form.qrels), level)
                distinct_by_group = of_form
            if form.groups and self.scores:
                judged = {
                    group: judged_documents(qrels, self.files.duplicates)
                    for group, qrels in form.groups.items()
                }
                scored = {group: _scored(form.runs, qrels, of_groups) for group, qrels in judged.items()}
                groups[name] = self._rankings({EVERYBODY: everybody[name]} | scored)
        return PaperCollection(
            self.facts,
            source=self.files.source,
            n_documents=self.files.documents,
            n_formulas=self.files.formulas_in_collection,
            depths=pool.depths,
            partly=pool.partly,
            units=units,
            by_group=by_group,
            distinct_by_group=distinct_by_group,
            by_label=self._by_label(),
            instances=self._rankings(everybody) if len(forms) > 1 and self.is_judged else None,
            groups=groups,
            several=self._several(),
            agreement=self._agreement(judgments),
            examples=[example._replace(latex=latex.get(example.docno, "")) for example in commented],
            latex=of_hits,
        )

    def _judgments(self) -> list[JudgmentRow]:
        rules = self.facts.protocol.judging
        return [
            row for path in self.files.judgments for row in read_graded(path, rules, judge=Path(path).name)
        ]

    def _agreement(self, judgments: Sequence[JudgmentRow]) -> AgreementFacts | None:
        protocol = self.facts.protocol
        rows = ((row.topic, row.docno, row.assessor, row.grade) for row in judgments if row.grade is not None)
        scale = tuple(grade.value for grade in protocol.judging.grades)
        return AgreementFacts.of(Graded.from_rows(rows, scale), protocol.scoring.relevant_from)

    def _several(self) -> tuple[int, int] | None:
        instances = self.qrels.instances or (self.qrels.units if self.qrels.distinct is not None else None)
        if instances is None or self.formulas is None:
            return None
        return several_instances(instances, self.formulas)

    def _latex(self, hits: Set[str], ids: Set[str]) -> tuple[dict[str, str], dict[str, str]]:
        """The LaTeX of hits, which may be distinct formulas, and of instances; maps of ids have no LaTeX."""
        is_visual = self.facts.protocol.scoring.collapse_instances
        of_hits: dict[str, str] = {}
        latex: dict[str, str] = {}
        for path in map(Path, self.files.formulas if hits or ids else ()):
            with suppress(BadFile):
                for row in chain.from_iterable(Source([path])):
                    name = row.visual if is_visual else row.code
                    if row.latex and name in hits:
                        of_hits.setdefault(name, row.latex)
                    if row.latex and row.code in ids:
                        latex[row.code] = row.latex
        return of_hits, latex

    def _forms(self) -> dict[str, Form]:
        """The ways to count formulas, by name; with a single one, its name is empty."""
        protocol, (units, instances, distinct, _) = self.facts.protocol, self.qrels
        groups = {name: read_qrels(path, protocol) for name, path in self.files.groups.items()}
        if units is None:
            return {}
        own = Form(units, groups, self.runs)
        if instances is not None:
            return {INSTANCES: Form(instances, {}, self.rows), DISTINCT: own}
        if distinct is None or self.formulas is None:
            return {"": own}
        formulas = self.formulas
        collapsed = [collapse_instances(row, formulas)[0] for row in self.rows]
        of_groups = {name: to_distinct_formulas(qrels, formulas)[0] for name, qrels in groups.items()}
        return {INSTANCES: own, DISTINCT: Form(distinct, of_groups, collapsed)}

    def _pool(self) -> PoolSummary:
        if not self.files.pool:
            return PoolSummary(self.facts.protocol.runs.depths, "")
        pool = read_summary(Path(self.files.pool))
        if unknown := sorted(pool.depths.keys() - self.facts.protocol.runs.depths.keys()):
            slug = self.facts.protocol.slug
            raise InputError(f"{self.files.pool}: pool of {unknown[0]} runs, of which {slug} has no depth")
        return pool

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

    def _rankings(self, scored: Mapping[str, tuple[list[RunScores], int]]) -> Rankings:
        """The runs by several qrels: by name, their scores and the number of topics."""
        average = self.facts.protocol.scoring.average
        means = np.array([[run.means(average) for run in runs] for runs, _ in scored.values()])
        n_topics = [n for _, n in scored.values()]
        by_measure = {
            measure: compare_rankings(list(scored), means[:, :, n], n_topics)
            for n, measure in enumerate(self.facts.measures)
        }
        return Rankings(self.names, by_measure)


def _scored(
    runs: Sequence[Ranked], judged: JudgedDocuments, measures: Sequence[Measure]
) -> tuple[list[RunScores], int]:
    """The scores of runs, and the number of topics."""
    return [score_run(run, judged, measures) for run in runs], judged.n_topics


def read_tracks(path: Path, measures: list[str]) -> list[ScoredRuns]:
    """The tracks of a TOML file, with the scores of their runs.

    Args:
        measures: in the notation of protocols; if empty, those of each protocol.

    Raises:
        InputError: The file, or a file that it names, cannot be used.
    """
    return [_read(files, measures) for files in read_names(path)]


def read_names(path: Path) -> list[TrackFiles]:
    """The tracks of a TOML file; their paths are relative to the working directory."""
    text = decoded(path.read_bytes(), str(path))
    tracks = read_toml(text, TracksFile, name=str(path), rules=_complaints).tracks
    return [_resolved(track, path.parent) for track in tracks]


def _complaints(file: TracksFile) -> Iterator[str]:
    if not file.tracks:
        yield "track: empty; write one [[track]] for each track"
    names = [track.name for track in file.tracks]
    for n, track in enumerate(file.tracks, 1):
        for key in ("name", "protocol"):
            if not getattr(track, key):
                yield f"track[{n}].{key}: empty"
        for key in ("documents", "formulas_in_collection"):
            if (getattr(track, key) or 0) < 0:
                yield f"track[{n}].{key}: {getattr(track, key)} is below 0"
        if track.name in names[: n - 1]:
            yield f"track[{n}].name: two tracks have the name {track.name!r}; give each a name of its own"


def _resolved(track: TrackFiles, folder: Path) -> TrackFiles:
    """The track with its paths below a folder."""
    paths: dict[str, Any] = {
        key: str(folder / value)
        for key in ("runs", "topics", "labels", "teams", "qrels", "instances", "duplicates", "pool")
        if (value := getattr(track, key))
    }
    for key in ("formulas", "judgments"):
        names = getattr(track, key)
        paths[key] = tuple(str(folder / name) for name in ([names] if isinstance(names, str) else names))
    paths["groups"] = {group: str(folder / name) for group, name in track.groups.items()}
    if track.protocol.endswith(".toml"):
        paths["protocol"] = str(folder / track.protocol)
    return replace(track, **paths)


def _read(files: TrackFiles, measures: list[str]) -> ScoredRuns:
    protocol = load_protocol(files.protocol)
    manifest = read_manifest(Path(files.runs), protocol) if files.runs else []
    formulas = read_formulas([Path(name) for name in files.formulas]) if files.formulas else None
    qrels = _qrels(files, protocol, formulas)
    counted = parse_measures(measures or protocol.scoring.measures)
    judged = judged_documents(qrels.units, files.duplicates) if qrels.units else None
    scored = [run for run in manifest if judged and protocol.runs.kind(run.kind).scored]
    rows = [read_run(str(run.file), protocol) for run in scored]
    if rows:
        how = f"add formulas, an index or id map, to the track {files.name!r}"
        check_units(protocol, has_formulas=formulas is not None, how=how)
    collapsing = formulas if protocol.scoring.collapse_instances else None
    prepared = [prepare(row, collapsing) for row in rows]
    results = [score_prepared(run, judged, counted) for run in prepared if judged]
    scores, names = [result.scores for result in results], tuple(map(str, counted))
    means = {
        run.tag: dict(zip(names, of_run.means(protocol.scoring.average).tolist(), strict=True))
        for run, of_run in zip(scored, scores, strict=True)
    }
    first = {
        run.tag: (first_grades(hits), first_hits(hits, judged))
        for run, of_run in zip(scored, prepared, strict=True)
        if judged
        for hits in [judged.hits(of_run.ranking)]
    }
    runs = []
    for run in [run for run in manifest if protocol.runs.is_of_campaign(run.kind)]:
        pooled_as = protocol.runs.pooled_as(run.kind, run.tag, run.pooled_as)
        other, of_run = pooled_as if pooled_as != run.kind else "", means.get(run.tag, {})
        made, is_baseline = columns_of(run)["made"], protocol.runs.kind(run.kind).baseline
        answers = answers_of_run(protocol.runs, run.answers) if run.answers else {}
        (of_first, hits), public = first.get(run.tag, ({}, {})), public_answers(protocol.runs, answers)
        stated = (run.team, run.tag, run.kind, other, made, run.uses)
        is_oracle = run.tag in protocol.runs.kind(run.kind).oracles
        runs.append(PaperRun(*stated, of_run, is_baseline, of_first, public, is_oracle, hits))
    facts = PaperTrack(
        name=files.name,
        protocol=protocol,
        runs=tuple(runs),
        measures=names if scores else (),
        n_topics=len(qrels.units.topics) if qrels.units else 0,
        topics=_topics(files, qrels.units),
        organizations=_organizations(Path(files.teams)) if files.teams else {},
    )
    problems = [result.problem for result in results]
    warnings = [qrels.warning] if qrels.warning else []
    warnings += [f"{run.tag}: {problem}" for run, problem in zip(scored, problems, strict=True) if problem]
    rankings = [run.ranking for run in prepared]
    return ScoredRuns(files, facts, qrels, rows, rankings, scores, formulas, not all(problems), warnings)


def _qrels(files: TrackFiles, protocol: Protocol, formulas: Formulas | None) -> TrackQrels:
    """The qrels of the files; without those of distinct formulas, each has the highest grade of its instances."""
    units = read_qrels(files.qrels, protocol) if files.qrels else None
    instances = read_qrels(files.instances, protocol) if files.instances else None
    is_collapsed = protocol.scoring.collapse_instances
    if not is_collapsed:  # the units are instances
        units, instances = units or instances, None
    given = units if not is_collapsed else instances if units is None else None
    if given is None or formulas is None:
        return TrackQrels(units, instances)
    distinct, n_skipped = to_distinct_formulas(given, formulas)
    if not len(distinct.grade):
        raise InputError(f"{files.instances or files.qrels}: no line has a formula with a visual id")
    warning = (
        f"{n_skipped:,} of {len(given.grade):,} judged instances have no visual id, so they are in no distinct "
        "formula; the tables have the others"
        if n_skipped
        else ""
    )
    if is_collapsed:
        return TrackQrels(distinct, with_visual_ids(given, formulas), None, warning)
    return TrackQrels(units, None, distinct, warning)


def _topics(files: TrackFiles, qrels: QrelsColumns | None) -> dict[str, PaperTopic]:
    """The topics of the files with their labels, and the counts of the qrels."""
    rows: dict[str, TopicRow] = {}
    if files.topics:
        path = Path(files.topics)
        rows = {topic.code: topic for topic in read_topics(path.read_bytes(), path.name)}
    labels = {code: dict(topic.labels) for code, topic in rows.items()}
    counts = grades_by_topic(qrels) if qrels is not None else {}
    labels |= {code: {} for code in counts if code not in labels}
    if files.labels:
        path = Path(files.labels)
        is_open = not labels  # neither topics nor qrels say which topics there are
        for code, of_topic in read_labels(path.read_bytes(), path.name).items():
            if is_open or code in labels:
                labels.setdefault(code, {}).update(of_topic)
    topics = {}
    for code, own in sorted(labels.items()):
        row = rows.get(code, TopicRow(code))
        column = next((name for name in own if name.strip().lower() == SPLIT), "")
        split = split_of(own.pop(column)) if column else row.split
        topics[code] = PaperTopic(own, counts.get(code), split, text_of(row.title, row.latex), row.latex)
    return topics


def _organizations(path: Path) -> dict[str, str]:
    sheet = read_sheet(StringIO(read_text(str(path)), newline=""))
    if list(map(normal, sheet.header)) != TEAM_COLUMNS:
        got = ", ".join(sheet.header) or "nothing"
        raise InputError(
            f"{path}: line {sheet.number or 1}: expected the columns team and organization; got {got}"
        )
    organizations: dict[str, str] = {}
    for number, cells in sheet.rows:
        if isinstance(cells, str):
            raise InputError(f"{path}: line {number}: {cells}")
        organizations[cells[0].strip()] = cells[1].strip()
    return organizations
