"""A generated answer on the judging page: a nugget that it should state, or a sentence of it and what that cites."""

from typing import Literal, NamedTuple

from django.utils.translation import gettext_noop

from assay.answers import is_citation, normal
from pooling.models import PoolEntry


class ShownSentence(NamedTuple):
    """A sentence of the answer; `is_judged` if the assessor judges what it cites."""

    text: str
    is_judged: bool


class UnitAnswer(NamedTuple):
    """A part of a generated answer as a program gets it."""

    judged: Literal["nugget", "citation"]
    text: str
    answer: str


class ShownAnswer(NamedTuple):
    """An answer with what is judged in it: the text of a nugget, or the sentence whose citation is judged.

    Nothing shows which run has the answer.
    """

    is_citation: bool
    text: str
    sentences: list[ShownSentence]

    @property
    def noun(self) -> str:
        """The name of what is judged, for headings."""
        return gettext_noop("Citation") if self.is_citation else gettext_noop("Nugget")

    def as_unit(self) -> UnitAnswer:
        whole = " ".join(sentence.text for sentence in self.sentences)
        return UnitAnswer("citation" if self.is_citation else "nugget", self.text, whole)


def shown_answer(entry: PoolEntry) -> ShownAnswer | None:
    """The answer of an entry; None if the entry is in none. One query."""
    if entry.answer is None:
        return None
    cites = is_citation(entry.docno)
    judged = normal(entry.passage)
    sentences = [ShownSentence(text, cites and normal(text) == judged) for text, _ in entry.answer.sentences]
    return ShownAnswer(cites, entry.passage, sentences)
