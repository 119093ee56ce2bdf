"""Lists of nuggets of a judge compared with those of people: how many of people's nuggets it has.

Two nuggets match if they share enough words: the number of words in both, doubled, divided by their numbers of words
together, is at least `CLOSE`. Words are compared in lower case, each once. The closest pairs are matched first, and
each nugget once. A nugget in other words is not found, so the shares are lower bounds.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from assay.errors import plural
from assay.nuggets.lists import Nugget, NuggetList
from assay.tables import Cell, Table

CLOSE = 0.5
WORD = re.compile(r"\w+")
VITAL = "vital"


class Bank(NamedTuple):
    """A judge's nuggets of some topics, compared with those of people.

    Args:
        people, judge: numbers of nuggets.
        vital_people, vital_judge: numbers of those that are vital.
        n_found: of people's nuggets, the number that a nugget of the judge matches.
        vital_found: of people's vital nuggets, the same.
        same_importance: of the matches, those whose two nuggets are both vital, or both not.
    """

    people: int
    judge: int
    vital_people: int
    vital_judge: int
    n_found: int
    vital_found: int
    same_importance: int

    @property
    def shares(self) -> tuple[float | None, ...]:
        """Of people's vital and of all nuggets those found, of the judge's those of people, and equal importance."""
        pairs = (
            (self.vital_found, self.vital_people),
            (self.n_found, self.people),
            (self.n_found, self.judge if self.people else 0),
            (self.same_importance, self.n_found),
        )
        return tuple(part / whole if whole else None for part, whole in pairs)


def matches(people: Sequence[Nugget], judge: Sequence[Nugget]) -> list[tuple[int, int]]:
    """The places of the nuggets that match, the closest pair first.

    >>> owls = [Nugget("Owls nest in barns"), Nugget("Owls hunt at night")]
    >>> matches(owls, [Nugget("They hunt mice at night"), Nugget("in old barns owls nest")])
    [(0, 1), (1, 0)]
    """
    words = [[set(WORD.findall(nugget.shown.lower())) for nugget in side] for side in (people, judge)]
    close = [
        (2 * len(mine & own) / (len(mine) + len(own)), row, column)
        for row, mine in enumerate(words[0])
        for column, own in enumerate(words[1])
        if mine & own
    ]
    close.sort(key=lambda pair: (-pair[0], pair[1:]))
    matched: dict[int, int] = {}
    for share, row, column in close:
        if share >= CLOSE and row not in matched and column not in matched.values():
            matched[row] = column
    return [*matched.items()]


def compare_topic(people: Sequence[Nugget], judge: Sequence[Nugget]) -> Bank:
    """The nuggets of one topic."""
    pairs = matches(people, judge)
    vital = [[nugget.importance == VITAL for nugget in side] for side in (people, judge)]
    return Bank(
        people=len(people),
        judge=len(judge),
        vital_people=sum(vital[0]),
        vital_judge=sum(vital[1]),
        n_found=len(pairs),
        vital_found=sum(vital[0][row] for row, _ in pairs),
        same_importance=sum(vital[0][row] == vital[1][column] for row, column in pairs),
    )


def tables(people: Sequence[NuggetList], judge: Sequence[NuggetList]) -> list[Table]:
    """The nuggets of all topics that both have together, and topic by topic.

    Without nuggets of people, only those of the judge are counted.
    """
    of_people = {nuggets.topic: nuggets.nuggets for nuggets in people}
    of_judge = {nuggets.topic: nuggets.nuggets for nuggets in judge}
    topics = sorted(of_people.keys() & of_judge.keys() if people else of_judge)
    banks = [compare_topic(of_people.get(topic, ()), of_judge[topic]) for topic in topics]
    together = Bank(*(sum(counts) for counts in zip(*banks, strict=True))) if banks else Bank(*[0] * 7)
    columns = ("people", "judge", "vital_people", "vital_judge", "found", "vital_found", "same_importance")
    shares = ("share_of_vital_found", "share_found", "share_of_judge_found", "share_of_same_importance")
    rows: list[tuple[Cell, ...]] = [
        (topic, *bank, *bank.shares) for topic, bank in zip(topics, banks, strict=True)
    ]
    words = (
        f"nuggets of people and of the judge in {plural(len(topics), 'topic')}, and how many match: at least "
        f"{CLOSE:.0%} of their words are the same"
    )
    return [
        Table("nuggets", words, (*columns, *shares), [(*together, *together.shares)]),
        Table("nuggets-by-topic", f"{words}, by topic", ("topic", *columns, *shares), rows),
    ]
