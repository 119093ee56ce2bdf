"""Writes topics in the forms that Assay reads, and their formulas and labels as tables.

JSON lines have every field, and the reader gets the same topics from them. XML has the elements of ARQMath's topic
files, without labels; topics of BOLT are also written as they were imported. The table has plain text with LaTeX
between dollars. The formulas are an index of the topics' own formulas (`assay.formats.documents.indexes`), the labels a
label file.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lxml import etree

from assay.formats.spreadsheet import as_csv, tsv_lines
from assay.formats.topics import bolt
from assay.formats.topics.facts import TopicFacts
from assay.html.latex import decode
from assay.html.sanitize import plain, without_controls

TABLE = ("topic", "title", "body", "narrative", "scenario", "criteria", "tags", "formula_id", "latex")
FORMULAS = ("id", "topic_id", "thread_id", "type", "formula")
_SHOWN = re.compile(
    r'<span class="math-container"(?: data-formula-id="([^"<>]*)")? data-display="(\w+)">([^<]*)</span>'
)
_FORMULA = re.compile(r'<span class="math-container"(?: data-formula-id="([^"<>]*)")?[^<>]*>([^<]*)</span>')


def as_jsonl(topics: Iterable[TopicFacts]) -> bytes:
    """One JSON object per line. Fields that a topic does not have are left out."""
    names = (
        *("code", "title", "body", "narrative", "scenario", "criteria", "tags"),
        *("formula_id", "latex", "labels", "subtopics", "split", "source"),
    )
    rows = ({name: getattr(topic, name) for name in names} for topic in topics)
    filled = ({name: value for name, value in row.items() if value} for row in rows)
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in filled).encode()


def as_xml(topics: Iterable[TopicFacts]) -> bytes:
    """The elements of ARQMath's topic files; HTML is escaped text in them, its formulas have dollars and ids."""
    root = etree.Element("Topics")
    for topic in topics:
        element = etree.SubElement(root, "Topic", number=without_controls(topic.code))
        texts = {
            "Formula_Id": topic.formula_id,
            "Latex": topic.latex,
            "Title": published(topic.title),
            "Question": published(topic.body),
            "Narrative": published(topic.narrative),
            "Scenario": topic.scenario,
            "Criteria": topic.criteria,
            "Tags": ",".join(topic.tags),
        }
        for name, text in texts.items():
            if text:
                # An older import may have stored some
                etree.SubElement(element, name).text = without_controls(text)
        for subtopic in topic.subtopics:
            named = {name: subtopic[name] for name in ("number", "type") if subtopic.get(name)}
            etree.SubElement(element, "Subtopic", named).text = subtopic["text"]
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True, pretty_print=True)


def published(html: str) -> str:
    """Sanitized HTML with formulas as ARQMath publishes them: `<span class="math-container" id="q_1">$x$</span>`."""
    return _SHOWN.sub(_published_formula, html)


def _published_formula(match: re.Match[str]) -> str:
    number = f' id="{match[1]}"' if match[1] else ""
    dollars = "$$" if match[2] == "block" else "$"
    return f'<span class="math-container"{number}>{dollars}{match[3]}{dollars}</span>'


def as_bolt(topics: Iterable[TopicFacts]) -> bytes:
    """The topics that were imported from BOLT's XML, in that form; empty if there are none."""
    sources = [topic.source for topic in topics if topic.source]
    return bolt.as_xml(sources) if sources else b""


def as_table(topics: Iterable[TopicFacts]) -> bytes:
    """Tab-separated plain text with a header; formulas between dollars, tags separated by commas.

    If there are subtopics, a last column has the number and the words of each, with bars between them.
    """
    topics = list(topics)
    has_subtopics = any(topic.subtopics for topic in topics)
    rows = (
        (
            topic.code,
            *map(plain, (topic.title, topic.body, topic.narrative)),
            topic.scenario,
            topic.criteria,
            ",".join(topic.tags),
            topic.formula_id,
            topic.latex,
            *[" | ".join(f"{subtopic['number']} {subtopic['text']}" for subtopic in topic.subtopics)]
            * has_subtopics,
        )
        for topic in topics
    )
    return _tsv((*TABLE, *["subtopics"] * has_subtopics), rows)


def formulas(topics: Iterable[TopicFacts]) -> bytes:
    """The formulas of the topics in LaTeX. One without an id gets the code of its topic and a number."""
    return _tsv(FORMULAS, (row for topic in topics for row in formulas_of(topic)))


def formula_ids(topics: Iterable[TopicFacts]) -> list[str]:
    """The ids of the formulas that `formulas` writes."""
    return [row[0] for topic in topics for row in formulas_of(topic)]


def formulas_as_mathml(topics: Iterable[TopicFacts], form: str, mathml: Mapping[str, str]) -> bytes:
    """The formulas of the topics that have MathML of a form, `slt` or `opt`. `mathml`: by the id of the formula."""
    rows = (row for topic in topics for row in formulas_of(topic))
    return _tsv((*FORMULAS[:-1], form), ((*row[:-1], mathml[row[0]]) for row in rows if row[0] in mathml))


def formulas_of(topic: TopicFacts) -> Iterator[tuple[str, ...]]:
    """The formulas of a topic as rows of an index: id, topic, topic, place and LaTeX; title before body."""
    n = 0
    for place, text in (("title", topic.title), ("question", topic.body), ("question", topic.narrative)):
        for match in _FORMULA.finditer(text):
            n += 1
            yield match[1] or f"{topic.code}.{n}", topic.code, topic.code, place, decode(match[2])
    if not n and topic.latex:
        yield topic.formula_id or topic.code, topic.code, topic.code, "question", topic.latex


def labels(topics: Sequence[TopicFacts]) -> bytes:
    """A label file: CSV with a column for each label of any topic, and for the split if a topic has one."""
    labels_of_topics = {
        topic.code: {**topic.labels, **({"split": topic.split} if topic.split else {})} for topic in topics
    }
    names = sorted({name for of_topic in labels_of_topics.values() for name in of_topic})
    rows = [[code, *(own.get(name, "") for name in names)] for code, own in labels_of_topics.items() if own]
    return as_csv(["topic", *names], rows).encode()


def _tsv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Lines of one space between words; quotation marks are quoted as csv quotes them."""
    lines = ([" ".join(cell.split()) for cell in row] for row in (header, *rows))
    return "".join(tsv_lines(lines)).encode()


FORMS: Mapping[str, Callable[[list[TopicFacts]], bytes]] = {
    "topics.jsonl": as_jsonl,
    "topics.xml": as_xml,
    "bolt-topics.xml": as_bolt,
    "topics.tsv": as_table,
    "topic-formulas.tsv": formulas,
}
