"""The units that assessors judge: one for each layout of the judging page, which a protocol names in `judging.layout`.

Other modules ask a unit for its facts, and do not compare names of layouts. Decision: ADR 93.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

SIGN = "|"  # between the documents of a pair
FORMULAS = ("formula", "visually-distinct-formula")
DOCUMENTS = ("answer", "document", "passage")


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A unit that is judged by itself, such as a document.

    Attributes:
        title: what its page shows, as the protocol editor lists it.
        kinds: the values of the key `unit` that fit.
        noun: what one judgment is about.
        is_blind: whether assessors must not see its docno, because it names a run or an answer.
        has_members: whether each of its members has a choice.
        has_nuggets: whether it is a nugget or a citation of an answer; then qrels have the nuggets of each topic.
        has_weights: whether its nuggets are the weighted criteria of rubrics.
        has_own_text: whether a run or a table has its text, so that assessors can read it without a collection.
        beyond_files: what it needs that files for `assay judge` do not have.
    """

    title: str
    kinds: tuple[str, ...] = (*DOCUMENTS, *FORMULAS)
    noun: str = "unit"
    is_blind: bool = False
    has_members: bool = False
    has_nuggets: bool = False
    has_weights: bool = False
    has_own_text: bool = False
    beyond_files: str = ""

    @property
    def is_formula(self) -> bool:
        return self.kinds == FORMULAS

    @property
    def has_votes(self) -> bool:
        """True if a judgment is a vote for one of several documents, and qrels have the documents."""
        return False

    def documents(self, docno: str) -> tuple[str, ...]:
        """The documents that are judged together under a docno."""
        return (docno,)


@dataclass(frozen=True, kw_only=True)
class Pair(Unit):
    """Two documents, one of which is preferred. The docno is `first|second`, in the order of their bytes."""

    kinds: tuple[str, ...] = DOCUMENTS
    noun: str = "pair"

    @property
    def has_votes(self) -> bool:
        return True

    def documents(self, docno: str) -> tuple[str, ...]:
        return documents_of(docno) or (docno,)


def pair_docno(docno: str, other: str) -> str:
    """The docno of a pair as a unit of a pool, whatever the sides.

    >>> pair_docno("d7", "d12")
    'd12|d7'
    """
    return SIGN.join(sorted((docno, other)))


def documents_of(docno: str) -> tuple[str, str] | None:
    """The documents of a pair, the first one and the second one; None for the docno of a document.

    >>> documents_of("d12|d7"), documents_of("d12")
    (('d12', 'd7'), None)
    """
    first, sign, second = docno.partition(SIGN)
    return (first, second) if sign and first and second and SIGN not in second else None


BY_LAYOUT: Mapping[str, Unit] = MappingProxyType(
    {
        "question-answer": Unit(title="a question and an answer"),
        "topic-document": Unit(title="a topic and a document"),
        "formula-instances": Unit(
            title="a formula with its instances, each with a choice",
            kinds=FORMULAS,
            noun="instance",
            has_members=True,
        ),
        "formula": Unit(title="a formula, by itself or in its post", kinds=FORMULAS),
        "citation": Unit(
            title="a topic and a cited passage",
            kinds=("passage",),
            has_own_text=True,
            beyond_files="citations among the posts around them",
        ),
        "generated-answer": Unit(
            title="a generated answer with its nuggets and citations",
            kinds=("generated-answer",),
            is_blind=True,
            has_own_text=True,
            has_nuggets=True,
            beyond_files="parts of generated answers",
        ),
        "rubric": Unit(
            title="a generated answer with the criteria of its rubric and its citations",
            kinds=("generated-answer",),
            is_blind=True,
            has_own_text=True,
            has_nuggets=True,
            has_weights=True,
            beyond_files="parts of generated answers",
        ),
        "battle": Pair(
            title="two generated answers side by side",
            kinds=("generated-answer",),
            is_blind=True,
            has_own_text=True,
            beyond_files="the texts of generated answers",
        ),
        "form": Unit(title="a row of a table, on a page of your own HTML", has_own_text=True),
        "pair": Pair(title="two documents side by side"),
    }
)
