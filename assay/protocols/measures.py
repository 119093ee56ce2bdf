"""The notation of measures in protocols and commands: `nDCG'`, `AP(rel=2)'`, `P(rel=2)@10'`.

A name has up to four parts: the family; in parentheses the parameters that differ from its defaults, such as `rel=2`
(the grade from which a document is relevant) or `p=0.9`; `@k` if only the top k ranks count; and a prime if unjudged
documents are removed first. The notation of ir_measures is also accepted: `(judged_only=True)` and `(cutoff=10)`
equal the prime and `@10`, and its names of families are aliases. This module parses the names; `assay.measures`
computes the values. A family is an entry of `FAMILIES`, which names its kernel.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal, NamedTuple

from assay.errors import InputError, plural
from assay.extensions import Point, Reference, Registry

Use = Literal["never", "optional", "required", "share"]
Summary = Literal["mean", "geometric mean", "sum", "ratio of sums"]
# What lines of qrels have besides topic, docno and grade. `assay.formats.qrels.columns` has their columns.
QrelsKind = Literal["grades", "subtopics", "strata", "probabilities", "preferences", "nuggets"]


FAMILY = "[0-9]{0,2}[A-Za-zα][A-Za-z0-9_]*(?:-[a-z]+)?"  # the name of one


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


@dataclass(frozen=True)
class MeasureFamily(Point):
    """Measures that have a name and a kernel in common, and differ by their arguments.

    Attributes:
        name: of letters, digits and underscores, beginning with a letter or one or two digits, as in `nDCG@10`.
        title: the measure in words; `{k}` is the number of ranks, `{recall}` the share of the relevant documents.
        compute: reference of the kernel `compute(hits, judged, measure)`, which returns a value for each topic of the
            qrels: `assay.measures.kernels:ndcg`. See `Hits` and `JudgedDocuments` in `assay.measures.matching`.
        has_level: whether it accepts `rel=`, the grade from which a document is relevant.
        cutoff: whether it accepts `@k`: "never", "optional" or "required"; "share": it needs a share of the relevant
            documents, as in `@0.1`.
        has_prime: whether it accepts a prime: unjudged documents are removed first.
        parameters: other arguments by their names.
        level: the grade from which a document is relevant by default; 0: the grades themselves count.
        summary: how the values are summarized over topics: "mean", "geometric mean", "sum" or "ratio of sums".
        in_characters: whether it counts characters of citations, and not documents.
        qrels: the kind of qrels that it needs: "grades", "subtopics", "strata", "probabilities", "preferences" or
            "nuggets".
        of_answers: whether it is about generated answers, and not documents.
        least: no value is smaller.
        most: no value is larger.
        counts: for the summary "ratio of sums": reference of a function with the same parameters that returns counts
            of each topic as (topics, n). They are added up, and `compute(counts)` is the value of each row.
    """

    noun = "measure"

    compute: Reference
    has_level: bool
    cutoff: Use
    has_prime: bool
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    level: int = 1
    summary: Summary = "mean"
    in_characters: bool = False
    qrels: QrelsKind = "grades"
    of_answers: bool = False
    least: float = 0.0
    most: float = 1.0
    counts: Reference = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not re.fullmatch(FAMILY, self.name):
            raise ValueError(
                f"{self.name!r} cannot be the name of a measure; use letters, digits and underscores"
            )
        try:
            self.title.format(k=1, recall=1)
        except (LookupError, ValueError):
            raise ValueError(
                f"measure {self.name}: title: expected {{k}} and {{recall}} in braces only, got {self.title!r}"
            ) from None
        if not all(isinstance(parameter, Parameter) for parameter in self.parameters.values()):
            raise ValueError(f"measure {self.name}: parameters: expected objects of Parameter by their names")
        if bool(self.counts) != (self.summary == "ratio of sums"):
            raise ValueError(f'measure {self.name}: counts: expected with the summary "ratio of sums" only')


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
FAMILIES = Registry(MeasureFamily, [
    MeasureFamily("nDCG", "normalized discounted cumulative gain", "assay.measures.kernels:ndcg", False, "optional",
        True, {"dcg": _DCG, "gains": _GAINS}),
    MeasureFamily("AP", "average precision", "assay.measures.kernels:average_precision", True, "optional", True,
        {"norm": Parameter("relevant", words=("relevant", "retrieved", "best"))}),
    MeasureFamily("P", "precision at rank {k}", "assay.measures.kernels:precision", True, "required", True),
    MeasureFamily("R", "recall at rank {k}", "assay.measures.kernels:recall", True, "required", True),
    MeasureFamily("Rprec", "precision at rank R, the number of relevant documents",
        "assay.measures.kernels:r_precision", True, "never", True),
    MeasureFamily("RR", "reciprocal rank of the first relevant document", "assay.measures.kernels:reciprocal_rank",
        True, "optional", True),
    MeasureFamily("bpref", "binary preference", "assay.measures.kernels:bpref", True, "never", True),
    MeasureFamily("judged", "share of the ranks that is judged", "assay.measures.kernels:judged_share", False,
        "optional", False),
    MeasureFamily("Success", "whether there is a relevant document among the top {k}",
        "assay.measures.kernels:success", True, "required", True),
    MeasureFamily("DCG", "discounted cumulative gain", "assay.measures.kernels:dcg", False, "optional", True,
        {"dcg": _DCG, "gains": _GAINS}, level=0, most=inf),
    MeasureFamily("CG", "sum of the grades of the top {k} ranks", "assay.measures.kernels:cumulative_gain", False,
        "required", True, level=0, most=inf),
    MeasureFamily("ERR", "expected reciprocal rank", "assay.measures.kernels:expected_reciprocal_rank", False,
        "optional", True, {"max_rel": _TOP, "stop": _STOP, "per": _PER}),
    MeasureFamily("nERR", "expected reciprocal rank, divided by that of the best ranking",
        "assay.measures.kernels:normalized_err", False, "optional", True,
        {"max_rel": _TOP, "stop": _STOP._replace(default="linear"), "per": _PER}),
    MeasureFamily("iRBU", "intentwise rank-biased utility", "assay.measures.kernels:intentwise_utility", False,
        "optional", True,
        {"p": _P._replace(default=0.99), "max_rel": _TOP, "stop": _STOP._replace(default="linear"), "per": _PER}),
    MeasureFamily("Q", "Q-measure", "assay.measures.kernels:q_measure", True, "optional", True,
        {"beta": Parameter(1.0, 0, 1000)}),
    MeasureFamily("RBP", "rank-biased precision", "assay.measures.kernels:rank_biased_precision", True, "optional",
        True, {"p": _P, "max_rel": _TOP}, level=0),
    MeasureFamily("RBPresid", "residual of rank-biased precision: the most that unjudged documents could add",
        "assay.measures.kernels:residual", False, "optional", False, {"p": _P}),
    MeasureFamily("infAP", "inferred average precision", "assay.measures.kernels:inferred_average_precision", True,
        "never", True),
    MeasureFamily("IPrec", "interpolated precision at recall {recall}", "assay.measures.kernels:precision_at_recall",
        True, "share", True),
    MeasureFamily("Grade", "average grade of the top {k} ranks", "assay.measures.kernels:average_grade", False,
        "required", True, level=0, most=inf),
    MeasureFamily("P-hit", "share of relevant documents among all returned documents",
        "assay.measures.kernels:set_precision", True, "never", True),
    MeasureFamily("SetP", "precision of the set returned", "assay.measures.kernels:set_precision", True, "never",
        True, {"relative": _SWITCH}),
    MeasureFamily("SetR", "recall of the set returned", "assay.measures.kernels:set_recall", True, "never", True),
    MeasureFamily("SetF", "F measure of the set returned", "assay.measures.kernels:set_f", True, "never", True,
        {"beta": Parameter(1.0, 0, 1000)}),
    MeasureFamily("SetAP", "precision times recall of the set returned",
        "assay.measures.kernels:set_average_precision", True, "never", True),
    MeasureFamily("GMAP", "average precision, geometric mean", "assay.measures.kernels:average_precision", True,
        "optional", True, summary="geometric mean"),
    MeasureFamily("GMbpref", "binary preference, geometric mean", "assay.measures.kernels:bpref", True, "never", True,
        summary="geometric mean"),
    MeasureFamily("INST", "gain per document of a reader who wants a total gain",
        "assay.measures.readers:expected_gain", False, "never", True, _GOAL),
    MeasureFamily("INSQ", "gain per document of a reader who expects a total gain",
        "assay.measures.readers:expected_gain", False, "never", True, _GOAL),
    MeasureFamily("BPM", "gain per document up to a total gain, or to rank {k}",
        "assay.measures.readers:expected_gain", False, "required", True, _GOAL),
    MeasureFamily("SDCG", "discounted cumulative gain, divided by that of {k} best documents",
        "assay.measures.readers:expected_gain", False, "required", True, _SCALE),
    MeasureFamily("NERR8", "gain per document of a reader who may stop at each gain",
        "assay.measures.readers:expected_gain", False, "required", True, _SCALE),
    MeasureFamily("NERR9", "gain per document of a reader who may stop at each gain and rank",
        "assay.measures.readers:expected_gain", False, "required", True, _SCALE),
    MeasureFamily("NERR10", "gain per document of a reader who may stop at each gain, or goes on with probability p",
        "assay.measures.readers:expected_gain", False, "never", True, {"p": _P._replace(default=0.9), **_SCALE}),
    MeasureFamily("NERR11", "gain per document of a reader who may stop at each gain and expects a total",
        "assay.measures.readers:expected_gain", False, "never", True, _GOAL),
    MeasureFamily("Compat", "compatibility with the best ranking: their rank-biased overlap",
        "assay.measures.overlap:compatibility", False, "never", False,
        {"p": _P._replace(default=0.95), "normalize": _SWITCH._replace(default="True")}),
    MeasureFamily("PGC", "compatibility with the best ranking that preferences allow",
        "assay.measures.overlap:preference_compatibility", False, "never", False, {"p": _P}, qrels="preferences"),
    MeasureFamily("alpha_nDCG", "discounted cumulative gain of new subtopics, divided by that of the best ranking",
        "assay.measures.diversity:normalized", True, "optional", True, {"alpha": _ALPHA}, qrels="subtopics"),
    MeasureFamily("alpha_DCG", "discounted cumulative gain of new subtopics, divided by its bound",
        "assay.measures.diversity:bounded", True, "optional", True, {"alpha": _ALPHA}, qrels="subtopics"),
    MeasureFamily("ERR_IA", "expected reciprocal rank over subtopics", "assay.measures.diversity:bounded", True,
        "optional", True, {"alpha": _ALPHA}, qrels="subtopics"),
    MeasureFamily("nERR_IA", "expected reciprocal rank over subtopics, divided by that of the best ranking",
        "assay.measures.diversity:normalized", True, "optional", True, {"alpha": _ALPHA}, qrels="subtopics"),
    MeasureFamily("StRecall", "share of the subtopics that are found", "assay.measures.diversity:subtopic_recall",
        True, "optional", True, qrels="subtopics"),
    MeasureFamily("P_IA", "precision at rank {k}, mean over subtopics", "assay.measures.diversity:subtopic_precision",
        True, "required", True, qrels="subtopics"),
    MeasureFamily("AP_IA", "average precision, mean over subtopics",
        "assay.measures.diversity:subtopic_average_precision", True, "never", True, qrels="subtopics"),
    MeasureFamily("NRBP", "rank-biased precision of new subtopics",
        "assay.measures.diversity:novelty_and_rank_biased_precision", True, "never", True,
        {"alpha": _ALPHA, "beta": _BETA}, qrels="subtopics"),
    MeasureFamily("nNRBP", "rank-biased precision of new subtopics, divided by that of the best ranking",
        "assay.measures.diversity:normalized_nrbp", True, "never", True, {"alpha": _ALPHA, "beta": _BETA},
        qrels="subtopics"),
    MeasureFamily("xinfAP", "average precision, inferred from samples of strata",
        "assay.measures.sampled:inferred_average_precision", True, "never", False, qrels="strata", most=inf),
    MeasureFamily("infNDCG", "normalized discounted cumulative gain, inferred from samples of strata",
        "assay.measures.sampled:inferred_ndcg", False, "never", False, qrels="strata", most=inf),
    MeasureFamily("iP", "precision at rank {k}, inferred from samples of strata",
        "assay.measures.sampled:inferred_precision", True, "required", False, qrels="strata", most=inf),
    MeasureFamily("statAP", "average precision, estimated from a sample",
        "assay.measures.sampled:estimated_average_precision", True, "never", False,
        {"iprob": Parameter("1", words=("1", "given"))}, qrels="probabilities", most=inf),
    *(
        MeasureFamily(f"{name}{strict}",
            f"share of the {nuggets} that the answer contains{', in full' if strict else ''}",
            "assay.measures.answers:nugget_score", False, "never", False, _FULL, qrels="nuggets", of_answers=True)
        for strict in ("", "_strict")
        for name, nuggets in (("V", "vital nuggets"), ("A", "nuggets"), ("W", "nuggets, okay ones half,"))
    ),
    *(
        MeasureFamily(f"Rubric{strict}",
            f"weights of the criteria that the answer satisfies{words}, as a share of the positive weights",
            "assay.measures.answers:nugget_score", False, "never", False, _FULL, qrels="nuggets", of_answers=True,
            least=-inf)
        for strict, words in (("", ""), ("_strict", " in full"))
    ),
    *(
        MeasureFamily(f"Rubric_answers{strict}",
            f"score by rubrics{words}, as a mean over the answers whose rubric has a positive weight",
            "assay.measures.answers:rubric_of_answers", False, "never", False, _FULL, qrels="nuggets",
            of_answers=True, counts="assay.measures.answers:rubric_counts", summary="ratio of sums", least=-inf)
        for strict, words in (("", ""), ("_strict", " of criteria that are satisfied in full"))
    ),
    MeasureFamily("SupportP", "support of the sentences that cite something",
        "assay.measures.answers:support_precision", False, "never", False, _CITED, of_answers=True),
    MeasureFamily("SupportR", "support of all sentences", "assay.measures.answers:support_recall", False, "never",
        False, _CITED, of_answers=True),
    MeasureFamily("SupportF", "F measure of the support of sentences, equal weights",
        "assay.measures.answers:support_f", False, "never", False, _CITED, of_answers=True),
    MeasureFamily("charP", "precision at rank {k}, in characters of citations", "assay.measures.characters:precision",
        True, "required", False, in_characters=True),
    MeasureFamily("charR", "recall at rank {k}, in characters", "assay.measures.characters:recall", True, "required",
        False, in_characters=True),
    MeasureFamily("charF", "F measure at rank {k}, in characters, equal weights",
        "assay.measures.characters:f_measure", True, "required", False, in_characters=True),
    MeasureFamily("charRprec", "precision at rank R, the number of relevant citations, in characters",
        "assay.measures.characters:r_precision", True, "never", False, in_characters=True),
    MeasureFamily("charAP", "average precision in characters", "assay.measures.characters:average_precision", True,
        "optional", False, in_characters=True),
    MeasureFamily("charIPrec", "interpolated precision at recall {recall}, in characters",
        "assay.measures.characters:precision_at_recall", True, "share", False, in_characters=True),
    MeasureFamily("AvgRec", "average recall at the ranks 1 to {k}, as a share of the most that is possible",
        "assay.measures.pooled:average_recall", True, "required", True, counts="assay.measures.pooled:recall_counts",
        summary="ratio of sums"),
    MeasureFamily("labelAcc", "accuracy of the labels", "assay.measures.pooled:accuracy", True, "never", False,
        counts="assay.measures.pooled:label_counts", summary="ratio of sums"),
    MeasureFamily("labelP", "precision of the labels", "assay.measures.pooled:precision", True, "never", False,
        counts="assay.measures.pooled:label_counts", summary="ratio of sums"),
    MeasureFamily("labelR", "recall of the labels", "assay.measures.pooled:recall", True, "never", False,
        counts="assay.measures.pooled:label_counts", summary="ratio of sums"),
    MeasureFamily("labelF", "F measure of the labels, equal weights", "assay.measures.pooled:f_measure", True,
        "never", False, counts="assay.measures.pooled:label_counts", summary="ratio of sums"),
    MeasureFamily("NumRet", "documents returned", "assay.measures.kernels:n_returned", True, "never", True, level=0,
        summary="sum"),
    MeasureFamily("NumRel", "relevant documents in the qrels", "assay.measures.kernels:total_relevant", True, "never",
        False, summary="sum"),
])
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
    "I_rec": ("StRecall", ""),
    "vital_score": ("V", ""),
    "all_score": ("A", ""),
    "strict_vital_score": ("V_strict", ""),
    "strict_all_score": ("A_strict", ""),
    "nsDCG": ("nSessionDCG", ""),
    "α_DCG": ("alpha_DCG", ""),
    "α_nDCG": ("alpha_nDCG", ""),
}

# The prime is last; before the cutoff, as in P'@10, it is accepted too.
_NAME = (  # compiled when the first name is read
    rf"(?P<family>{FAMILY})(?:\((?P<arguments>[^()]*)\))?"
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
        "StRecall": "irec",
        "Dsharp_nDCG": "d#ndcg d♯ndcg",
        "uRBP(percent={1:40,2:80,3:100})": "urbpgr",
        "U": "umeasure",
    }.items()
    for name in names.split()
}
# Names of trec_eval that only `assay trec_eval` computes.
_ONLY_TREC_EVAL = frozenset(["g", "rprecmult", "ndcgrel", "relstring", "numq", "runid"])
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


def _arguments(name: str, family: MeasureFamily, match: re.Match[str], implied: str) -> dict[str, Any]:
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


def _read(family: MeasureFamily, key: str, value: str) -> float | str | None:
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
    if called == "sdcg" and "SessionDCG" in FAMILIES:
        at = _at("SDCG", number)
        return f"did you mean SDCG{at}, of one query, or SessionDCG{at}, of the queries of a session? Use"
    ours = {re.sub("[-_]", "", family.lower()): family for family in FAMILIES}
    close = difflib.get_close_matches(called, ours, 1, 0.7)
    measure = ours.get(called) or _ELSEWHERE.get(called) or (ours[close[0]] if close else "")
    if (
        ALIASES.get(measure, (measure, ""))[0].partition("(")[0] not in FAMILIES
    ):  # empty, or of another extension
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
