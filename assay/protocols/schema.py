"""The schema of an evaluation protocol, as frozen dataclasses.

One TOML file becomes one `Protocol`. Code depends on the rules of a protocol, never on its name. A protocol file
contains only the keys, strategies and formats of this module; `loader` refuses all others with file, key and allowed
values.

Each field is a key of the file. Its `Key` has the words for people, which the JSON Schema, the reference page of
protocol keys and the form that edits a protocol read. The `source` of each file cites the publication of its figures.
Decision: ADR 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

from assay.answers import is_citation
from assay.digests import sha256_of
from assay.errors import say
from assay.extensions import installed
from assay.protocols import units
from assay.protocols.strategies import POOL_STRATEGIES
from assay.structure import Key, OneOf

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
FORMATS = {
    "arqmath-5": "ARQMath's five columns",
    "arqmath-6": "ARQMath's six columns",
    "trec-6": "TREC's six columns",
    "ntcir-xml": "NTCIR's XML",
    "bolt-xml": "BOLT's XML",
    "columns": "columns that the protocol describes",
    "rag-2024": "JSON lines of TREC RAG 2024",
    "rag-2025": "JSON lines of TREC RAG 2025",
    "rag-2026": "JSON lines of TREC RAG 2026",
    "ragtime": "JSON lines of RAGTIME",
    "dragun": "JSON lines of DRAGUN",
}
RunColumn = Literal["topic", "docno", "post", "rank", "score", "tag", "label", "skip"]
QrelsColumn = Literal["topic", "docno", "grade", "skip"]
Tokenizer = Literal["english-latex", "words-latex", "words"]
TOKENIZERS = {
    "english-latex": "English words by their stems, without stop words; formulas as tokens of LaTeX.",
    "words-latex": "Words as they are; formulas as tokens of LaTeX.",
    "words": "Words as they are, in formulas too.",
}
Separator = Literal["white-space", "tab", "comma", "semicolon"]
SEPARATORS = {"white-space": "white space", "tab": "tab", "comma": "comma", "semicolon": "semicolon"}
Ties = Literal["docno", "file", "rank"]
TIES = {
    "docno": "by docno, descending, as in trec_eval",
    "file": "as in the file",
    "rank": "by the column with the rank",
}
Severity = Literal["warning", "error"]
SEVERITIES = {"warning": "a warning", "error": "an error: the run is refused"}
TopicDocuments = Literal["warning", "error", "ignore"]
TOPIC_DOCUMENTS = {**SEVERITIES, "ignore": "left out, as if its line were not there"}
Submitter = Literal["teams", "organizers"]
SUBMITTERS = {"teams": "teams", "organizers": "organizers only"}
ShownTo = Literal["release", "team", "teams", "everybody"]
SHOWN_TO = {
    "release": "scores are seen when a leaderboard is released",
    "team": "each team sees its scores at once",
    "teams": "all teams see the scores at once",
    "everybody": "everybody sees the scores at once",
}
JudgingOrder = Literal["random", "by-run-votes", "move-to-front", "by-answer"]
ORDERS = {
    "random": "Units are judged in random order.",
    "by-run-votes": "Units that the most runs retrieved are judged first.",
    "move-to-front": "Units are judged in move-to-front order.",
    "by-answer": "Answers are judged in random order, all nuggets of each one after the other; then citations, "
    "document by document.",
}
Clustering = Literal["none", "submitted", "collection"]
CLUSTERINGS = {
    "none": "none",
    "submitted": "formulas that runs submit",
    "collection": "all formulas of the collection",
}
InstanceStrategy = Literal["thread-random", "most-runs", "reciprocal-rank-vote"]
SAMPLING = {
    "thread-random": "chosen at random, from as many threads as possible",
    "most-runs": "those that the most runs submitted",
    "reciprocal-rank-vote": "those with the highest sum of reciprocal ranks",
}
PairSelection = Literal["all", "tournament", "pooled-best"]
PAIR_SELECTIONS = {
    "all": "all pairs",
    "tournament": "pairs of a tournament in rounds",
    "pooled-best": "the best unseen document of each run against the winner so far",
}
ChoicesFrom = Literal["subtopics"]
CHOICES_FROM = {"subtopics": "the subtopics of the topic"}
PreferenceRule = Literal["copeland", "bradley-terry", "tournament", "votes"]
PREFERENCE_RULES = {
    "copeland": "The grade of a document is 2 for each pair that it wins, and 1 for each that is level.",
    "bradley-terry": "The grade of a document is the place of its Bradley-Terry value, from 1 for the lowest.",
    "tournament": "The winners of the tournament have 101 and 1 for each pair won in the last round, the others 1.",
    "votes": "The qrels have the preferences themselves.",
}
QuestionKind = Literal["one-of", "any-of", "yes-no", "number", "text", "span", "ranking"]
RunQuestionKind = Literal["one-of", "any-of", "yes-no", "number", "text"]
RUN_QUESTION_KINDS = {
    "one-of": "one of several choices",
    "any-of": "any of several choices",
    "yes-no": "yes or no",
    "number": "a number",
    "text": "a text",
}
QUESTION_KINDS = {
    **RUN_QUESTION_KINDS,
    "span": "marked parts of a text",
    "ranking": "several choices in order, best first",
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
Average = Literal["judged", "common"]
AVERAGES = {"judged": "all topics of the qrels", "common": "topics that run and qrels have in common"}

# When a key can have an effect: each key here has one of its values. A key after a dot is in the same table.
OF_ANSWERS = {"unit": ("generated-answer",)}
OF_FORMULAS = {"unit": ("formula", "visually-distinct-formula")}
OF_FORMS = {"judging.layout": ("form",)}
OF_PAIRS = {"judging.layout": tuple(name for name, unit in units.BY_LAYOUT.items() if unit.has_votes)}
GRADED = "graded"  # the words of a table name: the choices that a set of qrels grades
CONDITION = "condition"  # what a key names: the key of a grade, `question:choice`, or `topic.LABEL:value`

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

    labels: Annotated[
        Mapping[str, tuple[str, ...]],
        Key(
            "Labels of topics",
            "The labels that topics may have, each with its allowed values. An empty list allows any word.",
        ),
    ] = field(default_factory=_nothing)
    participants_see: Annotated[
        tuple[TopicPart, ...],
        Key(
            "Parts that participants see",
            "The parts of a topic that participants see. If left out, they see the whole topic.",
            is_rare=True,
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class RunKind(_Titled):
    """A kind of run in the words of the protocol, and what follows from it."""

    key: Annotated[
        str,
        Key(
            "Name in files",
            "The name of the kind in forms and files: lower-case letters, digits and single hyphens, at "
            "most 40 characters.",
        ),
    ]
    title: Annotated[str, Key("Title", "The name of the kind on pages.")] = ""
    depth: Annotated[
        int | None,
        Key(
            "Pool depth",
            "To which depth runs of the kind are pooled, in ranks or units, as the strategy counts. A "
            "kind without it is not pooled, unless it has `pooled_as`. The strategies `top-k`, "
            "`distinct-units` and `top-k-by-score` need it for some kind.",
        ),
    ] = None
    pooled_as: Annotated[
        str,
        Key(
            "Pooled as",
            "For a kind without a depth: the kind whose depth its runs have. Organizers can choose "
            "another for a run.",
            names="runs.kind",
            is_rare=True,
        ),
    ] = ""
    pooled_as_by_tag: Annotated[
        Mapping[str, str], Key("Pooled as, by tag", "The same for single runs, by tag.", is_rare=True)
    ] = field(default_factory=_nothing)
    scored: Annotated[bool, Key("On leaderboards", "Whether leaderboards have the runs of the kind.")] = True
    min_per_team: Annotated[
        int,
        Key(
            "Runs that a team owes",
            "The runs of the kind that each team owes. The checklist names the teams that lack some, and "
            "the page *Runs* reminds them.",
            is_rare=True,
        ),
    ] = 0
    max_per_team: Annotated[
        int | None,
        Key("Runs per team at most", "The most runs of the kind that a team may have at the same time."),
    ] = None
    submitted_by: Annotated[
        Submitter, Key("Submitted by", "Who may submit runs of the kind.", values=SUBMITTERS, is_rare=True)
    ] = "teams"
    baseline: Annotated[
        bool,
        Key(
            "Baselines",
            "Runs of the kind are marked as baselines, stay on a leaderboard that shows one kind, and do "
            "not count toward a limit of runs per team in a pool.",
        ),
    ] = False
    oracles: Annotated[
        tuple[str, ...],
        Key(
            "Tags of oracles",
            "Tags of baselines that use what no team has, such as links that are not published. A "
            "leaderboard and the tables of papers can compare the best run with the strongest automatic "
            "baseline that is not one of them.",
            when={".baseline": (True,)},
        ),
    ] = ()
    phase: Annotated[
        str,
        Key(
            "Phase",
            "The phase of the campaign to which runs of the kind belong, one of `runs.phase`. Without it "
            "they have all topics, and their scores are seen when a leaderboard is released.",
            names="runs.phase",
            is_rare=True,
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class Phase(_Titled):
    """A part of a campaign with topics, daily limit and scores of its own, to which kinds of runs belong."""

    key: Annotated[
        str,
        Key(
            "Name in files",
            "The name of the phase in addresses and files: lower-case letters, digits and single hyphens,"
            " at most 40 characters.",
        ),
    ]
    title: Annotated[str, Key("Title", "The name of the phase on pages.")] = ""
    split: Annotated[
        str,
        Key(
            "Split of the topics",
            "Runs of the phase have the topics of this split and no others. Without it: all topics. A "
            "phase that is scored at once while the track is open needs a split that no other phase has.",
        ),
    ] = ""
    scores: Annotated[
        ShownTo,
        Key(
            "Who sees the scores",
            "Who sees the scores of the phase. `release`: who sees a leaderboard, when it is released. Or"
            " at once, on a board of the phase: `team`, each team its own runs; `teams`, all teams of the"
            " track; `everybody`. Runs that are scored at once are in no pool and on no leaderboard.",
            values=SHOWN_TO,
        ),
    ] = "release"
    max_per_day: Annotated[
        int | None,
        Key(
            "Runs per team and day at most",
            "The most runs of the phase that a team submits in a day, in the time zone of the deadlines. "
            "Withdrawn runs count; runs that organizers submit do not.",
        ),
    ] = None
    after_closing: Annotated[
        bool,
        Key(
            "Runs after the track is closed",
            "Whether runs of the phase are accepted when the track is closed, and not before. The phase "
            "then has a board of its own.",
        ),
    ] = False

    @property
    def has_board(self) -> bool:
        """Return whether its runs are scored at once, on a board of the phase; they are in no pool then."""
        return self.scores != "release"


@dataclass(frozen=True, slots=True)
class RunChoice:
    """A choice of a question about runs."""

    key: Annotated[str, Key("Name in files", "The name of the choice in files.")]
    label: Annotated[str, Key("Choice", "The text of the choice on pages.")]


@dataclass(frozen=True, slots=True)
class RunQuestion:
    """A question about each run, asked when it is submitted."""

    key: Annotated[str, Key("Name in files", "The name of the question in files: the key of its answer.")]
    label: Annotated[str, Key("Question", "The question, as pages ask it.")]
    kind: Annotated[
        RunQuestionKind,
        Key(
            "Kind of answer",
            "One choice, several choices, yes or no, a number, or a text.",
            values=RUN_QUESTION_KINDS,
        ),
    ] = "text"
    given_choices: Annotated[
        tuple[RunChoice, ...],
        Key("Choices", "The choices of one-of and any-of.", when={".kind": ("one-of", "any-of")}),
    ] = field(default=(), metadata={"key": "choice"})
    required: Annotated[bool, Key("An answer is required", "Whether a run without an answer is refused.")] = (
        True
    )
    help: Annotated[str, Key("Help", "A sentence below the question.")] = ""
    public: Annotated[
        bool,
        Key(
            "Answers are public",
            "Whether leaderboards, their files and the tables of papers have the answers. Without it, the"
            " team and organizers see them.",
        ),
    ] = False
    header: Annotated[
        str,
        Key(
            "Field of the header",
            "The field of a [header of ir_metadata](formats.md#a-header-of-ir-metadata) that answers the "
            "question, such as `method.retrieval.name`. A run whose file has it need not answer the "
            "question. Default: `answers.` and the key.",
        ),
    ] = ""

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

    order: Annotated[
        tuple[RunColumn, ...],
        Key(
            "Columns, from left to right",
            "The columns from left to right: `topic`, `docno`, `rank`, `score`, `tag`, `post` (of a "
            "formula), `label` (kept, and read by [measures of labels](measures.md#labels) only), `skip` "
            "(no meaning, as often as needed). `topic` (unless `topic` below has the only one), `docno`, "
            "and `rank` or `score` are required. Without `score`, the rank decides. If `runs.max_ranks` "
            "is 1, both may be left out: each line is then at rank 1.",
        ),
    ]
    header: Annotated[
        tuple[str, ...],
        Key(
            "Names of the columns",
            "The names of the columns, where the first line of each file has them. A file may "
            "then have the columns in any order, and others, which are skipped; capitals do not "
            "matter. A file without such a line is refused. Files that Assay writes have this "
            "line and these columns.",
        ),
    ] = ()
    separator: Annotated[
        Separator,
        Key(
            "Separator",
            "What separates the columns; tabs are white space. With `tab`, only tabs do: a column `skip` "
            "may then be empty or a text, and quotation marks have no meaning. With commas or semicolons,"
            " a column may be in quotation marks as in RFC 4180: it may then contain the separator, and "
            "quotation marks are doubled. Ids contain no white space; a column `skip` may contain "
            "anything, also line ends in quotation marks, or be empty.",
            values=SEPARATORS,
        ),
    ] = "white-space"
    topic: Annotated[
        str,
        Key(
            "Code of the only topic",
            "The code of the only topic, where lines do not name one: the columns then have no `topic`.",
            is_rare=True,
        ),
    ] = ""
    labels: Annotated[
        Mapping[str, bool],
        Key(
            "Words of the label",
            "The words of the column `label`: whether each says that the document is relevant.",
        ),
    ] = field(default_factory=_nothing)


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
    ] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True)
class AnswerRules:
    """The limits of generated answers. A run that only exceeds limits can be cut."""

    max_words: Annotated[
        int | None, Key("Words at most", "The most words of an answer, separated by white space.")
    ] = None
    max_characters: Annotated[
        int | None, Key("Characters at most", "The most characters of an answer, after NFKC.")
    ] = None
    characters_label: Annotated[
        str,
        Key(
            "Label with the characters of a topic",
            "The label of topics that has the most characters of the answers to each topic. "
            "`topics.labels` names it too. Topics without it have those of `max_characters`.",
            names="topics.labels",
        ),
    ] = ""
    too_long: Annotated[
        Severity,
        Key(
            "A longer answer is",
            "What an answer with too many words or characters is: an `error`, with which a run is refused"
            " and can be cut; or a `warning`.",
            values=SEVERITIES,
        ),
    ] = "error"
    max_references: Annotated[int | None, Key("References at most", "The most references of an answer.")] = (
        None
    )
    max_run_id: Annotated[
        int | None, Key("Characters of the id of a run at most", "The most characters of the id of a run.")
    ] = None
    citations: Annotated[
        int,
        Key("Judged citations per sentence", "How many citations of a sentence are judged: the first ones."),
    ] = 1


@dataclass(frozen=True, slots=True)
class RunRules:
    """The form and content of a submitted run."""

    formats: Annotated[
        tuple[RunFormat, ...],
        Key(
            "Formats",
            "The accepted [run formats](formats.md#runs). Each file may have any of them. `arqmath-6` and"
            " `trec-6` exclude each other, because both have six columns.",
            values=FORMATS,
        ),
    ]
    max_ranks: Annotated[int, Key("Ranks per topic at most", "The most ranked documents for one topic.")]
    kinds: Annotated[
        tuple[RunKind, ...],
        Key(
            "Kinds of runs",
            "The kinds of run, at least one. The first is the main one, which tables for papers mark.",
        ),
    ] = field(metadata={"key": "kind"})
    answers: Annotated[
        AnswerRules,
        Key(
            "Limits of generated answers",
            "The limits of generated answers, for the formats of RAG, RAGTIME and DRAGUN.",
            when=OF_ANSWERS,
        ),
    ]
    columns: Annotated[
        RunLines | None,
        Key("Own columns", "The columns of the format `columns`.", when={"runs.formats": ("columns",)}),
    ] = None
    uses: Annotated[
        Mapping[str, str],
        Key(
            "What runs may use",
            "What a run may use: each word of files with its name on pages, such as `both` with "
            "`text and math`. Teams state one of them; the last is the usual one. Without the "
            "key, teams are not asked.",
            is_rare=True,
        ),
    ] = field(default_factory=_nothing)
    ties: Annotated[
        Ties | None,
        Key(
            "Order of equal scores",
            "How documents with equal scores are ordered. If left out: by docno, descending, as "
            "in trec_eval; and in `bolt-xml` as in the file.",
            values=TIES,
            is_rare=True,
        ),
    ] = None
    max_tag: Annotated[
        int | None,
        Key(
            "Characters of a tag at most",
            "The most characters of a tag, in the file and on the submission page. TREC accepts 20 in "
            "most tracks.",
            is_rare=True,
        ),
    ] = None
    tag_characters: Annotated[
        str | None,
        Key(
            "Other characters of a tag",
            'The characters that a tag may have besides the letters and digits of ASCII, such as `"-_."`.'
            " Left out: any. Empty: none.",
            is_rare=True,
        ),
    ] = None
    second_column: Annotated[
        str,
        Key(
            "Word in the second column",
            "The word in the second column of `trec-6`, such as `Q0`: another word is an error. Left out:"
            " any word.",
            when={"runs.formats": ("trec-6",)},
            is_rare=True,
        ),
    ] = ""
    missing_topics: Annotated[
        Severity,
        Key(
            "A topic without a line is",
            "What a topic of the track without a line is: a `warning`, or an `error`, with which a run is"
            " refused.",
            values=SEVERITIES,
            is_rare=True,
        ),
    ] = "warning"
    out_of_range_ranks: Annotated[
        Severity,
        Key(
            "A rank out of range is",
            "What a rank below 1 or above `max_ranks` is: a `warning`, since the scores decide and many "
            "systems count from 0; or an `error`, with which a run is refused.",
            values=SEVERITIES,
            is_rare=True,
        ),
    ] = "warning"
    topic_documents: Annotated[
        TopicDocuments,
        Key(
            "A document with the id of its topic is",
            "What a document with the id of its topic is, where topics are documents of the "
            "collection, as in ArguAna and Quora. A line that is left out is neither pooled nor "
            "scored, and the report counts it. [`assay evaluate "
            "--ignore-topic-documents`](commands/evaluate.md) does so without a protocol.",
            values=TOPIC_DOCUMENTS,
            is_rare=True,
        ),
    ] = "warning"
    min_score: Annotated[float | None, Key("Lowest score", "The lowest accepted score.", is_rare=True)] = None
    max_score: Annotated[float | None, Key("Highest score", "The highest accepted score.", is_rare=True)] = (
        None
    )
    max_passage_characters: Annotated[
        int | None,
        Key(
            "Characters of a passage at most",
            "The longest accepted passage, for citations.",
            when={"unit": ("passage",)},
        ),
    ] = None
    max_seconds_per_topic: Annotated[
        float | None,
        Key(
            "Seconds per topic at most",
            "The longest accepted time for a topic. Participants then submit the [seconds of each "
            "topic](formats.md#seconds-of-each-topic).",
            is_rare=True,
        ),
    ] = None
    forbidden_fields: Annotated[
        tuple[str, ...],
        Key(
            "Fields that runs must not have",
            "Fields of a citation that a run must not have, because assessors decide them.",
            when={"runs.formats": ("bolt-xml",)},
        ),
    ] = ()
    documents: Annotated[
        Mapping[str, str],
        Key(
            "Documents that teams owe",
            "Documents that each team owes with its runs: a word for each, such as "
            "`preprocessing`, with its title on pages. Teams write them, or their addresses, on "
            "the page of the team. The checklist names the teams that lack some, and reminders "
            "list them.",
            is_rare=True,
        ),
    ] = field(default_factory=_nothing)
    attributes: Annotated[
        Mapping[str, tuple[str, ...]],
        Key(
            "Values of attributes",
            "The accepted values of the attributes `eval` and `subtask` of a submission in "
            "`bolt-xml`, such as `P3` for `eval`. An attribute that is not listed may have any "
            "value.",
            when={"runs.formats": ("bolt-xml",)},
        ),
    ] = field(default_factory=_nothing)
    phases: Annotated[
        tuple[Phase, ...],
        Key(
            "Phases",
            "The phases of the campaign, each with topics, daily limit and scores of its own: see "
            "[Phases](../howto/run-a-campaign.md#phases).",
            is_rare=True,
        ),
    ] = field(default=(), metadata={"key": "phase"})
    questions: Annotated[
        tuple[RunQuestion, ...],
        Key(
            "Questions about runs",
            "Questions about each run, asked when it is submitted, such as which models and data it uses."
            " Their answers are on the page of the run, in the API, in manifests and in archives. Teams "
            "change them until the deadline.",
        ),
    ] = field(default=(), metadata={"key": "question"})

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

    selection: Annotated[
        PairSelection,
        Key(
            "Judged pairs",
            "All pairs; or pairs in rounds: a tournament, or the best unseen document of each run against"
            " the winner so far.",
            values=PAIR_SELECTIONS,
        ),
    ] = "all"
    k: Annotated[
        int | None,
        Key(
            "Best documents",
            "The number of documents that a tournament makes the best. If left out: 5.",
            when={".selection": ("tournament",)},
        ),
    ] = None
    partners: Annotated[
        int | None,
        Key(
            "Pairs per document and round",
            "The pairs of each document in a round of a tournament, above `pool.pairs.k`. If left out: 7.",
            when={".selection": ("tournament",)},
        ),
    ] = None
    few: Annotated[
        int | None,
        Key(
            "Documents of the last round",
            "The number of documents of which all pairs are judged at last, above "
            "`pool.pairs.partners`. If left out: 9.",
            when={".selection": ("tournament",)},
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class PoolRules:
    """The way from runs to a pool, and the order in which it is judged."""

    strategy: Annotated[
        str,
        OneOf(POOL_STRATEGIES),
        Key(
            "How ranks become a pool",
            "How ranks become a pool: see [How pools are "
            "made](../explanation/pools.md#which-units-are-pooled).",
        ),
    ]
    depth_is_default: Annotated[
        bool,
        Key(
            "Organizers may choose other depths",
            "The publication leaves the depth open. Pages then say that organizers may choose another.",
            is_rare=True,
        ),
    ] = False
    target: Annotated[
        int | None,
        Key(
            "Units per topic",
            "The number of units at which a topic is complete. Required by `round-robin-until`.",
            when={"pool.strategy": ("round-robin-until",)},
        ),
    ] = None
    near_duplicate_overlap: Annotated[
        float | None,
        Key(
            "Overlap of near-duplicates",
            "The share of word bigrams, above 0 and at most 1, from which two passages are near-duplicates.",
            when={"unit": ("passage",)},
        ),
    ] = None
    order: Annotated[
        JudgingOrder,
        Key(
            "Order of judging",
            "The order of judging: see [In which order a topic is "
            "judged](../explanation/pools.md#in-which-order-a-topic-is-judged).",
            values=ORDERS,
        ),
    ] = "random"
    pairs: Annotated[
        PairRules | None,
        Key(
            "Pairs",
            "Which pairs of the pooled documents of a topic are judged, for the layout `pair`: see "
            "[Pairs](../explanation/pools.md#pairs).",
            when=OF_PAIRS,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class InstanceRules:
    """The clustering of formulas, and the choice of the judged instances of a visually distinct formula."""

    clustering: Annotated[
        Clustering,
        Key(
            "Formulas that are compared",
            "Which formulas are compared by their looks: those of the whole collection, those that runs "
            "submit, or none.",
            values=CLUSTERINGS,
            when=OF_FORMULAS,
        ),
    ] = "none"
    strategy: Annotated[
        InstanceStrategy | None,
        Key(
            "Choice of instances",
            "Which instances of a formula are shown: see [Which instances of a formula are "
            "shown](../explanation/pools.md#which-instances-of-a-formula-are-shown).",
            values=SAMPLING,
            when=OF_FORMULAS,
        ),
    ] = None
    limit: Annotated[
        int | None,
        Key(
            "Instances per formula",
            "The most instances of a formula that are shown. Required with a strategy.",
            when=OF_FORMULAS,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Grade:
    """A grade of the scale."""

    key: Annotated[
        str,
        Key(
            "Name in files",
            "Names the grade in forms and files: 1 to 50 letters, digits, hyphens or underscores.",
        ),
    ]
    value: Annotated[int, Key("Grade", "The grade in qrels: 0 to 999. No two grades have the same value.")]
    label: Annotated[str, Key("Label", "The text that assessors see and choose.")]
    definition: Annotated[str, Key("Definition", "What the grade means, shown to assessors.", is_long=True)]
    shortcut: Annotated[str, Key("Shortcut", "The key that chooses the grade.")] = ""
    citation_label: Annotated[
        str,
        Key(
            "Button for a citation",
            "The text of the button for a citation in a generated answer. If left out: that of nuggets.",
            when=OF_ANSWERS,
        ),
    ] = ""
    citation_definition: Annotated[
        str,
        Key(
            "Definition for a citation",
            "What the grade means for a citation in a generated answer. If left out: the same "
            "as for nuggets.",
            when=OF_ANSWERS,
            is_long=True,
        ),
    ] = ""

    def label_for(self, docno: str) -> str:
        return (is_citation(docno) and self.citation_label) or self.label

    def definition_for(self, docno: str) -> str:
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

    question: Annotated[str, Key("Question", "The question about the two documents, shown above them.")] = (
        say("Which document is better for the topic?")
    )
    ties: Annotated[bool, Key("Both may be equally good", "Whether two documents may be equally good.")] = (
        True
    )
    both_bad: Annotated[bool, Key("Both may be useless", "Whether both documents may be useless.")] = True
    strength: Annotated[
        int,
        Key(
            "Degrees of preference",
            "`1`: a document is better. `2`: it may also be much better. It is for your own analysis: no "
            "rule counts it, because the published ones count only which document is better.",
        ),
    ] = 1

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

    key: Annotated[str, Key("Name in files", "Names the choice in forms and files.")]
    label: Annotated[str, Key("Label", "The text that assessors see and choose.")]
    definition: Annotated[str, Key("Definition", "What the choice means, shown to assessors.", is_long=True)]
    needs_comment: Annotated[bool, Key("With a comment", "Whether the assessor must give a comment.")] = False
    shortcut: Annotated[str, Key("Shortcut", "The key that chooses it.")] = ""
    qrels_code: Annotated[
        int | None,
        Key(
            "Number in qrels of others",
            "The number that qrels files of others write for the choice, as ARQMath 2022 does. Such a "
            "line counts as pooled and not judged. Without the key, the number is a grade outside the "
            "scale, which is an error. A negative number needs no code: it always means pooled and not "
            "judged, such as -2 for spam.",
            is_rare=True,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class QuestionChoice:
    """A choice of a question."""

    key: Annotated[
        str,
        Key(
            "Name in files",
            "Names the choice in forms and files: 1 to 50 letters, digits, hyphens or underscores. In a "
            "frame, the value of the control in any words: 1 to 100 characters.",
        ),
    ]
    label: Annotated[str, Key("Label", "The text that assessors see and choose.")]
    value: Annotated[
        int | None,
        Key(
            "Grade in qrels",
            "The grade of the answer in a set of qrels of the question: 0 to 999. All choices of a one-of"
            " question have one, or none.",
            is_rare=True,
        ),
    ] = None
    definition: Annotated[
        str, Key("Definition", "When to choose it, shown to assessors.", is_long=True, is_rare=True)
    ] = ""
    shortcut: Annotated[
        str,
        Key(
            "Shortcut",
            "The key that chooses it; no other choice of the protocol has it. If left out: the page shows"
            " a free key while the question is the current one.",
            is_rare=True,
        ),
    ] = ""


YES_AND_NO = (QuestionChoice("yes", say("Yes")), QuestionChoice("no", say("No")))


@dataclass(frozen=True, slots=True)
class Question:
    """A further question about a unit, asked after a grade was chosen.

    A condition is the key of a grade, `question:choice`, or `topic.LABEL:value`.
    """

    key: Annotated[
        str,
        Key(
            "Name in files",
            "Names the question in forms and files: 1 to 50 letters, digits, hyphens or underscores.",
        ),
    ]
    label: Annotated[str, Key("Question", "What the judging page asks.", is_long=True)]
    kind: Annotated[
        QuestionKind,
        Key(
            "Kind of answer",
            "What the answer is: one choice, several choices, yes or no, a number, a text, marked parts "
            "of a text (span), or the choices in order, best first. A span needs the layout "
            "`topic-document` or `question-answer`, or `form` with `field`. Its answers are exported with"
            " the judgments and feed no qrels.",
            values=QUESTION_KINDS,
        ),
    ] = "one-of"
    given_choices: Annotated[
        tuple[QuestionChoice, ...],
        Key(
            "Choices",
            "At least two choices to choose from or to put in order. For marked parts of a text: at least one label.",
            when={".kind": ("one-of", "any-of", "ranking", "span")},
        ),
    ] = field(default=(), metadata={"key": "choice"})
    choices_from: Annotated[
        ChoicesFrom | None,
        Key(
            "Choices from",
            "`subtopics`: the choices of any-of are the [subtopics of the topic](formats.md#topics). A "
            "topic without subtopics is not asked about them.",
            values=CHOICES_FROM,
            when={".kind": ("any-of",)},
        ),
    ] = None
    after: Annotated[
        tuple[str, ...],
        Key(
            "Asked only after any of (none: always)",
            "Conditions, one of which must hold for the question to be asked: a grade (its "
            "key), a choice of a question before it (`question:choice`), or the value of a "
            "label (`topic.LABEL:value`). If left out: it is asked after every grade. After a "
            "non-answer, no question is asked.",
            names=CONDITION,
        ),
    ] = ()
    after_all: Annotated[
        tuple[str, ...],
        Key(
            "Asked only after all of (none: always)",
            "Conditions that must all hold, as in `judging.question.after`.",
            names=CONDITION,
            is_rare=True,
        ),
    ] = ()
    required: Annotated[
        bool,
        Key(
            "An answer is required",
            "Whether an assessor who is asked must answer. If not, no choice of an any-of question is an "
            "answer too: none of them holds, in qrels and in agreement.",
        ),
    ] = True
    languages: Annotated[
        tuple[str, ...],
        Key(
            "Languages of the documents",
            "The languages of the documents for which the question is asked. If the collection does not "
            "say the language of a document, the question is asked and may stay open. If left out: all "
            "documents.",
            is_rare=True,
        ),
    ] = ()
    help: Annotated[str, Key("Help for assessors", "A sentence for assessors, shown below the question.")] = (
        ""
    )
    min: Annotated[
        float | None, Key("Lowest number", "The lowest number that is accepted.", when={".kind": ("number",)})
    ] = None
    max: Annotated[
        float | None,
        Key("Highest number", "The highest number that is accepted.", when={".kind": ("number",)}),
    ] = None
    unit: Annotated[
        str,
        Key(
            "Unit of the number", "The unit of a number, shown behind its field.", when={".kind": ("number",)}
        ),
    ] = ""
    max_characters: Annotated[
        int | None,
        Key(
            "Characters at most",
            "The longest text that is accepted, in characters, up to 10,000. If left out: 10,000.",
            when={".kind": ("text",)},
        ),
    ] = None
    at_least: Annotated[
        int | None,
        Key(
            "Choices at least",
            "The fewest choices of an answer, or of a span the fewest marked parts. If left out: 1; of a "
            "ranking without `at_most`, all.",
            when={".kind": ("any-of", "ranking", "span")},
        ),
    ] = None
    at_most: Annotated[
        int | None,
        Key(
            "Choices at most",
            "The most choices of an answer, or of a span the most marked parts, up to 100. If left out: "
            "all choices, 100 marked parts.",
            when={".kind": ("any-of", "ranking", "span")},
        ),
    ] = None
    field: Annotated[
        str,
        Key(
            "Marked field",
            "Of a span in the layout `form`: the field of the row whose text is marked, as it is in the "
            "table. The HTML shows it.",
            names="judging.form.fields",
            when=OF_FORMS,
        ),
    ] = ""

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

    fields: Annotated[
        tuple[str, ...],
        Key(
            "Columns of the table",
            "The columns of the table besides `topic` and `docno`. A table with another column, or "
            "without one of them, is refused.",
        ),
    ]
    html: Annotated[
        str,
        Key(
            "HTML",
            "HTML, at most 200,000 characters. `${name}` is the value of a field, and `${question.KEY}` "
            "the place of the question with that key: each question has one. Errors name the line of the "
            "HTML. See [Judge the rows of a table](../howto/judge-rows.md).",
            is_long=True,
        ),
    ]
    frame: Annotated[
        bool,
        Key(
            "Own controls and scripts, in a frame",
            "`true`: the HTML has controls and scripts of its own, as templates of Turkle have, and is "
            "shown in a frame without access to the site. A value is text there too; `${name|raw}` "
            "inserts it as it is. Its answers are stored by the names of its controls; those to a "
            "question whose key is such a name are checked.",
        ),
    ] = False


# Of questions only
ANSWERED = Grade("answered", 0, say("Answered"), say("Answer the questions, then submit."))


@dataclass(frozen=True, slots=True)
class JudgingRules:
    """The page and the choices of assessors, and the number of assessors per unit."""

    layout: Annotated[
        str,
        OneOf(units.BY_LAYOUT),
        Key("Judging page", "The judging page. `pair` shows two documents side by side."),
    ]
    given_grades: Annotated[
        tuple[Grade, ...],
        Key(
            "Grades",
            "The grades, at least one. A form may have questions only: then they are asked at once, and "
            "each judgment has the choice `answered` with grade 0. With the layout `pair`, the choices "
            "are those of `judging.preference` instead.",
            wrong_names=("grades", "scale"),
        ),
    ] = field(default=(), metadata={"key": "grade"})
    non_answers: Annotated[
        tuple[NonAnswer, ...], Key("When no grade fits", "The choices that are not grades.")
    ] = field(default=(), metadata={"key": "non_answer"})
    questions: Annotated[
        tuple[Question, ...], Key("Questions", "Further questions that the judging page asks after a grade.")
    ] = field(default=(), metadata={"key": "question"})
    form: Annotated[
        FormRules | None,
        Key("Form", "The page of the layout `form`, which shows a row of a table.", when=OF_FORMS),
    ] = None
    judges: Annotated[
        int,
        Key(
            "Assessors per unit",
            "The number of assessors who judge each unit.",
            wrong_names=("assessors", "annotators"),
        ),
    ] = 1
    groups: Annotated[
        tuple[str, ...],
        Key(
            "Groups of assessors",
            "Groups of assessors; one assessor of each group judges a topic.",
            is_rare=True,
        ),
    ] = ()
    dual_share: Annotated[
        float,
        Key(
            "Share of topics judged twice",
            "The share of the topics that a second assessor also judges. The plan of a dual batch "
            "proposes them at random, unless the protocol has `dual_topics`; the preview of costs uses "
            "it.",
            is_rare=True,
        ),
    ] = 0.0
    in_context: Annotated[
        bool,
        Key(
            "Show units in context",
            "Whether a formula is shown marked in its post, with a link to the thread, and a document "
            "with a link to its thread. `false`: alone. The definitions of the grades tell assessors "
            "whether the post counts.",
        ),
    ] = True
    training_topics: Annotated[
        int,
        Key(
            "Training topics",
            "The number of training topics. The plan of a training round starts with as many.",
            is_rare=True,
        ),
    ] = 0
    dual_topics: Annotated[
        int,
        Key(
            "Topics judged twice, per assessor",
            "The number of another assessor's topics that each assessor judges afterwards. The plan of a "
            "dual batch proposes those with the fewest relevant units.",
            is_rare=True,
        ),
    ] = 0
    preference: Annotated[
        PreferenceRules | None,
        Key(
            "Choices about a pair",
            "The choices about a pair of documents, for the layout `pair`.",
            when=OF_PAIRS,
        ),
    ] = None

    @property
    def has_dual(self) -> bool:
        """Return whether second judgments of some topics are stated."""
        return bool(self.dual_share or self.dual_topics)

    @property
    def judged(self) -> units.Unit:
        return units.BY_LAYOUT[self.layout]

    @property
    def about_pairs(self) -> PreferenceRules | None:
        """The rules of the choices about a pair, or the usual ones; None if units are no pairs."""
        return (self.preference or PreferenceRules()) if self.judged.has_votes else None

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
        documents = self.judged.documents(docno)
        if (
            len(documents) > 1
            and not self.given_grades
            and not self.judged.is_blind
            and key not in {"tie", "bad"}
        ):
            document = documents[key.startswith("second")]
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
class GradeRule:
    """A grade that several answers give together."""

    when: Annotated[
        tuple[str, ...],
        Key("If all of", "Conditions that must all hold, as in `judging.question.after`.", names=CONDITION),
    ]
    grade: Annotated[int, Key("Grade", "The grade of the judgment, 0 to 999.")]


@dataclass(frozen=True, slots=True)
class QrelsSet(_Titled):
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
    ] = field(default_factory=_nothing)
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


@dataclass(frozen=True, slots=True)
class ScoringRules:
    """The measures, and what they are computed on."""

    all_measures: Annotated[
        tuple[str, ...],
        Key(
            "Measures",
            "The [measures](measures.md) of the leaderboard, at least one. Those of a set of qrels follow"
            " its key and a colon: `quality:nDCG@5`.",
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


NO_RUNS = RunRules((), 0, (), AnswerRules())  # of a protocol of rows, to which no team submits anything


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
    scoring: Annotated[ScoringRules, Key("Measures")] = ScoringRules(())
    published: Annotated[
        Mapping[str, float],
        Key(
            "Published figures",
            "Sizes of the published collection, to compare yours with: any names, each with a number.",
        ),
    ] = field(default_factory=_nothing)
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
    def digest(self) -> str:
        """The SHA-256 of the file."""
        return sha256_of(self.text.encode())

    @property
    def edition(self) -> str:
        """A slug for this text where another text has its slug, such as that of another release of Assay."""
        return f"{self.slug[:91]}-{self.digest[:8]}"
