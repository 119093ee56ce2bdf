"""The HTML of guidelines, with the topics and documents of their worked examples."""

from typing import NamedTuple

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from assay.protocols.schema import JudgingRules
from corpus.models import Document, Formula
from corpus.threads.selectors import render_document
from tracks.markdown import Example, Rendered, as_html, parse
from tracks.models import Topic, Track
from tracks.topics.selectors import render_topic

MOST_EXAMPLES = 30


class _Known(NamedTuple):
    """The topics, documents and formulas that the examples of a text name, as far as the track has them."""

    topics: dict[str, Topic]
    documents: dict[str, Document]
    formulas: dict[str, str]  # id -> LaTeX
    rules: JudgingRules


def rendered(track: Track, text: str) -> Rendered:
    """A text as HTML. Its number of queries depends on the number of its examples."""
    parsed = parse(text)
    topics = track.topics.filter(code__in={example.topic for example in parsed.examples})
    docnos = {example.docno for example in parsed.examples}
    documents = Document.objects.filter(collection=track.collection_id, docno__in=docnos)
    formulas = Formula.objects.filter(collection=track.collection_id, code__in=docnos).exclude(latex="")
    known = _Known(
        {topic.code: topic for topic in topics},
        {document.docno: document for document in documents.select_related("collection")}
        if parsed.examples
        else {},
        dict(formulas.values_list("code", "latex")) if parsed.examples else {},
        track.protocol.parsed.judging,
    )
    problems = [
        f"Line {line}: a worked example begins with “::: example”, a topic, a document and a choice."
        for line in parsed.unreadable
    ]
    if len(parsed.examples) > MOST_EXAMPLES:
        problems.append(f"{len(parsed.examples)} worked examples; at most {MOST_EXAMPLES} are accepted.")
    problems += [problem for example in parsed.examples if (problem := _problem(example, known))]
    cards = {}
    collections = [track.collection] if track.collection else []
    for number, example in enumerate(parsed.examples[:MOST_EXAMPLES]):
        if _problem(example, known):
            continue
        topic, document = known.topics[example.topic], known.documents.get(example.docno)
        context: dict[str, object] = {
            "example": example,
            "topic": topic,
            "rendered_topic": render_topic(topic, collections),
            "document": None if document is None else render_document(document),
            "latex": known.formulas.get(example.docno, ""),
            "choice": known.rules.choice(example.choice),
        }
        cards[number] = render_to_string("tracks/guidelines/_example.html", context)
    return Rendered(SafeString(as_html(parsed, cards)), problems)


def _problem(example: Example, known: _Known) -> str:
    """A sentence on what an example names and the track does not have; empty if all is there."""
    if example.topic not in known.topics:
        return f"Line {example.line}: the track has no topic {example.topic}."
    if example.docno not in known.documents and example.docno not in known.formulas:
        return f"Line {example.line}: the collection has no document {example.docno}."
    if known.rules.choice(example.choice) is None:
        keys = ", ".join(choice.key for choice in known.rules.choices)
        return f"Line {example.line}: “{example.choice}” is not a choice of the protocol; use {keys}."
    return ""
