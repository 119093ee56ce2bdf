"""The table `qrels`: how judgments become qrels, and the columns of imported files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from assay.protocols.schema.common import CONDITION, GRADED, OF_PAIRS, SEPARATORS, Separator, Titled, nothing
from assay.structure import Key

QrelsColumn = Literal["topic", "docno", "grade", "skip"]
PreferenceRule = Literal["copeland", "bradley-terry", "tournament", "votes"]
PREFERENCE_RULES = {
    "copeland": "The grade of a document or answer is 2 for each pair that it wins, and 1 for each that is level.",
    "bradley-terry": "The grade of a document or answer is the place of its Bradley-Terry value; the lowest has 1.",
    "tournament": "The winners of the tournament have 101 and 1 for each pair won in the last round, the others 1.",
    "votes": "The qrels have the preferences themselves.",
}
Aggregate = Literal["single", "maximum", "sum", "median", "majority", "mean"]
AGGREGATES = {
    "single": "The judgment of a unit is its grade.",
    "maximum": "The grade of a unit is the highest grade of its judged instances.",
    "sum": "The grade of a unit is the sum of its assessors' grades.",
    "median": "The grade of a unit is the median of its judgments; of two in the middle, the lower.",
    "majority": "The grade of a unit is the most frequent one of its judgments; of several, the lowest.",
    "mean": "The grade of a unit is the mean of its judgments, rounded half up.",
}


@dataclass(frozen=True, slots=True)
class QrelsLines:
    """The lines of a file of qrels that is not in the usual four columns."""

    order: Annotated[
        tuple[QrelsColumn, ...],
        Key(
            "Columns, from left to right",
            "The columns from left to right: `topic`, `docno`, `grade`, and `skip` (no meaning, as often "
            "as needed).",
        ),
    ]
    header: Annotated[
        tuple[str, ...],
        Key(
            "Names of the columns",
            "The names of the columns, where the first line of each file has them, as in runs, such as "
            "`topic_id`, `tweet_id`, `tweet_text` and `check_worthiness`. The column `skip` is in files "
            "that Assay writes.",
        ),
    ] = ()
    separator: Annotated[
        Separator,
        Key(
            "Separator",
            "What separates the columns, as in runs. With `tab`, gold files with a column of text can be "
            "read, which is a column `skip`.",
            values=SEPARATORS,
        ),
    ] = "white-space"
    words: Annotated[
        Mapping[str, int],
        Key(
            "Words that are grades",
            "Words of the column `grade`, each with the value of its grade, such as `Good` with "
            "1. Numbers are accepted too. An export writes the first word of each grade.",
        ),
    ] = field(default_factory=nothing)


@dataclass(frozen=True, slots=True)
class GradeRule:
    """A grade that several answers give together."""

    when: Annotated[
        tuple[str, ...],
        Key("If all of", "Conditions that must all hold, as in `judging.question.after`.", names=CONDITION),
    ]
    grade: Annotated[int, Key("Grade", "The grade of the judgment, 0 to 999.")]


@dataclass(frozen=True, slots=True)
class QrelsSet(Titled):
    """Further qrels of the same judgments, such as those of an answer."""

    key: Annotated[
        str,
        Key(
            "Name in files",
            "Names the set in measures (`quality:nDCG@5`) and files: lower-case letters, digits and "
            "single hyphens.",
        ),
    ]
    title: Annotated[str, Key("Title", "The name on pages. If left out: the key.")] = ""
    question: Annotated[
        str,
        Key(
            "Question",
            "The one-of or yes-no question whose answers are the grades. For an any-of question, the "
            "qrels have a line for each choice, as subtopics: grade 1 if it is chosen, otherwise 0. If "
            "left out: the grade of the judgment, or only the rules, if there are some.",
            names="judging.question",
        ),
    ] = ""
    grades: Annotated[
        Mapping[str, int],
        Key(
            "Grade of each choice",
            "The grade of each choice: of the question, or without one of `judging.grade`. If left out: "
            "the values of the choices. A choice without a grade counts as not answered.",
            names=GRADED,
        ),
    ] = field(default_factory=nothing)
    rules: Annotated[
        tuple[GradeRule, ...],
        Key(
            "Grades from several answers",
            "Grades that several answers give together. They come before the answer, and the first rule "
            "that holds counts.",
        ),
    ] = field(default=(), metadata={"key": "rule"})
    only: Annotated[
        tuple[str, ...],
        Key(
            "Only units with any of",
            "Conditions, as in `judging.question.after`. A unit that meets none of them has the "
            "grade `qrels.set.otherwise`.",
            names=CONDITION,
        ),
    ] = ()
    otherwise: Annotated[
        int | None,
        Key(
            "Grade of the others",
            "The grade of judged units that have no other in this set, because they meet no "
            "condition of `qrels.set.only`, no rule, or the question was not answered. If left "
            "out: the set does not have these units.",
        ),
    ] = None
    aggregate: Annotated[
        Aggregate,
        Key(
            "Grade of a unit",
            "How several judgments become one grade, as `qrels.aggregate`.",
            values=AGGREGATES,
            is_rare=True,
        ),
    ] = "single"
    min_relevant: Annotated[
        int,
        Key(
            "Fewest relevant units of a topic",
            "A topic with fewer relevant units is left out of the set.",
            is_rare=True,
        ),
    ] = 0
    relevant_from: Annotated[
        int,
        Key(
            "Relevant from grade",
            "The grade from which a unit of the set is relevant: for `min_relevant`, and for curves and "
            "reports of its leaderboard.",
            is_rare=True,
        ),
    ] = 1
    preferences: Annotated[
        PreferenceRule | None,
        Key(
            "Grades from preferences",
            "As `qrels.preferences`; each set of a protocol of pairs has it.",
            values=PREFERENCE_RULES,
            when=OF_PAIRS,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class QrelsRules:
    """The way from judgments to qrels."""

    aggregate: Annotated[
        Aggregate,
        Key(
            "Grade of a unit",
            "How judgments of a unit become its grade: the judgment, the highest grade of its instances, "
            "or the sum over its judges; or of all judgments of a unit the median (of two in the middle, "
            "the lower), the most frequent grade (of several, the lowest), or the mean (rounded half up)."
            " An adjudication decides alone, except in a sum.",
            values=AGGREGATES,
        ),
    ] = "single"
    min_relevant: Annotated[
        int,
        Key(
            "Fewest relevant units of a topic",
            "A topic with fewer relevant units is left out of the qrels.",
            is_rare=True,
        ),
    ] = 0
    relevant_from: Annotated[
        int, Key("Relevant from grade", "The grade from which a unit counts for `min_relevant`.")
    ] = 1
    columns: Annotated[
        QrelsLines | None,
        Key(
            "Columns of imported qrels",
            "The columns of qrels and gold files that are imported. The usual `topic 0 docno grade` is "
            "accepted too.",
            is_rare=True,
        ),
    ] = None
    topic_citations: Annotated[
        bool,
        Key(
            "Citations of the topics' developers join",
            "Citations in the topics, graded by their developers, join the judged ones. If an assessor "
            "judged the same citation, the judgment counts.",
            when={"unit": ("passage",)},
        ),
    ] = False
    export_groups: Annotated[
        bool,
        Key(
            "Each group has qrels of its own",
            "Freezing also makes a qrels version of each group's own grades.",
            is_rare=True,
        ),
    ] = False
    preferences: Annotated[
        PreferenceRule | None,
        Key(
            "Grades from preferences",
            "How the preferences between pairs become grades of documents: 2 for each pair won and 1 for "
            "each level pair (`copeland`, with all pairs only), the place of the Bradley-Terry value, the"
            " winners of the tournament on top, or the preferences themselves, for measures such as PGC "
            "(`votes`). A document that was called useless, and was never preferred or level, has grade "
            "0. Required with the layout `pair`.",
            values=PREFERENCE_RULES,
            when=OF_PAIRS,
        ),
    ] = None
    sets: Annotated[
        tuple[QrelsSet, ...],
        Key(
            "Further qrels",
            "Further qrels of the same judgments, such as those of an answer. Freezing makes a version of"
            " each, next to that of the grades.",
        ),
    ] = field(default=(), metadata={"key": "set"})

    def set_of(self, key: str) -> QrelsSet | None:
        return next((qrels_set for qrels_set in self.sets if qrels_set.key == key), None)
