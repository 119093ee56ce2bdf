"""The table `judging`: the page and the choices of assessors, and their further questions."""

from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from assay.answers import is_citation
from assay.errors import say
from assay.protocols import units
from assay.protocols.schema.common import CONDITION, OF_ANSWERS, OF_FORMS, OF_PAIRS
from assay.protocols.schema.runs import RUN_QUESTION_KINDS
from assay.structure import Key, OneOf

ChoicesFrom = Literal["subtopics"]
CHOICES_FROM = {"subtopics": "the subtopics of the topic"}
QuestionKind = Literal["one-of", "any-of", "yes-no", "number", "text", "span", "ranking"]
QUESTION_KINDS = {
    **RUN_QUESTION_KINDS,
    "span": "marked parts of a text",
    "ranking": "several choices in order, best first",
}


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
    Grade("first-much", 5, say("First much better"), "The first is much better than the second."),
    Grade("first", 4, say("First better"), "The first is better than the second."),
    Grade("tie", 3, say("Equally good"), say("Neither is better, and they are useful.")),
    Grade("second", 2, say("Second better"), "The second is better than the first."),
    Grade("second-much", 1, say("Second much better"), "The second is much better than the first."),
    Grade("bad", 0, say("Both useless"), say("Neither is of any use for the topic.")),
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
            "The share of the topics that a second assessor also judges. The plan of second judgments "
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
            "The number of another assessor's topics that each assessor judges afterwards. The plan of "
            "second judgments proposes those with the fewest relevant units.",
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
