"""The rules for runs: the forms that they may have, and checks of a run as a whole.

The forms are by the names that protocols give them. Once the lines of a run are rows, every check works on arrays.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, plural
from assay.formats.reports import FIRST_LINES, Tally
from assay.formats.runs.columns import PART, byte_keys, may_repeat
from assay.formats.separated import columns_named, n_columns, quoted
from assay.protocols.schema import Protocol, RunFormat, RunRules, Separator, Ties, TopicDocuments

MAX_CITED = 300  # bytes of the id of a document, which is part of the id of a citation
MAX_SENTENCES = 1000  # of an answer
FEW_TOPICS = 3  # with the same fault are reported one by one, more of them together
MANNERS = ("automatic", "manual")
SEPARATORS: dict[Separator, bytes] = {"white-space": b"\t", "tab": b"\t", "comma": b",", "semicolon": b";"}


@dataclass(frozen=True, slots=True)
class _Form:
    """The common fields of all forms. `ties`: the order of documents with equal scores."""

    name: str
    title: str
    ties: Ties = field(default="docno", kw_only=True)


@dataclass(frozen=True, slots=True)
class LineForm(_Form):
    """A form in lines of columns. Each number is the place of a column, counted from 0."""

    width: int = 0
    topic: int = 0
    docno: int = 0
    rank: int | None = None
    score: int | None = None  # None: the rank decides; without both columns, a topic has one document
    tag: int | None = None
    post: int | None = None  # of the post that contains the formula
    filler: int | None = None  # a column without meaning
    fixed: bytes = b""  # the word that this column must have; empty: any
    label: int | None = None
    labels: tuple[tuple[bytes, bool], ...] = ()  # the words of the label: whether the document is relevant
    # Of columns that are written; if it is a tab, any white space separates those read
    separator: bytes = b"\t"
    columns: tuple[str, ...] = ()  # the names of all columns, for lines that are not separated by white space
    only_tabs: bool = False  # separate columns, which may be empty or contain spaces
    # What is read as the first column of each line; empty: the lines name their topics
    only_topic: bytes = b""
    header: tuple[str, ...] = ()  # the names of the columns, in the first line of a file; empty: it has none

    def with_order(self, columns: tuple[str, ...]) -> "LineForm":
        """The form with these columns, from left to right, without that of the only topic."""
        order = ("topic", *columns) if self.only_topic else columns
        place = {name: column for column, name in enumerate(order)}
        return replace(
            self,
            width=len(order),
            topic=place["topic"],
            docno=place["docno"],
            rank=place.get("rank"),
            score=place.get("score"),
            tag=place.get("tag"),
            post=place.get("post"),
            label=place.get("label"),
            columns=columns,
        )

    def named_by(self, names: Sequence[str]) -> "tuple[LineForm, str]":
        """The form of a file whose first line has these names, and what is wrong with them."""
        columns, problem = columns_named(names, self.header, self.columns)
        return (self if problem else replace(self.with_order(columns), header=tuple(names))), problem

    @property
    def head(self) -> bytes:
        """The first line of a file in this form, with its end; empty if it has no names of columns."""
        names = [quoted(name.encode(), self.separator) for name in self.header]
        return self.separator.join(names) + b"\n" if names else b""

    @property
    def made_of_json(self) -> str:
        """The way to make described columns without a score of JSON lines; empty for other forms."""
        if self.name != "columns" or self.score is not None:
            return ""
        keys = ", ".join("0" if name == "skip" else f".{name}" for name in self.columns)
        end = "csv" if self.separator == b"," else "tsv"
        return f"make columns of them, such as with jq -r '[{keys}] | @{end}' and the keys of your lines"

    @property
    def has_ranks(self) -> bool:
        return self.rank is not None

    @property
    def usual_rank(self) -> int:
        """The rank of a line without a rank: 1 if it has no score either, because it is the only one of its topic."""
        return 1 if self.score is None else 0

    @property
    def separated_by(self) -> str:
        usual = "tabs" if self.only_tabs else "tabs or spaces"
        return {b",": "commas", b";": "semicolons"}.get(self.separator, usual)

    @property
    def is_of_words(self) -> bool:
        """Return whether any white space separates columns."""
        return self.separator == b"\t" and not self.only_tabs

    def n_columns(self, line: bytes) -> int:
        n = len(line.split()) if self.is_of_words else n_columns(line, self.separator)
        return n + 1 if n and self.only_topic else n

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
        return self.separator.join(words[1:] if self.only_topic else words) + b"\n"


@dataclass(frozen=True, slots=True)
class XmlForm(_Form):
    """A form in XML, detected from its first element. `xml` has the class that reads its elements."""

    roots: tuple[str, ...]
    has_ranks: bool


def characters_of(values: Mapping[str, str]) -> dict[str, int]:
    """The characters that answers may have, by topic, from the values of a label.

    Raises:
        InputError: A value is not a whole number from 1.
    """
    wrong = {topic: value for topic, value in values.items() if not re.fullmatch(r"0*[1-9]\d{0,8}", value)}
    for topic, value in wrong.items():
        raise InputError(
            f"{value[:40]!r} of topic {topic} is not a number of characters; use a whole number from 1"
        )
    return {topic: int(value) for topic, value in values.items()}


@dataclass(frozen=True, slots=True)
class AnswerForm(_Form):
    """A form of generated answers in JSON lines, one answer each. `answers` reads them.

    A place is a key, after a point one of the object `metadata`.
    """

    tag: str  # place of the id of the run
    topic: str  # place of the code of the topic
    team: str  # place of the team; empty: none
    kind: str  # place of the word automatic or manual; empty: none
    sentences: str  # key of the list of sentences
    has_references: bool  # whether citations are of a list of references
    has_indexes: bool = False  # whether a citation can be a place in that list, from 0
    has_ids: bool = True  # whether it can be the id of a document
    has_scores: bool = False  # whether citations can be an object of ids with their confidence
    needed: tuple[str, ...] = ()  # places that must have a value
    texts: tuple[str, ...] = ()  # places that must have a text
    narrative: str = ""  # place of the text of the topic, which is copied; empty: none
    judged: int | None = None  # more citations of a sentence get a warning
    is_lenient: bool = False  # an answer without sentences, or a reference twice, is only a warning
    has_plain_tags: bool = False  # a tag of other signs than letters, digits, - _ and . is a warning
    counts_nfkc: bool = False  # whether words are counted after NFKC, which makes two words of some signs
    has_ranks: ClassVar[bool] = False
    ties: Ties = field(default="file", kw_only=True)

    @property
    def places(self) -> tuple[str, ...]:
        """The places that a line must have."""
        references = ("references",) if self.has_references else ()
        named = filter(None, (self.tag, self.topic, self.team, self.kind))
        return (*named, *self.texts, *self.needed, *references, self.sentences)


@dataclass(frozen=True, slots=True)
class JsonForm(_Form):
    """A form that is detected from its first bytes where lines with scores are accepted: that of ranx, by default.

    `nested` reads that of ranx, and `records` the others.
    """

    name: str = "ranx-json"
    title: str = "JSON: {topic: {document: score}}"
    has_ranks: ClassVar[bool] = False


JSON_LINES = JsonForm("json-lines", "JSON lines: {qid, docno, score, run}")
PARQUET_RECORDS = JsonForm("parquet", "Parquet: columns qid, docno, score, run")
RunForm = LineForm | XmlForm | AnswerForm | JsonForm
_OF_RUN = ("metadata.run_id", "metadata.topic_id", "metadata.team_id")
_NARRATIVE = ("metadata.run_id", "metadata.narrative_id", "metadata.team_id")
FORMS: dict[str, RunForm] = {
    form.name: form
    for form in (
        LineForm(
            "arqmath-5",
            "Query_Id Post_Id Rank Score Run_Number",
            width=5,
            topic=0,
            docno=1,
            rank=2,
            score=3,
            tag=4,
        ),
        LineForm(
            "arqmath-6",
            "Query_Id Formula_Id Post_Id Rank Score Run_Number",
            width=6,
            topic=0,
            docno=1,
            post=2,
            rank=3,
            score=4,
            tag=5,
        ),
        LineForm(
            "trec-6",
            "topic Q0 docno rank score tag",
            width=6,
            topic=0,
            filler=1,
            docno=2,
            rank=3,
            score=4,
            tag=5,
        ),
        XmlForm(
            name="ntcir-xml",
            title="XML: results > run[runtag] > result[for] > hit[xref, score, rank]",
            roots=("results", "run", "result"),
            has_ranks=True,
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
            counts_nfkc=True,
        ),
        AnswerForm(
            "rag-2025",
            "JSON lines: metadata {team_id, run_id, type, narrative_id, narrative}, references, "
            "answer [{text, citations}]",
            *_NARRATIVE,
            "metadata.type",
            "answer",
            has_references=True,
            has_indexes=True,
            is_lenient=True,
        ),
        AnswerForm(
            "rag-2026",
            "JSON lines: metadata {team_id, run_id, run_desc, narrative_id, narrative}, references, "
            "answer [{text, citations}]",
            *_NARRATIVE,
            "",
            "answer",
            has_references=True,
            has_indexes=True,
            texts=("metadata.run_desc", "metadata.narrative"),
            narrative="metadata.narrative",
            judged=3,
            is_lenient=True,
            has_plain_tags=True,
        ),
        AnswerForm(
            "ragtime",
            "JSON lines: metadata {team_id, run_id, topic_id}, responses [{text, citations}]",
            *_OF_RUN,
            "",
            "responses",
            has_references=False,
            has_scores=True,
            judged=3,
            is_lenient=True,
        ),
        AnswerForm(
            "dragun",
            "JSON lines: metadata {team_id, run_id, topic_id, type, use_starter_kit}, responses [{text, citations}]",
            *_OF_RUN,
            "metadata.type",
            "responses",
            has_references=False,
            needed=("metadata.use_starter_kit",),
            judged=3,
            is_lenient=True,
        ),
    )
}


def forms_of(protocol: Protocol, formats: Sequence[RunFormat] = ()) -> list[RunForm]:
    """The forms that a protocol accepts, or those of `formats`, with the protocol's order of ties."""
    rules = protocol.runs
    own: dict[RunFormat, RunForm] = {}
    if (lines := rules.columns) is not None:
        title = " ".join("-" if name == "skip" else name for name in lines.order)
        form = LineForm(
            "columns",
            f"columns {', '.join(lines.header)}, named in the first line" if lines.header else title,
            labels=tuple((word.encode(), is_relevant) for word, is_relevant in lines.labels.items()),
            separator=SEPARATORS[lines.separator],
            only_tabs=lines.separator == "tab",
            only_topic=lines.topic.encode(),
            header=lines.header,
        )
        own["columns"] = form.with_order(lines.order)
    forms = [own.get(name) or FORMS[name] for name in formats or rules.formats]
    if rules.second_column:
        fixed = rules.second_column.encode()
        forms = [
            replace(form, fixed=fixed) if isinstance(form, LineForm) and form.name == "trec-6" else form
            for form in forms
        ]
    return forms if rules.ties is None else [replace(form, ties=rules.ties) for form in forms]


def scored_lines(forms: Sequence[RunForm]) -> LineForm | None:
    """The lines with scores like which JSON and Parquet are read; None if no form has them."""
    lines = (form for form in forms if isinstance(form, LineForm))
    return next((line for line in lines if line.score is not None and line.post is None), None)


def copies_narratives(protocol: Protocol) -> bool:
    """Return whether answers in a form that the protocol accepts repeat the text of their topic."""
    return any(isinstance(form, AnswerForm) and form.narrative for form in forms_of(protocol))


NOUNS = {
    "formula": ("formula", "formulas"),
    "visually-distinct-formula": ("formula", "formulas"),
    "citation": ("citation", "citations"),
    "passage": ("passage", "passages"),
    "generated-answer": ("answer", "answers"),
}

# Whether a docno is in the collection, and of the right unit.
FIT, ABSENT, OTHER_UNIT = 0, 1, 2
UnitLookup = Callable[[NDArray[np.bytes_]], NDArray[np.uint8]]


def unit_of(protocol: Protocol) -> str:
    """Name what a run of a protocol retrieves, with citations apart from other passages."""
    return "citation" if protocol.cites_posts else protocol.unit


class RunRows(NamedTuple):
    """All rows of a run in file order. `topic_index` points into `topics`, in the order of their first lines."""

    topics: list[str]
    topic_index: NDArray[np.int32]
    docno: NDArray[np.bytes_]
    rank: NDArray[np.int32]
    score: NDArray[np.float64]
    number: NDArray[np.int64]
    post: NDArray[np.bytes_] | None = None
    passage: NDArray[np.bytes_] | None = None
    label: NDArray[np.bool_] | None = None
    original: NDArray[np.bytes_] | None = None


_INTEGERS, _NO_SCORES = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float64)
NO_ROWS = RunRows([], _INTEGERS, np.empty(0, dtype="S1"), _INTEGERS, _NO_SCORES, np.empty(0, dtype=np.int64))


class NearDuplicates(NamedTuple):
    """The overlap from which passages are near-duplicates, and the ranks per topic in which they are reported."""

    overlap: float
    depth: int


class Expected(NamedTuple):
    """The facts that rows are checked against; None where they are unknown."""

    rules: RunRules
    unit: str
    topics: Collection[str] | None
    units: UnitLookup | None
    max_lines: float  # that are read
    near: NearDuplicates | None = None
    kind: str = ""  # the kind that the submitter declared; empty: not known
    team: str = ""  # the team that submits; empty: not known
    is_named: bool = False  # whether tags follow the naming scheme
    characters: Mapping[str, int] = MappingProxyType({})  # that an answer may have, by topic
    narratives: Mapping[str, str] = MappingProxyType({})  # the texts of topics

    @property
    def noun(self) -> tuple[str, str]:
        """The noun for what a line ranks, in singular and plural."""
        return NOUNS.get(self.unit, ("document", "documents"))


def check_rows(rows: RunRows, expected: Expected, form: RunForm, tally: Tally) -> None:
    """Report errors of content: topics, repeated documents, depth, ranges of numbers, ids outside the collection.

    Ranks out of range are only a warning if the protocol says nothing else.
    """
    check_topics(rows, expected.topics, tally)
    # Lines of TREC have six columns too, but the second one is always the same.
    is_repeated = rows.post is not None and len(rows.docno) > len(rows.topics)
    if is_repeated and bool((rows.docno == rows.docno[0]).all()):
        report(tally.error, _TREC, rows.number, rows.number > 0)
        return
    _check_repeated(rows, expected.noun[0], tally)
    max_ranks, nouns = expected.rules.max_ranks, expected.noun[1]
    depth = np.bincount(rows.topic_index, minlength=len(rows.topics))
    accepted = f"At most {plural(max_ranks, ','.join(expected.noun))} per topic."
    deep = np.flatnonzero(depth > max_ranks)
    beyond = [np.flatnonzero(rows.topic_index == index)[max_ranks:] for index in deep[:FIRST_LINES]]
    if len(deep) > FEW_TOPICS:
        named = named_topics([f"{rows.topics[index]} ({depth[index]:,})" for index in deep])
        message = f"{len(deep)} topics have more than {max_ranks:,} {nouns}: {named}"
        n = int((depth[deep] - max_ranks).sum())
        numbers = sorted(int(rows.number[lines[0]]) for lines in beyond)
        tally.error("too-many-ranks", message, accepted, n=n, numbers=numbers)
    else:
        for index, lines in zip(deep, beyond, strict=True):
            message = f"topic “{rows.topics[index]}” has {depth[index]:,} {nouns}"
            numbers = first_lines(rows.number, lines)
            tally.error("too-many-ranks", message, accepted, n=len(lines), numbers=numbers)
    if form.has_ranks:
        add = tally.error if expected.rules.out_of_range_ranks == "error" else tally.warning
        complaint = (
            "rank-range",
            f"the rank is outside 1 to {max_ranks:,}",
            f"Ranks from 1 to {max_ranks:,}.",
        )
        report(add, complaint, rows.number, (rows.rank < 1) | (rows.rank > max_ranks), is_repairable=True)
    low = -np.inf if expected.rules.min_score is None else expected.rules.min_score
    high = np.inf if expected.rules.max_score is None else expected.rules.max_score
    complaint = (
        "score-range",
        "the score is outside the protocol's range",
        f"Scores from {low:g} to {high:g}.",
    )
    report(tally.error, complaint, rows.number, (rows.score < low) | (rows.score > high))
    if expected.units is not None:
        check_units(rows, expected.units, expected.unit, tally)


_TREC = (
    "form",
    "the second column is the same in all lines, as in the format of TREC",
    "Query_Id Formula_Id Post_Id Rank Score Run_Number.",
)


def report(
    add: Callable[..., None],
    complaint: tuple[str, str, str],
    number: NDArray[np.int64],
    where: NDArray[np.bool_],
    **more: Any,
) -> None:
    """Add a complaint of code, message and what is accepted for the lines of some rows, if there are any."""
    if where.any():
        add(*complaint, n=int(where.sum()), numbers=first_lines(number, where), **more)


def first_lines(number: NDArray[np.int64], where: NDArray[np.bool_] | NDArray[np.intp]) -> list[int]:
    """The first line numbers of some rows, as many as a complaint shows."""
    numbers = number[where]
    few = np.partition(numbers, FIRST_LINES - 1)[:FIRST_LINES] if len(numbers) > FIRST_LINES else numbers
    return sorted(int(n) for n in few)


def check_topics(rows: RunRows, known: Collection[str] | None, tally: Tally) -> None:
    """Report unknown topics, one by one or, as in a run of another track, together with a line of each."""
    if known is None:
        return
    known = set(known)
    accepted = f"The topics of the track ({len(known)}), such as {', '.join(sorted(known)[:3])}."
    unknown = np.array([i for i, topic in enumerate(rows.topics) if topic not in known], dtype=np.int64)
    if len(unknown) > FEW_TOPICS:
        where = np.flatnonzero(np.isin(rows.topic_index, unknown))
        first = np.unique(rows.topic_index[where], return_index=True)[1]
        numbers = sorted(int(n) for n in rows.number[where[first]])[:FIRST_LINES]
        message = (
            f"{len(unknown):,} unknown topics: {named_topics([rows.topics[index] for index in unknown])}"
        )
        if len(unknown) == len(rows.topics):
            accepted += " The run has none of them: is it of another track?"
        tally.error("unknown-topic", message, accepted, n=len(where), numbers=numbers)
        return
    for index in unknown:
        complaint = ("unknown-topic", f"unknown topic “{rows.topics[index]}”", accepted)
        report(tally.error, complaint, rows.number, rows.topic_index == index)


def named_topics(names: Sequence[str]) -> str:
    """The first names of more than `FEW_TOPICS`, and how many there are besides them."""
    return f"{', '.join(names[:FEW_TOPICS])} and {len(names) - FEW_TOPICS:,} more"


def _check_repeated(rows: RunRows, noun: str, tally: Tally) -> None:
    if not may_repeat(rows.topic_index, rows.docno):
        return
    keys: list[NDArray[Any]] = [rows.number, *reversed(byte_keys(rows.docno)), rows.topic_index]
    order = np.lexsort(keys)
    topic, docno = rows.topic_index[order], rows.docno[order]
    repeats = np.zeros(len(order), dtype=np.bool_)
    repeats[1:] = (topic[1:] == topic[:-1]) & (docno[1:] == docno[:-1])
    if not repeats.any():
        return
    first_of = order[np.maximum.accumulate(np.where(repeats, 0, np.arange(len(order))))]
    again = order[repeats]
    firsts = first_of[repeats]
    complaint = ("repeated", f"the topic already contains the {noun}", f"Each {noun} once per topic.")
    for i in np.argsort(rows.number[again])[:FIRST_LINES]:
        row, first = again[i], firsts[i]
        document = f"{rows.docno[row].decode()} of {rows.topics[rows.topic_index[row]]}"
        note = f"{document} is first in line {rows.number[first]}"
        tally.error(*complaint, int(rows.number[row]), note=note)
    rest = len(again) - FIRST_LINES
    if rest > 0:
        tally.error(*complaint, n=rest)


def check_tags(tags: Mapping[bytes, tuple[int, int]], expected: Expected, tally: Tally) -> None:
    """Report tags that the protocol does not accept, and a run with several tags.

    `tags`: for each, the count of its lines and the number of the first.
    """
    for tag, (n, first) in list(tags.items())[:FIRST_LINES]:
        name, rules = tag.decode(), expected.rules
        reason = rules.why_not_tag(name)
        if not reason and expected.is_named:
            reason = rules.why_not_named(name, team=expected.team, kind=expected.kind)
        if reason:
            message, _, accepted = reason.partition("; use ")
            tally.error("tag", f"the tag “{name}” {message}", f"Tags of {accepted}.", first, n=n)
    if len(tags) < 2:
        return
    named = ", ".join(f"“{tag.decode()}” ({plural(n, 'line')})" for tag, (n, _) in list(tags.items())[:5])
    more = f" and {len(tags) - 5} more" if len(tags) > 5 else ""
    message, numbers = f"the file has {len(tags)} tags: {named}{more}", [first for _, first in tags.values()]
    tally.error("several-tags", message, "One tag, the same in all lines.", n=len(tags), numbers=numbers)


TOPIC_DOCUMENT = "topic-document"  # the code of its complaint
SHARE_OF_TOPICS = 0.1  # with their own document, from which a warning says so


def check_topic_documents(rows: RunRows, rule: TopicDocuments, tally: Tally) -> RunRows:
    """Report documents with the id of their topic; the rows, without them if the rule is to ignore them."""
    own, codes = (
        np.zeros(len(rows.docno), dtype=np.bool_),
        np.array([topic.encode() for topic in rows.topics] or [b""]),
    )
    for start in range(0, len(own), PART):
        part = slice(start, start + PART)
        own[part] = rows.docno[part] == codes[rows.topic_index[part]]
    # Numbers of topics are ids of other documents by chance, as in MS MARCO.
    if not own.any() or (rule == "warning" and own.sum() < len(rows.topics) * SHARE_OF_TOPICS):
        return rows
    add = tally.error if rule == "error" else tally.warning
    message = f"the document has the id of its topic{', and is left out' if rule == 'ignore' else ''}"
    report(add, (TOPIC_DOCUMENT, message, "Documents other than the topic itself."), rows.number, own)
    if rule != "ignore":
        return rows
    columns = {
        name: column[~own] for name, column in rows._asdict().items() if isinstance(column, np.ndarray)
    }
    used, index = np.unique(columns["topic_index"], return_inverse=True)
    columns["topic_index"] = index.astype(np.int32)
    return rows._replace(topics=[rows.topics[topic] for topic in used.tolist()], **columns)


def check_units(rows: RunRows, lookup: UnitLookup, unit: str, tally: Tally) -> None:
    distinct, inverse = np.unique(rows.docno, return_inverse=True)
    states = lookup(distinct)[inverse]
    accepted = f"Ids of the collection that are of the kind {unit}."
    absent = ("unknown-document", "the document is not in the collection", accepted)
    report(tally.error, absent, rows.number, states == ABSENT)
    message = f"the document is in the collection, but is not of the kind {unit}"
    report(tally.error, ("wrong-unit", message, accepted), rows.number, states == OTHER_UNIT)
