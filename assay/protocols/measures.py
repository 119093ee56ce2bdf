"""The notation of measures in protocols and commands: `nDCG'`, `AP(rel=2)'`, `P(rel=2)@10'`.

A name has up to four parts: the family; in parentheses the parameters that differ from its defaults, such as `rel=2`
(the grade from which a document is relevant) or `p=0.9`; `@k` if only the top k ranks count; and a prime if unjudged
documents are removed first. The notation of ir_measures is also accepted: `(judged_only=True)` and `(cutoff=10)`
equal the prime and `@10`, and its names of families are aliases. This module parses the names; `assay.measures`
computes the values. To add a family, add an entry to `FAMILIES`, and a kernel to the table in `assay.measures.scores`.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from math import inf
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from assay.errors import InputError, plural

Use = Literal["never", "optional", "required", "share"]
Summary = Literal["mean", "geometric mean", "sum", "ratio of sums"]
# What lines of qrels have besides topic, docno and grade. `assay.formats.qrels.columns` has their columns.
QrelsKind = Literal["grades", "subtopics", "strata", "probabilities", "preferences", "nuggets"]


class MeasureError(InputError):
    """A name is not a measure. The message says what is wrong, and what is accepted."""


class Parameter(NamedTuple):
    """A parameter of a family: a number, one of some words, or a table of numbers by grade, such as `{1:1,2:3}`.

    Without a default, the value comes from the qrels.
    """

    default: float | str | None
    low: float = 0.0
    high: float = 1.0
    words: tuple[str, ...] = ()
    is_table: bool = False

    def read(self, text: str) -> float | str | None:
        """The value of a text; None if it is not accepted."""
        if self.is_table:
            if not re.fullmatch(r"\{(\s*\d{1,3}\s*:\s*\d{1,6}\s*(,|(?=\})))+\}", text):
                return None
            pairs = (pair.split(":") for pair in text[1:-1].split(",") if pair.strip())
            numbers = {int(grade): int(number) for grade, number in pairs}
            return "{" + ",".join(f"{grade}:{number}" for grade, number in sorted(numbers.items())) + "}"
        if self.words:
            return text.strip("'\"") if text.strip("'\"") in self.words else None
        is_number = re.fullmatch(r"\d{1,9}(\.\d{1,9})?|\.\d{1,9}", text) is not None
        return float(text) if is_number and self.low <= float(text) <= self.high else None

    @property
    def accepted(self) -> str:
        if self.is_table:
            return "whole numbers by grade, as in {1:1,2:3}"
        return " or ".join(self.words) if self.words else f"a number from {self.low:g} to {self.high:g}"


class Family(NamedTuple):
    """The arguments that a family accepts, and the summary of its values over topics."""

    has_level: bool  # accepts (rel=LEVEL)
    cutoff: Use  # accepts @k; "share": accepts a share of the relevant documents, as in @0.1
    has_prime: bool  # accepts a prime: unjudged documents removed
    title: str
    parameters: Mapping[str, Parameter] = MappingProxyType({})
    level: int = 1  # the default grade from which a document is relevant; 0: the grades themselves count
    summary: Summary = "mean"
    in_characters: bool = False  # counts characters of citations, and not documents
    qrels: QrelsKind = "grades"  # the qrels that it needs
    of_answers: bool = False  # about generated answers, and not documents
    most: float = 1.0  # no value is larger


_P = Parameter(0.8, 0.0, 0.999999)
_TOP = Parameter(None, 1, 999)
_SWITCH = Parameter("False", words=("True", "False"))
_ALPHA, _BETA = Parameter(0.5, 0.0, 1.0), Parameter(0.5, 0.0, 0.999999)
_DCG = Parameter("log2", words=("log2", "exp-log2"))
_GAINS = Parameter("{}", is_table=True)
_PER = Parameter("qrels", words=("qrels", "topic"))  # whose highest grade counts if there is no max_rel
_STOP = Parameter("exp", words=("exp", "linear"))
_SCALE = {"min_rel": Parameter(0.0, 0, 998), "max_rel": _TOP}  # the grades with gain 0 and 1
_FULL = {"max_rel": Parameter(2.0, 1, 999)}  # the grade of full support
_CITED = {"citations": Parameter(1.0, 1, 1000), **_FULL}  # of a sentence that count
_GOAL = {"T": Parameter(1.0, 0.000001, 1000), **_SCALE}

# fmt: off
FAMILIES: dict[str, Family] = {
    "nDCG": Family(False, "optional", True, "normalized discounted cumulative gain", {"dcg": _DCG, "gains": _GAINS}),
    "AP": Family(True, "optional", True, "average precision",
        {"norm": Parameter("relevant", words=("relevant", "retrieved"))}),
    "P": Family(True, "required", True, "precision at rank {k}"),
    "R": Family(True, "required", True, "recall at rank {k}"),
    "Rprec": Family(True, "never", True, "precision at rank R, the number of relevant documents"),
    "RR": Family(True, "optional", True, "reciprocal rank of the first relevant document"),
    "bpref": Family(True, "never", True, "binary preference"),
    "judged": Family(False, "optional", False, "share of the ranks that is judged"),
    "Success": Family(True, "required", True, "whether there is a relevant document among the top {k}"),
    "DCG": Family(False, "optional", True, "discounted cumulative gain", {"dcg": _DCG, "gains": _GAINS}, level=0,
        most=inf),
    "CG": Family(False, "required", True, "sum of the grades of the top {k} ranks", level=0, most=inf),
    "ERR": Family(False, "optional", True, "expected reciprocal rank", {"max_rel": _TOP, "stop": _STOP, "per": _PER}),
    "nERR": Family(False, "optional", True, "expected reciprocal rank, divided by that of the best ranking",
        {"max_rel": _TOP, "stop": _STOP._replace(default="linear"), "per": _PER}),
    "iRBU": Family(False, "optional", True, "intentwise rank-biased utility",
        {"p": _P._replace(default=0.99), "max_rel": _TOP, "stop": _STOP._replace(default="linear"), "per": _PER}),
    "Q": Family(True, "optional", True, "Q-measure", {"beta": Parameter(1.0, 0, 1000)}),
    "RBP": Family(True, "optional", True, "rank-biased precision", {"p": _P, "max_rel": _TOP}, level=0),
    "RBPresid": Family(False, "optional", False,
        "residual of rank-biased precision: the most that unjudged documents could add", {"p": _P}),
    "infAP": Family(True, "never", True, "inferred average precision"),
    "IPrec": Family(True, "share", True, "interpolated precision at recall {recall}"),
    "Grade": Family(False, "required", True, "average grade of the top {k} ranks", level=0, most=inf),
    "P-hit": Family(True, "never", True, "share of relevant documents among all returned documents"),
    "SetP": Family(True, "never", True, "precision of the set returned", {"relative": _SWITCH}),
    "SetR": Family(True, "never", True, "recall of the set returned"),
    "SetF": Family(True, "never", True, "F measure of the set returned", {"beta": Parameter(1.0, 0, 1000)}),
    "SetAP": Family(True, "never", True, "precision times recall of the set returned"),
    "GMAP": Family(True, "optional", True, "average precision, geometric mean", summary="geometric mean"),
    "GMbpref": Family(True, "never", True, "binary preference, geometric mean", summary="geometric mean"),
    "INST": Family(False, "never", True, "gain per document of a reader who wants a total gain", _GOAL),
    "INSQ": Family(False, "never", True, "gain per document of a reader who expects a total gain", _GOAL),
    "BPM": Family(False, "required", True, "gain per document up to a total gain, or to rank {k}", _GOAL),
    "SDCG": Family(False, "required", True, "discounted cumulative gain, divided by that of {k} best documents",
        _SCALE),
    "NERR8": Family(False, "required", True, "gain per document of a reader who may stop at each gain", _SCALE),
    "NERR9": Family(False, "required", True, "gain per document of a reader who may stop at each gain and rank",
        _SCALE),
    "NERR10": Family(False, "never", True,
        "gain per document of a reader who may stop at each gain, or goes on with probability p",
        {"p": _P._replace(default=0.9), **_SCALE}),
    "NERR11": Family(False, "never", True,
        "gain per document of a reader who may stop at each gain and expects a total", _GOAL),
    "Compat": Family(False, "never", False, "compatibility with the best ranking: their rank-biased overlap",
        {"p": _P._replace(default=0.95), "normalize": _SWITCH._replace(default="True")}),
    "PGC": Family(False, "never", False, "compatibility with the best ranking that preferences allow", {"p": _P},
        qrels="preferences"),
    "alpha_nDCG": Family(True, "optional", True,
        "discounted cumulative gain of new subtopics, divided by that of the best ranking", {"alpha": _ALPHA},
        qrels="subtopics"),
    "alpha_DCG": Family(True, "optional", True, "discounted cumulative gain of new subtopics, divided by its bound",
        {"alpha": _ALPHA}, qrels="subtopics"),
    "ERR_IA": Family(True, "optional", True, "expected reciprocal rank over subtopics", {"alpha": _ALPHA},
        qrels="subtopics"),
    "nERR_IA": Family(True, "optional", True,
        "expected reciprocal rank over subtopics, divided by that of the best ranking", {"alpha": _ALPHA},
        qrels="subtopics"),
    "StRecall": Family(True, "optional", True, "share of the subtopics that are found", qrels="subtopics"),
    "P_IA": Family(True, "required", True, "precision at rank {k}, mean over subtopics", qrels="subtopics"),
    "AP_IA": Family(True, "never", True, "average precision, mean over subtopics", qrels="subtopics"),
    "NRBP": Family(True, "never", True, "rank-biased precision of new subtopics", {"alpha": _ALPHA, "beta": _BETA},
        qrels="subtopics"),
    "nNRBP": Family(True, "never", True, "rank-biased precision of new subtopics, divided by that of the best ranking",
        {"alpha": _ALPHA, "beta": _BETA}, qrels="subtopics"),
    "xinfAP": Family(True, "never", False, "average precision, inferred from samples of strata", qrels="strata",
        most=inf),
    "infNDCG": Family(False, "never", False, "normalized discounted cumulative gain, inferred from samples of strata",
        qrels="strata", most=inf),
    "iP": Family(True, "required", False, "precision at rank {k}, inferred from samples of strata", qrels="strata",
        most=inf),
    "statAP": Family(True, "never", False, "average precision, estimated from a sample",
        {"iprob": Parameter("1", words=("1", "given"))}, qrels="probabilities", most=inf),
    **{
        f"{name}{strict}": Family(
            False,
            "never",
            False,
            f"share of the {nuggets} that the answer contains{', in full' if strict else ''}",
            _FULL,
            qrels="nuggets",
            of_answers=True,
        )
        for strict in ("", "_strict")
        for name, nuggets in (("V", "vital nuggets"), ("A", "nuggets"), ("W", "nuggets, okay ones half,"))
    },
    **{
        name: Family(False, "never", False, title, _CITED, of_answers=True)
        for name, title in (
            ("SupportP", "support of the sentences that cite something"),
            ("SupportR", "support of all sentences"),
            ("SupportF", "F measure of the support of sentences, equal weights"),
        )
    },
    "charP": Family(True, "required", False, "precision at rank {k}, in characters of citations", in_characters=True),
    "charR": Family(True, "required", False, "recall at rank {k}, in characters", in_characters=True),
    "charF": Family(True, "required", False, "F measure at rank {k}, in characters, equal weights",
        in_characters=True),
    "charRprec": Family(True, "never", False, "precision at rank R, the number of relevant citations, in characters",
        in_characters=True),
    "charAP": Family(True, "optional", False, "average precision in characters", in_characters=True),
    "charIPrec": Family(True, "share", False, "interpolated precision at recall {recall}, in characters",
        in_characters=True),
    "AvgRec": Family(True, "required", True,
        "average recall at the ranks 1 to {k}, as a share of the most that is possible", summary="ratio of sums"),
    "labelAcc": Family(True, "never", False, "accuracy of the labels", summary="ratio of sums"),
    "labelP": Family(True, "never", False, "precision of the labels", summary="ratio of sums"),
    "labelR": Family(True, "never", False, "recall of the labels", summary="ratio of sums"),
    "labelF": Family(True, "never", False, "F measure of the labels, equal weights", summary="ratio of sums"),
    "NumRet": Family(True, "never", True, "documents returned", level=0, summary="sum"),
    "NumRel": Family(True, "never", False, "relevant documents in the qrels", summary="sum"),
}
# fmt: on

# Names of ir_measures and other common names: the family, and the arguments that the name implies.
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
    "AG": ("Grade", ""),
    "MSnDCG": ("nDCG", ""),  # the base of its logarithm cancels
    "MAP_IA": ("AP_IA", ""),
    "vital_score": ("V", ""),
    "all_score": ("A", ""),
    "strict_vital_score": ("V_strict", ""),
    "strict_all_score": ("A_strict", ""),
    "α_DCG": ("alpha_DCG", ""),
    "α_nDCG": ("alpha_nDCG", ""),
}

# The prime is last; before the cutoff, as in P'@10, it is accepted too.
_NAME = (  # compiled when the first name is read
    r"(?P<family>[A-Za-zα][A-Za-z0-9_]*(?:-[a-z]+)?)(?:\((?P<arguments>[^()]*)\))?"
    r"(?P<early>'(?=@))?(?:@(?P<at>\d{1,6}(?:\.\d{1,6})?|\.\d{1,6}))?(?P<prime>'?)"
)
# Names that other tools and papers use, in lower case without separators: the measure that is meant. A rank at the end
# of the name is added where the measure accepts one.
_ELSEWHERE = {
    name: measure
    for measure, names in {
        "AP": "map mapcut ap avgprec averageprecision meanaverageprecision",
        "nDCG": "ndcgcut normalizeddiscountedcumulativegain normalizeddcg",
        "nDCG(dcg=exp-log2)": "ndcgburges ndcgexp expndcg",
        "DCG": "discountedcumulativegain",
        "DCG(dcg=exp-log2)": "dcgburges dcgexp expdcg",
        "RR": "reciprank mrr reciprocalrank meanreciprocalrank",
        "Rprec": "rprecision",
        "P": "prec precision p",
        "R": "recall rec",
        "Success": "hit hits hitrate hitratio hr accuracy acc top successrate",
        "SetP": "setprecision",
        "SetR": "setrecall setrec",
        "SetF": "f f1 fscore f1score fmeasure setf1 setfmeasure",
        "SetAP": "setmap",
        "GMAP": "gmmap",
        "Q": "qmeasure",
        "ERR": "expectedreciprocalrank",
        "RBP": "rankbiasedprecision",
        "IPrec": "iprecatrecall",
        "NumRelRet": "numrelret",
    }.items()
    for name in names.split()
}
# Names of trec_eval that only `assay trec_eval` computes.
_ONLY_TREC_EVAL = frozenset(
    ["11ptavg", "bing", "g", "utility", "rprecmult", "rndcg", "ndcgrel", "relstring", "numq", "runid"]
)
_MOST_RANKS = 999_999
_EXAMPLES = "nDCG', AP(rel=2)', P(rel=2)@10', bpref(rel=2), judged@10"


class Measure(NamedTuple):
    """A measure. `str` returns its canonical name."""

    family: str
    level: int = 1  # the grade from which a document is relevant
    k: int | None = None  # the number of ranks that count; None: all
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
        """The measure in words, for readers who do not know the notation."""
        family = FAMILIES[self.family]
        recall = _written(dict(self.parameters).get("recall", 0.0))
        title = family.title.format(k=self.k, recall=recall)
        if self.k is not None and family.cutoff == "optional" and "{k}" not in family.title:
            title += f" over the top {plural(self.k, 'rank')}"
        if family.has_level and self.level:
            title += f", relevant from grade {self.level}"
        for name, value in self.parameters:
            title += f", {name} {_written(value)}" if name in family.parameters else ""
        return title + (", unjudged documents removed" if self.judged_only else "")

    @property
    def in_characters(self) -> bool:
        """True if it counts characters of citations."""
        return FAMILIES[self.family].in_characters

    def number(self, name: str) -> float | None:
        """The value of a parameter that is a number; None if it comes from the qrels."""
        value = self._value(name)
        return None if value is None else float(value)

    def table(self, name: str) -> dict[int, int]:
        """The value of a parameter that is a table: numbers by grade."""
        pairs = (pair.split(":") for pair in self.word(name).strip("{}").split(",") if pair)
        return {int(grade): int(number) for grade, number in pairs}

    def word(self, name: str) -> str:
        """The value of a parameter that is a word."""
        return str(self._value(name))

    def _value(self, name: str) -> float | str | None:
        default = FAMILIES[self.family].parameters.get(name, _TOP).default
        return dict(self.parameters).get(name, default)


def qrels_of(measures: Iterable[Measure]) -> QrelsKind:
    """The kind of qrels that some measures need. Measures of grades are computed on every kind.

    Raises:
        MeasureError: They need different kinds.
    """
    needed = {FAMILIES[measure.family].qrels: measure for measure in measures}
    needed.pop("grades", None)
    if len(needed) > 1:
        first, second = sorted(needed.items())[:2]
        raise MeasureError(
            f"{first[1]} needs qrels with {first[0]}, {second[1]} needs {second[0]}; use one of them"
        )
    return next(iter(needed), "grades")


def with_level(measures: Iterable[Measure], old: int, new: int) -> list[Measure]:
    """The measures, with documents relevant from the grade `new` where they were from `old`."""
    return [measure._replace(level=new) if measure.level == old else measure for measure in measures]


def _written(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.9g}"


def parse_measure(name: str) -> Measure:
    """Read a measure's name.

    Raises:
        MeasureError: The name is not in the notation, the family is unknown, or it does not accept an argument.
    """
    match = re.fullmatch(_NAME, name.strip())
    if match is None:
        if re.fullmatch(r"[^@]+@\d{7,}'?", name.strip()):
            raise MeasureError(
                f"{name!r}: the rank after @ must be at most {_MOST_RANKS}; for all ranks, leave it out"
            )
        raise MeasureError(f"{name!r} is not a measure; {_meant(name) or 'write it like'} {_EXAMPLES}")
    called, implied = ALIASES.get(match["family"], (match["family"], ""))
    family = FAMILIES.get(called)
    if family is None:
        meant = _meant(name) or "use"
        raise MeasureError(f"{name!r}: there is no measure {called!r}; {meant} {', '.join(FAMILIES)}")
    given = _arguments(name, family, match, implied)
    level, k = given.pop("rel", None), given.pop("cutoff", None)
    judged_only = bool(given.pop("judged_only", False) or match["early"] or match["prime"])
    lacks_share = "recall" not in given and family.cutoff == "share"
    complaints = {
        f"{called} does not accept rel=": level is not None and not family.has_level,
        f"{called} does not accept @k": k is not None and family.cutoff == "never",
        f"{called} needs a share, as in {called}@0.1": k is not None and family.cutoff == "share",
        f"{called} needs a rank, as in {called}@10": k is None and family.cutoff == "required",
        f"{called} needs a share of the relevant documents, as in {called}@0.1": lacks_share,
        "the rank after @ must be at least 1": k is not None and k < 1,
        f"{called} does not accept a prime": judged_only and not family.has_prime,
    }
    if wrong := next((complaint for complaint, is_wrong in complaints.items() if is_wrong), ""):
        raise MeasureError(f"{name!r}: {wrong}")
    defaults = {key: parameter.default for key, parameter in family.parameters.items()}
    own = sorted((key, value) for key, value in given.items() if value != defaults.get(key))
    return Measure(called, family.level if level is None else level, k, judged_only, tuple(own))


def _arguments(name: str, family: Family, match: re.Match[str], implied: str) -> dict[str, Any]:
    """The arguments in the parentheses of a name, and after its @, by key."""
    given: dict[str, Any] = {}
    parts = [implied] if implied else []
    if match["arguments"] is not None:  # a comma inside braces separates none
        protected = re.sub(r"\{[^{}]*\}", lambda table: table[0].replace(",", "\0"), match["arguments"])
        parts += [part.replace("\0", ",") for part in protected.split(",")]
    for part in parts:
        key, _, value = (word.strip() for word in part.partition("="))
        given[key] = _read(family, key, value)
        if given[key] is None:
            accepted = ["rel=LEVEL (a grade of at least 1)", "judged_only=True", "cutoff=RANK"]
            accepted += [f"{key}= {parameter.accepted}" for key, parameter in family.parameters.items()]
            raise MeasureError(f"{name!r}: {part.strip()!r} is not accepted; use {', '.join(accepted)}")
    if match["at"] is not None and family.cutoff == "share":
        given["recall"] = Parameter(None).read(match["at"])
        if given["recall"] is None:
            raise MeasureError(
                f"{name!r}: the number after @ must be a share of the relevant documents, from 0 to 1"
            )
    elif match["at"] is not None:
        if "." in match["at"]:
            raise MeasureError(f"{name!r}: the rank after @ must be a whole number")
        given["cutoff"] = int(match["at"])
    return given


def _read(family: Family, key: str, value: str) -> float | str | None:
    """The value of an argument; None if it is not accepted."""
    if key == "rel":
        return int(value) if re.fullmatch(r"[1-9]\d{0,3}", value) else None
    if key == "judged_only":
        return {"True": True, "False": False}.get(value)
    if key == "cutoff":
        return int(value) if re.fullmatch(r"\d{1,6}", value) else None
    if key == "recall" and family.cutoff == "share":
        return Parameter(None).read(value)
    return family.parameters[key].read(value) if key in family.parameters else None


def _meant(name: str) -> str:
    """A hint for a name that other tools use, or that is written almost like ours; empty if there is none.

    >>> _meant("ndcg_cut_10"), _meant("rbp.95"), _meant("Hit@10")
    ('did you mean nDCG@10? Use', 'did you mean RBP(p=0.95)? Use', 'did you mean Success@10? Use')
    """
    plain = re.sub(r"f[-_]?1(?![.\d])", "f", name.strip().lower().removesuffix("@all"))
    match = re.match(r"(.*?[a-z])[-_ .]*+(?:\([^()]*+\))?[-_.@]*+(\d*+\.?+\d*+)'?$", plain)
    if match is None:
        return ""
    called, number = re.sub(r"[-_ .]", "", match[1]), match[2]
    if called in _ONLY_TREC_EVAL:
        return "only assay trec_eval computes it; here, use"
    if called in {"hole", "holes", "unjudged"}:
        return f"did you mean judged{_at('judged', number)}, the share that is judged? Use"
    ours = {re.sub("[-_]", "", family.lower()): family for family in FAMILIES}
    close = difflib.get_close_matches(called, ours, 1, 0.7)
    measure = ours.get(called) or _ELSEWHERE.get(called) or (ours[close[0]] if close else "")
    if not measure:
        return ""
    at = _at(measure, number)
    return f"did you mean {measure}{at}{', which takes no rank' if number and not at else ''}? Use"


def _at(measure: str, number: str) -> str:
    """The end of a name with the number of a foreign one: a rank, a share of the relevant documents, or p."""
    family = FAMILIES[ALIASES.get(measure, (measure, ""))[0].partition("(")[0]]
    if not number:
        return ""
    is_share = "." in number or number.startswith("0") or len(number) > 6
    if family.cutoff == "share":
        return f"@{float(number):g}" if float(number) <= 1 else ""
    if "p" in family.parameters and (
        is_share or (measure == "RBP" and len(number) == 2 and int(number) > 50)
    ):
        share = float(number) if "." in number else int(number) / 10 ** len(number)
        return f"(p={share:g})"
    return f"@{number}" if family.cutoff in {"optional", "required"} and not is_share else ""


def parse_measures(names: Iterable[str]) -> list[Measure]:
    """Read several names. A measure that is listed twice, in any spelling, is kept once."""
    return list(dict.fromkeys(parse_measure(name) for name in names))
