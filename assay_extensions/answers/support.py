"""Support: how far the citations of an answer support its sentences.

A citation is judged 2 (full support), 1 (partial) or 0, or is not judged (-1). Of the *first* citations, a sentence
whose first one is not judged leaves both denominators. Of *all judged* citations, a sentence counts with their mean,
and leaves both denominators if it has citations and none is judged. Precision is over the sentences with a citation,
recall over all that are left; without any, they are 0. The *hard* scores count only full support by the first
citation.

Source: RAGDoll 1f06719, support/metrics.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.nuggets.files import Record, records

LABELS = (-1, 0, 1, 2)
VALUES = {2: 1.0, 1: 0.5, 0: 0.0}
HARD = {2: 1.0, 1: 0.0, 0: 0.0}


@dataclass(frozen=True)
class Answer:
    """A judged answer: for each sentence, the labels of its citations, in their order."""

    topic: str
    run: str
    sentences: tuple[tuple[int, ...], ...]


class Support(NamedTuple):
    """Precision and recall of the support of an answer's sentences."""

    precision: float
    recall: float


def of_first(answer: Answer, values: dict[int, float] = VALUES) -> Support:
    """Support by the first citation of each sentence; with `HARD`, full support only."""
    return _support(answer, lambda labels: None if labels[0] < 0 else values[labels[0]])


def of_all(answer: Answer) -> Support:
    """Support by the mean of the judged citations of each sentence."""
    return _support(answer, _mean_of_judged)


def _mean_of_judged(labels: Sequence[int]) -> float | None:
    judged = [VALUES[label] for label in labels if label >= 0]
    return sum(judged) / len(judged) if judged else None


def _support(answer: Answer, value: Callable[[Sequence[int]], float | None]) -> Support:
    cited = [value(labels) for labels in answer.sentences if labels]
    judged = [each for each in cited if each is not None]
    n_left = len(judged) + sum(not labels for labels in answer.sentences)
    total = sum(judged)
    return Support(total / len(judged) if judged else 0.0, total / n_left if n_left else 0.0)


def read_support(data: bytes, name: str) -> list[Answer]:
    """The judged answers of a file of JSON lines: topic_id, run_id, sentences with citations with `support`.

    Raises:
        InputError: A line has a wrong value, or is of an answer that was above.
    """
    answers: dict[tuple[str, str], Answer] = {}
    for record in records(data, name):
        content = record.content
        topic = record.topic(content.get("topic_id", content.get("narrative_id")), "topic_id")
        run = record.topic(content.get("run_id"), "run_id")
        sentences = tuple(
            tuple(
                _label(record, citation.get("support"), f"{in_sentence}.support")
                for in_sentence, citation in record.items(sentence.get("citations"), f"{place}.citations")
            )
            for place, sentence in record.items(content.get("sentences"), "sentences")
        )
        if (run, topic) in answers:
            raise record.wrong(f"{run} {topic}", "each answer once")
        answers[run, topic] = Answer(topic, run, sentences)
    return list(answers.values())


def _label(record: Record, value: object, key: str) -> int:
    word = str(-1 if value in (None, "") else value)
    if word not in map(str, LABELS):
        raise record.wrong(key, "2, 1, 0, or -1 if it is not judged")
    return int(word)
