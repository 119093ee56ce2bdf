"""Generated answers in JSON lines: reads and checks them, and cuts those that are longer than the protocol accepts.

A line is the answer to a topic: sentences, each with what it cites, as the tracks RAG, RAGTIME and DRAGUN of TREC have
them. `forms` has the keys of each. A citation is a place in the list of references, from 0, or the id of a document, or
in RAGTIME an object of ids, each with its confidence; the first citations of a sentence are the most important ones.

Words are separated by white space; the form of RAG 2024 counts them after NFKC. A complaint names the line, and the key
in it.

Source:
    Key names and limits: rag24_validation.py and rag25_validation.py of castorini/ragnarok; track_specs.yml of
    autojudge-base 1.0.0; rag-task.md of TREC-RAG/trec-rag-skills f281e88.
"""

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from assay.answers import Answer, Sentence, normal
from assay.formats.compression import Limits
from assay.formats.reports import Tally
from assay.formats.runs.records import json_object
from assay.formats.runs.rows import MAX_NAME, MAX_TOPIC, byte_strings
from assay.formats.runs.rules import (
    MANNERS,
    MAX_CITED,
    MAX_SENTENCES,
    NO_ROWS,
    AnswerForm,
    Expected,
    RunRows,
)
from assay.formats.runs.text import Lines, complain_of_long_lines, warn_of_lines
from assay.formats.tokens import is_word
from assay.protocols.schema import AnswerRules
from assay.structure import is_number, is_whole

MAX_LINE = 1 << 20  # bytes of a line
PLAIN_TAG = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
SURROGATE = re.compile("[\ud800-\udfff]")


class _Line:
    """The object of one line. Its wrong parts are noted in the tally and left out, and the others are checked."""

    def __init__(self, content: dict[str, Any], number: int, tally: Tally) -> None:
        self.content, self.number, self.tally = content, number, tally
        self.is_usable = True  # as it is, or after a cut

    def at(self, place: str) -> Any:
        """The value at a place such as `metadata.run_id`; None if there is none."""
        value: Any = self.content
        for key in place.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def error(self, code: str, message: str, accepted: str, note: str = "", **more: Any) -> None:
        self.is_usable &= more.get("is_repairable", False)
        self.tally.error(code, message, accepted, self.number, note=note, **more)

    def name(self, place: str, most: int | None = None, *, n_bytes: int = MAX_NAME) -> str | None:
        """The word at a place, such as the code of a topic; None if it is wrong."""
        value = self.at(place)
        value = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        accepted = f"A name without white space, of at most {n_bytes} bytes."
        if not isinstance(value, str) or not is_word(value, n_bytes):
            given = "missing" if value is None else json.dumps(value, ensure_ascii=False)[:60]
            self.error("name", f"{place} is not a name", accepted, f"{place}: {given}")
            return None
        if most is not None and len(value) > most:
            message = f"{place} has more than {most} characters"
            self.error("name-too-long", message, f"At most {most} characters.", f"{value}: {len(value)}")
        return value

    def list_at(self, place: str, accepted: str) -> list[Any] | None:
        value = self.at(place)
        if not isinstance(value, list):
            self.error("list", f"{place} is not a list", accepted)
            return None
        return value


class ReadAnswer(NamedTuple):
    """An answer, with the number of its line and the line as it may be submitted after a cut."""

    answer: Answer
    number: int
    cut: bytes


class AnswerReader:
    """Reads one file of answers. `tags` gives for each id of a run the number of its lines, and the first one."""

    def __init__(self, forms: list[AnswerForm], expected: Expected, limits: Limits, tally: Tally) -> None:
        self.form: AnswerForm | None = None
        self.tags: dict[bytes, tuple[int, int]] = {}
        self.tag = self.kind = ""
        self.answers: dict[str, ReadAnswer] = {}
        self._forms, self._expected, self._limits, self._tally = forms, expected, limits, tally
        self._kinds: dict[str, int] = {}

    def read(self, blocks: Iterator[bytes]) -> bool:
        """Read all lines; False if there are too many. `blocks` may raise `Unreadable`."""
        lines = Lines(blocks, self._limits)
        for first, chunk in lines:
            for number, line in enumerate(chunk.split(b"\n"), first):
                if line.strip():
                    self._take(line, number)
            if lines.n_read > self._expected.max_lines:
                accepted = f"At most {self._expected.max_lines:,} lines."
                self._tally.error(
                    "too-many-lines", f"The file has more than {lines.n_read:,} lines.", accepted
                )
                return False
        complain_of_long_lines(lines.notes.too_long, self._limits, self._tally)
        warn_of_lines(lines.notes, self._tally)
        if not self.answers and not self._tally.has_errors:
            self._tally.error("empty", "The file has no answer.", "At least one line.")
        # The kind that the file states counts, if the protocol knows it.
        if len(self._kinds) > 1:
            message, numbers = "the file has automatic and manual answers", list(self._kinds.values())
            self._tally.error("several-kinds", message, "One kind of run in one file.", n=2, numbers=numbers)
        manner = next(iter(self._kinds), "")
        self.kind = manner if manner in self._expected.rules.keys else ""
        declared = self._expected.kind
        if self.kind and declared in MANNERS and declared != self.kind:
            message = f"the file is of {self.kind} answers, but the run is submitted as {declared}"
            self._tally.error("kind", message, "The kind that the file states.", self._kinds[manner])
        return True

    def _take(self, line: bytes, number: int) -> None:
        content = json_object(line, number, self._tally)
        if content is None:
            return
        of_line = _Line(content, number, self._tally)
        if self.form is None:
            self.form = max(
                self._forms, key=lambda form: sum(of_line.at(place) is not None for place in form.places)
            )
        form, rules = self.form, self._expected.rules.answers
        topic, tag = of_line.name(form.topic, n_bytes=MAX_TOPIC), of_line.name(form.tag, rules.max_run_id)
        if tag is not None and form.has_plain_tags and not PLAIN_TAG.fullmatch(tag):
            message = f"{form.tag} may be refused where the run is uploaded"
            accepted = "Letters, digits, - _ and . without a period first."
            self._tally.warning("tag", message, accepted, number, note=tag)
        self._note_manner(of_line, form)
        self._check_texts(of_line, form, topic)
        references = _references(of_line, form, rules)
        answer = Answer(topic or "", tuple(_sentences(of_line, form, references)))
        is_long = _check_length(answer, of_line, form, rules, self._expected.characters)
        if tag is not None:
            n, first = self.tags.get(tag.encode(), (0, number))
            self.tags[tag.encode()] = (n + 1, first)
        if topic in self.answers:
            note = f"{topic} is first in line {self.answers[topic].number}"
            of_line.error("repeated", "the topic already has an answer", "One answer per topic.", note)
        elif topic is not None and answer.sentences:
            must_cut = is_long or len(references or ()) > len(_kept(references or (), rules))
            cut = line.strip() + b"\n"
            if must_cut and of_line.is_usable:
                cut = _cut(of_line, answer, form, rules, self._expected.characters)
            self.answers[topic] = ReadAnswer(answer, number, cut)

    def _note_manner(self, line: _Line, form: AnswerForm) -> None:
        """Note whether a line says that the run is automatic or manual, and which team made it."""
        if form.kind:
            manner = line.at(form.kind)
            if manner not in MANNERS:
                note = json.dumps(manner, ensure_ascii=False)[:60]
                accepted = f"{' or '.join(MANNERS)}."
                line.error("kind", f"{form.kind} is not a kind of run", accepted, note)
            else:
                self._kinds.setdefault(manner, line.number)
        if form.team and (team := line.name(form.team)) and self._expected.team not in ("", team):
            message = f"{form.team} is not the team that submits"
            self._tally.warning("team", message, f"{self._expected.team}.", line.number, note=team)

    def _check_texts(self, line: _Line, form: AnswerForm, topic: str | None) -> None:
        for place in form.needed:
            if line.at(place) in (None, ""):
                line.error("value", f"{place} has no value", "A value.", f"{place}: missing")
        for place in form.texts:
            text = line.at(place)
            if not isinstance(text, str) or not text.strip():
                given = "missing" if text is None else json.dumps(text, ensure_ascii=False)[:60]
                line.error("text", f"{place} has no text", "A text.", f"{place}: {given}")
            elif place == form.narrative and text.split() != self._narrative(topic, text).split():
                message, accepted = f"{place} is not the text of the topic", "A copy of it, unchanged."
                line.error("narrative", message, accepted, f"{topic}: {text[:60]}")

    def _narrative(self, topic: str | None, text: str) -> str:
        """The text of a topic; where it is not known, the text that the file has."""
        return self._expected.narratives.get(topic or "") or text

    def rows(self) -> RunRows:
        """All rows of the run."""
        if not self.answers:
            return NO_ROWS
        triples = [
            (topic, docno.encode(), sentence, numbered.number)
            for topic, numbered in enumerate(self.answers.values())
            for docno, sentence in numbered.answer.rows()
        ]
        topic_index, docno, rank, number = zip(*triples, strict=True)
        return RunRows(
            list(self.answers),
            np.array(topic_index, dtype=np.int32),
            byte_strings(docno),
            np.array(rank, dtype=np.int32),
            np.zeros(len(docno), dtype=np.float64),  # rows keep the order of the file
            np.array(number, dtype=np.int64),
        )

    def cited_rows(self) -> RunRows:
        """The cited documents, as rows that can be looked up in a collection."""
        pairs = [
            (docno, numbered.number) for numbered in self.answers.values() for docno in numbered.answer.cited
        ]
        return NO_ROWS._replace(
            docno=byte_strings([docno.encode() for docno, _ in pairs]),
            number=np.array([number for _, number in pairs], dtype=np.int64),
        )

    def cut(self) -> bytes:
        """The file with answers that are cut to the limits."""
        return b"".join(numbered.cut for numbered in self.answers.values())


def _references(line: _Line, form: AnswerForm, rules: AnswerRules) -> list[str] | None:
    """The references, with an empty text for each wrong one; None if they are not a list."""
    if not form.has_references:
        return []
    given = line.list_at("references", "A list of ids of documents.")
    if given is None:
        return None
    places = [f"references[{place}]" for place in range(len(given))]
    read = [
        docno if _is_docno(docno, place, line) else "" for place, docno in zip(places, given, strict=True)
    ]
    references = [docno for docno in read if docno]
    n, most = len(references), rules.max_references
    if len(set(references)) < n:
        ((again, _),) = Counter(references).most_common(1)
        message = "references has a document twice"
        if form.is_lenient:
            line.tally.warning("repeated-reference", message, "Each document once.", line.number, note=again)
        else:
            line.error("repeated-reference", message, "Each document once.", again, is_repairable=True)
    if most is not None and n > most:
        message = f"references has more than {most} documents"
        line.error("too-many-references", message, f"At most {most}.", f"{n}", is_repairable=True)
    return read


def _is_docno(docno: object, place: str, line: _Line) -> bool:
    """Return whether a value is the id of a document; if not, the tally has an error."""
    is_docno = isinstance(docno, str) and is_word(docno, MAX_CITED)
    if not is_docno:
        accepted = f"A text without white space, of at most {MAX_CITED} bytes."
        note = f"{place}: {json.dumps(docno, ensure_ascii=False)[:60]}"
        line.error("docno", "an id of a document is not accepted", accepted, note)
    return is_docno


def _sentences(line: _Line, form: AnswerForm, references: Sequence[str] | None) -> list[Sentence]:
    key = form.sentences
    given = line.list_at(key, "A list of sentences: [{text, citations}].")
    if given is None:
        return []
    if not given and form.is_lenient:
        line.tally.warning("sentences", f"{key} has no sentences", "At least one sentence.", line.number)
        return []
    if not 0 < len(given) <= MAX_SENTENCES:
        line.error("sentences", f"{key} has {len(given):,} sentences", f"1 to {MAX_SENTENCES:,} sentences.")
        return []
    sentences, known = [], None if references is None else frozenset(references)
    for place, sentence in enumerate(given):
        text = sentence.get("text") if isinstance(sentence, dict) else None
        if not isinstance(text, str) or not normal(text) or SURROGATE.search(text):
            note = f"{key}[{place}].text"
            line.error("sentence", "a sentence has no text", "{text, citations}, with a text.", note)
            continue
        citations = _Citations(line, form, references, known, f"{key}[{place}].citations")
        sentences.append(Sentence(text, tuple(citations.documents(sentence.get("citations")))))
    return sentences


class _Citations(NamedTuple):
    """Reads the citations at one place. Without a list of references, none is compared with it."""

    line: _Line
    form: AnswerForm
    references: Sequence[str] | None
    known: frozenset[str] | None
    place: str

    def documents(self, given: object) -> list[str]:
        """The documents, the most important first, each once."""
        if isinstance(given, dict) and self.form.has_scores:
            for docno, confidence in given.items():
                if not is_number(confidence):
                    note = f"{self.place}.{docno}: {json.dumps(confidence, ensure_ascii=False)[:60]}"
                    self.line.error("citations", "a confidence is not a number", "A number.", note)
            numbers = {docno: confidence for docno, confidence in given.items() if is_number(confidence)}
            given = sorted(numbers, key=lambda docno: -numbers[docno])  # equal ones in the order of the file
        if not isinstance(given, list):
            self.line.error("citations", "citations are not a list", self._accepted(), self.place)
            return []
        docnos = [docno for n, citation in enumerate(given) if (docno := self._docno(citation, n))]
        if len(set(docnos)) < len(docnos):
            message, accepted = (
                "a sentence cites a document twice",
                "Each document once; the first one counts.",
            )
            self.line.tally.warning("repeated-citation", message, accepted, self.line.number, note=self.place)
        if self.form.judged is not None and len(given) > self.form.judged:
            message, most = f"a sentence has more than {self.form.judged} citations", self.form.judged
            note, accepted = f"{self.place}: {len(given)}", f"{most} citations; the first {most} are judged."
            self.line.tally.warning("many-citations", message, accepted, self.line.number, note=note)
        return list(dict.fromkeys(docnos))

    def _docno(self, citation: object, n: int) -> str:
        """The document; empty if the citation, or the reference that it names, is wrong."""
        place, references = f"{self.place}[{n}]", self.references
        if is_whole(citation) and self.form.has_indexes:
            if references is None:
                return ""
            if 0 <= citation < len(references):
                return references[citation]
            note = f"{place}: {str(citation)[:40]}; references has {len(references)}"
            self.line.error("citation", "a citation is not in the list of references", self._accepted(), note)
            return ""
        if not isinstance(citation, str) or not self.form.has_ids:
            note = f"{place}: {json.dumps(citation, ensure_ascii=False)[:60]}"
            self.line.error("citation", "a citation is not accepted", self._accepted(), note)
            return ""
        if not _is_docno(citation, place, self.line):
            return ""
        if self.form.has_references and self.known is not None and citation not in self.known:
            note = f"{place}: {citation[:60]}"
            self.line.error("citation", "a citation is not in the list of references", self._accepted(), note)
            return ""
        return citation

    def _accepted(self) -> str:
        if not self.form.has_references:
            scores = ", or an object of ids with their confidence" if self.form.has_scores else ""
            return f"A list of ids of documents{scores}."
        ids = " or ids" if self.form.has_ids else ""
        return f"A list of places{ids} in references; places count from 0."


def _most_characters(topic: str, rules: AnswerRules, of_topics: Mapping[str, int]) -> int | None:
    return of_topics.get(topic, rules.max_characters)


def _words(text: str, form: AnswerForm) -> int:
    return len((normal(text) if form.counts_nfkc else text).split())


def _check_length(
    answer: Answer, line: _Line, form: AnswerForm, rules: AnswerRules, of_topics: Mapping[str, int]
) -> bool:
    """Report an answer that is too long. Return whether it is."""
    add = line.tally.error if rules.too_long == "error" else line.tally.warning
    limits: tuple[tuple[str, int, int | None], ...] = (
        ("words", sum(_words(sentence.text, form) for sentence in answer.sentences), rules.max_words),
        ("characters", len(answer.text), _most_characters(answer.topic, rules, of_topics)),
    )
    is_long = False
    for noun, n, most in limits:
        if most is not None and n > most:
            accepted = f"At most {most:,} {noun}; a cut leaves out sentences from the end."
            note = f"{answer.topic}: {n:,} {noun}"
            add(f"too-many-{noun}", f"the answer has too many {noun}", accepted, line.number, note=note,
                is_repairable=len(answer.sentences) > 1)  # fmt: skip
            is_long = True
    return is_long


def _kept(references: Sequence[str], rules: AnswerRules) -> list[str]:
    return list(dict.fromkeys(references))[: rules.max_references]


def _cut(
    line: _Line, answer: Answer, form: AnswerForm, rules: AnswerRules, of_topics: Mapping[str, int]
) -> bytes:
    """The line with whole sentences left out from the end, and without references beyond the limit."""
    texts = [sentence.text for sentence in answer.sentences]
    n_words = list(accumulate(_words(text, form) for text in texts))
    n_characters = [n - 1 for n in accumulate(len(normal(text)) + 1 for text in texts)]
    limits = ((n_words, rules.max_words), (n_characters, _most_characters(answer.topic, rules, of_topics)))
    n = max(1, min(len(texts) if most is None else bisect_right(numbers, most) for numbers, most in limits))
    content, key = dict(line.content), form.sentences
    content[key] = content[key][:n]
    if form.has_references:
        content["references"] = kept = _kept(content["references"], rules)
        place = {docno: docno if form.has_ids else number for number, docno in enumerate(kept)}
        content[key] = [
            {**given, "citations": [place[docno] for docno in sentence.citations if docno in place]}
            for given, sentence in zip(content[key], answer.sentences, strict=False)
        ]
    if "response_length" in content:
        content["response_length"] = n_words[n - 1]
    return json.dumps(content, ensure_ascii=False).encode() + b"\n"


def cited_run(answers: Mapping[str, Answer], tag: str) -> bytes:
    """The cited documents as a run in TREC's six columns, in the order of their first citations.

    It can be pooled with other runs, so that the cited documents are judged for relevance.
    """
    return b"".join(
        f"{topic} Q0 {docno} {rank} {-rank} {tag}\n".encode()
        for topic, answer in sorted(answers.items())
        for rank, docno in enumerate(answer.cited, 1)
    )
