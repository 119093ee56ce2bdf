"""The schema of an evaluation protocol, as frozen dataclasses.

One TOML file becomes one `Protocol`. Code depends on the rules of a protocol, never on its name. A protocol file
contains only the keys, strategies and formats of this package; `loader` refuses all others with file, key and allowed
values. The keys of `[judging]` and of the tables below it are in `judging`, and so on; small tables are in `protocol`.

Each field is a key of the file. Its `Key` has the words for people, which the JSON Schema, the reference page of
protocol keys and the form that edits a protocol read. The `source` of each file cites the publication of its figures.
Decision: ADR 1.
"""

from assay.protocols.schema.common import CONDITION, GRADED, Separator
from assay.protocols.schema.judging import (
    ANSWERED,
    PREFERENCES,
    YES_AND_NO,
    FormRules,
    Grade,
    JudgingRules,
    NonAnswer,
    PreferenceRules,
    Question,
    QuestionChoice,
    QuestionKind,
)
from assay.protocols.schema.pool import (
    ORDERS,
    SAMPLING,
    InstanceRules,
    InstanceStrategy,
    JudgingOrder,
    PairRules,
    PoolRules,
)
from assay.protocols.schema.protocol import (
    TOKENIZERS,
    UNITS,
    InteractionRules,
    NuggetRules,
    Protocol,
    Tokenizer,
    TopicRules,
    Unit,
)
from assay.protocols.schema.qrels import (
    AGGREGATES,
    PREFERENCE_RULES,
    Aggregate,
    GradeRule,
    QrelsLines,
    QrelsRules,
    QrelsSet,
)
from assay.protocols.schema.runs import (
    ANSWER_FORMATS,
    EVERY_RANK,
    FORMATS,
    NO_RUNS,
    RUN_FORMATS,
    SHOWN_TO,
    AnswerRules,
    Phase,
    RunChoice,
    RunFormat,
    RunKind,
    RunLines,
    RunQuestion,
    RunRules,
    Ties,
    TopicDocuments,
)
from assay.protocols.schema.scoring import AgreementRules, Average, ScoringRules

__all__ = [
    "AGGREGATES",
    "ANSWERED",
    "ANSWER_FORMATS",
    "CONDITION",
    "EVERY_RANK",
    "FORMATS",
    "GRADED",
    "NO_RUNS",
    "ORDERS",
    "PREFERENCES",
    "PREFERENCE_RULES",
    "RUN_FORMATS",
    "SAMPLING",
    "SHOWN_TO",
    "TOKENIZERS",
    "UNITS",
    "YES_AND_NO",
    "Aggregate",
    "AgreementRules",
    "AnswerRules",
    "Average",
    "FormRules",
    "Grade",
    "GradeRule",
    "InstanceRules",
    "InstanceStrategy",
    "InteractionRules",
    "JudgingOrder",
    "JudgingRules",
    "NonAnswer",
    "NuggetRules",
    "PairRules",
    "Phase",
    "PoolRules",
    "PreferenceRules",
    "Protocol",
    "QrelsLines",
    "QrelsRules",
    "QrelsSet",
    "Question",
    "QuestionChoice",
    "QuestionKind",
    "RunChoice",
    "RunFormat",
    "RunKind",
    "RunLines",
    "RunQuestion",
    "RunRules",
    "ScoringRules",
    "Separator",
    "Ties",
    "Tokenizer",
    "TopicDocuments",
    "TopicRules",
    "Unit",
]
