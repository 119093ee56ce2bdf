"""The whole protocol, and its small tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from assay.digests import sha256_of
from assay.extensions import installed
from assay.protocols import units
from assay.protocols.schema.common import OF_ANSWERS, nothing
from assay.protocols.schema.judging import JudgingRules
from assay.protocols.schema.pool import InstanceRules, PoolRules
from assay.protocols.schema.qrels import QrelsRules
from assay.protocols.schema.runs import NO_RUNS, RunRules
from assay.protocols.schema.scoring import AgreementRules, ScoringRules
from assay.structure import Key

Unit = Literal["answer", "document", "formula", "visually-distinct-formula", "passage", "generated-answer"]
UNITS = {
    "answer": "answers",
    "document": "documents",
    "formula": "formula instances",
    "visually-distinct-formula": "visually distinct formulas",
    "passage": "passages",
    "generated-answer": "nuggets and citations of generated answers",
}
TopicPart = Literal[
    "number",
    "title",
    "query",
    "language-target",
    "description",
    "narrative",
    "properties",
    "rules",
    "scenario",
    "criteria",
    "subtopics",
]
Tokenizer = Literal["english-latex", "words-latex", "words"]
TOKENIZERS = {
    "english-latex": "English words by their stems, without stop words; formulas as tokens of LaTeX.",
    "words-latex": "Words as they are; formulas as tokens of LaTeX.",
    "words": "Words as they are, in formulas too.",
}
NO_MEASURES = ScoringRules(())  # of a protocol of rows, which are judged without runs


@dataclass(frozen=True, slots=True)
class TopicRules:
    """The labels of topics, and what participants see of a topic."""

    labels: Annotated[
        Mapping[str, tuple[str, ...]],
        Key(
            "Labels of topics",
            "The labels that topics may have, each with its allowed values. An empty list allows any word.",
        ),
    ] = field(default_factory=nothing)
    participants_see: Annotated[
        tuple[TopicPart, ...],
        Key(
            "Parts that participants see",
            "The parts of a topic that participants see. If left out, they see the whole topic.",
            is_rare=True,
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class NuggetRules:
    """The facts that generated answers should contain, which people or programs list before answers are judged."""

    most: Annotated[
        int | None, Key("Nuggets per topic at most", "The most nuggets of a topic.", when=OF_ANSWERS)
    ] = None
    max_words: Annotated[
        int | None, Key("Words of a nugget at most", "The most words of a nugget.", when=OF_ANSWERS)
    ] = None


@dataclass(frozen=True, slots=True)
class BaselineRules:
    """Parameters of the baselines of `assay baseline` for the protocol."""

    tokenizer: Annotated[
        Tokenizer,
        Key(
            "Words of text",
            "How [text baselines](../howto/baselines.md) cut text into tokens: `english-latex`, English "
            "words by their Porter stems without stop words, and formulas as commands, letters, numbers "
            "and signs of LaTeX; `words-latex`, words as they are, for other languages; `words`, words "
            "only, in formulas too.",
            values=TOKENIZERS,
        ),
    ] = "english-latex"


@dataclass(frozen=True, slots=True)
class InteractionRules:
    """Sessions on topics that teams nominate, after their first runs (BOLT)."""

    seconds_per_topic: Annotated[
        int,
        Key(
            "Seconds per topic",
            "The seconds of a session, at most. The site ends it then, and a time log with more is refused.",
        ),
    ]
    measure: Annotated[
        str,
        Key(
            "Reported measure",
            "The measure whose change the report on the interaction shows; one of `scoring.measures`. If "
            "left out: the first of them.",
            names="scoring.measures",
        ),
    ] = ""
    run_kind: Annotated[
        str,
        Key(
            "Kind of the runs that follow",
            "The kind of the runs that follow. A team submits them only after a session.",
            names="runs.kind",
        ),
    ] = "post-interaction"


@dataclass(frozen=True, slots=True)
class Protocol:
    """An evaluation protocol."""

    slug: Annotated[
        str,
        Key(
            "Name in addresses",
            "The name of the protocol in commands and addresses: lower-case letters, digits and single "
            "hyphens, at most 100 characters.",
            wrong_names=("id",),
        ),
    ]
    title: Annotated[str, Key("Title", "One line for people.", wrong_names=("name",))]
    source: Annotated[
        str, Key("Source", "The publication or guidelines that the figures are taken from.", is_long=True)
    ]
    unit: Annotated[
        Unit,
        Key(
            "What is judged",
            "What a run retrieves. Tweets, claims, arguments and web pages are documents. A "
            "passage is a document of the collection too, unless the layout is `citation` or a "
            "format is `bolt-xml`: then it is a citation of a post.",
            values=UNITS,
        ),
    ]
    topics: Annotated[TopicRules, Key("Topics")]
    pool: Annotated[PoolRules, Key("Pool")]
    instances: Annotated[InstanceRules, Key("Formula instances")]
    judging: Annotated[JudgingRules, Key("Judging")]
    qrels: Annotated[QrelsRules, Key("Qrels")]
    agreement: Annotated[AgreementRules, Key("Agreement")]
    baselines: Annotated[BaselineRules, Key("Text baselines")]
    nuggets: Annotated[NuggetRules, Key("Nuggets")]
    interaction: Annotated[InteractionRules | None, Key("Interaction")]
    text: str = field(repr=False, metadata={"key": ""})  # of the file; not a key
    runs: Annotated[RunRules, Key("Runs")] = NO_RUNS
    scoring: Annotated[ScoringRules, Key("Measures")] = NO_MEASURES
    published: Annotated[
        Mapping[str, float],
        Key(
            "Published figures",
            "Sizes of the published collection, to compare yours with: any names, each with a number.",
        ),
    ] = field(default_factory=nothing)
    extensions: Annotated[
        tuple[str, ...],
        Key(
            "Extensions",
            "The [extensions](../extending.md) that the protocol needs: those that add its measures or its "
            "pool strategy. It cannot be used where one of them is not installed.",
            is_rare=True,
        ),
    ] = ()

    @property
    def needs(self) -> frozenset[str]:
        """The extensions without which the protocol cannot be used."""
        return frozenset(self.extensions)

    @property
    def missing(self) -> frozenset[str]:
        """The needed extensions that are not installed, or not selected."""
        return self.needs and self.needs - {known.extension.name for known in installed()}

    @property
    def judged(self) -> units.Unit:
        """The unit of the judging page."""
        return self.judging.judged

    @property
    def judged_heading(self) -> str:
        is_other = self.judged.noun != "unit" or self.judged.has_nuggets
        return self.judged.noun.capitalize() if is_other else "Document"

    @property
    def lines_heading(self) -> str:
        """The heading of the counts of a run by topic: a run of answers has sentences."""
        return "Sentences" if self.is_of_answers else "Lines"

    @property
    def takes_runs(self) -> bool:
        """Return whether anything is submitted and scored; rows are judged without runs."""
        return bool(self.runs.kinds)

    @property
    def is_of_answers(self) -> bool:
        """Return whether a run has generated answers."""
        return self.unit == "generated-answer"

    @property
    def judges_relevance(self) -> bool:
        """Return whether a grade is one of relevance: not of a nugget in an answer, and not of a row."""
        return self.judging.has_scale and not self.judged.has_nuggets and self.pool.strategy != "rows"

    @property
    def high_units(self) -> str:
        """The heading of the number of units with a high grade; empty without a scale."""
        if not self.judging.has_scale:
            return ""
        return "Relevant" if self.judges_relevance else f"Grade {self.agreement.binary_from} or higher"

    @property
    def cites_posts(self) -> bool:
        """Return whether a run cites passages of posts by thread, post, offset and length; else it cites documents."""
        names_citations = self.judging.layout == "citation" or "bolt-xml" in self.runs.formats
        return self.unit == "passage" and names_citations

    @property
    def has_own_texts(self) -> bool:
        """Return whether runs or tables have the texts that assessors read; else a collection has them."""
        return self.judged.has_own_text or self.cites_posts

    @property
    def digest(self) -> str:
        """The SHA-256 of the file."""
        return sha256_of(self.text.encode())

    @property
    def edition(self) -> str:
        """A slug for this text where another text has its slug, such as that of another release of Assay."""
        return f"{self.slug[:91]}-{self.digest[:8]}"
