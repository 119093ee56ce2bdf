"""Means over classes of topics: the topics that share a value of a label, such as all hard ones."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.measures.kernels import Values
from assay.measures.scores import RunScores

if TYPE_CHECKING:
    from assay.protocols.schema import Average

STEPS = ("low", "easy", "medium", "middle", "high", "hard")  # values in this order; others follow by name


class TopicClass(NamedTuple):
    """Some topics of the qrels: `is_in` is (topics,), in the order of the qrels."""

    label: str
    value: str
    is_in: NDArray[np.bool_]

    @property
    def name(self) -> str:
        """The class in the column of topics of a table of scores."""
        return f"{self.label}={self.value}"

    @property
    def n_topics(self) -> int:
        return int(self.is_in.sum())


def classes_of(topics: Sequence[str], labels: Mapping[str, Mapping[str, str]]) -> list[TopicClass]:
    """The classes of some topics, label by label. Topics without a value are in no class of the label.

    Parameters
    ----------
    labels : by label, the value of each topic.
    """
    return [each for label, values in labels.items() for each in _of_label(topics, label, values)]


def _of_label(topics: Sequence[str], label: str, values: Mapping[str, str]) -> Iterator[TopicClass]:
    of_topics = [values.get(code, "") for code in topics]
    for value in sorted(set(of_topics) - {""}, key=step_or_name):
        yield TopicClass(label, value, np.array([of_topic == value for of_topic in of_topics]))


def step_or_name(value: str) -> tuple[int, str]:
    """Sorts the values of a label: steps such as low and high in their order, others after them by name."""
    step = value.casefold()
    return (STEPS.index(step) if step in STEPS else len(STEPS), value)


def means_over(scores: RunScores, topics: TopicClass, average: "Average") -> Values:
    """(measures,) the summary of each measure over the topics of a class; 0.0 if none of them counts."""
    part = scores._replace(values=scores.values[topics.is_in], has_topic=scores.has_topic[topics.is_in])
    return part.means(average)
