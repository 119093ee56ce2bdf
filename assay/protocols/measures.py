"""The notation of measures, as protocols and commands write them: `nDCG'`, `AP(rel=2)'`, `P(rel=2)@10'`.

A name is a family, then in parentheses what differs from its defaults (`rel=2` where a document counts as relevant
from another grade, `p=0.9`), then `@k` where only the top k ranks count, then a prime where unjudged documents are
removed first. `(judged_only=True)` and `(cutoff=10)`, as ir_measures writes them, say the same as prime and `@10`; its
names for families are understood as well. This module knows what may be written; `assay.measures` computes it. A new
family is a line in `FAMILIES` and a file there.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from assay.errors import InputError

Use = Literal["never", "optional", "required", "share"]
Summary = Literal["mean", "geometric mean", "sum"]


class MeasureError(InputError):
    """A measure's name that cannot be taken: what was wrong, and what is accepted."""


class Parameter(NamedTuple):
    """A number, or one of some words, that a family takes by name. No default: the qrels tell."""

    default: float | str | None
    low: float = 0.0
    high: float = 1.0
    words: tuple[str, ...] = ()

    def read(self, text: str) -> float | str | None:
        """What the text says; None if it is not accepted."""
        if self.words:
            return text.strip("'\"") if text.strip("'\"") in self.words else None
        is_number = re.fullmatch(r"\d{1,9}(\.\d{1,9})?|\.\d{1,9}", text) is not None
        return float(text) if is_number and self.low <= float(text) <= self.high else None

    @property
    def accepted(self) -> str:
        return " or ".join(self.words) if self.words else f"a number from {self.low:g} to {self.high:g}"


class Family(NamedTuple):
    """What may follow a family's name, and how its values are summed up over topics."""

    module: str  # of assay.measures.families, which computes it
    has_level: bool  # takes (rel=LEVEL)
    cutoff: Use  # takes @k; "share": takes a share of the relevant documents there, as in @0.1
    has_prime: bool  # may be computed with the unjudged documents removed
    title: str
    parameters: Mapping[str, Parameter] = MappingProxyType({})
    level: int = 1  # from which a document is relevant if nobody says; 0: the grades themselves count
    summary: Summary = "mean"


_P = Parameter(0.8, 0.0, 0.999999)
_TOP = Parameter(None, 1, 999)
_SWITCH = Parameter("False", words=("True", "False"))

FAMILIES: dict[str, Family] = {
    "nDCG": Family(
        "ndcg",
        False,
        "optional",
        True,
        "normalized discounted cumulative gain",
        {"dcg": Parameter("log2", words=("log2", "exp-log2"))},
    ),
    "AP": Family("average_precision", True, "optional", True, "average precision"),
    "P": Family("precision", True, "required", True, "precision at rank {k}"),
    "R": Family("recall", True, "required", True, "recall at rank {k}"),
    "Rprec": Family(
        "r_precision", True, "never", True, "precision at rank R, the number of relevant documents"
    ),
    "RR": Family("reciprocal_rank", True, "optional", True, "reciprocal rank of the first relevant document"),
    "bpref": Family("bpref", True, "never", True, "binary preference"),
    "judged": Family("judged", False, "optional", False, "share of the ranks that is judged"),
    "Success": Family(
        "success", True, "required", True, "whether there is a relevant document among the top {k}"
    ),
    "ERR": Family("err", False, "optional", True, "expected reciprocal rank", {"max_rel": _TOP}),
    "Q": Family("q_measure", True, "optional", True, "Q-measure", {"beta": Parameter(1.0, 0, 1000)}),
    "RBP": Family(
        "rank_biased_precision",
        True,
        "optional",
        True,
        "rank-biased precision",
        {"p": _P, "max_rel": _TOP},
        level=0,
    ),
    "RBPresid": Family(
        "rank_biased_precision",
        False,
        "optional",
        False,
        "what rank-biased precision could still gain if all were judged",
        {"p": _P},
    ),
    "infAP": Family("inferred", True, "never", True, "inferred average precision"),
    "IPrec": Family("interpolated", True, "share", True, "interpolated precision at recall {recall}"),
    "P-hit": Family("sets", True, "never", True, "share of all returned documents that is relevant"),
    "SetP": Family("sets", True, "never", True, "precision of the set returned", {"relative": _SWITCH}),
    "SetR": Family("sets", True, "never", True, "recall of the set returned"),
    "SetF": Family(
        "sets", True, "never", True, "F measure of the set returned", {"beta": Parameter(1.0, 0, 1000)}
    ),
    "SetAP": Family("sets", True, "never", True, "precision by recall of the set returned"),
    "GMAP": Family(
        "average_precision",
        True,
        "optional",
        True,
        "average precision, geometric mean",
        summary="geometric mean",
    ),
    "GMbpref": Family(
        "bpref", True, "never", True, "binary preference, geometric mean", summary="geometric mean"
    ),
    "NumRet": Family("sets", True, "never", True, "documents returned", level=0, summary="sum"),
    "NumRel": Family("sets", True, "never", False, "relevant documents in the qrels", summary="sum"),
}

# What ir_measures calls them, and other common names: the family, and arguments that the name implies.
ALIASES: dict[str, tuple[str, str]] = {
    "NDCG": ("nDCG", ""),
    "MAP": ("AP", ""),
    "Precision": ("P", ""),
    "Recall": ("R", ""),
    "RPrec": ("Rprec", ""),
    "MRR": ("RR", ""),
    "Bpref": ("bpref", ""),
    "BPref": ("bpref", ""),
    "Judged": ("judged", ""),
    "SetRelP": ("SetP", "relative=True"),
    "NumRelRet": ("NumRet", "rel=1"),
}

# The prime stands last; before the cutoff, as in P'@10, it is understood as well.
_NAME = (  # compiled when a name is read
    r"(?P<family>[A-Za-z]+(?:-[a-z]+)?)(?:\((?P<arguments>[^()]*)\))?"
    r"(?P<early>'(?=@))?(?:@(?P<at>\d{1,6}(?:\.\d{1,6})?|\.\d{1,6}))?(?P<prime>'?)"
)
_EXAMPLES = "nDCG', AP(rel=2)', P(rel=2)@10', bpref(rel=2), judged@10"


@dataclass(frozen=True, slots=True, order=True)
class Measure:
    """One measure. `str` gives its name as Assay writes it, however it was written."""

    family: str
    level: int = 1  # the grade from which a document is relevant
    k: int | None = None  # ranks that count; all if None
    judged_only: bool = False
    parameters: tuple[tuple[str, float | str], ...] = ()  # those that differ from the defaults

    def __str__(self) -> str:
        family = FAMILIES[self.family]
        given = dict(self.parameters)
        arguments = [f"rel={self.level}"] if self.level != family.level and family.has_level else []
        arguments += [f"{name}={_written(given[name])}" for name in family.parameters if name in given]
        at = self.k if self.k is not None else given.get("recall")
        return (
            self.family
            + (f"({','.join(arguments)})" if arguments else "")
            + (f"@{_written(at)}" if at is not None else "")
            + ("'" if self.judged_only else "")
        )

    @property
    def title(self) -> str:
        """What the name means, for a reader who does not know the notation."""
        family = FAMILIES[self.family]
        recall = _written(dict(self.parameters).get("recall", 0.0))
        said = family.title.format(k=self.k, recall=recall)
        if self.k is not None and family.cutoff == "optional" and "{k}" not in family.title:
            said += f" over the top {self.k} ranks"
        if family.has_level and self.level:
            said += f", relevant from grade {self.level}"
        for name, value in self.parameters:
            said += f", {name} {_written(value)}" if name in family.parameters else ""
        return said + (", unjudged documents removed" if self.judged_only else "")

    def number(self, name: str) -> float | None:
        """The value of a parameter that is a number; None where the qrels tell."""
        value = self._value(name)
        return None if value is None else float(value)

    def word(self, name: str) -> str:
        """The value of a parameter that is a word."""
        return str(self._value(name))

    def _value(self, name: str) -> float | str | None:
        default = FAMILIES[self.family].parameters.get(name, _TOP).default
        return dict(self.parameters).get(name, default)


def _written(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.9g}"


class _Arguments:
    """What stands in a name's parentheses."""

    def __init__(self) -> None:
        self.level: int | None = None
        self.k: int | None = None
        self.judged_only = False
        self.parameters: dict[str, float | str] = {}


def parse_measure(name: str) -> Measure:
    """Read a measure's name.

    Raises
    ------
    MeasureError
        The name is not in the notation, its family is unknown, or something that the family does not take is given.
    """
    match = re.fullmatch(_NAME, name.strip())
    if match is None:
        raise MeasureError(f"{name!r} is no measure; write it like {_EXAMPLES}")
    called, implied = ALIASES.get(match["family"], (match["family"], ""))
    family = FAMILIES.get(called)
    if family is None:
        raise MeasureError(f"{name!r}: there is no measure {called!r}; use {', '.join(FAMILIES)}")
    said = _arguments(name, family, match["arguments"], implied)
    said.judged_only |= bool(match["early"] or match["prime"])
    if match["at"] is not None:
        _take_cutoff(name, family, said, match["at"])
    for complaint in _complaints(called, family, said):
        raise MeasureError(f"{name!r}: {complaint}")
    given = {n: v for n, v in said.parameters.items() if n == "recall" or v != family.parameters[n].default}
    level = family.level if said.level is None else said.level
    return Measure(called, level, said.k, said.judged_only, tuple(sorted(given.items())))


def parse_measures(names: Iterable[str]) -> list[Measure]:
    """Read several names; one that is given twice, in whatever spelling, is kept once."""
    return list(dict.fromkeys(parse_measure(name) for name in names))


def _arguments(name: str, family: Family, text: str | None, implied: str) -> _Arguments:
    said = _Arguments()
    parts = [*([implied] if implied else []), *(text.split(",") if text is not None else [])]
    for part in parts:
        key, _, value = (word.strip() for word in part.partition("="))
        if not _is_taken(said, family, key, value):
            accepted = ["rel=LEVEL (a grade of at least 1)", "judged_only=True", "cutoff=RANK"]
            accepted += [f"{key}= {parameter.accepted}" for key, parameter in family.parameters.items()]
            raise MeasureError(f"{name!r}: {part.strip()!r} is not accepted; use {', '.join(accepted)}")
    return said


def _is_taken(said: _Arguments, family: Family, key: str, value: str) -> bool:
    if key == "rel" and re.fullmatch(r"[1-9]\d{0,3}", value):
        said.level = int(value)
    elif key == "judged_only" and value in {"True", "False"}:
        said.judged_only = value == "True"
    elif key == "cutoff" and re.fullmatch(r"\d{1,6}", value):
        said.k = int(value)
    elif key == "recall" and family.cutoff == "share":
        return _is_recall(said, value)
    elif key in family.parameters:
        read = family.parameters[key].read(value)
        if read is None:
            return False
        said.parameters[key] = read
    else:
        return False
    return True


def _is_recall(said: _Arguments, value: str) -> bool:
    read = Parameter(None).read(value)
    if read is not None:
        said.parameters["recall"] = read
    return read is not None


def _take_cutoff(name: str, family: Family, said: _Arguments, at: str) -> None:
    if family.cutoff == "share":
        if not _is_recall(said, at):
            raise MeasureError(f"{name!r}: after @ stands a share of the relevant documents, from 0 to 1")
    elif "." in at:
        raise MeasureError(f"{name!r}: the rank after @ is a whole number")
    else:
        said.k = int(at)


def _complaints(name: str, family: Family, said: _Arguments) -> Iterable[str]:
    if said.level is not None and not family.has_level:
        yield f"{name} takes no rel="
    if said.k is not None and family.cutoff in {"never", "share"}:
        yield f"{name} takes no @k" if family.cutoff == "never" else f"{name} takes a share, as in {name}@0.1"
    if said.k is None and family.cutoff == "required":
        yield f"{name} needs a rank, as in {name}@10"
    if "recall" not in said.parameters and family.cutoff == "share":
        yield f"{name} needs a share of the relevant documents, as in {name}@0.1"
    if said.k is not None and said.k < 1:
        yield "the rank after @ must be at least 1"
    if said.judged_only and not family.has_prime:
        yield f"{name} takes no prime"
