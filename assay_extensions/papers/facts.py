"""The facts in the tables of a paper: a track with its runs, teams, topics and scores, from files or a database."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, NamedTuple, Self

from assay.html.sanitize import beginning, plain
from assay.measures.scores import STEPS, are_words, step_or_name
from assay.protocols.description import label_value
from assay.protocols.schema import Protocol
from assay.statistics.agreement import krippendorff_alpha
from assay.statistics.agreement_report import Graded, mean, pairs
from assay.statistics.qrels_summary import Grades, n_from
from assay.statistics.ranking_comparison import RankingComparison
from assay.tables.paper import MOST_LETTERS


class PaperRun(NamedTuple):
    """A run. `pooled_as` is another kind than its own, or empty.

    `made` and `uses` are empty if nobody stated them; `means` is empty if it was not scored. `first` has the number of
    topics by the grade of their first document, as `assay.statistics.leaderboard.first_grades` counts them; `answers`
    has those to the public questions of the protocol in words, by key.
    An oracle is a baseline that uses what no team has. `first_hits` has the first judged document of each topic and its
    grade; it is empty if they are not known.
    """

    team: str
    tag: str
    kind: str
    pooled_as: str = ""
    made: str = ""
    uses: str = ""
    means: Mapping[str, float] = {}
    is_baseline: bool = False
    first: Mapping[str, int] = {}
    answers: Mapping[str, str] = {}
    is_oracle: bool = False
    first_hits: Mapping[str, Any] = {}

    @property
    def pooled_kind(self) -> str:
        """The kind that it is pooled as."""
        return self.pooled_as or self.kind

    @property
    def name(self) -> tuple[str, str]:
        """The key that identifies the same run in several tracks."""
        return self.team.casefold(), self.tag.casefold()


class PaperTopic(NamedTuple):
    """A topic with its labels, and how many units of it have each grade; `grades` is None without qrels.

    `split` is its part of the track, such as train or test; `text` its formula, or else its title; LaTeX is between
    dollars.
    """

    labels: Mapping[str, str]
    grades: Grades | None = None
    split: str = ""
    text: str = ""
    latex: str = ""  # of its formula

    @property
    def shown(self) -> str:
        """The beginning of the text, with whole formulas."""
        return beginning(self.text, MOST_LETTERS)

    def n_from(self, level: int) -> int:
        """The number of units with a grade from `level`."""
        return n_from(self.grades or {}, level)


class UnitFacts(NamedTuple):
    """The number of units of each grade, by topic, and the grade from which the protocol counts one as relevant."""

    by_topic: Mapping[str, Grades]
    relevant_from: int

    def level(self, wanted: int | None) -> int:
        """The grade from which a unit is relevant: the wanted one, or that of the protocol."""
        return self.relevant_from if wanted is None else wanted


def text_of(title: str, latex: str) -> str:
    """The name of a topic in tables: its formula, or else its title, which is sanitized HTML; on one line, and LaTeX
    between dollars."""
    formula = " ".join(latex.split())
    return f"${formula}$" if formula else plain(title)


@dataclass(frozen=True, slots=True)
class PaperTrack:
    """A track, as papers report it.

    Args:
        measures: of the means, in the order of the columns.
        n_topics: topics of the qrels; 0 without qrels.
        topics: by code, in order.
        organizations: of the teams that stated theirs.
    """

    name: str
    protocol: Protocol
    runs: tuple[PaperRun, ...] = ()
    measures: tuple[str, ...] = ()
    n_topics: int = 0
    topics: Mapping[str, PaperTopic] = field(default_factory=dict)
    organizations: Mapping[str, str] = field(default_factory=dict)

    def label(self, topic: PaperTopic, name: str) -> str:
        """The value of a label in words, in the spelling of the protocol; upper and lower case count as equal."""
        value = next((text for key, text in topic.labels.items() if key.casefold() == name.casefold()), "")
        known = {text.casefold(): text for text in self.protocol.topics.labels.get(name, ())}
        return label_value(known.get(value.casefold(), value), name)

    @property
    def units(self) -> UnitFacts:
        """The units of the qrels, by all judgments."""
        counts = {code: topic.grades for code, topic in self.topics.items() if topic.grades is not None}
        return UnitFacts(counts, self.protocol.scoring.relevant_from)

    @property
    def parts(self) -> dict[str, dict[str, PaperTopic]]:
        """The topics of each split, under the names of the track and the split; one part if there are no splits."""
        splits = sorted({topic.split for topic in self.topics.values()} - {""})
        if not splits:
            return {self.name: dict(self.topics)}
        named = {f"{self.name}, {split}": split for split in splits} | {f"{self.name}, no split": ""}
        parts = {
            name: {code: topic for code, topic in self.topics.items() if topic.split == split}
            for name, split in named.items()
        }
        return {name: topics for name, topics in parts.items() if topics}

    @property
    def labels(self) -> list[str]:
        """Names of the labels of topics, those of the protocol first, then others with a few values that are words."""
        values: dict[str, set[str]] = {}
        for topic in self.topics.values():
            for name, value in topic.labels.items():
                values.setdefault(name, set()).add(value)
        known = {name.casefold(): name for name in self.protocol.topics.labels}
        named = {name.casefold() for name in values}
        own = [name for name in self.protocol.topics.labels if name.casefold() in named]
        return own + [
            name for name in values if name.casefold() not in known and are_words(values[name] - {""})
        ]


def in_order(values: Collection[str]) -> list[str]:
    """Steps such as easy and high in one order, also if each collection has words of its own; others as they are."""
    are_steps = all(value.casefold() in STEPS for value in values)
    return sorted(values, key=step_or_name) if are_steps else list(values)


ByMeasure = Mapping[str, RankingComparison]


class Rankings(NamedTuple):
    """The same runs in several rankings, by measure; `runs` has their names in the order of the arrays."""

    runs: tuple[str, ...]
    by_measure: ByMeasure


class AgreementFacts(NamedTuple):
    """The agreement of the assessors of a collection on units that several of them judged; None where undefined."""

    n_assessors: int
    n_units: int
    kappa: float | None
    two_way: float | None
    alpha: float | None

    @classmethod
    def of(cls, graded: Graded, level: int) -> Self | None:
        """The means of kappa over every two assessors, and alpha; None if no unit has several judgments."""
        of_pairs = pairs(graded, level)
        if not of_pairs:
            return None
        kappas = (mean(pair.kappa.value for pair in of_pairs), mean(pair.two_way.value for pair in of_pairs))
        alpha = krippendorff_alpha(graded.unit, graded.grade)
        defined = (None if isnan(value) else value for value in (*kappas, alpha))
        return cls(
            len({name for pair in of_pairs for name in (pair.first, pair.second)}),
            graded.n_shared_units,
            *defined,
        )


class Example(NamedTuple):
    """A commented judgment; with the LaTeX of the formula, if it is one."""

    topic: str
    docno: str
    grade: int
    comment: str
    latex: str = ""


@dataclass(frozen=True, slots=True)
class PaperCollection:
    """A test collection: a track, its documents, and the comparisons of its runs that are known.

    Args:
        source: what the documents are, such as Math Stack Exchange; empty if nobody stated it.
        n_documents, n_formulas: of the collection that runs search; None if unknown.
        partly: the units of the pool of which assessors saw some instances only, in words; empty if unknown.
        depths: to which each kind of run was pooled; None for those of the protocol.
        units: the same qrels over the other units of formulas, instances or distinct formulas, by name.
        by_group: qrels of each group of assessors.
        distinct_by_group: the same over distinct formulas, where the units are instances.
        by_label: rankings by the values of each label, by measure.
        instances: scored over instances, and over distinct formulas.
        groups: scored by all assessors together, and by each group, over instances and over distinct formulas; under an
            empty name if formulas are counted in one way only.
        several: judged formulas with several judged instances, and all judged formulas; None if unknown.
        agreement: of the assessors; None if nobody judged a unit twice.
        examples: judgments with comments.
        latex: of the first hits of runs, by their ids.
    """

    track: PaperTrack
    source: str = ""
    n_documents: int | None = None
    n_formulas: int | None = None
    depths: Mapping[str, int] | None = None
    partly: str = ""
    units: Mapping[str, UnitFacts] = field(default_factory=dict)
    by_group: Mapping[str, UnitFacts] = field(default_factory=dict)
    distinct_by_group: Mapping[str, UnitFacts] = field(default_factory=dict)
    by_label: Mapping[str, ByMeasure] = field(default_factory=dict)
    instances: Rankings | None = None
    groups: Mapping[str, Rankings] = field(default_factory=dict)
    several: tuple[int, int] | None = None
    agreement: AgreementFacts | None = None
    examples: Sequence[Example] = ()
    latex: Mapping[str, str] = field(default_factory=dict)

    def label(self, name: str) -> str:
        """A label as this collection spells it; empty if its topics do not have it."""
        names = {own.casefold(): own for own in self.track.labels}
        return names.get(name.casefold(), "")
