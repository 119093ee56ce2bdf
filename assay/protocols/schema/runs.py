"""The table `runs`: the form and content of submitted runs, their kinds, phases, and the questions about them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from assay.protocols.schema.common import OF_ANSWERS, SEPARATORS, Separator, Titled, nothing
from assay.protocols.schema.naming import Words, is_named, named
from assay.structure import Key

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
RunQuestionKind = Literal["one-of", "any-of", "yes-no", "number", "text"]
RUN_QUESTION_KINDS = {
    "one-of": "one of several choices",
    "any-of": "any of several choices",
    "yes-no": "yes or no",
    "number": "a number",
    "text": "a text",
}
RUN_FORMATS: tuple[str, ...] = get_args(RunFormat)
ANSWER_FORMATS: tuple[RunFormat, ...] = ("rag-2024", "rag-2025", "rag-2026", "ragtime", "dragun")
EVERY_RANK = 2**31 - 1  # a depth that no run reaches and that fits a database column of whole numbers


@dataclass(frozen=True, slots=True)
class RunKind(Titled):
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
    ] = field(default_factory=nothing)
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
class Phase(Titled):
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


NO_PHASE = Phase("")


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
    ] = field(default_factory=nothing)


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
    ] = field(default_factory=nothing)
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
    tag_pattern: Annotated[
        str,
        Key(
            "Naming scheme of tags",
            "How teams name their runs, such as `{team}-{kind}-{number}`. A submitted run with another tag is refused; "
            "runs of organizers have any tag. The places are `{team}` (its name, with hyphens for spaces), `{kind}` "
            "(the key of the kind), `{topics}` (the split of topics of the phase of the kind), `{number}` (from 1) and "
            "`{name}` (any characters). Upper and lower case are the same.",
            is_rare=True,
        ),
    ] = ""
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
    ] = field(default_factory=nothing)
    attributes: Annotated[
        Mapping[str, tuple[str, ...]],
        Key(
            "Values of attributes",
            "The accepted values of the attributes `eval` and `subtask` of a submission in "
            "`bolt-xml`, such as `P3` for `eval`. An attribute that is not listed may have any "
            "value.",
            when={"runs.formats": ("bolt-xml",)},
        ),
    ] = field(default_factory=nothing)
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
        return next((kind for kind in self.kinds if kind.key == key), None) or RunKind(key, scored=False)

    def phase_of(self, key: str) -> Phase:
        """The phase of a kind; `NO_PHASE`, without a key and without rules, if the kind has none."""
        named = self.kind(key).phase
        return next((phase for phase in self.phases if phase.key == named), NO_PHASE)

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

    def _words(self, team: str, kind: str) -> Words:
        """The words of the places of the naming scheme; an empty team or kind is not known."""
        kinds = [kind] if kind else [each.key for each in self.kinds if each.submitted_by == "teams"]
        splits = [split for each in kinds if (split := self.phase_of(each).split)]
        return {"kind": kinds, "topics": splits} | ({"team": ["-".join(team.split())]} if team else {})

    def example_tag(self, team: str = "", kind: str = "", number: int = 1) -> str:
        """A tag that follows the naming scheme; empty without one."""
        return named(self.tag_pattern, self._words(team, kind), number)

    def why_not_named(self, tag: str, *, team: str = "", kind: str = "") -> str:
        """Return the reason why a team cannot submit a run with a tag, as the end of a sentence; empty if it can.

        An empty team or kind is not known, and any is accepted.
        """
        if not self.tag_pattern or self.kind(kind).submitted_by == "organizers":
            return ""
        if is_named(tag, self.tag_pattern, self._words(team, kind)):
            return ""
        example = self.example_tag(team, kind)
        return f"does not follow the naming scheme; use the form {self.tag_pattern}, such as {example}"

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


NO_RUNS = RunRules((), 0, (), AnswerRules())  # of a protocol of rows, to which no team submits anything
