"""The tables `scoring` and `agreement`: the measures, and the grades from which a unit is relevant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from assay.protocols.schema.common import OF_FORMULAS
from assay.structure import Key

Average = Literal["judged", "common"]
AVERAGES = {"judged": "all topics of the qrels", "common": "topics that run and qrels have in common"}


@dataclass(frozen=True, slots=True)
class ScoringRules:
    """The measures, and what they are computed on."""

    all_measures: Annotated[
        tuple[str, ...],
        Key(
            "Measures",
            "The [measures](measures.md) of the leaderboard, at least one. Those of a set of qrels follow"
            " its key and a colon: `quality:nDCG@5`.",
            is_measure=True,
            wrong_names=("metrics",),
        ),
    ] = field(metadata={"key": "measures"})
    judged_only: Annotated[
        bool,
        Key(
            "Without unjudged documents",
            "Curves and reports remove unjudged documents first. (A measure states this itself, by a prime.)",
            is_rare=True,
        ),
    ] = False
    relevant_from: Annotated[
        int,
        Key(
            "Relevant from grade",
            "The grade from which a document is relevant in curves and reports. Measures state it "
            "themselves, by `rel=`. Where a measure without `rel=` would count from a lower grade, the "
            "protocol is refused.",
        ),
    ] = 1
    group_relevant_from: Annotated[
        int | None,
        Key(
            "Relevant from grade, in qrels of a group",
            "The same for the qrels of one group of assessors. Measures with `rel=` that grade "
            "have this one instead. If left out, it is `relevant_from`.",
            is_rare=True,
        ),
    ] = None
    average: Annotated[
        Average,
        Key(
            "Topics of a mean",
            "The topics that a mean covers: all topics of the qrels (a missing one counts 0), or those "
            "that run and qrels have in common.",
            values=AVERAGES,
            is_rare=True,
        ),
    ] = "judged"
    collapse_instances: Annotated[
        bool,
        Key(
            "An instance counts as its formula",
            "Each formula instance counts as its visually distinct formula; the first of each formula stays.",
            when=OF_FORMULAS,
        ),
    ] = False
    duplicates_are_false_alarms: Annotated[
        bool,
        Key(
            "Near-duplicates are not relevant",
            "A repeated near-duplicate counts as not relevant.",
            when={"unit": ("passage",)},
        ),
    ] = False
    topic_classes: Annotated[
        tuple[str, ...],
        Key(
            "Labels for reports",
            "The labels by which reports give means and rankings. Without the key, or if the topics have "
            "none of these labels, reports cover every label.",
            names="topics.labels",
            is_rare=True,
        ),
    ] = ()

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures of the qrels of the grades."""
        return self.measures_of("")

    def measures_of(self, key: str) -> tuple[str, ...]:
        """The measures of a set of qrels, without its key."""
        parts = [name.rpartition(":") for name in self.all_measures]
        return tuple(name for of, _, name in parts if of == key)

    def level_of(self, report: Mapping[str, Any]) -> int:
        """The grade from which a document is relevant in qrels, whose report names their group or set."""
        if "set" in report:
            return int(report["relevant_from"])
        own = self.group_relevant_from if "group" in report else None
        return self.relevant_from if own is None else own


@dataclass(frozen=True, slots=True)
class AgreementRules:
    """The agreement of assessors: on every grade, and on two classes."""

    binary_from: Annotated[
        int,
        Key(
            "Relevant from grade",
            "The grade of one judgment from which a unit counts as relevant: in two-way agreement, on the"
            " live board and in the order `move-to-front`. In the qrels several judgments can be one "
            "grade, such as their sum; `qrels.relevant_from` is about that.",
        ),
    ] = 1
