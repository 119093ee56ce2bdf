"""Describes the runs that a protocol accepts, and writes a small one, for participants to try their submission with."""

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from lxml import etree

from assay.formats.compression import Limits
from assay.formats.runs.rules import NOUNS, AnswerForm, LineForm, RunForm, forms_of, scored_lines, unit_of
from assay.protocols.description import limits_of, limits_of_answers, rule_of_topic_documents, rules_of_lines
from assay.protocols.schema import Protocol, RunRules

EXAMPLES = {
    "arqmath-5": "A.1\t2817\t1\t0.9531\tOwls-main",
    "arqmath-6": "B.1\t905131\t2817\t1\t0.9531\tOwls-main",
    "trec-6": "T1\tQ0\tdoc-17\t1\t0.9531\tOwls-main",
    "ntcir-xml": """<results>
 <run runtag="Owls-main">
  <result for="M-1">
   <hit xref="Group_(mathematics):3" rank="1" score="0.9531"/>
  </result>
 </run>
</results>""",
    "bolt-xml": """<bolt-ir-submission team="Owls"
  date="2026-11-20" eval="P3" subtask="citations"
  run="evaluation" contact="owls@example.org">
 <response number="T1">
  <cite score="0.9531" thread="harbor-17"
    post="p4" offset="120" length="38">
   The owls of the harbor sing at night.
  </cite>
 </response>
</bolt-ir-submission>""",
    "rag-2024": (
        '{"run_id": "Owls-main", "topic_id": "T1", "topic": "Why do owls sing?", "references": ["doc-17", "doc-4"], '
        '"response_length": 4, "answer": [{"text": "Owls sing at night.", "citations": [1, 0]}]}'
    ),
    "rag-2025": (
        '{"metadata": {"team_id": "Owls", "run_id": "Owls-main", "type": "automatic", "narrative_id": "T1", '
        '"narrative": "Why do owls sing?"}, "references": ["doc-17", "doc-4"], '
        '"answer": [{"text": "Owls sing at night.", "citations": [1, 0]}]}'
    ),
    "rag-2026": (
        '{"metadata": {"team_id": "Owls", "run_id": "Owls-main", "run_desc": "Two models.", '
        '"narrative_id": "T1", "narrative": "Why do owls sing?"}, "references": ["doc-17", "doc-4"], '
        '"answer": [{"text": "Owls sing at night.", "citations": ["doc-4", "doc-17"]}]}'
    ),
    "ragtime": (
        '{"metadata": {"team_id": "Owls", "run_id": "Owls-main", "topic_id": "T1"}, '
        '"responses": [{"text": "Owls sing at night.", "citations": {"doc-4": 0.9, "doc-17": 0.5}}]}'
    ),
    "dragun": (
        '{"metadata": {"team_id": "Owls", "run_id": "Owls-main", "topic_id": "T1", "type": "automatic", '
        '"use_starter_kit": false}, "responses": [{"text": "Owls sing at night.", "citations": ["doc-4"]}]}'
    ),
}


class FormHelp(NamedTuple):
    """A form of run: its columns or elements, and a short example."""

    title: str
    example: str
    separated_by: str  # what separates the columns of lines; empty for XML


def accepted_forms(protocol: Protocol) -> list[FormHelp]:
    """The forms that the protocol accepts, each with an example; that of described columns is a line of theirs."""
    helps = []
    for form in forms_of(protocol):
        if isinstance(form, LineForm) and form.name == "columns":
            row = form.line(b"T1", b"doc-17", 1, 0.9531, b"Owls-main", b"post-3")
            line = (form.head + row).decode().rstrip()
        else:
            line = EXAMPLES[form.name]
        helps.append(FormHelp(form.title, line, form.separated_by if isinstance(form, LineForm) else ""))
    return helps


def _order(forms: list[RunForm], noun: str) -> str:
    """Return which column orders the documents, and how equal scores are ordered; empty for one document per topic."""
    if all(isinstance(form, LineForm) and form.score is None and form.rank is None for form in forms):
        return ""
    if any(isinstance(form, AnswerForm) for form in forms):
        return "Each answer is one line of JSON. The first citation of a sentence is the most important one."
    by_rank = [isinstance(form, LineForm) and form.score is None for form in forms]
    order = "The score decides the order."
    if any(by_rank):
        rest = "The score decides the order; the rank in files without scores."
        order = "The rank decides the order." if all(by_rank) else rest
    ties = {form.ties for form in forms}
    if "file" in ties:
        return f"{order} Ties keep the order of the file."
    if "rank" in ties:
        return f"{order} Ties are ordered by the rank column."
    return f"{order} Ties are ordered by {noun} id, descending, as in trec_eval."


_UPLOAD = Limits()
SIZE = (
    f"A file has at most {_UPLOAD.max_file / (1 << 20):.0f} MB, "
    f"{_UPLOAD.max_text / (1 << 20):.0f} MB decompressed, and {_UPLOAD.max_lines:,} lines."
)


def rules_of(protocol: Protocol) -> list[str]:
    """The other rules for a run, one sentence each."""
    rules, forms = protocol.runs, forms_of(protocol)
    noun, plural = NOUNS.get(unit_of(protocol), ("document", "documents"))
    amount = f"at most {rules.max_ranks} {plural} per topic, each of them once"
    sentences = [f"Give {amount if rules.max_ranks > 1 else f'one {noun} per topic'}.", _order(forms, noun)]
    if scored_lines(forms) is not None:
        sentences.append(
            "JSON lines with the fields qid, docno, score and run are accepted too, also as Parquet."
        )
    if isinstance(forms[0], LineForm) and (way := forms[0].made_of_json):
        sentences.append(f"JSON lines are not accepted: {way}.")
    if rules.columns is not None and rules.columns.labels:
        words = [
            f"{word} ({'' if means else 'not '}relevant)" for word, means in rules.columns.labels.items()
        ]
        sentences.append(f"Labels are {' or '.join(words)}; they do not change the order.")
    if rules.out_of_range_ranks == "error":
        sentences.append(f"Ranks are 1 to {rules.max_ranks}.")
    sentences += [*rules_of_lines(rules), *rule_of_topic_documents(rules)]
    if rules.min_score is not None and rules.max_score is not None:
        sentences.append(f"Scores are between {rules.min_score:g} and {rules.max_score:g}.")
    if rules.max_passage_characters is not None:
        sentences.append(f"A passage has at most {rules.max_passage_characters} characters.")
    if rules.forbidden_fields:
        sentences.append(f"Leave out the fields {', '.join(rules.forbidden_fields)}: assessors fill them in.")
    for name, values in rules.attributes.items():
        sentences.append(f"The attribute {name} of a file is {' or '.join(values)}.")
    if rules.max_seconds_per_topic is not None:
        most = f"{rules.max_seconds_per_topic / 60:g} minutes"
        sentences.append(
            f"A topic takes at most {most}. Submit a second file with the seconds of each topic."
        )
    sentences += limits_of_answers(rules.answers)
    sentences += _of_answers(forms)
    sentences.append(SIZE)
    sentences += [f"{kind.name.capitalize()} runs are not scored." for kind in rules.kinds if not kind.scored]
    sentences += limits_of(rules.kinds)
    return [sentence for sentence in sentences if sentence]


def _of_answers(forms: Sequence[RunForm]) -> Iterator[str]:
    """Yield what the check says of generated answers besides their limits, if the protocol has one form of them."""
    form = forms[0]
    if not isinstance(form, AnswerForm) or len(forms) > 1:
        return
    if form.has_references:
        ways = [("a place in references, from 0", form.has_indexes), ("an id that is there", form.has_ids)]
        yield f"A citation is {', or '.join(way for way, is_accepted in ways if is_accepted)}."
    if form.is_lenient:
        yield "An answer without sentences gets a warning and is left out."
    if form.judged is not None:
        yield (
            f"A sentence with more than {form.judged} citations gets a warning; the first {form.judged} are judged."
        )
    if form.narrative:
        yield f"{form.narrative} is the text of the topic, unchanged except for white space."
    if form.has_plain_tags:
        yield (
            "An id of a run with other signs than letters, digits, -, _ and ., or with a period first, gets a warning."
        )


TAG = "sample-run"
N_UNITS = 3  # per topic
ENDINGS = {b"\t": "tsv", b",": "csv", b";": "csv"}
PASSAGE = "Replace this text by the passage."
SENTENCE = "Replace this text by a sentence of the answer."
TEXT = "Replace this text."


class Unit(NamedTuple):
    """A unit that a line ranks: its docno; for a formula the docno of its post."""

    docno: str
    post: str = ""


def placeholders(protocol: Protocol) -> list[Unit]:
    """Units for a track whose collection is not loaded, so that docnos are not looked up."""
    if protocol.cites_posts:
        return [Unit(f"thread-{n}:p1:0:{len(PASSAGE)}") for n in range(1, N_UNITS + 1)]
    return [Unit(f"doc-{n}", f"post-{n}") for n in range(1, N_UNITS + 1)]


def sample_run(
    protocol: Protocol,
    topics: Sequence[str],
    units: Sequence[Unit],
    narratives: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, bytes]:
    """The extension and the content of a run in the protocol's first format that ranks some units for each topic.

    `units` are at most as many as the protocol has ranks.
    """
    form = forms_of(protocol)[0]
    units = units if protocol.is_of_answers else units[: protocol.runs.max_ranks]
    low, high = protocol.runs.min_score, protocol.runs.max_score
    low = 0.0 if low is None else low
    high = low + 1.0 if high is None else high
    tag = protocol.runs.example_tag() or TAG
    scores = [high - (high - low) * place / (len(units) + 1) for place in range(len(units))]
    if isinstance(form, LineForm):
        return ENDINGS[form.separator], form.head + b"".join(
            form.line(topic.encode(), unit.docno.encode(), rank, score, tag.encode(), unit.post.encode())
            for topic in topics
            for rank, (unit, score) in enumerate(zip(units, scores, strict=True), 1)
        )
    if isinstance(form, AnswerForm):
        return "jsonl", b"".join(
            _answer(form, protocol, tag, topic, units, narratives.get(topic, TEXT)) for topic in topics
        )
    is_bolt, rules = form.name == "bolt-xml", protocol.runs
    root = _bolt(rules, topics, units, scores) if is_bolt else _ntcir(tag, topics, units, scores)
    return "xml", etree.tostring(root, encoding="UTF-8", xml_declaration=True, pretty_print=True)


def _answer(
    form: AnswerForm, protocol: Protocol, tag: str, topic: str, units: Sequence[Unit], narrative: str
) -> bytes:
    """A line of generated answers that cites some documents."""
    docnos = [unit.docno for unit in units]
    manner = next((kind for kind in protocol.runs.keys if kind == "manual"), "automatic")
    content: dict[str, Any] = {}
    values: dict[str, Any] = {form.tag: tag, form.topic: topic, form.team: "Sample", form.kind: manner}
    values |= dict.fromkeys(form.texts, TEXT) | {form.narrative: narrative}
    values |= dict.fromkeys(form.needed, False)
    for place, value in values.items():
        if place:
            outer, _, key = place.rpartition(".")
            (content.setdefault(outer, {}) if outer else content)[key] = value
    if form.has_references:
        content["references"] = docnos
    citations = list(range(len(docnos))) if form.has_indexes else docnos
    content[form.sentences] = [{"text": SENTENCE, "citations": citations}]
    return json.dumps(content, ensure_ascii=False).encode() + b"\n"


def _ntcir(
    tag: str, topics: Sequence[str], units: Sequence[Unit], scores: Sequence[float]
) -> "etree._Element":
    root = etree.Element("results")
    run = etree.SubElement(root, "run", runtag=tag)
    for topic in topics:
        result = etree.SubElement(run, "result", {"for": topic})
        for rank, (unit, score) in enumerate(zip(units, scores, strict=True), 1):
            etree.SubElement(result, "hit", xref=unit.docno, rank=str(rank), score=repr(score))
    return root


def _bolt(
    rules: RunRules, topics: Sequence[str], units: Sequence[Unit], scores: Sequence[float]
) -> "etree._Element":
    described = {"team": "Sample", "date": "2026-01-01", "eval": "P3", "subtask": "citations"}
    described |= {name: values[0] for name, values in rules.attributes.items()}
    contact = "you@example.org"
    root = etree.Element("bolt-ir-submission", described | {"run": rules.keys[0], "contact": contact})
    for topic in topics:
        response = etree.SubElement(root, "response", number=topic)
        for unit, score in zip(units, scores, strict=True):
            thread, post, offset, length = unit.docno.rsplit(":", 3)
            place = {"thread": thread, "post": post, "offset": offset, "length": length}
            etree.SubElement(response, "cite", {"score": repr(score)} | place).text = PASSAGE
    return root
