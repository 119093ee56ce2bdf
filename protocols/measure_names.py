"""The notation of measures, as protocols and commands write them: `nDCG'`, `AP(rel=2)'`, `P(rel=2)@10'`.

A name is a family, then `(rel=LEVEL)` where a document counts as relevant from another grade than 1, then `@k` where
only the top k ranks count, then a prime where unjudged documents are removed first. `(judged_only=True)`, as
ir_measures writes it, says the same as the prime. This module knows what may be written; `scoring.measures`
computes it. A new family is a line in `FAMILIES` and a kernel there.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Use = Literal["never", "optional", "required"]


class MeasureError(ValueError):
    """A measure's name that cannot be taken: what was wrong, and what is accepted."""


@dataclass(frozen=True, slots=True)
class Family:
    """What may follow a family's name."""

    has_level: bool  # takes (rel=LEVEL)
    cutoff: Use  # takes @k
    has_prime: bool  # may be computed with the unjudged documents removed
    title: str


FAMILIES: dict[str, Family] = {
    "nDCG": Family(False, "optional", True, "normalised discounted cumulative gain"),
    "AP": Family(True, "optional", True, "average precision"),
    "P": Family(True, "required", True, "precision at rank {k}"),
    "R": Family(True, "required", True, "recall at rank {k}"),
    "Rprec": Family(True, "never", True, "precision at rank R, the number of relevant documents"),
    "RR": Family(True, "optional", True, "reciprocal rank of the first relevant document"),
    "bpref": Family(True, "never", True, "binary preference"),
    "judged": Family(False, "required", False, "share of the top {k} ranks that is judged"),
}

# The prime stands last; before the cutoff, as in P'@10, it is understood as well.
_NAME = re.compile(
    r"(?P<family>[A-Za-z]+)(?:\((?P<arguments>[^()]*)\))?(?P<early>'(?=@))?(?:@(?P<k>\d{1,6}))?(?P<prime>'?)"
)
_EXAMPLES = "nDCG', AP(rel=2)', P(rel=2)@10', bpref(rel=2), judged@10"


@dataclass(frozen=True, slots=True, order=True)
class Measure:
    """One measure. `str` gives its name as Assay writes it, however it was written."""

    family: str
    level: int = 1  # the grade from which a document is relevant
    k: int | None = None  # ranks that count; all if None
    judged_only: bool = False

    def __str__(self) -> str:
        level = f"(rel={self.level})" if self.level != 1 else ""
        cutoff = f"@{self.k}" if self.k is not None else ""
        prime = "'" if self.judged_only else ""
        return f"{self.family}{level}{cutoff}{prime}"

    @property
    def title(self) -> str:
        """What the name means, for a reader who does not know the notation."""
        family = FAMILIES[self.family]
        said = family.title.format(k=self.k)
        if self.k is not None and family.cutoff == "optional":
            said += f" over the top {self.k} ranks"
        if family.has_level:
            said += f", relevant from grade {self.level}"
        return said + (", unjudged documents removed" if self.judged_only else "")


def parse_measure(name: str) -> Measure:
    """Read a measure's name.

    Raises
    ------
    MeasureError
        The name is not in the notation, its family is unknown, or something that the family does not take is given.
    """
    match = _NAME.fullmatch(name.strip())
    if match is None:
        raise MeasureError(f"{name!r} is no measure; write it like {_EXAMPLES}")
    family = FAMILIES.get(match["family"])
    if family is None:
        raise MeasureError(f"{name!r}: there is no measure {match['family']!r}; use {', '.join(FAMILIES)}")
    level, judged_only = _arguments(name, match["arguments"])
    judged_only = judged_only or bool(match["early"] or match["prime"])
    k = int(match["k"]) if match["k"] else None
    for complaint in _complaints(match["family"], family, level, k, judged_only):
        raise MeasureError(f"{name!r}: {complaint}")
    return Measure(match["family"], 1 if level is None else level, k, judged_only)


def parse_measures(names: Iterable[str]) -> list[Measure]:
    """Read several names; one that is given twice, in whatever spelling, is kept once."""
    return list(dict.fromkeys(parse_measure(name) for name in names))


def _arguments(name: str, text: str | None) -> tuple[int | None, bool]:
    """The level, None where none is given, and whether only judged documents count."""
    level, judged_only = None, False
    for part in (text or "").split(",") if text is not None else ():
        key, _, value = (word.strip() for word in part.partition("="))
        if key == "rel" and re.fullmatch(r"[1-9]\d{0,3}", value):
            level = int(value)
        elif key == "judged_only" and value in {"True", "False"}:
            judged_only = value == "True"
        else:
            raise MeasureError(
                f"{name!r}: {part.strip()!r} is not accepted; use rel=LEVEL (a grade of at least 1) or judged_only=True"
            )
    return level, judged_only


def _complaints(
    name: str, family: Family, level: int | None, k: int | None, judged_only: bool
) -> Iterable[str]:
    if level is not None and not family.has_level:
        yield f"{name} takes no rel="
    if k is not None and family.cutoff == "never":
        yield f"{name} takes no @k"
    if k is None and family.cutoff == "required":
        yield f"{name} needs a rank, as in {name}@10"
    if k is not None and k < 1:
        yield "the rank after @ must be at least 1"
    if judged_only and not family.has_prime:
        yield f"{name} takes no prime"
