"""What an evaluation protocol says, as frozen dataclasses.

One TOML file under `protocols/` becomes one `Protocol`. Code asks the protocol; it never asks which protocol
it has. Keys, strategies and formats that are named here are all that a protocol file may hold; `loader` refuses
the rest with file, key and the allowed values. Sources: PROTOCOLS are cited by each file's `source`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, get_args

Unit = Literal["answer", "document", "formula", "visually-distinct-formula", "passage"]
TopicPart = Literal["number", "query", "language-target", "description", "properties", "rules"]
RunFormat = Literal["arqmath-5", "arqmath-6", "trec-6", "ntcir-xml", "bolt-xml"]
RunKind = Literal["primary", "alternate", "baseline", "evaluation", "phase2", "post-interaction"]
PooledAs = Literal["primary", "alternate"]
PoolStrategy = Literal["top-k", "distinct-units", "round-robin-until", "top-k-by-score", "known-item"]
JudgingOrder = Literal["random", "by-run-votes", "move-to-front"]
Clustering = Literal["none", "submitted", "collection"]
InstanceStrategy = Literal["thread-random", "most-runs", "reciprocal-rank-vote"]
Layout = Literal["question-answer", "topic-document", "formula-instances", "formula", "citation"]
Aggregate = Literal["single", "maximum", "sum"]
Average = Literal["judged", "common"]

RUN_FORMATS: tuple[str, ...] = get_args(RunFormat)
RUN_KINDS: tuple[str, ...] = get_args(RunKind)
EVERY_RANK = 2**31 - 1  # a depth that no run reaches, and that a column of whole numbers holds


@dataclass(frozen=True, slots=True)
class TopicRules:
    """What a topic carries: the labels that organizers may add, each with its allowed values; none: any word."""

    labels: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    participants_see: tuple[TopicPart, ...] = ()  # empty: all of a topic


@dataclass(frozen=True, slots=True)
class RunRules:
    """What a submitted run must look like. `formats` are accepted in any mixture of files, one per file."""

    formats: tuple[RunFormat, ...]
    max_ranks: int  # most ranked units of one topic
    kinds: tuple[RunKind, ...] = ("primary", "alternate", "baseline")
    scored_kinds: tuple[RunKind, ...] = ("primary", "alternate", "baseline")
    max_of_kind: Mapping[str, int] = field(
        default_factory=lambda: MappingProxyType({})
    )  # a team's standing runs
    min_score: float | None = None
    max_score: float | None = None
    max_passage_characters: int | None = None
    max_seconds_per_topic: float | None = None
    forbidden_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PoolRules:
    """How runs become a pool. `depth` is by kind of run; a baseline's kind is what it is pooled as."""

    strategy: PoolStrategy
    depth: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    depth_is_default: bool = False  # True: the protocol leaves the depth open and this file fills it in
    baseline_as: PooledAs = "primary"  # for a baseline that `baselines` does not name
    baselines: Mapping[str, PooledAs] = field(default_factory=lambda: MappingProxyType({}))  # tag -> kind
    target: int | None = None  # round-robin-until: unique units a topic
    near_duplicate_overlap: float | None = None  # share of word bigrams, symmetric
    order: JudgingOrder = "random"

    def depth_of(self, kind: str, tag: str = "", pooled_as: str = "") -> int:
        """The depth to which a run is pooled; 0 if its kind is not pooled.

        Where the protocol gives no depth at all, because its strategy needs none, every rank of every run counts.
        """
        if not self.depth:
            return EVERY_RANK
        if kind == "baseline" and "baseline" not in self.depth:
            kind = pooled_as or self.baselines.get(tag, self.baseline_as)
        return self.depth.get(kind, 0)


@dataclass(frozen=True, slots=True)
class InstanceRules:
    """Which instances of one visually distinct formula are judged, and where formulas are clustered."""

    clustering: Clustering = "none"
    strategy: InstanceStrategy | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Grade:
    """A grade of the scale. `key` names it in forms and files, `value` is what qrels hold."""

    key: str
    value: int
    label: str
    definition: str
    shortcut: str = ""


@dataclass(frozen=True, slots=True)
class NonAnswer:
    """A choice that is not a grade and never becomes one."""

    key: str
    label: str
    definition: str
    needs_comment: bool = False
    shortcut: str = ""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A further question, asked when one of `after` was chosen (BOLT: translation, source consulted, ...)."""

    key: str
    label: str
    choices: Mapping[str, str]  # key -> label
    after: tuple[str, ...]  # keys of grades
    languages: tuple[str, ...] = ()  # empty: all


@dataclass(frozen=True, slots=True)
class JudgingRules:
    """What an assessor sees and chooses, and how many assessors judge a unit."""

    layout: Layout
    grades: tuple[Grade, ...]
    non_answers: tuple[NonAnswer, ...] = ()
    follow_ups: tuple[FollowUp, ...] = ()
    judges: int = 1  # assessors of each unit
    groups: tuple[str, ...] = ()  # kinds of assessor, one judgment from each (NTCIR-12)
    dual_share: float = 0.0  # share of the topics that a second assessor judges as well
    in_context: bool = True  # False: the unit is judged alone, out of its post
    training_topics: int = 0
    dual_topics: int = 0  # topics of another's that each assessor gets after the round

    @property
    def choices(self) -> tuple[Grade | NonAnswer, ...]:
        return (*self.grades, *self.non_answers)

    def choice(self, key: str) -> Grade | NonAnswer | None:
        return next((choice for choice in self.choices if choice.key == key), None)


@dataclass(frozen=True, slots=True)
class QrelsRules:
    """How judgments become qrels. A topic with fewer than `min_relevant` units at `relevant_from` is dropped."""

    aggregate: Aggregate = "single"
    min_relevant: int = 0
    relevant_from: int = 1  # the grade from which a unit counts for `min_relevant`
    export_groups: bool = False  # also one qrels for each group of assessors


@dataclass(frozen=True, slots=True)
class ScoringRules:
    """Which measures are computed, in the notation of the measures module."""

    measures: tuple[str, ...]
    judged_only: bool = False
    relevant_from: int = 1
    average: Average = "judged"
    collapse_instances: bool = False  # replace each instance by its distinct formula, keep the first of each
    duplicates_are_false_alarms: bool = False
    topic_classes: tuple[str, ...] = ()  # labels by which averages are also reported


@dataclass(frozen=True, slots=True)
class AgreementRules:
    """What agreement is computed on: every grade, and grades of at least `binary_from` against the rest."""

    binary_from: int = 1


@dataclass(frozen=True, slots=True)
class InteractionRules:
    """A session with each participant after the first runs (BOLT)."""

    seconds_per_topic: int
    run_kind: RunKind = "post-interaction"


@dataclass(frozen=True, slots=True)
class Protocol:
    """One evaluation protocol, whole. `digest` is the sha256 of the bytes it was read from."""

    slug: str
    title: str
    source: str
    unit: Unit
    topics: TopicRules
    runs: RunRules
    pool: PoolRules
    instances: InstanceRules
    judging: JudgingRules
    qrels: QrelsRules
    scoring: ScoringRules
    agreement: AgreementRules
    interaction: InteractionRules | None
    digest: str
    published: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType({})
    )  # sizes, to compare with
