"""Generated answers: sentences with citations, and the ids of what is judged in them.

Ids are made from the digests of texts after NFKC, so equal texts are judged once, in whatever run they are:

- `nugget:ANSWER:NUGGET`     a nugget in an answer: the digest of the answer and the key of the nugget
- `citation:SENTENCE:DOCNO`  a citation in an answer: the digest of the sentence, and the document that it cites

The columns of a run have for each topic a row `answer:ANSWER`, then for each sentence `sentence:SENTENCE`, followed by
its citations, the most important first. Decision: ADR 60.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from assay.digests import sha256_of

DIGITS = 16  # of a digest in an id: 64 bits
ANSWER, SENTENCE, NUGGET, CITATION = "answer:", "sentence:", "nugget:", "citation:"
LISTED = "-"  # in place of an answer: the nugget of a list, in qrels


def normal(text: str) -> str:
    """A text after NFKC, with single spaces.

    >>> normal(" ﬁne  words ")
    'fine words'
    """
    return " ".join(unicodedata.normalize("NFKC", text).split())


def digest_of(text: str, digits: int = DIGITS) -> str:
    """The first digits of the SHA-256 of a text after NFKC."""
    return sha256_of(normal(text).encode())[:digits]


@dataclass(frozen=True)
class Sentence:
    """A sentence, and the documents that it cites, the most important first."""

    text: str
    citations: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        return digest_of(self.text)

    def units(self, most: int) -> list["CitationUnit"]:
        """The first citations, as units to judge."""
        return [CitationUnit(self.digest, docno) for docno in self.citations[:most]]


@dataclass(frozen=True)
class Answer:
    """The answer of a run to a topic."""

    topic: str
    sentences: tuple[Sentence, ...]

    @cached_property
    def text(self) -> str:
        """All sentences after NFKC, separated by single spaces."""
        return " ".join(normal(sentence.text) for sentence in self.sentences)

    @cached_property
    def digest(self) -> str:
        return digest_of(self.text)

    @property
    def n_words(self) -> int:
        return len(self.text.split())

    @property
    def cited(self) -> list[str]:
        """The documents that the answer cites, in the order of their first citations."""
        return list(dict.fromkeys(docno for sentence in self.sentences for docno in sentence.citations))

    def rows(self) -> Iterator[tuple[str, int]]:
        """The rows of a run: docno, and number of the sentence from 1; 0 for the answer."""
        yield f"{ANSWER}{self.digest}", 0
        for number, sentence in enumerate(self.sentences, 1):
            yield f"{SENTENCE}{sentence.digest}", number
            for unit in sentence.units(len(sentence.citations)):
                yield str(unit), number


class NuggetUnit(NamedTuple):
    """A nugget in an answer, or in a list if the answer is `-`."""

    answer: str  # digest
    nugget: str  # key

    def __str__(self) -> str:
        return f"{NUGGET}{self.answer}:{self.nugget}"


class CitationUnit(NamedTuple):
    """A document that a sentence cites."""

    sentence: str  # digest
    docno: str

    def __str__(self) -> str:
        return f"{CITATION}{self.sentence}:{self.docno}"


def is_citation(docno: str) -> bool:
    """Return True if a unit is a citation in an answer."""
    return docno.startswith(CITATION)


def unit_of(docno: str) -> NuggetUnit | CitationUnit | None:
    """Read the id of a unit; None if it is that of another kind of unit.

    >>> unit_of("nugget:0f:a1"), unit_of("citation:0f:doc:7#1"), unit_of("doc-1")
    (NuggetUnit(answer='0f', nugget='a1'), CitationUnit(sentence='0f', docno='doc:7#1'), None)
    """
    kind, _, rest = docno.partition(":")
    digest, has_both, name = rest.partition(":")
    if not has_both or f"{kind}:" not in (NUGGET, CITATION):
        return None
    return NuggetUnit(digest, name) if f"{kind}:" == NUGGET else CitationUnit(digest, name)
