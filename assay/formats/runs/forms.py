"""The forms that a run may have, by the names that protocols give them."""

from collections.abc import Sequence
from typing import NamedTuple

from assay.formats.separated import n_columns, quoted
from assay.protocols.schema import Protocol, RunFormat, Separator, Ties

SEPARATORS: dict[Separator, bytes] = {"white-space": b"\t", "comma": b",", "semicolon": b";"}


class LineForm(NamedTuple):
    """A form in lines of columns. Each number is the place of a column, counted from 0."""

    name: RunFormat
    title: str
    width: int
    topic: int
    docno: int
    rank: int | None
    score: int | None  # None: the rank decides; without both columns, a topic has one document
    tag: int | None
    post: int | None = None  # of the post that contains the formula
    filler: int | None = None  # a column without meaning
    label: int | None = None
    labels: tuple[tuple[bytes, bool], ...] = ()  # the words of the label: whether the document is relevant
    separator: bytes = (
        b"\t"  # of columns that are written; if it is a tab, any white space separates those read
    )
    ties: Ties = "docno"
    columns: tuple[str, ...] = ()  # the names of all columns, for lines that are not separated by white space

    @property
    def has_ranks(self) -> bool:
        return self.rank is not None

    @property
    def usual_rank(self) -> int:
        """The rank of a line without a rank: 1 if it has no score either, because it is the only one of its topic."""
        return 1 if self.score is None else 0

    @property
    def separated_by(self) -> str:
        return {b",": "commas", b";": "semicolons"}.get(self.separator, "tabs or spaces")

    def n_columns(self, line: bytes) -> int:
        """The number of columns of a line."""
        return len(line.split()) if self.separator == b"\t" else n_columns(line, self.separator)

    def line(
        self,
        topic: bytes,
        docno: bytes,
        rank: int,
        score: float,
        tag: bytes,
        post: bytes,
        *,
        is_relevant: bool = True,
    ) -> bytes:
        """A row in this form: separators, the score to its last bit, LF."""
        words = [b"0"] * self.width
        label = next((word for word, means in self.labels if means == is_relevant), b"")
        for column, word in (
            (self.topic, topic),
            (self.docno, docno),
            (self.post, post),
            (self.filler, b"Q0"),
            (self.rank, b"%d" % rank),
            (self.score, repr(score).encode()),
            (self.tag, tag),
            (self.label, label),
        ):
            if column is not None:
                words[column] = quoted(word, self.separator)
        return self.separator.join(words) + b"\n"


class XmlForm(NamedTuple):
    """A form in XML, detected from its first element. `xml` has the class that reads its elements."""

    name: RunFormat
    title: str
    roots: tuple[str, ...]
    has_ranks: bool
    ties: Ties


class AnswerForm(NamedTuple):
    """A form of generated answers in JSON lines, one answer each. `answers` reads them.

    A place is a key, after a point one of the object `metadata`.
    """

    name: RunFormat
    title: str
    tag: str  # place of the id of the run
    topic: str  # place of the code of the topic
    team: str  # place of the team; empty: none
    kind: str  # place of the word automatic or manual; empty: none
    sentences: str  # key of the list of sentences
    has_references: bool  # whether citations are of a list of references
    has_indexes: bool = False  # whether a citation can be a place in that list, from 0
    has_ids: bool = True  # whether it can be the id of a document
    has_ranks: bool = False
    ties: Ties = "file"

    @property
    def places(self) -> tuple[str, ...]:
        """The places that a line must have."""
        references = ("references",) if self.has_references else ()
        return (*filter(None, (self.tag, self.topic, self.team, self.kind)), *references, self.sentences)


RunForm = LineForm | XmlForm | AnswerForm
_OF_RUN = ("metadata.run_id", "metadata.topic_id", "metadata.team_id")
_NARRATIVE = ("metadata.run_id", "metadata.narrative_id", "metadata.team_id", "metadata.type", "answer")
FORMS: dict[RunFormat, RunForm] = {
    form.name: form
    for form in (
        LineForm("arqmath-5", "Query_Id Post_Id Rank Score Run_Number", 5, 0, 1, 2, 3, 4),
        LineForm("arqmath-6", "Query_Id Formula_Id Post_Id Rank Score Run_Number", 6, 0, 1, 3, 4, 5, post=2),
        LineForm("trec-6", "topic Q0 docno rank score tag", 6, 0, 2, 3, 4, 5, filler=1),
        XmlForm(
            name="ntcir-xml",
            title="XML: results > run[runtag] > result[for] > hit[xref, score, rank]",
            roots=("results", "run", "result"),
            has_ranks=True,
            ties="docno",
        ),
        XmlForm(
            name="bolt-xml",
            title="XML: bolt-ir-submission > response[number] > cite[score, thread, post, offset, length]",
            roots=("bolt-ir-submission",),
            has_ranks=False,
            ties="file",
        ),
        AnswerForm(
            "rag-2024",
            "JSON lines: run_id, topic_id, topic, references, response_length, answer [{text, citations}]",
            "run_id",
            "topic_id",
            "",
            "",
            "answer",
            has_references=True,
            has_indexes=True,
            has_ids=False,
        ),
        AnswerForm(
            "rag-2025",
            "JSON lines: metadata {team_id, run_id, type, narrative_id, narrative}, references, "
            "answer [{text, citations}]",
            *_NARRATIVE,
            has_references=True,
            has_indexes=True,
        ),
        AnswerForm(
            "rag-2026",
            "JSON lines: metadata {team_id, run_id, run_desc, type, narrative_id, narrative}, references, "
            "answer [{text, citations}]",
            *_NARRATIVE,
            has_references=True,
            has_indexes=True,
        ),
        AnswerForm(
            "ragtime",
            "JSON lines: metadata {team_id, run_id, topic_id}, responses [{text, citations}]",
            *_OF_RUN,
            "",
            "responses",
            has_references=False,
        ),
        AnswerForm(
            "dragun",
            "JSON lines: metadata {team_id, run_id, topic_id, type, use_starter_kit}, responses [{text, citations}]",
            *_OF_RUN,
            "metadata.type",
            "responses",
            has_references=False,
        ),
    )
}


def forms_of(protocol: Protocol, formats: Sequence[RunFormat] = ()) -> list[RunForm]:
    """The forms that a protocol accepts, or those of `formats`, with the protocol's order of ties."""
    rules = protocol.runs
    own: dict[RunFormat, RunForm] = {}
    if (lines := rules.columns) is not None:
        place = {name: column for column, name in enumerate(lines.order)}
        own["columns"] = LineForm(
            "columns",
            " ".join("-" if name == "skip" else name for name in lines.order),
            len(lines.order),
            place["topic"],
            place["docno"],
            place.get("rank"),
            place.get("score"),
            place.get("tag"),
            post=place.get("post"),
            label=place.get("label"),
            labels=tuple((word.encode(), is_relevant) for word, is_relevant in lines.labels.items()),
            separator=SEPARATORS[lines.separator],
            columns=lines.order,
        )
    forms = [own.get(name) or FORMS[name] for name in formats or rules.formats]
    return forms if rules.ties is None else [form._replace(ties=rules.ties) for form in forms]
