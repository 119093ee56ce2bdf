"""Files of nuggets, in JSON or JSON lines with one object per topic. What an object has decides its form::

    nuggetizer   query, qid, nuggets: [{text, importance}]
    nugget-bank  query_id, title_query, nugget_bank: {question: {question, answers, aggregator_type, …}}, claim_bank
    ragtime      metadata: {topic_id}, nugget_bank: [{question, aggregator_type, answers: [{answer, references}]}]

The first is that of nuggetizer, the others are those of AutoJudge and of RAGTIME 2026. An importance `failed`, or none,
is one that is not decided. In a nugget bank it can be a number, which says neither vital nor okay: it is not decided,
and is kept. Nuggets that are not questions are claims of a nugget bank. Keys that are not known are kept.

Source:
    castorini/nuggetizer, core/types.py; autojudge-base 1.0.0, nugget_data (versions v3, v4 and RAGTIME26).
"""

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from assay.answers import normal
from assay.errors import InputError
from assay.formats.runs.rows import MAX_TOPIC
from assay.formats.runs.rules import MAX_CITED
from assay.formats.text import decoded, lines_of
from assay.formats.tokens import is_word
from assay.nuggets.formats import FORMS
from assay.nuggets.lists import GoldAnswer, Importance, Nugget, NuggetList
from assay.structure import is_whole

MAX_NUGGETS = 10_000  # of a topic
AUTOMATIC = "program"  # the creator of nuggets whose program has no name


class Record(NamedTuple):
    """An object of a file, with the number of its line."""

    content: dict[str, Any]
    line: int
    name: str

    def wrong(self, key: str, accepted: str) -> InputError:
        return InputError(f"{self.name}: line {self.line}: {key}: expected {accepted}")

    def topic(self, value: object, key: str) -> str:
        value = str(value) if is_whole(value) else value
        if not isinstance(value, str) or not is_word(value, MAX_TOPIC):
            raise self.wrong(key, "the code of a topic")
        return value

    def text(self, value: object, key: str, *, is_required: bool = True) -> str:
        if value is None and not is_required:
            return ""
        try:
            is_text = (
                isinstance(value, str)
                and (bool(normal(value)) or not is_required)
                and value.encode() is not None
            )
        except UnicodeEncodeError:
            is_text = False
        if not is_text:
            raise self.wrong(key, "a text")
        return str(value)

    def items(self, value: object, key: str) -> list[tuple[str, dict[str, Any]]]:
        """The objects of a list, or of a table by their names, each with its place; none for null."""
        if isinstance(value, dict):
            pairs = [(f"{key}.{name[:40]}", item) for name, item in value.items()]
        elif isinstance(value, list):
            pairs = [(f"{key}[{n}]", item) for n, item in enumerate(value)]
        elif value is None:
            return []
        else:
            raise self.wrong(key, "a list of objects")
        if len(pairs) > MAX_NUGGETS:
            raise self.wrong(key, f"at most {MAX_NUGGETS:,} items")
        for place, item in pairs:
            if not isinstance(item, dict):
                raise self.wrong(place, "an object")
        return pairs

    def docnos(self, value: object, key: str) -> tuple[str, ...]:
        """The ids of documents: words, or objects with `doc_id`."""
        given = [] if value is None else value
        if not isinstance(given, list):
            raise self.wrong(key, "a list of ids of documents")
        docnos: dict[str, None] = {}
        for n, item in enumerate(given):
            docno = item.get("doc_id") if isinstance(item, dict) else item
            if not isinstance(docno, str) or not is_word(docno, MAX_CITED):
                raise self.wrong(f"{key}[{n}]", "the id of a document")
            docnos[docno] = None
        return tuple(docnos)

    def importance(self, value: Any, key: str, *, may_be_number: bool = False) -> Importance:
        if value in (None, "", "failed") or (may_be_number and _is_number(value)):
            return ""
        if value not in ("vital", "okay"):
            raise self.wrong(key, "vital, okay or failed")
        return cast(Importance, value)


# The keys that are read, and not kept as they are
OF_LIST = {"qid", "query", "nuggets", "version"}
OF_BANK = {"query_id", "title_query", "format_version", "nugget_bank", "claim_bank", "metadata"}
OF_NUGGET = {"text", "importance", "sources", "creator", "merged"}
OF_BANK_NUGGET = {
    *("question", "claim", "query_id", "importance", "references", "creator", "answers", "aggregator_type"),
    "sub_nuggets",
}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _others(content: Mapping[str, object], known: Collection[str]) -> dict[str, Any]:
    """The keys of an object that are not read, and an importance that is a number."""
    number = {"importance": content["importance"]} if _is_number(content.get("importance")) else {}
    return {key: value for key, value in content.items() if key not in known} | number


def records(data: bytes, name: str) -> Iterator[Record]:
    """The objects of a file of JSON lines, or of one JSON value.

    Raises:
        InputError: A line is not a JSON object, or not text.
    """
    text = decoded(data, name).text
    lines = [(number, line) for number, line in enumerate(lines_of(text), 1) if line.strip()]
    if lines and lines[0][1].strip() in ("{", "["):  # written with indents
        lines = [(lines[0][0], text)]
    if not lines:
        raise InputError(f"{name}: the file is empty")
    for number, line in lines:
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = (
                f"column {error.colno}: {error.msg}"
                if isinstance(error, json.JSONDecodeError)
                else "nested too deeply"
            )
            raise InputError(f"{name}: line {number}: not JSON ({reason})") from None
        for item in content if isinstance(content, list) else [content]:
            if not isinstance(item, dict):
                raise InputError(f"{name}: line {number}: expected a JSON object")
            yield Record(item, number, name)


def read_nuggets(data: bytes, name: str) -> list[NuggetList]:
    """The lists of nuggets of a file.

    Raises:
        InputError: A line is in none of the forms, has a wrong value, or its topic has a list already.
    """
    lists: dict[str, NuggetList] = {}
    for record in records(data, name):
        content = record.content
        metadata = content.get("metadata")
        topic = metadata.get("topic_id") if isinstance(metadata, dict) else None
        if "qid" in content and "nuggets" in content:
            nuggets = _nuggetizer_list(record)
        elif "nugget_bank" in content and (topic is not None or "query_id" in content):
            nuggets = _bank_list(record, content["query_id"] if topic is None else topic)
        elif form := next((form for form in FORMS.values() if form.key and form.key in content), None):
            nuggets = FORMS.function(form.name, form.reads)(record)
        else:
            others = "".join(f", or qid and {form.key}" for form in FORMS.values() if form.key)
            raise record.wrong(
                "object",
                f"qid and nuggets, query_id and nugget_bank, or metadata.topic_id and nugget_bank{others}",
            )
        if nuggets.topic in lists:
            raise record.wrong(nuggets.topic, "each topic once")
        lists[nuggets.topic] = nuggets
    return list(lists.values())


def _nuggetizer_list(record: Record) -> NuggetList:
    content = record.content
    nuggets = [
        Nugget(
            record.text(item.get("text"), f"{place}.text"),
            record.importance(item.get("importance"), f"{place}.importance"),
            record.docnos(item.get("sources"), f"{place}.sources"),
            record.text(item.get("creator"), f"{place}.creator", is_required=False),
            merged=record.docnos(item.get("merged"), f"{place}.merged"),
            more=_others(item, OF_NUGGET),
        )
        for place, item in record.items(content["nuggets"], "nuggets")
    ]
    version = content.get("version", 1)
    if not is_whole(version) or version < 1:
        raise record.wrong("version", "a whole number from 1")
    title = record.text(content.get("query"), "query", is_required=False)
    more = _others(content, OF_LIST)
    return NuggetList(record.topic(content["qid"], "qid"), title, tuple(nuggets), version, more)


def _bank_list(record: Record, topic: object) -> NuggetList:
    content = record.content
    nuggets = [
        _bank_nugget(record, place, item, key)
        for bank, key in (("nugget_bank", "question"), ("claim_bank", "claim"))
        for place, item in record.items(content.get(bank), bank)
    ]
    title = record.text(content.get("title_query"), "title_query", is_required=False)
    return NuggetList(record.topic(topic, "topic"), title, tuple(nuggets), more=_others(content, OF_BANK))


def _bank_nugget(record: Record, place: str, item: Mapping[str, object], key: str) -> Nugget:
    answers = [
        GoldAnswer(
            record.text(answer.get("answer"), f"{of_answer}.answer"),
            record.docnos(answer.get("references"), f"{of_answer}.references"),
        )
        for of_answer, answer in record.items(item.get("answers"), f"{place}.answers")
    ]
    if item.get("sub_nuggets"):
        raise record.wrong(f"{place}.sub_nuggets", "none: nuggets below nuggets are not supported")
    joined = item.get("aggregator_type")
    if joined not in (None, "Default", "AND", "OR"):
        raise record.wrong(f"{place}.aggregator_type", "AND or OR")
    return Nugget(
        record.text(item.get(key), f"{place}.{key}"),
        record.importance(item.get("importance"), f"{place}.importance", may_be_number=True),
        record.docnos(item.get("references"), f"{place}.references"),
        _creator(record, item.get("creator"), f"{place}.creator"),
        tuple(answers),
        "AND" if joined == "AND" else "OR",
        more=_others(item, OF_BANK_NUGGET),
    )


def _creator(record: Record, value: object, key: str) -> str:
    for _, item in record.items(value, key)[:1]:
        name = item.get("assessor_id") if item.get("is_human") else item.get("llm_model")
        return record.text(name, key, is_required=False) or ("" if item.get("is_human") else AUTOMATIC)
    return ""


def write_nuggets(lists: Iterable[NuggetList], form: str) -> bytes:
    """The lists as JSON lines in one of `FORMS`."""
    writer = FORMS.function(form, FORMS[form].writes)
    lines = (json.dumps(writer(nuggets), ensure_ascii=False) for nuggets in lists)
    return "".join(f"{line}\n" for line in lines).encode()


def _as_nuggetizer(nuggets: NuggetList) -> dict[str, Any]:
    items = []
    for nugget in nuggets.nuggets:
        item: dict[str, Any] = {"text": nugget.shown, "importance": nugget.importance or "failed"}
        others = {"sources": list(nugget.sources), "creator": nugget.creator, "merged": list(nugget.merged)}
        items.append({**nugget.more, **item} | {key: value for key, value in others.items() if value})
    own = {"query": nuggets.title, "qid": nuggets.topic, "version": nuggets.version, "nuggets": items}
    return {**nuggets.more, **own}


def _as_bank(nuggets: NuggetList) -> dict[str, Any]:
    questions: dict[str, Any] = {}
    claims: dict[str, Any] = {}
    for nugget in nuggets.nuggets:
        item: dict[str, Any] = {
            **nugget.more,
            "query_id": nuggets.topic,
            "references": [{"doc_id": docno} for docno in nugget.sources],
        }
        if nugget.importance:
            item["importance"] = nugget.importance
        if nugget.creator:
            item["creator"] = [{"is_human": True, "assessor_id": nugget.creator}]
        if nugget.answers:
            answers = {
                answer.text: {
                    "answer": answer.text,
                    "references": [{"doc_id": docno} for docno in answer.sources],
                }
                for answer in nugget.answers
            }
            question = {"question": nugget.text, "answers": answers, "aggregator_type": nugget.joined}
            questions[nugget.text] = question | item
        else:
            claims[nugget.text] = {"claim": nugget.text} | item
    return {
        **nuggets.more,
        "query_id": nuggets.topic,
        "title_query": nuggets.title,
        "format_version": "v3",
        "nugget_bank": questions,
        "claim_bank": claims,
    }


def _as_ragtime(nuggets: NuggetList) -> dict[str, Any]:
    questions = []
    for nugget in nuggets.nuggets:
        answers = [{"answer": answer.text, "references": list(answer.sources)} for answer in nugget.answers]
        question = {
            **nugget.more, "question": nugget.text, "aggregator_type": nugget.joined, "answers": answers,
        }  # fmt: skip
        questions.append(question | ({"importance": nugget.importance} if nugget.importance else {}))
    own = {"format_version": "RAGTIME26", "metadata": {"topic_id": nuggets.topic}, "nugget_bank": questions}
    return {**nuggets.more, **own}


def keys_by_topic(lists: Sequence[NuggetList]) -> dict[str, list[str]]:
    """The keys of the nuggets of each topic, in the order of its list, as pools need them."""
    return {nuggets.topic: nuggets.keys for nuggets in lists}
