"""Runs of generated answers, in the form of RAG 2024, and qrels for them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from assay.answers import Answer, CitationUnit, NuggetUnit, Sentence

Sentences = Sequence[tuple[str, Sequence[str]]]  # text, and what it cites

OWLS: Mapping[str, Sentences] = {
    "T1": [("Owls sing at night.", ["d1", "d2"]), ("They nest in barns.", []), ("They eat mice.", ["d3"])],
    "T2": [("Swifts sleep in the air.", ["d4"])],
}
CROWS: Mapping[str, Sentences] = {
    "T1": [("Owls sing  at night.", ["d1"]), ("Crows do not.", ["d5"])],
    "T2": OWLS["T2"],
}


def answer_of(topic: str, sentences: Sentences) -> Answer:
    """The answer that a run's line has."""
    return Answer(topic, tuple(Sentence(text, tuple(citations)) for text, citations in sentences))


def answer_line(topic: str, sentences: Sentences, *, tag: str = "owls", **others: Any) -> str:
    """A line of a run; `others` replace or add keys."""
    references = list(dict.fromkeys(docno for _, citations in sentences for docno in citations))
    answer = [
        {"text": text, "citations": [references.index(docno) for docno in cited]} for text, cited in sentences
    ]
    content = {"run_id": tag, "topic_id": topic, "topic": "?", "references": references, "response_length": 9}
    return json.dumps({**content, "answer": answer, **others}, ensure_ascii=False) + "\n"


def answer_run(answers: Mapping[str, Sentences] = OWLS, *, tag: str = "owls") -> bytes:
    """A run."""
    return "".join(answer_line(topic, sentences, tag=tag) for topic, sentences in answers.items()).encode()


def nugget(topic: str, key: str, answers: Mapping[str, Sentences] = OWLS) -> str:
    """The id of a nugget in the answer of a run."""
    return str(NuggetUnit(answer_of(topic, answers[topic]).digest, key))


def citation(text: str, docno: str) -> str:
    """The id of a citation of a sentence."""
    return str(CitationUnit(Sentence(text).digest, docno))
