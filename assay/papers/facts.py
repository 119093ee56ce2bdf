"""The facts in the tables of a paper: a track with its runs, teams, topics and scores, from files or a database."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from assay.protocols.schema import Protocol
from assay.statistics.qrels_summary import Grades, n_from

MOST_VALUES = 12  # a label with more values does not group topics


class RunFacts(NamedTuple):
    """A run. `pooled_as` is another kind than its own, or empty.

    `made` and `uses` are empty if nobody stated them; `means` is empty if it was not scored.
    """

    team: str
    tag: str
    kind: str
    pooled_as: str = ""
    made: str = ""
    uses: str = ""
    means: Mapping[str, float] = {}
    is_baseline: bool = False

    @property
    def pooled_kind(self) -> str:
        """The kind that it is pooled as."""
        return self.pooled_as or self.kind

    @property
    def name(self) -> tuple[str, str]:
        """The key that identifies the same run in several tracks."""
        return self.team.casefold(), self.tag.casefold()


class TopicFacts(NamedTuple):
    """A topic with its labels, and how many units of it have each grade; `grades` is None without qrels."""

    labels: Mapping[str, str]
    grades: Grades | None = None

    def n_from(self, level: int) -> int:
        """The number of units with a grade from `level`."""
        return n_from(self.grades or {}, level)


@dataclass(frozen=True, slots=True)
class TrackFacts:
    """A track, as papers report it.

    Attributes
    ----------
    measures : of the means, in the order of the columns.
    n_topics : topics of the qrels; 0 without qrels.
    topics : by code, in order.
    organizations : of the teams that stated theirs.
    """

    name: str
    protocol: Protocol
    runs: tuple[RunFacts, ...] = ()
    measures: tuple[str, ...] = ()
    n_topics: int = 0
    topics: Mapping[str, TopicFacts] = field(default_factory=dict)
    organizations: Mapping[str, str] = field(default_factory=dict)

    def label(self, topic: TopicFacts, name: str) -> str:
        """The value of a label in the spelling of the protocol; upper and lower case count as equal."""
        value = next((text for key, text in topic.labels.items() if key.casefold() == name.casefold()), "")
        known = {each.casefold(): each for each in self.protocol.topics.labels.get(name, ())}
        return known.get(value.casefold(), value)

    @property
    def labels(self) -> list[str]:
        """Names of the labels of topics: those of the protocol, then others with a few values that are words."""
        values: dict[str, set[str]] = {}
        for topic in self.topics.values():
            for name, value in topic.labels.items():
                values.setdefault(name, set()).add(value)
        known = {name.casefold(): name for name in self.protocol.topics.labels}
        named = {name.casefold() for name in values}
        own = [name for name in self.protocol.topics.labels if name.casefold() in named]
        return own + [
            name for name in values if name.casefold() not in known and are_words(values[name] - {""})
        ]


def are_words(values: Set[str]) -> bool:
    """Return True if the values of a label group topics: a few words, and not numbers."""
    return 1 < len(values) <= MOST_VALUES and not all(value.replace(".", "").isdecimal() for value in values)
