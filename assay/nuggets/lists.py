"""Lists of nuggets. A nugget is a fact that an answer to a topic should contain; it is vital or okay.

The key of a nugget is the digest of its text after NFKC. So an edited nugget is a new one, which is assigned to all
answers again, and an unchanged nugget keeps its judgments in every later version of its list.

A nugget of a rubric is a criterion: it has a weight, which is negative for what an answer must avoid. Vital criteria
are mandatory, and okay ones optional.

A nugget may be a question with answers: it is in an answer if all of them are (`AND`), or any of them (`OR`).

Source:
    Pradeep et al. (2024), arXiv:2411.09607, and castorini/nuggetizer: lists of facts, made from relevant documents. The
    questions are those of RAGTIME, as autojudge-base 1.0.0 has them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from assay.answers import digest_of, normal
from assay.errors import say
from assay.protocols.schema import NuggetRules

Importance = Literal["vital", "okay", ""]  # empty: not decided, or failed
Joined = Literal["AND", "OR"]
DIGITS = 12  # of a key
KINDS = ("explicit", "implicit", "synthesis", "references", "communication", "instruction")  # of criteria


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """An answer to the question of a nugget, and the documents that it was found in."""

    text: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Nugget:
    """A fact, or a question with answers."""

    text: str
    importance: Importance = ""
    sources: tuple[str, ...] = ()  # documents that it was made from
    creator: str = ""  # a person or a program
    answers: tuple[GoldAnswer, ...] = ()  # of a question
    joined: Joined = "OR"  # whether a text must contain all answers, or any
    merged: tuple[str, ...] = ()  # keys of the nuggets that were merged into it
    weight: float | None = None  # of a criterion
    kind: str = ""  # of a criterion: what it is about, such as "references"
    made_from: str = ""  # of a criterion: the text of the nugget that it was made from
    more: Mapping[str, Any] = field(
        default_factory=dict, compare=False
    )  # other keys of its file, and a number

    @property
    def key(self) -> str:
        """The digest of what a judge reads."""
        return digest_of(self.shown, DIGITS)

    @property
    def shown(self) -> str:
        """The nugget as a judge reads it.

        >>> Nugget("Where do owls nest?", answers=(GoldAnswer("in barns"), GoldAnswer("in trees"))).shown
        'Where do owls nest? — in barns; or in trees'
        """
        word = "and" if self.joined == "AND" else "or"
        answers = f"; {word} ".join(normal(answer.text) for answer in self.answers)
        return f"{normal(self.text)} — {answers}" if answers else normal(self.text)

    @property
    def n_words(self) -> int:
        """Words of the fact, or of the question."""
        return len(normal(self.text).split())


class Problem(NamedTuple):
    """Something that is wrong with a list."""

    topic: str
    message: str

    def __str__(self) -> str:
        return f"topic {self.topic}: {self.message}"


@dataclass(frozen=True, slots=True)
class NuggetList:
    """A version of the nuggets of a topic."""

    topic: str
    title: str = ""
    nuggets: tuple[Nugget, ...] = ()
    version: int = 1
    more: Mapping[str, Any] = field(default_factory=dict, compare=False)  # other keys of its file
    by_key: Mapping[str, Nugget] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_key", {nugget.key: nugget for nugget in self.nuggets})

    @property
    def keys(self) -> list[str]:
        """The keys of the nuggets, in the order of the list."""
        return [nugget.key for nugget in self.nuggets]

    @property
    def has_score(self) -> bool:
        """False for a rubric without a positive weight. A nugget without a weight has weight 1."""
        return not self.nuggets or any(nugget.weight is None or nugget.weight > 0 for nugget in self.nuggets)

    def problems(self, rules: NuggetRules) -> Iterator[Problem]:
        """Yield what is wrong with the list: nuggets without importance, equal ones, and those beyond limits."""
        for key, n in Counter(self.keys).items():
            if n > 1:
                shown = repr(self.by_key[key].shown[:60])
                yield Problem(
                    self.topic, say("{shown} is in the list {n} times; merge them", shown=shown, n=n)
                )
        for nugget in self.nuggets:
            shown = repr(nugget.shown[:60])
            if not nugget.importance:
                yield Problem(self.topic, say("{shown} has no importance; use vital or okay", shown=shown))
            if rules.max_words is not None and nugget.n_words > rules.max_words:
                yield Problem(
                    self.topic,
                    say(
                        "{shown} has {n} words; at most {most} are accepted",
                        shown=shown,
                        n=nugget.n_words,
                        most=rules.max_words,
                    ),
                )
        if rules.most is not None and len(self.nuggets) > rules.most:
            n = len(self.nuggets)
            yield Problem(self.topic, say("{n} nuggets; at most {most} are accepted", n=n, most=rules.most))


def merged(parts: Iterable[Nugget], nugget: Nugget) -> Nugget:
    """The nugget that takes the place of several: it has their sources, and keeps their keys."""
    parts = list(parts)
    sources = dict.fromkeys(source for part in (nugget, *parts) for source in part.sources)
    keys = dict.fromkeys(key for part in parts for key in (*part.merged, part.key))
    return replace(nugget, sources=tuple(sources), merged=tuple(keys))


class Change(NamedTuple):
    """A difference between two versions of a list. `is_assigned_again`: whether answers must be judged for it."""

    topic: str
    key: str
    words: str  # what changed
    nugget: Nugget
    is_assigned_again: bool = False


def changes(old: NuggetList, new: NuggetList) -> list[Change]:
    """The differences between two versions, in the order of the new one; then what is gone."""
    differences = []
    for nugget in new.nuggets:
        before = old.by_key.get(nugget.key)
        if before is None:
            words = f"merged from {', '.join(nugget.merged)}" if nugget.merged else "new"
            differences.append(Change(new.topic, nugget.key, words, nugget, is_assigned_again=True))
        elif before.importance != nugget.importance:
            words = f"{before.importance or 'not decided'} → {nugget.importance or 'not decided'}"
            differences.append(Change(new.topic, nugget.key, words, nugget))
        elif before.weight != nugget.weight:
            words = f"weight {_shown(before.weight)} → {_shown(nugget.weight)}"
            differences.append(Change(new.topic, nugget.key, words, nugget))
    gone = [nugget for nugget in old.nuggets if nugget.key not in new.by_key]
    return [*differences, *(Change(new.topic, nugget.key, "gone", nugget) for nugget in gone)]


def _shown(weight: float | None) -> str:
    return "not decided" if weight is None else f"{weight:g}"
