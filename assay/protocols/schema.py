"""The schema of an evaluation protocol, as frozen dataclasses.

One TOML file becomes one `Protocol`. Code depends on the rules of a protocol, never on its name. A protocol file
contains only the keys, strategies and formats of this module; `loader` refuses all others with file, key and allowed
values.

Each field is a key of the file; the comments give its meaning and unit. The reference page of protocol keys is
generated from these classes. The `source` of each file cites the publication of its figures. Decision: ADR 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

from assay.answers import is_citation
from assay.digests import sha256_of
from assay.errors import say

Unit = Literal["answer", "document", "formula", "visually-distinct-formula", "passage", "generated-answer"]
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
RunFormat = Literal[
    "arqmath-5",
    "arqmath-6",
    "trec-6",
    "ntcir-xml",
    "bolt-xml",
    "columns",
    "rag-2024",
    "rag-2025",
    "rag-2026",
    "ragtime",
    "dragun",
]
RunColumn = Literal["topic", "docno", "post", "rank", "score", "tag", "label", "skip"]
QrelsColumn = Literal["topic", "docno", "grade", "skip"]
Tokenizer = Literal["english-latex", "words-latex", "words"]
Separator = Literal["white-space", "tab", "comma", "semicolon"]
Ties = Literal["docno", "file", "rank"]
Severity = Literal["warning", "error"]
TopicDocuments = Literal["warning", "error", "ignore"]
Submitter = Literal["teams", "organizers"]
ShownTo = Literal["release", "team", "teams", "everybody"]
PoolStrategy = Literal[
    "top-k", "distinct-units", "round-robin-until", "top-k-by-score", "known-item", "answers", "rows"
]
JudgingOrder = Literal["random", "by-run-votes", "move-to-front", "by-answer"]
Clustering = Literal["none", "submitted", "collection"]
InstanceStrategy = Literal["thread-random", "most-runs", "reciprocal-rank-vote"]
PairSelection = Literal["all", "tournament", "pooled-best"]
Layout = Literal[
    "question-answer",
    "topic-document",
    "formula-instances",
    "formula",
    "citation",
    "generated-answer",
    "form",
    "pair",
]
ChoicesFrom = Literal["subtopics"]
PreferenceRule = Literal["copeland", "bradley-terry", "tournament", "votes"]
QuestionKind = Literal["one-of", "any-of", "yes-no", "number", "text", "span", "ranking"]
RunQuestionKind = Literal["one-of", "any-of", "yes-no", "number", "text"]
Aggregate = Literal["single", "maximum", "sum", "median", "majority", "mean"]
Average = Literal["judged", "common"]

RUN_FORMATS: tuple[str, ...] = get_args(RunFormat)
ANSWER_FORMATS: tuple[RunFormat, ...] = ("rag-2024", "rag-2025", "rag-2026", "ragtime", "dragun")
EVERY_RANK = 2**31 - 1  # a depth that no run reaches and that fits a database column of whole numbers


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


class _Titled:
    """A part of a protocol with a key and a title."""

    __slots__ = ()
    key: str
    title: str

    @property
    def name(self) -> str:
        """The name on pages."""
        return self.title or self.key


@dataclass(frozen=True, slots=True)
class TopicRules:
    """The labels of topics, and what participants see of a topic."""

    # The labels that topics may have, each with its allowed values; an empty list allows any word.
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=_nothing)
    # Parts of a topic that participants see; empty: all. In BOLT's topics the title is `query`, the narrative `rules`.
    participants_see: tuple[TopicPart, ...] = ()


@dataclass(frozen=True, slots=True)
class RunKind(_Titled):
    """A kind of run in the words of the protocol, and what follows from it."""

    key: str  # names the kind in forms and files: lower-case letters, digits, single hyphens
    title: str = ""  # its name on pages; empty: the key
    # The depth of its runs in a pool, in ranks or units, as the strategy counts; left out: not pooled, or `pooled_as`.
    depth: int | None = None
    pooled_as: str = ""  # the kind whose depth its runs have, unless organizers choose another for a run
    pooled_as_by_tag: Mapping[str, str] = field(default_factory=_nothing)
    scored: bool = True  # whether leaderboards have its runs
    min_per_team: int = 0  # runs that each team owes
    max_per_team: int | None = None  # runs that a team may have at the same time
    submitted_by: Submitter = "teams"
    baseline: bool = False  # marked as such; outside the limit of runs per team in a pool
    oracles: tuple[
        str, ...
    ] = ()  # tags of its runs that use what no team has, such as links that are not published
    # The phase of the campaign to which its runs belong; empty: the campaign has one phase for it
    phase: str = ""


@dataclass(frozen=True, slots=True)
class Phase(_Titled):
    """A part of a campaign with topics, daily limit and scores of its own, to which kinds of runs belong."""

    key: str  # names the phase in addresses and files: lower-case letters, digits, single hyphens
    title: str = ""  # its name on pages; empty: the key
    split: str = ""  # its runs have the topics of this split, and no others; empty: all topics
    # Who sees the scores: those who see a leaderboard when it is released; or at once, on a board of the phase, each
    # team its own, all teams of the track, or everybody.
    scores: ShownTo = "release"
    max_per_day: int | None = None  # runs that a team submits in a day, in the time zone of the track
    after_closing: bool = False  # its runs are accepted when the track is closed, not before

    @property
    def has_board(self) -> bool:
        """Return whether its runs are scored at once, on a board of the phase; they are in no pool then."""
        return self.scores != "release"


@dataclass(frozen=True, slots=True)
class RunChoice:
    """A choice of a question about runs."""

    key: str  # names the choice in files
    label: str  # its text on pages


@dataclass(frozen=True, slots=True)
class RunQuestion:
    """A question about each run, asked when it is submitted."""

    key: str  # names the question in files
    label: str  # the question
    kind: RunQuestionKind = "text"
    given_choices: tuple[RunChoice, ...] = field(default=(), metadata={"key": "choice"})
    required: bool = True  # whether a run without an answer is refused
    help: str = ""  # a sentence below the question
    public: bool = False  # whether files of leaderboards and tables of papers have the answers
    header: str = ""  # the field of a header of ir_metadata that answers it, such as method.retrieval.name

    @property
    def path(self) -> str:
        """The field of a header of ir_metadata with the answer; without `header`, one below `answers`."""
        return self.header or f"answers.{self.key}"

    @property
    def choices(self) -> tuple[RunChoice, ...]:
        """The choices, also those that yes-no has by itself."""
        return (
            (RunChoice("yes", "Yes"), RunChoice("no", "No")) if self.kind == "yes-no" else self.given_choices
        )


@dataclass(frozen=True, slots=True)
class RunLines:
    """The lines of a run, for the format `columns`."""

    order: tuple[RunColumn, ...]  # from left to right; a column `skip` has no meaning
    separator: Separator = "white-space"
    topic: str = ""  # the code of the only topic, where `order` has no column with it
    # The words of the column `label`: whether each says that the document is relevant.
    labels: Mapping[str, bool] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True)
class QrelsLines:
    """The lines of a file of qrels that is not in the usual four columns."""

    order: tuple[QrelsColumn, ...]  # from left to right; a column `skip` has no meaning
    separator: Separator = "white-space"
    # Words of the column `grade`, each with its grade. Numbers are accepted too.
    words: Mapping[str, int] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True)
class AnswerRules:
    """The limits of generated answers. A run that only exceeds limits can be cut."""

    max_words: int | None = None  # of an answer: after NFKC, separated by white space
    max_characters: int | None = None  # of an answer, after NFKC
    characters_label: str = ""  # the label of topics with the limit of characters of each topic
    too_long: Severity = "error"  # what an answer with too many words or characters is
    max_references: int | None = None  # of an answer
    max_run_id: int | None = None  # characters of the id of a run
    citations: int = 1  # of a sentence that are judged, the first ones


@dataclass(frozen=True, slots=True)
class RunRules:
    """The form and content of a submitted run."""

    formats: tuple[RunFormat, ...]  # each file may have any of them
    max_ranks: int  # ranked documents per topic, at most
    # The kinds that a team may declare; the first is the main one.
    kinds: tuple[RunKind, ...] = field(metadata={"key": "kind"})
    answers: AnswerRules  # for formats of generated answers
    columns: RunLines | None = None  # for the format `columns`
    # What a run may use, such as text or math: each word with its name on pages. The last is the usual one. Empty: it
    # is not asked.
    uses: Mapping[str, str] = field(default_factory=_nothing)
    # How documents with equal scores are ordered: by docno, descending; as in the file; or by the rank column. Without
    # it as in trec_eval, by docno, and in bolt-xml as in the file.
    ties: Ties | None = None
    max_tag: int | None = None  # characters of a tag
    # The characters that a tag may have besides letters and digits of ASCII; left out: any.
    tag_characters: str | None = None
    second_column: str = ""  # the word in the second column of trec-6, usually Q0; empty: any
    missing_topics: Severity = "warning"  # what a topic of the track without a line is
    out_of_range_ranks: Severity = "warning"  # what a rank below 1 or above `max_ranks` is
    # What a document with the id of its topic is, where topics are documents of the collection: a warning, an error, or
    # ignored, as if its line were not there.
    topic_documents: TopicDocuments = "warning"
    min_score: float | None = None  # the lowest accepted score
    max_score: float | None = None  # the highest accepted score
    max_passage_characters: int | None = None  # of the text of a citation
    max_seconds_per_topic: float | None = None  # participants then submit the seconds of each topic
    forbidden_fields: tuple[str, ...] = ()  # of a citation; assessors fill them in
    # Documents that each team owes with its runs, such as about preprocessing: a word for each, with its title.
    documents: Mapping[str, str] = field(default_factory=_nothing)
    # The values that `eval` and `subtask` may have in a submission of bolt-xml. Those that are not listed are free.
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=_nothing)
    phases: tuple[Phase, ...] = field(default=(), metadata={"key": "phase"})
    questions: tuple[RunQuestion, ...] = field(default=(), metadata={"key": "question"})

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the kinds, in the order of the protocol."""
        return tuple(kind.key for kind in self.kinds)

    @property
    def scored_keys(self) -> tuple[str, ...]:
        """The keys of the kinds whose runs are scored for leaderboards: not those on the board of a phase."""
        return tuple(kind.key for kind in self.kinds if kind.scored and not self.phase_of(kind.key).has_board)

    @property
    def names_runs(self) -> bool:
        """True if a file can contain the tag of its run. BOLT's has none, and columns have one if they are declared."""
        has_tags = self.columns is not None and "tag" in self.columns.order
        return any(form != "bolt-xml" and (form != "columns" or has_tags) for form in self.formats)

    @property
    def depths(self) -> dict[str, int]:
        """The depth of each kind that states one. Without any, every rank of every run is pooled."""
        return {kind.key: kind.depth for kind in self.kinds if kind.depth is not None}

    def kind(self, key: str) -> RunKind:
        """The kind with a key; one that only has this key if the protocol has no such kind."""
        return next((kind for kind in self.kinds if kind.key == key), RunKind(key, scored=False))

    def phase_of(self, key: str) -> Phase:
        """The phase of a kind; one without a key and without rules if the kind has none."""
        named = self.kind(key).phase
        return next((phase for phase in self.phases if phase.key == named), Phase(""))

    def kinds_of(self, phase: Phase) -> tuple[str, ...]:
        """The keys of the kinds of a phase, in the order of the protocol."""
        return tuple(kind.key for kind in self.kinds if kind.phase == phase.key)

    def is_of_campaign(self, key: str) -> bool:
        """Return whether tables for papers have the runs of a kind: not those on the board of a phase."""
        return not self.phase_of(key).has_board

    def name_of(self, key: str) -> str:
        """The name of a kind on pages."""
        return self.kind(key).name

    def pooled_as(self, key: str, tag: str = "", chosen: str = "") -> str:
        """The kind whose depth a run has: `chosen` by organizers, or else the protocol's."""
        kind = self.kind(key)
        return (kind.pooled_as and chosen) or kind.pooled_as_by_tag.get(tag, kind.pooled_as) or key

    @property
    def usual_use(self) -> str:
        """The use of a run of which nothing is stated; empty if it is not stated of any run."""
        return next(iter([*self.uses][-1:]), "")

    def stated_use(self, uses: str) -> str:
        """Return the word for what a run uses if the protocol knows it, or else nothing."""
        return uses if uses in self.uses else ""

    @property
    def characters_of_tags(self) -> str:
        """The characters that tags may have, in words."""
        others = self.tag_characters or ""
        return f"letters, digits{' and ' if others else ''}{' '.join(others)}"

    def why_not_tag(self, tag: str) -> str:
        """Return the reason why runs cannot have a tag, as the end of a sentence; empty if they can."""
        if self.max_tag is not None and len(tag) > self.max_tag:
            return f"has {len(tag)} characters; use at most {self.max_tag}"
        if self.tag_characters is not None:
            plain = tag.translate(str.maketrans("", "", self.tag_characters))
            if plain and not (plain.isascii() and plain.isalnum()):
                return f"has characters that are not accepted; use {self.characters_of_tags}"
        return ""

    def why_not_used(self, uses: str) -> str:
        """Return the reason why a run cannot state a use, as the end of a sentence; empty if it can."""
        if not uses or uses in self.uses:
            return ""
        accepted = (
            f"use {' or '.join(self.uses)}" if self.uses else "the protocol does not ask for it; leave it out"
        )
        return f"{uses!r} is not accepted; {accepted}"

    def why_not_pooled_as(self, key: str, chosen: str) -> str:
        """Return the reason why runs of a kind cannot be pooled as another one; empty if they can."""
        if chosen in self.depths and self.kind(key).pooled_as:
            return ""
        pooled = [kind.key for kind in self.kinds if kind.pooled_as]
        if not pooled:
            return "the protocol pools no kind of run as another one"
        return f"use {' or '.join(self.depths)}, and only for {' or '.join(pooled)} runs"

    def depth_of(
        self, key: str, tag: str = "", chosen: str = "", depths: Mapping[str, int] | None = None
    ) -> int:
        """The depth to which a run is pooled; 0 if its kind is not pooled. `depths` replace the protocol's."""
        if self.phase_of(key).has_board:
            return 0
        depths = self.depths if depths is None else depths
        return depths.get(self.pooled_as(key, tag, chosen), 0) if depths else EVERY_RANK


@dataclass(frozen=True, slots=True)
class PairRules:
    """The pairs of pooled documents of a topic that are judged."""

    selection: PairSelection = "all"
    k: int | None = None  # documents that a tournament makes the best; left out: 5
    partners: int | None = None  # pairs of each document in a round of a tournament, above `k`; left out: 7
    few: int | None = None  # documents of which all pairs are judged at last, above `partners`; left out: 9


@dataclass(frozen=True, slots=True)
class PoolRules:
    """The way from runs to a pool, and the order in which it is judged."""

    strategy: PoolStrategy
    # True: the publication leaves the depth open, and organizers may change it.
    depth_is_default: bool = False
    target: int | None = None  # units per topic, for round-robin-until
    # Share of word bigrams, above 0 and at most 1, of both passages.
    near_duplicate_overlap: float | None = None
    order: JudgingOrder = "random"
    pairs: PairRules | None = None  # left out: documents are judged, not pairs of them


@dataclass(frozen=True, slots=True)
class InstanceRules:
    """The clustering of formulas, and the choice of the judged instances of a visually distinct formula."""

    # The formulas that are compared: none, the submitted, or the whole collection.
    clustering: Clustering = "none"
    strategy: InstanceStrategy | None = None  # how instances are selected; if left out: all are judged
    limit: int | None = None  # instances per formula, at most


@dataclass(frozen=True, slots=True)
class Grade:
    """A grade of the scale."""

    key: str  # names the grade in forms and files
    value: int  # the grade in qrels, 0 to 999
    label: str  # the text of the button
    definition: str  # shown to assessors
    shortcut: str = ""  # the key on the keyboard that chooses it
    # The same for a citation in a generated answer; empty: as for a nugget.
    citation_label: str = ""
    citation_definition: str = ""

    def label_for(self, docno: str) -> str:
        """The text of the button for a unit."""
        return (is_citation(docno) and self.citation_label) or self.label

    def definition_for(self, docno: str) -> str:
        """The definition for a unit."""
        return (is_citation(docno) and self.citation_definition) or self.definition


# Whether each choice of a pair is offered, by the rules of preferences, in the order of the page from left to right.
# "First" is the document whose id comes first; on the page it is on the left or on the right.
PREFERENCES = (
    Grade("first-much", 5, say("First much better"), "The first document is much better than the second."),
    Grade("first", 4, say("First better"), "The first document is better than the second."),
    Grade("tie", 3, say("Equally good"), say("Neither document is better, and they are useful.")),
    Grade("second", 2, say("Second better"), "The second document is better than the first."),
    Grade("second-much", 1, say("Second much better"), "The second document is much better than the first."),
    Grade("bad", 0, say("Both useless"), say("Neither document is of any use for the topic.")),
)


@dataclass(frozen=True, slots=True)
class PreferenceRules:
    """The choices about a pair of documents, besides one for each of the two."""

    question: str = say("Which document is better for the topic?")  # shown above the choices
    ties: bool = True  # whether two documents may be equally good
    both_bad: bool = True  # whether both may be useless
    strength: int = 1  # 2: a document may be much better, too

    @property
    def grades(self) -> tuple[Grade, ...]:
        """The choices, each with the key that chooses it: from left to right 1, 2, 3 and so on, and 0 for useless."""
        left_out = set() if self.ties else {"tie"}
        left_out |= set() if self.both_bad else {"bad"}
        left_out |= set() if self.strength > 1 else {"first-much", "second-much"}
        kept = [grade for grade in PREFERENCES if grade.key not in left_out]
        return tuple(
            replace(grade, shortcut=str(n) if grade.value else "0") for n, grade in enumerate(kept, 1)
        )


@dataclass(frozen=True, slots=True)
class NonAnswer:
    """A choice that is not a grade and never becomes one."""

    key: str  # names the choice in forms and files
    label: str  # the text of the button
    definition: str  # shown to assessors
    needs_comment: bool = False  # whether the assessor must give a comment
    shortcut: str = ""  # the key on the keyboard that chooses it
    qrels_code: int | None = None  # the choice in qrels files of others; such a line has no grade


@dataclass(frozen=True, slots=True)
class QuestionChoice:
    """A choice of a question."""

    key: str  # names the choice in forms and files
    label: str  # the text of the button
    value: int | None = None  # its grade in a set of qrels of the question, 0 to 999
    definition: str = ""  # shown to assessors
    shortcut: str = ""  # the key on the keyboard that chooses it; empty: the page gives it one


YES_AND_NO = (QuestionChoice("yes", say("Yes")), QuestionChoice("no", say("No")))


@dataclass(frozen=True, slots=True)
class Question:
    """A further question about a unit, asked after a grade was chosen.

    A condition is the key of a grade, `question:choice`, or `topic.LABEL:value`.
    """

    key: str  # names the question in forms and files
    label: str  # the question
    kind: QuestionKind = "one-of"
    given_choices: tuple[QuestionChoice, ...] = field(default=(), metadata={"key": "choice"})
    choices_from: ChoicesFrom | None = None  # of any-of: the choices are the subtopics of the topic
    after: tuple[str, ...] = ()  # conditions, one of which must hold; empty: asked after every grade
    after_all: tuple[str, ...] = ()  # conditions that must all hold
    required: bool = True  # whether an assessor who is asked must answer
    # Of the documents for which it is asked; empty: all. If a document's language is not known, the answer is optional.
    languages: tuple[str, ...] = ()
    help: str = ""  # a sentence for assessors, below the question
    min: float | None = None  # of a number
    max: float | None = None  # of a number
    unit: str = ""  # of a number, such as s or %
    # Of a text; of a span, put in by `questions_for`: those of the document
    max_characters: int | None = None
    at_least: int | None = None  # choices of any-of and ranking, marked parts of span
    at_most: int | None = None  # choices of any-of and ranking, marked parts of span
    field: str = ""  # of a span in the layout form: the field whose text is marked

    @property
    def choices(self) -> tuple[QuestionChoice, ...]:
        """The choices, also those that yes-no has by itself."""
        return YES_AND_NO if self.kind == "yes-no" else self.given_choices

    @property
    def may_be_none(self) -> bool:
        """Return whether an answer can be that none of several choices holds. The question must always be asked."""
        return self.kind == "any-of" and not self.required and not self.languages

    @property
    def labels(self) -> dict[str, str]:
        """The label of each choice, by its key."""
        return {choice.key: choice.label for choice in self.choices}


@dataclass(frozen=True, slots=True)
class FormRules:
    """The page of the layout `form`, made of a row of a table."""

    # The columns of the rows besides topic and docno.
    fields: tuple[str, ...]
    # HTML in which `${name}` is the value of a field, and `${question.KEY}` the place of a question.
    html: str
    # True: HTML with controls and scripts of its own, as Turkle has it, shown in a frame without access to the site.
    # Values are text there too; `${name|raw}` inserts one as it is.
    # Its answers are stored as given; those to a question whose key is the name of a control are checked.
    frame: bool = False


# Of questions only
ANSWERED = Grade("answered", 0, say("Answered"), say("Answer the questions, then submit."))


@dataclass(frozen=True, slots=True)
class JudgingRules:
    """The page and the choices of assessors, and the number of assessors per unit."""

    layout: Layout  # the judging page
    # The grades of the scale. A form may have none: then its questions are asked at once.
    given_grades: tuple[Grade, ...] = field(default=(), metadata={"key": "grade"})
    non_answers: tuple[NonAnswer, ...] = field(default=(), metadata={"key": "non_answer"})
    questions: tuple[Question, ...] = field(default=(), metadata={"key": "question"})
    form: FormRules | None = None  # for the layout form
    judges: int = 1  # assessors per unit
    groups: tuple[str, ...] = ()  # groups of assessors; one assessor of each judges a topic (NTCIR-12)
    # Share of the topics that a second assessor also judges, 0 to 1. The plan of a dual batch prefers `dual_topics`.
    dual_share: float = 0.0
    in_context: bool = True  # whether a unit is shown in its post; False: alone
    training_topics: int = 0  # number of topics with which the plan of a training round starts
    dual_topics: int = 0  # topics of another assessor that each assessor judges afterwards
    preference: PreferenceRules | None = None  # of the layout pair

    @property
    def judges_pairs(self) -> bool:
        """True if a unit is a pair of documents, one of which is preferred."""
        return self.layout == "pair"

    @property
    def about_pairs(self) -> PreferenceRules | None:
        """The rules of the choices about a pair, or the usual ones; None if units are no pairs."""
        return (self.preference or PreferenceRules()) if self.judges_pairs else None

    @property
    def preference_grades(self) -> tuple[Grade, ...]:
        """The choices about a pair; none if units are no pairs."""
        rules = self.about_pairs
        return () if rules is None else rules.grades

    @property
    def grades(self) -> tuple[Grade, ...]:
        """The grades, also the one of a form that has none, and those of pairs."""
        return self.given_grades or self.preference_grades or (ANSWERED,) * (self.form is not None)

    @property
    def choices(self) -> tuple[Grade | NonAnswer, ...]:
        return (*self.grades, *self.non_answers)

    @property
    def placed_choices(self) -> tuple[tuple[str, Grade | NonAnswer], ...]:
        """The choices, each with its place in the file, such as `judging.grade[2]`."""
        grades = [(f"judging.grade[{n}]", grade) for n, grade in enumerate(self.grades, 1)]
        others = [(f"judging.non_answer[{n}]", choice) for n, choice in enumerate(self.non_answers, 1)]
        return (*grades, *others)

    def choice(self, key: str) -> Grade | NonAnswer | None:
        return next((choice for choice in self.choices if choice.key == key), None)

    def label_of(self, key: str, docno: str = "") -> str:
        """The label of a choice for a unit; the key itself if the protocol has no such choice.

        In a pair, choices name the documents: `d12 better` instead of `First better`.
        """
        choice = self.choice(key)
        if not isinstance(choice, Grade):
            return choice.label if choice else key
        first, _, second = docno.partition("|")
        if self.judges_pairs and not self.given_grades and second and key not in {"tie", "bad"}:
            document = second if key.startswith("second") else first
            if key.endswith("-much"):
                return say("{document} much better", document=document)
            return say("{document} better", document=document)
        return choice.label_for(docno)

    @property
    def has_grades(self) -> bool:
        """True if a choice is a grade: every judgment of a form of questions only has the same one."""
        return bool(self.given_grades or self.preference_grades)

    @property
    def has_scale(self) -> bool:
        """True if grades are in an order, so that some are higher: neither pairs nor a form of questions only."""
        return len(self.given_grades) > 1

    @property
    def asks_about_subtopics(self) -> bool:
        return any(question.choices_from for question in self.questions)

    @property
    def marks_text(self) -> bool:
        """True if a question asks for parts of the text of the document."""
        return any(question.kind == "span" for question in self.questions)

    @property
    def has_members(self) -> bool:
        """True if a unit is judged by its members, each with its own choice."""
        return self.layout == "formula-instances"


@dataclass(frozen=True, slots=True)
class NuggetRules:
    """The facts that generated answers should contain, which people or programs list before answers are judged."""

    most: int | None = None  # nuggets of a topic
    max_words: int | None = None  # of a nugget


@dataclass(frozen=True, slots=True)
class GradeRule:
    """A grade that several answers give together."""

    when: tuple[str, ...]  # conditions that must all hold, as in `after` of a question
    grade: int  # 0 to 999


@dataclass(frozen=True, slots=True)
class QrelsSet(_Titled):
    """Further qrels of the same judgments, such as those of an answer."""

    key: str  # names the set in measures and files: lower-case letters, digits, single hyphens
    title: str = ""  # its name on pages; empty: the key
    # The question whose answers are grades: one-of or yes-no; or any-of, whose choices become subtopics with the grade
    # 1 if they are chosen and else 0. Empty: the grade of the judgment.
    question: str = ""
    # Of choices; left out: their values
    grades: Mapping[str, int] = field(default_factory=_nothing)
    # Come first; the first that holds counts
    rules: tuple[GradeRule, ...] = field(default=(), metadata={"key": "rule"})
    # Conditions, one of which must hold for a unit to have such a grade; empty: every unit
    only: tuple[str, ...] = ()
    otherwise: int | None = None  # the grade of the other graded units; left out: the set does not have them
    aggregate: Aggregate = "single"  # as qrels.aggregate
    min_relevant: int = 0  # as qrels.min_relevant
    relevant_from: int = 1  # the grade from which a unit is relevant, in measures too
    preferences: PreferenceRule | None = None  # as qrels.preferences, of pairs


@dataclass(frozen=True, slots=True)
class QrelsRules:
    """The way from judgments to qrels."""

    # The judgment, the highest grade of the instances, the sum over the judges; or of all judgments of a unit the lower
    # median, the most frequent grade (of several, the lowest), or the mean, rounded half up.
    aggregate: Aggregate = "single"
    min_relevant: int = 0  # a topic with fewer units from `relevant_from` on is dropped
    relevant_from: int = 1  # the grade from which a unit counts for `min_relevant`
    # Of files that are imported; the usual four columns are always accepted.
    columns: QrelsLines | None = None
    topic_citations: bool = False  # True: citations that the topics' developers graded join the judged ones
    export_groups: bool = False  # True: each group of assessors also has a qrels version
    # How preferences become grades of documents, if pairs are judged.
    preferences: PreferenceRule | None = None
    sets: tuple[QrelsSet, ...] = field(default=(), metadata={"key": "set"})  # each also has a qrels version

    def set_of(self, key: str) -> QrelsSet | None:
        return next((each for each in self.sets if each.key == key), None)


@dataclass(frozen=True, slots=True)
class ScoringRules:
    """The measures, and what they are computed on."""

    # In the notation of `assay.protocols.measures`; after the key of a set of qrels and a colon those of the set.
    all_measures: tuple[str, ...] = field(metadata={"key": "measures"})
    judged_only: bool = False  # for curves and reports: remove unjudged documents first
    relevant_from: int = 1  # for curves and reports: the grade from which a document is relevant
    # The same for the qrels of one group of assessors, also in the measures with this level. Left out: the same.
    group_relevant_from: int | None = None
    # The topics of a mean: all of the qrels, or those that run and qrels have in common.
    average: Average = "judged"
    # True: an instance counts as its distinct formula; only the first one stays.
    collapse_instances: bool = False
    duplicates_are_false_alarms: bool = False  # True: a repeated near-duplicate is not relevant
    topic_classes: tuple[str, ...] = ()  # labels by which reports average; empty: all labels

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


NO_RUNS = RunRules((), 0, (), AnswerRules())  # of a protocol of rows, to which no team submits anything


@dataclass(frozen=True, slots=True)
class AgreementRules:
    """The agreement of assessors: on every grade, and on two classes."""

    # The grade of one judgment from which a unit counts as relevant, in the two classes too
    binary_from: int = 1


@dataclass(frozen=True, slots=True)
class BaselineRules:
    """Parameters of the baselines of `assay baseline` for the protocol."""

    tokenizer: Tokenizer = "english-latex"  # of text baselines


@dataclass(frozen=True, slots=True)
class InteractionRules:
    """Sessions on topics that teams nominate, after their first runs (BOLT)."""

    seconds_per_topic: int  # the longest session
    measure: str = ""  # whose change is reported, one of `scoring.measures`; empty: the first
    run_kind: str = "post-interaction"  # the kind of the runs that follow it


@dataclass(frozen=True, slots=True)
class Protocol:
    """An evaluation protocol."""

    slug: str  # its name in commands and addresses: lower-case letters, digits, single hyphens
    title: str  # one line
    source: str  # the publication of its figures
    unit: Unit  # what a run retrieves
    topics: TopicRules
    pool: PoolRules
    instances: InstanceRules
    judging: JudgingRules
    qrels: QrelsRules
    agreement: AgreementRules
    baselines: BaselineRules
    nuggets: NuggetRules
    interaction: InteractionRules | None
    text: str = field(repr=False, metadata={"key": ""})  # of the file; not a key
    # Without them, nothing is submitted or scored: only for rows.
    runs: RunRules = NO_RUNS
    scoring: ScoringRules = ScoringRules(())
    # Published sizes of the collection, to compare with.
    published: Mapping[str, float] = field(default_factory=_nothing)

    @property
    def judged_noun(self) -> str:
        """The noun for what one judgment is about, an instance (a unit can have several) or a unit."""
        return {"formula-instances": "instance", "pair": "pair"}.get(self.judging.layout, "unit")

    @property
    def judged_heading(self) -> str:
        """The heading of a column of what was judged."""
        is_other = self.judged_noun != "unit" or self.is_of_answers
        return self.judged_noun.capitalize() if is_other else "Document"

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
        """Return whether a run has generated answers, whose nuggets and citations are judged."""
        return self.unit == "generated-answer"

    @property
    def judges_relevance(self) -> bool:
        """Return whether a grade is one of relevance: not of a nugget in an answer, and not of a row."""
        return self.judging.has_scale and not self.is_of_answers and self.pool.strategy != "rows"

    @property
    def high_units(self) -> str:
        """The heading of the number of units with a high grade; empty without a scale."""
        if not self.judging.has_scale:
            return ""
        return "Relevant" if self.judges_relevance else f"Grade {self.agreement.binary_from} or higher"

    @property
    def cites_posts(self) -> bool:
        """Return whether a run cites passages of posts by thread, post, offset and length; else it cites documents."""
        is_citation = self.judging.layout == "citation" or "bolt-xml" in self.runs.formats
        return self.unit == "passage" and is_citation

    @property
    def digest(self) -> str:
        """The SHA-256 of the file."""
        return sha256_of(self.text.encode())

    @property
    def edition(self) -> str:
        """A slug for this text where another text has its slug, such as that of another release of Assay."""
        return f"{self.slug[:91]}-{self.digest[:8]}"
