"""A judge without a network: a classifier of texts, trained on the grades that people gave for a topic.

Features are TF-IDF of the words of title and text: (1 + ln tf)(ln((1 + n) / (1 + df)) + 1), each document scaled to
length 1; n and df count the documents that people graded for the topic. For each grade but the lowest one, a logistic
regression with a penalty of half the square of the weights and the cost C gives the probability that a document has at
least that grade.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.digests import sha256_of
from assay.errors import InputError
from assay_extensions.machines.judge_files.judges import TRAINED
from assay_extensions.machines.model.asking import PROBABILITIES, Judged, Question, most_probable
from assay_extensions.machines.model.evidence import Evidence

WORD = re.compile(r"\w\w+")
COST = 10.0  # C: a document weighs as much as in LogisticRegression of scikit-learn with this C
ROUNDS, TOLERANCE = 100, 1e-10
BLOCK = 4096  # words whose weights are in memory at once

Floats = NDArray[np.float64]


class Example(NamedTuple):
    """A document that people graded."""

    text: str
    grade: int


def words_of(text: str) -> Counter[str]:
    return Counter(WORD.findall(text.lower()))


def logistic(kernel: Floats, labels: NDArray[np.bool_], cost: float = COST) -> tuple[Floats, float]:
    """The dual weights and the intercept of a logistic regression, by Newton's method.

    Parameters
    ----------
    kernel : (n, n) products of the documents.
    labels : (n,) both true and false occur.

    Returns
    -------
    (n,) weights a, so that the score of a document is the sum of its products with the others times a, plus the
    intercept, which has no penalty.
    """
    n = len(labels)
    weights, intercept = np.zeros(n), 0.0
    system = np.ones((n + 1, n + 1))
    system[n, n] = 0.0
    for _ in range(ROUNDS):
        score = kernel @ weights + intercept
        p = np.clip(1 / (1 + np.exp(-score)), 1e-9, 1 - 1e-9)
        curve = p * (1 - p)
        system[:n, :n] = kernel
        system[np.arange(n), np.arange(n)] += 1 / (cost * curve)
        solved = np.linalg.solve(system, np.append(score + (labels - p) / curve, 0.0))
        change = float(np.abs(solved[:n] - weights).max())
        weights, intercept = solved[:n], float(solved[n])
        if change < TOLERANCE:
            break
    return weights, intercept


class TopicModel:
    """The classifier of a topic.

    Raises ValueError: all documents have the same grade.
    """

    def __init__(self, examples: Sequence[Example], cost: float = COST) -> None:
        grades = np.array([example.grade for example in examples])
        self.grades = sorted(set(grades.tolist()))
        if len(self.grades) < 2:
            raise ValueError("people gave no two different grades")
        counts = [words_of(example.text) for example in examples]
        known = Counter(word for count in counts for word in count)
        self._columns = {word: n for n, word in enumerate(known)}
        self._idf = np.log((1 + len(examples)) / (1 + np.array(list(known.values()), dtype=float))) + 1
        rows = [self._row(count) for count in counts]
        kernel = _products(rows, len(known))
        self._models = []
        for grade in self.grades[1:]:
            weights, intercept = logistic(kernel, grades >= grade, cost)
            by_word = np.zeros(len(known))
            for (columns, values), weight in zip(rows, weights, strict=True):
                by_word[columns] += weight * values
            self._models.append((by_word, intercept))

    def _row(self, count: Mapping[str, int]) -> tuple[NDArray[np.intp], Floats]:
        """The columns and weights of a document; words that no graded document has are left out."""
        pairs = [(self._columns[word], n) for word, n in count.items() if word in self._columns]
        columns = np.array([column for column, _ in pairs], dtype=np.intp)
        values = (1 + np.log([n for _, n in pairs])) * self._idf[columns]
        length = float(np.sqrt(values @ values))
        return columns, values / length if length else values

    def probabilities(self, text: str) -> dict[int, float]:
        """The probability of each grade that people gave."""
        columns, values = self._row(words_of(text))
        scores = np.array([by_word[columns] @ values + intercept for by_word, intercept in self._models])
        at_least = np.minimum.accumulate(np.append(1.0, 1 / (1 + np.exp(-scores))))
        shares = at_least - np.append(at_least[1:], 0.0)
        return dict(zip(self.grades, shares.tolist(), strict=True))


def _products(rows: Sequence[tuple[NDArray[np.intp], Floats]], n_words: int) -> Floats:
    """(n, n) products of documents, by blocks of words."""
    products = np.zeros((len(rows), len(rows)))
    for start in range(0, n_words, BLOCK):
        block = np.zeros((len(rows), min(BLOCK, n_words - start)))
        for n, (columns, values) in enumerate(rows):
            inside = (columns >= start) & (columns < start + BLOCK)
            block[n, columns[inside] - start] = values[inside]
        products += block @ block.T
    return products


class TrainedJudge:
    """A classifier for each topic, trained on the grades of people. A topic without two grades is skipped."""

    def __init__(self, examples: Iterable[tuple[str, Example]], cost: float = COST) -> None:
        by_topic: dict[str, list[Example]] = {}
        for topic, example in examples:
            by_topic.setdefault(topic, []).append(example)
        if not by_topic:
            raise InputError("no document that people graded has a text")
        self._models: dict[str, TopicModel | str] = {}
        for topic, graded in by_topic.items():
            try:
                self._models[topic] = TopicModel(graded, cost)
            except ValueError as error:
                self._models[topic] = str(error)

    def __call__(self, question: Question) -> Judged:
        model = self._models.get(question["topic"], "people graded no document")
        if isinstance(model, str):
            return Judged(
                "", f"topic {question['topic']}: {model}, so no classifier could be trained", 0.0, None
            )
        text = f"{question['document_title']}\n{question['text']}"
        keys = {grade["grade"]: grade["key"] for grade in question["grades"]}
        shares = {keys[grade]: p for grade, p in model.probabilities(text).items() if grade in keys}
        if not shares:
            return Judged("", "the grades of people are not those of the protocol", 0.0, None)
        rounded = {key: round(share, 6) for key, share in shares.items()}
        return Judged(
            most_probable(rounded),
            "",
            0.0,
            Evidence(
                prompt_sha256=sha256_of(text.encode()),
                reply=json.dumps(rounded),
                parser=PROBABILITIES,
                parse_status="read",
                probabilities=rounded,
                model=TRAINED,
            ),
        )
